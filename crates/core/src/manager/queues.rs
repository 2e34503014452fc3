//! What goes into a queue and comes out of it: limits, meters, marks, FIFOs, per-flow FIFOs and ages.

use super::TrafficManager;
use super::flows::{Flow, Flows, Standing};
use super::node::{Kind, Leaf, NONE, Node};
use crate::api::{Colour, Ecn, FrameDesc, FrameHandle, QueueId, RefuseReason, Target};
use crate::plan::MarkAt;
use crate::time::Instant;
use alloc::vec::Vec;

/// A queued frame: half a cache line, never across two.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Frame {
    /// When it was first enqueued.
    pub(super) entered: u64,
    pub(super) handle: u32,
    pub(super) len: u32,
    pub(super) next: u32,
    pub(super) tag: u32,
    pub(super) colour: Colour,
    pub(super) ecn: Ecn,
    /// A moved flow's held frames wait for this one to leave.
    pub(super) barrier: bool,
}

const _: () = assert!(size_of::<Frame>() == 32);

/// All frames of one port, in a slab with a free list.
#[derive(Debug)]
pub(super) struct Frames {
    /// Those handed out at least once. Room for all is taken at the start, but untouched: memory grows with use.
    pub(super) entries: Vec<Frame>,
    free: u32,
    pub(super) used: u32,
    frames_max: u32,
}

impl Clone for Frames {
    fn clone(&self) -> Self {
        // The room is part of the contract: nothing allocates after the start.
        let mut entries = Vec::with_capacity(self.frames_max as usize);
        entries.extend_from_slice(&self.entries);
        Self { entries, ..*self }
    }
}

impl Frames {
    pub(super) fn new(frames_max: u32) -> Self {
        Self {
            entries: Vec::with_capacity(frames_max as usize),
            free: NONE,
            used: 0,
            frames_max,
        }
    }

    #[inline]
    const fn is_full(&self) -> bool {
        self.used == self.frames_max
    }

    #[inline(always)]
    fn take(&mut self, frame: Frame) -> u32 {
        self.used += 1;
        let at = self.free;
        if let Some(entry) = self.entries.get_mut(at as usize) {
            self.free = entry.next;
            *entry = frame;
            return at;
        }
        self.entries.push(frame);
        self.entries.len() as u32 - 1
    }

    #[inline]
    fn give_back(&mut self, at: u32) {
        self.entries[at as usize].next = self.free;
        self.free = at;
        self.used -= 1;
    }

    pub(super) fn rebase(&mut self, by: u64) {
        for frame in &mut self.entries {
            frame.entered = frame.entered.saturating_sub(by);
        }
    }

    /// Appends to a FIFO.
    #[inline]
    pub(super) fn append(&mut self, head: &mut u32, tail: &mut u32, at: u32) {
        if *head == NONE {
            *head = at;
        } else {
            self.entries[*tail as usize].next = at;
        }
        *tail = at;
    }
}

impl TrafficManager {
    /// Whether frames to this leaf's target are held for older ones; `None`: the target is stale (rule 16).
    #[inline]
    pub(super) fn is_held(&self, to: &Target, leaf: &Node) -> Option<bool> {
        if to.flow == NONE {
            let since = self.leaves[leaf.body as usize].stamp.max(self.rules_stamp);
            return (to.stamp >= since && leaf.kind == Kind::Shared).then_some(false);
        }
        let flow = self.flows.records.get(to.flow as usize)?;
        let ours = u64::from(flow.generation) == to.stamp && flow.standing != Standing::Free;
        ours.then_some(flow.standing == Standing::Held)
    }

