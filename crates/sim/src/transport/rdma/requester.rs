//! The requesting side of a RoCEv2 connection: messages to packets, go-back-N, a window, a rate.
//!
//! Packets leave one after another at the rate (the line's, or DCQCN's) while fewer than `window` bytes are
//! unacknowledged. A negative acknowledgement sends everything again from the packet that it names, a timeout from the
//! first that is not acknowledged (InfiniBand specification 9.7.5.1 and 9.7.5.2). An acknowledgement is asked for at
//! the end of each message and at every quarter of the window, and covers every packet before.

use super::dcqcn::RateMachine;
use super::packet::{Packet, PacketKind};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::RoceSettings;
use std::collections::VecDeque;

/// What a requester did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequesterStats {
    /// Packets sent, those sent again included.
    pub packets: u64,
    /// Packets sent again.
    pub retransmissions: u64,
    /// Times that it went back for a negative acknowledgement.
    pub naks: u64,
    /// Times that it went back for a timeout.
    pub timeouts: u64,
    /// Congestion notifications heard.
    pub notifications: u64,
}

/// A message that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Posted {
    /// Its packets.
    first: u64,
    end: u64,
    bytes: u64,
    /// Payload posted before it.
    offset: u64,
}

/// One connection's requester.
#[derive(Clone, Debug)]
pub struct Requester {
    mtu: u64,
    window: u64,
    timeout: Duration,
    line_bps: u64,
    /// Packets between two requests for an acknowledgement.
    ack_every: u64,
    /// First packet that is not acknowledged.
    una: u64,
    /// Next packet to send.
    next: u64,
    /// Packet after the highest ever sent.
    high: u64,
    /// Packet after the last posted, and the payload up to there.
    end: u64,
    posted_bytes: u64,
    messages: VecDeque<Posted>,
    deadline: Option<Instant>,
    /// Nothing is sent before, and something was held back until then.
    pace: Instant,
    holds: bool,
    rate: Option<RateMachine>,
    stats: RequesterStats,
}

impl Requester {
    /// A connection with nothing to send, on a NIC of `line_bps`.
    #[must_use]
    pub fn new(settings: &RoceSettings, line_bps: u64) -> Self {
        let mtu = u64::from(settings.mtu_bytes.max(1));
        let window = settings.window_bytes.max(mtu);
        Self {
            mtu,
            window,
            timeout: settings.timeout.max(Duration::from_ns(1)),
            line_bps: line_bps.max(1),
            ack_every: (window / mtu / 4).clamp(1, 64),
            una: 0,
            next: 0,
            high: 0,
            end: 0,
            posted_bytes: 0,
            messages: VecDeque::new(),
            deadline: None,
            pace: Instant::ZERO,
            holds: false,
            rate: settings.dcqcn.as_ref().map(|d| RateMachine::new(d, line_bps)),
            stats: RequesterStats::default(),
        }
    }

    /// Posts a message. Returns the number of the packet after its last: it is complete once
    /// [`acknowledged`](Self::acknowledged) reaches it.
    pub fn post(&mut self, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(self.mtu).max(1);
        let message = Posted {
            first: self.end,
            end: self.end + packets,
            bytes,
            offset: self.posted_bytes,
        };
        self.end = message.end;
        self.posted_bytes += bytes;
        self.messages.push_back(message);
        message.end
    }

