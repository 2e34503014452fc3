//! A timing wheel with an exact order: what waits beyond the few events that the [queue](super::queue) holds sorted.
//!
//! Two rings and a heap. The inner ring has 4,096 slots of a power of two of picoseconds; a slot of the
//! outer ring is a turn of the inner one; what lies beyond both waits in a heap. Slots are unordered lists: the
//! one that comes next is emptied into the *run*, sorted, and served from there, so that the order is exact and
//! sorting touches only the few events of one slot. The slot width follows the traffic: it halves where many
//! different instants share a slot and doubles where most events pass through the outer ring first. The width
//! never shows in the order.
//!
//! Source: Varghese and Lauck (SOSP 1987) for the wheels, Brown (CACM 31(10), 1988) for a width that adapts.
//! Left out: cancelling. A caller that changes its mind carries a generation in the event and ignores stale ones.

use super::heap::Entry;
use super::ring::{NIL, RING_BITS, RING_SLOTS, Ring};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slot width at the start, as a power of two of picoseconds: 33 ns, half the shortest frame at 10 Gb/s.
const SHIFT_START: u32 = 15;
/// With at least 16 ps a slot, slot numbers leave room for a turn beyond the last instant.
const SHIFT_MIN: u32 = 4;
const SHIFT_MAX: u32 = 44;
/// Entries that an insertion into the run moves at most; beyond that the event goes to the side heap.
pub(super) const MOVES_MAX: usize = 24;
/// Pops before the width is looked at for the first time, and at least between two looks.
const LOOK_FIRST: u64 = 512;
const LOOK_AGAIN: u64 = 4_096;

/// Events by their order.
#[derive(Clone, Debug)]
pub(super) struct Wheel<E: Copy> {
    /// The slot that is being served: every event in a slot up to this one is in `run` or `side`.
    cursor: u64,
    pub(super) shift: u32,
    len: usize,
    /// The slot being served, last first.
    pub(super) run: Vec<Entry<E>>,
    /// Events for the slot being served that came too late and too far from its head to be inserted in the run.
    side: BinaryHeap<Entry<E>>,
    inner: Ring,
    outer: Ring,
    /// Beyond the outer ring: instant and place in the pool.
    far: BinaryHeap<Reverse<(u64, u32)>>,
    /// No event of `outer` or `far` is in a slot before this one; `u64::MAX` where both are empty.
    outside_first: u64,
    pub(super) pool: Vec<Pooled<E>>,
    free: u32,
    width: Width,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Pooled<E> {
    entry: Entry<E>,
    next: u32,
}

/// What the width is judged by, since the last look.
#[derive(Clone, Debug)]
struct Width {
    last_ps: u64,
    pops_until_look: u64,
    pops: u64,
    instants: u64,
    slots: u64,
    outside: u64,
}

impl<E: Copy> Wheel<E> {
    /// An empty wheel.
    pub(super) fn new() -> Self {
        Self {
            cursor: 0,
            shift: SHIFT_START,
            len: 0,
            run: Vec::new(),
            side: BinaryHeap::new(),
            inner: Ring::new(),
            outer: Ring::new(),
            far: BinaryHeap::new(),
            outside_first: u64::MAX,
            pool: Vec::new(),
            free: NIL,
            width: Width {
                last_ps: u64::MAX,
                pops_until_look: LOOK_FIRST,
                pops: LOOK_FIRST,
                instants: 0,
                slots: 0,
                outside: 0,
            },
        }
    }

    /// Puts an entry in. One before the last that came out is allowed and comes out next.
    #[inline]
    pub(super) fn push(&mut self, entry: Entry<E>) {
        self.len += 1;
        let slot = entry.at >> self.shift;
        if slot <= self.cursor {
            self.insert_in_run(entry);
        } else {
            let place = self.store(entry);
            self.link(slot, place);
        }
    }

