//! Readiness, rounds, touching and visiting: rules 8 to 17 and 21.

use super::{Body, Model, Reason, State, Time};
use clearway_core::plan::QueueMode;

/// Which round a child was chosen from; none for the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    Root,
    G,
    X,
}

impl Model {
    pub(super) fn children(&self, slot: usize) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|&c| self.nodes[c].as_ref().is_some_and(|n| n.parent == Some(slot)))
            .collect()
    }

    /// The later of a node's two shapers' eligible instants; none where it has no shaper.
    fn own_instant(&self, slot: usize) -> Option<Time> {
        let node = self.node(slot);
        node.rate
            .iter()
            .chain(&node.frame_rate)
            .map(super::Bucket::eligible_from)
            .max()
    }

    /// The first flow of a per-flow queue: least (instant, slot) among flows with frames.
    pub(super) fn first_flow(&self, slot: usize) -> Option<(Time, usize)> {
        let name = self.node(slot).name;
        let flows = self.flows.iter().enumerate();
        let present = flows.filter_map(|(s, f)| f.as_ref().map(|f| (s, f)));
        present
            .filter(|(_, f)| f.queue == name && !f.frames.is_empty())
            .map(|(s, f)| (f.instant(), s))
            .min()
    }

    fn least_waiting(&self, slot: usize) -> Option<(Time, usize)> {
        let keys = self
            .children(slot)
            .into_iter()
            .filter_map(|c| match self.node(c).state {
                State::Waiting(key) => Some((key, c)),
                _ => None,
            });
        keys.min()
    }

    /// Rules 8 and 10; none is never.
    pub(super) fn ready(&self, slot: usize) -> Option<Time> {
        let own = self.own_instant(slot).unwrap_or(Time::MIN);
        match &self.node(slot).body {
            Body::Inner { g, x, .. } if !g.is_empty() || !x.is_empty() => Some(own),
            Body::Inner { .. } => self.least_waiting(slot).map(|(key, _)| key.max(own)),
            Body::Leaf(leaf) => {
                let gate = self.gates[usize::from(leaf.plan.gate)].unwrap_or(Time::MIN);
                let first = match leaf.plan.mode {
                    QueueMode::Shared if leaf.fifo.is_empty() => None,
                    QueueMode::Shared => Some(Time::MIN),
                    QueueMode::PerFlow { .. } => self.first_flow(slot).map(|(at, _)| at),
                };
                first.map(|at| at.max(gate).max(own))
            }
        }
    }

    fn has_eligible_guarantee(&self, slot: usize, now: Time) -> bool {
        self.node(slot)
            .guarantee
            .as_ref()
            .is_some_and(|g| g.is_eligible(now))
    }

    /// Rule 14.
    fn quantum(&self, parent: usize, child: usize) -> i128 {
        let weights = self.children(parent).into_iter().map(|c| self.node(c).weight);
        let least = i128::from(weights.min().expect("a child has siblings or stands alone"));
        let longest = i128::from(self.longest(parent));
        (longest + least - 1) / least * i128::from(self.node(child).weight)
    }

    pub(super) fn is_weighted(&self, slot: usize) -> bool {
        matches!(self.node(slot).body, Body::Inner { strict: false, .. })
    }

    /// Rule 12.
    pub(super) fn join(&mut self, child: usize, now: Time) {
        let parent = self.node(child).parent.expect("the root joins nothing");
        if self.has_eligible_guarantee(child, now) {
            self.node_mut(child).state = State::InG;
            self.rounds(parent).0.push(child);
        } else {
            if self.is_weighted(parent) && self.node(child).deficit <= 0 {
                self.node_mut(child).deficit += self.quantum(parent, child);
            }
            self.node_mut(child).state = State::InX;
            self.rounds(parent).1.push(child);
        }
    }

    fn rounds(&mut self, parent: usize) -> (&mut Vec<usize>, &mut Vec<usize>) {
        match &mut self.node_mut(parent).body {
            Body::Inner { g, x, .. } => (g, x),
            Body::Leaf(_) => panic!("a leaf has no rounds"),
        }
    }

    /// Takes a child out of whatever round it is in, rule 13 apart.
    pub(super) fn leave_rounds(&mut self, child: usize) {
        let parent = self.node(child).parent.expect("the root is in no round");
        let (g, x) = self.rounds(parent);
        g.retain(|&c| c != child);
        x.retain(|&c| c != child);
    }

    /// Takes the child out of its round or its wait and puts it where its ready instant says.
    fn place(&mut self, child: usize, ready: Option<Time>, now: Time) {
        self.leave_rounds(child);
        match ready {
            None => {
                let node = self.node_mut(child);
                node.state = State::Idle;
                node.deficit = node.deficit.min(0);
            }
            Some(at) if at <= now => self.join(child, now),
            Some(at) => self.node_mut(child).state = State::Waiting(at),
        }
    }

    /// Rule 15.
    pub(super) fn touch(&mut self, slot: usize, now: Time) {
        let Some(parent) = self.node(slot).parent else {
            return;
        };
        let ready = self.ready(slot);
        let same = match (self.node(slot).state, ready) {
            (State::InG | State::InX, Some(at)) => at <= now,
            (State::Waiting(key), Some(at)) => key == at,
            (State::Idle, None) => true,
            _ => false,
        };
        if !same {
            self.place(slot, ready, now);
            self.touch(parent, now);
        }
    }

    /// Rule 23: a waiting child whose bucket changed joins if it is ready by now, whatever its key was.
    pub(super) fn touch_changed(&mut self, slot: usize, now: Time) {
        let ready = self.ready(slot);
        if let (Some(parent), State::Waiting(_), Some(at)) =
            (self.node(slot).parent, self.node(slot).state, ready)
            && at <= now
        {
            self.place(slot, ready, now);
            self.touch(parent, now);
        } else {
            self.touch(slot, now);
        }
    }

    /// Rule 17: from the root down to a leaf, with the round each node was chosen from.
    pub(super) fn visit(&mut self, now: Time) -> Vec<(usize, Chosen)> {
        let mut path = vec![(0, Chosen::Root)];
        loop {
            let (at, _) = path[path.len() - 1];
            if self.is_leaf(at) {
                return path;
            }
            for joined in 1..=16 {
                let keys = self.children(at).into_iter().filter_map(|c| {
                    let node = self.node(c);
                    match (node.state, &node.guarantee) {
                        (State::Waiting(key), _) => Some((key, c)),
                        (State::InX, Some(guarantee)) => Some((guarantee.eligible_from(), c)),
                        _ => None,
                    }
                });
                let Some((key, child)) = keys.min() else { break };
                if key > now {
                    break;
                }
                self.leave_rounds(child);
                self.join(child, now);
                self.most_joins = self.most_joins.max(joined);
            }
            let Body::Inner { strict, g, x } = &self.node(at).body else {
                unreachable!()
            };
            let (round, chosen) = if g.is_empty() {
                (x, Chosen::X)
            } else {
                (g, Chosen::G)
            };
            let child = if *strict {
                round.iter().copied().min_by_key(|&c| self.node(c).rank)
            } else {
                round.first().copied()
            };
            path.push((child.expect("a ready node has a ready child"), chosen));
        }
    }

    /// Rule 19 for one node of the path, after its shapers were charged.
    pub(super) fn after_service(&mut self, slot: usize, chosen: Chosen, len: u32, now: Time) {
        let Some(parent) = self.node(slot).parent else {
            return;
        };
        let own_cost = super::cost(self.node(slot).accounting, len);
        let parent_cost = super::cost(self.node(parent).accounting, len);
        if let (Chosen::G, Some(guarantee)) = (chosen, &mut self.node_mut(slot).guarantee) {
            guarantee.take(own_cost, now);
        }
        if chosen == Chosen::X && self.is_weighted(parent) {
            self.node_mut(slot).deficit -= i128::from(parent_cost);
        }
        let ready = self.ready(slot);
        if ready.is_none_or(|at| at > now) {
            self.place(slot, ready, now);
        } else if chosen == Chosen::G {
            self.leave_rounds(slot);
            self.join(slot, now);
        } else if self.is_weighted(parent) && self.node(slot).deficit <= 0 {
            let quantum = self.quantum(parent, slot);
            self.node_mut(slot).deficit += quantum;
            self.leave_rounds(slot);
            self.rounds(parent).1.push(slot);
        }
    }

    /// Rule 21.
    pub(super) fn reason(&self, until: Time) -> Reason {
        let mut at = 0;
        loop {
            let name = self.node(at).name;
            if self.own_instant(at) == Some(until) {
                return Reason::Shaper(name);
            }
            match &self.node(at).body {
                Body::Leaf(leaf) if self.gates[usize::from(leaf.plan.gate)] == Some(until) => {
                    return Reason::Gate(name);
                }
                Body::Leaf(_) => return Reason::FlowShaper(name),
                Body::Inner { .. } => {
                    at = self
                        .least_waiting(at)
                        .expect("a waiting node has a waiting child")
                        .1
                }
            }
        }
    }
}
