//! The slow reference model of the traffic manager: `docs/traffic-manager.md` rule by rule, in vectors, linear scans
//! and 128-bit numbers. It uses the plan and the answer types of `clearway-core` and nothing else of it.
//!
//! Time inside the model never goes back and is never shifted: `rebase` only changes how instants are told.

mod bucket;
mod calls;
mod change;
mod look;
mod rules;
mod tree;

use bucket::{Bucket, Meter, Time};
pub(crate) use change::{Changed, Fault, ModelChange};
use clearway_core::plan::{Accounting, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, RuleMatch};
use clearway_core::{Backlog, Colour, Counters, DropReason, FlowId, FrameHandle, NodeId, RefuseReason};

/// A node's name: slot and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) slot: usize,
    pub(crate) generation: u32,
}

impl From<NodeId> for Name {
    fn from(id: NodeId) -> Self {
        Self {
            slot: id.slot(),
            generation: id.generation(),
        }
    }
}

/// What the model's `classify` answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelTarget {
    pub(crate) queue: Name,
    flow: FlowId,
    /// Slot and generation of a known flow.
    slot: Option<(usize, u32)>,
    /// How many changes there had been.
    given: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) handle: FrameHandle,
    pub(crate) len: u32,
    pub(crate) queue: Name,
    pub(crate) colour: Colour,
    pub(crate) ce: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Frame(Left),
    Drop(Left, DropReason),
    Wait { until_ps: u64, reason: Reason },
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Shaper(Name),
    FlowShaper(Name),
    Gate(Name),
}

#[derive(Clone, Debug)]
struct Frame {
    handle: FrameHandle,
    len: u32,
    flow: FlowId,
    capable: bool,
    ce: bool,
    colour: Colour,
    entered: Time,
}

/// Where a child stands in its parent, rule 11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Waiting(Time),
    InG,
    InX,
}

#[derive(Clone, Debug)]
struct Node {
    name: Name,
    parent: Option<usize>,
    rank: u8,
    weight: u32,
    accounting: Accounting,
    rate: Option<Bucket>,
    frame_rate: Option<Bucket>,
    guarantee: Option<Bucket>,
    draining: bool,
    state: State,
    deficit: i128,
    counters: Counters,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    /// Children in the rounds G and X, in the order in which they joined.
    Inner {
        strict: bool,
        g: Vec<usize>,
        x: Vec<usize>,
    },
    Leaf(Box<Leaf>),
}

#[derive(Clone, Debug)]
struct Leaf {
    plan: QueuePlan,
    meter: Option<Meter>,
    /// Frames of a shared queue. Those of a per-flow queue stand with their flows.
    fifo: Vec<Frame>,
    /// When a flow was last moved out of it, in changes.
    moved_out: u64,
}

impl Leaf {
    fn is_shared(&self) -> bool {
        matches!(self.plan.mode, QueueMode::Shared)
    }
}

/// A known flow, rule 26.
#[derive(Clone, Debug)]
struct Flow {
    id: FlowId,
    queue: Name,
    home: Name,
    frames: Vec<Frame>,
    /// When the first of `frames` became head.
    head_since: Time,
    bucket: Option<Bucket>,
    held: Vec<Frame>,
    /// The shared queue whose older frames of this flow must leave first.
    waits_for: Option<Name>,
    /// Place in the order of idle flows.
    idle: Option<u64>,
}

impl Flow {
    fn instant(&self) -> Time {
        self.bucket
            .as_ref()
            .map_or(self.head_since, |b| b.eligible_from().max(self.head_since))
    }
    fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.held.is_empty()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    nodes: Vec<Option<Node>>,
    /// How often each slot was given out.
    given_out: Vec<u32>,
    nodes_max: usize,
    frames_max: u32,
    frame_bytes_max: u32,
    rules: Vec<(RuleMatch, Name)>,
    /// When the rules were last replaced, in changes.
    rules_replaced: u64,
    changes: u64,
    flows: Vec<Option<Flow>>,
    flow_generations: Vec<u32>,
    /// Free flow slots; the last is given next.
    free_flows: Vec<usize>,
    idle_count: u64,
    /// How many flows had to go to make room.
    pub(crate) forgotten: u64,
    /// The most children that joined at one visit.
    pub(crate) most_joins: u32,
    gates: Vec<Option<Time>>,
    /// The latest `now` seen, and where the caller's origin is.
    latest: Time,
    origin: Time,
}

