//! The classifier: ordered rules over frame fields, compiled once, first match wins.
//!
//! Classification by bit vectors (Lakshman and Stiliadis, "High-speed policy-based packet forwarding using efficient
//! multi-dimensional range matching", SIGCOMM 1998). For each field that some rule looks at, the values fall into
//! intervals on which the set of agreeing rules is constant; the interval is found by binary search, or directly
//! for priority, DSCP and protocol, and gives a bitmap of rules. The first rule that all bitmaps agree on is the
//! answer. A field that no rule looks at costs nothing. Each bitmap of several words is preceded by a summary, one bit
//! a word (Baboescu and Varghese, "Scalable packet classification", SIGCOMM 2001): 4,096 rules are 64 words and one
//! summary, and only words that no field rules out are looked at.
//!
//! Equal bitmaps are stored once. A frame with a field outside its range (a priority of 9, an IP version of 5)
//! matches only rules that do not look at the field. Left out: ranges of MAC addresses, and patterns inside the
//! payload.

use crate::key::FlowKey;
use crate::plan::{IpPrefix, NodeKind, NodePlan, PlanError, PlanItem, Rule, RuleMatch};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// Most rules of one plan.
pub const RULES_MAX: usize = 4096;

/// Fields that a rule can look at.
const FIELDS: usize = 11;
/// IP protocols whose first four bytes are the two ports: TCP, UDP, DCCP, SCTP.
const PORT_PROTOCOLS: [u8; 4] = [6, 17, 33, 132];

/// Compiled rules.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// Words of one bitmap, at most 64; the summary comes before them.
    words: usize,
    /// Distinct bitmaps, one after the other: a summary whose bit `w` says that word `w` is not zero, and the words,
    /// in which bit `i` stands for rule `i`.
    bitmaps: Vec<u64>,
    /// One table for each field that some rule looks at.
    tables: Vec<Table>,
    /// The queue of each rule.
    queues: Vec<u32>,
}

/// Where a bitmap starts in [`Classifier::bitmaps`].
type Row = usize;

/// From the value of one field to the bitmap of the rules that accept it.
#[derive(Clone, Debug)]
enum Table {
    DstMac(Intervals<u64>),
    SrcMac(Intervals<u64>),
    Vlan(Intervals<u64>),
    Pcp(Direct),
    EtherType(Intervals<u64>),
    SrcIp(Addresses),
    DstIp(Addresses),
    Dscp(Direct),
    Protocol(Direct),
    SrcPort(Intervals<u64>),
    DstPort(Intervals<u64>),
}

/// `rows[i]` holds from `bounds[i - 1]` up to, not including, `bounds[i]`. There is one more row than bounds.
#[derive(Clone, Debug)]
struct Intervals<V> {
    bounds: Vec<V>,
    rows: Vec<Row>,
    /// For frames without the field.
    absent: Row,
}

/// One row a value, and one for frames without the field.
#[derive(Clone, Debug)]
struct Direct {
    rows: Vec<Row>,
    absent: Row,
}

#[derive(Clone, Debug)]
struct Addresses {
    v4: Intervals<u64>,
    v6: Intervals<u128>,
}

impl Classifier {
    /// Compiles rules that [`validate`] accepted. Rules that it would refuse match nothing or less than they say;
    /// those beyond [`RULES_MAX`] are left out.
    #[must_use]
    pub fn compile(rules: &[Rule]) -> Self {
        let rules = rules.get(..RULES_MAX).unwrap_or(rules);
        let mut build = Builder::new(rules);
        let exact = |value: u64| (value, value);
        let ports = |(first, last): (u16, u16)| (u64::from(first), u64::from(last));
        build.intervals(|m| m.dst_mac.map(exact), Table::DstMac);
        build.intervals(|m| m.src_mac.map(exact), Table::SrcMac);
        build.intervals(|m| m.vlan_id.map(|v| exact(v.into())), Table::Vlan);
        build.direct(
            8,
            |m, v| m.pcp.map(|mask| u64::from(mask) >> v & 1 == 1),
            Table::Pcp,
        );
        build.intervals(|m| m.ethertype.map(|v| exact(v.into())), Table::EtherType);
        build.addresses(|m| m.src_ip, Table::SrcIp);
        build.addresses(|m| m.dst_ip, Table::DstIp);
        build.direct(64, |m, v| m.dscp.map(|mask| mask >> v & 1 == 1), Table::Dscp);
        build.direct(256, |m, v| m.protocol.map(|p| u64::from(p) == v), Table::Protocol);
        build.intervals(|m| m.src_port.map(ports), Table::SrcPort);
        build.intervals(|m| m.dst_port.map(ports), Table::DstPort);
        Self {
            words: build.words,
            bitmaps: build.bitmaps,
            tables: build.tables,
            queues: rules.iter().map(|r| r.queue).collect(),
        }
    }

