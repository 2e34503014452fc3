//! Pieces of the JSON documents: tidy rows, comparisons, parameters and traces as `serde_json` values.
//!
//! Field names are those of the columns that CSV and Parquet have. JSON has no not-a-number: it becomes null. The
//! caller puts the pieces into one document that starts with [`document`].

use clearway_metrics::{Comparison, Row};
use serde_json::{Map, Value, json};

use crate::parameter::Parameter;
use crate::trace::Trace;

/// Version of every piece here: raised when a field changes its name or meaning, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// The head of a document: schema version, and the version of the program that wrote it.
#[must_use]
pub fn document(kind: &str) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("schema_version".into(), SCHEMA_VERSION.into());
    head.insert("kind".into(), kind.into());
    head.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    head
}

/// Tidy rows, an object each.
#[must_use]
pub fn rows(rows: &[Row]) -> Value {
    rows.iter()
        .map(|r| {
            json!({
                "run": r.run, "seed": r.seed, "scope": r.scope, "name": r.name, "metric": r.metric, "stat": r.stat,
                "unit": r.unit, "layer": r.layer, "value": r.value, "population": r.population,
            })
        })
        .collect()
}

/// Comparisons, an object each; `ci95` is [low, high], `difference` in per cent.
#[must_use]
pub fn comparisons(comparisons: &[Comparison]) -> Value {
    comparisons
        .iter()
        .map(|c| {
            json!({
                "experiment": c.experiment, "case": c.case, "metric": c.metric, "stat": c.stat, "unit": c.unit,
                "layer": c.layer, "published": c.published, "predicted": c.predicted, "ci95": c.ci95,
                "role": c.role.as_str(), "difference": c.difference, "verdict": c.verdict.map(|v| v.as_str()),
            })
        })
        .collect()
}

/// Parameters, an object each.
#[must_use]
pub fn parameters(parameters: &[Parameter]) -> Value {
    parameters
        .iter()
        .map(|p| {
            json!({
                "experiment": p.experiment, "name": p.name, "value": p.value, "unit": p.unit,
                "origin": p.origin.as_str(), "fitted_to": p.fitted_to, "note": p.note,
            })
        })
        .collect()
}

/// Traces, an object each, with parallel arrays for the points.
#[must_use]
pub fn traces(traces: &[Trace]) -> Value {
    traces
        .iter()
        .map(|t| {
            let column =
                |of: fn(&crate::trace::TracePoint) -> f64| t.points.iter().map(of).collect::<Vec<_>>();
            json!({
                "scope": t.scope, "name": t.name, "metric": t.metric, "unit": t.unit,
                "at_s": column(|p| p.at), "width_s": column(|p| p.width),
                "min": column(|p| p.min), "mean": column(|p| p.mean), "max": column(|p| p.max),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests as sample;

    #[test]
    fn a_document_reads_back_with_its_version() {
        let mut d = document("run");
        d.insert("rows".into(), rows(&sample::rows()));
        let text = Value::Object(d).to_string();
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["schema_version"], 1);
        assert_eq!(back["rows"][0]["value"], 3.3e-6);
        assert_eq!(back["rows"][2]["seed"], u64::MAX);
        assert!(back["rows"][2]["value"].is_null());
    }

    #[test]
    fn comparisons_carry_interval_role_and_verdict() {
        let c = comparisons(&sample::comparisons());
        assert_eq!(c[1]["verdict"], "miss");
        assert_eq!(c[2]["role"], "fitted");
        assert_eq!(c[0]["ci95"].as_array().unwrap().len(), 2);
        assert!(c[3]["difference"].is_null() && c[3]["verdict"].is_null());
    }

    #[test]
    fn parameters_say_what_they_were_fitted_to() {
        let p = parameters(&sample::parameters());
        assert_eq!(p[0]["fitted_to"], "32 KB, no flow control: throughput");
        assert!(p[1]["fitted_to"].is_null());
    }
}
