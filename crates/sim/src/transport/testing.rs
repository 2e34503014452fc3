//! A tiny virtual-time network for the tests of this module: senders, one shared bottleneck, receivers.
//!
//! A path has a rate (or none), a drop-tail buffer with an optional marking threshold, a fixed delay each way, and at
//! will random loss, duplication and extra delay that reorders. It shares no code with the simulator's own models.

use super::{Ack, DataSegment, Flags, Receiver, Sender};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Round numbers: MSS 1,000 B, window of ten segments, buffers that do not limit.
pub(crate) fn settings() -> TcpSettings {
    TcpSettings {
        mss_bytes: 1_000,
        initial_window_segments: 10,
        slow_start_threshold_bytes: u64::MAX,
        increase_bytes: 1_000,
        send_buffer_bytes: 1 << 28,
        receive_buffer_bytes: 1 << 28,
        rto_min: Duration::from_ms(200),
        delayed_ack: Duration::from_ms(40),
        segmentation_bytes: 0,
        ecn: false,
        sack: true,
        option_bytes: 0,
        ..TcpSettings::default()
    }
}

/// SplitMix64: small, seedable, the same everywhere.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    pub(crate) fn chance(&mut self, p: f64) -> bool {
        ((self.next() >> 11) as f64) < p * (1_u64 << 53) as f64
    }
}

/// What the path does to packets.
#[derive(Clone, Copy)]
pub(crate) struct PathSettings {
    /// Bit/s of the bottleneck; 0: no bottleneck.
    pub(crate) rate_bps: u64,
    /// Bytes that wait before it, headers included.
    pub(crate) buffer_bytes: u64,
    /// Marks above this backlog.
    pub(crate) mark_bytes: Option<u64>,
    /// One way.
    pub(crate) delay: Duration,
    /// Probability that a data packet is lost.
    pub(crate) loss: f64,
    /// Every so many data packets one is lost.
    pub(crate) loss_every: Option<u64>,
    /// Probability that an acknowledgement is lost.
    pub(crate) ack_loss: f64,
    /// Probability that a packet is delivered twice.
    pub(crate) duplicate: f64,
    /// Probability of an extra delay, uniform up to `jitter`.
    pub(crate) reorder: f64,
    pub(crate) jitter: Duration,
}

impl PathSettings {
    /// Only delay.
    pub(crate) fn plain(delay: Duration) -> Self {
        Self {
            rate_bps: 0,
            buffer_bytes: u64::MAX,
            mark_bytes: None,
            delay,
            loss: 0.0,
            loss_every: None,
            ack_loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            jitter: Duration::ZERO,
        }
    }
}

/// Bytes of headers, preamble and gap around a payload.
pub(crate) const OVERHEAD: u64 = 78;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Data(usize, DataSegment, bool),
    Ack(usize, Ack),
    SenderTimer(usize),
    ReceiverTimer(usize),
    Start(usize),
}

type Queued = Reverse<(Instant, u64, usize)>;

/// The network and its clock.
pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    pub(crate) path: PathSettings,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) packets: u64,
    mss: u32,
    draws: Draws,
    free_at: Instant,
    heap: BinaryHeap<Queued>,
    events: Vec<Event>,
    spare: Vec<usize>,
    count: u64,
    timers: Vec<[Option<Instant>; 2]>,
}

impl Network {
    /// One flow for each entry of `starts`, all alike.
    pub(crate) fn new(
        tcp: &TcpSettings,
        path: PathSettings,
        seed: u64,
        starts: &[Instant],
        bytes: Option<u64>,
    ) -> Self {
        let mut network = Self {
            now: Instant::ZERO,
            senders: starts.iter().map(|at| Sender::new(tcp, *at, bytes)).collect(),
            receivers: starts.iter().map(|_| Receiver::new(tcp)).collect(),
            path,
            drops: 0,
            marks: 0,
            packets: 0,
            mss: tcp.mss_bytes,
            draws: Draws(seed),
            free_at: Instant::ZERO,
            heap: BinaryHeap::new(),
            events: Vec::new(),
            spare: Vec::new(),
            count: 0,
            timers: vec![[None; 2]; starts.len()],
        };
        for (i, at) in starts.iter().enumerate() {
            network.at(*at, Event::Start(i));
        }
        network
    }

