//! The flows that the manager knows: those of per-flow queues, and those that were moved.
//!
//! An open-addressed hash table (linear probing with backward shift, Knuth 6.4 R) over records allocated once. A table
//! entry carries 32 bits of the hash, so that a look-up touches the identity of the right flow and hardly ever another. A record's 64 hot bytes are one cache line; its identity, which
//! only a look-up needs, stands apart. Idle flows form a list, longest idle first, from which room is made.

use super::node::NONE;
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
pub(super) struct Flow {
    /// Instant of the head frame, while the flow is in a wheel.
    pub(super) at: u64,
    pub(super) level: Level,
    /// Links of a wheel slot, of the heap, or of the idle list.
    pub(super) next: u32,
    pub(super) prev: u32,
    pub(super) child: u32,
    /// Wheel slot, or none in the heap.
    pub(super) slot: u32,
    /// FIFO of a per-flow queue, or held frames.
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) frames: u32,
    pub(super) generation: u32,
    pub(super) queue: NodeId,
    pub(super) standing: Standing,
    pub(super) in_idle_list: bool,
}

/// The rest: 48 bytes.
#[derive(Clone, Debug)]
struct Identity {
    id: FlowId,
    home: NodeId,
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
            slot: NONE,
            head: NONE,
            tail: NONE,
            frames: 0,
            generation: 0,
            queue: NodeId::first(0),
            standing: Standing::Free,
            in_idle_list: false,
        }
    }
}

/// All flows of one manager.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) records: Vec<Flow>,
    identities: Vec<Identity>,
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
        for (i, record) in records.iter_mut().enumerate() {
            record.next = if i + 1 < n { i as u32 + 1 } else { NONE };
        }
        let empty = Identity {
            id: FlowId::of(&crate::key::FlowKey::default()),
            home: NodeId::first(0),
        };
        Self {
            records,
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
            if entry.flow == NONE || (entry.tag == tag && self.identities[entry.flow as usize].id == *id) {
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
            standing,
            ..Flow::free()
        };
        self.identities[flow as usize] = Identity { id, home: queue };
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
        record.next = self.free;
        self.free = flow;
        self.known -= 1;
    }

    /// Takes a flow's entry out and moves back what probed past it.
    fn unlist(&mut self, flow: u32) {
        let mut hole = self.start(self.identities[flow as usize].id.hash());
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
            let home = self.start(self.identities[entry.flow as usize].id.hash());
            // The entry may move to the hole if its probe starts at or before the hole, going round.
            if (at + size - home) % size >= (at + size - hole) % size {
                self.table[hole] = entry;
                hole = at;
            }
        }
        self.table[hole] = EMPTY;
    }

    pub(super) fn home(&self, flow: u32) -> NodeId {
        self.identities[flow as usize].home
    }

    pub(super) fn set_home(&mut self, flow: u32, home: NodeId) {
        self.identities[flow as usize].home = home;
    }

    /// Appends to the idle list.
    pub(super) fn join_idle(&mut self, flow: u32) {
        let last = self.idle_last;
        let record = &mut self.records[flow as usize];
        record.in_idle_list = true;
        record.prev = last;
        record.next = NONE;
        if last == NONE {
            self.idle_first = flow;
        } else {
            self.records[last as usize].next = flow;
        }
        self.idle_last = flow;
    }

    /// Takes a flow out of the idle list if it is in.
    pub(super) fn leave_idle(&mut self, flow: u32) {
        let Flow {
            in_idle_list,
            prev,
            next,
            ..
        } = self.records[flow as usize];
        if !in_idle_list {
            return;
        }
        self.records[flow as usize].in_idle_list = false;
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
    fn a_record_is_one_cache_line_and_a_flow_fits_in_128_bytes() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Flow>() + size_of::<Identity>() + size_of::<Entry>() * 5 / 4 <= 128);
    }
}
