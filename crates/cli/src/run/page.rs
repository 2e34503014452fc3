//! `report.html` of a run: the tables, latency distributions, throughput and queues over time, drops.

use super::{Finished, tables, traces};
use clearway_metrics::Histogram;
use clearway_policy::scenario::{FlowControl, PauseSettings};
use clearway_report::charts::{bars, ccdf, over_time};
use clearway_report::{Axis, Figure, Mark, MarkKind, Page, Threshold, Trace};
use clearway_sim::results::Cause;

/// Traces in one plot: more cannot be told apart.
const TRACES_SHOWN: usize = 8;
/// Marks in one plot: beyond them the axis is black.
const MARKS_SHOWN: usize = 2000;

/// The page.
pub(super) fn of(finished: &Finished<'_>) -> Page {
    let scenario = &finished.loaded.scenario;
    let mut page = Page::new(format!("Clearway: {}", scenario.name));
    if !scenario.title.is_empty() {
        page = page.paragraph(scenario.title.as_str());
    }
    page = page.paragraph(tables::measured(finished));
    if let Some(cites) = &scenario.cites {
        page = page.paragraph(format!("Source: {cites}"));
    }
    if finished.interrupted {
        page = page.paragraph("Interrupted: the figures are of what was done until then.");
    }
    for table in tables::of(finished) {
        page = page.table(table);
    }
    page = page.section("Latency");
    for figure in latency(finished) {
        page = page.plot(&figure);
    }
    let traces = traces::plotted(finished);
    if !traces.is_empty() {
        page = page.section("Over time").paragraph(format!(
            "Of seed {}. Lines are means of each bucket, bands go from its least to its greatest value.",
            finished.outcomes.first().map_or(0, |o| o.seed)
        ));
        for figure in times(finished, &traces) {
            page = page.plot(&figure);
        }
    }
    if let Some(figure) = drops(finished) {
        page = page.section("Drops").plot(&figure);
    }
    page.section("This run").notes([
        format!(
            "Clearway {}, scenario hash {:016x}",
            env!("CARGO_PKG_VERSION"),
            finished.loaded.hash
        ),
        "All numbers, with unit, layer and population, are in rows.csv and rows.parquet.".to_owned(),
        "L1 counts preamble and gap (20 bytes a frame), L2 the frame with its check sequence.".to_owned(),
    ])
}

/// Latency of each class from generation, from NIC entry and from the first bit on the wire, all seeds together.
fn latency(finished: &Finished<'_>) -> Vec<Figure> {
    type Part = fn(&clearway_sim::results::ClassCounters) -> &Histogram;
    let parts: [(&str, Part); 3] = [
        ("Latency from generation", |c| &c.from_generation),
        ("Latency from NIC entry", |c| &c.from_nic),
        ("Latency from the first bit on the wire", |c| &c.from_first_bit),
    ];
    let classes = finished.outcomes.first().map_or(&[][..], |o| &o.classes);
    let figure = |(title, part): (&str, Part)| {
        let merged: Vec<(&str, Histogram)> = (0..)
            .zip(classes)
            .map(|(index, class)| {
                let mut all = Histogram::new();
                for other in finished.outcomes.iter().filter_map(|o| o.classes.get(index)) {
                    all.merge(part(&other.counters));
                }
                (class.name.as_str(), all)
            })
            .filter(|(_, all)| all.count() > 0)
            .collect();
        let shown: Vec<(&str, &Histogram)> = merged.iter().map(|(name, all)| (*name, all)).collect();
        (!shown.is_empty()).then(|| {
            ccdf(title, "latency", "s", 1e-12, &shown)
                .caption("Fraction of the delivered frames that took at least so long; all seeds together.")
        })
    };
    parts.into_iter().filter_map(figure).collect()
}

