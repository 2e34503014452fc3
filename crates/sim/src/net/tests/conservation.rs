//! Properties over random scenarios: nothing is made or lost without being counted; the same seed, the same run.

use super::scenarios::*;
use crate::Outcome;
use crate::engine::Stream;
use clearway_core::Duration;
use clearway_policy::scenario::{
    Charge, Destination, FlowControl, HostInterface, Law, NodeRef, PauseScope, PauseSettings, Scenario,
    TcpSettings, Threshold, WorkloadKind,
};

const KINDS: u64 = 7;

fn tcp() -> TcpSettings {
    TcpSettings {
        mss_bytes: 1_460,
        initial_window_segments: 10,
        slow_start_threshold_bytes: u64::MAX,
        increase_bytes: 1_460,
        send_buffer_bytes: 200_000,
        receive_buffer_bytes: 200_000,
        rto_min: Duration::from_us(500),
        delayed_ack: Duration::from_us(100),
        segmentation_bytes: 16_000,
        ecn: false,
        sack: true,
        option_bytes: 0,
        ..TcpSettings::default()
    }
}

fn random_kind(r: &mut Stream) -> WorkloadKind {
    let frame_bytes = match r.below(3) {
        0 => Law::Constant(64.0 + r.below(1_400) as f64),
        1 => Law::Uniform(64.0, 1_500.0),
        _ => Law::Empirical(vec![(64.0, 3.0), (576.0, 1.0), (1_500.0, 2.0)]),
    };
    match r.below(KINDS) {
        0 => WorkloadKind::Bursty {
            burst_bytes: Law::Geometric(9_000.0),
            frame_bytes,
            load: 0.3 + 0.6 * r.unit(),
            blocking: r.chance(0.5),
        },
        1 => WorkloadKind::Poisson {
            frame_bytes,
            rate_fps: 4e5 * r.unit() + 1e4,
        },
        2 => WorkloadKind::ConstantRate {
            frame_bytes,
            rate_bps: 2e9,
            flows: 1 + r.below(4) as u32,
            burst: 1,
        },
        3 => WorkloadKind::OnOff {
            frame_bytes,
            rate_bps: 8e9,
            on: Law::Exponential(2e-5),
            off: Law::Exponential(4e-5),
        },
        4 => WorkloadKind::RequestResponse {
            request_bytes: 64,
            response_bytes: 900,
            outstanding: 3,
        },
        5 => WorkloadKind::OpenLoop {
            request_bytes: 200,
            response_bytes: if r.chance(0.5) { 1_000 } else { 0 },
            rate_fps: 1e5,
            poisson: r.chance(0.5),
        },
        _ => WorkloadKind::TcpBulk {
            connections: 2,
            tcp: tcp(),
            bytes: None,
        },
    }
}

fn random_control(r: &mut Stream, ports: usize) -> FlowControl {
    let scope = if r.chance(0.5) {
        PauseScope::Total
    } else {
        PauseScope::PerIngress
    };
    let high = 5_000 + r.below(40_000);
    let settings = PauseSettings {
        high_bytes: high,
        low_bytes: high / 2,
        scope,
        quanta: 1 + r.below(2_000) as u16,
        refresh_before: r.chance(0.5).then(|| Duration::from_us(r.below(20))),
    };
    assert!(ports <= 64);
    match r.below(5) {
        0 => FlowControl::None,
        1 => FlowControl::Pause(settings),
        2 => FlowControl::Pfc {
            settings,
            priorities: r.below(256) as u8,
        },
        3 => FlowControl::PausePerOutput(settings),
        _ => FlowControl::Credits {
            bytes_per_output: 70_000,
            return_bytes: 2_000,
        },
    }
}

