//! Timed changes: what they change, and that nothing else is lost or put out of order.

use super::conservation::{random_scenario, sums};
use super::scenarios::*;
use crate::engine::Stream;
use crate::results::{CaptureRecord, Cause};
use crate::{Observer, Outcome, Progress};
use clearway_core::plan::{NodeKind, QueueMode};
use clearway_core::{Duration, FlowId, FlowKey};
use clearway_policy::scenario::{
    Action, Destination, FlowControl, Law, NodeRef, ReplayFrame, Scenario, Scheduled, Threshold, WorkloadKind,
};
use std::collections::BTreeMap;

fn at(us: u64, actions: Vec<Action>) -> Scheduled {
    Scheduled {
        name: format!("at {us}"),
        at: Duration::from_us(us),
        actions,
    }
}

fn steady(rate_bps: f64, flows: u32) -> WorkloadKind {
    WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(1_000.0),
        rate_bps,
        flows,
        burst: 1,
    }
}

fn lost_to(o: &Outcome, cause: Cause) -> u64 {
    o.classes.iter().map(|c| c.counters.causes[cause.index()]).sum()
}

/// Host 0 sends two classes to host 1, each more than the line takes.
fn two_classes(weights: [u32; 2]) -> Scenario {
    let mut s = star(2, Duration::from_ms(4));
    s.sample_interval = Some(Duration::from_us(100));
    s.classes = vec!["a".into(), "b".into()];
    let all = [weights[0], weights[1], 1, 1, 1, 1, 1, 1];
    s.policies = vec![by_priority(Some(all), None)];
    s.hosts[0].nic.policy = Some(0);
    for class in 0..2 {
        let mut w = workload(vec![0], Destination::Host(1), steady(10e9, 1));
        w.class = class;
        w.marks.pcp = Some(class as u8);
        s.workloads.push(w);
    }
    s
}

#[test]
fn new_weights_hold_from_their_instant_on_and_lose_nothing() {
    let mut s = two_classes([4, 1]);
    let action = Action::Weights {
        policy: 0,
        weights: vec![(1, 1), (2, 9)],
        hosts: Vec::new(),
    };
    s.actions = vec![at(2_000, vec![action])];
    let o = outcome(&s, 1);
    let share = |from: usize, to: usize| {
        let sum = |class: usize| o.classes[class].counters.bins[from..to].iter().sum::<u64>() as f64;
        sum(0) / (sum(0) + sum(1))
    };
    assert!((share(2, 20) - 0.8).abs() < 0.01, "{}", share(2, 20));
    // One sample later the other proportion holds: a round of the weighted class is a few frames long.
    assert!((share(21, 39) - 0.1).abs() < 0.01, "{}", share(21, 39));
    let (offered, delivered, dropped) = sums(&o);
    assert_eq!((dropped, offered), (0, delivered + o.engine.frames_left));
    assert_eq!(o.actions[0].ports, 1);
}

#[test]
fn a_change_for_another_host_changes_nothing_here() {
    let mut s = two_classes([4, 1]);
    let before = outcome(&s, 1);
    s.hosts[1].nic.policy = Some(0);
    let action = Action::Weights {
        policy: 0,
        weights: vec![(1, 1), (2, 9)],
        hosts: vec![1],
    };
    s.actions = vec![at(2_000, vec![action])];
    let o = outcome(&s, 1);
    let bytes = |o: &Outcome| o.classes[0].counters.bins.clone();
    assert_eq!(bytes(&o), bytes(&before));
}

