//! The talk's lost figures: frames discarded, latency and throughput over time, redrawn from the model.
//!
//! A run that is shorter by a step is the beginning of the longer one, since nothing in it depends on its end. The
//! difference of two such runs is what happened in between, without a sample in the simulator.

use super::measure::{Keep, Measured, run};
use super::published::{LARGE, PAUSED, SMALL, SMALL_MEMORY};
use super::{BASE, HALF, pause};
use crate::reproduce::{Case, Context, Findings, Section};
use clearway_report::{Axis, Figure, Kind, Mark, MarkKind, Series};

/// Steps of the time axis.
const STEPS: usize = 12;
/// Length of the shipped scenario, microseconds.
const LENGTH_US: usize = 174_300;

fn over_time(name: &str, sets: &[String]) -> Vec<Case> {
    let case = |step: usize| {
        let duration = format!("duration={}us", LENGTH_US * step / STEPS);
        Case::new(name, sets.iter().cloned().chain([duration])).with_seeds(1)
    };
    (1..=STEPS).map(case).collect()
}

/// Runs the beginnings and draws the figures.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let small = SMALL_MEMORY.to_owned();
    let lines: [(&str, Vec<String>); 3] = [
        (LARGE, vec![]),
        (SMALL, vec![small.clone()]),
        (PAUSED, vec![small, pause(16_384, HALF, "total")]),
    ];
    let cases: Vec<Case> = lines
        .iter()
        .flat_map(|(name, sets)| over_time(name, sets))
        .collect();
    let runs = run(context, BASE, &cases, Keep::default())?;
    let time = || Axis::linear("time", "s");
    let mut figures = [
        Figure::new(
            "Frames discarded (redrawn from the model)",
            time(),
            Axis::linear("frames discarded", "1"),
        ),
        Figure::new(
            "Throughput (redrawn from the model)",
            time(),
            Axis::linear("throughput, L2", "bit/s"),
        ),
        Figure::new(
            "Latency in NIC and switch (redrawn from the model)",
            time(),
            Axis::log("mean from NIC entry", "s"),
        ),
        Figure::new(
            "Latency from generation (redrawn from the model)",
            time(),
            Axis::log("mean from generation", "s"),
        ),
    ];
    for ((name, _), runs) in lines.iter().zip(runs.chunks(STEPS)) {
        let runs: Vec<&Measured> = runs.iter().flatten().collect();
        let mut points: [Vec<(f64, f64)>; 4] = Default::default();
        points[0].push((0.0, 0.0));
        let (mut end, mut frames, mut bits, mut sums) = (0.0, 0.0, 0.0, [0.0; 2]);
        for r in runs {
            let delivered: f64 = r.classes.iter().map(|c| c.delivered as f64).sum();
            let total_bits = r.throughput * r.seconds;
            let total = [r.mean[1] * delivered, r.mean[0] * delivered];
            let middle = f64::midpoint(end, r.seconds);
            points[0].push((r.seconds, r.discarded));
            points[1].push((middle, (total_bits - bits) / (r.seconds - end)));
            for (which, from) in [(2, 0), (3, 1)] {
                points[which].push((middle, (total[from] - sums[from]) / (delivered - frames)));
            }
            (end, frames, bits, sums) = (r.seconds, delivered, total_bits, total);
        }
        for (figure, points) in figures.iter_mut().zip(points) {
            figure.series.push(Series::new(*name, Kind::Path, points));
        }
    }
    let [discarded, throughput, nic, generation] = figures;
    let figures = vec![
        discarded.caption("One seed; each point is the sum up to then."),
        throughput.caption("One seed; each point is the mean over a twelfth of the run."),
        nic.caption("One seed; each point is the mean of the frames delivered in a twelfth of the run."),
        generation.caption(
            "One seed; each point is the mean of the frames delivered in a twelfth of the run. Under 802.3x frames wait \
             at their stations, in queues that grow as long as the test goes on.",
        ),
        memory(context)?,
    ];
    findings.sections.push(Section {
        heading: "The lost figures, redrawn".to_owned(),
        text: vec![
            "The talk's graphs of frame discard, latency and throughput survive as headings. These are drawn from the \
             model."
                .to_owned(),
        ],
        tables: vec![],
        figures,
    });
    Ok(())
}

/// Memory in use in the first instants under 802.3x, with XOFF and XON.
fn memory(context: &Context<'_>) -> Result<Figure, String> {
    let sets = [
        "duration=150us".to_owned(),
        "sample_interval=200ns".to_owned(),
        SMALL_MEMORY.to_owned(),
    ];
    let case = Case::new(PAUSED, sets.into_iter().chain([pause(16_384, HALF, "total")])).with_seeds(1);
    let runs = run(context, BASE, &[case], Keep::default())?;
    let mut figure = Figure::new(
        "Memory in use under 802.3x",
        Axis::linear("time", "s"),
        Axis::linear("memory in use", "B"),
    )
    .threshold(16_384.0, "XOFF above")
    .threshold(HALF as f64, "XON below")
    .caption("The first 150 us of one run. Every XOFF stops all four stations, whoever sends to whom.");
    for r in runs.iter().flatten() {
        figure
            .series
            .push(Series::new("", Kind::Step, r.samples.iter().copied()));
        let first = r.marks.first().map_or(0, |m| m.line);
        let of_one_port = r.marks.iter().filter(|m| m.line == first);
        figure.marks.extend(of_one_port.map(|m| Mark {
            x: m.at_ps as f64 * 1e-12,
            kind: if m.off { MarkKind::Xoff } else { MarkKind::Xon },
        }));
    }
    Ok(figure)
}
