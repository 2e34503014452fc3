//! The flows that the manager knows: those of per-flow queues, and those that were moved.
//!
//! An open-addressed hash table (linear probing with backward shift, Knuth 6.4 R) over records allocated once. A table
//! entry carries 32 bits of the hash, so that a look-up touches the identity of the right flow and hardly ever another. A record's 64 hot bytes are one cache line; its identity, which
//! only a look-up needs, stands apart. Idle flows form a list, longest idle first, from which room is made.

use super::chunks::Chunks;
use super::node::NONE;
use super::queues::Frames;
use crate::api::NodeId;
use crate::key::FlowId;
use crate::shaper::Level;
use alloc::vec;
use alloc::vec::Vec;

/// What became of a flow besides being in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// The record is free.
    Free,
    /// In the per-flow queue that the rules name.
    Ordinary,
    /// Moved; frames go straight to its queue.
    Moved,
    /// Moved; frames are held until older ones have left a shared queue.
    Held,
}

/// The part of a flow that the data path touches.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Flow {
    /// Instant of the head frame, while the flow is in a wheel.
    pub(super) at: u64,
    pub(super) level: Level,
    /// Links of the heap, of the idle list, or of the free records; `next` is the flow's place while it is `listed`.
    pub(super) next: u32,
    pub(super) prev: u32,
    /// First child in the heap.
    pub(super) child: u32,
    /// FIFO of a per-flow queue, or held frames.
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) frames: u32,
    pub(super) generation: u32,
    pub(super) queue: NodeId,
    /// The queue that the rules name, where that is another.
    pub(super) home: NodeId,
    pub(super) standing: Standing,
    pub(super) in_idle_list: bool,
    /// In a list of the wheel rather than in its heap.
    pub(super) listed: bool,
}

/// One table entry; `flow` is `NONE` where it is empty.
#[derive(Clone, Copy, Debug)]
struct Entry {
    tag: u32,
    flow: u32,
}

const EMPTY: Entry = Entry { tag: 0, flow: NONE };

impl Flow {
    pub(super) const fn free() -> Self {
        Self {
            at: 0,
            level: Level::FULL,
            next: NONE,
            prev: NONE,
            child: NONE,
            head: NONE,
            tail: NONE,
            frames: 0,
            generation: 0,
            queue: NodeId::first(0),
            home: NodeId::first(0),
            standing: Standing::Free,
            in_idle_list: false,
            listed: false,
        }
    }
}

/// All flows of one manager.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) records: Vec<Flow>,
    pub(super) chunks: Chunks,
    identities: Vec<FlowId>,
    table: Vec<Entry>,
    free: u32,
    pub(super) known: u32,
    idle_first: u32,
    idle_last: u32,
}

impl Flows {
    pub(super) fn new(flows_max: u32) -> Self {
        let n = flows_max as usize;
        let mut records = vec![Flow::free(); n];
        for (i, record) in records.iter_mut().enumerate().take(n.saturating_sub(1)) {
            record.next = i as u32 + 1;
        }
        let empty = FlowId::of(&crate::key::FlowKey::default());
        Self {
            records,
            chunks: Chunks::new(),
            identities: vec![empty; n],
            // Four fifths full at most: probes stay short, and an entry costs a flow ten bytes.
            table: vec![EMPTY; n + n / 4 + 1],
            free: if n == 0 { NONE } else { 0 },
            known: 0,
            idle_first: NONE,
            idle_last: NONE,
        }
    }

