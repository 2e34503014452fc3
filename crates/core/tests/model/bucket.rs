//! Token buckets and three-colour markers, kept as tokens at an instant.
//!
//! Rules 4 to 7 of `docs/traffic-manager.md`, RFC 2697 and RFC 2698. Tokens are counted in picobits (or pico-frames):
//! a bucket of `r` bit/s gains exactly `r` of them a picosecond, so nothing is ever rounded but the eligible instant.

use clearway_core::Colour;
use clearway_core::plan::{BitShape, FlowShape, FrameShape, MeterKind};

/// An instant in picoseconds since the model was made, whatever `rebase` did.
pub(crate) type Time = i128;

const PICOBITS_PER_BYTE: i128 = 8_000_000_000_000;
const PICOFRAMES_PER_FRAME: i128 = 1_000_000_000_000;

#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    counts_frames: bool,
    gain: i128,
    burst: i128,
    /// What must be there for the bucket to be eligible.
    need: i128,
    tokens: i128,
    at: Time,
}

impl Bucket {
    /// `longest` is the cost of the longest frame, rule 3.
    pub(crate) fn bits(shape: BitShape, longest: u64, now: Time) -> Self {
        let burst = i128::from(shape.burst_bytes) * PICOBITS_PER_BYTE;
        let need = i128::from(longest) * PICOBITS_PER_BYTE;
        Self {
            counts_frames: false,
            gain: i128::from(shape.rate_bps),
            burst,
            need,
            tokens: burst,
            at: now,
        }
    }

    pub(crate) fn frames(shape: FrameShape, now: Time) -> Self {
        let burst = i128::from(shape.burst_frames) * PICOFRAMES_PER_FRAME;
        let gain = i128::from(shape.rate_fps);
        Self {
            counts_frames: true,
            gain,
            burst,
            need: PICOFRAMES_PER_FRAME,
            tokens: burst,
            at: now,
        }
    }

    pub(crate) fn flow(shape: FlowShape, longest: u64, now: Time) -> Self {
        match shape {
            FlowShape::Bits(bits) => Self::bits(bits, longest, now),
            FlowShape::Frames(frames) => Self::frames(frames, now),
        }
    }

    fn tokens_at(&self, now: Time) -> i128 {
        (self.tokens + self.gain * (now - self.at)).min(self.burst)
    }

    pub(crate) fn take(&mut self, cost: u64, now: Time) {
        let unit = if self.counts_frames {
            PICOFRAMES_PER_FRAME
        } else {
            i128::from(cost) * PICOBITS_PER_BYTE
        };
        self.tokens = self.tokens_at(now) - unit;
        self.at = now;
    }

    pub(crate) fn eligible_from(&self) -> Time {
        let lacking = self.need - self.tokens;
        if lacking <= 0 {
            self.at
        } else {
            self.at + (lacking + self.gain - 1) / self.gain
        }
    }

    pub(crate) fn is_eligible(&self, now: Time) -> bool {
        self.tokens_at(now) >= self.need
    }

    pub(crate) fn is_full(&self, now: Time) -> bool {
        self.tokens_at(now) == self.burst
    }

    /// Rule 7 (and rule 24 for flows): `to` is a full bucket of the new shape.
    pub(crate) fn become_like(old: Option<&Self>, to: Option<Self>, now: Time) -> Option<Self> {
        let mut to = to?;
        if let Some(old) = old
            && old.counts_frames == to.counts_frames
        {
            to.tokens = old.tokens_at(now).min(to.burst);
        }
        Some(to)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Meter {
    kind: MeterKind,
    /// Committed tokens in picobits.
    committed: i128,
    /// Excess tokens (single rate) or peak tokens (two rates).
    second: i128,
    at: Time,
}

impl Meter {
    pub(crate) fn new(kind: MeterKind) -> Self {
        let (committed, second) = match kind {
            MeterKind::SingleRate {
                cbs_bytes, ebs_bytes, ..
            } => (cbs_bytes, ebs_bytes),
            MeterKind::TwoRate {
                cbs_bytes, pbs_bytes, ..
            } => (cbs_bytes, pbs_bytes),
        };
        let picobits = |bytes: u64| i128::from(bytes) * PICOBITS_PER_BYTE;
        Self {
            kind,
            committed: picobits(committed),
            second: picobits(second),
            at: 0,
        }
    }

    pub(crate) fn colour(&mut self, len: u32, now: Time) -> Colour {
        let dt = now - self.at;
        self.at = now;
        let size = i128::from(len) * PICOBITS_PER_BYTE;
        match self.kind {
            MeterKind::SingleRate {
                cir_bps,
                cbs_bytes,
                ebs_bytes,
            } => {
                let (cbs, ebs) = (i128::from(cbs_bytes), i128::from(ebs_bytes));
                let filled = self.committed + i128::from(cir_bps) * dt;
                let over = (filled - cbs * PICOBITS_PER_BYTE).max(0);
                self.committed = filled - over;
                self.second = (self.second + over).min(ebs * PICOBITS_PER_BYTE);
                if self.committed >= size {
                    self.committed -= size;
                    Colour::Green
                } else if self.second >= size {
                    self.second -= size;
                    Colour::Yellow
                } else {
                    Colour::Red
                }
            }
            MeterKind::TwoRate {
                cir_bps,
                cbs_bytes,
                pir_bps,
                pbs_bytes,
            } => {
                let (cbs, pbs) = (i128::from(cbs_bytes), i128::from(pbs_bytes));
                self.committed = (self.committed + i128::from(cir_bps) * dt).min(cbs * PICOBITS_PER_BYTE);
                self.second = (self.second + i128::from(pir_bps) * dt).min(pbs * PICOBITS_PER_BYTE);
                if self.second < size {
                    Colour::Red
                } else if self.committed < size {
                    self.second -= size;
                    Colour::Yellow
                } else {
                    self.second -= size;
                    self.committed -= size;
                    Colour::Green
                }
            }
        }
    }
}
