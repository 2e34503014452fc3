//! Messages over each transport: exact one-way times, closed loops, streams at the line's rate, loss.

use super::scenarios::*;
use crate::results::Messages;
use clearway_core::Duration;
use clearway_core::plan::{Mark, MarkAt, NodeKind};
use clearway_policy::scenario::{
    DcqcnSettings, Destination, Law, MessagePattern, MessageTransport, RoceSettings, Scenario, TcpSettings,
    WorkloadKind,
};

const UDP: MessageTransport = MessageTransport::Udp { mtu_bytes: 1_500 };

fn tcp() -> MessageTransport {
    MessageTransport::Tcp(TcpSettings::default())
}

fn iwarp() -> MessageTransport {
    MessageTransport::Iwarp(TcpSettings::default())
}

fn messages(
    transport: MessageTransport,
    bytes: f64,
    reply_bytes: u32,
    pattern: MessagePattern,
) -> WorkloadKind {
    WorkloadKind::Messages {
        transport,
        message_bytes: Law::Constant(bytes),
        reply_bytes,
        pattern,
    }
}

fn pair(kind: WorkloadKind, ms: u64) -> Scenario {
    let mut scenario = star(2, Duration::from_ms(ms));
    scenario.warmup = Duration::from_us(200);
    scenario.workloads = vec![workload(vec![0], Destination::Host(1), kind)];
    scenario
}

fn counted(scenario: &Scenario) -> Messages {
    let outcome = outcome(scenario, 1);
    outcome.messages[0].messages.clone()
}

const SLOW: MessagePattern = MessagePattern::Rate {
    per_second: 1e4,
    poisson: false,
};

/// Two store-and-forward hops: a frame begins the second when it is in and the one before has left.
fn one_way_ps(frames: &[u64]) -> u64 {
    let (mut first_free, mut second_free, mut done) = (0, 0, 0);
    for frame in frames {
        let start = second_free.max(first_free + frame + 8);
        first_free += frame + 20;
        second_free = start + frame + 20;
        done = start + frame + 8;
    }
    done * BYTE_PS
}

#[test]
fn a_message_on_an_idle_path_takes_its_frames_time() {
    let cases: [(MessageTransport, f64, &[u64]); 6] = [
        (UDP, 256.0, &[256 + 46]),
        (UDP, 1_472.0, &[1_518]),
        // 1,480 and 21 bytes of IP payload; the second frame is padded to 64.
        (UDP, 1_493.0, &[1_518, 64]),
        (tcp(), 256.0, &[256 + 58]),
        (tcp(), 2_000.0, &[1_518, 540 + 58]),
        // 2 + 14 + 256 + 4 of framing.
        (iwarp(), 256.0, &[276 + 58]),
    ];
    for (transport, bytes, frames) in cases {
        let m = counted(&pair(messages(transport, bytes, 0, SLOW), 3));
        assert!(
            m.delivered >= 26 && m.delivered == m.posted,
            "{transport:?}: {m:?}"
        );
        let expected = one_way_ps(frames);
        assert_eq!(m.one_way.min(), Some(expected), "{transport:?} {bytes}");
        assert_eq!(m.one_way.max(), Some(expected), "{transport:?} {bytes}");
        assert_eq!(m.lost, 0);
    }
}

#[test]
fn a_closed_loop_of_one_takes_two_ways_a_round() {
    let pattern = MessagePattern::ClosedLoop { outstanding: 1 };
    for (transport, header) in [(UDP, 46), (tcp(), 58)] {
        let m = counted(&pair(messages(transport, 100.0, 100, pattern), 5));
        let round = 2 * one_way_ps(&[100 + header]);
        assert_eq!(m.round_trips.min(), Some(round), "{transport:?}");
        // Delayed acknowledgements of TCP meet a message now and then; the rounds follow each other at once.
        let count = m.round_trips.count();
        let rounds = 4_800_000_000 / round;
        assert!(
            count.abs_diff(rounds) <= 1 + rounds / 50,
            "{transport:?}: {count} of {rounds}"
        );
    }
}

