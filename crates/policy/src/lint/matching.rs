//! Checks on the rules: what they leave unreachable, and the order of priorities.

use crate::compile::Compiler;
use crate::diagnostic::{Diagnostic, Severity};
use crate::policy::Policy;
use clearway_core::plan::{IpPrefix, NodeKind, RuleMatch};

/// Priorities in rising importance: the table of recommended priority to traffic class mappings of
/// IEEE 802.1Q puts priority 1 (background) below priority 0 (best effort).
const RISING: [u8; 8] = [1, 0, 2, 3, 4, 5, 6, 7];

/// No more rules than this are compared: every one with every earlier one.
const RULES_MAX: usize = 4_096;

pub(crate) fn check(policy: &Policy, compiler: &Compiler<'_>, findings: &mut Vec<Diagnostic>) {
    let plan = &compiler.plan;
    if plan.rules.len() > RULES_MAX {
        let message = format!(
            "{} rules are too many to compare with each other",
            plan.rules.len()
        );
        findings.push(policy.place().finding(Severity::Info, "shadowed-rule", message));
        return;
    }
    let dead = shadowed(compiler);
    let mut leading: Vec<Vec<usize>> = vec![Vec::new(); plan.nodes.len()];
    for (r, rule) in plan.rules.iter().enumerate() {
        leading[rule.queue as usize].push(r);
    }
    for (i, node) in plan.nodes.iter().enumerate() {
        if !matches!(node.kind, NodeKind::Queue(_)) {
            continue;
        }
        let rules = &leading[i];
        if rules.is_empty() {
            let finding = compiler.nodes[i].place.finding(
                Severity::Warning,
                "unmatched-class",
                "no rule leads to this class: no frame reaches it",
            );
            findings.push(
                finding.expecting("`pcp`, `dscp` or `match` here, or default = at the top of the file"),
            );
        } else if rules.iter().all(|r| dead[*r]) {
            let message = "earlier rules take every frame that this class's rules name: no frame reaches it";
            findings.push(
                compiler.nodes[i]
                    .place
                    .finding(Severity::Warning, "unmatched-class", message),
            );
        }
    }
    for (r, _) in dead.iter().enumerate().filter(|(_, dead)| **dead) {
        let place = &compiler.rule_places[r];
        // The rest is no rule of the file unless `default` says so.
        if plan.rules[r].matches != RuleMatch::default() || policy.text.default.is_some() {
            let message = "earlier rules leave nothing of this one";
            findings.push(place.finding(Severity::Warning, "shadowed-rule", message));
        }
    }
    if !takes_all(compiler) {
        let message = "frames that no rule matches are refused";
        let finding = policy.place().finding(Severity::Warning, "no-default", message);
        findings
            .push(finding.expecting("default = \"NAME\" at the top of the file, or a class without rules"));
    }
    order(compiler, findings);
}

/// Conditions other than the priority.
fn beside_pcp(m: &RuleMatch) -> RuleMatch {
    RuleMatch { pcp: None, ..*m }
}

/// For each rule, whether earlier ones take all that it names: for each of its priorities one of them covers it.
fn shadowed(compiler: &Compiler<'_>) -> Vec<bool> {
    let rules = &compiler.plan.rules;
    (0..rules.len())
        .map(|r| {
            let own = &rules[r].matches;
            (0..8_u8)
                .filter(|p| own.pcp.is_none_or(|set| set >> p & 1 == 1))
                .all(|p| {
                    rules[..r].iter().any(|earlier| {
                        earlier.matches.pcp.is_none_or(|set| set >> p & 1 == 1)
                            && covers(&beside_pcp(&earlier.matches), &beside_pcp(own))
                    })
                })
        })
        .collect()
}

