//! Device files: what a host is made of, each number with its origin.
//!
//! A device has the keys of a host (its stack, its NIC, its delays) and a table `origin` that says of every number where
//! it comes from: published, derived or fitted. A scenario's host names the file; what the host says itself goes first.
//! A number without an origin is refused by name, so that no parameter of a vendor's card can come from nowhere.

use crate::build::Resolve;
use crate::diagnostic::{Diagnostic, Severity};
use crate::document::{self, Entry, Node, Value};
use crate::load::Fnv;
use crate::policy::has_errors;
use crate::reader::Field;
use crate::syntax::scenario::HostText;
use std::collections::BTreeMap;

/// Keys of a device that are not a host's.
const OWN: [&str; 3] = ["title", "document", "origin"];
/// Keys of a host that no device has: a number of hosts, and the device itself.
const NOT_A_DEVICE: [&str; 2] = ["count", "device"];
/// How an origin begins.
const ORIGINS: [&str; 3] = ["published: ", "derived: ", "fitted: "];

/// A number of a device and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    /// Its key, such as `stack.receive.per_packet`.
    pub key: String,
    /// As the file has it.
    pub value: String,
    /// `published`, `derived` or `fitted`.
    pub origin: String,
    /// Where published, by which arithmetic derived, or to which figure fitted.
    pub reason: String,
}

/// Reads a device file: every number with its origin, in the order of the file.
///
/// # Errors
/// Every mistake, a number without an origin among them.
pub fn load_device_str(text: &str, name: &str) -> Result<Vec<DeviceNumber>, Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut root = document::parse(name, text, &mut findings);
    let numbers = take_origins(&mut root, &mut findings);
    let _ = HostText::read(&root, &mut findings);
    if has_errors(&findings) {
        return Err(findings);
    }
    Ok(numbers)
}

/// True where a text is a device: it tells origins.
pub(crate) fn is_device(text: &str) -> bool {
    let root = document::parse("", text, &mut Vec::new());
    matches!(&root.value, Value::Table(entries) if entries.iter().any(|e| e.key == "origin"))
}

/// Puts what the devices say into the hosts that name them.
pub(crate) fn apply(root: &mut Node, resolve: Resolve<'_>, hash: &mut Fnv, findings: &mut Vec<Diagnostic>) {
    let Value::Table(entries) = &mut root.value else {
        return;
    };
    let Some(hosts) = entries.iter_mut().find(|e| e.key == "host") else {
        return;
    };
    let Value::Table(hosts) = &mut hosts.node.value else {
        return;
    };
    let mut known: BTreeMap<String, Option<Vec<Entry>>> = BTreeMap::new();
    for host in hosts {
        let Value::Table(keys) = &mut host.node.value else {
            continue;
        };
        let Some(named) = keys.iter().find(|k| k.key == "device").map(|k| k.node.clone()) else {
            continue;
        };
        // Another kind of value is the reader's to refuse.
        let Value::Text(path) = &named.value else { continue };
        let device = known
            .entry(path.clone())
            .or_insert_with(|| read(path, &named, resolve, hash, findings));
        if let Some(device) = device {
            merge(keys, device);
        }
    }
}

fn read(
    path: &str,
    named: &Node,
    resolve: Resolve<'_>,
    hash: &mut Fnv,
    findings: &mut Vec<Diagnostic>,
) -> Option<Vec<Entry>> {
    let text = match resolve(path) {
        Ok(bytes) => {
            hash.part(&bytes);
            String::from_utf8(bytes).map_err(|_| format!("{path} is no UTF-8 text"))
        }
        Err(message) => Err(message),
    };
    let text = match text {
        Ok(text) => text,
        Err(message) => {
            let finding = named.place.error("file", message);
            findings.push(finding.expecting("the path of a device file, relative to the scenario's folder"));
            return None;
        }
    };
    let mut own = Vec::new();
    let mut root = document::parse(path, &text, &mut own);
    let _ = take_origins(&mut root, &mut own);
    let wrong = has_errors(&own);
    findings.append(&mut own);
    match root.value {
        Value::Table(entries) if !wrong => Some(entries),
        _ => None,
    }
}

