//! Whole transfers over a virtual path: reliability on any path, throughput against theory, fairness.

use super::testing::{Draws, Network, OVERHEAD, PathSettings, settings};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;

const fn at_ms(n: u64) -> Instant {
    Instant::ZERO.saturating_add(Duration::from_ms(n))
}

#[test]
fn every_byte_arrives_on_any_path_that_delivers_at_all() {
    let mut retransmissions = 0;
    let mut timeouts = 0;
    let mut recoveries = 0;
    for seed in 0..300 {
        let mut draws = Draws(seed);
        let tcp = TcpSettings {
            mss_bytes: [1, 536, 1_460, 8_960][draws.below(4) as usize],
            initial_window_segments: draws.below(12) as u32,
            send_buffer_bytes: [0, 4_000, 65_536, 1 << 22][draws.below(4) as usize],
            receive_buffer_bytes: [0, 3_000, 87_380, 1 << 22][draws.below(4) as usize],
            rto_min: Duration::from_us([0, 1_000, 200_000][draws.below(3) as usize]),
            delayed_ack: Duration::from_us([0, 500, 40_000][draws.below(3) as usize]),
            segmentation_bytes: [0, 3_000, 65_536][draws.below(3) as usize],
            ecn: draws.chance(0.5),
            sack: draws.chance(0.5),
            option_bytes: 12,
            ..settings()
        };
        let most = [0.0, 0.02, 0.2];
        let path = PathSettings {
            rate_bps: [0, 10_000_000, 1_000_000_000][draws.below(3) as usize],
            buffer_bytes: 10_000 + draws.below(200_000),
            mark_bytes: draws.chance(0.5).then_some(20_000),
            loss: most[draws.below(3) as usize],
            ack_loss: most[draws.below(3) as usize],
            duplicate: most[draws.below(3) as usize],
            reorder: most[draws.below(3) as usize],
            jitter: Duration::from_us(1 + draws.below(3_000)),
            ..PathSettings::plain(Duration::from_us(1 + draws.below(5_000)))
        };
        let bytes = 1 + draws.below(u64::from(tcp.mss_bytes) * 400);
        let mut network = Network::new(&tcp, path, seed, &[Instant::ZERO], Some(bytes));
        // A day of virtual time: even a timer at its ceiling of a minute gets there.
        assert!(
            network.run(at_ms(86_400_000)),
            "seed {seed} stalls: {tcp:?} {:?}",
            network.senders[0]
        );
        assert_eq!(network.receivers[0].delivered_bytes(), bytes, "seed {seed}");
        assert!(network.receivers[0].is_finished(), "seed {seed}");
        let stats = network.senders[0].stats();
        assert_eq!(stats.bytes_acked, bytes, "seed {seed}");
        if network.drops == 0
            && path.reorder == 0.0
            && path.ack_loss == 0.0
            && tcp.rto_min > Duration::from_ms(50)
        {
            assert_eq!(stats.retransmissions, 0, "nothing was lost or late, seed {seed}");
        }
        retransmissions += stats.retransmissions;
        timeouts += stats.timeouts;
        recoveries += stats.fast_recoveries;
    }
    assert!(
        retransmissions > 1_000 && timeouts > 100 && recoveries > 500,
        "the paths must be bad"
    );
}

#[test]
fn the_same_seed_gives_the_same_transfer() {
    let path = PathSettings {
        loss: 0.01,
        ..PathSettings::plain(Duration::from_ms(5))
    };
    let run = |seed| {
        let mut n = Network::new(&settings(), path, seed, &[Instant::ZERO], Some(2_000_000));
        assert!(n.run(at_ms(1_000_000)));
        (n.now, n.packets, n.senders[0].stats())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).0, run(4).0);
}

/// Mean window in segments of one flow under random loss, from its goodput: bytes an RTT over the MSS.
fn mean_window(tcp: &TcpSettings, loss: f64, seeds: u64, rounds: u64) -> f64 {
    let delay = Duration::from_ms(5);
    let mut delivered = 0;
    for seed in 1..=seeds {
        let path = PathSettings {
            loss,
            ..PathSettings::plain(delay)
        };
        let mut n = Network::new(tcp, path, seed, &[Instant::ZERO], None);
        n.run(at_ms(1_000));
        let before = n.receivers[0].delivered_bytes();
        n.run(at_ms(1_000 + rounds * 10));
        delivered += n.receivers[0].delivered_bytes() - before;
    }
    delivered as f64 / (seeds * rounds * u64::from(tcp.mss_bytes)) as f64
}

#[test]
fn throughput_falls_with_the_square_root_of_loss() {
    // Mathis, Semke, Mahdavi and Ott (CCR 1997): W = C / sqrt(p), C = sqrt(3/2) = 1.22 for periodic losses where the
    // window grows a segment a round trip; for independent losses 1.31 (Ott, Kemperman and Mathis 1996). Within 7 %
    // of the interval between them; at 1 % loss windows of 12 segments end in timeouts, and C may be a fifth lower.
    for sack in [true, false] {
        let tcp = TcpSettings {
            sack,
            delayed_ack: Duration::from_ms(1),
            ..settings()
        };
        for (loss, rounds, low, high) in [
            (0.0003, 4_000, 1.13, 1.40),
            (0.001, 2_500, 1.13, 1.40),
            (0.01, 2_000, 0.97, 1.40),
        ] {
            let c = mean_window(&tcp, loss, 6, rounds) * f64::sqrt(loss);
            assert!((low..high).contains(&c), "sack {sack}, p {loss}: C = {c}");
        }
    }
}

