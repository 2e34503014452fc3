//! The talk's open question: can the loss of throughput be avoided while latency stays low?
//!
//! Every candidate gets 32 KB of memory and the same arrivals, frame by frame; sources that react (TCP) cannot have them
//! and stand apart. Control frames take their place on the wire. Delay counts from generation, because any scheme that
//! stops sources moves the queue to them: in the fabric alone memory over throughput bounds it (Little's law).

use super::measure::{CONTROL_BITS, File, Keep, LINE, Measured, cell, largest, mean, run};
use super::published::SMALL_MEMORY;
use super::{BASE, CREDITS, ECN, HALF, pause};
use crate::reproduce::{Case, Context, Findings, Section};
use clearway_metrics::Summary;
use clearway_report::charts::{FrontierPoint, frontier};
use clearway_report::{Cell, Table};

const SEEDS: u32 = 6;
/// Seeds of the runs of other lengths.
const SEEDS_LENGTH: u32 = 4;
/// Longest frame of the workload, bytes.
const FRAME: u64 = 1_518;
/// Frames of credit for each output in the shipped scenario.
const SHIPPED: u64 = 4;
const UNLIMITED: &str = "switch.sw.memory=1GiB";

/// One configuration.
struct Candidate {
    name: String,
    /// Beside its point in the figure.
    label: &'static str,
    group: &'static str,
    file: File,
    sets: Vec<String>,
}

/// Credits of `window` frames for each output, returned in lumps of as many. The 4 B more are a VLAN tag.
fn credits(window: u64) -> String {
    format!(
        "switch.sw.flow_control.credits={{ per_output = \"{}B\", return_min = \"{}B\" }}",
        window * FRAME + 4,
        (window - 1) * FRAME + 4
    )
}

fn per_output(high: u64, low: u64, scope: &str) -> String {
    format!(
        "switch.sw.flow_control={{ pause_per_output = {{ high = \"{high}B\", low = \"{low}B\", scope = \"{scope}\" }} }}"
    )
}

fn candidates() -> Vec<Candidate> {
    let small = || SMALL_MEMORY.to_owned();
    let of = |name: &str, label, group, file, sets: Vec<String>| Candidate {
        name: name.to_owned(),
        label,
        group,
        file,
        sets,
    };
    let pfc = "switch.sw.flow_control.pfc={ priorities = [0], high = \"3KiB\", low = \"2KiB\" }".to_owned();
    let mut all = vec![
        of(
            "output-queued, unlimited memory",
            "unlimited",
            "output-queued, unlimited",
            BASE,
            vec![UNLIMITED.to_owned()],
        ),
        of("32 KB, no flow control", "", "none", BASE, vec![small()]),
        of(
            "802.3x, whole memory above 16 KB",
            "",
            "802.3x",
            BASE,
            vec![small(), pause(16_384, HALF, "total")],
        ),
        of(
            "802.3x, each ingress port above 3 KB",
            "",
            "802.3x",
            BASE,
            vec![small(), pause(3_072, 2_048, "per-ingress")],
        ),
        of(
            "PFC, one priority, each ingress port above 3 KB",
            "",
            "PFC",
            BASE,
            vec![small(), pfc],
        ),
        of(
            "pause per output above 4.5 KB",
            "4.5 KB",
            "pause per output",
            CREDITS,
            vec![per_output(4_554, 4_554, "total")],
        ),
        of(
            "pause per output above 6 KB",
            "6 KB",
            "pause per output",
            CREDITS,
            vec![per_output(6_072, 4_554, "total")],
        ),
        of(
            "pause per output above 7.5 KB",
            "7.5 KB",
            "pause per output",
            CREDITS,
            vec![per_output(7_590, 4_554, "total")],
        ),
        of(
            "pause per output and ingress above 1 frame",
            "1 frame",
            "pause per output and ingress",
            CREDITS,
            vec![per_output(1_517, 1_517, "per-ingress")],
        ),
    ];
    for (window, label) in (1..).zip(["1 frame", "2 frames", "3 frames", "4 frames", "5 frames"]) {
        let name = format!("credits of {window} frames per output");
        all.push(of(
            &name,
            label,
            "credits per output",
            CREDITS,
            vec![credits(window)],
        ));
    }
    all.push(of(
        "TCP with ECN above 2 KB (other arrivals)",
        "",
        "TCP with ECN",
        ECN,
        vec![],
    ));
    all
}

