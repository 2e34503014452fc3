//! What `cargo metadata` says of the workspace: packages, what they stand on, targets.

use crate::tool;
use serde_json::Value;
use std::path::PathBuf;

/// A package of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest: PathBuf,
    /// Names of what it stands on: normal and build dependencies.
    pub(crate) stands_on: Vec<String>,
    /// Names of what its tests alone need.
    pub(crate) for_tests: Vec<String>,
    /// Kind and name of each target, such as `bin` and `clearway`.
    pub(crate) targets: Vec<(String, String)>,
}

impl Package {
    /// Names of the targets of this kind.
    pub(crate) fn targets_of(&self, kind: &str) -> Vec<String> {
        self.targets
            .iter()
            .filter(|(k, _)| k == kind)
            .map(|(_, name)| name.clone())
            .collect()
    }
}

/// The packages of the workspace whose manifest this is (relative to the root).
///
/// # Errors
/// What cargo said.
pub(crate) fn packages(manifest: &str) -> Result<Vec<Package>, String> {
    let mut cargo = tool::cargo();
    cargo.args([
        "metadata",
        "--format-version=1",
        "--no-deps",
        "--manifest-path",
        manifest,
    ]);
    parse(&tool::output(&mut cargo)?)
}

fn parse(text: &str) -> Result<Vec<Package>, String> {
    let metadata: Value = serde_json::from_str(text).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata: no packages")?;
    packages
        .iter()
        .map(|p| package(p).ok_or_else(|| format!("cargo metadata: cannot read {}", p["name"])))
        .collect()
}

fn package(value: &Value) -> Option<Package> {
    let (mut stands_on, mut for_tests) = (Vec::new(), Vec::new());
    for dependency in value["dependencies"].as_array()? {
        let name = dependency["name"].as_str()?.to_owned();
        match dependency["kind"].as_str() {
            Some("dev") => for_tests.push(name),
            _ => stands_on.push(name),
        }
    }
    let target = |t: &Value| Some((t["kind"][0].as_str()?.to_owned(), t["name"].as_str()?.to_owned()));
    Some(Package {
        name: value["name"].as_str()?.to_owned(),
        manifest: value["manifest_path"].as_str()?.into(),
        stands_on,
        for_tests,
        targets: value["targets"].as_array()?.iter().filter_map(target).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_dependencies_are_told_from_the_others() {
        let text = r#"{"packages": [{"name": "a", "manifest_path": "/x/Cargo.toml",
            "dependencies": [{"name": "b", "kind": null}, {"name": "c", "kind": "dev"}, {"name": "d", "kind": "build"}],
            "targets": [{"kind": ["bin"], "name": "a"}, {"kind": ["bench"], "name": "speed"}]}]}"#;
        let packages = parse(text).expect("valid metadata");
        assert_eq!(packages[0].stands_on, ["b", "d"]);
        assert_eq!(packages[0].for_tests, ["c"]);
        assert_eq!(packages[0].targets_of("bench"), ["speed"]);
        assert!(parse("{}").is_err());
    }
}
