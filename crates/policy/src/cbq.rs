//! From the classes of a policy to a class-based queueing discipline.
//!
//! Names, rules, queue limits and the way bytes are counted are those of the plan that the same classes make for the
//! traffic manager; `rate` is the rate of a class's estimator here, and `weight` or `share` its part of the rounds (the
//! rate itself where neither is given, as the tools of Linux 2.2 took it).

use crate::buckets::bytes_in;
use crate::compile::Compiler;
use crate::diagnostic::Place;
use crate::policy::Policy;
use crate::reader::{At, Whole};
use crate::syntax::cbq::{CbqClassText, CbqText, DisciplineWord, TbfText};
use crate::syntax::policy::{Burst, ClassText, PolicyText};
use clearway_core::Duration;
use clearway_core::cbq::{CbqClass, CbqLeaf, CbqPlan, TokenBucket};
use clearway_core::plan::{Accounting, NodeKind, PlanItem};

const TICK: Duration = Duration::from_ms(10);
const RESOLUTION: Duration = Duration::from_us(1);
const PACKET_BYTES: u32 = 1_000;
const ALLOT_BYTES: u32 = 1_514;
const EWMA: u8 = 5;
const MAXBURST: u32 = 20;

fn small<const MIN: i64, const MAX: i64>(value: Option<&At<Whole<MIN, MAX>>>, default: u32) -> u32 {
    value
        .and_then(|v| u32::try_from(v.value.0).ok())
        .unwrap_or(default)
}

fn bytes(value: Option<&At<crate::reader::Size>>, default: u32) -> u32 {
    value.map_or(default, |v| u32::try_from(v.value.0).unwrap_or(u32::MAX))
}

/// True where the policy asks for class-based queueing.
pub(crate) fn is_asked(text: &PolicyText) -> bool {
    matches!(
        text.discipline.as_ref().map(|d| d.value),
        Some(DisciplineWord::Cbq)
    )
}