#[test]
fn a_stream_fills_the_line_with_payload() {
    for (transport, bytes, share) in [
        // A datagram of two fragments: 2,952 B in 3 kB and a bit of frames.
        (UDP, 2_952.0, 2_952.0 / (1_538.0 + 1_534.0)),
        (tcp(), 8_192.0, 1_460.0 / 1_538.0),
        (iwarp(), 1_440.0 * 8.0, 1_440.0 / 1_538.0),
    ] {
        let pattern = MessagePattern::Stream { connections: 1 };
        let m = counted(&pair(messages(transport, bytes, 0, pattern), 10));
        let rate = m.window_bytes as f64 * 8.0 / 9.8e-3;
        let most = share * 1e10;
        // A window of 4 MiB fills this path; whole messages at both ends of 9.8 ms are within one per cent.
        assert!(
            rate > 0.98 * most && rate < 1.003 * most,
            "{transport:?}: {rate} of {most}"
        );
        assert_eq!(m.lost, 0);
    }
}

#[test]
fn a_lost_fragment_loses_its_datagram_and_every_message_is_accounted_for() {
    // Two senders into one receiver at its line rate and more: the switch drops fragments.
    let mut scenario = star(3, Duration::from_ms(6));
    scenario.switches[0].memory_bytes = 30_000;
    let pattern = MessagePattern::Rate {
        per_second: 130_000.0,
        poisson: true,
    };
    let kind = messages(UDP, 6_000.0, 0, pattern);
    scenario.workloads = vec![workload(vec![0, 1], Destination::Host(2), kind)];
    scenario.workloads[0].stop = Some(Duration::from_ms(5));
    let outcome = outcome(&scenario, 1);
    let m = &outcome.messages[0].messages;
    let dropped = outcome.classes[0].counters.dropped.frames;
    assert!(m.lost > 100 && dropped > m.lost, "{} {dropped}", m.lost);
    assert_eq!(m.posted, m.delivered + m.lost, "the network is empty at the end");
    assert!(m.lost <= dropped);
}

#[test]
fn a_multicast_message_is_delivered_once_to_each_receiver() {
    let mut scenario = star(5, Duration::from_ms(2));
    let kind = messages(UDP, 4_000.0, 0, SLOW);
    scenario.workloads = vec![workload(
        vec![0],
        Destination::Multicast(vec![0, 1, 2, 3, 4]),
        kind,
    )];
    let outcome = outcome(&scenario, 1);
    let m = &outcome.messages[0].messages;
    assert!(m.posted >= 4 * 19, "{}", m.posted);
    assert_eq!((m.delivered, m.lost), (m.posted, 0));
    assert_eq!(m.one_way.min(), m.one_way.max(), "all receivers are alike");
}

#[test]
fn messages_over_tcp_survive_loss_in_order() {
    // A switch with room for few frames: TCP repairs what is lost, no message is.
    let mut scenario = star(3, Duration::from_ms(40));
    scenario.switches[0].memory_bytes = 40_000;
    let settings = TcpSettings {
        rto_min: Duration::from_ms(1),
        delayed_ack: Duration::from_us(100),
        ..TcpSettings::default()
    };
    let pattern = MessagePattern::ClosedLoop { outstanding: 4 };
    let kind = messages(MessageTransport::Tcp(settings), 60_000.0, 100, pattern);
    scenario.workloads = vec![workload(vec![0, 1], Destination::Host(2), kind)];
    let outcome = outcome(&scenario, 1);
    let m = &outcome.messages[0].messages;
    assert!(
        outcome.classes[0].counters.dropped.frames > 20,
        "frames must be lost"
    );
    assert!(m.round_trips.count() > 100, "{}", m.round_trips.count());
    assert!(m.sent_again > 20, "{}", m.sent_again);
    // Eight loops: no more than that is open at the end.
    assert!(
        m.posted - m.delivered <= 8 && m.lost == 0,
        "{} {}",
        m.posted,
        m.delivered
    );
}

fn roce(dcqcn: Option<DcqcnSettings>) -> MessageTransport {
    MessageTransport::Roce(RoceSettings {
        mtu_bytes: 1_024,
        window_bytes: 1 << 20,
        timeout: Duration::from_ms(1),
        dcqcn,
    })
}

