//! Queues against theory, and shares against weights.

use super::scenarios::*;
use clearway_core::Duration;
use clearway_policy::scenario::{Destination, Law, Marks, Scenario, WorkloadKind};

/// Student's t for 99.9 % two-sided with 19 degrees of freedom.
const T_19: f64 = 3.883;

/// True mean within the 99.9 % interval of the values.
fn agrees(values: &[f64], truth: f64) -> bool {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    let half = T_19 * (variance / n).sqrt();
    assert!(
        half < 0.1 * truth,
        "an interval of {half} around {mean} could not miss {truth}"
    );
    (mean - truth).abs() <= half
}

fn poisson(bytes: f64, rate_fps: f64) -> WorkloadKind {
    WorkloadKind::Poisson {
        frame_bytes: Law::Constant(bytes),
        rate_fps,
    }
}

/// Mean of a class' latency from generation, ps.
fn mean_ps(scenario: &Scenario, seed: u64, class: usize) -> f64 {
    outcome(scenario, seed).classes[class]
        .counters
        .from_generation
        .mean()
        .unwrap()
}

#[test]
fn mean_wait_of_poisson_arrivals_of_one_size_is_that_of_m_d_1() {
    let mut scenario = star(2, Duration::from_ms(40));
    scenario.warmup = Duration::from_ms(1);
    let service = 1_250.0 * BYTE_PS as f64;
    for load in [0.5, 0.8] {
        scenario.workloads = vec![workload(
            vec![0],
            Destination::Host(1),
            poisson(1_230.0, load * 1e12 / service),
        )];
        let idle = 2.0 * (1_238 * BYTE_PS) as f64;
        let wait = load * service / (2.0 * (1.0 - load));
        let waits: Vec<f64> = (1..=20).map(|seed| mean_ps(&scenario, seed, 0) - idle).collect();
        assert!(agrees(&waits, wait), "load {load}: {waits:?} against {wait}");
    }
}

#[test]
fn two_priorities_wait_as_in_non_preemptive_m_g_1() {
    // Two senders to one port through a strict policy; high: 250 B frames, low: 1,250 B, as they count on the wire.
    let mut scenario = star(3, Duration::from_ms(40));
    scenario.warmup = Duration::from_ms(1);
    scenario.classes = vec!["high".to_owned(), "low".to_owned()];
    scenario.policies = vec![by_priority(None, None)];
    scenario.hosts[0].nic.policy = Some(0);
    let (s1, s2) = (250.0 * BYTE_PS as f64, 1_250.0 * BYTE_PS as f64);
    let (load1, load2) = (0.2, 0.5);
    let source = |bytes: f64, rate: f64, class, pcp| {
        let mut w = workload(vec![0], Destination::Host(1), poisson(bytes - 20.0, rate));
        w.class = class;
        w.marks = Marks {
            pcp: Some(pcp),
            ..Marks::default()
        };
        w
    };
    scenario.workloads = vec![
        source(250.0, load1 * 1e12 / s1, 0, 6),
        source(1_250.0, load2 * 1e12 / s2, 1, 1),
    ];
    let residual = (load1 * s1 + load2 * s2) / 2.0;
    let expected = [
        residual / (1.0 - load1),
        residual / ((1.0 - load1) * (1.0 - load1 - load2)),
    ];
    // Behind the NIC frames come one after another and never wait for their own kind; the switch adds its own
    // transmission, and the residue of a low frame that is still being sent where a high one follows it.
    let runs: Vec<_> = (1..=20).map(|seed| outcome(&scenario, seed)).collect();
    for (class, bytes) in [(0, 230_u64), (1, 1_230)] {
        let waits: Vec<f64> = runs
            .iter()
            .map(|o| {
                let c = &o.classes[class].counters;
                let first_bit = c.from_first_bit.mean().unwrap();
                assert!(first_bit >= (2 * (8 + bytes) * BYTE_PS) as f64);
                c.from_generation.mean().unwrap() - first_bit
            })
            .collect();
        assert!(
            agrees(&waits, expected[class]),
            "class {class}: {waits:?} against {}",
            expected[class]
        );
    }
}

#[test]
fn backlogged_weighted_queues_share_the_line_by_weight() {
    let mut scenario = star(3, Duration::from_ms(20));
    scenario.warmup = Duration::from_ms(2);
    scenario.policies = vec![by_priority(Some([1, 2, 5, 1, 1, 1, 1, 1]), None)];
    scenario.classes = vec!["0".into(), "1".into(), "2".into()];
    scenario.switches[0].policy = Some(0);
    // Ten times the memory, so that every queue stays backlogged: 22 Gb/s into 10.
    scenario.switches[0].memory_bytes = 400_000_000;
    scenario.workloads = [(0, 64.0, 4e9), (1, 700.0, 4e9), (2, 1_500.0, 8e9)]
        .iter()
        .map(|&(class, bytes, rate_bps)| {
            let kind = WorkloadKind::ConstantRate {
                frame_bytes: Law::Constant(bytes),
                rate_bps,
                flows: 1,
                burst: 1,
            };
            let mut w = workload(vec![if class == 2 { 0 } else { 1 }], Destination::Host(2), kind);
            w.class = class;
            w.marks.pcp = Some(class as u8);
            w
        })
        .collect();
    let o = outcome(&scenario, 1);
    let l1: Vec<f64> = o
        .classes
        .iter()
        .map(|c| c.counters.window.l1_bytes() as f64)
        .collect();
    let all: f64 = l1.iter().sum();
    assert!(
        (all * 8.0 / 0.018 / 1e10 - 1.0).abs() < 1e-3,
        "the line is full: {all}"
    );
    for (bytes, share) in l1.iter().zip([1.0, 2.0, 5.0]) {
        assert!((bytes / all - share / 8.0).abs() < 2e-3, "{l1:?}");
    }
}

#[test]
fn a_shaped_port_sends_its_rate_and_never_more() {
    let mut scenario = star(2, Duration::from_ms(10));
    scenario.policies = vec![by_priority(None, Some(3_000_000_000))];
    scenario.switches[0].policy = Some(0);
    let kind = WorkloadKind::ConstantRate {
        frame_bytes: Law::Constant(1_000.0),
        rate_bps: 8e9,
        flows: 3,
        burst: 1,
    };
    scenario.workloads = vec![workload(vec![0], Destination::Host(1), kind)];
    let o = outcome(&scenario, 1);
    let port = o
        .ports
        .iter()
        .find(|p| p.name.starts_with("s@") && p.totals.frames > 0)
        .unwrap();
    let bits = port.totals.l1_bytes() * 8;
    let limit = 3_000_000_000 / 100 + 3_200 * 8;
    assert!(
        bits <= limit && bits + 2 * 1_020 * 8 > limit - 3_000 * 8,
        "{bits} of {limit}"
    );
}
