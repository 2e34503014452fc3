//! Hosts, switches and links: groups become single things, names become indices.

use super::Facts;
use super::flow_control::flow_control;
use super::policies::Registry;
use crate::diagnostic::{Diagnostic, Place};
use crate::names::{GROUP_MAX, Names, expand};
use crate::reader::{At, Size, Whole};
use crate::scenario::{
    Charge, FlowControl, Host, HostInterface, Link, LinkEnd, Nic, NodeRef, PauseResponse, Switch, Threshold,
};
use crate::syntax::scenario::{
    ChargeWord, EndWord, HostInterfaceText, HostText, LinkText, PauseWord, PolicyRef, ScenarioText,
    SwitchText, ThresholdText,
};
use clearway_core::Duration;

/// Propagation of light in fibre and of signals in copper, about two thirds of c: picoseconds a millimetre.
const PS_PER_MM: u64 = 5;
const RECEIVE_BUFFER_DEFAULT: u64 = 512 << 10;
/// The fastest line that the traffic manager takes, about 8 Tbit/s.
const RATE_MAX: u64 = 8_000_000_000_000;
const MEMORY_MAX: u64 = 1 << 50;

pub(crate) struct Network {
    pub(crate) hosts: Vec<Host>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) links: Vec<Link>,
    pub(crate) names: Names<NodeRef>,
    /// Nodes with the same number can reach each other; hosts first, then switches.
    islands: Vec<usize>,
}

impl Network {
    fn index(&self, node: NodeRef) -> usize {
        match node {
            NodeRef::Host(h) => h,
            NodeRef::Switch(s) => self.hosts.len() + s,
        }
    }
    pub(crate) fn connected(&self, a: NodeRef, b: NodeRef) -> bool {
        self.islands[self.index(a)] == self.islands[self.index(b)]
    }
}

/// What a group of nodes takes from its text.
struct Wanted<'a> {
    policy: Option<&'a At<PolicyRef>>,
    receive_policy: Option<&'a At<PolicyRef>>,
}

pub(crate) fn build(
    raw: &ScenarioText,
    registry: &mut Registry<'_>,
    facts: &mut Facts,
    findings: &mut Vec<Diagnostic>,
) -> Network {
    let mut network = Network {
        hosts: Vec::new(),
        switches: Vec::new(),
        links: Vec::new(),
        names: Names::new("host or switch"),
        islands: Vec::new(),
    };
    let mut wanted_hosts = Vec::new();
    let mut wanted_switches = Vec::new();
    let mut host_places = Vec::new();
    for entry in raw.host.iter().flat_map(|h| &h.value.0) {
        let names = group(
            &entry.name,
            count(entry.value.count.as_ref()),
            &entry.place,
            findings,
        );
        let first = network.hosts.len();
        for name in &names {
            network.hosts.push(host(
                name,
                &entry.value,
                findings_once(name == &names[0], findings),
            ));
            wanted_hosts.push(Wanted {
                policy: entry.value.nic.as_ref().and_then(|n| n.value.policy.as_ref()),
                receive_policy: entry
                    .value
                    .nic
                    .as_ref()
                    .and_then(|n| n.value.receive_policy.as_ref()),
            });
            host_places.push(entry.place.clone());
        }
        name_all(
            &mut network.names,
            &entry.name,
            &names,
            &|i| NodeRef::Host(first + i),
            &entry.place,
            findings,
        );
    }
    for entry in raw.switch.iter().flat_map(|s| &s.value.0) {
        let names = group(
            &entry.name,
            count(entry.value.count.as_ref()),
            &entry.place,
            findings,
        );
        let first = network.switches.len();
        for name in &names {
            network.switches.push(switch(
                name,
                &entry.value,
                findings_once(name == &names[0], findings),
            ));
            wanted_switches.push(Wanted {
                policy: entry.value.policy.as_ref(),
                receive_policy: None,
            });
            facts.switches.push(entry.place.clone());
        }
        name_all(
            &mut network.names,
            &entry.name,
            &names,
            &|i| NodeRef::Switch(first + i),
            &entry.place,
            findings,
        );
    }
    for entry in raw.link.iter().flat_map(|l| &l.value.0) {
        links(
            &mut network,
            &entry.name,
            &entry.value,
            &entry.place,
            registry,
            facts,
            findings,
        );
    }
    resolve_policies(&mut network, &wanted_hosts, &wanted_switches, registry, findings);
    islands(&mut network);
    check_ports(&network, &host_places, facts, findings);
    network
}

