//! The loop body of the data plane.

use crate::port::Port;
use clearway_core::{Classify, Dequeue, Egress, FrameHandle, GateSet, Instant, Refused};

/// When to call [`Pump::poll`] again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Not before this instant, unless a frame comes in or the manager is paused or reconfigured.
    At(Instant),
    /// When a frame comes in: nothing is queued.
    OnArrival,
}

/// What became of the frames. `received = sent + refused + dropped + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PumpCounters {
    /// Frames taken from the port.
    pub received: u64,
    /// Frames handed to the transmitter.
    pub sent: u64,
    /// Frames that no queue took.
    pub refused: u64,
    /// Frames dropped at the head of a queue.
    pub dropped: u64,
}

/// Frames of one port on their way through a traffic manager.
#[derive(Debug)]
pub struct Pump<P: Port, M> {
    /// The port.
    pub port: P,
    /// The traffic manager; reconfigure it here.
    pub manager: M,
    slots: Vec<Option<P::Frame>>,
    free: Vec<u32>,
    counters: PumpCounters,
}

impl<P: Port, M: Classify + Egress> Pump<P, M> {
    /// A pump that holds at most `frames_max` frames (the plan's own limit, or more).
    pub fn new(port: P, manager: M, frames_max: u32) -> Self {
        let slots = (0..frames_max).map(|_| None).collect();
        Self {
            port,
            manager,
            slots,
            free: (0..frames_max).rev().collect(),
            counters: PumpCounters::default(),
        }
    }

    /// What became of the frames so far.
    pub const fn counters(&self) -> PumpCounters {
        self.counters
    }

    /// Shuts or opens gates; poll afterwards.
    pub fn pause(&mut self, now: Instant, gates: GateSet, until: Instant) {
        self.manager.pause(now, gates, until);
    }

    /// Takes in what has arrived, then feeds the transmitter if it is free. Spurious calls are harmless.
    ///
    /// Call again at the instant returned, or earlier when a frame comes in, or after a pause or a change.
    pub fn poll(&mut self, now: Instant) -> Wake {
        while let Some(received) = self.port.receive(now) {
            self.counters.received += 1;
            if !self.admit(now, received) {
                self.counters.refused += 1;
            }
        }
        let wait = loop {
            let free_at = self.port.transmitter_free_at();
            if free_at > now {
                break Some(free_at);
            }
            match self.manager.dequeue(now) {
                Dequeue::Frame(desc) => {
                    if let Some(frame) = self.give_back(desc.handle) {
                        self.counters.sent += 1;
                        self.port.transmit(now, frame, &desc);
                    }
                }
                Dequeue::Drop(desc, _) => {
                    self.give_back(desc.handle);
                    self.counters.dropped += 1;
                }
                Dequeue::Wait { until, .. } => break Some(until),
                Dequeue::Empty => break None,
            }
        };
        let next = [wait, self.port.next_arrival()].into_iter().flatten().min();
        next.map_or(Wake::OnArrival, Wake::At)
    }

    /// Classifies and queues a frame; false where it was refused, and its slot is free again.
    fn admit(&mut self, now: Instant, received: crate::port::Received<P::Frame>) -> bool {
        let Ok(target) = self.manager.classify(now, &received.key) else {
            return false;
        };
        let Some(slot) = self.free.pop() else { return false };
        self.slots[slot as usize] = Some(received.frame);
        let queued = self
            .manager
            .enqueue(now, target, FrameHandle(slot), received.len, received.ecn);
        if let Err(Refused { handle, .. }) = queued {
            self.give_back(handle);
        }
        queued.is_ok()
    }

    fn give_back(&mut self, handle: FrameHandle) -> Option<P::Frame> {
        let frame = self.slots.get_mut(handle.0 as usize)?.take();
        if frame.is_some() {
            self.free.push(handle.0);
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryPort;
    use crate::port::Received;
    use clearway_core::plan::{
        Accounting, BitShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
    };
    use clearway_core::{Duration, Ecn, FlowKey, TrafficManager};

    fn plan(bytes_max: u64) -> Plan {
        let queue = QueuePlan {
            mode: QueueMode::Shared,
            bytes_max,
            frames_max: 100,
            mark: None,
            gate: 0,
            meter: None,
            age_max: None,
        };
        let node = NodePlan {
            parent: None,
            kind: NodeKind::Queue(queue),
            rank: 0,
            weight: 1,
            rate: Some(BitShape {
                rate_bps: 1_000_000_000,
                burst_bytes: 1520,
            }),
            frame_rate: None,
            guarantee: None,
            accounting: Accounting {
                overhead_bytes: 20,
                min_bytes: 84,
            },
        };
        Plan {
            nodes: vec![node],
            rules: vec![Rule {
                matches: RuleMatch::default(),
                queue: 0,
            }],
            frames_max: 100,
            flows_max: 0,
            nodes_max: 1,
            frame_bytes_max: 1500,
        }
    }

    fn frames(n: u64) -> Vec<(Instant, Received<u64>)> {
        let at = |i| Instant::from_ps(i * 1_000);
        (0..n)
            .map(|i| {
                (
                    at(i),
                    Received {
                        frame: i,
                        key: FlowKey::default(),
                        len: 1500,
                        ecn: Ecn::NotCapable,
                    },
                )
            })
            .collect()
    }

    fn run(bytes_max: u64) -> Pump<MemoryPort<u64>, TrafficManager> {
        let manager = TrafficManager::new(&plan(bytes_max)).expect("a valid plan");
        let mut pump = Pump::new(MemoryPort::new(10_000_000_000, frames(10)), manager, 100);
        let mut now = Instant::ZERO;
        while let Wake::At(next) = pump.poll(now) {
            assert!(next > now);
            now = next;
        }
        pump
    }

    #[test]
    fn frames_leave_in_order_at_the_shaped_rate() {
        let pump = run(1 << 20);
        let order: Vec<u64> = pump.port.sent.iter().map(|s| s.2).collect();
        assert_eq!(order, (0..10).collect::<Vec<_>>());
        // 1520 counted bytes at 1 Gbit/s, from the first on.
        for pair in pump.port.sent.windows(2) {
            assert_eq!(
                pair[1].0.saturating_since(pair[0].0),
                Duration::from_ps(12_160_000)
            );
        }
    }

    #[test]
    fn every_frame_is_sent_refused_or_dropped() {
        let counters = run(3_000).counters();
        assert_eq!(counters.received, 10);
        assert!(counters.refused > 0);
        assert_eq!(
            counters.received,
            counters.sent + counters.refused + counters.dropped
        );
    }
}
