//! The flows of one per-flow queue that have frames, by (instant, slot).
//!
//! A hierarchical timing wheel (Varghese and Lauck, 1987) with exact order: four levels of 1,024 slots, and a pairing
//! heap (Fredman and others, 1986) of the flows whose slot has come. A slot of the finest level, a *tick*, follows the
//! rate of the flows: a gap between a flow's longest frames is 128 to 256 of them, so that a flow of steady rate is put
//! in once a frame and never moved down a level, and several of many flows share a tick. Without a rate a tick is about
//! 1 us. Putting a flow in costs the same for a hundred flows as for a hundred thousand, but for the wait for memory: the
//! flows of a tick stand together in [chunks](super::chunks), so that their records are asked for together.
//! Nothing is allocated after construction.

use super::flows::{Flow, Flows};
use super::node::{NEVER, NONE};
use super::queues::Frames;
use alloc::boxed::Box;
use alloc::vec;

const SLOT_BITS: u32 = 10;
const SLOTS: usize = 1 << SLOT_BITS;
const WORDS: usize = SLOTS / 64;
/// Picoseconds of a tick where nothing is known of the flows, as a power of two.
const TICK_BITS: u32 = 20;
/// Shortest and longest tick: about 4 ns and 1 s.
const TICK_BITS_RANGE: (u32, u32) = (12, 40);
/// Ticks in a gap between two of a flow's longest frames, at least, as a power of two.
const GAP_BITS: u32 = 7;
const LEVELS: usize = 4;
/// Lists of a wheel.
pub(super) const LISTS: usize = SLOTS * LEVELS;

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
    tick_bits: u32,
    tick: u64,
    in_wheel: u32,
}

/// Which level and slot a tick belongs to, seen from `tick`; none: it has come.
#[inline]
fn place(tick: u64, due: u64) -> Option<(usize, usize)> {
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
    // Beyond the horizon (about 13 days with ticks of 1 us): wait in the farthest slot and be placed again from there.
    let shift = SLOT_BITS * (LEVELS as u32 - 1);
    Some((LEVELS - 1, ((tick >> shift) as usize + SLOTS - 1) % SLOTS))
}

