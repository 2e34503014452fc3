//! What service each leaf of a plan is certain of, from the root down.
//!
//! A node's service is a [`Ramps`] that holds over any span in which the node could send (it has frames, and its shapers
//! let it), counted in frames that have begun. The root of a line of rate `C` has `C t - l`, `l` the longest frame, which
//! may be on the wire when the span begins. Below:
//!
//! * strict: less what the children before it may send, and what those behind it may send below their guarantees;
//! * weighted: with quantum `Q` and longest frame `l` (in the node's cost), a child that gets `S` completes at most
//!   `(S + l) / Q` turns, and each sibling begins at most one more than that (`2 + S / Q` where the child may have to
//!   wait for a shaper and comes back with a small deficit). A sibling `j` sends at most `Q_j` a turn and once `l_j`
//!   more. Any sibling may instead count by its arrivals, and the best such set is kept: all of them, or those that
//!   bring least for their quantum. After M. Boyer, G. Stea, W. Mangoua Sofack (2012), for the surplus round robin of
//!   `docs/traffic-manager.md` (rules 12 to 14, 19): a turn may overdraw by less than a frame;
//! * a guarantee serves its child as a shaper does, with other guarantees ahead of it;
//! * flows of a queue take turns by eligible instant: at most one frame of every other flow goes before each frame.
//!
//! What a node may send over any span is what its leaves' arrivals and services allow, and its shapers.

use crate::deviation::served;
use crate::port::{Stream, together};
use crate::shaper::{Lengths, Shaper, at_any_time, cap, cost_per_wire, for_arrivals, wire_per_cost};
use crate::{Arrival, BYTE, Ramp, Ramps, Service, div_up, ps, wire};
use clearway_core::plan::{NodeKind, Plan, QueueMode};

/// A service that holds, and time that passes between it and the first bit.
#[derive(Clone, Debug)]
pub(crate) struct Certain {
    pub(crate) service: Service,
    pub(crate) after: u64,
}

/// What is known of the port that is not in its plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire<'a> {
    pub(crate) rate: u64,
    /// Picobits that the FIFO behind the traffic manager holds at most; zero where there is none.
    pub(crate) behind: i128,
    pub(crate) streams: &'a [Stream],
    pub(crate) sources: &'a [Arrival],
}

