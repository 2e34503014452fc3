//! When the NIC interrupts: after so many frames, or so long after the first of them.
//!
//! On receive each processor has a rule. From the interrupt until its ring is empty a processor takes frames without
//! being told of more; the count begins anew after that. On transmit the frames that the NIC has sent are made known
//! together, to the first processor; until then they hold their places in the transmit ring, unless the stack looks by
//! itself. Left out: rules that adapt to the load.

use super::Stack;
use crate::engine::Phase;
use crate::net::context::Context;
use crate::net::event::Event;
use clearway_policy::scenario::{Coalescing, Wake};

const NEVER: u64 = u64::MAX;

/// What a processor knows of its ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It looks all the time, or has been told and looks until the ring is empty.
    Looks,
    /// It will be told; so many frames wait.
    Waits {
        /// Frames since it looked last.
        frames: u32,
    },
    /// The interrupt is raised.
    Raised,
}

/// Frames in the NIC's hands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Frames that hold a place in the transmit ring.
    pub(super) outstanding: u32,
    /// Of these, frames that have been sent.
    unknown: u32,
    /// The interrupt is raised.
    pub(super) raised: bool,
    /// Instant of the live timer.
    timer: u64,
}

impl Default for Sent {
    fn default() -> Self {
        Self {
            outstanding: 0,
            unknown: 0,
            raised: false,
            timer: NEVER,
        }
    }
}

/// True where so many frames are enough.
fn is_reached(rule: Coalescing, frames: u32) -> bool {
    frames >= rule.frames || rule.time.as_ps() == 0
}

impl Stack {
    /// One more frame waits in the ring of a processor.
    pub(super) fn frame_waits(&mut self, ctx: &mut Context, index: usize) {
        let node = self.node;
        let Some(processor) = self.processors.get_mut(index) else {
            return;
        };
        let Told::Waits { frames } = &mut processor.told else {
            return;
        };
        *frames += 1;
        if is_reached(processor.coalescing, *frames) {
            processor.told = Told::Raised;
        } else if *frames == 1 {
            processor.timer = ctx.now.saturating_add(processor.coalescing.time.as_ps());
            let cpu = index as u16;
            ctx.push(
                processor.timer,
                Phase::Control,
                node,
                Event::Interrupt { host: node, cpu },
            );
        }
    }

    /// A processor's timer came; an old one finds another instant or nothing that waits.
    pub(super) fn receive_time_is_over(&mut self, ctx: &mut Context, index: usize) {
        let Some(processor) = self.processors.get_mut(index) else {
            return;
        };
        if processor.timer == ctx.now && matches!(processor.told, Told::Waits { frames: 1.. }) {
            processor.told = Told::Raised;
            self.look(ctx, index);
        }
    }

    /// The NIC has sent a frame.
    pub(super) fn frame_sent(&mut self, ctx: &mut Context) {
        let Wake::Interrupt {
            transmit: Some(rule), ..
        } = self.wake
        else {
            self.sent.outstanding = self.sent.outstanding.saturating_sub(1);
            self.look_for_room(ctx);
            return;
        };
        self.sent.unknown += 1;
        if self.sent.raised {
            return;
        }
        if is_reached(rule, self.sent.unknown) {
            self.sent.raised = true;
            self.look(ctx, 0);
        } else if self.sent.unknown == 1 {
            self.sent.timer = ctx.now.saturating_add(rule.time.as_ps());
            ctx.push(
                self.sent.timer,
                Phase::Control,
                self.node,
                Event::SentInterrupt { host: self.node },
            );
        }
    }

    /// The timer of frames sent came.
    pub(super) fn sent_time_is_over(&mut self, ctx: &mut Context) {
        if self.sent.timer == ctx.now && !self.sent.raised && self.sent.unknown > 0 {
            self.sent.raised = true;
            self.look(ctx, 0);
        }
    }

    /// A processor has learnt of the frames that were sent.
    pub(super) fn learn_of_sent(&mut self, ctx: &mut Context) {
        let known = std::mem::take(&mut self.sent.unknown);
        self.sent.outstanding = self.sent.outstanding.saturating_sub(known);
        self.sent.raised = false;
        self.look_for_room(ctx);
    }

    /// Places in the transmit ring are free: processors that wait for one look.
    fn look_for_room(&mut self, ctx: &mut Context) {
        if self.transmit_ring_frames > 0 {
            for index in 0..self.processors.len() {
                self.look(ctx, index);
            }
        }
    }
}
