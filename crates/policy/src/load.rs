//! Reading a scenario: text, overrides, policies and captures in; a validated scenario, its hash and warnings out.

use crate::build;
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{self, TEXT_BYTES_MAX};
use crate::policy::{has_errors, stem};
use crate::reader::Field;
use crate::scenario::Scenario;
use crate::syntax::scenario::ScenarioText;
use std::path::{Path, PathBuf};

/// No capture file longer than this is read.
const CAPTURE_BYTES_MAX: u64 = 1 << 30;

/// A scenario that was read without errors.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the simulator runs.
    pub scenario: Scenario,
    /// A 64-bit hash (FNV-1a) of the scenario's text, the overrides, and every file that was read for it: the same on
    /// every machine.
    pub hash: u64,
    /// What is probably not as meant.
    pub warnings: Vec<Diagnostic>,
    /// The policies of the scenario as they were read, for lint and for other targets.
    pub policies: Vec<crate::policy::Policy>,
    pub(crate) facts: build::Facts,
}

/// Reads the scenario file at `path` with the overrides `path=value` in `sets`.
///
/// # Errors
/// Every mistake in it and in the policies that it names.
pub fn load(path: &Path, sets: &[String]) -> Result<Loaded, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(|m| vec![Diagnostic::of_file(Severity::Error, "file", &name, m)])?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    load_str(&text, &name, sets, &|file| read_bytes(&folder.join(file)))
}

/// Reads the text of a scenario without touching files: `resolve` gives the content of the policies and captures that
/// it names, by their path as it stands in the text. `name` is what findings call the text.
///
/// # Errors
/// Every mistake in it and in the policies that it names.
pub fn load_str(
    text: &str,
    name: &str,
    sets: &[String],
    resolve: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut hash = Fnv::new();
    hash.part(text.as_bytes());
    let mut root = document::parse(name, text, &mut findings);
    for assignment in sets {
        hash.part(assignment.as_bytes());
        document::set(&mut root, assignment, &mut findings);
    }
    let raw = ScenarioText::read(&root, &mut findings);
    let built = raw.map(|raw| build::build(&raw, stem(name), resolve, &mut hash, &mut findings));
    findings.sort_by_key(|d| d.severity);
    match built {
        Some(built) if !has_errors(&findings) => Ok(Loaded {
            scenario: built.scenario,
            hash: hash.0,
            warnings: findings,
            policies: built.policies,
            facts: built.facts,
        }),
        _ => Err(findings),
    }
}

/// True where a text looks like a scenario rather than a policy: it has hosts, links or a duration.
#[must_use]
pub fn is_scenario(text: &str) -> bool {
    let root = document::parse("", text, &mut Vec::new());
    match &root.value {
        document::Value::Table(entries) => entries.iter().any(|e| {
            matches!(
                e.key.as_str(),
                "host" | "link" | "duration" | "switch" | "workload"
            )
        }),
        _ => false,
    }
}

/// A file's text, or why it cannot be read.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read_limited(path, TEXT_BYTES_MAX as u64)?;
    String::from_utf8(bytes).map_err(|e| {
        format!(
            "the text is not UTF-8 from byte {} on",
            e.utf8_error().valid_up_to()
        )
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let limit = if path.extension().is_some_and(|e| e == "toml") {
        TEXT_BYTES_MAX as u64
    } else {
        CAPTURE_BYTES_MAX
    };
    read_limited(path, limit)
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let meta = std::fs::metadata(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    if !meta.is_file() {
        return Err(format!("{} is no file", path.display()));
    }
    if meta.len() > limit {
        return Err(format!(
            "{} has {} bytes: at most {limit} are read",
            path.display(),
            meta.len()
        ));
    }
    std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// FNV-1a over parts, each closed by its length so that parts cannot run into each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv(pub(crate) u64);

impl Fnv {
    pub(crate) const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
    pub(crate) fn part(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&(bytes.len() as u64).to_le_bytes());
    }
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
}
