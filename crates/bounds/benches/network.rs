//! The bounds of a plan of 64 classes over four hops: what a page that asks for them after every change would wait.
//! Run with `cargo bench -p clearway-bounds`.

// The macro below makes public functions without documentation.
#![allow(missing_docs)]

use clearway_bounds::{Arrival, Bucket, Flow, Hop, Line, Network, wire};
use clearway_core::plan::{Accounting, BitShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

const GBIT: u64 = 1_000_000_000;

/// Eight strict groups of eight weighted classes; every fourth class is shaped.
fn plan() -> Plan {
    let l1 = Accounting {
        overhead_bytes: 20,
        min_bytes: 84,
    };
    let node = |parent, kind, rank, weight| NodePlan {
        parent,
        kind,
        rank,
        weight,
        rate: None,
        frame_rate: None,
        guarantee: None,
        accounting: l1,
    };
    let queue = || {
        NodeKind::Queue(QueuePlan {
            mode: QueueMode::Shared,
            bytes_max: 1 << 30,
            frames_max: 1 << 16,
            mark: None,
            gate: 0,
            meter: None,
            age_max: None,
        })
    };
    let mut nodes = vec![node(None, NodeKind::Strict, 0, 1)];
    for group in 0..8 {
        let parent = nodes.len() as u32;
        nodes.push(node(Some(0), NodeKind::Weighted, group, 1));
        for class in 0..8 {
            let mut leaf = node(Some(parent), queue(), 0, 1 + class);
            if class % 4 == 3 {
                leaf.rate = Some(BitShape {
                    rate_bps: GBIT,
                    burst_bytes: 128 * 1_542,
                });
            }
            nodes.push(leaf);
        }
    }
    Plan {
        nodes,
        frames_max: 1 << 16,
        nodes_max: 128,
        frame_bytes_max: 1_522,
        ..Plan::default()
    }
}

fn network(plan: &Plan) -> Network<'_> {
    let line = Line {
        plan: Some(plan),
        rate_bps: 100 * GBIT,
        rate_most_bps: 100 * GBIT,
        fifo_bytes: 0,
        after_ps: 515_000,
    };
    let leaves = (0..)
        .zip(&plan.nodes)
        .filter(|(_, n)| matches!(n.kind, NodeKind::Queue(_)));
    let hops = |leaf: u32| {
        (0..4).map(move |line| Hop {
            line,
            leaf,
            from: if line == 0 { Vec::new() } else { vec![line - 1] },
        })
    };
    let flow = |(leaf, _): (u32, &NodePlan)| {
        [594, 1_518].map(|frame| Flow {
            flows: 4,
            arrival: Arrival::of(Bucket {
                burst: 4 * wire(frame),
                rate: GBIT / 20,
            }),
            everywhere: false,
            frame_min: frame,
            frame_max: frame,
            hops: hops(leaf).collect(),
            ends: vec![vec![3]],
        })
    };
    Network {
        lines: vec![line; 4],
        flows: leaves.flat_map(flow).collect(),
    }
}

fn bounds(c: &mut Criterion) {
    let plan = plan();
    let network = network(&plan);
    let found = network.bounds();
    let bounded = found.flows.iter().filter(|f| f[0].delay_ps.is_ok()).count();
    assert_eq!(bounded, network.flows.len(), "every class has a bound");
    let _ = c.bench_function("64 classes over 4 hops", |b| {
        b.iter(|| black_box(&network).bounds())
    });
}

criterion_group!(benches, bounds);
criterion_main!(benches);
