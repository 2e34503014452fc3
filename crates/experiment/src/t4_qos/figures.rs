//! Figures of the T4 experiment: the three that the document lost, and what they do not show.

use super::cases::{Run, Seen, half};
use crate::reproduce::Published;
use clearway_report::{Axis, Figure, Kind, Point, Series, Threshold};

/// Points of a line that stands for 3,072 samples.
const LINE_POINTS: usize = 256;

/// A figure of the document; not a number where it prints none.
fn printed(published: &[Published], case: &str, metric: &str, stat: &str) -> f64 {
    let found = published
        .iter()
        .find(|p| p.case == case && p.metric == metric && p.stat == stat);
    found.map_or(f64::NAN, |p| p.value)
}

/// Figure 8: latency is shielded from data movers.
pub(super) fn latency(published: &[Published], alone: &Seen, one: &Seen, two: &Seen) -> Figure {
    let cases = [alone, one, two];
    let series = |name: &str, hollow: bool, of: &dyn Fn(usize) -> Point| {
        let points = (0..cases.len()).map(of).collect();
        Series {
            points,
            hollow,
            ..Series::new(name, Kind::Scatter, [])
        }
    };
    let at = |i: usize, y: f64| Point::new(i as f64, y);
    let predicted = |i: usize| at(i, cases[i].average(Run::mean));
    let sampled = |i: usize| {
        let seen = cases[i];
        at(i, seen.average(Run::sample_mean))
            .spanning(seen.average(Run::sample_min), seen.average(Run::sample_max))
    };
    let paper = |i: usize, stat: &str| printed(published, &cases[i].name, "RTT/2", stat);
    let names = Axis::names("case", cases.map(|seen| seen.name.clone()));
    let mut figure = Figure::new(
        "Figure 8, redrawn: latency is shielded from bulk",
        names,
        Axis::log("RTT/2", "s"),
    )
    .series(series("published, all calls", true, &|i| {
        at(i, paper(i, "mean of all calls"))
    }))
    .series(series("predicted, all calls", false, &predicted))
    .series(series("published, 3,072 samples", true, &|i| {
        let ends = (paper(i, "min of 3072 samples"), paper(i, "max of 3072 samples"));
        at(i, paper(i, "mean of 3072 samples")).spanning(ends.0, ends.1)
    }))
    .series(series("predicted, first 3,072 calls", false, &sampled))
    .caption(
        "Redrawn from the model. Whiskers reach from the least to the largest sample. The document's tenfold \
             deterioration is that of its samples; its own count of calls makes it 39-fold.",
    );
    figure.abreast = true;
    figure
}

/// Figure 9: the aggregate is preserved.
pub(super) fn throughput(published: &[Published], tcp_alone: &Seen, one: &Seen, two: &Seen) -> Figure {
    let free = tcp_alone.average(|r| Some(r.tcp_bps));
    let cases = [tcp_alone, one, two];
    let paper = cases.map(|seen| printed(published, &seen.name, "TCP throughput", "mean of 10 s"));
    let predicted = cases.map(|seen| f64::midpoint(free, seen.average(|r| Some(r.tcp_bps))));
    let bars = |name: &str, values: [f64; 3]| {
        Series::new(
            name,
            Kind::Bars,
            values.into_iter().enumerate().map(|(i, v)| (i as f64, v)),
        )
    };
    let names = Axis::names("case", cases.map(|seen| seen.name.clone()));
    let y = Axis::linear("TCP payload", "bit/s").ranged(0.0, 10e9);
    Figure::new("Figure 9, redrawn: the aggregate is preserved", names, y)
        .series(bars("published", paper))
        .series(bars("predicted", predicted))
        .caption(
            "Redrawn from the model. Mean of the stream's 10 s, 5 of them beside calls. With two channels it gives up \
             what the calls' frames take on the wire.",
        )
}

/// Figure 10: performance is predictable and consistent.
pub(super) fn over_time(alone: &Seen, one: &Seen, two: &Seen) -> Figure {
    let line = |seen: &Seen| {
        let samples = seen.runs.first().map_or(&[][..], |run| run.samples.as_slice());
        let step = samples.len().div_ceil(LINE_POINTS).max(1);
        let groups = samples.chunks(step).enumerate();
        let points = groups.map(|(i, group)| {
            let mean = group.iter().sum::<u64>() as f64 / group.len() as f64;
            (((2 * i + 1) * step) as f64 / 2.0, half(mean))
        });
        Series::new(seen.name.clone(), Kind::Line, points)
    };
    let x = Axis::linear("call", "1");
    Figure::new(
        "Figure 10, redrawn: latency call by call",
        x,
        Axis::log("RTT/2", "s"),
    )
    .series(line(alone))
    .series(line(one))
    .series(line(two))
    .caption("Redrawn from the model: the first 3,072 calls of seed 1, means of twelve calls each.")
}

/// How many calls took at least so long. Every line begins at the least value of all and ends at its largest with one
/// call, so that a case whose calls all take the same shows as well.
pub(super) fn distribution(title: &str, cases: &[&Seen]) -> Figure {
    let mut figure = Figure::new(
        title,
        Axis::log("RTT/2", "s"),
        Axis::log("calls at or above", "1"),
    );
    let all: Vec<_> = cases.iter().map(|seen| seen.round_trips()).collect();
    let least = all.iter().filter_map(|h| h.min()).min();
    for (seen, histogram) in cases.iter().zip(&all) {
        let first = least.map(|ps| (ps, 1.0));
        let last = histogram.max().map(|ps| (ps, 1.0 / histogram.count() as f64));
        let points = first.into_iter().chain(histogram.ccdf()).chain(last);
        let points = points.map(|(ps, fraction)| (half(ps as f64), fraction));
        figure = figure.series(Series::new(seen.name.clone(), Kind::Step, points));
    }
    figure.caption("All calls of all seeds.")
}

/// The mean with two channels, by what is changed.
pub(super) fn sensitivity(published: &[Published], two: &Seen, group: &[Seen]) -> Figure {
    let names = Axis::names("changed", group.iter().map(|seen| seen.name.clone()));
    let mean = |seen: &Seen| seen.average(Run::mean);
    let points = group.iter().enumerate().map(|(i, seen)| (mean(seen), i as f64));
    let x = Axis::linear("RTT/2, mean of all calls", "s");
    let at = |value: f64, label: &str| Threshold {
        value,
        label: label.to_owned(),
        upright: true,
    };
    let mut figure = Figure::new("Two channels with something else", x, names)
        .series(Series::new("predicted", Kind::Scatter, points))
        .caption("Other transfers on the sender's bus, and other cables.");
    figure.thresholds.push(at(mean(two), "the model"));
    let paper = printed(published, &two.name, "RTT/2", "mean of all calls");
    figure.thresholds.push(at(paper, "published"));
    figure
}
