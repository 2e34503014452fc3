//! The keys of a host's stack: its processors, what work costs on them, and how they learn of frames.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{BitRate, Definitions, Field, Fraction, Many, Size, Time, Whole, choice, table};
use serde_json::json;

choice! {
    /// What runs where.
    StackWord {
        /// Protocols in the operating system; processors are interrupted.
        Kernel = "kernel",
        /// Protocols in the process; processors look all the time.
        UserSpace = "user-space",
        /// TCP in the NIC: acknowledgements and segments cost the host nothing.
        Offload = "offload",
        /// Remote direct memory access: the receiver of a message spends nothing.
        Rdma = "rdma",
    }
}

table! {
    /// A network stack on the processors of a host. Its kind says what runs where; the numbers are the file's or a device's.
    StackText {
        /// What runs where.
        kind: StackWord = required,
        /// Processors: how many, or a table for each; 1 unless given.
        cpus: CpusText,
        /// Divides every cost below but the copy, which the memory sets; 1 unless given.
        speed: Fraction,
        /// Costs of receiving.
        receive: CostsText = required,
        /// Costs of sending.
        transmit: CostsText = required,
        /// Interrupts. A kernel must have them; without, processors look all the time.
        interrupt: InterruptText,
        /// Frames that the receive ring of each processor holds.
        receive_ring: Whole<1, 10_000_000> = required,
        /// Frames handed to the NIC and not yet known as sent; any number unless given.
        transmit_ring: Whole<1, 10_000_000>,
        /// Payload of one flow that is handled as one packet where it waits together; 0B unless given.
        merge: Size,
        /// Packets taken in a row while a process waits for its turn; 64 for a kernel, else 1.
        budget: Whole<1, 65_535>,
    }
}

/// How many processors, or what each is like.
#[derive(Clone, Debug)]
pub(crate) enum CpusText {
    Count(i64),
    Each(Many<CpuText>),
}

table! {
    /// One processor.
    CpuText {
        /// Its share of the flows is this over the sum of all; 1 unless given.
        weight: Whole<1, 65_535>,
        /// Its own rule for interrupts of frames received.
        coalesce: CoalesceText,
    }
}

impl Field for CpusText {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Array(_) => Many::read(node, findings).map(Self::Each),
            _ => Whole::<1, 1024>::read(node, findings).map(|n| Self::Count(n.0)),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [Whole::<1, 1024>::schema(definitions), Many::<CpuText>::schema(definitions)] })
    }
}

table! {
    /// Times on a processor.
    CostsText {
        /// For each message; 0 unless given.
        per_message: Time,
        /// For each packet, or each merged or segmented piece; 0 unless given.
        per_packet: Time,
        /// For each packet of TCP data; as any packet unless given.
        per_segment: Time,
        /// For each acknowledgement; 0 unless given.
        per_ack: Time,
        /// Rate at which payload is copied; it is not touched unless given.
        copy: BitRate,
    }
}

table! {
    /// Interrupts.
    InterruptText {
        /// Time on the processor for each.
        cost: Time = required,
        /// When one comes for frames received; at once unless given.
        receive: CoalesceText,
        /// When one comes for frames sent; they are known as sent without one unless given.
        transmit: CoalesceText,
    }
}

table! {
    /// An interrupt comes when so many frames wait, or so long after the first of them.
    CoalesceText {
        /// Frames; any number unless given.
        frames: Whole<1, 1_000_000>,
        /// Time after the first of them.
        time: Time = required,
    }
}
