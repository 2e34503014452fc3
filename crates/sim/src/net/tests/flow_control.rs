//! PAUSE and PFC: conformance, rates, headroom; pause per output; credits.

use super::scenarios::*;
use crate::Outcome;
use clearway_core::Duration;
use clearway_policy::scenario::{
    Destination, FlowControl, Law, Marks, NodeRef, PauseScope, PauseSettings, Scenario, WorkloadKind,
};

fn settings(high: u64, low: u64, scope: PauseScope) -> PauseSettings {
    PauseSettings {
        high_bytes: high,
        low_bytes: low,
        scope,
        quanta: 65_535,
        refresh_before: None,
    }
}

fn full_rate(bytes: f64) -> WorkloadKind {
    WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(bytes),
        rate_bps: 10e9,
        flows: 1,
        burst: 1,
    }
}

/// Two senders at line rate into one port.
fn two_into_one(control: FlowControl, memory_bytes: u64) -> Scenario {
    let mut scenario = star(3, Duration::from_ms(5));
    scenario.switches[0].flow_control = control;
    scenario.switches[0].memory_bytes = memory_bytes;
    scenario.workloads = vec![workload(vec![0, 1], Destination::Host(2), full_rate(1_500.0))];
    scenario
}

fn dropped(o: &Outcome) -> u64 {
    o.classes.iter().map(|c| c.counters.dropped.frames).sum()
}

fn sent_by_switch(o: &Outcome, host: usize) -> &crate::results::PortResult {
    &o.ports[2 * host + 1]
}

#[test]
fn pause_prevents_loss_and_keeps_the_bottleneck_full() {
    let without = outcome(&two_into_one(FlowControl::None, 64_000), 1);
    assert!(dropped(&without) > 1_000);
    let with = outcome(
        &two_into_one(
            FlowControl::Pause(settings(32_000, 16_000, PauseScope::PerIngress)),
            80_000,
        ),
        1,
    );
    assert_eq!(dropped(&with), 0);
    let l1 = sent_by_switch(&with, 2).totals.l1_bytes() * 8;
    assert!(l1 as f64 > 0.995 * 50_000_000.0, "{l1}");
    // Each sender sent half of what it could: the rest is put down to pause.
    for host in 0..2 {
        let lost = with.ports[2 * host].bits_lost_to_pause() as f64;
        assert!((lost / 25_000_000.0 - 1.0).abs() < 0.05, "{lost}");
    }
}

#[test]
fn control_frames_come_two_a_cycle_of_filling_and_draining() {
    // Total occupancy fills at 10 Gb/s with both senders on and drains at 10 Gb/s with both off.
    let (high, low) = (60_000, 20_000);
    let o = outcome(
        &two_into_one(
            FlowControl::Pause(settings(high, low, PauseScope::Total)),
            1_500_000,
        ),
        1,
    );
    // Between the thresholds, and beyond each by what is under way: whole frames come in after XOFF, and the switch
    // learns of XON's effect a frame later. The cycle is known within four frames each way.
    let cycle = |bytes: f64| 2.0 * bytes * BYTE_PS as f64;
    let frames = sent_by_switch(&o, 0).control_frames as f64;
    let slowest = 2.0 * 5e9 / cycle((high - low) as f64 + 4.0 * 1_500.0);
    let fastest = 2.0 * 5e9 / cycle((high - low) as f64 - 1_500.0);
    assert!(
        (slowest..=fastest).contains(&frames),
        "{frames} not in {slowest}..{fastest}"
    );
}

