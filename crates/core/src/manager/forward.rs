//! The short way through an empty port: what `enqueue` and `dequeue` would do to a frame that nothing stands before.
//!
//! With no frame queued every node is idle, so who goes next is no question: the frame leaves at once if its gate and
//! every shaper above it are open. Only buckets, deficits and counters change; no list, heap or frame record is touched.

use super::flows::Standing;
use super::node::{Kind, NONE};
use super::{ROOT, TrafficManager};
use crate::api::{Colour, Ecn, FrameDesc, FrameHandle, Target};

impl TrafficManager {
    /// Sends a frame straight through, or says `None` and changes nothing.
    #[inline]
    pub(super) fn pass(
        &mut self,
        now: u64,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Option<FrameDesc> {
        if self.frames.used > 0 || self.draining > 0 || len == 0 || len > self.frame_bytes_max {
            return None;
        }
        let slot = self.open_leaf(to.queue)?;
        let node = &self.nodes[slot as usize];
        let leaf = &self.leaves[node.body as usize];
        let gate = self.gates.opens(leaf.gate);
        if gate > now || leaf.meter.is_some() || u64::from(len) > leaf.bytes_max || leaf.mark_bytes == 0 {
            return None;
        }
        if self.is_held(&to, node)? {
            return None;
        }
        if to.flow != NONE
            && let Some(rate) = &leaf.flow_rate
            && self.flows.records[to.flow as usize].level.eligible_at(rate) > now
        {
            return None;
        }
        let mut at = slot;
        loop {
            let node = &self.nodes[at as usize];
            if node.own_at > now {
                return None;
            }
            if at == ROOT {
                break;
            }
            at = node.parent;
        }
        self.charge_path(slot, len, now);
        let node = &self.nodes[slot as usize];
        let leaf = &mut self.leaves[node.body as usize];
        let bytes = u64::from(len);
        leaf.counters.frames_in += 1;
        leaf.counters.bytes_in += bytes;
        leaf.counters.frames_out += 1;
        leaf.counters.bytes_out += bytes;
        if node.kind == Kind::PerFlow {
            let record = &mut self.flows.records[to.flow as usize];
            if let Some(rate) = &leaf.flow_rate {
                record.level.charge(rate, now, node.cost(len));
            }
            if record.standing == Standing::Ordinary {
                // It was busy for an instant: it is the flow that has been idle shortest.
                self.flows.leave_idle(to.flow);
                self.flows.join_idle(to.flow);
            }
        }
        let ce = ecn == Ecn::Marked;
        Some(FrameDesc {
            handle,
            len,
            queue: to.queue,
            colour: Colour::Green,
            ce,
        })
    }

    /// Charges every node from a leaf up for a frame that joins an empty tree and leaves it empty.
    #[inline]
    fn charge_path(&mut self, leaf: u32, len: u32, now: u64) {
        let mut slot = leaf;
        loop {
            let node = &mut self.nodes[slot as usize];
            let cost = node.cost(len);
            if node.shaped() {
                node.own_at = self.shapers[slot as usize].charge(now, cost, node.frame_shaped());
            }
            if slot == ROOT {
                return;
            }
            let above = node.parent;
            let mut from_g = false;
            if node.guaranteed()
                && let Some(bucket) = &mut self.shapers[slot as usize].guarantee
                && bucket.eligible_at() <= now
            {
                bucket.charge(now, cost);
                from_g = true;
            }
            let parent = &self.nodes[above as usize];
            let (weighted, body, parent_cost) = (
                parent.kind == Kind::Weighted,
                parent.body as usize,
                parent.cost(len),
            );
            if !from_g && weighted {
                // It joins with a quantum if it has no credit, pays, and keeps only a debt (rules 12, 13, 19).
                let node = &mut self.nodes[slot as usize];
                let credit = if node.deficit <= 0 { node.quantum } else { 0 };
                node.deficit = (node.deficit + credit - i64::from(parent_cost)).min(0);
            }
            let inner = &mut self.inners[body];
            inner.frames_out += 1;
            inner.bytes_out += u64::from(len);
            slot = above;
        }
    }
}
