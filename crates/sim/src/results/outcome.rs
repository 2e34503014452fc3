//! Everything that a run found, by class, flow, port, switch and host.

use super::collect::{CAUSES, ClassCounters, FlowControlMark, Totals};
use super::jitter::FlowJitter;
use super::series::{Series, port_name};
use super::{
    ActionResult, Calls, EventResult, FlowCounters, Messages, Operations, StorageResult, digest, rows,
};
use crate::net::application::Endpoint;
use crate::net::context::Context;
use crate::net::event_builder::EventBuilding;
use crate::net::selection::QueueState;
use crate::net::stack::usage::Usage;
use crate::net::storage::Storing;
use crate::net::{Node, line::LineCounters};
use clearway_core::{Duration, FlowKey};
use clearway_metrics::Row;
use clearway_metrics::histogram::Histogram;
use clearway_policy::scenario::{FlowControl, LinkEnd, NodeRef, Scenario, WorkloadKind};
use std::collections::BTreeMap;

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Name of the scenario.
    pub scenario: String,
    /// Root seed.
    pub seed: u64,
    /// Simulated time: the scenario's, or less where the run was stopped.
    pub simulated: Duration,
    /// Frames generated before are not counted.
    pub warmup: Duration,
    /// The observer ended the run.
    pub stopped: bool,
    /// By class, in the order of the scenario.
    pub classes: Vec<ClassResult>,
    /// By flow, in the order of their first frames.
    pub flows: Vec<FlowResult>,
    /// By transmitter: two for each link.
    pub ports: Vec<PortResult>,
    /// By switch.
    pub switches: Vec<SwitchResult>,
    /// By host.
    pub hosts: Vec<HostResult>,
    /// By workload of requests.
    pub calls: Vec<CallResult>,
    /// By workload of TCP connections.
    pub tcp: Vec<TcpResult>,
    /// By workload that sent messages.
    pub messages: Vec<MessageResult>,
    /// By workload that built events.
    pub events: Vec<EventResult>,
    /// By workload of storage clients.
    pub storage: Vec<StorageResult>,
    /// By timed change of the scenario.
    pub actions: Vec<ActionResult>,
    /// Samples over time.
    pub series: Series,
    /// Flow-control frames over time, where series are sampled; the first 65,536.
    pub marks: Vec<FlowControlMark>,
    /// The engine's own count.
    pub engine: EngineStats,
}

/// One class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassResult {
    /// Name.
    pub name: String,
    /// What it counted.
    pub counters: ClassCounters,
    /// Offers that were neither delivered nor dropped when the run ended.
    pub in_flight: u64,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResult {
    /// Sending host.
    pub from: u32,
    /// Receiving host; the first of a group.
    pub to: u32,
    /// Header fields.
    pub key: FlowKey,
    /// Index of the workload.
    pub workload: u32,
    /// Index of the class (of priority 0 where priorities are spread).
    pub class: u16,
    /// What it counted.
    pub counters: FlowCounters,
    /// Latency from generation, picoseconds, where the scenario asks for it.
    pub latency: Option<Histogram>,
    /// How evenly its frames arrived, where the scenario asks for it.
    pub jitter: Option<FlowJitter>,
}

/// One transmitter and its line.
#[derive(Clone, Debug, PartialEq)]
pub struct PortResult {
    /// `node@link`.
    pub name: String,
    /// Line rate, bit/s.
    pub rate_bps: u64,
    /// Data frames sent after the warm-up.
    pub totals: Totals,
    /// Control frames sent after the warm-up.
    pub control_frames: u64,
    /// Control frames that came in after the warm-up.
    pub pause_frames_received: u64,
    /// Time shut, by gate, picoseconds; gate 0 stands for all where PAUSE knows no priorities.
    pub paused_ps: Vec<(u8, u64)>,
    /// Time in which the wire was free and every frame that waited was shut in, picoseconds.
    pub lost_to_pause_ps: u64,
    /// Bytes that waited at most.
    pub backlog_bytes_max: u64,
    /// Byte-picoseconds waited.
    pub backlog_area: u128,
    /// By queue of the traffic manager.
    pub queues: Vec<QueueResult>,
}

/// One queue of a traffic manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueResult {
    /// Path in the policy.
    pub name: String,
    /// Bytes that waited at most, warm-up included.
    pub bytes_max: u64,
    /// Bytes that wait at the end.
    pub bytes_left: u64,
}

