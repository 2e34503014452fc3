//! Single frames at given or drawn instants: Poisson arrivals, open-loop requests, a replayed capture.

use super::destination::Chooser;
use super::law::FrameBytes;
use super::pace::{Pace, Place};
use super::{Destination, FRAME_BYTES_MAX, FRAME_BYTES_MIN, Next, Problem};
use crate::engine::Stream;
use clearway_policy::scenario::{Law, ReplayFrame};

/// Frames by a spacing law.
#[derive(Clone, Debug)]
pub(super) struct Spaced {
    frame: FrameBytes,
    spacing: Spacing,
}

#[derive(Clone, Debug)]
enum Spacing {
    /// Exponential gaps.
    Poisson { gap_mean_ps: f64, at: u64 },
    /// Even gaps.
    Even { pace: Pace, place: Place },
}

impl Spaced {
    pub(super) fn poisson(frame: &Law, rate_fps: f64, ppm: i32) -> Result<Self, Problem> {
        let gap_mean_ps = Pace::frames("rate_fps", rate_fps, ppm)?.ps_per_unit();
        Ok(Self {
            frame: FrameBytes::new("frame_bytes", frame)?,
            spacing: Spacing::Poisson { gap_mean_ps, at: 0 },
        })
    }

    pub(super) fn open_loop(
        request_bytes: u32,
        rate_fps: f64,
        poisson: bool,
        ppm: i32,
        stream: &mut Stream,
    ) -> Result<Self, Problem> {
        let law = Law::Constant(f64::from(request_bytes));
        let frame = FrameBytes::new("request_bytes", &law)?;
        if poisson {
            return Ok(Self {
                frame,
                ..Self::poisson(&law, rate_fps, ppm)?
            });
        }
        let pace = Pace::frames("rate_fps", rate_fps, ppm)?;
        let place = Place::at(stream.below(pace.whole_ps(1)));
        Ok(Self {
            frame,
            spacing: Spacing::Even { pace, place },
        })
    }

    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream) -> Next {
        let bytes = self.frame.sample(stream);
        let at = match &mut self.spacing {
            Spacing::Poisson { gap_mean_ps, at } => {
                *at = at.saturating_add((*gap_mean_ps * stream.exponential() + 0.5) as u64);
                *at
            }
            Spacing::Even { pace, place } => {
                let at = place.ps;
                pace.advance(place, 1);
                at
            }
        };
        Next { at, bytes, to: None }
    }
}

/// A capture played at its own times: instants are exact, without a random phase.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    /// Instant, bytes and place in the capture, by instant.
    frames: Vec<(u64, u32, u32)>,
    next: usize,
}

impl Replay {
    pub(super) fn new(frames: &[ReplayFrame]) -> Self {
        let mut frames: Vec<(u64, u32, u32)> = frames
            .iter()
            .zip(0..)
            .map(|(frame, place)| {
                let bytes = frame.bytes.clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX);
                (frame.at.as_ps(), bytes, place)
            })
            .collect();
        // Captures of several interfaces step back in time now and then; equal instants keep their order.
        frames.sort_by_key(|&(at, _, place)| (at, place));
        Self { frames, next: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, chooser: &Chooser, stream: &mut Stream) -> Option<Next> {
        let &(at, bytes, place) = self.frames.get(self.next)?;
        self.next += 1;
        let (to, _): (Destination, u32) = chooser.choose(stream);
        Some(Next {
            at,
            bytes,
            to: Some((to, place)),
        })
    }
}
