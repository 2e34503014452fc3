//! The traffic manager itself: the records of one port and the calls of the contract.
//!
//! * `node`: the tree's records; `heap`: waiting children; `flows`, `wheel` and `chunks`: per-flow queues;
//! * `select`: who goes next, and what becomes ready or stops being so;
//! * `queues`: what goes into a queue and comes out of it;
//! * `change`: live reconfiguration.
//!
//! The numbered rules in the comments are those of `docs/traffic-manager.md`.

mod change;
mod chunks;
mod flows;
mod forward;
mod heap;
mod moves;
mod node;
mod queues;
mod select;
mod wheel;

use crate::api::{
    Backlog, Classify, Counters, Dequeue, Ecn, Egress, FrameHandle, GateSet, NodeId, QueueId, RefuseReason,
    Refused, Target,
};
use crate::classifier::Classifier;
use crate::key::{FlowId, FlowKey};
use crate::meter::Meter;
use crate::plan::{Accounting, MarkAt, NodeKind, NodePlan, Plan, PlanError, QueueMode, QueuePlan};
use crate::shaper::{Bucket, Rate};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::vec::Vec;
use flows::{Flows, Standing};
use moves::Barrier;
use node::{Gates, Inner, Kind, Leaf, NEVER, NONE, Node, Round, Shapers};
use queues::Frames;

/// Instants are kept this much later than the caller's, so that what lies before the caller's origin after a
/// rebase keeps its order: 2^62 ps, about 53 days.
const BIAS: u64 = 1 << 62;

/// The root's slot.
const ROOT: u32 = 0;

/// One port's traffic manager. The fields that every frame touches stand together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct TrafficManager {
    nodes: Vec<Node>,
    inners: Vec<Inner>,
    leaves: Vec<Leaf>,
    frames: Frames,
    shapers: Vec<Shapers>,
    /// Latest instant seen, biased.
    now: u64,
    rules_stamp: u64,
    frame_bytes_max: u32,
    draining: u32,
    gates: Gates,
    flows: Flows,
    classifier: Classifier,
    rule_queues: Vec<NodeId>,
    barriers: Vec<Barrier>,
    /// Counts moves out of shared queues and replacements of the rules.
    stamp: u64,
    flows_max: u32,
    nodes_max: u32,
}

impl TrafficManager {
    /// A manager that carries out `plan`. All memory is taken here.
    ///
    /// # Errors
    /// The plan is not valid.
    pub fn new(plan: &Plan) -> Result<Self, PlanError> {
        plan.validate()?;
        let slots = plan.nodes_max as usize;
        let mut manager = Self {
            nodes: Vec::with_capacity(slots),
            shapers: Vec::with_capacity(slots),
            inners: Vec::new(),
            leaves: Vec::new(),
            frames: Frames::new(plan.frames_max),
            flows: Flows::new(plan.flows_max),
            gates: Gates::OPEN,
            classifier: Classifier::compile(&plan.rules),
            rule_queues: plan.rules.iter().map(|r| NodeId::first(r.queue)).collect(),
            barriers: Vec::new(),
            now: BIAS,
            stamp: 0,
            rules_stamp: 0,
            frame_bytes_max: plan.frame_bytes_max,
            flows_max: plan.flows_max,
            nodes_max: plan.nodes_max,
            draining: 0,
        };
        manager.nodes.resize(plan.nodes.len(), Node::free());
        manager.shapers.resize(plan.nodes.len(), Shapers::default());
        for (slot, node) in (0_u32..).zip(&plan.nodes) {
            manager.install(slot, node.parent.unwrap_or(NONE), node);
        }
        for slot in 0..manager.nodes.len() as u32 {
            manager.recompute_quanta(slot);
        }
        Ok(manager)
    }