/// The second and later members of a group repeat the findings of the first: those are thrown away.
fn findings_once(first: bool, findings: &mut Vec<Diagnostic>) -> Findings<'_> {
    Findings {
        keep: first,
        to: findings,
    }
}
pub(crate) struct Findings<'a> {
    keep: bool,
    to: &'a mut Vec<Diagnostic>,
}
impl Findings<'_> {
    pub(crate) fn push(&mut self, finding: Diagnostic) {
        if self.keep {
            self.to.push(finding);
        }
    }
}

fn count<const A: i64, const B: i64>(count: Option<&At<Whole<A, B>>>) -> Option<usize> {
    count.and_then(|c| usize::try_from(c.value.0).ok())
}

/// The members of a group: by pattern, by count, or the one.
fn group(name: &str, count: Option<usize>, place: &Place, findings: &mut Vec<Diagnostic>) -> Vec<String> {
    match (count, name.contains('{')) {
        (Some(_), true) => {
            let finding = place.error("name", "a pattern of names and `count` at once");
            findings.push(finding.expecting("one of the two"));
            vec![name.to_owned()]
        }
        (Some(n), false) => (1..=n.min(GROUP_MAX)).map(|i| format!("{name}{i}")).collect(),
        (None, _) => expand(name, place, findings).unwrap_or_else(|| vec![name.to_owned()]),
    }
}

fn name_all(
    names: &mut Names<NodeRef>,
    group: &str,
    members: &[String],
    node: &dyn Fn(usize) -> NodeRef,
    place: &Place,
    findings: &mut Vec<Diagnostic>,
) {
    if members.len() > 1 || members.first().is_some_and(|m| m != group) {
        names.define(group, (0..members.len()).map(node).collect(), place, findings);
    }
    for (i, member) in members.iter().enumerate() {
        names.define(member, vec![node(i)], place, findings);
    }
}

pub(crate) fn span(time: Option<&At<crate::reader::Time>>) -> Option<Duration> {
    time.map(|t| Duration::from_ps(t.value.0))
}

fn host(name: &str, text: &HostText, mut findings: Findings<'_>) -> Host {
    if let (Some(both), Some(_)) = (
        &text.stack_delay,
        text.stack_delay_tx.as_ref().or(text.stack_delay_rx.as_ref()),
    ) {
        let finding = both.error(
            "unused-key",
            "`stack_delay` is both `stack_delay_tx` and `stack_delay_rx`",
        );
        findings.push(finding.expecting("the one or the two"));
    }
    let both = span(text.stack_delay.as_ref()).unwrap_or(Duration::ZERO);
    let nic = text.nic.as_ref().map(|n| &n.value);
    Host {
        name: name.to_owned(),
        stack_delay_tx: span(text.stack_delay_tx.as_ref()).unwrap_or(both),
        stack_delay_rx: span(text.stack_delay_rx.as_ref()).unwrap_or(both),
        stack_jitter: span(text.stack_jitter.as_ref()).unwrap_or(Duration::ZERO),
        stack: text
            .stack
            .as_ref()
            .map(|stack| Box::new(super::stack::stack(&stack.value, &mut findings))),
        nic: Nic {
            policy: None,
            receive_policy: None,
            transmit_fifo_bytes: nic
                .and_then(|n| n.transmit_fifo.as_ref())
                .map_or(0, |s| s.value.0),
            receive_buffer_bytes: nic
                .and_then(|n| n.receive_buffer.as_ref())
                .map_or(RECEIVE_BUFFER_DEFAULT, |s| s.value.0),
            host_interface: nic
                .and_then(|n| n.host_interface.as_ref())
                .map(|h| host_interface(&h.value, &mut findings)),
            pause_response: match nic.and_then(|n| n.pause.as_ref()).map(|p| p.value) {
                Some(PauseWord::Ignore) => PauseResponse::Ignore,
                _ => PauseResponse::Obey,
            },
            pause_reaction: nic
                .and_then(|n| span(n.pause_reaction.as_ref()))
                .unwrap_or(Duration::ZERO),
        },
        clock_ppm: text
            .clock_ppm
            .as_ref()
            .and_then(|c| i32::try_from(c.value.0).ok())
            .unwrap_or(0),
    }
}

