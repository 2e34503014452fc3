//! Tests of the classifier: a plain linear matcher beside it, on values that sit on and beside every boundary.

use super::*;
use crate::plan::{Accounting, QueueMode, QueuePlan};

/// SplitMix64: the same draws on every machine.
struct Draw(u64);
impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// The meaning of a rule, field by field, as `RuleMatch` documents it.
fn rule_holds(m: &RuleMatch, k: &FlowKey) -> bool {
    let ip = k.ip_version == 4 || k.ip_version == 6;
    let ports = ip && [6, 17, 33, 132].contains(&k.protocol);
    let (vlan, pcp) = if k.tagged { (k.vlan_id, k.pcp) } else { (0, 0) };
    let prefix = |p: Option<IpPrefix>, address: u128| match p {
        None => true,
        Some(p) if p.version != k.ip_version => false,
        Some(p) => {
            let drop = u32::from(if p.version == 4 { 32 } else { 128 } - p.length);
            let head = |a: u128| a.checked_shr(drop).unwrap_or(0);
            head(address) == head(p.address)
        }
    };
    let in_range = |r: Option<(u16, u16)>, port: u16| r.is_none_or(|(a, b)| ports && a <= port && port <= b);
    m.dst_mac.is_none_or(|v| v == k.dst_mac)
        && m.src_mac.is_none_or(|v| v == k.src_mac)
        && m.vlan_id.is_none_or(|v| v == vlan)
        && m.pcp.is_none_or(|mask| pcp < 8 && mask & (1 << pcp) != 0)
        && m.ethertype.is_none_or(|v| v == k.ethertype)
        && prefix(m.src_ip, k.src_ip)
        && prefix(m.dst_ip, k.dst_ip)
        && m.dscp
            .is_none_or(|mask| ip && k.dscp < 64 && mask & (1 << k.dscp) != 0)
        && m.protocol.is_none_or(|v| ip && v == k.protocol)
        && in_range(m.src_port, k.src_port)
        && in_range(m.dst_port, k.dst_port)
}

fn linear(rules: &[Rule], key: &FlowKey) -> Option<u32> {
    rules
        .iter()
        .position(|r| rule_holds(&r.matches, key))
        .map(|i| i as u32)
}

fn random_prefix(d: &mut Draw) -> IpPrefix {
    let version = d.of(&[4, 4, 6]);
    let bits: u8 = if version == 4 { 32 } else { 128 };
    let length = d.of(&[0, 1, 8, 15, 16, 24, 31, 32, 64, 127, 128]).min(bits);
    // Few distinct heads, so that prefixes nest and meet; both ends of the space are among them.
    let raw = match d.below(4) {
        0 => 0,
        1 => u128::MAX,
        _ => u128::from(d.below(4)) * 0x0101_0101_0101_0101_0101_0101_0101_0101,
    };
    let address = raw & host_mask(bits) & !host_mask(bits - length);
    IpPrefix {
        version,
        address,
        length,
    }
}

fn random_ports(d: &mut Draw) -> (u16, u16) {
    let a = d.of(&[0, 1, 79, 80, 81, 443, 1023, 1024, 65534, 65535]);
    let b = d.of(&[0, 80, 443, 1024, 65535]);
    (a.min(b), a.max(b))
}

