//! A scenario made into nodes, lines and sources; refused with a reason where it could not run.

use super::application::{Endpoint, Requester};
use super::bus::Bus;
use super::context::Context;
use super::event::Event;
use super::flow::{Carried, FlowSpec, Meaning, TCP_PROTOCOL, UDP_PROTOCOL, reverse};
use super::flow_control::{CreditSender, PauseSender};
use super::frame::NIL;
use super::host::{Host, Jitter, Sending};
use super::line::Line;
use super::memory::Memory;
use super::refusal::Refusal;
use super::routing::Routing;
use super::switch::{HEADER_BYTES, Switch, SwitchSettings};
use super::transmitter::{Credits, Selection, Transmitter};
use super::{Node, simulation::RunOptions};
use crate::engine::{EventQueue, Phase, Slab, Stream};
use crate::results::collect::Collector;
use crate::transport::TCP_HEADER_BYTES;
use crate::workload::{Destination as To, SenderContext, Source};
use clearway_core::{Instant, Plan};
use clearway_policy::scenario::{
    Destination, FlowControl, Law, LinkEnd, NodeRef, PauseResponse, Scenario, Workload, WorkloadKind,
};
use std::collections::{BTreeMap, HashMap};

/// Ports that pause per output and credits can name: gates of a [`clearway_core::GateSet`].
const OUTPUTS_MAX: usize = 64;
/// Sources, requesters or endpoints of one host.
const PER_HOST_MAX: usize = 1 << 16;

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
        calls: Slab::with_capacity(0),
        lines,
        flows: Vec::new(),
        keys: Vec::new(),
        workload_of: Vec::new(),
        carried: carried_by(scenario),
        routing,
        paths: Vec::new(),
        hops: Vec::new(),
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
    if let Some(interval) = scenario.sample_interval {
        if end / interval.as_ps().max(1) > 10_000_000 {
            return refuse(
                "sample_interval",
                "asks for more than ten million samples: lengthen it".to_owned(),
            );
        }
    }
    Ok(())
}

/// Lines by link and end, and the lines of each node in the order of its ports.
fn lay_lines(scenario: &Scenario) -> Result<(Vec<Line>, BTreeMap<u32, Vec<u32>>), Refusal> {
    let hosts = scenario.hosts.len();
    let mut ports: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
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
    let plan = plan_of(scenario, policy, item)?;
    let name = policy
        .and_then(|p| scenario.policies.get(p))
        .map_or("", |p| p.name.as_str());
    Selection::new(plan).map_err(|e| Refusal::plan(name, &e))
}

fn end_of(scenario: &Scenario, line: u32) -> &LinkEnd {
    &scenario.links[line as usize / 2].ends[line as usize % 2]
}

fn build_host(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    ports: &BTreeMap<u32, Vec<u32>>,
) -> Result<Host, Refusal> {
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
        bus_tx =
            Some(Bus::new(interface, plan, None).map_err(|e| Refusal::plan("of the host interface", &e))?);
        let plan = plan_of(scenario, nic.receive_policy, &item)?;
        let bus = Bus::new(interface, plan, interface.receive_rate_bps);
        bus_rx = Some(bus.map_err(|e| Refusal::plan("of the receive channels", &e))?);
    } else if nic.receive_policy.is_some() {
        let problem = "has no host interface to share out: give the NIC a host_interface";
        return Err(Refusal::new(item, "receive_policy", problem));
    }
    Ok(Host {
        node: index as u32,
        stack_tx_ps: host.stack_delay_tx.as_ps(),
        stack_rx_ps: host.stack_delay_rx.as_ps(),
        jitter: Jitter::new(Stream::new(seed, index as u64, "stack"), host.stack_jitter.as_ps()),
        transmitter,
        obeys_pause: nic.pause_response == PauseResponse::Obey,
        reaction_ps: nic.pause_reaction.as_ps(),
        bus_tx,
        bus_rx,
        receive_buffer_bytes: nic.receive_buffer_bytes,
        sources: Vec::new(),
        requesters: Vec::new(),
        endpoints: Vec::new(),
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
                Some(Credits {
                    bytes: vec![i64::try_from(bytes_per_output).unwrap_or(i64::MAX); outputs],
                    frame_bytes_max: longest,
                }),
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
        replayed: match &workload.kind {
            WorkloadKind::Replay { frames } => frames.iter().map(|f| f.key).collect(),
            _ => Vec::new(),
        },
        flows: 0,
        known: HashMap::new(),
    };
    scenario.workloads.iter().map(carried).collect()
}

