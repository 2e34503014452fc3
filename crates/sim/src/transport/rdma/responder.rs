//! The responding side of a RoCEv2 connection: takes packets in order and answers.
//!
//! A packet that is not the expected one is dropped. A later one is answered once by a negative acknowledgement, until
//! the expected packet has come (InfiniBand specification 9.7.5.1.1 and 9.7.5.2.8); an earlier one, a duplicate, by an
//! acknowledgement of what is there. Marks are notified as DCQCN's notification point does.

use super::dcqcn::NotificationPoint;
use super::packet::{Packet, PacketKind};
use clearway_core::Instant;
use clearway_policy::scenario::RoceSettings;

/// One connection's responder.
#[derive(Clone, Debug)]
pub struct Responder {
    expected: u64,
    /// A negative acknowledgement for `expected` is out.
    asked_again: bool,
    notifier: Option<NotificationPoint>,
}

impl Responder {
    /// One that has nothing yet.
    #[must_use]
    pub fn new(settings: &RoceSettings) -> Self {
        Self {
            expected: 0,
            asked_again: false,
            notifier: settings
                .dcqcn
                .as_ref()
                .map(|d| NotificationPoint::new(d.notification_interval)),
        }
    }

    /// The packet that comes next: everything before is in the application's memory.
    #[must_use]
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// A packet came in, `marked` where it met congestion. Returns a notification and an answer, where there are any.
    pub fn on_packet(&mut self, now: Instant, packet: &Packet, marked: bool) -> [Option<Packet>; 2] {
        let PacketKind::Write { wants_ack, .. } = packet.kind else {
            return [None, None];
        };
        let answer = |kind, psn| Packet {
            psn,
            payload: 0,
            kind,
        };
        let notifies = marked && self.notifier.as_mut().is_some_and(|n| n.on_mark(now));
        let notification = notifies.then(|| answer(PacketKind::Notification, packet.psn));
        let said = if packet.psn == self.expected {
            self.expected += 1;
            self.asked_again = false;
            wants_ack.then(|| answer(PacketKind::Ack, packet.psn))
        } else if packet.psn > self.expected {
            let first = !self.asked_again;
            self.asked_again = true;
            first.then(|| answer(PacketKind::Nak, self.expected))
        } else {
            // What was sent again has come already: only what asks for an answer gets one.
            wants_ack.then(|| answer(PacketKind::Ack, self.expected - 1))
        };
        [notification, said]
    }
}
