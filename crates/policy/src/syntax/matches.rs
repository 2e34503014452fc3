//! The keys of a classifier rule, and how addresses, code points and ports are written.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{Definitions, Field, OneOrMany, Whole, table, wrong_kind};
use serde_json::json;

table! {
    /// A rule: every condition that is there must hold.
    MatchText {
        /// The class that it leads to (rules at the top of the file).
        class: String,
        /// Destination MAC address.
        dst_mac: MacAddress,
        /// Source MAC address.
        src_mac: MacAddress,
        /// VLAN identifier; 0 for untagged and priority-tagged frames.
        vlan: Whole<0, 4094>,
        /// Priority code points: 5, [4, 5] or "4-7".
        pcp: PcpSet,
        /// EtherType: 0x0800, or a name.
        ethertype: EtherType,
        /// Source prefix, such as "10.0.0.0/8".
        src_ip: Prefix,
        /// Destination prefix, such as "2001:db8::/32".
        dst_ip: Prefix,
        /// Differentiated services code points: 46, "EF", ["AF41", "CS1"] or "8-15".
        dscp: DscpSet,
        /// IP protocol: 17, or "udp".
        protocol: Protocol,
        /// Source port, or ports: 445, "5000-5999", or a list.
        src_port: OneOrMany<PortRange>,
        /// Destination port, or ports.
        dst_port: OneOrMany<PortRange>,
    }
}

/// A MAC address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacAddress(pub(crate) u64);
/// Priority code points, one bit each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PcpSet(pub(crate) u8);
/// Differentiated services code points, one bit each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DscpSet(pub(crate) u64);
/// An EtherType.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EtherType(pub(crate) u16);
/// An IP protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol(pub(crate) u8);
/// An IP prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix(pub(crate) clearway_core::plan::IpPrefix);
/// First and last port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortRange(pub(crate) u16, pub(crate) u16);

const DSCP_NAMES: [(&str, u64); 22] = [
    ("CS0", 0),
    ("CS1", 8),
    ("CS2", 16),
    ("CS3", 24),
    ("CS4", 32),
    ("CS5", 40),
    ("CS6", 48),
    ("CS7", 56),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("EF", 46),
    ("LE", 1),
];
const ETHERTYPES: [(&str, u64); 5] = [
    ("ipv4", 0x0800),
    ("arp", 0x0806),
    ("ipv6", 0x86DD),
    ("roce", 0x8915),
    ("ptp", 0x88F7),
];
const PROTOCOLS: [(&str, u64); 6] = [
    ("icmp", 1),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("icmpv6", 58),
    ("sctp", 132),
];

/// Reads a number from 0 to `most`, a name, or (where `ranges`) "first-last"; a list of them where `lists`.
fn code_points(
    node: &Node,
    names: &[(&str, u64)],
    most: u64,
    expected: &str,
    lists: bool,
    findings: &mut Vec<Diagnostic>,
) -> Option<u64> {
    let one = |text: &str| -> Option<u64> {
        names
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text.trim()))
            .map(|(_, value)| *value)
            .or_else(|| text.trim().parse::<u64>().ok().filter(|n| *n <= most))
    };
    match &node.value {
        Value::Integer(n) => match u64::try_from(*n).ok().filter(|n| *n <= most) {
            Some(n) => Some(1 << n),
            None => {
                findings.push(
                    node.place
                        .error("range", format!("{n} is out of range"))
                        .expecting(expected),
                );
                None
            }
        },
        Value::Text(text) => {
            let range = match text.split_once('-') {
                Some((first, last)) => one(first).zip(one(last)),
                None => one(text).map(|n| (n, n)),
            };
            match range {
                Some((first, last)) if first <= last => Some((first..=last).fold(0, |set, n| set | 1 << n)),
                _ => {
                    let mut finding = node
                        .place
                        .error("unknown-word", format!("`{text}` is not known here"))
                        .expecting(expected);
                    finding.suggestion =
                        crate::diagnostic::nearest(text, names.iter().map(|(name, _)| *name))
                            .map(str::to_owned);
                    findings.push(finding);
                    None
                }
            }
        }
        Value::Array(items) if lists && !items.is_empty() => {
            let mut set = Some(0);
            for item in items {
                // All of them are read, whatever was wrong with one.
                let one = code_points(item, names, most, expected, false, findings);
                set = set.zip(one).map(|(set, one)| set | one);
            }
            set
        }
        _ => {
            findings.push(wrong_kind(node, expected));
            None
        }
    }
}

