//! The ways that frames may take, and the queues that they come to.
//!
//! A frame takes a shortest way in hops; where there are several, any (the simulator chooses by a hash of the flow), and
//! a flow counts in full on each. Hosts do not forward.

use clearway_bounds::{Hop, Line};
use clearway_core::FlowKey;
use clearway_core::classifier::Classifier;
use clearway_core::plan::{NodeKind, Plan, QueueMode};
use clearway_policy::scenario::{NodeRef, Scenario};
use std::collections::BTreeMap;

/// Lines, the nodes that they join, and who classifies.
#[derive(Debug)]
pub(super) struct Graph {
    hosts: usize,
    /// From and to, by line; hosts before switches.
    ends: Vec<(usize, usize)>,
    /// Lines that leave each node.
    leaving: Vec<Vec<usize>>,
    /// Policy of each line.
    policies: Vec<Option<usize>>,
    /// By policy.
    classifiers: Vec<Classifier>,
}

/// Rates that are certain and that are not exceeded, where a byte takes no whole number of picoseconds: the simulator
/// rounds each frame's time to a picosecond, and the shortest frame feels it most.
fn rates(rate_bps: u64, clock_ppm: i32) -> (u64, u64) {
    const MILLION: i128 = 1_000_000;
    let scaled = i128::from(rate_bps) * (MILLION + i128::from(clock_ppm));
    if clock_ppm == 0 && clearway_bounds::BYTE % i128::from(rate_bps.max(1)) == 0 {
        return (rate_bps, rate_bps);
    }
    // A frame of 84 bytes on the wire, one picosecond more or less.
    let bits = 84 * clearway_bounds::BYTE * MILLION;
    let least = bits / (bits / scaled.max(1) + 2);
    let most = bits / (bits / scaled.max(1) - 2).max(1) + 1;
    let bps = |r: i128| u64::try_from(r / MILLION).unwrap_or(u64::MAX);
    (bps(least).max(1), bps(most) + 1)
}

