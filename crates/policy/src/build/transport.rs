//! Transports: TCP's keys to its settings, and what carries messages.

use crate::diagnostic::Diagnostic;
use crate::reader::{At, BitRate, Size, Time};
use crate::scenario::{CongestionLaw, DcqcnSettings, MessageTransport, RoceSettings, TcpSettings};
use crate::syntax::transport::{
    CongestionWord, DcqcnText, RoceText, TcpKeys, TransportText, TransportWord, UdpText,
};
use clearway_core::Duration;

/// A size within limits, or the default where there is none or it is out of range.
fn size(
    value: Option<&At<Size>>,
    default: u64,
    (least, most): (u64, u64),
    findings: &mut Vec<Diagnostic>,
) -> u64 {
    let Some(value) = value else { return default };
    if (least..=most).contains(&value.value.0) {
        return value.value.0;
    }
    let finding = value.error("range", "this size is out of range");
    findings.push(finding.expecting(format!("from {least}B to {most}B")));
    default
}

fn time(value: Option<&At<Time>>, default: Duration) -> Duration {
    value.map_or(default, |t| Duration::from_ps(t.value.0))
}

/// A time above zero.
fn span(value: Option<&At<Time>>, default: Duration, findings: &mut Vec<Diagnostic>) -> Duration {
    if let Some(value) = value.filter(|v| v.value.0 == 0) {
        findings.push(
            value
                .error("range", "a time of no length")
                .expecting("a time above 0"),
        );
    }
    time(value, default)
}

/// The settings of a TCP connection.
pub(super) fn tcp(keys: TcpKeys<'_>, findings: &mut Vec<Diagnostic>) -> TcpSettings {
    let option_bytes = size(keys.options, 0, (0, 40), findings) as u32;
    let mss_bytes = size(keys.mss, u64::from(1460 - option_bytes), (88, 65_000), findings) as u32;
    let whole = u64::from(mss_bytes);
    let congestion = match keys.congestion.map(|c| c.value) {
        Some(CongestionWord::Cubic) => CongestionLaw::Cubic,
        Some(CongestionWord::Dctcp) => CongestionLaw::Dctcp,
        Some(CongestionWord::NewReno) | None => CongestionLaw::NewReno,
    };
    let ecn = keys.ecn.is_some_and(|b| b.value) || congestion == CongestionLaw::Dctcp;
    if let Some(at) = keys.ecn.filter(|b| !b.value && ecn) {
        let finding = at.error("range", "DCTCP lives on marks: it always takes part in ECN");
        findings.push(finding.expecting("true, or another `congestion`"));
    }
    if let Some(at) = keys.increase.filter(|_| congestion == CongestionLaw::Cubic) {
        findings.push(at.error("unused-key", "`increase` belongs to \"newreno\" and \"dctcp\""));
    }
    TcpSettings {
        mss_bytes,
        initial_window_segments: keys
            .initial_window
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(10),
        slow_start_threshold_bytes: size(
            keys.slow_start_threshold,
            u64::MAX,
            (2 * whole, 1 << 30),
            findings,
        ),
        increase_bytes: size(keys.increase, whole, (1, whole), findings) as u32,
        send_buffer_bytes: size(keys.send_buffer, 4 << 20, (whole, 1 << 30), findings),
        receive_buffer_bytes: size(keys.receive_buffer, 6 << 20, (whole, 1 << 30), findings),
        rto_min: time(keys.rto_min, Duration::from_ms(200)),
        delayed_ack: time(keys.delayed_ack, Duration::from_ms(40)),
        segmentation_bytes: size(keys.segmentation, 64 << 10, (0, 1 << 20), findings) as u32,
        ecn,
        sack: keys.sack.is_none_or(|b| b.value),
        option_bytes,
        congestion,
        pacing: keys.pacing.is_some_and(|b| b.value),
        nagle: keys.nagle.is_some_and(|b| b.value),
        window_scaling: keys.window_scaling.is_none_or(|b| b.value),
    }
}

