//! Figures of the storage experiment: what the document prints as tables, beside the model; and what it does not show.

use super::cases::{FAILURES, Run, Seen, WINDOWS};
use super::tables::NODES;
use crate::reproduce::Published;
use clearway_report::{Axis, Figure, Kind, Point, Series};

/// Totals of four nodes, published and predicted.
pub(super) fn totals(published: &[Published], cases: &[&Seen]) -> Figure {
    let paper = |seen: &Seen| {
        let own = |p: &&Published| p.case == seen.name && p.metric == "storage throughput";
        published.iter().find(own).map_or(f64::NAN, |p| p.value)
    };
    let bars = |name: &str, of: &dyn Fn(&Seen) -> f64| {
        let values = cases.iter().enumerate().map(|(i, seen)| (i as f64, of(seen)));
        Series::new(name, Kind::Bars, values)
    };
    let names = Axis::names("case", cases.iter().map(|seen| seen.name.clone()));
    let y = Axis::linear("storage, four nodes", "B/s").ranged(0.0, 2.5e9);
    Figure::new("Storage throughput", names, y)
        .series(bars("published", &paper))
        .series(bars("predicted", &|seen| seen.average(|r| r.storage)))
        .caption(
            "The copies were fitted to the first pair, the turns to the second; the others are predictions.",
        )
}

/// Each node, published and predicted.
pub(super) fn nodes(cases: &[&Seen]) -> Figure {
    let spread = |values: &[f64], i: usize| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let least = values.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        let most = values.iter().fold(0.0, |a: f64, b| a.max(*b));
        Point::new(i as f64, mean).spanning(least, most)
    };
    let paper = |i: usize| {
        let rows = NODES.get(i).map_or([[f64::NAN; 3]; 4], |n| n.1);
        spread(&rows.map(|row| row[0] * 1e6), i)
    };
    let model = |i: usize| {
        let runs = cases.get(i).map_or(&[][..], |seen| seen.runs.as_slice());
        let own: Vec<f64> = runs.iter().flat_map(|r| r.nodes.iter().map(|n| n[0])).collect();
        spread(&own, i)
    };
    let series = |name: &str, hollow: bool, of: &dyn Fn(usize) -> Point| Series {
        points: (0..cases.len()).map(of).collect(),
        hollow,
        ..Series::new(name, Kind::Scatter, [])
    };
    let names = Axis::names("case", cases.iter().map(|seen| seen.name.clone()));
    let y = Axis::linear("storage of a node", "B/s").ranged(0.0, 600e6);
    let mut figure = Figure::new("Storage throughput of each node", names, y)
        .series(series("published", true, &paper))
        .series(series("predicted", false, &model))
        .caption("Mean of four nodes; whiskers reach from the least to the most of them, predicted over all seeds.");
    figure.abreast = true;
    figure
}

/// How many writes took at least so long.
pub(super) fn latencies(cases: &[&Seen]) -> Figure {
    let mut figure = Figure::new(
        "Latency of writes",
        Axis::log("latency", "s"),
        Axis::log("fraction at or above", "1"),
    );
    for seen in cases {
        let points = seen.runs.first().map_or(&[][..], |r| r.latencies.as_slice());
        let thin = points.len().div_ceil(300).max(1);
        let points = points.iter().step_by(thin).copied();
        figure = figure.series(Series::new(seen.name.clone(), Kind::Step, points));
    }
    figure.caption("Writes complete after the warm-up, seed 1; from issue to the answer of the last copy.")
}

/// What the windows decide.
pub(super) fn windows(fifo: &[Seen], ets: &[Seen]) -> Figure {
    let line = |name: &str, group: &[Seen]| {
        let points = WINDOWS.iter().zip(group);
        let points = points.map(|(kib, seen)| (f64::from(*kib) * 1024.0, 100.0 * seen.average(|r| r.share)));
        Series::new(name, Kind::Line, points)
    };
    let figure = Figure::new(
        "Share of storage by the window of its connections",
        Axis::log("window of a storage connection", "B"),
        Axis::linear("share of storage (L1)", "%").ranged(0.0, 100.0),
    )
    .series(line("no QoS, one FIFO", fifo))
    .series(line("ETS 10:90", ets))
    .caption("The other streams keep 512 KiB each. Published: 75 % without QoS, and 10 % at 10:90.");
    figure
        .threshold(75.0, "published, no QoS")
        .threshold(10.0, "published, 10:90")
}

/// The share while it is changed.
pub(super) fn change(seen: &Seen, bins: usize) -> Figure {
    let shares = seen.runs.first().map_or_else(Vec::new, |r| r.shares(bins));
    let points: Vec<(f64, f64)> = shares.iter().map(|s| (s.0, 100.0 * s.1)).collect();
    let others: Vec<(f64, f64)> = shares.iter().map(|s| (s.0, 100.0 - 100.0 * s.1)).collect();
    Figure::new(
        "Shares while 80:20 becomes 10:90 and 80:20 again",
        Axis::linear("time", "s"),
        Axis::linear("share of bytes (L2)", "%").ranged(0.0, 100.0),
    )
    .series(Series::new("storage", Kind::Line, points))
    .series(Series::new("other streams", Kind::Line, others))
    .caption("Bytes delivered in the ten milliseconds before, seed 1. Nothing is lost.")
}

/// Storage while a port fails.
pub(super) fn failures(seen: &[Seen]) -> Figure {
    let mut figure = Figure::new(
        "Storage while a port of one node fails",
        Axis::linear("time", "s"),
        Axis::linear("storage frames delivered (L2)", "bit/s"),
    );
    let line = |run: &Run| {
        let window = 4;
        let (before, measured) = run.measured_bins();
        let rate = |(first, bins): (usize, &[[u64; 2]])| {
            let bytes: u64 = bins.iter().map(|b| b[0]).sum();
            let seconds = run.bin * window as f64;
            (
                (before + first + window) as f64 * run.bin,
                bytes as f64 * 8.0 / seconds,
            )
        };
        measured.windows(window).enumerate().map(rate).collect::<Vec<_>>()
    };
    for ((detection, rto), seen) in FAILURES.iter().zip(seen) {
        if *detection != 10 {
            continue;
        }
        let Some(run) = seen.runs.first() else { continue };
        let name = format!("timeout {rto} ms");
        figure = figure.series(Series::new(name, Kind::Line, line(run)));
    }
    figure.caption("All four nodes, detection after 10 ms, by the least retransmission timeout.")
}