impl Wheel {
    /// A wheel for flows with this many picoseconds between two of their longest frames, where that is known.
    pub(super) fn new(gap_ps: Option<u64>) -> Self {
        let (least, most) = TICK_BITS_RANGE;
        let tick_bits = gap_ps.map_or(TICK_BITS, |gap| {
            gap.max(1).ilog2().saturating_sub(GAP_BITS).clamp(least, most)
        });
        Self {
            levels: core::array::from_fn(|_| Level::new()),
            root: NONE,
            tick_bits,
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
    pub(super) fn insert(&mut self, flows: &mut Flows, flow: u32) {
        let at = flows.records[flow as usize].at;
        if self.in_wheel == 0 && (self.root == NONE || (at >> self.tick_bits) < self.tick) {
            // With nothing beyond the heap the wheel can start anywhere: let it start at the earliest.
            let lone = self.root;
            if lone == NONE || flows.records[lone as usize].child == NONE {
                self.tick = at >> self.tick_bits;
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

    fn put(&mut self, flows: &mut Flows, flow: u32) {
        let record = &mut flows.records[flow as usize];
        record.child = NONE;
        record.prev = NONE;
        record.next = NONE;
        let Some((level, slot)) = place(self.tick, record.at >> self.tick_bits) else {
            record.listed = false;
            self.root = if self.root == NONE {
                flow
            } else {
                meld(flows, self.root, flow)
            };
            return;
        };
        let number = (level << SLOT_BITS | slot) as u16;
        let level = &mut self.levels[level];
        record.listed = true;
        record.next = flows.chunks.push(&mut level.heads[slot], number, flow);
        level.used[slot / 64] |= 1 << (slot % 64);
        level.summary |= 1 << (slot / 64);
        self.in_wheel += 1;
    }

    /// Takes the first flow out.
    #[inline]
    pub(super) fn pop(&mut self, flows: &mut Flows, frames: &Frames) {
        let root = self.root;
        if root != NONE {
            self.root = merge_children(flows, flows.records[root as usize].child);
            self.settle(flows, frames);
        }
    }

    /// Takes any flow out.
    pub(super) fn remove(&mut self, flows: &mut Flows, frames: &Frames, flow: u32) {
        if flow == self.root {
            self.pop(flows, frames);
            return;
        }
        let Flow {
            prev,
            next,
            child,
            listed,
            ..
        } = flows.records[flow as usize];
        if !listed {
            // In the heap: cut the subtree off and give its children back. `prev` is the left sibling or the parent.
            if flows.records[prev as usize].child == flow {
                flows.records[prev as usize].child = next;
            } else {
                flows.records[prev as usize].next = next;
            }
            if next != NONE {
                flows.records[next as usize].prev = prev;
            }
            let rest = merge_children(flows, child);
            if rest != NONE {
                self.root = meld(flows, self.root, rest);
            }
            return;
        }
        let number = usize::from(flows.chunks.slot_of(next));
        let (level, slot) = (&mut self.levels[number >> SLOT_BITS], number % SLOTS);
        if let Some(moved) = flows.chunks.remove(&mut level.heads[slot], next) {
            flows.records[moved as usize].next = next;
        }
        if level.heads[slot] == NONE {
            level.used[slot / 64] &= !(1 << (slot % 64));
            if level.used[slot / 64] == 0 {
                level.summary &= !(1 << (slot / 64));
            }
        }
        self.in_wheel -= 1;
    }

    /// Gives a flow that is in another instant.
    pub(super) fn change(&mut self, flows: &mut Flows, frames: &Frames, flow: u32, at: u64) {
        self.remove(flows, frames, flow);
        flows.records[flow as usize].at = at;
        self.insert(flows, flow);
    }

    /// Brings the next used slot into the heap when the heap is empty.
    fn settle(&mut self, flows: &mut Flows, frames: &Frames) {
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
                self.bring_down(flows, frames, level);
            }
        }
    }

    /// Places the flows of a level's present slot again.
    fn bring_down(&mut self, flows: &mut Flows, frames: &Frames, level: usize) {
        let slot = (self.tick >> (SLOT_BITS * level as u32)) as usize % SLOTS;
        let from = &mut self.levels[level];
        let mut list = core::mem::replace(&mut from.heads[slot], NONE);
        from.used[slot / 64] &= !(1 << (slot % 64));
        if from.used[slot / 64] == 0 {
            from.summary &= !(1 << (slot / 64));
        }
        flows.ask_for(frames, list);
        while list != NONE {
            let chunk = flows.chunks.give_back(list);
            list = chunk.next;
            for &flow in chunk.flows() {
                self.in_wheel -= 1;
                self.put(flows, flow);
            }
        }
    }

    /// Shifts every instant. Walks all flows that are in.
    pub(super) fn rebase(&mut self, flows: &mut Flows, frames: &Frames, by: u64) {
        // Popping and chaining needs no memory but the links that the flows have.
        let mut chain = NONE;
        while self.root != NONE {
            let flow = self.root;
            self.pop(flows, frames);
            flows.records[flow as usize].next = chain;
            chain = flow;
        }
        while chain != NONE {
            let next = flows.records[chain as usize].next;
            flows.records[chain as usize].at = flows.records[chain as usize].at.saturating_sub(by);
            self.insert(flows, chain);
            chain = next;
        }
    }
}

#[inline]
fn before(flows: &Flows, a: u32, b: u32) -> bool {
    (flows.records[a as usize].at, a) < (flows.records[b as usize].at, b)
}

/// Joins two heaps; the root with the lesser key adopts the other.
#[inline]
fn meld(flows: &mut Flows, a: u32, b: u32) -> u32 {
    let (top, low) = if before(flows, a, b) { (a, b) } else { (b, a) };
    let first = flows.records[top as usize].child;
    let below = &mut flows.records[low as usize];
    below.next = first;
    below.prev = top;
    if first != NONE {
        flows.records[first as usize].prev = low;
    }
    let above = &mut flows.records[top as usize];
    above.child = low;
    above.next = NONE;
    above.prev = NONE;
    top
}

/// Two-pass merge of a list of siblings.
fn merge_children(flows: &mut Flows, first: u32) -> u32 {
    let mut pairs = NONE;
    let mut at = first;
    while at != NONE {
        let a = at;
        let b = flows.records[a as usize].next;
        if b == NONE {
            flows.records[a as usize].next = pairs;
            pairs = a;
            break;
        }
        at = flows.records[b as usize].next;
        let top = meld(flows, a, b);
        flows.records[top as usize].next = pairs;
        pairs = top;
    }
    let mut root = NONE;
    while pairs != NONE {
        let next = flows.records[pairs as usize].next;
        flows.records[pairs as usize].next = NONE;
        flows.records[pairs as usize].prev = NONE;
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
        let gaps = [None, Some(0), Some(1 << 27), Some(2_787_200_000), Some(1 << 60)];
        for (scale, gap) in [0, 10, 21, 33, 45, 60]
            .into_iter()
            .flat_map(|s| gaps.map(|g| (s, g)))
        {
            let (mut flows, frames) = (Flows::new(500), Frames::new(0));
            let (mut wheel, mut set) = (Wheel::new(gap), BTreeSet::new());
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
                        flows.records[flow as usize].at = at;
                        wheel.insert(&mut flows, flow);
                        set.insert((at, flow));
                    }
                    (Some(entry), 0) => {
                        wheel.remove(&mut flows, &frames, flow);
                        set.remove(&entry);
                    }
                    (Some(entry), 1) => {
                        wheel.change(&mut flows, &frames, flow, at);
                        set.remove(&entry);
                        set.insert((at, flow));
                    }
                    _ => {
                        if let Some((at, _)) = set.pop_first() {
                            // Time goes on to the flow that is taken out, as it does in a manager.
                            floor = floor.max(at.saturating_sub(step.into()));
                            wheel.pop(&mut flows, &frames);
                        }
                    }
                }
                let first = set.first().map(|&(at, flow)| (at, flow));
                let got = (wheel.first() != NONE).then(|| (wheel.earliest(&flows.records), wheel.first()));
                assert_eq!(got, first, "scale {scale} gap {gap:?} step {step}");
            }
        }
    }

