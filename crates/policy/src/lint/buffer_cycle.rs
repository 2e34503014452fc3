//! Cyclic buffer dependencies: switches whose buffers can wait for each other in a circle, each paused by the next.
//!
//! The channel dependency graph of Dally and Seitz (1987), with every shortest path (ECMP may take any). A channel is
//! a link direction into a switch that pauses its neighbours; it depends on the channels that frames take next. A
//! circle means that PAUSE or PFC can stop all of it for ever. Priorities under PFC are looked at one by one.

use super::headroom::name;
use crate::diagnostic::{Diagnostic, Severity};
use crate::load::Loaded;
use crate::scenario::{Destination, FlowControl, NodeRef, Scenario, Workload};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Destinations times links: beyond it the check would take seconds, and says that it was left out.
const WORK_MAX: usize = 50_000_000;

pub(crate) fn check(loaded: &Loaded, findings: &mut Vec<Diagnostic>) {
    let scenario = &loaded.scenario;
    let pauses = |s: usize, pcp: u8| match &scenario.switches[s].flow_control {
        FlowControl::Pause(_) => true,
        FlowControl::Pfc { priorities, .. } => priorities >> pcp & 1 == 1,
        _ => false,
    };
    let pausing = |pcp| {
        (0..scenario.switches.len())
            .filter(move |s| pauses(*s, pcp))
            .count()
    };
    // A circle of buffers has at least two switches.
    if (0..8).all(|pcp| pausing(pcp) < 2) {
        return;
    }
    let graph = Graph::new(scenario);
    for pcp in 0..8_u8 {
        if pausing(pcp) < 2 {
            continue;
        }
        let mut senders: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for workload in scenario
            .workloads
            .iter()
            .filter(|w| w.marks.pcp_uniform || w.marks.pcp.unwrap_or(0) == pcp)
        {
            paths(workload, &mut senders);
        }
        let Some(place) = loaded.facts.switches.first() else {
            return;
        };
        if senders.len().saturating_mul(scenario.links.len()) > WORK_MAX {
            let message = "the topology is too large for the search for cyclic buffer dependencies";
            findings.push(place.finding(Severity::Info, "buffer-cycle", message));
            return;
        }
        let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (destination, from) in &senders {
            graph.dependencies(*destination, from, &|s| pauses(s, pcp), &mut edges);
        }
        if let Some(circle) = find_circle(&edges) {
            let names: Vec<String> = circle
                .iter()
                .map(|c| {
                    let (from, to) = graph.channel(*c);
                    format!("{} to {}", name(scenario, from), name(scenario, to))
                })
                .collect();
            let message = format!(
                "buffers can wait for each other in a circle (priority {pcp}): {}; then nothing moves any more",
                names.join(", ")
            );
            let at = match graph.channel(circle[0]).1 {
                NodeRef::Switch(s) => &loaded.facts.switches[s],
                NodeRef::Host(_) => place,
            };
            let finding = at.finding(Severity::Warning, "buffer-cycle", message);
            findings.push(finding.expecting("paths without a circle, or no pause on one of these switches"));
            return;
        }
    }
}

/// Who sends to whom, replies included.
fn paths(workload: &Workload, senders: &mut BTreeMap<usize, BTreeSet<usize>>) {
    let targets: Vec<usize> = match &workload.to {
        Destination::Host(h) => vec![*h],
        Destination::UniformOthers => workload.from.clone(),
        Destination::Uniform(list) | Destination::Multicast(list) => list.clone(),
        Destination::Skewed { host, .. } => workload.from.iter().copied().chain([*host]).collect(),
    };
    for target in &targets {
        senders.entry(*target).or_default().extend(&workload.from);
    }
    for sender in &workload.from {
        senders.entry(*sender).or_default().extend(&targets);
    }
}

/// Links as channels: channel 2 l goes from the first end of link l to the second, 2 l + 1 back.
struct Graph<'a> {
    scenario: &'a Scenario,
    /// Channels out of each node; hosts first, then switches.
    out: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let mut out = vec![Vec::new(); scenario.hosts.len() + scenario.switches.len()];
        for (l, link) in scenario.links.iter().enumerate() {
            for e in 0..2 {
                out[Self::index(scenario, link.ends[e].node)].push(2 * l + e);
            }
        }
        Self { scenario, out }
    }

    fn index(scenario: &Scenario, node: NodeRef) -> usize {
        match node {
            NodeRef::Host(h) => h,
            NodeRef::Switch(s) => scenario.hosts.len() + s,
        }
    }

    fn channel(&self, channel: usize) -> (NodeRef, NodeRef) {
        let ends = &self.scenario.links[channel / 2].ends;
        (ends[channel % 2].node, ends[1 - channel % 2].node)
    }

    fn head(&self, channel: usize) -> usize {
        Self::index(self.scenario, self.channel(channel).1)
    }

    /// Adds the dependencies of every shortest path from these hosts to one.
    fn dependencies(
        &self,
        destination: usize,
        from: &BTreeSet<usize>,
        pauses: &dyn Fn(usize) -> bool,
        edges: &mut BTreeMap<usize, BTreeSet<usize>>,
    ) {
        let mut distance = vec![usize::MAX; self.out.len()];
        distance[destination] = 0;
        let mut queue = VecDeque::from([destination]);
        while let Some(node) = queue.pop_front() {
            for channel in &self.out[node] {
                let next = self.head(*channel);
                // Hosts forward nothing.
                if distance[next] == usize::MAX {
                    distance[next] = distance[node] + 1;
                    if next >= self.scenario.hosts.len() {
                        queue.push_back(next);
                    }
                }
            }
        }
        let pausing = |channel: usize| match self.channel(channel).1 {
            NodeRef::Switch(s) => pauses(s),
            NodeRef::Host(_) => false,
        };
        let distance = &distance;
        let downhill = |node: usize| {
            self.out[node]
                .iter()
                .copied()
                .filter(move |c| distance_below(distance, self.head(*c), node))
        };
        let mut seen = vec![false; self.out.len()];
        let mut walk: Vec<usize> = from.iter().copied().filter(|h| *h != destination).collect();
        while let Some(node) = walk.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            for channel in downhill(node) {
                let next = self.head(channel);
                if pausing(channel) {
                    for after in downhill(next).filter(|c| pausing(*c)) {
                        edges.entry(channel).or_default().insert(after);
                    }
                }
                walk.push(next);
            }
        }
    }
}

fn distance_below(distance: &[usize], next: usize, node: usize) -> bool {
    distance[next] != usize::MAX && distance[next] < distance[node]
}

/// A circle of a directed graph, if it has one: depth first without recursion.
fn find_circle(edges: &BTreeMap<usize, BTreeSet<usize>>) -> Option<Vec<usize>> {
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for start in edges.keys() {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut on_path: BTreeSet<usize> = BTreeSet::new();
        let mut enter = Some(*start);
        loop {
            if let Some(node) = enter.take()
                && !done.contains(&node)
            {
                if on_path.contains(&node) {
                    let from = path.iter().position(|(n, _)| *n == node).unwrap_or(0);
                    return Some(path[from..].iter().map(|(n, _)| *n).collect());
                }
                on_path.insert(node);
                path.push((
                    node,
                    edges
                        .get(&node)
                        .map_or_else(Vec::new, |next| next.iter().copied().collect()),
                ));
            }
            let Some((node, next)) = path.last_mut() else {
                break;
            };
            match next.pop() {
                Some(child) => enter = Some(child),
                None => {
                    done.insert(*node);
                    on_path.remove(node);
                    path.pop();
                }
            }
        }
    }
    None
}
