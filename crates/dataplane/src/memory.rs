//! A port in memory: arrivals from a list, a transmitter of a given line rate, departures kept for a test to look at.

use crate::port::{Port, Received};
use clearway_core::{Duration, FrameDesc, Instant};
use std::collections::VecDeque;

/// Preamble, start delimiter and inter-packet gap of IEEE 802.3, in bytes.
pub const WIRE_OVERHEAD_BYTES: u64 = 20;

/// A port whose frames live in memory.
#[derive(Debug)]
pub struct MemoryPort<F> {
    arrivals: VecDeque<(Instant, Received<F>)>,
    rate_bps: u64,
    free_at: Instant,
    /// What was sent: when the transmitter took it, what the manager said, and the frame.
    pub sent: Vec<(Instant, FrameDesc, F)>,
}

impl<F> MemoryPort<F> {
    /// A port with a transmitter of `rate_bps` bit/s and these arrivals, in order of time.
    #[must_use]
    pub fn new(rate_bps: u64, arrivals: impl IntoIterator<Item = (Instant, Received<F>)>) -> Self {
        let mut arrivals: Vec<_> = arrivals.into_iter().collect();
        arrivals.sort_by_key(|&(at, _)| at);
        Self {
            arrivals: arrivals.into(),
            rate_bps,
            free_at: Instant::ZERO,
            sent: Vec::new(),
        }
    }

    /// Frames that have not come in yet.
    #[must_use]
    pub fn arrivals_left(&self) -> usize {
        self.arrivals.len()
    }
}

impl<F> Port for MemoryPort<F> {
    type Frame = F;

    fn receive(&mut self, now: Instant) -> Option<Received<F>> {
        if self.arrivals.front()?.0 > now {
            return None;
        }
        self.arrivals.pop_front().map(|(_, received)| received)
    }

    fn next_arrival(&self) -> Option<Instant> {
        self.arrivals.front().map(|&(at, _)| at)
    }

    fn transmitter_free_at(&self) -> Instant {
        self.free_at
    }

    fn transmit(&mut self, now: Instant, frame: F, desc: &FrameDesc) {
        self.free_at = now + Duration::of_bytes(u64::from(desc.len) + WIRE_OVERHEAD_BYTES, self.rate_bps);
        self.sent.push((now, *desc, frame));
    }
}
