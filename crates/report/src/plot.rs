//! The series of a figure, drawn into its area: lines, steps, symbols, bars, bands, whiskers and point labels.
//!
//! A line with many more points than the plot has pixels is thinned to the first, lowest, highest and last of each
//! pixel column, which draws the same picture. Labels of points look for a free place around their point.

use std::collections::BTreeSet;

use crate::canvas::{Anchor, Canvas, MUTED, Setting, px, text_width};
use crate::figure::{Figure, Kind, Point, Series};
use crate::quantity::{Micro, humanised};
use crate::svg::{Area, colour_of, shape_of};

const RADIUS: f64 = 4.5;
const LABEL: f64 = 11.0;
const DASH: &str = "7 4";

/// The series in the legend: a short piece of it around (x .. x + 22, y).
pub(crate) fn sample(c: &mut Canvas, figure: &Figure, index: usize, [x, y]: [f64; 2]) {
    let Some(series) = figure.series.get(index) else {
        return;
    };
    let colour = colour_of(figure, index);
    let dash = if series.dashed { DASH } else { "" };
    match series.kind {
        Kind::Line | Kind::Step => c.line([x, y], [x + 22.0, y], colour, 2.2, dash),
        Kind::Band => c.rect([x, y - 5.0], [22.0, 10.0], colour, 0.22),
        Kind::Bars => c.rect([x + 5.0, y - 6.0], [12.0, 12.0], colour, bar_opacity(series)),
        Kind::Scatter => c.symbol(
            [x + 11.0, y],
            shape_of(figure, index),
            RADIUS,
            colour,
            series.hollow,
        ),
        Kind::Path => {
            c.line([x, y], [x + 22.0, y], colour, 1.6, dash);
            c.symbol(
                [x + 11.0, y],
                shape_of(figure, index),
                RADIUS,
                colour,
                series.hollow,
            );
        }
    }
}

/// Bars of a hollow series are paler: published beside predicted in one colour.
const fn bar_opacity(series: &Series) -> f64 {
    if series.hollow { 0.45 } else { 1.0 }
}

/// All series, then the labels of points above them.
pub(crate) fn series(c: &mut Canvas, figure: &Figure, area: &Area) {
    if figure.series.iter().all(|s| s.points.is_empty()) {
        let middle = [
            f64::midpoint(area.left, area.right),
            f64::midpoint(area.top, area.bottom),
        ];
        c.text(middle, "no data", Setting::new(13.0, Anchor::Middle).fill(MUTED));
        return;
    }
    for (i, s) in figure.series.iter().enumerate() {
        let colour = colour_of(figure, i);
        let dash = if s.dashed { DASH } else { "" };
        match s.kind {
            Kind::Line => c.stroke(&joined(s, area, false), colour, 1.8, dash),
            Kind::Step => c.stroke(&joined(s, area, true), colour, 1.8, dash),
            Kind::Band => c.area(&band(s, area), colour, 0.22),
            Kind::Bars => bars(c, figure, area, i),
            Kind::Scatter => symbols(c, figure, area, i),
            Kind::Path => {
                c.stroke(&joined(s, area, false), colour, 1.4, dash);
                symbols(c, figure, area, i);
            }
        }
    }
    labels(c, figure, area);
}

/// Pixels of the points, in runs between those that have no place.
fn runs(series: &Series, area: &Area) -> Vec<Vec<[f64; 2]>> {
    let mut found = vec![Vec::new()];
    for p in &series.points {
        match (area.x.at(p.x), area.y.at(p.y)) {
            (Some(x), Some(y)) => {
                if let Some(run) = found.last_mut() {
                    run.push([x, y]);
                }
            }
            _ => found.push(Vec::new()),
        }
    }
    found.retain(|r| !r.is_empty());
    found
}

/// The first, lowest, highest and last point of each pixel column, in their order, where there are too many.
fn thinned(run: Vec<[f64; 2]>, area: &Area) -> Vec<[f64; 2]> {
    if (run.len() as f64) < 4.0 * (area.right - area.left) {
        return run;
    }
    let mut kept = Vec::new();
    let mut rest = run.as_slice();
    while let Some(first) = rest.first() {
        let length = rest
            .iter()
            .take_while(|p| p[0].floor() == first[0].floor())
            .count();
        let (column, tail) = rest.split_at(length);
        let by_height = |a: &usize, b: &usize| column[*a][1].total_cmp(&column[*b][1]);
        let mut chosen = BTreeSet::from([0, length - 1]);
        chosen.extend((0..length).min_by(by_height));
        chosen.extend((0..length).max_by(by_height));
        kept.extend(chosen.into_iter().map(|i| column[i]));
        rest = tail;
    }
    kept
}

