//! Facts about sources as a host sees them.

use super::*;
use clearway_core::{Duration, FlowKey};
use clearway_policy::scenario::{Destination as To, Law, Marks, ReplayFrame};

const TEN_GIGABIT: u64 = 10_000_000_000;
const SECOND_PS: u64 = 1_000_000_000_000;

fn workload(to: To, kind: WorkloadKind) -> Workload {
    Workload {
        name: "test".to_owned(),
        from: vec![0, 1, 2, 3],
        to,
        class: 0,
        marks: Marks::default(),
        start: Duration::ZERO,
        stop: None,
        kind,
    }
}

fn context(host: usize, end_ps: u64) -> SenderContext<'static> {
    SenderContext {
        host,
        participants: &[0, 1, 2, 3],
        line_rate_bps: TEN_GIGABIT,
        clock_ppm: 0,
        end: Instant::from_ps(end_ps),
    }
}

fn source(workload: &Workload, end_ps: u64, seed: u64) -> Source {
    Source::new(workload, &context(1, end_ps), Stream::new(seed, 1, "workload")).unwrap()
}

/// The backplane workload: 1518 B frames, geometric bursts, 97 % of the line, a skew towards station 0.
fn backplane() -> Workload {
    workload(
        To::Skewed {
            host: 0,
            probability: 0.023,
        },
        WorkloadKind::Bursty {
            burst_bytes: Law::Geometric(9_000.0),
            frame_bytes: Law::Constant(1_518.0),
            load: 0.97,
            blocking: false,
        },
    )
}

fn constant_rate(frame_bytes: Law, rate_bps: f64, flows: u32) -> Workload {
    let kind = WorkloadKind::ConstantRate {
        frame_bytes,
        rate_bps,
        flows,
        burst: 1,
    };
    workload(To::Host(2), kind)
}

fn wire_bits(emissions: &[Emission]) -> f64 {
    emissions
        .iter()
        .map(|frame| f64::from(frame.bytes + WIRE_OVERHEAD_BYTES) * 8.0)
        .sum()
}

fn in_order(emissions: &[Emission]) -> bool {
    emissions.is_sorted_by_key(|frame| frame.at)
}

#[test]
fn the_backplane_workload_has_its_load_on_the_wire() {
    let mut loads = Vec::new();
    for seed in 1..=20 {
        let frames: Vec<_> = source(&backplane(), SECOND_PS / 10, seed).collect();
        assert!(in_order(&frames));
        loads.push(wire_bits(&frames) / 1e9);
    }
    let mean = loads.iter().sum::<f64>() / 20.0;
    let deviations = loads.iter().map(|load| load - mean);
    let variance = deviations.map(|d| d * d).sum::<f64>() / 19.0;
    // Student's t with 19 degrees of freedom: 3.883 at 99.9 %.
    let half = 3.883 * (variance / 20.0).sqrt();
    assert!((mean - 0.97).abs() < half && half < 1e-3, "{mean} +- {half}");
}

#[test]
fn frames_of_a_burst_are_back_to_back_and_go_to_one_host() {
    let mut source = source(&backplane(), SECOND_PS / 100, 3);
    let mut before: Option<Emission> = None;
    let (mut bursts, mut frames) = (0_u32, 0_u32);
    loop {
        let begins = source.between_bursts();
        let Some(frame) = source.next() else { break };
        frames += 1;
        bursts += u32::from(begins);
        if let (Some(before), false) = (before, begins) {
            assert_eq!(frame.at.as_ps() - before.at.as_ps(), 1_538 * 800);
            assert_eq!((frame.destination, frame.flow), (before.destination, before.flow));
        }
        before = Some(frame);
    }
    // Mean of a geometric burst rounded up to whole frames: 1 / (1 - (1 - 1/9000)^1518) = 6.44.
    let mean = f64::from(frames) / f64::from(bursts);
    assert!((6.0..6.9).contains(&mean), "{mean} frames a burst");
}

#[test]
fn a_blocked_source_goes_on_from_where_it_is_let() {
    let mut source = source(&backplane(), SECOND_PS, 3);
    while source.next().is_some_and(|_| !source.between_bursts()) {}
    source.resume(Instant::from_ps(SECOND_PS / 2));
    let next = source.next().unwrap();
    assert!(next.at >= Instant::from_ps(SECOND_PS / 2));
}

