//! Live reconfiguration: rates, weights, classes and rules change while frames are queued (rules 7, 14, 23, 27).

use super::TrafficManager;
use super::node::{Kind, NONE, Node, Shapers};
use super::queues::flow_at;
use crate::api::{Change, NodeId, ReconfigureError, Reconfigured};
use crate::classifier::{self, Classifier};
use crate::plan::{
    BitShape, DEPTH_MAX, FlowShape, FrameShape, NodePlan, PlanError, PlanItem, Rule, STRICT_RANKS,
};
use crate::plan_check::{check_bits, check_flow_shape, check_frames, check_node};
use crate::shaper::{Bucket, Rate};
use crate::time::Instant;
use alloc::vec;
use alloc::vec::Vec;

/// Generations that a [`NodeId`] can tell apart; a slot is not used again after the last.
const GENERATIONS: u32 = 1 << 12;

impl TrafficManager {
    /// Carries out one change.
    ///
    /// # Errors
    /// Says why the change is impossible; then nothing was changed.
    pub fn reconfigure(&mut self, now: Instant, change: Change) -> Result<Reconfigured, ReconfigureError> {
        let now = self.clock(now);
        match change {
            Change::Rate { node, rate } => self.set_rate(now, node, rate)?,
            Change::FrameRate { node, rate } => self.set_frame_rate(now, node, rate)?,
            Change::Guarantee { node, guarantee } => self.set_guarantee(now, node, guarantee)?,
            Change::Weight { node, weight } => self.set_weight(node, weight)?,
            Change::FlowShape { queue, shape } => self.set_flow_shape(now, queue, shape)?,
            Change::Add { parent, plan } => return self.add(parent, &plan).map(Reconfigured::Added),
            Change::Remove { node } => {
                let frames = self.remove(node)?;
                return Ok(Reconfigured::Draining { frames });
            }
            Change::MoveFlow { flow, from, to } => self.move_flow(now, flow, from, to)?,
            Change::Rules(rules) => self.set_rules(&rules)?,
        }
        Ok(Reconfigured::Done)
    }

    /// The slot of a node that can be changed.
    fn present(&self, id: NodeId) -> Result<u32, ReconfigureError> {
        let slot = self.find(id).ok_or(ReconfigureError::NodeGone(id))?;
        if self.nodes[slot as usize].draining() {
            Err(ReconfigureError::NodeGone(id))
        } else {
            Ok(slot)
        }
    }

    fn cost_max(&self, slot: u32) -> u32 {
        self.nodes[slot as usize].accounting.cost(self.frame_bytes_max)
    }

    fn set_rate(&mut self, now: u64, id: NodeId, rate: Option<BitShape>) -> Result<(), ReconfigureError> {
        let slot = self.present(id)?;
        let cost_max = self.cost_max(slot);
        if let Some(shape) = rate {
            check_bits(shape, cost_max, node_item(slot), "rate").map_err(ReconfigureError::Plan)?;
        }
        let shapers = &mut self.shapers[slot as usize];
        shapers.bits = carry(now, shapers.bits, rate.map(|shape| Rate::bits(shape, cost_max)));
        self.shapers_changed(now, slot);
        Ok(())
    }

    fn set_frame_rate(
        &mut self,
        now: u64,
        id: NodeId,
        rate: Option<FrameShape>,
    ) -> Result<(), ReconfigureError> {
        let slot = self.present(id)?;
        if let Some(shape) = rate {
            check_frames(shape, node_item(slot), "frame_rate").map_err(ReconfigureError::Plan)?;
        }
        let shapers = &mut self.shapers[slot as usize];
        shapers.frames = carry(now, shapers.frames, rate.map(Rate::frames));
        self.shapers_changed(now, slot);
        Ok(())
    }

    fn shapers_changed(&mut self, now: u64, slot: u32) {
        let shapers = &self.shapers[slot as usize];
        let node = &mut self.nodes[slot as usize];
        node.own_at = shapers.own_at();
        node.set_shaped(shapers);
        self.touch_changed(slot, now);
    }