fn random_match(d: &mut Draw, sparse: u64) -> RuleMatch {
    let mut m = RuleMatch::default();
    if d.one_in(sparse) {
        m.dst_mac = Some(d.of(&[0, 1, 2, 0xFFFF_FFFF_FFFF]));
    }
    if d.one_in(sparse) {
        m.src_mac = Some(d.below(4));
    }
    if d.one_in(sparse) {
        m.vlan_id = Some(d.of(&[0, 1, 2, 4093, 4094]));
    }
    if d.one_in(sparse) {
        m.pcp = Some(d.below(255) as u8 + 1);
    }
    if d.one_in(sparse) {
        m.ethertype = Some(d.of(&[0, 0x0800, 0x86DD, 0xFFFF]));
    }
    if d.one_in(sparse) {
        m.src_ip = Some(random_prefix(d));
    }
    if d.one_in(sparse) {
        m.dst_ip = Some(random_prefix(d));
        if let (Some(src), Some(dst)) = (m.src_ip, m.dst_ip)
            && src.version != dst.version
        {
            m.src_ip = None;
        }
    }
    if d.one_in(sparse) {
        m.dscp = Some(d.next() | 1);
    }
    if d.one_in(sparse) {
        m.protocol = Some(d.of(&[0, 1, 6, 17, 33, 132, 255]));
    }
    if d.one_in(sparse) {
        m.src_port = Some(random_ports(d));
    }
    if d.one_in(sparse) {
        m.dst_port = Some(random_ports(d));
    }
    m
}

/// A key near the boundaries of one of the rules: each field on an edge, one beside it, or anything.
fn key_near(d: &mut Draw, m: &RuleMatch) -> FlowKey {
    let near = |d: &mut Draw, v: u128| match d.below(6) {
        0 => v.wrapping_add(1),
        1 => v.wrapping_sub(1),
        _ => v,
    };
    let address = |d: &mut Draw, p: Option<IpPrefix>| match p {
        Some(p) => {
            let (first, last) = address_range(p, p.version).expect("a valid prefix");
            let v = d.of(&[first, last]);
            near(d, v)
        }
        None => u128::from(d.below(4)),
    };
    let port = |d: &mut Draw, p: Option<(u16, u16)>| {
        let (first, last) = p.unwrap_or((80, 80));
        let v = d.of(&[first, last]);
        near(d, v.into()) as u16
    };
    let version = m.src_ip.or(m.dst_ip).map_or(4, |p| p.version);
    let pcp = m
        .pcp
        .map_or(d.below(10).into(), |mask| mask.trailing_zeros().into());
    let dscp = m
        .dscp
        .map_or(d.below(70).into(), |mask| mask.trailing_zeros().into());
    let any_protocol = d.of(&[6u8, 17, 33, 132, 1]);
    let protocol = m.protocol.unwrap_or(any_protocol);
    FlowKey {
        src_ip: address(d, m.src_ip),
        dst_ip: address(d, m.dst_ip),
        dst_mac: near(d, m.dst_mac.unwrap_or(1).into()) as u64,
        src_mac: near(d, m.src_mac.unwrap_or(1).into()) as u64,
        ethertype: near(d, m.ethertype.unwrap_or(0x0800).into()) as u16,
        vlan_id: near(d, m.vlan_id.unwrap_or(1).into()) as u16,
        pcp: near(d, pcp) as u8,
        tagged: !d.one_in(5),
        ip_version: if d.one_in(8) { d.of(&[0, 4, 5, 6]) } else { version },
        dscp: near(d, dscp) as u8,
        protocol: near(d, protocol.into()) as u8,
        src_port: port(d, m.src_port),
        dst_port: port(d, m.dst_port),
    }
}

#[test]
fn it_answers_as_the_plain_list_does() {
    let mut d = Draw(1);
    let (mut hits, mut misses, mut late) = (0, 0, 0);
    for round in 0..300 {
        let count = d.of(&[0, 1, 2, 7, 63, 64, 65, 200]);
        let sparse = d.of(&[2, 3, 6, 11]);
        let rules: Vec<Rule> = (0..count)
            .map(|queue| Rule {
                matches: random_match(&mut d, sparse),
                queue,
            })
            .collect();
        assert_eq!(validate_conditions(&rules), Ok(()), "round {round}");
        let compiled = Classifier::compile(&rules);
        for _ in 0..200 {
            let pattern = if rules.is_empty() {
                RuleMatch::default()
            } else {
                rules[d.below(rules.len() as u64) as usize].matches
            };
            let key = key_near(&mut d, &pattern);
            let answer = compiled.matches(&key);
            assert_eq!(
                answer,
                linear(&rules, &key),
                "round {round}: {key:?} in {rules:?}"
            );
            match answer {
                None => misses += 1,
                Some(rule) => {
                    hits += 1;
                    late += u32::from(rule >= 64);
                }
            }
        }
    }
    // The draw has to reach both answers, and words after the first, or the comparison shows little.
    assert!(
        hits > 10_000 && misses > 5_000 && late > 50,
        "{hits} {misses} {late}"
    );
}

