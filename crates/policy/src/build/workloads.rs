//! Workloads: who sends what where, and whether that can be done at all.

use super::Facts;
use super::classes::Classes;
use super::event_builder::{check_builders, event_builder};
use super::messages::{check_exchange, check_group, messages};
use super::policies::Registry;
use super::storage::{check_storage, storage};
use super::topology::Network;
use crate::diagnostic::Diagnostic;
use crate::reader::{At, NamedEntry, OneOrMany, Size};
use crate::scenario::{Destination, Law, Marks, MessagePattern, NodeRef, Workload, WorkloadKind};
use crate::syntax::law::ByteLaw;
use crate::syntax::scenario::ScenarioText;
use crate::syntax::workload::{
    ArrivalWord, DestinationText, OpenLoopText, PcpWord, ReplayText, SendRate, TcpBulkText, WorkloadText,
};
use clearway_core::Duration;

/// Preamble and inter-frame gap, bytes.
const L1_OVERHEAD: f64 = 20.0;
/// Frames shorter than this do not exist on Ethernet; longer ones no hardware takes.
const FRAME_BYTES: std::ops::RangeInclusive<u64> = 64..=65_536;
/// No more flows than this in one scenario: each has a record.
const FLOWS_MAX: u64 = 50_000_000;

pub(crate) struct Sent {
    pub(crate) workloads: Vec<Workload>,
    pub(crate) classes: Vec<String>,
}

pub(crate) fn build(
    raw: &ScenarioText,
    network: &Network,
    duration: Duration,
    registry: &mut Registry<'_>,
    facts: &mut Facts,
    findings: &mut Vec<Diagnostic>,
) -> Sent {
    let classes = Classes::read(raw, findings);
    let mut workloads = Vec::new();
    let mut flows = 0_u64;
    for entry in raw.workload.iter().flat_map(|w| &w.value.0) {
        let class = classes.index_of(entry, findings);
        let Some(workload) = one(entry, class, network, duration, registry, findings) else {
            continue;
        };
        flows = flows.saturating_add(flows_of(&workload));
        if flows > FLOWS_MAX {
            let message = format!(
                "the scenario has {flows} flows up to here, about {} GB of records",
                flows / 4_000_000
            );
            findings.push(
                entry
                    .place
                    .error("range", message)
                    .expecting(format!("at most {FLOWS_MAX} flows")),
            );
            break;
        }
        workloads.push(workload);
        facts.workloads.push(entry.place.clone());
    }
    Sent {
        workloads,
        classes: classes.names,
    }
}

fn flows_of(workload: &Workload) -> u64 {
    let each = match &workload.kind {
        WorkloadKind::ConstantRate { flows, .. } => *flows,
        WorkloadKind::TcpBulk { connections, .. } => *connections,
        WorkloadKind::Messages {
            pattern: MessagePattern::Stream { connections },
            ..
        } => *connections,
        _ => 1,
    };
    u64::from(each).saturating_mul(workload.from.len() as u64)
}

