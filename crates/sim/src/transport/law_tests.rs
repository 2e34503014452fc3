//! Laws of congestion control over whole transfers, against their theory.

use super::testing::{Network, PathSettings, settings};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::{CongestionLaw, TcpSettings};

const fn at_ms(n: u64) -> Instant {
    Instant::ZERO.saturating_add(Duration::from_ms(n))
}

/// Mean window in segments of one flow that loses every `every`-th packet, from its goodput after `from_ms`.
fn mean_window(law: CongestionLaw, every: u64, rtt: Duration, from_ms: u64, to_ms: u64) -> f64 {
    let tcp = TcpSettings {
        congestion: law,
        delayed_ack: Duration::from_ms(1),
        // Slow start would overshoot for a minute before the first loss.
        slow_start_threshold_bytes: 20_000,
        ..settings()
    };
    let path = PathSettings {
        loss_every: Some(every),
        ..PathSettings::plain(Duration::from_ps(rtt.as_ps() / 2))
    };
    let mut n = Network::new(&tcp, path, 1, &[Instant::ZERO], None);
    n.run(at_ms(from_ms));
    let before = n.receivers[0].delivered_bytes();
    n.run(at_ms(to_ms));
    let bytes = n.receivers[0].delivered_bytes() - before;
    let rounds = (to_ms - from_ms) as f64 * 1e9 / rtt.as_ps() as f64;
    bytes as f64 / f64::from(tcp.mss_bytes) / rounds
}

#[test]
fn cubics_mean_window_is_that_of_its_response_function() {
    // RFC 9438 5.1: AVG_W = (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4) = 1.054 (RTT/p)^(3/4) for
    // losses that come every 1/p packets, where that is above the friendly region's sqrt(3/2 / p). The formula knows no
    // recovery: a round trip at the low window and one without growth in every cycle of 40 to 80. Accepted: 15 % below
    // to 5 % above.
    for (every, ms, to_ms) in [
        (10_000, 100, 400_000),
        (3_000, 100, 200_000),
        (30_000, 100, 400_000),
    ] {
        let rtt = Duration::from_ms(ms);
        let expected = 1.054 * libm::pow(ms as f64 / 1e3 * every as f64, 0.75);
        let w = mean_window(CongestionLaw::Cubic, every, rtt, 40_000, to_ms);
        assert!(
            (0.85..1.05).contains(&(w / expected)),
            "p 1/{every}, {ms} ms: {w} of {expected}"
        );
    }
}

#[test]
fn at_a_short_round_trip_cubic_is_as_fast_as_newreno() {
    // Section 4.3: the friendly region has AIMD's mean window, sqrt(3/2 / p) in segments. At 10 ms and p = 1/1000 the
    // cubic's own mean would be 5.9 segments against AIMD's 38.7. Accepted against NewReno on the same path: 10 %.
    let rtt = Duration::from_ms(10);
    let cubic = mean_window(CongestionLaw::Cubic, 1_000, rtt, 2_000, 42_000);
    let reno = mean_window(CongestionLaw::NewReno, 1_000, rtt, 2_000, 42_000);
    assert!((0.9..1.1).contains(&(cubic / reno)), "{cubic} {reno}");
    assert!((0.9..1.1).contains(&(reno / libm::sqrt(1_500.0))), "{reno}");
}

#[test]
fn dctcp_keeps_a_short_queue_full_and_its_alpha_is_the_steady_states() {
    // Alizadeh et al. (SIGCOMM 2010) 3.3: with W* = (C RTT + K) / N, alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2,
    // nearly alpha = sqrt(2 / W*), for flows in step that are acknowledged packet by packet. Flows out of step share a
    // round of marks, so that the queue is short of it: accepted from 25 % below to 10 % above.
    for flows in [1_u64, 2, 4] {
        let tcp = TcpSettings {
            congestion: CongestionLaw::Dctcp,
            ecn: true,
            delayed_ack: Duration::ZERO,
            slow_start_threshold_bytes: 20_000,
            ..settings()
        };
        let k = 40 * 1_078;
        let path = PathSettings {
            rate_bps: 1_000_000_000,
            buffer_bytes: 1 << 20,
            mark_bytes: Some(k),
            ..PathSettings::plain(Duration::from_us(500))
        };
        let starts: Vec<_> = (0..flows).map(|n| at_ms(3 * n)).collect();
        let mut n = Network::new(&tcp, path, 1, &starts, None);
        n.run(at_ms(500));
        let before: u64 = n.receivers.iter().map(|r| r.delivered_bytes()).sum();
        let mut alpha = 0.0;
        for step in 0..400 {
            n.run(at_ms(500 + 5 * step));
            let all = n.senders.iter().filter_map(|s| s.marked_fraction());
            alpha += all.sum::<f64>() / (400 * flows) as f64;
        }
        let bytes: u64 = n.receivers.iter().map(|r| r.delivered_bytes()).sum::<u64>() - before;
        let share = bytes as f64 * 1.078 * 8.0 / (1.995 * 1e9);
        let window = (1e9 * 1e-3 / 8.0 / 1_078.0 + 40.0) / flows as f64;
        let expected = libm::sqrt(2.0 / window);
        assert!(
            (0.75..1.1).contains(&(alpha / expected)),
            "{flows} flows: {alpha} of {expected}"
        );
        // K is above C RTT / 7 (section 3.4: 16.6 packets), so that the queue never runs empty.
        assert!(share > 0.985, "{flows} flows: {share}");
        assert_eq!(n.drops, 0);
    }
}
