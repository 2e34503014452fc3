//! The keys of a policy file. What they mean together is decided in `compile`.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{
    At, Definitions, Field, FrameRate, Many, Named, OneOrMany, Percent, Size, Time, Whole, choice, quantity,
    table,
};
use crate::syntax::cbq::{CbqClassText, CbqText, DisciplineWord};
use crate::syntax::matches::{DscpSet, MatchText, PcpSet};
use serde_json::json;

quantity! {
    /// A rate: absolute, or a share of the line rate.
    RateOrPercent { BitRate, Percent }
}
quantity! {
    /// The size of a bucket in bits: bytes, or the time for which the rate may be exceeded without bound.
    Burst { Size, Time }
}
quantity! {
    /// The size of a bucket in frames.
    FrameBurst { Frames, Time }
}
quantity! {
    /// The size of either bucket.
    AnyBurst { Size, Frames, Time }
}
quantity! {
    /// How much may wait: bytes, frames, or what the line sends in a time.
    QueueLimit { Size, Frames, Time }
}

choice! {
    /// What a class does with its children.
    Kind {
        /// By rank.
        Strict = "strict",
        /// By weight.
        Weighted = "weighted",
        /// A leaf.
        Queue = "queue",
    }
}
choice! {
    /// Named ways to count bytes.
    LayerName {
        /// With preamble and gap: +20 bytes, at least 84.
        L1 = "L1",
        /// The frame with FCS: at least 64.
        L2 = "L2",
        /// As Linux counts, without FCS: -4 bytes, at least 60.
        Kernel = "kernel",
        /// What the frame carries: -18 bytes, at least 46.
        Payload = "payload",
    }
}
choice! {
    /// What becomes of red frames.
    Red {
        /// They are dropped.
        Drop = "drop",
        /// They pass with their colour.
        Pass = "pass",
    }
}
choice! {
    /// Where frames are marked.
    MarkPoint {
        /// When they enter.
        Enqueue = "enqueue",
        /// When they leave.
        Dequeue = "dequeue",
    }
}

/// How a node counts bytes.
#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Name(LayerName),
    Table(LayerTable),
}

table! {
    /// A way to count bytes of one's own: `max(length + overhead, min)`, the length being the frame with FCS.
    LayerTable {
        /// Bytes added to a frame; may be negative.
        overhead: Whole<-1024, 1024> = required,
        /// The least that a frame counts, bytes.
        min: Whole<0, 16384>,
    }
}

impl Field for Layer {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => LayerTable::read(node, findings).map(Self::Table),
            _ => LayerName::read(node, findings).map(Self::Name),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [LayerName::schema(definitions), LayerTable::schema(definitions)] })
    }
}

table! {
    /// A policy: a tree of classes for one port, and the rules that lead frames to its leaves.
    PolicyText {
        /// A name; the file's name without ending unless given.
        name: String,
        /// What it is for, in a sentence.
        title: String,
        /// The document that it comes from.
        cites: String,
        /// How rates, bursts and weights count a frame, unless a class says otherwise; "L1" unless given.
        layer: Layer,
        /// The longest frame with FCS; 1522B unless given.
        frame_max: Size,
        /// Most frames held at once; 16384 unless given.
        frames_max: Whole<1, 1_000_000_000>,
        /// Most flows known at once; 1024 unless given, 65536 with a per-flow class.
        flows_max: Whole<0, 1_000_000_000>,
        /// Most classes at once, later ones included; 16 more than there are unless given.
        nodes_max: Whole<1, 1048576>,
        /// What carries the classes out: "tree", the traffic manager, unless given, or "cbq".
        discipline: DisciplineWord,
        /// Class-based queueing at this port.
        cbq: CbqText,
        /// What the port does with its classes.
        kind: Kind,
        /// Limit of the port.
        rate: RateOrPercent,
        /// Limit of the port in frames.
        frame_rate: FrameRate,
        /// Bucket of `rate`.
        burst: Burst,
        /// Bucket of `frame_rate`.
        frame_burst: FrameBurst,
        /// The class of frames that no rule matches.
        default: String,
        /// The classes.
        class: Named<ClassText>,
        /// Rules, first match wins; these come before the ones that stand in classes.
        r#match: Many<MatchText>,
    }
}

