//! Who goes next: readiness, rounds, the visit from the root down, and what a departure changes on the way up.

use super::node::{Kind, NEVER, NONE, Node, Round, State};
use super::{BIAS, ROOT, TrafficManager};
use crate::api::{Dequeue, WaitReason};
use crate::plan::DEPTH_MAX;
use crate::time::Instant;

/// Children that join or are promoted in one visit of a node (rule 17).
const ARRIVALS_MAX: u32 = 16;

/// Which round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    G,
    X,
}

impl TrafficManager {
    /// Rules 8 and 10.
    #[inline]
    fn ready_at(&self, slot: u32) -> u64 {
        let node = &self.nodes[slot as usize];
        match node.kind {
            Kind::Shared => {
                let leaf = &self.leaves[node.body as usize];
                if leaf.frames == 0 {
                    NEVER
                } else {
                    node.own_at.max(self.gates[leaf.gate as usize & 63])
                }
            }
            Kind::PerFlow => {
                let leaf = &self.leaves[node.body as usize];
                let first = leaf
                    .wheel
                    .as_ref()
                    .map_or(NEVER, |w| w.earliest(&self.flows.records));
                first.max(node.own_at).max(self.gates[leaf.gate as usize & 63])
            }
            Kind::Strict | Kind::Weighted => {
                let inner = &self.inners[node.body as usize];
                if inner.g.is_empty() && inner.x.is_empty() {
                    inner.waiting.earliest().max(node.own_at)
                } else {
                    node.own_at
                }
            }
            Kind::Free => NEVER,
        }
    }

    /// Rule 15.
    pub(super) fn touch(&mut self, slot: u32, now: u64) {
        let mut slot = slot;
        while slot != ROOT {
            let ready = self.ready_at(slot);
            let node = &self.nodes[slot as usize];
            let parent = node.parent;
            match node.state {
                State::InG | State::InX => {
                    if ready <= now {
                        return;
                    }
                    self.leave(slot);
                    self.stand_by(slot, ready);
                }
                State::Waiting => {
                    let inner = &self.inners[self.nodes[parent as usize].body as usize];
                    if inner.waiting.key(&self.nodes, slot) == ready {
                        return;
                    }
                    if ready <= now {
                        self.join(slot, now)
                    } else {
                        self.stand_by(slot, ready)
                    }
                }
                State::Idle => {
                    if ready == NEVER {
                        return;
                    }
                    if ready <= now {
                        self.join(slot, now)
                    } else {
                        self.stand_by(slot, ready)
                    }
                }
            }
            slot = parent;
        }
    }

    /// Touches a node whose own bucket changed: one that waited and is ready by now joins, whatever its key was (rule 23).
    pub(super) fn touch_changed(&mut self, slot: u32, now: u64) {
        let node = &self.nodes[slot as usize];
        if slot != ROOT && node.state == State::Waiting && self.ready_at(slot) <= now {
            let parent = node.parent;
            self.join(slot, now);
            self.touch(parent, now);
        } else {
            self.touch(slot, now);
        }
    }

    /// Rule 12.
    #[inline]
    fn join(&mut self, slot: u32, now: u64) {
        let node = &self.nodes[slot as usize];
        let parent = node.parent as usize;
        let kind = self.nodes[parent].kind;
        let inner = &mut self.inners[self.nodes[parent].body as usize];
        if node.guaranteed {
            let at = self.shapers[slot as usize].guaranteed_at();
            if at <= now {
                inner.waiting.remove(&mut self.nodes, slot);
                self.nodes[slot as usize].state = State::InG;
                add(&mut self.nodes, &mut inner.g, slot, kind);
                return;
            }
            inner.waiting.set(&mut self.nodes, slot, at);
        } else if node.heap_at != NONE {
            inner.waiting.remove(&mut self.nodes, slot);
        }
        let node = &mut self.nodes[slot as usize];
        node.state = State::InX;
        if kind == Kind::Weighted && node.deficit <= 0 {
            node.deficit += node.quantum;
        }
        add(&mut self.nodes, &mut inner.x, slot, kind);
    }

