//! Checks on the tree of classes: shares, limits, guarantees, turns.

use crate::compile::{Compiler, WHOLE};
use crate::diagnostic::{Diagnostic, Severity};
use crate::policy::Policy;
use crate::quantity::{Dimension, Quantity};
use crate::reader::NamedEntry;
use crate::syntax::policy::{ClassText, RateOrPercent};
use clearway_core::Duration;
use clearway_core::plan::{NodeKind, Plan};

pub(crate) fn check(
    policy: &Policy,
    compiler: &Compiler<'_>,
    line_rate_bps: Option<u64>,
    findings: &mut Vec<Diagnostic>,
) {
    shares(policy.text.class.as_ref().map_or(&[], |c| &c.value.0), findings);
    limits(policy, compiler, line_rate_bps, findings);
    guarantees(compiler, line_rate_bps, findings);
    turns(policy, compiler, line_rate_bps, findings);
}

/// The children of each node.
fn children(plan: &Plan) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); plan.nodes.len()];
    for (i, node) in plan.nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            all[parent as usize].push(i);
        }
    }
    all
}

fn shown(dimension: Dimension, value: u64) -> String {
    Quantity { dimension, value }.to_string()
}

fn shares(classes: &[NamedEntry<ClassText>], findings: &mut Vec<Diagnostic>) {
    let given: Vec<_> = classes.iter().filter_map(|c| c.value.share.as_ref()).collect();
    let sum = given.iter().fold(0_u64, |sum, s| sum.saturating_add(s.value.0));
    if let Some(last) = given.last().filter(|_| sum > WHOLE) {
        let message = format!(
            "the shares of these siblings add up to {}: each gets less than it says",
            shown(Dimension::Percent, sum)
        );
        let finding = last
            .place
            .finding(Severity::Warning, "shares-above-whole", message);
        findings
            .push(finding.expecting("at most 100% in all; whole-number weights need not add up to anything"));
    }
    for class in classes {
        shares(class.value.class.as_ref().map_or(&[], |c| &c.value.0), findings);
    }
}

fn limits(
    policy: &Policy,
    compiler: &Compiler<'_>,
    line_rate_bps: Option<u64>,
    findings: &mut Vec<Diagnostic>,
) {
    let root = policy.text.rate.as_ref();
    let texts = compiler.nodes.iter().filter_map(|n| n.text);
    let rates = texts.clone().filter_map(|t| t.rate.as_ref());
    let flows = texts.filter_map(|t| t.per_flow.as_ref().and_then(|p| p.value.rate.as_ref()));
    for rate in root.into_iter().chain(rates).chain(flows) {
        let above = match rate.value {
            RateOrPercent::Percent(part) => part > WHOLE,
            RateOrPercent::BitRate(bps) => line_rate_bps.is_some_and(|line| bps > line),
        };
        if above {
            let line = line_rate_bps.map_or("100%".to_owned(), |line| shown(Dimension::BitRate, line));
            let finding = rate.place.finding(
                Severity::Warning,
                "limit-above-line",
                "the line never reaches this limit",
            );
            findings.push(finding.expecting(format!("at most the line rate, {line}")));
        }
    }
}

fn guarantees(compiler: &Compiler<'_>, line_rate_bps: Option<u64>, findings: &mut Vec<Diagnostic>) {
    let children = children(&compiler.plan);
    for (i, parent) in compiler.plan.nodes.iter().enumerate() {
        let children = &children[i];
        let given: Vec<usize> = children
            .iter()
            .copied()
            .filter(|c| compiler.plan.nodes[*c].guarantee.is_some())
            .collect();
        let sum = given
            .iter()
            .filter_map(|c| compiler.plan.nodes[*c].guarantee)
            .fold(0_u64, |sum, g| sum.saturating_add(g.rate_bps));
        // What the parent can send at most: its own limit, or the line where that is known.
        let most = parent
            .rate
            .map(|r| r.rate_bps)
            .into_iter()
            .chain(line_rate_bps)
            .min();
        if let (Some(most), Some(last)) = (most, given.last())
            && sum > most
            && let Some(at) = compiler.nodes[*last].text.and_then(|t| t.guarantee.as_ref())
        {
            let message = format!(
                "the guarantees of these siblings add up to {}: they cannot all be kept",
                shown(Dimension::BitRate, sum)
            );
            let finding = at
                .place
                .finding(Severity::Warning, "guarantees-above-line", message);
            findings.push(finding.expecting(format!("at most {} in all", shown(Dimension::BitRate, most))));
        }
    }
}

/// How much one child of a weighted class sends in a row: its quantum, and up to one frame more that it borrows.
fn turns(
    policy: &Policy,
    compiler: &Compiler<'_>,
    line_rate_bps: Option<u64>,
    findings: &mut Vec<Diagnostic>,
) {
    let plan = &compiler.plan;
    let children = children(plan);
    let mut largest: Option<(u64, usize)> = None;
    for (i, node) in plan
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, n)| matches!(n.kind, NodeKind::Weighted))
    {
        let frame = u64::from(node.accounting.cost(plan.frame_bytes_max));
        let children = &children[i];
        let least = children
            .iter()
            .map(|c| u64::from(plan.nodes[*c].weight))
            .min()
            .unwrap_or(1)
            .max(1);
        for child in children.iter().copied() {
            // Rule 14 of the traffic manager: quantum = ceil(M / w_min) * weight; a deficit above zero sends.
            let turn = frame.div_ceil(least) * u64::from(plan.nodes[child].weight) + frame - 1;
            if largest.is_none_or(|(most, _)| turn > most) {
                largest = Some((turn, child));
            }
        }
    }
    if let Some((bytes, child)) = largest {
        let rate = line_rate_bps.unwrap_or(crate::policy::CHECK_RATE_BPS);
        let time = Duration::of_bytes(bytes, rate);
        let message = format!(
            "the largest turn is {bytes} bytes, {} at {}: `{}` sends that much before its siblings",
            micros(time),
            shown(Dimension::BitRate, rate),
            compiler.nodes[child].path,
        );
        let place = if compiler.nodes[child].text.is_some() {
            &compiler.nodes[child].place
        } else {
            policy.place()
        };
        findings.push(place.finding(Severity::Info, "largest-turn", message));
    }
}

/// Microseconds to three places, rounded up.
fn micros(time: Duration) -> String {
    let ns = time.as_ps().div_ceil(1_000);
    format!("{}.{:03} us", ns / 1_000, ns % 1_000)
}
