//! Prints a page with one plot of each kind, from made-up numbers: `cargo run -p clearway-report --example page`.
//! With an argument it prints that plot alone as SVG: 1, 2, 3, ...

use clearway_metrics::{Comparison, Histogram, Role, Row, TimeSeries};
use clearway_report::charts::{self, FrontierPoint};
use clearway_report::figure::{Axis, Kind, Mark, MarkKind, Series, Threshold};
use clearway_report::{Figure, Origin, Page, Parameter, Size, Trace, svg, tables};

fn comparison(case: &str, metric: &str, stat: &str, unit: &str, figures: [f64; 3], role: Role) -> Comparison {
    let [published, predicted, half] = figures;
    Comparison {
        experiment: "example".into(),
        case: case.into(),
        metric: metric.into(),
        stat: stat.into(),
        unit: unit.into(),
        layer: "L2".into(),
        published,
        predicted,
        ci95: [predicted - half, predicted + half],
        role,
        difference: None,
        verdict: None,
    }
    .judged(Some(10.0))
}

fn latencies() -> Figure {
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let mut draw = |base: f64, mean: f64, n: usize| {
        let mut h = Histogram::new();
        (0..n).for_each(|_| h.record(((base - mean * libm::log(uniform())) * 1e12) as u64));
        h
    };
    let (high, low, bulk) = (
        draw(2e-6, 0.4e-6, 200_000),
        draw(3e-6, 5e-6, 200_000),
        draw(4e-6, 60e-6, 50_000),
    );
    charts::ccdf(
        "Latency by class",
        "latency",
        "s",
        1e-12,
        &[("high", &high), ("normal", &low), ("bulk", &bulk)],
    )
    .caption("All frames of the run; from the first bit at the source to the last bit at the sink.")
}

fn occupancy() -> Figure {
    let mut series = TimeSeries::new(512, 1_000_000);
    let (mut level, mut rising, mut marks) = (0_u64, true, Vec::new());
    for t in 0..2_000_u64 {
        let at = t * 500_000;
        series.hold(at, at + 500_000, level);
        level = if rising {
            level + 110 + t % 7 * 20
        } else {
            level.saturating_sub(150 + t % 5 * 30)
        };
        if rising && level > 16_000 {
            rising = false;
            marks.push(Mark {
                x: at as f64 * 1e-12,
                kind: MarkKind::Xoff,
            });
        } else if !rising && level < 8_000 {
            rising = true;
            marks.push(Mark {
                x: at as f64 * 1e-12,
                kind: MarkKind::Xon,
            });
        }
    }
    let trace = Trace::levels("queue", "ingress 3", "occupancy", "B", &series, 1.0);
    let thresholds = vec![
        Threshold::at(16_000.0, "XOFF 16 kB"),
        Threshold::at(8_000.0, "XON 8 kB"),
    ];
    charts::over_time("Queue occupancy", "occupancy", &[&trace], thresholds, marks)
        .caption("Mean of each bucket; the pale band reaches from its minimum to its maximum.")
}

fn figures() -> Vec<Figure> {
    let point = |label: &str, group: &str, latency, throughput, memory| FrontierPoint {
        label: label.into(),
        group: group.into(),
        latency,
        throughput,
        memory,
    };
    vec![
        latencies(),
        occupancy(),
        charts::bars(
            "Frames dropped",
            Axis::linear("frames dropped", "1"),
            &[
                "1.5 MB, no flow control",
                "32 KB, no flow control",
                "32 KB, 802.3x",
            ],
            &[
                ("published", vec![5_000.0, 135_000.0, 0.0]),
                ("predicted", vec![4_730.0, 128_400.0, 0.0]),
            ],
        ),
        charts::published_against_predicted("Mean latency, published and predicted", &comparisons()[3..]),
        charts::differences("All predictions", &comparisons(), 10.0),
        charts::frontier(
            "Throughput, latency and memory",
            &[
                point("4 KB", "802.3x", 8e-6, 18e9, 30e3),
                point("16 KB", "802.3x", 14e-6, 24e9, 110e3),
                point("64 KB", "802.3x", 37e-6, 31e9, 420e3),
                point("256 KB", "802.3x", 120e-6, 36.5e9, 1.4e6),
                point("PFC", "PFC", 15e-6, 25e9, 118e3),
                point("32 KB", "credits", 16e-6, 37.4e9, 32e3),
                point("none", "no flow control", 190e-6, 38e9, 1.5e6),
            ],
        ),
        Figure::new(
            "Latency against offered load",
            Axis::linear("offered load", "%"),
            Axis::log("latency", "s"),
        )
        .series(Series::new(
            "p99",
            Kind::Path,
            (1..20).map(|i| (f64::from(i) * 5.0, 4e-6 / (1.0 - f64::from(i) / 20.0))),
        ))
        .series(Series {
            dashed: true,
            ..Series::new(
                "theory",
                Kind::Line,
                (0..96).map(|i| (f64::from(i), 3.6e-6 / (1.0 - f64::from(i) / 100.0))),
            )
        })
        .threshold(20e-6, "bound 20 \u{b5}s"),
    ]
}

