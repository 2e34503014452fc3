//! How long a file may grow: a ratchet.
//!
//! A Rust file of more than 400 lines is mentioned, one of more than 600 fails. Files that were longer when the
//! rule came are listed in `xtask/long-files.txt` with their length, and may not grow beyond it; when one shrinks,
//! its allowance shrinks with it (`cargo xtask tidy --shrink`), so that the list only ever gets shorter.

use super::{Finding, Source};
use crate::tool;
use std::collections::BTreeMap;

const MENTION: usize = 400;
const LIMIT: usize = 600;
const LIST: &str = "xtask/long-files.txt";
const HEAD: &str = "# Rust files above 600 lines, and the lines that each may have. Entries only shrink:\n# `cargo xtask tidy --shrink` lowers them; a new one is refused in review.\n";

/// Files that are too long.
pub(super) fn check(sources: &[Source], shrink: bool) -> Result<Vec<Finding>, String> {
    let lengths: BTreeMap<&str, usize> = sources
        .iter()
        .filter(|s| s.path.ends_with(".rs"))
        .map(|s| (s.path.as_str(), s.text.lines().count()))
        .collect();
    let list = sources
        .iter()
        .find(|s| s.path == LIST)
        .map_or("", |s| s.text.as_str());
    let mut allowed = parse(list)?;
    if shrink {
        allowed = shrunk(&allowed, &lengths);
        let entries: String = allowed
            .iter()
            .map(|(path, lines)| format!("{path} {lines}\n"))
            .collect();
        std::fs::write(tool::root().join(LIST), format!("{HEAD}{entries}"))
            .map_err(|e| format!("{LIST}: {e}"))?;
    }
    for (path, lines) in lengths
        .iter()
        .filter(|(path, lines)| **lines > MENTION && !allowed.contains_key(**path))
    {
        if *lines <= LIMIT {
            println!("note: {path} has {lines} lines; {LIMIT} is the limit");
        }
    }
    Ok(judge(&allowed, &lengths))
}

fn parse(list: &str) -> Result<BTreeMap<String, usize>, String> {
    let entries = list
        .lines()
        .filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    entries
        .map(|line| {
            let (path, lines) = line
                .rsplit_once(' ')
                .ok_or_else(|| format!("{LIST}: {line:?} has no length"))?;
            let lines = lines
                .parse()
                .map_err(|_| format!("{LIST}: {line:?} has no length"))?;
            Ok((path.to_owned(), lines))
        })
        .collect()
}

fn shrunk(allowed: &BTreeMap<String, usize>, lengths: &BTreeMap<&str, usize>) -> BTreeMap<String, usize> {
    let lower = |(path, lines): (&String, &usize)| {
        let now = lengths.get(path.as_str()).copied().filter(|now| *now > LIMIT)?;
        Some((path.clone(), now.min(*lines)))
    };
    allowed.iter().filter_map(lower).collect()
}

fn judge(allowed: &BTreeMap<String, usize>, lengths: &BTreeMap<&str, usize>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, lines) in lengths {
        let limit = allowed.get(*path).copied().unwrap_or(LIMIT);
        if *lines > limit {
            findings.push(Finding::new(
                path,
                None,
                format!("has {lines} lines, {limit} are allowed: split it by what it does"),
            ));
        }
    }
    for (path, lines) in allowed {
        let now = lengths.get(path.as_str()).copied().unwrap_or(0);
        if now < *lines {
            let text =
                format!("{path} is allowed {lines} lines and has {now}: run cargo xtask tidy --shrink");
            findings.push(Finding::new(LIST, None, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(entries: &[(&str, usize)]) -> BTreeMap<String, usize> {
        entries
            .iter()
            .map(|(path, lines)| ((*path).to_owned(), *lines))
            .collect()
    }

    #[test]
    fn a_file_may_not_pass_the_limit_nor_its_allowance() {
        let lengths = BTreeMap::from([("a.rs", 600), ("b.rs", 601), ("c.rs", 900), ("d.rs", 901)]);
        let found = judge(&allowed(&[("c.rs", 900), ("d.rs", 900)]), &lengths);
        let paths: Vec<&str> = found.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["b.rs", "d.rs"]);
    }

    #[test]
    fn an_allowance_only_shrinks() {
        let lengths = BTreeMap::from([("grown.rs", 950), ("less.rs", 700), ("short.rs", 500)]);
        let before = allowed(&[
            ("gone.rs", 800),
            ("grown.rs", 900),
            ("less.rs", 800),
            ("short.rs", 700),
        ]);
        assert_eq!(judge(&before, &lengths).len(), 4);
        assert_eq!(
            shrunk(&before, &lengths),
            allowed(&[("grown.rs", 900), ("less.rs", 700)])
        );
    }

    #[test]
    fn an_entry_without_a_length_is_an_error() {
        assert_eq!(
            parse("# a comment\n\na b.rs 700\n"),
            Ok(allowed(&[("a b.rs", 700)]))
        );
        assert!(parse("a.rs many\n").is_err());
    }
}