    #[test]
    fn flows_of_one_tick_in_slots_of_two_levels_keep_their_order() {
        let (mut flows, frames) = (Flows::new(4), Frames::new(0));
        let mut wheel = Wheel::new(None);
        let tick = 1 << TICK_BITS;
        // Seen from tick 10 flow 2 goes to the second level; seen from tick 5,000 flow 1 goes to the first.
        for (flow, at) in [(0, 10 * tick), (3, 5_000 * tick), (2, 8_192 * tick + 5)] {
            flows.records[flow as usize].at = at;
            wheel.insert(&mut flows, flow);
        }
        wheel.pop(&mut flows, &frames);
        flows.records[1].at = 8_192 * tick + 5;
        wheel.insert(&mut flows, 1);
        let mut out = Vec::new();
        while wheel.first() != NONE {
            out.push(wheel.first());
            wheel.pop(&mut flows, &frames);
        }
        assert_eq!(out, [3, 1, 2]);
    }

    #[test]
    fn a_rebase_keeps_the_order() {
        let (mut flows, frames) = (Flows::new(300), Frames::new(0));
        let mut wheel = Wheel::new(None);
        for flow in 0..300_u32 {
            flows.records[flow as usize].at = (1 << 62) + u64::from(flow % 17) * 3_000_000_000;
            wheel.insert(&mut flows, flow);
        }
        wheel.rebase(&mut flows, &frames, 1 << 61);
        let mut out = Vec::new();
        while wheel.first() != NONE {
            out.push((wheel.earliest(&flows.records), wheel.first()));
            wheel.pop(&mut flows, &frames);
        }
        assert_eq!(out.len(), 300);
        assert!(out.is_sorted());
        assert_eq!(out[0], (1 << 61, 0));
    }
}
