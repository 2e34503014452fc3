//! The timed changes of a scenario, carried out while it runs, and what is told of each.
//!
//! Every step is an event of the control phase of node 0: before the arrivals and the transmitters of its instant. A
//! change of a class goes to every egress that uses the policy (and to the host interface's stage where the policy
//! orders it, which has no rates). Moves take the flow that has been longest in the class it leaves; a flow that
//! appears later takes part from the next move on. A link that goes down loses at once what is on it and then what it
//! is given; a detection time later flows are laid anew (`routing`).
//!
//! What is told of a broken link: frames lost on it until it is back, when each flow that crossed it had delivered
//! again, and from when on these flows had nine tenths of their mean throughput back over ten looks in a row. A look is
//! every thousandth of the run, at most a millisecond. Left out: credits that a broken link would lose, queues limited
//! by a threshold at a switch whose flows move.

use super::Node;
use super::context::Context;
use super::event::Event;
use super::flow::Meaning;
use super::frame::CONTROL_BIT;
use super::refusal::Refusal;
use super::script;
use crate::engine::Phase;
use crate::results::ActionResult;
use clearway_core::{Change, FlowId, NodeId};
use clearway_policy::scenario::{Action, FlowControl, NodeRef, Scenario, Threshold};
use std::collections::VecDeque;

/// Looks at the flows of a broken link that make one measurement of their throughput.
const LOOKS: usize = 10;

/// All that a scenario changes, and what is known of it so far.
#[derive(Debug)]
pub(crate) struct Schedule {
    steps: Vec<Step>,
    movers: Vec<Mover>,
    cuts: Vec<Cut>,
    pub(crate) results: Vec<ActionResult>,
    look_ps: u64,
}

/// What an event does.
#[derive(Clone, Debug)]
enum Step {
    /// Changes of the traffic managers of these lines' transmitters.
    Change { lines: Vec<u32>, changes: Vec<Change> },
    /// The next move of a mover.
    Move { mover: usize },
    /// A link stops or begins to carry frames.
    Carry { link: u32, cut: Option<usize> },
    /// Flows are laid anew.
    Route { link: u32, up: bool, result: usize },
    /// A look at the flows of a cut.
    Look { cut: usize },
}

/// Flows that move between two queues.
#[derive(Debug)]
struct Mover {
    result: usize,
    workload: u32,
    between: [NodeId; 2],
    lines: Vec<u32>,
    start: u64,
    stop: u64,
    per_second: u64,
    /// Moves that were due so far.
    due: u64,
    /// Flows looked at so far.
    seen: usize,
    /// Flows in each of the two, longest first.
    standing: [VecDeque<u32>; 2],
}

/// A link that went down.
#[derive(Debug)]
struct Cut {
    result: usize,
    link: u32,
    at: u64,
    /// Flows that crossed it, with the bytes each had delivered when their frames could go another way, and whether it
    /// has delivered since.
    flows: Vec<(u32, u64, bool)>,
    /// Nine tenths of what they delivered in the time of ten looks before.
    enough: u64,
    /// Bytes delivered at the last looks.
    looks: VecDeque<u64>,
    /// Frames lost on the link before; none: it has not broken yet, or the account is closed.
    lost_before: Option<u64>,
    over: bool,
}

fn lost_on(ctx: &Context, link: u32) -> u64 {
    ctx.lines[2 * link as usize].lost + ctx.lines[2 * link as usize + 1].lost
}

fn bytes_of(ctx: &Context, flow: u32) -> u64 {
    ctx.flows.get(flow as usize).map_or(0, |f| f.delivered.bytes)
}

/// The policy of a line's transmitter.
fn policy_of(scenario: &Scenario, line: usize) -> Option<usize> {
    let end = &scenario.links.get(line / 2)?.ends[line % 2];
    end.policy.or(match end.node {
        NodeRef::Host(h) => scenario.hosts.get(h)?.nic.policy,
        NodeRef::Switch(s) => scenario.switches.get(s)?.policy,
    })
}