#[test]
fn a_write_over_roce_takes_its_packets_time_and_its_answer_is_counted_at_the_far_end() {
    // 62 bytes around a packet (Ethernet 18, IPv4 20, UDP 8, BTH 12, ICRC 4), RETH 16 on the first.
    for (bytes, frames) in [
        (256.0, vec![256 + 78]),
        (1_024.0, vec![1_024 + 78]),
        (2_050.0, vec![1_024 + 78, 1_024 + 62, 4 + 62]),
    ] {
        let m = counted(&pair(messages(roce(None), bytes, 0, SLOW), 3));
        assert!(m.delivered >= 26 && m.delivered == m.posted);
        assert_eq!(m.one_way.min(), Some(one_way_ps(&frames)), "{bytes}");
        assert_eq!(m.one_way.max(), Some(one_way_ps(&frames)), "{bytes}");
    }
}

#[test]
fn roce_goes_back_for_what_a_full_switch_drops() {
    let mut scenario = star(3, Duration::from_ms(20));
    scenario.switches[0].memory_bytes = 60_000;
    let pattern = MessagePattern::ClosedLoop { outstanding: 4 };
    let kind = messages(roce(None), 60_000.0, 64, pattern);
    scenario.workloads = vec![workload(vec![0, 1], Destination::Host(2), kind)];
    let outcome = outcome(&scenario, 1);
    let m = &outcome.messages[0].messages;
    assert!(
        outcome.classes[0].counters.dropped.frames > 20,
        "frames must be lost"
    );
    assert!(m.round_trips.count() > 50, "{}", m.round_trips.count());
    assert!(
        m.posted - m.delivered <= 8 && m.lost == 0,
        "{} {}",
        m.posted,
        m.delivered
    );
}

/// Senders at 10 Gb/s and one receiver at a switch that marks, DCQCN on; bytes of each sender in the last part.
fn dcqcn_shares(senders: usize, ms: u64, warmup_ms: u64) -> (Vec<f64>, crate::Outcome) {
    let mut scenario = star(senders + 1, Duration::from_ms(ms));
    scenario.warmup = Duration::from_ms(warmup_ms);
    scenario.switches[0].memory_bytes = 4_000_000;
    for link in &mut scenario.links {
        link.delay = Duration::from_us(1);
    }
    let mut policy = by_priority(None, None);
    for node in &mut policy.plan.nodes {
        if let NodeKind::Queue(queue) = &mut node.kind {
            queue.mark = Some(Mark {
                threshold_bytes: 100_000,
                at: MarkAt::Enqueue,
            });
        }
    }
    scenario.policies = vec![policy];
    scenario.switches[0].policy = Some(0);
    let settings = DcqcnSettings {
        gain: 1.0 / 256.0,
        notification_interval: Duration::from_us(50),
        alpha_timer: Duration::from_us(55),
        rate_timer: Duration::from_us(55),
        byte_counter: 10_000_000,
        fast_recovery: 5,
        additive_bps: 40_000_000,
        hyper_bps: 400_000_000,
        rate_min_bps: 10_000_000,
    };
    let pattern = MessagePattern::Stream { connections: 1 };
    for sender in 0..senders {
        let kind = messages(roce(Some(settings)), 65_536.0, 0, pattern);
        let mut load = workload(vec![sender], Destination::Host(senders), kind);
        // One begins alone at line rate.
        load.start = Duration::from_ms(2 * sender as u64);
        scenario.workloads.push(load);
    }
    let outcome = outcome(&scenario, 1);
    let bytes = outcome
        .messages
        .iter()
        .map(|m| m.messages.window_bytes as f64)
        .collect();
    (bytes, outcome)
}

#[test]
fn dcqcn_flows_come_to_equal_shares_at_a_switch_that_marks() {
    // Additive increase and a cut in proportion lead to equal rates (Chiu and Jain); each cut of alpha / 2 takes a part
    // of the difference. Accepted after 60 ms, a thousand notification intervals, over another 60: shares within 10 %
    // of each other, the line used to 90 %, and nothing lost.
    for senders in [2, 4] {
        let (bytes, outcome) = dcqcn_shares(senders, 120, 60);
        let most = bytes.iter().copied().fold(0.0, f64::max);
        let least = bytes.iter().copied().fold(f64::MAX, f64::min);
        assert!(least > 0.9 * most, "{bytes:?}");
        let used = bytes.iter().sum::<f64>() * 8.0 / 0.06 / (1e10 * 1_024.0 / (1_024.0 + 82.0));
        assert!(used > 0.9, "{senders} senders use {used}");
        assert_eq!(outcome.classes[0].counters.dropped.frames, 0);
    }
}

