//! Event building: latencies that are worked out on paper, what each control does to the switch, losses.

use crate::results::{Events, Unobserved};
use clearway_policy::load_str;
use clearway_policy::scenario::Scenario;

/// Hosts s0.. and b0.. on one switch, 1 Gbit/s, no delays but the wire's; `builder` is the inside of the workload's
/// table.
fn scenario(sources: u32, builders: u32, duration: &str, memory: &str, builder: &str) -> Scenario {
    let names: Vec<String> = (0..builders).map(|j| format!("\"b{j}\"")).collect();
    let text = format!(
        r#"
duration = "{duration}"
[host."s{{0..{}}}"]
[host."b{{0..{}}}"]
[switch.sw]
memory = "{memory}"
[link.s]
ends = ["s{{0..{}}}", "sw"]
rate = "1Gbit/s"
length = "0m"
[link.b]
ends = ["b{{0..{}}}", "sw"]
rate = "1Gbit/s"
length = "0m"
[workload.daq]
from = "s{{0..{}}}"
to = [{}]
event_builder = {{ {builder} }}
"#,
        sources - 1,
        builders - 1,
        sources - 1,
        builders - 1,
        sources - 1,
        names.join(", "),
    );
    let loaded = load_str(&text, "events", &[], &|path| Err(format!("there is no {path}")));
    loaded.unwrap_or_else(|f| panic!("{f:?}")).scenario
}

struct Found {
    events: Events,
    memory_peak: u64,
}

fn run(scenario: &Scenario) -> Found {
    let outcome = crate::run(scenario, 1, &mut Unobserved).unwrap();
    Found {
        events: outcome.events[0].events.clone(),
        memory_peak: outcome.switches[0].memory_bytes_peak,
    }
}

/// A frame of so many payload bytes over UDP with preamble and gap, at 1 Gbit/s: 8 ns a byte; its last bit leaves 12
/// bytes earlier.
const fn frame_ps(payload: u64) -> u64 {
    (payload + 46 + 20) * 8_000
}
const GAP_PS: u64 = 12 * 8_000;

#[test]
fn without_contention_the_latency_is_the_way_of_the_frames() {
    // Store and forward: twice the frame, without the gaps. One event at a time, each frame alone.
    let one = r#"transport = "udp", fragment = "1000B", events_in_flight = 1"#;
    let found = run(&scenario(1, 1, "10ms", "1MB", one));
    let way = 2 * (frame_ps(1_000) - GAP_PS);
    let latency = &found.events.latency;
    assert_eq!((latency.min(), latency.max()), (Some(way), Some(way)));
    // The next trigger comes with the last byte of the event before.
    assert_eq!(found.events.built, 10_000_000_000 / way);

    // Three frames behind each other: 1,480 IP bytes each, so 8 + 4,000 = 1,480 + 1,480 + 1,048.
    let three = r#"transport = "udp", fragment = "4000B", rate = "100message/s""#;
    let found = run(&scenario(1, 1, "100ms", "1MB", three));
    let full = (1_480 + 20 + 18 + 20) * 8_000;
    let last = (1_048 + 20 + 18 + 20) * 8_000;
    let way = full + full + last - GAP_PS + last - GAP_PS;
    // The last frame waits at the switch for the full one before it, which began a frame later than it came in.
    let behind = full - last;
    assert_eq!(found.events.latency.max(), Some(way + behind));
    assert_eq!(found.events.built, 10);
}

#[test]
fn sources_that_send_at_once_meet_at_the_builder_and_fill_the_memory() {
    let at_once = r#"transport = "udp", fragment = "1000B", events_in_flight = 1"#;
    let found = run(&scenario(8, 1, "10ms", "1MB", at_once));
    // Eight frames come in together and leave one after another.
    let way = frame_ps(1_000) - GAP_PS + 8 * frame_ps(1_000) - GAP_PS;
    assert_eq!(found.events.latency.max(), Some(way));
    assert_eq!(found.memory_peak, 8 * 1_046);
    assert_eq!(found.events.incomplete, 0);
}

