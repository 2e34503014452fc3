//! A scenario made into nodes, lines and sources; refused with a reason where it could not run.

use super::bus::Bus;
use super::context::Context;
use super::event::Event;
use super::flow::Carried;
use super::flow_control::{CreditSender, PauseSender};
use super::host::{Host, Jitter};
use super::ledger::Ledger;
use super::line::Line;
use super::memory::Memory;
use super::port::Credits;
use super::refusal::Refusal;
use super::routing::Routing;
use super::selection::Selection;
use super::sources::start_workload;
use super::stack::Stack;
use super::switch::{HEADER_BYTES, Switch, SwitchSettings};
use super::transmitter::Transmitter;
use super::{Node, simulation::RunOptions};
use crate::engine::{EventQueue, Phase, Slab, Stream};
use crate::results::collect::Collector;
use clearway_core::{Instant, Plan};
use clearway_policy::scenario::{
    Destination, FlowControl, Law, LinkEnd, MessageTransport, NodeRef, PauseResponse, Scenario, Workload,
    WorkloadKind,
};
use std::collections::{BTreeMap, HashMap};

/// Ports that pause per output and credits can name: gates of a [`clearway_core::GateSet`].
const OUTPUTS_MAX: usize = 64;

/// The lines that leave each node, in the order of its ports.
type Ports = BTreeMap<u32, Vec<u32>>;

/// The nodes and the context of a scenario.
pub(crate) struct Built {
    pub(crate) nodes: Vec<Node>,
    pub(crate) ctx: Context,
}

pub(crate) fn build(scenario: &Scenario, seed: u64, options: &RunOptions) -> Result<Built, Refusal> {
    let hosts = scenario.hosts.len();
    let count = hosts + scenario.switches.len();
    check_times(scenario, count)?;
    let (lines, mut ports) = lay_lines(scenario)?;
    let interval = scenario.sample_interval.map_or(0, |i| i.as_ps().max(1));
    let end = scenario.duration.as_ps();
    let bins = end.checked_div(interval).map_or(0, |n| n as usize + 1);
    let mut collector = Collector::new(
        scenario.classes.len(),
        count,
        scenario.workloads.len(),
        interval,
        bins,
    );
    collector.samples_max = options.round_trip_samples_max;
    if scenario.flow_histograms {
        collector.keep_flow_histograms();
    }
    if scenario.flow_jitter {
        collector.keep_flow_jitter(scenario);
    }
    let routing = Routing::new(&lines, count, hosts as u32);
    let mut ctx = Context {
        now: 0,
        end,
        warmup: scenario.warmup.as_ps(),
        events: EventQueue::new(count as u32),
        frames: Slab::with_capacity(1 << 10),
        controls: Slab::with_capacity(0),
        shared: Slab::with_capacity(0),
        segments: Slab::with_capacity(0),
        acks: Slab::with_capacity(0),
        packets: Slab::with_capacity(0),
        builders: BTreeMap::new(),
        storage: BTreeMap::new(),
        pipes: Vec::new(),
        calls: Slab::with_capacity(0),
        lines,
        flows: Vec::new(),
        keys: Vec::new(),
        workload_of: Vec::new(),
        carried: carried_by(scenario),
        routing,
        hops: Vec::new(),
        ledger: Ledger::default(),
        collector,
        captured: Vec::new(),
    };
    let mut nodes = Vec::with_capacity(count);
    for index in 0..hosts {
        nodes.push(Node::Host(Box::new(build_host(scenario, index, seed, &ports)?)));
    }
    for index in 0..scenario.switches.len() {
        let node = (hosts + index) as u32;
        let mine = ports.remove(&node).unwrap_or_default();
        nodes.push(Node::Switch(Box::new(build_switch(
            scenario, &ctx, index, &mine,
        )?)));
    }
    join(scenario, &mut nodes, &mut ctx);
    for index in 0..scenario.workloads.len() {
        start_workload(scenario, index, seed, &mut nodes, &mut ctx)?;
    }
    if interval > 0 {
        ctx.push(0, Phase::Control, 0, Event::Sample);
    }
    Ok(Built { nodes, ctx })
}

fn check_times(scenario: &Scenario, nodes: usize) -> Result<(), Refusal> {
    let refuse = |field, problem: String| Err(Refusal::new("scenario", field, problem));
    let (end, limit) = (scenario.duration.as_ps(), Instant::LIMIT.as_ps() / 2);
    if end == 0 || end > limit {
        return refuse(
            "duration",
            "is zero or above 53 days: simulate a span between".to_owned(),
        );
    }
    if scenario.warmup.as_ps() >= end {
        return refuse(
            "warmup",
            "is not shorter than the duration: nothing would be measured".to_owned(),
        );
    }
    if nodes >= crate::engine::order::NODES_MAX as usize {
        return refuse(
            "hosts",
            "more than a million nodes: make the network smaller".to_owned(),
        );
    }
    if let Some(interval) = scenario.sample_interval
        && end / interval.as_ps().max(1) > 10_000_000
    {
        return refuse(
            "sample_interval",
            "asks for more than ten million samples: lengthen it".to_owned(),
        );
    }
    Ok(())
}

