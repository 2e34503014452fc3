//! The flows that the manager knows: those of per-flow queues, and those that were moved.
//!
//! A chained hash table over records allocated once. A record's 64 hot bytes are one cache line; its identity, which
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
    chain: u32,
    home: NodeId,
}

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
    buckets: Vec<u32>,
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
            chain: NONE,
            home: NodeId::first(0),
        };
        Self {
            records,
            identities: vec![empty; n],
            buckets: vec![NONE; if n == 0 { 0 } else { n.next_power_of_two() }],
            free: if n == 0 { NONE } else { 0 },
            known: 0,
            idle_first: NONE,
            idle_last: NONE,
        }
    }

    fn bucket(&self, id: &FlowId) -> usize {
        id.hash() as usize & (self.buckets.len() - 1)
    }

    /// The record of a known flow.
    #[inline]
    pub(super) fn find(&self, id: &FlowId) -> u32 {
        if self.known == 0 {
            return NONE;
        }
        let mut at = self.buckets[self.bucket(id)];
        while at != NONE && self.identities[at as usize].id != *id {
            at = self.identities[at as usize].chain;
        }
        at
    }

    /// True where no record is free.
    pub(super) const fn is_full(&self) -> bool {
        self.free == NONE
    }

    /// Takes a free record for a new flow.
    pub(super) fn insert(&mut self, id: FlowId, queue: NodeId, standing: Standing) -> u32 {
        let flow = self.free;
        let bucket = self.bucket(&id);
        let generation = self.records[flow as usize].generation;
        self.free = self.records[flow as usize].next;
        self.records[flow as usize] = Flow {
            generation,
            queue,
            standing,
            ..Flow::free()
        };
        self.identities[flow as usize] = Identity {
            id,
            chain: self.buckets[bucket],
            home: queue,
        };
        self.buckets[bucket] = flow;
        self.known += 1;
        flow
    }

    /// Forgets a flow without frames.
    pub(super) fn forget(&mut self, flow: u32) {
        self.leave_idle(flow);
        let bucket = self.bucket(&self.identities[flow as usize].id);
        let chain = self.identities[flow as usize].chain;
        if self.buckets[bucket] == flow {
            self.buckets[bucket] = chain;
        } else {
            let mut at = self.buckets[bucket];
            while self.identities[at as usize].chain != flow {
                at = self.identities[at as usize].chain;
            }
            self.identities[at as usize].chain = chain;
        }
        let record = &mut self.records[flow as usize];
        record.generation = record.generation.wrapping_add(1);
        record.standing = Standing::Free;
        record.next = self.free;
        self.free = flow;
        self.known -= 1;
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

    #[test]
    fn a_record_is_one_cache_line_and_a_flow_fits_in_128_bytes() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Flow>() + size_of::<Identity>() + 2 * size_of::<u32>() <= 128);
    }
}
