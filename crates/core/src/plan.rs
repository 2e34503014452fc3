//! The plan of one port: a validated, integer description of its tree, classifier rules and limits.
//!
//! A plan is what a policy compiles to. It is plain data; [`Plan::validate`] refuses whatever the manager could
//! not carry out, and names the node and the field.

use crate::time::Duration;
use alloc::vec::Vec;
use core::fmt;

/// No more nodes than this in one plan (20 bits of a [`crate::NodeId`]).
pub const NODES_MAX: u32 = 1 << 20;
/// Children of a strict node: one bit each.
pub const STRICT_RANKS: u8 = 64;
/// Gates of one port: one bit each in a [`crate::GateSet`].
pub const GATES: u8 = 64;
/// The deepest tree: with one visit a level and sixteen arrivals a visited node, 64 child visits a dequeue.
pub const DEPTH_MAX: usize = 8;

/// Everything one port's traffic manager needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// The tree; index 0 is the root and a parent stands before its children.
    pub nodes: Vec<NodePlan>,
    /// Classifier rules, first match wins. A rule with [`RuleMatch::default`] matches every frame.
    pub rules: Vec<Rule>,
    /// Most frames held at once, in all queues together.
    pub frames_max: u32,
    /// Most flows known at once (flows of per-flow queues and moved flows).
    pub flows_max: u32,
    /// Most nodes at once, room for classes added later included; at least `nodes.len()`.
    pub nodes_max: u32,
    /// The longest frame, in the bytes that `enqueue` is given.
    pub frame_bytes_max: u32,
}

/// One node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Index of the parent in [`Plan::nodes`]; `None` for the root alone.
    pub parent: Option<u32>,
    /// What the node does with its children, or the queue it is.
    pub kind: NodeKind,
    /// Place among the children of a strict parent, 0 first; unique there, unused elsewhere.
    pub rank: u8,
    /// Share among the children of a weighted parent, at least 1; unused elsewhere.
    pub weight: u32,
    /// Limit in bit/s.
    pub rate: Option<BitShape>,
    /// Limit in frames/s.
    pub frame_rate: Option<FrameShape>,
    /// Rate below which this child goes before siblings that are above theirs. Not for the root.
    pub guarantee: Option<BitShape>,
    /// How this node counts the bytes of a frame.
    pub accounting: Accounting,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Children in rank order: a child is served only when no eligible child of a lower rank waits.
    Strict,
    /// Deficit round robin by weight.
    Weighted,
    /// A leaf.
    Queue(QueuePlan),
}

/// A leaf of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuePlan {
    /// One FIFO, or one per flow.
    pub mode: QueueMode,
    /// Most bytes waiting (frame lengths as given to `enqueue`).
    pub bytes_max: u64,
    /// Most frames waiting.
    pub frames_max: u32,
    /// Congestion-experienced marking of ECN-capable frames.
    pub mark: Option<Mark>,
    /// The gate that PAUSE, PFC or pause per output shuts, below [`GATES`].
    pub gate: u8,
    /// Colours frames before they are queued.
    pub meter: Option<MeterPlan>,
    /// A frame older than this at its head is dropped.
    pub age_max: Option<Duration>,
}

/// How a leaf keeps its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueMode {
    /// One FIFO.
    Shared,
    /// One FIFO and one shaper for each flow.
    PerFlow {
        /// The limit of each flow; none lets flows take turns frame by frame.
        shape: Option<FlowShape>,
        /// Most frames of one flow waiting.
        flow_frames_max: u32,
    },
}

/// The limit of each flow of a per-flow queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowShape {
    /// In bit/s, counted by the leaf's accounting.
    Bits(BitShape),
    /// In frames/s.
    Frames(FrameShape),
}

/// A token bucket in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitShape {
    /// Bits per second, at least 1.
    pub rate_bps: u64,
    /// Bucket size in counted bytes; at least the longest frame as the node counts it.
    pub burst_bytes: u64,
}

/// A token bucket in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameShape {
    /// Frames per second, at least 1.
    pub rate_fps: u64,
    /// Bucket size in frames, at least 1.
    pub burst_frames: u64,
}