#[test]
fn a_limit_comes_and_goes() {
    let mut s = two_classes([1, 1]);
    let limit = |rate_bps: Option<u64>| {
        let rate = rate_bps.map(|rate_bps| clearway_core::plan::BitShape {
            rate_bps,
            burst_bytes: 4_000,
        });
        let action = Action::Rate {
            policy: 0,
            node: 1,
            rate,
            hosts: vec![0],
        };
        vec![action]
    };
    s.actions = vec![at(1_000, limit(Some(2_000_000_000))), at(3_000, limit(None))];
    let o = outcome(&s, 1);
    let rate = |from: usize, to: usize| {
        let bytes: u64 = o.classes[0].counters.bins[from..to].iter().sum();
        bytes as f64 * 1_020.0 / 1_000.0 * 8.0 / ((to - from) as f64 * 100e-6)
    };
    assert!((rate(2, 10) - 5e9).abs() < 1e8, "{}", rate(2, 10));
    assert!((rate(11, 30) - 2e9).abs() < 5e7, "{}", rate(11, 30));
    assert!((rate(31, 39) - 5e9).abs() < 1e8, "{}", rate(31, 39));
}

/// Frames of a flow in the order in which they began to cross a captured end.
#[derive(Default)]
struct Seen(BTreeMap<FlowId, Vec<u32>>);

impl Observer for Seen {
    fn progress(&mut self, _: Progress) -> bool {
        true
    }
    fn frames(&mut self, records: &[CaptureRecord]) {
        for record in records.iter().filter(|r| r.line == 0) {
            self.0
                .entry(FlowId::of(&record.key))
                .or_default()
                .push(record.bytes);
        }
    }
}

#[test]
fn moved_flows_lose_nothing_and_keep_their_order_whatever_kind_their_classes_have() {
    for per_flow in [[true, true], [true, false], [false, true], [false, false]] {
        let mut s = star(2, Duration::from_ms(6));
        let mut policy = by_priority(None, Some(1_000_000_000));
        policy.plan.flows_max = 64;
        for (slot, per_flow) in [(1, per_flow[0]), (2, per_flow[1])] {
            if let NodeKind::Queue(queue) = &mut policy.plan.nodes[slot].kind
                && per_flow
            {
                queue.mode = QueueMode::PerFlow {
                    shape: None,
                    flow_frames_max: 1 << 16,
                };
            }
        }
        s.policies = vec![policy];
        s.hosts[0].nic.policy = Some(0);
        s.links[0].ends[0].capture = true;
        // The length of a frame says which of its flow it is.
        let frames = (0..2_000_u32).map(|n| ReplayFrame {
            at: Duration::from_us(u64::from(n) * 2),
            bytes: 64 + n / 20,
            key: FlowKey {
                ip_version: 4,
                src_port: (n % 20) as u16,
                tagged: true,
                pcp: (n % 2) as u8,
                ..FlowKey::default()
            },
        });
        let kind = WorkloadKind::Replay {
            frames: frames.collect(),
        };
        s.workloads = vec![workload(vec![0], Destination::Host(1), kind)];
        let action = Action::MoveFlows {
            policy: 0,
            workload: 0,
            between: [1, 2],
            per_second: 100_000,
            stop: Some(Duration::from_us(4_000)),
            hosts: Vec::new(),
        };
        s.actions = vec![at(500, vec![action])];
        let mut seen = Seen::default();
        let o = crate::run(&s, 1, &mut seen).unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(sums(&o), (2_000, 2_000, 0), "{per_flow:?}");
        assert_eq!(seen.0.len(), 20);
        for frames in seen.0.values() {
            assert!(
                frames.is_sorted() && frames.len() == 100,
                "{per_flow:?}: {frames:?}"
            );
        }
        // Every 10 us from 500 to 4,000 us, as many up as down but for the last.
        let told = &o.actions[0];
        assert_eq!((told.flows_moved, told.moves), (351, [175, 176]), "{per_flow:?}");
        // The bytes of each queue still add up: nothing is left in any.
        assert!(
            o.ports[0].queues.iter().all(|q| q.bytes_left == 0),
            "{:?}",
            o.ports[0].queues
        );
    }
}

