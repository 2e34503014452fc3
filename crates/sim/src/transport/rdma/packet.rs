//! RoCEv2 packets: what they say and how long they are.
//!
//! Over UDP (8 bytes, port 4791): the base transport header of 12, on the first packet of a write the address header
//! RETH of 16, payload padded to 4, the invariant CRC of 4. An acknowledgement has the header AETH of 4 instead, a
//! congestion notification packet 16 reserved bytes (InfiniBand specification 9.2 to 9.5, A17.9).

/// The UDP destination port of RoCEv2.
pub const PORT: u16 = 4_791;

const UDP_BYTES: u32 = 8;
const BTH_BYTES: u32 = 12;
const RETH_BYTES: u32 = 16;
const AETH_BYTES: u32 = 4;
const ICRC_BYTES: u32 = 4;
const NOTIFICATION_BYTES: u32 = 16;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Data of a write.
    Write {
        /// The first of its message: it says where to write.
        first: bool,
        /// An acknowledgement is asked for.
        wants_ack: bool,
    },
    /// Everything up to this packet has arrived.
    Ack,
    /// This packet was expected when a later one came; everything before has arrived.
    Nak,
    /// Congestion was met (DCQCN).
    Notification,
}

/// One packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Packet sequence number; of an answer, the one that it is about.
    pub psn: u64,
    /// Payload bytes.
    pub payload: u32,
    /// What it is.
    pub kind: PacketKind,
}

impl Packet {
    /// Bytes of IP payload: the UDP header and everything in it.
    #[must_use]
    pub const fn ip_payload_bytes(&self) -> u32 {
        let inside = match self.kind {
            PacketKind::Write { first, .. } => {
                let address = if first { RETH_BYTES } else { 0 };
                address + self.payload.next_multiple_of(4)
            }
            PacketKind::Ack | PacketKind::Nak => AETH_BYTES,
            PacketKind::Notification => NOTIFICATION_BYTES,
        };
        UDP_BYTES + BTH_BYTES + inside + ICRC_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_their_bytes() {
        let write = |payload, first| Packet {
            psn: 0,
            payload,
            kind: PacketKind::Write {
                first,
                wants_ack: false,
            },
        };
        assert_eq!(write(1_024, true).ip_payload_bytes(), 8 + 12 + 16 + 1_024 + 4);
        assert_eq!(write(1_024, false).ip_payload_bytes(), 8 + 12 + 1_024 + 4);
        assert_eq!(write(1, false).ip_payload_bytes(), 8 + 12 + 4 + 4, "padded");
        let answer = |kind| Packet {
            psn: 0,
            payload: 0,
            kind,
        };
        assert_eq!(answer(PacketKind::Ack).ip_payload_bytes(), 28);
        assert_eq!(answer(PacketKind::Nak).ip_payload_bytes(), 28);
        assert_eq!(answer(PacketKind::Notification).ip_payload_bytes(), 40);
    }
}
