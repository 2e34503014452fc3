//! A binary heap with the event queue's contract: the plain model that the wheel is tested and measured against.

use super::order::{Counts, Phase};
use clearway_core::Instant;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An event queue on the standard library's heap.
#[derive(Clone, Debug)]
pub struct HeapQueue<E: Copy> {
    counts: Counts,
    heap: BinaryHeap<Entry<E>>,
}

/// An event with its place in the order. Entries compare last first: the standard heap gives the greatest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<E> {
    pub(super) at: u64,
    pub(super) key: u64,
    pub(super) event: E,
}

impl<E> Entry<E> {
    /// Its place in the order of all events: the least comes first.
    #[inline]
    pub(super) const fn order(&self) -> u128 {
        order_of(self.at, self.key)
    }
}

/// Place of an event in the order of all.
#[inline]
pub(super) const fn order_of(at: u64, key: u64) -> u128 {
    ((at as u128) << 64) | key as u128
}

impl<E> PartialEq for Entry<E> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

impl<E: Copy> HeapQueue<E> {
    /// An empty queue for events of `nodes` nodes (at most [`super::order::NODES_MAX`]).
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self {
            counts: Counts::new(nodes),
            heap: BinaryHeap::new(),
        }
    }

    /// Adds an event of `node`.
    #[inline]
    pub fn push(&mut self, at: Instant, phase: Phase, node: u32, event: E) {
        let key = self.counts.next(phase, node);
        self.heap.push(Entry {
            at: at.as_ps(),
            key,
            event,
        });
    }

    /// Takes the first event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.heap
            .pop()
            .map(|entry| (Instant::from_ps(entry.at), entry.event))
    }

    /// The instant of the first event.
    #[must_use]
    #[inline]
    pub fn peek(&mut self) -> Option<Instant> {
        self.heap.peek().map(|entry| Instant::from_ps(entry.at))
    }

    /// Events waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True where nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_come_out_by_phase_node_and_push() {
        let mut queue = HeapQueue::new(3);
        let at = Instant::from_ps(7);
        queue.push(at, Phase::TransmitterFree, 0, 'e');
        queue.push(at, Phase::Arrival, 2, 'd');
        queue.push(at, Phase::Arrival, 1, 'b');
        queue.push(at, Phase::Arrival, 1, 'c');
        queue.push(at, Phase::Control, 2, 'a');
        assert_eq!(queue.len(), 5);
        let order: String = std::iter::from_fn(|| queue.pop())
            .map(|(_, event)| event)
            .collect();
        assert_eq!(order, "abcde");
        assert!(queue.is_empty());
    }
}
