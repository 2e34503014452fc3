//! The flows of one per-flow queue that have frames, by (instant, slot).
//!
//! A hierarchical timing wheel (Varghese and Lauck, 1987) with exact order: three levels of 4,096 slots of about
//! 1 us, 4.3 ms and 17.6 s, and a pairing heap (Fredman and others, 1986) of the flows whose slot has come. Putting a
//! flow in costs the same for a hundred flows as for a hundred thousand; moving a slot's flows down a level is paid
//! for once per flow and level. Links live in the flow records: nothing is allocated after construction.

use super::flows::Flow;
use super::node::{NEVER, NONE};
use alloc::boxed::Box;
use alloc::vec;

const SLOT_BITS: u32 = 12;
const SLOTS: usize = 1 << SLOT_BITS;
const WORDS: usize = SLOTS / 64;
/// Picoseconds of a slot of the finest level, as a power of two.
const TICK_BITS: u32 = 20;
const LEVELS: usize = 3;

/// One level: a list head for each slot, and which slots have any.
#[derive(Clone, Debug)]
struct Level {
    heads: Box<[u32]>,
    summary: u64,
    used: [u64; WORDS],
}

impl Level {
    fn new() -> Self {
        Self {
            heads: vec![NONE; SLOTS].into_boxed_slice(),
            summary: 0,
            used: [0; WORDS],
        }
    }

    /// The first used slot at or after `from`, going round; its distance from `from`.
    fn distance(&self, from: usize) -> Option<u64> {
        if self.summary == 0 {
            return None;
        }
        let (word, bit) = (from / 64, from % 64);
        let here = self.used[word] >> bit;
        if here != 0 {
            return Some(u64::from(here.trailing_zeros()));
        }
        // Words after this one first; then from the start, this word's low bits last.
        let after = if word == 63 {
            0
        } else {
            self.summary >> (word + 1) << (word + 1)
        };
        let next = if after != 0 {
            after.trailing_zeros()
        } else {
            self.summary.trailing_zeros()
        } as usize;
        let slot = next * 64 + self.used[next].trailing_zeros() as usize;
        Some(((slot + SLOTS - from) % SLOTS) as u64)
    }
}

/// Flows of one leaf in order of their instants.
#[derive(Clone, Debug)]
pub(super) struct Wheel {
    levels: [Level; LEVELS],
    /// Root of the heap of flows whose slot is `tick` or earlier.
    root: u32,
    tick: u64,
    in_wheel: u32,
}

