//! Laws in text: `"1518B"`, `{ geometric = "9000B" }`, `{ uniform = ["64B", "1518B"] }` and so on.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::quantity::Dimension;
use crate::reader::{Definitions, Field, Fraction, read_quantity, wrong_kind};
use crate::scenario::Law;
use serde_json::json;

/// A law over sizes.
#[derive(Clone, Debug)]
pub(crate) struct ByteLaw(pub(crate) Law);
/// A law over times, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct TimeLaw(pub(crate) Law);

fn law(node: &Node, dimension: Dimension, findings: &mut Vec<Diagnostic>) -> Option<Law> {
    let scale = if dimension == Dimension::Time { 1e-12 } else { 1.0 };
    let one = |node: &Node, findings: &mut Vec<Diagnostic>| {
        read_quantity(node, &[dimension], findings).map(|q| q.value as f64 * scale)
    };
    let table = match &node.value {
        Value::Text(_) | Value::Integer(_) => return one(node, findings).map(Law::Constant),
        Value::Table(entries) => entries,
        _ => {
            findings.push(wrong_kind(node, LAW_EXPECTED));
            return None;
        }
    };
    let words = [
        "constant",
        "uniform",
        "exponential",
        "geometric",
        "pareto",
        "empirical",
    ];
    let [entry] = table.as_slice() else {
        findings.push(
            node.place
                .error("law", "a law has exactly one key")
                .expecting(LAW_EXPECTED),
        );
        return None;
    };
    let list = |least: usize, findings: &mut Vec<Diagnostic>| match &entry.node.value {
        Value::Array(items) if items.len() >= least && items.len() <= 100_000 => Some(items.clone()),
        _ => {
            findings.push(wrong_kind(&entry.node, LAW_EXPECTED));
            None
        }
    };
    let law = match entry.key.as_str() {
        "constant" => Law::Constant(one(&entry.node, findings)?),
        "exponential" => Law::Exponential(one(&entry.node, findings)?),
        "geometric" if dimension == Dimension::Size => Law::Geometric(one(&entry.node, findings)?),
        "geometric" => {
            findings.push(entry.key_place.error(
                "law",
                "a geometric law is over whole numbers: times take exponential",
            ));
            return None;
        }
        "uniform" => {
            let items = list(2, findings)?;
            let [low, high] = items.as_slice() else {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "uniform takes two values")
                        .expecting(LAW_EXPECTED),
                );
                return None;
            };
            let (low, high) = (one(low, findings)?, one(high, findings)?);
            if low > high {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "the first value is above the second"),
                );
                return None;
            }
            Law::Uniform(low, high)
        }
        "pareto" => pareto(&entry.node, dimension, scale, findings)?,
        "empirical" => {
            let mut pairs = Vec::new();
            for item in list(1, findings)? {
                let pair = match &item.value {
                    Value::Array(pair) if pair.len() == 2 => pair.clone(),
                    _ => {
                        findings.push(wrong_kind(&item, "a value and its weight, such as [\"64B\", 7]"));
                        return None;
                    }
                };
                pairs.push((one(&pair[0], findings)?, Fraction::read(&pair[1], findings)?.0));
            }
            if pairs.iter().map(|(_, weight)| *weight).sum::<f64>() <= 0.0 {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "all weights are zero")
                        .expecting("a weight above 0"),
                );
                return None;
            }
            Law::Empirical(pairs)
        }
        word => {
            findings.push(
                entry
                    .key_place
                    .error("unknown-key", format!("the law `{word}` is not known"))
                    .among(word, words),
            );
            return None;
        }
    };
    Some(law)
}

fn pareto(node: &Node, dimension: Dimension, scale: f64, findings: &mut Vec<Diagnostic>) -> Option<Law> {
    let Value::Table(entries) = &node.value else {
        findings.push(wrong_kind(node, LAW_EXPECTED));
        return None;
    };
    let (mut mean, mut shape, mut max) = (None, None, None);
    for entry in entries {
        let quantity = |findings: &mut Vec<Diagnostic>| {
            read_quantity(&entry.node, &[dimension], findings).map(|q| q.value as f64 * scale)
        };
        match entry.key.as_str() {
            "mean" => mean = quantity(findings),
            "max" => max = quantity(findings),
            "shape" => shape = Fraction::read(&entry.node, findings).map(|x| x.0),
            key => findings.push(crate::reader::unknown_key(
                &entry.key_place,
                key,
                &["mean", "shape", "max"],
            )),
        }
    }
    match (mean, shape, max) {
        (Some(mean), Some(shape), Some(max)) if shape > 1.0 && max >= mean => {
            Some(Law::Pareto { mean, shape, max })
        }
        _ => {
            findings.push(node.place.error(
                "law",
                "a pareto law needs mean, shape above 1, and max not below mean",
            ));
            None
        }
    }
}

const LAW_EXPECTED: &str = "a value such as \"1518B\", or one of { constant = \"1518B\" }, { uniform = [\"64B\", \"1518B\"] }, \
{ exponential = \"9000B\" }, { geometric = \"9000B\" }, { pareto = { mean = \"9kB\", shape = 1.3, max = \"1MB\" } }, \
{ empirical = [[\"64B\", 7], [\"1518B\", 4]] }";

fn law_schema(dimension: Dimension) -> serde_json::Value {
    let value = crate::reader::quantity_schema(&[dimension]);
    let only = |key: &str, schema: serde_json::Value| json!({ "type": "object", "properties": { key: schema }, "required": [key], "additionalProperties": false });
    let mut any = vec![
        value.clone(),
        only("constant", value.clone()),
        only("exponential", value.clone()),
        only(
            "uniform",
            json!({ "type": "array", "items": value, "minItems": 2, "maxItems": 2 }),
        ),
        only(
            "pareto",
            json!({
                "type": "object",
                "properties": { "mean": value, "shape": { "type": "number", "exclusiveMinimum": 1 }, "max": value },
                "required": ["mean", "shape", "max"],
                "additionalProperties": false,
            }),
        ),
        only(
            "empirical",
            json!({ "type": "array", "minItems": 1, "items": {
                "type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [value, { "type": "number", "minimum": 0 }],
            } }),
        ),
    ];
    if dimension == Dimension::Size {
        any.push(only("geometric", crate::reader::quantity_schema(&[dimension])));
    }
    json!({ "anyOf": any })
}

impl Field for ByteLaw {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        law(node, Dimension::Size, findings).map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        law_schema(Dimension::Size)
    }
}

impl Field for TimeLaw {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        law(node, Dimension::Time, findings).map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        law_schema(Dimension::Time)
    }
}