    /// Writes a node into a free slot and hangs it below its parent.
    fn install(&mut self, slot: u32, parent: u32, plan: &NodePlan) {
        let cost_max = plan.accounting.cost(self.frame_bytes_max);
        let generation = self.nodes[slot as usize].generation;
        let (kind, body) = match &plan.kind {
            NodeKind::Strict => (Kind::Strict, self.inners.len()),
            NodeKind::Weighted => (Kind::Weighted, self.inners.len()),
            NodeKind::Queue(queue) => match queue.mode {
                QueueMode::Shared => (Kind::Shared, self.leaves.len()),
                QueueMode::PerFlow { .. } => (Kind::PerFlow, self.leaves.len()),
            },
        };
        let mut body = body as u32;
        match &plan.kind {
            NodeKind::Queue(queue) => {
                let leaf = new_leaf(queue, cost_max, self.stamp);
                if leaf.wheel.is_some() {
                    let others = self.leaves.iter().filter(|l| l.wheel.is_some()).count();
                    let lists = (others + 1) * wheel::LISTS;
                    self.flows.chunks.reserve(self.flows_max, lists);
                }
                match self.leaves.iter().position(|l| l.frames_max == 0) {
                    Some(free) => {
                        body = free as u32;
                        self.leaves[free] = leaf;
                    }
                    None => self.leaves.push(leaf),
                }
            }
            NodeKind::Strict | NodeKind::Weighted => {
                let by_rank = (kind == Kind::Strict).then(|| Box::new([NONE; 64]));
                let waiting = heap::Waiting::default();
                let (g, x) = (Round::EMPTY, Round::EMPTY);
                let inner = Inner {
                    g,
                    x,
                    waiting,
                    by_rank,
                    children: Vec::new(),
                    in_use: true,
                    frames_out: 0,
                    bytes_out: 0,
                };
                match self.inners.iter().position(|i| !i.in_use) {
                    Some(free) => {
                        body = free as u32;
                        self.inners[free] = inner;
                    }
                    None => self.inners.push(inner),
                }
            }
        }
        self.shapers[slot as usize] = Shapers {
            bits: plan.rate.map(|shape| Bucket::full(Rate::bits(shape, cost_max))),
            frames: plan.frame_rate.map(|shape| Bucket::full(Rate::frames(shape))),
            guarantee: plan
                .guarantee
                .map(|shape| Bucket::full(Rate::bits(shape, cost_max))),
        };
        self.nodes[slot as usize] = Node {
            parent,
            body,
            // At least one byte a frame, so that `cost` need not look.
            accounting: Accounting {
                min_bytes: plan.accounting.min_bytes.max(1),
                ..plan.accounting
            },
            kind,
            rank: plan.rank,
            weight: plan.weight,
            generation,
            ..Node::free()
        };
        let node = &mut self.nodes[slot as usize];
        node.set_shaped(&self.shapers[slot as usize]);
        node.set_guaranteed(plan.guarantee.is_some());
        if parent != NONE {
            let above = self.nodes[parent as usize].body as usize;
            let inner = &mut self.inners[above];
            inner.children.push(slot);
            inner.waiting.reserve(inner.children.len());
            if let Some(ranks) = &mut inner.by_rank {
                ranks[plan.rank as usize] = slot;
            }
        }
    }

    /// Brings the quanta of a weighted node's children up to date (rule 14).
    fn recompute_quanta(&mut self, slot: u32) {
        let node = &self.nodes[slot as usize];
        if node.kind != Kind::Weighted {
            return;
        }
        let longest = i64::from(node.accounting.cost(self.frame_bytes_max));
        let inner = &self.inners[node.body as usize];
        let least = inner
            .children
            .iter()
            .map(|&c| self.nodes[c as usize].weight)
            .min();
        let Some(least) = least else { return };
        let per_weight = (longest + i64::from(least) - 1) / i64::from(least);
        for &child in &inner.children {
            let child = &mut self.nodes[child as usize];
            child.quantum = per_weight * i64::from(child.weight);
        }
    }

    /// The caller's instant on the inner scale, never going back (rule 1).
    #[inline]
    fn clock(&mut self, now: Instant) -> u64 {
        let ps = now.as_ps().min(Instant::LIMIT.as_ps()) + BIAS;
        if ps > self.now {
            self.now = ps;
        }
        self.now
    }

