//! Worst-case bounds of a scenario: what its workloads may send at most, the ways that their frames take, and the
//! bounds of `clearway_bounds` on each, from generation to the application as the simulator measures latency.
//!
//! The model, its formulas and what is left out stand in docs/bounds.md. A class has a bound where every flow of it has
//! one; otherwise it has the reason. Nothing here looks at what a run found.

mod arrivals;
mod captures;
mod routes;
mod rows;

pub use rows::{rows, unbounded};

use arrivals::{Kind, Sent, sent};
use clearway_bounds::{Arrival, Bucket, Network, NetworkBounds, Unbounded, Why};
use clearway_policy::scenario::{FlowControl, Scenario, WorkloadKind};
use routes::Graph;

/// A bound in picoseconds or bytes, or why there is none.
pub type Bound = Result<u64, String>;

/// Bounds of a class: of all its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassBound {
    /// Name of the class.
    pub name: String,
    /// From generation to the application, picoseconds.
    pub latency_ps: Bound,
    /// From the first bit on the first wire to the application, picoseconds.
    pub from_first_bit_ps: Bound,
}

/// Bounds of the flows of one sender to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBound {
    /// Index of the workload.
    pub workload: usize,
    /// Sending host.
    pub from: usize,
    /// Receiving host.
    pub to: usize,
    /// Index of the class.
    pub class: usize,
    /// From generation to the application, picoseconds.
    pub latency_ps: Bound,
    /// From the first bit on the first wire to the application, picoseconds.
    pub from_first_bit_ps: Bound,
}

/// Bound of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Index of the line: twice the link, plus one for its second end.
    pub line: usize,
    /// The port and the queue, as `node@link:class`; the port alone where it has one FIFO.
    pub name: String,
    /// Bytes (with FCS) that wait at most.
    pub backlog_bytes: Bound,
}

/// Bounds of everything that a run measures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioBounds {
    /// By class that frames are sent in.
    pub classes: Vec<ClassBound>,
    /// By workload, sender and receiver.
    pub flows: Vec<FlowBound>,
    /// By queue that frames come to.
    pub queues: Vec<QueueBound>,
}

/// Rounds in which answers may follow from questions before there is no bound.
const ROUNDS_MAX: usize = 32;

/// The bounds of a scenario.
#[must_use]
pub fn of(scenario: &Scenario) -> ScenarioBounds {
    if let Some(reason) = outside(scenario) {
        return all_unbounded(scenario, &reason);
    }
    let graph = Graph::new(scenario);
    let sent = match sent(scenario, &graph) {
        Ok(sent) => sent,
        Err(reason) => return all_unbounded(scenario, &reason),
    };
    let mut network = Network {
        lines: graph.lines(scenario),
        flows: sent.iter().map(|s| s.flow.clone()).collect(),
    };
    close_loops(&mut network, &sent);
    let mut bounds = network.bounds();
    for round in 0..=ROUNDS_MAX {
        let mut changed = false;
        for (index, reply) in sent.iter().enumerate() {
            let Kind::ReplyTo(request) = reply.kind else {
                continue;
            };
            let arrival = if round < ROUNDS_MAX {
                replies(&bounds, &sent, request, reply)
            } else {
                Arrival::unbounded()
            };
            changed |= network.flows[index].arrival != arrival;
            network.flows[index].arrival = arrival;
        }
        if !changed {
            break;
        }
        bounds = network.bounds();
    }
    results(scenario, &graph, &sent, &bounds)
}

/// What of the scenario has no worst case here.
fn outside(scenario: &Scenario) -> Option<String> {
    if let Some(action) = scenario.actions.first() {
        return Some(format!("`at.{}` changes the network while it runs", action.name));
    }
    if let Some(policy) = scenario.policies.iter().find(|p| p.cbq.is_some()) {
        return Some(format!(
            "policy {}: class-based queueing has no bound here",
            policy.name
        ));
    }
    for switch in &scenario.switches {
        if switch.flow_control != FlowControl::None {
            return Some(format!(
                "flow control of switch {} may hold frames for any time",
                switch.name
            ));
        }
        if switch.cut_through {
            return Some(format!("switch {} cuts through", switch.name));
        }
    }
    scenario.workloads.iter().find_map(|w| match w.kind {
        WorkloadKind::Messages { .. } | WorkloadKind::Storage { .. } | WorkloadKind::EventBuilder { .. } => {
            Some(format!(
                "workload {} sends as answers and transports allow",
                w.name
            ))
        }
        _ => None,
    })
}

fn all_unbounded(scenario: &Scenario, reason: &str) -> ScenarioBounds {
    let class = |name: &String| ClassBound {
        name: name.clone(),
        latency_ps: Err(reason.to_owned()),
        from_first_bit_ps: Err(reason.to_owned()),
    };
    ScenarioBounds {
        classes: scenario.classes.iter().map(class).collect(),
        ..ScenarioBounds::default()
    }
}

