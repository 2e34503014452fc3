//! Figures made from measures: distributions, time series, bars, published against predicted, the frontier.

use clearway_metrics::{Comparison, Histogram, Role};

use crate::figure::{Axis, Figure, Kind, Mark, Point, Series, Threshold};
use crate::quantity::{Micro, humanised};
use crate::trace::Trace;

/// The complementary distribution of each histogram: the fraction of samples at or above a value, both logarithmic.
///
/// `factor` turns the histograms' unit into `unit`: 1e-12 for picoseconds to seconds.
#[must_use]
pub fn ccdf(title: &str, label: &str, unit: &str, factor: f64, histograms: &[(&str, &Histogram)]) -> Figure {
    let mut figure = Figure::new(
        title,
        Axis::log(label, unit),
        Axis::log("fraction at or above", "1"),
    );
    for (name, h) in histograms {
        let points = h
            .ccdf()
            .map(|(value, fraction)| (value as f64 * factor, fraction));
        figure.series.push(Series::new(*name, Kind::Line, points));
    }
    let least = histograms
        .iter()
        .flat_map(|(_, h)| h.ccdf().last())
        .map(|p| p.1)
        .fold(1.0, f64::min);
    // Whole decades, so that the tail ends above the axis.
    let floor = libm::pow(10.0, (libm::log10(least) - 0.05).floor()).min(0.1);
    figure.y = figure.y.ranged(floor, 1.0);
    figure
}

/// Quantities over time: the mean of each bucket as a step, and a pale band from its minimum to its maximum while
/// there are at most three. All traces share the first one's unit.
#[must_use]
pub fn over_time(
    title: &str,
    label: &str,
    traces: &[&Trace],
    thresholds: Vec<Threshold>,
    marks: Vec<Mark>,
) -> Figure {
    let unit = traces.first().map_or("1", |t| t.unit.as_str());
    let mut figure = Figure::new(title, Axis::linear("time", "s"), Axis::linear(label, unit));
    if traces.len() <= 3 {
        for (i, t) in traces.iter().enumerate() {
            if t.points.iter().any(|p| p.min < p.max) {
                let mut points: Vec<Point> = t
                    .points
                    .iter()
                    .map(|p| Point::new(p.at, p.mean).spanning(p.min, p.max))
                    .collect();
                if let (Some(end), Some(last)) = (points.last().cloned(), t.points.last()) {
                    points.push(Point {
                        x: last.at + last.width,
                        ..end
                    });
                }
                figure.series.push(Series {
                    kind: Kind::Band,
                    points,
                    colour: Some(i),
                    ..Series::default()
                });
            }
        }
    }
    for (i, t) in traces.iter().enumerate() {
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(t.points.len() + 1);
        let mut end = None;
        for p in &t.points {
            // A hole in time is a hole in the line.
            if end.is_some_and(|e: f64| p.at > e + p.width * 1e-6) {
                points.push((end.unwrap_or(p.at), f64::NAN));
            }
            points.push((p.at, p.mean));
            end = Some(p.at + p.width);
        }
        if let (Some(end), Some(last)) = (end, t.points.last()) {
            points.push((end, last.mean));
        }
        figure.series.push(Series {
            colour: Some(i),
            ..Series::new(&t.name, Kind::Step, points)
        });
    }
    figure.thresholds = thresholds;
    figure.marks = marks;
    figure
}

/// Bars over names, one series a group member: (legend, one value for each name; not-a-number leaves a gap).
#[must_use]
pub fn bars(title: &str, y: Axis, names: &[&str], series: &[(&str, Vec<f64>)]) -> Figure {
    let mut figure = Figure::new(title, Axis::names("", names.iter().copied()), y);
    for (name, values) in series {
        let points = values
            .iter()
            .take(names.len())
            .enumerate()
            .map(|(i, v)| (i as f64, *v));
        // A single series needs no legend: the axis says it.
        let name = if series.len() > 1 { *name } else { "" };
        figure.series.push(Series::new(name, Kind::Bars, points));
    }
    figure
}

/// What a comparison is called beside its dot.
fn called(c: &Comparison, several_figures: bool) -> String {
    if several_figures {
        format!("{}: {} {}", c.case, c.metric, c.stat)
    } else {
        c.case.clone()
    }
}

fn several_figures(comparisons: &[&Comparison]) -> bool {
    comparisons
        .windows(2)
        .any(|w| (&w[0].metric, &w[0].stat) != (&w[1].metric, &w[1].stat))
}