    /// Rule 16.
    #[inline]
    pub(super) fn put(
        &mut self,
        now: u64,
        to: Target,
        handle: FrameHandle,
        len: u32,
        ecn: Ecn,
    ) -> Result<QueueId, RefuseReason> {
        if len == 0 || len > self.frame_bytes_max {
            return Err(RefuseReason::FrameLength);
        }
        let slot = self.open_leaf(to.queue).ok_or(RefuseReason::QueueGone)?;
        let node = &self.nodes[slot as usize];
        let held = self.is_held(&to, node).ok_or(RefuseReason::StaleTarget)?;
        let leaf = &mut self.leaves[node.body as usize];
        if self.frames.is_full() {
            return Err(RefuseReason::FramesMax);
        }
        let colour = match &mut leaf.meter {
            Some(meter) => meter.colour(Instant::from_ps(now), len),
            None => Colour::Green,
        };
        let backlog = leaf.backlog_bytes();
        let refusal = if colour == Colour::Red && leaf.drop_red {
            Some(RefuseReason::MeterRed)
        } else if leaf.backlog_frames() >= leaf.frames_max || backlog + u64::from(len) > leaf.bytes_max {
            Some(RefuseReason::QueueFull)
        } else if to.flow != NONE
            && node.kind == Kind::PerFlow
            && self.flows.records[to.flow as usize].frames >= leaf.flow_frames_max
        {
            Some(RefuseReason::FlowFull)
        } else {
            None
        };
        if let Some(reason) = refusal {
            leaf.counters.frames_refused += 1;
            return Err(reason);
        }
        let mut ecn = ecn;
        if ecn == Ecn::Capable && leaf.mark_at == MarkAt::Enqueue && backlog >= leaf.mark_bytes {
            ecn = Ecn::Marked;
            leaf.counters.frames_marked += 1;
        }
        leaf.counters.frames_in += 1;
        leaf.counters.bytes_in += u64::from(len);
        let at = self.frames.take(Frame {
            entered: now,
            handle: handle.0,
            len,
            next: NONE,
            tag: to.tag,
            colour,
            ecn,
            barrier: false,
        });
        if held {
            let flow = &mut self.flows.records[to.flow as usize];
            self.frames.append(&mut flow.head, &mut flow.tail, at);
            flow.frames += 1;
            leaf.held_frames += 1;
            leaf.held_bytes += u64::from(len);
            return Ok(to.queue);
        }
        leaf.frames += 1;
        leaf.bytes += u64::from(len);
        if node.kind == Kind::Shared {
            self.frames.append(&mut leaf.head, &mut leaf.tail, at);
            // A shared queue that had frames has not become readier.
            if leaf.frames == 1 {
                self.touch(slot, now);
            }
        } else if self.append_to_flow(slot, to.flow, at, now) {
            self.touch(slot, now);
        }
        Ok(to.queue)
    }

    /// Queues `times` more frames of one length, which are not ECN-capable, in a FIFO that has frames already: what so many
    /// calls of [`Egress::enqueue`](crate::Egress::enqueue) would do, with one look at the queue. `handle` is asked for
    /// each of them in turn. False where one might be refused, held or metered, or would be the first of its FIFO: then
    /// nothing was done, and nothing asked for.
    #[inline]
    pub fn enqueue_more(
        &mut self,
        now: Instant,
        to: Target,
        len: u32,
        times: u32,
        mut handle: impl FnMut() -> FrameHandle,
    ) -> bool {
        let now = self.clock(now);
        let Some(slot) = self.open_leaf(to.queue) else {
            return false;
        };
        let node = &self.nodes[slot as usize];
        let per_flow = node.kind == Kind::PerFlow;
        if len == 0 || len > self.frame_bytes_max || self.is_held(&to, node) != Some(false) {
            return false;
        }
        let leaf = &mut self.leaves[node.body as usize];
        let bytes = u64::from(len) * u64::from(times);
        let (tail, queued, most) = if per_flow {
            let flow = &mut self.flows.records[to.flow as usize];
            (&mut flow.tail, &mut flow.frames, leaf.flow_frames_max)
        } else {
            (&mut leaf.tail, &mut 0, u32::MAX)
        };
        let first = if per_flow { *queued == 0 } else { leaf.frames == 0 };
        let room = (leaf.frames_max.saturating_sub(leaf.frames + leaf.held_frames))
            .min(most.saturating_sub(*queued))
            .min(self.frames.frames_max - self.frames.used);
        if first
            || times > room
            || leaf.meter.is_some()
            || leaf.bytes + leaf.held_bytes + bytes > leaf.bytes_max
        {
            return false;
        }
        *queued += times;
        leaf.frames += times;
        leaf.bytes += bytes;
        leaf.counters.frames_in += u64::from(times);
        leaf.counters.bytes_in += bytes;
        let mut last = *tail;
        for _ in 0..times {
            let at = self.frames.take(Frame {
                entered: now,
                handle: handle().0,
                len,
                next: NONE,
                tag: to.tag,
                colour: Colour::Green,
                ecn: Ecn::NotCapable,
                barrier: false,
            });
            self.frames.entries[last as usize].next = at;
            last = at;
        }
        *tail = last;
        true
    }

    /// Reads the record of a target's flow, so that the wait for it overlaps other waits when a frame is to come soon.
    #[inline]
    pub fn ask_for(&self, to: Target) {
        core::hint::black_box(self.flows.records.get(to.flow as usize).map_or(0, |f| f.frames));
    }

