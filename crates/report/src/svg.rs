//! Figures as standalone SVG 1.1: layout, axes, legend, thresholds, event marks. [`crate::plot`] draws the series.
//!
//! The drawing has its own white ground, so that it reads the same on light and dark pages; it needs no font, script
//! or style from outside. The legend stands above the plot and threshold labels to its right: neither can cover data.
//! Title and caption are in `title` and `desc` for those who hear the page.

use crate::canvas::{Anchor, Canvas, FONT, GRID, MUTED, PALETTE, Setting, TEXT, px, text_width, wrap};
use crate::escape;
use crate::figure::{Axis, Figure, Kind, MarkKind, Scale, Threshold};
use crate::plot;
use crate::scale::{self, Fit, Mapping, Ticks};

/// Size of a drawing in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// From left to right; at least 240.
    pub width: f64,
    /// From top to bottom, legend included; at least 160.
    pub height: f64,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            width: 760.0,
            height: 440.0,
        }
    }
}

const TITLE: f64 = 15.0;
const LABEL: f64 = 12.0;
const TICK: f64 = 11.0;
const EDGE: f64 = 14.0;
/// Height of the strip of event marks below the horizontal axis.
const STRIP: f64 = 14.0;

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

/// The colour of a series.
pub(crate) fn colour_of(figure: &Figure, series: usize) -> &'static str {
    let index = figure.series.get(series).and_then(|s| s.colour).unwrap_or(series);
    PALETTE[index % PALETTE.len()]
}

/// The shape of a series' symbols: that of its colour, so that a hollow and a filled one pair up.
pub(crate) fn shape_of(figure: &Figure, series: usize) -> usize {
    figure.series.get(series).and_then(|s| s.colour).unwrap_or(series)
}

/// The figure as an SVG document.
#[must_use]
pub fn render(figure: &Figure, size: Size) -> String {
    let fixed = |v: f64, least: f64, usual: f64| {
        if v.is_finite() {
            v.clamp(least, 10_000.0)
        } else {
            usual
        }
    };
    let width = fixed(size.width, 240.0, Size::default().width);
    let height = fixed(size.height, 160.0, Size::default().height);
    let mut c = Canvas::default();
    c.out.push_str(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"{FONT}\">\n<title>{title}</title>\n<desc>{desc}</desc>\n",
        w = px(width),
        h = px(height),
        title = escape::markup(&figure.title),
        desc = escape::markup(&description(figure)),
    ));
    c.rect([0.0, 0.0], [width, height], "#fff", 1.0);
    let below_head = head(&mut c, figure, width);
    let (x_range, y_range) = (x_range(figure), y_range(figure));
    let area = lay_out(figure, [width, height], below_head, x_range, y_range);
    let ticks = axis_ticks(figure, &area);
    ground(&mut c, figure, &area, &ticks);
    // A nested element clips what a given range leaves outside; a little more than the plot, for symbols on its edge.
    let over = 6.0;
    c.out.push_str(&format!(
        "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\" overflow=\"hidden\">\n",
        x = px(area.left - over),
        y = px(area.top - over),
        w = px(area.right - area.left + 2.0 * over),
        h = px(area.bottom - area.top + 2.0 * over),
    ));
    plot::series(&mut c, figure, &area);
    c.out.push_str("</svg>\n");
    thresholds(&mut c, figure, &area);
    marks(&mut c, figure, &area);
    axes(&mut c, figure, &area, &ticks, height);
    c.out.push_str("</svg>\n");
    c.out
}

/// What the plot shows, in words.
fn description(figure: &Figure) -> String {
    let names: Vec<&str> = figure
        .series
        .iter()
        .map(|s| s.name.as_str())
        .filter(|n| !n.is_empty())
        .collect();
    let mut text = format!("{} against {}", figure.y.label, figure.x.label);
    if !names.is_empty() {
        text.push_str(&format!("; series: {}", names.join(", ")));
    }
    for t in &figure.thresholds {
        text.push_str(&format!("; threshold: {}", t.label));
    }
    if !figure.caption.is_empty() {
        text.push_str(". ");
        text.push_str(&figure.caption);
    }
    text
}