fn one(
    entry: &NamedEntry<WorkloadText>,
    class: usize,
    network: &Network,
    duration: Duration,
    registry: &mut Registry<'_>,
    findings: &mut Vec<Diagnostic>,
) -> Option<Workload> {
    let text = &entry.value;
    let from = hosts(text.from.as_ref()?, network, findings);
    let to = destination(text.to.as_ref()?, &from, network, findings);
    let start = text
        .start
        .as_ref()
        .map_or(Duration::ZERO, |t| Duration::from_ps(t.value.0));
    let stop = text.stop.as_ref().map(|t| Duration::from_ps(t.value.0));
    if let Some(at) = text.start.as_ref().filter(|_| start >= duration) {
        let finding = at.error("range", "the workload starts after the run has ended");
        findings.push(finding.expecting("less than `duration`"));
    }
    if let Some(at) = text
        .stop
        .as_ref()
        .filter(|_| stop.is_some_and(|stop| stop <= start))
    {
        findings.push(
            at.error("range", "the workload stops before it starts")
                .expecting("more than `start`"),
        );
    }
    let kind = kind(text, entry, registry, findings)?;
    let (from, to) = (from?, to?);
    if let Some(t) = &text.messages {
        check_group(&t.value, &kind, &to, findings);
        if let Some(at) = &text.to {
            check_exchange(&t.value, &kind, at, &to, from.len(), findings);
        }
    }
    if let Some(t) = &text.storage {
        check_storage(&t.value, &kind, &from, &to, findings);
    }
    if let Some(t) = &text.event_builder {
        check_builders(&t.value, &from, &to, findings);
    }
    reachable(entry, &from, &to, network, findings);
    let dscp = text.dscp.as_ref().map_or(0, |set| {
        if set.value.0.count_ones() != 1 {
            findings.push(
                set.error("range", "frames carry one code point")
                    .expecting("one number or name"),
            );
        }
        u8::try_from(set.value.0.trailing_zeros()).unwrap_or(0) & 63
    });
    let port = |port: Option<&At<crate::reader::Whole<1, 65535>>>| {
        port.and_then(|p| u16::try_from(p.value.0).ok()).unwrap_or(0)
    };
    Some(Workload {
        name: entry.name.clone(),
        from,
        to,
        class,
        marks: Marks {
            vlan_id: text.vlan.as_ref().and_then(|v| u16::try_from(v.value.0).ok()),
            pcp: match text.pcp.as_ref().map(|p| p.value) {
                Some(PcpWord::One(pcp)) => Some(pcp),
                _ => None,
            },
            pcp_uniform: matches!(text.pcp.as_ref().map(|p| p.value), Some(PcpWord::Uniform)),
            dscp,
            dst_port: port(text.dst_port.as_ref()),
            src_port: port(text.src_port.as_ref()),
        },
        start,
        stop,
        kind,
    })
}

/// The hosts that names stand for; a switch among them is a finding.
fn hosts(
    names: &At<OneOrMany<String>>,
    network: &Network,
    findings: &mut Vec<Diagnostic>,
) -> Option<Vec<usize>> {
    let before = findings.len();
    let mut all = Vec::new();
    for node in network.names.find_all(&names.value.0, findings) {
        match node {
            NodeRef::Host(h) => all.push(h),
            NodeRef::Switch(s) => {
                let message = format!(
                    "`{}` is a switch: only hosts send and receive",
                    network.switches[s].name
                );
                findings.push(names.error("unknown-name", message).expecting("hosts"));
                return None;
            }
        }
    }
    if all.is_empty() && findings.len() == before {
        findings.push(
            names
                .error("range", "no host at all")
                .expecting("at least one host"),
        );
    }
    (findings.len() == before).then_some(all)
}

fn single(name: &At<String>, network: &Network, findings: &mut Vec<Diagnostic>) -> Option<usize> {
    let list = At {
        value: OneOrMany(vec![name.clone()]),
        place: name.place.clone(),
    };
    let found = hosts(&list, network, findings)?;
    if let [one] = found.as_slice() {
        return Some(*one);
    }
    findings.push(
        name.error(
            "range",
            format!("`{}` stands for {} hosts", name.value, found.len()),
        )
        .expecting("one host"),
    );
    None
}