/// Hosts at two joined switches, everything drawn.
pub(super) fn random_scenario(r: &mut Stream) -> Scenario {
    let hosts = 3 + r.below(4) as usize;
    let mut s = star(hosts, Duration::from_us(400));
    s.flow_histograms = r.chance(0.3);
    s.flow_jitter = s.flow_histograms;
    s.sample_interval = r.chance(0.5).then(|| Duration::from_us(7));
    s.policies = vec![
        by_priority(None, Some(6_000_000_000)),
        by_priority(Some([3, 1, 4, 1, 5, 9, 2, 6]), None),
    ];
    let policy = |r: &mut Stream| [None, Some(0), Some(1)][r.below(3) as usize];
    s.switches.push(switch("t"));
    s.links.push(link(NodeRef::Switch(0), NodeRef::Switch(1), 300));
    if r.chance(0.5) {
        s.links.push(link(NodeRef::Switch(1), NodeRef::Switch(0), 100));
    }
    for h in 0..hosts {
        if r.chance(0.5) {
            s.links[h].ends[1].node = NodeRef::Switch(1);
        }
        s.links[h].delay = Duration::from_ns(r.below(2_000));
        let host = &mut s.hosts[h];
        host.stack_delay_tx = Duration::from_ns(r.below(2) * r.below(3_000));
        host.stack_delay_rx = Duration::from_ns(r.below(2) * r.below(3_000));
        host.stack_jitter = Duration::from_ns(r.below(2) * 200);
        host.clock_ppm = r.below(201) as i32 - 100;
        host.nic.policy = policy(r);
        host.nic.transmit_fifo_bytes = r.below(2) * 4_096;
        host.nic.pause_reaction = Duration::from_ns(r.below(2) * 1_000);
        if r.chance(0.4) {
            host.nic.receive_policy = policy(r);
            host.nic.receive_buffer_bytes = 5_000 + r.below(20_000);
            host.nic.host_interface = Some(HostInterface {
                rate_bps: 12_000_000_000,
                packet_overhead_bytes: 24,
                packet_payload_bytes: 256,
                transfer_bytes_max: 512 << r.below(7),
                latency: Duration::from_ns(r.below(2) * 250),
                receive_rate_bps: r.chance(0.5).then_some(4_000_000_000),
            });
        }
    }
    for switch in &mut s.switches {
        switch.policy = policy(r);
        switch.memory_bytes = 20_000 + r.below(100_000);
        switch.charge = [Charge::FirstBit, Charge::PerCell, Charge::LastBit][r.below(3) as usize];
        switch.cell_bytes = [1, 64, 208][r.below(3) as usize];
        switch.threshold = match r.below(3) {
            0 => Threshold::Shared,
            1 => Threshold::Static(10_000),
            _ => Threshold::Dynamic {
                numerator: 1,
                denominator: 2,
            },
        };
        switch.cut_through = r.chance(0.3);
        switch.forwarding_delay = Duration::from_ns(r.below(2) * 500);
        switch.flow_control = random_control(r, hosts + 2);
    }
    for _ in 0..1 + r.below(4) {
        let kind = random_kind(r);
        let group = r.chance(0.2)
            && !matches!(
                kind,
                WorkloadKind::TcpBulk { .. } | WorkloadKind::RequestResponse { .. }
            );
        let one_way = !matches!(kind, WorkloadKind::OpenLoop { response_bytes, .. } if response_bytes > 0);
        let to = if group && one_way {
            Destination::Multicast((1..hosts).collect())
        } else if r.chance(0.5) {
            Destination::UniformOthers
        } else {
            Destination::Skewed {
                host: 0,
                probability: 0.4,
            }
        };
        let mut w = workload((0..hosts).collect(), to, kind);
        w.marks.pcp = Some(r.below(8) as u8);
        w.marks.pcp_uniform = r.chance(0.3);
        s.workloads.push(w);
    }
    s
}

pub(super) fn sums(o: &Outcome) -> (u64, u64, u64) {
    let mut sums = (0, 0, 0);
    for class in &o.classes {
        sums.0 += class.counters.offered.frames;
        sums.1 += class.counters.delivered.frames;
        sums.2 += class.counters.dropped.frames;
    }
    sums
}