/// One switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchResult {
    /// Name.
    pub name: String,
    /// Memory used at most after the warm-up, bytes.
    pub memory_bytes_peak: u64,
    /// Byte-picoseconds of memory used after the warm-up.
    pub memory_area: u128,
    /// Frames lost, by [`super::Cause::index`].
    pub causes: [u64; CAUSES],
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostResult {
    /// Name.
    pub name: String,
    /// Bytes in the receive channels at most after the warm-up.
    pub receive_bytes_peak: u64,
    /// Frames lost, by [`super::Cause::index`].
    pub causes: [u64; CAUSES],
    /// By processor, where they are modelled.
    pub cpus: Vec<CpuResult>,
}

/// One processor of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuResult {
    /// What it did after the warm-up.
    pub usage: Usage,
    /// It looks for frames all the time: a processor that is taken whole, however little of it is of use.
    pub polls: bool,
}

impl CpuResult {
    /// The share of a span in which it did work.
    #[must_use]
    pub fn useful(&self, span: Duration) -> f64 {
        self.usage.busy_ps() as f64 / (span.as_ps() as f64).max(1.0)
    }
    /// The share of a span in which nobody else could have it.
    #[must_use]
    pub fn taken(&self, span: Duration) -> f64 {
        if self.polls { 1.0 } else { self.useful(span) }
    }
}

/// Calls of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Name of the workload.
    pub workload: String,
    /// Its calls.
    pub calls: Calls,
}

/// Connections of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpResult {
    /// Name of the workload.
    pub workload: String,
    /// Connections.
    pub connections: u32,
    /// Bytes that reached applications in order after the warm-up.
    pub delivered_bytes: u64,
}

fn storage_of(
    scenario: &Scenario,
    storage: &BTreeMap<u32, Box<Storing>>,
    now: u64,
    warmup: u64,
) -> Vec<StorageResult> {
    let result = |storing: &Storing| {
        let workload = scenario.workloads.get(storing.workload() as usize);
        let hosts = storing.results(now, warmup);
        let mut all = Operations::default();
        hosts.iter().for_each(|(_, own)| all.merge(own));
        StorageResult {
            workload: workload.map_or_else(String::new, |w| w.name.clone()),
            all,
            hosts,
        }
    };
    storage.values().map(|s| result(s)).collect()
}

fn events_of(scenario: &Scenario, builders: &BTreeMap<u32, Box<EventBuilding>>) -> Vec<EventResult> {
    let result = |building: &EventBuilding| {
        let workload = scenario.workloads.get(building.workload() as usize);
        EventResult {
            workload: workload.map_or_else(String::new, |w| w.name.clone()),
            events: building.results(),
        }
    };
    builders.values().map(|b| result(b)).collect()
}

/// Messages of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageResult {
    /// Name of the workload.
    pub workload: String,
    /// What became of them.
    pub messages: Messages,
}

/// The engine's own count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Events handled.
    pub events: u64,
    /// Frames that began to cross a line.
    pub packet_hops: u64,
    /// Frames still in the network when the run ended, those on their last line included.
    pub frames_left: u64,
}

