//! Frames on their way to a host that does nothing but count them, kept until several can be counted together.
//!
//! A frame that leaves needs its own record and its flow's. With tens of thousands of flows neither is in a cache, and
//! a simulator that looks at one frame after another waits for memory twice a frame, most of its time. Nobody
//! can tell when such a frame is counted, so it is written down when it goes on the wire, and a batch is counted in
//! steps: all records are asked for, all flows are asked for, all is counted. The waits of a batch then overlap.
//!
//! Left out: frames that a switch sends (their memory has to be freed) and those to hosts that answer.

use super::context::Context;
use super::frame::NIL;

/// Frames of a batch: enough for the waits to overlap, few enough to stay in the first-level cache.
const BATCH: usize = 32;

/// A frame that went on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) handle: u32,
    pub(crate) line: u32,
    /// When its first bit went out, picoseconds.
    pub(crate) at: u64,
    /// When it is at its application.
    pub(crate) arrival: u64,
}

/// Frames that were sent and not counted.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sent: Vec<Sent>,
}

impl Context {
    /// Writes a frame down that will be counted and nothing else.
    #[inline]
    pub(crate) fn count_later(&mut self, sent: Sent) {
        self.ledger.sent.push(sent);
        if self.ledger.sent.len() >= BATCH {
            self.settle();
        }
    }

    /// Counts what was sent so far: before anybody looks at what lines and flows counted.
    pub(crate) fn settle(&mut self) {
        let mut sent = std::mem::take(&mut self.ledger.sent);
        // What is read in the first two steps is of no use: that it was read is.
        std::hint::black_box(sent.iter().fold(0, |sum, sent| {
            self.frames.get(sent.handle).map_or(sum, |frame| sum ^ frame.flow)
        }));
        std::hint::black_box(sent.iter().fold(0, |sum, sent| {
            let flow = self.frames.get(sent.handle).map_or(NIL, |frame| frame.flow);
            self.flows
                .get(flow as usize)
                .map_or(sum, |flow| sum ^ flow.delivered.frames)
        }));
        for sent in sent.drain(..) {
            let Some(frame) = self.frames.get_mut(sent.handle) else {
                continue;
            };
            frame.first_bit = sent.at;
            let flow = &mut self.flows[frame.flow as usize];
            if sent.at >= self.warmup {
                let waited = sent.at.saturating_sub(frame.queued.max(self.warmup));
                self.lines[sent.line as usize]
                    .counters
                    .count(frame.len, flow.overhead, waited);
            }
            self.collector
                .deliver(flow, frame, sent.arrival, self.warmup, self.end);
            let _ = self.frames.remove(sent.handle);
        }
        self.ledger.sent = sent;
    }
}