/// What carries messages; none where the table does not say one thing.
pub(super) fn transport(
    text: &At<TransportText>,
    findings: &mut Vec<Diagnostic>,
) -> Option<MessageTransport> {
    let table = match &text.value {
        TransportText::Word(TransportWord::Udp) => return Some(udp(None, findings)),
        TransportText::Word(TransportWord::Tcp) => {
            return Some(MessageTransport::Tcp(TcpSettings::default()));
        }
        TransportText::Word(TransportWord::Iwarp) => {
            return Some(MessageTransport::Iwarp(TcpSettings::default()));
        }
        TransportText::Word(TransportWord::Roce) => return Some(roce(None, findings)),
        TransportText::Table(table) => table,
    };
    let given = [
        table.udp.is_some(),
        table.tcp.is_some(),
        table.iwarp.is_some(),
        table.roce.is_some(),
    ];
    if given.iter().filter(|g| **g).count() != 1 {
        let finding = text.error("transport", "messages have exactly one transport");
        findings.push(finding.expecting("one of udp, tcp, iwarp, roce"));
        return None;
    }
    if let Some(t) = &table.udp {
        return Some(udp(Some(&t.value), findings));
    }
    if let Some(t) = &table.tcp {
        return Some(MessageTransport::Tcp(tcp(t.value.tcp(), findings)));
    }
    if let Some(t) = &table.iwarp {
        return Some(MessageTransport::Iwarp(tcp(t.value.tcp(), findings)));
    }
    Some(roce(table.roce.as_ref().map(|t| &t.value), findings))
}

fn udp(text: Option<&UdpText>, findings: &mut Vec<Diagnostic>) -> MessageTransport {
    let mtu = text.and_then(|t| t.mtu.as_ref());
    MessageTransport::Udp {
        mtu_bytes: size(mtu, 1_500, (576, 65_500), findings) as u32,
    }
}

/// 4.096 us times 2^14: the local acknowledgement timeout that InfiniBand writes as 14.
const ACK_TIMEOUT: Duration = Duration::from_ns(67_108_864);

fn roce(text: Option<&RoceText>, findings: &mut Vec<Diagnostic>) -> MessageTransport {
    let mtu = text.and_then(|t| t.mtu.as_ref());
    let mut mtu_bytes = mtu.map_or(1_024, |m| m.value.0);
    if !(256..=4_096).contains(&mtu_bytes) || !mtu_bytes.is_power_of_two() {
        if let Some(mtu) = mtu {
            let finding = mtu.error("range", "no path MTU of InfiniBand");
            findings.push(finding.expecting("256B, 512B, 1024B, 2048B or 4096B"));
        }
        mtu_bytes = 1_024;
    }
    MessageTransport::Roce(RoceSettings {
        mtu_bytes: mtu_bytes as u32,
        window_bytes: size(
            text.and_then(|t| t.window.as_ref()),
            1 << 20,
            (mtu_bytes, 1 << 30),
            findings,
        ),
        timeout: span(text.and_then(|t| t.timeout.as_ref()), ACK_TIMEOUT, findings),
        dcqcn: text
            .and_then(|t| t.dcqcn.as_ref())
            .map(|t| dcqcn(&t.value, findings)),
    })
}

fn dcqcn(text: &DcqcnText, findings: &mut Vec<Diagnostic>) -> DcqcnSettings {
    let gain = text.gain.as_ref();
    if let Some(gain) = gain.filter(|g| !(g.value.0 > 0.0 && g.value.0 <= 1.0)) {
        findings.push(gain.error("range", "no gain").expecting("above 0 and at most 1"));
    }
    let mut rate = |value: Option<&At<BitRate>>, default: u64| {
        if let Some(value) = value.filter(|v| v.value.0 == 0) {
            findings.push(
                value
                    .error("range", "a rate of zero never sends")
                    .expecting("a rate above 0"),
            );
        }
        value.map_or(default, |v| v.value.0)
    };
    let (additive_bps, hyper_bps, rate_min_bps) = (
        rate(text.additive.as_ref(), 40_000_000),
        rate(text.hyper.as_ref(), 400_000_000),
        rate(text.rate_min.as_ref(), 10_000_000),
    );
    DcqcnSettings {
        gain: gain.map_or(1.0 / 256.0, |g| g.value.0),
        notification_interval: time(text.notification_interval.as_ref(), Duration::from_us(50)),
        alpha_timer: span(text.alpha_timer.as_ref(), Duration::from_us(55), findings),
        rate_timer: span(text.rate_timer.as_ref(), Duration::from_us(55), findings),
        byte_counter: size(text.byte_counter.as_ref(), 10_000_000, (1_000, 1 << 40), findings),
        fast_recovery: text
            .fast_recovery
            .as_ref()
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(5),
        additive_bps,
        hyper_bps,
        rate_min_bps,
    }
}
