//! A latency-critical tenth of the load under credits: its mean against the talk's 10 us, its maximum against a bound.

use super::measure::{Keep, Measured, cell, largest, run};
use super::priorities::{critical, mean_of};
use super::{CREDITS_PRIORITY, PRIORITIES, merged};
use crate::reproduce::{Case, Context, Findings, Section};
use clearway_report::charts::ccdf;
use clearway_report::{Cell, Table};

const SEEDS: u32 = 8;
/// Picoseconds of a byte at 10 Gbit/s.
const BYTE_PS: u64 = 800;
const OVERHEAD: u64 = 20;
const PREAMBLE: u64 = 8;
const CRITICAL: u64 = 256;
const BULK: u64 = 1_518;
const CONTROL: u64 = 64;

/// The longest that a critical frame can take, picoseconds.
///
/// At each of two hops it waits for one burst frame that has the wire and for one critical frame of each of two other flows
/// (three share a hop, and none has a second frame before 6.8 us are over), then its own last bit has to go out. At the
/// switch a control frame may go before each of those three and before it.
fn bound_ps() -> u64 {
    let hop = (BULK + OVERHEAD) + 2 * (CRITICAL + OVERHEAD) + PREAMBLE + CRITICAL;
    let control = 3 * (CONTROL + OVERHEAD);
    (2 * hop + control) * BYTE_PS
}

/// Runs credits and the ideal.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let seeds = context.seeds.min(SEEDS);
    let keep = Keep {
        histograms: true,
        ..Keep::default()
    };
    let free = ["switch.sw.flow_control={}", "switch.sw.memory=1GiB"];
    let unlimited = Case::new("output-queued, unlimited memory", free).with_seeds(seeds);
    let shipped = Case::new("credits of 5 frames per output, 32 KB", Vec::<String>::new()).with_seeds(seeds);
    let mut both = run(context, PRIORITIES, &[unlimited], keep)?;
    both.extend(run(context, CREDITS_PRIORITY, &[shipped], keep)?);
    let [ideal, credits] = both.as_slice() else {
        return Ok(());
    };
    let headings = [
        "configuration",
        "throughput",
        "discarded",
        "memory max",
        "critical share of load",
        "critical mean",
        "critical p99",
        "critical max",
        "bulk mean from generation",
        "times unlimited",
    ];
    let mut table = Table::new(
        "A latency-critical tenth of the load, strictly first and never held",
        headings,
    );
    for (name, runs) in [
        ("output-queued, unlimited memory", ideal),
        ("credits of 5 frames per output, 32 KB", credits),
    ] {
        table.push([
            Cell::text(name),
            cell(runs, "bit/s", |r| r.throughput),
            cell(runs, "frames", |r| r.discarded),
            Cell::number(largest(runs, |r| r.memory), "B"),
            cell(runs, "%", share_of_load),
            cell(runs, "s", |r| critical(r).map_or(f64::NAN, |c| c.generation.mean)),
            cell(runs, "s", |r| critical(r).map_or(f64::NAN, |c| c.generation.p99)),
            Cell::number(
                largest(runs, |r| critical(r).map_or(f64::NAN, |c| c.generation.max)),
                "s",
            ),
            cell(runs, "s", |r| {
                r.classes.get(1).map_or(f64::NAN, |c| c.generation.mean)
            }),
            Cell::number(mean_of(runs, 1) / mean_of(ideal, 1), "1"),
        ]);
    }
    table.note(format!(
        "{seeds} seeds; every latency from generation, the maximum of all seeds."
    ));
    let bound = bound_ps() as f64 * 1e-12;
    let most = largest(credits, |r| critical(r).map_or(f64::NAN, |c| c.generation.max));
    let verdict = if most <= bound {
        "held in every run"
    } else {
        "EXCEEDED"
    };
    let histograms = [
        merged(ideal, 0),
        merged(ideal, 1),
        merged(credits, 0),
        merged(credits, 1),
    ];
    let names = [
        "critical, unlimited memory",
        "bulk, unlimited memory",
        "critical, credits",
        "bulk, credits",
    ];
    let borrowed: Vec<_> = names.into_iter().zip(&histograms).collect();
    let figure = ccdf(
        "Both classes from generation",
        "latency from generation",
        "s",
        1e-12,
        &borrowed,
    );
    findings.sections.push(Section {
        heading: "A latency-critical class under credits".to_owned(),
        text: vec![format!(
            "The talk asks for a loaded mean below 10 us between servers' processes. With a tenth of the load as small \
             frames at even intervals, strictly first at every queue and never held for credit \
             (scenarios/backplane-credits-priority.toml, policies/per-destination-priority.toml), the mean is {:.2} us. The \
             bound on the maximum, {:.2} us, is arithmetic: at each of two hops a burst frame that has the wire, two \
             critical frames of other flows and the frame itself, and three control frames at the switch. The most that \
             was seen is {:.2} us: {verdict}.",
            mean_of(credits, 0) * 1e6,
            bound * 1e6,
            most * 1e6,
        )],
        tables: vec![table],
        figures: vec![figure],
    });
    Ok(())
}

/// Share of the critical class in what is offered on the wire, per cent.
fn share_of_load(run: &Measured) -> f64 {
    let [critical, bulk] = run.classes.as_slice() else {
        return f64::NAN;
    };
    let wire = |bytes: u64, frame: u64| bytes as f64 * (frame + OVERHEAD) as f64 / frame as f64;
    let (critical, bulk) = (wire(critical.offered, CRITICAL), wire(bulk.offered, BULK));
    100.0 * critical / (critical + bulk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_below_four_microseconds() {
        assert_eq!(bound_ps(), 2 * (1_230_400 + 441_600 + 211_200) + 3 * 67_200);
    }
}
