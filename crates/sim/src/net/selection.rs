//! What chooses a transmitter's next frame: a traffic manager, or one FIFO.
//!
//! Beside the traffic manager stand the bytes that wait in each of its queues, for the results, and each queue's
//! gate. A frame's target comes from its path, where the classifier's answer is kept; a stage that is on no path (the
//! host interface) keeps targets of its own. A policy may ask for class-based queueing in the manager's place.

use super::context::Context;
use super::fifo::Fifo;
use super::frame::{Frame, NIL};
use clearway_core::cbq::Cbq;
use clearway_core::plan::{NodeKind, NodePlan};
use clearway_core::{
    Classify, Dequeue, Ecn, Egress, FrameHandle, GateSet, Instant, Plan, PlanError, RefuseReason, Refused,
    Target, TrafficManager, WaitReason,
};
use clearway_policy::CompiledPolicy;
use std::collections::BTreeMap;

/// What chooses the next frame.
#[derive(Debug)]
pub(crate) enum Selection {
    /// One unlimited FIFO.
    Fifo(Box<Fifo>),
    /// The traffic manager of a policy.
    Manager(Box<Managed>),
    /// Class-based queueing, where the policy asks for it.
    Cbq(Box<Managed<Cbq>>),
}

/// Targets by flow and priority; none where the classifier was not asked yet.
type OwnTargets = BTreeMap<(u32, u8), Option<Target>>;

/// A traffic manager with what the simulator keeps of its queues.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Managed<M = TrafficManager> {
    /// By slot.
    pub(crate) queues: Vec<QueueState>,
    /// Targets by flow and priority, for a bus stage, which is on no path.
    targets: Option<Box<OwnTargets>>,
    /// The longest frame it takes.
    frame_bytes_max: u32,
    pub(crate) manager: M,
}

/// What the simulator keeps of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueState {
    /// Bytes waiting.
    pub(crate) bytes: u64,
    /// At most.
    pub(crate) bytes_max: u64,
    gate: u8,
}

/// Answer of [`Selection::next`].
pub(crate) enum Next {
    Frame {
        handle: u32,
        len: u32,
        gate: u8,
        queue: u32,
        ecn_marked: bool,
    },
    Dropped {
        handle: u32,
        len: u32,
        queue: u32,
    },
    Wait {
        until: u64,
        gate: bool,
    },
    Empty,
}

impl Selection {
    /// The traffic manager of `plan`, or a FIFO.
    pub(crate) fn new(plan: Option<&Plan>) -> Result<Self, PlanError> {
        let Some(plan) = plan else {
            return Ok(Self::Fifo(Box::default()));
        };
        let manager = TrafficManager::new(plan)?;
        Ok(Self::Manager(Box::new(Managed::new(manager, plan))))
    }

    /// What a policy asks for, or a FIFO.
    pub(crate) fn of_policy(policy: Option<&CompiledPolicy>) -> Result<Self, PlanError> {
        match policy.map(|p| (&p.plan, p.cbq.as_deref())) {
            Some((plan, Some(cbq))) => Ok(Self::Cbq(Box::new(Managed::new(Cbq::new(cbq)?, plan)))),
            Some((plan, None)) => Self::new(Some(plan)),
            None => Self::new(None),
        }
    }

    /// The same for a stage that is on no path and keeps targets of its own.
    pub(crate) fn off_path(plan: Option<&Plan>) -> Result<Self, PlanError> {
        let mut selection = Self::new(plan)?;
        if let Self::Manager(m) = &mut selection {
            m.targets = Some(Box::default());
        }
        Ok(selection)
    }

