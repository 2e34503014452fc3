//! Golden findings: each `tests/findings/*.toml` is loaded, and what is found must read as in the `.txt` beside it.
//!
//! A file opens with `# policy` or `# scenario`, and `# set path=value` lines give overrides. `CLEARWAY_WRITE=1`
//! writes the texts anew; the change is then for a person to read.

use clearway_policy::{Diagnostic, lint, lint_policy, load_policy_str, load_str};
use std::path::Path;

fn found(name: &str, text: &str) -> Vec<Diagnostic> {
    if text.starts_with("# policy") {
        return match load_policy_str(text, name) {
            Ok(policy) => lint_policy(&policy, Some(10_000_000_000)),
            Err(findings) => findings,
        };
    }
    let sets: Vec<String> = text
        .lines()
        .filter_map(|l| l.strip_prefix("# set "))
        .map(str::to_owned)
        .collect();
    match load_str(text, name, &sets, &|path| Err(format!("there is no {path}"))) {
        Ok(loaded) => loaded.warnings.iter().cloned().chain(lint(&loaded)).collect(),
        Err(findings) => findings,
    }
}

#[test]
fn findings_read_as_agreed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 20);
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let name = file
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        let shown: Vec<String> = found(&name, &text).iter().map(ToString::to_string).collect();
        let shown = shown.join("\n");
        let golden = file.with_extension("txt");
        if std::env::var_os("CLEARWAY_WRITE").is_some() {
            std::fs::write(&golden, &shown).expect("the text can be written");
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != shown {
            wrong.push(format!("{name}:\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Each check has a file that triggers it and, with the number of its priority or size changed, one that does not.
#[test]
fn each_check_has_a_file_that_triggers_it_and_one_that_does_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    let codes = [
        "shares-above-whole",
        "limit-above-line",
        "guarantees-above-line",
        "pcp-order",
        "unmatched-class",
        "shadowed-rule",
        "no-default",
        "largest-turn",
        "frame-above-policy",
        "headroom",
        "buffer-cycle",
        "burst-below-frame",
        "pfc-mixed-queue",
        "unused-policy",
    ];
    for code in codes {
        for (suffix, expected) in [("", true), ("-not", false)] {
            let name = format!("{code}{suffix}.toml");
            let text = std::fs::read_to_string(folder.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
            let findings = found(&name, &text);
            assert_eq!(
                findings.iter().any(|d| d.code == code),
                expected,
                "{name}: {findings:?}"
            );
            let broken = findings
                .iter()
                .any(|d| d.severity == clearway_policy::Severity::Error);
            let breaks = expected && ["burst-below-frame", "pfc-mixed-queue"].contains(&code);
            assert_eq!(broken, breaks, "{name}: {findings:?}");
        }
    }
}
