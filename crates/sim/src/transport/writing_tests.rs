//! Scripted exchanges of a sender whose application writes piece by piece, of pacing, and of DCTCP's echo.

use super::script::{MSS, RTT, Script};
use super::testing::settings;
use super::{Ack, DataSegment, Flags, Receiver, SackBlock, Sender};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::{CongestionLaw, TcpSettings};

/// A script whose application has written nothing yet.
fn writer(tcp: &TcpSettings) -> Script {
    let mut script = Script::new(tcp, None);
    script.sender = Sender::new(tcp, Instant::ZERO, None).fed_by_application();
    script
}

/// First byte and length of what goes out.
fn ranges(sent: &[DataSegment]) -> Vec<(u64, u32)> {
    sent.iter().map(|s| (s.seq, s.len)).collect()
}

fn write(s: &mut Script, bytes: u64) -> Vec<(u64, u32)> {
    s.sender.supply(bytes);
    ranges(&s.sent())
}

fn ack_to(s: &mut Script, byte: u64) -> Vec<(u64, u32)> {
    let ack = Ack {
        ack: byte,
        window: s.window,
        flags: Flags::NONE,
        sack: [SackBlock::default(); 3],
    };
    s.sender.on_ack(s.now, &ack);
    ranges(&s.sent())
}

#[test]
fn what_is_written_goes_out_at_once_short_or_not() {
    let mut s = writer(&settings());
    assert_eq!(s.sent(), []);
    assert_eq!(write(&mut s, 300), [(0, 300)]);
    assert_eq!(write(&mut s, 300), [(300, 300)]);
    assert_eq!(write(&mut s, 2_500), [(600, 1_000), (1_600, 1_000), (2_600, 500)]);
}

#[test]
fn nagle_holds_a_short_segment_while_anything_is_on_its_way() {
    let mut s = writer(&TcpSettings {
        nagle: true,
        ..settings()
    });
    assert_eq!(write(&mut s, 300), [(0, 300)], "nothing is on its way");
    assert_eq!(write(&mut s, 300), []);
    assert_eq!(write(&mut s, 300), []);
    s.wait(RTT);
    assert_eq!(ack_to(&mut s, 300), [(300, 600)], "what waited goes together");
    // A full segment never waits, its rest does.
    assert_eq!(write(&mut s, 1_200), [(900, 1_000)]);
    assert_eq!(write(&mut s, 800), [(1_900, 1_000)]);
    s.wait(RTT);
    assert_eq!(ack_to(&mut s, 2_900), []);
    assert_eq!(write(&mut s, 2_500), [(2_900, 1_000), (3_900, 1_000)]);
    s.wait(RTT);
    assert_eq!(ack_to(&mut s, 3_900), []);
    assert_eq!(ack_to(&mut s, 4_900), [(4_900, 500)]);
}

#[test]
fn nagle_and_delayed_acknowledgement_make_the_second_write_wait_for_the_timer() {
    // The classic interaction: write, write, read. The receiver has one short segment and waits.
    let tcp = TcpSettings {
        nagle: true,
        ..settings()
    };
    let mut s = writer(&tcp);
    let mut r = Receiver::new(&tcp);
    s.sender.supply(200);
    let first = s.sent();
    s.sender.supply(200);
    assert_eq!(s.sent(), []);
    assert_eq!(r.on_segment(s.now, &first[0], false), None);
    let due = r.poll_timer().expect("an acknowledgement is owed");
    assert_eq!(due, Instant::ZERO + tcp.delayed_ack);
    s.now = due;
    let ack = r.on_timer(due).expect("the timer");
    s.sender.on_ack(due, &ack);
    assert_eq!(ranges(&s.sent()), [(200, 200)]);
}

#[test]
fn the_send_buffer_says_when_a_write_may_begin() {
    let mut s = writer(&TcpSettings {
        send_buffer_bytes: 3_000,
        ..settings()
    });
    assert!(s.sender.has_room());
    s.sender.supply(2_999);
    assert!(s.sender.has_room());
    s.sender.supply(2_001);
    assert!(!s.sender.has_room());
    assert_eq!(ranges(&s.sent()), [(0, 1_000), (1_000, 1_000), (2_000, 1_000)]);
    assert_eq!(ack_to(&mut s, 2_000), [(3_000, 1_000), (4_000, 1_000)]);
    assert!(!s.sender.has_room());
    ack_to(&mut s, 3_000);
    assert!(s.sender.has_room());
}

#[test]
fn a_window_that_the_application_does_not_use_does_not_grow() {
    let mut s = writer(&settings());
    for n in 0..50 {
        assert_eq!(write(&mut s, 1_000), [(n * MSS, 1_000)]);
        s.wait(RTT);
        ack_to(&mut s, (n + 1) * MSS);
    }
    assert_eq!(s.cwnd(), 10_000);
    // In use it does.
    write(&mut s, 10_000);
    s.wait(RTT);
    ack_to(&mut s, 60_000);
    assert_eq!(s.cwnd(), 11_000);
}

#[test]
fn after_an_idle_timeout_the_window_starts_again() {
    let mut s = writer(&settings());
    let mut end = 0;
    for _ in 0..4 {
        let burst = s.cwnd();
        write(&mut s, burst);
        s.wait(RTT);
        for _ in 0..burst / MSS {
            end += MSS;
            ack_to(&mut s, end);
        }
    }
    let grown = s.cwnd();
    assert!(grown >= 100_000, "{grown}");
    s.wait(Duration::from_ms(100));
    assert_eq!(write(&mut s, 1_000).len(), 1);
    assert_eq!(s.cwnd(), grown, "shorter than the timeout of 200 ms");
    s.wait(RTT);
    ack_to(&mut s, end + MSS);
    s.wait(Duration::from_ms(201));
    assert_eq!(write(&mut s, 200_000).len(), 10, "the initial window");
}

