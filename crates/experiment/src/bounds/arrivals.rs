//! What the workloads of a scenario may send at most, flow by flow.
//!
//! | workload | arrivals of a flow, bits with preamble and gap |
//! | --- | --- |
//! | `constant_rate`, `on_off` | one longest frame and its rate: frames are a gap apart, whatever their phases |
//! | `bursty` | one longest frame and the rate of the sender's line |
//! | `open_loop`, even | one frame and its rate; answers as the questions arrive |
//! | `request_response` | each caller one frame, and one more a shortest round trip later, wherever one looks |
//! | `replay` | the least token buckets that the capture itself fits, for each set of header fields |
//! | `poisson`, Poisson `open_loop`, `bursty` with `blocking`, `tcp_bulk` | no bound |
//!
//! Phases, destinations and priorities that the simulator draws are at their worst at once: a flow whose destination is
//! drawn counts in full towards each, one whose priority is drawn in full in each. A host whose stack jitters (an
//! exponential time), has a model of its processors, or has a bus, hands frames over without a bound here, but for closed
//! loops.

use super::captures::{by_fields, replayed};
use super::routes::Graph;
use clearway_bounds::{Arrival, Bucket, Flow, wire};
use clearway_core::FlowKey;
use clearway_policy::scenario::{Destination, Law, Marks, Scenario, Workload, WorkloadKind};
use clearway_sim::net::{group_ip, group_mac, host_ip, host_mac};
use std::collections::HashMap;
use std::ops::Range;

/// How a flow's arrivals are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// From the workload alone.
    Given,
    /// Of a closed loop whose answers, one for each host that may give them, have these indices.
    Call(Range<usize>),
    /// The answers to requests of this index.
    ReplyTo(usize),
}

/// Flows of one sender, and what results say of them.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) flow: Flow,
    pub(super) workload: usize,
    pub(super) from: usize,
    pub(super) class: usize,
    /// In the order of the flow's ends.
    pub(super) receivers: Vec<usize>,
    pub(super) kind: Kind,
    /// Header fields of its frames to the first receiver; the port of each flow is its own.
    pub(super) fields: FlowKey,
    /// Why its arrivals have no bound.
    pub(super) unbounded: Option<String>,
    /// Why some stack on its way has none.
    pub(super) stack_unbounded: Option<String>,
    /// What the stacks take at least, picoseconds.
    pub(super) stack_least_ps: u64,
}

/// Why a host's own part of the way has no bound.
fn host_unbounded(scenario: &Scenario, host: usize) -> Option<String> {
    let host = &scenario.hosts[host];
    let what = if host.stack_jitter.as_ps() > 0 {
        "the jitter of its stack is an exponential time"
    } else if host.stack.is_some() {
        "its processors and receive rings have no bound here"
    } else if host.nic.host_interface.is_some() {
        "its host interface has no bound here"
    } else {
        return None;
    };
    Some(format!("host {}: {what}", host.name))
}

impl Sent {
    /// What the stacks at both ends take.
    pub(super) fn stack_ps(&self, scenario: &Scenario, to: usize) -> super::Bound {
        let receive = self.stack_rx_ps(scenario, to)?;
        match host_unbounded(scenario, self.from) {
            Some(reason) => Err(reason),
            None => Ok(receive.saturating_add(scenario.hosts[self.from].stack_delay_tx.as_ps())),
        }
    }

    /// What the stack at the far end takes.
    pub(super) fn stack_rx_ps(&self, scenario: &Scenario, to: usize) -> super::Bound {
        match host_unbounded(scenario, to) {
            Some(reason) => Err(reason),
            None => Ok(scenario.hosts[to].stack_delay_rx.as_ps()),
        }
    }
}

/// Least and greatest frame that a law gives, bytes.
fn lengths(law: &Law) -> (u32, u32) {
    const LEAST: f64 = 64.0;
    const MOST: f64 = 65_535.0;
    let (least, most) = match law {
        Law::Constant(v) => (*v, *v),
        Law::Uniform(a, b) => (*a, *b),
        Law::Exponential(_) | Law::Geometric(_) => (LEAST, MOST),
        Law::Pareto { max, .. } => (LEAST, *max),
        Law::Empirical(values) => values
            .iter()
            .fold((MOST, LEAST), |(a, b), (v, _)| (f64::min(a, *v), f64::max(b, *v))),
    };
    let whole = |v: f64| v.clamp(LEAST, MOST) as u32;
    (whole(least.floor()), whole(most.ceil()))
}

