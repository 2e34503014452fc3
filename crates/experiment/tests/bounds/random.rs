//! Random networks, policies and bounded workloads, from one number each.

use clearway_core::{Duration, FlowKey};
use clearway_policy::load_str;
use clearway_policy::scenario::{Destination, Marks, ReplayFrame, Scenario, Workload, WorkloadKind};
use std::fmt::Write as _;

/// A generator of its own (SplitMix64: Steele, Lea and Flood, 2014): cases must not change with the simulator's.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A frame of a capture that carries this priority.
pub(crate) fn frame(at_ps: u64, bytes: u32, pcp: u8, port: u16) -> ReplayFrame {
    ReplayFrame {
        at: Duration::from_ps(at_ps),
        bytes,
        key: FlowKey {
            ethertype: 0x0800,
            ip_version: 4,
            protocol: 17,
            tagged: true,
            pcp,
            src_port: port,
            dst_port: port,
            src_ip: 0x0A00_0001,
            dst_ip: 0x0A00_0002,
            ..FlowKey::default()
        },
    }
}

/// A capture from one host to another.
pub(crate) fn replay(name: &str, from: usize, to: usize, frames: Vec<ReplayFrame>) -> Workload {
    Workload {
        name: name.to_owned(),
        from: vec![from],
        to: Destination::Host(to),
        class: 0,
        marks: Marks::default(),
        start: Duration::ZERO,
        stop: None,
        kind: WorkloadKind::Replay { frames },
    }
}

/// Priorities are dealt out to leaves in order; every priority has one.
struct Leaves {
    next: u8,
    left: u8,
}

impl Leaves {
    fn pcps(&mut self, last: bool) -> String {
        let count = if last {
            8 - self.next
        } else {
            1 + u8::from(8 - self.next > self.left + 2)
        };
        let from = self.next;
        self.next += count;
        self.left = self.left.saturating_sub(1);
        let list: Vec<String> = (from..self.next).map(|p| p.to_string()).collect();
        format!("pcp = [{}]\n", list.join(", "))
    }
}

/// Keys that a class may have beside its place: shapers, guarantees, queues for each flow.
fn extras(d: &mut Draw, leaf: bool, line_mbps: u64) -> String {
    let mut text = String::new();
    if d.one_in(4) {
        let _ = writeln!(text, "rate = \"{}Mbit/s\"", line_mbps * (30 + d.below(60)) / 100);
        let _ = writeln!(text, "burst = \"{}B\"", 1542 + d.below(6_000));
    }
    if d.one_in(8) {
        let _ = writeln!(text, "frame_rate = \"{}frame/s\"", 200_000 + d.below(800_000));
        let _ = writeln!(text, "frame_burst = \"{}frame\"", 1 + d.below(4));
    }
    if d.one_in(5) {
        let _ = writeln!(
            text,
            "guarantee = \"{}Mbit/s\"",
            line_mbps * (5 + d.below(20)) / 100
        );
    }
    if leaf && d.one_in(5) {
        let shape = match d.below(3) {
            0 => String::new(),
            1 => format!(
                "rate = \"{}Mbit/s\", burst = \"{}B\", ",
                line_mbps * (5 + d.below(20)) / 100,
                1542 + d.below(4_000)
            ),
            _ => format!(
                "frame_rate = \"{}frame/s\", burst = \"2frame\", ",
                50_000 + d.below(200_000)
            ),
        };
        let _ = writeln!(text, "per_flow = {{ {shape}limit = \"4096frame\" }}");
    }
    if d.one_in(6) {
        let _ = writeln!(text, "layer = \"{}\"", d.of(&["L1", "L2", "payload"]));
    }
    text
}

/// A policy of up to seven leaves, strict and weighted nodes up to three deep.
fn policy(d: &mut Draw, name: &str, line_mbps: u64) -> String {
    let mut text = format!("[policy.{name}]\n");
    if d.one_in(5) {
        let _ = writeln!(text, "rate = \"{}%\"", 80 + d.below(20));
    }
    let tops = 2 + d.below(3);
    let mut leaves = Leaves { next: 0, left: 6 };
    let weighted_top = d.one_in(3);
    if weighted_top {
        let _ = writeln!(text, "kind = \"weighted\"");
    }
    for top in 0..tops {
        let last = top + 1 == tops;
        let path = format!("policy.{name}.class.c{top}");
        let _ = writeln!(text, "[{path}]");
        if weighted_top {
            let _ = writeln!(text, "weight = {}", 1 + d.below(6));
        }
        let group = d.one_in(2) && leaves.next < 5;
        text.push_str(&extras(d, !group, line_mbps));
        if !group {
            text.push_str(&leaves.pcps(last));
            continue;
        }
        let weighted = d.one_in(2);
        let _ = writeln!(
            text,
            "kind = \"{}\"",
            if weighted { "weighted" } else { "strict" }
        );
        let inner = 2;
        for child in 0..inner {
            let _ = writeln!(text, "[{path}.class.d{top}{child}]");
            if weighted {
                let _ = writeln!(text, "weight = {}", 1 + d.below(4));
            }
            text.push_str(&extras(d, true, line_mbps));
            text.push_str(&leaves.pcps(last && child + 1 == inner));
        }
    }
    text
}

