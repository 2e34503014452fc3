//! Random valid plans: one to four levels, every kind of node, and every feature that a node can have.

use super::choice::Choice;
use clearway_core::plan::{
    Accounting, BitShape, FlowShape, FrameShape, IpPrefix, Mark, MarkAt, MeterKind, MeterPlan, NodeKind,
    NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
};
use clearway_core::{Duration, FlowKey};

/// Room for nodes in one plan; small, so that the model's scans stay short.
const NODES: usize = 36;
pub(crate) const KEYS: usize = 40;

/// A flow of the pool: every field that a rule may look at depends on the index.
pub(crate) fn key(index: usize) -> FlowKey {
    let n = index as u64;
    let tagged = !index.is_multiple_of(5);
    FlowKey {
        src_ip: 0x0A00_0000 + (n as u128) * 0x0101,
        dst_ip: 0x0A01_0000 + (n as u128),
        dst_mac: 0x0200_0000_0000 + n % 3,
        src_mac: 0x0200_0000_0100 + n,
        ethertype: if index % 8 == 7 { 0x88F7 } else { 0x0800 },
        vlan_id: if tagged { (n % 3) as u16 } else { 0 },
        pcp: if tagged { (n % 8) as u8 } else { 0 },
        tagged,
        ip_version: if index % 8 == 7 { 0 } else { 4 },
        dscp: (n * 5 % 64) as u8,
        protocol: if index.is_multiple_of(3) { 6 } else { 17 },
        src_port: 1000 + index as u16,
        dst_port: 2000 + (index as u16) % 6,
    }
}

pub(crate) fn bit_shape(c: &mut impl Choice, longest: u64) -> BitShape {
    let rate_bps = match c.below(6) {
        0 => c.of(&[1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000]),
        1 => c.of(&[999_983, 99_999_989, 999_999_937, 7_777_777_777]),
        2 => 64_000 + c.below(1_000_000),
        3 => 1 + c.below(3_000),
        _ => 1_000_000 + c.below(2_000_000_000),
    };
    let extra = match c.below(5) {
        0 | 1 => 0,
        2 => c.below(100),
        3 => longest * c.below(4),
        _ => c.below(50_000),
    };
    BitShape {
        rate_bps,
        burst_bytes: longest + extra,
    }
}

pub(crate) fn frame_shape(c: &mut impl Choice) -> FrameShape {
    let rate_fps = match c.below(4) {
        0 => c.of(&[1_000, 1_000_000, 14_880_952, 3]),
        1 => 1 + c.below(1_000),
        _ => 1_000 + c.below(3_000_000),
    };
    FrameShape {
        rate_fps,
        burst_frames: 1 + if c.percent(50) { 0 } else { c.below(6) },
    }
}

pub(crate) fn flow_shape(c: &mut impl Choice, longest: u64) -> Option<FlowShape> {
    match c.below(5) {
        0 => None,
        1 | 2 => Some(FlowShape::Frames(frame_shape(c))),
        _ => Some(FlowShape::Bits(bit_shape(c, longest))),
    }
}

fn meter(c: &mut impl Choice) -> MeterPlan {
    let cir_bps = 1_000_000 + c.below(500_000_000);
    let cbs_bytes = 100 + c.below(6_000);
    let second_bytes = 100 + c.below(6_000);
    let kind = if c.percent(50) {
        MeterKind::SingleRate {
            cir_bps,
            cbs_bytes,
            ebs_bytes: second_bytes,
        }
    } else {
        let pir_bps = cir_bps + c.below(500_000_000);
        MeterKind::TwoRate {
            cir_bps,
            cbs_bytes,
            pir_bps,
            pbs_bytes: second_bytes,
        }
    };
    MeterPlan {
        kind,
        drop_red: c.percent(50),
    }
}

fn queue(c: &mut impl Choice, frame_bytes_max: u32, longest: u64) -> QueuePlan {
    let mode = if c.percent(50) {
        QueueMode::Shared
    } else {
        let flow_frames_max = if c.percent(40) {
            c.between(1, 4) as u32
        } else {
            1_000
        };
        QueueMode::PerFlow {
            shape: flow_shape(c, longest),
            flow_frames_max,
        }
    };
    let long = u64::from(frame_bytes_max);
    let mark = c.percent(40).then(|| Mark {
        threshold_bytes: c.below(long * 6),
        at: if c.percent(50) {
            MarkAt::Enqueue
        } else {
            MarkAt::Dequeue
        },
    });
    QueuePlan {
        mode,
        bytes_max: if c.percent(30) {
            c.between(long, long * 8)
        } else {
            long * 1_000
        },
        frames_max: if c.percent(30) {
            c.between(1, 8) as u32
        } else {
            1_000
        },
        mark,
        gate: if c.percent(70) {
            c.below(3) as u8
        } else {
            c.below(64) as u8
        },
        meter: c.percent(25).then(|| meter(c)),
        age_max: c
            .percent(25)
            .then(|| Duration::from_ps(c.of(&[0, 1, 100_000, 10_000_000, 3_000_000_000]))),
    }
}

