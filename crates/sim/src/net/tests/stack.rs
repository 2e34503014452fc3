//! Facts about a host's processors, exact to the picosecond.

use super::scenarios::*;
use crate::Outcome;
use clearway_core::{Duration, FlowKey};
use clearway_policy::scenario::{
    Coalescing, Costs, Cpu, Destination, Law, NodeRef, ReplayFrame, Scenario, Stack, StackKind, TcpSettings,
    Wake, WorkloadKind,
};

const CABLE_PS: u64 = 50_000;
/// Ethernet, IPv4 and UDP headers and FCS, bytes.
const HEADERS: u64 = 46;

fn ns(n: u64) -> Duration {
    Duration::from_ns(n)
}

fn costs(per_message: u64, per_packet: u64, copy_bps: Option<u64>) -> Costs {
    Costs {
        per_message: ns(per_message),
        per_packet: ns(per_packet),
        per_segment: ns(per_packet),
        per_ack: ns(150),
        copy_bps,
    }
}

/// A stack that polls: 300 ns and 1 ns a byte to receive, 200 ns and 0.5 ns a byte to send.
fn polling() -> Stack {
    Stack {
        kind: StackKind::UserSpace,
        cpus: vec![Cpu {
            weight: 1,
            receive: None,
        }],
        transmit: costs(120, 80, Some(16_000_000_000)),
        receive: costs(100, 200, Some(8_000_000_000)),
        wake: Wake::Poll,
        receive_ring_frames: 1_000,
        transmit_ring_frames: 0,
        merge_bytes: 0,
        budget: 1,
    }
}

fn interrupted(receive: Coalescing) -> Stack {
    Stack {
        kind: StackKind::Kernel,
        wake: Wake::Interrupt {
            cost: ns(2_000),
            receive,
            transmit: None,
        },
        budget: 64,
        ..polling()
    }
}

fn after(frames: u32, time: Duration) -> Coalescing {
    Coalescing { frames, time }
}

/// Two hosts on one cable; the first sends frames of these lengths at these instants (nanoseconds).
fn pair(frames: &[(u64, u32)]) -> Scenario {
    let mut s = star(2, Duration::from_ms(20));
    s.switches.clear();
    s.links = vec![link(NodeRef::Host(0), NodeRef::Host(1), CABLE_PS / 1_000)];
    let frames = frames.iter().zip(0..).map(|(&(at, bytes), n)| ReplayFrame {
        at: ns(at),
        bytes,
        key: FlowKey {
            dst_port: n,
            ip_version: 4,
            ..FlowKey::default()
        },
    });
    let kind = WorkloadKind::Replay {
        frames: frames.collect(),
    };
    s.workloads = vec![workload(vec![0], Destination::Host(1), kind)];
    s
}

fn with_stack(mut s: Scenario, host: usize, stack: Stack) -> Scenario {
    s.hosts[host].stack = Some(Box::new(stack));
    s
}

fn latencies(o: &Outcome) -> Vec<u64> {
    o.flows.iter().map(|f| f.counters.latency_min_ps).collect()
}

fn wire_ps(len: u64) -> u64 {
    (8 + len) * BYTE_PS + CABLE_PS
}

#[test]
fn an_idle_polled_frame_takes_the_wire_and_both_costs_to_the_picosecond() {
    let mut s = pair(&[(0, 64), (100_000, 1_518)]);
    s.hosts[0].stack_delay_tx = ns(700);
    s.hosts[1].stack_delay_rx = ns(900);
    let s = with_stack(with_stack(s, 0, polling()), 1, polling());
    let expected = [64, 1_518].map(|len| {
        let payload = len - HEADERS;
        (200 + 300 + 700 + 900) * 1_000 + payload * 500 + payload * 1_000 + wire_ps(len)
    });
    let o = outcome(&s, 1);
    assert_eq!(latencies(&o), expected);
    let usage = o.hosts[1].cpus[0].usage;
    assert_eq!(usage.receive_ps, 2 * 300_000 + (64 + 1_518 - 2 * HEADERS) * 1_000);
    assert_eq!(
        (usage.packets, usage.interrupts, usage.ring_frames_max),
        (2, 0, 1)
    );
    assert_eq!(
        o.hosts[0].cpus[0].usage.transmit_ps,
        2 * 200_000 + (64 + 1_518 - 2 * HEADERS) * 500
    );
    assert!((o.hosts[1].cpus[0].taken(s.duration) - 1.0).abs() < 1e-12);
    let useful = usage.receive_ps as f64 / s.duration.as_ps() as f64;
    assert!((o.hosts[1].cpus[0].useful(s.duration) - useful).abs() < 1e-15);
}

