//! How much memory a run will take, before it starts.
//!
//! Counts what is reserved for good: traffic managers by their plans, flows, series, histograms. Frames on the way
//! come on top, and are bounded by the memories and queues that the scenario itself names. The sum is within a
//! factor of two or so: good enough to refuse what cannot fit, no bill.

use clearway_policy::scenario::{NodeRef, Scenario, Workload, WorkloadKind};

/// Bytes of one queued frame's record in a traffic manager.
const FRAME_RECORD: u64 = 32;
/// Bytes of one flow's record in a traffic manager.
const FLOW_RECORD: u64 = 128;
/// Bytes of one node of a plan, shapers included.
const NODE_RECORD: u64 = 512;
/// Bytes of one flow of a workload: header fields, path, counters, source.
const SIMULATED_FLOW: u64 = 512;
/// Bytes of one TCP connection, both ends.
const CONNECTION: u64 = 8192;
/// Bytes of one latency histogram.
const HISTOGRAM: u64 = 65_536;

/// What a run takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// All of it, bytes.
    pub bytes: u64,
    /// What takes the most, such as `policy video (frames_max, flows_max)`.
    pub largest: String,
    /// Bytes of that.
    pub largest_bytes: u64,
}

/// The memory that one run of the scenario reserves.
#[must_use]
pub fn memory(scenario: &Scenario) -> Estimate {
    let mut parts: Vec<(String, u64)> = Vec::new();
    for (index, policy) in scenario.policies.iter().enumerate() {
        let plan = &policy.plan;
        let one = product(plan.frames_max.into(), FRAME_RECORD)
            .saturating_add(product(plan.flows_max.into(), FLOW_RECORD))
            .saturating_add(product(plan.nodes_max.into(), NODE_RECORD));
        let what = format!(
            "policy {} (frames_max and flows_max, at every port that uses it)",
            policy.name
        );
        parts.push((what, product(one, uses(scenario, index))));
    }
    for workload in &scenario.workloads {
        parts.push((
            format!("workload {}", workload.name),
            of_workload(scenario, workload),
        ));
    }
    if let Some(interval) = scenario.sample_interval {
        let samples = scenario
            .duration
            .as_ps()
            .checked_div(interval.as_ps())
            .unwrap_or(0);
        let lines = scenario.switches.len() + 2 * scenario.links.len() + scenario.classes.len();
        let bytes = product(product(samples, lines as u64), 8);
        parts.push((
            "sample_interval (samples of every queue and memory)".to_owned(),
            bytes,
        ));
    }
    let bytes = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.1));
    let largest = parts.into_iter().max_by_key(|part| part.1).unwrap_or_default();
    Estimate {
        bytes,
        largest: largest.0,
        largest_bytes: largest.1,
    }
}

const fn product(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

/// Traffic managers that carry out a policy.
fn uses(scenario: &Scenario, policy: usize) -> u64 {
    let of_node = |node: NodeRef| match node {
        NodeRef::Host(h) => scenario.hosts.get(h).and_then(|h| h.nic.policy),
        NodeRef::Switch(s) => scenario.switches.get(s).and_then(|s| s.policy),
    };
    let ends = scenario.links.iter().flat_map(|l| &l.ends);
    let ports = ends
        .filter(|e| e.policy.or_else(|| of_node(e.node)) == Some(policy))
        .count();
    let receivers = scenario
        .hosts
        .iter()
        .filter(|h| h.nic.receive_policy == Some(policy))
        .count();
    (ports + receivers) as u64
}

fn of_workload(scenario: &Scenario, workload: &Workload) -> u64 {
    let senders = workload.from.len() as u64;
    let (flows, each) = match &workload.kind {
        WorkloadKind::ConstantRate { flows, .. } => (u64::from(*flows), SIMULATED_FLOW),
        WorkloadKind::TcpBulk { connections, .. } => (u64::from(*connections), CONNECTION),
        _ => (1, SIMULATED_FLOW),
    };
    let each = if scenario.flow_histograms {
        each + HISTOGRAM
    } else {
        each
    };
    product(product(senders, flows), each)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(sets: &[&str]) -> Scenario {
        let text = r#"
            duration = "1ms"
            [host.h]
            count = 2
            nic = { policy = "p.toml" }
            [link.l]
            ends = ["h1", "h2"]
            rate = "10Gbit/s"
            [workload.w]
            from = "h1"
            to = "h2"
            constant_rate = { frame = "1518B", rate = "1Gbit/s" }
        "#;
        let policy = include_bytes!("../../../policies/two-channels.toml").to_vec();
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let loaded = clearway_policy::load_str(text, "s.toml", &sets, &|_| Ok(policy.clone()));
        loaded.unwrap_or_else(|d| panic!("{}", d[0])).scenario
    }

    #[test]
    fn more_flows_take_more_memory_and_are_named() {
        let (few, many) = (
            scenario(&[]),
            scenario(&["workload.w.constant_rate.flows=1000000"]),
        );
        assert!(
            memory(&few).largest.starts_with("policy two-channels"),
            "{:?}",
            memory(&few)
        );
        let estimate = memory(&many);
        assert_eq!(estimate.largest, "workload w");
        assert_eq!(estimate.largest_bytes, 512_000_000);
        assert!(estimate.bytes > estimate.largest_bytes);
    }

    #[test]
    fn each_port_has_a_manager_of_its_own() {
        let scenario = scenario(&[]);
        let plan = &scenario.policies[0].plan;
        let least = 2 * (u64::from(plan.frames_max) * 32 + u64::from(plan.flows_max) * 128);
        let bytes = memory(&scenario).bytes;
        assert!(bytes > least && bytes < least + 100_000, "{bytes} {least}");
    }
}
