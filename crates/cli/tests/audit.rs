//! `clearway audit` as a user meets it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn audit(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway"))
        .arg("audit")
        .args(arguments)
        .output()
        .expect("it starts")
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn every_document_has_a_table_and_what_is_wrong_is_written_out() {
    let output = audit(&[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output);
    for part in ["t4:", "t5:", "event-builder:", "s2d:", "backplane:"] {
        assert!(said.contains(part), "{part}");
    }
    assert!(said.contains("(19,348 x 129.214 us - 3,072 x 36.5201 us) / (19,348 - 3,072) = 146.71 us"));
    assert!(
        !said.contains("calls x rtt"),
        "a consistent check is not written out"
    );
    assert!(text(&audit(&["--full"])).contains("calls x rtt = 19,348 x 258.428 us = 5.0001 s"));
}

#[test]
fn a_named_check_is_shown_whole_and_alone() {
    let said = text(&audit(&["control-rate"]));
    assert!(
        said.contains("165e3 frame/s x (64 B + 8 B + 12 B) x 8 = 110.88 Mbit/s"),
        "{said}"
    );
    assert!(!said.contains("burst"), "{said}");
    let output = audit(&["control-rat"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean control-rate"));
}

#[test]
fn strict_fails_on_inconsistent_published_numbers_only() {
    assert_eq!(audit(&["--strict"]).status.code(), Some(1));
    assert_eq!(audit(&["--strict", "backplane"]).status.code(), Some(0));
    // An assumption that the published numbers rule out.
    let assumption = audit(&["--strict", "goodput-1448"]);
    assert_eq!(assumption.status.code(), Some(0));
    assert!(text(&assumption).contains("inconsistent"));
}

#[test]
fn the_document_holds_inputs_computation_and_verdict() {
    let output = audit(&["--json", "burst-t5"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(document["kind"], "audit");
    let check = &document["checks"][0];
    assert_eq!(check["verdict"], "consistent");
    assert_eq!(check["inputs"][2]["value"], 23000.0);
    assert_eq!(check["inputs"][2]["source"], "published");
    let numbers = check["computation"][0]["numbers"].as_str().expect("written out");
    assert_eq!(numbers, "(46 B + 64 B) x 23,000 x 0.1 ns x 8");
}

#[test]
fn the_folder_holds_a_page_with_every_computation() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("audit");
    let output = audit(&["--out", out.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(page.contains("burst-on-the-wire") && page.contains("outstanding-80-20"));
    assert!(page.contains("calls x rtt = 763,228 x 6.551 us"));
    let summary = std::fs::read(out.join("summary.json")).expect("a document");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    assert!(summary["checks"].as_array().is_some_and(|c| c.len() >= 50));
}