    /// The slot of a node that is there.
    fn find(&self, id: NodeId) -> Option<u32> {
        let node = self.nodes.get(id.slot())?;
        (node.kind != Kind::Free && node.generation == id.generation()).then_some(id.slot() as u32)
    }

    /// The slot of a leaf that takes frames.
    #[inline]
    fn open_leaf(&self, id: NodeId) -> Option<u32> {
        let node = self.nodes.get(id.slot())?;
        let open = node.is_leaf() && node.generation == id.generation() && !node.draining();
        open.then_some(id.slot() as u32)
    }

    /// What passed a node since it was made; none for a node that is gone.
    #[must_use]
    pub fn counters(&self, id: NodeId) -> Option<Counters> {
        let node = &self.nodes[self.find(id)? as usize];
        let body = node.body as usize;
        if node.is_leaf() {
            return Some(self.leaves[body].counters);
        }
        let Inner {
            frames_out,
            bytes_out,
            ..
        } = self.inners[body];
        Some(Counters {
            frames_out,
            bytes_out,
            ..Counters::default()
        })
    }

    /// Flows known now.
    #[must_use]
    pub const fn flows_known(&self) -> u32 {
        self.flows.known
    }

    /// Frames queued and held in the whole port.
    #[must_use]
    pub const fn frames_queued(&self) -> u32 {
        self.frames.used
    }
}

fn new_leaf(queue: &QueuePlan, cost_max: u32, stamp: u64) -> Leaf {
    let (wheel, flow_rate, flow_frames_max) = match queue.mode {
        QueueMode::Shared => (None, None, u32::MAX),
        QueueMode::PerFlow {
            shape,
            flow_frames_max,
        } => {
            let rate = shape.map(|s| Rate::flow(s, cost_max));
            let gap_ps = rate.map(|rate| rate.gap_ps(cost_max));
            (Some(Box::new(wheel::Wheel::new(gap_ps))), rate, flow_frames_max)
        }
    };
    Leaf {
        head: NONE,
        tail: NONE,
        frames: 0,
        held_frames: 0,
        bytes: 0,
        held_bytes: 0,
        bytes_max: queue.bytes_max,
        frames_max: queue.frames_max,
        flow_frames_max,
        age_max_ps: queue.age_max.map_or(u64::MAX, Duration::as_ps),
        mark_bytes: queue.mark.map_or(u64::MAX, |m| m.threshold_bytes),
        mark_at: queue.mark.map_or(MarkAt::Enqueue, |m| m.at),
        gate: queue.gate,
        stamp,
        drop_red: queue.meter.is_some_and(|m| m.drop_red),
        meter: queue.meter.map(|m| Box::new(Meter::new(m.kind))),
        wheel,
        flow_rate,
        counters: Counters::default(),
    }
}

impl Classify for TrafficManager {
    fn classify(&mut self, now: Instant, key: &FlowKey) -> Result<Target, RefuseReason> {
        let now = self.clock(now);
        let id = FlowId::of(key);
        let hash = id.hash();
        let tag = hash as u32;
        let known = self.flows.find(&id, hash);
        if known != NONE {
            let flow = &self.flows.records[known as usize];
            let (queue, generation) = (flow.queue, flow.generation);
            if self.open_leaf(queue).is_some() {
                return Ok(Target {
                    queue,
                    flow: known,
                    tag,
                    stamp: u64::from(generation),
                });
            }
            // Its class is going or gone (rule 26): what is queued leaves first, then the flow is new.
            if flow.frames > 0 || flow.standing == Standing::Held || self.has_tagged(queue, tag) {
                return Err(RefuseReason::QueueGone);
            }
            self.flows.forget(known);
        }
        let rule = self.classifier.matches(key).ok_or(RefuseReason::NoRule)?;
        let queue = self.rule_queues[rule as usize];
        let leaf = self.open_leaf(queue).ok_or(RefuseReason::QueueGone)?;
        if self.nodes[leaf as usize].kind == Kind::Shared {
            return Ok(Target {
                queue,
                flow: NONE,
                tag,
                stamp: self.stamp,
            });
        }
        if !self.make_room(now) {
            return Err(RefuseReason::FlowsMax);
        }
        let flow = self.flows.insert(id, queue, Standing::Ordinary);
        self.flows.join_idle(flow);
        let stamp = u64::from(self.flows.records[flow as usize].generation);
        Ok(Target {
            queue,
            flow,
            tag,
            stamp,
        })
    }
}

