//! The waiting children of one inner node, by (instant, slot).
//!
//! A binary heap with the keys beside the slots, so that comparing touches no node; each node knows its position,
//! so that a child leaves or changes its key in logarithmic time. Inner nodes have tens of children, seldom
//! thousands; the tens of thousands of flows of a per-flow queue stand in a [timing wheel](super::wheel) instead.

use super::node::{NEVER, NONE, Node};
use alloc::vec::Vec;

/// The heap of one inner node.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Waiting {
    /// Distance of the earliest instant from `NEVER`, kept here so that a look costs no second load; zero when empty.
    before_never: u64,
    entries: Vec<(u64, u32)>,
}

impl Waiting {
    pub(super) fn reserve(&mut self, children: usize) {
        self.entries.reserve(children.saturating_sub(self.entries.len()));
    }

    /// The earliest instant, or `NEVER`.
    #[inline]
    pub(super) const fn earliest(&self) -> u64 {
        NEVER - self.before_never
    }

    /// The child with the least (instant, slot).
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, u32)> {
        self.entries.first().copied()
    }

    /// The earliest instant but one, or `NEVER`.
    #[inline]
    pub(super) fn second_earliest(&self) -> u64 {
        let at = |place: usize| self.entries.get(place).map_or(NEVER, |e| e.0);
        at(1).min(at(2))
    }

    /// The instant of a child that is in the heap.
    pub(super) fn key(&self, nodes: &[Node], child: u32) -> u64 {
        self.entries[nodes[child as usize].heap_at as usize].0
    }

    /// Puts a child in, or changes its instant.
    pub(super) fn set(&mut self, nodes: &mut [Node], child: u32, key: u64) {
        let at = nodes[child as usize].heap_at;
        if at == NONE {
            self.entries.push((key, child));
            self.up(nodes, self.entries.len() - 1);
        } else {
            let at = at as usize;
            let old = self.entries[at];
            self.entries[at].0 = key;
            if (key, child) < old {
                self.up(nodes, at)
            } else {
                self.down(nodes, at)
            }
        }
        self.note_first();
    }

    #[inline]
    fn note_first(&mut self) {
        self.before_never = self.entries.first().map_or(0, |e| NEVER - e.0);
    }

    /// Takes a child out if it is in.
    pub(super) fn remove(&mut self, nodes: &mut [Node], child: u32) {
        let at = nodes[child as usize].heap_at;
        if at == NONE {
            return;
        }
        nodes[child as usize].heap_at = NONE;
        let at = at as usize;
        let gone = self.entries.swap_remove(at);
        if let Some(&moved) = self.entries.get(at) {
            if moved < gone {
                self.up(nodes, at)
            } else {
                self.down(nodes, at)
            }
        }
        self.note_first();
    }

    /// Shifts every instant; the order stays.
    pub(super) fn rebase(&mut self, by: u64) {
        for entry in &mut self.entries {
            entry.0 = entry.0.saturating_sub(by);
        }
        self.note_first();
    }

    fn up(&mut self, nodes: &mut [Node], mut at: usize) {
        let entry = self.entries[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[at] = self.entries[parent];
            nodes[self.entries[at].1 as usize].heap_at = at as u32;
            at = parent;
        }
        self.entries[at] = entry;
        nodes[entry.1 as usize].heap_at = at as u32;
    }

    fn down(&mut self, nodes: &mut [Node], mut at: usize) {
        let entry = self.entries[at];
        loop {
            let mut child = 2 * at + 1;
            let Some(&left) = self.entries.get(child) else {
                break;
            };
            let mut least = left;
            if let Some(&right) = self.entries.get(child + 1)
                && right < left
            {
                least = right;
                child += 1;
            }
            if entry <= least {
                break;
            }
            self.entries[at] = least;
            nodes[least.1 as usize].heap_at = at as u32;
            at = child;
        }
        self.entries[at] = entry;
        nodes[entry.1 as usize].heap_at = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_come_out_by_instant_then_slot_whatever_changed_meanwhile() {
        let mut nodes = alloc::vec![Node::free(); 200];
        let mut waiting = Waiting::default();
        let mut keys = [None; 200];
        let mut state = 1_u64;
        for _ in 0..5_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let child = (state >> 33) as u32 % 200;
            if state >> 60 < 4 {
                waiting.remove(&mut nodes, child);
                keys[child as usize] = None;
            } else {
                let key = (state >> 40) % 50;
                waiting.set(&mut nodes, child, key);
                keys[child as usize] = Some(key);
            }
            let least = (0_u32..)
                .zip(keys)
                .filter_map(|(slot, key)| key.map(|k| (k, slot)))
                .min();
            assert_eq!(waiting.first(), least);
            let mut present: Vec<u64> = keys.iter().flatten().copied().collect();
            present.sort_unstable();
            let second = present.get(1).copied().unwrap_or(NEVER);
            assert_eq!(waiting.second_earliest(), second);
        }
        while let Some((_, child)) = waiting.first() {
            waiting.remove(&mut nodes, child);
        }
        assert!(nodes.iter().all(|n| n.heap_at == NONE));
    }
}
