//! Growth, marks, windows, pieces and the handshake in scripted exchanges.

use super::script::{MSS, RTT, Script};
use super::testing::{Draws, settings};
use super::{Ack, DataSegment, Flags, SackBlock, Sender};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;

#[test]
fn the_initial_window_goes_out_at_once() {
    let mut s = Script::new(&settings(), None);
    assert_eq!(s.numbers(), (0..10).collect::<Vec<_>>());
}

#[test]
fn slow_start_sends_what_was_acknowledged_and_a_segment() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    assert_eq!(s.ack(2, &[]), [10, 11, 12]);
    assert_eq!(s.ack(3, &[]), [13, 14]);
    assert_eq!(s.cwnd(), 12_000);
}

#[test]
fn congestion_avoidance_grows_a_segment_a_round_trip() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    // The first segment is lost, the rest arrives; the window is five segments after that.
    for n in 2..=10 {
        s.ack(0, &[(1, n)]);
    }
    s.wait(RTT);
    s.ack(14, &[]);
    let mut una = 14;
    for round in 0..5 {
        let cwnd = s.cwnd();
        assert_eq!(cwnd, 5_000 + round * MSS);
        s.wait(RTT);
        let end = s.sender.outstanding_bytes() / MSS + una;
        while una < end {
            una += 1;
            s.ack(una, &[]);
        }
    }
}

#[test]
fn a_window_is_reduced_once_for_any_number_of_echoes() {
    let mut s = Script::new(
        &TcpSettings {
            ecn: true,
            ..settings()
        },
        None,
    );
    let first = s.sent();
    assert!(first.iter().all(|p| p.flags == Flags::ECT), "{first:?}");
    s.wait(RTT);
    assert!(s.echo(1).is_empty());
    assert_eq!(s.cwnd(), 5_000);
    for n in 2..=5 {
        assert!(s.echo(n).is_empty());
    }
    // Five outstanding, then room; the first new segment says that the window was reduced.
    let new = s.echo(6);
    assert_eq!(
        new.iter().map(|p| p.flags).collect::<Vec<_>>(),
        [Flags::CWR.with(Flags::ECT)]
    );
    let new = s.echo(7);
    assert_eq!(new.iter().map(|p| p.flags).collect::<Vec<_>>(), [Flags::ECT]);
    s.echo(10);
    assert_eq!(
        (s.sender.stats().ecn_reductions, s.cwnd()),
        (1, 5_000),
        "no growth on an echo either"
    );
    // An echo of data sent after the reduction is news.
    s.echo(11);
    assert_eq!((s.sender.stats().ecn_reductions, s.cwnd()), (2, 2_500));
}

#[test]
fn an_echo_during_recovery_and_retransmissions_are_not_ecn_capable() {
    let mut s = Script::new(
        &TcpSettings {
            ecn: true,
            ..settings()
        },
        None,
    );
    s.sent();
    s.wait(RTT);
    s.ack(0, &[(1, 3)]);
    let ack = s.make(0, &[(1, 5)], Flags::ECE);
    s.sender.on_ack(s.now, &ack);
    let sent = s.sent();
    assert_eq!(sent[0].flags, Flags::RETRANSMISSION);
    assert_eq!(
        s.sender.stats().ecn_reductions + s.sender.stats().fast_recoveries,
        2,
        "both in this exchange"
    );
    assert_eq!(s.cwnd(), 5_000, "but one reduction");
}

#[test]
fn an_echo_means_nothing_without_ecn() {
    let mut s = Script::new(&settings(), None);
    s.sent();
    s.wait(RTT);
    s.echo(1);
    assert_eq!((s.sender.stats().ecn_reductions, s.cwnd()), (0, 11_000));
}

#[test]
fn the_receivers_window_and_the_send_buffer_limit_what_is_outstanding() {
    let receive = TcpSettings {
        receive_buffer_bytes: 4_500,
        ..settings()
    };
    let send = TcpSettings {
        send_buffer_bytes: 4_999,
        ..settings()
    };
    for tcp in [receive, send] {
        let mut s = Script::new(&tcp, None);
        assert_eq!(s.numbers(), [0, 1, 2, 3]);
        s.wait(RTT);
        assert_eq!(s.ack(2, &[]), [4, 5]);
    }
}