impl TrafficManager {
    /// True where a flow record is free, after forgetting one that nobody can tell was there (rule 26).
    fn make_room(&mut self, now: u64) -> bool {
        if !self.flows.is_full() {
            return true;
        }
        let idle = self
            .flows
            .oldest_idle(|flow| flow.level.is_full(now) || self.find(flow.queue).is_none());
        idle.inspect(|&flow| self.flows.forget(flow)).is_some()
    }
}

impl Egress for TrafficManager {
    #[inline]
    fn enqueue(
        &mut self,
        now: Instant,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<QueueId, Refused> {
        let now = self.clock(now);
        self.put(now, to, handle, len, ecn)
            .map_err(|reason| Refused { handle, reason })
    }

    #[inline]
    fn forward(
        &mut self,
        now: Instant,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<Dequeue, Refused> {
        let now = self.clock(now);
        if let Some(desc) = self.pass(now, to, handle, len, ecn) {
            return Ok(Dequeue::Frame(desc));
        }
        self.put(now, to, handle, len, ecn)
            .map_err(|reason| Refused { handle, reason })?;
        Ok(self.serve(now))
    }

    #[inline]
    fn next_at(&self) -> Option<Instant> {
        let ready = self.ready_at(ROOT);
        (ready != NEVER).then(|| Instant::from_ps(ready.saturating_sub(BIAS)))
    }

    #[inline]
    fn dequeue(&mut self, now: Instant) -> Dequeue {
        let now = self.clock(now);
        self.serve(now)
    }

    fn pause(&mut self, now: Instant, gates: GateSet, until: Instant) {
        let now = self.clock(now);
        let until = until.as_ps().min(Instant::LIMIT.as_ps()) + BIAS;
        let until = if until <= now { 0 } else { until };
        for (gate, opens) in (0_u8..).zip(self.gates.all()) {
            if gates.has(gate) {
                *opens = until;
            }
        }
        for slot in 0..self.nodes.len() as u32 {
            let node = &self.nodes[slot as usize];
            if node.is_leaf() && gates.has(self.leaves[node.body as usize].gate) {
                self.touch(slot, now);
            }
        }
    }

    fn backlog(&self, queue: QueueId) -> Backlog {
        let Some(slot) = self.find(queue) else {
            return Backlog::default();
        };
        let node = &self.nodes[slot as usize];
        if !node.is_leaf() {
            return Backlog::default();
        }
        let leaf = &self.leaves[node.body as usize];
        Backlog {
            frames: leaf.backlog_frames(),
            bytes: leaf.backlog_bytes(),
            held_frames: leaf.held_frames,
        }
    }

    fn rebase(&mut self, by: Duration) {
        // The caller's clock may be ahead of its last call, so `now` may fall below its origin, never below ours.
        let by = by.as_ps().min(self.now);
        self.now -= by;
        for node in &mut self.nodes {
            node.own_at = node.own_at.saturating_sub(by);
        }
        for shapers in &mut self.shapers {
            shapers.rebase(by);
        }
        for inner in &mut self.inners {
            inner.waiting.rebase(by);
        }
        for leaf in &mut self.leaves {
            if let Some(meter) = &mut leaf.meter {
                meter.rebase(Duration::from_ps(by));
            }
            if let Some(wheel) = &mut leaf.wheel {
                wheel.rebase(&mut self.flows, &self.frames, by);
            }
        }
        for flow in &mut self.flows.records {
            flow.level.rebase(by);
        }
        for opens in self.gates.all() {
            *opens = opens.saturating_sub(by);
        }
        self.frames.rebase(by);
    }
}
