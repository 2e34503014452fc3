//! From a policy and a line rate to the plan of one port.
//!
//! Percentages become bit/s of the line rate (rounded down), shares become the least whole weights in the same
//! proportion, times become bytes of what the line sends. Buckets are made in `buckets`, leaves in `queue`, rules and
//! gates in `rules`.

use crate::diagnostic::{Diagnostic, Place, nearest};
use crate::plan::CompiledPolicy;
use crate::policy::{Policy, has_errors};
use crate::reader::{At, NamedEntry};
use crate::rules;
use crate::syntax::policy::{ClassText, Kind, Layer, LayerName};
use clearway_core::plan::{Accounting, DEPTH_MAX, NODES_MAX, NodeKind, NodePlan, Plan};
use std::collections::BTreeMap;

/// Bytes of the longest frame unless the policy says otherwise: 1518 and a VLAN tag.
pub(crate) const FRAME_BYTES_DEFAULT: u32 = 1522;
const FRAMES_MAX_DEFAULT: u32 = 16_384;
const FLOWS_MAX_DEFAULT: u32 = 1_024;
const FLOWS_MAX_PER_FLOW: u32 = 65_536;
/// Room without a limit of its own: what a plan takes at most.
pub(crate) const QUEUE_BYTES_MAX: u64 = 1 << 60;
/// 100 % in millionths of a percent.
pub(crate) const WHOLE: u64 = 100_000_000;

/// A node under construction, with what rules and lint need to know of its text.
#[derive(Debug)]
pub(crate) struct Compiled<'a> {
    pub(crate) path: String,
    pub(crate) place: Place,
    pub(crate) text: Option<&'a ClassText>,
}

/// A plan under construction, and what is wrong with it.
pub(crate) struct Compiler<'a> {
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) plan: Plan,
    pub(crate) nodes: Vec<Compiled<'a>>,
    /// Where each rule of the plan stands.
    pub(crate) rule_places: Vec<Place>,
    pub(crate) line_rate_bps: u64,
    pub(crate) per_flow_used: bool,
}

/// Makes the plan of a policy for a port of this line rate (L1 bit/s).
///
/// # Errors
/// Every reason for which there is no such plan.
pub fn compile(policy: &Policy, line_rate_bps: u64) -> Result<CompiledPolicy, Vec<Diagnostic>> {
    let mut compiler = Compiler::new(line_rate_bps);
    compiler.run(policy);
    let cbq = compiler.cbq(policy);
    if has_errors(&compiler.findings) {
        return Err(compiler.findings);
    }
    Ok(CompiledPolicy {
        name: policy.name.clone(),
        plan: compiler.plan,
        node_names: compiler.nodes.into_iter().map(|n| n.path).collect(),
        line_rate_bps: policy.depends_on_line_rate().then_some(line_rate_bps),
        cbq,
    })
}

