//! Loss in scripted exchanges: fast retransmit, SACK and NewReno recovery, timeouts.

use super::script::{MSS, RTT, Script, newreno};
use super::testing::settings;
use clearway_core::Duration;
use clearway_policy::scenario::TcpSettings;

#[test]
fn the_third_duplicate_retransmits_and_the_first_two_send_new_data() {
    for tcp in [settings(), newreno()] {
        let mut s = Script::new(&tcp, None);
        s.numbers();
        s.wait(RTT);
        assert_eq!(s.ack(0, &[(1, 2)]), [10]);
        assert_eq!(s.ack(0, &[(1, 3)]), [11]);
        assert_eq!(s.ack(0, &[(1, 4)]), [0]);
        let stats = s.sender.stats();
        assert_eq!(
            (stats.fast_recoveries, stats.retransmissions, stats.timeouts),
            (1, 1, 0)
        );
        // Half of ten: what limited transmit sent does not count. NewReno adds the three that have left.
        assert_eq!(stats.cwnd_bytes, if tcp.sack { 5_000 } else { 8_000 });
    }
}

#[test]
fn sack_recovery_sends_when_the_pipe_has_room() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    for n in 2..=4 {
        s.ack(0, &[(1, n)]);
    }
    // 12 outstanding, 3 reported, 1 lost and sent again: pipe 9, window 5.
    for n in 5..=8 {
        assert_eq!(s.ack(0, &[(1, n)]), [0_u64; 0]);
    }
    assert_eq!(s.ack(0, &[(1, 9)]), [12]);
    assert_eq!(s.ack(0, &[(1, 10)]), [13]);
    s.wait(RTT);
    // Everything sent before recovery is there: the window is full at five segments, two are on their way.
    assert_eq!(s.ack(12, &[]), [14, 15, 16]);
    assert_eq!(s.cwnd(), 5_000);
}

#[test]
fn sack_recovery_fills_holes_before_it_sends_new_data() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    // 0, 2 and 5 are lost.
    s.ack(0, &[(1, 2)]);
    s.ack(0, &[(3, 4), (1, 2)]);
    assert_eq!(s.ack(0, &[(3, 5), (1, 2)]), [0]);
    // Reported: 1, 3, 4, 6; lost: 0 (sent again) and 2. Pipe: 5, 7 to 11 and 0.
    assert_eq!(s.ack(0, &[(6, 7), (3, 5), (1, 2)]), [0_u64; 0]);
    assert_eq!(s.ack(0, &[(6, 8), (3, 5), (1, 2)]), [0_u64; 0]);
    // Pipe 4: three segments above 5 are reported, it is lost too.
    assert_eq!(s.ack(0, &[(6, 9), (3, 5), (1, 2)]), [2]);
    assert_eq!(s.ack(0, &[(6, 10), (3, 5), (1, 2)]), [5]);
    assert_eq!(s.ack(0, &[(6, 11), (3, 5), (1, 2)]), [12]);
    assert_eq!(s.sender.stats().retransmissions, 3);
}

#[test]
fn three_separate_reports_retransmit_even_in_one_acknowledgement() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    assert_eq!(s.ack(0, &[(6, 7), (4, 5), (2, 3)])[0], 0);
    assert_eq!(s.sender.stats().fast_recoveries, 1);
}

#[test]
fn a_rescue_retransmission_repairs_a_lost_tail() {
    let mut s = Script::new(&settings(), Some(10 * MSS));
    s.numbers();
    s.wait(RTT);
    // 0, 8 and 9 are lost, and nothing new is left to send.
    for n in 2..=8 {
        s.ack(0, &[(1, n)]);
    }
    s.wait(RTT);
    // 0 is repaired; 8 and 9 are unknown: the rescue is the highest outstanding segment.
    assert_eq!(s.ack(8, &[]), [9]);
    assert_eq!(s.sender.stats().timeouts, 0);
    s.wait(RTT);
    assert_eq!(s.ack(8, &[(9, 10)]), [8]);
    s.wait(RTT);
    assert_eq!(s.ack(10, &[]), [0_u64; 0]);
    assert!(s.sender.is_finished());
    assert_eq!(s.sender.poll_timer(), None);
}

#[test]
fn newreno_inflates_and_a_partial_acknowledgement_retransmits_the_next_hole() {
    let mut s = Script::new(&newreno(), None);
    s.numbers();
    s.wait(RTT);
    // 0 and 3 are lost.
    for _ in 0..3 {
        s.ack(0, &[]);
    }
    for _ in 4..=7 {
        assert_eq!(s.ack(0, &[]), [0_u64; 0]);
    }
    assert_eq!(s.cwnd(), 12_000);
    assert_eq!(s.ack(0, &[]), [12]);
    s.wait(RTT);
    // Three acknowledged, one added back: 13 - 3 + 1 = 11, 10 outstanding.
    assert_eq!(s.ack(3, &[]), [3, 13]);
    assert_eq!(s.cwnd(), 11_000);
    let timer = s.sender.poll_timer();
    s.wait(RTT);
    // The full acknowledgement deflates to the segments outstanding and one, at most the threshold.
    assert_eq!(s.ack(12, &[]), [14]);
    assert_eq!(s.cwnd(), 3_000);
    assert!(s.sender.poll_timer() > timer);
    assert_eq!(s.sender.stats().fast_recoveries, 1);
}

