//! Class-based queueing as Linux 2.2 had it: a second [`Egress`] beside the traffic manager.
//!
//! A general classifier in front, a packet scheduler (weighted round robin by bytes among the classes of a priority),
//! an overlimit estimator for each class with borrowing from its ancestors, and a delay action whose timer only runs
//! out at ticks of the clock. Leaves are FIFOs or token buckets. Sources: Floyd and Jacobson, "Link-sharing and resource
//! management models for packet networks", IEEE/ACM Transactions on Networking 3(4), 1995 (top-level link sharing);
//! Floyd, "Notes on CBQ: setting parameters", 1996; what is publicly described of the discipline's behaviour.
//!
//! * `plan`: classes and what follows from their parameters; `estimator`; `bucket`; `schedule`: who goes next.
//!
//! The clock of the discipline is the larger of the real time and the work done, so that frames handed to a fast
//! interface count the time that the link needs for them. Unlike the traffic manager's, the answer `Wait { until }`
//! names the next tick: there the discipline looks again, and may find that it has to wait longer. It also looks at
//! every `enqueue`, as Linux does. Unlike the traffic manager it walks the active classes.
//!
//! Left out: the other overlimit actions (drop, lower priority, penalty by class), split nodes, marks, meters and
//! per-flow queues, and live changes. Quanta outside 1/16 to 32 of the longest frame are moved to that edge.

mod bucket;
mod estimator;
mod plan;
mod schedule;
#[cfg(test)]
mod tests;

pub use plan::{
    BURST_MAX, CLASSES_MAX, CbqClass, CbqLeaf, CbqPlan, EWMA_MAX, LEVELS_MAX, PRIORITIES, TokenBucket,
};

use crate::api::{
    Backlog, Classify, Colour, Counters, Dequeue, Ecn, Egress, FrameDesc, FrameHandle, GateSet, NodeId,
    QueueId, RefuseReason, Refused, Target, WaitReason,
};
use crate::classifier::Classifier;
use crate::key::FlowKey;
use crate::plan::{Accounting, GATES, PlanError};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;
use bucket::Bucket;
use estimator::Estimator;

/// Instants are kept this much later than the caller's, so that a rebase keeps the order of what lies before it.
const BIAS: u64 = 1 << 62;
/// No index.
const NONE: u32 = u32::MAX;
/// Nothing to wait for.
const NEVER: u64 = u64::MAX;

/// A queued frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    handle: u32,
    len: u32,
    next: u32,
    ce: bool,
}

/// The FIFO of a leaf.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    head: u32,
    tail: u32,
    frames: u32,
    frames_max: u32,
    bytes: u64,
    bytes_max: u64,
    gate: u8,
    bucket: Option<Bucket>,
}

/// One class.
#[derive(Clone, Copy, Debug)]
struct Class {
    parent: u32,
    /// Whom it borrows from, and whose estimator counts what it sends; [`NONE`]: nobody.
    borrow: u32,
    share: u32,
    level: u8,
    priority: u8,
    /// The next class of the round of its priority; [`NONE`] outside.
    next: u32,
    quantum: i64,
    deficit: i64,
    accounting: Accounting,
    estimator: Estimator,
    leaf: Option<Leaf>,
    counters: Counters,
    /// How often it was delayed, and how many frames it sent on what it borrowed.
    delays: u64,
    borrowed: u64,
}

/// The frame that was handed out last, until it is accounted for.
#[derive(Clone, Copy, Debug)]
struct Sent {
    class: u32,
    lender: u32,
    cost: u32,
}

/// One port's class-based queueing discipline.
#[derive(Clone, Debug)]
pub struct Cbq {
    classes: Vec<Class>,
    frames: Vec<Frame>,
    free: u32,
    used: u32,
    /// The last class of each priority's round.
    active: [u32; PRIORITIES as usize],
    /// The latest instant seen, the same in whole units of the packet clock, and the discipline's clock; all biased.
    seen: u64,
    real: u64,
    time: u64,
    sent: Option<Sent>,
    toplevel: u8,
    /// Nothing leaves before this instant unless somebody enqueues; 0: ask.
    asleep_until: u64,
    reason: WaitReason,
    /// While choosing: the soonest instant of a timer, and of a gate.
    timer: u64,
    gate_opens: u64,
    opens: [u64; GATES as usize],
    tick: u64,
    /// Ticks are at the instants that leave this remainder.
    phase: u64,
    resolution: u64,
    frame_bytes_max: u32,
    classifier: Classifier,
}

