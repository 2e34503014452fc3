//! `enqueue`, `dequeue` and `pause`: rules 16 to 22, and the release of held frames (rules 20 and 25).

use super::tree::Chosen;
use super::{Answer, Body, Frame, Left, Model, ModelTarget, Name, Refusal, Time};
use clearway_core::plan::{MarkAt, QueueMode};
use clearway_core::{Colour, DropReason, Ecn, FrameHandle, GateSet, RefuseReason};

impl Model {
    pub(crate) fn enqueue(
        &mut self,
        now_ps: u64,
        to: ModelTarget,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<Name, Refusal> {
        let now = self.see(now_ps);
        if len == 0 || len > self.frame_bytes_max {
            return Err(RefuseReason::FrameLength);
        }
        if !self.is_live(to.queue) {
            return Err(RefuseReason::QueueGone);
        }
        let queue = to.queue.slot;
        let stale = match to.slot {
            Some((slot, generation)) => self.flow_generations[slot] != generation,
            None => to.given < self.leaf(queue).moved_out.max(self.rules_replaced),
        };
        if stale {
            return Err(RefuseReason::StaleTarget);
        }
        if self.frames_held_by_port() >= self.frames_max {
            return Err(RefuseReason::FramesMax);
        }
        let colour = match self.admit(queue, to.slot.map(|(slot, _)| slot), len, now) {
            Ok(colour) => colour,
            Err(reason) => {
                self.node_mut(queue).counters.frames_refused += 1;
                return Err(reason);
            }
        };
        let backlog = self.backlog_of(queue).bytes;
        let counters = &mut self.node_mut(queue).counters;
        counters.frames_in += 1;
        counters.bytes_in += u64::from(len);
        let mut frame = Frame {
            handle,
            len,
            flow: to.flow,
            capable: ecn == Ecn::Capable,
            ce: ecn == Ecn::Marked,
            colour,
            entered: now,
        };
        self.mark(queue, MarkAt::Enqueue, &mut frame, backlog);
        match to.slot {
            Some((slot, _)) if self.flow(slot).waits_for.is_some() => {
                self.flow_mut(slot).idle = None;
                self.flow_mut(slot).held.push(frame);
            }
            _ => self.append(queue, frame, now),
        }
        self.touch(queue, now);
        Ok(to.queue)
    }

    /// The meter, the queue's limits and the flow's limit.
    fn admit(&mut self, queue: usize, flow: Option<usize>, len: u32, now: Time) -> Result<Colour, Refusal> {
        let leaf = self.leaf_mut(queue);
        let colour = leaf
            .meter
            .as_mut()
            .map_or(Colour::Green, |meter| meter.colour(len, now));
        if colour == Colour::Red && leaf.plan.meter.is_some_and(|m| m.drop_red) {
            return Err(RefuseReason::MeterRed);
        }
        let backlog = self.backlog_of(queue);
        let plan = &self.leaf(queue).plan;
        if backlog.frames >= plan.frames_max || backlog.bytes + u64::from(len) > plan.bytes_max {
            return Err(RefuseReason::QueueFull);
        }
        if let (QueueMode::PerFlow { flow_frames_max, .. }, Some(slot)) = (&plan.mode, flow) {
            let flow = self.flow(slot);
            if flow.frames.len() + flow.held.len() >= *flow_frames_max as usize {
                return Err(RefuseReason::FlowFull);
            }
        }
        Ok(colour)
    }

    fn mark(&mut self, queue: usize, at: MarkAt, frame: &mut Frame, backlog: u64) {
        let mark = self.leaf(queue).plan.mark;
        if frame.capable && !frame.ce && mark.is_some_and(|m| m.at == at && backlog >= m.threshold_bytes) {
            frame.ce = true;
            self.node_mut(queue).counters.frames_marked += 1;
        }
    }

    /// Puts a frame at the tail of its queue's FIFO or of its flow's.
    pub(super) fn append(&mut self, queue: usize, frame: Frame, now: Time) {
        if self.leaf(queue).is_shared() {
            self.leaf_mut(queue).fifo.push(frame);
            return;
        }
        let slot = self
            .known(frame.flow)
            .expect("a flow of a per-flow queue is known");
        let flow = self.flow_mut(slot);
        if flow.frames.is_empty() {
            flow.head_since = now;
        }
        flow.idle = None;
        flow.frames.push(frame);
    }

    pub(crate) fn dequeue(&mut self, now_ps: u64) -> Answer {
        let now = self.see(now_ps);
        match self.ready(0) {
            None => return Answer::Empty,
            Some(at) if at > now => {
                return Answer::Wait {
                    until_ps: self.tell(at),
                    reason: self.reason(at),
                };
            }
            Some(_) => {}
        }
        let path = self.visit(now);
        let (leaf, _) = path[path.len() - 1];
        let name = self.node(leaf).name;
        let first_flow = self.first_flow(leaf).map(|(_, slot)| slot);
        let mut frame = match first_flow {
            Some(slot) => {
                let flow = self.flow_mut(slot);
                flow.head_since = now;
                flow.frames.remove(0)
            }
            None => self.leaf_mut(leaf).fifo.remove(0),
        };
        let aged = self
            .leaf(leaf)
            .plan
            .age_max
            .is_some_and(|max| now - frame.entered > Time::from(max.as_ps()));
        if aged {
            self.node_mut(leaf).counters.frames_dropped += 1;
            self.touch(leaf, now);
        } else {
            let backlog = self.backlog_of(leaf).bytes;
            self.mark(leaf, MarkAt::Dequeue, &mut frame, backlog);
            let leaf_cost = super::cost(self.node(leaf).accounting, frame.len);
            if let Some(bucket) = first_flow.and_then(|slot| self.flow_mut(slot).bucket.as_mut()) {
                bucket.take(leaf_cost, now);
            }
            for &(slot, chosen) in path.iter().rev() {
                self.leave_through(slot, chosen, frame.len, now);
            }
        }
        if let Some(slot) = first_flow {
            self.become_idle(slot);
        }
        self.release(name, &frame, now);
        self.sweep();
        let left = Left {
            handle: frame.handle,
            len: frame.len,
            queue: name,
            colour: frame.colour,
            ce: frame.ce,
        };
        if aged {
            Answer::Drop(left, DropReason::Aged)
        } else {
            Answer::Frame(left)
        }
    }

    fn leave_through(&mut self, slot: usize, chosen: Chosen, len: u32, now: Time) {
        let node = self.node_mut(slot);
        let cost = super::cost(node.accounting, len);
        node.counters.frames_out += 1;
        node.counters.bytes_out += u64::from(len);
        for shaper in node.rate.iter_mut().chain(&mut node.frame_rate) {
            shaper.take(cost, now);
        }
        self.after_service(slot, chosen, len, now);
    }

    /// Rule 25: after a frame left a shared queue, its flow may have waited for just that.
    fn release(&mut self, left: Name, frame: &Frame, now: Time) {
        let Some(slot) = self.known(frame.flow) else {
            return;
        };
        let still = self.leaf(left.slot).fifo.iter().any(|f| f.flow == frame.flow);
        if self.flow(slot).waits_for == Some(left) && !still {
            self.enter(slot, now);
            if let Some(queue) = self.flow_queue(slot) {
                self.touch(queue, now);
            }
            self.settle_at_home(slot);
        }
    }

    fn flow_queue(&self, slot: usize) -> Option<usize> {
        self.present(self.flow(slot).queue).map(|node| node.name.slot)
    }

    /// Held frames enter their queue; nothing is waited for any more.
    pub(super) fn enter(&mut self, slot: usize, now: Time) {
        let queue = self.flow(slot).queue;
        let bucket = self.present(queue).and_then(|_| self.full_bucket(queue, now));
        let flow = self.flow_mut(slot);
        flow.waits_for = None;
        flow.bucket = bucket;
        let held = std::mem::take(&mut flow.held);
        for frame in held {
            self.append(self.flow(slot).queue.slot, frame, now);
        }
    }

    /// A flow back home that waits for nothing is ordinary again (per-flow home) or forgotten.
    pub(super) fn settle_at_home(&mut self, slot: usize) {
        let flow = self.flow(slot);
        if flow.queue != flow.home || flow.waits_for.is_some() {
            return;
        }
        match self.flow_queue(slot) {
            Some(queue) if !self.leaf(queue).is_shared() => self.become_idle(slot),
            _ => self.forget(slot),
        }
    }

    pub(crate) fn pause(&mut self, now_ps: u64, gates: GateSet, until_ps: u64) {
        let now = self.see(now_ps);
        let until = self.origin + Time::from(until_ps);
        for gate in (0..64).filter(|&g| gates.0 >> g & 1 == 1) {
            self.gates[gate] = (until > now).then_some(until);
        }
        for slot in 0..self.nodes.len() {
            let gated = match self.nodes[slot].as_ref().map(|n| &n.body) {
                Some(Body::Leaf(leaf)) => gates.has(leaf.plan.gate),
                _ => false,
            };
            if gated {
                self.touch(slot, now);
            }
        }
    }
}