#[test]
fn zero_loss_at_the_computed_headroom_and_loss_one_cell_below() {
    let (cell, len, delay_ps) = (64_u64, 1_500_u64, 500_000_u64);
    let cells = len.div_ceil(cell) * cell;
    let high = 10 * cells;
    let scenario = |memory_bytes: u64| {
        let mut s = star(3, Duration::from_ms(3));
        let pause = settings(high, high / 2, PauseScope::PerIngress);
        s.switches[0].flow_control = FlowControl::Pfc {
            settings: pause,
            priorities: 1 << 3,
        };
        s.switches[0].cell_bytes = cell as u32;
        s.switches[0].memory_bytes = memory_bytes;
        s.links[0].delay = Duration::from_ps(delay_ps);
        s.links[2].rate_bps = 1_000_000_000;
        let mut load = workload(vec![0], Destination::Host(2), full_rate(len as f64));
        load.marks = Marks {
            pcp: Some(3),
            ..Marks::default()
        };
        // Frames towards the sender, for which pause frames wait; the line has room for both.
        let kind = WorkloadKind::ConstantRate {
            frame_bytes: Law::Constant(len as f64),
            rate_bps: 9.5e9,
            flows: 1,
            burst: 1,
        };
        let mut back = workload(vec![1], Destination::Host(0), kind);
        back.marks = Marks {
            pcp: Some(0),
            ..Marks::default()
        };
        s.workloads = vec![load, back];
        s
    };
    // After the frame that lifts occupancy above high is in, the pause frame waits for a frame and its gap (1,520
    // byte times), is in 72 byte times and a delay later, and every frame that the sender has begun by then comes.
    // The sender's next frame began a gap after the last bit of the one that crossed, a delay ago.
    let heard_ps = (1_520 + 72) * BYTE_PS + 2 * delay_ps;
    let begun = (heard_ps - 12 * BYTE_PS) / (1_520 * BYTE_PS) + 1;
    // The frame that crosses, those that were begun, and two on the way back, of which one is being sent.
    let headroom = (1 + begun + 2) * cells;
    assert_eq!(dropped(&outcome(&scenario(high + headroom), 1)), 0);
    let peak = outcome(&scenario(1_500_000), 1).switches[0].memory_bytes_peak;
    assert!(
        peak > high + headroom - 2 * cells,
        "the formula is far above the need of {peak}"
    );
    assert_eq!(dropped(&outcome(&scenario(peak), 1)), 0);
    assert!(dropped(&outcome(&scenario(peak - cell), 1)) > 0);
}

#[test]
fn a_control_frame_waits_for_the_frame_on_the_wire_only_and_is_never_paused() {
    // Host 1 floods host 0 while host 0 is itself paused all the time: its XOFF still gets through at once.
    let mut s = two_into_one(
        FlowControl::Pause(settings(8_000, 4_000, PauseScope::Total)),
        1_500_000,
    );
    s.workloads
        .push(workload(vec![2], Destination::Host(0), full_rate(1_500.0)));
    let o = outcome(&s, 1);
    let data = sent_by_switch(&o, 0).totals.frames;
    let control = sent_by_switch(&o, 0).control_frames;
    assert!(data > 100 && control > 100, "{data} {control}");
    assert_eq!(dropped(&o), 0);
    for host in 0..3 {
        // At the end at most one is under way.
        let received = o.ports[2 * host].pause_frames_received;
        assert!(
            sent_by_switch(&o, host).control_frames - received <= 1,
            "a control frame was swallowed"
        );
    }
}

#[test]
fn a_pause_runs_out_after_its_quanta_and_refresh_keeps_it_up() {
    // One sender, a dead-slow output: the switch never falls below low.
    let scenario = |refresh_before| {
        let mut s = star(2, Duration::from_ms(2));
        let pause = PauseSettings {
            high_bytes: 3_000,
            low_bytes: 1_000,
            scope: PauseScope::Total,
            quanta: 1_000,
            refresh_before,
        };
        s.switches[0].flow_control = FlowControl::Pause(pause);
        s.links[1].rate_bps = 1_000_000;
        s.workloads = vec![workload(vec![0], Destination::Host(1), full_rate(1_500.0))];
        s
    };
    // 1,000 quanta of 512 bits at 10 Gb/s: 51.2 us, after which the sender goes on.
    let o = outcome(&scenario(None), 1);
    let paused = o.ports[0].paused_ps[0].1;
    assert_eq!(paused, 51_200_000);
    assert_eq!(sent_by_switch(&o, 0).control_frames, 1);
    let o = outcome(&scenario(Some(Duration::from_us(10))), 1);
    // Sent again every 41.2 us.
    let expected = (2_000_000_000 / 41_200_000) as u64;
    assert!(sent_by_switch(&o, 0).control_frames.abs_diff(expected) <= 1);
    assert!(o.ports[0].totals.frames <= 4, "{}", o.ports[0].totals.frames);
}