fn small(size: Option<&At<Size>>, default: u32, least: u32, findings: &mut Findings<'_>) -> u32 {
    let Some(size) = size else { return default };
    match u32::try_from(size.value.0)
        .ok()
        .filter(|n| *n >= least && *n <= 1 << 24)
    {
        Some(bytes) => bytes,
        None => {
            let finding = size.error("range", "this size is out of range");
            findings.push(finding.expecting(format!("from {least}B to 16MiB")));
            default
        }
    }
}

fn host_interface(text: &HostInterfaceText, findings: &mut Findings<'_>) -> HostInterface {
    for rate in text.rate.iter().chain(&text.receive_rate) {
        if rate.value.0 == 0 {
            findings.push(
                rate.error("range", "a bus of zero rate never finishes")
                    .expecting("a rate above 0"),
            );
        }
    }
    HostInterface {
        rate_bps: text.rate.as_ref().map_or(1, |r| r.value.0),
        packet_overhead_bytes: small(text.packet_overhead.as_ref(), 24, 0, findings),
        packet_payload_bytes: small(text.packet_payload.as_ref(), 256, 1, findings),
        transfer_bytes_max: small(text.transfer_max.as_ref(), 4096, 1, findings),
        latency: span(text.latency.as_ref()).unwrap_or(Duration::ZERO),
        receive_rate_bps: text.receive_rate.as_ref().map(|r| r.value.0),
    }
}

fn switch(name: &str, text: &SwitchText, mut findings: Findings<'_>) -> Switch {
    let memory_bytes = text.memory.as_ref().map_or(1, |m| m.value.0);
    if let Some(memory) = text
        .memory
        .as_ref()
        .filter(|m| m.value.0 < 64 || m.value.0 > MEMORY_MAX)
    {
        findings.push(
            memory
                .error("range", "this memory is out of range")
                .expecting("from 64B to 1TB"),
        );
    }
    let threshold = match text.threshold.as_ref().map(|t| (&t.value, &t.place)) {
        None | Some((ThresholdText::Shared, _)) => Threshold::Shared,
        Some((ThresholdText::Static(bytes), place)) => {
            if *bytes == 0 {
                findings.push(
                    place
                        .error("range", "a threshold of zero drops every frame")
                        .expecting("above 0B"),
                );
            }
            Threshold::Static(*bytes)
        }
        Some((ThresholdText::Alpha(alpha), _)) => {
            // To a thousandth; real devices take powers of two from 1/128 to 8.
            let thousandths = (alpha.value.0 * 1000.0).round();
            if !(1.0..=1e6).contains(&thousandths) {
                findings.push(
                    alpha
                        .error("range", "alpha is out of range")
                        .expecting("from 0.001 to 1000"),
                );
            }
            Threshold::Dynamic {
                numerator: thousandths as u32,
                denominator: 1000,
            }
        }
    };
    Switch {
        name: name.to_owned(),
        policy: None,
        memory_bytes,
        charge: match text.charge.as_ref().map(|c| c.value) {
            Some(ChargeWord::FirstBit) => Charge::FirstBit,
            Some(ChargeWord::PerCell) => Charge::PerCell,
            _ => Charge::LastBit,
        },
        cell_bytes: small(text.cell.as_ref(), 1, 1, &mut findings),
        threshold,
        flow_control: text.flow_control.as_ref().map_or(FlowControl::None, |f| {
            flow_control(&f.value, memory_bytes, &mut findings)
        }),
        pause_reaction: span(text.pause_reaction.as_ref()).unwrap_or(Duration::ZERO),
        forwarding_delay: span(text.forwarding_delay.as_ref()).unwrap_or(Duration::ZERO),
        cut_through: text.cut_through.as_ref().is_some_and(|c| c.value),
    }
}

