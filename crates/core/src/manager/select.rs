//! Who goes next: readiness, rounds, the visit from the root down, and what a departure changes on the way up.

use super::node::{Inner, Kind, NEVER, NONE, Node, Round, State};
use super::queues::Taken;
use super::{BIAS, ROOT, TrafficManager};
use crate::api::{Dequeue, DropReason, WaitReason};
use crate::time::Instant;

/// Children that join or are promoted in one visit of a node (rule 17).
const ARRIVALS_MAX: u32 = 16;

impl TrafficManager {
    /// Rule 8, own shapers apart.
    #[inline]
    fn ready_below_leaf(&self, slot: u32) -> u64 {
        let node = &self.nodes[slot as usize];
        self.leaves[node.body as usize].ready_below(&self.gates, &self.flows.records)
    }

    /// Rules 8 and 10.
    #[inline]
    pub(super) fn ready_at(&self, slot: u32) -> u64 {
        let node = &self.nodes[slot as usize];
        let below = if node.is_leaf() {
            self.ready_below_leaf(slot)
        } else {
            let inner = &self.inners[node.body as usize];
            inner.ready_below()
        };
        below.max(node.own_at)
    }

    /// Rule 15.
    #[inline]
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
        if node.guaranteed() {
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
        stand_by(&mut self.nodes, inner, slot, ready);
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
        let mut slot = ROOT;
        while let node = &self.nodes[slot as usize]
            && !node.is_leaf()
        {
            let (body, kind) = (node.body as usize, node.kind);
            let mut inner = &self.inners[body];
            if inner.waiting.earliest() <= now {
                if let Some(child) = self.alone_due(inner, now) {
                    slot = child;
                    continue;
                }
                self.admit_arrivals(body, kind, now);
                inner = &self.inners[body];
            }
            let round = if inner.g.children == 0 { &inner.x } else { &inner.g };
            slot = match &inner.by_rank {
                Some(ranks) => ranks[round.ranks.trailing_zeros() as usize & 63],
                None => round.head,
            };
        }
        let Taken {
            desc,
            aged,
            barrier,
            ready_below,
        } = self.take(slot, now);
        if aged {
            self.join_path(slot, now);
            self.touch(slot, now);
        } else {
            self.departed(slot, ready_below, desc.len, now);
        }
        if barrier != NONE {
            self.release(barrier, now);
        }
        if self.draining > 0 {
            self.retire(slot);
        }
        if aged {
            Dequeue::Drop(desc, DropReason::Aged)
        } else {
            Dequeue::Frame(desc)
        }
    }

    /// The only child that may be served now, where no child is in a round and one alone waits until now or less. It is
    /// served from where it waits: [`Self::departed`] does what joining the round and leaving it again would do.
    #[inline]
    fn alone_due(&self, inner: &Inner, now: u64) -> Option<u32> {
        if inner.g.children | inner.x.children > 0 || inner.waiting.second_earliest() <= now {
            return None;
        }
        let (_, child) = inner.waiting.first()?;
        (!self.nodes[child as usize].guaranteed()).then_some(child)
    }

    /// Nodes from a leaf up that were served from where they waited join their rounds.
    #[cold]
    fn join_path(&mut self, leaf: u32, now: u64) {
        let mut slot = leaf;
        while slot != ROOT {
            if self.nodes[slot as usize].state == State::Waiting {
                self.join(slot, now);
            }
            slot = self.nodes[slot as usize].parent;
        }
    }

    /// Lets children whose instant has come join, and promotes those whose guarantee has (rule 17).
    #[inline(never)]
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

    /// Charges the nodes from a leaf up to the root, and finds their new places (rule 19). `below` is when something in
    /// the leaf is ready, its own shapers apart.
    #[inline]
    fn departed(&mut self, leaf: u32, below: u64, len: u32, now: u64) {
        let mut below = below;
        let mut slot = leaf;
        loop {
            let node = &mut self.nodes[slot as usize];
            if node.shaped() {
                let cost = node.cost(len);
                node.own_at = self.shapers[slot as usize].charge(now, cost, node.frame_shaped());
            }
            if slot == ROOT {
                return;
            }
            let above = node.parent;
            let ready = below.max(node.own_at);
            let (state, next, deficit, quantum) = (node.state, node.next, node.deficit, node.quantum);
            let parent = &self.nodes[above as usize];
            let (weighted, body, cost) = (
                parent.kind == Kind::Weighted,
                parent.body as usize,
                parent.cost(len),
            );
            let inner = &mut self.inners[body];
            inner.frames_out += 1;
            inner.bytes_out += u64::from(len);
            if state == State::InG {
                self.departed_guaranteed(slot, len, ready, now);
                slot = above;
                below = self.inners[body].ready_below();
                continue;
            }
            let waited = state == State::Waiting;
            if weighted {
                let mut deficit = deficit;
                if waited && deficit <= 0 {
                    // As if it had joined.
                    deficit += quantum;
                }
                deficit -= i64::from(cost);
                if deficit <= 0 && ready <= now {
                    deficit += quantum;
                    if !waited {
                        inner.x.head = next;
                    }
                }
                self.nodes[slot as usize].deficit = deficit;
            }
            let kind = if weighted { Kind::Weighted } else { Kind::Strict };
            if ready <= now {
                if waited {
                    inner.waiting.remove(&mut self.nodes, slot);
                    self.nodes[slot as usize].state = State::InX;
                    add(&mut self.nodes, &mut inner.x, slot, kind);
                }
                // It is in the round, so its parent is ready too.
                below = 0;
                slot = above;
                continue;
            }
            if !waited {
                drop_from(&mut self.nodes, &mut inner.x, slot, kind);
            }
            stand_by(&mut self.nodes, inner, slot, ready);
            slot = above;
            below = self.inners[body].ready_below();
        }
    }

    /// The same for a child that was chosen from G.
    #[inline(never)]
    fn departed_guaranteed(&mut self, slot: u32, len: u32, ready: u64, now: u64) {
        let node = &self.nodes[slot as usize];
        let (parent, next) = (node.parent as usize, node.next);
        let shapers = &mut self.shapers[slot as usize];
        if let Some(bucket) = &mut shapers.guarantee {
            bucket.charge(now, node.cost(len));
        }
        let guaranteed = shapers.guaranteed_at() <= now;
        if ready > now {
            self.leave(slot);
            self.stand_by(slot, ready);
        } else if !guaranteed {
            self.leave(slot);
            self.join(slot, now);
        } else if self.nodes[parent].kind == Kind::Weighted {
            // The ring turns: what was first is last.
            self.inners[self.nodes[parent].body as usize].g.head = next;
        }
    }

    /// Rule 21.
    #[inline(never)]
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
                let gate = self.gates.opens(self.leaves[node.body as usize].gate);
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

/// Makes a child of `inner` that is in no round wait until `ready`, or idle (rule 13).
#[inline]
fn stand_by(nodes: &mut [Node], inner: &mut Inner, slot: u32, ready: u64) {
    let node = &mut nodes[slot as usize];
    if ready == NEVER {
        node.state = State::Idle;
        node.deficit = node.deficit.min(0);
        if node.heap_at != NONE {
            inner.waiting.remove(nodes, slot);
        }
    } else {
        node.state = State::Waiting;
        inner.waiting.set(nodes, slot, ready);
    }
}

/// Puts a child into a round: its rank's bit, or the ring's tail.
#[inline]
fn add(nodes: &mut [Node], round: &mut Round, slot: u32, kind: Kind) {
    round.children += 1;
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
    round.children -= 1;
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
