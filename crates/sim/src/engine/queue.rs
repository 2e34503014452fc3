//! The event queue of the simulator: events by (time, phase, node, per-node count), exactly.
//!
//! The events that come next are kept sorted in one piece of memory, at most 64 of them; what comes after these waits
//! in a timing wheel (`wheel`), from which the sorted ones are filled up. In a network of tens of nodes
//! everything is in the sorted part: most events lie one frame time ahead, so that they go in near its end, and an
//! insertion moves one or two others. A wheel's slots, bitmaps and lists then cost more than they save.
//!
//! Left out: cancelling. A caller that changes its mind carries a generation in the event and ignores stale ones.

use super::heap::{Entry, order_of};
use super::order::{Counts, Phase};
use super::wheel::Wheel;
use clearway_core::Instant;

/// Events in the sorted part at most.
const NEAR_MAX: usize = 64;
/// Events that are brought in from the wheel at a time.
const BATCH: usize = 16;
/// Places that the sorted part has: it slides through them and back.
const MEMORY: usize = 8 * NEAR_MAX;

/// The deterministic event queue.
#[derive(Clone, Debug)]
pub struct EventQueue<E: Copy> {
    counts: Counts,
    near: Near<E>,
    /// What is before is in `near`, the rest in `wheel`.
    horizon: u128,
    wheel: Wheel<E>,
}

/// The sorted part: from `head` up to `tail`.
#[derive(Clone, Debug)]
struct Near<E> {
    head: usize,
    tail: usize,
    /// Empty before the first event, then as long as it ever is.
    entries: Vec<Entry<E>>,
}

impl<E: Copy> Near<E> {
    const fn new() -> Self {
        Self {
            head: 0,
            tail: 0,
            entries: Vec::new(),
        }
    }

    #[inline]
    const fn len(&self) -> usize {
        self.tail - self.head
    }

    /// Makes a place behind the last entry.
    #[inline]
    fn grow(&mut self, at: u64, key: u64, event: E) {
        if self.tail >= self.entries.len() {
            self.slide(Entry { at, key, event });
        }
        self.tail += 1;
    }

    /// Puts an entry in at its place, from the nearer end.
    #[inline]
    fn insert(&mut self, at: u64, key: u64, event: E) {
        let order = order_of(at, key);
        let middle = (self.head + self.tail) / 2;
        let mut place;
        if self.head > 0 && self.entries.get(middle).is_some_and(|m| order < m.order()) && middle < self.tail
        {
            self.head -= 1;
            place = self.head;
            while place + 1 < self.tail
                && let Some(next) = self.entries.get(place + 1).copied()
                && next.order() < order
            {
                self.entries[place] = next;
                place += 1;
            }
        } else {
            self.grow(at, key, event);
            place = self.tail - 1;
            while place > self.head
                && let Some(before) = self.entries.get(place - 1).copied()
                && order < before.order()
            {
                self.entries[place] = before;
                place -= 1;
            }
        }
        // Field by field: an entry put together first and copied then would wait for its own parts to be stored.
        let entry = &mut self.entries[place];
        entry.at = at;
        entry.key = key;
        entry.event = event;
    }

    #[inline]
    fn first(&self) -> Option<&Entry<E>> {
        if self.head < self.tail {
            self.entries.get(self.head)
        } else {
            None
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<(u64, E)> {
        let first = self.first()?;
        let popped = (first.at, first.event);
        self.head += 1;
        Some(popped)
    }

    /// Moves the entries back to the beginning of their memory, or takes that memory.
    #[inline(never)]
    fn slide(&mut self, filling: Entry<E>) {
        if self.entries.is_empty() {
            self.entries.resize(MEMORY, filling);
        }
        self.entries.copy_within(self.head..self.tail, 0);
        self.tail -= self.head;
        self.head = 0;
    }
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue for events of `nodes` nodes (at most [`super::order::NODES_MAX`]).
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self {
            counts: Counts::new(nodes),
            near: Near::new(),
            horizon: u128::MAX,
            wheel: Wheel::new(),
        }
    }

    /// Adds an event of `node`. An instant before the last one popped is allowed and comes out next.
    #[inline]
    pub fn push(&mut self, at: Instant, phase: Phase, node: u32, event: E) {
        let key = self.counts.next(phase, node);
        let at = at.as_ps();
        if self.near.len() >= NEAR_MAX {
            self.spill();
        }
        if order_of(at, key) < self.horizon {
            self.near.insert(at, key, event);
        } else {
            self.wheel.push(Entry { at, key, event });
        }
    }

    /// Takes the first event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        if self.near.len() == 0 {
            self.refill();
        }
        self.near.pop().map(|(at, event)| (Instant::from_ps(at), event))
    }

    /// The instant of the first event.
    #[must_use]
    #[inline]
    pub fn peek(&mut self) -> Option<Instant> {
        if self.near.len() == 0 {
            self.refill();
        }
        self.near.first().map(|entry| Instant::from_ps(entry.at))
    }

    /// Events waiting.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.near.len() + self.wheel.len()
    }

    /// True where nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves the later half of the sorted part to the wheel.
    #[inline(never)]
    fn spill(&mut self) {
        let keep = self.near.head + NEAR_MAX / 2;
        for place in keep..self.near.tail {
            let entry = self.near.entries[place];
            self.horizon = self.horizon.min(entry.order());
            self.wheel.push(entry);
        }
        self.near.tail = keep;
    }

    /// Fills the empty sorted part from the wheel.
    #[inline(never)]
    fn refill(&mut self) {
        self.near.head = 0;
        self.near.tail = 0;
        for _ in 0..BATCH {
            let Some(entry) = self.wheel.pop() else { break };
            let Entry { at, key, event } = entry;
            self.near.grow(at, key, event);
            self.near.entries[self.near.tail - 1] = entry;
        }
        self.horizon = self.wheel.first().map_or(u128::MAX, |entry| entry.order());
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
