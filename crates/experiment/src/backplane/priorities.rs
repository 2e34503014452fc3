//! 802.1p priorities under 802.3x: why the latency of high priorities has a bad maximum, and what cures it.
//!
//! PAUSE (IEEE 802.3 annex 31B) stops a whole station, strict priority or not. Priority-based flow control (IEEE 802.1Q
//! clause 36) stops the bursts' priority alone, provided that no FIFO behind the priority queues mixes the two.

use super::measure::{Class, Keep, Measured, cell, largest, mean, run};
use super::{PRIORITIES, merged};
use crate::reproduce::{Case, Context, Findings, Section};
use clearway_report::charts::ccdf;
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

const SEEDS: u32 = 4;
/// High thresholds, KB; the low one is half.
const THRESHOLDS: [u64; 4] = [4, 16, 64, 256];
const FIFO: &str = "host.station.nic.transmit_fifo=4KiB";

fn pause(kilobytes: u64) -> String {
    format!(
        "switch.sw.flow_control={{ pause = {{ high = \"{kilobytes}KiB\", low = \"{}B\" }} }}",
        kilobytes * 512
    )
}

fn pfc(kilobytes: u64) -> String {
    format!(
        "switch.sw.flow_control={{ pfc = {{ priorities = [0], high = \"{kilobytes}KiB\", low = \"{}B\", scope = \
         \"total\" }} }}",
        kilobytes * 512
    )
}

/// The class of a run that is named so in every scenario of priorities.
pub(super) fn critical(run: &Measured) -> Option<&Class> {
    run.classes.first()
}

/// Runs both kinds of pause at every threshold.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let free = [
        "switch.sw.flow_control={}".to_owned(),
        "switch.sw.memory=1GiB".to_owned(),
    ];
    let mut cases = vec![Case::new("no flow control, unlimited memory", free)];
    let named = |kind: &str, k: u64, set: String| Case::new(format!("{kind} above {k} KB"), [set]);
    cases.extend(THRESHOLDS.map(|k| named("802.3x", k, pause(k))));
    cases.extend(THRESHOLDS.map(|k| named("PFC", k, pfc(k))));
    for (name, set) in [("802.3x", pause(16)), ("PFC", pfc(16))] {
        cases.push(Case::new(
            format!("{name} above 16 KB, one FIFO of NIC and MAC"),
            [set, FIFO.to_owned()],
        ));
    }
    let seeds = context.seeds.min(SEEDS);
    let cases: Vec<Case> = cases.into_iter().map(|c| c.with_seeds(seeds)).collect();
    let keep = Keep {
        histograms: true,
        ..Keep::default()
    };
    let runs = run(context, PRIORITIES, &cases, keep)?;
    let headings = [
        "configuration",
        "throughput",
        "critical mean",
        "critical p99",
        "critical max",
        "bulk mean from first bit",
    ];
    let mut table = Table::new(
        "A latency-critical tenth of the load, strictly first, 1.5 MB",
        headings,
    );
    for (case, runs) in cases.iter().zip(&runs) {
        table.push([
            Cell::text(&case.name),
            cell(runs, "bit/s", |r| r.throughput),
            cell(runs, "s", |r| critical(r).map_or(f64::NAN, |c| c.generation.mean)),
            cell(runs, "s", |r| critical(r).map_or(f64::NAN, |c| c.generation.p99)),
            Cell::number(maximum(runs), "s"),
            cell(runs, "s", |r| {
                r.classes.get(1).map_or(f64::NAN, |c| c.first_bit.mean)
            }),
        ]);
    }
    table.note(format!(
        "{seeds} seeds; latency of the critical class from generation, the maximum of all seeds."
    ));
    let chosen = [0, 2, 4, 8, 10];
    let histograms: Vec<(&str, _)> = chosen
        .iter()
        .filter_map(|place| Some((cases.get(*place)?.name.as_str(), merged(runs.get(*place)?, 0))))
        .collect();
    let borrowed: Vec<_> = histograms.iter().map(|(name, h)| (*name, h)).collect();
    let distribution =
        ccdf("The critical class under pause", "latency from generation", "s", 1e-12, &borrowed).caption(
            "Under 802.3x the critical class waits for as long as the whole station is stopped. Under PFC it does not, \
             except where it stands behind a stopped burst in one FIFO.",
        );
    let by_threshold = |from: usize| {
        let of = move |(k, runs): (&u64, &Vec<Measured>)| (*k as f64 * 1024.0, maximum(runs));
        THRESHOLDS
            .iter()
            .zip(runs.iter().skip(from))
            .map(of)
            .collect::<Vec<_>>()
    };
    let maxima = Figure::new(
        "Maximum latency of the critical class",
        Axis::log("high threshold", "B"),
        Axis::log("maximum latency from generation", "s"),
    )
    .series(Series::new("802.3x", Kind::Path, by_threshold(1)))
    .series(Series::new("PFC", Kind::Path, by_threshold(5)));
    let (paused, cured) = (
        runs.get(4).map_or(f64::NAN, |r| maximum(r)),
        runs.get(8).map_or(f64::NAN, |r| maximum(r)),
    );
    findings.sections.push(Section {
        heading: "802.1p priorities under 802.3x: the maximum latency of high priorities".to_owned(),
        text: vec![
            format!(
                "The talk mentions a problem with the maximum latency of high priorities without saying more. In the model \
                 it is this: PAUSE knows no priorities. While the bursts fill the memory, XOFF stops the critical class \
                 with them, for as long as the memory takes to fall from the high threshold to the low one. The mean \
                 stays below 5 us and hides it, and the higher the threshold (the talk's way to throughput) the worse the maximum: {:.0} \
                 us at 256 KB.",
                paused * 1e6
            ),
            format!(
                "PFC for the bursts' priority alone leaves a maximum of {:.1} us at the same threshold and the same \
                 throughput. It needs the priority queues next to the wire: with the talk's FIFO of NIC and MAC behind \
                 them, critical frames stand behind stopped bursts, and PFC cures nothing.",
                cured * 1e6
            ),
        ],
        tables: vec![table],
        figures: vec![distribution, maxima],
    });
    Ok(())
}

fn maximum(runs: &[Measured]) -> f64 {
    largest(runs, |r| critical(r).map_or(f64::NAN, |c| c.generation.max))
}

/// Mean latency of a class from generation over the runs, seconds.
pub(super) fn mean_of(runs: &[Measured], class: usize) -> f64 {
    mean(runs, |r| {
        r.classes.get(class).map_or(f64::NAN, |c| c.generation.mean)
    })
}
