//! TCP as a pair of state machines without I/O: what is sent, acknowledged, lost and sent again, and when.
//!
//! [`Sender`] and [`Receiver`] are one direction of an established connection. Time is an argument, bytes have no
//! content, and the caller carries [`DataSegment`]s one way and [`Ack`]s the other; what the network does to them is
//! its business. Sources: RFC 9293 (TCP), RFC 5681 and RFC 6582 (congestion control, NewReno), RFC 9438 (CUBIC), RFC
//! 8257 (DCTCP), RFC 2018 and RFC 6675 (selective acknowledgements), RFC 3042 (limited transmit), RFC 6298
//! (retransmission timer), RFC 6928 (initial window), RFC 3168 (ECN), RFC 896 (Nagle), RFC 7323 (window scaling), RFC
//! 1122 4.2.3 (delayed acknowledgement, silly windows).
//!
//! Left out: sequence numbers do not wrap (64 bits, bytes from zero), data flows one way, FIN takes no sequence
//! number, there is no reset, and no DSACK or time-stamp option (its bytes are the caller's to count).

pub mod congestion;
#[cfg(test)]
mod exchange_tests;
#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod path_tests;
mod ranges;
pub mod rdma;
pub mod receiver;
#[cfg(test)]
mod recovery_tests;
pub mod rtt;
mod scoreboard;
#[cfg(test)]
mod script;
pub mod sender;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod writing_tests;

pub use receiver::Receiver;
pub use sender::{Sender, SenderStats};

use clearway_policy::scenario::TcpSettings;

/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;

/// The largest window that a TCP header can offer: 65,535 scaled by 2^14 (RFC 7323 2.3), bytes.
pub const WINDOW_MAX_BYTES: u64 = 65_535 << 14;

/// The window that a connection can offer at most: the receive buffer, within what the header can say.
fn window_max(settings: &TcpSettings, mss: u64) -> u64 {
    let most = if settings.window_scaling {
        WINDOW_MAX_BYTES
    } else {
        65_535
    };
    settings.receive_buffer_bytes.min(most).max(mss)
}

/// Flags of a segment or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Opens the connection; carries no data. On an [`Ack`]: the SYN-ACK.
    pub const SYN: Self = Self(1);
    /// The segment holds the last byte that the sender will ever send.
    pub const FIN: Self = Self(2);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(4);
    /// ECN echo (RFC 3168); on an [`Ack`].
    pub const ECE: Self = Self(8);
    /// The packet is ECN-capable: a queue may mark it instead of dropping it.
    pub const ECT: Self = Self(16);
    /// Bytes that were sent before. Not on the wire: for statistics.
    pub const RETRANSMISSION: Self = Self(32);

    /// True where every flag of `other` is set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// These flags and those.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// These flags but not those.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// `self` where `condition` holds, no flag otherwise.
    #[must_use]
    pub const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }
}

/// Bytes from the sender to the receiver. One packet, or a piece that the NIC cuts into packets of one MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSegment {
    /// Number of the first byte; the connection's first byte is 0.
    pub seq: u64,
    /// Payload bytes. Zero for a SYN and for a window probe.
    pub len: u32,
    /// SYN, FIN, CWR, ECT, RETRANSMISSION.
    pub flags: Flags,
}

impl DataSegment {
    /// Number of the byte after the last.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq.saturating_add(self.len as u64)
    }

    /// Cuts the piece as segmentation offload does: packets of `mss_bytes` and a rest. CWR stays on the first packet
    /// only, FIN on the last. A piece without payload is one packet.
    pub fn packets(self, mss_bytes: u32) -> impl Iterator<Item = Self> {
        let mss = mss_bytes.max(1);
        let count = if self.len <= mss {
            1
        } else {
            self.len.div_ceil(mss)
        };
        (0..count).map(move |i| {
            let offset = i * mss;
            let mut flags = self.flags;
            if i > 0 {
                flags = flags.without(Flags::CWR);
            }
            if i + 1 < count {
                flags = flags.without(Flags::FIN);
            }
            Self {
                seq: self.seq.saturating_add(u64::from(offset)),
                len: (self.len - offset).min(mss),
                flags,
            }
        })
    }
}

/// A run of bytes that the receiver holds above the cumulative acknowledgement (RFC 2018), relative to it: windows
/// are below 2^30, so that 32 bits do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte, counted from [`Ack::ack`].
    pub offset: u32,
    /// Bytes; zero: no block.
    pub len: u32,
}

/// An acknowledgement from the receiver to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Every byte below this has arrived.
    pub ack: u64,
    /// Bytes from `ack` that the receiver has room for.
    pub window: u32,
    /// SYN, ECE.
    pub flags: Flags,
    /// Up to three blocks, the one that changed last first.
    pub sack: [SackBlock; 3],
}

// Both travel by value through the event queue.
const _: () = assert!(size_of::<DataSegment>() <= 16 && size_of::<Ack>() <= 40);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_cut_into_packets_that_cover_it_once() {
        let flags = Flags::CWR.with(Flags::FIN).with(Flags::ECT);
        let piece = DataSegment {
            seq: 1_000,
            len: 3_500,
            flags,
        };
        let packets: Vec<_> = piece.packets(1_460).collect();
        assert_eq!(
            packets.iter().map(|p| (p.seq, p.len)).collect::<Vec<_>>(),
            [(1_000, 1_460), (2_460, 1_460), (3_920, 580)]
        );
        assert_eq!(
            packets
                .iter()
                .map(|p| p.flags.has(Flags::CWR))
                .collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(
            packets
                .iter()
                .map(|p| p.flags.has(Flags::FIN))
                .collect::<Vec<_>>(),
            [false, false, true]
        );
        assert!(packets.iter().all(|p| p.flags.has(Flags::ECT)));
    }

    #[test]
    fn a_piece_without_payload_is_one_packet() {
        let syn = DataSegment {
            seq: 0,
            len: 0,
            flags: Flags::SYN,
        };
        assert_eq!(syn.packets(1_460).collect::<Vec<_>>(), [syn]);
        assert_eq!(syn.packets(0).count(), 1);
    }
}
