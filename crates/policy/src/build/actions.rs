//! Timed changes: names to indices, shares to weights, in the order of time.
//!
//! A share is relative to the siblings as they stand at that instant, so the actions are taken in order of time and
//! the weights of each policy are followed through them. A change on some hosts only starts from the same weights and
//! leaves those of the other ports, and of later changes, as they are.

use super::policies::Registry;
use super::topology::Network;
use crate::compile::{Compiler, WHOLE, greatest_common_divisor};
use crate::diagnostic::{Diagnostic, Severity};
use crate::names::Names;
use crate::plan::CompiledPolicy;
use crate::policy::Policy;
use crate::reader::{At, NamedEntry, Percent};
use crate::scenario::{Action, NodeRef, Scheduled, Workload};
use crate::syntax::action::{ActionText, MoveText, RateChange};
use crate::syntax::policy::{Burst, ClassText, RateOrPercent};
use crate::syntax::scenario::ScenarioText;
use clearway_core::Duration;
use clearway_core::plan::NodeKind;
use std::collections::{BTreeMap, BTreeSet};

/// The greatest weight that a plan takes.
const WEIGHT_MAX: u64 = 1_000_000;

pub(crate) struct Actions<'a> {
    pub(crate) network: &'a Network,
    pub(crate) links: &'a Names<usize>,
    pub(crate) workloads: &'a [Workload],
    pub(crate) duration: Duration,
    /// Weights by slot as the actions so far leave them, by the policy that was read.
    weights: BTreeMap<usize, Vec<u32>>,
}

/// A policy that an action concerns.
struct Target {
    source: usize,
    /// Its compiled forms, by index.
    compiled: Vec<usize>,
}

impl<'a> Actions<'a> {
    pub(crate) fn new(
        network: &'a Network,
        links: &'a Names<usize>,
        workloads: &'a [Workload],
        duration: Duration,
    ) -> Self {
        Self {
            network,
            links,
            workloads,
            duration,
            weights: BTreeMap::new(),
        }
    }

    /// All actions of the file in order of time; of one instant, in the order of the file.
    pub(crate) fn build(
        mut self,
        raw: &ScenarioText,
        registry: &mut Registry<'_>,
        findings: &mut Vec<Diagnostic>,
    ) -> Vec<Scheduled> {
        let mut entries: Vec<&NamedEntry<ActionText>> = raw.at.iter().flat_map(|a| &a.value.0).collect();
        entries.sort_by_key(|e| e.value.time.as_ref().map_or(0, |t| t.value.0));
        let mut all = Vec::new();
        for entry in entries {
            let Some(time) = &entry.value.time else { continue };
            let at = Duration::from_ps(time.value.0);
            if at > self.duration {
                let message = "the run is over before this happens";
                let finding = time.place.finding(Severity::Warning, "after-the-end", message);
                findings.push(finding.expecting("at most `duration`"));
            }
            if let Some(actions) = self.one(entry, registry, findings) {
                all.push(Scheduled {
                    name: entry.name.clone(),
                    at,
                    actions,
                });
            }
        }
        all
    }

    fn one(
        &mut self,
        entry: &NamedEntry<ActionText>,
        registry: &mut Registry<'_>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Vec<Action>> {
        let text = &entry.value;
        let given = [
            ("share", text.share.is_some()),
            ("weight", text.weight.is_some()),
            ("rate", text.rate.is_some()),
            ("move", text.r#move.is_some()),
            ("down", text.down.is_some()),
            ("up", text.up.is_some()),
        ];
        let what: Vec<&str> = given.iter().filter(|g| g.1).map(|g| g.0).collect();
        let &[what] = what.as_slice() else {
            let words: Vec<&str> = given.iter().map(|g| g.0).collect();
            let finding = entry.place.error("action", "an action changes exactly one thing");
            findings.push(finding.expecting(format!("one of {}", words.join(", "))));
            return None;
        };
        refuse_strays(text, what, findings);
        if let Some(names) = text.down.as_ref().or(text.up.as_ref()) {
            let detection = text.detection.as_ref().map_or(0, |d| d.value.0);
            let detection = Duration::from_ps(detection);
            let before = findings.len();
            let links = self.links.find_all(&names.value.0, findings);
            let action = |link| match what {
                "down" => Action::LinkDown { link, detection },
                _ => Action::LinkUp { link, detection },
            };
            return (findings.len() == before).then(|| links.into_iter().map(action).collect());
        }
        let target = target(entry, registry, findings)?;
        let hosts = self.hosts(text, &target, findings)?;
        if let Some(moves) = &text.r#move {
            return self.moves(&moves.value, &target, &hosts, registry, findings);
        }
        let Some(class) = &text.class else {
            findings.push(crate::reader::missing_key(&entry.place, "class"));
            return None;
        };
        let &first = target.compiled.first()?;
        let node = class_of(&registry.out[first], class, false, findings)?;
        match (&text.rate, &text.share, &text.weight) {
            (Some(_), ..) => self.rates(&target, node, text, &hosts, registry, findings),
            (_, share, weight) => {
                let policy = &registry.sources[target.source];
                let compiled = &registry.out[first];
                let siblings = siblings_of(policy, compiled, node);
                let word = if share.is_some() { "share" } else { "weight" };
                check_kind(compiled, node, &siblings, class, word, findings)?;
                let standing = self
                    .weights
                    .entry(target.source)
                    .or_insert_with(|| compiled.plan.nodes.iter().map(|n| n.weight).collect());
                let changed = match (share, weight) {
                    (Some(share), _) => shared_out(compiled, node, share, standing, findings)?,
                    (None, Some(weight)) => vec![(node, u32::try_from(weight.value.0).unwrap_or(1))],
                    (None, None) => return None,
                };
                if hosts.is_empty() {
                    for &(slot, weight) in &changed {
                        standing[slot] = weight;
                    }
                }
                let action = |&policy: &usize| Action::Weights {
                    policy,
                    weights: changed.clone(),
                    hosts: hosts.clone(),
                };
                Some(target.compiled.iter().map(action).collect())
            }
        }
    }