/// Points joined by straight lines, or by steps that hold each value until the next point.
fn joined(series: &Series, area: &Area, steps: bool) -> String {
    let mut path = String::new();
    for run in runs(series, area) {
        let run = thinned(run, area);
        // A run of one point would leave no ink.
        if let [[x, y]] = run[..] {
            path.push_str(&format!("M{} {}h1", px(x), px(y)));
            continue;
        }
        let mut before = String::new();
        for (i, [x, y]) in run.into_iter().enumerate() {
            let here = [px(x), px(y)];
            if i == 0 {
                path.push_str(&format!("M{} {}", here[0], here[1]));
            } else if steps {
                path.push_str(&format!("H{}", here[0]));
                if here[1] != before {
                    path.push_str(&format!("V{}", here[1]));
                }
            } else {
                path.push_str(&format!("L{} {}", here[0], here[1]));
            }
            [_, before] = here;
        }
    }
    path
}

/// The outline of the spans: along the upper ends and back along the lower ones, in steps.
fn band(series: &Series, area: &Area) -> String {
    let bottom = area.y.start;
    let ends: Vec<[f64; 3]> = series
        .points
        .iter()
        .filter_map(|p| {
            let [low, high] = p.span?;
            // A lower end of zero on a logarithmic axis lies on the ground.
            Some([
                area.x.at(p.x)?,
                area.y.at(low).unwrap_or(bottom),
                area.y.at(high)?,
            ])
        })
        .collect();
    // Thinned by pixel column to the widest span.
    let mut columns: Vec<[f64; 3]> = Vec::new();
    for [x, low, high] in ends {
        match columns.last_mut() {
            Some(last) if last[0].floor() == x.floor() => {
                *last = [last[0], last[1].max(low), last[2].min(high)]
            }
            _ => columns.push([x, low, high]),
        }
    }
    let (Some(first), Some(last)) = (columns.first().copied(), columns.last().copied()) else {
        return String::new();
    };
    let mut path = format!("M{} {}", px(first[0]), px(first[2]));
    for [x, _, high] in columns.iter().skip(1) {
        path.push_str(&format!("H{}V{}", px(*x), px(*high)));
    }
    path.push_str(&format!("V{}", px(last[1])));
    for pair in columns.windows(2).rev() {
        path.push_str(&format!("V{}H{}", px(pair[0][1]), px(pair[0][0])));
    }
    path.push('Z');
    path
}

/// Series that share the places of an axis of names stand beside one another: the shift of this one in pixels.
fn dodge(figure: &Figure, index: usize, slot: f64, share: f64) -> (f64, f64) {
    let kind = figure.series[index].kind;
    let peers: Vec<usize> = (0..figure.series.len())
        .filter(|&i| figure.series[i].kind == kind)
        .collect();
    let rank = peers.iter().position(|&i| i == index).unwrap_or(0) as f64;
    let each = slot * share / peers.len() as f64;
    ((rank - (peers.len() as f64 - 1.0) / 2.0) * each, each)
}

fn slot(names: usize, from: f64, to: f64) -> f64 {
    (to - from).abs() / names.max(1) as f64
}

fn bars(c: &mut Canvas, figure: &Figure, area: &Area, index: usize) {
    let s = &figure.series[index];
    let colour = colour_of(figure, index);
    let (shift, each) = dodge(
        figure,
        index,
        slot(figure.x.categories.len(), area.left, area.right),
        0.78,
    );
    let ground = area.y.at(0.0).unwrap_or(area.bottom).clamp(area.top, area.bottom);
    let width = (each - 2.0).clamp(1.0, 90.0);
    for p in &s.points {
        let (Some(x), Some(y)) = (area.x.at(p.x), area.y.at(p.y)) else {
            continue;
        };
        let x = x + shift;
        c.rect(
            [x - width / 2.0, y.min(ground)],
            [width, (ground - y).abs()],
            colour,
            bar_opacity(s),
        );
        let mut above = y.min(ground);
        if let Some([low, high]) = p.span.and_then(|[a, b]| Some([area.y.at(a)?, area.y.at(b)?])) {
            whisker(c, [x, low], [x, high], "#1a1a1a");
            above = above.min(high);
        }
        let text = p
            .label
            .clone()
            .unwrap_or_else(|| humanised(p.y, &figure.y.unit, 3, Micro::Sign));
        if text_width(&text, LABEL) <= each + 6.0 {
            let at = [x, (above - 4.0).max(area.top + 6.0)];
            c.text(at, &text, Setting::new(LABEL, Anchor::Middle).halo());
        }
    }
}

