//! Points and spans of time in whole picoseconds.
//!
//! A picosecond is the unit because every Ethernet line rate from 10 Mb/s to 1.6 Tb/s is a whole number of
//! picoseconds a byte. An [`Instant`] counts from an origin that the caller chose; callers stay below
//! [`Instant::LIMIT`] (106 days) and shift the origin with `rebase` before they reach it.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in time, in picoseconds since the caller's origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The caller's origin.
    pub const ZERO: Self = Self(0);
    /// The largest instant that a traffic manager accepts: 2^63 ps, about 106 days.
    pub const LIMIT: Self = Self(1 << 63);

    /// The instant `ps` picoseconds after the origin.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the origin.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// The span since `earlier`, zero where `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// This instant plus `by`, or the largest representable instant.
    #[must_use]
    pub const fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.0))
    }
    /// This instant minus `by`, or the origin.
    #[must_use]
    pub const fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// `ns` nanoseconds, saturating.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// `us` microseconds, saturating.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }
    /// `ms` milliseconds, saturating.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }
    /// Picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// The time that `bytes` take at `rate_bps` bits per second, rounded up to a picosecond, saturating.
    ///
    /// A rate of zero never finishes: the longest span.
    #[must_use]
    pub const fn of_bytes(bytes: u64, rate_bps: u64) -> Self {
        if rate_bps == 0 {
            return Self::MAX;
        }
        let picobits = bytes as u128 * 8_000_000_000_000;
        let ps = picobits.div_ceil(rate_bps as u128);
        if ps > u64::MAX as u128 {
            Self::MAX
        } else {
            Self(ps as u64)
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0 + by.0)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, by: Duration) {
        self.0 += by.0;
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, by: Self) -> Self {
        Self(self.0 + by.0)
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, by: Self) -> Self {
        Self(self.0 - by.0)
    }
}

fn write_ps(f: &mut fmt::Formatter<'_>, ps: u64) -> fmt::Result {
    write!(f, "{}.{:06} us", ps / 1_000_000, ps % 1_000_000)
}
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(f, self.0)
    }
}
impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_ps(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_each_line_rate_is_a_whole_number_of_picoseconds() {
        for (rate_bps, ps) in [
            (10_000_000, 800_000),
            (10_000_000_000, 800),
            (25_000_000_000, 320),
            (400_000_000_000, 20),
            (1_600_000_000_000, 5),
        ] {
            assert_eq!(Duration::of_bytes(1, rate_bps).as_ps(), ps);
        }
    }

    #[test]
    fn a_zero_rate_never_finishes() {
        assert_eq!(Duration::of_bytes(1, 0), Duration::MAX);
    }
}
