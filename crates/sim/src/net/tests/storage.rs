//! Storage: copies, closed loops, and the law that holds rate, latency and number together.

use super::scenarios::*;
use crate::Outcome;
use clearway_core::Duration;
use clearway_policy::scenario::{
    Destination, Law, MessageTransport, Placement, Scenario, TcpSettings, WorkloadKind,
};

struct Setting {
    copies: u32,
    placement: Placement,
    write_fraction: f64,
    service: f64,
    outstanding: u32,
}

const SETTING: Setting = Setting {
    copies: 3,
    placement: Placement::Any,
    write_fraction: 1.0,
    service: 0.0,
    outstanding: 2,
};

fn tcp() -> TcpSettings {
    TcpSettings {
        send_buffer_bytes: 256 << 10,
        receive_buffer_bytes: 256 << 10,
        rto_min: Duration::from_ms(5),
        delayed_ack: Duration::ZERO,
        ..TcpSettings::default()
    }
}

fn storing(hosts: usize, ms: u64, setting: &Setting) -> Scenario {
    let mut s = star(hosts, Duration::from_ms(ms));
    s.warmup = Duration::from_ms(ms / 4);
    s.switches[0].memory_bytes = 64 << 20;
    let kind = WorkloadKind::Storage {
        transport: MessageTransport::Iwarp(tcp()),
        block_bytes: 64 << 10,
        clients: 3,
        outstanding: setting.outstanding,
        copies: setting.copies,
        connections: 2,
        placement: setting.placement,
        write_fraction: setting.write_fraction,
        service: Law::Constant(setting.service),
    };
    s.workloads = vec![workload((0..hosts).collect(), Destination::UniformOthers, kind)];
    s
}

fn completed(o: &Outcome) -> f64 {
    o.storage[0].all.completed() as f64
}

#[test]
fn copies_at_random_cross_the_wire_in_proportion_to_the_other_nodes() {
    let o = outcome(&storing(4, 40, &SETTING), 1);
    let all = &o.storage[0].all;
    // Three of four nodes, one of which is the client's own: 3 x 3/4 copies on the wire.
    let sent = all.remote_copies as f64 / all.issued as f64;
    assert!(all.issued > 500 && (sent - 2.25).abs() < 0.03, "{sent}");
    let first = Setting {
        placement: Placement::LocalFirst,
        ..SETTING
    };
    let o = outcome(&storing(4, 40, &first), 1);
    let all = &o.storage[0].all;
    assert_eq!(all.remote_copies, 2 * all.issued);
    assert_eq!(all.bytes, all.completed() * (64 << 10));
    assert_eq!(o.storage[0].hosts.len(), 4);
}

#[test]
fn the_number_outstanding_is_rate_times_latency() {
    for write_fraction in [1.0, 0.0, 0.5] {
        let o = outcome(
            &storing(
                4,
                80,
                &Setting {
                    write_fraction,
                    ..SETTING
                },
            ),
            1,
        );
        let all = &o.storage[0].all;
        let measured = o.measured();
        // 4 hosts, 3 clients each, 2 outstanding: never more and never less.
        assert!(
            (all.outstanding(measured) - 24.0).abs() < 1e-9,
            "{}",
            all.outstanding(measured)
        );
        let product = all.rate(measured) * all.mean_latency().expect("some are complete");
        assert!((product / 24.0 - 1.0).abs() < 0.01, "{product}");
        let writes = all.writes.count() as f64 / completed(&o);
        assert!((writes - write_fraction).abs() < 0.05, "{writes}");
    }
}

#[test]
fn a_service_time_sets_the_pace_where_nothing_crosses_the_wire() {
    let alone = Setting {
        copies: 1,
        placement: Placement::LocalFirst,
        service: 1e-3,
        ..SETTING
    };
    let o = outcome(&storing(2, 41, &alone), 1);
    // 2 hosts, 3 clients, 2 outstanding, one millisecond each, over 30.75 ms.
    assert!((completed(&o) - 12.0 * 30.75).abs() <= 12.0, "{}", completed(&o));
    assert_eq!(o.storage[0].all.writes.min(), Some(1_000_000_000));
    assert_eq!(o.messages.first().map_or(0, |m| m.messages.posted), 0);
}

#[test]
fn one_write_at_a_time_takes_the_wire_the_service_and_the_answer() {
    let single = Setting {
        copies: 1,
        service: 100e-6,
        outstanding: 1,
        ..SETTING
    };
    let mut s = storing(2, 40, &single);
    s.workloads[0].from = vec![0];
    s.workloads[0].to = Destination::Host(1);
    if let WorkloadKind::Storage { clients, .. } = &mut s.workloads[0].kind {
        *clients = 1;
    }
    let o = outcome(&s, 1);
    let all = &o.storage[0].all;
    // 64 KiB and a command in 46 segments of at most 1,440 B of payload; the last frame stored and forwarded once.
    let (least, most) = (all.writes.min().unwrap_or(0), all.writes.max().unwrap_or(0));
    let wire = 65_664.0 / 1_440.0 * 1_538.0 * BYTE_PS as f64;
    let floor = wire + 100e6;
    assert!(
        least as f64 > floor && (most as f64) < floor + 10e6,
        "{least} {most} {floor}"
    );
    assert_eq!(all.reads.count(), 0);
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let s = storing(3, 8, &SETTING);
    let (a, b, c) = (outcome(&s, 1), outcome(&s, 1), outcome(&s, 2));
    assert_eq!(a, b);
    assert_ne!(a.storage, c.storage);
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let refusal = |change: &dyn Fn(&mut Scenario)| {
        let mut s = storing(3, 8, &SETTING);
        change(&mut s);
        crate::run(&s, 1, &mut crate::Unobserved)
            .map(|o| o.seed)
            .unwrap_err()
            .field
    };
    assert_eq!(
        refusal(&|s| s.workloads[0].to = Destination::Uniform(vec![0, 1])),
        "copies"
    );
    let udp = |s: &mut Scenario| {
        if let WorkloadKind::Storage { transport, .. } = &mut s.workloads[0].kind {
            *transport = MessageTransport::Udp { mtu_bytes: 1_500 };
        }
    };
    assert_eq!(refusal(&udp), "transport");
    let idle = |s: &mut Scenario| {
        if let WorkloadKind::Storage { copies, .. } = &mut s.workloads[0].kind {
            *copies = 1;
        }
    };
    assert_eq!(refusal(&idle), "service");
    let stranger = |s: &mut Scenario| {
        s.workloads[0].to = Destination::Uniform(vec![1, 2]);
        if let WorkloadKind::Storage {
            placement, copies, ..
        } = &mut s.workloads[0].kind
        {
            (*placement, *copies) = (Placement::LocalFirst, 2);
        }
    };
    assert_eq!(refusal(&stranger), "placement");
}