#[test]
fn a_pause_heard_during_the_gap_holds_the_next_frame() {
    // The sender's frames are back to back; the pause frame's last bit arrives within a gap (12 byte times) at some
    // cable length. Whatever the phase, after XOFF at most the frame on the wire ends.
    for delay_ps in (0..1_520 * BYTE_PS).step_by(4 * BYTE_PS as usize) {
        let mut s = star(2, Duration::from_us(60));
        s.switches[0].flow_control = FlowControl::Pause(settings(1_499, 0, PauseScope::Total));
        s.links[0].delay = Duration::from_ps(delay_ps);
        s.links[1].rate_bps = 10_000_000;
        s.workloads = vec![workload(vec![0], Destination::Host(1), full_rate(1_500.0))];
        let o = outcome(&s, 1);
        // XOFF leaves when the first frame's last bit is in; it is heard 72 byte times and a delay later.
        let heard = 1_508 * BYTE_PS + 2 * delay_ps + 72 * BYTE_PS;
        let begun = heard.div_ceil(1_520 * BYTE_PS);
        assert_eq!(o.ports[0].totals.frames, begun, "delay {delay_ps}");
    }
}

#[test]
fn the_reaction_time_lets_frames_through() {
    let count = |reaction_ns| {
        let mut s = star(2, Duration::from_us(60));
        s.switches[0].flow_control = FlowControl::Pause(settings(1_499, 0, PauseScope::Total));
        s.links[1].rate_bps = 10_000_000;
        s.hosts[0].nic.pause_reaction = Duration::from_ns(reaction_ns);
        s.workloads = vec![workload(vec![0], Destination::Host(1), full_rate(1_500.0))];
        outcome(&s, 1).ports[0].totals.frames
    };
    assert_eq!(count(0), 2);
    // 3,072 ns is the limit at 10 Gb/s, 60 quanta: two and a half frames more.
    assert_eq!(
        count(3_072),
        (1_580 * BYTE_PS + 3_072_000).div_ceil(1_520 * BYTE_PS)
    );
}

#[test]
fn a_paused_priority_leaves_the_others_alone() {
    let mut s = star(3, Duration::from_ms(4));
    s.policies = vec![by_priority(None, None)];
    s.switches[0].policy = Some(0);
    s.hosts[0].nic.policy = Some(0);
    let control = settings(20_000, 10_000, PauseScope::PerIngress);
    s.switches[0].flow_control = FlowControl::Pfc {
        settings: control,
        priorities: 1 << 3,
    };
    s.classes = vec!["bulk".into(), "urgent".into()];
    let rate = |bytes, rate_bps| WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(bytes),
        rate_bps,
        flows: 1,
        burst: 1,
    };
    let mut bulk = workload(vec![0, 1], Destination::Host(2), rate(1_500.0, 9e9));
    bulk.marks.pcp = Some(3);
    let mut urgent = workload(vec![0], Destination::Host(2), rate(64.0, 1e8));
    urgent.marks.pcp = Some(6);
    urgent.class = 1;
    s.workloads = vec![bulk, urgent];
    let o = outcome(&s, 1);
    assert_eq!(dropped(&o), 0);
    let worst = o.classes[1].counters.from_generation.max().unwrap();
    // One longest frame at the NIC and one at the switch stand before it, a control frame at neither.
    let bound = 2 * (1_504 + 20) * BYTE_PS + 2 * (8 + 64) * BYTE_PS + 84 * BYTE_PS;
    assert!(worst <= bound, "{worst} above {bound}");
    let gates: Vec<u8> = o.ports[0].paused_ps.iter().map(|p| p.0).collect();
    assert_eq!(gates, [3]);
}