    /// Takes the first entry out.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Entry<E>> {
        let entry = loop {
            if let Some(last) = self.run.last() {
                if self.side.peek().is_some_and(|side| side > last) {
                    break self.side.pop()?;
                }
                break self.run.pop()?;
            }
            if !self.side.is_empty() {
                break self.side.pop()?;
            }
            if self.len == 0 {
                return None;
            }
            if let Some(entry) = self.advance() {
                break entry;
            }
        };
        self.len -= 1;
        self.width.instants += u64::from(entry.at != self.width.last_ps);
        self.width.last_ps = entry.at;
        self.width.pops_until_look -= 1;
        if self.width.pops_until_look == 0 {
            self.look_at_width();
        }
        Some(entry)
    }

    /// The first entry.
    pub(super) fn first(&mut self) -> Option<Entry<E>> {
        loop {
            let run = self.run.last();
            let side = self.side.peek();
            // Entries order last first, so the greater of the two is the earlier.
            if let Some(first) = run.max(side) {
                return Some(*first);
            }
            if self.len == 0 {
                return None;
            }
            if let Some(entry) = self.advance() {
                self.run.push(entry);
            }
        }
    }

    /// Entries waiting.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Keeps an entry in the pool.
    #[inline]
    fn store(&mut self, entry: Entry<E>) -> u32 {
        let place = self.free;
        if let Some(pooled) = self.pool.get_mut(place as usize) {
            self.free = pooled.next;
            pooled.entry = entry;
            place
        } else {
            let place = self.pool.len() as u32;
            self.pool.push(Pooled { entry, next: NIL });
            place
        }
    }

    /// Puts a pooled entry of a slot after the cursor into a ring or beyond.
    #[inline]
    fn link(&mut self, slot: u64, place: u32) {
        if slot - self.cursor <= RING_SLOTS {
            self.pool[place as usize].next = self.inner.link(slot, place);
        } else {
            self.link_outside(slot, place);
        }
    }

    fn link_outside(&mut self, slot: u64, place: u32) {
        let turn = slot >> RING_BITS;
        if turn - (self.cursor >> RING_BITS) <= RING_SLOTS {
            self.pool[place as usize].next = self.outer.link(turn, place);
            self.outside_first = self.outside_first.min(turn << RING_BITS);
        } else {
            self.far
                .push(Reverse((self.pool[place as usize].entry.at, place)));
            self.outside_first = self.outside_first.min(slot);
        }
    }

    /// Inserts an event of the slot being served, moving a bounded number of others.
    #[inline]
    fn insert_in_run(&mut self, entry: Entry<E>) {
        let len = self.run.len();
        let later = self
            .run
            .iter()
            .rev()
            .take(MOVES_MAX)
            .take_while(|other| **other > entry)
            .count();
        if later == MOVES_MAX && len > MOVES_MAX {
            self.side.push(entry);
        } else {
            self.run.insert(len - later, entry);
        }
    }

    /// Moves the cursor to the next used slot. Returns its event where it has only one, else fills the run.
    /// Called with an empty run and side heap, and at least one event in the rings or beyond.
    #[inline]
    fn advance(&mut self) -> Option<Entry<E>> {
        let slot = self.inner.next_after(self.cursor);
        if self.outside_first <= slot {
            self.bring_in(slot);
            return None;
        }
        self.cursor = slot;
        self.width.slots += 1;
        let head = self.inner.take(slot);
        let first = self.pool[head as usize];
        if first.next == NIL {
            self.pool[head as usize].next = self.free;
            self.free = head;
            return Some(first.entry);
        }
        let mut place = head;
        let mut last = head;
        while let Some(pooled) = self.pool.get(place as usize) {
            self.run.push(pooled.entry);
            last = place;
            place = pooled.next;
        }
        self.pool[last as usize].next = self.free;
        self.free = head;
        self.run.sort_unstable();
        None
    }

