//! What a file may be called and what it may say.

use super::{Finding, Source};

/// Names that say nothing of what is inside.
const BANNED: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "misc", "stuff"];

/// Folders that exist on one person's machine alone. In pieces, so that this file passes its own check.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Words that promise work and name no issue.
const PROMISES: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// A file or folder with a name that says nothing.
pub(super) fn banned_name(path: &str) -> Option<Finding> {
    let stem = |part: &str| part.split('.').next().unwrap_or(part).to_owned();
    let part = path
        .split('/')
        .map(stem)
        .find(|part| BANNED.contains(&part.as_str()))?;
    Some(Finding::new(
        path,
        None,
        format!("{part} says nothing: name the file after what is in it"),
    ))
}

/// Everything that one file's text can break.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let path = source.path.as_str();
    let mut findings = Vec::new();
    let rust = path.ends_with(".rs");
    if rust && !source.text.starts_with("//!") {
        let text = "opens without //!: say what this file is, where it comes from and what it leaves out";
        findings.push(Finding::new(path, Some(1), text));
    }
    if matches!(path, "crates/core/src/lib.rs" | "crates/wire/src/lib.rs")
        && !source.text.lines().any(|l| l.trim() == "#![no_std]")
    {
        findings.push(Finding::new(path, None, "is no_std: #![no_std] is missing"));
    }
    if path.starts_with("crates/")
        && path.ends_with("/Cargo.toml")
        && !source.text.contains("[lints]\nworkspace = true")
    {
        findings.push(Finding::new(
            path,
            None,
            "does not take the workspace's lints: add [lints] workspace = true",
        ));
    }
    let integers_only = rust && path.starts_with("crates/core/src/");
    for (index, line) in source.text.lines().enumerate() {
        let mut found = |text: String| findings.push(Finding::new(path, Some(index + 1), text));
        if let Some(float) = ["f32", "f64"]
            .iter()
            .find(|float| integers_only && has_word(code(line), float))
        {
            found(format!("{float} in the core: it computes with integers only"));
        }
        if let Some(folder) = MACHINE_PATHS.iter().find(|folder| has_folder(line, folder)) {
            found(format!(
                "{folder} is a folder of one machine: give a path from the root of the tree"
            ));
        }
        if let Some(word) = PROMISES
            .iter()
            .find(|word| has_word(line, word) && !names_issue(line, word))
        {
            found(format!("{word} without an issue: do it, or write {word}(#123)"));
        }
    }
    findings
}

/// The line without a comment at its end. A `//` inside a string cuts too much, which hides nothing here.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// The word stands alone.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(part_of_word) && !line[at + word.len()..].starts_with(part_of_word)
    })
}

/// The folder begins a path: it is not the middle of one.
fn has_folder(line: &str, folder: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "_.-~*}$)".contains(c);
    line.match_indices(folder)
        .any(|(at, _)| !line[..at].ends_with(inside))
}

fn names_issue(line: &str, word: &str) -> bool {
    line.split_once(word).is_some_and(|(_, rest)| {
        rest.strip_prefix("(#")
            .is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str, text: &str) -> Vec<String> {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&source).into_iter().map(|f| f.text).collect()
    }

    #[test]
    fn a_name_that_says_nothing_is_found_as_file_and_as_folder() {
        assert!(banned_name("crates/sim/src/utils.rs").is_some());
        assert!(banned_name("crates/common/src/lib.rs").is_some());
        assert!(banned_name("tests/helpers/mod.rs").is_some());
        assert_eq!(banned_name("crates/sim/src/commonality.rs"), None);
    }

    #[test]
    fn a_rust_file_says_what_it_is() {
        assert_eq!(texts("a.rs", "//! A thing.\n"), [""; 0]);
        assert_eq!(texts("a.rs", "fn main() {}\n").len(), 1);
        assert_eq!(texts("a.py", "pass\n"), [""; 0]);
    }

    #[test]
    fn the_core_has_no_floating_point_and_no_std() {
        assert_eq!(
            texts("crates/core/src/x.rs", "//! X.\nlet a = 1u64 as f64;\n").len(),
            1
        );
        assert_eq!(
            texts("crates/core/src/x.rs", "//! X.\n// no f64 here\nlet f640 = 1;\n"),
            [""; 0]
        );
        assert_eq!(
            texts("crates/sim/src/x.rs", "//! X.\nlet a: f64 = 1.0;\n"),
            [""; 0]
        );
        assert_eq!(texts("crates/core/src/lib.rs", "//! X.\n").len(), 1);
        assert_eq!(texts("crates/core/src/lib.rs", "//! X.\n#![no_std]\n"), [""; 0]);
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_relative_one_is_not() {
        let [first, ..] = MACHINE_PATHS;
        assert_eq!(texts("a.md", &format!("see {first}me/clearway")).len(), 1);
        assert_eq!(
            texts(
                "a.md",
                &format!("see out{first}page and https://example.org{first}x")
            ),
            [""; 0]
        );
    }

    #[test]
    fn a_promise_names_its_issue() {
        let [word, ..] = PROMISES;
        assert_eq!(texts("a.md", &format!("{word} later")).len(), 1);
        assert_eq!(texts("a.md", &format!("{word}(#12): later")), [""; 0]);
        assert_eq!(texts("a.md", &format!("{word}S are listed elsewhere")), [""; 0]);
    }

    #[test]
    fn a_crate_takes_the_workspace_lints() {
        assert_eq!(texts("crates/a/Cargo.toml", "[package]\n").len(), 1);
        assert_eq!(
            texts("crates/a/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n"),
            [""; 0]
        );
    }
}