/// A plan with the streams that use it.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    plan: &'a Plan,
    on: Wire<'a>,
    children: Vec<Vec<usize>>,
    /// Of the frames below each node; none where there are no streams.
    lengths: Vec<Option<Lengths>>,
    shapers: Vec<Vec<Shaper>>,
    guarantees: Vec<Option<Shaper>>,
    /// Streams of each leaf.
    of_leaf: Vec<Vec<usize>>,
    /// What each node may send over any span, counted in frames that have begun.
    sends: Vec<Arrival>,
    /// By leaf: services of a shared queue.
    pub(crate) leaves: Vec<Vec<Certain>>,
    /// By stream: services of each of its flows, where the queue has one for each flow.
    pub(crate) flows: Vec<Vec<Certain>>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(plan: &'a Plan, on: Wire<'a>) -> Self {
        let count = plan.nodes.len();
        let mut children = vec![Vec::new(); count];
        for (index, node) in plan.nodes.iter().enumerate() {
            if let Some(list) = node.parent.and_then(|p| children.get_mut(p as usize)) {
                list.push(index);
            }
        }
        let mut lengths: Vec<Option<Lengths>> = vec![None; count];
        let mut of_leaf = vec![Vec::new(); count];
        for (index, stream) in on.streams.iter().enumerate() {
            if let Some(list) = of_leaf.get_mut(stream.leaf as usize) {
                list.push(index);
            }
            let mut node = Some(stream.leaf as usize);
            while let Some(at) = node.filter(|at| *at < count) {
                let own = lengths[at].get_or_insert(Lengths {
                    min: stream.frame_min,
                    max: stream.frame_max,
                });
                own.min = own.min.min(stream.frame_min);
                own.max = own.max.max(stream.frame_max);
                node = plan.nodes[at].parent.map(|p| p as usize);
            }
        }
        let longest = plan.frame_bytes_max;
        let shapers = plan.nodes.iter().zip(&lengths).map(|(node, lengths)| {
            lengths.map_or_else(Vec::new, |lengths| Shaper::of_node(node, lengths, longest))
        });
        let guarantees = plan.nodes.iter().zip(&lengths).map(|(node, lengths)| {
            let shape = node.guarantee?;
            Some(Shaper::bits(shape, node.accounting, (*lengths)?, longest))
        });
        Self {
            shapers: shapers.collect(),
            guarantees: guarantees.collect(),
            plan,
            on,
            children,
            lengths,
            of_leaf,
            sends: vec![Arrival::nothing(); count],
            leaves: vec![Vec::new(); count],
            flows: vec![Vec::new(); on.streams.len()],
        }
    }

    /// Finds the services of all leaves.
    pub(crate) fn solve(&mut self) {
        let Some(all) = self.lengths.first().copied().flatten() else {
            return;
        };
        let on_wire = wire(all.max).max(self.on.behind);
        let root = Ramps::of(Ramp {
            rate: self.on.rate,
            lag: on_wire,
        });
        self.visit(0, &root);
        for leaf in 0..self.plan.nodes.len() {
            self.alone_before(leaf);
        }
    }

    /// Time that a frame that left the tree may wait behind it.
    fn behind_ps(&self) -> u64 {
        ps(div_up(self.on.behind, i128::from(self.on.rate.max(1))))
    }

    fn visit(&mut self, node: usize, ready: &Ramps) {
        if self.lengths[node].is_none() {
            return;
        }
        let sends = match &self.plan.nodes[node].kind {
            NodeKind::Queue(queue) => match queue.mode {
                QueueMode::Shared => self.shared(node, ready),
                QueueMode::PerFlow { .. } => self.per_flow(node, ready),
            },
            NodeKind::Strict => {
                let service = at_any_time(&self.shapers[node], ready);
                self.strict(node, &service)
            }
            NodeKind::Weighted => {
                let service = at_any_time(&self.shapers[node], ready);
                self.weighted(node, &service)
            }
        };
        self.sends[node] = sends.min(&cap(&self.shapers[node]));
    }

    fn shared(&mut self, node: usize, ready: &Ramps) -> Arrival {
        let services = for_arrivals(&self.shapers[node], ready);
        let arrival = self.arrivals(self.of_leaf[node].iter().copied());
        let sends = least(services.iter().map(|s| served(&arrival, s)));
        let after = self.behind_ps();
        let certain = |service| Certain { service, after };
        self.leaves[node] = services.into_iter().map(certain).collect();
        sends
    }

    fn per_flow(&mut self, node: usize, ready: &Ramps) -> Arrival {
        let NodeKind::Queue(queue) = &self.plan.nodes[node].kind else {
            return Arrival::unbounded();
        };
        let QueueMode::PerFlow { shape, .. } = queue.mode else {
            return Arrival::unbounded();
        };
        let service = at_any_time(&self.shapers[node], ready);
        let (accounting, longest) = (self.plan.nodes[node].accounting, self.plan.frame_bytes_max);
        let after = self.behind_ps();
        let streams = self.of_leaf[node].clone();
        let of = |index: usize| &self.on.streams[index];
        let lengths = |index: usize| Lengths {
            min: of(index).frame_min,
            max: of(index).frame_max,
        };
        let shaper = |index: usize| shape.map(|s| Shaper::flow(s, accounting, lengths(index), longest));
        let caps: Vec<Arrival> = streams
            .iter()
            .map(|&i| shaper(i).map_or_else(Arrival::unbounded, |s| Arrival::of(s.cap)))
            .collect();
        let mut total = Arrival::nothing();
        let mut found = Vec::with_capacity(streams.len());
        for (place, &index) in streams.iter().enumerate() {
            // A frame of every other flow may be due before each of ours. Several may leave at one instant into the
            // FIFO behind, with other flows' next frames due at that instant too.
            let mut others = 0;
            let mut others_send = Arrival::nothing();
            for (other, &j) in streams.iter().enumerate() {
                let count = of(j).flows - u64::from(other == place);
                others += i128::from(count) * wire(of(j).frame_max);
                others_send = others_send.plus(&caps[other].times(count));
            }
            let own = wire(of(index).frame_min);
            let turns = service
                .ramps()
                .iter()
                .map(|ramp| share(ramp, others + self.on.behind, (others, own)));
            let turns = Ramps::greatest(turns).or(&service.minus(&others_send));
            let shapers: Vec<Shaper> = shaper(index).into_iter().collect();
            let services = for_arrivals(&shapers, &turns);
            let arrival = &of(index).arrival;
            let sends = least(services.iter().map(|s| served(arrival, s))).min(&caps[place]);
            total = total.plus(&sends.times(of(index).flows));
            let certain = |service| Certain { service, after };
            found.push((index, services.into_iter().map(certain).collect()));
        }
        for (index, services) in found {
            self.flows[index] = services;
        }
        total
    }

    /// Children with streams, in rank order where strict.
    fn present(&self, node: usize) -> Vec<usize> {
        let present = |c: &usize| self.lengths[*c].is_some();
        let mut all: Vec<usize> = self.children[node].iter().copied().filter(present).collect();
        if matches!(self.plan.nodes[node].kind, NodeKind::Strict) {
            all.sort_by_key(|&c| self.plan.nodes[c].rank);
        }
        all
    }

    /// What these may send below their guarantees.
    fn guaranteed(&self, nodes: &[usize]) -> Arrival {
        let caps = nodes
            .iter()
            .filter_map(|&n| self.guarantees[n].map(|g| Arrival::of(g.cap)));
        caps.fold(Arrival::nothing(), |sum, one| sum.plus(&one))
    }

    /// Service of a child by its guarantee, `before` of the others' guarantees ahead of it.
    fn by_guarantee(&self, child: usize, service: &Ramps, before: &[usize]) -> Ramps {
        self.guarantees[child].map_or_else(Ramps::default, |g| {
            at_any_time(&[g], &service.minus(&self.guaranteed(before)))
        })
    }

    fn strict(&mut self, node: usize, service: &Ramps) -> Arrival {
        let children = self.present(node);
        let mut before = Arrival::nothing();
        let mut total = Arrival::nothing();
        for (place, &child) in children.iter().enumerate() {
            let others = before.plus(&self.guaranteed(&children[place + 1..]));
            let left = service.minus(&others);
            let left = left.or(&self.by_guarantee(child, service, &children[..place]));
            self.visit(child, &left);
            before = before.plus(&self.sends[child]);
            total = total.plus(&self.sends[child]);
        }
        total
    }

    fn weighted(&mut self, node: usize, service: &Ramps) -> Arrival {
        let children = self.present(node);
        // Once by turns alone, which says what each sends at most; then with that.
        for arrivals_known in [false, true] {
            for &child in &children {
                let ready = self.by_turns(node, &children, child, service, arrivals_known);
                let others: Vec<usize> = children.iter().copied().filter(|c| *c != child).collect();
                let ready = ready.or(&self.by_guarantee(child, service, &others));
                self.visit(child, &ready);
            }
        }
        Arrival::sum(children.iter().map(|&c| &self.sends[c]))
    }

    /// Quantum of a weighted node's child in bytes (rule 14).
    fn quantum(&self, node: usize, child: usize) -> i128 {
        let weights = self.children[node]
            .iter()
            .map(|&c| self.plan.nodes[c].weight.max(1));
        let least = i128::from(weights.min().unwrap_or(1));
        let longest = i128::from(self.plan.nodes[node].accounting.cost(self.plan.frame_bytes_max));
        div_up(longest, least) * i128::from(self.plan.nodes[child].weight.max(1))
    }

    fn by_turns(&self, node: usize, children: &[usize], child: usize, service: &Ramps, known: bool) -> Ramps {
        let accounting = self.plan.nodes[node].accounting;
        let Some(own) = self.lengths[child] else {
            return Ramps::default();
        };
        let quantum = self.quantum(node, child);
        let (cost, on_wire) = cost_per_wire(accounting, own);
        let longest = i128::from(accounting.cost(own.max));
        let guaranteed = self.guarantees[child].is_some();
        // Siblings that bring least for their quantum come first: they may count by their arrivals.
        let mut siblings: Vec<(usize, i128)> = children
            .iter()
            .filter(|c| **c != child)
            .map(|&c| (c, self.quantum(node, c)))
            .collect();
        if known {
            let rate = |c: usize| i128::from(self.sends[c].rate().unwrap_or(u64::MAX));
            siblings.sort_by(|a, b| (rate(a.0) * b.1).cmp(&(rate(b.0) * a.1)));
        }
        let mut best = Ramps::default();
        let mut by_arrivals = Arrival::nothing();
        for first in 0..=siblings.len() {
            if first > 0 {
                by_arrivals = by_arrivals.plus(&self.sends[siblings[first - 1].0]);
                if !known || !by_arrivals.is_bounded() {
                    break;
                }
            }
            // Of those by turns: what they send whatever the child gets, and for each bit that it gets.
            let (mut once, mut each, mut exact) = (0, (0_i128, quantum), true);
            let mut ahead = by_arrivals.clone();
            for &(sibling, turn) in &siblings[first..] {
                let Some(theirs) = self.lengths[sibling] else {
                    continue;
                };
                let (wire_j, cost_j) = wire_per_cost(accounting, theirs);
                let over = i128::from(accounting.cost(theirs.max));
                // A debt may be forgotten where a guarantee serves beside the turns.
                let (turn, over) = match self.guarantees[sibling] {
                    Some(_) => (turn + over, 0),
                    None if guaranteed => (turn + over, 0),
                    None => (turn, over),
                };
                let turns = if guaranteed {
                    (1, 1)
                } else if self.may_wait(child) {
                    (2, 1)
                } else {
                    (quantum + longest, quantum)
                };
                once += div_up((div_up(turn * turns.0, turns.1) + over) * BYTE * wire_j, cost_j);
                exact &= wire_j == cost_j && cost == on_wire;
                each.0 += turn;
                if let Some(g) = self.guarantees[sibling] {
                    ahead = ahead.plus(&Arrival::of(g.cap));
                }
            }
            if guaranteed {
                // The child may leave its turn for its guarantee after every frame, and come back at the end.
                each.1 = i128::from(accounting.cost(own.min));
            }
            if !exact {
                // In parts of 2^32, rounded up: the ratios of cost and wire differ.
                let whole = 1_i128 << 32;
                let most = siblings[first..]
                    .iter()
                    .filter_map(|&(s, _)| self.lengths[s])
                    .map(|l| wire_per_cost(accounting, l))
                    .map(|(w, c)| div_up(w * whole, c))
                    .max()
                    .unwrap_or(whole);
                let bits = div_up(each.0 * most, each.1);
                each = (div_up(bits * cost, on_wire), whole);
            }
            let left = service.minus(&ahead);
            best = best.or(&Ramps::greatest(
                left.ramps().iter().map(|r| share(r, once, each)),
            ));
        }
        best
    }

    /// True where a shaper below or at the node may make it wait while it has frames.
    fn may_wait(&self, node: usize) -> bool {
        let plan = &self.plan.nodes[node];
        let flows = matches!(&plan.kind, NodeKind::Queue(q) if matches!(q.mode, QueueMode::PerFlow { shape: Some(_), .. }));
        flows || !self.shapers[node].is_empty() || self.children[node].iter().any(|&c| self.may_wait(c))
    }

    fn arrivals(&self, streams: impl Iterator<Item = usize>) -> Arrival {
        together(streams.map(|i| &self.on.streams[i]), self.on.sources)
    }

    /// The service of a shared queue below strict nodes without shapers on the way, from the instant since which
    /// there was always something of it or before it: arrivals since then, and one frame that was on the wire.
    fn alone_before(&mut self, leaf: usize) {
        let plan = self.plan;
        let shared = matches!(&plan.nodes[leaf].kind, NodeKind::Queue(q) if q.mode == QueueMode::Shared);
        if self.of_leaf[leaf].is_empty() || !shared || !self.shapers[leaf].is_empty() {
            return;
        }
        let (mut leaves, mut others) = (Vec::new(), Arrival::nothing());
        let mut node = leaf;
        while let Some(parent) = plan.nodes[node].parent.map(|p| p as usize) {
            if !matches!(plan.nodes[parent].kind, NodeKind::Strict) || !self.shapers[parent].is_empty() {
                return;
            }
            let children = self.present(parent);
            let place = children.iter().position(|c| *c == node).unwrap_or(0);
            for &before in &children[..place] {
                self.raw(before, &mut leaves, &mut others);
            }
            others = others.plus(&self.guaranteed(&children[place + 1..]));
            node = parent;
        }
        let before = self.arrivals(leaves.iter().flat_map(|&l| self.of_leaf[l].iter().copied()));
        let mut counted = vec![false; plan.nodes.len()];
        for &l in leaves.iter().chain([&leaf]) {
            counted[l] = true;
        }
        let behind = |s: &&Stream| !counted[s.leaf as usize];
        let longest = self
            .on
            .streams
            .iter()
            .filter(behind)
            .map(|s| wire(s.frame_max))
            .max();
        let lag = longest.map_or(0, |l| l.max(self.on.behind));
        let left = Ramps::of(Ramp {
            rate: self.on.rate,
            lag,
        });
        let left = left.minus(&before.plus(&others));
        if !left.ramps().is_empty() {
            self.leaves[leaf].push(Certain {
                service: Service::of(left),
                after: 0,
            });
        }
    }

    /// Splits what a node may send into leaves that have nothing waiting whenever nobody could send, and the rest.
    fn raw(&self, node: usize, leaves: &mut Vec<usize>, others: &mut Arrival) {
        if self.lengths[node].is_none() {
            return;
        }
        if self.may_wait(node) && (self.children[node].is_empty() || !self.shapers[node].is_empty()) {
            *others = others.plus(&self.sends[node]);
            return;
        }
        if self.children[node].is_empty() {
            leaves.push(node);
        }
        for &child in &self.children[node] {
            self.raw(child, leaves, others);
        }
    }

    /// The first node that goes before this leaf and may send without bound.
    pub(crate) fn unbounded_before(&self, leaf: usize) -> Option<u32> {
        let mut node = leaf;
        while let Some(parent) = self.plan.nodes.get(node)?.parent.map(|p| p as usize) {
            let strict = matches!(self.plan.nodes[parent].kind, NodeKind::Strict);
            let found = self
                .present(parent)
                .into_iter()
                .take_while(|c| strict && *c != node)
                .find(|&c| !self.sends[c].is_bounded());
            if let Some(found) = found {
                return u32::try_from(found).ok();
            }
            node = parent;
        }
        None
    }

    /// Arrivals of a leaf.
    pub(crate) fn arrivals_of(&self, leaf: usize) -> Arrival {
        self.arrivals(self.of_leaf[leaf].iter().copied())
    }

    /// The narrowest shaper on the way from a leaf to the root: its node and what it lets through.
    pub(crate) fn narrowest(&self, leaf: usize) -> Option<(usize, Arrival)> {
        let mut found: Option<(usize, Arrival)> = None;
        let mut node = Some(leaf);
        while let Some(at) = node {
            let here = cap(&self.shapers[at]);
            let rate = |a: &Arrival| a.rate().unwrap_or(u64::MAX);
            if here.is_bounded() && found.as_ref().is_none_or(|f| rate(&here) < rate(&f.1)) {
                found = Some((at, here));
            }
            node = self.plan.nodes[at].parent.map(|p| p as usize);
        }
        found
    }
}

/// `S (1 + each) >= ramp - once`, solved for `S`.
fn share(ramp: &Ramp, once: i128, each: (i128, i128)) -> Ramp {
    let rate = (i128::from(ramp.rate) * each.1).div_euclid(each.0 + each.1);
    let latency = div_up((ramp.lag + once).max(0), i128::from(ramp.rate));
    Ramp::after(u64::try_from(rate.max(0)).unwrap_or(u64::MAX), ps(latency))
}

/// What all of these bound; unbounded where there is none.
fn least(all: impl Iterator<Item = Arrival>) -> Arrival {
    all.fold(Arrival::unbounded(), |sum, one| sum.min(&one))
}
