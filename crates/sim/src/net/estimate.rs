//! What a run will take, before it starts: so that a scenario that cannot finish is refused, not begun.
//!
//! Packet-hops are frames offered times the lines that each crosses, without loss; TCP and closed loops are counted
//! at the rate of their sender's line, which they cannot exceed. Memory is what is set aside at the start (queues of
//! the plans, flow records, histograms, samples) and what a memory full of short frames would hold; a source queue
//! that grows without end is not in it.

use super::flow::{Flow, Hop};
use super::frame::Frame;
use super::sources::receivers;
use clearway_policy::scenario::{Law, Scenario, Workload, WorkloadKind};
use std::collections::VecDeque;

/// What a run will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Memory, bytes.
    pub bytes: u64,
    /// Frames times lines that they cross.
    pub packet_hops: f64,
}

/// Memory of a class' three histograms with latencies up to a second, and of a flow's one.
const HISTOGRAM_BYTES: u64 = 40 << 10;
/// The record of a flow's delay variation.
const FLOW_JITTER_BYTES: u64 = 160;
/// Memory of the traffic manager for each frame and each flow that its plan allows, and for each node.
const PER_FRAME: u64 = 40;
const PER_FLOW: u64 = 128;
const PER_NODE: u64 = 512;

fn mean(law: &Law) -> f64 {
    match law {
        Law::Constant(v) | Law::Exponential(v) | Law::Geometric(v) | Law::Pareto { mean: v, .. } => *v,
        Law::Uniform(a, b) => (a + b) / 2.0,
        Law::Empirical(values) => {
            let weight: f64 = values.iter().map(|v| v.1).sum();
            values.iter().map(|v| v.0 * v.1).sum::<f64>() / weight
        }
    }
}

/// Frames a second of one sender, replies and acknowledgements included.
fn frames_a_second(workload: &Workload, rate_bps: f64, seconds: f64) -> f64 {
    let at = |rate: f64, bytes: f64| rate / 8.0 / (bytes + 20.0).max(84.0);
    match &workload.kind {
        WorkloadKind::Bursty {
            frame_bytes, load, ..
        } => at(rate_bps * load, mean(frame_bytes)),
        WorkloadKind::Poisson { rate_fps, .. } => *rate_fps,
        WorkloadKind::ConstantRate {
            frame_bytes,
            rate_bps,
            flows,
            ..
        } => at(rate_bps * f64::from(*flows), mean(frame_bytes)),
        WorkloadKind::OnOff {
            frame_bytes,
            rate_bps,
            on,
            off,
        } => at(*rate_bps, mean(frame_bytes)) * mean(on) / (mean(on) + mean(off)),
        WorkloadKind::RequestResponse {
            request_bytes,
            response_bytes,
            ..
        } => 2.0 * at(rate_bps, f64::from(*request_bytes.max(response_bytes))),
        WorkloadKind::OpenLoop {
            response_bytes,
            rate_fps,
            ..
        } => rate_fps * if *response_bytes > 0 { 2.0 } else { 1.0 },
        WorkloadKind::TcpBulk { tcp, .. } => {
            let acks = if tcp.delayed_ack.as_ps() == 0 { 2.0 } else { 1.5 };
            acks * at(rate_bps, f64::from(tcp.mss_bytes + 58))
        }
        // Messages keep a line busy at most; answers and acknowledgements come on top.
        WorkloadKind::Messages { transport, .. }
        | WorkloadKind::Storage { transport, .. }
        | WorkloadKind::EventBuilder { transport, .. } => {
            1.5 * at(rate_bps, f64::from(transport.frame_bytes_max()))
        }
        WorkloadKind::Replay { frames } => frames.len() as f64 / seconds,
    }
}

/// Links between each node and `from`; `usize::MAX` where nothing leads there.
fn distances(neighbours: &[Vec<usize>], hosts: usize, from: usize) -> Vec<usize> {
    let mut far = vec![usize::MAX; neighbours.len()];
    let mut queue = VecDeque::from([from]);
    if let Some(own) = far.get_mut(from) {
        *own = 0;
    }
    while let Some(node) = queue.pop_front() {
        if node < hosts && node != from {
            continue;
        }
        for &next in &neighbours[node] {
            if far[next] == usize::MAX {
                far[next] = far[node] + 1;
                queue.push_back(next);
            }
        }
    }
    far
}