#[test]
fn an_acknowledgement_rides_on_the_answer_so_that_nagle_does_not_wait_for_the_timer() {
    // Two short questions at a time: by Nagle's rule the second waits for the first one's acknowledgement. The answer
    // carries it; a receiver that acknowledged by its timer alone would take 40 ms a round.
    let settings = TcpSettings {
        nagle: true,
        ..TcpSettings::default()
    };
    let pattern = MessagePattern::ClosedLoop { outstanding: 2 };
    let kind = messages(MessageTransport::Tcp(settings), 100.0, 100, pattern);
    let outcome = outcome(&pair(kind, 5), 1);
    let m = &outcome.messages[0].messages;
    assert!(m.round_trips.count() > 1_000, "{}", m.round_trips.count());
    // Frames of questions and answers; acknowledgements by themselves are those that no answer was ready for.
    let frames = outcome.classes[0].counters.delivered.frames;
    assert!(
        frames < m.delivered + m.delivered / 10,
        "{frames} {}",
        m.delivered
    );
}

#[test]
fn a_udp_stream_into_a_queue_that_refuses_goes_on_at_the_lines_rate() {
    // The NIC's queue holds less than the socket: refused datagrams must not be tried again without end at one instant.
    let mut scenario = pair(
        messages(UDP, 1_472.0, 0, MessagePattern::Stream { connections: 1 }),
        5,
    );
    let mut policy = by_priority(None, None);
    for node in &mut policy.plan.nodes {
        if let NodeKind::Queue(queue) = &mut node.kind {
            queue.bytes_max = 20_000;
        }
    }
    scenario.policies = vec![policy];
    scenario.hosts[0].nic.policy = Some(0);
    let m = counted(&scenario);
    assert!(m.lost > 100 && m.delivered > 100, "{} {}", m.lost, m.delivered);
    // What leaves and what is refused each take the line's time: twice its rate at most.
    let line = 4.8e-3 * 1e10 / 8.0 / 1_538.0;
    assert!((m.posted as f64) < 2.2 * line, "{} {line}", m.posted);
    assert!(m.delivered as f64 > 0.95 * line, "{} {line}", m.delivered);
}

#[test]
fn a_favoured_host_gets_its_share_and_the_others_the_rest() {
    let mut scenario = star(5, Duration::from_ms(40));
    let pattern = MessagePattern::Rate {
        per_second: 1e5,
        poisson: true,
    };
    // Host 4 does not send: it gets what is redirected and nothing else.
    let to = Destination::Skewed {
        host: 4,
        probability: 0.25,
    };
    scenario.workloads = vec![workload(vec![0, 1, 2, 3], to, messages(UDP, 500.0, 0, pattern))];
    let outcome = outcome(&scenario, 1);
    let to_host = |h: u32| {
        let flows = outcome.flows.iter().filter(|f| f.to == h);
        flows.map(|f| f.counters.offered_frames).sum::<u64>() as f64
    };
    let total: f64 = (0..5).map(to_host).sum();
    // 16,000 messages: four standard deviations of a share of a quarter are 0.0137.
    let share = to_host(4) / total;
    assert!((share - 0.25).abs() < 0.0137, "{share} of {total}");
    let first = to_host(0) / total;
    assert!((first - 0.1875).abs() < 0.0124, "{first}");
}

#[test]
fn a_write_is_complete_for_its_writer_when_the_acknowledgement_is_back() {
    // RoCE answers with 38 bytes around 28 of UDP payload, TCP with a frame of 64 at least.
    let iwarp = MessageTransport::Iwarp(TcpSettings {
        delayed_ack: Duration::ZERO,
        ..TcpSettings::default()
    });
    for (transport, there, back) in [(roce(None), 256 + 78, 66), (iwarp, 276 + 58, 64)] {
        let m = counted(&pair(messages(transport, 256.0, 0, SLOW), 3));
        let expected = one_way_ps(&[there]) + one_way_ps(&[back]);
        assert_eq!(m.completions.count(), m.posted, "{transport:?}");
        assert_eq!(m.completions.min(), Some(expected), "{transport:?}");
        assert_eq!(m.completions.max(), Some(expected), "{transport:?}");
    }
    let m = counted(&pair(messages(UDP, 256.0, 0, SLOW), 3));
    assert_eq!(m.completions.count(), 0);
}