/// What the host does not say itself comes from the device, table by table.
fn merge(host: &mut Vec<Entry>, device: &[Entry]) {
    for entry in device {
        match host.iter_mut().find(|e| e.key == entry.key) {
            None => host.push(entry.clone()),
            Some(own) => {
                if let (Value::Table(own), Value::Table(theirs)) = (&mut own.node.value, &entry.node.value) {
                    merge(own, theirs);
                }
            }
        }
    }
}

/// Takes what is not a host's out of a device, and holds every number against its origin.
fn take_origins(root: &mut Node, findings: &mut Vec<Diagnostic>) -> Vec<DeviceNumber> {
    let Value::Table(entries) = &mut root.value else {
        return Vec::new();
    };
    let mut origins = BTreeMap::new();
    for entry in entries.iter().filter(|e| e.key == "origin") {
        leaves(&entry.node, "", &mut |key, node| {
            origins.insert(key.to_owned(), node.clone());
        });
    }
    for entry in entries.iter().filter(|e| OWN[..2].contains(&e.key.as_str())) {
        let _ = String::read(&entry.node, findings);
    }
    entries.retain(|e| !OWN.contains(&e.key.as_str()));
    for entry in entries.iter().filter(|e| NOT_A_DEVICE.contains(&e.key.as_str())) {
        let message = format!("`{}` is a host's to say, not a device's", entry.key);
        findings.push(entry.key_place.finding(Severity::Error, "unknown-key", message));
    }
    let mut numbers = Vec::new();
    leaves(root, "", &mut |key, node| {
        let Some(value) = number(&node.value) else { return };
        let Some(origin) = origins.remove(key) else {
            let message = format!("the number `{key}` has no origin");
            let finding = node.place.error("no-origin", message);
            findings.push(finding.expecting(format!(
                "origin.{key} = \"published: where\", \"derived: the arithmetic\" or \"fitted: to which figure\""
            )));
            return;
        };
        let said = match &origin.value {
            Value::Text(said) => said.as_str(),
            _ => "",
        };
        let split = ORIGINS
            .iter()
            .find_map(|o| said.strip_prefix(o).map(|rest| (o, rest.trim())));
        match split {
            Some((origin, reason)) if !reason.is_empty() => numbers.push(DeviceNumber {
                key: key.to_owned(),
                value,
                origin: origin.trim_end_matches([':', ' ']).to_owned(),
                reason: reason.to_owned(),
            }),
            _ => {
                let finding = origin.place.error("origin", "this says no origin");
                findings.push(finding.expecting(
                    "\"published: where\", \"derived: the arithmetic\" or \"fitted: to which figure\"",
                ));
            }
        }
    });
    for (key, node) in origins {
        let message = format!("the origin `{key}` belongs to no number of this device");
        findings.push(node.place.error("unused-key", message));
    }
    numbers
}

/// Calls `each` for every value that is no table, with the keys that lead to it. Values of an array share its key.
fn leaves(node: &Node, path: &str, each: &mut dyn FnMut(&str, &Node)) {
    let Value::Table(entries) = &node.value else {
        each(path, node);
        return;
    };
    for entry in entries {
        let key = if path.is_empty() {
            entry.key.clone()
        } else {
            format!("{path}.{}", entry.key)
        };
        leaves(&entry.node, &key, each);
    }
}

