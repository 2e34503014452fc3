//! The JSON Schemas of the two files, made from the types that read them.

use crate::reader::{Definitions, Field};
use crate::syntax::policy::PolicyText;
use crate::syntax::scenario::ScenarioText;
use serde_json::json;

fn schema<T: Field>(title: &str) -> serde_json::Value {
    let mut definitions = Definitions::new();
    let root = T::schema(&mut definitions);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$ref": root["$ref"],
        "$defs": definitions,
    })
}

/// The JSON Schema (draft 2020-12) of a policy file.
#[must_use]
pub fn policy_schema() -> serde_json::Value {
    schema::<PolicyText>("Clearway policy")
}

/// The JSON Schema (draft 2020-12) of a scenario file.
#[must_use]
pub fn scenario_schema() -> serde_json::Value {
    schema::<ScenarioText>("Clearway scenario")
}
