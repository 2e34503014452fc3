//! The policies of a scenario: read once, compiled once for each line rate that needs a plan of its own.

use super::Resolve;
use crate::compile::compile;
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::document;
use crate::load::Fnv;
use crate::plan::CompiledPolicy;
use crate::policy::{Policy, from_node, from_text, has_errors, stem};
use crate::reader::At;
use crate::syntax::scenario::{PolicyRef, ScenarioText};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) struct Registry<'a> {
    resolve: Resolve<'a>,
    pub(crate) hash: &'a mut Fnv,
    pub(crate) sources: Vec<Policy>,
    pub(crate) out: Vec<CompiledPolicy>,
    pub(crate) compiled_from: Vec<(usize, u64)>,
    pub(crate) asked: Vec<Place>,
    by_name: BTreeMap<String, Option<usize>>,
    used: BTreeSet<String>,
    by_path: BTreeMap<String, Option<usize>>,
    by_rate: BTreeMap<(usize, u64), Option<usize>>,
}

impl<'a> Registry<'a> {
    pub(crate) fn new(resolve: Resolve<'a>, hash: &'a mut Fnv) -> Self {
        Self {
            resolve,
            hash,
            sources: Vec::new(),
            out: Vec::new(),
            compiled_from: Vec::new(),
            asked: Vec::new(),
            by_name: BTreeMap::new(),
            used: BTreeSet::new(),
            by_path: BTreeMap::new(),
            by_rate: BTreeMap::new(),
        }
    }

    /// Reads the table of named policies.
    pub(crate) fn define(&mut self, raw: &ScenarioText, findings: &mut Vec<Diagnostic>) {
        for entry in raw.policy.iter().flat_map(|p| &p.value.0) {
            let source = match &entry.value {
                PolicyRef::Text(path) => self.file(path, &entry.place, findings),
                PolicyRef::Inline(text) => {
                    Some(self.keep(from_text((**text).clone(), &entry.name), entry.place.clone()))
                }
            };
            self.by_name.insert(entry.name.clone(), source);
        }
    }

    /// The policy that a reference by name or path stands for, if it was met; `Some(None)`: it was refused.
    pub(crate) fn named(&self, name: &str) -> Option<Option<usize>> {
        self.by_name.get(name).or_else(|| self.by_path.get(name)).copied()
    }

    /// Names and paths of the policies that were met.
    pub(crate) fn known_names(&self) -> Vec<String> {
        let paths = self.by_path.keys().filter(|p| !p.contains('@'));
        self.by_name.keys().chain(paths).cloned().collect()
    }

    /// Named policies that nothing uses: what they say changes nothing.
    pub(crate) fn unused(&self, raw: &ScenarioText, findings: &mut Vec<Diagnostic>) {
        for entry in raw
            .policy
            .iter()
            .flat_map(|p| &p.value.0)
            .filter(|e| !self.used.contains(&e.name))
        {
            let message = format!("nothing uses the policy `{}`", entry.name);
            let finding = entry.place.finding(Severity::Warning, "unused-policy", message);
            findings.push(finding.expecting("a host, switch or link that names it"));
        }
    }

    fn keep(&mut self, policy: Policy, asked: Place) -> usize {
        self.sources.push(policy);
        self.asked.push(asked);
        self.sources.len() - 1
    }

    /// A file that the scenario names.
    pub(crate) fn read(
        &mut self,
        path: &str,
        place: &Place,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<Vec<u8>> {
        match (self.resolve)(path) {
            Ok(bytes) => {
                self.hash.part(&bytes);
                Some(bytes)
            }
            Err(message) => {
                findings.push(
                    place
                        .error("file", message)
                        .expecting("a path relative to the scenario's folder"),
                );
                None
            }
        }
    }

    fn file(&mut self, path: &str, place: &Place, findings: &mut Vec<Diagnostic>) -> Option<usize> {
        if let Some(known) = self.by_path.get(path) {
            return *known;
        }
        let source = self.read_policy(path, place, findings);
        self.by_path.insert(path.to_owned(), source);
        source
    }

    fn read_policy(&mut self, path: &str, place: &Place, findings: &mut Vec<Diagnostic>) -> Option<usize> {
        let bytes = self.read(path, place, findings)?;
        let Ok(text) = String::from_utf8(bytes) else {
            findings.push(place.error("file", format!("{path} is no UTF-8 text")));
            return None;
        };
        let mut own = Vec::new();
        let node = document::parse(path, &text, &mut own);
        let policy = from_node(&node, stem(path), &mut own);
        let wrong = has_errors(&own);
        findings.append(&mut own);
        policy
            .filter(|_| !wrong)
            .map(|policy| self.keep(policy, place.clone()))
    }

    /// The policy that a field names, and its plan for this line rate, by index in the scenario.
    pub(crate) fn at(
        &mut self,
        policy: Option<&At<PolicyRef>>,
        line_rate_bps: u64,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<usize> {
        let policy = policy?;
        let source = match &policy.value {
            PolicyRef::Text(name) => {
                if let Some(known) = self.by_name.get(name) {
                    self.used.insert(name.clone());
                    (*known)?
                } else if name.contains('/') || name.ends_with(".toml") {
                    self.file(name, &policy.place, findings)?
                } else {
                    let names: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
                    let mut finding = policy
                        .error("unknown-name", format!("there is no policy `{name}`"))
                        .among(name, names);
                    if finding.expected.is_none() {
                        finding = finding
                            .expecting("the path of a policy file, or the name of a [policy.NAME] table");
                    }
                    findings.push(finding);
                    return None;
                }
            }
            PolicyRef::Inline(text) => {
                // The same table is met once for each member of a group: its place tells them apart.
                let key = format!("{}@{}", policy.place.file(), policy.place.path());
                match self.by_path.get(&key) {
                    Some(known) => (*known)?,
                    None => {
                        let source = self.keep(
                            from_text((**text).clone(), policy.place.path()),
                            policy.place.clone(),
                        );
                        self.by_path.insert(key, Some(source));
                        source
                    }
                }
            }
        };
        let depends = self.sources[source].depends_on_line_rate();
        let key = (source, if depends { line_rate_bps } else { 0 });
        if let Some(known) = self.by_rate.get(&key) {
            return *known;
        }
        let index = match compile(&self.sources[source], line_rate_bps) {
            Ok(compiled) => {
                self.out.push(compiled);
                self.compiled_from.push((source, line_rate_bps));
                Some(self.out.len() - 1)
            }
            Err(more) => {
                findings.extend(more);
                None
            }
        };
        self.by_rate.insert(key, index);
        index
    }
}
