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

/// Everything that is to be said about a file, a scenario or a policy: mistakes, or else warnings and what
/// [`lint`](crate::lint()) finds, errors first. Overrides are for scenarios.
#[must_use]
pub fn check_file(path: &Path, sets: &[String]) -> Vec<Diagnostic> {
    let name = path.display().to_string();
    let text = match read_text(path) {
        Ok(text) => text,
        Err(message) => return vec![Diagnostic::of_file(Severity::Error, "file", &name, message)],
    };
    let mut findings = if crate::device::is_device(&text) {
        crate::device::load_device_str(&text, &name)
            .err()
            .unwrap_or_default()
    } else if is_scenario(&text) {
        match load(path, sets) {
            Ok(loaded) => loaded
                .warnings
                .iter()
                .cloned()
                .chain(crate::lint::lint(&loaded))
                .collect(),
            Err(findings) => findings,
        }
    } else {
        match crate::policy::load_policy(path) {
            Ok(policy) => crate::lint::lint_policy(&policy, None),
            Err(findings) => findings,
        }
    };
    findings.sort_by_key(|d| d.severity);
    findings
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
    crate::device::apply(&mut root, resolve, &mut hash, &mut findings);
    let raw = ScenarioText::read(&root, &mut findings);
    let built = raw.map(|raw| build::build(&raw, stem(name), resolve, &mut hash, &mut findings));
    findings.sort_by_key(|d| d.severity);
    leave_out_consequences(&mut findings);
    point_at_names(&root, &mut findings);
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

/// A link whose rate is refused joins nothing, and hosts whose number is refused have no names: what follows from such
/// a mistake is no news beside it.
fn leave_out_consequences(findings: &mut Vec<Diagnostic>) {
    let value = |d: &Diagnostic| matches!(d.code, "range" | "quantity" | "missing-key");
    let refused = |table: &str, key: &str| {
        let mut values = findings.iter().filter(|d| value(d));
        values.any(|d| d.field.starts_with(table) && d.field.ends_with(key))
    };
    let count = refused("host.", ".count") || refused("switch.", ".count");
    if count || refused("link.", ".rate") || refused("link.", ".length") {
        findings.retain(|d| !matches!(d.code, "no-link" | "unreachable"));
    }
    if count {
        findings.retain(|d| d.code != "unknown-name");
    }
}

/// An override of a thing that the file does not have makes a new one, which then lacks its other keys: most often a
/// slip in its name.
fn point_at_names(root: &document::Node, findings: &mut [Diagnostic]) {
    for finding in findings
        .iter_mut()
        .filter(|d| d.code == "missing-key" && d.file == "--set")
    {
        let mut keys = finding.field.split('.').map(str::to_owned);
        let (Some(table), Some(name)) = (keys.next(), keys.next()) else {
            continue;
        };
        let document::Value::Table(entries) = &root.value else {
            continue;
        };
        let Some(document::Value::Table(things)) =
            entries.iter().find(|e| e.key == table).map(|e| &e.node.value)
        else {
            continue;
        };
        let others: Vec<&str> = things
            .iter()
            .map(|e| e.key.as_str())
            .filter(|k| *k != name)
            .collect();
        if others.is_empty() {
            continue;
        }
        finding.message = format!("{}; this override makes a new {table} `{name}`", finding.message);
        *finding = finding.clone().among(&name, others);
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
duration = "10ms"
[host.h]
count = 16
nic = { policy = "p.toml" }
[switch.sw]
memory = "1.5MB"
policy = "p.toml"
[link.slow]
ends = ["h{1..8}", "sw"]
rate = "10Gbit/s"
[link.fast]
ends = ["h{9..16}", "sw"]
rate = "25Gbit/s"
length = "100m"
[workload.load]
from = "h"
to = "others"
poisson = { frame = "1500B", rate = "9.5Gbit/s" }
"#;
    const POLICY: &str = "[class.a]\npcp = 5\nrate = \"50%\"\n[class.b]\n";

    fn read(policy: &str, sets: &[String]) -> Loaded {
        let resolve = |_: &str| Ok(policy.as_bytes().to_vec());
        load_str(TEXT, "dir/s.toml", sets, &resolve).unwrap_or_else(|e| panic!("{}", e[0]))
    }

    #[test]
    fn percentages_are_of_the_line_that_each_port_has() {
        let s = read(POLICY, &[]).scenario;
        assert_eq!(s.name, "s");
        let rate = |policy: Option<usize>| {
            policy
                .and_then(|p| s.policies[p].plan.nodes[1].rate)
                .map(|r| r.rate_bps)
        };
        assert_eq!(rate(s.hosts[0].nic.policy), Some(5_000_000_000));
        assert_eq!(rate(s.hosts[8].nic.policy), Some(12_500_000_000));
        assert_eq!(rate(s.switches[0].policy), Some(5_000_000_000));
        assert_eq!(s.links[0].ends[1].policy, None);
        assert_eq!(rate(s.links[8].ends[1].policy), Some(12_500_000_000));
        assert_eq!(s.policies.len(), 2);
        assert_eq!(s.links[8].delay.as_ps(), 500_000);
    }

    #[test]
    fn the_hash_is_of_text_overrides_and_policies() {
        let plain = read(POLICY, &[]).hash;
        assert_eq!(plain, read(POLICY, &[]).hash);
        assert_ne!(plain, read(POLICY, &["duration=20ms".to_owned()]).hash);
        assert_ne!(plain, read("[class.a]\npcp = 4\n[class.b]\n", &[]).hash);
    }

    #[test]
    fn a_rate_in_bits_is_what_the_wire_carries() {
        let s = read(POLICY, &[]).scenario;
        let crate::scenario::WorkloadKind::Poisson { rate_fps, .. } = s.workloads[0].kind else {
            panic!("not the workload of the text");
        };
        assert!((rate_fps - 9.5e9 / (8.0 * 1520.0)).abs() < 1e-6);
    }
}