impl Cbq {
    /// A discipline that carries out `plan`. All memory is taken here.
    ///
    /// # Errors
    /// The plan is not valid.
    pub fn new(plan: &CbqPlan) -> Result<Self, PlanError> {
        plan.validate()?;
        let mut classes: Vec<Class> = plan.classes.iter().map(|class| new_class(class, plan)).collect();
        for index in (1..classes.len()).rev() {
            let Some(parent) = plan.classes[index].parent else {
                continue;
            };
            let level = classes[index].level + 1;
            let above = &mut classes[parent as usize];
            above.level = above.level.max(level);
        }
        let frames = (1..=plan.frames_max).map(|next| Frame {
            handle: 0,
            len: 0,
            next: if next == plan.frames_max { NONE } else { next },
            ce: false,
        });
        let mut cbq = Self {
            frames: frames.collect(),
            classes,
            free: 0,
            used: 0,
            active: [NONE; PRIORITIES as usize],
            seen: BIAS,
            real: BIAS,
            time: BIAS,
            sent: None,
            toplevel: LEVELS_MAX,
            asleep_until: 0,
            reason: WaitReason::Shaper(NodeId::first(0)),
            timer: NEVER,
            gate_opens: NEVER,
            opens: [0; GATES as usize],
            tick: plan.tick.as_ps(),
            phase: BIAS % plan.tick.as_ps(),
            resolution: plan.resolution.as_ps(),
            frame_bytes_max: plan.frame_bytes_max,
            classifier: Classifier::compile(&plan.rules),
        };
        cbq.share_rounds(plan);
        Ok(cbq)
    }

    /// Quanta: the mean weight of a priority's leaves gets its `allot` a round.
    fn share_rounds(&mut self, plan: &CbqPlan) {
        let longest = i64::from(plan.frame_bytes_max);
        for priority in 0..PRIORITIES {
            let mates = || {
                let leaves = plan.classes.iter().filter(|c| c.leaf.is_some());
                leaves.filter(|c| c.priority == priority)
            };
            let weights: u128 = mates().map(|c| u128::from(c.weight)).sum();
            let count = mates().count() as u128;
            for (class, own) in plan.classes.iter().zip(&mut self.classes) {
                if class.leaf.is_some() && class.priority == priority {
                    let share = u128::from(class.weight) * u128::from(class.allot_bytes) * count;
                    let quantum = i64::try_from(share / weights.max(1)).unwrap_or(i64::MAX);
                    own.quantum = quantum.clamp(longest / 16 + 1, 32 * longest);
                }
            }
        }
    }

    /// The caller's instant on the inner scale, never going back.
    fn clock(&mut self, now: Instant) -> u64 {
        let ps = now.as_ps().min(Instant::LIMIT.as_ps()) + BIAS;
        self.seen = self.seen.max(ps);
        self.seen
    }

    fn target_leaf(&self, to: Target) -> Option<u32> {
        let slot = to.queue.slot();
        let class = self.classes.get(slot)?;
        (to.queue.generation() == 0 && class.leaf.is_some()).then_some(slot as u32)
    }

    /// What passed a class; none where there is no such class. Frames of an inner class are those below it.
    #[must_use]
    pub fn counters(&self, class: NodeId) -> Option<Counters> {
        self.classes.get(class.slot()).map(|c| c.counters)
    }

    /// How often a class was delayed for being over its limit, and how many frames it sent on borrowed rate.
    #[must_use]
    pub fn delays_and_borrows(&self, class: NodeId) -> Option<(u64, u64)> {
        self.classes.get(class.slot()).map(|c| (c.delays, c.borrowed))
    }

    /// Frames queued in the whole port.
    #[must_use]
    pub const fn frames_queued(&self) -> u32 {
        self.used
    }

    fn put(&mut self, slot: u32, handle: u32, len: u32, ce: bool) -> Result<(), RefuseReason> {
        if len == 0 || len > self.frame_bytes_max {
            return Err(RefuseReason::FrameLength);
        }
        let class = &mut self.classes[slot as usize];
        let Some(leaf) = &mut class.leaf else {
            return Err(RefuseReason::QueueGone);
        };
        if leaf.bytes + u64::from(len) > leaf.bytes_max || leaf.frames == leaf.frames_max {
            class.counters.frames_refused += 1;
            return Err(RefuseReason::QueueFull);
        }
        let at = self.free;
        let Some(frame) = self.frames.get_mut(at as usize) else {
            return Err(RefuseReason::FramesMax);
        };
        self.free = frame.next;
        *frame = Frame {
            handle,
            len,
            next: NONE,
            ce,
        };
        let tail = core::mem::replace(&mut leaf.tail, at);
        if leaf.frames == 0 {
            leaf.head = at;
        } else if let Some(before) = self.frames.get_mut(tail as usize) {
            before.next = at;
        }
        leaf.frames += 1;
        leaf.bytes += u64::from(len);
        class.counters.frames_in += 1;
        class.counters.bytes_in += u64::from(len);
        self.used += 1;
        Ok(())
    }