    /// Takes a child out of its round; the promotion key stays for the caller to change.
    #[inline]
    fn leave(&mut self, slot: u32) {
        let node = &self.nodes[slot as usize];
        let state = node.state;
        let parent = node.parent as usize;
        let kind = self.nodes[parent].kind;
        let inner = &mut self.inners[self.nodes[parent].body as usize];
        let round = if state == State::InG {
            &mut inner.g
        } else {
            &mut inner.x
        };
        drop_from(&mut self.nodes, round, slot, kind);
    }

    /// Makes a child that is in no round wait until `ready`, or idle (rule 13).
    #[inline]
    fn stand_by(&mut self, slot: u32, ready: u64) {
        let parent = self.nodes[slot as usize].parent as usize;
        let inner = &mut self.inners[self.nodes[parent].body as usize];
        if ready == NEVER {
            inner.waiting.remove(&mut self.nodes, slot);
            let node = &mut self.nodes[slot as usize];
            node.state = State::Idle;
            node.deficit = node.deficit.min(0);
        } else {
            self.nodes[slot as usize].state = State::Waiting;
            inner.waiting.set(&mut self.nodes, slot, ready);
        }
    }

    /// A child in a round whose guarantee changed leaves and joins again (rule 23).
    pub(super) fn rejoin(&mut self, slot: u32, now: u64) {
        if matches!(self.nodes[slot as usize].state, State::InG | State::InX) {
            self.leave(slot);
            self.join(slot, now);
        }
    }

    /// Takes a child out of its parent altogether.
    pub(super) fn detach(&mut self, slot: u32) {
        if matches!(self.nodes[slot as usize].state, State::InG | State::InX) {
            self.leave(slot);
        }
        self.stand_by(slot, NEVER);
    }

    /// Rules 17 to 20.
    #[inline]
    pub(super) fn serve(&mut self, now: u64) -> Dequeue {
        let ready = self.ready_at(ROOT);
        if ready > now {
            return if ready == NEVER {
                Dequeue::Empty
            } else {
                self.wait(ready)
            };
        }
        let mut path = [ROOT; DEPTH_MAX];
        let mut depth = 0;
        let mut slot = ROOT;
        loop {
            let node = &self.nodes[slot as usize];
            if node.is_leaf() {
                break;
            }
            let body = node.body as usize;
            let kind = node.kind;
            if self.inners[body].waiting.earliest() <= now {
                self.admit_arrivals(body, kind, now);
            }
            let inner = &self.inners[body];
            let round = if inner.g.is_empty() { &inner.x } else { &inner.g };
            slot = match &inner.by_rank {
                Some(ranks) => ranks[round.ranks.trailing_zeros() as usize & 63],
                None => round.head,
            };
            depth += 1;
            path[depth & (DEPTH_MAX - 1)] = slot;
        }
        let (answer, len, barrier) = self.take(slot, now);
        if matches!(answer, Dequeue::Frame(_)) {
            for &slot in path[..=depth & (DEPTH_MAX - 1)].iter().rev() {
                self.departed(slot, len, now);
            }
        } else {
            self.touch(slot, now);
        }
        if let Some(frame) = barrier {
            self.release(frame, now);
        }
        if self.draining > 0 {
            self.retire(slot);
        }
        answer
    }

    /// Lets children whose instant has come join, and promotes those whose guarantee has (rule 17).
    fn admit_arrivals(&mut self, body: usize, kind: Kind, now: u64) {
        for _ in 0..ARRIVALS_MAX {
            let Some((key, child)) = self.inners[body].waiting.first() else {
                return;
            };
            if key > now {
                return;
            }
            if self.nodes[child as usize].state == State::InX {
                let inner = &mut self.inners[body];
                inner.waiting.remove(&mut self.nodes, child);
                drop_from(&mut self.nodes, &mut inner.x, child, kind);
                self.nodes[child as usize].state = State::InG;
                add(&mut self.nodes, &mut inner.g, child, kind);
            } else {
                self.join(child, now);
            }
        }
    }

