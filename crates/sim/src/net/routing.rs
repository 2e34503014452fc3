//! Paths: shortest in hops, over any graph, equal ones shared out by a hash of the flow.
//!
//! Hosts do not forward. Distances are found by breadth-first search from a destination the first time that a flow
//! needs them. A multicast tree hangs every receiver on its shortest path from the sender, each node by one line.
//! Source: equal-cost multipath as in RFC 2992 (hash of the flow, modulo the number of paths). Left out: weights,
//! spanning trees.
//!
//! Where a link is known to be down, the flows that crossed it are laid anew without it, and the others stay where they
//! are; when it is known to be back, every flow is laid as it was at first. A frame takes the way that holds where it
//! is when it gets there: frames before the broken link turn off at its near end where there is another way from there,
//! and frames of a flow that went back to its first way finish on the other one. A flow without any way keeps its old
//! one, and its frames are lost at the link.

use super::context::Context;
use super::flow::Hop;
use super::frame::NIL;
use super::line::Line;
use clearway_core::{FlowId, Target};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The graph and the distances found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routing {
    /// Lines that leave each node.
    lines: Vec<Vec<u32>>,
    /// Number of hosts; nodes below it do not forward.
    hosts: u32,
    /// Hops from each node to a host, by host.
    distances: BTreeMap<u32, Vec<u16>>,
    /// Links that nothing is routed over.
    out: BTreeSet<u32>,
}

const FAR: u16 = u16::MAX;

fn mix(hash: u64, node: u32) -> u64 {
    let x = (hash ^ (u64::from(node) << 32 | u64::from(node))).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 16
}

impl Routing {
    /// The graph of `nodes` nodes, the first `hosts` of which are hosts.
    pub(crate) fn new(lines: &[Line], nodes: usize, hosts: u32) -> Self {
        let mut leaving = vec![Vec::new(); nodes];
        for (index, line) in lines.iter().enumerate() {
            if let Some(from) = leaving.get_mut(line.from.0 as usize) {
                from.push(index as u32);
            }
        }
        Self {
            lines: leaving,
            hosts,
            distances: BTreeMap::new(),
            out: BTreeSet::new(),
        }
    }

    /// Routes nothing over a link any more, or again.
    fn use_link(&mut self, lines: &[Line], link: u32, usable: bool) {
        let changed = if usable {
            self.out.remove(&link)
        } else {
            self.out.insert(link)
        };
        if !changed {
            return;
        }
        for line in [2 * link, 2 * link + 1] {
            let Some(leaving) = lines
                .get(line as usize)
                .and_then(|l| self.lines.get_mut(l.from.0 as usize))
            else {
                continue;
            };
            leaving.retain(|&other| other != line);
            if usable {
                let place = leaving.partition_point(|&other| other < line);
                leaving.insert(place, line);
            }
        }
        self.distances.clear();
    }

    fn distances(&mut self, lines: &[Line], host: u32) -> &[u16] {
        let Self {
            lines: leaving,
            hosts,
            distances,
            ..
        } = self;
        distances.entry(host).or_insert_with(|| {
            let mut far = vec![FAR; leaving.len()];
            let mut queue = VecDeque::from([host]);
            if let Some(own) = far.get_mut(host as usize) {
                *own = 0;
            }
            while let Some(node) = queue.pop_front() {
                if node < *hosts && node != host {
                    continue;
                }
                let next = far[node as usize].saturating_add(1);
                for &line in &leaving[node as usize] {
                    let neighbour = lines[line as usize].to.0 as usize;
                    if far[neighbour] == FAR {
                        far[neighbour] = next;
                        queue.push_back(neighbour as u32);
                    }
                }
            }
            far
        })
    }

    /// Hops from `from` to `to`; none where there is no way.
    pub(crate) fn distance(&mut self, lines: &[Line], from: u32, to: u32) -> Option<u16> {
        let far = self.distances(lines, to).get(from as usize).copied()?;
        (far != FAR).then_some(far)
    }

    /// The lines from `from` to `to`, in order.
    fn unicast(&mut self, lines: &[Line], from: u32, to: u32, hash: u64) -> Option<Vec<u32>> {
        let mut left = self.distance(lines, from, to)?;
        let mut node = from;
        let mut path = Vec::with_capacity(usize::from(left));
        while left > 0 {
            left -= 1;
            let far = self.distances.get(&to)?;
            let nearer = |&&line: &&u32| far[lines[line as usize].to.0 as usize] == left;
            let count = self.lines[node as usize].iter().filter(nearer).count() as u64;
            let choice = mix(hash, node).checked_rem(count)?;
            let line = *self.lines[node as usize]
                .iter()
                .filter(nearer)
                .nth(choice as usize)?;
            path.push(line);
            node = lines[line as usize].to.0;
        }
        Some(path)
    }