/// Throughput of classes, memory of switches with flow control, backlog of the fullest ports.
fn times(finished: &Finished<'_>, traces: &[Trace]) -> Vec<Figure> {
    let of = |scope: &str| -> Vec<&Trace> {
        let mut chosen: Vec<&Trace> = traces.iter().filter(|t| t.scope == scope).collect();
        let peak = |t: &Trace| t.points.iter().map(|p| p.max).fold(0.0, f64::max);
        chosen.retain(|t| peak(t) > 0.0);
        if chosen.len() > TRACES_SHOWN {
            chosen.sort_by(|a, b| peak(b).total_cmp(&peak(a)));
            chosen.truncate(TRACES_SHOWN);
        }
        chosen
    };
    let mut figures = Vec::new();
    let (classes, switches, ports) = (of("class"), of("switch"), of("port"));
    if !classes.is_empty() {
        figures.push(over_time(
            "Throughput by class (L2)",
            "throughput",
            &classes,
            Vec::new(),
            Vec::new(),
        ));
    }
    if !switches.is_empty() {
        let (thresholds, marks) = (thresholds(finished), marks(finished));
        figures.push(over_time("Memory in use", "memory", &switches, thresholds, marks));
    }
    if !ports.is_empty() {
        figures.push(over_time(
            "Waiting at ports",
            "backlog",
            &ports,
            Vec::new(),
            marks(finished),
        ));
    }
    figures
}

/// XOFF and XON levels of switches that send pause.
fn thresholds(finished: &Finished<'_>) -> Vec<Threshold> {
    let settings = |flow_control: &FlowControl| -> Option<PauseSettings> {
        match flow_control {
            FlowControl::Pause(settings) | FlowControl::PausePerOutput(settings) => Some(*settings),
            FlowControl::Pfc { settings, .. } => Some(*settings),
            FlowControl::None | FlowControl::Credits { .. } => None,
        }
    };
    let mut levels = Vec::new();
    for settings in finished
        .loaded
        .scenario
        .switches
        .iter()
        .filter_map(|s| settings(&s.flow_control))
    {
        for (bytes, name) in [(settings.high_bytes, "XOFF"), (settings.low_bytes, "XON")] {
            let threshold = Threshold::at(bytes as f64, name);
            if !levels.contains(&threshold) {
                levels.push(threshold);
            }
        }
    }
    levels
}

/// Flow-control frames of the first seed, thinned out evenly where there are many.
fn marks(finished: &Finished<'_>) -> Vec<Mark> {
    let Some(outcome) = finished.outcomes.first() else {
        return Vec::new();
    };
    let every = outcome.marks.len().div_ceil(MARKS_SHOWN).max(1);
    let mark = |m: &clearway_sim::results::FlowControlMark| Mark {
        x: m.at_ps as f64 / 1e12,
        kind: if m.off { MarkKind::Xoff } else { MarkKind::Xon },
    };
    outcome.marks.iter().step_by(every).map(mark).collect()
}

/// Frames lost by class and cause, all seeds together.
fn drops(finished: &Finished<'_>) -> Option<Figure> {
    let classes = finished.outcomes.first().map_or(&[][..], |o| &o.classes);
    let names: Vec<&str> = classes.iter().map(|c| c.name.as_str()).collect();
    let lost = |cause: Cause| -> Vec<f64> {
        let of_class = |index: usize| {
            let counts = finished
                .outcomes
                .iter()
                .filter_map(|o| o.classes.get(index)?.counters.causes.get(cause.index()));
            counts.sum::<u64>() as f64
        };
        (0..classes.len()).map(of_class).collect()
    };
    let causes = Cause::all().map(|cause| (cause.name(), lost(cause)));
    let series: Vec<(&str, Vec<f64>)> = causes
        .filter(|(_, counts)| counts.iter().any(|n| *n > 0.0))
        .collect();
    (!series.is_empty()).then(|| {
        bars(
            "Frames lost by class and cause",
            Axis::linear("frames", "1"),
            &names,
            &series,
        )
    })
}