#[test]
fn an_interrupt_adds_its_cost_and_the_coalescing_time() {
    let frame = 300_000 + (100 - HEADERS) * 1_000 + wire_ps(100);
    let at_once = with_stack(pair(&[(0, 100)]), 1, interrupted(after(1, ns(9_000))));
    assert_eq!(latencies(&outcome(&at_once, 1)), [frame + 2_000_000]);
    let later = with_stack(pair(&[(0, 100)]), 1, interrupted(after(u32::MAX, ns(9_000))));
    assert_eq!(latencies(&outcome(&later, 1)), [frame + 2_000_000 + 9_000_000]);
    let o = outcome(&later, 1);
    let usage = o.hosts[1].cpus[0].usage;
    assert_eq!((usage.interrupts, usage.interrupt_ps), (1, 2_000_000));
    let busy = usage.busy_ps() as f64 / later.duration.as_ps() as f64;
    assert!((o.hosts[1].cpus[0].taken(later.duration) - busy).abs() < 1e-15);
}

#[test]
fn coalescing_by_count_and_by_time_comes_exactly_then() {
    // Six frames 10 us apart; an interrupt at the fourth, which lets the first three wait; the last two wait for the time.
    let frames: Vec<(u64, u32)> = (0..6).map(|n| (10_000 * n, 64)).collect();
    let s = with_stack(pair(&frames), 1, interrupted(after(4, ns(50_000))));
    let one = 300_000 + (64 - HEADERS) * 1_000;
    let arrives = |n: u64| 10_000_000 * n + wire_ps(64);
    let told = arrives(3) + 2_000_000;
    let timed = arrives(4) + 50_000_000 + 2_000_000;
    let done = [
        told + one,
        told + 2 * one,
        told + 3 * one,
        told + 4 * one,
        timed + one,
        timed + 2 * one,
    ];
    let expected: Vec<u64> = done.iter().zip(0..).map(|(at, n)| at - 10_000_000 * n).collect();
    let o = outcome(&s, 1);
    assert_eq!(latencies(&o), expected);
    assert_eq!(o.hosts[1].cpus[0].usage.interrupts, 2);
}

#[test]
fn frames_that_come_while_the_ring_is_emptied_need_no_interrupt() {
    // One every 318 ns, the time that one costs: the processor is told once and finds another each time.
    let frames: Vec<(u64, u32)> = (0..50).map(|n| (318 * n, 64)).collect();
    let s = with_stack(pair(&frames), 1, interrupted(after(1, ns(0))));
    let o = outcome(&s, 1);
    assert_eq!(o.hosts[1].cpus[0].usage.interrupts, 1);
    assert_eq!(latencies(&o), [2_000_000 + 318_000 + wire_ps(64); 50]);
}

/// The first frame of an endless burst that finds `ring` places taken, counted from 1: frame k comes at (k - 1) gaps,
/// when floor((k - 1) gap / cost) frames have left.
fn first_lost(ring: u64, gap_ps: u64, cost_ps: u64) -> u64 {
    (1..)
        .find(|k| (k - 1) - (k - 1) * gap_ps / cost_ps >= ring)
        .unwrap_or(0)
}

#[test]
fn a_ring_under_a_burst_loses_its_first_frame_where_the_drain_rate_says() {
    // 110 B frames back to back come every 104 ns.
    for (ring, cost) in [(19, 598), (50, 208), (64, 1_000), (7, 105), (1, 300)] {
        let lost = first_lost(ring, 104_000, cost * 1_000);
        // One frame more or less at the processor is worth one place of the ring.
        let place = 1.0 / (1.0 - 104.0 / cost as f64);
        let fluid = ring as f64 * place;
        assert!(
            (lost as f64 - fluid).abs() <= 1.0 + place,
            "{lost} is not {fluid}"
        );
        let burst = |count: u64| {
            let frames: Vec<(u64, u32)> = (0..count).map(|n| (104 * n, 110)).collect();
            let mut stack = polling();
            stack.receive = costs(0, cost, None);
            stack.receive_ring_frames = ring as u32;
            let o = outcome(&with_stack(pair(&frames), 1, stack), 1);
            (
                o.classes[0].counters.dropped.frames,
                o.hosts[1].cpus[0].usage.ring_frames_max,
            )
        };
        assert_eq!(burst(lost - 1), (0, ring), "ring {ring}, {cost} ns");
        assert_eq!(burst(lost), (1, ring), "ring {ring}, {cost} ns");
    }
}

#[test]
fn a_process_that_answers_each_request_at_once_answers_in_turn() {
    // Three requests back to back: received, answered, received, answered, ... by one processor.
    let mut s = pair(&[]);
    s.workloads[0].kind = WorkloadKind::RequestResponse {
        request_bytes: 64,
        response_bytes: 64,
        outstanding: 3,
    };
    s.workloads[0].stop = Some(Duration::from_ps(1));
    let mut stack = polling();
    (stack.receive, stack.transmit) = (costs(0, 400, None), costs(0, 100, None));
    let o = outcome(&with_stack(s, 1, stack), 1);
    let round_trips = &o.calls[0].calls.round_trips;
    // The wire both ways, then 500 ns for each request before; requests leave 67.2 ns apart.
    let first = 2 * wire_ps(64) + 500_000;
    assert_eq!(round_trips.min(), Some(first));
    assert_eq!(o.hosts[1].cpus[0].usage.busy_ps(), 3 * 500_000);
    let mean = round_trips.mean().unwrap_or(0.0);
    assert!((mean - (first + 500_000) as f64).abs() < 1.0, "{mean}");
}