/// Bit/s rounded up, for a clock this many parts per million fast, as sources take rates: to a millionth.
fn rate_up(rate: f64, ppm: i32) -> u64 {
    let micro = (rate.clamp(0.0, 1e15) * 1e6 + 0.5) as u128;
    let scaled = micro * (1_000_000 + i64::from(ppm)).max(1) as u128;
    u64::try_from(scaled.div_ceil(1_000_000_000_000)).unwrap_or(u64::MAX)
}

/// A frame at a time, at a rate; instants are rounded down to a picosecond, which brings a frame that much nearer.
fn paced(frame_max: u32, rate: u64) -> Arrival {
    Arrival::of(Bucket {
        burst: wire(frame_max) + i128::from(rate),
        rate,
    })
}

/// What one sender of a workload sends.
struct Offer {
    flows: u64,
    arrival: Arrival,
    lengths: (u32, u32),
    unbounded: Option<&'static str>,
    protocol: u8,
    /// Longest and shortest frame the other way.
    back: Option<(u32, u32)>,
    closed: bool,
}

const UDP: u8 = 17;
const TCP: u8 = 6;

fn offer(scenario: &Scenario, graph: &Graph, workload: &Workload, host: usize) -> Option<Offer> {
    let ppm = scenario.hosts[host].clock_ppm;
    let free = |lengths, why| Offer {
        flows: 1,
        arrival: Arrival::unbounded(),
        lengths,
        unbounded: Some(why),
        protocol: UDP,
        back: None,
        closed: false,
    };
    let bounded = |flows: u32, lengths: (u32, u32), rate: u64| Offer {
        flows: u64::from(flows),
        arrival: paced(lengths.1, rate),
        unbounded: None,
        ..free(lengths, "")
    };
    Some(match &workload.kind {
        WorkloadKind::ConstantRate {
            frame_bytes,
            rate_bps,
            flows,
            burst,
        } => {
            let (frame, rate) = (lengths(frame_bytes), rate_up(*rate_bps, ppm));
            // What a flow hands over at once is one flow's: where flows have shapers it waits for one of them.
            let at_once = wire(frame.1) * i128::from((*burst).max(1));
            Offer {
                arrival: Arrival::of(Bucket {
                    burst: at_once + i128::from(rate),
                    rate,
                }),
                ..bounded(*flows, frame, rate)
            }
        }
        WorkloadKind::OnOff {
            frame_bytes,
            rate_bps,
            ..
        } => bounded(1, lengths(frame_bytes), rate_up(*rate_bps, ppm)),
        WorkloadKind::Bursty {
            frame_bytes,
            blocking: false,
            ..
        } => bounded(1, lengths(frame_bytes), graph.host_rate(scenario, host)),
        WorkloadKind::Bursty { frame_bytes, .. } => free(
            lengths(frame_bytes),
            "what waits before the NIC comes when there is room",
        ),
        WorkloadKind::Poisson { frame_bytes, .. } => free(
            lengths(frame_bytes),
            "any number of Poisson arrivals may come at once",
        ),
        WorkloadKind::OpenLoop {
            request_bytes,
            response_bytes,
            rate_fps,
            poisson,
        } => {
            let size = *request_bytes;
            let back = (*response_bytes > 0).then_some((*response_bytes, *response_bytes));
            if *poisson {
                let why = "any number of Poisson arrivals may come at once";
                Offer {
                    back,
                    ..free((size, size), why)
                }
            } else {
                // Frames a second times bits a frame: a millionth of a frame more at most.
                let fps = rate_up(*rate_fps * 1e6, ppm);
                let bits = u128::from(fps) * (wire(size.max(64)) / (clearway_bounds::BYTE / 8)) as u128;
                let rate = u64::try_from(bits.div_ceil(1_000_000)).unwrap_or(u64::MAX);
                Offer {
                    back,
                    ..bounded(1, (size.max(64), size.max(64)), rate)
                }
            }
        }
        WorkloadKind::RequestResponse {
            request_bytes,
            response_bytes,
            outstanding,
        } => Offer {
            flows: u64::from(*outstanding).max(1),
            back: Some((*response_bytes, *response_bytes)),
            closed: true,
            ..bounded(1, (*request_bytes, *request_bytes), 1)
        },
        WorkloadKind::TcpBulk { tcp, .. } => {
            let longest = tcp.mss_bytes.saturating_add(62 + tcp.option_bytes);
            Offer {
                protocol: TCP,
                back: Some((64, 64 + 62 + 40)),
                ..free((64, longest), "TCP sends as its answers allow")
            }
        }
        // Each set of header fields is a flow of its own: see `push`.
        WorkloadKind::Replay { .. } => bounded(1, (64, 64), 1),
        WorkloadKind::Messages { .. } | WorkloadKind::Storage { .. } | WorkloadKind::EventBuilder { .. } => {
            return None;
        }
    })
}

