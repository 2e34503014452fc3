//! Throughput, latency and memory by the threshold of 802.3x, and the control frames by the lower one.

use super::measure::{CONTROL_BITS, Keep, LINE, Measured, cell, each, largest, mean, run};
use super::{BASE, HALF, pause};
use crate::reproduce::{Case, Context, Findings, Prediction, Section};
use clearway_report::charts::{FrontierPoint, frontier};
use clearway_report::{Cell, Table};

const SEEDS: u32 = 8;
/// High thresholds of the talk, KB.
const THRESHOLDS: [u64; 4] = [4, 16, 64, 256];

/// Runs the sweep.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let seeds = context.seeds.min(SEEDS);
    let name = |kilobytes: u64| format!("1.5 MB, 802.3x above {kilobytes} KB");
    let mut cases: Vec<Case> = THRESHOLDS
        .iter()
        .map(|k| Case::new(name(*k), [pause(k * 1024, k * 512, "total")]).with_seeds(seeds))
        .collect();
    cases.push(Case::new("1.5 MB, no flow control", Vec::<String>::new()).with_seeds(seeds));
    let runs = run(context, BASE, &cases, Keep::default())?;
    for (case, runs) in cases.iter().zip(&runs).take(THRESHOLDS.len()) {
        findings.predictions.push(Prediction {
            case: case.name.clone(),
            metric: "frames discarded".to_owned(),
            stat: "sum".to_owned(),
            samples: each(runs, |r| r.discarded),
        });
    }
    let mut table = Table::new(
        "Thresholds of 802.3x, 1.5 MB",
        [
            "threshold",
            "throughput",
            "discarded",
            "control frames",
            "share of line",
            "memory max",
            "delay from generation",
            "from NIC entry",
            "from first bit",
        ],
    );
    let mut points = Vec::new();
    for (place, runs) in runs.iter().enumerate() {
        let label = THRESHOLDS
            .get(place)
            .map_or_else(|| "none".to_owned(), |k| format!("{k} KB"));
        table.push([
            Cell::text(&label),
            cell(runs, "bit/s", |r| r.throughput),
            cell(runs, "frames", |r| r.discarded),
            cell(runs, "frame/s", |r| r.control),
            cell(runs, "%", |r| r.control * CONTROL_BITS / LINE * 100.0),
            Cell::number(largest(runs, |r| r.memory), "B"),
            cell(runs, "s", |r| r.mean[0]),
            cell(runs, "s", |r| r.mean[1]),
            cell(runs, "s", |r| r.mean[2]),
        ]);
        for (group, which) in [("from first bit", 2), ("from NIC entry", 1)] {
            points.push(FrontierPoint {
                label: label.clone(),
                group: group.to_owned(),
                latency: mean(runs, |r| r.mean[which]),
                throughput: mean(runs, |r| r.throughput),
                memory: largest(runs, |r| r.memory),
            });
        }
    }
    table.note(format!(
        "Means of {seeds} seeds over {:.1} ms; the delay from generation grows with the length wherever the throughput \
         is below the load, because the application's queue does.",
        mean(runs.first().map_or(&[][..], |r| r), |r| r.seconds) * 1e3
    ));
    points.sort_by_key(|p| p.group.clone());
    let mut figure = frontier(
        "Throughput, latency and memory by threshold (redrawn from the model)",
        &points,
    );
    figure
        .caption
        .push_str(" The talk showed such a plot; its data are lost.");
    let low = low_thresholds(context)?;
    findings.sections.push(Section {
        heading: "Thresholds: throughput against latency and memory".to_owned(),
        text: vec![
            "The higher the threshold, the longer stations may send before all of them are stopped, and the less of the \
             lines stands idle; what that costs is memory and delay in the switch. The lower threshold is half of \
             the high one throughout. With the threshold at 16 KB the memory in use stays below 32 KB: the run with \
             1.5 MB is the run with 32 KB."
                .to_owned(),
            "The rate of control frames moves in steps with the low threshold, because memory is taken and freed in whole \
             frames of 1,518 B."
                .to_owned(),
        ],
        tables: vec![table, low],
        figures: vec![figure],
    });
    Ok(())
}

/// Control frames with the low threshold a step lower and a step higher.
fn low_thresholds(context: &Context<'_>) -> Result<Table, String> {
    let lows = [6_144, HALF, 9_216];
    let cases: Vec<Case> = lows
        .iter()
        .map(|low| {
            let sets = ["switch.sw.memory=32KiB".to_owned(), pause(16_384, *low, "total")];
            Case::new(format!("low {low} B"), sets).with_seeds(context.seeds.min(4))
        })
        .collect();
    let runs = run(context, BASE, &cases, Keep::default())?;
    let mut table = Table::new(
        "The low threshold, 32 KB, 802.3x above 16 KB",
        ["low threshold", "control frames on one link", "throughput"],
    );
    for (low, runs) in lows.iter().zip(&runs) {
        let rate = cell(runs, "frame/s", |r: &Measured| r.control);
        table.push([
            Cell::text(format!("{low} B")),
            rate,
            cell(runs, "bit/s", |r| r.throughput),
        ]);
    }
    Ok(table)
}