#[test]
fn a_full_transmit_ring_makes_the_stack_wait_and_loses_nothing() {
    let frames: Vec<(u64, u32)> = (0..40).map(|_| (0, 1_518)).collect();
    let mut stack = polling();
    stack.transmit_ring_frames = 2;
    let o = outcome(&with_stack(pair(&frames), 0, stack.clone()), 1);
    assert_eq!(o.classes[0].counters.delivered.frames, 40);
    assert!(
        o.ports[0].backlog_bytes_max <= 2 * 1_518,
        "{}",
        o.ports[0].backlog_bytes_max
    );
    // Places that are only free after an interrupt 100 us after a frame was sent: two frames each time.
    stack.wake = Wake::Interrupt {
        cost: ns(2_000),
        receive: after(1, ns(0)),
        transmit: Some(after(u32::MAX, ns(100_000))),
    };
    let s = with_stack(pair(&frames), 0, stack);
    let o = outcome(&s, 1);
    assert_eq!(o.classes[0].counters.delivered.frames, 40);
    // Each round: one frame's cost until the first is sent, 100 us, the interrupt.
    let round = 200_000 + (1_518 - HEADERS) * 500 + 100_000_000 + 2_000_000;
    let last = 19 * round + 2 * (200_000 + (1_518 - HEADERS) * 500);
    let longest = o.flows.iter().map(|f| f.counters.latency_max_ps).max();
    let waits = 1_538 * BYTE_PS - (200_000 + (1_518 - HEADERS) * 500);
    assert_eq!(longest, Some(last + waits + wire_ps(1_518)));
    assert_eq!(o.hosts[0].cpus[0].usage.interrupts, 20);
}

#[test]
fn flows_are_spread_over_processors_by_their_shares_and_answers_stay_where_requests_are() {
    let mut s = star(2, Duration::from_ms(4));
    let kind = WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(64.0),
        rate_bps: 336_000.0,
        flows: 4_000,
        burst: 1,
    };
    s.workloads = vec![workload(vec![0], Destination::Host(1), kind)];
    let mut stack = polling();
    stack.cpus = [1, 1, 2, 4]
        .map(|weight| Cpu {
            weight,
            receive: None,
        })
        .to_vec();
    let o = outcome(&with_stack(s.clone(), 1, stack.clone()), 1);
    let frames: Vec<f64> = o.hosts[1].cpus.iter().map(|c| c.usage.frames as f64).collect();
    let all: f64 = frames.iter().sum();
    for (got, share) in frames.iter().zip([0.125, 0.125, 0.25, 0.5]) {
        assert!((got / all - share).abs() < 0.02, "{frames:?}");
    }
    // A hundred closed loops: whatever processor took a request sends its answer.
    let calls = WorkloadKind::RequestResponse {
        request_bytes: 64,
        response_bytes: 64,
        outstanding: 100,
    };
    s.workloads = vec![workload(vec![0], Destination::Host(1), calls)];
    let o = outcome(&with_stack(s, 1, stack), 1);
    for cpu in &o.hosts[1].cpus {
        let (asked, answered) = (cpu.usage.receive_ps / 318, cpu.usage.transmit_ps / 209);
        assert!(
            asked > 0 && asked.abs_diff(answered) <= 1_000 * 2,
            "{asked} {answered}"
        );
    }
}

fn bulk() -> WorkloadKind {
    WorkloadKind::TcpBulk {
        connections: 1,
        tcp: TcpSettings {
            receive_buffer_bytes: 1 << 20,
            send_buffer_bytes: 1 << 20,
            ..TcpSettings::default()
        },
        bytes: None,
    }
}

#[test]
fn offload_spends_nothing_on_segments_and_merging_takes_several_as_one() {
    let run = |stack: Stack| {
        let mut s = pair(&[]);
        s.workloads[0].kind = bulk();
        let o = outcome(&with_stack(s, 1, stack), 1);
        (o.hosts[1].cpus[0].usage, o.tcp[0].delivered_bytes)
    };
    let (offload, bytes) = run(Stack {
        kind: StackKind::Offload,
        ..polling()
    });
    assert_eq!((offload.busy_ps(), offload.frames), (0, 0));
    assert!(bytes > 15_000_000, "{bytes}");
    let plain = Stack {
        receive: costs(0, 500, None),
        ..interrupted(after(8, ns(20_000)))
    };
    let (one_by_one, _) = run(plain.clone());
    assert_eq!(one_by_one.packets, one_by_one.frames);
    assert!(one_by_one.transmit_ps > 0, "acknowledgements cost time");
    let merging = Stack {
        merge_bytes: 65_536,
        ..plain
    };
    let (merged, _) = run(merging);
    assert!(merged.frames > 4 * merged.packets, "{merged:?}");
    assert!(
        merged.receive_ps * 4 < one_by_one.receive_ps,
        "{merged:?} {one_by_one:?}"
    );
}
