//! Whether a switch has room for what still comes in after it has said stop.
//!
//! After XOFF is decided there still come: a longest frame that goes out ahead of the pause frame, the pause frame
//! itself, both ways of the cable, the neighbour's reaction time, and the longest frame that the neighbour has begun
//! (after IEEE 802.1Q annex on buffer requirements of priority-based flow control; delays of interfaces are part of
//! the reaction time here). Memory is charged in cells.

use super::policy_at;
use crate::buckets::bytes_in;
use crate::compile::FRAME_BYTES_DEFAULT;
use crate::diagnostic::{Diagnostic, Severity};
use crate::load::Loaded;
use crate::quantity::{Dimension, Quantity};
use crate::scenario::{FlowControl, NodeRef, PauseResponse, PauseScope, Scenario};

/// A control frame on the wire: 64 bytes, preamble and gap.
const CONTROL_BYTES: u64 = 84;

/// Bytes that come in over a link after the switch at `end` has decided to stop it, and the longest frame.
fn under_way(scenario: &Scenario, link: usize, end: usize) -> (u64, u64) {
    let l = &scenario.links[link];
    let longest = |e: usize| {
        let plan = policy_at(scenario, link, e).map(|p| scenario.policies[p].plan.frame_bytes_max);
        u64::from(plan.unwrap_or(FRAME_BYTES_DEFAULT))
    };
    let reaction = match l.ends[1 - end].node {
        NodeRef::Host(h) => scenario.hosts[h].nic.pause_reaction,
        NodeRef::Switch(s) => scenario.switches[s].pause_reaction,
    };
    let time = l.delay.as_ps().saturating_mul(2).saturating_add(reaction.as_ps());
    let frame = longest(1 - end);
    let bytes = longest(end) + 20 + CONTROL_BYTES + bytes_in(l.rate_bps, time) + frame;
    (bytes, frame)
}

fn obeys(scenario: &Scenario, node: NodeRef) -> bool {
    match node {
        NodeRef::Host(h) => scenario.hosts[h].nic.pause_response == PauseResponse::Obey,
        NodeRef::Switch(_) => true,
    }
}

pub(crate) fn check(loaded: &Loaded, findings: &mut Vec<Diagnostic>) {
    let scenario = &loaded.scenario;
    for (s, switch) in scenario.switches.iter().enumerate() {
        let (settings, priorities, what) = match &switch.flow_control {
            FlowControl::Pause(settings) => (settings, 1_u64, "PAUSE"),
            FlowControl::Pfc { settings, priorities } => {
                (settings, u64::from(priorities.count_ones()), "PFC")
            }
            _ => continue,
        };
        let mut ports = 0_u64;
        let mut room = 0_u64;
        let mut widest = 0_u64;
        let mut deaf = None;
        for (l, link) in scenario.links.iter().enumerate() {
            for (e, end) in link.ends.iter().enumerate() {
                if end.node != NodeRef::Switch(s) {
                    continue;
                }
                let (bytes, frame) = under_way(scenario, l, e);
                // Cells are rounded up, frame by frame: the longest frames are what fills them best.
                let cells = u64::from(switch.cell_bytes.max(1));
                let rounded = bytes
                    .div_ceil(frame.max(1))
                    .saturating_mul(frame.div_ceil(cells) * cells)
                    .max(bytes);
                ports += 1;
                room = room.saturating_add(rounded);
                widest = widest.max(rounded);
                if !obeys(scenario, link.ends[1 - e].node) {
                    deaf = Some(link.ends[1 - e].node);
                }
            }
        }
        let place = &loaded.facts.switches[s];
        if let Some(node) = deaf {
            let message = format!(
                "`{}` ignores flow control, so {what} of switch `{}` cannot stop it",
                name(scenario, node),
                switch.name
            );
            findings.push(
                place
                    .finding(Severity::Warning, "headroom", message)
                    .expecting("pause = \"obey\""),
            );
        }
        let (before, after) = match settings.scope {
            // XOFF goes to every port at once, when the memory as a whole is above the threshold.
            PauseScope::Total => (settings.high_bytes, room),
            // Every port, and every priority of it, may be just below its threshold at once.
            PauseScope::PerIngress => {
                let queues = ports.saturating_mul(priorities);
                (
                    settings.high_bytes.saturating_mul(queues),
                    room.saturating_mul(priorities),
                )
            }
        };
        let needed = before.saturating_add(after);
        if needed > switch.memory_bytes {
            let available = switch.memory_bytes.saturating_sub(before);
            let message = format!(
                "{what} of switch `{}` may lose frames: after XOFF up to {after} bytes still come in (at most {widest} \
                 a port), and {available} bytes are left above the thresholds",
                switch.name
            );
            let least = Quantity {
                dimension: Dimension::Size,
                value: needed,
            };
            let finding = place.finding(Severity::Warning, "headroom", message);
            findings.push(finding.expecting(format!("memory of at least {least}, or lower thresholds")));
        }
    }
}

/// The name of a node.
pub(crate) fn name(scenario: &Scenario, node: NodeRef) -> &str {
    match node {
        NodeRef::Host(h) => &scenario.hosts[h].name,
        NodeRef::Switch(s) => &scenario.switches[s].name,
    }
}
