//! Who goes first: strict priority, deficit round robin and guarantees on trees made for the question.

use crate::choice::{Choice, Seeded};
use clearway_core::plan::{
    Accounting, BitShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
};
use clearway_core::{Classify, Dequeue, Ecn, Egress, FlowKey, FrameHandle, Instant, Target, TrafficManager};

/// A root of that kind with one shared queue a rank, reached by PCP.
fn plan(kind: NodeKind, weights: &[u32], longest: u32) -> Plan {
    let queue = QueuePlan {
        mode: QueueMode::Shared,
        bytes_max: 1 << 40,
        frames_max: 1 << 20,
        mark: None,
        gate: 0,
        meter: None,
        age_max: None,
    };
    let node = |parent: Option<u32>, kind: NodeKind, rank: u8, weight: u32| NodePlan {
        parent,
        kind,
        rank,
        weight,
        rate: None,
        frame_rate: None,
        guarantee: None,
        accounting: Accounting::default(),
    };
    let mut nodes = vec![node(None, kind, 0, 1)];
    let mut rules = Vec::new();
    for (rank, &weight) in (0_u8..).zip(weights) {
        rules.push(Rule {
            matches: RuleMatch {
                pcp: Some(1 << rank),
                ..RuleMatch::default()
            },
            queue: nodes.len() as u32,
        });
        nodes.push(node(Some(0), NodeKind::Queue(queue.clone()), rank, weight));
    }
    Plan {
        nodes,
        rules,
        frames_max: 1 << 20,
        flows_max: 0,
        nodes_max: 9,
        frame_bytes_max: longest,
    }
}

fn targets(manager: &mut TrafficManager, count: usize) -> Vec<Target> {
    let key = |rank: usize| FlowKey {
        pcp: rank as u8,
        tagged: true,
        vlan_id: 1,
        ..FlowKey::default()
    };
    (0..count)
        .map(|rank| {
            manager
                .classify(Instant::ZERO, &key(rank))
                .expect("a rule for each rank")
        })
        .collect()
}

#[test]
fn a_frame_waits_for_at_most_one_frame_of_lower_priority() {
    const RANKS: usize = 4;
    const PS_PER_BYTE: u64 = 800;
    for seed in 0..50 {
        let c = &mut Seeded(seed);
        let mut manager = TrafficManager::new(&plan(NodeKind::Strict, &[1; RANKS], 1_500)).expect("valid");
        let targets = targets(&mut manager, RANKS);
        // Rank, entry, and for each frame that went onto the wire: rank, start and end.
        let mut entered: Vec<(usize, u64)> = Vec::new();
        let mut wire: Vec<(u32, u64, u64)> = Vec::new();
        let (mut next_in, mut free) = (0_u64, 0_u64);
        for _ in 0..2_000 {
            if next_in <= free {
                let rank = c.below(RANKS as u64) as usize;
                let len = c.between(64, 1_500) as u32;
                let handle = FrameHandle(entered.len() as u32);
                let at = Instant::from_ps(next_in);
                manager
                    .enqueue(at, targets[rank], handle, len, Ecn::NotCapable)
                    .expect("room");
                entered.push((rank, next_in));
                next_in += c.below(1_250_000);
            } else {
                match manager.dequeue(Instant::from_ps(free)) {
                    Dequeue::Frame(frame) => {
                        let end = free + u64::from(frame.len) * PS_PER_BYTE;
                        wire.push((frame.handle.0, free, end));
                        free = end;
                    }
                    Dequeue::Empty => free = next_in,
                    other => panic!("{other:?}"),
                }
            }
        }
        let mut waited = 0;
        for &(handle, start, _) in &wire {
            let (rank, came) = entered[handle as usize];
            let lower = wire.iter().filter(|&&(other, begins, ends)| {
                entered[other as usize].0 > rank && begins < start && ends > came
            });
            let lower = lower.count();
            assert!(
                lower <= 1,
                "seed {seed}: frame {handle} waited for {lower} frames of lower priority"
            );
            waited += lower;
        }
        assert!(waited > 0, "seed {seed}: nothing was ever inverted");
    }
}

