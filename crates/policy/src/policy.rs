//! A policy as it was read: names resolved as far as the text alone allows, rates still relative to a line.

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::document::{self, Node};
use crate::reader::Field;
use crate::syntax::policy::PolicyText;
use std::sync::Arc;

/// A policy that was read without errors; [`compile`](crate::compile()) makes the plan for a line rate.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) name: String,
    pub(crate) text: Arc<PolicyText>,
}

impl Policy {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The document that it comes from, if it names one.
    #[must_use]
    pub fn cites(&self) -> Option<&str> {
        self.text.cites.as_ref().map(|c| c.value.as_str())
    }
    /// What it is for, if it says so.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.text.title.as_ref().map(|t| t.value.as_str())
    }
    /// True where its plan depends on the line rate: percentages, or limits in time.
    #[must_use]
    pub fn depends_on_line_rate(&self) -> bool {
        self.text.depends_on_line_rate()
    }
    pub(crate) fn place(&self) -> &Place {
        &self.text.place
    }
}

/// The line rate at which a policy file is checked when no port says otherwise: 10 Gbit/s.
pub const CHECK_RATE_BPS: u64 = 10_000_000_000;

/// Reads the text of a policy; `name` is what findings call it.
///
/// # Errors
/// Every mistake in the text.
pub fn load_policy_str(text: &str, name: &str) -> Result<Policy, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let node = document::parse(name, text, &mut findings);
    let policy = from_node(&node, stem(name), &mut findings);
    if let Some(policy) = &policy
        && !has_errors(&findings)
    {
        // Names and limits are checked by compiling once.
        if let Err(more) = crate::compile::compile(policy, CHECK_RATE_BPS) {
            findings.extend(more);
        }
    }
    match policy {
        Some(policy) if !has_errors(&findings) => Ok(policy),
        _ => Err(findings),
    }
}

/// Reads a policy file.
///
/// # Errors
/// Every mistake in it, or that it cannot be read.
pub fn load_policy(path: &std::path::Path) -> Result<Policy, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let text = crate::load::read_text(path)
        .map_err(|message| vec![Diagnostic::of_file(Severity::Error, "file", &name, message)])?;
    load_policy_str(&text, &name)
}

pub(crate) fn from_node(node: &Node, name: &str, findings: &mut Vec<Diagnostic>) -> Option<Policy> {
    let text = PolicyText::read(node, findings)?;
    Some(from_text(text, name))
}

pub(crate) fn from_text(text: PolicyText, name: &str) -> Policy {
    let name = text
        .name
        .as_ref()
        .map_or_else(|| name.to_owned(), |n| n.value.clone());
    Policy {
        name,
        text: Arc::new(text),
    }
}

pub(crate) fn has_errors(findings: &[Diagnostic]) -> bool {
    findings.iter().any(|d| d.severity == Severity::Error)
}

/// A file's name without folders and ending.
pub(crate) fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}