#[test]
fn it_holds_the_largest_rule_set() {
    let rules: Vec<Rule> = (0..4096u32)
        .map(|i| Rule {
            matches: RuleMatch {
                dst_ip: Some(IpPrefix {
                    version: 4,
                    address: u128::from(i) << 8,
                    length: 24,
                }),
                dst_port: Some((i as u16, i as u16 + 10)),
                ..RuleMatch::default()
            },
            queue: i,
        })
        .collect();
    assert_eq!(validate_conditions(&rules), Ok(()));
    let compiled = Classifier::compile(&rules);
    for i in [0u32, 63, 64, 2000, 4095] {
        let key = FlowKey {
            ip_version: 4,
            protocol: 17,
            dst_ip: (u128::from(i) << 8) | 7,
            dst_port: i as u16 + 10,
            ..FlowKey::default()
        };
        assert_eq!(compiled.matches(&key), Some(i));
        assert_eq!(compiled.queue_of(i), Some(i));
        assert_eq!(
            compiled.matches(&FlowKey {
                dst_port: i as u16 + 11,
                ..key
            }),
            None
        );
    }
}

#[test]
fn a_field_that_no_rule_looks_at_has_no_table() {
    let one = |matches| Classifier::compile(&[Rule { matches, queue: 3 }]);
    assert_eq!(one(RuleMatch::default()).tables.len(), 0);
    assert_eq!(one(RuleMatch::default()).matches(&FlowKey::default()), Some(0));
    assert_eq!(
        one(RuleMatch {
            pcp: Some(1),
            ..RuleMatch::default()
        })
        .tables
        .len(),
        1
    );
    assert_eq!(Classifier::compile(&[]).matches(&FlowKey::default()), None);
    assert!(Classifier::compile(&[]).is_empty());
    assert_eq!(one(RuleMatch::default()).queue_of(1), None);
}

#[test]
fn equal_bitmaps_are_stored_once() {
    let rules: Vec<Rule> = (0..64u16)
        .map(|i| Rule {
            matches: RuleMatch {
                vlan_id: Some(i * 2),
                ..RuleMatch::default()
            },
            queue: 0,
        })
        .collect();
    // One bitmap a rule, and the empty one for all the gaps between; each has a summary.
    assert_eq!(Classifier::compile(&rules).bitmaps.len(), 2 * 65);
}

#[test]
fn an_untagged_frame_counts_as_priority_zero_and_vlan_zero() {
    let rule = |matches| Classifier::compile(&[Rule { matches, queue: 0 }]);
    let pcp0 = rule(RuleMatch {
        pcp: Some(1),
        ..RuleMatch::default()
    });
    let vlan0 = rule(RuleMatch {
        vlan_id: Some(0),
        ..RuleMatch::default()
    });
    let untagged = FlowKey::default();
    let priority_tagged = FlowKey {
        tagged: true,
        pcp: 5,
        ..FlowKey::default()
    };
    assert_eq!(pcp0.matches(&untagged), Some(0));
    assert_eq!(pcp0.matches(&priority_tagged), None);
    assert_eq!(vlan0.matches(&untagged), Some(0));
    assert_eq!(vlan0.matches(&priority_tagged), Some(0));
    assert_eq!(
        vlan0.matches(&FlowKey {
            vlan_id: 7,
            ..priority_tagged
        }),
        None
    );
}