#[test]
fn pause_per_output_and_credits_lose_nothing_and_block_no_other_output() {
    let senders = 4;
    let run = |control: FlowControl| {
        let mut s = star(senders, Duration::from_ms(6));
        s.policies = vec![per_destination(senders)];
        for host in &mut s.hosts {
            host.nic.policy = Some(0);
        }
        s.switches[0].flow_control = control;
        s.switches[0].memory_bytes = 64_000;
        // Everybody sends 6 Gb/s to host 0 and 3 Gb/s to the next but it.
        let kind = |rate_bps| WorkloadKind::ConstantRate {
            frame_bytes: Law::Constant(1_500.0),
            rate_bps,
            flows: 1,
            burst: 1,
        };
        s.workloads = vec![workload(vec![1, 2, 3], Destination::Host(0), kind(6e9))];
        for (from, to) in [(1, 2), (2, 3), (3, 1)] {
            let mut w = workload(vec![from], Destination::Host(to), kind(3e9));
            w.class = 1;
            s.workloads.push(w);
        }
        s.classes = vec!["jam".into(), "free".into()];
        outcome(&s, 1)
    };
    let per_output = FlowControl::PausePerOutput(settings(12_000, 6_000, PauseScope::Total));
    let credits = FlowControl::Credits {
        bytes_per_output: 4_600,
        return_bytes: 1_500,
    };
    for control in [per_output, credits] {
        let o = run(control.clone());
        assert_eq!(dropped(&o), 0, "{control:?}");
        let free = o.classes[1].counters.window.l1_bytes() as f64 * 8.0 / 6e-3;
        assert!(free > 0.98 * 9e9, "{control:?}: {free}");
        let jam = o.classes[0].counters.window.l1_bytes() as f64 * 8.0 / 6e-3;
        assert!(jam > 0.9 * 1e10, "{control:?}: {jam}");
    }
    let blocked = run(FlowControl::Pause(settings(12_000, 6_000, PauseScope::Total)));
    let free = blocked.classes[1].counters.window.l1_bytes() as f64 * 8.0 / 6e-3;
    assert!(free < 0.9 * 9e9, "plain PAUSE blocks everybody: {free}");
}

#[test]
fn one_control_frame_returns_the_credit_of_several_outputs() {
    let frames = |to: &[usize]| {
        let mut s = star(4, Duration::from_ms(2));
        s.policies = vec![per_destination(4)];
        s.hosts[0].nic.policy = Some(0);
        s.switches[0].flow_control = FlowControl::Credits {
            bytes_per_output: 16_000,
            return_bytes: 6_000,
        };
        let kind = WorkloadKind::ConstantRate {
            frame_bytes: Law::Constant(1_500.0),
            rate_bps: 9e9 / to.len() as f64,
            flows: 1,
            burst: 1,
        };
        s.workloads = to
            .iter()
            .map(|&to| workload(vec![0], Destination::Host(to), kind.clone()))
            .collect();
        let o = outcome(&s, 1);
        assert_eq!(dropped(&o), 0);
        let sent = o.ports[1].control_frames;
        assert!(sent - o.ports[0].pause_frames_received <= 1, "each counts once");
        sent
    };
    // One output: a frame for every four of 1,500 B. Three outputs in turn: one output has its four together when the
    // others have about as many, so that a frame returns ten to twelve.
    let (one, three) = (frames(&[1]), frames(&[1, 2, 3]));
    assert!(2 * three < one && 4 * three > one, "{one} and {three}");
}

/// One queue for each destination host; its gate is the switch's output.
fn per_destination(hosts: usize) -> clearway_policy::CompiledPolicy {
    use clearway_core::plan::{IpPrefix, RuleMatch};
    let mut policy = by_priority(Some([1; 8]), None);
    for (host, rule) in policy.plan.rules.iter_mut().enumerate() {
        let address = crate::net::host_ip(host as u32);
        let prefix = IpPrefix {
            version: 4,
            address,
            length: 32,
        };
        rule.matches = RuleMatch {
            dst_ip: Some(prefix),
            ..RuleMatch::default()
        };
    }
    assert!(hosts <= policy.plan.rules.len());
    policy
}

#[test]
fn a_pause_passes_from_switch_to_switch() {
    let mut s = star(3, Duration::from_ms(4));
    s.switches.push(switch("t"));
    // Hosts 0 and 1 at s, host 2 at t with a slow link.
    s.links[2] = link(NodeRef::Host(2), NodeRef::Switch(1), 0);
    s.links[2].rate_bps = 1_000_000_000;
    s.links.push(link(NodeRef::Switch(0), NodeRef::Switch(1), 100));
    for switch in &mut s.switches {
        switch.flow_control = FlowControl::Pause(settings(30_000, 15_000, PauseScope::PerIngress));
        switch.memory_bytes = 100_000;
    }
    s.workloads = vec![workload(vec![0, 1], Destination::Host(2), full_rate(1_000.0))];
    let o = outcome(&s, 1);
    assert_eq!(dropped(&o), 0);
    assert!(o.ports[6].lost_to_pause_ps > 0, "switch s was paused by t");
    assert!(o.ports[0].lost_to_pause_ps > 0, "host 0 was paused by s");
}
