//! Flows that change their queue while frames of them wait (rules 24 to 26).

use super::TrafficManager;
use super::flows::Standing;
use super::node::{Kind, NONE};
use crate::api::{NodeId, QueueId, ReconfigureError};
use crate::key::FlowId;
use crate::shaper::Level;

/// A flow whose new frames wait until a frame has left a shared queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    pub(super) frame: u32,
    pub(super) flow: u32,
    /// The queue that the frame is in.
    pub(super) leaf: u32,
}

impl TrafficManager {
    pub(super) fn move_flow(
        &mut self,
        now: u64,
        id: FlowId,
        from: QueueId,
        to: QueueId,
    ) -> Result<(), ReconfigureError> {
        let from_slot = self.leaf_at(from)?;
        let to_slot = self.leaf_at(to)?;
        if self.nodes[to_slot as usize].draining() {
            return Err(ReconfigureError::NodeGone(to));
        }
        let known = self.flows.find(&id, id.hash());
        if known != NONE && self.flows.records[known as usize].queue != from {
            return Err(ReconfigureError::FlowElsewhere(from));
        }
        if from == to {
            return Ok(());
        }
        let flow = if known == NONE {
            if !self.make_room(now) {
                return Err(ReconfigureError::FlowsMax);
            }
            self.flows.insert(id, from, Standing::Moved)
        } else {
            self.flows.leave_idle(known);
            if self.flows.records[known as usize].standing == Standing::Ordinary {
                let record = &mut self.flows.records[known as usize];
                record.home = from;
                record.standing = Standing::Moved;
            }
            known
        };
        let record = &mut self.flows.records[flow as usize];
        record.generation = record.generation.wrapping_add(1);
        record.queue = to;
        if self.nodes[from_slot as usize].kind == Kind::Shared {
            self.stamp += 1;
            let leaf = self.nodes[from_slot as usize].body as usize;
            self.leaves[leaf].stamp = self.stamp;
        }
        if self.flows.records[flow as usize].standing == Standing::Held {
            self.redirect_held(now, flow, from_slot, to_slot);
        } else if self.nodes[from_slot as usize].kind == Kind::PerFlow {
            self.move_whole(now, flow, from_slot, to_slot);
        } else {
            self.hold_behind(flow, id.tag(), from_slot);
        }
        self.settle_standing(flow);
        self.touch(from_slot, now);
        self.touch(to_slot, now);
        self.retire(from_slot);
        Ok(())
    }

    /// The slot of a leaf that is there, draining or not.
    fn leaf_at(&self, queue: QueueId) -> Result<u32, ReconfigureError> {
        let slot = self.find(queue).ok_or(ReconfigureError::NodeGone(queue))?;
        if self.nodes[slot as usize].is_leaf() {
            Ok(slot)
        } else {
            Err(ReconfigureError::WrongKind(queue))
        }
    }

    /// True where a shared queue that is there holds frames of a flow. Walks the queue.
    pub(super) fn has_tagged(&self, queue: QueueId, tag: u32) -> bool {
        let Some(slot) = self.find(queue) else {
            return false;
        };
        let mut at = self.leaves[self.nodes[slot as usize].body as usize].head;
        while at != NONE && self.frames.entries[at as usize].tag != tag {
            at = self.frames.entries[at as usize].next;
        }
        at != NONE
    }

    /// Frames and bucket go from a per-flow queue to another queue.
    fn move_whole(&mut self, now: u64, flow: u32, from: u32, to: u32) {
        let (frames, bytes) = self.size_of_flow(flow);
        let old = &mut self.leaves[self.nodes[from as usize].body as usize];
        let old_rate = old.flow_rate;
        if frames > 0
            && let Some(wheel) = &mut old.wheel
        {
            wheel.remove(&mut self.flows, &self.frames, flow);
        }
        old.frames -= frames;
        old.bytes -= bytes;
        old.counters.frames_moved_out += u64::from(frames);
        let new = &mut self.leaves[self.nodes[to as usize].body as usize];
        let record = &mut self.flows.records[flow as usize];
        record
            .level
            .carry_over(now, old_rate.as_ref(), new.flow_rate.as_ref());
        new.counters.frames_moved_in += u64::from(frames);
        self.fill(now, flow, to, frames, bytes);
    }