/// A caller's next frame follows the answer to the one before: frames are a shortest round trip apart everywhere.
fn close_loops(network: &mut Network<'_>, sent: &[Sent]) {
    let mut arrivals = Vec::new();
    for (index, asks) in sent.iter().enumerate() {
        let Kind::Call(answers) = &asks.kind else { continue };
        let way = |flow: usize| {
            let least = network.least_ps(&network.flows[flow]).into_iter().min();
            least.unwrap_or(0).saturating_add(sent[flow].stack_least_ps)
        };
        let back = answers.clone().map(way).min().unwrap_or(0);
        let round_trip = way(index).saturating_add(back).max(1);
        for flow in answers.clone().chain([index]) {
            let frame = clearway_bounds::wire(network.flows[flow].frame_max);
            let rate = frame / i128::from(round_trip) + 1;
            let bucket = Bucket {
                burst: frame,
                rate: u64::try_from(rate).unwrap_or(u64::MAX),
            };
            arrivals.push((flow, Arrival::of(bucket)));
        }
    }
    for (flow, arrival) in arrivals {
        network.flows[flow].arrival = arrival;
    }
}

/// Answers come as questions do, delayed by what their way takes more at one time than at another.
fn replies(bounds: &NetworkBounds, sent: &[Sent], request: usize, reply: &Sent) -> Arrival {
    let asks = &sent[request];
    let to = asks.receivers.iter().position(|r| *r == reply.from);
    let Some(end) = to.and_then(|end| bounds.flows[request].get(end)) else {
        return Arrival::unbounded();
    };
    let (Ok(most), None) = (&end.delay_ps, &asks.stack_unbounded) else {
        return Arrival::unbounded();
    };
    let came = asks.flow.arrival.delayed(most.saturating_sub(end.least_ps));
    let (asked, answered) = (
        clearway_bounds::wire(asks.flow.frame_max),
        clearway_bounds::wire(reply.flow.frame_max),
    );
    let scaled = |value: i128| {
        (value * (answered / clearway_bounds::BYTE)).div_euclid(asked / clearway_bounds::BYTE) + 1
    };
    Arrival::least(came.buckets().iter().map(|b| Bucket {
        burst: scaled(b.burst),
        rate: u64::try_from(scaled(i128::from(b.rate))).unwrap_or(u64::MAX),
    }))
}

fn results(scenario: &Scenario, graph: &Graph, sent: &[Sent], bounds: &NetworkBounds) -> ScenarioBounds {
    let mut found = ScenarioBounds::default();
    for (sent, ends) in sent.iter().zip(&bounds.flows) {
        for ((&to, end), way) in sent.receivers.iter().zip(ends).zip(&sent.flow.ends) {
            // No class of some port on the way takes its frames: none arrives.
            if way.is_empty() {
                continue;
            }
            let whole = |network: &Result<u64, Unbounded>, from_start: bool| -> Bound {
                let stacks = if from_start {
                    sent.stack_ps(scenario, to)?
                } else {
                    sent.stack_rx_ps(scenario, to)?
                };
                match network {
                    Ok(ps) => Ok(ps.saturating_add(stacks)),
                    Err(no) => Err(said(scenario, graph, sent, no)),
                }
            };
            found.flows.push(FlowBound {
                workload: sent.workload,
                from: sent.from,
                to,
                class: sent.class,
                latency_ps: whole(&end.delay_ps, true),
                from_first_bit_ps: whole(&end.from_first_bit_ps, false),
            });
        }
    }
    for (index, name) in scenario.classes.iter().enumerate() {
        let mine = || found.flows.iter().filter(|f| f.class == index);
        if mine().next().is_none() {
            continue;
        }
        let worst = |of: fn(&FlowBound) -> &Bound| -> Bound {
            mine().try_fold(0, |worst: u64, flow| Ok(worst.max(of(flow).clone()?)))
        };
        found.classes.push(ClassBound {
            name: name.clone(),
            latency_ps: worst(|f| &f.latency_ps),
            from_first_bit_ps: worst(|f| &f.from_first_bit_ps),
        });
    }
    for (line, port) in bounds.lines.iter().enumerate() {
        for leaf in &port.leaves {
            let backlog = leaf.backlog_bytes;
            found.queues.push(QueueBound {
                line,
                name: graph.queue_name(scenario, line, leaf.leaf),
                backlog_bytes: backlog.map_err(|why| why_of(scenario, graph, line, why)),
            });
        }
    }
    found
}

/// The reason in words.
fn said(scenario: &Scenario, graph: &Graph, sent: &Sent, no: &Unbounded) -> String {
    match (&sent.unbounded, no.why) {
        (Some(own), Why::Arrivals) => {
            let name = scenario
                .workloads
                .get(sent.workload)
                .map_or("", |w| w.name.as_str());
            format!("workload {name}: {own}")
        }
        (_, why) => format!(
            "{}: {}",
            graph.queue_name(scenario, no.line, no.leaf),
            why_of(scenario, graph, no.line, why)
        ),
    }
}

fn why_of(scenario: &Scenario, graph: &Graph, line: usize, why: Why) -> String {
    let rate = |bps: u64| {
        clearway_report::quantity::humanised(bps as f64, "bit/s", 4, clearway_report::Micro::Ascii)
    };
    match why {
        Why::Arrivals => "what may come here has no bound".to_owned(),
        Why::Before(node) => format!(
            "{} goes first, and what it may send has no bound",
            graph.class_name(scenario, line, node)
        ),
        Why::Overload {
            arrival_bps,
            service_bps,
        } => format!(
            "{} may come in the long run and only {} are certain to be sent",
            rate(arrival_bps),
            rate(service_bps)
        ),
        Why::Cycle => "flows delay each other in a circle without end".to_owned(),
    }
}
