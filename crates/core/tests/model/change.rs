//! Live reconfiguration: rules 7, 14 and 23 to 27.

use super::{Body, Bucket, Model, Name, Time};
use clearway_core::plan::{BitShape, FlowShape, FrameShape, NodeKind, NodePlan, QueueMode, RuleMatch};
use clearway_core::{Counters, FlowId};

/// A change with its nodes named as the model names them.
#[derive(Clone, Debug)]
pub(crate) enum ModelChange {
    Rate { node: Name, rate: Option<BitShape> },
    FrameRate { node: Name, rate: Option<FrameShape> },
    Guarantee { node: Name, guarantee: Option<BitShape> },
    Weight { node: Name, weight: u32 },
    FlowShape { queue: Name, shape: Option<FlowShape> },
    Add { parent: Name, plan: NodePlan },
    Remove { node: Name },
    MoveFlow { flow: FlowId, from: Name, to: Name },
    Rules(Vec<(RuleMatch, u32)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Done,
    Added(Name),
    Draining { frames: u32 },
}

/// The kinds of `ReconfigureError`; where several hold the manager may name any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NodeGone(Name),
    Root,
    FlowElsewhere(Name),
    WrongKind(Name),
    NodesMax,
    FlowsMax,
    Plan,
}

const WEIGHT_MAX: u32 = 1_000_000;
const LEVELS_MAX: usize = 8;
const RANKS: u8 = 64;
const GATES: u8 = 64;

impl Model {
    /// Carries the change out, or says everything that speaks against it.
    pub(crate) fn reconfigure(&mut self, now_ps: u64, change: &ModelChange) -> Result<Changed, Vec<Fault>> {
        let now = self.see(now_ps);
        let faults = self.faults(change, now);
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut changed = Changed::Done;
        match change {
            ModelChange::Rate { node, rate } => {
                let longest = self.longest(node.slot);
                let new = rate.map(|s| Bucket::bits(s, longest, now));
                let node = self.node_mut(node.slot);
                node.rate = Bucket::become_like(node.rate.as_ref(), new, now);
                let slot = node.name.slot;
                self.touch_changed(slot, now);
            }
            ModelChange::FrameRate { node, rate } => {
                let node = self.node_mut(node.slot);
                let new = rate.map(|s| Bucket::frames(s, now));
                node.frame_rate = Bucket::become_like(node.frame_rate.as_ref(), new, now);
                let slot = node.name.slot;
                self.touch_changed(slot, now);
            }
            ModelChange::Guarantee { node, guarantee } => self.set_guarantee(node.slot, *guarantee, now),
            ModelChange::Weight { node, weight } => self.node_mut(node.slot).weight = *weight,
            ModelChange::FlowShape { queue, shape } => self.set_flow_shape(*queue, *shape, now),
            ModelChange::Add { parent, plan } => {
                let slot = self
                    .nodes
                    .iter()
                    .position(Option::is_none)
                    .expect("room was checked");
                changed = Changed::Added(self.put(slot, plan, Some(parent.slot)));
            }
            ModelChange::Remove { node } => {
                let below = self.below(node.slot);
                for &slot in &below {
                    self.node_mut(slot).draining = true;
                }
                let leaves = below.iter().filter(|&&slot| self.is_leaf(slot));
                changed = Changed::Draining {
                    frames: leaves.map(|&slot| self.backlog_of(slot).frames).sum(),
                };
            }
            ModelChange::MoveFlow { flow, from, to } => {
                if from != to {
                    self.move_flow(*flow, *from, *to, now);
                }
            }
            ModelChange::Rules(rules) => {
                self.changes += 1;
                self.rules_replaced = self.changes;
                let named = rules
                    .iter()
                    .map(|&(matches, slot)| (matches, self.node(slot as usize).name));
                self.rules = named.collect();
            }
        }
        self.sweep();
        Ok(changed)
    }

    /// A node and all below it.
    fn below(&self, slot: usize) -> Vec<usize> {
        let mut all = vec![slot];
        for child in self.children(slot) {
            all.extend(self.below(child));
        }
        all
    }

    /// Rule 27: draining nodes with nothing below them are gone.
    pub(super) fn sweep(&mut self) {
        for slot in 0..self.nodes.len() {
            if self.nodes[slot].as_ref().is_some_and(|n| n.draining) {
                let below = self.below(slot);
                if below
                    .iter()
                    .all(|&s| !self.is_leaf(s) || self.backlog_of(s).frames == 0)
                {
                    for s in below {
                        self.nodes[s] = None;
                    }
                }
            }
        }
    }

