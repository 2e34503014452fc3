//! The leaves of a plan: limits, marks, meters, ages and per-flow queues.

use crate::buckets::bytes_in;
use crate::compile::{Compiler, QUEUE_BYTES_MAX};
use crate::reader::{At, Time};
use crate::syntax::policy::{
    AnyBurst, ClassText, EcnText, FlowLimit, FrameBurst, MarkPoint, MeterText, PerFlowText, QueueLimit, Red,
};
use clearway_core::Duration;
use clearway_core::plan::{
    Accounting, BitShape, FlowShape, Mark, MarkAt, MeterKind, MeterPlan, QueueMode, QueuePlan,
};

const FLOW_FRAMES_DEFAULT: u32 = 128;

impl Compiler<'_> {
    pub(crate) fn queue(&mut self, class: Option<&ClassText>, layer: Accounting) -> QueuePlan {
        let mut queue = QueuePlan {
            mode: QueueMode::Shared,
            bytes_max: QUEUE_BYTES_MAX,
            frames_max: self.plan.frames_max,
            mark: None,
            gate: 0,
            meter: None,
            age_max: None,
        };
        let Some(class) = class else { return queue };
        for limit in class.limit.iter().flat_map(|l| &l.value.0) {
            let zero = match limit.value {
                QueueLimit::Size(bytes) => {
                    queue.bytes_max = queue.bytes_max.min(bytes).max(1);
                    bytes < u64::from(self.plan.frame_bytes_max)
                }
                QueueLimit::Frames(frames) => {
                    queue.frames_max = queue
                        .frames_max
                        .min(u32::try_from(frames).unwrap_or(u32::MAX))
                        .max(1);
                    frames == 0
                }
                QueueLimit::Time(ps) => {
                    let bytes = bytes_in(self.line_rate_bps, ps);
                    queue.bytes_max = queue.bytes_max.min(bytes).max(1);
                    bytes < u64::from(self.plan.frame_bytes_max)
                }
            };
            if zero {
                let finding = limit.error(
                    "limit-below-frame",
                    "the longest frame does not fit into this queue",
                );
                self.findings
                    .push(finding.expecting(format!("at least {}B, or 1frame", self.plan.frame_bytes_max)));
            }
        }
        queue.mark = class.ecn.as_ref().map(|e| mark(&e.value));
        queue.age_max = class.age_max.as_ref().map(|t| self.age(t));
        queue.meter = class.meter.as_ref().map(|m| self.meter(&m.value));
        if let Some(per_flow) = &class.per_flow {
            self.per_flow_used = true;
            queue.mode = self.per_flow(&per_flow.value, layer);
        }
        queue
    }

    fn age(&mut self, age: &At<Time>) -> Duration {
        if age.value.0 == 0 {
            self.findings.push(
                age.error("range", "an age of zero drops every frame")
                    .expecting("above 0"),
            );
        }
        Duration::from_ps(age.value.0)
    }

    fn meter(&mut self, text: &MeterText) -> MeterPlan {
        let cir_bps = text.cir.as_ref().map_or(1, |r| self.rate(r));
        let bare = Accounting::default();
        let cbs_bytes = {
            let given = text.cbs.as_ref().map(|s| (s.value.0, &s.place));
            self.bucket(cir_bps, given, bare)
        };
        let kind = match (&text.pir, &text.ebs) {
            (Some(pir), None) => {
                let pir_bps = self.rate(pir);
                if pir_bps < cir_bps {
                    let finding = pir.error("range", "the peak rate is below the committed rate");
                    self.findings.push(finding.expecting("at least `cir`"));
                }
                let given = text.pbs.as_ref().map(|s| (s.value.0, &s.place));
                MeterKind::TwoRate {
                    cir_bps,
                    cbs_bytes,
                    pir_bps,
                    pbs_bytes: self.bucket(pir_bps, given, bare),
                }
            }
            (None, ebs) => {
                if let Some(pbs) = &text.pbs {
                    let finding =
                        pbs.error("unused-key", "a peak burst size without a peak rate does nothing");
                    self.findings
                        .push(finding.expecting("`pir` as well, or `ebs` in its place"));
                }
                let ebs_bytes = ebs.as_ref().map_or(0, |s| s.value.0);
                MeterKind::SingleRate {
                    cir_bps,
                    cbs_bytes,
                    ebs_bytes,
                }
            }
            (Some(_), Some(ebs)) => {
                let finding = ebs.error("unused-key", "`ebs` is of RFC 2697 and `pir` of RFC 2698");
                self.findings.push(finding.expecting("one of the two"));
                MeterKind::SingleRate {
                    cir_bps,
                    cbs_bytes,
                    ebs_bytes: ebs.value.0,
                }
            }
        };
        MeterPlan {
            kind,
            drop_red: !matches!(text.red.as_ref().map(|r| r.value), Some(Red::Pass)),
        }
    }

    fn per_flow(&mut self, text: &PerFlowText, layer: Accounting) -> QueueMode {
        let shape = match (&text.rate, &text.frame_rate) {
            (Some(rate), None) => {
                let rate_bps = self.rate(rate);
                let burst = text.burst.as_ref().map(|b| match b.value {
                    AnyBurst::Size(bytes) => (bytes, &b.place),
                    AnyBurst::Time(ps) => (bytes_in(rate_bps, ps), &b.place),
                    AnyBurst::Frames(n) => (
                        n.saturating_mul(u64::from(layer.cost(self.plan.frame_bytes_max))),
                        &b.place,
                    ),
                });
                Some(FlowShape::Bits(BitShape {
                    rate_bps,
                    burst_bytes: self.bucket(rate_bps, burst, layer),
                }))
            }
            (None, Some(rate)) => {
                let burst = match &text.burst {
                    Some(b) => match b.value {
                        AnyBurst::Frames(n) => Some(At {
                            value: FrameBurst::Frames(n),
                            place: b.place.clone(),
                        }),
                        AnyBurst::Time(t) => Some(At {
                            value: FrameBurst::Time(t),
                            place: b.place.clone(),
                        }),
                        AnyBurst::Size(_) => {
                            let finding = b.error("quantity", "the bucket of a frame rate is in frames");
                            self.findings
                                .push(finding.expecting("a number of frames such as \"2frame\", or a time"));
                            None
                        }
                    },
                    None => None,
                };
                self.frame_shape(Some(rate), burst.as_ref())
                    .map(FlowShape::Frames)
            }
            (Some(_), Some(frames)) => {
                let finding = frames.error("unused-key", "a flow has one limit: in bit/s or in frame/s");
                self.findings.push(finding.expecting("`rate` or `frame_rate`"));
                None
            }
            (None, None) => {
                self.burst_needs(true, text.burst.as_ref(), "rate");
                None
            }
        };
        let flow_frames_max = match text.limit.as_ref().map(|l| (l.value, &l.place)) {
            None => FLOW_FRAMES_DEFAULT,
            Some((FlowLimit::Frames(n), place)) => {
                if n == 0 {
                    self.findings.push(
                        place
                            .error("limit-below-frame", "a flow of no frames")
                            .expecting("at least 1frame"),
                    );
                }
                u32::try_from(n).unwrap_or(u32::MAX)
            }
        };
        QueueMode::PerFlow {
            shape,
            flow_frames_max,
        }
    }
}

fn mark(ecn: &EcnText) -> Mark {
    let at = match ecn.at {
        MarkPoint::Enqueue => MarkAt::Enqueue,
        MarkPoint::Dequeue => MarkAt::Dequeue,
    };
    Mark {
        threshold_bytes: ecn.threshold,
        at,
    }
}