    /// Moves the first events of the outer ring or from beyond into the inner ring; `slot` is the inner ring's
    /// first, none of theirs is before `outside_first`, which is not after it.
    #[cold]
    fn bring_in(&mut self, slot: u64) {
        let turn = self.outer.next_after(self.cursor >> RING_BITS);
        let turn_start = if turn == u64::MAX {
            u64::MAX
        } else {
            turn << RING_BITS
        };
        let far_slot = self
            .far
            .peek()
            .map_or(u64::MAX, |Reverse((at, _))| at >> self.shift);
        let first = turn_start.min(far_slot);
        if first <= slot {
            // No event is in a slot before `first`, so the inner ring may begin there.
            self.cursor = self.cursor.max(first.saturating_sub(1));
            if turn_start <= far_slot {
                let mut place = self.outer.take(turn);
                while let Some(pooled) = self.pool.get(place as usize) {
                    let next = pooled.next;
                    self.relink(place);
                    self.width.outside += 1;
                    place = next;
                }
            } else if let Some(Reverse((_, place))) = self.far.pop() {
                self.relink(place);
                self.width.outside += 1;
            }
        }
        self.find_outside_first();
    }

    fn find_outside_first(&mut self) {
        let turn = self.outer.next_after(self.cursor >> RING_BITS);
        let turn_start = if turn == u64::MAX {
            u64::MAX
        } else {
            turn << RING_BITS
        };
        let far_slot = self
            .far
            .peek()
            .map_or(u64::MAX, |Reverse((at, _))| at >> self.shift);
        self.outside_first = turn_start.min(far_slot);
    }

    /// Puts a pooled entry where it belongs now.
    fn relink(&mut self, place: u32) {
        let entry = self.pool[place as usize].entry;
        let slot = entry.at >> self.shift;
        if slot <= self.cursor {
            self.pool[place as usize].next = self.free;
            self.free = place;
            self.insert_in_run(entry);
        } else {
            self.link(slot, place);
        }
    }

    /// Decides by what the last pops were like. At most one rebuild in as many pops as events wait.
    #[cold]
    fn look_at_width(&mut self) {
        let seen = self.width.clone();
        let slots = seen.slots.max(1);
        let shift = if seen.instants > 4 * slots {
            let halvings = (seen.instants / (2 * slots)).ilog2();
            self.shift.saturating_sub(halvings).max(SHIFT_MIN)
        } else if seen.instants < 2 * slots && seen.outside > seen.pops / 4 {
            (self.shift + 1).min(SHIFT_MAX)
        } else {
            self.shift
        };
        if shift != self.shift {
            self.set_shift(shift);
        }
        let pops = LOOK_AGAIN.max(2 * self.len as u64);
        self.width = Width {
            last_ps: seen.last_ps,
            pops_until_look: pops,
            pops,
            instants: 0,
            slots: 0,
            outside: 0,
        };
    }

    fn set_shift(&mut self, shift: u32) {
        let mut all = NIL;
        let mut cursor = self.cursor;
        loop {
            cursor = self.inner.next_after(cursor);
            if cursor == u64::MAX {
                break;
            }
            let head = self.inner.take(cursor);
            all = self.prepend(head, all);
        }
        let mut turn = self.cursor >> RING_BITS;
        loop {
            turn = self.outer.next_after(turn);
            if turn == u64::MAX {
                break;
            }
            let head = self.outer.take(turn);
            all = self.prepend(head, all);
        }
        // The new cursor is the last slot that begins within the old one, or the one around it.
        self.cursor = if shift < self.shift {
            ((self.cursor + 1) << (self.shift - shift)) - 1
        } else {
            self.cursor >> (shift - self.shift)
        };
        self.shift = shift;
        while let Some(pooled) = self.pool.get(all as usize) {
            let next = pooled.next;
            self.relink(all);
            all = next;
        }
        // A wider slot may reach events from beyond: whatever is in the slot being served must be in the run.
        while self
            .far
            .peek()
            .is_some_and(|Reverse((at, _))| at >> self.shift <= self.cursor)
        {
            if let Some(Reverse((_, place))) = self.far.pop() {
                self.relink(place);
            }
        }
        self.find_outside_first();
    }

    /// Joins the list at `head` before `list`.
    fn prepend(&mut self, head: u32, list: u32) -> u32 {
        let mut place = head;
        while self.pool[place as usize].next != NIL {
            place = self.pool[place as usize].next;
        }
        self.pool[place as usize].next = list;
        head
    }
}