#[test]
fn every_frame_is_delivered_dropped_or_still_there() {
    let mut r = Stream::new(7, 0, "random scenarios");
    let (mut lossy, mut groups, mut paused, mut moved) = (0, 0, 0, 0);
    for round in 0..150 {
        let s = random_scenario(&mut r);
        let o = outcome(&s, round);
        let (offered, delivered, dropped) = sums(&o);
        let group = s
            .workloads
            .iter()
            .any(|w| matches!(w.to, Destination::Multicast(_)));
        if group {
            // A group's frame still before a branch stands for several offers.
            assert!(
                offered >= delivered + dropped + o.engine.frames_left,
                "round {round}"
            );
            let most = delivered + dropped + o.engine.frames_left * s.hosts.len() as u64;
            assert!(offered <= most, "round {round}: {offered} above {most}");
        } else {
            assert_eq!(
                offered,
                delivered + dropped + o.engine.frames_left,
                "round {round}: {s:#?}"
            );
        }
        let causes: u64 = o
            .switches
            .iter()
            .map(|s| &s.causes)
            .chain(o.hosts.iter().map(|h| &h.causes))
            .flatten()
            .sum();
        assert_eq!(causes, dropped, "round {round}");
        let by_flow: u64 = o.flows.iter().map(|f| f.counters.delivered_frames).sum();
        assert_eq!(by_flow, delivered, "round {round}");
        for (switch, settings) in o.switches.iter().zip(&s.switches) {
            assert!(switch.memory_bytes_peak <= settings.memory_bytes, "round {round}");
        }
        lossy += u32::from(dropped > 0);
        groups += u32::from(group);
        paused += u32::from(o.ports.iter().any(|p| p.lost_to_pause_ps > 0));
        moved += u32::from(delivered > 100);
    }
    assert!(
        lossy > 20 && groups > 5 && paused > 10 && moved > 100,
        "{lossy} {groups} {paused} {moved}"
    );
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let mut r = Stream::new(11, 0, "random scenarios");
    let mut differ = 0;
    for round in 0..20 {
        let s = random_scenario(&mut r);
        let (a, b, c) = (outcome(&s, round), outcome(&s, round), outcome(&s, round + 1));
        assert_eq!(a.hash(), b.hash());
        assert_eq!(a, b);
        differ += u32::from(a.hash() != c.hash());
    }
    assert!(differ >= 18, "{differ}");
}

#[test]
fn a_stopped_run_keeps_what_is_done() {
    struct Once(u32);
    impl crate::Observer for Once {
        fn progress(&mut self, _: crate::Progress) -> bool {
            self.0 += 1;
            self.0 < 2
        }
    }
    let mut s = star(4, Duration::from_ms(100));
    let kind = WorkloadKind::Poisson {
        frame_bytes: Law::Constant(64.0),
        rate_fps: 1e6,
    };
    s.workloads = vec![workload(vec![0, 1, 2, 3], Destination::UniformOthers, kind)];
    let o = crate::run(&s, 1, &mut Once(0)).unwrap();
    assert!(o.stopped && o.simulated < s.duration && sums(&o).1 > 1_000);
}

#[test]
fn what_cannot_run_is_refused_with_its_name() {
    let load = || {
        let kind = WorkloadKind::Poisson {
            frame_bytes: Law::Constant(64.0),
            rate_fps: 1e6,
        };
        workload(vec![0], Destination::Host(1), kind)
    };
    let refusal = |change: &dyn Fn(&mut Scenario)| {
        let mut s = star(2, Duration::from_ms(1));
        s.workloads = vec![load()];
        change(&mut s);
        crate::run(&s, 1, &mut crate::Unobserved)
            .map(|o| o.seed)
            .unwrap_err()
    };
    assert_eq!(refusal(&|s| s.links[1].rate_bps = 0).field, "rate");
    assert_eq!(refusal(&|s| drop(s.links.pop())).field, "links");
    assert_eq!(refusal(&|s| s.warmup = s.duration).field, "warmup");
    assert_eq!(refusal(&|s| s.hosts[0].nic.policy = Some(3)).field, "policy");
    assert_eq!(refusal(&|s| s.workloads[0].to = Destination::Host(0)).field, "to");
    let apart = refusal(&|s| {
        s.switches.push(switch("t"));
        s.links[1].ends[1].node = NodeRef::Switch(1);
    });
    assert!(
        apart
            .to_string()
            .contains("nothing leads from host h0 to host h1"),
        "{apart}"
    );
    let starved = refusal(&|s| {
        s.switches[0].flow_control = FlowControl::Credits {
            bytes_per_output: 100,
            return_bytes: 50,
        };
    });
    assert_eq!(starved.field, "bytes_per_output");
}