/// How a node counts a frame: `max(len + overhead, min)` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Accounting {
    /// Added to the frame's length; 20 turns L2 with FCS into L1 (preamble and gap).
    pub overhead_bytes: i32,
    /// The least a frame counts.
    pub min_bytes: u32,
}

impl Accounting {
    /// The bytes that a frame of `len` counts for, at least 1.
    #[must_use]
    pub const fn cost(&self, len: u32) -> u32 {
        let sum = len.saturating_add_signed(self.overhead_bytes);
        if sum > self.min_bytes {
            sum
        } else if self.min_bytes > 1 {
            self.min_bytes
        } else {
            1
        }
    }
}

/// When ECN-capable frames are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Mark when the queue holds at least this many bytes (before the frame at enqueue, after it at dequeue).
    pub threshold_bytes: u64,
    /// Where the backlog is looked at.
    pub at: MarkAt,
}

/// Where a frame is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// When it enters.
    Enqueue,
    /// When it leaves.
    Dequeue,
}

/// A three-colour marker and what becomes of red frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterPlan {
    /// The marker.
    pub kind: MeterKind,
    /// True drops red frames at enqueue; false lets them pass with their colour.
    pub drop_red: bool,
}

/// RFC 2697 and RFC 2698 in colour-blind mode. Bytes are frame lengths as given to `enqueue`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterKind {
    /// Single rate three colour marker (RFC 2697).
    SingleRate {
        /// Committed information rate, bit/s.
        cir_bps: u64,
        /// Committed burst size, bytes.
        cbs_bytes: u64,
        /// Excess burst size, bytes.
        ebs_bytes: u64,
    },
    /// Two rate three colour marker (RFC 2698).
    TwoRate {
        /// Committed information rate, bit/s.
        cir_bps: u64,
        /// Committed burst size, bytes.
        cbs_bytes: u64,
        /// Peak information rate, bit/s; at least the committed one.
        pir_bps: u64,
        /// Peak burst size, bytes.
        pbs_bytes: u64,
    },
}

/// One classifier rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What a frame must carry.
    pub matches: RuleMatch,
    /// Index in [`Plan::nodes`] of the queue it goes to.
    pub queue: u32,
}

/// The conditions of a rule: every one that is there must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RuleMatch {
    /// Destination MAC address.
    pub dst_mac: Option<u64>,
    /// Source MAC address.
    pub src_mac: Option<u64>,
    /// VLAN identifier (0 matches untagged and priority-tagged frames).
    pub vlan_id: Option<u16>,
    /// Priority code points, one bit each; an untagged frame counts as 0.
    pub pcp: Option<u8>,
    /// EtherType after any VLAN tag.
    pub ethertype: Option<u16>,
    /// Source IP prefix.
    pub src_ip: Option<IpPrefix>,
    /// Destination IP prefix.
    pub dst_ip: Option<IpPrefix>,
    /// Differentiated services code points, one bit each. Only IP packets match.
    pub dscp: Option<u64>,
    /// IP protocol number. Only IP packets match.
    pub protocol: Option<u8>,
    /// Source ports, first and last. Only TCP, UDP, SCTP and DCCP packets match.
    pub src_port: Option<(u16, u16)>,
    /// Destination ports, first and last. Only TCP, UDP, SCTP and DCCP packets match.
    pub dst_port: Option<(u16, u16)>,
}

/// An IP prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpPrefix {
    /// 4 or 6.
    pub version: u8,
    /// The address; IPv4 in the low 32 bits.
    pub address: u128,
    /// Leading bits that must agree, at most 32 or 128.
    pub length: u8,
}

/// Why a plan was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// Index of the node or rule it is about; `None` for the plan as a whole.
    pub at: Option<PlanItem>,
    /// The field.
    pub field: &'static str,
    /// What was expected.
    pub expected: &'static str,
}

/// What a [`PlanError`] points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanItem {
    /// Index in [`Plan::nodes`].
    Node(u32),
    /// Index in [`Plan::rules`].
    Rule(u32),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(PlanItem::Node(n)) => write!(f, "node {n}: ")?,
            Some(PlanItem::Rule(r)) => write!(f, "rule {r}: ")?,
            None => {}
        }
        write!(f, "{}: expected {}", self.field, self.expected)
    }
}
impl core::error::Error for PlanError {}
