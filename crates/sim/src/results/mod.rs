//! What a run found: counters, histograms and series, made into tidy rows.
//!
//! Every number names its accounting layer, its population and its unit. Counts are integers; two runs with the same
//! scenario and seed agree in all of them, which [`Outcome::hash`] states in one number.

mod actions;
pub(crate) mod collect;
mod digest;
mod events;
pub(crate) mod jitter;
pub(crate) mod messages;
mod outcome;
mod rows;
mod series;
mod storage;

pub use crate::net::{Calls, FlowCounters, Progress, Usage};
pub use actions::ActionResult;
pub use collect::{CAUSES, Cause, ClassCounters, FlowControlMark, Totals};
pub use events::{EventResult, Events};
pub use jitter::FlowJitter;
pub use messages::Messages;
pub use outcome::{
    CallResult, ClassResult, CpuResult, EngineStats, FlowResult, HostResult, MessageResult, Outcome,
    PortResult, QueueResult, SwitchResult, TcpResult,
};
pub use series::{Series, SeriesLine};
pub use storage::{Operations, StorageResult};

use clearway_core::{FlowKey, Instant};

/// One frame at the moment at which its first bit went on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureRecord {
    /// Index of the line: twice the link, plus one for its second end.
    pub line: u32,
    /// When its transmission began.
    pub at: Instant,
    /// L2 bytes with FCS.
    pub bytes: u32,
    /// Header fields.
    pub key: FlowKey,
    /// Congestion experienced.
    pub marked: bool,
}

/// Watches a run.
pub trait Observer {
    /// Called every few thousand events. False ends the run; what is done is kept.
    fn progress(&mut self, progress: Progress) -> bool {
        let _ = progress;
        true
    }
    /// Frames sent on captured ends since the last call; in order of time for each end.
    fn frames(&mut self, records: &[CaptureRecord]) {
        let _ = records;
    }
}

/// An observer that lets the run go on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;
impl Observer for Unobserved {}
