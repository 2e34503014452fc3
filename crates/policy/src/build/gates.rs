//! Whether priority-based flow control can stop what it names and nothing else.

use super::Facts;
use crate::compile::Compiler;
use crate::diagnostic::Diagnostic;
use crate::policy::Policy;
use crate::rules;
use crate::scenario::{FlowControl, Link, NodeRef, Switch};
use clearway_core::plan::NodeKind;
use std::collections::BTreeSet;

/// Refuses queues that mix priorities which a neighbour's PFC pauses apart, unless the class names its gate.
pub(crate) fn check(
    links: &[Link],
    switches: &[Switch],
    policy_at: &dyn Fn(&Link, usize) -> Option<usize>,
    sources: &[Policy],
    facts: &Facts,
    findings: &mut Vec<Diagnostic>,
) {
    let mut seen = BTreeSet::new();
    for link in links {
        for end in 0..2 {
            let NodeRef::Switch(neighbour) = link.ends[1 - end].node else {
                continue;
            };
            let FlowControl::Pfc { priorities, .. } = &switches[neighbour].flow_control else {
                continue;
            };
            let Some(compiled) = policy_at(link, end) else {
                continue;
            };
            let Some((source, rate)) = facts.compiled_from.get(compiled) else {
                continue;
            };
            if seen.insert((*source, *priorities)) {
                queues(
                    &sources[*source],
                    *rate,
                    *priorities,
                    &switches[neighbour].name,
                    findings,
                );
            }
        }
    }
}

fn queues(policy: &Policy, rate_bps: u64, named: u8, switch: &str, findings: &mut Vec<Diagnostic>) {
    let mut compiler = Compiler::new(rate_bps);
    compiler.run(policy);
    let reach = rules::priorities(&compiler.plan.rules, compiler.plan.nodes.len());
    for (i, node) in compiler.plan.nodes.iter().enumerate() {
        let given = compiler.nodes[i].text.is_some_and(|t| t.gate.is_some());
        let apart = reach[i] & named != 0 && reach[i].count_ones() > 1;
        if matches!(node.kind, NodeKind::Queue(_)) && apart && !given {
            let list = |set: u8| {
                let all: Vec<String> = (0..8)
                    .filter(|p| set >> p & 1 == 1)
                    .map(|p| p.to_string())
                    .collect();
                all.join(", ")
            };
            let message = format!(
                "priorities {} share this queue, but PFC of switch `{switch}` pauses {} one by one: a pause would stop \
                 too much or too little",
                list(reach[i]),
                list(named)
            );
            findings.push(
                compiler.nodes[i]
                    .place
                    .error("pfc-mixed-queue", message)
                    .expecting("a class for each of these priorities, or `gate` on this class"),
            );
        }
    }
}
