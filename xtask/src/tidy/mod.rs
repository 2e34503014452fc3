//! `cargo xtask tidy`: rules of the house that a machine can check.
//!
//! Which crate may stand on which ([`arrows`]), what a file may be called, how long it may grow and what it may
//! say ([`files`]). Every finding names the file, the line where there is one, and what to do about it.

mod arrows;
mod files;
mod length;

use crate::step::Outcome;
use crate::{metadata, tool};
use std::fmt;
use std::path::Path;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path from the root.
    pub(crate) path: String,
    /// Line, if it is about one.
    pub(crate) line: Option<usize>,
    /// What is wrong and what to do.
    pub(crate) text: String,
}

impl Finding {
    fn new(path: &str, line: Option<usize>, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.text),
            None => write!(f, "{}: {}", self.path, self.text),
        }
    }
}

/// A text file of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Path from the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Checks the tree. With `shrink` the allowances for long files are lowered first.
pub(crate) fn run(shrink: bool) -> Outcome {
    match check(shrink) {
        Err(why) => Outcome::Failed(why),
        Ok((files, findings)) if findings.is_empty() => Outcome::Passed(format!("{files} files")),
        Ok((_, findings)) => {
            for finding in &findings {
                println!("{finding}");
            }
            Outcome::Failed(format!("{} findings, the first: {}", findings.len(), findings[0]))
        }
    }
}

fn check(shrink: bool) -> Result<(usize, Vec<Finding>), String> {
    let paths = tracked()?;
    let sources: Vec<Source> = paths.iter().filter_map(|path| read(path)).collect();
    let mut findings = arrows::check(&metadata::packages("Cargo.toml")?);
    findings.extend(paths.iter().filter_map(|path| files::banned_name(path)));
    for source in &sources {
        findings.extend(files::check(source));
    }
    findings.extend(length::check(&sources, shrink)?);
    findings.sort();
    Ok((paths.len(), findings))
}

/// Files that git knows, or would take.
fn tracked() -> Result<Vec<String>, String> {
    let listed = tool::output(tool::at_root("git").args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut paths: Vec<String> = listed
        .split('\0')
        .filter(|p| !p.is_empty())
        .map(str::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// `None` for what is not text, and for what was removed but not yet committed.
fn read(path: &str) -> Option<Source> {
    let bytes = std::fs::read(tool::root().join(Path::new(path))).ok()?;
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| !text.contains('\0'))?;
    Some(Source {
        path: path.to_owned(),
        text,
    })
}