/// Published and predicted values as dots on one axis, predictions with their 95 % interval. Takes the comparisons
/// that share the first one's unit; the axis is logarithmic where they differ more than thirtyfold.
#[must_use]
pub fn published_against_predicted(title: &str, comparisons: &[Comparison]) -> Figure {
    let unit = comparisons.first().map_or("1", |c| c.unit.as_str());
    let shown: Vec<&Comparison> = comparisons.iter().filter(|c| c.unit == unit).collect();
    let several = several_figures(&shown);
    let values = || {
        shown
            .iter()
            .flat_map(|c| [c.published, c.predicted])
            .filter(|v| v.is_finite())
    };
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(0.0, f64::max),
    );
    let label = match shown.first() {
        Some(c) if !several => format!("{} {}", c.metric, c.stat),
        _ => "value".to_owned(),
    };
    let axis = if low > 0.0 && high / low > 30.0 {
        Axis::log(label, unit)
    } else {
        Axis::linear(label, unit)
    };
    let names = Axis::names("", shown.iter().map(|c| called(c, several)));
    let points = |role: Option<bool>| {
        let chosen = shown
            .iter()
            .enumerate()
            .filter(move |(_, c)| role.is_none_or(|p| p == (c.role == Role::Predicted)));
        chosen
            .map(|(i, c)| match role {
                // Larger, so that it shows around a prediction that meets it.
                None => Point {
                    area: 3.0,
                    ..Point::new(c.published, i as f64)
                },
                Some(_) => Point::new(c.predicted, i as f64).spanning(c.ci95[0], c.ci95[1]),
            })
            .collect::<Vec<_>>()
    };
    let mut figure = Figure::new(title, axis, names);
    let published = Series {
        points: points(None),
        colour: Some(6),
        hollow: true,
        ..Series::new("published", Kind::Scatter, [])
    };
    figure.series.push(published);
    for (name, role, colour) in [
        ("predicted (95 % interval)", true, 0),
        ("fitted, or used to derive", false, 4),
    ] {
        let points = points(Some(role));
        if !points.is_empty() {
            figure.series.push(Series {
                points,
                colour: Some(colour),
                ..Series::new(name, Kind::Scatter, [])
            });
        }
    }
    figure
}

/// The difference of each prediction from its published figure in per cent, with its 95 % interval, around a strip of
/// plus and minus `tolerance` per cent. Comparisons without a difference are left out.
#[must_use]
pub fn differences(title: &str, comparisons: &[Comparison], tolerance: f64) -> Figure {
    let shown: Vec<&Comparison> = comparisons.iter().filter(|c| c.difference.is_some()).collect();
    let several = several_figures(&shown);
    let names = Axis::names("", shown.iter().map(|c| called(c, several)));
    let mut figure = Figure::new(
        title,
        Axis::linear("difference from the published figure", "%"),
        names,
    );
    for (name, role, colour) in [
        ("predicted (95 % interval)", true, 0),
        ("fitted, or used to derive", false, 4),
    ] {
        let points: Vec<Point> = shown
            .iter()
            .enumerate()
            .filter(|(_, c)| role == (c.role == Role::Predicted))
            .filter_map(|(i, c)| {
                let percent = |v: f64| clearway_metrics::verdict::difference(c.published, v);
                let point = Point::new(c.difference?, i as f64);
                Some(match (percent(c.ci95[0]), percent(c.ci95[1])) {
                    (Some(low), Some(high)) => point.spanning(low, high),
                    _ => point,
                })
            })
            .collect();
        if !points.is_empty() {
            figure.series.push(Series {
                points,
                colour: Some(colour),
                ..Series::new(name, Kind::Scatter, [])
            });
        }
    }
    figure.tolerance = Some([-tolerance.abs(), tolerance.abs()]);
    figure.thresholds.push(Threshold {
        value: 0.0,
        label: "published".into(),
        upright: true,
    });
    figure
}

/// One configuration on the frontier of throughput, latency and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierPoint {
    /// Which configuration.
    pub label: String,
    /// Which group it belongs to: its colour. Points of a group are joined in the order given.
    pub group: String,
    /// Mean latency, seconds.
    pub latency: f64,
    /// Throughput, bit/s.
    pub throughput: f64,
    /// The most memory in use, bytes.
    pub memory: f64,
}

