//! What a test may ask the model about itself.

use super::{Model, Name};
use clearway_core::FlowId;

impl Model {
    /// The cost of the longest frame in a node that is there.
    pub(crate) fn longest_of(&self, node: Name) -> Option<u64> {
        self.present(node).map(|node| self.longest(node.name.slot))
    }

    /// True for a queue that takes frames.
    pub(crate) fn is_open(&self, node: Name) -> bool {
        self.is_live(node) && self.is_leaf(node.slot)
    }

    pub(crate) fn is_shared(&self, node: Name) -> bool {
        self.is_open(node) && self.leaf(node.slot).is_shared()
    }

    /// Where a known flow is.
    pub(crate) fn queue_of(&self, flow: FlowId) -> Option<Name> {
        self.known(flow).map(|slot| self.flow(slot).queue)
    }

    /// Frames of a known flow's own FIFO, its held frames, and whether it waits for older ones.
    pub(crate) fn flow_state(&self, flow: FlowId) -> (usize, usize, bool) {
        self.known(flow).map_or((0, 0, false), |slot| {
            let flow = self.flow(slot);
            (flow.frames.len(), flow.held.len(), flow.waits_for.is_some())
        })
    }

    pub(crate) fn flows_known(&self) -> u32 {
        self.flows.iter().flatten().count() as u32
    }

    /// Held frames in the whole port.
    pub(crate) fn held(&self) -> usize {
        self.flows.iter().flatten().map(|flow| flow.held.len()).sum()
    }

    /// Nodes that take no more frames and are still there.
    pub(crate) fn draining(&self) -> Vec<Name> {
        self.nodes
            .iter()
            .flatten()
            .filter(|node| node.draining)
            .map(|node| node.name)
            .collect()
    }
}
