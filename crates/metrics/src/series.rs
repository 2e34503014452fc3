//! A time series of fixed capacity: minimum, mean and maximum per bucket of time; when the buckets are used up, pairs
//! are joined and each covers twice the time.
//!
//! Two kinds of value go in. A *sample* stands for an instant (a frame's latency, the bytes of a frame that left). A
//! *held* level stands for a span (bytes in a queue) and weighs as long as it lasted. One series takes one kind.
//! Time is picoseconds from the origin zero.

/// Minimum, mean and maximum over time, in at most `capacity` buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSeries {
    buckets: Vec<Bin>,
    capacity: usize,
    width: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    sum: u128,
    weight: u64,
    min: u64,
    max: u64,
}

impl Bin {
    const EMPTY: Self = Self {
        sum: 0,
        weight: 0,
        min: u64::MAX,
        max: 0,
    };

    fn take(&mut self, value: u64, weight: u64) {
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(weight));
        self.weight = self.weight.saturating_add(weight);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn join(self, other: Self) -> Self {
        Self {
            sum: self.sum.saturating_add(other.sum),
            weight: self.weight.saturating_add(other.weight),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// One bucket of a series that holds something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesPoint {
    /// Start of the bucket, ps.
    pub at: u64,
    /// Length of the bucket, ps.
    pub width: u64,
    /// The smallest value in it.
    pub min: u64,
    /// The mean: over samples, or over time for held levels.
    pub mean: f64,
    /// The largest value in it.
    pub max: u64,
    /// Sum of the samples (for a rate: divide by `width`); for held levels the area in unit-picoseconds.
    pub sum: u128,
    /// How many samples; for held levels the picoseconds covered.
    pub weight: u64,
}

impl TimeSeries {
    /// An empty series of at most `capacity` buckets (at least 2), each `width` picoseconds long at first (at least
    /// 1). Nothing is allocated afterwards.
    #[must_use]
    pub fn new(capacity: usize, width: u64) -> Self {
        let capacity = capacity.max(2);
        Self {
            buckets: Vec::with_capacity(capacity),
            capacity,
            width: width.max(1),
        }
    }

    /// The present length of a bucket, ps.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width
    }

    /// Makes room for the instant `at` and says which bucket it falls into.
    fn reach(&mut self, at: u64) -> usize {
        while at / self.width >= self.capacity as u64 {
            let half = self.buckets.len().div_ceil(2);
            for i in 0..half {
                let first = self.buckets.get(2 * i).copied().unwrap_or(Bin::EMPTY);
                let second = self.buckets.get(2 * i + 1).copied().unwrap_or(Bin::EMPTY);
                if let Some(slot) = self.buckets.get_mut(i) {
                    *slot = first.join(second);
                }
            }
            self.buckets.truncate(half);
            self.width = self.width.saturating_mul(2);
        }
        let index = (at / self.width) as usize;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, Bin::EMPTY);
        }
        index
    }

    /// A sample of `value` at the instant `at` (ps).
    #[inline]
    pub fn sample(&mut self, at: u64, value: u64) {
        let index = self.reach(at);
        if let Some(bin) = self.buckets.get_mut(index) {
            bin.take(value, 1);
        }
    }

    /// A level of `value` from `from` until just before `until` (ps). A span of no length still shows in minimum and
    /// maximum: a queue that fills and empties in one instant was full.
    pub fn hold(&mut self, from: u64, until: u64, value: u64) {
        let until = until.max(from);
        let last_instant = if until > from { until - 1 } else { from };
        let last = self.reach(last_instant);
        // After `reach`: the width is settled.
        let first = (from / self.width) as usize;
        for index in first..=last {
            let start = (index as u64).saturating_mul(self.width).max(from);
            let end = (index as u64 + 1).saturating_mul(self.width).min(until);
            if let Some(bin) = self.buckets.get_mut(index) {
                bin.take(value, end.saturating_sub(start));
            }
        }
    }

    /// The buckets that hold something, in order of time.
    pub fn points(&self) -> impl Iterator<Item = SeriesPoint> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, b)| b.min <= b.max)
            .map(|(i, b)| SeriesPoint {
                at: i as u64 * self.width,
                width: self.width,
                min: b.min,
                mean: if b.weight == 0 {
                    b.max as f64
                } else {
                    b.sum as f64 / b.weight as f64
                },
                max: b.max,
                sum: b.sum,
                weight: b.weight,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    #[test]
    fn a_full_series_doubles_its_buckets_and_loses_no_sample() {
        let mut s = TimeSeries::new(4, 10);
        for t in 0..100 {
            s.sample(t, t);
        }
        assert_eq!(s.width(), 40);
        let points: Vec<_> = s
            .points()
            .map(|p| (p.at, p.min, p.mean, p.max, p.weight))
            .collect();
        assert_eq!(
            points,
            [
                (0, 0, 19.5, 39, 40),
                (40, 40, 59.5, 79, 40),
                (80, 80, 89.5, 99, 20)
            ]
        );
    }

    #[test]
    fn a_held_level_weighs_as_long_as_it_lasts() {
        let mut s = TimeSeries::new(8, 100);
        s.hold(0, 50, 0);
        s.hold(50, 250, 8);
        s.hold(250, 300, 4);
        let points: Vec<_> = s.points().map(|p| (p.at, p.min, p.mean, p.max)).collect();
        assert_eq!(points, [(0, 0, 4.0, 8), (100, 8, 8.0, 8), (200, 4, 6.0, 8)]);
    }

    #[test]
    fn a_peak_of_no_duration_shows_in_the_maximum_alone() {
        let mut s = TimeSeries::new(4, 100);
        s.hold(0, 60, 1);
        s.hold(60, 60, 99);
        s.hold(60, 100, 1);
        let p = s.points().next().unwrap();
        assert_eq!((p.min, p.mean, p.max), (1, 1.0, 99));
    }

    #[test]
    fn late_and_endless_instants_are_taken() {
        let mut s = TimeSeries::new(2, 1);
        s.sample(u64::MAX, 1);
        s.sample(3, 2);
        s.hold(5, u64::MAX, 7);
        assert_eq!(s.points().map(|p| p.max).max(), Some(7));
        assert_eq!(TimeSeries::new(0, 0).points().count(), 0);
    }

    #[test]
    fn samples_give_the_same_buckets_in_any_order() {
        let mut random = Random::new(4);
        for _ in 0..50 {
            let samples: Vec<_> = (0..200)
                .map(|_| (random.below(10_000), random.below(50)))
                .collect();
            let (mut forwards, mut backwards) = (TimeSeries::new(16, 7), TimeSeries::new(16, 7));
            samples.iter().for_each(|&(t, v)| forwards.sample(t, v));
            samples.iter().rev().for_each(|&(t, v)| backwards.sample(t, v));
            assert!(forwards.points().eq(backwards.points()));
            assert_eq!(forwards.points().map(|p| p.weight).sum::<u64>(), 200);
            let exact: u64 = samples.iter().map(|s| s.1).sum();
            assert_eq!(forwards.points().map(|p| p.sum).sum::<u128>(), u128::from(exact));
        }
    }
}
