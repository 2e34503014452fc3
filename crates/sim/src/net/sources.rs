//! A scenario's workloads made into sources, requesters and connections of its hosts.

use super::Node;
use super::application::{Endpoint, Requester};
use super::context::Context;
use super::event::Event;
use super::event_builder::start_events;
use super::flow::{FlowSpec, Meaning, TCP_PROTOCOL, UDP_PROTOCOL, reverse};
use super::frame::NIL;
use super::messages::exchange::start_exchange;
use super::messages::talker::start_talker;
use super::refusal::Refusal;
use super::sending::Sending;
use super::storage::start_storage;
use crate::engine::{Phase, Stream};
use crate::transport::TCP_HEADER_BYTES;
use crate::workload::{Destination as To, SenderContext, Source};
use clearway_core::Instant;
use clearway_policy::scenario::{Destination, MessagePattern, Scenario, Workload, WorkloadKind};

/// Sources, requesters or endpoints of one host.
const PER_HOST_MAX: usize = 1 << 16;

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

/// Starts a workload at each of its senders.
pub(crate) fn start_workload(
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
            WorkloadKind::Messages {
                pattern: MessagePattern::Exchange { .. },
                ..
            } => {
                if workload.from.first() == Some(&sender) {
                    start_exchange(scenario, index, seed, nodes, ctx)?;
                }
            }
            WorkloadKind::Messages { .. } => start_talker(workload, index, sender, stream, nodes, ctx)?,
            WorkloadKind::EventBuilder { .. } => {
                if workload.from.first() == Some(&sender) {
                    start_events(scenario, index, seed, nodes, ctx)?;
                }
            }
            WorkloadKind::Storage { .. } => {
                if workload.from.first() == Some(&sender) {
                    start_storage(scenario, index, seed, nodes, ctx)?;
                }
            }
            _ => start_source(scenario, index, sender, stream, nodes, ctx)?,
        }
        if let Some(Node::Host(host)) = nodes.get(sender)
            && host
                .sources
                .len()
                .max(host.requesters.len())
                .max(host.endpoints.len())
                .max(host.talkers.len())
                >= PER_HOST_MAX
        {
            return Err(Refusal::new(
                item,
                "from",
                "makes more than 65,535 sources of one host",
            ));
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
pub(crate) fn draw(workload: &Workload, sender: usize, stream: &mut Stream) -> u32 {
    if let Destination::Skewed { host, probability } = workload.to
        && host != sender
        && stream.chance(probability)
    {
        return host as u32;
    }
    let mut all = receivers(workload, sender);
    if let Destination::Skewed { host, .. } = workload.to
        && !workload.from.contains(&host)
    {
        all.retain(|&h| h != host);
    }
    let place = stream.below(all.len() as u64) as usize;
    all.get(place).map_or(NIL, |&h| h as u32)
}

pub(crate) fn unreachable(workload: &Workload) -> Refusal {
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
