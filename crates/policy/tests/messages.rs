//! `messages` workloads as a scenario file writes them, and what the simulator gets.

use clearway_core::Duration;
use clearway_policy::load_str;
use clearway_policy::scenario::{
    CongestionLaw, DcqcnSettings, Law, MessagePattern, MessageTransport, RoceSettings, TcpSettings,
    WorkloadKind,
};

/// The one workload of a scenario with these keys of `messages`.
fn kind(keys: &str) -> WorkloadKind {
    let text = format!(
        r#"
duration = "10ms"
[host."h{{1..2}}"]
[link.cable]
ends = ["h1", "h2"]
rate = "10Gbit/s"
[workload.load]
from = "h1"
to = "h2"
messages = {{ message = "256B", {keys} }}
"#
    );
    let loaded = load_str(&text, "messages.toml", &[], &|path| {
        Err(format!("there is no {path}"))
    });
    match loaded {
        Ok(loaded) => loaded.scenario.workloads[0].kind.clone(),
        Err(findings) => panic!("{keys}: {}", findings[0]),
    }
}

fn transport(keys: &str) -> MessageTransport {
    match kind(&format!("transport = {keys}, stream = {{}}")) {
        WorkloadKind::Messages { transport, .. } => transport,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_word_stands_for_a_transport_with_its_usual_numbers() {
    assert_eq!(transport("\"udp\""), MessageTransport::Udp { mtu_bytes: 1_500 });
    assert_eq!(
        transport("\"tcp\""),
        MessageTransport::Tcp(TcpSettings::default())
    );
    assert_eq!(transport("{ tcp = {} }"), transport("\"tcp\""));
    assert_eq!(
        transport("\"iwarp\""),
        MessageTransport::Iwarp(TcpSettings::default())
    );
    let roce = RoceSettings {
        mtu_bytes: 1_024,
        window_bytes: 1 << 20,
        timeout: Duration::from_ns(4_096 << 14),
        dcqcn: None,
    };
    assert_eq!(transport("\"roce\""), MessageTransport::Roce(roce));
}

#[test]
fn a_table_gives_the_numbers() {
    assert_eq!(
        transport("{ udp = { mtu = \"9000B\" } }"),
        MessageTransport::Udp { mtu_bytes: 9_000 }
    );
    let tcp = "{ tcp = { mss = \"8960B\", congestion = \"cubic\", pacing = true, nagle = true, window_scaling = false } }";
    let wanted = TcpSettings {
        mss_bytes: 8_960,
        increase_bytes: 8_960,
        congestion: CongestionLaw::Cubic,
        pacing: true,
        nagle: true,
        window_scaling: false,
        ..TcpSettings::default()
    };
    assert_eq!(transport(tcp), MessageTransport::Tcp(wanted));
    let MessageTransport::Tcp(dctcp) = transport("{ tcp = { congestion = \"dctcp\" } }") else {
        panic!("TCP was asked for");
    };
    assert!(dctcp.ecn, "DCTCP takes part in ECN without being told");
    let roce = "{ roce = { mtu = \"4096B\", window = \"64KiB\", timeout = \"1ms\", dcqcn = { fast_recovery = 3 } } }";
    let wanted = RoceSettings {
        mtu_bytes: 4_096,
        window_bytes: 64 << 10,
        timeout: Duration::from_ms(1),
        dcqcn: Some(DcqcnSettings {
            gain: 1.0 / 256.0,
            notification_interval: Duration::from_us(50),
            alpha_timer: Duration::from_us(55),
            rate_timer: Duration::from_us(55),
            byte_counter: 10_000_000,
            fast_recovery: 3,
            additive_bps: 40_000_000,
            hyper_bps: 400_000_000,
            rate_min_bps: 10_000_000,
        }),
    };
    assert_eq!(transport(roce), MessageTransport::Roce(wanted));
}

#[test]
fn messages_are_sent_as_a_stream_in_a_loop_or_at_a_rate() {
    let pattern = |keys: &str| match kind(&format!("transport = \"udp\", {keys}")) {
        WorkloadKind::Messages {
            pattern,
            reply_bytes,
            message_bytes,
            ..
        } => {
            assert_eq!(message_bytes, Law::Constant(256.0));
            (pattern, reply_bytes)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        pattern("stream = { connections = 3 }"),
        (MessagePattern::Stream { connections: 3 }, 0)
    );
    assert_eq!(
        pattern("reply = \"64B\", closed_loop = { outstanding = 8 }"),
        (MessagePattern::ClosedLoop { outstanding: 8 }, 64)
    );
    let rate = |poisson| MessagePattern::Rate {
        per_second: 10_000.0,
        poisson,
    };
    assert_eq!(pattern("rate = \"10kmessage/s\""), (rate(true), 0));
    assert_eq!(
        pattern("rate = \"10000message/s\", arrivals = \"even\""),
        (rate(false), 0)
    );
}

#[test]
fn bulk_connections_take_the_same_keys() {
    let text = r#"
duration = "10ms"
[host."h{1..2}"]
[link.cable]
ends = ["h1", "h2"]
rate = "10Gbit/s"
[workload.load]
from = "h1"
to = "h2"
tcp_bulk = { connections = 2, congestion = "cubic", pacing = true, options = "12B" }
"#;
    let loaded = load_str(text, "bulk.toml", &[], &|path| Err(format!("there is no {path}")));
    let loaded = loaded.expect("a good file");
    let WorkloadKind::TcpBulk { connections, tcp, .. } = &loaded.scenario.workloads[0].kind else {
        panic!("bulk was asked for");
    };
    let wanted = TcpSettings {
        mss_bytes: 1_448,
        increase_bytes: 1_448,
        option_bytes: 12,
        congestion: CongestionLaw::Cubic,
        pacing: true,
        ..TcpSettings::default()
    };
    assert_eq!((*connections, *tcp), (2, wanted));
}