/// Every host that a sender's frames may go to.
pub(crate) fn receivers(workload: &Workload, sender: usize) -> Vec<usize> {
    let mut all = match &workload.to {
        Destination::Host(host) => vec![*host],
        Destination::UniformOthers => workload.from.clone(),
        Destination::Uniform(hosts) | Destination::Multicast(hosts) => hosts.clone(),
        Destination::Skewed { host, .. } => {
            let mut all = workload.from.clone();
            all.push(*host);
            all
        }
    };
    all.retain(|&h| h != sender);
    all.sort_unstable();
    all.dedup();
    all
}

fn start_workload(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let workload = &scenario.workloads[index];
    let item = format!("workload {}", workload.name);
    for &sender in &workload.from {
        if sender >= scenario.hosts.len() {
            return Err(Refusal::new(item, "from", "names a host that is not there"));
        }
        let to = receivers(workload, sender);
        if to.is_empty() {
            return Err(Refusal::new(item, "to", "leaves a sender nobody to send to"));
        }
        for &receiver in &to {
            if receiver >= scenario.hosts.len() {
                return Err(Refusal::new(item, "to", "names a host that is not there"));
            }
            if ctx
                .routing
                .distance(&ctx.lines, sender as u32, receiver as u32)
                .is_none()
            {
                let names = (&scenario.hosts[sender].name, &scenario.hosts[receiver].name);
                let problem = format!(
                    "nothing leads from host {} to host {}: add links",
                    names.0, names.1
                );
                return Err(Refusal::new(item, "to", problem));
            }
        }
        let stream = Stream::new(seed, sender as u64, &format!("workload {index}"));
        match &workload.kind {
            WorkloadKind::RequestResponse { .. } => start_calls(workload, index, sender, stream, nodes, ctx)?,
            WorkloadKind::TcpBulk { .. } => start_tcp(workload, index, sender, stream, nodes, ctx)?,
            _ => start_source(scenario, index, sender, stream, nodes, ctx)?,
        }
        if let Some(Node::Host(host)) = nodes.get(sender) {
            if host
                .sources
                .len()
                .max(host.requesters.len())
                .max(host.endpoints.len())
                >= PER_HOST_MAX
            {
                return Err(Refusal::new(
                    item,
                    "from",
                    "makes more than 65,535 sources of one host",
                ));
            }
        }
    }
    Ok(())
}

fn start_source(
    scenario: &Scenario,
    index: usize,
    sender: usize,
    stream: Stream,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let workload = &scenario.workloads[index];
    let Some(Node::Host(host)) = nodes.get_mut(sender) else {
        return Ok(());
    };
    let context = SenderContext {
        host: sender,
        participants: &workload.from,
        line_rate_bps: ctx.lines[host.transmitter.line as usize].rate_bps,
        clock_ppm: scenario.hosts[sender].clock_ppm,
        end: Instant::from_ps(ctx.end),
    };
    let source = Source::new(workload, &context, stream)?;
    let blocks_above = match workload.kind {
        WorkloadKind::Bursty { blocking: true, .. } => Some(scenario.hosts[sender].nic.transmit_fifo_bytes),
        _ => None,
    };
    let requester = match workload.kind {
        WorkloadKind::OpenLoop {
            response_bytes,
            request_bytes,
            ..
        } if response_bytes > 0 => {
            let workload = index as u32;
            host.requesters.push(Requester {
                flow: None,
                request_bytes,
                stop: u64::MAX,
                workload,
            });
            Some(host.requesters.len() as u32 - 1)
        }
        _ => None,
    };
    let sending = Sending::new(source, index as u32, requester, blocks_above);
    if let Some(first) = sending.first() {
        let event = Event::Source {
            host: sender as u32,
            source: host.sources.len() as u16,
        };
        ctx.push(
            first.saturating_add(host.source_lag_ps()),
            Phase::Control,
            sender as u32,
            event,
        );
    }
    host.sources.push(sending);
    Ok(())
}

/// Draws where a connection goes.
fn draw(workload: &Workload, sender: usize, stream: &mut Stream) -> u32 {
    if let Destination::Skewed { host, probability } = workload.to {
        if host != sender && stream.chance(probability) {
            return host as u32;
        }
    }
    let mut all = receivers(workload, sender);
    if let Destination::Skewed { host, .. } = workload.to {
        if !workload.from.contains(&host) {
            all.retain(|&h| h != host);
        }
    }
    let place = stream.below(all.len() as u64) as usize;
    all.get(place).map_or(NIL, |&h| h as u32)
}

fn unreachable(workload: &Workload) -> Refusal {
    Refusal::new(
        format!("workload {}", workload.name),
        "to",
        "cannot be reached by one path",
    )
}

