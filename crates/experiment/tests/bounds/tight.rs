//! Where theory says that a bound is reached, a run reaches it: captures put frames where the worst case has them.

use crate::random::{frame, replay};
use clearway_experiment::bounds;
use clearway_policy::load_str;
use clearway_policy::scenario::{Scenario, Workload};
use clearway_sim::results::Unobserved;

const US: u64 = 1_000_000;
/// A longest frame at 10 Gbit/s with preamble and gap, picoseconds.
const LONG: u64 = (1_518 + 20) * 800;

fn network(text: &str, workloads: Vec<Workload>) -> Scenario {
    let loaded = load_str(text, "tight.toml", &[], &|path| {
        Err(format!("{path} is not there"))
    });
    let mut scenario = loaded
        .unwrap_or_else(|found| panic!("{}\n{text}", found[0]))
        .scenario;
    // A scenario file has at least one workload; here they are all captures.
    scenario.workloads = workloads;
    scenario
}

/// The largest latency of a workload, and its bound.
fn worst(scenario: &Scenario, workload: &str) -> (u64, u64) {
    let index = scenario
        .workloads
        .iter()
        .position(|w| w.name == workload)
        .unwrap();
    let found = bounds::of(scenario);
    let outcome = clearway_sim::run(scenario, 1, &mut Unobserved).unwrap();
    let seen = outcome.flows.iter().filter(|f| f.workload as usize == index);
    let seen = seen.map(|f| f.counters.latency_max_ps).max().unwrap();
    let mine = found.flows.iter().filter(|f| f.workload == index);
    let bound = mine.map(|f| f.latency_ps.clone().unwrap()).max().unwrap();
    assert!(seen <= bound, "{seen} > {bound}");
    (seen, bound)
}

const PAIR: &str = r#"
duration = "1ms"
[host.h]
count = 2
nic = { policy = "p" }
[link.cable]
ends = ["h1", "h2"]
rate = "10Gbit/s"
[workload.none]
from = "h1"
to = "h2"
poisson = { frame = "64B", rate = "1frame/s" }
"#;

#[test]
fn synchronised_bursts_at_one_fifo_reach_their_bound_exactly() {
    let text = r#"
duration = "1ms"
[host.h]
count = 5
[switch.sw]
memory = "64MB"
[link.cable]
ends = ["h", "sw"]
rate = "10Gbit/s"
length = "3m"
[workload.none]
from = "h1"
to = "h2"
poisson = { frame = "64B", rate = "1frame/s" }
"#;
    let burst = |from: usize| {
        let frames = (0..20).map(|_| frame(US, 1_518, 0, from as u16)).collect();
        replay(&format!("burst{from}"), from, 4, frames)
    };
    let scenario = network(text, (0..4).map(burst).collect());
    let all: Vec<(u64, u64)> = (0..4).map(|i| worst(&scenario, &format!("burst{i}"))).collect();
    // The last frame of the last sender finds all others before it.
    let seen = all.iter().map(|a| a.0).max().unwrap();
    let bound = all.iter().map(|a| a.1).max().unwrap();
    assert_eq!(seen, bound);
    // 20 frames at the NIC, 60 more at the switch, less the gaps behind the last bits, and two cables.
    assert_eq!(bound, 80 * LONG + LONG - 2 * 12 * 800 + 2 * 15_000);
    let outcome = clearway_sim::run(&scenario, 1, &mut Unobserved).unwrap();
    let found = bounds::of(&scenario);
    let line = outcome
        .ports
        .iter()
        .position(|p| p.backlog_bytes_max > 40_000)
        .unwrap();
    let queue = found.queues.iter().find(|q| q.line == line).unwrap();
    let (seen, bound) = (
        outcome.ports[line].backlog_bytes_max,
        queue.backlog_bytes.clone().unwrap(),
    );
    assert!(seen as f64 >= 0.97 * bound as f64, "{seen} {bound}");
}

#[test]
fn a_burst_over_ever_slower_hops_reaches_its_bound_exactly() {
    let text = r#"
duration = "10ms"
[host.h]
count = 2
[switch.s]
count = 2
memory = "64MB"
forwarding_delay = "500ns"
[link.first]
ends = ["h1", "s1"]
rate = "10Gbit/s"
[link.second]
ends = ["s1", "s2"]
rate = "1Gbit/s"
[link.third]
ends = ["s2", "h2"]
rate = "100Mbit/s"
[workload.none]
from = "h1"
to = "h2"
poisson = { frame = "64B", rate = "1frame/s" }
"#;
    let frames = (0..30).map(|_| frame(US, 1_000, 0, 7)).collect();
    let scenario = network(text, vec![replay("burst", 0, 1, frames)]);
    let (seen, bound) = worst(&scenario, "burst");
    assert_eq!(seen, bound);
}

#[test]
fn the_first_class_waits_for_one_frame_of_the_last_and_no_bound_without_it_would_hold() {
    let text = format!("{PAIR}[policy.p.class.high]\npcp = [7]\n[policy.p.class.low]\n");
    let low = (0..4).map(|i| frame(US + 100 * i * US, 1_518, 0, 1)).collect();
    let high = (0..4).map(|i| frame(US + 100 * i * US + 1, 64, 7, 2)).collect();
    let scenario = network(&text, vec![replay("low", 0, 1, low), replay("high", 0, 1, high)]);
    let (seen, bound) = worst(&scenario, "high");
    assert_eq!(bound, LONG + (64 + 8) * 800);
    assert_eq!(seen + 1, bound);
    assert!(seen > bound - LONG, "the bound without the blocking frame");
}