/// Estimates a run. Never fails: what cannot run is refused by [`run`](super::run) with its reason.
#[must_use]
pub fn estimate(scenario: &Scenario) -> Estimate {
    use clearway_policy::scenario::NodeRef;
    let hosts = scenario.hosts.len();
    let nodes = hosts + scenario.switches.len();
    let node_of = |node: NodeRef| match node {
        NodeRef::Host(h) => h,
        NodeRef::Switch(s) => hosts + s,
    };
    let mut neighbours = vec![Vec::new(); nodes];
    let mut rates = vec![0.0; nodes];
    for link in &scenario.links {
        let (a, b) = (node_of(link.ends[0].node), node_of(link.ends[1].node));
        if a < nodes && b < nodes {
            neighbours[a].push(b);
            neighbours[b].push(a);
            rates[a] = link.rate_bps as f64;
            rates[b] = link.rate_bps as f64;
        }
    }
    let seconds = scenario.duration.as_ps() as f64 / 1e12;
    let (mut hops, mut flows) = (0.0, 0.0);
    for workload in &scenario.workloads {
        let stop = workload
            .stop
            .map_or(seconds, |s| (s.as_ps() as f64 / 1e12).min(seconds));
        let active = (stop - workload.start.as_ps() as f64 / 1e12).max(0.0);
        for &sender in workload.from.iter().filter(|&&s| s < hosts) {
            let far = distances(&neighbours, hosts, sender);
            let to = receivers(workload, sender);
            let reached = to
                .iter()
                .filter_map(|&h| far.get(h).copied())
                .filter(|&d| d != usize::MAX);
            let (count, sum) = reached.fold((0.0, 0.0), |(n, s), d| (n + 1.0, s + d as f64));
            if count > 0.0 {
                let rate = frames_a_second(workload, rates[sender], seconds.max(1e-12));
                hops += rate * active * sum / count;
            }
            flows += match &workload.kind {
                WorkloadKind::ConstantRate { flows, .. } => f64::from(*flows),
                WorkloadKind::TcpBulk { connections, .. } => 2.0 * f64::from(*connections),
                WorkloadKind::Replay { frames } => frames.len() as f64,
                _ => 2.0 * count,
            } * if workload.marks.pcp_uniform { 4.0 } else { 1.0 };
        }
    }
    Estimate {
        bytes: memory(scenario, flows as u64),
        packet_hops: if hops.is_finite() { hops } else { f64::MAX },
    }
}

fn memory(scenario: &Scenario, flows: u64) -> u64 {
    let classes = scenario.classes.len().max(1) as u64;
    let per_flow = (size_of::<Flow>() + 3 * size_of::<Hop>() + 96) as u64
        + if scenario.flow_histograms {
            HISTOGRAM_BYTES
        } else {
            0
        }
        + if scenario.flow_jitter {
            FLOW_JITTER_BYTES
        } else {
            0
        };
    let mut bytes = (classes * 3 * HISTOGRAM_BYTES).saturating_add(flows.saturating_mul(per_flow));
    for end in scenario.links.iter().flat_map(|l| &l.ends) {
        use clearway_policy::scenario::NodeRef;
        let policy = end.policy.or(match end.node {
            NodeRef::Host(h) => scenario.hosts.get(h).and_then(|h| h.nic.policy),
            NodeRef::Switch(s) => scenario.switches.get(s).and_then(|s| s.policy),
        });
        if let Some(policy) = policy.and_then(|p| scenario.policies.get(p)) {
            let plan = &policy.plan;
            let manager = u64::from(plan.frames_max) * PER_FRAME
                + u64::from(plan.flows_max) * PER_FLOW
                + u64::from(plan.nodes_max) * PER_NODE;
            bytes = bytes.saturating_add(manager);
        }
    }
    for switch in &scenario.switches {
        let stored = (switch.memory_bytes / 64).saturating_mul(size_of::<Frame>() as u64);
        bytes = bytes.saturating_add(stored);
    }
    if let Some(interval) = scenario.sample_interval {
        let samples = scenario.duration.as_ps() / interval.as_ps().max(1) + 1;
        let series = (scenario.switches.len() + 2 * scenario.links.len()) as u64 + 1 + classes;
        bytes = bytes.saturating_add(samples.saturating_mul(8 * series));
    }
    bytes
}
