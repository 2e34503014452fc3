//! `event_builder` workloads: what a fragment is, how many events there are, and who may send when.

use super::transport::transport;
use super::workloads::mean;
use crate::diagnostic::Diagnostic;
use crate::scenario::{Destination, EventControl, WorkloadKind};
use crate::syntax::workload::EventBuilderText;
use clearway_core::Duration;

const IN_FLIGHT_DEFAULT: u32 = 16;

pub(super) fn event_builder(t: &EventBuilderText, findings: &mut Vec<Diagnostic>) -> Option<WorkloadKind> {
    let transport = transport(t.transport.as_ref()?, findings);
    let fragment = t.fragment.as_ref()?;
    if mean(&fragment.value.0) < 1.0 {
        let finding = fragment.error("range", "a fragment of no bytes");
        findings.push(finding.expecting("at least 1B"));
    }
    if let Some(rate) = t.rate.as_ref().filter(|r| r.value.0 == 0) {
        let finding = rate.error("range", "a rate of zero never begins an event");
        findings.push(finding.expecting("a rate above 0, or none"));
    }
    let control = match (&t.barrel_shifter, &t.pull) {
        (None, None) => EventControl::None,
        (Some(shifter), None) => {
            let slot = shifter.value.slot.as_ref()?;
            if slot.value.0 == 0 {
                let finding = slot.error("range", "a slot of no length");
                findings.push(finding.expecting("at least the time of one full frame"));
            }
            EventControl::BarrelShifter {
                slot: Duration::from_ps(slot.value.0),
            }
        }
        (None, Some(pull)) => EventControl::Pull {
            fragments_outstanding: pull
                .value
                .fragments_outstanding
                .as_ref()
                .and_then(|n| u32::try_from(n.value.0).ok())
                .unwrap_or(1),
        },
        (Some(_), Some(pull)) => {
            let finding = pull.error(
                "event_builder",
                "sources take turns by time or are asked, not both",
            );
            findings.push(finding.expecting("`barrel_shifter` or `pull`"));
            return None;
        }
    };
    Some(WorkloadKind::EventBuilder {
        transport: transport?,
        fragment_bytes: fragment.value.0.clone(),
        rate_eps: t.rate.as_ref().map(|r| r.value.0 as f64),
        events_in_flight: t
            .events_in_flight
            .as_ref()
            .and_then(|n| u32::try_from(n.value.0).ok())
            .unwrap_or(IN_FLIGHT_DEFAULT),
        control,
    })
}

/// Builders are listed, and none of them is a source.
pub(super) fn check_builders(
    t: &EventBuilderText,
    from: &[usize],
    to: &Destination,
    findings: &mut Vec<Diagnostic>,
) {
    let fine = match to {
        Destination::Host(host) => !from.contains(host),
        Destination::Uniform(hosts) => !hosts.iter().any(|h| from.contains(h)),
        _ => false,
    };
    if !fine {
        let finding = t
            .place
            .error("destination", "events are built by hosts that send no fragments");
        findings.push(finding.expecting("`to` one host or a list of hosts that are not in `from`"));
    }
}