#[test]
fn a_full_line_has_no_gap() {
    let mut full = backplane();
    if let WorkloadKind::Bursty { load, .. } = &mut full.kind {
        *load = 1.0;
    }
    let frames: Vec<_> = source(&full, SECOND_PS / 1_000, 1).collect();
    assert!(
        frames
            .windows(2)
            .all(|pair| pair[1].at.as_ps() - pair[0].at.as_ps() == 1_538 * 800)
    );
}

#[test]
fn constant_rate_is_exact_for_every_flow() {
    // 1 kB on the wire at 3 Mbit/s is 2,666,666,666.67 ps: 375 frames a second and flow, no more, no less.
    let frames: Vec<_> = source(&constant_rate(Law::Constant(980.0), 3e6, 100), SECOND_PS - 1, 1).collect();
    assert!(in_order(&frames));
    let mut first = vec![None; 100];
    let mut count = vec![0_u64; 100];
    for frame in &frames {
        let flow = frame.flow as usize;
        let start = *first[flow].get_or_insert(frame.at.as_ps());
        let elapsed = frame.at.as_ps() - start;
        assert_eq!(elapsed, count[flow] * 8_000_000_000 / 3, "flow {flow}");
        count[flow] += 1;
    }
    assert!(count.iter().all(|&count| count == 375), "{count:?}");
}

#[test]
fn phases_of_constant_rate_flows_spread_over_the_gap() {
    let frames: Vec<_> = source(&constant_rate(Law::Constant(980.0), 3e6, 1_000), SECOND_PS, 1)
        .take(1_000)
        .collect();
    let mean = frames.iter().map(|frame| frame.at.as_ps() as f64).sum::<f64>() / 1_000.0;
    let gap = 8e9 / 3.0;
    // The mean of 1,000 uniform phases has a standard deviation of gap / sqrt(12,000).
    assert!(
        (mean - gap / 2.0).abs() < 3.29 * gap / 12_000_f64.sqrt(),
        "{mean}"
    );
}

#[test]
fn a_flow_that_hands_over_several_frames_at_once_keeps_its_rate() {
    let sizes = Law::Empirical(vec![(64.0, 7.0), (594.0, 4.0), (1_518.0, 1.0)]);
    for law in [Law::Constant(980.0), sizes] {
        let mut load = constant_rate(law, 3e6, 20);
        if let WorkloadKind::ConstantRate { burst, .. } = &mut load.kind {
            *burst = 5;
        }
        let frames: Vec<_> = source(&load, 4 * SECOND_PS, 1).collect();
        assert!(in_order(&frames));
        for flow in 0..20 {
            let mine: Vec<_> = frames
                .iter()
                .copied()
                .filter(|frame| frame.flow == flow)
                .collect();
            let bursts: Vec<_> = mine.chunks_exact(5).collect();
            assert!(bursts.len() > 100);
            for pair in bursts.windows(2) {
                assert!(pair[0].iter().all(|frame| frame.at == pair[0][0].at));
                let exact = wire_bits(pair[0]) / 3e6 * 1e12;
                let gap = pair[1][0].at.as_ps() - pair[0][0].at.as_ps();
                assert!((gap as f64 - exact).abs() < 2.0, "flow {flow}: {gap} {exact}");
            }
        }
    }
}

#[test]
fn constant_rate_of_random_frames_keeps_its_rate() {
    let law = Law::Empirical(vec![(64.0, 7.0), (594.0, 4.0), (1_518.0, 1.0)]);
    let frames: Vec<_> = source(&constant_rate(law, 7e6, 50), 4 * SECOND_PS, 1).collect();
    assert!(in_order(&frames));
    for flow in 0..50 {
        let mine: Vec<_> = frames
            .iter()
            .copied()
            .filter(|frame| frame.flow == flow)
            .collect();
        let (first, last) = (mine[0], mine[mine.len() - 1]);
        let exact = wire_bits(&mine[..mine.len() - 1]) / 7e6 * 1e12;
        assert!((last.at.as_ps() as f64 - first.at.as_ps() as f64 - exact).abs() < 2.0);
    }
}

