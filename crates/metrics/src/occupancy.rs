//! A level that changes at instants (bytes in a queue, frames in a memory): its time-weighted mean and its maximum.
//!
//! Integers throughout: the area under the curve is exact (up to 2^128 unit-picoseconds, where it stops). Time is
//! picoseconds from the caller's origin; an instant that goes back counts as the latest seen.

/// A level over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    level: u64,
    since: u64,
    start: u64,
    area: u128,
    max: u64,
    max_at: u64,
}

impl Occupancy {
    /// A level of zero from `start` (ps) on.
    #[must_use]
    pub const fn new(start: u64) -> Self {
        Self {
            level: 0,
            since: start,
            start,
            area: 0,
            max: 0,
            max_at: start,
        }
    }

    fn advance(&mut self, at: u64) {
        if at > self.since {
            self.area = self
                .area
                .saturating_add(u128::from(self.level) * u128::from(at - self.since));
            self.since = at;
        }
    }

    /// From `at` (ps) on the level is `level`.
    #[inline]
    pub fn set(&mut self, at: u64, level: u64) {
        self.advance(at);
        self.level = level;
        if level > self.max {
            self.max = level;
            self.max_at = self.since;
        }
    }

    /// From `at` (ps) on the level is higher by `by`.
    #[inline]
    pub fn add(&mut self, at: u64, by: u64) {
        self.set(at, self.level.saturating_add(by));
    }

    /// From `at` (ps) on the level is lower by `by`, at least zero.
    #[inline]
    pub fn sub(&mut self, at: u64, by: u64) {
        self.set(at, self.level.saturating_sub(by));
    }

    /// Forgets what was before `at` (the end of a warm-up), except the level itself.
    pub fn restart(&mut self, at: u64) {
        self.advance(at);
        (self.start, self.area, self.max, self.max_at) = (self.since, 0, self.level, self.since);
    }

    /// The level now.
    #[must_use]
    pub const fn level(&self) -> u64 {
        self.level
    }

    /// The highest level.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// When the level first reached its highest, in ps.
    #[must_use]
    pub const fn max_at(&self) -> u64 {
        self.max_at
    }

    /// The mean level over time until `until` (ps); the level itself while no time has passed.
    #[must_use]
    pub fn mean(&self, until: u64) -> f64 {
        let mut to_end = *self;
        to_end.advance(until);
        let span = to_end.since - to_end.start;
        if span == 0 {
            self.level as f64
        } else {
            to_end.area as f64 / span as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_each_level_by_its_time() {
        let mut o = Occupancy::new(100);
        o.add(200, 10);
        o.add(250, 20);
        o.sub(300, 30);
        // 0 for 100, 10 for 50, 30 for 50, 0 for 200.
        assert_eq!(o.mean(500), (500.0 + 1500.0) / 400.0);
        assert_eq!((o.max(), o.max_at(), o.level()), (30, 250, 0));
    }

    #[test]
    fn time_that_goes_back_counts_as_the_latest_seen() {
        let mut o = Occupancy::new(0);
        o.set(100, 4);
        o.set(50, 8);
        // 0 for 100, then 8 for 100: the 4 lasted no time.
        assert_eq!(o.mean(200), 4.0);
        assert_eq!(o.mean(10), 0.0);
        assert_eq!(o.max_at(), 100);
    }

    #[test]
    fn a_level_never_falls_below_zero() {
        let mut o = Occupancy::new(0);
        o.sub(1, 5);
        assert_eq!(o.level(), 0);
    }

    #[test]
    fn a_restart_keeps_the_level_and_forgets_the_rest() {
        let mut o = Occupancy::new(0);
        o.set(0, 1000);
        o.set(10, 3);
        o.restart(20);
        assert_eq!((o.max(), o.mean(40)), (3, 3.0));
    }
}