/// Throughput over latency, memory as the size and the label of each point. Up and left is better, small is cheaper.
#[must_use]
pub fn frontier(title: &str, points: &[FrontierPoint]) -> Figure {
    let mut figure = Figure::new(
        title,
        Axis::log("mean latency", "s"),
        Axis::linear("throughput", "bit/s"),
    );
    let mut groups: Vec<&str> = Vec::new();
    for p in points {
        if !groups.contains(&p.group.as_str()) {
            groups.push(&p.group);
        }
    }
    let sizes = || {
        points
            .iter()
            .map(|p| p.memory)
            .filter(|m| m.is_finite() && *m > 0.0)
    };
    let least = sizes().fold(f64::INFINITY, f64::min);
    for group in groups {
        let members = points.iter().filter(|p| p.group == group).map(|p| Point {
            x: p.latency,
            y: p.throughput,
            span: None,
            label: Some(format!(
                "{} \u{b7} {}",
                p.label,
                humanised(p.memory, "B", 3, Micro::Sign)
            )),
            // An area that doubles with every tenfold: memories differ by orders of magnitude.
            area: if p.memory > 0.0 {
                0.8 * libm::pow(2.0, libm::log10(p.memory / least))
            } else {
                0.8
            },
        });
        figure.series.push(Series {
            points: members.collect(),
            ..Series::new(group, Kind::Path, [])
        });
    }
    figure.caption =
        "Each point is a configuration, labelled with the most memory it used; its area doubles with \
                      every tenfold of memory. Up and to the left is better."
            .into();
    figure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::comparisons;
    use crate::trace::TracePoint;

    #[test]
    fn a_distribution_starts_at_one_and_ends_above_the_axis() {
        let mut h = Histogram::new();
        (1..=1000).for_each(|i| h.record(i * 1_000_000));
        let f = ccdf(
            "latency",
            "latency",
            "s",
            1e-12,
            &[("gold", &h), ("empty", &Histogram::new())],
        );
        assert_eq!(f.series[0].points[0], Point::new(1e-6, 1.0));
        assert!(f.series[1].points.is_empty());
        let [low, high] = f.y.range.unwrap();
        assert!(low > 0.0 && low < f.series[0].points.last().unwrap().y && high == 1.0);
    }

    #[test]
    fn a_hole_in_time_breaks_the_line() {
        let at = |at| TracePoint {
            at,
            width: 1.0,
            min: 1.0,
            mean: 2.0,
            max: 3.0,
        };
        let t = Trace {
            scope: "queue".into(),
            name: "q".into(),
            metric: "occupancy".into(),
            unit: "B".into(),
            points: vec![at(0.0), at(1.0), at(5.0)],
        };
        let f = over_time("t", "occupancy", &[&t], vec![], vec![]);
        assert_eq!(f.series[0].kind, Kind::Band);
        let x: Vec<f64> = f.series[1].points.iter().map(|p| p.x).collect();
        assert_eq!(x, [0.0, 1.0, 2.0, 5.0, 6.0]);
        assert!(f.series[1].points[2].y.is_nan());
    }

    #[test]
    fn fitted_figures_stand_apart_from_predicted_ones() {
        let f = published_against_predicted("b", &comparisons());
        let counts: Vec<_> = f
            .series
            .iter()
            .map(|s| (s.name.as_str(), s.points.len()))
            .collect();
        assert_eq!(
            counts,
            [
                ("published", 4),
                ("predicted (95 % interval)", 3),
                ("fitted, or used to derive", 1)
            ]
        );
        let f = differences("b", &comparisons(), 10.0);
        assert_eq!(f.y.categories.len(), 3);
        assert_eq!(f.tolerance, Some([-10.0, 10.0]));
    }

    #[test]
    fn frontier_points_keep_their_group_and_memory() {
        let p = |label: &str, group: &str, memory| FrontierPoint {
            label: label.into(),
            group: group.into(),
            latency: 1e-5,
            throughput: 3e10,
            memory,
        };
        let f = frontier(
            "f",
            &[
                p("4 kB", "802.3x", 4e3),
                p("16 kB", "802.3x", 4e4),
                p("x", "credits", 0.0),
            ],
        );
        assert_eq!(f.series.len(), 2);
        assert!((f.series[0].points[1].area / f.series[0].points[0].area - 2.0).abs() < 1e-9);
        assert!(
            f.series[0].points[1]
                .label
                .as_deref()
                .unwrap()
                .ends_with("40.0 kB")
        );
    }
}
