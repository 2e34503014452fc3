//! What makes a plan valid: one pass over nodes and rules, each refusal naming its field.

use crate::classifier;
use crate::meter;
use crate::plan::{
    BitShape, DEPTH_MAX, FlowShape, FrameShape, GATES, NODES_MAX, NodeKind, NodePlan, Plan, PlanError,
    PlanItem, QueueMode, STRICT_RANKS,
};
use crate::shaper::{COST_MAX, FILL_PS_MAX, RATE_MAX};

fn refuse(at: Option<PlanItem>, field: &'static str, expected: &'static str) -> Result<(), PlanError> {
    Err(PlanError { at, field, expected })
}

impl Plan {
    /// Checks the whole plan.
    ///
    /// # Errors
    /// The first node, rule or limit that the manager could not carry out.
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.nodes.is_empty() {
            return refuse(None, "nodes", "at least a root");
        }
        let count = self.nodes.len() as u64;
        if u64::from(self.nodes_max) < count || self.nodes_max > NODES_MAX {
            return refuse(None, "nodes_max", "at least the number of nodes and at most 2^20");
        }
        if self.frames_max == 0 || self.frames_max > 1 << 30 {
            return refuse(None, "frames_max", "1 to 2^30 frames");
        }
        if self.flows_max > 1 << 30 {
            return refuse(None, "flows_max", "at most 2^30 flows");
        }
        if self.frame_bytes_max == 0 || self.frame_bytes_max > COST_MAX {
            return refuse(None, "frame_bytes_max", "1 to 2^20 bytes");
        }
        for (index, node) in self.nodes.iter().enumerate() {
            self.validate_place(index, node)?;
            check_node(
                node,
                self.frame_bytes_max,
                self.flows_max,
                Some(PlanItem::Node(index as u32)),
            )?;
        }
        classifier::validate(&self.rules, &self.nodes)
    }

    fn validate_place(&self, index: usize, node: &NodePlan) -> Result<(), PlanError> {
        let at = Some(PlanItem::Node(index as u32));
        let Some(parent) = node.parent else {
            if index != 0 {
                return refuse(at, "parent", "a parent: only node 0 is the root");
            }
            return if node.guarantee.is_some() {
                refuse(at, "guarantee", "none: the root has no siblings")
            } else {
                Ok(())
            };
        };
        if parent as usize >= index {
            return refuse(at, "parent", "a node that stands before its children");
        }
        let mut depth = 2;
        let mut above = parent;
        while let Some(next) = self.nodes[above as usize].parent {
            depth += 1;
            above = next;
        }
        if depth > DEPTH_MAX {
            return refuse(at, "parent", "a tree of at most 8 levels");
        }
        match self.nodes[parent as usize].kind {
            NodeKind::Queue(_) => refuse(at, "parent", "a strict or weighted node"),
            NodeKind::Strict => {
                let taken = self.nodes[..index]
                    .iter()
                    .any(|n| n.parent == Some(parent) && n.rank == node.rank);
                if node.rank >= STRICT_RANKS || taken {
                    return refuse(at, "rank", "0 to 63, each once below a strict node");
                }
                Ok(())
            }
            NodeKind::Weighted => Ok(()),
        }
    }
}

/// Checks what a node is, wherever it hangs.
pub(crate) fn check_node(
    node: &NodePlan,
    frame_bytes_max: u32,
    flows_max: u32,
    at: Option<PlanItem>,
) -> Result<(), PlanError> {
    let sum = i64::from(frame_bytes_max) + i64::from(node.accounting.overhead_bytes);
    if sum > i64::from(COST_MAX) || node.accounting.min_bytes > COST_MAX {
        return refuse(
            at,
            "accounting",
            "a longest frame that counts for at most 2^20 bytes",
        );
    }
    let cost_max = node.accounting.cost(frame_bytes_max);
    if node.weight == 0 || node.weight > 1_000_000 {
        return refuse(at, "weight", "1 to 1 000 000");
    }
    if let Some(shape) = node.rate {
        check_bits(shape, cost_max, at, "rate")?;
    }
    if let Some(shape) = node.frame_rate {
        check_frames(shape, at, "frame_rate")?;
    }
    if let Some(shape) = node.guarantee {
        check_bits(shape, cost_max, at, "guarantee")?;
    }
    let NodeKind::Queue(queue) = &node.kind else {
        return Ok(());
    };
    if queue.gate >= GATES {
        return refuse(at, "gate", "0 to 63");
    }
    if queue.frames_max == 0 || queue.bytes_max == 0 || queue.bytes_max > 1 << 60 {
        return refuse(
            at,
            "limit",
            "room for at least one frame and one byte, at most 2^60 bytes",
        );
    }
    if let Some(plan) = &queue.meter {
        meter::validate(&plan.kind, at)?;
    }
    if let QueueMode::PerFlow {
        shape,
        flow_frames_max,
    } = queue.mode
    {
        if flow_frames_max == 0 {
            return refuse(at, "flow_frames_max", "at least 1");
        }
        if flows_max == 0 {
            return refuse(at, "mode", "a shared queue, or flows_max above 0");
        }
        if let Some(shape) = shape {
            check_flow_shape(shape, cost_max, at)?;
        }
    }
    Ok(())
}

pub(crate) fn check_flow_shape(
    shape: FlowShape,
    cost_max: u32,
    at: Option<PlanItem>,
) -> Result<(), PlanError> {
    match shape {
        FlowShape::Bits(bits) => check_bits(bits, cost_max, at, "flow rate"),
        FlowShape::Frames(frames) => check_frames(frames, at, "flow rate"),
    }
}

pub(crate) fn check_bits(
    shape: BitShape,
    cost_max: u32,
    at: Option<PlanItem>,
    field: &'static str,
) -> Result<(), PlanError> {
    if shape.rate_bps == 0 || shape.rate_bps > RATE_MAX {
        return refuse(at, field, "a rate of 1 bit/s to 2^43 bit/s");
    }
    if shape.burst_bytes < u64::from(cost_max) {
        return refuse(
            at,
            field,
            "a burst of at least the longest frame as this node counts it",
        );
    }
    check_fill(shape.burst_bytes, 8_000_000_000_000, shape.rate_bps, at, field)
}

pub(crate) fn check_frames(
    shape: FrameShape,
    at: Option<PlanItem>,
    field: &'static str,
) -> Result<(), PlanError> {
    if shape.rate_fps == 0 || shape.rate_fps > RATE_MAX {
        return refuse(at, field, "a rate of 1 frame/s to 2^43 frame/s");
    }
    if shape.burst_frames == 0 {
        return refuse(at, field, "a burst of at least one frame");
    }
    check_fill(shape.burst_frames, 1_000_000_000_000, shape.rate_fps, at, field)
}

fn check_fill(
    burst: u64,
    scale: u64,
    rate: u64,
    at: Option<PlanItem>,
    field: &'static str,
) -> Result<(), PlanError> {
    if u128::from(burst) * u128::from(scale) / u128::from(rate) > u128::from(FILL_PS_MAX) {
        return refuse(at, field, "a burst that fills in less than 2^60 ps (13 days)");
    }
    Ok(())
}
