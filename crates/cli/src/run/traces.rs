//! Time series of a run: queues, memories, and what each class got. Of the first seed.

use super::Finished;
use clearway_metrics::TimeSeries;
use clearway_report::Trace;
use clearway_report::trace::TracePoint;
use clearway_sim::Outcome;

const SECOND_PS: f64 = 1e12;
/// Buckets of a plotted trace: more than a plot has columns of ink.
const PLOTTED: usize = 1024;

/// Every sample that the scenario asked for.
pub(super) fn all(finished: &Finished<'_>) -> Vec<Trace> {
    let Some((outcome, interval)) = sampled(finished) else {
        return Vec::new();
    };
    let width = interval as f64 / SECOND_PS;
    let trace =
        |scope: &str, name: &str, metric: &str, unit: &str, values: &mut dyn Iterator<Item = (f64, f64)>| {
            Trace {
                scope: scope.to_owned(),
                name: name.to_owned(),
                metric: metric.to_owned(),
                unit: unit.to_owned(),
                points: values
                    .map(|(at, v)| TracePoint {
                        at,
                        width,
                        min: v,
                        mean: v,
                        max: v,
                    })
                    .collect(),
            }
        };
    let mut traces = Vec::new();
    for line in &outcome.series.lines {
        let times = outcome.series.times_ps.iter().map(|at| *at as f64 / SECOND_PS);
        let mut points = times.zip(line.values.iter().map(|v| *v as f64));
        traces.push(trace(line.scope, &line.name, line.metric, line.unit, &mut points));
    }
    for class in &outcome.classes {
        let rates = class
            .counters
            .bins
            .iter()
            .map(|bytes| *bytes as f64 * 8.0 / width);
        let mut points = (0..).map(|i: u32| f64::from(i) * width).zip(rates);
        traces.push(trace("class", &class.name, "throughput", "bit/s", &mut points));
    }
    traces
}

/// The same, brought down to what a plot can show: minimum, mean and maximum of each of its buckets.
pub(super) fn plotted(finished: &Finished<'_>) -> Vec<Trace> {
    let Some((outcome, interval)) = sampled(finished) else {
        return Vec::new();
    };
    let mut traces = Vec::new();
    for line in &outcome.series.lines {
        let mut series = TimeSeries::new(PLOTTED, interval);
        for (at, value) in outcome.series.times_ps.iter().zip(&line.values) {
            series.sample(*at, *value);
        }
        traces.push(Trace::levels(
            line.scope,
            &line.name,
            line.metric,
            line.unit,
            &series,
            1.0,
        ));
    }
    for class in &outcome.classes {
        let mut series = TimeSeries::new(PLOTTED, interval);
        for (bin, bytes) in (0u64..).zip(&class.counters.bins) {
            series.sample(bin.saturating_mul(interval), *bytes);
        }
        let until = outcome.simulated.as_ps();
        traces.push(Trace::rate(
            "class",
            &class.name,
            "throughput",
            "bit/s",
            &series,
            8.0,
            until,
        ));
    }
    traces
}

fn sampled<'a>(finished: &'a Finished<'_>) -> Option<(&'a Outcome, u64)> {
    let interval = finished.loaded.scenario.sample_interval?.as_ps();
    Some((finished.outcomes.first()?, interval.max(1)))
}
