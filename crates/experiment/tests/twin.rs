//! The twin test: one trace through the simulated NIC and through the data plane's pump, on a memory port and a clock
//! of the test's choosing, gives the same frames in the same order at the same picoseconds.
//!
//! It is the product's central claim: what the simulator predicts of a port is what the same traffic manager does with
//! real frames. The policy has shapers in bits and frames at three levels, a guarantee, a per-flow class and gates; while
//! frames are queued, gates shut and open, a rate and a weight change, and flows move between classes.

use clearway_core::plan::BitShape;
use clearway_core::{Change, Duration, Ecn, FlowId, FlowKey, GateSet, Instant, NodeId, TrafficManager};
use clearway_dataplane::{MemoryPort, Pump, Received, Wake};
use clearway_policy::scenario::{ReplayFrame, Scenario, WorkloadKind};
use clearway_sim::results::CaptureRecord;
use clearway_sim::{Action, Observer, RunOptions, Scripted, run_scripted};

const SCENARIO: &str = r#"
    duration = "40ms"

    [policy.nic]
    rate = "95%"
    burst = "4KiB"
    frames_max = 20000
    flows_max = 64

    [policy.nic.class.urgent]
    pcp = [6, 7]
    frame_rate = "300000frame/s"
    frame_burst = "4frames"

    [policy.nic.class.shared]
    kind = "weighted"
    rate = "8Gbit/s"
    burst = "8KiB"

    [policy.nic.class.shared.class.gold]
    pcp = [4, 5]
    weight = 3
    guarantee = "2Gbit/s"
    guarantee_burst = "6KiB"

    [policy.nic.class.shared.class.silver]
    pcp = [2, 3]
    weight = 2

    [policy.nic.class.shared.class.streams]
    pcp = [0, 1]
    weight = 1
    per_flow = { rate = "400Mbit/s", burst = "2KiB" }

    [host.h]
    count = 2
    nic = { policy = "nic" }

    [link.cable]
    ends = ["h1", "h2"]
    rate = "10Gbit/s"
    capture = "a"

    [workload.trace]
    from = "h1"
    to = "h2"
    constant_rate = { frame = "64B", rate = "1Mbit/s" }
"#;

/// One frame that left: when, how long, whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    at: Instant,
    bytes: u32,
    key: (u8, u16, u16),
}

fn name_of(key: &FlowKey) -> (u8, u16, u16) {
    (key.pcp, key.src_port, key.dst_port)
}

struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn key(pcp: u8, flow: u16) -> FlowKey {
    FlowKey {
        ethertype: 0x0800,
        ip_version: 4,
        protocol: 17,
        src_ip: 0x0A00_0001,
        dst_ip: 0x0A00_0002,
        src_port: 1_000 + flow,
        dst_port: 2_000 + u16::from(pcp),
        pcp,
        tagged: true,
        ..FlowKey::default()
    }
}

/// Bursts and lone frames of every priority; most instants are whole byte times, so that many coincide with a
/// transmitter that becomes free, a gate that opens or another arrival.
fn trace(seed: u64) -> Vec<ReplayFrame> {
    let mut draws = Draws(seed);
    let (mut at, mut frames) = (0, Vec::new());
    while frames.len() < 12_000 {
        at += match draws.below(5) {
            0 => 0,
            1 => 800 * draws.below(40_000),
            2 => 1_216_000,
            3 => draws.below(3_000_000),
            _ => 67_200,
        };
        let bytes = [64, 64, 500, 1_500, 1_518][draws.below(5) as usize];
        let key = key(draws.below(8) as u8, draws.below(5) as u16);
        frames.push(ReplayFrame {
            at: Duration::from_ps(at),
            bytes,
            key,
        });
    }
    frames
}

fn slot(scenario: &Scenario, name: &str) -> NodeId {
    let names = &scenario.policies[0].node_names;
    let at = names
        .iter()
        .position(|n| n == name || n.ends_with(&format!("/{name}")));
    NodeId::first(at.unwrap_or_else(|| panic!("no node {name} among {names:?}")) as u32)
}