    fn set_guarantee(
        &mut self,
        now: u64,
        id: NodeId,
        guarantee: Option<BitShape>,
    ) -> Result<(), ReconfigureError> {
        let slot = self.present(id)?;
        if self.nodes[slot as usize].parent == NONE {
            return Err(ReconfigureError::Root);
        }
        let cost_max = self.cost_max(slot);
        if let Some(shape) = guarantee {
            check_bits(shape, cost_max, node_item(slot), "guarantee").map_err(ReconfigureError::Plan)?;
        }
        let shapers = &mut self.shapers[slot as usize];
        shapers.guarantee = carry(
            now,
            shapers.guarantee,
            guarantee.map(|shape| Rate::bits(shape, cost_max)),
        );
        self.nodes[slot as usize].set_guaranteed(guarantee.is_some());
        self.rejoin(slot, now);
        Ok(())
    }

    fn set_weight(&mut self, id: NodeId, weight: u32) -> Result<(), ReconfigureError> {
        let slot = self.present(id)?;
        let parent = self.nodes[slot as usize].parent;
        if parent == NONE {
            return Err(ReconfigureError::Root);
        }
        if self.nodes[parent as usize].kind != Kind::Weighted {
            return Err(ReconfigureError::WrongKind(id));
        }
        if weight == 0 || weight > 1_000_000 {
            return Err(plan_error(node_item(slot), "weight", "1 to 1 000 000"));
        }
        self.nodes[slot as usize].weight = weight;
        self.recompute_quanta(parent);
        Ok(())
    }

    fn set_flow_shape(
        &mut self,
        now: u64,
        id: NodeId,
        shape: Option<FlowShape>,
    ) -> Result<(), ReconfigureError> {
        let slot = self.present(id)?;
        let cost_max = self.cost_max(slot);
        let body = self.nodes[slot as usize].body as usize;
        if self.nodes[slot as usize].kind != Kind::PerFlow {
            return Err(ReconfigureError::WrongKind(id));
        }
        if let Some(shape) = shape {
            check_flow_shape(shape, cost_max, node_item(slot)).map_err(ReconfigureError::Plan)?;
        }
        let new = shape.map(|shape| Rate::flow(shape, cost_max));
        let old = core::mem::replace(&mut self.leaves[body].flow_rate, new);
        for flow in 0..self.flows.records.len() {
            if !self.stands_in(flow, id) {
                continue;
            }
            let leaf = &mut self.leaves[body];
            let record = &mut self.flows.records[flow];
            record.level.carry_over(now, old.as_ref(), new.as_ref());
            if record.frames > 0 {
                let at = flow_at(leaf, record, now);
                if let Some(wheel) = &mut leaf.wheel {
                    wheel.change(&mut self.flows, &self.frames, flow as u32, at);
                }
            }
        }
        self.touch_changed(slot, now);
        Ok(())
    }

    fn add(&mut self, parent: NodeId, plan: &NodePlan) -> Result<NodeId, ReconfigureError> {
        let above = self.present(parent)?;
        let slot = self.free_slot().ok_or(ReconfigureError::NodesMax)?;
        let at = node_item(slot);
        match self.nodes[above as usize].kind {
            Kind::Strict => {
                let body = self.nodes[above as usize].body as usize;
                let ranks = self.inners[body].by_rank.as_deref();
                let taken = ranks
                    .and_then(|r| r.get(plan.rank as usize))
                    .is_some_and(|&child| child != NONE);
                if plan.rank >= STRICT_RANKS || taken {
                    return Err(plan_error(at, "rank", "0 to 63, each once below a strict node"));
                }
            }
            Kind::Weighted => {}
            _ => return Err(ReconfigureError::WrongKind(parent)),
        }
        let (mut depth, mut up) = (2, above);
        while self.nodes[up as usize].parent != NONE {
            depth += 1;
            up = self.nodes[up as usize].parent;
        }
        if depth > DEPTH_MAX {
            return Err(plan_error(at, "parent", "a tree of at most 8 levels"));
        }
        check_node(plan, self.frame_bytes_max, self.flows_max, at).map_err(ReconfigureError::Plan)?;
        if slot as usize == self.nodes.len() {
            self.nodes.push(Node::free());
            self.shapers.push(Shapers::default());
        }
        self.install(slot, above, plan);
        self.recompute_quanta(above);
        Ok(self.nodes[slot as usize].id(slot))
    }

