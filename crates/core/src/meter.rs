//! Three-colour markers: RFC 2697 (single rate) and RFC 2698 (two rates).
//!
//! The RFCs describe buckets that gain a byte at a time and leave the discretisation open. Here a bucket is exact:
//! a rate of `r` bit/s gives `r` picobits a picosecond, so tokens are whole picobits in 128 bits, nothing is ever
//! rounded, and the colour of a frame does not depend on how often the meter was asked before. Both buckets start
//! full. A frame conforms to a bucket that holds at least its length at that very picosecond, and then takes its
//! length out; a frame that is not charged changes nothing.
//!
//! Bytes are frame lengths as given to `enqueue` (the RFCs count IP packets). Left out: RFC 4115 and the MEF
//! coupling flag.

use crate::api::Colour;
use crate::plan::{MeterKind, PlanError, PlanItem};
use crate::time::{Duration, Instant};

/// Picobits of a byte.
const BYTE: u128 = 8_000_000_000_000;

/// A marker with its two buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    kind: MeterKind,
    /// The bucket of the committed burst, in picobits.
    committed: u128,
    /// The bucket of the excess burst (RFC 2697) or of the peak burst (RFC 2698), in picobits.
    other: u128,
    /// When the buckets were last brought up to date.
    updated: Instant,
}

impl Meter {
    /// A meter with full buckets. [`validate`] says what a sensible kind is; any other is carried out as it stands.
    #[must_use]
    pub const fn new(kind: MeterKind) -> Self {
        let (committed, other) = match kind {
            MeterKind::SingleRate {
                cbs_bytes, ebs_bytes, ..
            } => (cbs_bytes, ebs_bytes),
            MeterKind::TwoRate {
                cbs_bytes, pbs_bytes, ..
            } => (cbs_bytes, pbs_bytes),
        };
        Self {
            kind,
            committed: picobits(committed),
            other: picobits(other),
            updated: Instant::ZERO,
        }
    }

    /// Colours a frame of `len` bytes that nobody coloured before (colour-blind mode) and charges the buckets.
    ///
    /// A `now` before the latest seen counts as the latest seen.
    pub fn colour(&mut self, now: Instant, len: u32) -> Colour {
        self.recolour(now, len, Colour::Green)
    }

    /// Colours a frame of `len` bytes that came in with a colour (colour-aware mode) and charges the buckets. The
    /// colour never gets better.
    pub fn recolour(&mut self, now: Instant, len: u32, before: Colour) -> Colour {
        self.update(now);
        let cost = picobits(len as u64);
        match self.kind {
            MeterKind::SingleRate { .. } => {
                if before == Colour::Green && self.committed >= cost {
                    self.committed -= cost;
                    Colour::Green
                } else if before != Colour::Red && self.other >= cost {
                    self.other -= cost;
                    Colour::Yellow
                } else {
                    Colour::Red
                }
            }
            MeterKind::TwoRate { .. } => {
                if before == Colour::Red || self.other < cost {
                    return Colour::Red;
                }
                self.other -= cost;
                if before == Colour::Yellow || self.committed < cost {
                    return Colour::Yellow;
                }
                self.committed -= cost;
                Colour::Green
            }
        }
    }

    /// Moves the origin of time `by` later.
    pub const fn rebase(&mut self, by: Duration) {
        self.updated = self.updated.saturating_sub(by);
    }

    /// What the committed and the other bucket held when they were last brought up to date, in whole bytes.
    #[must_use]
    pub fn tokens_bytes(&self) -> (u64, u64) {
        let bytes = |tokens: u128| u64::try_from(tokens / BYTE).unwrap_or(u64::MAX);
        (bytes(self.committed), bytes(self.other))
    }

    /// Fills the buckets up to `now`.
    fn update(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.updated);
        if elapsed == Duration::ZERO {
            return;
        }
        self.updated = now;
        match self.kind {
            MeterKind::SingleRate {
                cir_bps,
                cbs_bytes,
                ebs_bytes,
            } => {
                // One stream of tokens: what the committed bucket cannot hold goes into the excess bucket.
                let gained = gain(elapsed, cir_bps);
                let room = picobits(cbs_bytes) - self.committed;
                self.committed += gained.min(room);
                self.other = filled(self.other, gained.saturating_sub(room), ebs_bytes);
            }
            MeterKind::TwoRate {
                cir_bps,
                cbs_bytes,
                pir_bps,
                pbs_bytes,
            } => {
                self.committed = filled(self.committed, gain(elapsed, cir_bps), cbs_bytes);
                self.other = filled(self.other, gain(elapsed, pir_bps), pbs_bytes);
            }
        }
    }
}