    /// Index of the first rule that the frame matches.
    #[must_use]
    pub fn matches(&self, key: &FlowKey) -> Option<u32> {
        if self.words <= 1 {
            let agreed = self
                .tables
                .iter()
                .fold(self.all(), |all, table| all & self.word(table.row(key), 0));
            return (agreed != 0).then(|| agreed.trailing_zeros());
        }
        let mut rows = [0; FIELDS];
        let mut agreed_words = self.all();
        for (row, table) in rows.iter_mut().zip(&self.tables) {
            *row = table.row(key);
            agreed_words &= self.summary(*row);
        }
        let rows = rows.get(..self.tables.len())?;
        while agreed_words != 0 {
            let word = agreed_words.trailing_zeros();
            let agreed = rows.iter().fold(u64::MAX, |all, row| all & self.word(*row, word));
            if agreed != 0 {
                return Some(word * u64::BITS + agreed.trailing_zeros());
            }
            agreed_words &= agreed_words - 1;
        }
        None
    }

    /// The queue of a rule, as [`Rule::queue`] says.
    #[must_use]
    pub fn queue_of(&self, rule: u32) -> Option<u32> {
        self.queues.get(usize::try_from(rule).ok()?).copied()
    }

    /// Number of rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// True without any rule: no frame matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// What no field rules out at first: everything, unless there are no rules. Without any table the first rule
    /// matches every frame.
    const fn all(&self) -> u64 {
        if self.queues.is_empty() { 0 } else { u64::MAX }
    }

    fn summary(&self, row: Row) -> u64 {
        self.bitmaps.get(row).copied().unwrap_or(0)
    }

    fn word(&self, row: Row, word: u32) -> u64 {
        self.bitmaps.get(row + 1 + word as usize).copied().unwrap_or(0)
    }
}

impl Table {
    fn row(&self, key: &FlowKey) -> Row {
        match self {
            Self::DstMac(t) => t.row(key.dst_mac),
            Self::SrcMac(t) => t.row(key.src_mac),
            Self::Vlan(t) => t.row(u64::from(if key.tagged { key.vlan_id } else { 0 })),
            Self::Pcp(t) => t.row(if key.tagged { key.pcp } else { 0 }),
            Self::EtherType(t) => t.row(key.ethertype.into()),
            Self::SrcIp(t) => t.row(key.ip_version, key.src_ip),
            Self::DstIp(t) => t.row(key.ip_version, key.dst_ip),
            Self::Dscp(t) if is_ip(key) => t.row(key.dscp),
            Self::Protocol(t) if is_ip(key) => t.row(key.protocol),
            Self::Dscp(t) | Self::Protocol(t) => t.absent,
            Self::SrcPort(t) if has_ports(key) => t.row(key.src_port.into()),
            Self::DstPort(t) if has_ports(key) => t.row(key.dst_port.into()),
            Self::SrcPort(t) | Self::DstPort(t) => t.absent,
        }
    }
}

const fn is_ip(key: &FlowKey) -> bool {
    matches!(key.ip_version, 4 | 6)
}

fn has_ports(key: &FlowKey) -> bool {
    is_ip(key) && PORT_PROTOCOLS.contains(&key.protocol)
}

impl<V: Copy + Ord> Intervals<V> {
    fn row(&self, value: V) -> Row {
        let passed = self.bounds.partition_point(|b| *b <= value);
        self.rows.get(passed).copied().unwrap_or(self.absent)
    }
}

impl Direct {
    fn row(&self, value: u8) -> Row {
        self.rows.get(usize::from(value)).copied().unwrap_or(self.absent)
    }
}

impl Addresses {
    fn row(&self, version: u8, address: u128) -> Row {
        match version {
            4 => u64::try_from(address).map_or(self.v4.absent, |a| self.v4.row(a)),
            6 => self.v6.row(address),
            _ => self.v6.absent,
        }
    }
}

/// First and last address of a prefix of this version; `None` where the prefix is of the other.
fn address_range(prefix: IpPrefix, version: u8) -> Option<(u128, u128)> {
    let bits = address_bits(version)?;
    if prefix.version != version || prefix.length > bits {
        return None;
    }
    let host = host_mask(bits - prefix.length);
    Some((prefix.address & !host, prefix.address | host))
}