#[test]
fn poisson_arrivals_have_the_rate_and_variance_of_their_law() {
    let kind = WorkloadKind::Poisson {
        frame_bytes: Law::Constant(500.0),
        rate_fps: 200_000.0,
    };
    let frames: Vec<_> = source(&workload(To::UniformOthers, kind), SECOND_PS, 1).collect();
    let n = frames.len() as f64;
    assert!((n - 200_000.0).abs() < 3.29 * 200_000_f64.sqrt(), "{n}");
    // Counts in milliseconds: variance over mean is 1, with a standard error of sqrt(2 / 1000).
    let mut counts = vec![0.0; 1_000];
    for frame in &frames {
        counts[(frame.at.as_ps() / 1_000_000_000).min(999) as usize] += 1.0;
    }
    let mean = n / 1_000.0;
    let index = counts
        .iter()
        .map(|count| (count - mean) * (count - mean))
        .sum::<f64>()
        / 999.0
        / mean;
    assert!((index - 1.0).abs() < 3.29 * (2_f64 / 1_000.0).sqrt(), "{index}");
}

#[test]
fn on_off_sends_its_rate_while_it_is_on() {
    let kind = WorkloadKind::OnOff {
        frame_bytes: Law::Constant(1_230.0),
        rate_bps: 1e9,
        on: Law::Constant(15e-6),
        off: Law::Exponential(35e-6),
    };
    // A frame takes 10 us of on time: periods of 15 us carry one and a half frames each.
    let frames: Vec<_> = source(&workload(To::Host(0), kind), SECOND_PS, 1).collect();
    assert!(in_order(&frames));
    let rate = wire_bits(&frames) / 1e9;
    // Renewal cycles of 15 + 35 us: 20,000 of them, the sum of gaps has a deviation of 0.5 %.
    assert!(
        (rate - 0.3).abs() < 3.29 * 0.3 * 0.7 / 20_000_f64.sqrt(),
        "{rate}"
    );
    assert!(
        frames
            .windows(2)
            .all(|pair| pair[1].at.as_ps() - pair[0].at.as_ps() >= 10_000_000)
    );
}

#[test]
fn open_loop_requests_are_evenly_spaced_from_a_random_phase() {
    let kind = WorkloadKind::OpenLoop {
        request_bytes: 64,
        response_bytes: 0,
        rate_fps: 3_000.0,
        poisson: false,
    };
    let load = workload(To::Host(0), kind);
    let frames: Vec<_> = source(&load, SECOND_PS - 1, 1).collect();
    assert_eq!(frames.len(), 3_000);
    let start = frames[0].at.as_ps();
    for (turn, frame) in frames.iter().enumerate() {
        assert_eq!(frame.at.as_ps() - start, turn as u64 * SECOND_PS / 3_000);
        assert_eq!(frame.intended, frame.at);
    }
    assert_ne!(source(&load, SECOND_PS, 2).next().unwrap().at.as_ps(), start);
}

#[test]
fn a_fast_clock_sends_more() {
    let load = constant_rate(Law::Constant(980.0), 8e6, 1);
    let mut fast = context(1, SECOND_PS * 10);
    fast.clock_ppm = 1_000;
    let sent = Source::new(&load, &fast, Stream::new(1, 1, "workload"))
        .unwrap()
        .count();
    assert!((10_009..=10_011).contains(&sent), "{sent}");
}

#[test]
fn a_replay_keeps_its_instants_and_sorts_those_that_step_back() {
    let frame = |us, bytes| ReplayFrame {
        at: Duration::from_us(us),
        bytes,
        key: FlowKey::default(),
    };
    let kind = WorkloadKind::Replay {
        frames: vec![frame(0, 100), frame(9, 1_518), frame(4, 60), frame(9, 64)],
    };
    let mut load = workload(To::Host(0), kind);
    load.start = Duration::from_us(1);
    let frames: Vec<_> = source(&load, SECOND_PS, 1)
        .map(|f| (f.at.as_ps() / 1_000_000, f.bytes, f.flow))
        .collect();
    assert_eq!(frames, [(1, 100, 0), (5, 64, 2), (10, 1_518, 1), (10, 64, 3)]);
}

