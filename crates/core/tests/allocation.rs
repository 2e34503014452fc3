//! Nothing allocates after construction, and an idle flow costs at most 128 bytes: counted by the allocator itself.
//!
//! One test in a binary of its own, because the counters belong to the whole process.

#[path = "driver/choice.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod choice;
#[path = "driver/plans.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod plans;

use choice::{Choice, Seeded};
use clearway_core::cbq::{Cbq, CbqClass, CbqLeaf, CbqPlan, TokenBucket};
use clearway_core::plan::{
    Accounting, BitShape, FlowShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
};
use clearway_core::{
    Change, Classify, Dequeue, Duration, Ecn, Egress, FlowId, FlowKey, FrameHandle, GateSet, Instant, NodeId,
    TrafficManager,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Runs the call and counts what it allocated.
fn counted<T>(total: &mut usize, call: impl FnOnce() -> T) -> T {
    let region = Region::new(ALLOCATOR);
    let answer = call();
    let change = region.change();
    *total += change.allocations + change.reallocations;
    answer
}

/// Allocations of 1,500 random calls; changes of the tree between them may allocate and are not counted.
fn allocations_of_a_run(seed: u64) -> (usize, u64) {
    let c = &mut Seeded(seed);
    let plan = plans::plan(c);
    let mut manager = TrafficManager::new(&plan).expect("valid");
    let nodes = plan.nodes.len() as u64;
    let (mut total, mut now, mut left) = (0, 0, 0);
    for frame in 0..1_500 {
        let key = plans::key(c.below(plans::KEYS as u64) as usize);
        let len = 1 + c.below(u64::from(plan.frame_bytes_max)) as u32;
        now += c.below(2_000_000);
        let at = Instant::from_ps(now);
        let target = counted(&mut total, || manager.classify(at, &key));
        if let Ok(target) = target {
            let handle = FrameHandle(frame);
            if c.percent(20) {
                let _ = counted(&mut total, || {
                    manager.forward(at, target, handle, len, Ecn::Capable)
                });
            } else {
                let _ = counted(&mut total, || {
                    manager.enqueue(at, target, handle, len, Ecn::Capable)
                });
            }
            if c.percent(10) {
                let to = NodeId::first(c.below(nodes) as u32);
                let flow = FlowId::of(&key);
                let _ = manager.reconfigure(
                    at,
                    Change::MoveFlow {
                        flow,
                        from: target.queue,
                        to,
                    },
                );
            }
        }
        if c.percent(80) {
            match counted(&mut total, || manager.dequeue(at)) {
                Dequeue::Frame(_) => left += 1,
                Dequeue::Wait { until, .. } => now = until.as_ps().min(now + 10_000_000),
                Dequeue::Drop(..) | Dequeue::Empty => {}
            }
        }
        if c.percent(5) {
            let until = Instant::from_ps(now + 1_000_000);
            counted(&mut total, || manager.pause(at, GateSet::ALL, until));
        }
        if c.percent(2) {
            counted(&mut total, || manager.rebase(Duration::from_ps(now / 2)));
            now -= now / 2;
        }
    }
    (total, left)
}

fn flows_plan(flows_max: u32) -> Plan {
    let shape = Some(FlowShape::Bits(BitShape {
        rate_bps: 10_000_000,
        burst_bytes: 1_522,
    }));
    let queue = QueuePlan {
        mode: QueueMode::PerFlow {
            shape,
            flow_frames_max: 16,
        },
        bytes_max: 1 << 30,
        frames_max: 1 << 20,
        mark: None,
        gate: 0,
        meter: None,
        age_max: None,
    };
    let root = NodePlan {
        parent: None,
        kind: NodeKind::Queue(queue),
        rank: 0,
        weight: 1,
        rate: None,
        frame_rate: None,
        guarantee: None,
        accounting: Accounting::default(),
    };
    let rules = vec![Rule {
        matches: RuleMatch::default(),
        queue: 0,
    }];
    Plan {
        nodes: vec![root],
        rules,
        frames_max: 1_024,
        flows_max,
        nodes_max: 1,
        frame_bytes_max: 1_522,
    }
}

/// Bytes that a manager for so many flows takes, with all of them known.
fn bytes_with_flows(flows: u32) -> usize {
    let region = Region::new(ALLOCATOR);
    let mut manager = TrafficManager::new(&flows_plan(flows)).expect("valid");
    for flow in 0..flows {
        let key = FlowKey {
            src_ip: u128::from(flow),
            ip_version: 4,
            protocol: 17,
            ..FlowKey::default()
        };
        manager
            .classify(Instant::ZERO, &key)
            .expect("room for every flow");
    }
    assert_eq!(manager.flows_known(), flows);
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

/// A link with three classes, one of them behind a token bucket.
fn cbq_plan() -> CbqPlan {
    let class = |parent, rate_bps| CbqClass {
        parent,
        rate_bps,
        priority: 0,
        weight: rate_bps,
        allot_bytes: 1_514,
        accounting: Accounting::default(),
        packet_bytes: 1_000,
        ewma: 5,
        maxburst: 20,
        minburst: 2,
        minidle: None,
        bounded: rate_bps < 100_000_000,
        isolated: false,
        leaf: parent.map(|_| CbqLeaf {
            bytes_max: 100_000,
            frames_max: 60,
            gate: 0,
            bucket: (rate_bps > 400_000_000).then_some(TokenBucket {
                rate_bps,
                burst_bytes: 3_000,
            }),
        }),
    };
    let rates = [50_000_000, 300_000_000, 500_000_000];
    let leaves = rates.map(|rate| class(Some(0), rate));
    CbqPlan {
        classes: std::iter::once(class(None, 1_000_000_000))
            .chain(leaves)
            .collect(),
        rules: (0..3)
            .map(|n| Rule {
                matches: RuleMatch {
                    pcp: Some(if n == 2 { 0xFF } else { 1 << n }),
                    ..RuleMatch::default()
                },
                queue: n + 1,
            })
            .collect(),
        frames_max: 128,
        frame_bytes_max: 1_522,
        tick: Duration::from_ms(10),
        resolution: Duration::from_us(1),
    }
}

/// Allocations of random calls of class-based queueing, and the frames that left.
fn allocations_of_cbq() -> (usize, u32) {
    let c = &mut Seeded(1);
    let mut cbq = Cbq::new(&cbq_plan()).expect("valid");
    let (mut total, mut now, mut left) = (0, 0, 0);
    for frame in 0..20_000 {
        now += c.below(20_000_000);
        let (at, len) = (Instant::from_ps(now), 64 + c.below(1_400) as u32);
        let key = FlowKey {
            pcp: c.below(8) as u8,
            tagged: true,
            ..FlowKey::default()
        };
        let target = counted(&mut total, || cbq.classify(at, &key)).expect("every frame has a rule");
        let _ = counted(&mut total, || {
            cbq.enqueue(at, target, FrameHandle(frame), len, Ecn::NotCapable)
        });
        if c.percent(2) {
            counted(&mut total, || {
                cbq.pause(at, GateSet::ALL, Instant::from_ps(now + 50_000_000))
            });
        }
        left += u32::from(matches!(
            counted(&mut total, || cbq.dequeue(at)),
            Dequeue::Frame(_)
        ));
    }
    (total, left)
}

#[test]
fn nothing_allocates_after_construction_and_an_idle_flow_is_small() {
    let mut frames = 0;
    for seed in 0..200 {
        let (allocations, left) = allocations_of_a_run(seed);
        assert_eq!(allocations, 0, "seed {seed}");
        frames += left;
    }
    assert!(frames > 10_000, "only {frames} frames passed");

    let (allocations, left) = allocations_of_cbq();
    assert_eq!(allocations, 0, "class-based queueing");
    assert!(left > 2_000, "only {left} frames passed");

    let flows = 50_000;
    let per_flow = (bytes_with_flows(flows) - bytes_with_flows(1)) as f64 / f64::from(flows - 1);
    println!("{per_flow:.1} bytes per idle flow");
    assert!(per_flow <= 128.0, "{per_flow} bytes per idle flow");
}