#[test]
fn an_older_acknowledgement_that_comes_late_does_not_take_the_window_back() {
    let tcp = TcpSettings {
        receive_buffer_bytes: 4_000,
        ..settings()
    };
    let mut s = Script::new(&tcp, None);
    s.numbers();
    s.wait(RTT);
    s.window = 1_000;
    assert_eq!(s.ack(4, &[]), [4]);
    s.window = 3_000;
    let later = s.make(4, &[], Flags::NONE);
    s.sender.on_ack(s.now, &later);
    s.window = 1_000;
    assert_eq!(s.ack(4, &[]), [5, 6]);
}

#[test]
fn a_closed_window_is_probed_at_doubling_intervals_until_it_opens() {
    let mut s = Script::new(
        &TcpSettings {
            receive_buffer_bytes: 2_000,
            ..settings()
        },
        None,
    );
    assert_eq!(s.numbers(), [0, 1]);
    s.wait(RTT);
    s.window = 0;
    assert_eq!(s.ack(2, &[]), [0_u64; 0]);
    for k in 0..4 {
        let at = s.sender.poll_timer().expect("probing");
        assert_eq!(at.saturating_since(s.now), Duration::from_ms(200 << k));
        s.now = at;
        s.sender.on_timer(at);
        let probe = s.sent();
        assert_eq!(
            probe,
            [DataSegment {
                seq: 2_000,
                len: 0,
                flags: Flags::NONE
            }]
        );
        // The answer: still closed. It is no duplicate and no loss.
        assert_eq!(s.ack(2, &[]), [0_u64; 0]);
    }
    s.window = 2_000;
    assert_eq!(s.ack(2, &[]), [2, 3]);
    let stats = s.sender.stats();
    assert_eq!(
        (stats.window_probes, stats.timeouts, stats.retransmissions),
        (4, 0, 0)
    );
    assert_eq!(
        s.sender.rto(),
        Duration::from_ms(200),
        "probing does not back the timeout off"
    );
    s.window = 0;
    s.wait(RTT);
    s.ack(4, &[]);
    let at = s.sender.poll_timer().expect("probing again");
    assert_eq!(
        at.saturating_since(s.now),
        Duration::from_ms(200),
        "from the start"
    );
}

#[test]
fn a_window_below_a_segment_is_used_when_it_is_half_of_the_largest() {
    let tcp = TcpSettings {
        mss_bytes: 1_000,
        receive_buffer_bytes: 1_500,
        ..settings()
    };
    let mut s = Script::new(&tcp, None);
    assert_eq!(s.numbers(), [0]);
    s.wait(RTT);
    s.window = 700;
    assert_eq!(
        s.ack(1, &[]),
        [0_u64; 0],
        "500 + 200 bytes more are less than half of 1,500"
    );
    s.window = 750;
    let ack = s.make(1, &[], Flags::NONE);
    s.sender.on_ack(s.now, &ack);
    assert_eq!(
        s.sent().iter().map(|p| (p.seq, p.len)).collect::<Vec<_>>(),
        [(1_000, 750)]
    );
}

#[test]
fn pieces_are_as_long_as_segmentation_allows() {
    let tcp = TcpSettings {
        segmentation_bytes: 4_700,
        ..settings()
    };
    let mut s = Script::new(&tcp, Some(9_300));
    let sent: Vec<_> = s.sent().iter().map(|p| (p.seq, p.len, p.flags)).collect();
    assert_eq!(
        sent,
        [
            (0, 4_000, Flags::NONE),
            (4_000, 4_000, Flags::NONE),
            (8_000, 1_300, Flags::FIN)
        ]
    );
}

#[test]
fn a_piece_waits_for_a_third_of_the_window() {
    let tcp = TcpSettings {
        segmentation_bytes: 65_536,
        initial_window_segments: 30,
        ..settings()
    };
    let mut s = Script::new(&tcp, None);
    assert_eq!(s.sent().len(), 1);
    s.wait(RTT);
    let mut lens = Vec::new();
    for n in [2, 4, 6, 8] {
        let ack = s.make(n, &[], Flags::NONE);
        s.sender.on_ack(s.now, &ack);
        lens.extend(s.sent().iter().map(|p| p.len));
    }
    // Three segments an acknowledgement: 3, 6 and 9 wait, 12 are more than a third of 34.
    assert_eq!(lens, [12_000]);
}

#[test]
fn a_piece_does_not_wait_for_acknowledgements_that_are_far() {
    let tcp = TcpSettings {
        segmentation_bytes: 65_536,
        receive_buffer_bytes: 20_000,
        ..settings()
    };
    let tcp = TcpSettings {
        initial_window_segments: 40,
        ..tcp
    };
    let mut s = Script::new(&tcp, None);
    assert_eq!(s.sent().len(), 1);
    s.wait(RTT);
    let mut lens = Vec::new();
    for n in (2..=20).step_by(2) {
        let ack = s.make(n, &[], Flags::NONE);
        s.sender.on_ack(s.now, &ack);
        lens.push(s.sent().iter().map(|p| p.len).sum::<u32>());
    }
    // Thirds of twenty segments, and the rest with the last acknowledgement of the round.
    assert_eq!(lens, [0, 0, 6_000, 0, 0, 6_000, 0, 0, 6_000, 2_000]);
}