    fn at(&mut self, at: Instant, event: Event) {
        let slot = self.spare.pop().unwrap_or(self.events.len());
        if slot == self.events.len() {
            self.events.push(event);
        } else {
            self.events[slot] = event;
        }
        self.count += 1;
        self.heap.push(Reverse((at, self.count, slot)));
    }

    /// Runs to `until`, or until all flows are finished; true where they are.
    pub(crate) fn run(&mut self, until: Instant) -> bool {
        while let Some(Reverse((at, _, slot))) = self.heap.peek().copied() {
            if at > until {
                break;
            }
            self.heap.pop();
            self.spare.push(slot);
            self.now = at;
            match self.events[slot] {
                Event::Start(i) => self.transmit(i),
                Event::Data(i, segment, ce) => {
                    let ack = self.receivers[i].on_segment(at, &segment, ce);
                    if let Some(earlier) = self.receivers[i].take_earlier() {
                        self.send_ack(i, Some(earlier));
                    }
                    self.send_ack(i, ack);
                }
                Event::Ack(i, ack) => {
                    self.senders[i].on_ack(at, &ack);
                    self.transmit(i);
                }
                Event::SenderTimer(i) => {
                    self.timers[i][0] = None;
                    self.senders[i].on_timer(at);
                    self.transmit(i);
                }
                Event::ReceiverTimer(i) => {
                    self.timers[i][1] = None;
                    let ack = self.receivers[i].on_timer(at);
                    self.send_ack(i, ack);
                }
            }
            if self.senders.iter().all(Sender::is_finished) {
                return true;
            }
        }
        self.now = until;
        false
    }

    fn transmit(&mut self, i: usize) {
        while let Some(piece) = self.senders[i].poll_transmit(self.now) {
            for packet in piece.packets(self.mss) {
                self.carry_data(i, packet);
            }
        }
        // A soft timer: an event that is early enough stays.
        let timers = [self.senders[i].poll_timer(), self.senders[i].poll_send()];
        if let Some(due) = timers.into_iter().flatten().min()
            && self.timers[i][0].is_none_or(|at| at > due)
        {
            self.timers[i][0] = Some(due);
            self.at(due.max(self.now), Event::SenderTimer(i));
        }
    }

    fn carry_data(&mut self, i: usize, packet: DataSegment) {
        self.packets += 1;
        let mut ce = false;
        let mut leaves = self.now;
        if self.path.rate_bps > 0 {
            let size = u64::from(packet.len) + OVERHEAD;
            let waiting = self.free_at.saturating_since(self.now);
            let backlog =
                u128::from(waiting.as_ps()) * u128::from(self.path.rate_bps) / 8_000_000_000_000_u128;
            if backlog + u128::from(size) > u128::from(self.path.buffer_bytes) {
                self.drops += 1;
                return;
            }
            ce =
                packet.flags.has(Flags::ECT) && self.path.mark_bytes.is_some_and(|m| backlog > u128::from(m));
            self.marks += u64::from(ce);
            self.free_at = self.free_at.max(self.now) + Duration::of_bytes(size, self.path.rate_bps);
            leaves = self.free_at;
        }
        let every = self
            .path
            .loss_every
            .is_some_and(|n| self.packets.is_multiple_of(n));
        if every || self.draws.chance(self.path.loss) {
            self.drops += 1;
            return;
        }
        let copies = 1 + u32::from(self.draws.chance(self.path.duplicate));
        for _ in 0..copies {
            let arrives = leaves + self.path.delay + self.extra_delay();
            self.at(arrives, Event::Data(i, packet, ce));
        }
    }

    fn send_ack(&mut self, i: usize, ack: Option<Ack>) {
        if let Some(ack) = ack
            && !self.draws.chance(self.path.ack_loss)
        {
            let copies = 1 + u32::from(self.draws.chance(self.path.duplicate));
            for _ in 0..copies {
                let arrives = self.now + self.path.delay + self.extra_delay();
                self.at(arrives, Event::Ack(i, ack));
            }
        }
        if let Some(due) = self.receivers[i].poll_timer()
            && self.timers[i][1].is_none_or(|at| at > due)
        {
            self.timers[i][1] = Some(due);
            self.at(due, Event::ReceiverTimer(i));
        }
    }

    fn extra_delay(&mut self) -> Duration {
        if self.draws.chance(self.path.reorder) {
            Duration::from_ps(self.draws.below(self.path.jitter.as_ps()))
        } else {
            Duration::ZERO
        }
    }
}
