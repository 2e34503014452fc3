//! The loop: takes the next event, hands it to its node, and collects what was counted when the run is over.

use super::Node;
use super::build::{Built, build};
use super::context::Context;
use super::event::Event;
use super::frame::NIL;
use super::line;
use super::refusal::Refusal;
use super::schedule::Schedule;
use super::script::Scripted;
use super::transmitter::Transmitter;
use crate::engine::Phase;
use crate::results::{Observer, Outcome, Series};
use clearway_core::Instant;
use clearway_policy::scenario::Scenario;

/// What a run keeps beside the results that every run has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Round trips of each request workload that are kept one by one, the first of the run: one rule for every case.
    pub round_trip_samples_max: usize,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// Simulated time at the end.
    pub end: Instant,
    /// Events so far.
    pub events: u64,
    /// Frames that crossed a line so far.
    pub packet_hops: u64,
}

/// Events between two looks at the observer.
const EVENTS_A_LOOK: u64 = 1 << 15;

/// Runs a scenario with a root seed.
///
/// # Errors
/// The scenario cannot run; the refusal names the item, the field and the remedy.
pub fn run(scenario: &Scenario, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, Refusal> {
    run_with(scenario, seed, &RunOptions::default(), observer)
}

/// [`run`] with options.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    seed: u64,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Outcome, Refusal> {
    run_scripted(scenario, seed, options, &[], observer)
}

/// [`run_with`], and actions on egresses at given instants.
///
/// # Errors
/// As [`run`], and where an action names no egress or its change is impossible.
pub fn run_scripted(
    scenario: &Scenario,
    seed: u64,
    options: &RunOptions,
    script: &[Scripted],
    observer: &mut dyn Observer,
) -> Result<Outcome, Refusal> {
    let Built { nodes, mut ctx } = build(scenario, seed, options)?;
    for (index, scripted) in (0_u32..).zip(script) {
        let Some(line) = ctx.lines.get(2 * scripted.link + (scripted.end & 1)) else {
            let problem = format!("there is no link {}", scripted.link);
            return Err(Refusal::new("script", "link", problem));
        };
        let node = line.from.0;
        ctx.push(scripted.at.as_ps(), Phase::Control, node, Event::Script { index });
    }
    let schedule = Schedule::new(scenario, &mut ctx)?;
    let mut simulation = Simulation {
        nodes,
        ctx,
        schedule,
        series: Series::of(scenario),
        events: 0,
        script,
        failed: None,
    };
    let stopped = simulation.run(observer);
    simulation.finish();
    observer.frames(&simulation.ctx.captured);
    if let Some(refusal) = simulation.failed {
        return Err(refusal);
    }
    let Simulation {
        nodes,
        ctx,
        series,
        events,
        schedule,
        ..
    } = simulation;
    let actions = schedule.map_or_else(Vec::new, |schedule| schedule.finish(&ctx));
    let mut outcome = Outcome::collect(scenario, seed, &nodes, ctx, series, events, stopped);
    outcome.actions = actions;
    Ok(outcome)
}

struct Simulation<'a> {
    nodes: Vec<Node>,
    ctx: Context,
    series: Series,
    events: u64,
    script: &'a [Scripted],
    /// The scenario's own changes.
    schedule: Option<Box<Schedule>>,
    /// The first scripted change that was impossible.
    failed: Option<Refusal>,
}