#[test]
fn nothing_is_sent_before_the_start_or_after_the_stop() {
    let mut load = constant_rate(Law::Constant(980.0), 8e9, 3);
    load.start = Duration::from_us(100);
    load.stop = Some(Duration::from_us(200));
    let frames: Vec<_> = source(&load, SECOND_PS, 1).collect();
    assert_eq!(frames.len(), 300);
    assert!(
        frames
            .iter()
            .all(|frame| (100_000_000..=200_000_000).contains(&frame.at.as_ps()))
    );
}

#[test]
fn priorities_are_fixed_or_uniform() {
    let mut load = constant_rate(Law::Constant(980.0), 8e9, 1);
    assert!(
        source(&load, SECOND_PS, 1)
            .take(100)
            .all(|frame| frame.pcp.is_none())
    );
    load.marks.pcp = Some(5);
    assert!(
        source(&load, SECOND_PS, 1)
            .take(100)
            .all(|frame| frame.pcp == Some(5))
    );
    load.marks.pcp_uniform = true;
    let mut counts = [0_i32; 8];
    for frame in source(&load, SECOND_PS, 1).take(80_000) {
        counts[usize::from(frame.pcp.unwrap())] += 1;
    }
    assert!(
        counts.iter().all(|count| (count - 10_000).abs() < 400),
        "{counts:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let first: Vec<_> = source(&backplane(), SECOND_PS / 100, 7).collect();
    assert_eq!(
        first,
        source(&backplane(), SECOND_PS / 100, 7).collect::<Vec<_>>()
    );
    assert_ne!(
        first,
        source(&backplane(), SECOND_PS / 100, 8).collect::<Vec<_>>()
    );
}

#[test]
fn impossible_workloads_name_their_field() {
    let bursty = |burst_bytes, load| WorkloadKind::Bursty {
        burst_bytes,
        frame_bytes: Law::Constant(1_518.0),
        load,
        blocking: false,
    };
    let on_off = WorkloadKind::OnOff {
        frame_bytes: Law::Constant(64.0),
        rate_bps: 1e9,
        on: Law::Constant(0.0),
        off: Law::Constant(1.0),
    };
    let closed = WorkloadKind::RequestResponse {
        request_bytes: 64,
        response_bytes: 64,
        outstanding: 1,
    };
    let constant = |rate_bps, flows| constant_rate(Law::Constant(64.0), rate_bps, flows).kind;
    let at_once = |burst| WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(64.0),
        rate_bps: 1e6,
        flows: 1,
        burst,
    };
    for (kind, field) in [
        (bursty(Law::Geometric(9_000.0), 0.0), "load"),
        (bursty(Law::Geometric(9_000.0), 1.01), "load"),
        (bursty(Law::Geometric(9_000.0), f64::NAN), "load"),
        (bursty(Law::Geometric(0.0), 0.5), "burst_bytes"),
        (constant(0.0, 1), "rate_bps"),
        (constant(1e9, 0), "flows"),
        (at_once(0), "burst"),
        (at_once(10_001), "burst"),
        (on_off, "on"),
        (closed, "kind"),
    ] {
        let load = workload(To::UniformOthers, kind);
        let error = Source::new(&load, &context(1, SECOND_PS), Stream::new(1, 1, "workload")).unwrap_err();
        assert_eq!(error.field, field, "{error}");
    }
}

#[test]
fn instants_near_the_end_of_time_end_a_source_instead_of_wrapping() {
    for kind in [
        constant_rate(Law::Constant(64.0), 1e-6, 3).kind,
        WorkloadKind::Poisson {
            frame_bytes: Law::Constant(64.0),
            rate_fps: 1e-6,
        },
        WorkloadKind::OnOff {
            frame_bytes: Law::Constant(64.0),
            rate_bps: 1e9,
            on: Law::Constant(1e-9),
            off: Law::Constant(1e300),
        },
    ] {
        let mut load = workload(To::Host(0), kind);
        load.start = Duration::from_ps(u64::MAX - 5);
        assert!(source(&load, u64::MAX, 1).count() <= 1);
    }
}