fn mark_kinds(figure: &Figure) -> Vec<MarkKind> {
    let mut kinds: Vec<MarkKind> = figure.marks.iter().map(|m| m.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Title and legend; returns where the plot may begin.
fn head(c: &mut Canvas, figure: &Figure, width: f64) -> f64 {
    let mut y = EDGE;
    for line in wrap(&figure.title, TITLE, width - 2.0 * EDGE, 2) {
        y += TITLE;
        c.text([EDGE, y], &line, Setting::new(TITLE, Anchor::Start).bold());
        y += 5.0;
    }
    let named: Vec<usize> = (0..figure.series.len())
        .filter(|&i| !figure.series[i].name.is_empty())
        .collect();
    let mut x = EDGE;
    let mut begun = false;
    let mut place = |c: &mut Canvas, text: &str, glyph: &dyn Fn(&mut Canvas, f64, f64)| {
        let text = wrap(text, LABEL, width - 2.0 * EDGE - 30.0, 1).concat();
        let wide = 30.0 + text_width(&text, LABEL) + 14.0;
        if !begun {
            y += 17.0;
            begun = true;
        } else if x + wide > width - EDGE {
            x = EDGE;
            y += 18.0;
        }
        glyph(c, x, y - 4.0);
        c.text([x + 28.0, y], &text, Setting::new(LABEL, Anchor::Start));
        x += wide;
    };
    for i in named {
        place(c, &figure.series[i].name, &|c, x, y| {
            plot::sample(c, figure, i, [x, y])
        });
    }
    for kind in mark_kinds(figure) {
        place(c, kind.as_str(), &|c, x, y| mark(c, kind, [x + 11.0, y - 5.0]));
    }
    y + 12.0
}

fn fit_for(figure: &Figure, horizontal: bool) -> Fit {
    let kinds = || figure.series.iter().map(|s| s.kind);
    if kinds().any(|k| k == Kind::Bars) {
        return if horizontal { Fit::Tight } else { Fit::FromZero };
    }
    if horizontal && kinds().all(|k| matches!(k, Kind::Line | Kind::Step | Kind::Band)) {
        Fit::Tight
    } else {
        Fit::Airy
    }
}

/// Of an axis of names: one place each, half a place around.
fn places(axis: &Axis) -> Option<(f64, f64)> {
    (!axis.categories.is_empty()).then(|| (-0.5, axis.categories.len() as f64 - 0.5))
}

fn x_range(figure: &Figure) -> (f64, f64) {
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

fn y_range(figure: &Figure) -> (f64, f64) {
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
fn level_lines<'a>(figure: &'a Figure, y: &Mapping) -> Vec<(f64, &'a Threshold)> {
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

fn lay_out(figure: &Figure, [width, height]: [f64; 2], top: f64, x: (f64, f64), y: (f64, f64)) -> Area {
    let mapping = |(low, high), scale, start, end| Mapping {
        low,
        high,
        scale,
        start,
        end,
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
    let y_map = mapping(y, figure.y.scale, bottom, top);
    let labels = if figure.y.categories.is_empty() {
        let ticks = scale::ticks(
            y.0,
            y.1,
            figure.y.scale,
            &figure.y.unit,
            ((bottom - top) / 45.0) as usize,
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
        x: mapping(x, figure.x.scale, left, right),
        y: y_map,
    }
}

struct AxisTicks {
    x: Ticks,
    y: Ticks,
}

fn axis_ticks(figure: &Figure, area: &Area) -> AxisTicks {
    let none = || Ticks {
        ticks: Vec::new(),
        unit: String::new(),
    };
    let y = if figure.y.categories.is_empty() {
        let wanted = ((area.bottom - area.top) / 45.0) as usize;
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

/// Tolerance strip and grid, behind the data.
fn ground(c: &mut Canvas, figure: &Figure, area: &Area, ticks: &AxisTicks) {
    if let Some([low, high]) = figure.tolerance {
        let sideways = !figure.y.categories.is_empty();
        let map = if sideways { area.x } else { area.y };
        let (start, end) = (map.start.min(map.end), map.start.max(map.end));
        if let (Some(a), Some(b)) = (map.at(low), map.at(high)) {
            let (a, b) = (a.min(b).clamp(start, end), a.max(b).clamp(start, end));
            if sideways {
                c.rect([a, area.top], [b - a, area.bottom - area.top], "#009e73", 0.12);
            } else {
                c.rect([area.left, a], [area.right - area.left, b - a], "#009e73", 0.12);
            }
        }
    }
    for t in &ticks.y.ticks {
        if let Some(y) = area.y.at(t.value) {
            let width = if t.label.is_some() { 1.0 } else { 0.4 };
            c.line([area.left, y], [area.right, y], GRID, width, "");
        }
    }
    for t in &ticks.x.ticks {
        if let Some(x) = area.x.at(t.value) {
            let width = if t.label.is_some() { 1.0 } else { 0.4 };
            c.line([x, area.top], [x, area.bottom], GRID, width, "");
        }
    }
    if !figure.y.categories.is_empty() {
        for place in 0..figure.y.categories.len() {
            if let Some(y) = area.y.at(place as f64) {
                c.line([area.left, y], [area.right, y], GRID, 1.0, "1 3");
            }
        }
    }
}

fn thresholds(c: &mut Canvas, figure: &Figure, area: &Area) {
    const INK: &str = "#7a3b00";
    let mut free = f64::NEG_INFINITY;
    for (y, t) in level_lines(figure, &area.y) {
        c.line([area.left, y], [area.right, y], INK, 1.2, "6 4");
        let at = (y + 4.0).max(free);
        free = at + TICK + 2.0;
        let text = wrap(&t.label, TICK, (area.right - area.left) * 0.4, 1).concat();
        c.text(
            [area.right + 6.0, at],
            &text,
            Setting::new(TICK, Anchor::Start).fill(INK),
        );
    }
    for t in figure.thresholds.iter().filter(|t| t.upright) {
        let Some(x) = area
            .x
            .at(t.value)
            .filter(|x| (area.left..=area.right).contains(x))
        else {
            continue;
        };
        c.line([x, area.top], [x, area.bottom], INK, 1.2, "6 4");
        let half = text_width(&t.label, TICK) / 2.0;
        let middle = x.clamp(
            area.left + half.min((area.right - area.left) / 2.0),
            (area.right - half).max(area.left),
        );
        c.text(
            [middle, area.top - 4.0],
            &t.label,
            Setting::new(TICK, Anchor::Middle).fill(INK),
        );
    }
}

/// One event mark in a strip that begins at `y`: XOFF and drops in the upper half, XON and others in the lower.
fn mark(c: &mut Canvas, kind: MarkKind, [x, y]: [f64; 2]) {
    match kind {
        MarkKind::Xoff => c.symbol([x, y + 4.0], 4, 3.2, "#d55e00", false),
        MarkKind::Xon => c.symbol([x, y + 9.0], 2, 3.2, "#009e73", true),
        MarkKind::Drop => {
            for side in [-1.0, 1.0] {
                c.line(
                    [x - 3.0 * side, y + 1.5],
                    [x + 3.0 * side, y + 7.5],
                    TEXT,
                    1.4,
                    "",
                );
            }
        }
        MarkKind::Event => c.symbol([x, y + 9.0], 3, 2.6, MUTED, false),
    }
}

/// Event marks below the axis: symbols while they are few, thin lines where they would run together.
fn marks(c: &mut Canvas, figure: &Figure, area: &Area) {
    for kind in mark_kinds(figure) {
        let mut at: Vec<i64> = figure
            .marks
            .iter()
            .filter(|m| m.kind == kind)
            .filter_map(|m| area.x.at(m.x))
            .filter(|x| (area.left - 0.5..=area.right + 0.5).contains(x))
            .map(|x| x.round() as i64)
            .collect();
        at.sort_unstable();
        at.dedup();
        let dense = at.len() as f64 > (area.right - area.left) / 12.0;
        for x in at.into_iter().map(|x| x as f64) {
            if dense {
                let (colour, from) = match kind {
                    MarkKind::Xoff => ("#d55e00", 1.0),
                    MarkKind::Drop => (TEXT, 1.0),
                    MarkKind::Xon => ("#009e73", 7.5),
                    MarkKind::Event => (MUTED, 7.5),
                };
                c.line(
                    [x, area.bottom + from],
                    [x, area.bottom + from + 5.5],
                    colour,
                    1.0,
                    "",
                );
            } else {
                mark(c, kind, [x, area.bottom + 1.0]);
            }
        }
    }
}

/// Axis title with its unit.
fn axis_title(axis: &Axis, unit: &str) -> String {
    if unit.is_empty() {
        axis.label.clone()
    } else {
        format!("{} ({unit})", axis.label)
    }
}

fn axes(c: &mut Canvas, figure: &Figure, area: &Area, ticks: &AxisTicks, height: f64) {
    c.line(
        [area.left, area.bottom],
        [area.right, area.bottom],
        MUTED,
        1.0,
        "",
    );
    c.line([area.left, area.top], [area.left, area.bottom], MUTED, 1.0, "");
    // Zero is worth a line of its own where the axis runs through it.
    if figure.y.scale == Scale::Linear
        && area.y.low < 0.0
        && area.y.high > 0.0
        && figure.y.categories.is_empty()
    {
        if let Some(y) = area.y.at(0.0) {
            c.line([area.left, y], [area.right, y], MUTED, 1.0, "");
        }
    }
    if figure.x.scale == Scale::Linear
        && area.x.low < 0.0
        && area.x.high > 0.0
        && figure.x.categories.is_empty()
    {
        if let Some(x) = area.x.at(0.0) {
            c.line([x, area.top], [x, area.bottom], MUTED, 1.0, "");
        }
    }
    let strip = if figure.marks.is_empty() { 0.0 } else { STRIP };
    let base = area.bottom + strip;
    for t in &ticks.y.ticks {
        if let (Some(label), Some(y)) = (&t.label, area.y.at(t.value)) {
            c.text(
                [area.left - 7.0, y + 4.0],
                label,
                Setting::new(TICK, Anchor::End).fill(MUTED),
            );
        }
    }
    for t in &ticks.x.ticks {
        if let (Some(label), Some(x)) = (&t.label, area.x.at(t.value)) {
            c.line([x, area.bottom], [x, area.bottom + 4.0], MUTED, 1.0, "");
            c.text(
                [x, base + 16.0],
                label,
                Setting::new(TICK, Anchor::Middle).fill(MUTED),
            );
        }
    }
    names(c, figure, area, base);
    let centre = f64::midpoint(area.left, area.right);
    let set = Setting::new(LABEL, Anchor::Middle);
    c.text(
        [centre, height - 10.0],
        &axis_title(&figure.x, &ticks.x.unit),
        set,
    );
    let y_title = axis_title(&figure.y, &ticks.y.unit);
    c.text(
        [EDGE + 8.0, f64::midpoint(area.top, area.bottom)],
        &y_title,
        set.turned(-90.0),
    );
}

/// The names of an axis of names.
fn names(c: &mut Canvas, figure: &Figure, area: &Area, base: f64) {
    let slot = (area.right - area.left) / figure.x.categories.len().max(1) as f64;
    for (place, name) in figure.x.categories.iter().enumerate() {
        let Some(x) = area.x.at(place as f64) else {
            continue;
        };
        for (i, line) in wrap(name, TICK, slot - 6.0, 3).iter().enumerate() {
            c.text(
                [x, base + 16.0 + 13.0 * i as f64],
                line,
                Setting::new(TICK, Anchor::Middle).fill(TEXT),
            );
        }
    }
    for (place, name) in figure.y.categories.iter().enumerate() {
        let Some(y) = area.y.at(place as f64) else {
            continue;
        };
        let lines = wrap(name, TICK, area.left - EDGE - 8.0, 2);
        let first = y + 4.0 - 6.5 * (lines.len() as f64 - 1.0);
        for (i, line) in lines.iter().enumerate() {
            c.text(
                [area.left - 7.0, first + 13.0 * i as f64],
                line,
                Setting::new(TICK, Anchor::End).fill(TEXT),
            );
        }
    }
}
