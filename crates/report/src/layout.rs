//! Where the parts of a figure go: ranges of the axes, margins for labels, ticks that do not run together.

use crate::canvas::{text_width, wrap};
use crate::figure::{Axis, Figure, Kind, Scale, Threshold};
use crate::scale::{self, Fit, Mapping, Ticks};

/// Font size of ticks, names and thresholds, in pixels.
pub(crate) const TICK: f64 = 11.0;
/// Free space along the edge of the drawing.
pub(crate) const EDGE: f64 = 14.0;
/// Height of the strip of event marks below the horizontal axis.
pub(crate) const STRIP: f64 = 14.0;

/// Where the data go, and how values become pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) x: Mapping,
    pub(crate) y: Mapping,
}

fn fit_for(figure: &Figure, horizontal: bool) -> Fit {
    let kinds = || figure.series.iter().map(|s| s.kind);
    if kinds().any(|k| k == Kind::Bars) {
        return if horizontal { Fit::Tight } else { Fit::FromZero };
    }
    // A logarithmic axis has no natural end: a line that starts on the frame is hard to see.
    if horizontal
        && figure.x.scale == Scale::Linear
        && kinds().all(|k| matches!(k, Kind::Line | Kind::Step | Kind::Band))
    {
        Fit::Tight
    } else {
        Fit::Airy
    }
}

/// Of an axis of names: one place each, half a place around.
fn places(axis: &Axis) -> Option<(f64, f64)> {
    (!axis.categories.is_empty()).then(|| (-0.5, axis.categories.len() as f64 - 0.5))
}

pub(crate) fn x_range(figure: &Figure) -> (f64, f64) {
    if let Some(range) = places(&figure.x) {
        return range;
    }
    let sideways = !figure.y.categories.is_empty();
    let points = figure.series.iter().flat_map(|s| &s.points);
    let spans = points
        .clone()
        .filter_map(|p| p.span)
        .flatten()
        .filter(|_| sideways);
    let tolerance = figure.tolerance.into_iter().flatten().filter(|_| sideways);
    let upright = figure.thresholds.iter().filter(|t| t.upright).map(|t| t.value);
    let values = points.map(|p| p.x).chain(spans).chain(upright).chain(tolerance);
    scale::range(values, figure.x.scale, figure.x.range, fit_for(figure, true))
}

pub(crate) fn y_range(figure: &Figure) -> (f64, f64) {
    if let Some((low, high)) = places(&figure.y) {
        // The first name on top.
        return (high, low);
    }
    let points = figure.series.iter().flat_map(|s| &s.points);
    let spans = points.clone().filter_map(|p| p.span).flatten();
    let level = figure.thresholds.iter().filter(|t| !t.upright).map(|t| t.value);
    let values = points
        .map(|p| p.y)
        .chain(spans)
        .chain(level)
        .chain(figure.tolerance.into_iter().flatten());
    scale::range(values, figure.y.scale, figure.y.range, fit_for(figure, false))
}

/// Thresholds whose line is level and inside the plot, with the pixel of the line.
pub(crate) fn level_lines<'a>(figure: &'a Figure, y: &Mapping) -> Vec<(f64, &'a Threshold)> {
    let (low, high) = (y.start.min(y.end) - 0.5, y.start.max(y.end) + 0.5);
    let mut lines: Vec<_> = figure
        .thresholds
        .iter()
        .filter(|t| !t.upright)
        .filter_map(|t| y.at(t.value).map(|at| (at, t)))
        .filter(|(at, _)| (low..=high).contains(at))
        .collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    lines
}

pub(crate) fn lay_out(
    figure: &Figure,
    [width, height]: [f64; 2],
    top: f64,
    x: (f64, f64),
    y: (f64, f64),
) -> Area {
    let mapping = |(low, high), axis: &Axis, start, end| {
        // Places of names are numbered from zero: evenly spread, whatever the axis says.
        let scale = if axis.categories.is_empty() {
            axis.scale
        } else {
            Scale::Linear
        };
        Mapping {
            low,
            high,
            scale,
            start,
            end,
        }
    };
    // Room for upright threshold labels above the plot.
    let top = if figure.thresholds.iter().any(|t| t.upright) {
        top + 14.0
    } else {
        top + 4.0
    };
    let below = if figure.x.categories.is_empty() {
        20.0
    } else {
        let slot = (width * 0.82) / figure.x.categories.len() as f64;
        let lines = figure
            .x
            .categories
            .iter()
            .map(|n| wrap(n, TICK, slot - 8.0, 3).len())
            .max()
            .unwrap_or(1);
        8.0 + 13.0 * lines as f64
    };
    let strip = if figure.marks.is_empty() { 0.0 } else { STRIP };
    let title = if figure.x.label.is_empty() { 0.0 } else { 20.0 };
    let bottom = (height - 8.0 - title - below - strip).max(top + 40.0);
    let names = |limit: f64| {
        let lines = figure.y.categories.iter().flat_map(|n| wrap(n, TICK, limit, 2));
        lines.map(|l| text_width(&l, TICK)).fold(0.0, f64::max)
    };
    let y_map = mapping(y, &figure.y, bottom, top);
    let labels = if figure.y.categories.is_empty() {
        let ticks = scale::ticks(
            y.0,
            y.1,
            figure.y.scale,
            &figure.y.unit,
            ((bottom - top) / 40.0) as usize,
        );
        ticks
            .ticks
            .iter()
            .filter_map(|t| t.label.as_deref())
            .map(|l| text_width(l, TICK))
            .fold(0.0, f64::max)
    } else {
        names(width * 0.34)
    };
    let title = if figure.y.label.is_empty() { 0.0 } else { 20.0 };
    let left = EDGE + title + labels + 8.0;
    let beside = level_lines(figure, &y_map)
        .iter()
        .flat_map(|(_, t)| wrap(&t.label, TICK, width * 0.22, 1))
        .map(|l| text_width(&l, TICK) + 8.0)
        .fold(0.0, f64::max);
    let right = (width - EDGE.max(beside + 6.0) - 8.0).max(left + 60.0);
    Area {
        left,
        right,
        top,
        bottom,
        x: mapping(x, &figure.x, left, right),
        y: y_map,
    }
}

/// Ticks of both axes; an axis of names has none.
#[derive(Debug)]
pub(crate) struct AxisTicks {
    pub(crate) x: Ticks,
    pub(crate) y: Ticks,
}

pub(crate) fn axis_ticks(figure: &Figure, area: &Area) -> AxisTicks {
    let none = || Ticks {
        ticks: Vec::new(),
        unit: String::new(),
    };
    let y = if figure.y.categories.is_empty() {
        let wanted = ((area.bottom - area.top) / 40.0) as usize;
        scale::ticks(area.y.low, area.y.high, figure.y.scale, &figure.y.unit, wanted)
    } else {
        none()
    };
    let x = if figure.x.categories.is_empty() {
        // As many as fit with their labels side by side.
        let mut wanted = ((area.right - area.left) / 60.0) as usize;
        loop {
            let found = scale::ticks(area.x.low, area.x.high, figure.x.scale, &figure.x.unit, wanted);
            let mut end = f64::NEG_INFINITY;
            let clear = found.ticks.iter().all(|t| {
                let (Some(label), Some(at)) = (t.label.as_deref(), area.x.at(t.value)) else {
                    return true;
                };
                let half = text_width(label, TICK) / 2.0;
                let free = at - half > end;
                end = at + half + 6.0;
                free
            });
            if clear || wanted <= 2 {
                break found;
            }
            wanted -= 1;
        }
    } else {
        none()
    };
    AxisTicks { x, y }
}