fn start_calls(
    workload: &Workload,
    index: usize,
    sender: usize,
    mut stream: Stream,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let WorkloadKind::RequestResponse {
        request_bytes,
        outstanding,
        ..
    } = workload.kind
    else {
        return Ok(());
    };
    if matches!(workload.to, Destination::Multicast(_)) {
        let item = format!("workload {}", workload.name);
        return Err(Refusal::new(item, "to", "is a group: a request goes to one host"));
    }
    for _ in 0..outstanding.max(1) {
        let to = draw(workload, sender, &mut stream);
        let Some(Node::Host(host)) = nodes.get_mut(sender) else {
            return Ok(());
        };
        let requester = host.requesters.len() as u32;
        let carried = &ctx.carried[index];
        let spec = FlowSpec {
            from: sender as u32,
            to: &[to],
            key: carried.key(index as u32, sender as u32, To::Host(to), UDP_PROTOCOL),
            class: carried.class,
            meaning: Meaning::Request,
            owner: NIL,
            overhead: (carried.network_bytes() + 8) as u16,
            reply_bytes: carried.reply_bytes,
            spread: false,
            workload: index as u32,
        };
        let flow = ctx
            .make_call(&spec, requester)
            .ok_or_else(|| unreachable(workload))?;
        let start = workload.start.as_ps();
        let stop = workload.stop.map_or(u64::MAX, |s| s.as_ps());
        host.requesters.push(Requester {
            flow: Some(flow),
            request_bytes,
            stop,
            workload: index as u32,
        });
        let event = Event::Begin {
            host: sender as u32,
            requester: requester as u16,
        };
        ctx.push(start, Phase::Control, sender as u32, event);
    }
    Ok(())
}

fn start_tcp(
    workload: &Workload,
    index: usize,
    sender: usize,
    mut stream: Stream,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let WorkloadKind::TcpBulk {
        connections,
        tcp,
        bytes,
    } = &workload.kind
    else {
        return Ok(());
    };
    if matches!(workload.to, Destination::Multicast(_)) {
        let item = format!("workload {}", workload.name);
        return Err(Refusal::new(
            item,
            "to",
            "is a group: a connection goes to one host",
        ));
    }
    for _ in 0..*connections {
        let to = draw(workload, sender, &mut stream);
        let carried = &ctx.carried[index];
        let header = carried.network_bytes() + TCP_HEADER_BYTES + tcp.option_bytes;
        let (Some(Node::Host(a)), Some(Node::Host(b))) = (nodes.get(sender), nodes.get(to as usize)) else {
            return Err(unreachable(workload));
        };
        let (send_end, receive_end) = (a.endpoints.len() as u32, b.endpoints.len() as u32);
        let data = FlowSpec {
            from: sender as u32,
            to: &[to],
            key: carried.key(index as u32, sender as u32, To::Host(to), TCP_PROTOCOL),
            class: carried.class,
            meaning: Meaning::Data,
            owner: receive_end,
            overhead: u16::try_from(header).unwrap_or(u16::MAX),
            reply_bytes: 0,
            spread: false,
            workload: index as u32,
        };
        let ack = FlowSpec {
            from: to,
            to: &[sender as u32],
            key: reverse(&data.key),
            meaning: Meaning::Ack,
            owner: send_end,
            overhead: u16::MAX,
            ..data
        };
        let data_flow = ctx.make_flow(&data).ok_or_else(|| unreachable(workload))?;
        let ack_flow = ctx.make_flow(&ack).ok_or_else(|| unreachable(workload))?;
        // Connections must not begin in step: a random part of a full segment at the line rate.
        let Some(Node::Host(host)) = nodes.get_mut(sender) else {
            return Ok(());
        };
        let frame_ps = ctx.lines[host.transmitter.line as usize].time_ps(header + tcp.mss_bytes + 20);
        let start = workload
            .start
            .as_ps()
            .saturating_add(stream.below(frame_ps.max(1)));
        let stop = workload.stop.map_or(u64::MAX, |s| s.as_ps());
        host.endpoints
            .push(Endpoint::sender(tcp, data_flow, header, (start, stop), *bytes));
        let event = Event::Timer {
            host: sender as u32,
            endpoint: send_end as u16,
        };
        ctx.push(start, Phase::Control, sender as u32, event);
        if let Some(Node::Host(host)) = nodes.get_mut(to as usize) {
            host.endpoints
                .push(Endpoint::receiver(tcp, ack_flow, header, index as u32));
        }
    }
    Ok(())
}
