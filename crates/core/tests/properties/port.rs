//! A port under random traffic: operations as plain data, carried out on a manager, with what came out of it.

use crate::choice::Choice;
use crate::plans::{KEYS, key};
use clearway_core::plan::{NodeKind, Plan};
use clearway_core::{
    Change, Classify, Dequeue, Duration, Ecn, Egress, FlowId, FrameDesc, FrameHandle, GateSet, Instant,
    NodeId, QueueId, Reconfigured, RefuseReason, Target, TrafficManager, WaitReason,
};
use std::collections::BTreeMap;

/// One operation; times are steps from the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Advance { ps: u64 },
    Send { key: usize, len: u32 },
    Take,
    Pause { gates: u64, for_ps: u64 },
    Move { key: usize, to: usize },
    Remove { node: usize },
}

/// What an operation came to, with instants counted from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Entered(QueueId),
    Refused(RefuseReason),
    Left(FrameDesc),
    Dropped(FrameDesc),
    Wait { until_ps: u64, reason: WaitReason },
    Empty,
    Moved(bool),
    Removed(bool),
}

pub(crate) struct Port {
    pub(crate) manager: TrafficManager,
    /// Time since the start of the run, and what the manager's scale has more than it (or less, after a rebase).
    pub(crate) now_ps: u64,
    shift_ps: i128,
    pub(crate) queues: Vec<NodeId>,
    targets: Vec<Option<Target>>,
    pub(crate) sent: u32,
    /// Flow and time of entry of every frame that is inside.
    pub(crate) inside: BTreeMap<u32, (usize, u64)>,
}

impl Port {
    pub(crate) fn new(plan: &Plan, shift_ps: u64) -> Self {
        let slots = 0..plan.nodes.len() as u32;
        let is_queue = |&slot: &u32| matches!(plan.nodes[slot as usize].kind, NodeKind::Queue(_));
        Self {
            manager: TrafficManager::new(plan).expect("a valid plan"),
            now_ps: 0,
            shift_ps: i128::from(shift_ps),
            queues: slots.filter(is_queue).map(NodeId::first).collect(),
            targets: vec![None; KEYS],
            sent: 0,
            inside: BTreeMap::new(),
        }
    }

    fn to_scale(&self, ps: u64) -> Instant {
        Instant::from_ps(
            u64::try_from(i128::from(ps) + self.shift_ps).expect("a time the manager can be given"),
        )
    }

    /// Moves the manager's origin to a time before or at the present.
    pub(crate) fn rebase(&mut self, c: &mut impl Choice) {
        let by = c.below(self.to_scale(self.now_ps).as_ps() + 1);
        self.manager.rebase(Duration::from_ps(by));
        self.shift_ps -= i128::from(by);
    }

    pub(crate) fn carry_out(&mut self, op: Op) -> Option<Outcome> {
        match op {
            Op::Advance { ps } => {
                self.now_ps += ps;
                None
            }
            Op::Send { key, len } => Some(self.send(key, len)),
            Op::Take => Some(self.take()),
            Op::Pause { gates, for_ps } => {
                let until = self.to_scale(self.now_ps + for_ps);
                self.manager
                    .pause(self.to_scale(self.now_ps), GateSet(gates), until);
                None
            }
            Op::Move { key: index, to } => {
                let to = self.queues[to % self.queues.len()];
                let flow = FlowId::of(&key(index));
                let from = self.classify(index).ok()?.queue;
                let change = Change::MoveFlow { flow, from, to };
                let moved = self.manager.reconfigure(self.to_scale(self.now_ps), change);
                Some(Outcome::Moved(moved.is_ok()))
            }
            Op::Remove { node } => {
                let node = self.queues[node % self.queues.len()];
                let removed = self
                    .manager
                    .reconfigure(self.to_scale(self.now_ps), Change::Remove { node });
                Some(Outcome::Removed(matches!(
                    removed,
                    Ok(Reconfigured::Draining { .. })
                )))
            }
        }
    }

    fn classify(&mut self, index: usize) -> Result<Target, RefuseReason> {
        let target = self.manager.classify(self.to_scale(self.now_ps), &key(index));
        self.targets[index] = target.ok();
        target
    }

    /// Sends a frame as a caller would: with the target it has, or a new one where that is stale.
    fn send(&mut self, index: usize, len: u32) -> Outcome {
        for _ in 0..2 {
            let target = match self.targets[index] {
                Some(target) => target,
                None => match self.classify(index) {
                    Ok(target) => target,
                    Err(reason) => return Outcome::Refused(reason),
                },
            };
            let (now, handle) = (self.to_scale(self.now_ps), FrameHandle(self.sent));
            match self.manager.enqueue(now, target, handle, len, Ecn::Capable) {
                Ok(queue) => {
                    self.inside.insert(self.sent, (index, self.now_ps));
                    self.sent += 1;
                    return Outcome::Entered(queue);
                }
                Err(refused) => {
                    assert_eq!(refused.handle, handle, "a refused frame comes back");
                    if !matches!(
                        refused.reason,
                        RefuseReason::StaleTarget | RefuseReason::QueueGone
                    ) {
                        return Outcome::Refused(refused.reason);
                    }
                    self.targets[index] = None;
                }
            }
        }
        Outcome::Refused(RefuseReason::StaleTarget)
    }

    /// Takes a frame; each that comes out must have gone in, once.
    pub(crate) fn take(&mut self) -> Outcome {
        match self.manager.dequeue(self.to_scale(self.now_ps)) {
            Dequeue::Frame(frame) => Outcome::Left(frame),
            Dequeue::Drop(frame, _) => Outcome::Dropped(frame),
            Dequeue::Wait { until, reason } => {
                let until_ps = i128::from(until.as_ps()) - self.shift_ps;
                Outcome::Wait {
                    until_ps: u64::try_from(until_ps).expect("not before the start"),
                    reason,
                }
            }
            Dequeue::Empty => Outcome::Empty,
        }
    }

    /// Strikes a frame off; its flow and time of entry.
    pub(crate) fn strike(&mut self, frame: FrameDesc) -> (usize, u64) {
        self.inside
            .remove(&frame.handle.0)
            .unwrap_or_else(|| panic!("{frame:?} left twice or never entered"))
    }
}

/// Random operations. `moves` says whether flows move and queues are removed.
pub(crate) fn ops(c: &mut impl Choice, count: usize, longest: u32, moves: bool) -> Vec<Op> {
    let op = |c: &mut _| op(c, longest, moves);
    (0..count).map(|_| op(c)).collect()
}

fn op(c: &mut impl Choice, longest: u32, moves: bool) -> Op {
    let flow = c.below(KEYS as u64) as usize;
    match c.below(100) {
        0..=44 => Op::Send {
            key: flow,
            len: 1 + c.below(u64::from(longest)) as u32,
        },
        45..=74 => Op::Take,
        75..=79 => Op::Pause {
            gates: c.of(&[1, 2, 7, u64::MAX]),
            for_ps: c.below(30_000_000),
        },
        80..=87 if moves => Op::Move {
            key: flow,
            to: c.below(64) as usize,
        },
        88 if moves && c.percent(5) => Op::Remove {
            node: c.below(64) as usize,
        },
        _ => Op::Advance {
            ps: if c.percent(90) {
                c.below(3_000_000)
            } else {
                c.below(100_000_000_000)
            },
        },
    }
}
