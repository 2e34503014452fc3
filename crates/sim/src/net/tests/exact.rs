//! An idle network's latency equals the formula to the picosecond.

use super::scenarios::*;
use crate::results::{CaptureRecord, Observer};
use clearway_core::{Duration, FlowKey};
use clearway_policy::scenario::{Charge, Destination, NodeRef, ReplayFrame, Scenario, WorkloadKind};

/// One frame of each length, 100 us apart.
fn single_frames(lengths: &[u32]) -> WorkloadKind {
    let frames = lengths.iter().zip(0..).map(|(&bytes, n)| ReplayFrame {
        at: Duration::from_us(100 * n),
        bytes,
        key: FlowKey {
            dst_port: n as u16,
            ip_version: 4,
            ..FlowKey::default()
        },
    });
    WorkloadKind::Replay {
        frames: frames.collect(),
    }
}

fn line(switches: usize) -> Scenario {
    let mut scenario = star(2, Duration::from_ms(1));
    scenario.switches = (0..switches).map(|s| switch(&format!("s{s}"))).collect();
    scenario.links.clear();
    let mut before = NodeRef::Host(0);
    for s in 0..switches {
        scenario.links.push(link(before, NodeRef::Switch(s), 50));
        before = NodeRef::Switch(s);
    }
    scenario.links.push(link(before, NodeRef::Host(1), 50));
    scenario.workloads = vec![workload(
        vec![0],
        Destination::Host(1),
        single_frames(&[64, 1_518, 9_018]),
    )];
    scenario
}

fn latencies(scenario: &Scenario) -> Vec<u64> {
    outcome(scenario, 1)
        .flows
        .iter()
        .map(|f| f.counters.latency_min_ps)
        .collect()
}

#[test]
fn store_and_forward_latency_is_the_formula_to_the_picosecond() {
    for switches in 0..3_usize {
        let mut scenario = line(switches);
        for switch in &mut scenario.switches {
            switch.forwarding_delay = Duration::from_ns(700);
        }
        scenario.hosts[0].stack_delay_tx = Duration::from_ns(1_300);
        scenario.hosts[1].stack_delay_rx = Duration::from_ns(900);
        let hops = switches as u64 + 1;
        let expected: Vec<u64> = [64, 1_518, 9_018]
            .iter()
            .map(|len| {
                1_300_000 + 900_000 + hops * ((8 + len) * BYTE_PS + 50_000) + switches as u64 * 700_000
            })
            .collect();
        assert_eq!(latencies(&scenario), expected, "{switches} switches");
    }
}

#[test]
fn the_moment_of_charging_changes_nothing_in_an_idle_network() {
    let plain = latencies(&line(2));
    for charge in [Charge::FirstBit, Charge::PerCell] {
        let mut scenario = line(2);
        for switch in &mut scenario.switches {
            switch.charge = charge;
            switch.cell_bytes = 208;
        }
        assert_eq!(latencies(&scenario), plain, "{charge:?}");
        assert_eq!(
            outcome(&scenario, 1).switches[0].memory_bytes_peak,
            9_018_u64.div_ceil(208) * 208
        );
    }
}

#[test]
fn cut_through_pays_one_transmission_and_a_header_for_each_switch() {
    let mut scenario = line(2);
    for switch in &mut scenario.switches {
        switch.cut_through = true;
        switch.forwarding_delay = Duration::from_ns(10);
    }
    let expected: Vec<u64> = [64, 1_518, 9_018]
        .iter()
        .map(|len| (8 + len) * BYTE_PS + 3 * 50_000 + 2 * ((8 + 14) * BYTE_PS + 10_000))
        .collect();
    assert_eq!(latencies(&scenario), expected);
    // A faster egress would run dry: stored and forwarded there, and cut through again at the next.
    scenario.links[1].rate_bps = 40_000_000_000;
    for switch in &mut scenario.switches {
        switch.forwarding_delay = Duration::from_ns(5);
    }
    let stored = (8 + 64) * BYTE_PS + 50_000 + 5_000;
    let cut = 22 * BYTE_PS / 4 + 50_000 + 5_000;
    assert_eq!(
        latencies(&scenario)[0],
        stored + cut + (8 + 64) * BYTE_PS + 50_000
    );
}

#[test]
fn a_clock_offset_scales_the_line_rate() {
    let mut scenario = line(0);
    scenario.hosts[0].clock_ppm = 100_000;
    scenario.workloads[0].kind = single_frames(&[1_092]);
    assert_eq!(latencies(&scenario), [1_100 * BYTE_PS * 10 / 11 + 50_000]);
}

#[test]
fn a_host_interface_adds_its_framing_and_its_latency() {
    let mut scenario = line(0);
    let interface = clearway_policy::scenario::HostInterface {
        rate_bps: 32_000_000_000,
        packet_overhead_bytes: 24,
        packet_payload_bytes: 256,
        transfer_bytes_max: 512,
        latency: Duration::from_ns(300),
        receive_rate_bps: None,
    };
    for host in &mut scenario.hosts {
        host.nic.host_interface = Some(interface.clone());
    }
    scenario.workloads[0].kind = single_frames(&[1_518]);
    // 512 + 512 + 494 bytes in six packets of at most 256: six framings of 24 bytes, 250 ps a byte.
    let bus = (1_518 + 6 * 24) * 250 + 300_000;
    assert_eq!(latencies(&scenario), [2 * bus + (8 + 1_518) * BYTE_PS + 50_000]);
}

#[test]
fn a_capture_names_every_frame_at_its_first_bit() {
    #[derive(Default)]
    struct Capture(Vec<CaptureRecord>);
    impl Observer for Capture {
        fn frames(&mut self, records: &[CaptureRecord]) {
            self.0.extend_from_slice(records);
        }
    }
    let mut scenario = line(1);
    scenario.links[1].ends[0].capture = true;
    let mut capture = Capture::default();
    crate::run(&scenario, 1, &mut capture).unwrap();
    let first = (8 + 64) * BYTE_PS + 50_000;
    let seen: Vec<(u64, u32, u32)> = capture
        .0
        .iter()
        .map(|r| (r.at.as_ps(), r.bytes, r.line))
        .collect();
    assert_eq!(seen[0], (first, 64, 2));
    assert_eq!(seen.len(), 3);
}