impl Schedule {
    /// The schedule of a scenario, its first events set; none where it changes nothing.
    pub(crate) fn new(scenario: &Scenario, ctx: &mut Context) -> Result<Option<Box<Self>>, Refusal> {
        if scenario.actions.is_empty() {
            return Ok(None);
        }
        let mut schedule = Self {
            steps: Vec::new(),
            movers: Vec::new(),
            cuts: Vec::new(),
            results: Vec::new(),
            look_ps: (ctx.end / 1_000).clamp(1, 1_000_000_000),
        };
        for (result, scheduled) in scenario.actions.iter().enumerate() {
            let at = scheduled.at.as_ps();
            schedule.results.push(ActionResult::new(&scheduled.name, at));
            for action in &scheduled.actions {
                schedule
                    .add(scenario, ctx, result, at, action)
                    .map_err(|(field, problem)| {
                        Refusal::new(format!("action {}", scheduled.name), field, problem)
                    })?;
            }
        }
        Ok(Some(Box::new(schedule)))
    }

    fn push(&mut self, ctx: &mut Context, at: u64, step: Step) {
        let index = self.steps.len() as u32;
        self.steps.push(step);
        ctx.push(at, Phase::Control, 0, Event::Step { index });
    }

    fn add(
        &mut self,
        scenario: &Scenario,
        ctx: &mut Context,
        result: usize,
        at: u64,
        action: &Action,
    ) -> Result<(), (&'static str, String)> {
        let lines = |policy: usize, hosts: &[usize]| -> Vec<u32> {
            let all = (0..ctx.lines.len()).filter(|&line| policy_of(scenario, line) == Some(policy));
            let named =
                |line: &usize| hosts.is_empty() || hosts.contains(&(ctx.lines[*line].from.0 as usize));
            all.filter(named).map(|line| line as u32).collect()
        };
        match action {
            Action::Weights {
                policy,
                weights,
                hosts,
            } => {
                let lines = lines(*policy, hosts);
                let change = |&(slot, weight): &(usize, u32)| Change::Weight {
                    node: NodeId::first(slot as u32),
                    weight,
                };
                let changes = weights.iter().map(change).collect();
                self.results[result].ports += lines.len() as u64;
                self.push(ctx, at, Step::Change { lines, changes });
            }
            Action::Rate {
                policy,
                node,
                rate,
                hosts,
            } => {
                let lines = lines(*policy, hosts);
                let changes = vec![Change::Rate {
                    node: NodeId::first(*node as u32),
                    rate: *rate,
                }];
                self.results[result].ports += lines.len() as u64;
                self.push(ctx, at, Step::Change { lines, changes });
            }
            Action::MoveFlows {
                policy,
                workload,
                between,
                per_second,
                stop,
                hosts,
            } => {
                let lines = lines(*policy, hosts);
                let limited = |&line: &u32| {
                    let node = (ctx.lines[line as usize].from.0 as usize).checked_sub(scenario.hosts.len());
                    let switch = node.and_then(|s| scenario.switches.get(s));
                    switch.is_some_and(|s| s.threshold != Threshold::Shared)
                };
                if lines.iter().any(limited) {
                    let problem = "moves flows at a switch whose queues have a threshold, which counts by queue: use \
                                   `threshold = \"shared\"`, or name `hosts`";
                    return Err(("move", problem.to_owned()));
                }
                self.results[result].ports += lines.len() as u64;
                let mover = self.movers.len();
                self.movers.push(Mover {
                    result,
                    workload: *workload as u32,
                    between: between.map(|slot| NodeId::first(slot as u32)),
                    lines,
                    start: at,
                    stop: stop.map_or(u64::MAX, |s| s.as_ps()),
                    per_second: u64::from((*per_second).max(1)),
                    due: 0,
                    seen: 0,
                    standing: [VecDeque::new(), VecDeque::new()],
                });
                self.push(ctx, at, Step::Move { mover });
            }
            Action::LinkDown { link, detection } | Action::LinkUp { link, detection } => {
                let up = matches!(action, Action::LinkUp { .. });
                let credits = scenario.links.get(*link).is_some_and(|l| {
                    l.ends.iter().any(|e| match e.node {
                        NodeRef::Switch(s) => scenario
                            .switches
                            .get(s)
                            .is_some_and(|s| matches!(s.flow_control, FlowControl::Credits { .. })),
                        NodeRef::Host(_) => false,
                    })
                });
                if credits {
                    let problem = "breaks a link of a switch with credits, which would be lost with it: use another \
                                   flow control";
                    return Err((if up { "up" } else { "down" }, problem.to_owned()));
                }
                let link = *link as u32;
                for line in [2 * link, 2 * link + 1] {
                    // What is on the line must be known while it is there.
                    ctx.lines[line as usize].direct = None;
                }
                let cut = (!up).then(|| {
                    self.cuts.push(Cut {
                        result,
                        link,
                        at,
                        flows: Vec::new(),
                        enough: 0,
                        looks: VecDeque::new(),
                        lost_before: None,
                        over: false,
                    });
                    self.cuts.len() - 1
                });
                self.push(ctx, at, Step::Carry { link, cut });
                let known = at.saturating_add(detection.as_ps());
                self.push(ctx, known, Step::Route { link, up, result });
            }
        }
        Ok(())
    }

