//! The schema files that the repository publishes are the ones that the types give.
//!
//! `CLEARWAY_WRITE=1 cargo test -p clearway-policy --test published_schema` writes them anew.

use clearway_policy::{policy_schema, scenario_schema};
use std::path::Path;

#[test]
fn the_published_schema_files_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for (name, schema) in [("policy", policy_schema()), ("scenario", scenario_schema())] {
        let path = folder.join(format!("{name}.schema.json"));
        let mut text = serde_json::to_string_pretty(&schema).expect("a JSON value");
        text.push('\n');
        if std::env::var_os("CLEARWAY_WRITE").is_some() {
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == text,
            "docs/schema/{name}.schema.json is old: set CLEARWAY_WRITE=1 and run this test"
        );
    }
}
