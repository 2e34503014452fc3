//! What is counted of built events.
//!
//! Population: `built`, `built_bytes` and `fragments` are those that were complete after the warm-up, whenever triggered:
//! throughput is read from them. `triggered`, `incomplete` and the latency are of events triggered after the warm-up.
//! Latency is from the instant at which an event was meant to be triggered to the last byte of its last fragment at the
//! builder's application.

use clearway_metrics::histogram::Histogram;

/// Events of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Triggered after the warm-up.
    pub triggered: u64,
    /// Complete after the warm-up.
    pub built: u64,
    /// Payload bytes of those.
    pub built_bytes: u64,
    /// Fragments complete after the warm-up.
    pub fragments: u64,
    /// Events with a lost fragment, settled.
    pub incomplete: u64,
    /// Events still incomplete when the run ended, whenever triggered.
    pub open: u64,
    /// From trigger to complete event, picoseconds.
    pub latency: Histogram,
}

/// Events of one workload, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct EventResult {
    /// Name of the workload.
    pub workload: String,
    /// What it counted.
    pub events: Events,
}
