//! What the simulator keeps of a frame on its way: 64 bytes in a slab, and the control frames of flow control.

use clearway_core::Ecn;

/// No frame, no record.
pub(crate) const NIL: u32 = u32::MAX;
/// Preamble and start delimiter, bytes (IEEE 802.3 clause 4.2.5 and 4.2.6).
pub(crate) const PREAMBLE: u32 = 8;
/// Preamble, start delimiter and interpacket gap, bytes: what a frame takes on the wire beyond its own length.
pub(crate) const WIRE_OVERHEAD: u32 = 20;
/// Length of a MAC control frame with FCS, bytes (IEEE 802.3 annex 31B).
pub(crate) const CONTROL_LEN: u32 = 64;

/// One frame. Instants are picoseconds.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Frame {
    /// When the application meant to send it.
    pub(crate) generated: u64,
    /// When it left the source's queue for the NIC.
    pub(crate) nic_entry: u64,
    /// When its first bit went out on the first line.
    pub(crate) first_bit: u64,
    /// When the switch that holds it charged its memory; when the host that holds it queued it.
    pub(crate) queued: u64,
    /// Index of its flow.
    pub(crate) flow: u32,
    /// Index of the hop (transmitter) that it takes next.
    pub(crate) hop: u32,
    /// Length with FCS, bytes.
    pub(crate) len: u32,
    /// Memory charged for it at the switch that holds it, bytes.
    pub(crate) charged: u32,
    /// The application's word: number of the request, or place of the TCP segment.
    pub(crate) tag: u32,
    /// At a host: the next frame of the same bus transfer. At a switch: the record of a memory shared by copies.
    pub(crate) chain: u32,
    /// Results class.
    pub(crate) class: u16,
    /// Port of the switch that it came in by.
    pub(crate) ingress: u16,
    /// Priority code point.
    pub(crate) pcp: u8,
    /// ECN field.
    pub(crate) ecn: Ecn,
    /// At a host: bus transfers of it that are still to come. At a switch: the flow-control account it is charged to.
    pub(crate) account: u16,
}

// A slab keeps it in one cache line: that a place is free shows in the ECN field.
const _: () = assert!(size_of::<Option<Frame>>() == 64);

/// What a control frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// PAUSE, PFC or pause per output: these gates, this many quanta; zero quanta resume.
    Pause {
        /// Gates, one bit each.
        gates: u64,
        /// Quanta of 512 bit times.
        quanta: u16,
    },
    /// Credit returned for an output.
    Credit {
        /// Output port of the switch.
        output: u8,
        /// Bytes.
        bytes: u64,
        /// It rides in the control frame of the credit before it.
        joined: bool,
    },
}

impl Control {
    /// It came in the frame of the message before it.
    pub(crate) const fn is_joined(self) -> bool {
        matches!(self, Self::Credit { joined: true, .. })
    }
}

/// Bit that tells a control frame from a data frame where both are named by one number.
pub(crate) const CONTROL_BIT: u32 = 1 << 31;
