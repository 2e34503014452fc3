//! What of a plan, a refusal or a refused change counts as met.

use super::seen::Seen;
use crate::model::Fault;
use clearway_core::RefuseReason;
use clearway_core::plan::{FlowShape, MarkAt, MeterKind, NodeKind, Plan, QueueMode};

impl Seen {
    pub(crate) fn refused(&mut self, reason: RefuseReason) {
        self.note(match reason {
            RefuseReason::NoRule => "refused no-rule",
            RefuseReason::QueueGone => "refused queue-gone",
            RefuseReason::StaleTarget => "refused stale-target",
            RefuseReason::FlowsMax => "refused flows-max",
            RefuseReason::FramesMax => "refused frames-max",
            RefuseReason::QueueFull => "refused queue-full",
            RefuseReason::FlowFull => "refused flow-full",
            RefuseReason::MeterRed => "refused meter-red",
            RefuseReason::FrameLength => "refused frame-length",
        });
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.note(match fault {
            Fault::NodeGone(_) => "change refused: node gone",
            Fault::Root => "change refused: root",
            Fault::FlowElsewhere(_) => "change refused: elsewhere",
            Fault::WrongKind(_) => "change refused: wrong kind",
            Fault::NodesMax => "change refused: nodes max",
            Fault::FlowsMax => "change refused: flows max",
            Fault::Plan => "change refused: plan",
        });
    }

    pub(crate) fn plan(&mut self, plan: &Plan) {
        let mut levels = vec![1; plan.nodes.len()];
        let seen = self;
        for (index, node) in plan.nodes.iter().enumerate() {
            levels[index] = node.parent.map_or(1, |p| levels[p as usize] + 1);
            let children = plan
                .nodes
                .iter()
                .filter(|n| n.parent == Some(index as u32))
                .count();
            seen.note_if(children > 16, "more than 16 children");
            seen.note_if(node.rate.is_some(), "rate");
            seen.note_if(node.frame_rate.is_some(), "frame rate");
            seen.note_if(node.rate.is_some() && node.frame_rate.is_some(), "both shapers");
            seen.note_if(node.accounting.overhead_bytes != 0, "accounting");
            if let (Some(_), Some(parent)) = (node.guarantee, node.parent) {
                let strict = plan.nodes[parent as usize].kind == NodeKind::Strict;
                seen.note(if strict {
                    "guarantee below strict"
                } else {
                    "guarantee below weighted"
                });
            }
            match &node.kind {
                NodeKind::Strict => seen.note("strict"),
                NodeKind::Weighted => seen.note("weighted"),
                NodeKind::Queue(queue) => {
                    match queue.mode {
                        QueueMode::Shared => seen.note("shared queue"),
                        QueueMode::PerFlow { shape, .. } => {
                            seen.note("per-flow queue");
                            seen.note(match shape {
                                None => "flow shape none",
                                Some(FlowShape::Bits(_)) => "flow shape bits",
                                Some(FlowShape::Frames(_)) => "flow shape frames",
                            });
                        }
                    }
                    seen.note_if(queue.age_max.is_some(), "age limit");
                    seen.note_if(
                        queue.mark.is_some_and(|m| m.at == MarkAt::Enqueue),
                        "mark at enqueue",
                    );
                    seen.note_if(
                        queue.mark.is_some_and(|m| m.at == MarkAt::Dequeue),
                        "mark at dequeue",
                    );
                    let kind = queue.meter.map(|m| m.kind);
                    seen.note_if(
                        matches!(kind, Some(MeterKind::SingleRate { .. })),
                        "meter of one rate",
                    );
                    seen.note_if(
                        matches!(kind, Some(MeterKind::TwoRate { .. })),
                        "meter of two rates",
                    );
                }
            }
        }
        seen.note(match levels.iter().max() {
            Some(1) => "plan of 1 level",
            Some(2) => "plan of 2 levels",
            Some(3) => "plan of 3 levels",
            _ => "plan of 4 levels",
        });
    }
}
