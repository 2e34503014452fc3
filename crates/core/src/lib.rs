//! The traffic manager: classifier, meter, shaper, transmission selection, pause.
//!
//! This crate is sans-I/O: time is an argument, the bytes of a frame stay with the caller, and a frame is a
//! small descriptor with a handle. The same code runs inside the simulator (virtual time) and inside the
//! user-space data plane (real time). It never reads a clock, never draws a random number, uses no floating
//! point and does no input or output.
//!
//! * [`plan`]: the validated description of one port's tree, the only input to [`TrafficManager::new`];
//! * [`classifier`]: rules over frame fields, compiled, first match wins;
//! * [`meter`]: RFC 2697 and RFC 2698 three-colour markers;
//! * [`shaper`]: exact token buckets in integer picoseconds;
//! * [`manager`]: queues, the tree, live reconfiguration;
//! * [`cbq`]: class-based queueing as Linux 2.2 had it, beside it.
//!
//! The rules that every answer follows are written out in `docs/traffic-manager.md`; the slow reference model in
//! `tests/` is built from that page and shares no code with this crate.
#![no_std]
extern crate alloc;

pub mod api;
pub mod cbq;
pub mod classifier;
pub mod key;
pub mod manager;
pub mod meter;
pub mod plan;
mod plan_check;
pub mod shaper;
pub mod time;

pub use api::{
    Backlog, Change, Classify, Colour, Counters, Dequeue, DropReason, Ecn, Egress, FrameDesc, FrameHandle,
    GateSet, NodeId, QueueId, ReconfigureError, Reconfigured, RefuseReason, Refused, Target, WaitReason,
};
pub use key::{FlowId, FlowKey};
pub use manager::TrafficManager;
pub use plan::{Plan, PlanError};
pub use time::{Duration, Instant};