/// Which level and slot an instant belongs to, seen from `tick`; none: its tick has come.
fn place(tick: u64, at: u64) -> Option<(usize, usize)> {
    let due = at >> TICK_BITS;
    if due <= tick {
        return None;
    }
    for level in 0..LEVELS {
        let shift = SLOT_BITS * level as u32;
        let ahead = (due >> shift) - (tick >> shift);
        if ahead < SLOTS as u64 {
            return Some((level, (due >> shift) as usize % SLOTS));
        }
    }
    // Beyond the horizon of about 20 hours: wait in the farthest slot and be placed again from there.
    let shift = SLOT_BITS * (LEVELS as u32 - 1);
    Some((LEVELS - 1, ((tick >> shift) as usize + SLOTS - 1) % SLOTS))
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            levels: [Level::new(), Level::new(), Level::new()],
            root: NONE,
            tick: 0,
            in_wheel: 0,
        }
    }

    /// The flow with the least (instant, slot).
    #[inline]
    pub(super) const fn first(&self) -> u32 {
        self.root
    }

    /// The least instant, or `NEVER`.
    #[inline]
    pub(super) fn earliest(&self, flows: &[Flow]) -> u64 {
        if self.root == NONE {
            NEVER
        } else {
            flows[self.root as usize].at
        }
    }

    /// Puts a flow in; its `at` is set.
    #[inline]
    pub(super) fn insert(&mut self, flows: &mut [Flow], flow: u32) {
        let at = flows[flow as usize].at;
        if self.in_wheel == 0 && (self.root == NONE || (at >> TICK_BITS) < self.tick) {
            // With nothing beyond the heap the wheel can start anywhere: let it start at the earliest.
            let lone = self.root;
            if lone == NONE || flows[lone as usize].child == NONE {
                self.tick = at >> TICK_BITS;
                self.root = NONE;
                self.put(flows, flow);
                if lone != NONE {
                    self.put(flows, lone);
                }
                return;
            }
        }
        self.put(flows, flow);
    }

    fn put(&mut self, flows: &mut [Flow], flow: u32) {
        let record = &mut flows[flow as usize];
        record.child = NONE;
        record.prev = NONE;
        record.next = NONE;
        let Some((level, slot)) = place(self.tick, record.at) else {
            record.slot = NONE;
            self.root = if self.root == NONE {
                flow
            } else {
                meld(flows, self.root, flow)
            };
            return;
        };
        record.slot = ((level as u32) << SLOT_BITS) | slot as u32;
        let level = &mut self.levels[level];
        let head = level.heads[slot];
        record.next = head;
        if head != NONE {
            flows[head as usize].prev = flow;
        }
        level.heads[slot] = flow;
        level.used[slot / 64] |= 1 << (slot % 64);
        level.summary |= 1 << (slot / 64);
        self.in_wheel += 1;
    }

    /// Takes the first flow out.
    #[inline]
    pub(super) fn pop(&mut self, flows: &mut [Flow]) {
        let root = self.root;
        if root != NONE {
            self.root = merge_children(flows, flows[root as usize].child);
            self.settle(flows);
        }
    }

    /// Takes any flow out.
    pub(super) fn remove(&mut self, flows: &mut [Flow], flow: u32) {
        if flow == self.root {
            self.pop(flows);
            return;
        }
        let Flow {
            prev,
            next,
            child,
            slot,
            ..
        } = flows[flow as usize];
        if slot == NONE {
            // In the heap: cut the subtree off and give its children back. `prev` is the left sibling or the parent.
            if flows[prev as usize].child == flow {
                flows[prev as usize].child = next;
            } else {
                flows[prev as usize].next = next;
            }
            if next != NONE {
                flows[next as usize].prev = prev;
            }
            let rest = merge_children(flows, child);
            if rest != NONE {
                self.root = meld(flows, self.root, rest);
            }
            return;
        }
        if next != NONE {
            flows[next as usize].prev = prev;
        }
        if prev != NONE {
            flows[prev as usize].next = next;
        } else {
            let (level, slot) = (
                &mut self.levels[(slot >> SLOT_BITS) as usize],
                slot as usize % SLOTS,
            );
            level.heads[slot] = next;
            if next == NONE {
                level.used[slot / 64] &= !(1 << (slot % 64));
                if level.used[slot / 64] == 0 {
                    level.summary &= !(1 << (slot / 64));
                }
            }
        }
        self.in_wheel -= 1;
    }

    /// Gives a flow that is in another instant.
    pub(super) fn change(&mut self, flows: &mut [Flow], flow: u32, at: u64) {
        self.remove(flows, flow);
        flows[flow as usize].at = at;
        self.insert(flows, flow);
    }

    /// Brings the next used slot into the heap when the heap is empty.
    fn settle(&mut self, flows: &mut [Flow]) {
        while self.root == NONE && self.in_wheel > 0 {
            // The first used slot of each level, as a tick.
            let mut starts = [u64::MAX; LEVELS];
            for (level, start) in starts.iter_mut().enumerate() {
                let shift = SLOT_BITS * level as u32;
                let here = self.tick >> shift;
                if let Some(ahead) = self.levels[level].distance(here as usize % SLOTS) {
                    *start = ((here + ahead) << shift).max(self.tick);
                }
            }
            // A coarser slot that starts with a finer one may hold flows of the same tick: both come down.
            let first = starts.into_iter().min().unwrap_or(self.tick);
            self.tick = first;
            for level in (0..LEVELS).rev().filter(|&level| starts[level] == first) {
                self.bring_down(flows, level);
            }
        }
    }

    /// Places the flows of a level's present slot again.
    fn bring_down(&mut self, flows: &mut [Flow], level: usize) {
        let slot = (self.tick >> (SLOT_BITS * level as u32)) as usize % SLOTS;
        let from = &mut self.levels[level];
        let mut flow = core::mem::replace(&mut from.heads[slot], NONE);
        from.used[slot / 64] &= !(1 << (slot % 64));
        if from.used[slot / 64] == 0 {
            from.summary &= !(1 << (slot / 64));
        }
        while flow != NONE {
            let next = flows[flow as usize].next;
            self.in_wheel -= 1;
            self.put(flows, flow);
            flow = next;
        }
    }

    /// Shifts every instant. Walks all flows that are in.
    pub(super) fn rebase(&mut self, flows: &mut [Flow], by: u64) {
        // Popping and chaining needs no memory but the links that the flows have.
        let mut chain = NONE;
        while self.root != NONE {
            let flow = self.root;
            self.pop(flows);
            flows[flow as usize].next = chain;
            chain = flow;
        }
        while chain != NONE {
            let next = flows[chain as usize].next;
            flows[chain as usize].at = flows[chain as usize].at.saturating_sub(by);
            self.insert(flows, chain);
            chain = next;
        }
    }
}

#[inline]
fn before(flows: &[Flow], a: u32, b: u32) -> bool {
    (flows[a as usize].at, a) < (flows[b as usize].at, b)
}