const fn address_bits(version: u8) -> Option<u8> {
    match version {
        4 => Some(32),
        6 => Some(128),
        _ => None,
    }
}

/// The low `bits` bits, at most 128.
fn host_mask(bits: u8) -> u128 {
    1u128.checked_shl(bits.into()).map_or(u128::MAX, |bit| bit - 1)
}

/// Collects bitmaps and tables.
struct Builder<'a> {
    rules: &'a [Rule],
    words: usize,
    bitmaps: Vec<u64>,
    /// Where each distinct bitmap was put.
    known: BTreeMap<Vec<u64>, Row>,
    tables: Vec<Table>,
}

impl<'a> Builder<'a> {
    fn new(rules: &'a [Rule]) -> Self {
        let words = rules.len().div_ceil(64);
        Self {
            rules,
            words,
            bitmaps: Vec::new(),
            known: BTreeMap::new(),
            tables: Vec::new(),
        }
    }

    fn keep(&mut self, bitmap: &[u64]) -> Row {
        if let Some(row) = self.known.get(bitmap) {
            return *row;
        }
        let row = self.bitmaps.len();
        let summary = (0..)
            .zip(bitmap)
            .fold(0, |bits, (at, word)| bits | u64::from(*word != 0) << (at & 63));
        self.bitmaps.push(summary);
        self.bitmaps.extend_from_slice(bitmap);
        self.known.insert(bitmap.to_vec(), row);
        row
    }

    /// The bitmap of the rules that `pick` accepts.
    fn bitmap_of(&self, pick: impl Fn(&RuleMatch) -> bool) -> Vec<u64> {
        let mut bitmap = vec![0; self.words];
        for (rule, _) in self.rules.iter().enumerate().filter(|(_, r)| pick(&r.matches)) {
            flip(&mut bitmap, rule);
        }
        bitmap
    }

    fn intervals(
        &mut self,
        range: impl Fn(&RuleMatch) -> Option<(u64, u64)>,
        table: fn(Intervals<u64>) -> Table,
    ) {
        if self.rules.iter().any(|r| range(&r.matches).is_some()) {
            let any = self.bitmap_of(|m| range(m).is_none());
            let intervals = self.sweep(any, range);
            self.tables.push(table(intervals));
        }
    }

    fn addresses(&mut self, prefix: impl Fn(&RuleMatch) -> Option<IpPrefix>, table: fn(Addresses) -> Table) {
        if self.rules.iter().any(|r| prefix(&r.matches).is_some()) {
            let any = self.bitmap_of(|m| prefix(m).is_none());
            let v4 = self.sweep(any.clone(), |m| {
                let (first, last) = prefix(m).and_then(|p| address_range(p, 4))?;
                Some((u64::try_from(first).ok()?, u64::try_from(last).ok()?))
            });
            let v6 = self.sweep(any, |m| prefix(m).and_then(|p| address_range(p, 6)));
            self.tables.push(table(Addresses { v4, v6 }));
        }
    }

    /// `accepts` says whether a rule takes a value; `None` where the rule does not look at the field.
    fn direct(
        &mut self,
        values: u64,
        accepts: impl Fn(&RuleMatch, u64) -> Option<bool>,
        table: fn(Direct) -> Table,
    ) {
        if self.rules.iter().all(|r| accepts(&r.matches, 0).is_none()) {
            return;
        }
        let absent = self.bitmap_of(|m| accepts(m, 0).is_none());
        let absent = self.keep(&absent);
        let rows = (0..values).map(|value| {
            let bitmap = self.bitmap_of(|m| accepts(m, value).unwrap_or(true));
            self.keep(&bitmap)
        });
        let rows = rows.collect();
        self.tables.push(table(Direct { rows, absent }));
    }

    /// Walks up the values with the set of agreeing rules, which changes where a range begins and after it ends.
    /// `any` are the rules that do not look at the field.
    fn sweep<V: Bound>(
        &mut self,
        any: Vec<u64>,
        range: impl Fn(&RuleMatch) -> Option<(V, V)>,
    ) -> Intervals<V> {
        let mut edges: Vec<(V, usize)> = Vec::new();
        for (rule, r) in self.rules.iter().enumerate() {
            let Some((first, last)) = range(&r.matches).filter(|(first, last)| first <= last) else {
                continue;
            };
            edges.push((first, rule));
            edges.extend(last.next().map(|after| (after, rule)));
        }
        edges.sort_unstable();
        let absent = self.keep(&any);
        let mut agreeing = any;
        let mut bounds = Vec::new();
        let mut rows = vec![absent];
        for same_value in edges.chunk_by(|a, b| a.0 == b.0) {
            for (_, rule) in same_value {
                flip(&mut agreeing, *rule);
            }
            bounds.extend(same_value.first().map(|edge| edge.0));
            rows.push(self.keep(&agreeing));
        }
        Intervals { bounds, rows, absent }
    }
}

