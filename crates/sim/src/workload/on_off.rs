//! Constant rate during on periods, silence between them.
//!
//! Frames are spaced on a clock that runs only while the source is on, so a frame that an on period has no room
//! for comes in the next one: the rate over all on periods together is exact.

use super::law::{FrameBytes, Sampler};
use super::pace::{Pace, Place};
use super::{Next, Problem, WIRE_OVERHEAD_BYTES};
use crate::engine::Stream;
use clearway_policy::scenario::Law;

/// State of an on-off source.
#[derive(Clone, Debug)]
pub(super) struct OnOff {
    pace: Pace,
    frame: FrameBytes,
    on: Sampler,
    off: Sampler,
    /// The next frame, on the clock of on periods.
    place: Place,
    /// End of the present on period on that clock, ps.
    on_until: u64,
    /// All off periods so far, ps.
    off_total: u64,
}

const PS_PER_SECOND: f64 = 1e12;
/// Periods shorter than this on average would not let time pass.
const ON_MEAN_MIN_S: f64 = 1e-12;

impl OnOff {
    pub(super) fn new(
        frame: &Law,
        pace: Pace,
        on: &Law,
        off: &Law,
        stream: &mut Stream,
    ) -> Result<Self, Problem> {
        let frame = FrameBytes::new("frame_bytes", frame)?;
        let on = Sampler::new(on).map_err(|problem| ("on", problem))?;
        let off = Sampler::new(off).map_err(|problem| ("off", problem))?;
        if on.mean() < ON_MEAN_MIN_S {
            return Err((
                "on",
                "the mean on period is below a picosecond: give a longer one".to_owned(),
            ));
        }
        let gap = pace.whole_ps(frame.mean() + WIRE_OVERHEAD_BYTES);
        let place = Place::at(stream.below(gap));
        // Begin as the source is found at a random moment, or all sources would be on together.
        let off_share = off.mean() / (on.mean() + off.mean());
        let off_total = if stream.chance(off_share) {
            ps(off.sample(stream))
        } else {
            0
        };
        let on_until = ps(on.sample(stream));
        Ok(Self {
            pace,
            frame,
            on,
            off,
            place,
            on_until,
            off_total,
        })
    }

    /// The next frame, or none where it would come after `stop`.
    #[inline]
    pub(super) fn next(&mut self, stop: u64, stream: &mut Stream) -> Option<Next> {
        while self.place.ps >= self.on_until {
            if self.on_until.saturating_add(self.off_total) > stop || self.on_until == u64::MAX {
                return None;
            }
            self.off_total = self.off_total.saturating_add(ps(self.off.sample(stream)));
            self.on_until = self.on_until.saturating_add(ps(self.on.sample(stream)));
        }
        let at = self.place.ps.saturating_add(self.off_total);
        let bytes = self.frame.sample(stream);
        self.pace.advance(&mut self.place, bytes + WIRE_OVERHEAD_BYTES);
        Some(Next { at, bytes, to: None })
    }
}

/// Seconds to picoseconds, saturating.
#[inline]
fn ps(seconds: f64) -> u64 {
    (seconds * PS_PER_SECOND + 0.5) as u64
}
