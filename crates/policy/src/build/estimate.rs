//! How much memory a run will need, before it starts: an upper estimate from the sizes that the scenario names.

use crate::scenario::{Destination, NodeRef, Scenario, WorkloadKind};

/// Bytes for each frame that a traffic manager may hold, for each flow and each class that it may know.
const FRAME: u64 = 64;
const FLOW: u64 = 160;
const NODE: u64 = 640;
/// Bytes for each flow of a workload, and for its histogram if it has one.
const FLOW_RECORD: u64 = 256;
const HISTOGRAM: u64 = 16 << 10;
/// Bytes for one sample of one queue or memory.
const SAMPLE: u64 = 16;

/// Flows of all workloads together.
pub(crate) fn flows(scenario: &Scenario) -> u64 {
    let mut all = 0_u64;
    for workload in &scenario.workloads {
        let targets = match &workload.to {
            Destination::Host(_) | Destination::Multicast(_) => 1,
            Destination::UniformOthers | Destination::Skewed { .. } => workload.from.len() as u64,
            Destination::Uniform(list) => list.len() as u64,
        };
        let each = match &workload.kind {
            // These keep one destination for each flow.
            WorkloadKind::ConstantRate { flows, .. } => u64::from(*flows),
            WorkloadKind::TcpBulk { connections, .. } => u64::from(*connections),
            WorkloadKind::Replay { frames } => frames.len() as u64,
            _ => targets,
        };
        all = all.saturating_add(each.saturating_mul(workload.from.len() as u64));
    }
    all
}

/// Bytes that a run will need at most, roughly.
pub(crate) fn memory_bytes(scenario: &Scenario) -> u64 {
    let manager = |policy: Option<usize>| {
        policy.and_then(|p| scenario.policies.get(p)).map_or(0, |p| {
            u64::from(p.plan.frames_max) * FRAME
                + u64::from(p.plan.flows_max) * FLOW
                + u64::from(p.plan.nodes_max) * NODE
        })
    };
    let mut bytes = 0_u64;
    for end in scenario.links.iter().flat_map(|l| &l.ends) {
        let own = match end.node {
            NodeRef::Host(h) => scenario.hosts[h].nic.policy,
            NodeRef::Switch(s) => scenario.switches[s].policy,
        };
        bytes = bytes.saturating_add(manager(end.policy.or(own)));
    }
    for host in &scenario.hosts {
        bytes = bytes.saturating_add(manager(host.nic.receive_policy));
    }
    for switch in &scenario.switches {
        // A memory full of the shortest frames.
        bytes = bytes.saturating_add(switch.memory_bytes.min(1 << 40) / 64 * FRAME);
    }
    let flow = FLOW_RECORD + if scenario.flow_histograms { HISTOGRAM } else { 0 };
    bytes = bytes.saturating_add(flows(scenario).saturating_mul(flow));
    if let Some(interval) = scenario.sample_interval {
        let samples = scenario.duration.as_ps() / interval.as_ps().max(1);
        let series = 2 * scenario.links.len() as u64 + scenario.switches.len() as u64;
        bytes = bytes.saturating_add(samples.saturating_mul(series).saturating_mul(SAMPLE));
    }
    bytes
}