/// True where every frame that `b` names is one that `a` names.
fn covers(a: &RuleMatch, b: &RuleMatch) -> bool {
    fn same<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
        a.is_none() || a == b
    }
    fn range(a: Option<(u16, u16)>, b: Option<(u16, u16)>) -> bool {
        match (a, b) {
            (None, _) => true,
            (Some(a), Some(b)) => a.0 <= b.0 && b.1 <= a.1,
            (Some(_), None) => false,
        }
    }
    fn prefix(a: Option<IpPrefix>, b: Option<IpPrefix>) -> bool {
        match (a, b) {
            (None, _) => true,
            (Some(a), Some(b)) => {
                let width: u32 = if a.version == 4 { 32 } else { 128 };
                let host = width.saturating_sub(u32::from(a.length));
                let top = |address: u128| if host >= 128 { 0 } else { address >> host };
                a.version == b.version && a.length <= b.length && top(a.address) == top(b.address)
            }
            (Some(_), None) => false,
        }
    }
    let dscp = match (a.dscp, b.dscp) {
        (None, _) => true,
        (Some(a), Some(b)) => b & !a == 0,
        (Some(_), None) => false,
    };
    same(a.dst_mac, b.dst_mac)
        && same(a.src_mac, b.src_mac)
        && same(a.vlan_id, b.vlan_id)
        && same(a.ethertype, b.ethertype)
        && same(a.protocol, b.protocol)
        && prefix(a.src_ip, b.src_ip)
        && prefix(a.dst_ip, b.dst_ip)
        && range(a.src_port, b.src_port)
        && range(a.dst_port, b.dst_port)
        && dscp
}

/// True where every priority meets a rule without other conditions.
fn takes_all(compiler: &Compiler<'_>) -> bool {
    let taken = compiler
        .plan
        .rules
        .iter()
        .filter(|r| beside_pcp(&r.matches) == RuleMatch::default())
        .fold(0_u8, |set, r| set | r.matches.pcp.unwrap_or(0xFF));
    taken == 0xFF
}

/// The path of a node from the root, as slots.
fn ancestry(compiler: &Compiler<'_>, node: usize) -> Vec<usize> {
    let mut path = vec![node];
    while let Some(parent) = path.last().and_then(|n| compiler.plan.nodes[*n].parent) {
        path.push(parent as usize);
    }
    path.reverse();
    path
}

/// Queues that go first although their priority is the lesser one.
fn order(compiler: &Compiler<'_>, findings: &mut Vec<Diagnostic>) {
    let plan = &compiler.plan;
    // What the rules by priority alone name: a rule that also looks at other fields says nothing about priorities.
    let mut named = vec![0_u8; plan.nodes.len()];
    for rule in &plan.rules {
        if let (Some(set), true) = (
            rule.matches.pcp,
            beside_pcp(&rule.matches) == RuleMatch::default(),
        ) {
            named[rule.queue as usize] |= set;
        }
    }
    let place = |pcp: u8| RISING.iter().position(|p| *p == pcp).unwrap_or(0);
    let queues: Vec<usize> = (0..plan.nodes.len()).filter(|i| named[*i] != 0).collect();
    for first in &queues {
        for second in &queues {
            let (a, b) = (ancestry(compiler, *first), ancestry(compiler, *second));
            let Some(split) = a.iter().zip(&b).position(|(x, y)| x != y) else {
                continue;
            };
            let parent = a[split - 1];
            let goes_first = matches!(plan.nodes[parent].kind, NodeKind::Strict)
                && plan.nodes[a[split]].rank < plan.nodes[b[split]].rank;
            if !goes_first {
                continue;
            }
            let bits = |set: u8| (0..8_u8).filter(move |p| set >> p & 1 == 1);
            let least = bits(named[*first]).min_by_key(|p| place(*p));
            let most = bits(named[*second]).max_by_key(|p| place(*p));
            if let (Some(least), Some(most)) = (least, most)
                && place(least) < place(most)
            {
                let message = format!(
                    "priority {least} goes before priority {most} (`{}`), against the recommended order of IEEE 802.1Q",
                    compiler.nodes[*second].path
                );
                let finding = compiler.nodes[*first]
                    .place
                    .finding(Severity::Warning, "pcp-order", message);
                findings.push(finding.expecting("1 below 0 below 2, 3, 4, 5, 6, 7"));
            }
        }
    }
}
