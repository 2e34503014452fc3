//! How evenly each flow's frames arrive, where a scenario asks for it.
//!
//! A receiver plays a stream at its rate and has to make up for every frame that comes too early or too late. Frames are
//! therefore held against the instants at which they were due: frames that the source hands over together (a picture of
//! a video) are due one after another at the rate of the workload, the first of them at once. That is the time stamp of
//! an MPEG transport stream over RTP, "the target transmission time" of a packet (RFC 2250 section 2), whatever the server
//! does in truth. Sources without a rate have their frames due when they are handed over.
//!
//! Two numbers come out: the interarrival jitter of RFC 3550 (section 6.4.1, in the integer form of appendix A.8), at the
//! end of the run and at most, and the delay variation peak to peak: the largest less the least delay (RFC 5481 section
//! 4.2: PDV of a range of 100 %), which is the buffer that the receiver needs, as a time. Beside them stands how many frames came
//! after one of their flow that was handed over later. Left out: multicast, whose receivers would be mixed, and frames
//! handed over together that overtake each other (one FIFO for each flow cannot do that).

use crate::net::frame::Frame;
use clearway_policy::scenario::{Scenario, WorkloadKind};

/// Preamble, start delimiter and gap, bytes.
const WIRE_OVERHEAD: u64 = 20;
const BITS_PS: f64 = 8e12;

/// How evenly the frames of one flow arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowJitter {
    /// Frames that were looked at.
    pub frames: u64,
    /// Interarrival jitter at the last frame, picoseconds (RFC 3550).
    pub jitter_ps: u64,
    /// The largest that it was after its first sixteen differences, its time to settle, picoseconds.
    pub jitter_max_ps: u64,
    /// Largest less least delay against the instants at which frames were due, picoseconds.
    pub variation_ps: u64,
    /// Frames that came after a later one of their flow.
    pub reordered: u64,
    /// From the first frame's arrival to the last one's, picoseconds.
    pub span_ps: u64,
    /// L2 bytes that arrived in that time: those of all frames but the first.
    pub span_bytes: u64,
}

/// What is kept of a flow while the run goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    frames: u64,
    /// When the latest frame was handed over, and how many of the same instant came before the present one.
    generated: u64,
    place: u64,
    transit: i64,
    transit_min: i64,
    transit_max: i64,
    /// RFC 3550's J, in sixteenths.
    jitter: u64,
    jitter_max: u64,
    reordered: u64,
    first_at: u64,
    last_at: u64,
    span_bytes: u64,
}

/// The records of all flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jitters {
    /// By workload: picoseconds of a byte on the wire at its rate; 0: no rate.
    byte_ps: Vec<f64>,
    /// By flow: its workload, and its record.
    flows: Vec<(u32, Record)>,
}

impl Jitters {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let byte_ps = scenario.workloads.iter().map(|workload| match &workload.kind {
            WorkloadKind::ConstantRate { rate_bps, .. } if *rate_bps > 0.0 => BITS_PS / rate_bps,
            _ => 0.0,
        });
        Self {
            byte_ps: byte_ps.collect(),
            flows: Vec::new(),
        }
    }

    /// A flow was made.
    pub(crate) fn add(&mut self, workload: u32) {
        self.flows.push((workload, Record::default()));
    }

    /// A frame came.
    pub(crate) fn deliver(&mut self, frame: &Frame, at: u64) {
        let Some((workload, record)) = self.flows.get_mut(frame.flow as usize) else {
            return;
        };
        let byte_ps = self.byte_ps.get(*workload as usize).copied().unwrap_or(0.0);
        let gap = ((u64::from(frame.len) + WIRE_OVERHEAD) as f64 * byte_ps + 0.5) as u64;
        record.take(frame.generated, gap, at);
        record.span(u64::from(frame.len), at);
    }

    /// What came out, by flow.
    pub(crate) fn finish(&self) -> impl Iterator<Item = FlowJitter> + '_ {
        self.flows.iter().map(|(_, r)| FlowJitter {
            frames: r.frames,
            jitter_ps: r.jitter >> 4,
            jitter_max_ps: r.jitter_max >> 4,
            variation_ps: r.transit_max.saturating_sub(r.transit_min).unsigned_abs(),
            reordered: r.reordered,
            span_ps: r.last_at.saturating_sub(r.first_at),
            span_bytes: r.span_bytes,
        })
    }
}