    /// True where the send queue takes another message: it holds twice the window.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.posted_bytes - self.offset(self.una) < 2 * self.window
    }

    /// First packet that is not acknowledged.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.una
    }

    fn message_of(&self, psn: u64) -> Option<&Posted> {
        let place = self.messages.partition_point(|m| m.end <= psn);
        self.messages.get(place)
    }

    /// Payload posted before packet `psn`.
    fn offset(&self, psn: u64) -> u64 {
        match self.message_of(psn) {
            Some(m) => m.offset + ((psn - m.first) * self.mtu).min(m.bytes),
            None => self.posted_bytes,
        }
    }

    /// The next packet, none where nothing may be sent now. Call until none after every other call, then look at
    /// [`poll_timer`](Self::poll_timer).
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.holds = false;
        if self.next == self.end {
            return None;
        }
        let message = *self.message_of(self.next)?;
        let before = message.offset + (self.next - message.first) * self.mtu;
        let payload = (message.offset + message.bytes - before).min(self.mtu);
        if before + payload - self.offset(self.una) > self.window {
            return None;
        }
        if now < self.pace {
            self.holds = true;
            return None;
        }
        let psn = self.next;
        self.next += 1;
        self.stats.packets += 1;
        if psn < self.high {
            self.stats.retransmissions += 1;
        } else {
            self.high = self.next;
        }
        if self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.timeout));
        }
        let packet = Packet {
            psn,
            payload: payload as u32,
            kind: PacketKind::Write {
                first: psn == message.first,
                wants_ack: self.next == message.end || self.next.is_multiple_of(self.ack_every),
            },
        };
        let rate = self.rate.as_ref().map_or(self.line_bps, RateMachine::rate_bps);
        // With the Ethernet header, IPv4, FCS, preamble and gap: 58 bytes.
        let bytes = u64::from(packet.ip_payload_bytes()) + 58;
        self.pace = self
            .pace
            .max(now)
            .saturating_add(Duration::of_bytes(bytes, rate.max(1)));
        if let Some(rate) = &mut self.rate {
            rate.on_sent(bytes);
        }
        Some(packet)
    }

    /// An answer came in.
    pub fn on_packet(&mut self, now: Instant, packet: &Packet) {
        match packet.kind {
            PacketKind::Ack => self.take_acknowledged(now, packet.psn.saturating_add(1)),
            PacketKind::Nak => {
                self.take_acknowledged(now, packet.psn);
                // One that is older than what was acknowledged since says nothing.
                if packet.psn == self.una && self.next > self.una {
                    self.stats.naks += 1;
                    self.next = self.una;
                    self.deadline = Some(now.saturating_add(self.timeout));
                }
            }
            PacketKind::Notification => {
                if let Some(rate) = &mut self.rate {
                    self.stats.notifications += 1;
                    rate.on_notification(now);
                }
            }
            PacketKind::Write { .. } => {}
        }
    }

    fn take_acknowledged(&mut self, now: Instant, up_to: u64) {
        if up_to <= self.una || up_to > self.high {
            return;
        }
        self.una = up_to;
        self.next = self.next.max(up_to);
        while self.messages.front().is_some_and(|m| m.end <= up_to) {
            self.messages.pop_front();
        }
        self.deadline = (self.una < self.high).then(|| now.saturating_add(self.timeout));
    }

    /// When [`on_timer`](Self::on_timer) is due, or there is more to send; none while nothing is.
    #[must_use]
    pub fn poll_timer(&self) -> Option<Instant> {
        let rate = self.rate.as_ref().and_then(RateMachine::poll_timer);
        let pace = self.holds.then_some(self.pace);
        [self.deadline, rate, pace].into_iter().flatten().min()
    }

    /// When pacing lets the packet that it held back go.
    #[cfg(test)]
    pub(super) fn holds_until(&self) -> Option<Instant> {
        self.holds.then_some(self.pace)
    }

    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Instant) {
        if let Some(rate) = &mut self.rate {
            rate.on_timer(now);
        }
        if self.deadline.is_some_and(|at| now >= at) {
            self.deadline = None;
            if self.una < self.high {
                self.stats.timeouts += 1;
                self.next = self.una;
            }
        }
    }

    /// What happened so far.
    #[must_use]
    pub const fn stats(&self) -> RequesterStats {
        self.stats
    }

    /// The rate machine, where there is one.
    #[must_use]
    pub const fn rate(&self) -> Option<&RateMachine> {
        self.rate.as_ref()
    }
}
