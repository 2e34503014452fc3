//! The keys of `[at.NAME]`: what changes while a scenario runs.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{Definitions, Field, Many, OneOrMany, Percent, Time, Whole, table};
use crate::syntax::policy::{Burst, RateOrPercent};
use serde_json::json;

table! {
    /// A change at an instant: `share`, `weight` or `rate` of a class, `move`, `down` or `up`; exactly one of them.
    ActionText {
        /// When, since the start of the run, warm-up included.
        time: Time = required,
        /// The policy that changes, as the scenario names it; the one that it uses unless there are several.
        policy: String,
        /// The class that changes: its name, or its path where several have that name.
        class: String,
        /// Hosts whose NIC changes; every port that uses the policy unless given.
        hosts: OneOrMany<String>,
        /// New share of `class` among its siblings. The others keep their proportions to one another and get the rest:
        /// of two classes at 80 % and 20 %, 10 % for the first gives the second 90 %.
        share: Percent,
        /// New weight of `class`; its siblings keep theirs.
        weight: Whole<1, 1_000_000>,
        /// New limit of `class`: a rate, a percentage of the line, or "none".
        rate: RateChange,
        /// Bucket of `rate`; two of the longest frames or 10 us at the rate, whichever is more, unless given.
        burst: Burst,
        /// Flows of a workload move between two classes, one after another.
        r#move: MoveText,
        /// Links that fail: what is on them or sent to them is lost.
        down: OneOrMany<String>,
        /// Links that come back.
        up: OneOrMany<String>,
        /// How long after `down` or `up` flows are routed anew; 0 unless given.
        detection: Time,
    }
}

table! {
    /// Flows of a workload move between two classes: one up, one down, and so on, as many up as down. Each time it is
    /// the flow that has been longest in its class, on every port of its path that uses the policy.
    MoveText {
        /// The workload whose flows move.
        workload: String = required,
        /// The two classes; a flow moves "up" from the first to the second.
        between: Many<String> = required,
        /// Moves a second, both directions together.
        per_second: Whole<1, 1_000_000> = required,
        /// No move after this instant; the end of the run unless given.
        stop: Time,
    }
}

/// A limit, or that there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RateChange {
    None,
    Rate(RateOrPercent),
}

impl Field for RateChange {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "none" => Some(Self::None),
            _ => RateOrPercent::read(node, findings).map(Self::Rate),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [RateOrPercent::schema(definitions), { "const": "none" }] })
    }
}
