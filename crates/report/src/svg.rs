//! Figures as standalone SVG 1.1: layout, axes, legend, thresholds, event marks. the module `plot` draws the series.
//!
//! The drawing has its own white ground, so that it reads the same on light and dark pages; it needs no font, script
//! or style from outside. The legend stands above the plot and threshold labels to its right: neither can cover data.
//! Title and caption are in `title` and `desc` for those who hear the page.

use crate::canvas::{Anchor, Canvas, FONT, GRID, MUTED, PALETTE, Setting, TEXT, px, text_width, wrap};
use crate::escape;
use crate::figure::{Axis, Figure, MarkKind, Scale};
use crate::layout::{Area, AxisTicks, EDGE, STRIP, TICK, axis_ticks, lay_out, level_lines, x_range, y_range};
use crate::marks::{mark, mark_kinds, marks};
use crate::plot;
use crate::scale::Mapping;

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
        // In the strip XOFF and drops stand higher than the others; here all stand on one line.
        let lift = if matches!(kind, MarkKind::Xoff | MarkKind::Drop) {
            4.0
        } else {
            9.0
        };
        place(c, kind.as_str(), &|c, x, y| mark(c, kind, [x + 16.0, y - lift]));
    }
    y + 12.0
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
    let through_zero = |axis: &Axis, map: &Mapping| {
        let inside =
            axis.scale == Scale::Linear && axis.categories.is_empty() && map.low < 0.0 && map.high > 0.0;
        if inside { map.at(0.0) } else { None }
    };
    if let Some(y) = through_zero(&figure.y, &area.y) {
        c.line([area.left, y], [area.right, y], MUTED, 1.0, "");
    }
    if let Some(x) = through_zero(&figure.x, &area.x) {
        c.line([x, area.top], [x, area.bottom], MUTED, 1.0, "");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Kind, Mark, Point, Series, Threshold};

    /// Every number of every attribute, and the texts; panics on an element that is not closed.
    fn inspect(svg: &str) -> (Vec<f64>, Vec<String>) {
        let (mut numbers, mut texts, mut open) = (vec![], vec![], vec![]);
        for piece in svg.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap();
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.to_owned()));
                continue;
            }
            let name = tag.split(' ').next().unwrap().to_owned();
            for value in tag.split('"').skip(1).step_by(2) {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{tag}");
                numbers.extend(
                    value
                        .split([' ', ',', 'M', 'L', 'H', 'V', 'Z'])
                        .filter_map(|n| n.parse::<f64>().ok()),
                );
            }
            if name == "text" {
                texts.push(text.to_owned());
            }
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty());
        (numbers, texts)
    }

    fn line(points: &[(f64, f64)]) -> Figure {
        Figure::new("t", Axis::linear("time", "s"), Axis::linear("rate", "bit/s")).series(Series::new(
            "a",
            Kind::Line,
            points.iter().copied(),
        ))
    }

    #[test]
    fn a_small_line_plot_is_drawn_as_it_always_was() {
        let f = line(&[(0.0, 0.0), (1e-6, 5e9), (2e-6, 1e10)]);
        let svg = render(
            &f,
            Size {
                width: 300.0,
                height: 200.0,
            },
        );
        assert!(
            svg.contains("<path d=\"M55.4 152L166.7 111.9L278 71.8\""),
            "{svg}"
        );
        let (_, texts) = inspect(&svg);
        assert_eq!(
            texts,
            [
                "t",
                "a",
                "0",
                "10",
                "0",
                "1",
                "2",
                "time (\u{b5}s)",
                "rate (Gbit/s)"
            ]
        );
    }

    #[test]
    fn no_figure_however_odd_breaks_the_drawing() {
        let odd = [
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
            0.0,
            -1.0,
            1.0,
            1e-300,
            f64::MAX,
            3.0,
        ];
        for scale in [Scale::Linear, Scale::Log] {
            for kind in [
                Kind::Line,
                Kind::Step,
                Kind::Scatter,
                Kind::Path,
                Kind::Bars,
                Kind::Band,
            ] {
                for names in [0, 1, 3] {
                    let mut x = Axis {
                        scale,
                        ..Axis::linear("<x>", "s")
                    };
                    x.categories = vec!["a very long name that has to be wrapped & cut".to_owned(); names];
                    let y = Axis {
                        scale,
                        ..Axis::log("y\"", "B")
                    }
                    .ranged(odd[names], odd[8]);
                    let mut f = Figure::new("\u{0}<t>", x, y);
                    let points = odd
                        .iter()
                        .flat_map(|a| odd.map(|b| Point::new(*a, b).spanning(b, *a).labelled("p<q>")));
                    f.series.push(Series {
                        kind,
                        points: points.collect(),
                        name: "s".into(),
                        ..Series::default()
                    });
                    f.marks = odd
                        .map(|x| Mark {
                            x,
                            kind: MarkKind::Drop,
                        })
                        .to_vec();
                    f.thresholds = odd
                        .iter()
                        .map(|v| Threshold {
                            value: *v,
                            label: "&".into(),
                            upright: *v > 0.0,
                        })
                        .collect();
                    f.tolerance = Some([odd[names], 2.0]);
                    for size in [
                        Size::default(),
                        Size {
                            width: f64::NAN,
                            height: 0.0,
                        },
                    ] {
                        let (numbers, _) = inspect(&render(&f, size));
                        assert!(numbers.iter().all(|n| n.abs() < 1e6));
                    }
                }
            }
        }
        assert!(render(&Figure::default(), Size::default()).contains("no data"));
    }

    #[test]
    fn a_long_series_is_thinned_and_keeps_its_peaks() {
        let mut points: Vec<_> = (0..200_000).map(|i| (f64::from(i), f64::from(i % 10))).collect();
        points[123_456].1 = 100.0;
        let f = line(&points);
        let svg = render(&f, Size::default());
        assert!(svg.len() < 80_000, "{}", svg.len());
        // The peak, at the very value, is the highest point of the path.
        let path = svg.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
        let top = path
            .split(['M', 'L'])
            .filter_map(|p| p.split(' ').nth(1)?.parse::<f64>().ok())
            .fold(f64::MAX, f64::min);
        let (low, high) = y_range(&f);
        let area = lay_out(&f, [760.0, 440.0], 0.0, x_range(&f), (low, high));
        assert!(top < (area.bottom - area.top) * 0.3, "{top}");
    }

    #[test]
    fn marks_become_thin_lines_where_they_are_many() {
        let mut f = line(&[(0.0, 1.0), (1.0, 2.0)]);
        f.marks = (0..10)
            .map(|i| Mark {
                x: f64::from(i) / 10.0,
                kind: MarkKind::Xoff,
            })
            .collect();
        assert!(render(&f, Size::default()).matches("<polygon").count() >= 10);
        f.marks = (0..100_000)
            .map(|i| Mark {
                x: f64::from(i) / 1e5,
                kind: MarkKind::Xoff,
            })
            .collect();
        let svg = render(&f, Size::default());
        assert!(svg.len() < 120_000 && svg.matches("<polygon").count() < 5);
    }

    #[test]
    fn thresholds_close_together_keep_their_labels_apart() {
        let f = line(&[(0.0, 0.0), (1.0, 100.0)])
            .threshold(50.0, "XOFF")
            .threshold(49.9, "XON");
        let svg = render(&f, Size::default());
        let y: Vec<f64> = ["XOFF<", "XON<"]
            .iter()
            .map(|l| svg.lines().find(|t| t.contains(&format!(">{l}"))).unwrap())
            .map(|t| {
                t.split("y=\"")
                    .nth(1)
                    .unwrap()
                    .split('"')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap()
            })
            .collect();
        assert!((y[0] - y[1]).abs() >= TICK, "{y:?}");
    }

    #[test]
    fn those_who_cannot_see_it_are_told_what_it_shows() {
        let f = line(&[(0.0, 1.0)])
            .threshold(2.0, "XOFF 16 kB")
            .caption("All <frames>.");
        let svg = render(&f, Size::default());
        assert!(svg.contains("<title>t</title>") && svg.contains("role=\"img\""));
        assert!(svg.contains(
            "<desc>rate against time; series: a; threshold: XOFF 16 kB. All &lt;frames&gt;.</desc>"
        ));
    }
}