fn comparisons() -> Vec<Comparison> {
    let (p, f) = (Role::Predicted, Role::Fitted);
    vec![
        comparison(
            "1.5 MB, no flow control",
            "throughput",
            "mean",
            "bit/s",
            [38e9, 37.4e9, 0.3e9],
            p,
        ),
        comparison(
            "32 KB, no flow control",
            "throughput",
            "mean",
            "bit/s",
            [29e9, 29.1e9, 0.2e9],
            f,
        ),
        comparison(
            "32 KB, 802.3x",
            "throughput",
            "mean",
            "bit/s",
            [24e9, 26.9e9, 0.4e9],
            p,
        ),
        comparison("alone", "latency", "mean", "s", [3.301e-6, 3.301e-6, 0.01e-6], f),
        comparison(
            "one channel",
            "latency",
            "mean",
            "s",
            [129.2e-6, 121.0e-6, 6e-6],
            p,
        ),
        comparison(
            "two channels",
            "latency",
            "mean",
            "s",
            [4.25e-6, 4.21e-6, 0.03e-6],
            p,
        ),
    ]
}

fn page() -> String {
    let parameters = [Parameter {
        experiment: "example".into(),
        name: "workload.burst".into(),
        value: 12.0,
        unit: "frame".into(),
        origin: Origin::Fitted,
        fitted_to: Some("32 KB, no flow control: throughput".into()),
        note: "Geometric burst length.".into(),
    }];
    let rows: Vec<Row> = [("high", 2.4e-6, 6.1e-6), ("bulk", 64e-6, 281e-6)]
        .into_iter()
        .flat_map(|(name, mean, p99)| {
            [("mean", mean), ("p99", p99)]
                .into_iter()
                .flat_map(move |(stat, value)| {
                    (1..4_u8).map(move |seed| Row {
                        run: "base".into(),
                        seed: u64::from(seed),
                        scope: "class",
                        name: name.into(),
                        metric: "latency",
                        stat: stat.into(),
                        unit: "s",
                        layer: "L2",
                        value: value * (1.0 + f64::from(seed) / 100.0),
                        population: "all frames".into(),
                    })
                })
        })
        .collect();
    let columns = [
        ("latency", "mean", "mean latency"),
        ("latency", "p99", "p99 latency"),
    ];
    let mut page = Page::new("Example report")
        .paragraph("Made-up numbers, to look at every kind of plot and table.")
        .section("Published and predicted")
        .table(tables::comparisons("", &comparisons()))
        .section("Parameters")
        .table(tables::parameters("", &parameters))
        .section("Classes")
        .table(tables::pivot("", &rows, "class", &columns))
        .section("Plots");
    for figure in figures() {
        page = page.plot(&figure);
    }
    page.notes(["Whole-run means stand beside percentiles."])
        .verbatim("clearway run example.toml --seeds 3")
        .render()
}

fn main() {
    match std::env::args().nth(1).and_then(|n| n.parse::<usize>().ok()) {
        Some(n) => {
            let figure = figures().into_iter().nth(n.saturating_sub(1)).unwrap_or_default();
            let rows = figure.y.categories.len() as f64;
            let height = if rows > 0.0 {
                130.0 + 34.0 * rows
            } else {
                Size::default().height
            };
            print!(
                "{}",
                svg::render(
                    &figure,
                    Size {
                        height,
                        ..Size::default()
                    }
                )
            );
        }
        None => print!("{}", page()),
    }
}