/// Reads one number from 0 to `most`, or a name for it.
fn number_or_name(
    node: &Node,
    names: &[(&str, u64)],
    most: u64,
    expected: &str,
    findings: &mut Vec<Diagnostic>,
) -> Option<u64> {
    let found = match &node.value {
        Value::Integer(n) => u64::try_from(*n).ok(),
        Value::Text(text) => names
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, value)| *value)
            .or_else(|| match text.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            }),
        _ => None,
    };
    if let Some(n) = found.filter(|n| *n <= most) {
        return Some(n);
    }
    let mut finding = node
        .place
        .error("range", "this is not known here")
        .expecting(expected);
    if let Value::Text(text) = &node.value {
        finding.suggestion =
            crate::diagnostic::nearest(text, names.iter().map(|(name, _)| *name)).map(str::to_owned);
    }
    findings.push(finding);
    None
}

const PCP_EXPECTED: &str = "a priority from 0 to 7, a range such as \"4-7\", or a list";
const DSCP_EXPECTED: &str =
    "a code point from 0 to 63, a name such as \"EF\", a range such as \"8-15\", or a list";

impl Field for PcpSet {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let set = code_points(node, &[], 7, PCP_EXPECTED, true, findings)?;
        u8::try_from(set).ok().map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        let one = json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 7 },
            { "type": "string", "pattern": "^[0-7](-[0-7])?$" },
        ] });
        json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl Field for DscpSet {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        code_points(node, &DSCP_NAMES, 63, DSCP_EXPECTED, true, findings).map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        let one =
            json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "type": "string" }] });
        json!({ "anyOf": [one.clone(), { "type": "array", "items": one, "minItems": 1 }] })
    }
}

impl Field for EtherType {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let expected = "an EtherType such as 0x0800, or ipv4, arp, ipv6, roce, ptp";
        let n = number_or_name(node, &ETHERTYPES, 0xFFFF, expected, findings)?;
        u16::try_from(n).ok().map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 65535 }, { "type": "string" }] })
    }
}

impl Field for Protocol {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let expected = "an IP protocol from 0 to 255, or icmp, tcp, udp, dccp, icmpv6, sctp";
        let n = number_or_name(node, &PROTOCOLS, 255, expected, findings)?;
        u8::try_from(n).ok().map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 255 }, { "type": "string" }] })
    }
}

impl Field for MacAddress {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        if let Value::Text(text) = &node.value {
            let parts: Vec<&str> = text.split([':', '-']).collect();
            let bytes: Vec<u8> = parts
                .iter()
                .filter(|p| p.len() == 2 && p.chars().all(|c| c.is_ascii_hexdigit()))
                .filter_map(|p| u8::from_str_radix(p, 16).ok())
                .collect();
            if parts.len() == 6 && bytes.len() == 6 {
                return Some(Self(bytes.iter().fold(0, |mac, b| mac << 8 | u64::from(*b))));
            }
        }
        findings.push(
            node.place
                .error("address", "this is no MAC address")
                .expecting("such as \"02:00:00:00:00:01\""),
        );
        None
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$" })
    }
}

impl Field for Prefix {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let expected = "an address or prefix such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
        let Value::Text(text) = &node.value else {
            findings.push(wrong_kind(node, expected));
            return None;
        };
        let (address, length) = text
            .split_once('/')
            .map_or((text.as_str(), None), |(a, l)| (a, Some(l)));
        let (version, bits, address) = match address.parse::<std::net::IpAddr>() {
            Ok(std::net::IpAddr::V4(a)) => (4, 32_u8, u128::from(u32::from(a))),
            Ok(std::net::IpAddr::V6(a)) => (6, 128_u8, u128::from(a)),
            Err(_) => {
                findings.push(
                    node.place
                        .error("address", "this is no IP address")
                        .expecting(expected),
                );
                return None;
            }
        };
        let Some(length) = length
            .map_or(Some(bits), |l| l.parse().ok())
            .filter(|l| *l <= bits)
        else {
            let finding = node.place.error("address", "the prefix length is wrong");
            findings.push(finding.expecting(format!("a length from 0 to {bits}")));
            return None;
        };
        let host_bits = u32::from(bits - length);
        let stray = if host_bits == 0 {
            0
        } else {
            address << (128 - host_bits)
        };
        if stray != 0 {
            findings.push(
                node.place
                    .error("address", format!("the address has bits beyond its /{length}"))
                    .expecting("zeros there, or a longer prefix"),
            );
            return None;
        }
        Some(Self(clearway_core::plan::IpPrefix {
            version,
            address,
            length,
        }))
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

impl Field for PortRange {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let expected = "a port from 0 to 65535, or a range such as \"5000-5999\"";
        let range = match &node.value {
            Value::Integer(n) => u16::try_from(*n).ok().map(|n| (n, n)),
            Value::Text(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                first.trim().parse().ok().zip(last.trim().parse().ok())
            }
            _ => None,
        };
        if let Some((first, last)) = range.filter(|(first, last)| first <= last) {
            return Some(Self(first, last));
        }
        findings.push(node.place.error("range", "this is no port").expecting(expected));
        None
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 65535 },
            { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" },
        ] })
    }
}
