//! From a step's plain data to a change of nodes and flows that are there (or, now and then, are not).

use super::choice::{Choice, Seeded};
use super::compare::Run;
use super::plans::{bit_shape, flow_shape, frame_shape, key, node, rules};
use super::steps::Alter;
use crate::model::{ModelChange, Name};
use clearway_core::plan::BitShape;
use clearway_core::{Change, FlowId, NodeId};

impl Run {
    /// The change in the manager's words and in the model's.
    pub(super) fn change(&mut self, alter: Alter) -> (Change, ModelChange) {
        let pick = |index: usize| self.nodes[index % self.nodes.len()];
        // A shape for the node: mostly valid, sometimes none, sometimes too small a burst or no rate.
        let bits = |id: NodeId, seed: u64| {
            let c = &mut Seeded(seed);
            let longest = self.model.longest_of(id.into()).unwrap_or(1);
            match c.below(20) {
                0..=3 => None,
                4 => Some(BitShape {
                    rate_bps: 1_000_000,
                    burst_bytes: longest - 1,
                }),
                _ => Some(bit_shape(c, longest)),
            }
        };
        match alter {
            Alter::Rate { node, seed } => {
                let (node, rate) = (pick(node), bits(pick(node), seed));
                (
                    Change::Rate { node, rate },
                    ModelChange::Rate {
                        node: node.into(),
                        rate,
                    },
                )
            }
            Alter::FrameRate { node, seed } => {
                let node = pick(node);
                let c = &mut Seeded(seed);
                let rate = c.percent(70).then(|| frame_shape(c));
                (
                    Change::FrameRate { node, rate },
                    ModelChange::FrameRate {
                        node: node.into(),
                        rate,
                    },
                )
            }
            Alter::Guarantee { node, seed } => {
                let (node, guarantee) = (pick(node), bits(pick(node), seed));
                (
                    Change::Guarantee { node, guarantee },
                    ModelChange::Guarantee {
                        node: node.into(),
                        guarantee,
                    },
                )
            }
            Alter::Weight { node, weight } => {
                let node = pick(node);
                (
                    Change::Weight { node, weight },
                    ModelChange::Weight {
                        node: node.into(),
                        weight,
                    },
                )
            }
            Alter::FlowShape { node, seed } => {
                let queue = pick(node);
                let shape = flow_shape(
                    &mut Seeded(seed),
                    self.model.longest_of(queue.into()).unwrap_or(1),
                );
                (
                    Change::FlowShape { queue, shape },
                    ModelChange::FlowShape {
                        queue: queue.into(),
                        shape,
                    },
                )
            }
            Alter::Add { parent, seed } => {
                let parent = pick(parent);
                let c = &mut Seeded(seed);
                let (kind, rank) = (c.of(&[2, 2, 2, 0, 1]), c.below(12) as u8);
                let mut plan = node(c, kind, Some(0), rank, self.frame_bytes_max);
                if c.percent(5) {
                    plan.weight = 0;
                }
                (
                    Change::Add {
                        parent,
                        plan: plan.clone(),
                    },
                    ModelChange::Add {
                        parent: parent.into(),
                        plan,
                    },
                )
            }
            Alter::Remove { node } => {
                let node = pick(node);
                (Change::Remove { node }, ModelChange::Remove { node: node.into() })
            }
            Alter::Move {
                key: index,
                to,
                wrong,
            } => {
                let flow = FlowId::of(&key(index));
                let queues: Vec<NodeId> = self
                    .nodes
                    .iter()
                    .copied()
                    .filter(|&n| self.model.is_open(n.into()))
                    .collect();
                let to = if wrong || queues.is_empty() {
                    pick(to)
                } else {
                    queues[to % queues.len()]
                };
                let known = self.model.queue_of(flow);
                let known = self.nodes.iter().copied().find(|&n| Some(Name::from(n)) == known);
                let from = match (known, self.targets[index].last()) {
                    _ if wrong => pick(to.slot() + index),
                    (Some(queue), _) => queue,
                    (None, Some((target, _))) => target.queue,
                    (None, None) => pick(index),
                };
                (
                    Change::MoveFlow { flow, from, to },
                    ModelChange::MoveFlow {
                        flow,
                        from: from.into(),
                        to: to.into(),
                    },
                )
            }
            Alter::Rules { seed } => {
                let c = &mut Seeded(seed);
                let open = self
                    .nodes
                    .iter()
                    .filter(|&&n| self.model.is_open(n.into()) || c.percent(1));
                let slots: Vec<u32> = open.map(|n| n.slot() as u32).collect();
                let rules = if slots.is_empty() {
                    Vec::new()
                } else {
                    rules(c, &slots)
                };
                let plain = rules.iter().map(|r| (r.matches, r.queue)).collect();
                (Change::Rules(rules), ModelChange::Rules(plain))
            }
        }
    }
}
