//! What the pump needs of a port.

use clearway_core::{Ecn, FlowKey, FrameDesc, Instant};

/// A frame that came in, and what the classifier may know of it.
#[derive(Clone, Debug)]
pub struct Received<F> {
    /// The bytes, or whatever stands for them.
    pub frame: F,
    /// The header fields.
    pub key: FlowKey,
    /// Length in bytes on layer 2 with FCS.
    pub len: u32,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
}

/// One side's frames in and out. Calls never block.
pub trait Port {
    /// What stands for a frame's bytes.
    type Frame;

    /// The next frame that has come in by `now`. Call until none.
    fn receive(&mut self, now: Instant) -> Option<Received<Self::Frame>>;

    /// When `receive` may have something next, if the port knows; a port that must be polled says `None`.
    fn next_arrival(&self) -> Option<Instant>;

    /// When the transmitter can take a frame: at or before `now` means at once.
    fn transmitter_free_at(&self) -> Instant;

    /// Hands a frame to the transmitter, which is free.
    fn transmit(&mut self, now: Instant, frame: Self::Frame, desc: &FrameDesc);
}