impl Model {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut model = Self {
            nodes: Vec::new(),
            given_out: Vec::new(),
            nodes_max: plan.nodes_max as usize,
            frames_max: plan.frames_max,
            frame_bytes_max: plan.frame_bytes_max,
            rules: Vec::new(),
            rules_replaced: 0,
            changes: 0,
            flows: Vec::new(),
            flow_generations: vec![0; plan.flows_max as usize],
            free_flows: (0..plan.flows_max as usize).rev().collect(),
            idle_count: 0,
            forgotten: 0,
            most_joins: 0,
            gates: vec![None; 64],
            latest: 0,
            origin: 0,
        };
        model.flows.resize(plan.flows_max as usize, None);
        model.nodes.resize(model.nodes_max, None);
        model.given_out.resize(model.nodes_max, 0);
        for (slot, node) in plan.nodes.iter().enumerate() {
            model.put(slot, node, node.parent.map(|p| p as usize));
        }
        let name = |queue: u32| Name {
            slot: queue as usize,
            generation: 0,
        };
        model.rules = plan.rules.iter().map(|r| (r.matches, name(r.queue))).collect();
        model
    }

    fn put(&mut self, slot: usize, plan: &NodePlan, parent: Option<usize>) -> Name {
        let now = self.latest;
        let name = Name {
            slot,
            generation: self.given_out[slot],
        };
        self.given_out[slot] += 1;
        let longest = cost(plan.accounting, self.frame_bytes_max);
        let body = match &plan.kind {
            NodeKind::Strict => Body::Inner {
                strict: true,
                g: Vec::new(),
                x: Vec::new(),
            },
            NodeKind::Weighted => Body::Inner {
                strict: false,
                g: Vec::new(),
                x: Vec::new(),
            },
            NodeKind::Queue(queue) => Body::Leaf(Box::new(Leaf {
                plan: queue.clone(),
                meter: queue.meter.map(|m| Meter::new(m.kind)),
                fifo: Vec::new(),
                moved_out: 0,
            })),
        };
        self.nodes[slot] = Some(Node {
            name,
            parent,
            rank: plan.rank,
            weight: plan.weight,
            accounting: plan.accounting,
            rate: plan.rate.map(|s| Bucket::bits(s, longest, now)),
            frame_rate: plan.frame_rate.map(|s| Bucket::frames(s, now)),
            guarantee: plan.guarantee.map(|s| Bucket::bits(s, longest, now)),
            draining: false,
            state: State::Idle,
            deficit: 0,
            counters: Counters::default(),
            body,
        });
        name
    }

    /// Rule 1.
    fn see(&mut self, now_ps: u64) -> Time {
        self.latest = self.latest.max(self.origin + Time::from(now_ps));
        self.latest
    }

    fn tell(&self, at: Time) -> u64 {
        u64::try_from(at - self.origin).unwrap_or(u64::MAX)
    }

    fn node(&self, slot: usize) -> &Node {
        self.nodes[slot].as_ref().expect("the slot of a present node")
    }
    fn node_mut(&mut self, slot: usize) -> &mut Node {
        self.nodes[slot].as_mut().expect("the slot of a present node")
    }
    fn leaf(&self, slot: usize) -> &Leaf {
        match &self.node(slot).body {
            Body::Leaf(leaf) => leaf,
            Body::Inner { .. } => panic!("node {slot} is no leaf"),
        }
    }
    fn leaf_mut(&mut self, slot: usize) -> &mut Leaf {
        match &mut self.node_mut(slot).body {
            Body::Leaf(leaf) => leaf,
            Body::Inner { .. } => panic!("node {slot} is no leaf"),
        }
    }

    /// The node of that name, if it is there (it may be draining).
    fn present(&self, name: Name) -> Option<&Node> {
        self.nodes
            .get(name.slot)?
            .as_ref()
            .filter(|node| node.name == name)
    }
    fn is_live(&self, name: Name) -> bool {
        self.present(name).is_some_and(|node| !node.draining)
    }

    /// `M` of rule 3.
    fn longest(&self, slot: usize) -> u64 {
        cost(self.node(slot).accounting, self.frame_bytes_max)
    }

    /// Every frame of a queue: those that may be served, then those held.
    fn frames_of(&self, slot: usize) -> (Vec<&Frame>, Vec<&Frame>) {
        let name = self.node(slot).name;
        let flows = || self.flows.iter().flatten().filter(|f| f.queue == name);
        let mut queued: Vec<&Frame> = self.leaf(slot).fifo.iter().collect();
        queued.extend(flows().flat_map(|f| &f.frames));
        (queued, flows().flat_map(|f| &f.held).collect())
    }

    fn backlog_of(&self, slot: usize) -> Backlog {
        let (queued, held) = self.frames_of(slot);
        Backlog {
            frames: (queued.len() + held.len()) as u32,
            bytes: queued.iter().chain(&held).map(|f| u64::from(f.len)).sum(),
            held_frames: held.len() as u32,
        }
    }

    pub(crate) fn backlog(&self, queue: Name) -> Backlog {
        match self.present(queue) {
            Some(Node {
                body: Body::Leaf(_), ..
            }) => self.backlog_of(queue.slot),
            _ => Backlog::default(),
        }
    }

    pub(crate) fn counters(&self, node: Name) -> Option<Counters> {
        self.present(node).map(|n| n.counters)
    }

    pub(crate) fn frames_held_by_port(&self) -> u32 {
        (0..self.nodes.len())
            .filter(|&s| self.is_leaf(s))
            .map(|s| self.backlog_of(s).frames)
            .sum()
    }

    fn is_leaf(&self, slot: usize) -> bool {
        matches!(
            self.nodes[slot],
            Some(Node {
                body: Body::Leaf(_),
                ..
            })
        )
    }

    /// Rule 28.
    pub(crate) fn rebase(&mut self, by_ps: u64) {
        self.origin += Time::from(by_ps);
    }

    fn known(&self, flow: FlowId) -> Option<usize> {
        self.flows
            .iter()
            .position(|f| f.as_ref().is_some_and(|f| f.id == flow))
    }
    fn flow(&self, slot: usize) -> &Flow {
        self.flows[slot].as_ref().expect("the slot of a known flow")
    }
    fn flow_mut(&mut self, slot: usize) -> &mut Flow {
        self.flows[slot].as_mut().expect("the slot of a known flow")
    }
}

/// Rule 2.
fn cost(accounting: Accounting, len: u32) -> u64 {
    let counted = i128::from(len) + i128::from(accounting.overhead_bytes);
    counted
        .max(i128::from(accounting.min_bytes))
        .clamp(1, i128::from(u32::MAX)) as u64
}

/// What `classify` and `enqueue` answer when they refuse.
pub(crate) type Refusal = RefuseReason;
