//! A log-linear histogram of unsigned integers (picoseconds, bytes, frames) in the manner of HdrHistogram.
//!
//! Each power of two is cut into 128 equal buckets; values below 256 have a bucket each. A bucket is therefore never
//! wider than 2^-7 of its lowest value, and the middle of a bucket is never further than 2^-8 (0.4 %) from any value
//! in it: that is the error bound of every quantile. Count, sum, mean, minimum and maximum are exact.
//! Memory follows the largest value seen: 1 KiB a power of two, 24 KiB up to 1 ms and 39 KiB up to 35 s in
//! picoseconds, never more than 58 KiB. It leaves out HdrHistogram's log format and its correction for coordinated
//! omission: open-loop latencies are counted from the intended send time instead.

mod parts;

use std::fmt;

pub use parts::{HistogramParts, PartsError};

/// Linear buckets in each power of two, as a power of two.
const SUB_BITS: u32 = 7;
const SUB: usize = 1 << SUB_BITS;
/// Buckets that cover every `u64`.
const BUCKETS: usize = (64 - SUB_BITS as usize) * SUB + SUB;

/// Counts of values by size; see the module for its error bound.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(into = "HistogramParts", try_from = "HistogramParts")]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// A bucket that holds at least one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value that falls into the bucket.
    pub low: u64,
    /// The largest value that falls into the bucket.
    pub high: u64,
    /// How many values did.
    pub count: u64,
}

/// The bucket of a value. `value >> shift` lies in 128..256 except for the values below 128, whose shift is zero,
/// so that consecutive powers of two join without a gap and without a branch.
#[inline]
const fn index_of(value: u64) -> usize {
    let shift = (63 - SUB_BITS) - (value | (1 << SUB_BITS)).leading_zeros();
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

const fn low_of(index: usize) -> u64 {
    if index < 2 * SUB {
        return index as u64;
    }
    let shift = (index >> SUB_BITS) - 1;
    ((index - (shift << SUB_BITS)) as u64) << shift
}

const fn high_of(index: usize) -> u64 {
    let shift = if index < 2 * SUB {
        0
    } else {
        (index >> SUB_BITS) - 1
    };
    low_of(index) + ((1 << shift) - 1)
}

const fn middle_of(index: usize) -> u64 {
    let low = low_of(index);
    low + (high_of(index) - low) / 2
}

impl Histogram {
    /// The largest relative distance between a quantile that this histogram reports and the sample it stands for.
    pub const RELATIVE_ERROR: f64 = 1.0 / 256.0;

    /// An empty histogram. It allocates when it grows.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// An empty histogram that never allocates for values up to `largest`.
    #[must_use]
    pub fn with_largest(largest: u64) -> Self {
        let mut h = Self::new();
        h.reach(index_of(largest));
        h
    }

    /// Whole powers of two at a time.
    #[cold]
    fn reach(&mut self, index: usize) {
        let len = ((index / SUB + 1) * SUB).min(BUCKETS);
        if len > self.counts.len() {
            self.counts.reserve_exact(len - self.counts.len());
            self.counts.resize(len, 0);
        }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let index = index_of(value);
        if index >= self.counts.len() {
            self.reach(index);
        }
        // The index is below the length that `reach` made; the `if let` spares the panic path.
        if let Some(count) = self.counts.get_mut(index) {
            *count += 1;
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts `value` `times` times; counts and sum stop at their largest value.
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let index = index_of(value);
        self.reach(index);
        if let Some(count) = self.counts.get_mut(index) {
            *count = count.saturating_add(times);
        }
        self.count = self.count.saturating_add(times);
        self.sum = self.sum.saturating_add(u128::from(value) * u128::from(times));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds everything that `other` has counted, as if it had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.reach(index_of(other.max));
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets every value and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// How many values were recorded.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The exact sum of the values.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The exact smallest value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact largest value.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The exact mean, rounded once to a float.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let n = u128::from(self.count);
        // Whole part and remainder apart: a sum beyond 2^53 loses nothing that shows in the mean.
        Some((self.sum / n) as f64 + (self.sum % n) as f64 / n as f64)
    }

    /// Standard deviation of the values (divided by the count), from the middles of the buckets around the exact
    /// mean.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares: f64 = self
            .occupied()
            .map(|(index, count)| {
                let d = self.stand_in(index) as f64 - mean;
                d * d * count as f64
            })
            .sum();
        Some(libm::sqrt(squares / self.count as f64))
    }

    /// The value below or at which a fraction `q` (0 to 1) of the values lie, by nearest rank. Exact for the first
    /// and the last rank, else within [`Self::RELATIVE_ERROR`]. `None` when empty or when `q` is no fraction.
    #[must_use]
    pub fn value_at_quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = nearest_rank(q, self.count);
        if rank == 1 {
            return Some(self.min);
        }
        if rank == self.count {
            return Some(self.max);
        }
        let mut seen = 0_u64;
        for (index, count) in self.occupied() {
            seen = seen.saturating_add(count);
            if seen >= rank {
                return Some(self.stand_in(index));
            }
        }
        Some(self.max)
    }

    /// The buckets that hold values, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.occupied().map(|(index, count)| Bucket {
            low: low_of(index),
            high: high_of(index),
            count,
        })
    }

    /// Points (value, fraction of the values at or above it) of the complementary distribution, ascending in value,
    /// from (minimum, 1). Every point is exact: buckets are read at their lower edge. The last is never zero, so that
    /// a logarithmic axis can show all of them.
    pub fn ccdf(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let mut above = self.count;
        self.occupied().map(move |(index, count)| {
            let fraction = above as f64 / self.count as f64;
            // The first bucket starts at the minimum; a last bucket with one value in it is the maximum.
            let alone_at_the_end = above == 1;
            above = above.saturating_sub(count);
            let value = if alone_at_the_end {
                self.max
            } else {
                low_of(index).max(self.min)
            };
            (value, fraction)
        })
    }

    /// Bytes of memory held, this value included.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + self.counts.capacity() * size_of::<u64>()
    }

    fn occupied(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, c)| **c > 0)
            .map(|(i, c)| (i, *c))
    }

    /// The middle of a bucket, or the extreme value where that is nearer to the truth.
    fn stand_in(&self, index: usize) -> u64 {
        middle_of(index).clamp(self.min, self.max)
    }
}