    /// The hosts named, each of which must use the policy.
    fn hosts(
        &self,
        text: &ActionText,
        target: &Target,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Vec<usize>> {
        let Some(names) = &text.hosts else {
            return Some(Vec::new());
        };
        let before = findings.len();
        let mut all = Vec::new();
        for node in self.network.names.find_all(&names.value.0, findings) {
            let NodeRef::Host(host) = node else {
                let finding = names.error("unknown-name", "a switch among the hosts of an action");
                findings.push(finding.expecting("hosts; without `hosts` every port of the policy changes"));
                return None;
            };
            let own = self.network.links.iter().flat_map(|l| &l.ends);
            let at_link = own.filter(|e| e.node == node).find_map(|e| e.policy);
            let nic = at_link.or(self.network.hosts[host].nic.policy);
            if !nic.is_some_and(|p| target.compiled.contains(&p)) {
                let message = format!(
                    "host `{}` does not send by this policy",
                    self.network.hosts[host].name
                );
                findings.push(
                    names
                        .error("unknown-name", message)
                        .expecting("hosts that use it"),
                );
                return None;
            }
            all.push(host);
        }
        (findings.len() == before).then_some(all)
    }

    fn moves(
        &self,
        text: &MoveText,
        target: &Target,
        hosts: &[usize],
        registry: &Registry<'_>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Vec<Action>> {
        let (workload, between) = (text.workload.as_ref()?, text.between.as_ref()?);
        let per_second = u32::try_from(text.per_second.as_ref()?.value.0).ok()?;
        let Some(index) = self.workloads.iter().position(|w| w.name == workload.value) else {
            let message = format!("there is no workload `{}`", workload.value);
            let names = self.workloads.iter().map(|w| w.name.as_str());
            findings.push(
                workload
                    .error("unknown-name", message)
                    .among(&workload.value, names),
            );
            return None;
        };
        let [low, high] = between.value.0.as_slice() else {
            let message = format!("flows move between two classes, not {}", between.value.0.len());
            findings.push(between.error("range", message).expecting("two names"));
            return None;
        };
        let &first = target.compiled.first()?;
        let (low, high) = (
            class_of(&registry.out[first], low, true, findings)?,
            class_of(&registry.out[first], high, true, findings)?,
        );
        if low == high {
            findings.push(
                between
                    .error("range", "both are the same class")
                    .expecting("two classes"),
            );
            return None;
        }
        let action = |&policy: &usize| Action::MoveFlows {
            policy,
            workload: index,
            between: [low, high],
            per_second,
            stop: text.stop.as_ref().map(|s| Duration::from_ps(s.value.0)),
            hosts: hosts.to_vec(),
        };
        Some(target.compiled.iter().map(action).collect())
    }

    /// A new limit for each compiled form of the policy.
    fn rates(
        &self,
        target: &Target,
        node: usize,
        text: &ActionText,
        hosts: &[usize],
        registry: &Registry<'_>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Vec<Action>> {
        let rate = text.rate.as_ref()?;
        let mut actions = Vec::new();
        for &policy in &target.compiled {
            let compiled = &registry.out[policy];
            let shape = match rate.value {
                RateChange::None => {
                    if let Some(burst) = &text.burst {
                        let finding = burst.error("unused-key", "a bucket without a rate does nothing");
                        findings.push(finding.expecting("nothing: leave it out"));
                    }
                    None
                }
                RateChange::Rate(value) => {
                    let lines = self.line_rates(policy, hosts);
                    let relative = matches!(value, RateOrPercent::Percent(_))
                        || matches!(text.burst.as_ref().map(|b| b.value), Some(Burst::Time(_)));
                    if relative && lines.len() > 1 {
                        let finding = rate.error("range", "the policy is used on lines of different rates");
                        findings
                            .push(finding.expecting("a rate in bit/s, or `hosts` whose lines have one rate"));
                        return None;
                    }
                    let line = lines.first().copied().unwrap_or(0);
                    let mut compiler = Compiler::new(line);
                    compiler.plan.frame_bytes_max = compiled.plan.frame_bytes_max;
                    let value = At {
                        value,
                        place: rate.place.clone(),
                    };
                    let accounting = compiled.plan.nodes[node].accounting;
                    let shape = compiler.bit_shape(Some(&value), text.burst.as_ref(), accounting);
                    if !compiler.findings.is_empty() {
                        findings.append(&mut compiler.findings);
                        return None;
                    }
                    shape
                }
            };
            actions.push(Action::Rate {
                policy,
                node,
                rate: shape,
                hosts: hosts.to_vec(),
            });
        }
        Some(actions)
    }

    /// Rates of the lines that the policy's ports send on, those of the hosts named alone where there are any.
    fn line_rates(&self, policy: usize, hosts: &[usize]) -> BTreeSet<u64> {
        let mut rates = BTreeSet::new();
        for link in &self.network.links {
            for end in &link.ends {
                let (own, named) = match end.node {
                    NodeRef::Host(h) => (self.network.hosts[h].nic.policy, hosts.contains(&h)),
                    NodeRef::Switch(s) => (self.network.switches[s].policy, false),
                };
                if end.policy.or(own) == Some(policy) && (hosts.is_empty() || named) {
                    rates.insert(link.rate_bps);
                }
            }
        }
        rates
    }
}

/// Keys beside an action that say nothing there.
fn refuse_strays(text: &ActionText, what: &str, findings: &mut Vec<Diagnostic>) {
    let link = what == "down" || what == "up";
    let class = matches!(what, "share" | "weight" | "rate");
    let strays = [
        ("policy", text.policy.as_ref().map(|v| &v.place), !link),
        ("class", text.class.as_ref().map(|v| &v.place), class),
        ("hosts", text.hosts.as_ref().map(|v| &v.place), !link),
        ("burst", text.burst.as_ref().map(|v| &v.place), what == "rate"),
        ("detection", text.detection.as_ref().map(|v| &v.place), link),
    ];
    for (key, place, belongs) in strays {
        if let Some(place) = place.filter(|_| !belongs) {
            let message = format!("`{key}` says nothing beside `{what}`");
            findings.push(
                place
                    .error("unused-key", message)
                    .expecting("nothing: leave it out"),
            );
        }
    }
}

/// The policy of an action: as named, or the only one there is.
fn target(
    entry: &NamedEntry<ActionText>,
    registry: &Registry<'_>,
    findings: &mut Vec<Diagnostic>,
) -> Option<Target> {
    let used: BTreeSet<usize> = registry.compiled_from.iter().map(|c| c.0).collect();
    let source = match &entry.value.policy {
        Some(name) => {
            let Some(source) = registry.named(&name.value) else {
                let message = format!("there is no policy `{}`", name.value);
                let names = registry.known_names();
                let finding = name.error("unknown-name", message);
                findings.push(finding.among(&name.value, names.iter().map(String::as_str)));
                return None;
            };
            // A policy that was refused has its own findings.
            let source = source?;
            if !used.contains(&source) {
                let message = format!("no port uses the policy `{}`", name.value);
                findings.push(
                    name.error("unknown-name", message)
                        .expecting("one that a port uses"),
                );
                return None;
            }
            source
        }
        None => match used.iter().collect::<Vec<_>>().as_slice() {
            [one] => **one,
            several => {
                let message = match several.len() {
                    0 => "there is no policy to change".to_owned(),
                    n => format!("the scenario uses {n} policies"),
                };
                let finding = entry.place.inside("policy").error("missing-key", message);
                findings.push(finding.expecting("the name of the policy that changes"));
                return None;
            }
        },
    };
    let all = registry.compiled_from.iter().enumerate();
    let compiled = all
        .filter(|(_, c)| c.0 == source)
        .map(|(index, _)| index)
        .collect();
    Some(Target { source, compiled })
}

/// The slot of a class by its path or the end of it.
fn class_of(
    policy: &CompiledPolicy,
    class: &At<String>,
    queue: bool,
    findings: &mut Vec<Diagnostic>,
) -> Option<usize> {
    let short = |path: &str| path.strip_prefix("root/").unwrap_or(path).to_owned();
    let names = &policy.node_names;
    let exact = names.iter().position(|n| *n == format!("root/{}", class.value));
    let tail = format!("/{}", class.value);
    let found: Vec<usize> = match exact {
        Some(slot) => vec![slot],
        None => (1..names.len()).filter(|&s| names[s].ends_with(&tail)).collect(),
    };
    match found.as_slice() {
        &[slot] if queue && !matches!(policy.plan.nodes[slot].kind, NodeKind::Queue(_)) => {
            let message = format!(
                "`{}` has classes inside it: flows move between queues",
                class.value
            );
            let finding = class.error("unknown-class", message);
            findings.push(finding.expecting("one of the classes inside it"));
            None
        }
        &[slot] => Some(slot),
        [] => {
            let valid: Vec<String> = names.iter().skip(1).map(|n| short(n)).collect();
            let message = format!("the policy `{}` has no class `{}`", policy.name, class.value);
            let finding = class.error("unknown-class", message);
            findings.push(finding.among(&class.value, valid.iter().map(String::as_str)));
            None
        }
        many => {
            let paths: Vec<String> = many.iter().map(|&s| short(&names[s])).collect();
            let finding = class.error(
                "unknown-class",
                format!("`{}` names more than one class", class.value),
            );
            findings.push(finding.expecting(format!("one of {}", paths.join(", "))));
            None
        }
    }
}

/// The text of a class and of those beside it.
fn siblings_of<'p>(policy: &'p Policy, compiled: &CompiledPolicy, node: usize) -> Vec<&'p ClassText> {
    let path = compiled.node_names.get(node).map_or("", String::as_str);
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut level = policy.text.class.as_ref().map(|c| c.value.0.as_slice());
    for part in parts.iter().take(parts.len().saturating_sub(1)) {
        let inner = level.and_then(|l| l.iter().find(|c| c.name == *part));
        level = inner
            .and_then(|c| c.value.class.as_ref())
            .map(|c| c.value.0.as_slice());
    }
    level.unwrap_or(&[]).iter().map(|c| &c.value).collect()
}