/// Lines by link and end, and the lines of each node in the order of its ports.
fn lay_lines(scenario: &Scenario) -> Result<(Vec<Line>, Ports), Refusal> {
    let hosts = scenario.hosts.len();
    let mut ports: Ports = BTreeMap::new();
    let mut lines = Vec::with_capacity(2 * scenario.links.len());
    for (index, link) in scenario.links.iter().enumerate() {
        let refuse = |field, problem: &str| Refusal::new(format!("link {}", link.name), field, problem);
        if link.rate_bps == 0 {
            return Err(refuse(
                "rate",
                "is zero: no frame would ever arrive; give a line rate",
            ));
        }
        if link.delay.as_ps() > scenario.duration.as_ps() {
            return Err(refuse(
                "delay",
                "is longer than the run: no frame would ever arrive",
            ));
        }
        let mut ends = [(0, 0); 2];
        for (side, end) in link.ends.iter().enumerate() {
            let node = match end.node {
                NodeRef::Host(h) if h < hosts => h,
                NodeRef::Switch(s) if s < scenario.switches.len() => hosts + s,
                _ => return Err(refuse("ends", "names a node that is not there")),
            } as u32;
            let mine = ports.entry(node).or_default();
            if matches!(end.node, NodeRef::Host(_)) && !mine.is_empty() {
                return Err(refuse(
                    "ends",
                    "is a second link of a host: a host has one NIC with one port",
                ));
            }
            let Ok(port) = u16::try_from(mine.len()) else {
                return Err(refuse("ends", "is beyond 65,535 ports of one switch"));
            };
            mine.push((2 * index + side) as u32);
            ends[side] = (node, port);
        }
        if ends[0].0 == ends[1].0 {
            return Err(refuse("ends", "joins a node to itself"));
        }
        for (side, end) in link.ends.iter().enumerate() {
            let ppm = match end.node {
                NodeRef::Host(h) => scenario.hosts[h].clock_ppm,
                NodeRef::Switch(_) => 0,
            };
            let mut line = Line::new(ends[side], ends[1 - side], link.rate_bps, ppm, link.delay.as_ps());
            line.capture = end.capture;
            line.watched = end.capture;
            lines.push(line);
        }
    }
    Ok((lines, ports))
}

fn plan_of<'a>(
    scenario: &'a Scenario,
    policy: Option<usize>,
    item: &str,
) -> Result<Option<&'a Plan>, Refusal> {
    match policy {
        None => Ok(None),
        Some(index) => match scenario.policies.get(index) {
            Some(policy) => Ok(Some(&policy.plan)),
            None => Err(Refusal::new(item, "policy", "names a policy that is not there")),
        },
    }
}

fn selection_of(scenario: &Scenario, policy: Option<usize>, item: &str) -> Result<Selection, Refusal> {
    let _ = plan_of(scenario, policy, item)?;
    let policy = policy.and_then(|p| scenario.policies.get(p));
    let name = policy.map_or("", |p| p.name.as_str());
    Selection::of_policy(policy).map_err(|e| Refusal::plan(name, &e))
}

fn end_of(scenario: &Scenario, line: u32) -> &LinkEnd {
    &scenario.links[line as usize / 2].ends[line as usize % 2]
}