impl Outcome {
    pub(crate) fn collect(
        scenario: &Scenario,
        seed: u64,
        nodes: &[Node],
        ctx: Context,
        series: Series,
        events: u64,
        stopped: bool,
    ) -> Self {
        let hosts = scenario.hosts.len();
        let mut ports: Vec<PortResult> = Vec::with_capacity(ctx.lines.len());
        for (line, l) in ctx.lines.iter().enumerate() {
            ports.push(PortResult::of_line(
                port_name(scenario, line),
                l.rate_bps,
                &l.counters,
            ));
        }
        for node in nodes {
            for transmitter in node.transmitters() {
                let Some(port) = ports.get_mut(transmitter.line as usize) else {
                    continue;
                };
                let counters = &transmitter.counters;
                port.pause_frames_received = counters.pause_frames_received;
                port.lost_to_pause_ps = counters.lost_to_pause_ps;
                port.backlog_bytes_max = counters.backlog_bytes_max;
                port.paused_ps = paused(
                    scenario,
                    transmitter.line,
                    transmitter.gates.totals(ctx.now, ctx.warmup),
                );
                if let Some(states) = transmitter.selection.queue_states() {
                    port.queues = queues(scenario, transmitter.line, states);
                }
            }
        }
        let causes = |node: usize| {
            ctx.collector
                .node_causes
                .get(node)
                .copied()
                .unwrap_or([0; CAUSES])
        };
        let mut switches = Vec::new();
        let mut host_results = Vec::new();
        let mut tcp: Vec<(u32, u64)> = vec![(0, 0); scenario.workloads.len()];
        let mut repeated: Vec<(u64, u64)> = vec![(0, 0); scenario.workloads.len()];
        for (index, node) in nodes.iter().enumerate() {
            match node {
                Node::Switch(switch) => switches.push(SwitchResult {
                    name: scenario
                        .switches
                        .get(index - hosts)
                        .map_or_else(String::new, |s| s.name.clone()),
                    memory_bytes_peak: switch.memory.peak,
                    memory_area: switch.memory.area_until(ctx.now),
                    causes: causes(index),
                }),
                Node::Host(host) => {
                    host_results.push(HostResult {
                        name: scenario
                            .hosts
                            .get(index)
                            .map_or_else(String::new, |h| h.name.clone()),
                        receive_bytes_peak: host.bus_rx.as_ref().map_or(0, |b| b.bytes_peak),
                        causes: causes(index),
                        cpus: host.stack.as_ref().map_or_else(Vec::new, |s| s.results()),
                    });
                    for endpoint in &host.endpoints {
                        if let Some((pipe, again, timeouts)) = endpoint.repeated()
                            && let Some(p) = ctx.pipes.get(pipe as usize)
                            && let Some(sum) = repeated.get_mut(p.workload as usize)
                        {
                            sum.0 += again;
                            sum.1 += timeouts;
                        }
                        let Endpoint::Receiver(r) = endpoint else { continue };
                        if let Some((connections, bytes)) = tcp.get_mut(r.workload as usize) {
                            *connections += 1;
                            *bytes += r.machine.delivered_bytes().saturating_sub(r.before_warmup);
                        }
                    }
                }
            }
        }
        let frames_left = u64::from(ctx.frames.len()) + ctx.collector.folded_in_flight;
        let Context {
            builders,
            storage,
            collector,
            flows,
            keys,
            workload_of,
            now,
            warmup,
            ..
        } = ctx;
        let mut collector = collector;
        collector.close();
        let names = scenario
            .classes
            .iter()
            .cloned()
            .chain(std::iter::repeat_with(|| "all".to_owned()));
        let classes = collector.classes.into_iter().zip(names).map(|(counters, name)| {
            let gone = counters.delivered.frames + counters.dropped.frames;
            ClassResult {
                name,
                in_flight: counters.offered.frames.saturating_sub(gone),
                counters,
            }
        });
        let mut histograms = collector.flow_histograms.into_iter();
        let mut jitters = collector.jitters.iter().flat_map(|j| j.finish());
        let flows = flows
            .iter()
            .zip(keys)
            .zip(workload_of)
            .map(|((flow, key), workload)| FlowResult {
                from: flow.ends[0],
                to: flow.ends[1],
                key,
                workload,
                class: flow.class,
                counters: flow.counters(),
                latency: histograms.next(),
                jitter: jitters.next(),
            });
        let mut counted = std::mem::take(&mut collector.messages);
        let messages = (0..).zip(&scenario.workloads).filter_map(|(index, workload)| {
            let (sent_again, timeouts) = repeated.get(index).copied().unwrap_or_default();
            counted.take(index).map(|messages| MessageResult {
                workload: workload.name.clone(),
                messages: Messages {
                    sent_again,
                    timeouts,
                    ..messages
                },
            })
        });
        let messages = messages.collect();
        let built = events_of(scenario, &builders);
        let storage = storage_of(scenario, &storage, now, warmup);
        let calls = scenario
            .workloads
            .iter()
            .zip(collector.calls)
            .filter_map(|(workload, calls)| {
                let asks = match workload.kind {
                    WorkloadKind::RequestResponse { .. } => true,
                    WorkloadKind::OpenLoop { response_bytes, .. } => response_bytes > 0,
                    _ => false,
                };
                asks.then(|| CallResult {
                    workload: workload.name.clone(),
                    calls,
                })
            });
        let tcp = scenario
            .workloads
            .iter()
            .zip(tcp)
            .filter(|(workload, _)| matches!(workload.kind, WorkloadKind::TcpBulk { .. }))
            .map(|(workload, (connections, delivered_bytes))| TcpResult {
                workload: workload.name.clone(),
                connections,
                delivered_bytes,
            });
        Self {
            scenario: scenario.name.clone(),
            seed,
            simulated: Duration::from_ps(now),
            warmup: Duration::from_ps(warmup),
            stopped,
            classes: classes.collect(),
            flows: flows.collect(),
            ports,
            switches,
            hosts: host_results,
            calls: calls.collect(),
            tcp: tcp.collect(),
            messages,
            events: built,
            storage,
            actions: Vec::new(),
            series,
            marks: collector.marks,
            engine: EngineStats {
                events,
                packet_hops: collector.packet_hops,
                frames_left,
            },
        }
    }

