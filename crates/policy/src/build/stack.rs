//! A host's stack: what its kind leaves open and what the file says, as integers.

use super::topology::{Findings, span};
use crate::reader::{At, Whole};
use crate::scenario::{Coalescing, Costs, Cpu, Stack, StackKind, Wake};
use crate::syntax::stack::{CoalesceText, CostsText, CpusText, StackText, StackWord};
use clearway_core::Duration;

/// Packets that Linux takes from one ring before it looks elsewhere (`dev_weight`).
const KERNEL_BUDGET: u32 = 64;
/// A cost above this is a slip in a unit.
const COST_MAX_PS: u64 = 1_000_000_000_000;

/// The stack of a host.
pub(crate) fn stack(text: &StackText, findings: &mut Findings<'_>) -> Stack {
    let kind = match text.kind.as_ref().map(|k| k.value) {
        Some(StackWord::UserSpace) => StackKind::UserSpace,
        Some(StackWord::Offload) => StackKind::Offload,
        Some(StackWord::Rdma) => StackKind::Rdma,
        Some(StackWord::Kernel) | None => StackKind::Kernel,
    };
    let speed = text.speed.as_ref().map_or(1.0, |s| s.value.0);
    if let Some(at) = text
        .speed
        .as_ref()
        .filter(|s| !(0.001..=1000.0).contains(&s.value.0))
    {
        let finding = at.error("range", "this is no speed of a processor");
        findings.push(finding.expecting("from 0.001 to 1000, 1 for the processor that the costs are of"));
    }
    let scaled = |time: Duration| {
        let exact = (time.as_ps() as f64 / speed).round();
        Duration::from_ps(if exact.is_finite() { exact as u64 } else { 0 })
    };
    let receive = costs(text.receive.as_ref(), &scaled, findings);
    let transmit = costs(text.transmit.as_ref(), &scaled, findings);
    let wake = match &text.interrupt {
        None => {
            if kind == StackKind::Kernel
                && let Some(at) = &text.kind
            {
                let finding = at.error("missing-key", "a kernel is told of frames by interrupts");
                findings.push(finding.expecting("an `interrupt` table with the cost of one"));
            }
            Wake::Poll
        }
        Some(interrupt) => Wake::Interrupt {
            cost: scaled(time(interrupt.value.cost.as_ref(), findings)),
            receive: coalescing(interrupt.value.receive.as_ref()),
            transmit: interrupt.value.transmit.as_ref().map(|t| coalescing(Some(t))),
        },
    };
    let budget = if kind == StackKind::Kernel {
        KERNEL_BUDGET
    } else {
        1
    };
    Stack {
        kind,
        cpus: cpus(text.cpus.as_ref(), findings),
        transmit,
        receive,
        wake,
        receive_ring_frames: whole(text.receive_ring.as_ref(), 1),
        transmit_ring_frames: whole(text.transmit_ring.as_ref(), 0),
        merge_bytes: text.merge.as_ref().map_or(0, |m| {
            if m.value.0 > 1 << 24 {
                let finding = m.error("range", "this size is out of range");
                findings.push(finding.expecting("at most 16MiB"));
            }
            u32::try_from(m.value.0).unwrap_or(0)
        }),
        budget: whole(text.budget.as_ref(), budget),
    }
}

fn whole<const A: i64, const B: i64>(number: Option<&At<Whole<A, B>>>, default: u32) -> u32 {
    number.map_or(default, |n| u32::try_from(n.value.0).unwrap_or(default))
}

fn cpus(text: Option<&At<CpusText>>, findings: &mut Findings<'_>) -> Vec<Cpu> {
    let plain = Cpu {
        weight: 1,
        receive: None,
    };
    let Some(text) = text else { return vec![plain] };
    match &text.value {
        CpusText::Count(n) => vec![plain; usize::try_from(*n).unwrap_or(1)],
        CpusText::Each(each) => {
            if each.0.is_empty() || each.0.len() > 1024 {
                let finding = text.error("range", "a stack needs a processor");
                findings.push(finding.expecting("from 1 to 1024 tables"));
                return vec![plain];
            }
            let cpu = |text: &crate::syntax::stack::CpuText| Cpu {
                weight: whole(text.weight.as_ref(), 1),
                receive: text.coalesce.as_ref().map(|c| coalescing(Some(c))),
            };
            each.0.iter().map(|at| cpu(&at.value)).collect()
        }
    }
}

fn coalescing(text: Option<&At<CoalesceText>>) -> Coalescing {
    let at_once = Coalescing {
        frames: 1,
        time: Duration::ZERO,
    };
    text.map_or(at_once, |text| Coalescing {
        frames: whole(text.value.frames.as_ref(), u32::MAX),
        time: span(text.value.time.as_ref()).unwrap_or(Duration::ZERO),
    })
}

fn time(time: Option<&At<crate::reader::Time>>, findings: &mut Findings<'_>) -> Duration {
    if let Some(at) = time.filter(|t| t.value.0 > COST_MAX_PS) {
        let finding = at.error("range", "this cost is out of range");
        findings.push(finding.expecting("at most 1s"));
    }
    span(time).unwrap_or(Duration::ZERO)
}

fn costs(
    text: Option<&At<CostsText>>,
    scaled: &dyn Fn(Duration) -> Duration,
    findings: &mut Findings<'_>,
) -> Costs {
    let Some(At { value: text, .. }) = text else {
        return Costs::default();
    };
    if let Some(at) = text.copy.as_ref().filter(|c| c.value.0 == 0) {
        let finding = at.error("range", "a copy of zero rate never ends");
        findings.push(finding.expecting("a rate above 0, or no `copy` where nothing is copied"));
    }
    Costs {
        per_message: scaled(time(text.per_message.as_ref(), findings)),
        per_packet: scaled(time(text.per_packet.as_ref(), findings)),
        per_segment: scaled(time(
            text.per_segment.as_ref().or(text.per_packet.as_ref()),
            findings,
        )),
        per_ack: scaled(time(text.per_ack.as_ref(), findings)),
        copy_bps: text.copy.as_ref().map(|c| c.value.0),
    }
}
