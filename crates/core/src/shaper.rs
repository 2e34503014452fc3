//! Exact token buckets.
//!
//! A bucket is kept as the instant at which it would be full again (the virtual scheduling form of the generic cell
//! rate algorithm, ITU-T I.371), as whole picoseconds and a remainder in units of 1/rate. A frame that leaves moves
//! that instant later by exactly its own duration, so rates never drift, and refilling costs nothing. Rates, bursts
//! and the longest frame bound every product below 2^64 ([`RATE_MAX`], [`COST_MAX`], [`FILL_PS_MAX`]).
//!
//! `Rate` holds what many buckets share (all flows of a class), `Level` the sixteen bytes that each one has.

use crate::plan::{BitShape, FlowShape, FrameShape};
use core::num::NonZeroU64;

/// Highest rate, in bit/s or frames/s: 2^43, above 8.7 Tb/s.
pub const RATE_MAX: u64 = 1 << 43;
/// Most bytes that one frame may count for.
pub const COST_MAX: u32 = 1 << 20;
/// Longest time to fill an empty bucket: 2^60 ps, about 13 days.
pub const FILL_PS_MAX: u64 = 1 << 60;

/// Picoseconds that one byte takes at one bit per second.
const PS_BYTE: u64 = 8_000_000_000_000;
/// Picoseconds that one frame takes at one frame per second.
const PS_FRAME: u64 = 1_000_000_000_000;

/// Rate and burst of a bucket, worked out for the data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Rate {
    rate: NonZeroU64,
    /// `u64::MAX / rate`: a division by `rate` is a multiplication and at most one correction.
    inverse: u64,
    /// Whole picoseconds a unit takes, and the remainder over `rate`.
    unit_ps: u64,
    unit_rem: u64,
    /// Time from the eligible instant to the full instant, rounded like `Level`.
    slack_ps: u64,
    slack_rem: u64,
    burst: u64,
    /// `PS_BYTE` or `PS_FRAME`.
    scale: u64,
}

/// A bucket of its own: what a frame that leaves touches is the first 64 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Bucket {
    pub(crate) level: Level,
    pub(crate) rate: Rate,
}

impl Bucket {
    /// A full bucket.
    pub(crate) const fn full(rate: Rate) -> Self {
        Self {
            level: Level::FULL,
            rate,
        }
    }

    #[inline]
    pub(crate) fn charge(&mut self, now: u64, cost: u32) {
        self.level.charge(&self.rate, now, cost);
    }

    #[inline]
    pub(crate) const fn eligible_at(&self) -> u64 {
        self.level.eligible_at(&self.rate)
    }
}

/// The state of one bucket: full at `full_ps + rem / rate` picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Level {
    pub(crate) full_ps: u64,
    rem: u64,
}

impl Rate {
    /// A bucket in bits that must hold `cost_max` bytes to be eligible.
    pub(crate) fn bits(shape: BitShape, cost_max: u32) -> Self {
        Self::new(shape.rate_bps, shape.burst_bytes, u64::from(cost_max), PS_BYTE)
    }

    /// A bucket in frames that must hold one to be eligible.
    pub(crate) fn frames(shape: FrameShape) -> Self {
        Self::new(shape.rate_fps, shape.burst_frames, 1, PS_FRAME)
    }

    /// The bucket of one flow.
    pub(crate) fn flow(shape: FlowShape, cost_max: u32) -> Self {
        match shape {
            FlowShape::Bits(bits) => Self::bits(bits, cost_max),
            FlowShape::Frames(frames) => Self::frames(frames),
        }
    }

    fn new(rate: u64, burst: u64, eligible: u64, scale: u64) -> Self {
        let slack = u128::from(burst - eligible) * u128::from(scale);
        Self {
            // Plan validation refuses a rate of zero.
            rate: NonZeroU64::new(rate).unwrap_or(NonZeroU64::MIN),
            inverse: u64::MAX / rate,
            unit_ps: scale / rate,
            unit_rem: scale % rate,
            // Bounded by FILL_PS_MAX, which plan validation enforces.
            slack_ps: (slack / u128::from(rate)) as u64,
            slack_rem: (slack % u128::from(rate)) as u64,
            burst,
            scale,
        }
    }

    /// Quotient and remainder of `over` by the rate.
    #[inline]
    const fn divide(&self, over: u64) -> (u64, u64) {
        // The inverse is short of 2^64 / rate by less than one and a bit, so the quotient by at most two.
        let mut quotient = ((over as u128 * self.inverse as u128) >> 64) as u64;
        let rate = self.rate.get();
        let mut rest = over - quotient * rate;
        while rest >= rate {
            quotient += 1;
            rest -= rate;
        }
        (quotient, rest)
    }

    /// Whole picoseconds that a frame of `cost` bytes takes at this rate.
    pub(crate) const fn gap_ps(&self, cost: u32) -> u64 {
        self.unit_ps.saturating_mul(self.units(cost) as u64)
    }

    /// True where a frame counts as one, whatever its length.
    pub(crate) const fn counts_frames(&self) -> bool {
        self.scale == PS_FRAME
    }

    /// Units that a frame of `cost` bytes takes out.
    #[inline]
    pub(crate) const fn units(&self, cost: u32) -> u32 {
        if self.counts_frames() { 1 } else { cost }
    }

    /// True where both buckets count the same thing, so that tokens can be carried over.
    pub(crate) const fn same_kind(&self, other: &Self) -> bool {
        self.scale == other.scale
    }
}