/// A share among classes with shares, a weight among classes with weights, neither among strict ones.
fn check_kind(
    compiled: &CompiledPolicy,
    node: usize,
    siblings: &[&ClassText],
    class: &At<String>,
    word: &str,
    findings: &mut Vec<Diagnostic>,
) -> Option<()> {
    let parent = compiled.plan.nodes[node].parent? as usize;
    if compiled.plan.nodes[parent].kind != NodeKind::Weighted {
        let message = format!(
            "the classes beside `{}` go by rank: there is no {word} to change",
            class.value
        );
        let finding = class.error("action", message);
        findings.push(finding.expecting("a class below a weighted one, or `rate`"));
        return None;
    }
    let shares = siblings.iter().any(|c| c.share.is_some());
    let (wrong, right) = match (word, shares) {
        ("share", false) => ("weights", "weight"),
        ("weight", true) => ("shares", "share"),
        _ => return Some(()),
    };
    let message = format!(
        "the policy gives `{}` and its siblings {wrong}: a {word} does not mix with them",
        class.value
    );
    findings.push(class.error("action", message).expecting(format!("`{right}`")));
    None
}

/// The weights of a class and its siblings after it got a share.
fn shared_out(
    compiled: &CompiledPolicy,
    node: usize,
    share: &At<Percent>,
    standing: &[u32],
    findings: &mut Vec<Diagnostic>,
) -> Option<Vec<(usize, u32)>> {
    let parent = compiled.plan.nodes[node].parent;
    let nodes = compiled.plan.nodes.iter().enumerate();
    let others: Vec<usize> = nodes
        .filter(|&(slot, n)| n.parent == parent && slot != node)
        .map(|(slot, _)| slot)
        .collect();
    let part = share.value.0;
    if part == 0 || part >= WHOLE || others.is_empty() {
        let finding = share.error(
            "range",
            "a share leaves something to the class and to those beside it",
        );
        findings.push(finding.expecting("above 0% and below 100%, in a class with siblings"));
        return None;
    }
    let sum: u64 = others.iter().map(|&slot| u64::from(standing[slot])).sum();
    let own = (node, part.saturating_mul(sum));
    let rest = others
        .iter()
        .map(|&slot| (slot, (WHOLE - part) * u64::from(standing[slot])));
    let parts: Vec<(usize, u64)> = std::iter::once(own).chain(rest).collect();
    let divisor = parts
        .iter()
        .fold(0, |a, p| greatest_common_divisor(a, p.1))
        .max(1);
    let weight = |&(slot, part): &(usize, u64)| {
        let weight = Some(part / divisor).filter(|w| *w <= WEIGHT_MAX)?;
        Some((slot, u32::try_from(weight).ok()?))
    };
    let weights: Option<Vec<(usize, u32)>> = parts.iter().map(weight).collect();
    if weights.is_none() {
        let finding = share.error("weight", "these shares make weights that are too large");
        findings.push(finding.expecting("shares with fewer digits"));
    }
    weights
}