    fn set_guarantee(&mut self, slot: usize, guarantee: Option<BitShape>, now: Time) {
        let longest = self.longest(slot);
        let new = guarantee.map(|s| Bucket::bits(s, longest, now));
        let node = self.node_mut(slot);
        node.guarantee = Bucket::become_like(node.guarantee.as_ref(), new, now);
        if matches!(node.state, super::State::InG | super::State::InX) {
            self.leave_rounds(slot);
            self.join(slot, now);
        }
    }

    fn set_flow_shape(&mut self, queue: Name, shape: Option<FlowShape>, now: Time) {
        if let Body::Leaf(leaf) = &mut self.node_mut(queue.slot).body
            && let QueueMode::PerFlow { shape: old, .. } = &mut leaf.plan.mode
        {
            *old = shape;
        }
        let full = self.full_bucket(queue, now);
        let there = |f: &&mut super::Flow| f.queue == queue && f.waits_for.is_none();
        for flow in self.flows.iter_mut().flatten().filter(there) {
            flow.bucket = Bucket::become_like(flow.bucket.as_ref(), full.clone(), now);
            flow.head_since = now;
        }
        self.touch_changed(queue.slot, now);
    }

    /// Rules 24 to 26.
    fn move_flow(&mut self, id: FlowId, from: Name, to: Name, now: Time) {
        let slot = match self.known(id) {
            Some(slot) => slot,
            None => {
                let slot = self.make_room(now).expect("room was checked");
                self.know(slot, id, from, now);
                slot
            }
        };
        self.flow_generations[slot] += 1;
        let full = self.full_bucket(to, now);
        let flow = self.flow_mut(slot);
        flow.idle = None;
        flow.queue = to;
        flow.bucket = Bucket::become_like(flow.bucket.as_ref(), full, now);
        flow.head_since = now;
        let moving = flow.frames.len() + flow.held.len();
        let waits = flow.waits_for.is_some();
        if self.leaf(from.slot).is_shared() {
            self.changes += 1;
            self.leaf_mut(from.slot).moved_out = self.changes;
            if !waits && self.leaf(from.slot).fifo.iter().any(|f| f.flow == id) {
                self.flow_mut(slot).waits_for = Some(from);
            }
        }
        if self.flow(slot).waits_for.is_some() {
            self.flow_mut(slot).bucket = None;
        }
        if self.leaf(to.slot).is_shared() {
            let frames = std::mem::take(&mut self.flow_mut(slot).frames);
            self.leaf_mut(to.slot).fifo.extend(frames);
        }
        if self.flow(slot).waits_for == Some(to) {
            self.enter(slot, now);
        }
        self.count_moved(from, to, moving as u64);
        self.settle_at_home(slot);
        self.touch(from.slot, now);
        self.touch(to.slot, now);
    }

    fn count_moved(&mut self, from: Name, to: Name, frames: u64) {
        let counters = |model: &mut Self, name: Name, add: fn(&mut Counters, u64)| {
            add(&mut model.node_mut(name.slot).counters, frames);
        };
        counters(self, from, |c, frames| c.frames_moved_out += frames);
        counters(self, to, |c, frames| c.frames_moved_in += frames);
    }