table! {
    /// A class: a queue, or a group of classes.
    ClassText {
        /// What it is for, in a sentence.
        title: String,
        /// What it does with its children: "strict" or "weighted"; "queue" for a leaf.
        kind: Kind,
        /// Place among the children of a strict class, 0 first; the order of the file unless given.
        rank: Whole<0, 63>,
        /// Share among the children of a weighted class, as a whole number.
        weight: Whole<1, 1_000_000>,
        /// Share among the children of a weighted class, as a percentage.
        share: Percent,
        /// Limit.
        rate: RateOrPercent,
        /// Limit in frames.
        frame_rate: FrameRate,
        /// Bucket of `rate`; two of the longest frames or 10 us at the rate, whichever is more, unless given.
        burst: Burst,
        /// Bucket of `frame_rate`; two frames or 10 us at the rate, whichever is more, unless given.
        frame_burst: FrameBurst,
        /// Rate below which the class goes before its siblings that are above theirs.
        guarantee: RateOrPercent,
        /// Bucket of `guarantee`.
        guarantee_burst: Burst,
        /// How this class counts a frame.
        layer: Layer,
        /// How much may wait (queue): bytes, frames or a time at line rate, or a list of them.
        limit: OneOrMany<QueueLimit>,
        /// Marks ECN-capable frames from this backlog on (queue).
        ecn: EcnText,
        /// Colours frames before they are queued (queue).
        meter: MeterText,
        /// A frame that waited longer is dropped at the head (queue).
        age_max: Time,
        /// One FIFO and one limit for each flow (queue).
        per_flow: PerFlowText,
        /// The gate that PAUSE, PFC or pause per output shuts (queue); the least priority of its matches unless given.
        gate: Whole<0, 63>,
        /// Priority code points that lead here: a rule of its own.
        pcp: PcpSet,
        /// Differentiated services code points that lead here: a rule of its own.
        dscp: DscpSet,
        /// The class in a class-based queueing discipline.
        cbq: CbqClassText,
        /// Rules that lead here.
        r#match: OneOrMany<MatchText>,
        /// The classes inside it.
        class: Named<Self>,
    }
}

table! {
    /// One limit for each flow.
    PerFlowText {
        /// Limit of each flow.
        rate: RateOrPercent,
        /// Limit of each flow in frames.
        frame_rate: FrameRate,
        /// Bucket of either.
        burst: AnyBurst,
        /// Most frames of one flow waiting; 128 unless given.
        limit: FlowLimit,
    }
}
quantity! {
    /// Frames of a flow.
    FlowLimit { Frames }
}

table! {
    /// A three-colour marker: RFC 2697 with `ebs`, RFC 2698 with `pir` and `pbs`.
    MeterText {
        /// Committed information rate.
        cir: RateOrPercent = required,
        /// Committed burst size.
        cbs: Size,
        /// Excess burst size (RFC 2697).
        ebs: Size,
        /// Peak information rate (RFC 2698).
        pir: RateOrPercent,
        /// Peak burst size (RFC 2698).
        pbs: Size,
        /// What becomes of red frames; "drop" unless given.
        red: Red,
    }
}

/// A threshold, or a table with it.
#[derive(Clone, Debug)]
pub(crate) struct EcnText {
    pub(crate) threshold: u64,
    pub(crate) at: MarkPoint,
}

table! {
    /// When ECN-capable frames are marked.
    EcnTable {
        /// Backlog from which on frames are marked.
        threshold: Size = required,
        /// Where the backlog is looked at; "enqueue" unless given.
        at: MarkPoint,
    }
}

impl Field for EcnText {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Value::Table(_) = &node.value {
            let table = EcnTable::read(node, findings)?;
            let at = table.at.map_or(MarkPoint::Enqueue, |at| at.value);
            return table.threshold.map(|t| Self {
                threshold: t.value.0,
                at,
            });
        }
        Size::read(node, findings).map(|size| Self {
            threshold: size.0,
            at: MarkPoint::Enqueue,
        })
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [Size::schema(definitions), EcnTable::schema(definitions)] })
    }
}

impl PolicyText {
    /// True where anything in it depends on the line rate.
    pub(crate) fn depends_on_line_rate(&self) -> bool {
        fn percent(rate: Option<&At<RateOrPercent>>) -> bool {
            matches!(rate.map(|r| r.value), Some(RateOrPercent::Percent(_)))
        }
        fn class(c: &ClassText) -> bool {
            let limits = c.limit.iter().flat_map(|l| &l.value.0);
            percent(c.rate.as_ref())
                || percent(c.guarantee.as_ref())
                || c.per_flow
                    .as_ref()
                    .is_some_and(|p| percent(p.value.rate.as_ref()))
                || c.meter
                    .as_ref()
                    .is_some_and(|m| percent(m.value.cir.as_ref()) || percent(m.value.pir.as_ref()))
                || limits.into_iter().any(|l| matches!(l.value, QueueLimit::Time(_)))
                || c.cbq
                    .as_ref()
                    .and_then(|c| c.value.tbf.as_ref())
                    .is_some_and(|t| percent(t.value.rate.as_ref()))
                || c.class.iter().flat_map(|n| &n.value.0).any(|n| class(&n.value))
        }
        // Without a bandwidth of its own the discipline has the line's.
        let bandwidth = self.cbq.as_ref().and_then(|c| c.value.bandwidth.as_ref());
        percent(self.rate.as_ref())
            || crate::cbq::is_asked(self) && (bandwidth.is_none() || percent(bandwidth))
            || self
                .class
                .iter()
                .flat_map(|n| &n.value.0)
                .any(|n| class(&n.value))
    }
}