fn build_host(scenario: &Scenario, index: usize, seed: u64, ports: &Ports) -> Result<Host, Refusal> {
    let host = &scenario.hosts[index];
    let item = format!("host {}", host.name);
    let Some(&line) = ports.get(&(index as u32)).and_then(|p| p.first()) else {
        return Err(Refusal::new(
            item,
            "links",
            "has no link: connect it or leave it out",
        ));
    };
    let nic = &host.nic;
    let policy = end_of(scenario, line).policy.or(nic.policy);
    let selection = selection_of(scenario, policy, &item)?;
    let transmitter = Transmitter::new(line, index as u32, selection, nic.transmit_fifo_bytes, true);
    let (mut bus_tx, mut bus_rx) = (None, None);
    if let Some(interface) = &nic.host_interface {
        if interface.rate_bps == 0 || interface.receive_rate_bps == Some(0) {
            return Err(Refusal::new(
                item,
                "host_interface.rate",
                "is zero: no frame would ever cross the bus",
            ));
        }
        let plan = plan_of(scenario, policy, &item)?;
        let bus = Bus::new(interface, plan, None).map_err(|e| Refusal::plan("of the host interface", &e))?;
        bus_tx = Some(Box::new(bus));
        let plan = plan_of(scenario, nic.receive_policy, &item)?;
        let bus = Bus::new(interface, plan, interface.receive_rate_bps);
        let bus = bus.map_err(|e| Refusal::plan("of the receive channels", &e))?;
        bus_rx = Some(Box::new(bus));
    } else if nic.receive_policy.is_some() {
        let problem = "has no host interface to share out: give the NIC a host_interface";
        return Err(Refusal::new(item, "receive_policy", problem));
    }
    Ok(Host {
        node: index as u32,
        stack_tx_ps: host.stack_delay_tx.as_ps(),
        stack_rx_ps: host.stack_delay_rx.as_ps(),
        jitter: Jitter::new(
            Stream::new(seed, index as u64, "stack"),
            host.stack_jitter.as_ps(),
        ),
        transmitter,
        staged: host.stack.is_some() || host.stack_jitter.as_ps() > 0,
        stack: host
            .stack
            .as_ref()
            .map(|stack| Box::new(Stack::new(stack, index as u32))),
        obeys_pause: nic.pause_response == PauseResponse::Obey,
        reaction_ps: nic.pause_reaction.as_ps(),
        bus_tx,
        bus_rx,
        receive_buffer_bytes: nic.receive_buffer_bytes,
        sources: Vec::new(),
        requesters: Vec::new(),
        endpoints: Vec::new(),
        talkers: Vec::new(),
        exchanges: Vec::new(),
        blocked: 0,
        up: std::collections::VecDeque::new(),
        down: std::collections::VecDeque::new(),
    })
}

fn build_switch(scenario: &Scenario, ctx: &Context, index: usize, lines: &[u32]) -> Result<Switch, Refusal> {
    let switch = &scenario.switches[index];
    let item = format!("switch {}", switch.name);
    let node = (scenario.hosts.len() + index) as u32;
    let by_output = matches!(
        switch.flow_control,
        FlowControl::PausePerOutput(_) | FlowControl::Credits { .. }
    );
    if by_output && lines.len() > OUTPUTS_MAX {
        return Err(Refusal::new(
            item,
            "flow_control",
            "can name 64 outputs: use fewer ports",
        ));
    }
    match &switch.flow_control {
        FlowControl::Pause(s) | FlowControl::Pfc { settings: s, .. } | FlowControl::PausePerOutput(s) => {
            if s.quanta == 0 {
                return Err(Refusal::new(
                    item,
                    "quanta",
                    "is zero: XOFF would be XON; give 1 to 65535",
                ));
            }
            if s.low_bytes > s.high_bytes.saturating_add(1) {
                return Err(Refusal::new(
                    item,
                    "low",
                    "is above high: XON would never follow XOFF",
                ));
            }
        }
        FlowControl::Credits {
            bytes_per_output,
            return_bytes,
        } => {
            let longest = u64::from(longest_frame(scenario));
            if *bytes_per_output < return_bytes.saturating_add(longest) {
                let problem = format!(
                    "{bytes_per_output} B is less than the {return_bytes} B that are returned at once and the longest \
                     frame of {longest} B: sources would stop for ever"
                );
                return Err(Refusal::new(item, "bytes_per_output", problem));
            }
        }
        FlowControl::None => {}
    }
    let mut transmitters = Vec::with_capacity(lines.len());
    for &line in lines {
        let policy = end_of(scenario, line).policy.or(switch.policy);
        let selection = selection_of(scenario, policy, &item)?;
        transmitters.push(Transmitter::new(line, node, selection, 0, false));
    }
    let memory = Memory::new(
        switch.memory_bytes,
        switch.cell_bytes,
        switch.threshold,
        ctx.warmup,
    );
    let settings = SwitchSettings {
        charge: switch.charge,
        cut_through: switch.cut_through,
        forwarding_ps: switch.forwarding_delay.as_ps(),
        reaction_ps: switch.pause_reaction.as_ps(),
    };
    let pause = PauseSender::new(&switch.flow_control, lines.len());
    let credits = CreditSender::new(&switch.flow_control, lines.len());
    Ok(Switch::new(node, transmitters, memory, pause, credits, settings))
}

