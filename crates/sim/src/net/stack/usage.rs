//! How busy a processor was, after the warm-up.

use crate::net::context::Context;

/// What a processor spent its time on after the warm-up, and what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Receiving frames and reading messages, picoseconds.
    pub receive_ps: u64,
    /// Sending frames and writing messages, picoseconds.
    pub transmit_ps: u64,
    /// Interrupts, picoseconds.
    pub interrupt_ps: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Packets taken from the ring, merged frames as one.
    pub packets: u64,
    /// Frames taken from the ring.
    pub frames: u64,
    /// Frames in the ring at most, those in the processor's hands included.
    pub ring_frames_max: u64,
}

/// The part of a span from now on that lies between the warm-up and the end.
fn measured(ctx: &Context, cost: u64) -> u64 {
    let until = ctx.now.saturating_add(cost).min(ctx.end);
    until.saturating_sub(ctx.now.max(ctx.warmup))
}

impl Usage {
    /// Time on all of it, picoseconds.
    #[must_use]
    pub const fn busy_ps(&self) -> u64 {
        self.receive_ps + self.transmit_ps + self.interrupt_ps
    }

    pub(super) fn interrupt(&mut self, ctx: &Context, cost: u64) {
        self.interrupt_ps += measured(ctx, cost);
        self.interrupts += u64::from(ctx.now >= ctx.warmup);
    }

    pub(super) fn receive(&mut self, ctx: &Context, cost: u64, frames: u32) {
        self.receive_ps += measured(ctx, cost);
        if ctx.now >= ctx.warmup {
            self.packets += u64::from(frames > 0);
            self.frames += u64::from(frames);
        }
    }

    pub(super) fn transmit(&mut self, ctx: &Context, cost: u64) {
        self.transmit_ps += measured(ctx, cost);
    }

    pub(super) fn note_ring(&mut self, ctx: &Context, frames: usize) {
        if ctx.now >= ctx.warmup {
            self.ring_frames_max = self.ring_frames_max.max(frames as u64);
        }
    }
}