impl Record {
    /// Counts towards the flow's rate.
    fn span(&mut self, bytes: u64, at: u64) {
        if self.frames <= 1 && self.reordered == 0 {
            self.first_at = at;
        } else {
            self.span_bytes += bytes;
        }
        self.last_at = at;
    }

    fn take(&mut self, generated: u64, gap: u64, at: u64) {
        if self.frames > 0 && generated < self.generated {
            self.reordered += 1;
            return;
        }
        if self.frames > 0 && generated == self.generated {
            self.place += 1;
        } else {
            (self.generated, self.place) = (generated, 0);
        }
        let due = generated.saturating_add(self.place.saturating_mul(gap));
        // Both are below 2^63: the longest run lasts 53 days.
        let transit = at as i64 - due as i64;
        self.frames += 1;
        if self.frames == 1 {
            (self.transit_min, self.transit_max) = (transit, transit);
        } else {
            // RFC 3550 A.8: J gains |D| - J/16, with J in sixteenths and rounded.
            let difference = transit.abs_diff(self.transit);
            self.jitter = self.jitter + difference - ((self.jitter + 8) >> 4).min(self.jitter);
            if self.frames > 16 {
                self.jitter_max = self.jitter_max.max(self.jitter);
            }
            self.transit_min = self.transit_min.min(transit);
            self.transit_max = self.transit_max.max(transit);
        }
        self.transit = transit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(frames: &[(u64, u64)], gap: u64) -> Record {
        let mut record = Record::default();
        for &(generated, at) in frames {
            record.take(generated, gap, at);
        }
        record
    }

    #[test]
    fn a_picture_that_leaves_evenly_has_no_jitter_and_one_sent_at_once_has_its_length() {
        // Pictures of four frames every 400 ps, due 100 ps apart, 50 ps on the way.
        let even: Vec<_> = (0..40).map(|i| (i / 4 * 400, i * 100 + 50)).collect();
        let even = record(&even, 100);
        assert_eq!((even.jitter, even.transit_max - even.transit_min), (0, 0));
        // At once, one frame every 10 ps: the last of a picture comes 270 ps early.
        let bursts: Vec<_> = (0..4000)
            .map(|i| (i / 4 * 400, i / 4 * 400 + i % 4 * 10 + 50))
            .collect();
        let bursts = record(&bursts, 100);
        assert_eq!(bursts.transit_max - bursts.transit_min, 270);
        // |D| is 90, 90, 90, 270: J moves about their mean of 135, by a sixteenth of what they differ.
        let jitter = bursts.jitter >> 4;
        assert!((125..145).contains(&jitter), "{jitter}");
    }

    #[test]
    fn constant_delay_has_no_jitter_whatever_the_spacing() {
        let frames: Vec<_> = (0..50_u64).map(|i| (i * i * 7, i * i * 7 + 123)).collect();
        let record = record(&frames, 0);
        assert_eq!(
            (record.jitter, record.transit_min, record.transit_max),
            (0, 123, 123)
        );
    }

    #[test]
    fn the_appendix_of_the_rfc_is_followed() {
        // Transits 0, 16, 0: J/16 after one difference of 16 is 1, after two 16 + 16 - (24 >> 4) = 31 sixteenths.
        let record = record(&[(0, 100), (1000, 1116), (2000, 2100)], 0);
        assert_eq!(record.jitter, 31);
    }

    #[test]
    fn a_frame_after_a_later_one_is_counted_and_changes_nothing_else() {
        let record = record(&[(0, 10), (200, 210), (100, 220), (300, 310)], 0);
        assert_eq!((record.reordered, record.frames, record.jitter), (1, 3, 0));
    }
}