/// Hosts that frames of a sender may go to.
fn receivers(workload: &Workload, sender: usize) -> Vec<usize> {
    let mut all = match &workload.to {
        Destination::Host(host) => vec![*host],
        Destination::UniformOthers => workload.from.clone(),
        Destination::Uniform(hosts) | Destination::Multicast(hosts) => hosts.clone(),
        Destination::Skewed { host, .. } => workload.from.iter().copied().chain([*host]).collect(),
    };
    all.retain(|h| *h != sender);
    all.sort_unstable();
    all.dedup();
    all
}

/// The fields of a workload's frames, as the simulator sets them; the port of the flow is left at its first.
fn key(
    marks: &Marks,
    workload: usize,
    from: usize,
    to: Option<usize>,
    protocol: u8,
    pcp: Option<u8>,
) -> FlowKey {
    let (from, index) = (from as u32, workload as u32);
    let (dst_ip, dst_mac) = match to {
        Some(host) => (host_ip(host as u32), host_mac(host as u32)),
        None => (group_ip(index), group_mac(index)),
    };
    let pcp = pcp.or(marks.pcp);
    FlowKey {
        src_ip: host_ip(from),
        dst_ip,
        dst_mac,
        src_mac: host_mac(from),
        ethertype: 0x0800,
        vlan_id: marks.vlan_id.unwrap_or(0),
        pcp: pcp.unwrap_or(0),
        tagged: pcp.is_some() || marks.vlan_id.is_some(),
        ip_version: 4,
        dscp: marks.dscp,
        protocol,
        src_port: if marks.src_port == 0 {
            10_000
        } else {
            marks.src_port
        },
        dst_port: if marks.dst_port == 0 {
            5_000 + (index % 5_000) as u16
        } else {
            marks.dst_port
        },
    }
}

const fn reverse(key: &FlowKey) -> FlowKey {
    FlowKey {
        src_ip: key.dst_ip,
        dst_ip: key.src_ip,
        src_mac: key.dst_mac,
        dst_mac: key.src_mac,
        src_port: key.dst_port,
        dst_port: key.src_port,
        ..*key
    }
}

/// Why a classifier cannot be foretold.
fn by_source_port(scenario: &Scenario) -> Option<String> {
    let looked_at = scenario.policies.iter().find(|p| {
        let rules = p.plan.rules.iter();
        rules.clone().any(|r| r.matches.src_port.is_some())
    })?;
    let open = scenario.workloads.iter().find(|w| w.marks.src_port == 0)?;
    Some(format!(
        "policy {} looks at source ports, and workload {} gives each flow its own: give it a `src_port`",
        looked_at.name, open.name
    ))
}

/// Every flow of the scenario.
pub(super) fn sent(scenario: &Scenario, graph: &Graph) -> Result<Vec<Sent>, String> {
    if let Some(reason) = by_source_port(scenario) {
        return Err(reason);
    }
    let mut all = Vec::new();
    for (index, workload) in scenario.workloads.iter().enumerate() {
        for &host in &workload.from {
            let Some(offer) = offer(scenario, graph, workload, host) else {
                continue;
            };
            let priorities: Vec<Option<u8>> = if workload.marks.pcp_uniform {
                (0..8).map(Some).collect()
            } else {
                vec![None]
            };
            for pcp in priorities {
                push(scenario, graph, index, host, &offer, pcp, &mut all);
            }
        }
    }
    set_apart(scenario, graph, &mut all);
    Ok(all)
}