fn flip(bitmap: &mut [u64], rule: usize) {
    if let Some(word) = bitmap.get_mut(rule / 64) {
        *word ^= 1 << (rule % 64);
    }
}

/// A value of a field that has intervals.
trait Bound: Copy + Ord {
    fn next(self) -> Option<Self>;
}
impl Bound for u64 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}
impl Bound for u128 {
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// Checks the rules of a plan, their queues included.
///
/// # Errors
/// Names the rule and the field that no frame could carry, or the queue that is not one.
pub fn validate(rules: &[Rule], nodes: &[NodePlan]) -> Result<(), PlanError> {
    validate_conditions(rules)?;
    for (index, rule) in (0u32..).zip(rules) {
        let node = usize::try_from(rule.queue).ok().and_then(|q| nodes.get(q));
        if !node.is_some_and(|n| matches!(n.kind, NodeKind::Queue(_))) {
            return Err(error(index, "queue", "the index of a queue of this plan"));
        }
    }
    Ok(())
}

/// Checks the conditions of rules; their queues are the caller's matter.
///
/// # Errors
/// Names the rule and the field that no frame could carry.
pub fn validate_conditions(rules: &[Rule]) -> Result<(), PlanError> {
    if rules.len() > RULES_MAX {
        return Err(PlanError {
            at: None,
            field: "rules",
            expected: "at most 4096 rules",
        });
    }
    for (index, rule) in (0u32..).zip(rules) {
        let m = &rule.matches;
        let mac = |mac: Option<u64>| mac.is_none_or(|m| m < 1 << 48);
        let ordered = |ports: Option<(u16, u16)>| ports.is_none_or(|(first, last)| first <= last);
        let checks = [
            (mac(m.dst_mac), "dst_mac", "a MAC address of 48 bits"),
            (mac(m.src_mac), "src_mac", "a MAC address of 48 bits"),
            (
                m.vlan_id.is_none_or(|v| v <= 4094),
                "vlan_id",
                "0 to 4094 (4095 is reserved)",
            ),
            (m.pcp != Some(0), "pcp", "at least one priority code point"),
            (
                m.dscp != Some(0),
                "dscp",
                "at least one differentiated services code point",
            ),
            (
                ordered(m.src_port),
                "src_port",
                "a first port that is not above the last",
            ),
            (
                ordered(m.dst_port),
                "dst_port",
                "a first port that is not above the last",
            ),
        ];
        for (good, field, expected) in checks {
            if !good {
                return Err(error(index, field, expected));
            }
        }
        validate_prefix(m.src_ip, index, "src_ip")?;
        validate_prefix(m.dst_ip, index, "dst_ip")?;
        let versions = [m.src_ip, m.dst_ip].map(|p| p.map(|p| p.version));
        if let [Some(src), Some(dst)] = versions
            && src != dst
        {
            return Err(error(
                index,
                "dst_ip",
                "a prefix of the same IP version as src_ip",
            ));
        }
    }
    Ok(())
}

fn validate_prefix(prefix: Option<IpPrefix>, rule: u32, field: &'static str) -> Result<(), PlanError> {
    let Some(prefix) = prefix else { return Ok(()) };
    let Some(bits) = address_bits(prefix.version) else {
        return Err(error(rule, field, "IP version 4 or 6"));
    };
    if prefix.length > bits {
        return Err(error(
            rule,
            field,
            "a prefix length of at most 32 (IPv4) or 128 (IPv6)",
        ));
    }
    if prefix.address & !host_mask(bits) != 0 {
        return Err(error(rule, field, "an IPv4 address in the low 32 bits"));
    }
    if prefix.address & host_mask(bits - prefix.length) != 0 {
        return Err(error(rule, field, "no address bits beyond the prefix length"));
    }
    Ok(())
}

const fn error(rule: u32, field: &'static str, expected: &'static str) -> PlanError {
    PlanError {
        at: Some(PlanItem::Rule(rule)),
        field,
        expected,
    }
}

#[cfg(test)]
#[path = "classifier_tests.rs"]
mod tests;
