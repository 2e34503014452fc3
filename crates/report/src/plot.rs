//! The series of a figure, drawn into its area: lines, steps, symbols, bars, bands, whiskers and point labels.
//!
//! A line with many more points than the plot has pixels is thinned to the first, lowest, highest and last of each
//! pixel column, which draws the same picture. Labels of points look for a free place around their point.

use std::collections::BTreeSet;

use crate::canvas::{Anchor, Canvas, MUTED, Setting, px, text_width};
use crate::figure::{Figure, Kind, Point, Series};
use crate::layout::Area;
use crate::quantity::{Micro, humanised};
use crate::svg::{colour_of, shape_of};

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
    if !figure.abreast {
        return Some([x, y]);
    }
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

/// Points along the lines of the figure, some pixels apart, for labels to keep clear of.
fn along_lines(figure: &Figure, area: &Area) -> Vec<[f64; 2]> {
    const APART: f64 = 6.0;
    let mut found = Vec::new();
    for s in figure
        .series
        .iter()
        .filter(|s| matches!(s.kind, Kind::Line | Kind::Path))
    {
        for run in runs(s, area) {
            for pair in thinned(run, area).windows(2) {
                let [dx, dy] = [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]];
                let steps = (libm::hypot(dx, dy) / APART).ceil().clamp(1.0, 500.0) as usize;
                found.extend((0..steps).map(|i| {
                    let along = i as f64 / steps as f64;
                    [pair[0][0] + dx * along, pair[0][1] + dy * along]
                }));
            }
        }
    }
    found
}

/// More labels than this are a cloud; each would cost a look at all others.
const MOST_LABELS: usize = 400;

/// Labels of symbols: each takes the least crowded of 24 places around its point, the nearer the better.
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
            if let Some(text) = p.label.as_deref().filter(|t| !t.is_empty()) {
                wanted.push(([x, y], radius_of(p), text));
            }
            if s.kind != Kind::Line && taken.len() < 5 * MOST_LABELS {
                let r = radius_of(p) + 1.0;
                taken.push([x - r, y - r, x + r, y + r]);
            }
        }
    }
    if wanted.is_empty() {
        return;
    }
    wanted.truncate(MOST_LABELS);
    let lines = along_lines(figure, area);
    let inside = [area.left, area.top, area.right, area.bottom];
    for ([x, y], r, text) in wanted {
        let (w, h) = (text_width(text, LABEL), LABEL + 1.0);
        let ring = |out: f64| {
            let (near, far) = (r + out, (r + out) * 0.75);
            [
                [x + near, y - h / 2.0],
                [x - w / 2.0, y - near - h],
                [x - w / 2.0, y + near],
                [x - near - w, y - h / 2.0],
                [x + far, y - far - h],
                [x + far, y + far],
                [x - far - w, y - far - h],
                [x - far - w, y + far],
            ]
        };
        let boxes: Vec<Rectangle> = [ring(4.0), ring(14.0), ring(26.0)]
            .concat()
            .into_iter()
            .map(|[a, b]| [a, b, a + w, b + h])
            .collect();
        let crowding = |b: &Rectangle| {
            let outside = w * h - overlap(b, &inside);
            let covered: f64 = taken.iter().map(|t| overlap(b, t)).sum();
            let crossed = lines
                .iter()
                .filter(|[x, y]| b[0] < *x && *x < b[2] && b[1] < *y && *y < b[3])
                .count();
            outside * 3.0 + covered * 4.0 + crossed as f64 * 20.0
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

#[cfg(test)]
mod tests {
    use crate::figure::{Axis, Figure, Kind, Point, Series};
    use crate::svg::{Size, render};

    fn figure(series: Vec<Series>) -> String {
        let mut f = Figure::new(
            "",
            Axis::linear("", "1").ranged(0.0, 10.0),
            Axis::linear("", "1").ranged(0.0, 10.0),
        );
        f.series = series;
        render(&f, Size::default())
    }

    fn path(svg: &str) -> &str {
        svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap()
    }

    #[test]
    fn a_point_that_is_no_number_breaks_the_line() {
        let svg = figure(vec![Series::new(
            "",
            Kind::Line,
            [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (4.0, 5.0)],
        )]);
        assert_eq!(path(&svg).matches('M').count(), 2);
    }

    #[test]
    fn steps_hold_their_value_until_the_next_point() {
        let svg = figure(vec![Series::new(
            "",
            Kind::Step,
            [(0.0, 1.0), (5.0, 3.0), (10.0, 3.0)],
        )]);
        let p = path(&svg);
        // Along, up, along: the last point has the same height and needs no upright.
        assert_eq!(
            (p.matches('H').count(), p.matches('V').count(), p.contains('L')),
            (2, 1, false)
        );
        assert!(p.find('H') < p.find('V'));
    }

    #[test]
    fn a_band_returns_to_its_start() {
        let points =
            [(0.0, 1.0), (5.0, 2.0), (10.0, 2.0)].map(|(x, y)| Point::new(x, y).spanning(y - 1.0, y + 1.0));
        let svg = figure(vec![Series {
            kind: Kind::Band,
            points: points.to_vec(),
            ..Series::default()
        }]);
        let p = path(&svg);
        let start = p[1..].split(' ').next().unwrap();
        assert!(p.ends_with(&format!("H{start}Z")), "{p}");
    }

    #[test]
    fn labels_of_crowded_points_do_not_cover_one_another() {
        let points: Vec<_> = (0..6_u8)
            .map(|i| Point::new(5.0 + f64::from(i) * 0.05, 5.0).labelled("label"))
            .collect();
        let svg = figure(vec![Series {
            kind: Kind::Scatter,
            points,
            ..Series::default()
        }]);
        let value = |line: &str, key: &str| -> f64 {
            line.split(&format!(" {key}=\""))
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        let at: Vec<_> = svg
            .lines()
            .filter(|l| l.contains(">label<"))
            .map(|l| (value(l, "x"), value(l, "y")))
            .collect();
        assert_eq!(at.len(), 6);
        for (i, a) in at.iter().enumerate() {
            for b in &at[i + 1..] {
                assert!(
                    (a.0 - b.0).abs() > 27.0 || (a.1 - b.1).abs() >= 11.0,
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn bars_side_by_side_do_not_overlap_and_say_their_value() {
        let mut f = Figure::new("", Axis::names("", ["a", "b"]), Axis::linear("", "B"));
        for (name, value) in [("p", 5e6), ("q", 2e6)] {
            f.series
                .push(Series::new(name, Kind::Bars, [(0.0, value), (1.0, value * 2.0)]));
        }
        let svg = render(&f, Size::default());
        for text in ["5.00 MB", "2.00 MB", "10.0 MB", "4.00 MB"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn symbols_on_the_same_pixel_are_drawn_once() {
        let svg = figure(vec![Series::new(
            "",
            Kind::Scatter,
            (0..10_000).map(|_| (5.0, 5.0)),
        )]);
        assert_eq!(svg.matches("<circle").count(), 1);
    }
}
