//! Every policy and scenario that the repository ships is read without errors.

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn shown(findings: &[clearway_policy::Diagnostic]) -> String {
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn shipped_policies_compile_at_every_line_rate() {
    let files = files(&repository().join("policies"));
    assert!(files.len() >= 4);
    for file in files {
        let policy = clearway_policy::load_policy(&file).unwrap_or_else(|e| panic!("{}", shown(&e)));
        for rate in [1_000_000_000, 10_000_000_000, 400_000_000_000] {
            let compiled =
                clearway_policy::compile(&policy, rate).unwrap_or_else(|e| panic!("{}", shown(&e)));
            assert_eq!(compiled.plan.validate(), Ok(()));
            assert_eq!(compiled.plan.nodes.len(), compiled.node_names.len());
        }
    }
}

#[test]
fn shipped_scenarios_load() {
    let files = files(&repository().join("scenarios"));
    assert!(!files.is_empty());
    for file in files {
        let loaded = clearway_policy::load(&file, &[]).unwrap_or_else(|e| panic!("{}", shown(&e)));
        assert!(!loaded.scenario.links.is_empty());
    }
}

#[test]
fn shipped_devices_give_an_origin_for_every_number() {
    let files = files(&repository().join("devices"));
    assert!(files.len() >= 4);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let numbers = clearway_policy::load_device_str(&text, &file.display().to_string())
            .unwrap_or_else(|e| panic!("{}", shown(&e)));
        assert!(numbers.len() >= 4, "{}", file.display());
        assert_eq!(clearway_policy::check_file(&file, &[]), []);
    }
}