/// The frame lengths that a layer adds up to.
pub(crate) fn accounting(layer: Option<&At<Layer>>, inherited: Accounting) -> Accounting {
    let named = |overhead_bytes, min_bytes| Accounting {
        overhead_bytes,
        min_bytes,
    };
    match layer.map(|l| &l.value) {
        None => inherited,
        Some(Layer::Name(LayerName::L1)) => named(20, 84),
        Some(Layer::Name(LayerName::L2)) => named(0, 64),
        Some(Layer::Name(LayerName::Kernel)) => named(-4, 60),
        Some(Layer::Name(LayerName::Payload)) => named(-18, 46),
        Some(Layer::Table(table)) => {
            let overhead = table.overhead.as_ref().map_or(0, |o| o.value.0);
            let min = table.min.as_ref().map_or(0, |m| m.value.0);
            named(
                i32::try_from(overhead).unwrap_or(0),
                u32::try_from(min).unwrap_or(0),
            )
        }
    }
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(line_rate_bps: u64) -> Self {
        Self {
            findings: Vec::new(),
            plan: Plan::default(),
            nodes: Vec::new(),
            rule_places: Vec::new(),
            line_rate_bps,
            per_flow_used: false,
        }
    }

    pub(crate) fn run(&mut self, policy: &'a Policy) {
        let text = &*policy.text;
        self.plan.frame_bytes_max = match &text.frame_max {
            None => FRAME_BYTES_DEFAULT,
            Some(size) => match u32::try_from(size.value.0)
                .ok()
                .filter(|n| (64..=65_536).contains(n))
            {
                Some(bytes) => bytes,
                None => {
                    let finding = size.error("range", "the longest frame is out of range");
                    self.findings.push(finding.expecting("a size from 64B to 64KiB"));
                    FRAME_BYTES_DEFAULT
                }
            },
        };
        self.plan.frames_max = text
            .frames_max
            .as_ref()
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(FRAMES_MAX_DEFAULT);
        let layer = accounting(
            text.layer.as_ref(),
            Accounting {
                overhead_bytes: 20,
                min_bytes: 84,
            },
        );
        let classes: &[NamedEntry<ClassText>] = text.class.as_ref().map_or(&[], |c| &c.value.0);
        let kind = self.kind(text.kind.as_ref(), classes);
        let root = NodePlan {
            parent: None,
            kind: kind.clone().unwrap_or(NodeKind::Strict),
            rank: 0,
            weight: 1,
            rate: self.bit_shape(text.rate.as_ref(), text.burst.as_ref(), layer),
            frame_rate: self.frame_shape(text.frame_rate.as_ref(), text.frame_burst.as_ref()),
            guarantee: None,
            accounting: layer,
        };
        self.burst_needs(
            text.burst.is_some() && text.rate.is_none(),
            text.burst.as_ref(),
            "rate",
        );
        self.burst_needs(
            text.frame_burst.is_some() && text.frame_rate.is_none(),
            text.frame_burst.as_ref(),
            "frame_rate",
        );
        self.plan.nodes.push(root);
        self.nodes.push(Compiled {
            path: "root".into(),
            place: text.place.clone(),
            text: None,
        });
        if classes.is_empty() {
            // A policy of one queue: the port's limits alone.
            let queue = self.queue(None, layer);
            let node = NodePlan {
                parent: Some(0),
                kind: NodeKind::Queue(queue),
                rank: 0,
                weight: 1,
                rate: None,
                frame_rate: None,
                guarantee: None,
                accounting: layer,
            };
            self.plan.nodes.push(node);
            self.nodes.push(Compiled {
                path: "root/all".into(),
                place: text.place.clone(),
                text: None,
            });
        } else {
            self.children(0, classes, layer, 1);
        }
        let flows_default = if self.per_flow_used {
            FLOWS_MAX_PER_FLOW
        } else {
            FLOWS_MAX_DEFAULT
        };
        self.plan.flows_max = text
            .flows_max
            .as_ref()
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(flows_default);
        let count = u32::try_from(self.plan.nodes.len()).unwrap_or(u32::MAX);
        self.plan.nodes_max = match &text.nodes_max {
            None => count.saturating_add(16).min(NODES_MAX),
            Some(most) => match u32::try_from(most.value.0).ok().filter(|most| *most >= count) {
                Some(most) => most,
                None => {
                    let finding = most.error("range", format!("there are {count} classes already"));
                    self.findings.push(finding.expecting(format!("at least {count}")));
                    count
                }
            },
        };
        // Names are checked even where limits are wrong: one run reports both.
        rules::compile(self, policy);
        if !has_errors(&self.findings)
            && let Err(error) = self.plan.validate()
        {
            // Whatever slipped through above is still told with the class that it is about.
            let place = match error.at {
                Some(clearway_core::plan::PlanItem::Node(n)) => {
                    self.nodes.get(n as usize).map_or(&text.place, |node| &node.place)
                }
                _ => &text.place,
            };
            self.findings
                .push(place.error("plan", error.to_string()).expecting(error.expected));
        }
    }

    /// What a node does with its children: as it says, or weighted where any child has a weight, or strict.
    fn kind(&mut self, kind: Option<&At<Kind>>, children: &[NamedEntry<ClassText>]) -> Option<NodeKind> {
        let weighted = children
            .iter()
            .any(|c| c.value.weight.is_some() || c.value.share.is_some());
        match kind.map(|k| k.value) {
            Some(Kind::Strict) => Some(NodeKind::Strict),
            Some(Kind::Weighted) => Some(NodeKind::Weighted),
            Some(Kind::Queue) if !children.is_empty() => {
                if let Some(kind) = kind {
                    let finding = kind.error("kind", "a queue has no classes inside it");
                    self.findings
                        .push(finding.expecting("\"strict\" or \"weighted\""));
                }
                None
            }
            Some(Kind::Queue) => None,
            None if children.is_empty() => None,
            None => Some(if weighted {
                NodeKind::Weighted
            } else {
                NodeKind::Strict
            }),
        }
    }

    fn children(
        &mut self,
        parent: u32,
        classes: &'a [NamedEntry<ClassText>],
        layer: Accounting,
        depth: usize,
    ) {
        let strict = matches!(self.plan.nodes[parent as usize].kind, NodeKind::Strict);
        let ranks = if strict { self.ranks(classes) } else { Vec::new() };
        let weights = if strict { Vec::new() } else { self.weights(classes) };
        for (i, entry) in classes.iter().enumerate() {
            let class = &entry.value;
            if depth >= DEPTH_MAX {
                self.findings.push(
                    entry
                        .place
                        .error("depth", "the tree is too deep")
                        .expecting(format!("at most {DEPTH_MAX} levels")),
                );
                return;
            }
            if self.plan.nodes.len() >= NODES_MAX as usize {
                self.findings.push(entry.place.error("range", "too many classes"));
                return;
            }
            let other = if strict { "weight or share" } else { "rank" };
            let stray = match strict {
                true => class
                    .weight
                    .as_ref()
                    .map(|w| &w.place)
                    .or(class.share.as_ref().map(|s| &s.place)),
                false => class.rank.as_ref().map(|r| &r.place),
            };
            if let Some(place) = stray {
                let kind = if strict { "strict" } else { "weighted" };
                self.findings.push(place.error(
                    "unused-key",
                    format!("children of a {kind} class take no {other}"),
                ));
            }
            let own = accounting(class.layer.as_ref(), layer);
            let inner: &[NamedEntry<ClassText>] = class.class.as_ref().map_or(&[], |c| &c.value.0);
            let kind = match self.kind(class.kind.as_ref(), inner) {
                Some(kind) => {
                    self.refuse_queue_keys(class, inner.is_empty());
                    kind
                }
                None => NodeKind::Queue(self.queue(Some(class), own)),
            };
            let node = NodePlan {
                parent: Some(parent),
                rank: ranks.get(i).copied().unwrap_or(0),
                weight: weights.get(i).copied().unwrap_or(1),
                rate: self.bit_shape(class.rate.as_ref(), class.burst.as_ref(), own),
                frame_rate: self.frame_shape(class.frame_rate.as_ref(), class.frame_burst.as_ref()),
                guarantee: self.bit_shape(class.guarantee.as_ref(), class.guarantee_burst.as_ref(), own),
                accounting: own,
                kind,
            };
            self.burst_needs(class.rate.is_none(), class.burst.as_ref(), "rate");
            self.burst_needs(
                class.frame_rate.is_none(),
                class.frame_burst.as_ref(),
                "frame_rate",
            );
            self.burst_needs(
                class.guarantee.is_none(),
                class.guarantee_burst.as_ref(),
                "guarantee",
            );
            self.plan.nodes.push(node);
            let path = format!("{}/{}", self.nodes[parent as usize].path, entry.name);
            self.nodes.push(Compiled {
                path,
                place: entry.place.clone(),
                text: Some(class),
            });
            let slot = u32::try_from(self.plan.nodes.len() - 1).unwrap_or(0);
            self.children(slot, inner, own, depth + 1);
        }
    }

    /// A bucket whose rate is missing is a finding.
    pub(crate) fn burst_needs<T>(&mut self, missing: bool, burst: Option<&At<T>>, rate: &str) {
        if let Some(burst) = burst.filter(|_| missing) {
            self.findings.push(burst.error(
                "unused-key",
                format!("a bucket without its `{rate}` does nothing"),
            ));
        }
    }

    /// Keys that only a queue has, on a class with classes inside it.
    fn refuse_queue_keys(&mut self, class: &ClassText, empty: bool) {
        if empty {
            self.findings.push(
                class
                    .place
                    .error("kind", "a class that is no queue needs classes inside it"),
            );
        }
        let keys = [
            ("limit", class.limit.as_ref().map(|k| &k.place)),
            ("ecn", class.ecn.as_ref().map(|k| &k.place)),
            ("meter", class.meter.as_ref().map(|k| &k.place)),
            ("age_max", class.age_max.as_ref().map(|k| &k.place)),
            ("per_flow", class.per_flow.as_ref().map(|k| &k.place)),
            ("gate", class.gate.as_ref().map(|k| &k.place)),
            ("pcp", class.pcp.as_ref().map(|k| &k.place)),
            ("dscp", class.dscp.as_ref().map(|k| &k.place)),
            ("match", class.r#match.as_ref().map(|k| &k.place)),
        ];
        for (key, place) in keys {
            if let Some(place) = place {
                let message = format!("`{key}` belongs to a queue; this class has classes inside it");
                self.findings.push(
                    place
                        .error("unused-key", message)
                        .expecting("the key on one of those classes"),
                );
            }
        }
    }

    /// Ranks as given by all siblings, or the order of the file.
    fn ranks(&mut self, classes: &[NamedEntry<ClassText>]) -> Vec<u8> {
        let given = classes.iter().filter(|c| c.value.rank.is_some()).count();
        if classes.len() > usize::from(clearway_core::plan::STRICT_RANKS) {
            let finding = classes[64]
                .place
                .error("range", "a strict class has at most 64 children");
            self.findings.push(finding.expecting("a weighted class between"));
            return Vec::new();
        }
        if given == 0 {
            return (0..classes.len()).filter_map(|i| u8::try_from(i).ok()).collect();
        }
        let mut taken: BTreeMap<i64, &str> = BTreeMap::new();
        let mut ranks = Vec::new();
        for class in classes {
            let Some(rank) = &class.value.rank else {
                let finding = class
                    .place
                    .inside("rank")
                    .error("missing-key", "siblings have a rank and this one not");
                self.findings
                    .push(finding.expecting("a rank for every sibling, or for none (the order of the file)"));
                continue;
            };
            if let Some(other) = taken.insert(rank.value.0, &class.name) {
                let message = format!("`{other}` has rank {} already", rank.value.0);
                self.findings
                    .push(rank.error("rank", message).expecting("a rank of its own"));
            }
            ranks.push(u8::try_from(rank.value.0).unwrap_or(0));
        }
        ranks
    }

    /// Weights as given, or shares in the least whole numbers; those without a share split the rest evenly.
    fn weights(&mut self, classes: &[NamedEntry<ClassText>]) -> Vec<u32> {
        let shares = classes.iter().any(|c| c.value.share.is_some());
        if !shares {
            let weight = |c: &NamedEntry<ClassText>| c.value.weight.as_ref().map_or(1, |w| w.value.0);
            return classes
                .iter()
                .map(|c| u32::try_from(weight(c)).unwrap_or(1))
                .collect();
        }
        for class in classes {
            if let Some(weight) = &class.value.weight {
                let finding = weight.error("weight", "siblings have shares: weights and shares do not mix");
                self.findings
                    .push(finding.expecting("a share for every sibling, or a weight for every sibling"));
            }
        }
        let given: u64 = classes
            .iter()
            .filter_map(|c| c.value.share.as_ref())
            .fold(0, |sum, s| sum.saturating_add(s.value.0));
        let without = classes.iter().filter(|c| c.value.share.is_none()).count() as u64;
        let rest = WHOLE.saturating_sub(given);
        let mut parts = Vec::new();
        for class in classes {
            // All are multiplied by the number that splits the rest, so that the split is whole.
            let part = match &class.value.share {
                Some(share) if share.value.0 == 0 => {
                    let finding = share.error("range", "a share of 0% would never send");
                    self.findings.push(finding.expecting("a share above 0%"));
                    1
                }
                Some(share) => share.value.0.saturating_mul(without.max(1)),
                None if rest == 0 => {
                    let message = "its siblings' shares leave nothing for this class";
                    let finding = class.place.inside("share").error("missing-key", message);
                    self.findings
                        .push(finding.expecting("a share of its own, and 100% in all"));
                    1
                }
                None => rest,
            };
            parts.push(part);
        }
        let divisor = parts.iter().fold(0, |a, b| greatest_common_divisor(a, *b)).max(1);
        parts
            .iter()
            .zip(classes)
            .map(
                |(part, class)| match u32::try_from(part / divisor).ok().filter(|w| *w <= WEIGHT_MAX) {
                    Some(weight) => weight,
                    None => {
                        let place = class.value.share.as_ref().map_or(&class.place, |s| &s.place);
                        let finding = place.error("weight", "these shares make weights that are too large");
                        self.findings.push(finding.expecting("shares with fewer digits"));
                        1
                    }
                },
            )
            .collect()
    }

    /// The leaf of this name: the last part of its path, or the path, without `root/`.
    pub(crate) fn leaf(&mut self, name: &At<String>) -> Option<u32> {
        let path = format!("root/{}", name.value);
        let tail = format!("/{}", name.value);
        let found: Vec<usize> = match self.nodes.iter().position(|n| n.path == path) {
            Some(exact) => vec![exact],
            None => (1..self.nodes.len())
                .filter(|i| self.nodes[*i].path.ends_with(&tail))
                .collect(),
        };
        let short = |path: &str| path.strip_prefix("root/").unwrap_or(path).to_owned();
        match found.as_slice() {
            [one] if matches!(self.plan.nodes[*one].kind, NodeKind::Queue(_)) => u32::try_from(*one).ok(),
            [_] => {
                let message = format!("`{}` has classes inside it: frames go to a queue", name.value);
                self.findings.push(
                    name.error("unknown-class", message)
                        .expecting("one of the classes inside it"),
                );
                None
            }
            [] => {
                let leaves: Vec<String> = self
                    .nodes
                    .iter()
                    .zip(&self.plan.nodes)
                    .filter(|(_, plan)| matches!(plan.kind, NodeKind::Queue(_)))
                    .map(|(node, _)| short(&node.path))
                    .collect();
                let message = format!("there is no class `{}`", name.value);
                let mut finding = name
                    .error("unknown-class", message)
                    .among(&name.value, leaves.iter().map(String::as_str));
                if finding.suggestion.is_none() {
                    // The last part alone may be nearer than the path.
                    let last = |p: &String| p.rsplit('/').next().unwrap_or(p).to_owned();
                    let parts: Vec<String> = leaves.iter().map(last).collect();
                    finding.suggestion =
                        nearest(&name.value, parts.iter().map(String::as_str)).map(str::to_owned);
                }
                self.findings.push(finding);
                None
            }
            many => {
                let paths: Vec<String> = many.iter().map(|i| short(&self.nodes[*i].path)).collect();
                let message = format!("`{}` names more than one class", name.value);
                self.findings.push(
                    name.error("unknown-class", message)
                        .expecting(format!("one of {}", paths.join(", "))),
                );
                None
            }
        }
    }
}

/// The greatest weight that a plan takes.
const WEIGHT_MAX: u32 = 1_000_000;

pub(crate) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