fn links(
    network: &mut Network,
    name: &str,
    text: &LinkText,
    place: &Place,
    registry: &mut Registry<'_>,
    facts: &mut Facts,
    findings: &mut Vec<Diagnostic>,
) {
    let Some(ends) = &text.ends else { return };
    let [a, b] = ends.value.0.as_slice() else {
        let message = format!("a link has two ends, not {}", ends.value.0.len());
        findings.push(
            ends.error("ends", message)
                .expecting("two names, such as [\"h{1..16}\", \"sw\"]"),
        );
        return;
    };
    let (Some(from), Some(to)) = (network.names.find(a, findings), network.names.find(b, findings)) else {
        return;
    };
    let pairs: Vec<(NodeRef, NodeRef)> = match (from.len(), to.len()) {
        (n, m) if n == m => from.into_iter().zip(to).collect(),
        (1, _) => to.into_iter().map(|t| (from[0], t)).collect(),
        (_, 1) => from.into_iter().map(|f| (f, to[0])).collect(),
        (n, m) => {
            let finding = ends.error("ends", format!("{n} nodes face {m}"));
            findings.push(finding.expecting("one node, or groups of the same size"));
            return;
        }
    };
    let rate_bps = text.rate.as_ref().map_or(1, |r| r.value.0);
    if let Some(rate) = text
        .rate
        .as_ref()
        .filter(|_| rate_bps == 0 || rate_bps > RATE_MAX)
    {
        let message = if rate_bps == 0 {
            "a link of zero rate never finishes a frame"
        } else {
            "this rate is too high"
        };
        findings.push(rate.error("range", message).expecting("from 1bit/s to 8Tbit/s"));
        return;
    }
    if let (Some(delay), Some(_)) = (&text.delay, &text.length) {
        let finding = delay.error("unused-key", "a link has a delay or a length");
        findings.push(finding.expecting("one of the two"));
    }
    let delay = match (&text.delay, &text.length) {
        (Some(delay), _) => delay.value.0,
        (None, Some(length)) => length.value.0.saturating_mul(PS_PER_MM),
        (None, None) => 0,
    };
    if let Some(at) = text
        .delay
        .as_ref()
        .map(|d| &d.place)
        .or(text.length.as_ref().map(|l| &l.place))
        && delay > 1_000_000_000_000
    {
        findings.push(
            at.error("range", "more than a second on the way")
                .expecting("at most 1s, or 200000km"),
        );
    }
    let captured = |end: EndWord| {
        text.capture
            .iter()
            .flat_map(|c| &c.value.0)
            .any(|c| c.value == end)
    };
    let single = pairs.len() == 1;
    let policies = [
        registry.at(text.policy_a.as_ref(), rate_bps, findings),
        registry.at(text.policy_b.as_ref(), rate_bps, findings),
    ];
    for (n, (a, b)) in pairs.into_iter().enumerate() {
        if a == b {
            findings.push(ends.error("ends", "both ends of the link are the same node"));
            return;
        }
        let end = |node, i: usize, end| LinkEnd {
            node,
            policy: policies[i],
            capture: captured(end),
        };
        network.links.push(Link {
            name: if single {
                name.to_owned()
            } else {
                format!("{name}{}", n + 1)
            },
            ends: [end(a, 0, EndWord::A), end(b, 1, EndWord::B)],
            rate_bps,
            delay: Duration::from_ps(delay),
        });
        facts.links.push(place.clone());
    }
}

