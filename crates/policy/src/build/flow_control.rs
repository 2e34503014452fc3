//! Flow control of a switch: thresholds, quanta, credits.

use super::topology::{Findings, span};
use crate::reader::{At, Size, Whole};
use crate::scenario::{FlowControl, PauseScope, PauseSettings};
use crate::syntax::scenario::{FlowControlText, PauseTable, PfcTable, ScopeWord};
use clearway_core::Duration;

/// The longest pause there is.
const QUANTA_DEFAULT: u16 = u16::MAX;

/// High and low threshold as pause tables have them.
struct Thresholds<'a> {
    high: Option<&'a At<Size>>,
    low: Option<&'a At<Size>>,
    scope: Option<ScopeWord>,
    default_scope: PauseScope,
    quanta: Option<&'a At<Whole<1, 65535>>>,
    refresh_before: Option<Duration>,
}

impl<'a> From<&'a PauseTable> for Thresholds<'a> {
    fn from(t: &'a PauseTable) -> Self {
        Self {
            high: t.high.as_ref(),
            low: t.low.as_ref(),
            scope: t.scope.as_ref().map(|s| s.value),
            default_scope: PauseScope::Total,
            quanta: t.quanta.as_ref(),
            refresh_before: span(t.refresh_before.as_ref()),
        }
    }
}

impl<'a> From<&'a PfcTable> for Thresholds<'a> {
    fn from(t: &'a PfcTable) -> Self {
        Self {
            high: t.high.as_ref(),
            low: t.low.as_ref(),
            scope: t.scope.as_ref().map(|s| s.value),
            default_scope: PauseScope::PerIngress,
            quanta: t.quanta.as_ref(),
            refresh_before: span(t.refresh_before.as_ref()),
        }
    }
}

fn settings(t: &Thresholds<'_>, memory_bytes: u64, findings: &mut Findings<'_>) -> PauseSettings {
    let high_bytes = t.high.map_or(0, |s| s.value.0);
    // 9/16 of the high threshold, split so that it cannot overflow.
    let low_bytes = t
        .low
        .map_or(high_bytes / 16 * 9 + high_bytes % 16 * 9 / 16, |s| s.value.0);
    if let Some(high) = t.high.filter(|_| high_bytes > memory_bytes) {
        let finding = high.error(
            "range",
            "the threshold is above the memory: no pause would ever be sent",
        );
        findings.push(finding.expecting(format!("at most {memory_bytes}B")));
    }
    if let Some(low) = t.low.filter(|_| low_bytes > high_bytes) {
        let finding = low.error("range", "the low threshold is above the high one");
        findings.push(finding.expecting(format!("at most {high_bytes}B")));
    }
    PauseSettings {
        high_bytes,
        low_bytes,
        scope: match t.scope {
            Some(ScopeWord::Total) => PauseScope::Total,
            Some(ScopeWord::PerIngress) => PauseScope::PerIngress,
            None => t.default_scope,
        },
        quanta: t
            .quanta
            .and_then(|q| u16::try_from(q.value.0).ok())
            .unwrap_or(QUANTA_DEFAULT),
        refresh_before: t.refresh_before,
    }
}

pub(crate) fn flow_control(
    text: &FlowControlText,
    memory_bytes: u64,
    findings: &mut Findings<'_>,
) -> FlowControl {
    let given = [
        text.pause.is_some(),
        text.pfc.is_some(),
        text.pause_per_output.is_some(),
        text.credits.is_some(),
    ];
    if given.iter().filter(|g| **g).count() > 1 {
        let finding = text
            .place
            .error("flow-control", "more than one kind of flow control");
        findings.push(finding.expecting("one of pause, pfc, pause_per_output, credits"));
    }
    if let Some(pause) = &text.pause {
        return FlowControl::Pause(settings(&(&pause.value).into(), memory_bytes, findings));
    }
    if let Some(pfc) = &text.pfc {
        let priorities = pfc.value.priorities.as_ref().map_or(0, |p| p.value.0);
        return FlowControl::Pfc {
            settings: settings(&(&pfc.value).into(), memory_bytes, findings),
            priorities,
        };
    }
    if let Some(pause) = &text.pause_per_output {
        return FlowControl::PausePerOutput(settings(&(&pause.value).into(), memory_bytes, findings));
    }
    if let Some(credits) = &text.credits {
        let bytes_per_output = credits.value.per_output.as_ref().map_or(0, |s| s.value.0);
        let least = u64::from(crate::compile::FRAME_BYTES_DEFAULT);
        if let Some(at) = credits.value.per_output.as_ref().filter(|s| s.value.0 < least) {
            let finding = at.error("range", "no frame fits into this credit: nothing would be sent");
            findings.push(finding.expecting(format!("at least {least}B")));
        }
        let return_bytes = credits
            .value
            .return_min
            .as_ref()
            .map_or(least.min(bytes_per_output), |s| s.value.0);
        if let Some(at) = credits
            .value
            .return_min
            .as_ref()
            .filter(|_| return_bytes > bytes_per_output)
        {
            let finding = at.error("range", "credit of this size never comes together");
            findings.push(finding.expecting(format!("at most {bytes_per_output}B")));
        }
        return FlowControl::Credits {
            bytes_per_output,
            return_bytes,
        };
    }
    FlowControl::None
}