/// Cannot overflow: 2^64 times 8e12 is below 2^107.
const fn picobits(bytes: u64) -> u128 {
    bytes as u128 * BYTE
}

/// Cannot overflow: both factors are below 2^64.
const fn gain(elapsed: Duration, rate_bps: u64) -> u128 {
    elapsed.as_ps() as u128 * rate_bps as u128
}

fn filled(tokens: u128, gained: u128, burst_bytes: u64) -> u128 {
    tokens.saturating_add(gained).min(picobits(burst_bytes))
}

/// Checks a meter of the node or rule `at`.
///
/// # Errors
/// Names the field: rates of at least 1 bit/s, a peak rate not below the committed one, and a burst to measure by
/// (RFC 2697: at least one of the two; RFC 2698: both).
pub const fn validate(kind: &MeterKind, at: Option<PlanItem>) -> Result<(), PlanError> {
    let (field, expected) = match *kind {
        MeterKind::SingleRate { cir_bps: 0, .. } | MeterKind::TwoRate { cir_bps: 0, .. } => {
            ("meter.cir_bps", "at least 1 bit/s")
        }
        MeterKind::SingleRate {
            cbs_bytes: 0,
            ebs_bytes: 0,
            ..
        } => (
            "meter.cbs_bytes",
            "a committed or an excess burst above 0 bytes (RFC 2697)",
        ),
        MeterKind::TwoRate { cbs_bytes: 0, .. } => ("meter.cbs_bytes", "at least 1 byte (RFC 2698)"),
        MeterKind::TwoRate { pbs_bytes: 0, .. } => ("meter.pbs_bytes", "at least 1 byte (RFC 2698)"),
        MeterKind::TwoRate { cir_bps, pir_bps, .. } if pir_bps < cir_bps => (
            "meter.pir_bps",
            "a peak rate that is not below the committed rate (RFC 2698)",
        ),
        MeterKind::SingleRate { .. } | MeterKind::TwoRate { .. } => return Ok(()),
    };
    Err(PlanError { at, field, expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Colour::{Green, Red, Yellow};

    const fn us(us: u64) -> Instant {
        Instant::from_ps(us * 1_000_000)
    }

    /// 8 Mbit/s: a byte a microsecond.
    const SINGLE: MeterKind = MeterKind::SingleRate {
        cir_bps: 8_000_000,
        cbs_bytes: 2000,
        ebs_bytes: 1000,
    };
    /// 8 and 16 Mbit/s: one and two bytes a microsecond.
    const TWO: MeterKind = MeterKind::TwoRate {
        cir_bps: 8_000_000,
        cbs_bytes: 1500,
        pir_bps: 16_000_000,
        pbs_bytes: 3000,
    };

    #[test]
    fn single_rate_fills_the_committed_bucket_before_the_excess_one() {
        let mut m = Meter::new(SINGLE);
        assert_eq!(
            [1500, 1000, 500].map(|len| m.colour(us(0), len)),
            [Green, Yellow, Green]
        );
        assert_eq!(m.colour(us(0), 1), Red);
        // 2000 us bring the committed bucket to its 2000 bytes, 600 more go to the excess bucket.
        assert_eq!(m.colour(us(2600), 601), Green);
        assert_eq!(m.tokens_bytes(), (1399, 600));
        assert_eq!(m.colour(us(2600), 1400), Red);
        assert_eq!(m.colour(us(2600), 600), Green);
        assert_eq!(m.colour(us(2600), 800), Red);
        assert_eq!(m.colour(us(2601), 800), Green);
        assert_eq!(m.colour(us(2601), 600), Yellow);
        assert_eq!(m.tokens_bytes(), (0, 0));
    }

    #[test]
    fn two_rates_charge_green_to_both_and_yellow_to_the_peak_alone() {
        let mut m = Meter::new(TWO);
        assert_eq!(
            [1500, 1500, 1].map(|len| m.colour(us(0), len)),
            [Green, Yellow, Red]
        );
        // After 700 us: 700 committed and 1400 peak.
        assert_eq!(m.colour(us(700), 701), Yellow);
        assert_eq!(m.colour(us(700), 700), Red);
        assert_eq!(m.colour(us(700), 699), Green);
        assert_eq!(m.tokens_bytes(), (1, 0));
    }

    #[test]
    fn a_frame_conforms_at_the_very_picosecond() {
        // 3 bit/s: a byte takes 2 2/3 s, which no whole picosecond meets.
        let kind = MeterKind::SingleRate {
            cir_bps: 3,
            cbs_bytes: 1,
            ebs_bytes: 0,
        };
        let mut m = Meter::new(kind);
        assert_eq!(m.colour(us(0), 1), Green);
        assert_eq!(m.colour(Instant::from_ps(2_666_666_666_666), 1), Red);
        assert_eq!(m.colour(Instant::from_ps(2_666_666_666_667), 1), Green);
        // The third of a picosecond that was over is not lost: three bytes take eight seconds.
        let mut m = Meter::new(MeterKind::SingleRate {
            cir_bps: 3,
            cbs_bytes: 3,
            ebs_bytes: 0,
        });
        assert_eq!(m.colour(us(0), 3), Green);
        for s in 1..8 {
            assert_eq!(m.colour(us(s * 1_000_000 - 1), 3), Red);
        }
        assert_eq!(m.colour(Instant::from_ps(7_999_999_999_999), 3), Red);
        assert_eq!(m.colour(Instant::from_ps(8_000_000_000_000), 3), Green);
    }

    #[test]
    fn a_colour_never_gets_better() {
        for kind in [SINGLE, TWO] {
            let mut m = Meter::new(kind);
            assert_eq!(m.recolour(us(0), 100, Red), Red);
            assert_eq!(m, Meter::new(kind), "a red frame charges nothing");
            assert_eq!(m.recolour(us(0), 100, Yellow), Yellow);
            assert_eq!(m.recolour(us(0), 100, Green), Green);
        }
        let mut m = Meter::new(SINGLE);
        assert_eq!(m.recolour(us(0), 1001, Yellow), Red);
        assert_eq!(m.recolour(us(0), 1000, Yellow), Yellow);
        assert_eq!(m.tokens_bytes(), (2000, 0));
        let mut m = Meter::new(TWO);
        assert_eq!(m.recolour(us(0), 3000, Yellow), Yellow);
        assert_eq!(m.tokens_bytes(), (1500, 0));
    }

    #[test]
    fn time_that_goes_back_or_is_moved_changes_no_colour() {
        let mut m = Meter::new(SINGLE);
        assert_eq!(m.colour(us(5000), 2000), Green);
        assert_eq!(m.colour(us(1000), 1000), Yellow);
        assert_eq!(m.colour(us(5001), 2), Red);
        m.rebase(Duration::from_us(5000));
        assert_eq!(m.colour(us(2), 3), Red);
        assert_eq!(m.colour(us(2), 2), Green);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let most = u64::MAX;
        let single = MeterKind::SingleRate {
            cir_bps: most,
            cbs_bytes: most,
            ebs_bytes: most,
        };
        let two = MeterKind::TwoRate {
            cir_bps: most,
            cbs_bytes: most,
            pir_bps: most,
            pbs_bytes: most,
        };
        for kind in [single, two] {
            let mut m = Meter::new(kind);
            assert_eq!(m.colour(Instant::from_ps(most), u32::MAX), Green);
            assert_eq!(m.colour(Instant::from_ps(most), u32::MAX), Green);
        }
    }

    /// The RFCs' buckets kept as what is missing from them, signed.
    struct Plain {
        kind: MeterKind,
        missing: [i128; 2],
        at: i128,
    }
    impl Plain {
        fn ask(&mut self, at: u64, len: u32, before: Colour) -> Colour {
            let unit = 1_000_000_000_000i128;
            let at = i128::from(at);
            let (rates, bursts, chained) = match self.kind {
                MeterKind::SingleRate {
                    cir_bps,
                    cbs_bytes,
                    ebs_bytes,
                } => ([cir_bps, 0], [cbs_bytes, ebs_bytes], true),
                MeterKind::TwoRate {
                    cir_bps,
                    cbs_bytes,
                    pir_bps,
                    pbs_bytes,
                } => ([cir_bps, pir_bps], [cbs_bytes, pbs_bytes], false),
            };
            let mut spill = 0;
            for (short, rate) in self.missing.iter_mut().zip(rates) {
                let gained = i128::from(rate) * (at - self.at) + if chained { spill } else { 0 };
                spill = (gained - *short).max(0);
                *short = (*short - gained).max(0);
            }
            self.at = at;
            let bits = i128::from(len) * 8 * unit;
            let fits = |i: usize, s: &Self| i128::from(bursts[i]) * 8 * unit - s.missing[i] >= bits;
            let (colour, charge): (Colour, &[usize]) = match (self.kind, before) {
                (_, Red) => (Red, &[]),
                (MeterKind::SingleRate { .. }, Green) if fits(0, self) => (Green, &[0]),
                (MeterKind::SingleRate { .. }, _) if fits(1, self) => (Yellow, &[1]),
                (MeterKind::TwoRate { .. }, Green) if fits(0, self) && fits(1, self) => (Green, &[0, 1]),
                (MeterKind::TwoRate { .. }, _) if fits(1, self) => (Yellow, &[1]),
                _ => (Red, &[]),
            };
            for i in charge {
                self.missing[*i] += bits;
            }
            colour
        }
    }

    #[test]
    fn it_agrees_with_a_plain_model_over_random_frames() {
        let mut state = 7u64;
        let mut draw = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut seen = [0u32; 3];
        for _ in 0..200 {
            let cir_bps = 1 + draw(20_000_000_000);
            let (cbs_bytes, burst) = (1 + draw(4000), 1 + draw(4000));
            let kind = if draw(2) == 0 {
                MeterKind::SingleRate {
                    cir_bps,
                    cbs_bytes,
                    ebs_bytes: burst,
                }
            } else {
                MeterKind::TwoRate {
                    cir_bps,
                    cbs_bytes,
                    pir_bps: cir_bps + draw(cir_bps),
                    pbs_bytes: burst,
                }
            };
            assert_eq!(validate(&kind, None), Ok(()));
            let mut meter = Meter::new(kind);
            let mut plain = Plain {
                kind,
                missing: [0; 2],
                at: 0,
            };
            let mut now = 0;
            for _ in 0..300 {
                // Around the time that a frame takes at the committed rate, odd picoseconds included.
                let span = 8 * 1500 * 1_000_000_000_000 / cir_bps;
                now += draw(2 * span + 3);
                let len = 1 + u32::try_from(draw(2000)).unwrap_or(0);
                let before = [Green, Green, Yellow, Red][draw(4) as usize];
                let colour = meter.recolour(Instant::from_ps(now), len, before);
                assert_eq!(
                    colour,
                    plain.ask(now, len, before),
                    "{kind:?} {now} {len} {before:?}"
                );
                seen[colour as usize] += 1;
            }
        }
        assert!(seen.iter().all(|n| *n > 5_000), "{seen:?}");
    }

    #[test]
    fn a_meter_that_cannot_measure_is_refused_by_field() {
        let single = |cir_bps, cbs_bytes, ebs_bytes| MeterKind::SingleRate {
            cir_bps,
            cbs_bytes,
            ebs_bytes,
        };
        let two = |cir_bps, cbs_bytes, pir_bps, pbs_bytes| MeterKind::TwoRate {
            cir_bps,
            cbs_bytes,
            pir_bps,
            pbs_bytes,
        };
        let field = |kind| validate(&kind, Some(PlanItem::Node(1))).err().map(|e| e.field);
        assert_eq!(field(single(1, 1, 0)), None);
        assert_eq!(field(single(1, 0, 1)), None);
        assert_eq!(field(single(0, 1, 1)), Some("meter.cir_bps"));
        assert_eq!(field(single(1, 0, 0)), Some("meter.cbs_bytes"));
        assert_eq!(field(two(1, 1, 1, 1)), None);
        assert_eq!(field(two(0, 1, 1, 1)), Some("meter.cir_bps"));
        assert_eq!(field(two(1, 0, 1, 1)), Some("meter.cbs_bytes"));
        assert_eq!(field(two(1, 1, 1, 0)), Some("meter.pbs_bytes"));
        assert_eq!(field(two(2, 1, 1, 1)), Some("meter.pir_bps"));
    }
}