#[test]
fn the_last_class_waits_for_a_burst_of_the_first_exactly() {
    let text = format!("{PAIR}[policy.p.class.high]\npcp = [7]\n[policy.p.class.low]\n");
    let high = (0..25).map(|_| frame(US, 594, 7, 2)).collect();
    let low = vec![frame(US, 1_518, 0, 1)];
    let scenario = network(&text, vec![replay("low", 0, 1, low), replay("high", 0, 1, high)]);
    let (seen, bound) = worst(&scenario, "low");
    assert_eq!(seen, bound);
    assert_eq!(bound, 25 * (594 + 20) * 800 + (1_518 + 8) * 800);
}

#[test]
fn a_greedy_shaper_holds_a_burst_as_long_as_its_bound_within_a_hundredth() {
    let text = format!(
        "{PAIR}[policy.p]\nframe_max = \"1518B\"\n[policy.p.class.shaped]\nrate = \"500Mbit/s\"\nburst = \"3076B\"\n"
    );
    let frames = (0..40).map(|_| frame(US, 1_518, 0, 1)).collect();
    let scenario = network(&text, vec![replay("burst", 0, 1, frames)]);
    let (seen, bound) = worst(&scenario, "burst");
    // Two frames at once, and each other one its own length at the rate later.
    assert_eq!(seen, 38 * LONG * 20 + (1_518 + 8) * 800);
    assert!(seen as f64 >= 0.99 * bound as f64, "{seen} {bound}");
}

#[test]
fn frames_handed_over_at_once_wait_for_the_shaper_of_their_flow() {
    let text = format!(
        "{PAIR}[policy.p]\nframe_max = \"1518B\"\n[policy.p.class.streams]\n\
         per_flow = {{ rate = \"100Mbit/s\", burst = \"2frame\" }}\n"
    )
    .replace(
        "poisson = { frame = \"64B\", rate = \"1frame/s\" }",
        "constant_rate = { frame = \"1518B\", rate = \"90Mbit/s\", flows = 3, burst = 6 }",
    )
    .replace("duration = \"1ms\"", "duration = \"5ms\"");
    let loaded = load_str(&text, "tight.toml", &[], &|path| {
        Err(format!("{path} is not there"))
    });
    let scenario = loaded
        .unwrap_or_else(|found| panic!("{}\n{text}", found[0]))
        .scenario;
    let (seen, bound) = worst(&scenario, "none");
    // Two of six frames at once, and each of the other four its own length at the rate later.
    assert!(seen >= 4 * LONG * 100, "{seen}");
    assert!(seen as f64 >= 0.9 * bound as f64, "{seen} {bound}");
}

#[test]
fn turns_reach_their_bound_within_a_tenth() {
    let text = format!(
        "{PAIR}[policy.p]\nkind = \"weighted\"\nframe_max = \"1518B\"\n\
         [policy.p.class.a]\nweight = 1\npcp = [1]\n[policy.p.class.b]\nweight = 3\npcp = [2]\n"
    );
    let others = (0..400).map(|_| frame(US, 1_518, 2, 2)).collect();
    let mine = (0..60).map(|_| frame(US + 10, 1_518, 1, 1)).collect();
    let scenario = network(&text, vec![replay("b", 0, 1, others), replay("a", 0, 1, mine)]);
    let (seen, bound) = worst(&scenario, "a");
    assert!(seen as f64 >= 0.9 * bound as f64, "{seen} {bound}");
}

#[test]
fn what_may_not_end_has_a_reason_and_no_number() {
    let text = PAIR.replace(
        "frame = \"64B\", rate = \"1frame/s\"",
        "frame = \"1518B\", rate = \"2Gbit/s\"",
    );
    let text = format!("{text}[policy.p.class.all]\n");
    let loaded = load_str(&text, "tight.toml", &[], &|path| {
        Err(format!("{path} is not there"))
    });
    let poisson = bounds::of(&loaded.unwrap().scenario);
    let reason = poisson.classes[0].latency_ps.clone().unwrap_err();
    assert!(
        reason.contains("workload none") && reason.contains("Poisson"),
        "{reason}"
    );
    // Two senders of 6 Gbit/s each into one line of 10.
    let text = r#"
duration = "1ms"
[host.h]
count = 3
[switch.sw]
memory = "64MB"
[link.cable]
ends = ["h", "sw"]
rate = "10Gbit/s"
[workload.much]
from = ["h1", "h2"]
to = "h3"
constant_rate = { frame = "1518B", rate = "6Gbit/s" }
"#;
    let loaded = load_str(text, "tight.toml", &[], &|path| {
        Err(format!("{path} is not there"))
    });
    let reason = bounds::of(&loaded.unwrap().scenario).classes[0]
        .latency_ps
        .clone()
        .unwrap_err();
    assert!(
        reason.contains("sw@cable3") && reason.contains("12.00 Gbit/s"),
        "{reason}"
    );
}
