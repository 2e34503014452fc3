//! Small scenarios that the tests start from.

use clearway_core::Duration;
use clearway_core::plan::{
    Accounting, BitShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
};
use clearway_policy::CompiledPolicy;
use clearway_policy::scenario::{
    Charge, Destination, FlowControl, Host, Link, LinkEnd, Marks, Nic, NodeRef, PauseResponse, Scenario,
    Switch, Threshold, Workload, WorkloadKind,
};

pub(super) const TEN_GIGABIT: u64 = 10_000_000_000;
/// Picoseconds of a byte at 10 Gb/s.
pub(super) const BYTE_PS: u64 = 800;

pub(super) fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        stack_delay_tx: Duration::ZERO,
        stack_jitter: Duration::ZERO,
        stack_delay_rx: Duration::ZERO,
        stack: None,
        nic: Nic {
            policy: None,
            receive_policy: None,
            transmit_fifo_bytes: 0,
            receive_buffer_bytes: 1 << 20,
            host_interface: None,
            pause_response: PauseResponse::Obey,
            pause_reaction: Duration::ZERO,
        },
        clock_ppm: 0,
    }
}

pub(super) fn switch(name: &str) -> Switch {
    Switch {
        name: name.to_owned(),
        policy: None,
        memory_bytes: 1_500_000,
        charge: Charge::LastBit,
        cell_bytes: 1,
        threshold: Threshold::Shared,
        flow_control: FlowControl::None,
        pause_reaction: Duration::ZERO,
        forwarding_delay: Duration::ZERO,
        cut_through: false,
    }
}

pub(super) fn link(a: NodeRef, b: NodeRef, delay_ns: u64) -> Link {
    let end = |node| LinkEnd {
        node,
        policy: None,
        capture: false,
    };
    Link {
        name: format!("{a:?}-{b:?}"),
        ends: [end(a), end(b)],
        rate_bps: TEN_GIGABIT,
        delay: Duration::from_ns(delay_ns),
    }
}

pub(super) fn workload(from: Vec<usize>, to: Destination, kind: WorkloadKind) -> Workload {
    Workload {
        name: "load".to_owned(),
        from,
        to,
        class: 0,
        marks: Marks::default(),
        start: Duration::ZERO,
        stop: None,
        kind,
    }
}

/// `hosts` hosts at one switch.
pub(super) fn star(hosts: usize, duration: Duration) -> Scenario {
    Scenario {
        name: "test".to_owned(),
        title: String::new(),
        cites: None,
        duration,
        warmup: Duration::ZERO,
        seed: 1,
        sample_interval: None,
        flow_histograms: false,
        flow_jitter: false,
        hosts: (0..hosts).map(|h| host(&format!("h{h}"))).collect(),
        switches: vec![switch("s")],
        links: (0..hosts)
            .map(|h| link(NodeRef::Host(h), NodeRef::Switch(0), 0))
            .collect(),
        workloads: Vec::new(),
        classes: vec!["all".to_owned()],
        policies: Vec::new(),
        actions: Vec::new(),
    }
}

pub(super) fn leaf(parent: u32, rank: u8, weight: u32, gate: u8) -> NodePlan {
    NodePlan {
        parent: Some(parent),
        kind: NodeKind::Queue(QueuePlan {
            mode: QueueMode::Shared,
            bytes_max: 1 << 60,
            frames_max: u32::MAX,
            mark: None,
            gate,
            meter: None,
            age_max: None,
        }),
        rank,
        weight,
        rate: None,
        frame_rate: None,
        guarantee: None,
        accounting: Accounting {
            overhead_bytes: 20,
            min_bytes: 84,
        },
    }
}

/// A policy with one queue for each priority: strict by priority (7 first), or weighted by the given weights.
pub(super) fn by_priority(weights: Option<[u32; 8]>, rate_bps: Option<u64>) -> CompiledPolicy {
    let mut root = leaf(0, 0, 1, 0);
    root.parent = None;
    root.kind = if weights.is_some() {
        NodeKind::Weighted
    } else {
        NodeKind::Strict
    };
    root.rate = rate_bps.map(|rate_bps| BitShape {
        rate_bps,
        burst_bytes: 3_200,
    });
    let mut nodes = vec![root];
    let mut rules = Vec::new();
    for pcp in 0..8_u8 {
        nodes.push(leaf(0, 7 - pcp, weights.map_or(1, |w| w[usize::from(pcp)]), pcp));
        let matches = RuleMatch {
            pcp: Some(1 << pcp),
            ..RuleMatch::default()
        };
        rules.push(Rule {
            matches,
            queue: u32::from(pcp) + 1,
        });
    }
    let plan = Plan {
        nodes,
        rules,
        frames_max: 1 << 16,
        flows_max: 16,
        nodes_max: 9,
        frame_bytes_max: 1_542,
    };
    let node_names = (0..9).map(|n| format!("n{n}")).collect();
    CompiledPolicy {
        name: "by-priority".to_owned(),
        plan,
        node_names,
        line_rate_bps: None,
        cbq: None,
    }
}

pub(super) fn outcome(scenario: &Scenario, seed: u64) -> crate::Outcome {
    match crate::run(scenario, seed, &mut crate::Unobserved) {
        Ok(outcome) => outcome,
        Err(refusal) => panic!("{refusal}"),
    }
}