    /// Where the probe for a hash starts.
    #[inline]
    fn start(&self, hash: u64) -> usize {
        (((hash >> 32) * self.table.len() as u64) >> 32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.table.len() { 0 } else { at + 1 }
    }

    /// The record of a known flow.
    #[inline]
    pub(super) fn find(&self, id: &FlowId, hash: u64) -> u32 {
        if self.known == 0 {
            return NONE;
        }
        let tag = hash as u32;
        let mut at = self.start(hash);
        loop {
            let entry = self.table[at];
            if entry.flow == NONE || (entry.tag == tag && self.identities[entry.flow as usize] == *id) {
                return entry.flow;
            }
            at = self.after(at);
        }
    }

    /// True where no record is free.
    pub(super) const fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Takes a free record for a new flow.
    pub(super) fn insert(&mut self, id: FlowId, queue: NodeId, standing: Standing) -> u32 {
        let flow = self.free;
        let hash = id.hash();
        let mut at = self.start(hash);
        while self.table[at].flow != NONE {
            at = self.after(at);
        }
        self.table[at] = Entry {
            tag: hash as u32,
            flow,
        };
        let generation = self.records[flow as usize].generation;
        self.free = self.records[flow as usize].next;
        self.records[flow as usize] = Flow {
            generation,
            queue,
            home: queue,
            standing,
            ..Flow::free()
        };
        self.identities[flow as usize] = id;
        self.known += 1;
        flow
    }

    /// Forgets a flow without frames.
    pub(super) fn forget(&mut self, flow: u32) {
        self.leave_idle(flow);
        self.unlist(flow);
        let record = &mut self.records[flow as usize];
        record.generation = record.generation.wrapping_add(1);
        record.standing = Standing::Free;
        self.records[flow as usize].next = self.free;
        self.free = flow;
        self.known -= 1;
    }

    /// Takes a flow's entry out and moves back what probed past it.
    fn unlist(&mut self, flow: u32) {
        let mut hole = self.start(self.identities[flow as usize].hash());
        while self.table[hole].flow != flow {
            hole = self.after(hole);
        }
        let size = self.table.len();
        let mut at = hole;
        loop {
            at = self.after(at);
            let entry = self.table[at];
            if entry.flow == NONE {
                break;
            }
            let home = self.start(self.identities[entry.flow as usize].hash());
            // The entry may move to the hole if its probe starts at or before the hole, going round.
            if (at + size - home) % size >= (at + size - hole) % size {
                self.table[hole] = entry;
                hole = at;
            }
        }
        self.table[hole] = EMPTY;
    }

    /// Appends to the idle list.
    pub(super) fn join_idle(&mut self, flow: u32) {
        let last = self.idle_last;
        self.records[flow as usize].in_idle_list = true;
        self.records[flow as usize].prev = last;
        self.records[flow as usize].next = NONE;
        if last == NONE {
            self.idle_first = flow;
        } else {
            self.records[last as usize].next = flow;
        }
        self.idle_last = flow;
    }

    /// Takes a flow out of the idle list if it is in.
    pub(super) fn leave_idle(&mut self, flow: u32) {
        let record = &mut self.records[flow as usize];
        if !record.in_idle_list {
            return;
        }
        record.in_idle_list = false;
        let (next, prev) = (record.next, record.prev);
        if prev == NONE {
            self.idle_first = next;
        } else {
            self.records[prev as usize].next = next;
        }
        if next == NONE {
            self.idle_last = prev;
        } else {
            self.records[next as usize].prev = prev;
        }
    }

    /// Reads the records of a list of flows and their first frames, so that the waits for memory overlap instead of
    /// following one another when the flows are dealt with in turn.
    #[inline]
    pub(super) fn ask_for(&self, frames: &Frames, list: u32) {
        let (mut list, mut asked) = (list, 0);
        while let Some(chunk) = self.chunks.get(list) {
            for &flow in chunk.flows() {
                let head = self.records.get(flow as usize).map_or(NONE, |flow| flow.head);
                asked ^= frames.entries.get(head as usize).map_or(0, |frame| frame.len);
            }
            list = chunk.next;
        }
        core::hint::black_box(asked);
    }

    /// The first of the 16 flows idle longest that `may_go`.
    pub(super) fn oldest_idle(&self, may_go: impl Fn(&Flow) -> bool) -> Option<u32> {
        let mut at = self.idle_first;
        for _ in 0..16 {
            if at == NONE {
                return None;
            }
            if may_go(&self.records[at as usize]) {
                return Some(at);
            }
            at = self.records[at as usize].next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunks::{CHUNK_FLOWS, Chunk};
    use super::*;
    use crate::key::FlowKey;

    #[test]
    fn every_flow_is_found_while_others_come_and_go() {
        let id = |port: u16| {
            FlowId::of(&FlowKey {
                ip_version: 4,
                src_port: port,
                ..FlowKey::default()
            })
        };
        let mut flows = Flows::new(50);
        let mut present = [NONE; 200];
        let mut state = 3_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let port = (state >> 33) as u16 % 200;
            let found = flows.find(&id(port), id(port).hash());
            assert_eq!(found, present[port as usize]);
            if found != NONE {
                flows.forget(found);
                present[port as usize] = NONE;
            } else if !flows.is_full() {
                present[port as usize] = flows.insert(id(port), NodeId::first(0), Standing::Moved);
            }
        }
    }

    #[test]
    fn a_record_is_one_cache_line_and_a_flow_fits_in_120_bytes() {
        assert_eq!(size_of::<Flow>(), 64);
        let apart = size_of::<FlowId>() + size_of::<Entry>() * 5 / 4 + size_of::<Chunk>() / CHUNK_FLOWS + 1;
        assert!(size_of::<Flow>() + apart <= 120);
    }
}
