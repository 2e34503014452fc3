//! `storage` workloads: who holds copies, and whether there are nodes enough for them.

use super::transport::transport;
use super::workloads::mean;
use crate::diagnostic::Diagnostic;
use crate::scenario::{Destination, MessageTransport, Placement, WorkloadKind};
use crate::syntax::workload::{PlacementWord, StorageText};

/// A block is one message.
const BLOCK_MAX: u64 = 1 << 30;

pub(super) fn storage(t: &StorageText, findings: &mut Vec<Diagnostic>) -> Option<WorkloadKind> {
    let transport = transport(t.transport.as_ref()?, findings);
    if let Some(at) = t
        .transport
        .as_ref()
        .filter(|_| matches!(transport, Some(MessageTransport::Udp { .. })))
    {
        let finding = at.error("transport", "a lost datagram would lose its operation for ever");
        findings.push(finding.expecting("tcp, iwarp or roce"));
    }
    let block = t.block.as_ref()?;
    if block.value.0 == 0 || block.value.0 > BLOCK_MAX {
        findings.push(
            block
                .error("range", "this block is out of range")
                .expecting("from 1B to 1GiB"),
        );
    }
    let write_fraction = t.writes.as_ref().map_or(1.0, |w| w.value.0);
    if let Some(at) = t.writes.as_ref().filter(|_| write_fraction > 1.0) {
        let finding = at.error("range", "more writes than operations");
        findings.push(finding.expecting("from 0% to 100%"));
    }
    let number =
        |given: Option<i64>, default: u32| given.map_or(default, |n| u32::try_from(n).unwrap_or(default));
    let service = t.service.as_ref().map(|s| s.value.0.clone());
    Some(WorkloadKind::Storage {
        transport: transport?,
        block_bytes: u32::try_from(block.value.0).unwrap_or(1),
        clients: number(t.clients.as_ref().map(|n| n.value.0), 1),
        outstanding: number(t.outstanding.as_ref().map(|n| n.value.0), 1),
        copies: number(t.copies.as_ref().map(|n| n.value.0), 1),
        connections: number(t.connections.as_ref().map(|n| n.value.0), 1),
        placement: match t.placement.as_ref().map(|p| p.value) {
            Some(PlacementWord::LocalFirst) => Placement::LocalFirst,
            _ => Placement::Any,
        },
        write_fraction,
        service: service.unwrap_or(crate::scenario::Law::Constant(0.0)),
    })
}

/// Copies need nodes, and a local one needs the client's own among them.
pub(super) fn check_storage(
    t: &StorageText,
    kind: &WorkloadKind,
    from: &[usize],
    to: &Destination,
    findings: &mut Vec<Diagnostic>,
) {
    let WorkloadKind::Storage {
        copies,
        placement,
        service,
        ..
    } = kind
    else {
        return;
    };
    let holders: &[usize] = match to {
        Destination::Host(host) => std::slice::from_ref(host),
        Destination::UniformOthers => from,
        Destination::Uniform(hosts) => hosts,
        Destination::Skewed { .. } | Destination::Multicast(_) => {
            let finding = t.place.error("destination", "blocks go to storage nodes");
            findings.push(finding.expecting("`to` with the nodes, or \"others\""));
            return;
        }
    };
    if let Some(at) = t.copies.as_ref().filter(|_| *copies as usize > holders.len()) {
        let message = format!("{copies} copies on {} storage nodes", holders.len());
        let finding = at.error("range", message);
        findings.push(finding.expecting("at most one copy for each host of `to` (\"others\": of `from`)"));
    }
    let stranger = from.iter().any(|host| !holders.contains(host));
    if let Some(at) = t
        .placement
        .as_ref()
        .filter(|_| stranger && *placement == Placement::LocalFirst)
    {
        let finding = at.error("placement", "a client's own host is no storage node");
        findings.push(finding.expecting("`to` with every host of `from`, or \"any\""));
    }
    let stays = from.iter().any(|host| holders.contains(host)) && *copies == 1;
    if stays && mean(service) <= 0.0 {
        let finding = t.place.inside("service").error(
            "missing-key",
            "an operation whose one copy is on its own node would take no time",
        );
        findings.push(finding.expecting("a service time above 0"));
    }
}