/// A node with random features; its place is the caller's affair.
pub(crate) fn node(
    c: &mut impl Choice,
    kind: u64,
    parent: Option<u32>,
    rank: u8,
    frame_bytes_max: u32,
) -> NodePlan {
    let accounting = match c.below(4) {
        0 => Accounting {
            overhead_bytes: 20,
            min_bytes: 84,
        },
        1 => Accounting {
            overhead_bytes: c.below(80) as i32 - 40,
            min_bytes: c.below(100) as u32,
        },
        _ => Accounting::default(),
    };
    let counted = (i64::from(frame_bytes_max) + i64::from(accounting.overhead_bytes)).max(1) as u64;
    let longest = counted.max(u64::from(accounting.min_bytes));
    let kind = match kind {
        0 => NodeKind::Strict,
        1 => NodeKind::Weighted,
        _ => NodeKind::Queue(queue(c, frame_bytes_max, longest)),
    };
    NodePlan {
        parent,
        kind,
        rank,
        weight: if c.percent(70) {
            c.between(1, 5) as u32
        } else {
            c.between(1, 1_000) as u32
        },
        rate: c.percent(30).then(|| bit_shape(c, longest)),
        frame_rate: c.percent(12).then(|| frame_shape(c)),
        guarantee: (parent.is_some() && c.percent(30)).then(|| bit_shape(c, longest)),
        accounting,
    }
}

fn matches(c: &mut impl Choice) -> RuleMatch {
    let mut m = RuleMatch::default();
    let k = key(c.below(KEYS as u64) as usize);
    match c.below(10) {
        0 => m.dst_mac = Some(k.dst_mac),
        1 => m.vlan_id = Some(k.vlan_id),
        2 => m.ethertype = Some(k.ethertype),
        3 => m.dscp = Some(c.draw() | 1 << k.dscp),
        4 => m.protocol = Some(k.protocol),
        5 => m.src_port = Some((1000, k.src_port)),
        6 => {
            m.dst_ip = Some(IpPrefix {
                version: 4,
                address: k.dst_ip & !7,
                length: 29,
            })
        }
        7 => {
            m.src_ip = Some(IpPrefix {
                version: 4,
                address: k.src_ip & !0x7FF,
                length: 21,
            })
        }
        8 => m.pcp = Some(c.between(1, 255) as u8),
        _ => m.dst_port = Some((k.dst_port, 2005)),
    }
    m
}

/// Rules to random ones of these queues, mostly with a last one for all other frames.
pub(crate) fn rules(c: &mut impl Choice, queues: &[u32]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = (0..c.below(8))
        .map(|_| Rule {
            matches: matches(c),
            queue: c.of(queues),
        })
        .collect();
    if c.percent(80) {
        rules.push(Rule {
            matches: RuleMatch::default(),
            queue: c.of(queues),
        });
    }
    rules
}

fn crowd(c: &mut impl Choice, frame_bytes_max: u32) -> NodePlan {
    let mut root = node(c, 2, None, 0, frame_bytes_max);
    root.accounting = Accounting::default();
    (root.rate, root.frame_rate) = (None, None);
    if let NodeKind::Queue(queue) = &mut root.kind {
        let burst_bytes = u64::from(frame_bytes_max) * 4;
        let slow = BitShape {
            rate_bps: 1_000 + c.below(500_000),
            burst_bytes,
        };
        queue.mode = QueueMode::PerFlow {
            shape: Some(FlowShape::Bits(slow)),
            flow_frames_max: 100,
        };
        queue.meter = None;
    }
    root
}

fn one_queue_a_flow(queues: &[u32]) -> Vec<Rule> {
    let rule = |index: usize| {
        let src_port = key(index).src_port;
        let matches = RuleMatch {
            src_port: Some((src_port, src_port)),
            ..RuleMatch::default()
        };
        Rule {
            matches,
            queue: queues[index % queues.len()],
        }
    };
    (0..KEYS).filter(|index| index % 8 != 7).map(rule).collect()
}

/// A valid plan.
pub(crate) fn plan(c: &mut impl Choice) -> Plan {
    let frame_bytes_max = c.of(&[128, 300, 1_522, 9_018]);
    let mut nodes = Vec::new();
    if c.percent(4) {
        // A crowd of slow flows, so that many idle ones have buckets that are not yet full.
        nodes.push(crowd(c, frame_bytes_max));
    } else {
        grow(c, &mut nodes, None, 1, 0, frame_bytes_max);
    }
    let queues: Vec<u32> = (0..nodes.len() as u32)
        .filter(|&n| matches!(nodes[n as usize].kind, NodeKind::Queue(_)))
        .collect();
    // A wide tree gets frames in all its queues, so that more children are due at once than one visit lets join.
    let rules = if queues.len() > 16 || c.percent(10) {
        one_queue_a_flow(&queues)
    } else {
        rules(c, &queues)
    };
    let nodes_max = nodes.len() as u32 + c.below(5) as u32;
    let frames_max = if c.percent(30) {
        c.between(2, 30) as u32
    } else {
        400
    };
    let flows_max = match c.below(10) {
        0..=3 => c.between(1, 12) as u32,
        4..=6 => c.between(17, 30) as u32,
        _ => 60,
    };
    Plan {
        nodes,
        rules,
        frames_max,
        flows_max,
        nodes_max,
        frame_bytes_max,
    }
}

fn grow(
    c: &mut impl Choice,
    nodes: &mut Vec<NodePlan>,
    parent: Option<u32>,
    level: u32,
    rank: u8,
    longest: u32,
) {
    let leaf_chance = match level {
        1 => 4,
        2 => 40,
        3 => 70,
        _ => 100,
    };
    let full = nodes.len() + 4 > NODES;
    let kind = if full || c.percent(leaf_chance) {
        2
    } else {
        c.below(2)
    };
    let at = nodes.len() as u32;
    nodes.push(node(c, kind, parent, rank, longest));
    if kind == 2 {
        return;
    }
    let wide = level == 1 && c.percent(15);
    let children = if wide { c.between(17, 24) } else { c.between(1, 4) };
    for child in 0..children {
        if child == 0 || nodes.len() < NODES {
            grow(
                c,
                nodes,
                Some(at),
                if wide { 4 } else { level + 1 },
                ((60 + child * 61) % 64) as u8,
                longest,
            );
        }
    }
}
