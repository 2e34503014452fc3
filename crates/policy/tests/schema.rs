//! The published JSON Schema and the reader take the same keys: every key of the schema is read, no other is.

use clearway_policy::{Diagnostic, load_policy_str, load_str, policy_schema, scenario_schema};
use serde_json::Value;
use std::collections::BTreeSet;

/// Every table of a schema that can be reached, as (path of keys, name of its definition). Names that a file chooses
/// are `x`; what an array holds is reached by the path of the array, marked with a `#` key.
fn tables(schema: &Value) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(Vec::new(), schema.clone())];
    while let Some((path, at)) = open.pop() {
        if let Some(name) = at["$ref"].as_str().and_then(|r| r.strip_prefix("#/$defs/")) {
            if !seen.insert(name.to_owned()) {
                continue;
            }
            found.push((path.clone(), name.to_owned()));
            let properties = schema["$defs"][name]["properties"]
                .as_object()
                .expect("a table has properties");
            for (key, value) in properties {
                open.push((path.iter().cloned().chain([key.clone()]).collect(), value.clone()));
            }
        }
        for one in at["anyOf"].as_array().into_iter().flatten() {
            open.push((path.clone(), one.clone()));
        }
        if at["additionalProperties"].is_object() {
            open.push((
                path.iter().cloned().chain(["x".to_owned()]).collect(),
                at["additionalProperties"].clone(),
            ));
        }
        if at["items"].is_object() {
            open.push((
                path.iter().cloned().chain(["#".to_owned()]).collect(),
                at["items"].clone(),
            ));
        }
    }
    found
}

/// A text that sets one key at a path of tables.
fn text(path: &[String], key: &str) -> String {
    let mut text = format!("{{ {key} = [] }}");
    for part in path.iter().skip(1).rev() {
        text = if part == "#" {
            format!("[{text}]")
        } else {
            format!("{{ {part} = {text} }}")
        };
    }
    match path.first() {
        Some(first) => format!("{first} = {text}\n"),
        None => format!("{key} = []\n"),
    }
}

fn unknown(findings: &[Diagnostic], key: &str) -> bool {
    findings
        .iter()
        .any(|d| d.code == "unknown-key" && d.message.contains(&format!("`{key}`")))
}

fn agree(schema: &Value, read: &dyn Fn(&str) -> Vec<Diagnostic>) -> usize {
    let mut keys = 0;
    for (path, name) in tables(schema) {
        assert_eq!(
            schema["$defs"][&name]["additionalProperties"],
            Value::Bool(false),
            "{name}"
        );
        let properties = schema["$defs"][&name]["properties"]
            .as_object()
            .expect("a table has properties");
        for key in properties.keys() {
            let text = text(&path, key);
            assert!(
                !unknown(&read(&text), key),
                "the schema has a key that is not read: {text}"
            );
            keys += 1;
        }
        let text = text(&path, "no_such_key");
        assert!(
            unknown(&read(&text), "no_such_key"),
            "a key beyond the schema is read: {text}"
        );
    }
    keys
}

#[test]
fn the_policy_schema_and_the_reader_take_the_same_keys() {
    let keys = agree(&policy_schema(), &|text| {
        load_policy_str(text, "t").err().unwrap_or_default()
    });
    assert!(keys > 60, "{keys}");
}

#[test]
fn the_scenario_schema_and_the_reader_take_the_same_keys() {
    let read = |text: &str| {
        load_str(text, "t", &[], &|_| Err("no files here".to_owned()))
            .err()
            .unwrap_or_default()
    };
    let keys = agree(&scenario_schema(), &read);
    assert!(keys > 150, "{keys}");
}
