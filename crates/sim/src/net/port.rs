//! What a transmitter keeps beside its queues: counters, the frame that went on the wire last, credits.

use super::frame::NIL;

/// What a transmitter counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortCounters {
    /// Bytes waiting at most.
    pub(crate) backlog_bytes_max: u64,
    pub(crate) pause_frames_sent: u64,
    pub(crate) pause_frames_received: u64,
    /// Picoseconds in which the wire was free and every frame that waited was shut in by a gate.
    pub(crate) lost_to_pause_ps: u64,
}

/// A frame that just went on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// When its last bit is out.
    pub(crate) last_bit_out: u64,
    /// What a switch needs to free its memory.
    pub(crate) charged: u32,
    pub(crate) ingress: u16,
    /// Flow-control account that it was charged to.
    pub(crate) account: u16,
    pub(crate) chain: u32,
    /// Queue that it left, by slot.
    pub(crate) queue: u32,
    pub(crate) len: u32,
}

/// Credits that a source has left for each output of the switch it sends to.
#[derive(Clone, Debug)]
pub(crate) struct Credits {
    /// Bytes by output; below zero where frames of a queue that no output's gate holds went beyond it.
    pub(crate) bytes: Vec<i64>,
    /// An output with less is not sent to.
    pub(crate) frame_bytes_max: u32,
}

impl Credits {
    /// Takes a frame's bytes; true where the output has too few left for another.
    pub(crate) fn spend(&mut self, output: u8, len: u32) -> bool {
        let Some(bytes) = self.bytes.get_mut(usize::from(output)) else {
            return false;
        };
        *bytes = bytes.saturating_sub(i64::from(len));
        *bytes < i64::from(self.frame_bytes_max)
    }
}

impl Departure {
    pub(crate) const fn nothing(last_bit_out: u64) -> Self {
        Self {
            last_bit_out,
            charged: 0,
            ingress: 0,
            account: 0,
            chain: NIL,
            queue: NIL,
            len: 0,
        }
    }
}