    fn free_slot(&self) -> Option<u32> {
        let free = |node: &Node| node.kind == Kind::Free && node.generation < GENERATIONS;
        match self.nodes.iter().position(free) {
            Some(slot) => Some(slot as u32),
            None => (self.nodes.len() < self.nodes_max as usize).then_some(self.nodes.len() as u32),
        }
    }

    fn remove(&mut self, id: NodeId) -> Result<u32, ReconfigureError> {
        let slot = self.present(id)?;
        if self.nodes[slot as usize].parent == NONE {
            return Err(ReconfigureError::Root);
        }
        let mut below = vec![slot];
        let (mut next, mut frames) = (0, 0);
        while let Some(&at) = below.get(next) {
            let node = &mut self.nodes[at as usize];
            if !node.draining() {
                node.set_draining();
                self.draining += 1;
            }
            if node.is_leaf() {
                frames += self.leaves[node.body as usize].backlog_frames();
            } else {
                below.extend_from_slice(&self.inners[node.body as usize].children);
            }
            next += 1;
        }
        // Leaves first: a node goes when the last below it has gone.
        for &at in below.iter().rev() {
            self.retire(at);
        }
        Ok(frames)
    }

    /// Frees a draining node that holds nothing any more, and what is then empty above it (rule 27).
    #[cold]
    #[inline(never)]
    pub(super) fn retire(&mut self, slot: u32) {
        let mut slot = slot;
        while self.nodes[slot as usize].draining() {
            let Node {
                kind,
                body,
                parent,
                rank,
                generation,
                ..
            } = self.nodes[slot as usize];
            if matches!(kind, Kind::Shared | Kind::PerFlow) {
                let leaf = &mut self.leaves[body as usize];
                if leaf.backlog_frames() > 0 {
                    return;
                }
                leaf.frames_max = 0;
                leaf.wheel = None;
                leaf.meter = None;
            } else {
                if !self.inners[body as usize].children.is_empty() {
                    return;
                }
                self.inners[body as usize].in_use = false;
            }
            self.detach(slot);
            let above = &mut self.inners[self.nodes[parent as usize].body as usize];
            above.children.retain(|&child| child != slot);
            if let Some(ranks) = &mut above.by_rank {
                ranks[rank as usize & 63] = NONE;
            }
            self.nodes[slot as usize] = Node {
                generation: generation + 1,
                ..Node::free()
            };
            self.shapers[slot as usize] = Shapers::default();
            self.draining -= 1;
            self.recompute_quanta(parent);
            slot = parent;
        }
    }

    fn set_rules(&mut self, rules: &[Rule]) -> Result<(), ReconfigureError> {
        classifier::validate_conditions(rules).map_err(ReconfigureError::Plan)?;
        let mut queues = Vec::with_capacity(rules.len());
        for (index, rule) in (0_u32..).zip(rules) {
            let node = self
                .nodes
                .get(rule.queue as usize)
                .filter(|n| n.is_leaf() && !n.draining());
            let Some(node) = node else {
                return Err(plan_error(
                    Some(PlanItem::Rule(index)),
                    "queue",
                    "the slot of a queue that is there",
                ));
            };
            queues.push(node.id(rule.queue));
        }
        self.classifier = Classifier::compile(rules);
        self.rule_queues = queues;
        self.stamp += 1;
        self.rules_stamp = self.stamp;
        Ok(())
    }
}

/// A bucket under a new rate keeps its tokens; a new one is full (rule 7).
fn carry(now: u64, old: Option<Bucket>, new: Option<Rate>) -> Option<Bucket> {
    let mut bucket = Bucket::full(new?);
    if let Some(old) = old {
        bucket.level = old.level;
        bucket.level.convert(now, &old.rate, &bucket.rate);
    }
    Some(bucket)
}

fn node_item(slot: u32) -> Option<PlanItem> {
    Some(PlanItem::Node(slot))
}

fn plan_error(at: Option<PlanItem>, field: &'static str, expected: &'static str) -> ReconfigureError {
    ReconfigureError::Plan(PlanError { at, field, expected })
}