/// Gates shut and open, rates and weights change, flows move there and back, all over the trace.
fn script(scenario: &Scenario, seed: u64, frames: &[ReplayFrame]) -> Vec<Scripted> {
    let mut draws = Draws(seed ^ 0x5EED);
    let last = frames.last().map_or(0, |f| f.at.as_ps());
    let [gold, silver, streams] = ["gold", "silver", "streams"].map(|n| slot(scenario, n));
    let shared = slot(scenario, "shared");
    let mut actions = Vec::new();
    let mut moved = [false; 5];
    for step in 1..=300_u64 {
        // On an arrival's own instant as often as not.
        let at = if draws.below(2) == 0 {
            frames[draws.below(frames.len() as u64) as usize].at.as_ps()
        } else {
            last / 300 * step
        };
        actions.push(at);
    }
    actions.sort_unstable();
    let mut scripted = Vec::new();
    for at in actions {
        let instant = Instant::from_ps(at);
        let action = match draws.below(6) {
            0 => Action::Pause {
                gates: GateSet::ALL,
                until: Instant::from_ps(at + 512 * 100 * draws.below(400)),
            },
            1 => Action::Pause {
                gates: GateSet::one(draws.below(8) as u8),
                until: Instant::from_ps(at + 512 * 100 * draws.below(2_000)),
            },
            2 => Action::Pause {
                gates: GateSet::ALL,
                until: instant,
            },
            3 => Action::Change(Change::Weight {
                node: gold,
                weight: 1 + draws.below(5) as u32,
            }),
            4 => Action::Change(Change::Rate {
                node: shared,
                rate: Some(BitShape {
                    rate_bps: (3 + draws.below(6)) * 1_000_000_000,
                    burst_bytes: 8_192,
                }),
            }),
            _ => {
                // A flow of a shared queue (held behind its own frames), or of the per-flow queue (moves whole).
                let n = draws.below(5) as usize;
                let (home, away, pcp) = if n < 3 {
                    (silver, streams, 2)
                } else {
                    (streams, gold, 0)
                };
                let (from, to) = if moved[n] { (away, home) } else { (home, away) };
                moved[n] = !moved[n];
                Action::Change(Change::MoveFlow {
                    flow: FlowId::of(&key(pcp, n as u16)),
                    from,
                    to,
                })
            }
        };
        scripted.push(Scripted {
            at: instant,
            link: 0,
            end: 0,
            action,
        });
    }
    scripted
}

struct Capture(Vec<Left>);

impl Observer for Capture {
    fn frames(&mut self, records: &[CaptureRecord]) {
        self.0.extend(records.iter().map(|r| Left {
            at: r.at,
            bytes: r.bytes,
            key: name_of(&r.key),
        }));
    }
}

fn simulated(scenario: &Scenario, script: &[Scripted]) -> Vec<Left> {
    let mut capture = Capture(Vec::new());
    let outcome = run_scripted(scenario, 1, &RunOptions::default(), script, &mut capture);
    outcome.unwrap_or_else(|refusal| panic!("{refusal}"));
    capture.0
}

fn pumped(scenario: &Scenario, frames: &[ReplayFrame], script: &[Scripted]) -> Vec<Left> {
    let plan = &scenario.policies[0].plan;
    let manager = TrafficManager::new(plan).expect("the policy is valid");
    let arrivals = frames.iter().map(|f| {
        let received = Received {
            frame: name_of(&f.key),
            key: f.key,
            len: f.bytes,
            ecn: Ecn::NotCapable,
        };
        (Instant::from_ps(f.at.as_ps()), received)
    });
    let port = MemoryPort::new(scenario.links[0].rate_bps, arrivals);
    let mut pump = Pump::new(port, manager, plan.frames_max);
    let mut actions = script.iter().peekable();
    let mut now = Instant::ZERO;
    loop {
        while let Some(scripted) = actions.next_if(|s| s.at <= now) {
            match &scripted.action {
                Action::Pause { gates, until } => pump.pause(now, *gates, *until),
                Action::Change(change) => {
                    pump.manager
                        .reconfigure(now, change.clone())
                        .expect("the change is possible");
                }
            }
        }
        let wake = match pump.poll(now) {
            Wake::At(at) => Some(at),
            Wake::OnArrival => None,
        };
        let Some(next) = wake.into_iter().chain(actions.peek().map(|s| s.at)).min() else {
            break;
        };
        assert!(
            next > now,
            "the pump asks to be polled at {next:?}, which is not after {now:?}"
        );
        now = next;
    }
    let left = pump.port.sent.iter();
    left.map(|(at, desc, key)| Left {
        at: *at,
        bytes: desc.len,
        key: *key,
    })
    .collect()
}

#[test]
fn the_simulated_nic_and_the_pump_send_the_same_frames_at_the_same_picoseconds() {
    let loaded = clearway_policy::load_str(SCENARIO, "twin.toml", &[], &|_| Err("no files".to_owned()));
    let loaded = loaded.unwrap_or_else(|findings| panic!("{}", findings[0]));
    for seed in 1..=8 {
        let frames = trace(seed);
        let mut scenario = loaded.scenario.clone();
        scenario.duration = frames.last().map_or(Duration::ZERO, |f| f.at) + Duration::from_ms(400);
        scenario.workloads[0].kind = WorkloadKind::Replay {
            frames: frames.clone(),
        };
        let script = script(&scenario, seed, &frames);
        let (simulated, pumped) = (simulated(&scenario, &script), pumped(&scenario, &frames, &script));
        for (index, (a, b)) in simulated.iter().zip(&pumped).enumerate() {
            assert_eq!(
                a, b,
                "seed {seed}: frame {index} of the simulated NIC and of the pump"
            );
        }
        assert_eq!(simulated.len(), pumped.len(), "seed {seed}");
        assert!(
            simulated.len() > 6_000,
            "seed {seed}: only {} frames left",
            simulated.len()
        );
    }
}
