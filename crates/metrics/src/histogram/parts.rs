//! A histogram as plain numbers, to be stored by the caller, and back.
//!
//! What comes back is checked: parts that contradict one another are refused with the field's name.

use std::fmt;

use super::{Histogram, high_of, index_of, low_of};
use serde::{Deserialize, Serialize};

/// A histogram taken apart, to be stored by the caller and put together again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramParts {
    /// (lowest value of the bucket, count), ascending, without empty buckets.
    pub buckets: Vec<(u64, u64)>,
    /// Exact sum of the values.
    pub sum: u128,
    /// Exact smallest value; zero when there is none.
    pub min: u64,
    /// Exact largest value; zero when there is none.
    pub max: u64,
}

/// Why parts do not make a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartsError {
    /// `buckets`: this value is not the lowest of any bucket; store what `parts` returned.
    NotABucket(u64),
    /// `buckets`: this one does not come after the one before it; sort by the lowest value.
    NotAscending(u64),
    /// `buckets`: this one counts nothing; leave empty buckets out.
    EmptyBucket(u64),
    /// `buckets`: the counts add up to more than a `u64` holds.
    TooMany,
    /// `min`, `max` or `sum` contradict the buckets; store what `parts` returned.
    Contradiction,
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABucket(v) => write!(
                f,
                "buckets: {v} is no bucket's lowest value; store what parts() returned"
            ),
            Self::NotAscending(v) => write!(f, "buckets: {v} is out of order; sort by the lowest value"),
            Self::EmptyBucket(v) => write!(f, "buckets: the bucket at {v} counts nothing; leave it out"),
            Self::TooMany => f.write_str("buckets: the counts add up to more than 2^64 - 1"),
            Self::Contradiction => {
                f.write_str("min, max or sum contradict the buckets; store what parts() returned")
            }
        }
    }
}
impl std::error::Error for PartsError {}

impl From<Histogram> for HistogramParts {
    fn from(histogram: Histogram) -> Self {
        histogram.parts()
    }
}

impl TryFrom<HistogramParts> for Histogram {
    type Error = PartsError;

    fn try_from(parts: HistogramParts) -> Result<Self, PartsError> {
        Self::from_parts(&parts)
    }
}

impl Histogram {
    /// Everything that makes the histogram, for storage.
    #[must_use]
    pub fn parts(&self) -> HistogramParts {
        HistogramParts {
            buckets: self
                .occupied()
                .map(|(index, count)| (low_of(index), count))
                .collect(),
            sum: self.sum,
            min: if self.count == 0 { 0 } else { self.min },
            max: self.max,
        }
    }

    /// The histogram that [`Self::parts`] took apart.
    ///
    /// # Errors
    /// When the parts contradict one another; the error names the field.
    pub fn from_parts(parts: &HistogramParts) -> Result<Self, PartsError> {
        let mut h = Self::new();
        let mut previous = None;
        let (mut least, mut most) = (0_u128, 0_u128);
        for &(low, count) in &parts.buckets {
            let index = index_of(low);
            if low_of(index) != low {
                return Err(PartsError::NotABucket(low));
            }
            if previous.is_some_and(|p| p >= low) {
                return Err(PartsError::NotAscending(low));
            }
            if count == 0 {
                return Err(PartsError::EmptyBucket(low));
            }
            previous = Some(low);
            h.count = h.count.checked_add(count).ok_or(PartsError::TooMany)?;
            h.reach(index);
            if let Some(slot) = h.counts.get_mut(index) {
                *slot = count;
            }
            least = least.saturating_add(u128::from(low) * u128::from(count));
            most = most.saturating_add(u128::from(high_of(index)) * u128::from(count));
        }
        let Some(last) = previous else {
            let blank = parts.sum == 0 && parts.min == 0 && parts.max == 0;
            return if blank {
                Ok(h)
            } else {
                Err(PartsError::Contradiction)
            };
        };
        let first = parts.buckets.first().map_or(0, |b| b.0);
        let fits = index_of(parts.min) == index_of(first)
            && index_of(parts.max) == index_of(last)
            && parts.min <= parts.max
            && (least..=most).contains(&parts.sum);
        if !fits {
            return Err(PartsError::Contradiction);
        }
        (h.sum, h.min, h.max) = (parts.sum, parts.min, parts.max);
        Ok(h)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_same_histogram_and_false_ones_are_refused() {
        let h = {
            let mut h = Histogram::new();
            [0, 7, 300, 301, 1 << 50, u64::MAX]
                .into_iter()
                .for_each(|v| h.record(v));
            h
        };
        let parts = h.parts();
        assert_eq!(Histogram::from_parts(&parts).unwrap().parts(), parts);
        assert_eq!(
            Histogram::from_parts(&HistogramParts::default()).unwrap(),
            Histogram::new()
        );
        let with = |change: fn(&mut HistogramParts)| {
            let mut p = parts.clone();
            change(&mut p);
            Histogram::from_parts(&p).unwrap_err()
        };
        assert_eq!(with(|p| p.buckets[2].0 = 301), PartsError::NotABucket(301));
        assert_eq!(with(|p| p.buckets.swap(0, 1)), PartsError::NotAscending(0));
        assert_eq!(with(|p| p.buckets[1].1 = 0), PartsError::EmptyBucket(7));
        assert_eq!(with(|p| p.buckets[1].1 = u64::MAX), PartsError::TooMany);
        assert_eq!(with(|p| p.max = 3), PartsError::Contradiction);
        assert_eq!(with(|p| p.sum = 1), PartsError::Contradiction);
    }
}