impl Graph {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let hosts = scenario.hosts.len();
        let index = |node: NodeRef| match node {
            NodeRef::Host(h) => h,
            NodeRef::Switch(s) => hosts + s,
        };
        let mut ends = Vec::with_capacity(2 * scenario.links.len());
        let mut policies = Vec::with_capacity(ends.capacity());
        let mut leaving = vec![Vec::new(); hosts + scenario.switches.len()];
        for link in &scenario.links {
            for side in 0..2 {
                let (from, to) = (link.ends[side].node, link.ends[1 - side].node);
                leaving[index(from)].push(ends.len());
                ends.push((index(from), index(to)));
                policies.push(link.ends[side].policy.or(match from {
                    NodeRef::Host(h) => scenario.hosts[h].nic.policy,
                    NodeRef::Switch(s) => scenario.switches[s].policy,
                }));
            }
        }
        let classifiers = scenario.policies.iter();
        Self {
            hosts,
            ends,
            leaving,
            policies,
            classifiers: classifiers.map(|p| Classifier::compile(&p.plan.rules)).collect(),
        }
    }

    fn plan<'s>(&self, scenario: &'s Scenario, line: usize) -> Option<&'s Plan> {
        let policy = self.policies.get(line).copied().flatten()?;
        scenario.policies.get(policy).map(|p| &p.plan)
    }

    /// Every egress with its line.
    pub(super) fn lines<'s>(&self, scenario: &'s Scenario) -> Vec<Line<'s>> {
        let one = |(line, &(from, to)): (usize, &(usize, usize))| {
            let link = &scenario.links[line / 2];
            let host = scenario.hosts.get(from);
            let (rate_bps, rate_most_bps) = rates(link.rate_bps, host.map_or(0, |h| h.clock_ppm));
            let forwarding = to
                .checked_sub(self.hosts)
                .map_or(0, |s| scenario.switches[s].forwarding_delay.as_ps());
            Line {
                plan: self.plan(scenario, line),
                rate_bps,
                rate_most_bps,
                fifo_bytes: host.map_or(0, |h| h.nic.transmit_fifo_bytes),
                after_ps: link.delay.as_ps().saturating_add(forwarding),
            }
        };
        self.ends.iter().enumerate().map(one).collect()
    }

    /// True where a queue has a queue for each flow.
    pub(super) fn is_per_flow(&self, scenario: &Scenario, line: usize, leaf: u32) -> bool {
        let node = self
            .plan(scenario, line)
            .and_then(|plan| plan.nodes.get(leaf as usize));
        node.is_some_and(
            |n| matches!(&n.kind, NodeKind::Queue(q) if matches!(q.mode, QueueMode::PerFlow { .. })),
        )
    }

    /// Line rate of a host's link that is not exceeded, bit/s.
    pub(super) fn host_rate(&self, scenario: &Scenario, host: usize) -> u64 {
        let line = self.leaving[host].first().copied().unwrap_or(0);
        rates(scenario.links[line / 2].rate_bps, scenario.hosts[host].clock_ppm).1
    }

    /// Hops from every node to a host.
    fn distances(&self, to: usize) -> Vec<usize> {
        let mut far = vec![usize::MAX; self.leaving.len()];
        let mut next = vec![to];
        far[to] = 0;
        while !next.is_empty() {
            let mut later = Vec::new();
            for node in next {
                if node < self.hosts && node != to {
                    continue;
                }
                for &line in &self.leaving[node] {
                    let neighbour = self.ends[line].1;
                    if far[neighbour] == usize::MAX {
                        far[neighbour] = far[node] + 1;
                        later.push(neighbour);
                    }
                }
            }
            next = later;
        }
        far
    }

    /// Leaf of the plan at a line; none where the classifier knows no class for the frame: it is refused.
    fn leaf(&self, line: usize, key: &FlowKey) -> Option<u32> {
        match self.policies[line] {
            None => Some(0),
            Some(policy) => {
                let classifier = self.classifiers.get(policy)?;
                classifier.queue_of(classifier.matches(key)?)
            }
        }
    }

    /// The hops of a flow from a host to each of several, with the fields that its frames carry to each; and for each
    /// receiver the hops that end there.
    pub(super) fn ways(&self, from: usize, to: &[(usize, FlowKey)]) -> (Vec<Hop>, Vec<Vec<usize>>) {
        let mut hops: Vec<Hop> = Vec::new();
        let mut known: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        let mut ends = Vec::with_capacity(to.len());
        for (receiver, key) in to {
            let far = self.distances(*receiver);
            // Hops by which frames for this receiver come to each node.
            let mut coming: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            let mut here = vec![from];
            while !here.is_empty() && far[from] != usize::MAX {
                let mut next = Vec::new();
                for &node in &here {
                    if node == *receiver {
                        continue;
                    }
                    for &line in &self.leaving[node] {
                        let neighbour = self.ends[line].1;
                        if far[neighbour] == usize::MAX || far[neighbour] + 1 != far[node] {
                            continue;
                        }
                        let Some(leaf) = self.leaf(line, key) else {
                            continue;
                        };
                        let before = coming.get(&node).cloned().unwrap_or_default();
                        let hop = *known.entry((line, leaf)).or_insert_with(|| {
                            hops.push(Hop {
                                line,
                                leaf,
                                from: Vec::new(),
                            });
                            hops.len() - 1
                        });
                        for came in before {
                            if !hops[hop].from.contains(&came) {
                                hops[hop].from.push(came);
                            }
                        }
                        let at_neighbour = coming.entry(neighbour).or_default();
                        if !at_neighbour.contains(&hop) {
                            at_neighbour.push(hop);
                        }
                        if !next.contains(&neighbour) {
                            next.push(neighbour);
                        }
                    }
                }
                here = next;
            }
            ends.push(coming.get(receiver).cloned().unwrap_or_default());
        }
        in_order(hops, ends)
    }

    /// A queue's name, as results call it.
    pub(super) fn queue_name(&self, scenario: &Scenario, line: usize, leaf: u32) -> String {
        let link = &scenario.links[line / 2];
        let node = match link.ends[line % 2].node {
            NodeRef::Host(h) => &scenario.hosts[h].name,
            NodeRef::Switch(s) => &scenario.switches[s].name,
        };
        let port = format!("{node}@{}", link.name);
        if self.policies[line].is_none() {
            return port;
        }
        format!("{port}:{}", self.class_name(scenario, line, leaf))
    }

    /// A node of the plan at a line.
    pub(super) fn class_name(&self, scenario: &Scenario, line: usize, node: u32) -> String {
        let policy = self.policies[line].and_then(|p| scenario.policies.get(p));
        let name = policy.and_then(|p| p.node_names.get(node as usize));
        name.cloned().unwrap_or_else(|| format!("node {node}"))
    }
}

/// Hops in an order in which each stands behind all that lead to it: ways to several receivers may have met late.
fn in_order(hops: Vec<Hop>, ends: Vec<Vec<usize>>) -> (Vec<Hop>, Vec<Vec<usize>>) {
    let mut place = vec![usize::MAX; hops.len()];
    let mut order: Vec<usize> = Vec::with_capacity(hops.len());
    while order.len() < hops.len() {
        let before = order.len();
        for (index, hop) in hops.iter().enumerate() {
            if place[index] == usize::MAX && hop.from.iter().all(|&f| place[f] != usize::MAX) {
                place[index] = order.len();
                order.push(index);
            }
        }
        if order.len() == before {
            // Shortest ways have no circles; nothing to do but to leave the rest out.
            break;
        }
    }
    let moved = |list: &Vec<usize>| -> Vec<usize> {
        list.iter()
            .map(|&f| place[f])
            .filter(|p| *p != usize::MAX)
            .collect()
    };
    let sorted = order.iter().map(|&index| Hop {
        from: moved(&hops[index].from),
        ..hops[index].clone()
    });
    (sorted.collect(), ends.iter().map(moved).collect())
}
