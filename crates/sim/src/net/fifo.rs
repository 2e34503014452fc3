//! A plain FIFO with gates: an egress without a policy, and the buffer behind one.
//!
//! Its head waits while the head's gate is shut, and everything behind waits with it.

use super::gates::Gates;
use super::selection::Next;
use std::collections::VecDeque;

/// Frames in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    frames: VecDeque<(u32, u32, u8)>,
    pub(crate) gates: Gates,
}

impl Fifo {
    #[inline]
    pub(crate) fn push(&mut self, handle: u32, len: u32, gate: u8) {
        self.frames.push_back((handle, len, gate));
    }

    #[inline]
    pub(crate) fn next(&mut self, now: u64) -> Next {
        let Some(&(handle, len, gate)) = self.frames.front() else {
            return Next::Empty;
        };
        let until = self.gates.until(gate);
        if until > now {
            return Next::Wait { until, gate: true };
        }
        self.frames.pop_front();
        Next::Frame {
            handle,
            len,
            gate,
            queue: 0,
            ecn_marked: false,
        }
    }

    pub(crate) fn head_len(&self) -> Option<u32> {
        self.frames.front().map(|f| f.1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