    /// Time that was measured: from the warm-up to the end.
    #[must_use]
    pub fn measured(&self) -> Duration {
        Duration::from_ps(self.simulated.as_ps().saturating_sub(self.warmup.as_ps()))
    }

    /// Tidy rows of everything, labelled with the run.
    #[must_use]
    pub fn rows(&self, run: &str) -> Vec<Row> {
        rows::of(self, run)
    }

    /// One number for all integer results: equal for the same scenario, seed and version.
    #[must_use]
    pub fn hash(&self) -> u64 {
        digest::of(self)
    }
}

impl PortResult {
    fn of_line(name: String, rate_bps: u64, counters: &LineCounters) -> Self {
        Self {
            name,
            rate_bps,
            totals: Totals {
                frames: counters.frames,
                bytes: counters.bytes,
                payload: counters.payload,
            },
            control_frames: counters.control_frames,
            pause_frames_received: 0,
            paused_ps: Vec::new(),
            lost_to_pause_ps: 0,
            backlog_bytes_max: 0,
            backlog_area: counters.backlog_area,
            queues: Vec::new(),
        }
    }

    /// L1 bits that pause kept from being sent while frames waited.
    #[must_use]
    pub fn bits_lost_to_pause(&self) -> u64 {
        let bits = u128::from(self.lost_to_pause_ps) * u128::from(self.rate_bps) / 1_000_000_000_000;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }
}

/// Paused time by gate; one gate stands for all where the far end pauses everything at once.
fn paused(scenario: &Scenario, line: u32, totals: Option<[u64; 64]>) -> Vec<(u8, u64)> {
    let Some(totals) = totals else { return Vec::new() };
    let far: Option<&LinkEnd> = scenario
        .links
        .get(line as usize / 2)
        .map(|l| &l.ends[1 - line as usize % 2]);
    let gates = match far.map(|e| e.node) {
        Some(NodeRef::Switch(s)) => match scenario.switches.get(s).map(|s| &s.flow_control) {
            Some(FlowControl::Pause(_)) => 1,
            Some(FlowControl::Pfc { .. }) => 8,
            _ => 64,
        },
        _ => 64,
    };
    let all = (0..).zip(totals).take(gates);
    all.filter(|&(gate, total)| total > 0 || (gates == 1 && gate == 0))
        .collect()
}

fn queues(scenario: &Scenario, line: u32, queues: &[QueueState]) -> Vec<QueueResult> {
    let Some(link) = scenario.links.get(line as usize / 2) else {
        return Vec::new();
    };
    let end = &link.ends[line as usize % 2];
    let policy = end.policy.or(match end.node {
        NodeRef::Host(h) => scenario.hosts.get(h).and_then(|h| h.nic.policy),
        NodeRef::Switch(s) => scenario.switches.get(s).and_then(|s| s.policy),
    });
    let Some(policy) = policy.and_then(|p| scenario.policies.get(p)) else {
        return Vec::new();
    };
    let nodes = policy.plan.nodes.iter().enumerate();
    let leaves = nodes.filter(|(_, n)| matches!(n.kind, clearway_core::plan::NodeKind::Queue(_)));
    leaves
        .map(|(slot, _)| QueueResult {
            name: policy.node_names.get(slot).cloned().unwrap_or_default(),
            bytes_max: queues.get(slot).map_or(0, |q| q.bytes_max),
            bytes_left: queues.get(slot).map_or(0, |q| q.bytes),
        })
        .collect()
}