    /// A step is due.
    pub(crate) fn due(&mut self, nodes: &mut [Node], ctx: &mut Context, index: u32) -> Result<(), Refusal> {
        let Some(step) = self.steps.get(index as usize).cloned() else {
            return Ok(());
        };
        match step {
            Step::Change { lines, changes } => {
                for line in lines {
                    for change in &changes {
                        change_line(nodes, ctx, line, change)
                            .map_err(|p| Refusal::new("action", "class", p))?;
                    }
                }
            }
            Step::Move { mover } => {
                self.move_one(nodes, ctx, mover)?;
                let mover = &self.movers[mover];
                let next = u128::from(mover.due) * 1_000_000_000_000 / u128::from(mover.per_second);
                let next = mover
                    .start
                    .saturating_add(u64::try_from(next).unwrap_or(u64::MAX));
                if next <= mover.stop {
                    ctx.push(next, Phase::Control, 0, Event::Step { index });
                }
            }
            Step::Carry { link, cut: Some(cut) } => {
                self.take_down(nodes, ctx, link, cut);
                if ctx.now > ctx.warmup {
                    let at = ctx.now.saturating_add(self.look_ps);
                    self.push(ctx, at, Step::Look { cut });
                }
            }
            Step::Carry { link, cut: None } => {
                self.close(ctx, link);
                for line in [2 * link, 2 * link + 1] {
                    let _ = ctx.lines[line as usize].set_down(false);
                }
            }
            Step::Route { link, up, result } => {
                let moved = ctx.reroute(link, up);
                self.results[result].flows_moved += moved.len() as u64;
            }
            Step::Look { cut } => self.look(ctx, cut, index),
        }
        Ok(())
    }

    /// Loses what is on a link and all that comes after.
    fn take_down(&mut self, nodes: &mut [Node], ctx: &mut Context, link: u32, cut: usize) {
        let flows = ctx.flows_over(link);
        ctx.settle();
        let cut = &mut self.cuts[cut];
        cut.flows = flows
            .iter()
            .map(|&flow| (flow, bytes_of(ctx, flow), false))
            .collect();
        let bytes: u64 = cut.flows.iter().map(|f| f.1).sum();
        let span = u128::from(ctx.now.saturating_sub(ctx.warmup).max(1));
        let enough = u128::from(bytes) * u128::from(self.look_ps) * LOOKS as u128 * 9 / 10 / span;
        cut.enough = u64::try_from(enough).unwrap_or(u64::MAX);
        if !ctx.lines[2 * link as usize].is_down() {
            cut.lost_before = Some(lost_on(ctx, link));
        }
        self.results[cut.result].flows += cut.flows.len() as u64;
        for line in [2 * link, 2 * link + 1] {
            let (to, _) = ctx.lines[line as usize].to;
            for handle in ctx.lines[line as usize].set_down(true) {
                if handle & CONTROL_BIT != 0 {
                    let _ = ctx.controls.remove(handle & !CONTROL_BIT);
                    continue;
                }
                // A part of it may be in the far switch's memory already.
                if let Some(Node::Switch(switch)) = nodes.get_mut(to as usize) {
                    switch.give_back_part(ctx, handle);
                }
                ctx.lose_on_line(handle, line);
            }
        }
    }

    /// Looks at what the flows of a cut have delivered.
    fn look(&mut self, ctx: &mut Context, cut: usize, step: u32) {
        ctx.settle();
        let cut = &mut self.cuts[cut];
        let mut sum = 0;
        for (flow, before, back) in &mut cut.flows {
            let bytes = bytes_of(ctx, *flow);
            sum += bytes;
            *back = *back || bytes > *before;
        }
        let result = &mut self.results[cut.result];
        if result.flows_back_ps.is_none() && cut.flows.iter().all(|f| f.2 || f.1 == 0) {
            result.flows_back_ps = Some(ctx.now - cut.at);
        }
        cut.looks.push_back(sum);
        if cut.looks.len() > LOOKS {
            let first = cut.looks.pop_front().unwrap_or(sum);
            if sum - first >= cut.enough && cut.enough > 0 && !cut.over {
                cut.over = true;
                let from = ctx.now.saturating_sub(LOOKS as u64 * self.look_ps);
                result.throughput_back_ps = Some(from.saturating_sub(cut.at));
            }
        }
        if !(cut.over && result.flows_back_ps.is_some()) {
            let at = ctx.now.saturating_add(self.look_ps);
            ctx.push(at, Phase::Control, 0, Event::Step { index: step });
        }
    }