#[test]
fn a_handshake_gives_the_first_sample() {
    let mut sender = Sender::with_handshake(&settings(), Instant::ZERO, None);
    let syn = sender.poll_transmit(Instant::ZERO).expect("a SYN");
    assert_eq!((syn.len, syn.flags), (0, Flags::SYN));
    assert_eq!(sender.poll_transmit(Instant::ZERO), None);
    let mut receiver = super::Receiver::new(&settings());
    let answer = receiver
        .on_segment(Instant::ZERO, &syn, false)
        .expect("a SYN-ACK");
    let now = Instant::ZERO + RTT;
    sender.on_ack(now, &answer);
    assert_eq!(sender.stats().srtt, Some(RTT));
    assert_eq!(sender.poll_timer(), None);
    assert_eq!(core::iter::from_fn(|| sender.poll_transmit(now)).count(), 10);
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_and_data_starts_with_three() {
    let mut sender = Sender::with_handshake(&settings(), Instant::ZERO, None);
    sender.poll_transmit(Instant::ZERO);
    let at = sender.poll_timer().expect("the SYN's timer");
    assert_eq!(at, Instant::ZERO + Duration::from_ms(1_000));
    sender.on_timer(at);
    let again = sender.poll_transmit(at).expect("the SYN again");
    assert!(again.flags.has(Flags::SYN.with(Flags::RETRANSMISSION)));
    let answer = super::Receiver::new(&settings())
        .on_segment(at, &again, false)
        .expect("a SYN-ACK");
    sender.on_ack(at + RTT, &answer);
    assert_eq!(sender.stats().srtt, None, "which SYN was answered is not known");
    assert_eq!(sender.rto(), Duration::from_ms(3_000));
}

#[test]
fn a_syn_lost_twice_leaves_a_window_of_one_segment() {
    let mut sender = Sender::with_handshake(&settings(), Instant::ZERO, None);
    sender.poll_transmit(Instant::ZERO);
    for (timeouts, segments) in [(1, 10), (2, 1)] {
        let at = sender.poll_timer().expect("the SYN's timer");
        sender.on_timer(at);
        let syn = sender.poll_transmit(at).expect("the SYN again");
        assert_eq!(sender.stats().timeouts, timeouts);
        let mut opened = sender.clone();
        let answer = super::Receiver::new(&settings())
            .on_segment(at, &syn, false)
            .expect("a SYN-ACK");
        opened.on_ack(at + RTT, &answer);
        assert_eq!(
            core::iter::from_fn(|| opened.poll_transmit(at + RTT)).count(),
            segments
        );
    }
}

#[test]
fn impossible_acknowledgements_are_harmless() {
    for seed in 0..200 {
        let mut draws = Draws(seed);
        let tcp = TcpSettings {
            sack: draws.chance(0.7),
            ecn: draws.chance(0.5),
            ..settings()
        };
        let mut sender = Sender::new(&tcp, Instant::ZERO, draws.chance(0.5).then_some(300_000));
        let mut now = Instant::ZERO;
        for _ in 0..300 {
            let mut odd = |near: u64| match draws.below(8) {
                0 => draws.next(),
                1 => u64::MAX,
                2 => 0,
                _ => draws.below(near),
            };
            let high = sender.stats().bytes_acked + sender.outstanding_bytes() + 1;
            let ack = Ack {
                ack: odd(high),
                window: odd(100_000) as u32,
                flags: Flags::ECE.when(odd(4) == 1).with(Flags::SYN.when(odd(9) == 1)),
                sack: core::array::from_fn(|_| SackBlock {
                    offset: odd(40_000) as u32,
                    len: odd(9_000) as u32,
                }),
            };
            now += Duration::from_us(odd(100_000) % 1_000_000);
            sender.on_ack(now, &ack);
            for _ in 0..1_000 {
                if sender.poll_transmit(now).is_none() {
                    break;
                }
            }
            assert_eq!(sender.poll_transmit(now), None, "sending ends, seed {seed}");
            sender.on_timer(now);
        }
        assert!(sender.stats().bytes_acked > 0);
    }
}