#[test]
fn a_barrel_shifter_keeps_three_frames_a_builder_in_the_switch() {
    // 4 x 4, a fragment of 14 frames, 166.6 us on the wire (20,008 bytes and 58 around each), in a slot of 180 us. No
    // two sources meet: at most three frames are in the switch for each builder, one that comes, one that waits, one
    // that leaves.
    let turns = r#"transport = "udp", fragment = "20000B", events_in_flight = 64, barrel_shifter = { slot = "180us" }"#;
    let found = run(&scenario(4, 4, "20ms", "1MB", turns));
    assert!(found.memory_peak <= 12 * 1_518, "{}", found.memory_peak);
    // Each slot carries a fragment from every source.
    let slots = 20_000 / 180;
    assert!(
        found.events.fragments >= 4 * (slots - 8),
        "{}",
        found.events.fragments
    );
    // What is left of a slot begins the next fragment, so that the line is the limit: 20 ms of 166.6 us, 120 a source.
    assert!(found.events.fragments <= 4 * 120, "{}", found.events.fragments);
    let at_once = r#"transport = "udp", fragment = "20000B", events_in_flight = 64"#;
    let crowd = run(&scenario(4, 4, "20ms", "1MB", at_once));
    assert!(crowd.memory_peak > 3 * found.memory_peak, "{}", crowd.memory_peak);
}

#[test]
fn a_fragment_longer_than_a_slot_goes_on_in_a_later_round() {
    // Two full frames fit 26 us; 10,000 bytes are seven frames: four rounds of two slots.
    let turns =
        r#"transport = "udp", fragment = "10000B", events_in_flight = 1, barrel_shifter = { slot = "26us" }"#;
    let found = run(&scenario(2, 2, "20ms", "1MB", turns));
    assert!(found.events.built > 50);
    // The two sources begin half a round apart: the later one is done in the fourth of its rounds.
    let least = 7 * 26_000_000;
    assert!(found.events.latency.min().is_some_and(|l| l > least));
    assert!(found.events.latency.max().is_some_and(|l| l < 11 * 26_000_000));
}

#[test]
fn builders_that_ask_for_one_fragment_never_fill_the_switch() {
    let pull = r#"transport = "udp", fragment = "1000B", events_in_flight = 64, pull = { fragments_outstanding = 1 }"#;
    let found = run(&scenario(8, 4, "10ms", "1MB", pull));
    // One fragment a builder, its request, and a frame on its way in.
    assert!(found.memory_peak <= 4 * (1_046 + 64) * 2, "{}", found.memory_peak);
    // A request of 16 bytes is a frame of 64; each fragment is asked for when the one before is there: the way of the
    // request and of the fragment, twice over store and forward.
    let round = 2 * ((64 + 8) * 8_000) + 2 * (frame_ps(1_000) - GAP_PS);
    let most = 4 * 10_000_000_000 / round;
    assert!(
        found.events.fragments <= most,
        "{} of {most}",
        found.events.fragments
    );
    assert!(
        found.events.fragments > most * 9 / 10,
        "{} of {most}",
        found.events.fragments
    );
    let more = r#"transport = "udp", fragment = "1000B", events_in_flight = 64, pull = { fragments_outstanding = 4 }"#;
    assert!(run(&scenario(8, 4, "10ms", "1MB", more)).events.fragments > found.events.fragments * 3 / 2);
}

#[test]
fn a_memory_that_is_too_small_loses_fragments_and_their_events_are_incomplete() {
    let at_once = r#"transport = "udp", fragment = "1000B", events_in_flight = 4"#;
    let found = run(&scenario(8, 1, "10ms", "5000B", at_once));
    assert!(found.events.incomplete > 100, "{}", found.events.incomplete);
    assert!(found.events.triggered >= found.events.built + found.events.incomplete);
    assert!(found.events.triggered <= found.events.built + found.events.incomplete + found.events.open);
    // TCP loses nothing for good.
    let tcp = r#"transport = { tcp = { rto_min = "1ms" } }, fragment = "1000B", events_in_flight = 4"#;
    let found = run(&scenario(8, 1, "50ms", "20kB", tcp));
    assert!(found.events.built > 50, "{}", found.events.built);
    assert_eq!(found.events.incomplete, 0);
}

#[test]
fn events_wait_for_their_turn_and_latency_counts_from_the_trigger() {
    // A trigger each 10 us, an event in flight for 17 us: each waits longer than the one before.
    let late = r#"transport = "udp", fragment = "1000B", rate = "100000message/s", events_in_flight = 1"#;
    let found = run(&scenario(1, 1, "2ms", "1MB", late));
    let way = 2 * (frame_ps(1_000) - GAP_PS);
    let built = found.events.built;
    assert_eq!(built, 2_000_000_000 / way);
    assert_eq!(
        found.events.latency.max(),
        Some(built * way - (built - 1) * 10_000_000)
    );
}

#[test]
fn the_same_seed_builds_the_same_events() {
    let law = r#"transport = "udp", fragment = { exponential = "3000B" }, events_in_flight = 20, barrel_shifter = { slot = "50us" }"#;
    let s = scenario(3, 5, "20ms", "1MB", law);
    let hash = |seed| crate::run(&s, seed, &mut Unobserved).unwrap().hash();
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
}