    /// Appends the hops of a flow to `hops` and returns the index of the first; none where a receiver cannot be
    /// reached. A receiver behind a broken link is reached over that.
    pub(crate) fn lay(
        &mut self,
        lines: &[Line],
        hops: &mut Vec<Hop>,
        from: u32,
        to: &[u32],
        hash: u64,
    ) -> Option<u32> {
        let laid = self.lay_usable(lines, hops, from, to, hash);
        if laid.is_some() || self.out.is_empty() {
            return laid;
        }
        let out = self.out.clone();
        out.iter().for_each(|&link| self.use_link(lines, link, true));
        let laid = self.lay_usable(lines, hops, from, to, hash);
        out.iter().for_each(|&link| self.use_link(lines, link, false));
        laid
    }

    /// The same over links that are in use.
    fn lay_usable(
        &mut self,
        lines: &[Line],
        hops: &mut Vec<Hop>,
        from: u32,
        to: &[u32],
        hash: u64,
    ) -> Option<u32> {
        if let &[to] = to {
            let path = self.unicast(lines, from, to, hash)?;
            let first = hops.len() as u32;
            for (place, &line) in path.iter().enumerate() {
                let next = if place + 1 == path.len() {
                    NIL
                } else {
                    first + place as u32 + 1
                };
                let port = lines[line as usize].from.1;
                hops.push(Hop {
                    target: Target::UNKNOWN,
                    line,
                    next,
                    siblings: 1,
                    port,
                });
            }
            return (!path.is_empty()).then_some(first);
        }
        // Every receiver's way back to the sender; a node always goes back by the same line.
        let mut children: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &receiver in to {
            for line in self.unicast(lines, receiver, from, hash)? {
                let forward = line ^ 1;
                let below = children.entry(lines[line as usize].to.0).or_default();
                let _ = below.insert(forward);
            }
        }
        Some(lay_tree(lines, hops, from, &children))
    }
}

impl Context {
    /// Lays the path of a flow; of eight, one for each priority, where frames are spread over them. Returns the first
    /// hop and the hops from one priority's path to the next one's.
    pub(crate) fn lay_path(&mut self, from: u32, to: &[u32], hash: u64, spread: bool) -> Option<(u32, u32)> {
        let first = self.routing.lay(&self.lines, &mut self.hops, from, to, hash)?;
        Some((first, self.repeat_path(first, spread)))
    }

    /// Repeats the path that was laid last, from `first` on, for the other priorities.
    fn repeat_path(&mut self, first: u32, spread: bool) -> u32 {
        if !spread {
            return 0;
        }
        let end = self.hops.len();
        let shift = (end - first as usize) as u32;
        for pcp in 1..8 {
            for place in first as usize..end {
                let mut hop = self.hops[place];
                if hop.next != NIL {
                    hop.next += pcp * shift;
                }
                self.hops.push(hop);
            }
        }
        shift
    }

    /// The lines of a path or tree, in the order of its hops.
    pub(crate) fn lines_of(&self, first: u32) -> Vec<u32> {
        let (mut lines, mut next) = (Vec::new(), vec![first]);
        while let Some(at) = next.pop() {
            let siblings = self.hops.get(at as usize).map_or(0, |hop| hop.siblings);
            for hop in self.hops.iter().skip(at as usize).take(usize::from(siblings)) {
                lines.push(hop.line);
                if hop.next != NIL {
                    next.push(hop.next);
                }
            }
        }
        lines
    }

    /// Flows whose path crosses a link.
    pub(crate) fn flows_over(&self, link: u32) -> Vec<u32> {
        let flows = (0_u32..).zip(&self.flows);
        let over = flows.filter(|(_, f)| self.lines_of(f.path).iter().any(|&line| line / 2 == link));
        over.map(|(index, _)| index).collect()
    }

    /// Lays flows anew now that a link is known to be down or back. Returns those whose path changed.
    pub(crate) fn reroute(&mut self, link: u32, up: bool) -> Vec<u32> {
        self.routing.use_link(&self.lines, link, up);
        let concerned = if up {
            (0..self.flows.len() as u32).collect()
        } else {
            self.flows_over(link)
        };
        let moved = concerned
            .into_iter()
            .filter(|&flow| self.lay_anew(flow, link, up));
        moved.collect::<Vec<u32>>()
    }

    /// Lays one flow anew; true where its path changed.
    fn lay_anew(&mut self, flow: u32, link: u32, up: bool) -> bool {
        let (Some(f), Some(key)) = (self.flows.get(flow as usize), self.keys.get(flow as usize)) else {
            return false;
        };
        let (path, shift, from, spread) = (f.path, f.path_hops, f.ends[0], f.spread);
        let hash = FlowId::of(key).hash();
        let to = if f.leaves > 1 {
            let workload = self.workload_of.get(flow as usize).copied().unwrap_or(NIL);
            let carried = self.carried.get(workload as usize);
            let group = carried.map_or(&[][..], |c| &c.multicast);
            group.iter().copied().filter(|&host| host != from).collect()
        } else {
            vec![f.ends[1]]
        };
        let before = self.hops.len();
        let Some(first) = self
            .routing
            .lay_usable(&self.lines, &mut self.hops, from, &to, hash)
        else {
            self.hops.truncate(before);
            return false;
        };
        if self.lines_of(first) == self.lines_of(path) {
            self.hops.truncate(before);
            return false;
        }
        let new_shift = self.repeat_path(first, spread);
        if !up && to.len() == 1 {
            for pcp in 0..if spread { 8 } else { 1 } {
                self.turn_off(path + pcp * shift, link, to[0], hash);
            }
        }
        if let Some(f) = self.flows.get_mut(flow as usize) {
            f.path = first;
            f.path_hops = new_shift;
        }
        true
    }

