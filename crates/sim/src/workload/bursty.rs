//! Bursts of back-to-back frames to one destination each, with exponential gaps.
//!
//! This is the layer-2 workload of the backplane experiments: a burst is drawn in bytes and rounded up to whole
//! frames, its frames follow each other at the line rate, and the mean of the gap between bursts is set so that
//! the mean load on the wire, preamble and gap included, is what the scenario asks for.

use super::destination::Chooser;
use super::law::{FrameBytes, Sampler};
use super::pace::{Pace, Place};
use super::{Destination, Next, Problem, WIRE_OVERHEAD_BYTES};
use crate::engine::Stream;
use clearway_policy::scenario::Law;

/// State of a bursty source.
#[derive(Clone, Debug)]
pub(super) struct Bursty {
    burst: Sampler,
    frame: FrameBytes,
    gap_mean_ps: f64,
    line: Pace,
    place: Place,
    /// Bytes of the burst that are not sent yet.
    left: u64,
    to: (Destination, u32),
}

/// Terms that the mean size of a burst is summed over, at most.
const TERMS_MAX: u32 = 200_000;
/// Paths of random frame sizes that it is averaged over, at most.
const PATHS_MAX: u32 = 4_096;

impl Bursty {
    pub(super) fn new(
        burst: &Law,
        frame: &Law,
        load: f64,
        line: Pace,
        stream: &mut Stream,
    ) -> Result<Self, Problem> {
        let burst = Sampler::new(burst).map_err(|problem| ("burst_bytes", problem))?;
        let frame = FrameBytes::new("frame_bytes", frame)?;
        if !(load > 0.0 && load <= 1.0) {
            return Err((
                "load",
                format!("{load} is no share of the line: give one above 0 and at most 1"),
            ));
        }
        let busy_ps = mean_wire_bytes(&burst, &frame) * line.ps_per_unit();
        let gap_mean_ps = busy_ps * (1.0 - load) / load;
        // Sources must not begin in step: a random part of a frame.
        let frame_ps = line.whole_ps(frame.mean() + WIRE_OVERHEAD_BYTES);
        let place = Place::at(stream.below(frame_ps));
        Ok(Self {
            burst,
            frame,
            gap_mean_ps,
            line,
            place,
            left: 0,
            to: (Destination::Multicast, 0),
        })
    }

    #[inline]
    pub(super) fn next(&mut self, chooser: &Chooser, stream: &mut Stream) -> Next {
        if self.left == 0 {
            let gap = self.gap_mean_ps * stream.exponential();
            self.place.ps = self.place.ps.saturating_add((gap + 0.5) as u64);
            self.left = whole_burst(self.burst.sample(stream));
            self.to = chooser.choose(stream);
        }
        let bytes = self.frame.sample(stream);
        let at = self.place.ps;
        self.left = self.left.saturating_sub(u64::from(bytes));
        self.line.advance(&mut self.place, bytes + WIRE_OVERHEAD_BYTES);
        Next {
            at,
            bytes,
            to: Some(self.to),
        }
    }

    pub(super) const fn between_bursts(&self) -> bool {
        self.left == 0
    }

    pub(super) const fn resume(&mut self, at: u64) {
        if at > self.place.ps {
            self.place.ps = at;
        }
    }
}

/// Whole bytes of a burst, rounded up: at least one, so that a burst has a frame.
#[inline]
fn whole_burst(bytes: f64) -> u64 {
    let floor = bytes as u64;
    (floor.saturating_add(u64::from(bytes > floor as f64))).max(1)
}

