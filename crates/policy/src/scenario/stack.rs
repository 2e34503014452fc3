//! A host's processors and its network stack as a cost model.
//!
//! Costs are times on a processor of the host; a message, a packet, an acknowledgement, a copied byte and a wake-up each
//! have one, in either direction. What a stack spares is a cost that is zero, or a step that never runs: see
//! [`StackKind`]. Left out: caches, memory bandwidth shared between processors, processes that move from one to another.

use clearway_core::Duration;

/// A network stack on the processors of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// What runs where.
    pub kind: StackKind,
    /// Processors, at least one; flows are spread over them by hash.
    pub cpus: Vec<Cpu>,
    /// Costs of sending.
    pub transmit: Costs,
    /// Costs of receiving.
    pub receive: Costs,
    /// How a processor learns of a frame.
    pub wake: Wake,
    /// Frames that the receive ring of each processor holds, those in its hands included; one more is lost.
    pub receive_ring_frames: u32,
    /// Frames that may be handed to the NIC and not yet be known as sent; 0: any number.
    pub transmit_ring_frames: u32,
    /// Payload bytes of one flow's frames that are handled as one packet where they wait together (GRO); 0: none.
    pub merge_bytes: u32,
    /// Packets taken from the ring in a row while a process waits for its turn, at least 1.
    pub budget: u32,
}

/// One processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its share of the flows is this over the sum of all.
    pub weight: u32,
    /// When the NIC interrupts it for frames received, where it has a rule of its own.
    pub receive: Option<Coalescing>,
}

/// What runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackKind {
    /// Protocols in the operating system.
    Kernel,
    /// Protocols in the process, which maps the NIC's queues.
    UserSpace,
    /// TCP in the NIC: acknowledgements and segments cost the host nothing, messages do.
    Offload,
    /// Remote direct memory access: the receiver of a message spends nothing.
    Rdma,
}

/// Times on a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// For each message: the system call, the descriptor, the doorbell.
    pub per_message: Duration,
    /// For each packet (each merged or segmented piece where the stack does that).
    pub per_packet: Duration,
    /// For each packet of TCP data, in the place of `per_packet`.
    pub per_segment: Duration,
    /// For each acknowledgement that is sent or taken.
    pub per_ack: Duration,
    /// Rate at which payload is copied and summed, bit/s; none: not touched.
    pub copy_bps: Option<u64>,
}

/// How a processor learns of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wake {
    /// It looks all the time: no wake-up, and a processor that is always taken.
    Poll,
    /// The NIC interrupts it.
    Interrupt {
        /// Time on the processor for each interrupt.
        cost: Duration,
        /// When it does for frames received.
        receive: Coalescing,
        /// When it does for frames sent; none: they are known as sent without one.
        transmit: Option<Coalescing>,
    },
}

/// An interrupt comes when so many frames wait, or so long after the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Frames; 1: at once.
    pub frames: u32,
    /// Time; zero: at once.
    pub time: Duration,
}