/// Runs every candidate.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let all = candidates();
    let shipped = format!("credits of {SHIPPED} frames per output");
    let mut runs: Vec<Vec<Measured>> = Vec::new();
    for candidate in &all {
        let every = candidate.file.name == BASE.name && runs.is_empty() || candidate.name == shipped;
        let seeds = if every {
            context.seeds
        } else {
            context.seeds.min(SEEDS)
        };
        let case = Case::new(candidate.name.clone(), candidate.sets.clone()).with_seeds(seeds);
        let keep = Keep {
            rows: every,
            ..Keep::default()
        };
        runs.extend(run(context, candidate.file, &[case], keep)?);
    }
    for run in runs.iter_mut().flatten() {
        findings.rows.append(&mut run.rows);
    }
    let Some(ideal) = runs.first() else { return Ok(()) };
    let headings = [
        "configuration",
        "throughput",
        "discarded",
        "memory max",
        "control frames on one link",
        "share of line",
        "delay from generation",
        "times unlimited",
        "from NIC entry",
        "from first bit",
        "max from first bit",
    ];
    let mut table = Table::new("Candidates, 32 KB", headings);
    let mut points = Vec::new();
    let mut answer = String::new();
    for (candidate, runs) in all.iter().zip(&runs) {
        let times = times_ideal(runs, ideal);
        let same_arrivals = candidate.group != "TCP with ECN";
        let of_generation = if same_arrivals {
            cell(runs, "s", |r| r.mean[0])
        } else {
            Cell::text("-")
        };
        table.push([
            Cell::text(&candidate.name),
            cell(runs, "bit/s", |r| r.throughput),
            Cell::number(
                runs.iter().map(|r| r.discarded).sum::<f64>() / runs.len().max(1) as f64,
                "frames",
            ),
            Cell::number(largest(runs, |r| r.memory), "B"),
            cell(runs, "frame/s", |r| r.control),
            cell(runs, "%", |r| r.control * CONTROL_BITS / LINE * 100.0),
            of_generation,
            if same_arrivals {
                Cell::number(times, "1")
            } else {
                Cell::text("-")
            },
            if same_arrivals {
                cell(runs, "s", |r| r.mean[1])
            } else {
                Cell::text("-")
            },
            cell(runs, "s", |r| r.mean[2]),
            Cell::number(
                largest(runs, |r| {
                    r.classes.iter().map(|c| c.first_bit.max).fold(0.0, f64::max)
                }),
                "s",
            ),
        ]);
        if !candidate.label.is_empty() {
            points.push(FrontierPoint {
                label: candidate.label.to_owned(),
                group: candidate.group.to_owned(),
                latency: mean(runs, |r| r.mean[0]),
                throughput: mean(runs, |r| r.throughput),
                memory: largest(runs, |r| r.memory),
            });
        }
        if candidate.name == shipped {
            answer = answer_of(runs, ideal);
        }
    }
    table.note(format!(
        "Means of {} seeds ({} for the first and the shipped one); memory and the last column are maxima. Stations with a \
         queue for each destination have no FIFO behind it: their NIC entry is generation.",
        context.seeds.min(SEEDS),
        context.seeds
    ));
    table.note("TCP sends what the network lets it; its throughput holds acknowledgements too.");
    let mut figure = frontier("Throughput against delay from generation, 32 KB", &points);
    figure.y = figure.y.ranged(35.5e9, 38.5e9);
    figure
        .caption
        .push_str(" Configurations below 35 Gbit/s are in the table alone.");
    let lengths = lengths(context)?;
    findings.sections.push(Section {
        heading: "The open question: full throughput, no loss, 32 KB".to_owned(),
        text: vec![
            answer,
            "Where a station stops for all because one output is full, three outputs of four starve: 802.3x and PFC with one \
             priority lose 10 Gbit/s and more. A queue for each destination at the station and a stop for each output \
             removes that. What is left is the cost of control. The port of station 1 is offered about 1 % more than it can \
             carry, so that every control frame on it comes out of throughput, and the queues at the stations grow by it. \
             Pause for each output sends hundreds of thousands of control frames a second; credits that return in lumps, one \
             frame for all outputs, take a fraction of that. One frame of credit is too little to keep a line busy."
                .to_owned(),
            format!(
                "Zero loss is measured here, not built in: credits of {SHIPPED} frames for twelve pairs of stations could fill \
                 {} B if all stations turned to one output after the other in the worst order. By the table they come nowhere \
                 near it, and five frames leave no room to spare.",
                12 * SHIPPED * FRAME
            ),
        ],
        tables: vec![table, lengths],
        figures: vec![figure],
    });
    Ok(())
}