/// A greedy capture: a burst at one instant, then frames at a rate, several classes at once.
fn greedy(d: &mut Draw, from: usize, to: usize, index: usize, share_mbps: u64, until_ps: u64) -> Workload {
    let mut frames = Vec::new();
    for flow in 0..1 + d.below(3) {
        let bytes = d.of(&[64, 64, 200, 594, 1_000, 1_518]);
        let pcp = d.below(8) as u8;
        let burst = 1 + d.below(6);
        let port = 1_000 + 8 * index as u16 + flow as u16;
        let mbps = (share_mbps / 4).max(1);
        let gap = u64::from(bytes + 20) * 8_000_000 / mbps;
        // Bursts of all senders meet at one instant, or nearly.
        let start = 50_000_000 + d.of(&[0, 0, 0, 1, 1_230_400, 67_200]);
        frames.extend((0..burst).map(|_| frame(start, bytes, pcp, port)));
        let mut at = start + gap;
        while at < until_ps {
            frames.push(frame(at, bytes, pcp, port));
            at += gap * if d.one_in(9) { 3 } else { 1 };
        }
    }
    replay(&format!("greedy{index}"), from, to, frames)
}

/// One to three switches in a row with hosts on each; what is sent has a bound, and mostly the network too.
pub(crate) fn scenario(seed: u64) -> Scenario {
    let mut d = Draw::new(seed);
    let switches = 1 + d.below(3);
    let line_mbps = d.of(&[1_000, 10_000, 10_000, 2_500]);
    let mut text = String::from("duration = \"700us\"\n");
    let hosts = 3 + d.below(3);
    let fifo = if d.one_in(4) {
        ", transmit_fifo = \"4KiB\""
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "[host.h]\ncount = {hosts}\nstack_delay = \"{}ns\"",
        d.of(&[0, 250])
    );
    let on_nic = d.below(3) > 0;
    let nic = if on_nic {
        "policy = \"nic\""
    } else {
        "receive_buffer = \"512KiB\""
    };
    let _ = writeln!(text, "nic = {{ {nic}{fifo} }}");
    for s in 1..=switches {
        let _ = writeln!(text, "[switch.s{s}]\nmemory = \"64MB\"\npolicy = \"sw\"");
        let _ = writeln!(text, "forwarding_delay = \"{}ns\"", d.of(&[0, 0, 500]));
    }
    for h in 1..=hosts {
        // The last host is at the far end, the others anywhere.
        let s = if h == hosts {
            switches
        } else {
            1 + d.below(switches)
        };
        let _ = writeln!(
            text,
            "[link.c{h}]\nends = [\"h{h}\", \"s{s}\"]\nrate = \"{line_mbps}Mbit/s\"\nlength = \"3m\""
        );
    }
    for s in 1..switches {
        let n = s + 1;
        let _ = writeln!(
            text,
            "[link.t{s}]\nends = [\"s{s}\", \"s{n}\"]\nrate = \"{line_mbps}Mbit/s\""
        );
    }
    if on_nic {
        text.push_str(&policy(&mut d, "nic", line_mbps));
    }
    text.push_str(&policy(&mut d, "sw", line_mbps));
    let count = 2 + d.below(5);
    let share = line_mbps * (20 + d.below(60)) / 100 / count;
    for w in 0..count {
        let from = 1 + d.below(hosts - 1);
        let to = if d.one_in(4) {
            1 + (from % (hosts - 1))
        } else {
            hosts
        };
        let to = if to == from { hosts } else { to };
        let pcp = d.below(8);
        let bytes = d.of(&[64, 128, 594, 1_518]);
        let _ = writeln!(
            text,
            "[workload.w{w}]\nfrom = \"h{from}\"\nto = \"h{to}\"\npcp = {pcp}"
        );
        let flows = 1 + d.below(4);
        let _ = match d.below(5) {
            0 => writeln!(
                text,
                "request_response = {{ request = \"{bytes}B\", response = \"64B\", outstanding = {flows} }}"
            ),
            1 => writeln!(
                text,
                "open_loop = {{ request = \"{bytes}B\", response = \"{}B\", rate = \"{share}Mbit/s\", arrivals = \"even\" }}",
                d.of(&[0, 64])
            ),
            2 => writeln!(
                text,
                "on_off = {{ frame = \"{bytes}B\", rate = \"{share}Mbit/s\", on = \"20us\", off = \"10us\" }}"
            ),
            _ => writeln!(
                text,
                "constant_rate = {{ frame = \"{bytes}B\", rate = \"{}kbit/s\", flows = {flows} }}",
                share * 1_000 / flows
            ),
        };
    }
    if std::env::var_os("CLEARWAY_BOUNDS_SHOW").is_some() {
        println!("{text}");
    }
    let loaded = load_str(&text, "random.toml", &[], &|path| {
        Err(format!("{path} is not there"))
    });
    let mut scenario = loaded
        .unwrap_or_else(|found| panic!("seed {seed}: {}\n{text}", found[0]))
        .scenario;
    let (hosts, senders) = (hosts as usize, 1 + d.below(hosts - 1) as usize);
    for index in 0..senders {
        let until = 600_000_000;
        let load = line_mbps / (senders as u64 * 3);
        scenario
            .workloads
            .push(greedy(&mut d, index, hosts - 1, index, load, until));
    }
    scenario
}