    /// Queues a frame that leaves by `hop`. The gate counts only where there is no traffic manager.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        hop: u32,
        gate: u8,
        ecn: Ecn,
    ) -> Result<(), RefuseReason> {
        match self {
            Self::Fifo(fifo) => {
                fifo.push(handle, len, gate);
                Ok(())
            }
            Self::Manager(m) => m.enqueue(ctx, handle, len, hop, ecn),
            Self::Cbq(m) => m.enqueue(ctx, handle, len, hop, ecn),
        }
    }

    /// The next frame at `now`.
    #[inline(always)]
    pub(crate) fn next(&mut self, now: u64) -> Next {
        match self {
            Self::Fifo(fifo) => fifo.next(now),
            Self::Manager(m) => m.next(now),
            Self::Cbq(m) => m.next(now),
        }
    }

    /// When a frame can leave as far as its traffic manager knows; zero where it does not say.
    #[inline]
    pub(crate) fn next_at(&self) -> u64 {
        match self {
            Self::Fifo(_) => 0,
            Self::Manager(m) => m.manager.next_at().map_or(0, Instant::as_ps),
            Self::Cbq(m) => m.manager.next_at().map_or(0, Instant::as_ps),
        }
    }

    pub(crate) fn pause(&mut self, now: u64, set: u64, until: u64) {
        match self {
            Self::Fifo(fifo) => fifo.gates.pause(now, set, until, 0),
            Self::Manager(m) => m.pause(now, set, until),
            Self::Cbq(m) => m.pause(now, set, until),
        }
    }

    /// Places that queues have: one for a FIFO, all slots of the tree otherwise.
    pub(crate) fn queues(&self) -> usize {
        match self {
            Self::Fifo(_) => 1,
            Self::Manager(m) => m.queues.len(),
            Self::Cbq(m) => m.queues.len(),
        }
    }

    /// What is kept of each queue, by slot; none for a FIFO.
    pub(crate) fn queue_states(&self) -> Option<&[QueueState]> {
        match self {
            Self::Fifo(_) => None,
            Self::Manager(m) => Some(&m.queues),
            Self::Cbq(m) => Some(&m.queues),
        }
    }

    /// The queue that a frame will enter, by slot; 0 where it will be refused.
    pub(crate) fn queue_of(&mut self, ctx: &mut Context, handle: u32, hop: u32) -> usize {
        match self {
            Self::Fifo(_) => 0,
            Self::Manager(m) => m.slot_of(ctx, handle, hop),
            Self::Cbq(m) => m.slot_of(ctx, handle, hop),
        }
    }

    /// True where the head would still fit into `room` bytes. A traffic manager's head is not known beforehand: its
    /// longest frame must fit.
    pub(crate) fn head_fits(&self, room: u64) -> bool {
        match self {
            Self::Fifo(fifo) => fifo.head_len().is_some_and(|len| u64::from(len) <= room),
            Self::Manager(m) => u64::from(m.frame_bytes_max) <= room,
            Self::Cbq(m) => u64::from(m.frame_bytes_max) <= room,
        }
    }
}

impl Managed {
    /// Queues copies of a frame that was queued just now, where the manager takes them in one go; else does nothing.
    pub(crate) fn enqueue_more(&mut self, ctx: &mut Context, frame: &Frame, times: u32) -> bool {
        let Some(target) = self.known_target(ctx, frame.hop) else {
            return false;
        };
        let now = ctx.instant();
        let frames = &mut ctx.frames;
        if frames.len_max() > NIL as usize / 2 {
            return false;
        }
        let copy = || FrameHandle(frames.insert(*frame).unwrap_or(NIL));
        if !self.manager.enqueue_more(now, target, frame.len, times, copy) {
            return false;
        }
        self.count_in(target, frame.len * times);
        true
    }
}

impl<M: Egress + Classify> Managed<M> {
    fn new(manager: M, plan: &Plan) -> Self {
        let gate = |kind: &NodeKind| match kind {
            NodeKind::Queue(queue) => queue.gate,
            _ => 0,
        };
        let queue = |node: &NodePlan| QueueState {
            gate: gate(&node.kind),
            ..QueueState::default()
        };
        Self {
            queues: plan.nodes.iter().map(queue).collect(),
            targets: None,
            frame_bytes_max: plan.frame_bytes_max,
            manager,
        }
    }

    fn pause(&mut self, now: u64, set: u64, until: u64) {
        let until = Instant::from_ps(until).min(Instant::LIMIT);
        self.manager.pause(Instant::from_ps(now), GateSet(set), until);
    }

    fn slot_of(&mut self, ctx: &mut Context, handle: u32, hop: u32) -> usize {
        let Some(frame) = ctx.frames.get(handle).copied() else {
            return 0;
        };
        self.target_of(ctx, &frame, hop).map_or(0, |t| t.queue.slot())
    }

    /// The classifier's answer for a frame: the one that its path keeps, or asked for and kept.
    #[inline]
    fn target_of(&mut self, ctx: &mut Context, frame: &Frame, hop: u32) -> Result<Target, RefuseReason> {
        let place = self
            .targets
            .as_mut()
            .map(|t| t.entry((frame.flow, frame.pcp)).or_insert(None));
        let known = match &place {
            Some(place) => **place,
            None => Some(ctx.hops[hop as usize].target).filter(|t| t.is_known()),
        };
        if let Some(target) = known {
            return Ok(target);
        }
        let target = self.manager.classify(ctx.instant(), &ctx.key_of(frame))?;
        match place {
            Some(place) => *place = Some(target),
            None => ctx.hops[hop as usize].target = target,
        }
        Ok(target)
    }