impl Level {
    /// A bucket that misses nothing.
    pub(crate) const FULL: Self = Self { full_ps: 0, rem: 0 };

    /// Takes out a frame of `cost` bytes that leaves at `now`.
    #[inline]
    pub(crate) fn charge(&mut self, rate: &Rate, now: u64, cost: u32) {
        self.charge_units(rate, now, rate.units(cost));
    }

    /// The same in the bucket's own units: bytes or frames.
    #[inline]
    pub(crate) fn charge_units(&mut self, rate: &Rate, now: u64, units: u32) {
        if self.full_ps < now {
            self.full_ps = now;
            self.rem = 0;
        }
        let units = u64::from(units);
        self.full_ps += rate.unit_ps * units;
        if rate.unit_rem != 0 {
            let over = rate.unit_rem * units + self.rem;
            let (whole, rest) = rate.divide(over);
            self.full_ps += whole;
            self.rem = rest;
        }
    }

    /// The first whole picosecond at which the bucket is eligible.
    #[inline]
    pub(crate) const fn eligible_at(&self, rate: &Rate) -> u64 {
        self.full_ps.saturating_sub(rate.slack_ps) + (self.rem > rate.slack_rem) as u64
    }

    /// True where no token is missing at `now`.
    pub(crate) const fn is_full(&self, now: u64) -> bool {
        self.full_ps < now || (self.full_ps == now && self.rem == 0)
    }

    /// Carries the tokens held at `now` over to another rate, at most the new burst.
    pub(crate) fn convert(&mut self, now: u64, from: &Rate, to: &Rate) {
        let missing = if self.is_full(now) {
            0
        } else {
            u128::from(self.full_ps - now) * u128::from(from.rate.get()) + u128::from(self.rem)
        };
        let full_from = u128::from(from.burst) * u128::from(from.scale);
        let full_to = u128::from(to.burst) * u128::from(to.scale);
        let tokens = full_from.saturating_sub(missing).min(full_to);
        let missing = full_to - tokens;
        self.full_ps = now + (missing / u128::from(to.rate.get())) as u64;
        self.rem = (missing % u128::from(to.rate.get())) as u64;
    }

    /// What a flow's bucket becomes under another class's rate: its tokens where both count the same, else full.
    pub(crate) fn carry_over(&mut self, now: u64, from: Option<&Rate>, to: Option<&Rate>) {
        match (from, to) {
            (Some(from), Some(to)) if from.same_kind(to) => self.convert(now, from, to),
            _ => *self = Self::FULL,
        }
    }

    pub(crate) const fn rebase(&mut self, by: u64) {
        self.full_ps = self.full_ps.saturating_sub(by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(rate_bps: u64, burst_bytes: u64) -> Rate {
        Rate::bits(
            BitShape {
                rate_bps,
                burst_bytes,
            },
            1500,
        )
    }

    #[test]
    fn a_bucket_of_one_frame_is_eligible_again_after_exactly_that_frame() {
        let rate = bits(10_000_000_000, 1500);
        let mut level = Level::default();
        level.charge(&rate, 1_000, 1500);
        assert_eq!(level.eligible_at(&rate), 1_000 + 1500 * 800);
    }

    #[test]
    fn a_rate_that_divides_nothing_never_drifts() {
        // 3 bit/s: a byte takes 2 666 666 666 666.67 ps. After 3 bytes exactly 8 s have passed.
        let rate = Rate::bits(
            BitShape {
                rate_bps: 3,
                burst_bytes: 1,
            },
            1,
        );
        let mut level = Level::default();
        for _ in 0..3 {
            let now = level.eligible_at(&rate);
            level.charge(&rate, now, 1);
        }
        // Two of the three departures were rounded up to a picosecond, and the late start counts: never early.
        assert!(level.eligible_at(&rate) >= 8_000_000_000_000);
        let mut backlogged = Level::default();
        for _ in 0..3_000 {
            backlogged.charge(&rate, 0, 1);
        }
        assert_eq!(backlogged.full_ps, 8_000_000_000_000_000);
        assert_eq!(backlogged.rem, 0);
    }

    #[test]
    fn dividing_by_the_inverse_is_dividing() {
        let mut state = 5_u64;
        for step in 0..200_000_u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let rate = (state >> (21 + state % 42)).max(1);
            let over = state.rotate_left(17) >> (step % 60);
            assert_eq!(
                bits(rate, 1_500).divide(over),
                (over / rate, over % rate),
                "{over} by {rate}"
            );
        }
    }

    #[test]
    fn tokens_survive_a_change_of_rate() {
        let (slow, fast) = (bits(1_000_000, 3_000), bits(10_000_000, 3_000));
        let mut level = Level::default();
        level.charge(&slow, 0, 3_000);
        // Empty at 0; at 12 ms half of it is back, and at ten times the rate the rest takes 1.2 ms.
        level.convert(12_000_000_000, &slow, &fast);
        assert_eq!(level.full_ps, 13_200_000_000);
    }

    #[test]
    fn a_smaller_burst_takes_what_is_too_much_and_a_larger_one_gives_nothing() {
        let (large, small) = (bits(8_000_000, 10_000), bits(8_000_000, 2_000));
        let mut level = Level::default();
        level.convert(5, &large, &small);
        assert!(level.is_full(5));
        level.convert(5, &small, &large);
        assert_eq!(level.full_ps, 5 + 8_000 * 1_000_000);
    }
}