/// The rank (from 1) of quantile `q` among `count` values: the smallest rank that is at least `q * count`. A product
/// that floating point put a hair above a whole number counts as that number: 0.07 of 100 is the 7th.
fn nearest_rank(q: f64, count: u64) -> u64 {
    let exact = q * count as f64;
    let whole = exact.floor();
    let up = exact - whole > exact * 4.0 * f64::EPSILON;
    (whole as u64 + u64::from(up)).clamp(1, count)
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Equal when the same values were counted, whatever memory was set aside for larger ones.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.sum, self.min, self.max) == (other.count, other.sum, other.min, other.max)
            && self.occupied().eq(other.occupied())
    }
}
impl Eq for Histogram {}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("p50", &self.value_at_quantile(0.5))
            .field("p99", &self.value_at_quantile(0.99))
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        values.iter().for_each(|&v| h.record(v));
        h
    }

    /// Values of every magnitude, in the shapes that latencies have: tight, wide, heavy-tailed.
    fn samples(random: &mut Random, n: usize) -> Vec<u64> {
        let widest = random.below(64) as u32;
        (0..n)
            .map(|_| {
                let bits = random.below(u64::from(widest) + 1) as u32;
                random.next() >> (63 - bits)
            })
            .collect()
    }

    #[test]
    fn buckets_cover_every_value_once_and_in_order() {
        for index in 0..BUCKETS {
            assert_eq!(index_of(low_of(index)), index);
            assert_eq!(index_of(high_of(index)), index);
            assert_eq!(index_of(middle_of(index)), index);
            if index + 1 < BUCKETS {
                assert_eq!(high_of(index) + 1, low_of(index + 1));
            }
        }
        assert_eq!(high_of(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn quantiles_lie_within_the_stated_error_of_the_sorted_samples() {
        let mut random = Random::new(1);
        for round in 0..300 {
            let mut values = samples(&mut random, 1 + round * 7);
            let h = of(&values);
            values.sort_unstable();
            for q in [0.0, 0.01, 0.07, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let rank = (q * values.len() as f64 - 1e-9).ceil().max(1.0) as usize;
                let exact = values[rank - 1];
                let got = h.value_at_quantile(q).unwrap();
                let error = got.abs_diff(exact) as f64;
                assert!(
                    error <= exact as f64 * Histogram::RELATIVE_ERROR,
                    "q {q}: {got} for {exact}"
                );
            }
            assert_eq!(
                (h.min(), h.max()),
                (values.first().copied(), values.last().copied())
            );
            assert_eq!(h.sum(), values.iter().map(|&v| u128::from(v)).sum());
        }
    }

    #[test]
    fn merging_is_the_same_as_recording_everything_in_one() {
        let mut random = Random::new(2);
        for round in 0..100 {
            let (a, b) = (samples(&mut random, round), samples(&mut random, 100 - round));
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let all = of(&[a, b].concat());
            assert_eq!(merged.parts(), all.parts());
            assert_eq!(merged.count(), all.count());
        }
    }

    #[test]
    fn recording_n_times_is_recording_n_ones() {
        let mut h = Histogram::new();
        h.record_n(70_000, 3);
        h.record_n(5, 0);
        assert_eq!(h, of(&[70_000; 3]));
        assert_ne!(h, of(&[70_000; 2]));
        assert_eq!(Histogram::default(), Histogram::with_largest(1 << 40));
    }

    #[test]
    fn mean_is_exact_beyond_the_precision_of_a_float_sum() {
        // The sum needs 76 bits; the mean is a half above a whole number.
        let h = of(&[(1 << 40) + 1, 1 << 40]);
        assert_eq!(h.mean(), Some((1_u64 << 40) as f64 + 0.5));
        let mut h = Histogram::new();
        h.record_n(3, 1 << 62);
        h.record_n(4, 1 << 62);
        assert_eq!(h.mean(), Some(3.5));
    }

    #[test]
    fn standard_deviation_is_near_the_exact_one() {
        let values: Vec<u64> = (0..10_000).map(|i| 1_000_000 + i * 37).collect();
        let h = of(&values);
        let mean = h.mean().unwrap();
        let exact = (values
            .iter()
            .map(|&v| (v as f64 - mean) * (v as f64 - mean))
            .sum::<f64>()
            / 1e4)
            .sqrt();
        assert!((h.stddev().unwrap() / exact - 1.0).abs() < 1e-3);
        assert_eq!(of(&[123_456_789]).stddev(), Some(0.0));
    }

    #[test]
    fn an_empty_histogram_reports_nothing_instead_of_zero() {
        let h = Histogram::new();
        assert_eq!((h.min(), h.max(), h.mean(), h.stddev()), (None, None, None, None));
        assert_eq!(h.value_at_quantile(0.5), None);
        assert_eq!(h.ccdf().count(), 0);
        assert_eq!(of(&[1]).value_at_quantile(f64::NAN), None);
        assert_eq!(of(&[1]).value_at_quantile(1.5), None);
    }

    #[test]
    fn ccdf_points_are_exact_fractions() {
        let values: Vec<u64> = (1..=1000).map(|i| i * 1000).collect();
        let h = of(&values);
        let points: Vec<_> = h.ccdf().collect();
        assert_eq!(points.first(), Some(&(1000, 1.0)));
        for &(value, fraction) in &points {
            let above = values.iter().filter(|&&v| v >= value).count();
            assert!((fraction - above as f64 / 1000.0).abs() < 1e-12, "{value}");
        }
        assert_eq!(of(&[1, 2, 1_000_003]).ccdf().last(), Some((1_000_003, 1.0 / 3.0)));
    }

    #[test]
    fn memory_follows_the_largest_value_and_is_bounded() {
        assert!(Histogram::with_largest(1_000_000_000).bytes() <= 25 * 1024);
        assert!(Histogram::with_largest(35_000_000_000_000).bytes() <= 40 * 1024);
        assert!(of(&[u64::MAX]).bytes() <= 59 * 1024);
        let mut h = Histogram::with_largest(1_000_000);
        let before = h.bytes();
        (0..=1_000_000).step_by(997).for_each(|v| h.record(v));
        assert_eq!(h.bytes(), before);
    }

    #[test]
    fn counts_and_sums_stop_at_their_largest_value() {
        let mut h = Histogram::new();
        for _ in 0..3 {
            h.record_n(u64::MAX, u64::MAX);
        }
        let copy = h.clone();
        h.merge(&copy);
        assert_eq!((h.count(), h.sum()), (u64::MAX, u128::MAX));
        assert_eq!(h.value_at_quantile(0.5), Some(u64::MAX));
    }
}