    /// A target went stale: its flow was forgotten or moved.
    fn forget_target(&mut self, ctx: &mut Context, frame: &Frame, hop: u32) {
        match &mut self.targets {
            Some(targets) => {
                let _ = targets.remove(&(frame.flow, frame.pcp));
            }
            None => ctx.hops[hop as usize].target = Target::UNKNOWN,
        }
    }

    /// The target that a frame's path keeps, where it is known.
    #[inline]
    fn known_target(&self, ctx: &Context, hop: u32) -> Option<Target> {
        if self.targets.is_some() {
            return None;
        }
        let target = ctx.hops.get(hop as usize)?.target;
        target.is_known().then_some(target)
    }

    /// Hands the frame to the manager by `call`, with a fresh target where none is known or it went stale.
    #[cold]
    fn hand_over<T>(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        hop: u32,
        call: impl Fn(&mut M, Target, Ecn) -> Result<T, Refused>,
    ) -> Result<(Target, T), RefuseReason> {
        for _ in 0..2 {
            let Some(frame) = ctx.frames.get(handle).copied() else {
                return Err(RefuseReason::FrameLength);
            };
            let target = self.target_of(ctx, &frame, hop)?;
            match call(&mut self.manager, target, frame.ecn) {
                Ok(answer) => return Ok((target, answer)),
                Err(refused) if refused.reason == RefuseReason::StaleTarget => {
                    self.forget_target(ctx, &frame, hop);
                }
                Err(refused) => return Err(refused.reason),
            }
        }
        Err(RefuseReason::StaleTarget)
    }

    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        hop: u32,
        ecn: Ecn,
    ) -> Result<(), RefuseReason> {
        let now = ctx.instant();
        let put = |manager: &mut M, target: Target, ecn: Ecn| {
            manager.enqueue(now, target, FrameHandle(handle), len, ecn)
        };
        let target = match self.known_target(ctx, hop) {
            Some(target) => match put(&mut self.manager, target, ecn) {
                Ok(_) => target,
                Err(refused) if refused.reason != RefuseReason::StaleTarget => return Err(refused.reason),
                Err(_) => self.hand_over(ctx, handle, hop, put)?.0,
            },
            None => self.hand_over(ctx, handle, hop, put)?.0,
        };
        self.count_in(target, len);
        Ok(())
    }

    /// Queues a frame and takes the next: what `enqueue` and `next` do.
    #[inline]
    pub(crate) fn forward(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        hop: u32,
        ecn: Ecn,
    ) -> Result<Next, RefuseReason> {
        let now = ctx.instant();
        if let Some(target) = self.known_target(ctx, hop) {
            match self.manager.forward(now, target, FrameHandle(handle), len, ecn) {
                Ok(answer) => {
                    self.count_in(target, len);
                    return Ok(self.count_out(&answer));
                }
                Err(refused) if refused.reason != RefuseReason::StaleTarget => return Err(refused.reason),
                Err(_) => {}
            }
        }
        let (target, answer) = self.hand_over(ctx, handle, hop, |manager, target, ecn| {
            manager.forward(now, target, FrameHandle(handle), len, ecn)
        })?;
        self.count_in(target, len);
        Ok(self.count_out(&answer))
    }

    #[inline]
    fn count_in(&mut self, target: Target, len: u32) {
        if let Some(queue) = self.queues.get_mut(target.queue.slot()) {
            queue.bytes += u64::from(len);
            queue.bytes_max = queue.bytes_max.max(queue.bytes);
        }
    }

    #[inline]
    fn next(&mut self, now: u64) -> Next {
        let answer = self.manager.dequeue(Instant::from_ps(now));
        self.count_out(&answer)
    }

    #[inline]
    fn count_out(&mut self, answer: &Dequeue) -> Next {
        match *answer {
            Dequeue::Frame(d) => {
                let slot = d.queue.slot();
                let gate = self.queues.get_mut(slot).map_or(0, |queue| {
                    queue.bytes = queue.bytes.saturating_sub(u64::from(d.len));
                    queue.gate
                });
                Next::Frame {
                    handle: d.handle.0,
                    len: d.len,
                    gate,
                    queue: slot as u32,
                    ecn_marked: d.ce,
                }
            }
            Dequeue::Drop(d, _) => {
                let slot = d.queue.slot();
                if let Some(queue) = self.queues.get_mut(slot) {
                    queue.bytes = queue.bytes.saturating_sub(u64::from(d.len));
                }
                Next::Dropped {
                    handle: d.handle.0,
                    len: d.len,
                    queue: slot as u32,
                }
            }
            Dequeue::Wait { until, reason } => Next::Wait {
                until: until.as_ps(),
                gate: matches!(reason, WaitReason::Gate(_)),
            },
            Dequeue::Empty => Next::Empty,
        }
    }
}
