//! Exact pacing: instants that advance by a rational number of picoseconds with the remainder carried.
//!
//! Rates come as floating point (a scenario may say 333.3 Mbit/s) and are taken to a millionth of their unit;
//! from there on everything is integer, so a source that runs for days sends exactly its rate.

use super::Problem;

/// Picoseconds for each unit (a byte or a frame), as an exact fraction.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Picoseconds a unit, times `per`.
    numerator: u128,
    per: u128,
    /// The step for the size seen last: most workloads have few sizes.
    cached: u32,
    step: Step,
}

/// Whole picoseconds and the rest in parts of `per`.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    whole: u64,
    rest: u128,
}

/// A place on the exact time axis of a [`Pace`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Picoseconds, rounded down.
    pub(super) ps: u64,
    rest: u128,
}

impl Place {
    /// A whole number of picoseconds from the start.
    pub(super) const fn at(ps: u64) -> Self {
        Self { ps, rest: 0 }
    }
}

/// Parts that a rate is counted in: millionths of bit/s or frames/s.
const MICRO: f64 = 1e6;
const MILLION: u128 = 1_000_000;
const PS_PER_SECOND: u128 = 1_000_000_000_000;
/// No rate is above a petabit or 10^15 frames a second.
const RATE_MAX: f64 = 1e15;

impl Pace {
    /// Bytes at this many bit/s by a clock that is `ppm` parts per million fast.
    pub(super) fn bytes(field: &'static str, rate_bps: f64, ppm: i32) -> Result<Self, Problem> {
        Self::new(field, rate_bps, ppm, 8)
    }

    /// Frames at this many a second by a clock that is `ppm` parts per million fast.
    pub(super) fn frames(field: &'static str, rate_fps: f64, ppm: i32) -> Result<Self, Problem> {
        Self::new(field, rate_fps, ppm, 1)
    }

    fn new(field: &'static str, rate: f64, ppm: i32, unit: u128) -> Result<Self, Problem> {
        if !(1.0 / MICRO..=RATE_MAX).contains(&rate) {
            return Err((
                field,
                format!("{rate} a second is no rate: give one between 0.000001 and 10^15"),
            ));
        }
        let clock = 1_000_000 + i64::from(ppm);
        if !(1..=2_000_000).contains(&clock) {
            return Err((
                "clock_ppm",
                format!("{ppm} is out of range: give -999999 to 1000000"),
            ));
        }
        let micro = (rate * MICRO + 0.5) as u128;
        let numerator = unit * PS_PER_SECOND * MILLION * MILLION;
        let per = micro * clock as u128;
        let divisor = gcd(numerator, per);
        Ok(Self {
            numerator: numerator / divisor,
            per: per / divisor,
            cached: 0,
            step: Step::default(),
        })
    }

    /// Moves `place` by `units`.
    #[inline]
    pub(super) fn advance(&mut self, place: &mut Place, units: u32) {
        if units != self.cached {
            self.step = self.step_of(units);
            self.cached = units;
        }
        place.ps = place.ps.saturating_add(self.step.whole);
        place.rest += self.step.rest;
        if place.rest >= self.per {
            place.rest -= self.per;
            place.ps = place.ps.saturating_add(1);
        }
    }

    /// Whole picoseconds for `units`, rounded down.
    pub(super) fn whole_ps(&self, units: u32) -> u64 {
        self.step_of(units).whole
    }

    /// Picoseconds for one unit, approximately.
    pub(super) fn ps_per_unit(&self) -> f64 {
        self.numerator as f64 / self.per as f64
    }

    fn step_of(&self, units: u32) -> Step {
        let total = self.numerator * u128::from(units);
        Step {
            whole: u64::try_from(total / self.per).unwrap_or(u64::MAX),
            rest: total % self.per,
        }
    }
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_never_drifts() {
        // 1518 B at 333.3 Mbit/s: 36,435,643.564... ps a frame.
        let mut pace = Pace::bytes("rate", 333.3e6, 0).unwrap();
        let mut place = Place::default();
        for _ in 0..1_000_000_u32 {
            pace.advance(&mut place, 1_518);
        }
        let exact = 1_000_000_u128 * 1_518 * 8 * 10_000_000_000_000 / 3_333_000_000;
        assert_eq!(u128::from(place.ps), exact);
    }

    #[test]
    fn mixed_sizes_add_up_exactly() {
        let mut pace = Pace::bytes("rate", 7e9, 0).unwrap();
        let mut place = Place::default();
        for _ in 0..700 {
            for bytes in [64, 1_518, 594, 594, 9_000] {
                pace.advance(&mut place, bytes);
            }
        }
        assert_eq!(place.ps, 700 * (64 + 1_518 + 594 + 594 + 9_000) * 8 * 1_000 / 7);
    }

    #[test]
    fn a_fast_clock_takes_less_time() {
        let nominal = Pace::bytes("rate", 10e9, 0).unwrap();
        let fast = Pace::bytes("rate", 10e9, 100).unwrap();
        assert_eq!(nominal.whole_ps(1_250_000), 1_000_000_000);
        assert_eq!(fast.whole_ps(1_250_000), 999_900_009);
    }

    #[test]
    fn impossible_rates_are_refused_by_name() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e16] {
            assert_eq!(Pace::frames("rate_fps", rate, 0).unwrap_err().0, "rate_fps");
        }
        for ppm in [-1_000_000, i32::MIN, i32::MAX] {
            assert_eq!(Pace::frames("rate_fps", 1.0, ppm).unwrap_err().0, "clock_ppm");
        }
    }

    #[test]
    fn the_slowest_pace_saturates_instead_of_wrapping() {
        let mut pace = Pace::bytes("rate", 1e-6, -999_999).unwrap();
        let mut place = Place::default();
        for _ in 0..3 {
            pace.advance(&mut place, u32::MAX);
        }
        assert_eq!(place.ps, u64::MAX);
    }
}
