//! The contract: what goes in, what comes out, and when to call again.

use crate::key::{FlowId, FlowKey};
use crate::plan::{BitShape, FlowShape, FrameShape, NodePlan, PlanError, Rule};
use crate::time::{Duration, Instant};
use core::fmt;

/// The caller's name for a frame that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameHandle(pub u32);

/// A node of the tree: its slot, and a generation that makes the name of a removed node stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// The name of a leaf.
pub type QueueId = NodeId;

impl NodeId {
    const SLOT_BITS: u32 = 20;
    /// The node at this slot in its first generation: plan node `slot` before any reconfiguration.
    #[must_use]
    pub const fn first(slot: u32) -> Self {
        Self(slot)
    }
    pub(crate) const fn new(slot: u32, generation: u32) -> Self {
        Self(slot | (generation << Self::SLOT_BITS))
    }
    /// Index of the node among all slots.
    #[must_use]
    pub const fn slot(self) -> usize {
        (self.0 & ((1 << Self::SLOT_BITS) - 1)) as usize
    }
    /// How often the slot was given out before.
    #[must_use]
    pub const fn generation(self) -> u32 {
        self.0 >> Self::SLOT_BITS
    }
}

/// Where a frame goes: the answer of a classifier. Callers may keep it for later frames of the same flow.
/// Twenty bytes, so that a caller can keep many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Target {
    /// The queue.
    pub queue: QueueId,
    pub(crate) flow: u32,
    pub(crate) tag: u32,
    /// The flow slot's generation, or without a slot the count of changes when it was given.
    pub(crate) stamp: u64,
}

impl Target {
    /// What a place for a target holds before [`Classify::classify`] was asked: every manager refuses it.
    pub const UNKNOWN: Self = Self {
        queue: NodeId(0),
        flow: Self::NOBODY,
        tag: 0,
        stamp: 0,
    };
    /// Beyond every flow record, and not the mark of a frame without one.
    const NOBODY: u32 = u32::MAX - 1;

    /// True unless it is [`Target::UNKNOWN`].
    #[must_use]
    #[inline]
    pub const fn is_known(self) -> bool {
        self.flow != Self::NOBODY
    }
}

/// The ECN field of an IP packet (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotCapable,
    /// ECN-capable, ECT(0) or ECT(1).
    Capable,
    /// Congestion experienced.
    Marked,
}

/// The colour that a meter gave a frame (RFC 2697, RFC 2698).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Colour {
    /// Within the committed rate.
    #[default]
    Green,
    /// Above the committed, within the excess or peak.
    Yellow,
    /// Above both.
    Red,
}

/// What leaves: a frame's handle and what the manager knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameDesc {
    /// The caller's handle.
    pub handle: FrameHandle,
    /// Length in bytes as given to `enqueue`.
    pub len: u32,
    /// The leaf it left from.
    pub queue: QueueId,
    /// The meter's colour.
    pub colour: Colour,
    /// Congestion experienced: set by the sender or by the queue.
    pub ce: bool,
}

/// Why a frame was not taken. The caller still owns the handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The handle that came in.
    pub handle: FrameHandle,
    /// Why.
    pub reason: RefuseReason,
}

/// Why a frame or a classification was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefuseReason {
    /// No rule matches.
    NoRule,
    /// The queue was removed or is draining.
    QueueGone,
    /// The flow was moved or forgotten since the target was given: classify again.
    StaleTarget,
    /// The flow table is full of flows that are still in use.
    FlowsMax,
    /// The port holds `frames_max` frames.
    FramesMax,
    /// The queue is at its limit in bytes or frames.
    QueueFull,
    /// The flow is at its limit in frames.
    FlowFull,
    /// The meter coloured the frame red and drops red frames.
    MeterRed,
    /// Longer than the plan's longest frame, or empty.
    FrameLength,
}