    /// Frames under way turn off before the broken link where there is another way from there.
    fn turn_off(&mut self, path: u32, link: u32, to: u32, hash: u64) {
        let mut at = path;
        while let Some(hop) = self.hops.get(at as usize) {
            if hop.line / 2 == link {
                break;
            }
            at = hop.next;
        }
        let Some(near) = self
            .hops
            .get(at as usize)
            .map(|h| self.lines[h.line as usize].from.0)
        else {
            return;
        };
        // A frame still at the host whose own link is broken has nowhere to turn.
        let Some(other) = self
            .routing
            .lay_usable(&self.lines, &mut self.hops, near, &[to], hash)
        else {
            return;
        };
        self.hops[at as usize] = self.hops[other as usize];
    }
}

/// Appends the hops of `node` and all below it.
fn lay_tree(lines: &[Line], hops: &mut Vec<Hop>, node: u32, children: &BTreeMap<u32, BTreeSet<u32>>) -> u32 {
    let Some(branches) = children.get(&node) else {
        return NIL;
    };
    let first = hops.len();
    for &line in branches {
        let port = lines[line as usize].from.1;
        hops.push(Hop {
            target: Target::UNKNOWN,
            line,
            next: NIL,
            siblings: branches.len() as u16,
            port,
        });
    }
    for (place, &line) in branches.iter().enumerate() {
        hops[first + place].next = lay_tree(lines, hops, lines[line as usize].to.0, children);
    }
    first as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts 0 to 3; switches 4 (hosts 0, 1), 5 and 6 (both to 4 and 7), 7 (hosts 2, 3).
    fn diamond() -> (Vec<Line>, Routing) {
        let cables = [(0, 4), (1, 4), (4, 5), (4, 6), (5, 7), (6, 7), (7, 2), (7, 3)];
        let mut ports = [0_u16; 8];
        let mut lines = Vec::new();
        for (a, b) in cables {
            let (pa, pb) = (ports[a as usize], ports[b as usize]);
            ports[a as usize] += 1;
            ports[b as usize] += 1;
            lines.push(Line::new((a, pa), (b, pb), 10_000_000_000, 0, 0));
            lines.push(Line::new((b, pb), (a, pa), 10_000_000_000, 0, 0));
        }
        let routing = Routing::new(&lines, 8, 4);
        (lines, routing)
    }

    #[test]
    fn paths_are_shortest_and_equal_ones_are_shared_out() {
        let (lines, mut routing) = diamond();
        let mut by_way = [0; 2];
        for hash in 0..1_000_u64 {
            let path = routing
                .unicast(&lines, 0, 2, hash.wrapping_mul(0x1234_5678_9ABC_DEF1))
                .unwrap();
            assert_eq!(path.len(), 4);
            by_way[usize::from(lines[path[1] as usize].to.0 == 6)] += 1;
        }
        assert!(by_way.iter().all(|&n| (400..600).contains(&n)), "{by_way:?}");
    }

    #[test]
    fn a_multicast_tree_reaches_each_receiver_once() {
        let (lines, mut routing) = diamond();
        for hash in 0..20_u64 {
            let mut hops = Vec::new();
            let first = routing
                .lay(&lines, &mut hops, 0, &[1, 2, 3], hash << 40 | hash)
                .unwrap();
            assert_eq!(hops[first as usize].siblings, 1);
            let ends = hops
                .iter()
                .filter(|h| h.next == NIL)
                .map(|h| lines[h.line as usize].to.0);
            let mut ends: Vec<_> = ends.collect();
            ends.sort_unstable();
            assert_eq!(ends, [1, 2, 3]);
        }
    }

    #[test]
    fn a_host_is_no_way_through() {
        let mut lines = Vec::new();
        for (a, b) in [(0, 1), (1, 2)] {
            lines.push(Line::new((a, 0), (b, 0), 1_000_000_000, 0, 0));
            lines.push(Line::new((b, 0), (a, 0), 1_000_000_000, 0, 0));
        }
        let mut routing = Routing::new(&lines, 3, 3);
        assert_eq!(routing.distance(&lines, 0, 2), None);
        assert_eq!(routing.distance(&lines, 0, 1), Some(1));
    }
}
