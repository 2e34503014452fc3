//! Runs a case, and makes a failing one small: the calls after the failure go first, then whatever else can.

use super::compare::Run;
use super::steps::Step;
use clearway_core::Plan;
use clearway_core::plan::{Accounting, NodeKind, NodePlan, QueueMode, QueuePlan};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A failure: at which step, and what disagreed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) step: usize,
    pub(crate) what: String,
}

/// Carries out the steps; a panic is a failure like any other.
pub(crate) fn run(plan: &Plan, steps: &[Step], keep_trace: bool) -> (Option<Run>, Option<Failure>) {
    let mut run = match Run::new(plan, keep_trace) {
        Ok(run) => run,
        Err(what) => return (None, Some(Failure { step: 0, what })),
    };
    for (step, call) in steps.iter().enumerate() {
        let done = catch_unwind(AssertUnwindSafe(|| run.step(call)));
        let what = match done {
            Ok(Ok(())) => continue,
            Ok(Err(what)) => what,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                format!("panic in {call:?}: {}", text.unwrap_or_default())
            }
        };
        return (Some(run), Some(Failure { step, what }));
    }
    (Some(run), None)
}

/// A shorter list of steps that still fails.
pub(crate) fn shrink(plan: &Plan, steps: &[Step]) -> Vec<Step> {
    let mut steps = steps.to_vec();
    let mut tries = 3_000;
    if let (_, Some(failure)) = run(plan, &steps, false) {
        steps.truncate(failure.step + 1);
    }
    let mut chunk = steps.len() / 2;
    while chunk > 0 && tries > 0 {
        let mut at = 0;
        while at < steps.len() && tries > 0 {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + chunk).min(steps.len()));
            tries -= 1;
            if let (_, Some(failure)) = run(plan, &fewer, false) {
                fewer.truncate(failure.step + 1);
                steps = fewer;
            } else {
                at += chunk;
            }
        }
        chunk = if chunk == 1 && tries > 0 { 0 } else { chunk / 2 };
    }
    steps
}

/// The plan without the features that the failure does not need.
fn simplify(plan: &Plan, steps: &[Step]) -> Plan {
    let mut plan = plan.clone();
    let edits: [fn(&mut NodePlan); 11] = [
        |n| n.rate = None,
        |n| n.frame_rate = None,
        |n| n.guarantee = None,
        |n| n.weight = 1,
        |n| n.accounting = Accounting::default(),
        |n| edit_queue(n, |q| q.mark = None),
        |n| edit_queue(n, |q| q.meter = None),
        |n| edit_queue(n, |q| q.age_max = None),
        |n| edit_queue(n, |q| q.gate = 0),
        |n| edit_queue(n, |q| (q.frames_max, q.bytes_max) = (1_000, 1 << 40)),
        |n| edit_queue(n, |q| q.mode = QueueMode::Shared),
    ];
    for node in 0..plan.nodes.len() {
        for edit in edits {
            let mut simpler = plan.clone();
            edit(&mut simpler.nodes[node]);
            if simpler.validate().is_ok() && run(&simpler, steps, false).1.is_some() {
                plan = simpler;
            }
        }
    }
    let mut rule = 0;
    while rule < plan.rules.len() {
        let mut simpler = plan.clone();
        simpler.rules.remove(rule);
        if simpler.validate().is_ok() && run(&simpler, steps, false).1.is_some() {
            plan = simpler;
        } else {
            rule += 1;
        }
    }
    plan
}

fn edit_queue(node: &mut NodePlan, edit: impl Fn(&mut QueuePlan)) {
    if let NodeKind::Queue(queue) = &mut node.kind {
        edit(queue);
    }
}

/// What a person needs to see of a failing case.
pub(crate) fn report(plan: &Plan, steps: &[Step]) -> String {
    let steps = shrink(plan, steps);
    let plan = &simplify(plan, &steps);
    let steps = shrink(plan, &steps);
    let (run, failure) = run(plan, &steps, true);
    let trace = run.and_then(|run| run.trace).unwrap_or_default().join("\n");
    let what = failure.map_or_else(|| "no longer fails".to_owned(), |f| f.what);
    let lines = |items: Vec<String>| items.join("\n");
    let nodes = lines(
        plan.nodes
            .iter()
            .enumerate()
            .map(|(i, node)| format!("{i}: {node:?}"))
            .collect(),
    );
    let rules = lines(plan.rules.iter().map(|rule| format!("{rule:?}")).collect());
    let limits = (
        plan.frames_max,
        plan.flows_max,
        plan.nodes_max,
        plan.frame_bytes_max,
    );
    let last = steps.last();
    format!(
        "{what}\n\ncalls:\n{trace}\nlast: {last:?}\n\nnodes:\n{nodes}\nrules:\n{rules}\n\
         frames_max, flows_max, nodes_max, frame_bytes_max: {limits:?}"
    )
}
