//! The event queue of the simulator: events by (time, phase, node, per-node count), exactly.

use super::heap::HeapQueue;
use super::order::Phase;
use clearway_core::Instant;

/// The deterministic event queue.
#[derive(Clone, Debug)]
pub struct EventQueue<E: Copy> {
    heap: HeapQueue<E>,
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue for events of `nodes` nodes (at most [`super::order::NODES_MAX`]).
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self {
            heap: HeapQueue::new(nodes),
        }
    }

    /// Adds an event of `node`. An instant before the last one popped is allowed and comes out next.
    #[inline]
    pub fn push(&mut self, at: Instant, phase: Phase, node: u32, event: E) {
        self.heap.push(at, phase, node, event);
    }

    /// Takes the first event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        self.heap.pop()
    }

    /// The instant of the first event.
    #[must_use]
    #[inline]
    pub fn peek(&mut self) -> Option<Instant> {
        self.heap.peek()
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