fn destination(
    to: &At<DestinationText>,
    from: &Option<Vec<usize>>,
    network: &Network,
    findings: &mut Vec<Diagnostic>,
) -> Option<Destination> {
    let table = match &to.value {
        DestinationText::Names(names) => match names.0.as_slice() {
            [one] if one.value == "others" => {
                if from.as_ref().is_some_and(|f| f.len() < 2) {
                    let finding = to.error("range", "one sender has no others to send to");
                    findings.push(finding.expecting("at least two hosts in `from`, or a host here"));
                }
                return Some(Destination::UniformOthers);
            }
            _ => {
                let list = At {
                    value: names.clone(),
                    place: to.place.clone(),
                };
                let found = hosts(&list, network, findings)?;
                return Some(match found.as_slice() {
                    [one] => Destination::Host(*one),
                    _ => Destination::Uniform(found),
                });
            }
        },
        DestinationText::Table(table) => table,
    };
    let given = [
        table.uniform.is_some(),
        table.skewed.is_some(),
        table.multicast.is_some(),
    ];
    if given.iter().filter(|g| **g).count() != 1 {
        let finding = to.error("destination", "a destination has exactly one law");
        findings.push(finding.expecting("one of uniform, skewed, multicast"));
        return None;
    }
    if let Some(stray) = table.probability.as_ref().filter(|_| table.skewed.is_none()) {
        findings.push(stray.error("unused-key", "`probability` belongs to `skewed`"));
    }
    if let Some(list) = &table.uniform {
        return hosts(list, network, findings).map(Destination::Uniform);
    }
    if let Some(list) = &table.multicast {
        return hosts(list, network, findings).map(Destination::Multicast);
    }
    let host = single(table.skewed.as_ref()?, network, findings)?;
    let Some(probability) = &table.probability else {
        findings.push(crate::reader::missing_key(&to.place, "probability"));
        return None;
    };
    if probability.value.0 > 1.0 {
        findings.push(
            probability
                .error("range", "a probability above 1")
                .expecting("from 0 to 1"),
        );
    }
    Some(Destination::Skewed {
        host,
        probability: probability.value.0,
    })
}

/// Every sender reaches every host that it may send to.
fn reachable(
    entry: &NamedEntry<WorkloadText>,
    from: &[usize],
    to: &Destination,
    network: &Network,
    findings: &mut Vec<Diagnostic>,
) {
    let place = entry.value.to.as_ref().map_or(&entry.place, |t| &t.place);
    let one = |h: &usize| vec![*h];
    let targets = match to {
        Destination::Host(h) => one(h),
        Destination::UniformOthers => from.to_vec(),
        Destination::Uniform(list) | Destination::Multicast(list) => list.clone(),
        Destination::Skewed { host, .. } => from.iter().copied().chain([*host]).collect(),
    };
    for sender in from {
        if targets.iter().all(|t| t == sender) {
            let message = format!("host `{}` would send to itself only", network.hosts[*sender].name);
            findings.push(place.error("destination", message).expecting("another host"));
            return;
        }
        let lost = targets
            .iter()
            .find(|t| !network.connected(NodeRef::Host(*sender), NodeRef::Host(**t)));
        if let Some(lost) = lost {
            let (a, b) = (&network.hosts[*sender].name, &network.hosts[*lost].name);
            let message = format!("nothing that `{a}` sends reaches `{b}`: no path of links joins them");
            findings.push(place.error("unreachable", message).expecting("a path of links"));
            return;
        }
    }
}