/// What each line's two ends must know of each other.
fn join(scenario: &Scenario, nodes: &mut [Node], ctx: &mut Context) {
    let longest = longest_frame(scenario);
    let hosts = scenario.hosts.len();
    for index in 0..ctx.lines.len() {
        let (from, to) = (ctx.lines[index].from, ctx.lines[index].to);
        let header_ps = ctx.lines[index].time_ps(HEADER_BYTES);
        match nodes.get_mut(to.0 as usize) {
            Some(Node::Host(host)) if host.is_direct() => ctx.lines[index].direct = Some(host.stack_rx_ps),
            Some(Node::Switch(switch)) => {
                ctx.lines[index].notice = switch.notice(header_ps);
                if let Some(credits) = &mut switch.credits {
                    credits.takes[usize::from(to.1)] = (from.0 as usize) < hosts;
                }
            }
            _ => {}
        }
        let Some(far) = (to.0 as usize)
            .checked_sub(hosts)
            .and_then(|s| scenario.switches.get(s))
        else {
            continue;
        };
        let outputs = match nodes.get(to.0 as usize) {
            Some(Node::Switch(switch)) => switch.ports.len(),
            _ => 0,
        };
        let (by_output, credits) = match far.flow_control {
            FlowControl::PausePerOutput(_) => (true, None),
            FlowControl::Credits { bytes_per_output, .. } => (
                true,
                Some(Box::new(Credits {
                    bytes: vec![i64::try_from(bytes_per_output).unwrap_or(i64::MAX); outputs],
                    frame_bytes_max: longest,
                })),
            ),
            _ => (false, None),
        };
        match nodes.get_mut(from.0 as usize) {
            Some(Node::Host(host)) => {
                host.transmitter.gate_by_output = by_output;
                host.transmitter.credits = credits;
            }
            Some(Node::Switch(switch)) => {
                switch.ports[usize::from(from.1)].transmitter.gate_by_output = by_output;
            }
            None => {}
        }
    }
}

/// The longest frame that the workloads can send.
fn longest_frame(scenario: &Scenario) -> u32 {
    let of_law = |law: &Law| match law {
        Law::Constant(v) | Law::Uniform(_, v) | Law::Pareto { max: v, .. } => *v,
        Law::Exponential(_) | Law::Geometric(_) => f64::from(crate::workload::FRAME_BYTES_MAX),
        Law::Empirical(values) => values.iter().fold(0.0, |m, v| f64::max(m, v.0)),
    };
    let frame = |workload: &Workload| match &workload.kind {
        WorkloadKind::Bursty { frame_bytes, .. }
        | WorkloadKind::Poisson { frame_bytes, .. }
        | WorkloadKind::ConstantRate { frame_bytes, .. }
        | WorkloadKind::OnOff { frame_bytes, .. } => of_law(frame_bytes).ceil() as u32,
        WorkloadKind::RequestResponse {
            request_bytes,
            response_bytes,
            ..
        }
        | WorkloadKind::OpenLoop {
            request_bytes,
            response_bytes,
            ..
        } => *request_bytes.max(response_bytes),
        WorkloadKind::TcpBulk { tcp, .. } => tcp.mss_bytes.saturating_add(62 + tcp.option_bytes),
        WorkloadKind::Messages { transport, .. }
        | WorkloadKind::Storage { transport, .. }
        | WorkloadKind::EventBuilder { transport, .. } => transport.frame_bytes_max().saturating_add(4),
        WorkloadKind::Replay { frames } => frames.iter().map(|f| f.bytes).max().unwrap_or(64),
    };
    let longest = scenario.workloads.iter().map(frame).max().unwrap_or(64);
    longest.clamp(64, crate::workload::FRAME_BYTES_MAX)
}

fn carried_by(scenario: &Scenario) -> Vec<Carried> {
    let last = scenario.classes.len().saturating_sub(1);
    let carried = |workload: &Workload| Carried {
        marks: workload.marks,
        class: workload.class.min(last) as u16,
        multicast: match &workload.to {
            Destination::Multicast(hosts) => hosts.iter().map(|&h| h as u32).collect(),
            _ => Vec::new(),
        },
        reply_bytes: match workload.kind {
            WorkloadKind::RequestResponse { response_bytes, .. }
            | WorkloadKind::OpenLoop { response_bytes, .. } => response_bytes,
            _ => 0,
        },
        remote: match &workload.kind {
            WorkloadKind::Messages { transport, .. }
            | WorkloadKind::Storage { transport, .. }
            | WorkloadKind::EventBuilder { transport, .. } => {
                matches!(transport, MessageTransport::Iwarp(_) | MessageTransport::Roce(_))
            }
            _ => false,
        },
        replayed: match &workload.kind {
            WorkloadKind::Replay { frames } => frames.iter().map(|f| f.key).collect(),
            _ => Vec::new(),
        },
        flows: 0,
        known: HashMap::new(),
    };
    scenario.workloads.iter().map(carried).collect()
}
