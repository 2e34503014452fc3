//! Lists of flows, several to a cache line: what stands in the slots of a [timing wheel](super::wheel).
//!
//! A list that is linked through the flows themselves can only be walked by waiting for one record after another; here
//! the flows of a slot are read together. A list is a chain of chunks, all full but the first. A flow knows its
//! place, so that it leaves in constant time: the list's last takes its place. A list has one chunk at most that is not
//! full: room for that and for all flows is taken when a wheel is made, and touched as it is used.

use super::node::NONE;
use alloc::vec::Vec;

/// Flows of a chunk.
pub(super) const CHUNK_FLOWS: usize = 14;
/// Places of a chunk, as a power of two.
const PLACE_BITS: u32 = 4;

/// Some flows of a list: one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk {
    pub(super) next: u32,
    /// The slot that the list belongs to.
    slot: u16,
    used: u16,
    flows: [u32; CHUNK_FLOWS],
}

const _: () = assert!(size_of::<Chunk>() == 64);

impl Chunk {
    /// Its flows.
    #[inline]
    pub(super) fn flows(&self) -> &[u32] {
        self.flows.get(..usize::from(self.used)).unwrap_or(&[])
    }
}

/// The chunks of all lists of a port.
#[derive(Debug)]
pub(super) struct Chunks {
    entries: Vec<Chunk>,
    free: u32,
    chunks_max: usize,
}

impl Clone for Chunks {
    fn clone(&self) -> Self {
        // The room is part of the contract: nothing allocates after the start.
        let mut entries = Vec::with_capacity(self.chunks_max);
        entries.extend_from_slice(&self.entries);
        Self { entries, ..*self }
    }
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            free: NONE,
            chunks_max: 0,
        }
    }

    /// Takes the room that this many flows need in this many lists.
    pub(super) fn reserve(&mut self, flows_max: u32, lists: usize) {
        let flows_max = flows_max as usize;
        self.chunks_max = self
            .chunks_max
            .max(flows_max.min(flows_max / CHUNK_FLOWS + lists));
        self.entries
            .reserve_exact(self.chunks_max.saturating_sub(self.entries.len()));
    }

    #[inline]
    pub(super) fn get(&self, chunk: u32) -> Option<&Chunk> {
        self.entries.get(chunk as usize)
    }

    /// Puts a flow into the list of a slot that begins at `head`, and returns the flow's place.
    #[inline]
    pub(super) fn push(&mut self, head: &mut u32, slot: u16, flow: u32) -> u32 {
        if let Some(chunk) = self.entries.get_mut(*head as usize)
            && let Some(place) = chunk.flows.get_mut(usize::from(chunk.used))
        {
            *place = flow;
            chunk.used += 1;
            return (*head << PLACE_BITS) | (u32::from(chunk.used) - 1);
        }
        let mut flows = [NONE; CHUNK_FLOWS];
        flows[0] = flow;
        let chunk = Chunk {
            next: *head,
            slot,
            used: 1,
            flows,
        };
        *head = self.take(chunk);
        *head << PLACE_BITS
    }

    #[inline]
    fn take(&mut self, chunk: Chunk) -> u32 {
        let at = self.free;
        if let Some(entry) = self.entries.get_mut(at as usize) {
            self.free = entry.next;
            *entry = chunk;
            return at;
        }
        self.entries.push(chunk);
        self.entries.len() as u32 - 1
    }

    /// Gives a list's first chunk back and returns a copy of it.
    #[inline]
    pub(super) fn give_back(&mut self, chunk: u32) -> Chunk {
        let copy = self.entries[chunk as usize];
        self.entries[chunk as usize].next = self.free;
        self.free = chunk;
        copy
    }

    /// The slot in whose list a place is.
    pub(super) fn slot_of(&self, place: u32) -> u16 {
        self.entries[(place >> PLACE_BITS) as usize].slot
    }

    /// Empties a place of the list that begins at `head`. Returns the flow that stands there now, if one does.
    pub(super) fn remove(&mut self, head: &mut u32, place: u32) -> Option<u32> {
        let (chunk, at) = ((place >> PLACE_BITS) as usize, place as usize % (1 << PLACE_BITS));
        let first = &mut self.entries[*head as usize];
        first.used -= 1;
        let (last, emptied) = (first.flows[usize::from(first.used)], first.used == 0);
        let flow = self.entries[chunk].flows[at];
        self.entries[chunk].flows[at] = last;
        if emptied {
            *head = self.give_back(*head).next;
        }
        (flow != last).then_some(last)
    }
}