/// Two virtual NICs (hosts 0 and 1) at a team (switch 0) with two uplinks (links 2 and 3) to a switch with hosts 2 and 3.
fn team(duration_us: u64) -> Scenario {
    let mut s = star(4, Duration::from_us(duration_us));
    s.switches.push(switch("top"));
    s.links = [(0, 0), (1, 0)]
        .map(|(h, sw)| link(NodeRef::Host(h), NodeRef::Switch(sw), 0))
        .to_vec();
    s.links
        .extend([0, 1].map(|_| link(NodeRef::Switch(0), NodeRef::Switch(1), 100)));
    s.links
        .extend([2, 3].map(|h| link(NodeRef::Host(h), NodeRef::Switch(1), 100)));
    s.switches[0].memory_bytes = 1 << 30;
    s
}

fn bytes_of(o: &Outcome, line: usize) -> u64 {
    o.ports[line].totals.bytes
}

#[test]
fn a_team_spreads_its_flows_and_a_broken_port_loses_only_what_is_sent_to_it() {
    let mut s = team(10_000);
    s.workloads = vec![workload(
        vec![0, 1],
        Destination::Uniform(vec![2, 3]),
        steady(0.1e9, 20),
    )];
    let whole = outcome(&s, 1);
    let (a, b) = (bytes_of(&whole, 4), bytes_of(&whole, 6));
    assert!(a > 0 && b > 0 && sums(&whole).2 == 0, "{a} {b}");
    let detection = Duration::from_us(500);
    s.actions = vec![
        at(3_000, vec![Action::LinkDown { link: 2, detection }]),
        at(6_000, vec![Action::LinkUp { link: 2, detection }]),
    ];
    let o = outcome(&s, 1);
    let (offered, delivered, dropped) = sums(&o);
    assert_eq!(offered, delivered + dropped + o.engine.frames_left);
    assert_eq!(offered, sums(&whole).0);
    assert_eq!(dropped, lost_to(&o, Cause::LinkDown));
    let told = &o.actions[0];
    assert_eq!(told.frames_lost, dropped);
    // What the broken uplink carried in the detection time, to within the frames of one round of its flows.
    let carried = a as f64 / 1_000.0 * 500.0 / 10_000.0;
    assert!(
        (dropped as f64 - carried).abs() <= told.flows as f64,
        "{dropped} of {carried}"
    );
    let moved = told.flows;
    assert_eq!((told.flows_moved, o.actions[1].flows_moved), (moved, moved));
    assert!(moved > 5 && moved < 35, "{moved}");
    // Flows of the other port lose nothing.
    let lossy = o.flows.iter().filter(|f| f.counters.dropped_frames > 0).count();
    assert_eq!(lossy as u64, moved);
    // The flows deliver again one detection time and one gap between frames later, to within a look.
    let back = o.actions[0].flows_back_ps.expect("they came back");
    assert!((500_000_000..700_000_000).contains(&back), "{back}");
    let throughput = told.throughput_back().expect("it came back");
    assert!(
        throughput <= Duration::from_us(520) && throughput >= Duration::from_us(300),
        "{throughput:?}"
    );
}

#[test]
fn a_path_that_came_back_is_the_first_one() {
    let mut s = team(4_000);
    s.workloads = vec![workload(
        vec![0, 1],
        Destination::Uniform(vec![2, 3]),
        steady(0.1e9, 20),
    )];
    let detection = Duration::ZERO;
    s.actions = vec![
        at(1_000, vec![Action::LinkDown { link: 2, detection }]),
        at(1_500, vec![Action::LinkUp { link: 2, detection }]),
    ];
    s.warmup = Duration::from_us(2_000);
    let (back, plain) = (outcome(&s, 1), {
        let mut s = s.clone();
        s.actions.clear();
        outcome(&s, 1)
    });
    for line in [4, 6] {
        assert_eq!(bytes_of(&back, line), bytes_of(&plain, line));
    }
    assert_eq!(sums(&back).2, 0);
}