fn kind(
    text: &WorkloadText,
    entry: &NamedEntry<WorkloadText>,
    registry: &mut Registry<'_>,
    findings: &mut Vec<Diagnostic>,
) -> Option<WorkloadKind> {
    let words = [
        ("bursty", text.bursty.is_some()),
        ("poisson", text.poisson.is_some()),
        ("constant_rate", text.constant_rate.is_some()),
        ("on_off", text.on_off.is_some()),
        ("request_response", text.request_response.is_some()),
        ("open_loop", text.open_loop.is_some()),
        ("tcp_bulk", text.tcp_bulk.is_some()),
        ("messages", text.messages.is_some()),
        ("storage", text.storage.is_some()),
        ("event_builder", text.event_builder.is_some()),
        ("replay", text.replay.is_some()),
    ];
    if words.iter().filter(|(_, given)| *given).count() != 1 {
        let finding = entry
            .place
            .error("workload", "a workload sends exactly one kind of traffic");
        let list: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        findings.push(finding.expecting(format!("one of {}", list.join(", "))));
        return None;
    }
    if let Some(t) = text.bursty.as_ref().map(|t| &t.value) {
        let load = t.load.as_ref()?;
        if !(load.value.0 > 0.0 && load.value.0 <= 1.0) {
            let finding = load.error(
                "range",
                "a burst is sent back to back: the load is above 0 and at most 1",
            );
            findings.push(finding.expecting("from 0.001 to 1"));
        }
        return Some(WorkloadKind::Bursty {
            burst_bytes: t.burst.as_ref()?.value.0.clone(),
            frame_bytes: frame(t.frame.as_ref()?, findings),
            load: load.value.0,
            blocking: t.blocking.as_ref().is_some_and(|b| b.value),
        });
    }
    if let Some(t) = text.poisson.as_ref().map(|t| &t.value) {
        let frame_bytes = frame(t.frame.as_ref()?, findings);
        let rate_fps = frames_per_second(t.rate.as_ref()?, mean(&frame_bytes), findings);
        return Some(WorkloadKind::Poisson {
            frame_bytes,
            rate_fps,
        });
    }
    if let Some(t) = text.constant_rate.as_ref().map(|t| &t.value) {
        let frame_bytes = frame(t.frame.as_ref()?, findings);
        let rate_bps = bits_per_second(t.rate.as_ref()?, mean(&frame_bytes), findings);
        let flows = t
            .flows
            .as_ref()
            .and_then(|f| u32::try_from(f.value.0).ok())
            .unwrap_or(1);
        let burst = t
            .burst
            .as_ref()
            .and_then(|b| u32::try_from(b.value.0).ok())
            .unwrap_or(1);
        return Some(WorkloadKind::ConstantRate {
            frame_bytes,
            rate_bps,
            flows,
            burst,
        });
    }
    if let Some(t) = text.on_off.as_ref().map(|t| &t.value) {
        let frame_bytes = frame(t.frame.as_ref()?, findings);
        let rate_bps = bits_per_second(t.rate.as_ref()?, mean(&frame_bytes), findings);
        for law in [t.on.as_ref()?, t.off.as_ref()?] {
            if mean(&law.value.0) <= 0.0 {
                findings.push(
                    law.error("range", "a period of no length")
                        .expecting("a time above 0"),
                );
            }
        }
        return Some(WorkloadKind::OnOff {
            frame_bytes,
            rate_bps,
            on: t.on.as_ref()?.value.0.clone(),
            off: t.off.as_ref()?.value.0.clone(),
        });
    }
    if let Some(t) = text.request_response.as_ref().map(|t| &t.value) {
        return Some(WorkloadKind::RequestResponse {
            request_bytes: frame_size(t.request.as_ref()?, findings),
            response_bytes: frame_size(t.response.as_ref()?, findings),
            outstanding: t
                .outstanding
                .as_ref()
                .and_then(|n| u32::try_from(n.value.0).ok())
                .unwrap_or(1),
        });
    }
    if let Some(t) = text.open_loop.as_ref().map(|t| &t.value) {
        return open_loop(t, findings);
    }
    if let Some(t) = text.tcp_bulk.as_ref().map(|t| &t.value) {
        return Some(tcp_bulk(t, findings));
    }
    if let Some(t) = text.messages.as_ref().map(|t| &t.value) {
        return messages(t, findings);
    }
    if let Some(t) = text.storage.as_ref().map(|t| &t.value) {
        return storage(t, findings);
    }
    if let Some(t) = text.event_builder.as_ref().map(|t| &t.value) {
        return event_builder(t, findings);
    }
    text.replay
        .as_ref()
        .and_then(|t| replay(&t.value, registry, findings))
}

fn open_loop(t: &OpenLoopText, findings: &mut Vec<Diagnostic>) -> Option<WorkloadKind> {
    let request_bytes = frame_size(t.request.as_ref()?, findings);
    Some(WorkloadKind::OpenLoop {
        request_bytes,
        response_bytes: t
            .response
            .as_ref()
            .filter(|r| r.value.0 > 0)
            .map_or(0, |r| frame_size(r, findings)),
        rate_fps: frames_per_second(t.rate.as_ref()?, f64::from(request_bytes), findings),
        poisson: !matches!(t.arrivals.as_ref().map(|a| a.value), Some(ArrivalWord::Even)),
    })
}

fn tcp_bulk(t: &TcpBulkText, findings: &mut Vec<Diagnostic>) -> WorkloadKind {
    WorkloadKind::TcpBulk {
        tcp: super::transport::tcp(t.tcp(), findings),
        connections: t
            .connections
            .as_ref()
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(1),
        bytes: t.bytes.as_ref().map(|b| b.value.0),
    }
}