/// The shipped configuration in words.
fn answer_of(runs: &[Measured], ideal: &[Measured]) -> String {
    let ratios: Vec<f64> = runs
        .iter()
        .zip(ideal)
        .map(|(r, i)| r.mean[0] / i.mean[0])
        .collect();
    let spread = Summary::of(&ratios).map_or([f64::NAN; 2], |s| [s.min, s.max]);
    format!(
        "The answer is scenarios/backplane-credits.toml with policies/per-destination.toml: {:.1} Gbit/s, {:.0} frames lost \
         in {} seeds, at most {:.0} B of memory in use, control frames {:.2} % of a line, and a mean delay from generation of \
         {:.2} times that of an output-queued switch with unlimited memory over the same {:.1} ms of arrivals ({:.2} to \
         {:.2} times by seed).",
        mean(runs, |r| r.throughput) * 1e-9,
        runs.iter().map(|r| r.discarded).sum::<f64>(),
        runs.len(),
        largest(runs, |r| r.memory),
        mean(runs, |r| r.control) * CONTROL_BITS / LINE * 100.0,
        times_ideal(runs, ideal),
        mean(runs, |r| r.seconds) * 1e3,
        spread[0],
        spread[1],
    )
}

/// Mean delay from generation as a multiple of the ideal's with the same seeds.
fn times_ideal(runs: &[Measured], ideal: &[Measured]) -> f64 {
    let same = ideal.get(..runs.len()).unwrap_or(ideal);
    mean(runs, |r| r.mean[0]) / mean(same, |r| r.mean[0])
}

/// The same at other lengths: the queue before the port of station 1 grows all the while.
fn lengths(context: &Context<'_>) -> Result<Table, String> {
    let lengths = [43_575, 87_150, 174_300, 348_600];
    let mut table = Table::new(
        "Delay from generation by the length of the run",
        ["length", "unlimited memory", "credits of 4 frames", "times"],
    );
    let cases = |set: &str| -> Vec<Case> {
        let case = |us: &u64| Case::new(format!("{us} us"), [set.to_owned(), format!("duration={us}us")]);
        lengths
            .iter()
            .map(|us| case(us).with_seeds(context.seeds.min(SEEDS_LENGTH)))
            .collect()
    };
    let ideal = run(context, BASE, &cases(UNLIMITED), Keep::default())?;
    let credits = run(context, CREDITS, &cases(SMALL_MEMORY), Keep::default())?;
    for ((us, ideal), credits) in lengths.iter().zip(&ideal).zip(&credits) {
        table.push([
            Cell::number(*us as f64 * 1e-6, "s"),
            cell(ideal, "s", |r| r.mean[0]),
            cell(credits, "s", |r| r.mean[0]),
            Cell::number(times_ideal(credits, ideal), "1"),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_scenario_has_the_credits_that_the_table_calls_so() {
        let numbers = ["6076B", "4558B"];
        assert!(
            numbers
                .iter()
                .all(|n| credits(SHIPPED).contains(n) && CREDITS.text.contains(n))
        );
    }
}
