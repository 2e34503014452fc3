//! TCP flows that share a bottleneck in the simulator: each law shares it fairly and fills it.

use super::scenarios::*;
use clearway_core::Duration;
use clearway_core::plan::{Mark, MarkAt, NodeKind};
use clearway_policy::scenario::{CongestionLaw, Destination, Scenario, TcpSettings, WorkloadKind};

const GIGABIT: u64 = 1_000_000_000;

/// `flows` senders at 10 Gb/s and one receiver at a gigabit.
fn incast(law: CongestionLaw, flows: usize) -> Scenario {
    // The warm-up and five times as long.
    let warmup_ms = if law == CongestionLaw::Cubic { 800 } else { 100 };
    let mut scenario = star(flows + 1, Duration::from_ms(6 * warmup_ms));
    scenario.warmup = Duration::from_ms(warmup_ms);
    scenario.switches[0].memory_bytes = 200_000;
    // Senders are faster than the bottleneck: at its own rate a lone flow would queue at home and keep the switch full.
    for link in &mut scenario.links {
        link.delay = Duration::from_us(50);
    }
    scenario.links[flows].rate_bps = GIGABIT;
    let ecn = law == CongestionLaw::Dctcp;
    if ecn {
        let mut policy = by_priority(None, None);
        for node in &mut policy.plan.nodes {
            if let NodeKind::Queue(queue) = &mut node.kind {
                queue.mark = Some(Mark {
                    threshold_bytes: 30_000,
                    at: MarkAt::Enqueue,
                });
            }
        }
        scenario.policies = vec![policy];
        scenario.switches[0].policy = Some(0);
    }
    let tcp = TcpSettings {
        congestion: law,
        ecn,
        rto_min: Duration::from_ms(5),
        delayed_ack: Duration::from_us(500),
        ..TcpSettings::default()
    };
    let kind = WorkloadKind::TcpBulk {
        connections: 1,
        tcp,
        bytes: None,
    };
    scenario.workloads = vec![workload((0..flows).collect(), Destination::Host(flows), kind)];
    scenario
}

/// Bytes that each flow's receiver got of frames sent after the warm-up.
fn shares(scenario: &Scenario, flows: usize, seed: u64) -> Vec<f64> {
    let outcome = outcome(scenario, seed);
    let data = outcome.flows.iter().filter(|f| f.to as usize == flows);
    data.map(|f| f.counters.delivered_bytes as f64).collect()
}

/// Jain's index: 1 where all are equal, 1/n where one has all.
fn jain(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    sum * sum / (x.len() as f64 * x.iter().map(|v| v * v).sum::<f64>())
}

#[test]
fn every_law_shares_a_bottleneck_fairly_and_fills_it() {
    // Half a second is some 20 to 30 cycles of loss of NewReno at this buffer, and hundreds of marks of DCTCP: what is
    // left of a flow's luck is a few per cent of its share. CUBIC keeps 0.7, so that two of its cycles undo what one of
    // NewReno's does, and starts from a slow start that one flow may have won: it gets longer. Jain's index of n flows
    // with a coefficient of variation c is 1 / (1 + c^2): 0.9 allows c = 0.33 where drops pick flows, 0.98 allows 0.14
    // where marks reach all.
    for (law, least) in [
        (CongestionLaw::NewReno, 0.9),
        (CongestionLaw::Cubic, 0.9),
        (CongestionLaw::Dctcp, 0.98),
    ] {
        for (flows, seed) in [(2, 1), (4, 2), (8, 3)] {
            let scenario = incast(law, flows);
            let got = shares(&scenario, flows, seed);
            assert_eq!(got.len(), flows);
            let index = jain(&got);
            assert!(index > least, "{law:?}, {flows} flows: {index} {got:?}");
            let rate = got.iter().sum::<f64>() * 8e12 / (5 * scenario.warmup.as_ps()) as f64;
            // Preamble and gap take 20 of 1,538 bytes.
            assert!(
                rate > 0.95 * 0.987 * GIGABIT as f64,
                "{law:?}, {flows} flows: {rate}"
            );
        }
    }
}