#[test]
fn the_timer_restarts_at_the_first_partial_acknowledgement_only() {
    let mut s = Script::new(&newreno(), None);
    s.numbers();
    s.wait(RTT);
    for _ in 0..3 {
        s.ack(0, &[]);
    }
    s.wait(RTT);
    s.ack(2, &[]);
    let first = s.sender.poll_timer();
    s.wait(RTT);
    s.ack(4, &[]);
    assert_eq!(s.sender.poll_timer(), first);
}

#[test]
fn the_timeout_doubles_and_the_window_is_one_segment() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    s.ack(2, &[]);
    // SRTT 10 ms, RTTVAR 5 ms: the minimum of 200 ms holds.
    let (waited, sent) = s.expire();
    assert_eq!((waited, sent), (Duration::from_ms(200), vec![2]));
    assert_eq!(s.cwnd(), MSS);
    assert_eq!(s.expire(), (Duration::from_ms(400), vec![2]));
    assert_eq!(s.expire(), (Duration::from_ms(800), vec![2]));
    assert_eq!(s.sender.stats().timeouts, 3);
    // The acknowledgement of a retransmission is no sample (Karn): the timeout stays, slow start resumes.
    s.wait(RTT);
    assert_eq!(s.ack(3, &[]), [3, 4]);
    assert_eq!(s.sender.rto(), Duration::from_ms(1_600));
    s.wait(RTT);
    assert_eq!(s.ack(5, &[]), [5, 6, 7]);
    assert_eq!(s.sender.rto(), Duration::from_ms(1_600));
    // Everything that was sent before arrives; new data is timed again and ends the backoff.
    s.wait(RTT);
    assert_eq!(s.ack(13, &[]), [13, 14, 15, 16]);
    s.wait(RTT);
    s.ack(14, &[]);
    assert_eq!(s.sender.rto(), Duration::from_ms(200));
}

#[test]
fn a_segment_sent_twice_gives_no_sample() {
    for tcp in [settings(), newreno()] {
        let mut s = Script::new(&tcp, None);
        s.numbers();
        s.wait(RTT);
        // The first segment is the one that is timed, and it is lost.
        for n in 2..=4 {
            s.ack(0, &[(1, n)]);
        }
        s.wait(RTT);
        s.ack(10, &[]);
        assert_eq!(s.sender.stats().srtt, None);
    }
}

#[test]
fn after_a_timeout_earlier_reports_are_forgotten() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    s.ack(0, &[(3, 10)]);
    s.expire();
    // The receiver threw its reported bytes away: they are sent again.
    s.wait(RTT);
    assert_eq!(s.ack(1, &[]), [1, 2]);
    s.wait(RTT);
    assert_eq!(s.ack(3, &[]), [3, 4, 5]);
}

#[test]
fn after_a_timeout_what_is_reported_is_skipped() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    let (waited, sent) = s.expire();
    assert_eq!((waited, sent), (Duration::from_ms(1_000), vec![0]));
    s.wait(RTT);
    // 1 and 2 are missing as well, 3 to 6 are there.
    assert_eq!(s.ack(1, &[(3, 7)]), [1, 2]);
    s.wait(RTT);
    assert_eq!(s.ack(2, &[(3, 7)]), [7, 8]);
    s.wait(RTT);
    assert_eq!(s.ack(7, &[]), [9, 10]);
    assert_eq!(
        s.sender.stats().fast_recoveries,
        0,
        "no recovery of what a timeout repairs"
    );
}

#[test]
fn duplicates_of_a_timeouts_own_retransmissions_start_no_recovery() {
    let mut s = Script::new(&newreno(), None);
    s.numbers();
    s.expire();
    s.wait(RTT);
    s.ack(10, &[]);
    for _ in 0..5 {
        s.ack(10, &[]);
    }
    let stats = s.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.retransmissions), (0, 1));
}

#[test]
fn a_lost_retransmission_waits_for_the_timer_and_recovery_ends() {
    let mut s = Script::new(&settings(), None);
    s.numbers();
    s.wait(RTT);
    for n in 2..=10 {
        s.ack(0, &[(1, n)]);
    }
    let (_, sent) = s.expire();
    assert_eq!(sent, [0]);
    let stats = s.sender.stats();
    assert_eq!(
        (stats.timeouts, stats.fast_recoveries, stats.cwnd_bytes),
        (1, 1, MSS)
    );
}

#[test]
fn loss_in_a_window_reduced_for_an_echo_does_not_reduce_it_again() {
    let mut s = Script::new(
        &TcpSettings {
            ecn: true,
            ..settings()
        },
        None,
    );
    s.sent();
    s.wait(RTT);
    s.echo(1);
    assert_eq!(s.cwnd(), 5_000);
    for n in 3..=5 {
        s.ack(1, &[(2, n)]);
    }
    let stats = s.sender.stats();
    assert_eq!((stats.fast_recoveries, stats.cwnd_bytes), (1, 5_000));
}
