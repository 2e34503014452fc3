//! A quantity over simulated time, in seconds and SI units, ready to be drawn or written.

use clearway_metrics::TimeSeries;

const PS: f64 = 1e-12;

/// One bucket of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePoint {
    /// Start of the bucket, seconds.
    pub at: f64,
    /// Length of the bucket, seconds.
    pub width: f64,
    /// Smallest value, in the trace's unit.
    pub min: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
}

/// A named quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// What kind of thing `name` is: `class`, `queue`, `switch`, ...
    pub scope: String,
    /// Which one.
    pub name: String,
    /// What was measured: `occupancy`, `throughput`, ...
    pub metric: String,
    /// Unit of the values: `B`, `bit/s`, ...
    pub unit: String,
    /// In order of time.
    pub points: Vec<TracePoint>,
}

impl Trace {
    /// A trace of `series` as it stands: levels or samples, each times `factor` (1e-12 for picoseconds to seconds).
    #[must_use]
    pub fn levels(
        scope: &str,
        name: &str,
        metric: &str,
        unit: &str,
        series: &TimeSeries,
        factor: f64,
    ) -> Self {
        let points = series
            .points()
            .map(|p| TracePoint {
                at: p.at as f64 * PS,
                width: p.width as f64 * PS,
                min: p.min as f64 * factor,
                mean: p.mean * factor,
                max: p.max as f64 * factor,
            })
            .collect();
        Self {
            scope: scope.into(),
            name: name.into(),
            metric: metric.into(),
            unit: unit.into(),
            points,
        }
    }

    /// A rate: what `series` counted in a bucket, times `factor` (8 for bytes to bits), over the bucket's length.
    /// Buckets without a sample are a rate of zero. The last bucket ends at `until` (ps), where the run ended.
    #[must_use]
    pub fn rate(
        scope: &str,
        name: &str,
        metric: &str,
        unit: &str,
        series: &TimeSeries,
        factor: f64,
        until: u64,
    ) -> Self {
        let width = series.width();
        let mut points = Vec::new();
        let mut next = 0_u64;
        let flat = |at: u64, span: u64, rate: f64| TracePoint {
            at: at as f64 * PS,
            width: span as f64 * PS,
            min: rate,
            mean: rate,
            max: rate,
        };
        for p in series.points() {
            while next < p.at {
                points.push(flat(next, width, 0.0));
                next = next.saturating_add(width);
            }
            let end = p.at.saturating_add(width).min(until.max(p.at + 1));
            let span = end - p.at;
            points.push(flat(p.at, span, p.sum as f64 * factor / (span as f64 * PS)));
            next = p.at.saturating_add(width);
        }
        if next < until {
            points.push(flat(next, until - next, 0.0));
        }
        Self {
            scope: scope.into(),
            name: name.into(),
            metric: metric.into(),
            unit: unit.into(),
            points,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_silent_buckets_as_zero_and_ends_with_the_run() {
        let mut s = TimeSeries::new(16, 1_000_000);
        s.sample(0, 1250);
        s.sample(2_000_000, 625);
        let t = Trace::rate("link", "up", "throughput", "bit/s", &s, 8.0, 2_500_000);
        let rates: Vec<_> = t.points.iter().map(|p| p.mean.round()).collect();
        assert_eq!(rates, [1e10, 0.0, 1e10]);
        let t = Trace::rate("link", "up", "throughput", "bit/s", &s, 8.0, 9_000_000);
        assert_eq!(t.points.len(), 4);
        assert_eq!(t.points.last().map(|p| p.mean), Some(0.0));
    }

    #[test]
    fn levels_are_scaled() {
        let mut s = TimeSeries::new(4, 10);
        s.hold(0, 10, 5);
        let t = Trace::levels("queue", "q", "delay", "s", &s, 1e-12);
        assert_eq!(t.points[0].max, 5e-12);
    }
}