impl RefuseReason {
    /// All reasons, in the order in which counters list them.
    pub const ALL: [Self; 9] = [
        Self::NoRule,
        Self::QueueGone,
        Self::StaleTarget,
        Self::FlowsMax,
        Self::FramesMax,
        Self::QueueFull,
        Self::FlowFull,
        Self::MeterRed,
        Self::FrameLength,
    ];
    /// A name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRule => "no-rule",
            Self::QueueGone => "queue-gone",
            Self::StaleTarget => "stale-target",
            Self::FlowsMax => "flows-max",
            Self::FramesMax => "frames-max",
            Self::QueueFull => "queue-full",
            Self::FlowFull => "flow-full",
            Self::MeterRed => "meter-red",
            Self::FrameLength => "frame-length",
        }
    }
}

/// Why a frame was dropped at the head of its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// It waited longer than its queue allows.
    Aged,
}

/// The answer of [`Egress::dequeue`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dequeue {
    /// Send this frame. Ask again when the transmitter is free.
    Frame(FrameDesc),
    /// A frame was dropped at the head. Ask again at once.
    Drop(FrameDesc, DropReason),
    /// Nothing sooner than `until`, unless `enqueue`, `pause`, `rebase` or a reconfiguration comes first.
    Wait {
        /// The first instant at which a frame can leave.
        until: Instant,
        /// What it waits for.
        reason: WaitReason,
    },
    /// Nothing until `enqueue`.
    Empty,
}

/// What a waiting port waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A node's shaper.
    Shaper(NodeId),
    /// The shaper of a flow of this queue.
    FlowShaper(QueueId),
    /// The gate of this queue.
    Gate(QueueId),
}

/// A set of gates: bit `g` is gate `g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GateSet(pub u64);

impl GateSet {
    /// Every gate: an IEEE 802.3x PAUSE.
    pub const ALL: Self = Self(u64::MAX);
    /// One gate: one priority of a PFC frame, or one output.
    #[must_use]
    pub const fn one(gate: u8) -> Self {
        Self(1 << (gate & 63))
    }
    /// True where `gate` is in the set.
    #[must_use]
    pub const fn has(self, gate: u8) -> bool {
        self.0 >> (gate & 63) & 1 == 1
    }
}

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Frames, held ones included.
    pub frames: u32,
    /// Bytes, held ones included.
    pub bytes: u64,
    /// Frames of moved flows that wait for older frames elsewhere.
    pub held_frames: u32,
}

/// What passed a node. Bytes are frame lengths as given to `enqueue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Frames that entered (leaves only).
    pub frames_in: u64,
    /// Bytes that entered (leaves only).
    pub bytes_in: u64,
    /// Frames that left to the transmitter.
    pub frames_out: u64,
    /// Bytes that left to the transmitter.
    pub bytes_out: u64,
    /// Frames refused for a full queue or flow, or by the meter (leaves only).
    pub frames_refused: u64,
    /// Frames dropped at the head (leaves only).
    pub frames_dropped: u64,
    /// Frames marked congestion experienced here (leaves only).
    pub frames_marked: u64,
    /// Frames moved in from another queue (leaves only).
    pub frames_moved_in: u64,
    /// Frames moved out to another queue (leaves only).
    pub frames_moved_out: u64,
}

/// Which queue and flow a frame belongs to.
pub trait Classify {
    /// Queue and flow slot. Callers may keep the target for later frames with the same key.
    ///
    /// # Errors
    /// `NoRule`, `QueueGone`, `FlowsMax`.
    fn classify(&mut self, now: Instant, key: &FlowKey) -> Result<Target, RefuseReason>;
}

