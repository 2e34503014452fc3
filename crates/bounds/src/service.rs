//! Service curves: at least this much data of what waited is sent.
//!
//! A [`Ramp`] is `max(0, rate t - lag)`, the rate-latency curve; [`Ramps`] are the greatest of several, which is every
//! convex piecewise-linear curve that begins at zero; a [`Service`] is the least of several such, which a shaper needs.
//! Data counts as served when its frame has begun to be sent, and a frame begins when all before it has been served.
//!
//! Source: Le Boudec and Thiran, sections 1.3 (service curves), 1.3.2 and 6.2 (what is left by others).

use crate::{Arrival, Bucket, DATA_MAX, div_up};

/// `max(0, rate t - lag)`; a lag below zero gives that much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Bit/s, at least 1.
    pub rate: u64,
    /// Picobits.
    pub lag: i128,
}

impl Ramp {
    /// Nothing for `latency` ps, then `rate`.
    #[must_use]
    pub const fn after(rate: u64, latency: u64) -> Self {
        Self {
            rate,
            lag: rate as i128 * latency as i128,
        }
    }

    /// Picoseconds without service, rounded up.
    #[must_use]
    pub fn latency(&self) -> i128 {
        div_up(self.lag.max(0), i128::from(self.rate))
    }

    /// Picobits after `time` ps.
    #[must_use]
    pub fn at(&self, time: u64) -> i128 {
        (i128::from(self.rate) * i128::from(time) - self.lag).max(0)
    }

    /// When more than `data` picobits have been served, rounded up.
    pub(crate) fn passes(&self, data: i128) -> i128 {
        div_up((data + self.lag).max(0), i128::from(self.rate))
    }
}

/// The greatest of several ramps; none: no service at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ramps {
    /// By rising rate and rising lag, each the greatest somewhere.
    ramps: Vec<Ramp>,
}

/// More ramps than this are not kept: dropping some is safe.
const RAMPS_MAX: usize = 24;

impl Ramps {
    /// The greatest of these.
    #[must_use]
    pub fn greatest(ramps: impl IntoIterator<Item = Ramp>) -> Self {
        let mut all: Vec<Ramp> = ramps
            .into_iter()
            .filter(|r| r.rate > 0 && r.lag <= DATA_MAX)
            .collect();
        all.sort_unstable_by_key(|r| (std::cmp::Reverse(r.rate), r.lag));
        let mut kept: Vec<Ramp> = Vec::with_capacity(all.len());
        for ramp in all {
            if kept.last().is_some_and(|last| ramp.lag >= last.lag) {
                continue;
            }
            // The one between two is of use where it passes the slow one before the fast one passes it.
            while let [.., before, last] = kept.as_slice() {
                let useful = (last.lag - ramp.lag) * i128::from(before.rate - last.rate)
                    < (before.lag - last.lag) * i128::from(last.rate - ramp.rate);
                if useful {
                    break;
                }
                kept.pop();
            }
            kept.push(ramp);
        }
        kept.reverse();
        if kept.len() > RAMPS_MAX {
            // The slowest and the fastest matter most: every other one between goes.
            let last = kept.len() - 1;
            let mut index = 0;
            kept.retain(|_| {
                index += 1;
                index == 1 || index > last || index % 2 == 0
            });
        }
        Self { ramps: kept }
    }

    /// One ramp.
    #[must_use]
    pub fn of(ramp: Ramp) -> Self {
        Self::greatest([ramp])
    }

    /// The ramps, by rising rate and lag.
    #[must_use]
    pub fn ramps(&self) -> &[Ramp] {
        &self.ramps
    }

    /// Bit/s in the long run.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.ramps.last().map_or(0, |r| r.rate)
    }

    /// Picobits after `time` ps.
    #[must_use]
    pub fn at(&self, time: u64) -> i128 {
        self.ramps.iter().map(|r| r.at(time)).max().unwrap_or(0)
    }

    /// What others that go first leave over: `beta - alpha`, and that is not less than zero.
    #[must_use]
    pub fn minus(&self, others: &Arrival) -> Self {
        let left = |ramp: &Ramp, bucket: &Bucket| Ramp {
            rate: ramp.rate.saturating_sub(bucket.rate),
            lag: ramp.lag + bucket.burst,
        };
        Self::greatest(
            self.ramps
                .iter()
                .flat_map(|ramp| others.buckets().iter().map(move |bucket| left(ramp, bucket))),
        )
    }

    /// The greatest of both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self::greatest(self.ramps.iter().chain(&other.ramps).copied())
    }

    /// When more than `data` picobits have been served, ps, rounded up; none: never.
    pub(crate) fn passes(&self, data: i128) -> Option<i128> {
        self.ramps.iter().map(|r| r.passes(data)).min()
    }
}

/// The least of several convex curves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// At least one.
    pub parts: Vec<Ramps>,
}

impl Service {
    /// A convex curve.
    #[must_use]
    pub fn of(ramps: Ramps) -> Self {
        Self { parts: vec![ramps] }
    }

    /// Bit/s in the long run.
    #[must_use]
    pub fn rate(&self) -> u64 {
        self.parts.iter().map(Ramps::rate).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rate: u64, lag: i128) -> Ramp {
        Ramp { rate, lag }
    }

    #[test]
    fn a_ramp_that_is_nowhere_the_greatest_goes() {
        let all = [
            ramp(1, 0),
            ramp(10, 900),
            ramp(5, 800),
            ramp(4, 100),
            ramp(10, 950),
        ];
        let kept = Ramps::greatest(all);
        for t in 0..1_000 {
            assert_eq!(kept.at(t), all.iter().map(|r| r.at(t)).max().unwrap(), "{t}");
        }
        assert_eq!(kept.ramps(), [ramp(1, 0), ramp(4, 100), ramp(10, 900)]);
    }

    #[test]
    fn what_is_left_is_the_difference() {
        let beta = Ramps::greatest([ramp(10, 50), ramp(4, 0)]);
        let alpha = Arrival::least([Bucket { burst: 5, rate: 8 }, Bucket { burst: 60, rate: 2 }]);
        let left = beta.minus(&alpha);
        for t in 0..100 {
            let exact = (beta.at(t) - alpha.at(t).unwrap()).max(0);
            assert!(left.at(t) <= exact.max(0), "{t}");
            assert!(left.at(t) == exact || beta.at(t) == 0, "{t}");
        }
        assert!(beta.minus(&Arrival::unbounded()).ramps().is_empty());
    }
}
