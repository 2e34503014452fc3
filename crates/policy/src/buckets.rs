//! Rates and bursts of the text to token buckets that a plan takes.
//!
//! A bucket without a size holds two of the longest frames or 10 us at its rate, whichever is more. A bucket below one
//! longest frame is refused: the frame would wait for ever.

use crate::compile::{Compiler, WHOLE};
use crate::diagnostic::Place;
use crate::reader::{At, FrameRate};
use crate::syntax::policy::{Burst, FrameBurst, RateOrPercent};
use clearway_core::Duration;
use clearway_core::plan::{Accounting, BitShape, FrameShape};

const BURST_TIME: Duration = Duration::from_us(10);

/// What a rate carries in a time, in bytes, rounded down.
pub(crate) fn bytes_in(rate_bps: u64, time_ps: u64) -> u64 {
    let bytes = u128::from(rate_bps) * u128::from(time_ps) / 8_000_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What a rate carries in a time, in frames, rounded down.
pub(crate) fn frames_in(rate_fps: u64, time_ps: u64) -> u64 {
    u64::try_from(u128::from(rate_fps) * u128::from(time_ps) / 1_000_000_000_000).unwrap_or(u64::MAX)
}

impl Compiler<'_> {
    pub(crate) fn rate(&mut self, rate: &At<RateOrPercent>) -> u64 {
        let bps = match rate.value {
            RateOrPercent::BitRate(bps) => bps,
            RateOrPercent::Percent(part) => {
                u64::try_from(u128::from(self.line_rate_bps) * u128::from(part) / u128::from(WHOLE))
                    .unwrap_or(u64::MAX)
            }
        };
        if bps == 0 {
            self.findings.push(
                rate.error("range", "a rate of zero would never send")
                    .expecting("at least 1bit/s"),
            );
            return 1;
        }
        bps
    }

    /// A bucket in bits of at least one longest frame as the node counts it.
    pub(crate) fn bit_shape(
        &mut self,
        rate: Option<&At<RateOrPercent>>,
        burst: Option<&At<Burst>>,
        layer: Accounting,
    ) -> Option<BitShape> {
        let rate_bps = self.rate(rate?);
        let burst = burst.map(|b| match b.value {
            Burst::Size(bytes) => (bytes, &b.place),
            Burst::Time(ps) => (bytes_in(rate_bps, ps), &b.place),
        });
        Some(BitShape {
            rate_bps,
            burst_bytes: self.bucket(rate_bps, burst, layer),
        })
    }

    pub(crate) fn bucket(&mut self, rate_bps: u64, burst: Option<(u64, &Place)>, layer: Accounting) -> u64 {
        let least = u64::from(layer.cost(self.plan.frame_bytes_max));
        match burst {
            None => bytes_in(rate_bps, BURST_TIME.as_ps()).max(2 * least),
            Some((bytes, place)) if bytes < least => {
                let message = format!(
                    "a bucket of {bytes} bytes is below one frame: the longest counts {least} bytes here and would wait forever"
                );
                self.findings.push(
                    place
                        .error("burst-below-frame", message)
                        .expecting(format!("at least {least}B")),
                );
                least
            }
            Some((bytes, _)) => bytes,
        }
    }

    pub(crate) fn frame_shape(
        &mut self,
        rate: Option<&At<FrameRate>>,
        burst: Option<&At<FrameBurst>>,
    ) -> Option<FrameShape> {
        let rate = rate?;
        let rate_fps = rate.value.0;
        if rate_fps == 0 {
            let finding = rate.error("range", "a rate of zero would never send");
            self.findings.push(finding.expecting("at least 1frame/s"));
            return None;
        }
        let burst_frames = match burst.map(|b| (b.value, &b.place)) {
            None => frames_in(rate_fps, BURST_TIME.as_ps()).max(2),
            Some((FrameBurst::Frames(frames), place)) => self.some_frames(frames, place),
            Some((FrameBurst::Time(ps), place)) => self.some_frames(frames_in(rate_fps, ps), place),
        };
        Some(FrameShape {
            rate_fps,
            burst_frames,
        })
    }

    pub(crate) fn some_frames(&mut self, frames: u64, place: &Place) -> u64 {
        if frames == 0 {
            let finding = place.error(
                "burst-below-frame",
                "a bucket of less than one frame would never send",
            );
            self.findings.push(finding.expecting("at least 1frame"));
        }
        frames.max(1)
    }
}
