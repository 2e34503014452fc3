//! `clearway check`: mistakes and warnings of policy and scenario files, before anything runs.

use crate::arguments::Check;
use crate::ending::{Failure, print};
use clearway_policy::{Diagnostic, Severity};
use serde_json::json;
use std::path::Path;

/// Looks at every file; fails if one of them has a mistake.
pub(crate) fn check(check: &Check) -> Result<(), Failure> {
    let mut findings = Vec::new();
    let mut text = String::new();
    for file in &check.files {
        let found = findings_of(file, &check.set)?;
        for finding in &found {
            text.push_str(&format!("{finding}\n"));
        }
        text.push_str(&format!("{}: {}\n", file.display(), tally(&found)));
        findings.extend(found);
    }
    // Errors come first in the order of severities.
    let worst = findings.iter().map(|f| f.severity).min();
    if check.json {
        let mut document = clearway_report::json::document("check");
        document.insert(
            "files".into(),
            check.files.iter().map(|f| f.display().to_string()).collect(),
        );
        document.insert("findings".into(), json!(findings));
        text = format!("{:#}\n", serde_json::Value::from(document));
    }
    print(&text)?;
    match worst {
        Some(Severity::Error) => Err(Failure::Check),
        Some(Severity::Warning) if check.strict => Err(Failure::Check),
        _ => Ok(()),
    }
}

/// What one file has; that it cannot be read at all is a mistake of the command line.
fn findings_of(file: &Path, set: &[String]) -> Result<Vec<Diagnostic>, Failure> {
    let bytes =
        std::fs::read(file).map_err(|e| Failure::Usage(format!("cannot read {}: {e}", file.display())))?;
    let scenario = clearway_policy::is_scenario(&String::from_utf8_lossy(&bytes));
    if !scenario && !set.is_empty() {
        return Err(Failure::Usage(format!(
            "--set changes a scenario; {} is a policy",
            file.display()
        )));
    }
    Ok(clearway_policy::check_file(file, set))
}

/// `ok`, or how many of each.
fn tally(findings: &[Diagnostic]) -> String {
    let count = |severity, one: &str, many: &str| {
        let count = findings.iter().filter(|f| f.severity == severity).count();
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let counts = [
        count(Severity::Error, "error", "errors"),
        count(Severity::Warning, "warning", "warnings"),
        count(Severity::Info, "note", "notes"),
    ];
    let parts: Vec<String> = counts.into_iter().flatten().collect();
    if parts.is_empty() {
        "ok".to_owned()
    } else {
        parts.join(", ")
    }
}
