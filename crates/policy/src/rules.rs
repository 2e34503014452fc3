//! Classifier rules, the class of the rest, and the gates that priority-based flow control shuts.
//!
//! Rules stand in the order of the file: those at its top, then those inside classes. A frame that no rule matches
//! goes to `default`; without one, to the only class that has no rule. The gate of a queue is the least priority
//! that can reach it, unless the class names its gate.

use crate::compile::Compiler;
use crate::diagnostic::Place;
use crate::policy::Policy;
use crate::reader::At;
use crate::syntax::matches::{MatchText, PortRange};
use clearway_core::plan::{NodeKind, Rule, RuleMatch};
use std::collections::BTreeSet;

/// No more rules than this: lists of ports multiply.
const RULES_MAX: usize = 65_536;

pub(crate) fn compile(c: &mut Compiler<'_>, policy: &Policy) {
    let text = &*policy.text;
    for rule in text.r#match.iter().flat_map(|m| &m.value.0) {
        match &rule.value.class {
            Some(class) => {
                if let Some(queue) = c.leaf(class) {
                    add(c, &rule.value, queue);
                }
            }
            None => c.findings.push(crate::reader::missing_key(&rule.place, "class")),
        }
    }
    for i in 0..c.nodes.len() {
        let Some(class) = c.nodes[i].text else { continue };
        let queue = u32::try_from(i).unwrap_or(0);
        if let Some(pcp) = &class.pcp {
            push(
                c,
                &pcp.place,
                RuleMatch {
                    pcp: Some(pcp.value.0),
                    ..RuleMatch::default()
                },
                queue,
            );
        }
        if let Some(dscp) = &class.dscp {
            push(
                c,
                &dscp.place,
                RuleMatch {
                    dscp: Some(dscp.value.0),
                    ..RuleMatch::default()
                },
                queue,
            );
        }
        for rule in class.r#match.iter().flat_map(|m| &m.value.0) {
            if let Some(name) = &rule.value.class {
                let finding = name.error("unused-key", "a rule inside a class leads to that class");
                c.findings.push(finding.expecting("no `class` here"));
            }
            add(c, &rule.value, queue);
        }
    }
    if c.plan.rules.len() > RULES_MAX {
        let place = policy.place();
        c.findings.push(place.error(
            "range",
            format!("the rules come to {}: at most {RULES_MAX}", c.plan.rules.len()),
        ));
        return;
    }
    if let Some(queue) = rest(c, text.default.as_ref()) {
        let place = text.default.as_ref().map_or(policy.place(), |d| &d.place);
        push(c, place, RuleMatch::default(), queue);
    }
    gates(c);
}

/// Where frames go that no rule matches.
fn rest(c: &mut Compiler<'_>, default: Option<&At<String>>) -> Option<u32> {
    if let Some(name) = default {
        return c.leaf(name);
    }
    let with_rule: BTreeSet<usize> = c.plan.rules.iter().map(|r| r.queue as usize).collect();
    let mut without = (0..c.plan.nodes.len())
        .filter(|i| matches!(c.plan.nodes[*i].kind, NodeKind::Queue(_)) && !with_rule.contains(i));
    match (without.next(), without.next()) {
        (Some(only), None) => u32::try_from(only).ok(),
        _ => None,
    }
}

fn push(c: &mut Compiler<'_>, place: &Place, matches: RuleMatch, queue: u32) {
    c.rule_places.push(place.clone());
    c.plan.rules.push(Rule { matches, queue });
}

/// One rule of the text: lists of ports become rules of their own.
fn add(c: &mut Compiler<'_>, text: &MatchText, queue: u32) {
    let ports = |list: &Option<At<crate::reader::OneOrMany<PortRange>>>| -> Vec<Option<(u16, u16)>> {
        match list {
            None => vec![None],
            Some(list) => list
                .value
                .0
                .iter()
                .map(|p| Some((p.value.0, p.value.1)))
                .collect(),
        }
    };
    let matches = RuleMatch {
        dst_mac: text.dst_mac.as_ref().map(|m| m.value.0),
        src_mac: text.src_mac.as_ref().map(|m| m.value.0),
        vlan_id: text.vlan.as_ref().and_then(|v| u16::try_from(v.value.0).ok()),
        pcp: text.pcp.as_ref().map(|p| p.value.0),
        ethertype: text.ethertype.as_ref().map(|e| e.value.0),
        src_ip: text.src_ip.as_ref().map(|p| p.value.0),
        dst_ip: text.dst_ip.as_ref().map(|p| p.value.0),
        dscp: text.dscp.as_ref().map(|d| d.value.0),
        protocol: text.protocol.as_ref().map(|p| p.value.0),
        src_port: None,
        dst_port: None,
    };
    let (src, dst) = (ports(&text.src_port), ports(&text.dst_port));
    if src.len().saturating_mul(dst.len()) > RULES_MAX {
        c.findings.push(
            text.place
                .error("range", "the ports of this rule make too many rules"),
        );
        return;
    }
    for src_port in &src {
        for dst_port in &dst {
            push(
                c,
                &text.place,
                RuleMatch {
                    src_port: *src_port,
                    dst_port: *dst_port,
                    ..matches
                },
                queue,
            );
        }
    }
}

/// Priorities that can reach each node: walking the rules for each priority, until one takes all of it.
pub(crate) fn priorities(rules: &[Rule], nodes: usize) -> Vec<u8> {
    let mut reach = vec![0_u8; nodes];
    for pcp in 0..8_u8 {
        for rule in rules {
            let named = rule.matches.pcp.is_none_or(|set| set >> pcp & 1 == 1);
            if named && let Some(set) = reach.get_mut(rule.queue as usize) {
                *set |= 1 << pcp;
            }
            // A rule with no other condition leaves nothing of this priority to later rules.
            if named
                && (RuleMatch {
                    pcp: None,
                    ..rule.matches
                }) == RuleMatch::default()
            {
                break;
            }
        }
    }
    reach
}

fn gates(c: &mut Compiler<'_>) {
    let reach = priorities(&c.plan.rules, c.plan.nodes.len());
    for (i, node) in c.plan.nodes.iter_mut().enumerate() {
        if let NodeKind::Queue(queue) = &mut node.kind {
            let given = c.nodes[i].text.and_then(|t| t.gate.as_ref());
            let least = u8::try_from(reach[i].trailing_zeros()).unwrap_or(0) & 7;
            queue.gate = given.and_then(|g| u8::try_from(g.value.0).ok()).unwrap_or(least);
        }
    }
}