#[test]
fn without_another_way_everything_is_lost_until_the_link_is_back() {
    let mut s = star(2, Duration::from_ms(3));
    s.workloads = vec![workload(vec![0], Destination::Host(1), steady(1e9, 1))];
    let detection = Duration::from_us(10);
    s.actions = vec![
        at(1_000, vec![Action::LinkDown { link: 1, detection }]),
        at(2_000, vec![Action::LinkUp { link: 1, detection }]),
    ];
    let o = outcome(&s, 1);
    // 1,000 B and 20 B of wire at 1 Gb/s: 8.16 us apart, so 122 or 123 in a millisecond.
    let told = &o.actions[0];
    assert!((122..=123).contains(&told.frames_lost), "{}", told.frames_lost);
    assert_eq!(told.flows_moved, 0);
    let back = told.flows_back_ps.expect("it came back");
    assert!((1_000_000_000..1_020_000_000).contains(&back), "{back}");
}

#[test]
fn random_networks_with_broken_links_count_every_frame() {
    let mut r = Stream::new(21, 0, "random scenarios with broken links");
    let (mut lost, mut groups) = (0, 0);
    for round in 0..80 {
        let mut s = random_scenario(&mut r);
        for switch in &mut s.switches {
            if matches!(switch.flow_control, FlowControl::Credits { .. }) {
                switch.flow_control = FlowControl::None;
            }
        }
        for _ in 0..1 + r.below(4) {
            let link = r.below(s.links.len() as u64) as usize;
            let detection = Duration::from_us(r.below(40));
            let action = if r.chance(0.6) {
                Action::LinkDown { link, detection }
            } else {
                Action::LinkUp { link, detection }
            };
            let us = r.below(400);
            s.actions.push(at(us, vec![action]));
        }
        let o = outcome(&s, round);
        let (offered, delivered, dropped) = sums(&o);
        let group = s
            .workloads
            .iter()
            .any(|w| matches!(w.to, Destination::Multicast(_)));
        if group {
            assert!(
                offered >= delivered + dropped + o.engine.frames_left,
                "round {round}"
            );
        } else {
            assert_eq!(
                offered,
                delivered + dropped + o.engine.frames_left,
                "round {round}: {s:#?}"
            );
        }
        assert_eq!(
            o.actions.iter().map(|a| a.frames_lost).sum::<u64>(),
            lost_to(&o, Cause::LinkDown),
            "round {round}"
        );
        lost += u32::from(lost_to(&o, Cause::LinkDown) > 0);
        groups += u32::from(group);
        assert_eq!(o.hash(), outcome(&s, round).hash());
    }
    assert!(lost > 30 && groups > 3, "{lost} {groups}");
}

#[test]
fn what_cannot_be_done_is_refused_with_its_name() {
    let mut s = star(2, Duration::from_ms(1));
    s.workloads = vec![workload(vec![0], Destination::Host(1), steady(1e9, 1))];
    s.switches[0].flow_control = FlowControl::Credits {
        bytes_per_output: 100_000,
        return_bytes: 2_000,
    };
    let detection = Duration::ZERO;
    s.actions = vec![at(1, vec![Action::LinkDown { link: 0, detection }])];
    let refusal = |s: &Scenario| {
        crate::run(s, 1, &mut crate::Unobserved)
            .map(|o| o.seed)
            .unwrap_err()
    };
    assert_eq!(refusal(&s).field, "down");
    s.switches[0].flow_control = FlowControl::None;
    s.switches[0].threshold = Threshold::Static(9_000);
    s.switches[0].policy = Some(0);
    s.policies = vec![by_priority(None, None)];
    let action = Action::MoveFlows {
        policy: 0,
        workload: 0,
        between: [1, 2],
        per_second: 10,
        stop: None,
        hosts: Vec::new(),
    };
    s.actions = vec![at(1, vec![action])];
    assert_eq!(
        (refusal(&s).item, refusal(&s).field),
        ("action at 1".to_owned(), "move")
    );
}
