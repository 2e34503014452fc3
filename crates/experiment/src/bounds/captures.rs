//! The arrival curve of a capture: what a given list of frames fits.
//!
//! A list of frames is bounded by itself: for any rate the least bucket that would never have run dry is found in one
//! pass (Le Boudec and Thiran, section 1.2.4, minimum arrival curve). Rates are those of the busiest spans of each power
//! of two of the capture's length, so that the curve follows it from single bursts to the long run. A capture ends: its
//! bytes all together, at no rate, are a bucket too.

use clearway_bounds::{Arrival, Bucket, wire};
use clearway_core::FlowKey;
use clearway_policy::scenario::ReplayFrame;
use std::collections::HashMap;

/// The instants (ps) and lengths of a capture's frames, for each set of header fields.
pub(super) fn by_fields(frames: &[ReplayFrame]) -> Vec<(FlowKey, Vec<(u64, u32)>)> {
    let mut places: HashMap<FlowKey, usize> = HashMap::new();
    let mut all: Vec<(FlowKey, Vec<(u64, u32)>)> = Vec::new();
    for frame in frames {
        let place = *places.entry(frame.key).or_insert_with(|| {
            all.push((frame.key, Vec::new()));
            all.len() - 1
        });
        all[place]
            .1
            .push((frame.at.as_ps(), frame.bytes.clamp(64, 65_535)));
    }
    all
}

/// Token buckets that a capture fits: for each span of a power of two of its gaps the rate of the busiest such span, and
/// with each rate the least burst.
pub(super) fn replayed(frames: &[(u64, u32)]) -> Arrival {
    let mut frames = frames.to_vec();
    frames.sort_unstable();
    let total: i128 = frames.iter().map(|f| wire(f.1)).sum();
    let length = frames.last().map_or(0, |l| l.0) - frames.first().map_or(0, |f| f.0);
    let mut rates = vec![0_u64];
    let mut span = length.max(1);
    while span > 1_000 && rates.len() < 40 {
        // The most that any window of this length holds.
        let (mut begin, mut inside, mut most) = (0, 0_i128, 0_i128);
        for (at, len) in &frames {
            inside += wire(*len);
            while frames[begin].0 + span < *at {
                inside -= wire(frames[begin].1);
                begin += 1;
            }
            most = most.max(inside - wire(frames[begin].1));
        }
        rates.push(u64::try_from(most / i128::from(span) + 1).unwrap_or(u64::MAX));
        span /= 2;
    }
    let bucket = |rate: u64| {
        // What the bucket lacks at most: it fills between frames and each frame takes its length.
        let (mut lacks, mut most, mut before) = (0_i128, 0_i128, 0_u64);
        for (at, len) in &frames {
            lacks = (lacks - i128::from(rate) * i128::from(at - before)).max(0) + wire(*len);
            most = most.max(lacks);
            before = *at;
        }
        Bucket { burst: most, rate }
    };
    let whole = Bucket {
        burst: total,
        rate: 0,
    };
    Arrival::least(rates.into_iter().map(bucket).chain([whole]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_span_of_a_capture_holds_more_than_its_curve() {
        let mut seed = 3_u64;
        let mut at = 0;
        let frames: Vec<(u64, u32)> = (0..300)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                at += (seed >> 40) % 3 * ((seed >> 33) % 900_000);
                (at, 64 + ((seed >> 20) % 1_400) as u32)
            })
            .collect();
        let curve = replayed(&frames);
        for first in 0..frames.len() {
            let mut bits = 0;
            for last in first..frames.len() {
                bits += wire(frames[last].1);
                assert!(bits <= curve.at(frames[last].0 - frames[first].0).unwrap());
            }
        }
        // It is no looser than the whole, and the largest burst is near.
        assert!(curve.buckets().len() > 2);
        assert_eq!(curve.rate(), Some(0));
    }

    #[test]
    fn a_burst_at_one_instant_is_that_burst() {
        let curve = replayed(&[(5, 64), (5, 1_000), (5, 64)]);
        assert_eq!(curve.at(0), Some(2 * wire(64) + wire(1_000)));
        assert_eq!(curve.at(1_000_000), curve.at(0));
    }
}