#[test]
fn backlogged_children_share_by_weight_with_bounded_lag() {
    for seed in 0..50 {
        let c = &mut Seeded(1 << 32 | seed);
        let children = c.between(2, 8) as usize;
        let weights: Vec<u32> = (0..children).map(|_| c.between(1, 20) as u32).collect();
        let longest = c.between(64, 1_500);
        let mut manager =
            TrafficManager::new(&plan(NodeKind::Weighted, &weights, longest as u32)).expect("valid");
        let targets = targets(&mut manager, children);
        let mut handles = 0;
        let mut send = |manager: &mut TrafficManager, c: &mut Seeded, child: usize| {
            let len = if c.percent(20) {
                longest
            } else {
                c.between(1, longest)
            } as u32;
            handles += 1;
            let handle = FrameHandle(handles);
            manager
                .enqueue(Instant::ZERO, targets[child], handle, len, Ecn::NotCapable)
                .expect("room");
        };
        for child in 0..children {
            send(&mut manager, c, child);
            send(&mut manager, c, child);
        }
        let least = i128::from(*weights.iter().min().expect("children"));
        let longest = i128::from(longest);
        let quantum: Vec<i128> = weights
            .iter()
            .map(|&w| (longest + least - 1) / least * i128::from(w))
            .collect();
        let mut served = vec![0_i128; children];
        // Extremes of S_i Q_j - S_j Q_i: the difference of two of them bounds every interval.
        let mut extremes = vec![(0_i128, 0_i128); children * children];
        for _ in 0..3_000 {
            let Dequeue::Frame(frame) = manager.dequeue(Instant::ZERO) else {
                panic!("backlogged")
            };
            let child = frame.queue.slot() - 1;
            served[child] += i128::from(frame.len);
            send(&mut manager, c, child);
            for i in 0..children {
                for j in 0..children {
                    let lead = served[i] * quantum[j] - served[j] * quantum[i];
                    let (low, high) = &mut extremes[i * children + j];
                    (*low, *high) = ((*low).min(lead), (*high).max(lead));
                    // Shreedhar and Varghese, 1996: one quantum, and a longest frame each way.
                    let bound = quantum[i] * quantum[j] + longest * (quantum[i] + quantum[j]);
                    assert!(
                        *high - *low <= bound,
                        "seed {seed}: children {i} and {j} drift apart"
                    );
                }
            }
        }
    }
}

#[test]
fn a_guarantee_is_kept_against_every_higher_rank() {
    // The last rank is guaranteed 1 of 10 Gb/s while the first could fill the line.
    let mut plan = plan(NodeKind::Strict, &[1, 1], 1_500);
    plan.nodes[2].guarantee = Some(BitShape {
        rate_bps: 1_000_000_000,
        burst_bytes: 1_500,
    });
    let mut manager = TrafficManager::new(&plan).expect("valid");
    let targets = targets(&mut manager, 2);
    let mut sent = [0_u64; 2];
    let (mut now, mut handle) = (0, 0);
    for target in &targets {
        for _ in 0..4 {
            handle += 1;
            let entered = manager.enqueue(
                Instant::ZERO,
                *target,
                FrameHandle(handle),
                1_500,
                Ecn::NotCapable,
            );
            entered.expect("room");
        }
    }
    for _ in 0..10_000 {
        let at = Instant::from_ps(now);
        let Dequeue::Frame(frame) = manager.dequeue(at) else {
            panic!("backlogged")
        };
        let rank = frame.queue.slot() - 1;
        sent[rank] += 1;
        handle += 1;
        manager
            .enqueue(at, targets[rank], FrameHandle(handle), 1_500, Ecn::NotCapable)
            .expect("room");
        now += 1_500 * 800;
    }
    assert!((999..=1_001).contains(&sent[1]), "{sent:?}");
}