impl Simulation<'_> {
    /// Runs to the end, or until the observer says stop; true in the second case.
    fn run(&mut self, observer: &mut dyn Observer) -> bool {
        loop {
            for _ in 0..EVENTS_A_LOOK {
                let Some((at, event)) = self.ctx.events.pop() else {
                    self.ctx.now = self.ctx.end;
                    return false;
                };
                // An event of an instant that is over is due now.
                self.ctx.now = self.ctx.now.max(at.as_ps());
                self.events += 1;
                self.dispatch(event);
            }
            if !self.ctx.captured.is_empty() {
                observer.frames(&self.ctx.captured);
                self.ctx.captured.clear();
            }
            let progress = Progress {
                now: Instant::from_ps(self.ctx.now),
                end: Instant::from_ps(self.ctx.end),
                events: self.events,
                packet_hops: self.ctx.collector.packet_hops,
            };
            if !observer.progress(progress) {
                return true;
            }
        }
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        let ctx = &mut self.ctx;
        match event {
            Event::Arrival { line } => {
                let (handle, part) = line::take(ctx, line);
                let (node, port) = ctx.lines[line as usize].to;
                match &mut self.nodes[node as usize] {
                    Node::Switch(switch) => switch.arrive(ctx, port, handle, part, line),
                    Node::Host(host) => host.arrive(ctx, handle),
                }
            }
            Event::Free { line } => {
                let (node, port) = ctx.lines[line as usize].from;
                match &mut self.nodes[node as usize] {
                    Node::Switch(switch) => switch.free_due(ctx, port),
                    Node::Host(host) => host.free_due(ctx),
                }
            }
            Event::PauseDue { line } => {
                let (node, port) = ctx.lines[line as usize].from;
                match &mut self.nodes[node as usize] {
                    Node::Switch(switch) => switch.pause_due(ctx, port),
                    Node::Host(host) => host.pause_due(ctx),
                }
            }
            Event::Release { line } => {
                let (node, port) = ctx.lines[line as usize].from;
                if let Node::Switch(switch) = &mut self.nodes[node as usize] {
                    switch.release_due(ctx, port);
                }
            }
            Event::Refresh { line } => {
                let (node, port) = ctx.lines[line as usize].from;
                if let Node::Switch(switch) = &mut self.nodes[node as usize] {
                    switch.refresh_due(ctx, port);
                }
            }
            Event::Forward { switch } => {
                if let Node::Switch(switch) = &mut self.nodes[switch as usize] {
                    switch.forward_due(ctx);
                }
            }
            Event::Script { index } => self.script_due(index),
            Event::Step { index } => self.step_due(index),
            Event::Sample => {
                self.series.take(&mut self.nodes, ctx);
                let next = ctx.now.saturating_add(ctx.collector.interval.max(1));
                ctx.push(next, Phase::Control, 0, Event::Sample);
            }
            Event::Pipe { pipe } => {
                let from = ctx.pipes.get(pipe as usize).map_or(NIL, |p| p.from);
                if let Some(Node::Host(host)) = self.nodes.get_mut(from as usize) {
                    host.pipe_due(ctx, pipe);
                }
            }
            Event::Source { host, .. }
            | Event::BusTransmit { host }
            | Event::BusArrival { host }
            | Event::BusReceive { host }
            | Event::Deliver { host }
            | Event::Submit { host }
            | Event::Processor { host, .. }
            | Event::Interrupt { host, .. }
            | Event::SentInterrupt { host }
            | Event::Begin { host, .. }
            | Event::Talk { host, .. }
            | Event::Exchange { host, .. }
            | Event::Build { host, .. }
            | Event::Store { host, .. }
            | Event::Timer { host, .. } => {
                let Node::Host(host) = &mut self.nodes[host as usize] else {
                    return;
                };
                match event {
                    Event::Source { source, .. } => host.source_due(ctx, source),
                    Event::BusTransmit { .. } => host.bus_transmit_due(ctx),
                    Event::BusArrival { .. } => host.bus_arrival_due(ctx),
                    Event::BusReceive { .. } => host.bus_receive_due(ctx),
                    Event::Deliver { .. } => host.deliver_due(ctx),
                    Event::Submit { .. } => host.submit_due(ctx),
                    Event::Processor { cpu, .. } => host.processor_due(ctx, cpu),
                    Event::Interrupt { cpu, .. } => host.interrupt_due(ctx, cpu),
                    Event::SentInterrupt { .. } => host.sent_interrupt_due(ctx),
                    Event::Begin { requester, .. } => host.begin_due(ctx, u32::from(requester)),
                    Event::Talk { talker, .. } => host.talk_due(ctx, talker),
                    Event::Exchange { exchange, .. } => host.exchange_due(ctx, exchange),
                    Event::Build { workload, .. } => host.build_due(ctx, workload),
                    Event::Store { workload, .. } => host.store_due(ctx, workload),
                    Event::Timer { endpoint, .. } => host.timer_due(ctx, endpoint),
                    _ => {}
                }
            }
        }
    }

    fn script_due(&mut self, index: u32) {
        let ctx = &mut self.ctx;
        let Some(scripted) = self.script.get(index as usize) else {
            return;
        };
        let (node, port) = ctx.lines[2 * scripted.link + (scripted.end & 1)].from;
        let done = match &mut self.nodes[node as usize] {
            Node::Switch(switch) => switch.act(ctx, port, &scripted.action),
            Node::Host(host) => host.act(ctx, &scripted.action),
        };
        if let Err(problem) = done {
            self.failed
                .get_or_insert_with(|| Refusal::new(format!("script action {index}"), "change", problem));
        }
    }

    #[cold]
    fn step_due(&mut self, index: u32) {
        let Some(schedule) = &mut self.schedule else {
            return;
        };
        if let Err(refusal) = schedule.due(&mut self.nodes, &mut self.ctx, index) {
            self.failed.get_or_insert(refusal);
        }
    }

    /// Closes what is open at the end.
    fn finish(&mut self) {
        let ctx = &mut self.ctx;
        ctx.settle();
        for node in &mut self.nodes {
            match node {
                Node::Host(host) => host.transmitter.finish(ctx.now),
                Node::Switch(switch) => {
                    switch.settle(ctx);
                    for port in &mut switch.ports {
                        port.transmitter.finish(ctx.now);
                    }
                }
            }
        }
    }
}

impl Node {
    /// Its transmitters, in the order of its ports.
    pub(crate) fn transmitters(&self) -> Box<dyn Iterator<Item = &Transmitter> + '_> {
        match self {
            Self::Host(host) => Box::new(std::iter::once(&host.transmitter)),
            Self::Switch(switch) => Box::new(switch.ports.iter().map(|p| &p.transmitter)),
        }
    }
}
