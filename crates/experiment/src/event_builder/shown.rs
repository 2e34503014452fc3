//! Lines over sizes and rates, as figures.

use clearway_report::{Axis, Figure, Kind, Series};

/// One line of a figure.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// The axis of sources and builders.
pub(super) fn over_sizes(sizes: &[u32]) -> Axis {
    let (first, last) = (
        sizes.first().copied().unwrap_or(1),
        sizes.last().copied().unwrap_or(2),
    );
    Axis::log("sources and builders", "1").ranged(f64::from(first), f64::from(last))
}

/// A figure of lines.
pub(super) fn figure(title: &str, x: Axis, y: Axis, lines: Vec<Line>, caption: &str) -> Figure {
    let figure = Figure::new(title, x, y).caption(caption);
    // Colours come round after seven.
    lines
        .into_iter()
        .enumerate()
        .fold(figure, |figure, (place, line)| {
            let mut series = Series::new(line.name, Kind::Path, line.points);
            series.hollow = place >= 7;
            figure.series(series)
        })
}