/// A traffic manager as its transmitter sees it. A `now` that goes back counts as the latest seen.
pub trait Egress {
    /// Meters and queues a frame. On refusal the caller keeps its handle.
    ///
    /// # Errors
    /// Says why the frame was not taken.
    fn enqueue(
        &mut self,
        now: Instant,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<QueueId, Refused>;
    /// Enqueues a frame and dequeues at once, for a transmitter that is free: the same answers, states and counters as
    /// the two calls, in a shorter way where the port is empty.
    ///
    /// # Errors
    /// As `enqueue`; then nothing was dequeued.
    fn forward(
        &mut self,
        now: Instant,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<Dequeue, Refused> {
        self.enqueue(now, to, handle, len, ecn)?;
        Ok(self.dequeue(now))
    }
    /// The first instant at which `dequeue` gives a frame as things stand, in the past where it would at once; none
    /// where nothing is queued. Saves a transmitter that is busy till then a call that would say `Wait`.
    fn next_at(&self) -> Option<Instant>;
    /// Call when the transmitter can take a frame. Spurious calls are harmless.
    fn dequeue(&mut self, now: Instant) -> Dequeue;
    /// Shuts gates until then: PAUSE all of them, PFC a priority's, pause per output or credit one. `until <= now`
    /// opens them.
    fn pause(&mut self, now: Instant, gates: GateSet, until: Instant);
    /// What a queue holds; zero for a queue that is gone.
    fn backlog(&self, queue: QueueId) -> Backlog;
    /// Moves the origin of time `by` later, so that every stored instant shrinks by it. The next `now` is given
    /// on the new scale. A control call; walks all state.
    fn rebase(&mut self, by: Duration);
}

/// A live change. None loses or reorders a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A node's limit in bit/s; tokens are kept up to the new burst.
    Rate {
        /// The node.
        node: NodeId,
        /// The new limit, or none.
        rate: Option<BitShape>,
    },
    /// A node's limit in frames/s; tokens are kept up to the new burst.
    FrameRate {
        /// The node.
        node: NodeId,
        /// The new limit, or none.
        rate: Option<FrameShape>,
    },
    /// A child's guarantee; tokens are kept up to the new burst.
    Guarantee {
        /// The node.
        node: NodeId,
        /// The new guarantee, or none.
        guarantee: Option<BitShape>,
    },
    /// A child's weight, at least 1.
    Weight {
        /// The node.
        node: NodeId,
        /// The new weight.
        weight: u32,
    },
    /// The limit of each flow of a per-flow queue.
    FlowShape {
        /// The queue.
        queue: QueueId,
        /// The new limit, or none.
        shape: Option<FlowShape>,
    },
    /// A new class; `plan.parent` is ignored in favour of `parent`.
    Add {
        /// Where it hangs.
        parent: NodeId,
        /// What it is.
        plan: NodePlan,
    },
    /// Removes a class. It takes no new frames, drains at its last rate and weight, and is then gone.
    Remove {
        /// The node, with everything below it.
        node: NodeId,
    },
    /// Moves a flow to another queue while frames of it wait.
    MoveFlow {
        /// The flow.
        flow: FlowId,
        /// The queue it is in now: what the rules say, unless it was moved before.
        from: QueueId,
        /// The queue it goes to.
        to: QueueId,
    },
    /// Replaces the classifier's rules; `queue` of each rule is a node slot. Flows that the manager knows (moved, or of
    /// a per-flow queue) stay where they are; a flow of a shared queue that the new rules send elsewhere may overtake
    /// its own queued frames: move it first where its order matters.
    Rules(alloc::vec::Vec<Rule>),
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigured {
    /// It is in force.
    Done,
    /// The new node.
    Added(NodeId),
    /// The node drains `frames` and is then gone (gone already where it is zero).
    Draining {
        /// Frames still queued below it.
        frames: u32,
    },
}

/// Why a change was refused; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconfigureError {
    /// No such node: never there, removed, or draining.
    NodeGone(NodeId),
    /// The root takes neither weight nor guarantee and cannot be removed.
    Root,
    /// The flow is not in that queue.
    FlowElsewhere(QueueId),
    /// The node is of another kind than the change needs.
    WrongKind(NodeId),
    /// The plan's `nodes_max` is reached.
    NodesMax,
    /// The plan's `flows_max` is reached.
    FlowsMax,
    /// The new value is not a valid plan.
    Plan(PlanError),
}

impl fmt::Display for ReconfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeGone(n) => write!(f, "node {} is not there", n.slot()),
            Self::Root => f.write_str("the root takes no weight and no guarantee and cannot be removed"),
            Self::FlowElsewhere(n) => write!(f, "the flow is not in queue {}", n.slot()),
            Self::WrongKind(n) => write!(f, "node {} is of another kind", n.slot()),
            Self::NodesMax => f.write_str("the plan's nodes_max is reached"),
            Self::FlowsMax => f.write_str("the plan's flows_max is reached"),
            Self::Plan(e) => e.fmt(f),
        }
    }
}
impl core::error::Error for ReconfigureError {}