fn replay(
    t: &ReplayText,
    registry: &mut Registry<'_>,
    findings: &mut Vec<Diagnostic>,
) -> Option<WorkloadKind> {
    let file = t.file.as_ref()?;
    let bytes = registry.read(&file.value, &file.place, findings)?;
    let with_fcs = t.with_fcs.as_ref().is_some_and(|b| b.value);
    match crate::pcap::replay_frames(&bytes, with_fcs) {
        Ok(frames) if frames.is_empty() => {
            findings.push(
                file.error("capture", "the capture holds no frames")
                    .expecting("at least one frame"),
            );
            None
        }
        Ok(frames) => Some(WorkloadKind::Replay { frames }),
        Err(message) => {
            findings.push(
                file.error("capture", message)
                    .expecting("a pcap or pcapng file of Ethernet frames"),
            );
            None
        }
    }
}

fn frame_size(size: &At<Size>, findings: &mut Vec<Diagnostic>) -> u32 {
    if !FRAME_BYTES.contains(&size.value.0) {
        let finding = size.error("range", "no Ethernet frame has this size");
        findings.push(finding.expecting(format!(
            "from {}B to {}B, FCS included",
            FRAME_BYTES.start(),
            FRAME_BYTES.end()
        )));
        return 64;
    }
    u32::try_from(size.value.0).unwrap_or(64)
}

/// The frames of a law: every value that it can give is a size that frames have, where the law says so itself.
fn frame(law: &At<ByteLaw>, findings: &mut Vec<Diagnostic>) -> Law {
    let (least, most) = match &law.value.0 {
        Law::Constant(x) | Law::Exponential(x) | Law::Geometric(x) => (*x, *x),
        Law::Uniform(low, high) => (*low, *high),
        Law::Pareto { mean, max, .. } => (*mean, *max),
        Law::Empirical(pairs) => pairs.iter().fold((f64::MAX, 0.0_f64), |(least, most), (x, _)| {
            (least.min(*x), most.max(*x))
        }),
    };
    if least < *FRAME_BYTES.start() as f64 || most > *FRAME_BYTES.end() as f64 {
        let finding = law.error("range", "no Ethernet frame has this size");
        findings.push(finding.expecting(format!(
            "from {}B to {}B, FCS included",
            FRAME_BYTES.start(),
            FRAME_BYTES.end()
        )));
    }
    law.value.0.clone()
}

/// The mean of a law; of a Pareto law before it is cut off.
pub(crate) fn mean(law: &Law) -> f64 {
    match law {
        Law::Constant(x) | Law::Exponential(x) | Law::Geometric(x) => *x,
        Law::Uniform(low, high) => (low + high) / 2.0,
        Law::Pareto { mean, .. } => *mean,
        Law::Empirical(pairs) => {
            let weights: f64 = pairs.iter().map(|(_, w)| w).sum();
            pairs.iter().map(|(x, w)| x * w).sum::<f64>() / weights
        }
    }
}

fn frames_per_second(rate: &At<SendRate>, frame_bytes: f64, findings: &mut Vec<Diagnostic>) -> f64 {
    above_zero(rate, findings);
    match rate.value {
        SendRate::FrameRate(fps) => fps as f64,
        SendRate::BitRate(bps) => bps as f64 / (8.0 * (frame_bytes + L1_OVERHEAD)),
    }
}

fn bits_per_second(rate: &At<SendRate>, frame_bytes: f64, findings: &mut Vec<Diagnostic>) -> f64 {
    above_zero(rate, findings);
    match rate.value {
        SendRate::FrameRate(fps) => fps as f64 * 8.0 * (frame_bytes + L1_OVERHEAD),
        SendRate::BitRate(bps) => bps as f64,
    }
}

fn above_zero(rate: &At<SendRate>, findings: &mut Vec<Diagnostic>) {
    if matches!(rate.value, SendRate::FrameRate(0) | SendRate::BitRate(0)) {
        findings.push(
            rate.error("range", "a rate of zero never sends")
                .expecting("a rate above 0"),
        );
    }
}