/// The mean number of bytes that a burst takes on the wire.
///
/// A burst goes on as long as the frames sent are shorter than it: its mean is the sum over frames of their
/// length times the probability that the burst is longer than all frames before. That is exact for one frame
/// size; for random sizes it is averaged over fixed paths of sizes (about 0.1 %: only the sizes are drawn).
fn mean_wire_bytes(burst: &Sampler, frame: &FrameBytes) -> f64 {
    let frames_mean = (burst.mean() / f64::from(frame.mean())).max(1.0);
    let paths = match frame {
        FrameBytes::Constant(_) => 1,
        FrameBytes::Drawn(_) => {
            (f64::from(TERMS_MAX) / (4.0 * frames_mean)).clamp(1.0, f64::from(PATHS_MAX)) as u32
        }
    };
    let mut stream = Stream::new(0, 0, "mean burst");
    let mut sum = 0.0;
    for _ in 0..paths {
        let mut sent = 0_u64;
        let mut terms = 0;
        loop {
            let longer = if sent == 0 {
                1.0
            } else {
                burst.exceeds(sent as f64)
            };
            let bytes = frame.sample(&mut stream);
            sum += longer * f64::from(bytes + WIRE_OVERHEAD_BYTES);
            sent += u64::from(bytes);
            terms += 1;
            if longer < 1e-12 {
                break;
            }
            if terms == TERMS_MAX {
                // Rounding up to whole frames no longer shows: the rest of the burst as it is.
                let scale = f64::from(bytes + WIRE_OVERHEAD_BYTES) / f64::from(bytes);
                sum += tail_mean(burst, sent as f64) * scale;
                break;
            }
        }
    }
    sum / f64::from(paths)
}

/// The mean of what a burst has beyond `from`: the integral of `exceeds`, by steps that grow with the distance.
fn tail_mean(burst: &Sampler, from: f64) -> f64 {
    let (mut x, mut sum) = (from, 0.0);
    for _ in 0..200_000 {
        let step = x * 1e-3;
        let longer = burst.exceeds(x + step / 2.0);
        sum += longer * step;
        x += step;
        if longer < 1e-15 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(burst: &Law, frame: &Law) -> f64 {
        mean_wire_bytes(
            &Sampler::new(burst).unwrap(),
            &FrameBytes::new("frame_bytes", frame).unwrap(),
        )
    }

    fn near(value: f64, expected: f64, share: f64) -> bool {
        (value / expected - 1.0).abs() < share
    }

    #[test]
    fn the_mean_burst_is_exact_for_one_frame_size() {
        let frame = Law::Constant(1_000.0);
        assert!(near(mean(&Law::Constant(1.0), &frame), 1_020.0, 1e-12));
        assert!(near(mean(&Law::Constant(1_000.0), &frame), 1_020.0, 1e-12));
        assert!(near(mean(&Law::Constant(1_001.0), &frame), 2_040.0, 1e-12));
        // Whole frames of a geometric burst are geometric: mean 1 / (1 - (1 - p)^1000).
        let frames = 1.0 / (1.0 - libm::pow(1.0 - 1.0 / 9_000.0, 1_000.0));
        assert!(near(
            mean(&Law::Geometric(9_000.0), &frame),
            frames * 1_020.0,
            1e-9
        ));
        // Uniform up to ten frames: 5.5 on average.
        assert!(near(
            mean(&Law::Uniform(0.0, 10_000.0), &frame),
            5.5 * 1_020.0,
            1e-9
        ));
    }

    #[test]
    fn a_very_long_burst_needs_no_long_sum() {
        let wire = mean(&Law::Exponential(1e12), &Law::Constant(64.0));
        assert!(near(wire, 1e12 * 84.0 / 64.0, 1e-3), "{wire}");
        let wire = mean(&Law::Constant(1e9), &Law::Constant(64.0));
        assert!(near(wire, 1e9 * 84.0 / 64.0, 1e-3), "{wire}");
    }

    #[test]
    fn random_frame_sizes_keep_the_mean() {
        // Bursts far longer than frames: the overshoot of the last frame hardly shows.
        let frame = Law::Empirical(vec![(64.0, 7.0), (594.0, 4.0), (1_518.0, 1.0)]);
        let size = (7.0 * 64.0 + 4.0 * 594.0 + 1_518.0) / 12.0;
        let second = (7.0 * 64.0 * 64.0 + 4.0 * 594.0 * 594.0 + 1_518.0 * 1_518.0) / 12.0;
        // Renewal theory: the overshoot over a long burst is half the second moment over the mean.
        let bytes = 60_000.0 + second / (2.0 * size);
        let wire = mean(&Law::Exponential(60_000.0), &frame);
        assert!(near(wire, bytes * (size + 20.0) / size, 4e-3), "{wire}");
    }

    #[test]
    fn bursts_round_up_to_a_byte_at_least() {
        assert_eq!([0.0, 0.2, 1.0, 1.1].map(whole_burst), [1, 1, 1, 2]);
        assert_eq!(whole_burst(f64::INFINITY), u64::MAX);
    }
}