    /// Gives a queue the frames in a flow's own list.
    fn fill(&mut self, now: u64, flow: u32, to: u32, frames: u32, bytes: u64) {
        let node = &self.nodes[to as usize];
        let leaf = &mut self.leaves[node.body as usize];
        leaf.frames += frames;
        leaf.bytes += bytes;
        if node.kind == Kind::PerFlow {
            if frames > 0 {
                self.schedule_flow(to, flow, now);
            }
            return;
        }
        let record = &mut self.flows.records[flow as usize];
        let (first, last) = (record.head, record.tail);
        record.head = NONE;
        record.tail = NONE;
        record.frames = 0;
        if first != NONE {
            self.frames.append(&mut leaf.head, &mut leaf.tail, first);
            leaf.tail = last;
        }
    }

    /// New frames of the flow wait for the last one of it in the shared queue.
    fn hold_behind(&mut self, flow: u32, tag: u32, from: u32) {
        let leaf = &self.leaves[self.nodes[from as usize].body as usize];
        let (mut at, mut last) = (leaf.head, NONE);
        while at != NONE {
            let frame = &self.frames.entries[at as usize];
            if frame.tag == tag {
                last = at;
            }
            at = frame.next;
        }
        self.flows.records[flow as usize].level = Level::FULL;
        if last != NONE {
            self.frames.entries[last as usize].barrier = true;
            self.barriers.push(Barrier {
                frame: last,
                flow,
                leaf: from,
            });
            self.flows.records[flow as usize].standing = Standing::Held;
        }
    }

    /// Held frames wait on, now for another queue; if that is the queue they wait for, they enter it.
    fn redirect_held(&mut self, now: u64, flow: u32, from: u32, to: u32) {
        let (frames, bytes) = self.size_of_flow(flow);
        let old = &mut self.leaves[self.nodes[from as usize].body as usize];
        old.held_frames -= frames;
        old.held_bytes -= bytes;
        old.counters.frames_moved_out += u64::from(frames);
        let new = &mut self.leaves[self.nodes[to as usize].body as usize];
        new.held_frames += frames;
        new.held_bytes += bytes;
        new.counters.frames_moved_in += u64::from(frames);
        if self.barriers.iter().any(|b| b.flow == flow && b.leaf == to) {
            self.barriers.retain(|b| b.flow != flow);
            self.enter(now, flow, to);
        }
    }

    /// Held frames enter their queue.
    fn enter(&mut self, now: u64, flow: u32, to: u32) {
        let (frames, bytes) = self.size_of_flow(flow);
        let leaf = &mut self.leaves[self.nodes[to as usize].body as usize];
        leaf.held_frames -= frames;
        leaf.held_bytes -= bytes;
        self.flows.records[flow as usize].standing = Standing::Moved;
        self.fill(now, flow, to, frames, bytes);
    }

    /// A frame that others waited for has left (rule 20).
    #[cold]
    #[inline(never)]
    pub(super) fn release(&mut self, frame: u32, now: u64) {
        let mut at = 0;
        while at < self.barriers.len() {
            let barrier = self.barriers[at];
            if barrier.frame != frame {
                at += 1;
                continue;
            }
            self.barriers.remove(at);
            let flow = barrier.flow;
            let queue = self.flows.records[flow as usize].queue;
            if let Some(to) = self.find(queue) {
                self.enter(now, flow, to);
                self.touch(to, now);
            } else {
                self.flows.records[flow as usize].standing = Standing::Moved;
            }
            self.settle_standing(flow);
        }
    }

    /// A flow that is back home and waits for nothing is ordinary again, or forgotten where its home is shared or gone
    /// (rule 26).
    fn settle_standing(&mut self, flow: u32) {
        let record = &self.flows.records[flow as usize];
        let (queue, frames) = (record.queue, record.frames);
        if record.standing != Standing::Moved || queue != record.home {
            return;
        }
        let per_flow = |slot: u32| self.nodes[slot as usize].kind == Kind::PerFlow;
        if self.find(queue).is_some_and(per_flow) {
            self.flows.records[flow as usize].standing = Standing::Ordinary;
            if frames == 0 {
                self.flows.join_idle(flow);
            }
        } else {
            self.flows.forget(flow);
        }
    }

    /// Frames and bytes in a flow's own list.
    fn size_of_flow(&self, flow: u32) -> (u32, u64) {
        let record = &self.flows.records[flow as usize];
        let (mut at, mut bytes) = (record.head, 0);
        for _ in 0..record.frames {
            let frame = &self.frames.entries[at as usize];
            bytes += u64::from(frame.len);
            at = frame.next;
        }
        (record.frames, bytes)
    }

    /// True where the flow stands in that queue.
    pub(super) fn stands_in(&self, flow: usize, queue: NodeId) -> bool {
        let record = &self.flows.records[flow];
        record.queue == queue && matches!(record.standing, Standing::Ordinary | Standing::Moved)
    }
}
