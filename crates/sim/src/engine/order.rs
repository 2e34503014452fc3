//! The order of events within one instant: phase, node, count, packed into one word.
//!
//! A total order makes a run repeat bit for bit whatever structure holds the events. Two bits of phase, twenty
//! of node and forty-two of count are compared as one integer: 2^42 events of one node are more than a day of
//! computing. After that the count wraps, which changes ties of one node alone.

/// What an event is about; within one instant all control events come first, then arrivals, then transmitters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Timers, pause, sources, reconfiguration.
    Control = 0,
    /// A frame is in.
    Arrival = 1,
    /// A transmitter can take the next frame: after arrivals, so that it chooses among all that are there.
    TransmitterFree = 2,
}

/// Most nodes that ties are broken between.
pub const NODES_MAX: u32 = 1 << NODE_BITS;

const NODE_BITS: u32 = 20;
const COUNT_BITS: u32 = 42;

/// Gives each push its place within its instant.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    pushes: Vec<u64>,
}

impl Counts {
    pub(crate) fn new(nodes: u32) -> Self {
        Self {
            pushes: vec![0; nodes.clamp(1, NODES_MAX) as usize],
        }
    }

    /// The order key of the next push of `node`. A node out of range counts as the last one.
    #[inline]
    pub(crate) fn next(&mut self, phase: Phase, node: u32) -> u64 {
        let node = (node as usize).min(self.pushes.len() - 1);
        let count = self.pushes[node];
        self.pushes[node] = (count + 1) & ((1 << COUNT_BITS) - 1);
        ((phase as u64) << (NODE_BITS + COUNT_BITS)) | ((node as u64) << COUNT_BITS) | count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_by_phase_then_node_then_push() {
        let mut counts = Counts::new(4);
        let late_node = counts.next(Phase::Arrival, 3);
        let first = counts.next(Phase::Arrival, 1);
        let second = counts.next(Phase::Arrival, 1);
        let transmitter = counts.next(Phase::TransmitterFree, 0);
        let control = counts.next(Phase::Control, 3);
        let mut keys = [late_node, first, second, transmitter, control];
        keys.sort_unstable();
        assert_eq!(keys, [control, first, second, late_node, transmitter]);
    }

    #[test]
    fn a_node_out_of_range_counts_as_the_last() {
        let mut counts = Counts::new(2);
        let a = counts.next(Phase::Control, 1);
        let b = counts.next(Phase::Control, u32::MAX);
        assert_eq!(b, a + 1);
    }
}