/// A number as it stands in the text: plain, with a unit, or in an array. Words and truth values are none.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::Integer(n) => Some(n.to_string()),
        Value::Float(x) => Some(x.to_string()),
        Value::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) => Some(text.clone()),
        Value::Array(items) => {
            let mut found = Vec::new();
            for item in items {
                leaves(item, "", &mut |_, leaf| found.extend(number(&leaf.value)));
            }
            (!found.is_empty()).then(|| found.join(", "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_str;
    use clearway_core::Duration;

    const DEVICE: &str = r#"
title = "A card"
stack_delay = "1us"
[stack]
kind = "user-space"
receive = { per_packet = "300ns" }
transmit = { per_packet = "200ns" }
receive_ring = 512
[nic]
receive_buffer = "256KiB"
pause = "ignore"
[origin]
stack_delay = "fitted: to the mean"
stack.receive.per_packet = "derived: 1 s / 3.3 M"
stack.transmit.per_packet = "fitted: to the mean"
stack.receive_ring = "published: data sheet"
nic.receive_buffer = "published: data sheet"
"#;
    const SCENARIO: &str = r#"
duration = "1ms"
[host.a]
device = "d.toml"
[host.b]
device = "d.toml"
stack = { receive_ring = 8, transmit = { per_packet = "100ns" } }
[link.cable]
ends = ["a", "b"]
rate = "10Gbit/s"
"#;

    fn load(device: &str, scenario: &str) -> Result<crate::Loaded, Vec<Diagnostic>> {
        load_str(scenario, "s.toml", &[], &|path| match path {
            "d.toml" => Ok(device.as_bytes().to_vec()),
            _ => Err(format!("there is no {path}")),
        })
    }

    fn first(device: &str) -> String {
        match load(device, SCENARIO) {
            Ok(_) => "no finding".to_owned(),
            Err(findings) => findings[0].to_string(),
        }
    }

    #[test]
    fn a_host_has_what_its_device_has_and_what_it_says_itself_goes_first() {
        let loaded = load(DEVICE, SCENARIO).unwrap_or_else(|e| panic!("{}", e[0]));
        let [a, b] = loaded.scenario.hosts.as_slice() else {
            panic!("two hosts")
        };
        let stack = |host: &crate::scenario::Host| host.stack.clone().unwrap_or_else(|| panic!("a stack"));
        assert_eq!(
            (stack(a).receive_ring_frames, stack(b).receive_ring_frames),
            (512, 8)
        );
        assert_eq!(stack(a).transmit.per_packet, Duration::from_ns(200));
        assert_eq!(stack(b).transmit.per_packet, Duration::from_ns(100));
        assert_eq!(stack(b).receive.per_packet, Duration::from_ns(300));
        assert_eq!(
            (a.stack_delay_rx, b.nic.receive_buffer_bytes),
            (Duration::from_us(1), 256 << 10)
        );
    }

    #[test]
    fn the_hash_is_of_the_device_too() {
        let hash = |device: &str| load(device, SCENARIO).map(|l| l.hash).unwrap_or(0);
        assert_ne!(hash(DEVICE), hash(&DEVICE.replace("300ns", "301ns")));
    }

    #[test]
    fn every_number_comes_with_its_origin() {
        let numbers = load_device_str(DEVICE, "d.toml").unwrap_or_else(|e| panic!("{}", e[0]));
        assert_eq!(numbers.len(), 5);
        assert_eq!(numbers[1].key, "stack.receive.per_packet");
        assert_eq!(
            (numbers[1].value.as_str(), numbers[1].origin.as_str()),
            ("300ns", "derived")
        );
        assert_eq!(numbers[1].reason, "1 s / 3.3 M");
    }

    #[test]
    fn a_number_without_an_origin_is_refused_by_name() {
        let found = first(&DEVICE.replace("stack.receive_ring = \"published: data sheet\"\n", ""));
        assert!(
            found.contains("the number `stack.receive_ring` has no origin"),
            "{found}"
        );
        assert!(found.contains("d.toml:8:16"), "{found}");
        let found = first(&DEVICE.replace("published: data sheet", "somewhere"));
        assert!(found.contains("this says no origin"), "{found}");
        let found = first(&DEVICE.replace("fitted: to the mean", "fitted: "));
        assert!(found.contains("this says no origin"), "{found}");
    }

    #[test]
    fn what_a_device_cannot_say_is_refused() {
        let found = first(&format!("{DEVICE}nic.rate = \"published: nowhere\"\n"));
        assert!(found.contains("belongs to no number"), "{found}");
        let found = first(&DEVICE.replace("title", "count = 3\ntitle"));
        assert!(found.contains("`count`"), "{found}");
        let found = first(&DEVICE.replace("receive_buffer =", "receive_bufer ="));
        assert!(found.contains("receive_bufer"), "{found}");
        let found = match load(DEVICE, &SCENARIO.replace("d.toml", "e.toml")) {
            Ok(_) => String::new(),
            Err(findings) => findings[0].to_string(),
        };
        assert!(found.contains("there is no e.toml"), "{found}");
    }
}