impl Compiler<'_> {
    /// The discipline, where the policy asks for it. Comes after the plan and its rules.
    pub(crate) fn cbq(&mut self, policy: &Policy) -> Option<Box<CbqPlan>> {
        let text = &*policy.text;
        if !is_asked(text) {
            self.refuse_cbq_keys(text);
            return None;
        }
        let port = text.cbq.as_ref().map(|c| &c.value);
        let bandwidth = port.and_then(|p| p.bandwidth.as_ref());
        let bandwidth_bps = bandwidth.map_or(self.line_rate_bps, |rate| self.rate(rate));
        let mut classes: Vec<CbqClass> = Vec::with_capacity(self.plan.nodes.len());
        for index in 0..self.plan.nodes.len() {
            let class = self.nodes.get(index).and_then(|n| n.text);
            if let Some(class) = class {
                self.refuse_tree_keys(class);
            }
            let node = &self.plan.nodes[index];
            let (parent, accounting, kind) = (node.parent, node.accounting, node.kind.clone());
            let above_bps = parent
                .and_then(|p| classes.get(p as usize))
                .map_or(bandwidth_bps, |c| c.rate_bps);
            let rate_bps = match node.rate {
                Some(shape) if index > 0 => shape.rate_bps,
                _ => above_bps,
            };
            let weighted = class.is_some_and(|c| c.weight.is_some() || c.share.is_some());
            let weight = if weighted {
                u64::from(node.weight)
            } else {
                rate_bps
            };
            let own = class.and_then(|c| c.cbq.as_ref()).map(|c| &c.value);
            let leaf = match kind {
                NodeKind::Queue(queue) => {
                    let tbf = own.and_then(|o| o.tbf.as_ref()).map(|t| &t.value);
                    let limit = tbf
                        .and_then(|t| t.limit.as_ref())
                        .map_or(queue.bytes_max, |l| l.value.0);
                    Some(CbqLeaf {
                        bytes_max: limit.max(1),
                        frames_max: queue.frames_max,
                        gate: queue.gate,
                        bucket: tbf.and_then(|t| self.token_bucket(t, accounting)),
                    })
                }
                NodeKind::Strict | NodeKind::Weighted => {
                    if let Some(tbf) = own.and_then(|o| o.tbf.as_ref()) {
                        let finding = tbf.error(
                            "unused-key",
                            "a token bucket stands behind a queue; this class has classes inside it",
                        );
                        self.findings
                            .push(finding.expecting("`tbf` on one of those classes"));
                    }
                    None
                }
            };
            classes.push(class_of(own, port, parent, rate_bps, weight, accounting, leaf));
        }
        let span = |time: Option<&At<crate::reader::Time>>, default: Duration| {
            time.map_or(default, |t| Duration::from_ps(t.value.0))
        };
        let plan = CbqPlan {
            classes,
            rules: self.plan.rules.clone(),
            frames_max: self.plan.frames_max,
            frame_bytes_max: self.plan.frame_bytes_max,
            tick: span(port.and_then(|p| p.tick.as_ref()), TICK),
            resolution: span(port.and_then(|p| p.resolution.as_ref()), RESOLUTION),
        };
        self.check_cbq(text, &plan);
        Some(Box::new(plan))
    }

    fn check_cbq(&mut self, text: &PolicyText, plan: &CbqPlan) {
        let Err(error) = plan.validate() else { return };
        let place = match error.at {
            Some(PlanItem::Node(n)) if n > 0 => self
                .nodes
                .get(n as usize)
                .map_or(&text.place, |n| &n.place)
                .inside("cbq"),
            _ => text.cbq.as_ref().map_or(&text.place, |c| &c.place).clone(),
        };
        let finding = place.error("range", format!("`{}` is out of range", error.field));
        self.findings.push(finding.expecting(error.expected));
    }

    fn token_bucket(&mut self, text: &TbfText, layer: Accounting) -> Option<TokenBucket> {
        let rate_bps = self.rate(text.rate.as_ref()?);
        let burst = text.burst.as_ref()?;
        let given = match burst.value {
            Burst::Size(bytes) => bytes,
            Burst::Time(ps) => bytes_in(rate_bps, ps),
        };
        Some(TokenBucket {
            rate_bps,
            burst_bytes: self.bucket(rate_bps, Some((given, &burst.place)), layer),
        })
    }

    /// What the traffic manager does and this discipline does not.
    fn refuse_tree_keys(&mut self, class: &ClassText) {
        let keys: [(&str, Option<&Place>); 7] = [
            ("frame_rate", class.frame_rate.as_ref().map(|k| &k.place)),
            ("guarantee", class.guarantee.as_ref().map(|k| &k.place)),
            ("burst", class.burst.as_ref().map(|k| &k.place)),
            ("ecn", class.ecn.as_ref().map(|k| &k.place)),
            ("meter", class.meter.as_ref().map(|k| &k.place)),
            ("age_max", class.age_max.as_ref().map(|k| &k.place)),
            ("per_flow", class.per_flow.as_ref().map(|k| &k.place)),
        ];
        for (key, place) in keys {
            if let Some(place) = place {
                let message = format!("class-based queueing has no `{key}`");
                let finding = place.error("unused-key", message);
                self.findings
                    .push(finding.expecting("`cbq = { ... }` of the class, or no `discipline` here"));
            }
        }
    }

    /// Keys of this discipline in a policy that does not ask for it.
    fn refuse_cbq_keys(&mut self, text: &PolicyText) {
        let own = text.cbq.as_ref().map(|c| c.place.clone());
        let classes = self
            .nodes
            .iter()
            .filter_map(|n| n.text?.cbq.as_ref().map(|c| c.place.clone()));
        let places: Vec<Place> = own.into_iter().chain(classes).collect();
        for place in places {
            let finding = place.error("unused-key", "`cbq` belongs to class-based queueing");
            self.findings
                .push(finding.expecting("`discipline = \"cbq\"` in the policy"));
        }
    }
}

fn class_of(
    own: Option<&CbqClassText>,
    port: Option<&CbqText>,
    parent: Option<u32>,
    rate_bps: u64,
    weight: u64,
    accounting: Accounting,
    leaf: Option<CbqLeaf>,
) -> CbqClass {
    let packet = bytes(port.and_then(|p| p.packet.as_ref()), PACKET_BYTES);
    let ewma = small(port.and_then(|p| p.ewma.as_ref()), u32::from(EWMA));
    let maxburst = small(port.and_then(|p| p.maxburst.as_ref()), MAXBURST);
    let minburst = small(port.and_then(|p| p.minburst.as_ref()), 0);
    CbqClass {
        parent,
        rate_bps,
        priority: small(own.and_then(|o| o.priority.as_ref()), 0) as u8,
        weight,
        allot_bytes: bytes(own.and_then(|o| o.allot.as_ref()), ALLOT_BYTES),
        accounting,
        packet_bytes: bytes(own.and_then(|o| o.packet.as_ref()), packet),
        ewma: small(own.and_then(|o| o.ewma.as_ref()), ewma) as u8,
        maxburst: small(own.and_then(|o| o.maxburst.as_ref()), maxburst),
        minburst: small(own.and_then(|o| o.minburst.as_ref()), minburst),
        minidle: own
            .and_then(|o| o.minidle.as_ref())
            .map(|t| Duration::from_ps(t.value.0)),
        bounded: own.and_then(|o| o.bounded.as_ref()).is_some_and(|b| b.value),
        isolated: own.and_then(|o| o.isolated.as_ref()).is_some_and(|b| b.value),
        leaf,
    }
}