fn bottleneck(rate_bps: u64, rtt: Duration, bdps: f64) -> PathSettings {
    let bdp = rate_bps as f64 / 8.0 * rtt.as_ps() as f64 / 1e12;
    PathSettings {
        rate_bps,
        buffer_bytes: (bdp * bdps) as u64,
        ..PathSettings::plain(Duration::from_ps(rtt.as_ps() / 2))
    }
}

/// Goodput of each flow after the first second, as a share of the payload rate.
fn shares(tcp: &TcpSettings, path: PathSettings, flows: u64, seed: u64, ms: u64) -> (Vec<f64>, Network) {
    let mut draws = Draws(seed);
    let starts: Vec<_> = (0..flows)
        .map(|_| Instant::from_ps(draws.below(5_000_000_000)))
        .collect();
    let mut n = Network::new(tcp, path, seed, &starts, None);
    n.run(at_ms(ms / 4));
    let before: Vec<_> = n.receivers.iter().map(|r| r.delivered_bytes()).collect();
    n.run(at_ms(ms));
    let payload = u64::from(tcp.mss_bytes);
    let bytes = path.rate_bps as f64 / 8.0 * (ms - ms / 4) as f64 / 1e3 * payload as f64
        / (payload + OVERHEAD) as f64;
    let after = n.receivers.iter().map(|r| r.delivered_bytes());
    let shares = after.zip(before).map(|(a, b)| (a - b) as f64 / bytes).collect();
    (shares, n)
}

#[test]
fn sixteen_flows_fill_a_bottleneck_with_a_buffer_of_one_bandwidth_delay_product() {
    for seed in 1..=3 {
        for sack in [true, false] {
            let tcp = TcpSettings {
                mss_bytes: 1_460,
                sack,
                rto_min: Duration::from_ms(10),
                delayed_ack: Duration::from_ms(1),
                ..settings()
            };
            let path = bottleneck(10_000_000_000, Duration::from_us(500), 1.0);
            let (shares, n) = shares(&tcp, path, 16, seed, 200);
            let sum: f64 = shares.iter().sum();
            assert!(sum >= 0.95, "seed {seed}, sack {sack}: {sum}");
            assert!(n.drops > 0, "the buffer must overflow");
        }
    }
}

#[test]
fn a_lone_flow_fills_a_bottleneck_with_a_buffer_of_one_bandwidth_delay_product() {
    let tcp = TcpSettings {
        delayed_ack: Duration::from_ms(1),
        ..settings()
    };
    let path = bottleneck(1_000_000_000, Duration::from_ms(1), 1.0);
    let (shares, n) = shares(&tcp, path, 1, 1, 4_000);
    assert!(shares[0] >= 0.95 && n.drops > 0, "{shares:?}");
}

/// Jain's index: 1 where all are equal, 1/n where one has all.
fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    sum * sum / (x.len() as f64 * x.iter().map(|v| v * v).sum::<f64>())
}

#[test]
fn equal_flows_share_a_drop_tail_bottleneck_fairly() {
    for (flows, seed) in [(2, 1), (4, 2), (8, 3)] {
        let tcp = TcpSettings {
            delayed_ack: Duration::from_ms(1),
            ..settings()
        };
        let path = bottleneck(200_000_000, Duration::from_ms(10), 1.0);
        let (shares, _) = shares(&tcp, path, flows, seed, 40_000);
        assert!(jain(&shares) > 0.9, "{flows} flows: {shares:?}");
    }
}

#[test]
fn marks_instead_of_drops_cost_no_retransmission() {
    let tcp = TcpSettings {
        ecn: true,
        delayed_ack: Duration::from_ms(1),
        ..settings()
    };
    let bdp = 1_250_000;
    let path = PathSettings {
        buffer_bytes: 8 * bdp,
        mark_bytes: Some(bdp),
        ..bottleneck(1_000_000_000, Duration::from_ms(10), 1.0)
    };
    let (shares, n) = shares(&tcp, path, 4, 1, 4_000);
    let sum: f64 = shares.iter().sum();
    assert!(sum > 0.95, "{shares:?}");
    assert_eq!(n.drops, 0);
    assert!(
        n.senders
            .iter()
            .all(|s| s.stats().retransmissions == 0 && s.stats().ecn_reductions > 0)
    );
}

#[test]
fn a_window_limited_flow_sends_a_window_a_round_trip() {
    let tcp = TcpSettings {
        receive_buffer_bytes: 50_000,
        delayed_ack: Duration::from_us(10),
        segmentation_bytes: 65_536,
        ..settings()
    };
    let mut n = Network::new(
        &tcp,
        PathSettings::plain(Duration::from_ms(5)),
        1,
        &[Instant::ZERO],
        None,
    );
    n.run(at_ms(1_000));
    let before = n.receivers[0].delivered_bytes();
    n.run(at_ms(2_000));
    let per_round = (n.receivers[0].delivered_bytes() - before) / 100;
    assert!((49_900..=50_000).contains(&per_round), "{per_round}");
}