/// Joins two heaps; the root with the lesser key adopts the other.
#[inline]
fn meld(flows: &mut [Flow], a: u32, b: u32) -> u32 {
    let (top, low) = if before(flows, a, b) { (a, b) } else { (b, a) };
    let first = flows[top as usize].child;
    flows[low as usize].next = first;
    flows[low as usize].prev = top;
    if first != NONE {
        flows[first as usize].prev = low;
    }
    flows[top as usize].child = low;
    flows[top as usize].next = NONE;
    flows[top as usize].prev = NONE;
    top
}

/// Two-pass merge of a list of siblings.
fn merge_children(flows: &mut [Flow], first: u32) -> u32 {
    let mut pairs = NONE;
    let mut at = first;
    while at != NONE {
        let a = at;
        let b = flows[a as usize].next;
        if b == NONE {
            flows[a as usize].next = pairs;
            pairs = a;
            break;
        }
        at = flows[b as usize].next;
        let top = meld(flows, a, b);
        flows[top as usize].next = pairs;
        pairs = top;
    }
    let mut root = NONE;
    while pairs != NONE {
        let next = flows[pairs as usize].next;
        flows[pairs as usize].next = NONE;
        flows[pairs as usize].prev = NONE;
        root = if root == NONE {
            pairs
        } else {
            meld(flows, root, pairs)
        };
        pairs = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    #[test]
    fn flows_come_out_like_from_a_sorted_set_at_every_time_scale() {
        for scale in [0, 10, 21, 33, 45, 60] {
            let mut flows: Vec<Flow> = (0..500).map(|_| Flow::free()).collect();
            let (mut wheel, mut set) = (Wheel::new(), BTreeSet::new());
            let (mut state, mut floor) = (7_u64 + scale, 1_u64 << 61);
            for step in 0..20_000_u32 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let flow = (state >> 33) as u32 % 500;
                let at = floor + ((state >> 20) & ((1 << scale) - 1));
                let present = set.iter().find(|&&(_, f)| f == flow).copied();
                match (present, state >> 61) {
                    (None, 0..=4) => {
                        flows[flow as usize].at = at;
                        wheel.insert(&mut flows, flow);
                        set.insert((at, flow));
                    }
                    (Some(entry), 0) => {
                        wheel.remove(&mut flows, flow);
                        set.remove(&entry);
                    }
                    (Some(entry), 1) => {
                        wheel.change(&mut flows, flow, at);
                        set.remove(&entry);
                        set.insert((at, flow));
                    }
                    _ => {
                        if let Some((at, _)) = set.pop_first() {
                            // Time goes on to the flow that is taken out, as it does in a manager.
                            floor = floor.max(at.saturating_sub(step.into()));
                            wheel.pop(&mut flows);
                        }
                    }
                }
                let first = set.first().map(|&(at, flow)| (at, flow));
                let got = (wheel.first() != NONE).then(|| (wheel.earliest(&flows), wheel.first()));
                assert_eq!(got, first, "scale {scale} step {step}");
            }
        }
    }

    #[test]
    fn flows_of_one_tick_in_slots_of_two_levels_keep_their_order() {
        let mut flows: Vec<Flow> = (0..4).map(|_| Flow::free()).collect();
        let mut wheel = Wheel::new();
        let tick = 1 << TICK_BITS;
        // Seen from tick 10 flow 2 goes to the second level; seen from tick 5,000 flow 1 goes to the first.
        for (flow, at) in [(0, 10 * tick), (3, 5_000 * tick), (2, 8_192 * tick + 5)] {
            flows[flow as usize].at = at;
            wheel.insert(&mut flows, flow);
        }
        wheel.pop(&mut flows);
        flows[1].at = 8_192 * tick + 5;
        wheel.insert(&mut flows, 1);
        let mut out = Vec::new();
        while wheel.first() != NONE {
            out.push(wheel.first());
            wheel.pop(&mut flows);
        }
        assert_eq!(out, [3, 1, 2]);
    }

    #[test]
    fn a_rebase_keeps_the_order() {
        let mut flows: Vec<Flow> = (0..300).map(|_| Flow::free()).collect();
        let mut wheel = Wheel::new();
        for flow in 0..300_u32 {
            flows[flow as usize].at = (1 << 62) + u64::from(flow % 17) * 3_000_000_000;
            wheel.insert(&mut flows, flow);
        }
        wheel.rebase(&mut flows, 1 << 61);
        let mut out = Vec::new();
        while wheel.first() != NONE {
            out.push((wheel.earliest(&flows), wheel.first()));
            wheel.pop(&mut flows);
        }
        assert_eq!(out.len(), 300);
        assert!(out.is_sorted());
        assert_eq!(out[0], (1 << 61, 0));
    }
}
