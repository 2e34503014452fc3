//! `messages` workloads: what is sent over which transport, and when.

use super::transport::transport;
use super::workloads::mean;
use crate::diagnostic::Diagnostic;
use crate::reader::At;
use crate::scenario::{Destination, MessagePattern, MessageTransport, WorkloadKind};
use crate::syntax::workload::{ArrivalWord, DestinationText, MessagesText};
use clearway_core::Duration;

/// A reply is one message: no longer than this.
const REPLY_MAX: u64 = 1 << 30;

pub(super) fn messages(t: &MessagesText, findings: &mut Vec<Diagnostic>) -> Option<WorkloadKind> {
    let transport = transport(t.transport.as_ref()?, findings);
    let message = t.message.as_ref()?;
    if mean(&message.value.0) < 1.0 {
        findings.push(
            message
                .error("range", "a message of no bytes")
                .expecting("at least 1B"),
        );
    }
    let reply = t.reply.as_ref().map_or(0, |r| r.value.0);
    if let Some(at) = t.reply.as_ref().filter(|_| reply > REPLY_MAX) {
        findings.push(
            at.error("range", "this reply is too long")
                .expecting("at most 1GiB"),
        );
    }
    let given = [
        t.stream.is_some(),
        t.closed_loop.is_some(),
        t.exchange.is_some(),
        t.rate.is_some(),
    ];
    if given.iter().filter(|g| **g).count() != 1 {
        let finding = t.place.error("messages", "messages are sent in exactly one way");
        findings.push(finding.expecting("one of stream, closed_loop, exchange, rate"));
        return None;
    }
    if let Some(at) = t.arrivals.as_ref().filter(|_| t.rate.is_none()) {
        findings.push(at.error("unused-key", "`arrivals` belongs to `rate`"));
    }
    let pattern = if let Some(stream) = &t.stream {
        let connections = stream.value.connections.as_ref();
        MessagePattern::Stream {
            connections: connections.map_or(1, |n| u32::try_from(n.value.0).unwrap_or(1)),
        }
    } else if let Some(closed) = &t.closed_loop {
        if reply == 0 {
            let finding = closed.error("range", "a closed loop goes on when a message is answered");
            findings.push(finding.expecting("a `reply` of at least 1B"));
        }
        let outstanding = closed.value.outstanding.as_ref();
        MessagePattern::ClosedLoop {
            outstanding: outstanding.map_or(1, |n| u32::try_from(n.value.0).unwrap_or(1)),
        }
    } else if let Some(exchange) = &t.exchange {
        if let Some(at) = t.reply.as_ref().filter(|_| reply > 0) {
            findings.push(at.error("unused-key", "the messages of an exchange answer each other"));
        }
        if let (Some(at), Some(MessageTransport::Udp { .. })) = (&t.transport, &transport) {
            let finding = at.error(
                "messages",
                "an exchange would end at the first message that is lost",
            );
            findings.push(finding.expecting("a transport that repeats: tcp or iwarp"));
        }
        let neighbours = exchange.value.neighbours.as_ref();
        let compute = exchange.value.compute.as_ref();
        MessagePattern::Exchange {
            neighbours: neighbours.map_or(0, |n| u32::try_from(n.value.0).unwrap_or(0)),
            compute: compute.map_or(Duration::ZERO, |c| Duration::from_ps(c.value.0)),
        }
    } else {
        let rate = t.rate.as_ref()?;
        if rate.value.0 == 0 {
            findings.push(
                rate.error("range", "a rate of zero never sends")
                    .expecting("a rate above 0"),
            );
        }
        MessagePattern::Rate {
            per_second: rate.value.0 as f64,
            poisson: !matches!(t.arrivals.as_ref().map(|a| a.value), Some(ArrivalWord::Even)),
        }
    };
    Some(WorkloadKind::Messages {
        transport: transport?,
        message_bytes: message.value.0.clone(),
        reply_bytes: u32::try_from(reply).unwrap_or(0),
        pattern,
    })
}

/// An exchange is among its senders, each of whom has so many neighbours.
pub(super) fn check_exchange(
    t: &MessagesText,
    kind: &WorkloadKind,
    to: &At<DestinationText>,
    among: &Destination,
    senders: usize,
    findings: &mut Vec<Diagnostic>,
) {
    let WorkloadKind::Messages {
        pattern: MessagePattern::Exchange { neighbours, .. },
        ..
    } = kind
    else {
        return;
    };
    if *among != Destination::UniformOthers {
        let finding = to.error("destination", "an exchange is among the hosts of `from`");
        findings.push(finding.expecting("\"others\""));
    }
    let asked = t.exchange.as_ref().and_then(|e| e.value.neighbours.as_ref());
    if let Some(at) = asked.filter(|_| 2 * (*neighbours as usize) >= senders) {
        let message = format!("{neighbours} neighbours to either side of {senders} hosts would meet");
        let finding = at.error("range", message);
        findings.push(finding.expecting(format!(
            "at most {}, or none for everybody else",
            senders.saturating_sub(1) / 2
        )));
    }
}

/// What a group cannot do: answer, or be reached by a connection.
pub(super) fn check_group(
    t: &MessagesText,
    kind: &WorkloadKind,
    to: &Destination,
    findings: &mut Vec<Diagnostic>,
) {
    let WorkloadKind::Messages {
        transport,
        reply_bytes,
        ..
    } = kind
    else {
        return;
    };
    if !matches!(to, Destination::Multicast(_)) {
        return;
    }
    if let Some(at) = t
        .transport
        .as_ref()
        .filter(|_| !matches!(transport, MessageTransport::Udp { .. }))
    {
        let finding = at.error("destination", "a connection goes to one host, not to a group");
        findings.push(finding.expecting("udp, or another `to`"));
    }
    if let Some(at) = t.reply.as_ref().filter(|_| *reply_bytes > 0) {
        let finding = at.error("destination", "a message to a group is not answered");
        findings.push(finding.expecting("no `reply`, or another `to`"));
    }
}