/// Flows that a queue for each flow cannot tell apart share one of its queues: those have no bound here. Header fields
/// are each flow's own unless a workload sets ports, a capture repeats them, or there are more flows than ports.
fn set_apart(scenario: &Scenario, graph: &Graph, all: &mut [Sent]) {
    const PORTS: u64 = 50_000;
    let mut seen: HashMap<FlowKey, usize> = HashMap::new();
    for sent in all.iter() {
        *seen.entry(sent.fields).or_default() += 1;
    }
    for sent in all {
        let workload = &scenario.workloads[sent.workload];
        let replayed = matches!(workload.kind, WorkloadKind::Replay { .. });
        let several = sent.flow.flows > 1 && workload.marks.src_port != 0
            || workload.marks.dst_port != 0
            || sent.flow.flows.saturating_mul(workload.from.len() as u64) * 2 > PORTS;
        let alike = if replayed {
            seen.get(&sent.fields).is_some_and(|n| *n > 1)
        } else {
            several
        };
        if alike
            && sent
                .flow
                .hops
                .iter()
                .any(|h| graph.is_per_flow(scenario, h.line, h.leaf))
        {
            sent.flow.arrival = Arrival::unbounded();
            sent.flow.everywhere = false;
            sent.kind = Kind::Given;
            sent.unbounded = Some("flows with the same header fields may share one flow's queue".to_owned());
        }
    }
}

/// The flow of one sender, and those of the answers to it.
fn push(
    scenario: &Scenario,
    graph: &Graph,
    index: usize,
    host: usize,
    offer: &Offer,
    pcp: Option<u8>,
    all: &mut Vec<Sent>,
) {
    let workload = &scenario.workloads[index];
    let group = matches!(workload.to, Destination::Multicast(_));
    let to = receivers(workload, host);
    let keys: Vec<(usize, FlowKey)> = to
        .iter()
        .map(|&r| {
            let one = (!group).then_some(r);
            (r, key(&workload.marks, index, host, one, offer.protocol, pcp))
        })
        .collect();
    let by_priority = workload.marks.pcp_uniform && workload.class + 8 <= scenario.classes.len();
    let class = workload.class
        + if by_priority {
            usize::from(pcp.unwrap_or(0))
        } else {
            0
        };
    let made = |from: usize, ways: &[(usize, FlowKey)], lengths: (u32, u32), arrival: Arrival, kind: Kind| {
        let (hops, ends) = graph.ways(from, ways);
        let receivers: Vec<usize> = ways.iter().map(|w| w.0).collect();
        let stack = |h: &usize| scenario.hosts[*h].stack_delay_rx.as_ps();
        let held = host_unbounded(scenario, from);
        let closed = offer.closed;
        let arrival = if held.is_some() && !closed {
            Arrival::unbounded()
        } else {
            arrival
        };
        Sent {
            flow: Flow {
                flows: offer.flows,
                arrival,
                everywhere: closed,
                frame_min: lengths.0.max(64),
                frame_max: lengths.1.max(64),
                hops,
                ends,
            },
            workload: index,
            from,
            class,
            kind,
            fields: ways.first().map_or_else(FlowKey::default, |w| w.1),
            unbounded: held.clone().or_else(|| offer.unbounded.map(str::to_owned)),
            stack_unbounded: held.or_else(|| receivers.iter().find_map(|&r| host_unbounded(scenario, r))),
            stack_least_ps: scenario.hosts[from].stack_delay_tx.as_ps()
                + receivers.iter().map(stack).min().unwrap_or(0),
            receivers,
        }
    };
    let first = all.len();
    if let WorkloadKind::Replay { frames } = &workload.kind {
        for (key, frames) in by_fields(frames) {
            let ways: Vec<(usize, FlowKey)> = to.iter().map(|&r| (r, key)).collect();
            let sizes = frames.iter().map(|f| f.1);
            let lengths = (sizes.clone().min().unwrap_or(64), sizes.max().unwrap_or(64));
            all.push(made(host, &ways, lengths, replayed(&frames), Kind::Given));
        }
        return;
    }
    all.push(made(
        host,
        &keys,
        offer.lengths,
        offer.arrival.clone(),
        Kind::Given,
    ));
    let Some(back) = offer.back else { return };
    for (answering, asked) in &keys {
        let ways = [(host, reverse(asked))];
        let kind = if offer.closed {
            Kind::Given
        } else {
            Kind::ReplyTo(first)
        };
        let start = if offer.unbounded.is_some() || offer.closed {
            Arrival::unbounded()
        } else {
            Arrival::nothing()
        };
        all.push(made(*answering, &ways, back, start, kind));
    }
    if offer.closed {
        all[first].kind = Kind::Call(first + 1..all.len());
    }
}
