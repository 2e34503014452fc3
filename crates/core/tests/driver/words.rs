//! The manager's answers in the model's words.

use crate::model::{Answer, Fault, Left, Reason};
use clearway_core::{Dequeue, FrameDesc, ReconfigureError, WaitReason};

fn left(frame: FrameDesc) -> Left {
    Left {
        handle: frame.handle,
        len: frame.len,
        queue: frame.queue.into(),
        colour: frame.colour,
        ce: frame.ce,
    }
}

pub(crate) fn tell(answer: Dequeue) -> Answer {
    match answer {
        Dequeue::Frame(frame) => Answer::Frame(left(frame)),
        Dequeue::Drop(frame, reason) => Answer::Drop(left(frame), reason),
        Dequeue::Wait { until, reason } => Answer::Wait {
            until_ps: until.as_ps(),
            reason: match reason {
                WaitReason::Shaper(id) => Reason::Shaper(id.into()),
                WaitReason::FlowShaper(id) => Reason::FlowShaper(id.into()),
                WaitReason::Gate(id) => Reason::Gate(id.into()),
            },
        },
        Dequeue::Empty => Answer::Empty,
    }
}

pub(crate) fn fault_of(error: &ReconfigureError) -> Fault {
    match error {
        ReconfigureError::NodeGone(id) => Fault::NodeGone((*id).into()),
        ReconfigureError::Root => Fault::Root,
        ReconfigureError::FlowElsewhere(id) => Fault::FlowElsewhere((*id).into()),
        ReconfigureError::WrongKind(id) => Fault::WrongKind((*id).into()),
        ReconfigureError::NodesMax => Fault::NodesMax,
        ReconfigureError::FlowsMax => Fault::FlowsMax,
        ReconfigureError::Plan(_) => Fault::Plan,
    }
}