#[test]
fn without_window_scaling_no_more_than_65_535_bytes_are_outstanding() {
    let mut s = Script::new(
        &TcpSettings {
            window_scaling: false,
            initial_window_segments: 100,
            ..settings()
        },
        None,
    );
    // RFC 6928's cap of 14,600 B a ten segments: 100 segments of 1,000.
    assert_eq!(s.numbers().len(), 65);
    let mut r = Receiver::new(&TcpSettings {
        window_scaling: false,
        delayed_ack: Duration::ZERO,
        ..settings()
    });
    let segment = DataSegment {
        seq: 0,
        len: 1_000,
        flags: Flags::NONE,
    };
    let ack = r.on_segment(Instant::ZERO, &segment, false);
    assert_eq!(ack.map(|a| a.window), Some(65_535));
}

#[test]
fn paced_segments_are_spread_over_the_round_trip() {
    let mut s = Script::new(
        &TcpSettings {
            pacing: true,
            ..settings()
        },
        None,
    );
    // No round trip is known: the initial window goes out at once.
    assert_eq!(s.numbers().len(), 10);
    s.wait(RTT);
    // Ten segments acknowledged in one go open eleven; the first leaves at once, the next at twice the window a round
    // trip: 10 ms / 22 a segment.
    assert_eq!(s.ack(10, &[]), [10]);
    let gap = Duration::from_ps(RTT.as_ps() / 22);
    for n in 11..21 {
        let due = s.sender.poll_send().expect("pacing holds the rest");
        assert_eq!(due.saturating_since(s.now), gap, "segment {n}");
        s.now = due.saturating_sub(Duration::from_ps(1));
        assert!(s.numbers().is_empty(), "a picosecond early");
        s.now = due;
        assert_eq!(s.numbers(), [n]);
    }
    // The window is used up: one more question finds nothing, and the sender is quiet.
    s.now = s.sender.poll_send().expect("one more");
    assert!(s.numbers().is_empty());
    assert_eq!(s.sender.poll_send(), None);
}

#[test]
fn after_slow_start_pacing_is_at_1_2_windows_a_round_trip() {
    let mut s = Script::new(
        &TcpSettings {
            pacing: true,
            slow_start_threshold_bytes: 10_000,
            ..settings()
        },
        None,
    );
    s.numbers();
    s.wait(RTT);
    assert_eq!(s.ack(10, &[]), [10]);
    let due = s.sender.poll_send().expect("pacing holds the rest");
    // The window has grown to 11 segments with the ten acknowledged.
    let gap = RTT.as_ps() * 10 / (12 * 11);
    assert_eq!(due.saturating_since(s.now).as_ps(), gap);
}

/// A DCTCP receiver's answers to packets of one segment each, marked or not: acknowledged byte and echo.
fn echoes(marks: &[bool]) -> Vec<(u64, bool)> {
    let mut r = Receiver::new(&TcpSettings {
        congestion: CongestionLaw::Dctcp,
        ecn: true,
        ..settings()
    });
    let mut all = Vec::new();
    for (n, &ce) in (0..).zip(marks) {
        let segment = DataSegment {
            seq: n * MSS,
            len: 1_000,
            flags: Flags::ECT,
        };
        let last = r.on_segment(Instant::ZERO, &segment, ce);
        let earlier = r.take_earlier();
        for ack in [earlier, last].into_iter().flatten() {
            all.push((ack.ack / MSS, ack.flags.has(Flags::ECE)));
        }
    }
    all
}

#[test]
fn dctcps_receiver_acknowledges_at_once_where_marks_begin_or_end() {
    // RFC 8257 3.2, figure 1: two segments an acknowledgement while the mark stays; a change flushes what waits with
    // the old state.
    assert_eq!(echoes(&[false, false, false, false]), [(2, false), (4, false)]);
    assert_eq!(echoes(&[true, true, true, true]), [(2, true), (4, true)]);
    // One waits unmarked, a marked one comes: the first is acknowledged unmarked, the second waits.
    assert_eq!(echoes(&[false, true, true]), [(1, false), (3, true)]);
    assert_eq!(echoes(&[true, false, false]), [(1, true), (3, false)]);
    // Nothing waits: no acknowledgement is forced.
    assert_eq!(echoes(&[false, false, true, true]), [(2, false), (4, true)]);
    assert_eq!(
        echoes(&[false, true, false, true, false]),
        [(1, false), (2, true), (3, false), (4, true)]
    );
}

#[test]
fn dctcps_sender_reduces_once_a_window_by_half_its_estimate() {
    let mut s = Script::new(
        &TcpSettings {
            congestion: CongestionLaw::Dctcp,
            ecn: true,
            slow_start_threshold_bytes: 10_000,
            ..settings()
        },
        None,
    );
    s.sent();
    let mut una = 0;
    // Forty round trips without a mark: alpha falls to (15/16)^40 = 0.0757.
    for _ in 0..40 {
        s.wait(RTT);
        let end = una + s.sender.outstanding_bytes() / MSS;
        while una < end {
            una += 1;
            s.ack(una, &[]);
        }
    }
    let alpha = s.sender.marked_fraction().expect("DCTCP");
    assert!((alpha - 0.0757).abs() < 0.01, "{alpha}");
    let before = s.cwnd();
    s.echo(una + 1);
    let alpha = s.sender.marked_fraction().expect("DCTCP");
    let after = s.cwnd();
    assert_eq!(after, (before as f64 * (1.0 - alpha / 2.0)) as u64);
    for n in 2..10 {
        s.echo(una + n);
    }
    assert_eq!((s.cwnd(), s.sender.stats().ecn_reductions), (after, 1));
}