    /// Carries out the next move of a mover, if a flow stands where it would leave.
    fn move_one(&mut self, nodes: &mut [Node], ctx: &mut Context, mover: usize) -> Result<(), Refusal> {
        let mover = &mut self.movers[mover];
        mover.find_new(nodes, ctx);
        let up = mover.due.is_multiple_of(2);
        mover.due += 1;
        let (leaves, enters) = if up { (0, 1) } else { (1, 0) };
        let Some(flow) = mover.standing[leaves].pop_front() else {
            return Ok(());
        };
        let Some(key) = ctx.keys.get(flow as usize) else {
            return Ok(());
        };
        let change = Change::MoveFlow {
            flow: FlowId::of(key),
            from: mover.between[leaves],
            to: mover.between[enters],
        };
        for line in mover.on_path(ctx, flow) {
            change_line(nodes, ctx, line, &change).map_err(|problem| {
                let name = &self.results[mover.result].name;
                Refusal::new(format!("action {name}"), "move", problem)
            })?;
        }
        mover.standing[enters].push_back(flow);
        let result = &mut self.results[mover.result];
        result.flows_moved += 1;
        result.moves[enters] += 1;
        Ok(())
    }

    /// Counts what a link has lost since it broke.
    fn close(&mut self, ctx: &Context, link: u32) {
        for cut in self.cuts.iter_mut().filter(|c| c.link == link) {
            if let Some(before) = cut.lost_before.take() {
                self.results[cut.result].frames_lost += lost_on(ctx, link) - before;
            }
        }
    }

    /// What is told of each action, when the run is over.
    pub(crate) fn finish(mut self, ctx: &Context) -> Vec<ActionResult> {
        for cut in 0..self.cuts.len() {
            self.close(ctx, self.cuts[cut].link);
        }
        self.results
    }
}

impl Mover {
    /// The egresses of a flow's path at which it moves.
    fn on_path(&self, ctx: &Context, flow: u32) -> Vec<u32> {
        let path = ctx.flows.get(flow as usize).map_or(u32::MAX, |f| f.path);
        let lines = ctx.lines_of(path);
        lines
            .into_iter()
            .filter(|line| self.lines.contains(line))
            .collect()
    }

    /// Takes up flows that have appeared since the last move.
    fn find_new(&mut self, nodes: &mut [Node], ctx: &Context) {
        for flow in self.seen..ctx.flows.len() {
            let sends = !matches!(ctx.flows[flow].meaning, Meaning::Ack | Meaning::Response);
            if ctx.workload_of.get(flow) != Some(&self.workload) || !sends {
                continue;
            }
            let Some(&line) = self.on_path(ctx, flow as u32).first() else {
                continue;
            };
            let (node, port) = ctx.lines[line as usize].from;
            let queue = match nodes.get_mut(node as usize) {
                Some(Node::Host(host)) => host.transmitter.queue_of_key(ctx, flow as u32),
                Some(Node::Switch(switch)) => switch.ports[usize::from(port)]
                    .transmitter
                    .queue_of_key(ctx, flow as u32),
                None => None,
            };
            if let Some(place) = self.between.iter().position(|q| Some(*q) == queue) {
                self.standing[place].push_back(flow as u32);
            }
        }
        self.seen = ctx.flows.len();
    }
}

/// Changes the traffic manager of a line's transmitter.
fn change_line(nodes: &mut [Node], ctx: &mut Context, line: u32, change: &Change) -> Result<(), String> {
    let (node, port) = ctx.lines[line as usize].from;
    let action = script::Action::Change(change.clone());
    match nodes.get_mut(node as usize) {
        Some(Node::Host(host)) => {
            if let Some(bus) = &mut host.bus_tx
                && !matches!(change, Change::Rate { .. })
            {
                bus.reorder(ctx, change)?;
            }
            host.act(ctx, &action)
        }
        Some(Node::Switch(switch)) => switch.act(ctx, port, &action),
        None => Ok(()),
    }
}