    /// Appends to a flow's FIFO. True where the queue's first instant may have changed.
    fn append_to_flow(&mut self, slot: u32, flow: u32, at: u32, now: u64) -> bool {
        let record = &mut self.flows.records[flow as usize];
        self.frames.append(&mut record.head, &mut record.tail, at);
        record.frames += 1;
        if record.frames > 1 {
            return false;
        }
        self.flows.leave_idle(flow);
        self.schedule_flow(slot, flow, now)
    }

    /// Puts a flow that has frames into its queue's wheel. True where it is the first there.
    pub(super) fn schedule_flow(&mut self, slot: u32, flow: u32, now: u64) -> bool {
        let leaf = &mut self.leaves[self.nodes[slot as usize].body as usize];
        let record = &mut self.flows.records[flow as usize];
        record.at = flow_at(leaf, record, now);
        let Some(wheel) = &mut leaf.wheel else {
            return false;
        };
        wheel.insert(&mut self.flows, flow);
        wheel.first() == flow
    }

    /// Takes the frame whose turn it is out of a leaf and charges the flow's bucket (rules 18 and 19, first half).
    #[inline]
    pub(super) fn take(&mut self, slot: u32, now: u64) -> Taken {
        let node = &self.nodes[slot as usize];
        let queue = node.id(slot);
        let leaf = &mut self.leaves[node.body as usize];
        let flow = leaf.wheel.as_ref().map_or(NONE, |w| w.first());
        let at = if flow == NONE {
            leaf.head
        } else {
            self.flows.records[flow as usize].head
        };
        let frame = &self.frames.entries[at as usize];
        let Frame {
            entered,
            len,
            next,
            ecn,
            ..
        } = *frame;
        let aged = now - entered > leaf.age_max_ps;
        let barrier = if frame.barrier { at } else { NONE };
        leaf.frames -= 1;
        leaf.bytes -= u64::from(len);
        if flow == NONE {
            leaf.head = next;
        } else {
            let cost = if aged { 0 } else { node.cost(len) };
            self.flows.records[flow as usize].head = next;
            take_from_flow(leaf, &mut self.flows, &self.frames, flow, now, cost);
        }
        let mut ce = ecn == Ecn::Marked;
        if aged {
            leaf.counters.frames_dropped += 1;
        } else {
            if ecn == Ecn::Capable
                && leaf.mark_at == MarkAt::Dequeue
                && leaf.backlog_bytes() >= leaf.mark_bytes
            {
                ce = true;
                leaf.counters.frames_marked += 1;
            }
            leaf.counters.frames_out += 1;
            leaf.counters.bytes_out += u64::from(len);
        }
        let ready_below = leaf.ready_below(&self.gates, &self.flows.records);
        let desc = FrameDesc {
            handle: FrameHandle(frame.handle),
            len,
            queue,
            colour: frame.colour,
            ce,
        };
        self.frames.give_back(at);
        Taken {
            desc,
            aged,
            barrier,
            ready_below,
        }
    }
}

/// What came out of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) desc: FrameDesc,
    /// It waited too long: to be dropped.
    pub(super) aged: bool,
    /// The frame's index where somebody waits for it to leave, else none.
    pub(super) barrier: u32,
    /// When something in the leaf is ready now, its own shapers apart.
    pub(super) ready_below: u64,
}

/// A flow's head frame is gone: charges its bucket (`cost` zero charges nothing) and finds its next instant.
#[inline(never)]
fn take_from_flow(leaf: &mut Leaf, flows: &mut Flows, frames: &Frames, flow: u32, now: u64, cost: u32) {
    let record = &mut flows.records[flow as usize];
    record.frames -= 1;
    if let (Some(rate), 1..) = (&leaf.flow_rate, cost) {
        record.level.charge(rate, now, cost);
    }
    let (emptied, ordinary) = (record.frames == 0, record.standing == Standing::Ordinary);
    record.at = flow_at(leaf, record, now);
    if let Some(wheel) = &mut leaf.wheel {
        wheel.pop(flows, frames);
        if !emptied {
            wheel.insert(flows, flow);
        }
    }
    if emptied && ordinary {
        flows.join_idle(flow);
    }
}

/// The instant of a flow whose head became head at `now` (rule 9).
#[inline]
pub(super) fn flow_at(leaf: &Leaf, flow: &Flow, now: u64) -> u64 {
    leaf.flow_rate
        .as_ref()
        .map_or(now, |rate| flow.level.eligible_at(rate).max(now))
}
