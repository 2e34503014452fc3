//! Arrival curves: at most this much data in any span of time.
//!
//! A curve is the least of several token buckets, `alpha(t) = min_i (burst_i + rate_i t)`, which is every concave
//! piecewise-linear curve (Le Boudec and Thiran, section 1.2). It bounds what arrives in a closed interval of length
//! `t`, so that `alpha(0)` is what may come at one instant. Without a bucket it bounds nothing. Sums and minima are
//! exact.

use crate::{BYTE, DATA_MAX};

/// A token bucket: `burst + rate t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bucket {
    /// Picobits.
    pub burst: i128,
    /// Bit/s.
    pub rate: u64,
}

impl Bucket {
    /// A bucket of whole bytes at a rate in bit/s.
    #[must_use]
    pub const fn of_bytes(bytes: u64, rate: u64) -> Self {
        Self {
            burst: bytes as i128 * BYTE,
            rate,
        }
    }

    /// Picobits at most in a span of `time` ps.
    #[must_use]
    pub const fn at(&self, time: u64) -> i128 {
        self.burst + self.rate as i128 * time as i128
    }
}

/// A concave arrival curve; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// By falling rate and rising burst, each the least somewhere.
    buckets: Vec<Bucket>,
}

impl Arrival {
    /// No bound at all.
    #[must_use]
    pub const fn unbounded() -> Self {
        Self { buckets: Vec::new() }
    }

    /// Nothing ever arrives.
    #[must_use]
    pub fn nothing() -> Self {
        Self::of(Bucket { burst: 0, rate: 0 })
    }

    /// One token bucket.
    #[must_use]
    pub fn of(bucket: Bucket) -> Self {
        Self::least([bucket])
    }

    /// The least of several token buckets.
    #[must_use]
    pub fn least(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let mut all: Vec<Bucket> = buckets.into_iter().filter(|b| b.burst <= DATA_MAX).collect();
        // By rate from the least: a faster one is of use only with a smaller burst.
        all.sort_unstable_by_key(|b| (b.rate, b.burst));
        let mut kept: Vec<Bucket> = Vec::with_capacity(all.len());
        for bucket in all {
            if kept.last().is_some_and(|last| bucket.burst >= last.burst) {
                continue;
            }
            // The one between two is of use where it meets the slow one later than the fast one does.
            while let [.., before, last] = kept.as_slice() {
                let above = (before.burst - last.burst) * i128::from(bucket.rate - last.rate)
                    <= (last.burst - bucket.burst) * i128::from(last.rate - before.rate);
                if !above {
                    break;
                }
                kept.pop();
            }
            kept.push(bucket);
        }
        kept.reverse();
        Self { buckets: kept }
    }

    /// The buckets, by falling rate and rising burst.
    #[must_use]
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// True where it bounds something.
    #[must_use]
    pub const fn is_bounded(&self) -> bool {
        !self.buckets.is_empty()
    }

    /// Bit/s in the long run; none where unbounded.
    #[must_use]
    pub fn rate(&self) -> Option<u64> {
        self.buckets.last().map(|b| b.rate)
    }

    /// Picobits at most in a span of `time` ps; none where unbounded.
    #[must_use]
    pub fn at(&self, time: u64) -> Option<i128> {
        self.buckets.iter().map(|b| b.at(time)).min()
    }

    /// What both bound.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        Self::least(self.buckets.iter().chain(&other.buckets).copied())
    }

    /// What two together may bring; unbounded where one of them is.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let (a, b) = (&self.buckets, &other.buckets);
        if a.is_empty() || b.is_empty() {
            return Self::unbounded();
        }
        // Along time the next piece of one or of the other begins.
        let (mut i, mut j) = (0, 0);
        let mut sum = Vec::with_capacity(a.len() + b.len());
        loop {
            sum.push(Bucket {
                burst: a[i].burst + b[j].burst,
                rate: a[i].rate.saturating_add(b[j].rate),
            });
            let first = match (a.get(i + 1), b.get(j + 1)) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(next_a), Some(next_b)) => {
                    let after_a = (next_a.burst - a[i].burst) * i128::from(b[j].rate - next_b.rate);
                    let after_b = (next_b.burst - b[j].burst) * i128::from(a[i].rate - next_a.rate);
                    after_a <= after_b
                }
            };
            if first { i += 1 } else { j += 1 }
        }
        Self::least(sum)
    }

    /// What `count` alike may bring together.
    #[must_use]
    pub fn times(&self, count: u64) -> Self {
        Self::least(self.buckets.iter().map(|b| Bucket {
            burst: b.burst.saturating_mul(i128::from(count)),
            rate: b.rate.saturating_mul(count),
        }))
    }

    /// The sum of all.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        all.into_iter().fold(Self::nothing(), |sum, one| sum.plus(one))
    }

    /// What leaves something that delays by at most `jitter` ps more at one time than at another:
    /// `alpha(t + jitter)` (Le Boudec and Thiran, section 1.3.3).
    #[must_use]
    pub fn delayed(&self, jitter: u64) -> Self {
        Self::least(self.buckets.iter().map(|b| Bucket {
            burst: b.at(jitter),
            rate: b.rate,
        }))
    }

    /// A curve above both: where a flow may have come by either of two ways.
    #[must_use]
    pub fn either(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let pairs = self.buckets.iter().flat_map(|a| {
            other.buckets.iter().map(|b| Bucket {
                burst: a.burst.max(b.burst),
                rate: a.rate.max(b.rate),
            })
        });
        Self::least(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(burst: i128, rate: u64) -> Bucket {
        Bucket { burst, rate }
    }

    #[test]
    fn a_bucket_that_is_nowhere_the_least_goes() {
        let curve = Arrival::least([bucket(0, 10), bucket(100, 1), bucket(60, 5), bucket(200, 2)]);
        assert_eq!(curve.buckets(), [bucket(0, 10), bucket(100, 1)]);
        let useful = Arrival::least([bucket(0, 10), bucket(100, 1), bucket(40, 5)]);
        assert_eq!(useful.buckets().len(), 3);
    }

    #[test]
    fn a_sum_of_minima_is_exact_everywhere() {
        let a = Arrival::least([bucket(5, 100), bucket(300, 7), bucket(90, 40)]);
        let b = Arrival::least([bucket(12, 60), bucket(500, 0)]);
        let sum = a.plus(&b);
        for t in 0..200 {
            assert_eq!(sum.at(t), Some(a.at(t).unwrap() + b.at(t).unwrap()), "{t}");
        }
        assert!(sum.buckets().len() <= 4);
        assert!(!a.plus(&Arrival::unbounded()).is_bounded());
    }

    #[test]
    fn a_delay_adds_what_comes_meanwhile() {
        let curve = Arrival::least([bucket(5, 100), bucket(300, 7)]);
        for t in 0..50 {
            assert_eq!(curve.delayed(9).at(t), curve.at(t + 9));
        }
    }

    #[test]
    fn either_of_two_is_above_both() {
        let a = Arrival::least([bucket(5, 100), bucket(300, 7)]);
        let b = Arrival::of(bucket(50, 20));
        let both = a.either(&b);
        assert!((0..100).all(|t| both.at(t) >= a.at(t) && both.at(t) >= b.at(t)));
    }
}