fn whisker(c: &mut Canvas, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], colour: &str) {
    c.line([x1, y1], [x2, y2], colour, 1.4, "");
    let [dx, dy] = if x1 == x2 { [3.5, 0.0] } else { [0.0, 3.5] };
    for [x, y] in [[x1, y1], [x2, y2]] {
        c.line([x - dx, y - dy], [x + dx, y + dy], colour, 1.4, "");
    }
}

fn radius_of(p: &Point) -> f64 {
    let area = if p.area.is_finite() && p.area > 0.0 {
        p.area.clamp(0.3, 12.0)
    } else {
        1.0
    };
    RADIUS * libm::sqrt(area)
}

/// The pixel of a point, moved aside where the axis has names.
fn spot(figure: &Figure, area: &Area, index: usize, p: &Point) -> Option<[f64; 2]> {
    let [mut x, mut y] = [area.x.at(p.x)?, area.y.at(p.y)?];
    if !figure.y.categories.is_empty() {
        y += dodge(
            figure,
            index,
            slot(figure.y.categories.len(), area.top, area.bottom),
            0.5,
        )
        .0;
    } else if !figure.x.categories.is_empty() {
        x += dodge(
            figure,
            index,
            slot(figure.x.categories.len(), area.left, area.right),
            0.5,
        )
        .0;
    }
    Some([x, y])
}

fn symbols(c: &mut Canvas, figure: &Figure, area: &Area, index: usize) {
    let s = &figure.series[index];
    let colour = colour_of(figure, index);
    let sideways = !figure.y.categories.is_empty();
    // Thousands of symbols on one pixel draw one symbol.
    let mut drawn = BTreeSet::new();
    for p in &s.points {
        let Some([x, y]) = spot(figure, area, index, p) else {
            continue;
        };
        if let Some([low, high]) = p.span {
            let map = if sideways { area.x } else { area.y };
            if let (Some(low), Some(high)) = (map.at(low), map.at(high)) {
                if sideways {
                    whisker(c, [low, y], [high, y], colour);
                } else {
                    whisker(c, [x, low], [x, high], colour);
                }
            }
        }
        if drawn.insert(([x, y].map(|v| (v * 2.0).round() as i64), p.area.to_bits())) {
            c.symbol([x, y], shape_of(figure, index), radius_of(p), colour, s.hollow);
        }
    }
}

/// Left, top, right, bottom.
type Rectangle = [f64; 4];

fn overlap(a: &Rectangle, b: &Rectangle) -> f64 {
    let wide = a[2].min(b[2]) - a[0].max(b[0]);
    let high = a[3].min(b[3]) - a[1].max(b[1]);
    if wide > 0.0 && high > 0.0 {
        wide * high
    } else {
        0.0
    }
}

/// Labels of symbols: each takes the first of eight places around its point that is free, else the least crowded.
fn labels(c: &mut Canvas, figure: &Figure, area: &Area) {
    let mut taken: Vec<Rectangle> = Vec::new();
    let mut wanted = Vec::new();
    for (i, s) in figure.series.iter().enumerate() {
        if !matches!(s.kind, Kind::Scatter | Kind::Path | Kind::Line) {
            continue;
        }
        for p in &s.points {
            let Some([x, y]) = spot(figure, area, i, p) else {
                continue;
            };
            if s.kind != Kind::Line {
                let r = radius_of(p);
                taken.push([x - r, y - r, x + r, y + r]);
            }
            if let Some(text) = p.label.as_deref().filter(|t| !t.is_empty()) {
                wanted.push(([x, y], radius_of(p), text));
            }
        }
    }
    let inside = [area.left, area.top, area.right, area.bottom];
    for ([x, y], r, text) in wanted {
        let (w, h) = (text_width(text, LABEL), LABEL + 1.0);
        let (near, far) = (r + 4.0, r * 0.75 + 2.0);
        let places = [
            [x + near, y - h / 2.0],
            [x - w / 2.0, y - near - h],
            [x - w / 2.0, y + near],
            [x - near - w, y - h / 2.0],
            [x + far, y - far - h],
            [x + far, y + far],
            [x - far - w, y - far - h],
            [x - far - w, y + far],
        ];
        let boxes = places.map(|[a, b]| [a, b, a + w, b + h]);
        let crowding = |b: &Rectangle| {
            let outside = w * h - overlap(b, &inside);
            outside * 2.0 + taken.iter().map(|t| overlap(b, t)).sum::<f64>()
        };
        let Some(best) = boxes
            .iter()
            .min_by(|a, b| crowding(a).total_cmp(&crowding(b)))
            .copied()
        else {
            continue;
        };
        taken.push(best);
        c.text(
            [best[0], best[3] - 3.0],
            text,
            Setting::new(LABEL, Anchor::Start).halo(),
        );
    }
}
