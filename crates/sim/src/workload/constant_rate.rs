//! Many flows of constant rate, each with a phase of its own. A flow may hand over several frames at once, as a video
//! server hands over a picture: the rate is the same, the gap so many times longer.
//!
//! Flows of one frame size share one gap, so their order never changes: phases are drawn and sorted once, and the
//! source walks round them. Flows of random sizes keep an instant each, in an event queue of the source's own.

use super::destination::Chooser;
use super::law::FrameBytes;
use super::pace::{Pace, Place};
use super::{Destination, Next, Problem, WIRE_OVERHEAD_BYTES};
use crate::engine::{EventQueue, Phase, Stream};
use clearway_core::Instant;
use clearway_policy::scenario::Law;

/// More flows of one host than this would not fit a small machine's memory.
const FLOWS_MAX: u32 = 1 << 24;
/// More frames at once than this are no burst: their bytes stay far below 2^32.
const BURST_MAX: u32 = 10_000;

/// State of a constant-rate source.
#[derive(Clone, Debug)]
pub(super) struct ConstantRate {
    pace: Pace,
    frame: FrameBytes,
    /// Frames that a flow hands over at once.
    burst: u32,
    /// Frames of the present burst that are still to come.
    left: u32,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Cycle {
        flows: Vec<Flow>,
        next: usize,
        /// Where the present round begins.
        round: Place,
    },
    Queue {
        queue: Box<EventQueue<u32>>,
        flows: Vec<Moving>,
        /// Instant and flow of the present burst.
        present: (u64, u32),
    },
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Since the beginning of a round, ps.
    phase: u64,
    to: (Destination, u32),
}

#[derive(Clone, Copy, Debug)]
struct Moving {
    place: Place,
    to: Destination,
}

impl ConstantRate {
    pub(super) fn new(
        frame: &Law,
        pace: Pace,
        (flows, burst): (u32, u32),
        chooser: &Chooser,
        stream: &mut Stream,
    ) -> Result<Self, Problem> {
        if !(1..=FLOWS_MAX).contains(&flows) {
            return Err(("flows", format!("{flows} flows: give 1 to {FLOWS_MAX}")));
        }
        if !(1..=BURST_MAX).contains(&burst) {
            return Err(("burst", format!("{burst} frames at once: give 1 to {BURST_MAX}")));
        }
        let frame = FrameBytes::new("frame_bytes", frame)?;
        let gap = pace.whole_ps((frame.mean() + WIRE_OVERHEAD_BYTES) * burst);
        let mut drawn = |flow| {
            let (to, _) = chooser.choose(stream);
            Flow {
                phase: stream.below(gap),
                to: (to, flow),
            }
        };
        let mut flows: Vec<Flow> = (0..flows).map(&mut drawn).collect();
        let order = match frame {
            FrameBytes::Constant(_) => {
                flows.sort_unstable_by_key(|flow| (flow.phase, flow.to.1));
                // Numbered by their turn, so that whoever keeps something of each flow walks through it in order.
                for (number, flow) in (0_u32..).zip(&mut flows) {
                    flow.to.1 = number;
                }
                Order::Cycle {
                    flows,
                    next: 0,
                    round: Place::default(),
                }
            }
            FrameBytes::Drawn(_) => {
                let mut queue = Box::new(EventQueue::new(1));
                let flows = flows
                    .into_iter()
                    .map(|flow| {
                        queue.push(Instant::from_ps(flow.phase), Phase::Control, 0, flow.to.1);
                        let place = Place::at(flow.phase);
                        Moving { place, to: flow.to.0 }
                    })
                    .collect();
                Order::Queue {
                    queue,
                    flows,
                    present: (0, 0),
                }
            }
        };
        Ok(Self {
            pace,
            frame,
            burst,
            left: burst,
            order,
        })
    }

    /// True where the next frame is the last one over again, but for the end of a burst: then there is no need to ask.
    #[inline]
    pub(super) const fn repeat(&mut self) -> bool {
        let again = self.left < self.burst && self.left > 1 && matches!(self.order, Order::Cycle { .. });
        self.left -= again as u32;
        again
    }

    /// After [`Self::repeat`] said so: how many frames there are before the last of the burst, that one among them.
    #[inline]
    pub(super) const fn repeats(&self) -> u32 {
        self.left
    }

    /// Counts all of [`Self::repeats`] as drawn.
    #[inline]
    pub(super) const fn skip_repeats(&mut self) {
        self.left = 1;
    }

    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream) -> Next {
        let bytes = self.frame.sample(stream);
        let first = self.left == self.burst;
        self.left -= 1;
        let last = self.left == 0;
        if last {
            self.left = self.burst;
        }
        match &mut self.order {
            Order::Cycle { flows, next, round } => {
                let flow = flows[*next];
                let at = round.ps.saturating_add(flow.phase);
                *next += usize::from(last);
                if *next == flows.len() {
                    *next = 0;
                    self.pace
                        .advance(round, (bytes + WIRE_OVERHEAD_BYTES) * self.burst);
                }
                Next {
                    at,
                    bytes,
                    to: Some(flow.to),
                }
            }
            Order::Queue {
                queue,
                flows,
                present,
            } => {
                if first {
                    // The queue holds every other flow at all times; were it empty, time would be over.
                    *present = queue.pop().map_or((u64::MAX, 0), |(at, flow)| (at.as_ps(), flow));
                }
                let (at, flow) = *present;
                let moving = &mut flows[flow as usize];
                self.pace.advance(&mut moving.place, bytes + WIRE_OVERHEAD_BYTES);
                if last {
                    queue.push(Instant::from_ps(moving.place.ps), Phase::Control, 0, flow);
                }
                Next {
                    at,
                    bytes,
                    to: Some((moving.to, flow)),
                }
            }
        }
    }
}