    /// Charges one node of the path and finds its new place (rule 19).
    #[inline]
    fn departed(&mut self, slot: u32, len: u32, now: u64) {
        let node = &mut self.nodes[slot as usize];
        node.frames_out += 1;
        node.bytes_out += u64::from(len);
        if node.shaped {
            node.own_at = self.shapers[slot as usize].charge(now, node.accounting.cost(len));
        }
        if slot == ROOT {
            return;
        }
        let parent = node.parent as usize;
        let from = if node.state == State::InG {
            Which::G
        } else {
            Which::X
        };
        let weighted = self.nodes[parent].kind == Kind::Weighted;
        if from == Which::G {
            if let Some((rate, level)) = &mut self.shapers[slot as usize].guarantee {
                level.charge(rate, now, self.nodes[slot as usize].accounting.cost(len));
            }
        } else if weighted {
            let cost = self.nodes[parent].accounting.cost(len);
            self.nodes[slot as usize].deficit -= i64::from(cost);
        }
        let ready = self.ready_at(slot);
        if ready > now {
            self.leave(slot);
            self.stand_by(slot, ready);
            return;
        }
        let inner = &mut self.inners[self.nodes[parent].body as usize];
        if from == Which::G {
            if self.shapers[slot as usize].guaranteed_at() <= now {
                if weighted {
                    // The ring turns: what was first is last.
                    inner.g.head = self.nodes[slot as usize].next;
                }
            } else {
                self.leave(slot);
                self.join(slot, now);
            }
        } else if weighted {
            let node = &mut self.nodes[slot as usize];
            if node.deficit <= 0 {
                node.deficit += node.quantum;
                inner.x.head = node.next;
            }
        }
    }

    /// Rule 21.
    fn wait(&self, ready: u64) -> Dequeue {
        let until = Instant::from_ps(ready - BIAS);
        let mut slot = ROOT;
        loop {
            let node = &self.nodes[slot as usize];
            let id = node.id(slot);
            if node.own_at == ready {
                return Dequeue::Wait {
                    until,
                    reason: WaitReason::Shaper(id),
                };
            }
            if node.is_leaf() {
                let gate = self.gates[self.leaves[node.body as usize].gate as usize & 63];
                let reason = if gate == ready {
                    WaitReason::Gate(id)
                } else {
                    WaitReason::FlowShaper(id)
                };
                return Dequeue::Wait { until, reason };
            }
            match self.inners[node.body as usize].waiting.first() {
                Some((_, child)) => slot = child,
                None => {
                    return Dequeue::Wait {
                        until,
                        reason: WaitReason::Shaper(id),
                    };
                }
            }
        }
    }
}

/// Puts a child into a round: its rank's bit, or the ring's tail.
#[inline]
fn add(nodes: &mut [Node], round: &mut Round, slot: u32, kind: Kind) {
    if kind == Kind::Strict {
        round.ranks |= 1 << (nodes[slot as usize].rank & 63);
        return;
    }
    if round.head == NONE {
        round.head = slot;
        nodes[slot as usize].next = slot;
        nodes[slot as usize].prev = slot;
        return;
    }
    let (first, last) = (round.head, nodes[round.head as usize].prev);
    nodes[slot as usize].next = first;
    nodes[slot as usize].prev = last;
    nodes[last as usize].next = slot;
    nodes[first as usize].prev = slot;
}

/// Takes a child out of a round.
#[inline]
fn drop_from(nodes: &mut [Node], round: &mut Round, slot: u32, kind: Kind) {
    if kind == Kind::Strict {
        round.ranks &= !(1 << (nodes[slot as usize].rank & 63));
        return;
    }
    let Node { next, prev, .. } = nodes[slot as usize];
    if next == slot {
        round.head = NONE;
        return;
    }
    nodes[prev as usize].next = next;
    nodes[next as usize].prev = prev;
    if round.head == slot {
        round.head = next;
    }
}