/// The names of links and of groups of them, where an action asks for any.
pub(crate) fn link_names(
    raw: &ScenarioText,
    network: &Network,
    facts: &Facts,
    findings: &mut Vec<Diagnostic>,
) -> Names<usize> {
    let mut names = Names::new("link");
    let mut actions = raw.at.iter().flat_map(|a| &a.value.0);
    if !actions.any(|a| a.value.down.is_some() || a.value.up.is_some()) {
        return names;
    }
    for entry in raw.link.iter().flat_map(|l| &l.value.0) {
        let places = facts.links.iter().enumerate();
        let members: Vec<usize> = places
            .filter(|(_, p)| **p == entry.place)
            .map(|(l, _)| l)
            .collect();
        for &link in &members {
            names.define(&network.links[link].name, vec![link], &entry.place, findings);
        }
        if members.len() > 1 {
            names.define(&entry.name, members, &entry.place, findings);
        }
    }
    names
}

/// Compiles the policies of hosts and switches for the rates of their links. A switch has the plan of its first link;
/// where another link needs another plan, that link's end names it.
fn resolve_policies(
    network: &mut Network,
    hosts: &[Wanted<'_>],
    switches: &[Wanted<'_>],
    registry: &mut Registry<'_>,
    findings: &mut Vec<Diagnostic>,
) {
    for l in 0..network.links.len() {
        let rate = network.links[l].rate_bps;
        for e in 0..2 {
            match network.links[l].ends[e].node {
                NodeRef::Host(h) => {
                    let policy = registry.at(hosts[h].policy, rate, findings);
                    let nic = &mut network.hosts[h].nic;
                    let bus = nic
                        .host_interface
                        .as_ref()
                        .map(|i| i.receive_rate_bps.unwrap_or(i.rate_bps));
                    nic.policy = policy;
                    nic.receive_policy = registry.at(hosts[h].receive_policy, bus.unwrap_or(rate), findings);
                }
                NodeRef::Switch(s) => {
                    let policy = registry.at(switches[s].policy, rate, findings);
                    let switch = &mut network.switches[s];
                    if switch.policy.is_none() {
                        switch.policy = policy;
                    } else if policy != switch.policy && network.links[l].ends[e].policy.is_none() {
                        network.links[l].ends[e].policy = policy;
                    }
                }
            }
        }
    }
}

fn islands(network: &mut Network) {
    let total = network.hosts.len() + network.switches.len();
    let mut parent: Vec<usize> = (0..total).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for i in 0..network.links.len() {
        let [a, b] = [0, 1].map(|e| network.index(network.links[i].ends[e].node));
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        parent[a] = b;
    }
    network.islands = (0..total).map(|i| root(&mut parent, i)).collect();
}

/// Every host has exactly one link.
fn check_ports(network: &Network, places: &[Place], facts: &Facts, findings: &mut Vec<Diagnostic>) {
    let mut first: Vec<Option<usize>> = vec![None; network.hosts.len()];
    for (l, link) in network.links.iter().enumerate() {
        for end in &link.ends {
            let NodeRef::Host(h) = end.node else { continue };
            match first[h] {
                None => first[h] = Some(l),
                Some(other) => {
                    let host = &network.hosts[h].name;
                    let other = &network.links[other].name;
                    let message =
                        format!("the port of host `{host}` is connected already, by link `{other}`");
                    let finding = facts.links[l].error("port-twice", message);
                    findings.push(finding.expecting("one link to each host"));
                }
            }
        }
    }
    let mut told = std::collections::BTreeSet::new();
    for (h, link) in first.iter().enumerate() {
        // One finding for each group of hosts.
        if link.is_none() && told.insert(places[h].path().to_owned()) {
            let message = format!("host `{}` has no link", network.hosts[h].name);
            findings.push(
                places[h]
                    .error("no-link", message)
                    .expecting("a [link.NAME] with this host as an end"),
            );
        }
    }
}