fn queue_node() -> NodePlan {
    NodePlan {
        parent: None,
        kind: NodeKind::Queue(QueuePlan {
            mode: QueueMode::Shared,
            bytes_max: 1,
            frames_max: 1,
            mark: None,
            gate: 0,
            meter: None,
            age_max: None,
        }),
        rank: 0,
        weight: 1,
        rate: None,
        frame_rate: None,
        guarantee: None,
        accounting: Accounting::default(),
    }
}

#[test]
fn a_rule_that_no_frame_can_match_is_refused_by_field() {
    let any = RuleMatch::default();
    let prefix = |version, address, length| {
        Some(IpPrefix {
            version,
            address,
            length,
        })
    };
    let field = |matches| {
        validate(&[Rule { matches, queue: 0 }], &[queue_node()])
            .err()
            .map(|e| e.field)
    };
    assert_eq!(field(any), None);
    assert_eq!(
        field(RuleMatch {
            dst_mac: Some(1 << 48),
            ..any
        }),
        Some("dst_mac")
    );
    assert_eq!(
        field(RuleMatch {
            src_mac: Some(u64::MAX),
            ..any
        }),
        Some("src_mac")
    );
    assert_eq!(
        field(RuleMatch {
            vlan_id: Some(4095),
            ..any
        }),
        Some("vlan_id")
    );
    assert_eq!(field(RuleMatch { pcp: Some(0), ..any }), Some("pcp"));
    assert_eq!(field(RuleMatch { dscp: Some(0), ..any }), Some("dscp"));
    assert_eq!(
        field(RuleMatch {
            src_port: Some((2, 1)),
            ..any
        }),
        Some("src_port")
    );
    assert_eq!(
        field(RuleMatch {
            dst_port: Some((65535, 0)),
            ..any
        }),
        Some("dst_port")
    );
    assert_eq!(
        field(RuleMatch {
            src_ip: prefix(5, 0, 0),
            ..any
        }),
        Some("src_ip")
    );
    assert_eq!(
        field(RuleMatch {
            src_ip: prefix(4, 0, 33),
            ..any
        }),
        Some("src_ip")
    );
    assert_eq!(
        field(RuleMatch {
            dst_ip: prefix(4, 1 << 32, 0),
            ..any
        }),
        Some("dst_ip")
    );
    assert_eq!(
        field(RuleMatch {
            dst_ip: prefix(4, 0x0A00_0001, 24),
            ..any
        }),
        Some("dst_ip")
    );
    assert_eq!(
        field(RuleMatch {
            dst_ip: prefix(4, 0x0A00_0000, 24),
            ..any
        }),
        None
    );
    assert_eq!(
        field(RuleMatch {
            dst_ip: prefix(6, u128::MAX, 128),
            ..any
        }),
        None
    );
    assert_eq!(
        field(RuleMatch {
            dst_ip: prefix(6, 1, 0),
            ..any
        }),
        Some("dst_ip")
    );
    let mixed = RuleMatch {
        src_ip: prefix(4, 0, 0),
        dst_ip: prefix(6, 0, 0),
        ..any
    };
    assert_eq!(field(mixed), Some("dst_ip"));
}

#[test]
fn a_rule_needs_a_queue_of_the_plan_and_the_list_an_end() {
    let rule = |queue| Rule {
        matches: RuleMatch::default(),
        queue,
    };
    let strict = NodePlan {
        kind: NodeKind::Strict,
        ..queue_node()
    };
    let nodes = [strict, queue_node()];
    assert_eq!(validate(&[rule(1)], &nodes), Ok(()));
    let expected = Err(error(1, "queue", "the index of a queue of this plan"));
    assert_eq!(validate(&[rule(1), rule(0)], &nodes), expected);
    assert_eq!(validate(&[rule(1), rule(2)], &nodes), expected);
    let many = vec![rule(1); RULES_MAX + 1];
    assert_eq!(validate(&many, &nodes).err().map(|e| e.field), Some("rules"));
    assert_eq!(validate(&many[1..], &nodes), Ok(()));
}
