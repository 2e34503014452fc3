//! What the uses have in common in tables and figures.

use super::run::{Latency, Run, Seen};
use clearway_report::quantity::{Micro, humanised};
use clearway_report::{Axis, Cell, Figure, Kind, Series};

/// A number with its unit, three digits.
pub(super) fn say(value: f64, unit: &str) -> String {
    humanised(value, unit, 3, Micro::Ascii)
}

/// A number, or a dash where there is none.
pub(super) fn cell(value: f64, unit: &str) -> Cell {
    if value.is_finite() {
        Cell::number(value, unit)
    } else {
        Cell::text("-")
    }
}

/// Mean, 99 %, 99.9 % and maximum of a latency: means over the seeds, but for the maximum, which is of all.
pub(super) fn latency_cells(seen: &Seen, of: impl Fn(&Run) -> Option<&Latency>) -> [Cell; 4] {
    let mean = |part: fn(&Latency) -> f64| seen.average(|run| of(run).map(part));
    [
        cell(mean(|l| l.mean), "s"),
        cell(mean(|l| l.p99), "s"),
        cell(mean(|l| l.p999), "s"),
        cell(seen.largest(|run| of(run).map(|l| l.max)), "s"),
    ]
}

/// Headings of [`latency_cells`].
pub(super) const LATENCY: [&str; 4] = ["mean", "p99", "p99.9", "max"];

/// How many took at least so long, by case or by class.
pub(super) fn distribution<'a>(
    title: &str,
    label: &str,
    lines: impl IntoIterator<Item = (String, Option<&'a Latency>)>,
) -> Figure {
    let x = Axis::log(label, "s");
    let mut figure = Figure::new(title, x, Axis::log("fraction at or above", "1"));
    for (name, latency) in lines {
        let points = latency.map_or(&[][..], |l| l.above.as_slice());
        figure = figure.series(Series::new(name, Kind::Step, points.iter().copied()));
    }
    figure.caption("The first seed.")
}

/// The name of a series of bars, and what a case has of it.
type Bar<'a> = (&'a str, &'a dyn Fn(&Seen) -> f64);

/// Bars over the cases, a group of them for each series.
pub(super) fn bars(title: &str, y: Axis, cases: &[&Seen], series: &[Bar<'_>]) -> Figure {
    let names = Axis::names("", cases.iter().map(|seen| seen.name.clone()));
    let mut figure = Figure::new(title, names, y);
    for (name, of) in series {
        let points = cases.iter().enumerate().map(|(i, seen)| (i as f64, of(seen)));
        let name = if series.len() > 1 { *name } else { "" };
        figure = figure.series(Series::new(name, Kind::Bars, points));
    }
    figure
}