    /// Takes the head of a leaf out.
    fn pull(&mut self, slot: u32) -> Option<FrameDesc> {
        let leaf = self.classes[slot as usize].leaf.as_mut()?;
        let at = leaf.head;
        let frame = self.frames.get_mut(at as usize)?;
        leaf.head = frame.next;
        leaf.frames -= 1;
        leaf.bytes -= u64::from(frame.len);
        let desc = FrameDesc {
            handle: FrameHandle(frame.handle),
            len: frame.len,
            queue: NodeId::first(slot),
            colour: Colour::Green,
            ce: frame.ce,
        };
        frame.next = core::mem::replace(&mut self.free, at);
        self.used -= 1;
        Some(desc)
    }
}

fn new_class(class: &CbqClass, plan: &CbqPlan) -> Class {
    let parent = class.parent.unwrap_or(NONE);
    Class {
        parent,
        borrow: if class.bounded { NONE } else { parent },
        share: if class.isolated { NONE } else { parent },
        level: 0,
        priority: class.priority,
        next: NONE,
        quantum: 0,
        deficit: 0,
        accounting: class.accounting,
        estimator: Estimator::new(class, plan, BIAS),
        leaf: class.leaf.map(|leaf| Leaf {
            head: NONE,
            tail: NONE,
            frames: 0,
            frames_max: leaf.frames_max,
            bytes: 0,
            bytes_max: leaf.bytes_max,
            gate: leaf.gate,
            bucket: leaf.bucket.map(|shape| Bucket::new(&shape, plan, BIAS)),
        }),
        counters: Counters::default(),
        delays: 0,
        borrowed: 0,
    }
}

impl Classify for Cbq {
    fn classify(&mut self, _now: Instant, key: &FlowKey) -> Result<Target, RefuseReason> {
        let rule = self.classifier.matches(key).ok_or(RefuseReason::NoRule)?;
        let queue = self.classifier.queue_of(rule).ok_or(RefuseReason::NoRule)?;
        Ok(Target {
            queue: NodeId::first(queue),
            flow: NONE,
            tag: 0,
            stamp: 0,
        })
    }
}

impl Egress for Cbq {
    fn enqueue(
        &mut self,
        now: Instant,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<QueueId, Refused> {
        let now = self.clock(now);
        // A refused frame makes the discipline look, too.
        self.asleep_until = 0;
        let refuse = |reason| Refused { handle, reason };
        let slot = self
            .target_leaf(to)
            .ok_or_else(|| refuse(RefuseReason::QueueGone))?;
        self.put(slot, handle.0, len, ecn == Ecn::Marked)
            .map_err(refuse)?;
        self.entered(now, slot);
        Ok(NodeId::first(slot))
    }

    fn next_at(&self) -> Option<Instant> {
        (self.used > 0).then(|| Instant::from_ps(self.asleep_until.saturating_sub(BIAS)))
    }

    fn dequeue(&mut self, now: Instant) -> Dequeue {
        let now = self.clock(now);
        if self.used == 0 {
            return Dequeue::Empty;
        }
        if now < self.asleep_until {
            return self.waiting();
        }
        self.asleep_until = 0;
        match self.serve(now) {
            Some(desc) => Dequeue::Frame(desc),
            None => self.waiting(),
        }
    }

    fn pause(&mut self, now: Instant, gates: GateSet, until: Instant) {
        let now = self.clock(now);
        let until = until.as_ps().min(Instant::LIMIT.as_ps()) + BIAS;
        for (gate, opens) in (0_u8..).zip(&mut self.opens) {
            if gates.has(gate) {
                *opens = if until <= now { 0 } else { until };
            }
        }
        self.asleep_until = 0;
    }

    fn backlog(&self, queue: QueueId) -> Backlog {
        let leaf = self.classes.get(queue.slot()).and_then(|c| c.leaf.as_ref());
        leaf.filter(|_| queue.generation() == 0)
            .map_or_else(Backlog::default, |leaf| Backlog {
                frames: leaf.frames,
                bytes: leaf.bytes,
                held_frames: 0,
            })
    }

    fn rebase(&mut self, by: Duration) {
        let by = by.as_ps().min(self.seen);
        self.seen -= by;
        self.real = self.real.saturating_sub(by);
        self.time = self.time.saturating_sub(by);
        self.asleep_until = self.asleep_until.saturating_sub(by);
        self.phase = (self.phase + self.tick - by % self.tick) % self.tick;
        for class in &mut self.classes {
            class.estimator.rebase(by);
            if let Some(bucket) = class.leaf.as_mut().and_then(|l| l.bucket.as_mut()) {
                bucket.rebase(by);
            }
        }
        for opens in &mut self.opens {
            *opens = opens.saturating_sub(by);
        }
    }
}