    fn faults(&self, change: &ModelChange, now: Time) -> Vec<Fault> {
        let mut faults = Vec::new();
        let subject = match change {
            ModelChange::Rate { node, .. }
            | ModelChange::FrameRate { node, .. }
            | ModelChange::Guarantee { node, .. }
            | ModelChange::Weight { node, .. }
            | ModelChange::Remove { node }
            | ModelChange::FlowShape { queue: node, .. }
            | ModelChange::Add { parent: node, .. } => Some(*node),
            ModelChange::MoveFlow { .. } | ModelChange::Rules(_) => None,
        };
        if let Some(node) = subject
            && !self.is_live(node)
        {
            return vec![Fault::NodeGone(node)];
        }
        let valid_bits = |slot: usize, s: Option<BitShape>| {
            s.is_none_or(|s| s.rate_bps > 0 && s.burst_bytes >= self.longest(slot))
        };
        let valid_frames = |s: Option<FrameShape>| s.is_none_or(|s| s.rate_fps > 0 && s.burst_frames > 0);
        let mut check = |ok: bool, fault: Fault| {
            if !ok {
                faults.push(fault);
            }
        };
        match change {
            ModelChange::Rate { node, rate } => check(valid_bits(node.slot, *rate), Fault::Plan),
            ModelChange::FrameRate { rate, .. } => check(valid_frames(*rate), Fault::Plan),
            ModelChange::Guarantee { node, guarantee } => {
                check(node.slot != 0, Fault::Root);
                check(valid_bits(node.slot, *guarantee), Fault::Plan);
            }
            ModelChange::Weight { node, weight } => {
                check(node.slot != 0, Fault::Root);
                let weighted = self.node(node.slot).parent.is_some_and(|p| self.is_weighted(p));
                check(weighted || node.slot == 0, Fault::WrongKind(*node));
                check((1..=WEIGHT_MAX).contains(weight), Fault::Plan);
            }
            ModelChange::FlowShape { queue, shape } => {
                check(
                    self.is_leaf(queue.slot) && !self.leaf(queue.slot).is_shared(),
                    Fault::WrongKind(*queue),
                );
                check(
                    match *shape {
                        Some(FlowShape::Bits(s)) => valid_bits(queue.slot, Some(s)),
                        Some(FlowShape::Frames(s)) => valid_frames(Some(s)),
                        None => true,
                    },
                    Fault::Plan,
                );
            }
            ModelChange::Add { parent, plan } => {
                check(!self.is_leaf(parent.slot), Fault::WrongKind(*parent));
                check(self.nodes.iter().any(Option::is_none), Fault::NodesMax);
                check(self.may_add(parent.slot, plan), Fault::Plan);
            }
            ModelChange::Remove { node } => check(node.slot != 0, Fault::Root),
            ModelChange::MoveFlow { flow, from, to } => {
                check(self.is_live(*to), Fault::NodeGone(*to));
                check(
                    self.present(*to).is_none() || self.is_leaf(to.slot),
                    Fault::WrongKind(*to),
                );
                check(self.present(*from).is_some(), Fault::NodeGone(*from));
                check(
                    self.present(*from).is_none() || self.is_leaf(from.slot),
                    Fault::WrongKind(*from),
                );
                match self.known(*flow) {
                    Some(slot) => check(self.flow(slot).queue == *from, Fault::FlowElsewhere(*from)),
                    None => check(from == to || self.has_room(now), Fault::FlowsMax),
                }
            }
            ModelChange::Rules(rules) => {
                let there = |&(_, slot): &(RuleMatch, u32)| {
                    self.is_leaf_slot(slot) && !self.node(slot as usize).draining
                };
                check(rules.iter().all(there), Fault::Plan);
            }
        }
        faults
    }

    fn is_leaf_slot(&self, slot: u32) -> bool {
        (slot as usize) < self.nodes.len() && self.is_leaf(slot as usize)
    }

    fn may_add(&self, parent: usize, plan: &NodePlan) -> bool {
        let siblings = self.children(parent);
        let mut levels = 2;
        let mut at = parent;
        while let Some(up) = self.node(at).parent {
            levels += 1;
            at = up;
        }
        let free_rank = plan.rank < RANKS && siblings.iter().all(|&s| self.node(s).rank != plan.rank);
        let fits = (1..=WEIGHT_MAX).contains(&plan.weight) && (self.is_weighted(parent) || free_rank);
        let longest = super::cost(plan.accounting, self.frame_bytes_max);
        let bits = |s: Option<BitShape>| s.is_none_or(|s| s.rate_bps > 0 && s.burst_bytes >= longest);
        let frames = |s: Option<FrameShape>| s.is_none_or(|s| s.rate_fps > 0 && s.burst_frames > 0);
        let queue = match &plan.kind {
            NodeKind::Queue(queue) => {
                let flows = match queue.mode {
                    QueueMode::PerFlow {
                        shape: Some(FlowShape::Bits(s)),
                        ..
                    } => bits(Some(s)),
                    QueueMode::PerFlow {
                        shape: Some(FlowShape::Frames(s)),
                        ..
                    } => frames(Some(s)),
                    _ => true,
                };
                queue.gate < GATES && flows
            }
            _ => true,
        };
        levels <= LEVELS_MAX
            && fits
            && bits(plan.rate)
            && bits(plan.guarantee)
            && frames(plan.frame_rate)
            && queue
    }
}
