//! What is counted of storage operations.
//!
//! Population: operations that were complete after the warm-up, whenever issued, so that rate, latency and the number
//! outstanding speak of the same time. Bytes are those of the blocks, each once however many copies it has. Latency is
//! from the issue of an operation to the completion of its last copy at the client.

use clearway_core::Duration;
use clearway_metrics::histogram::Histogram;

/// Operations of one workload, or of its clients on one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Issued after the warm-up.
    pub issued: u64,
    /// Payload bytes of the blocks written and read.
    pub bytes: u64,
    /// Copies written on other hosts.
    pub remote_copies: u64,
    /// Latency of writes, picoseconds.
    pub writes: Histogram,
    /// Latency of reads, picoseconds.
    pub reads: Histogram,
    /// Operation-picoseconds outstanding since the warm-up.
    pub area: u128,
}

impl Operations {
    /// Operations complete after the warm-up.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.writes.count() + self.reads.count()
    }

    /// Operations a second over a time.
    #[must_use]
    pub fn rate(&self, measured: Duration) -> f64 {
        self.completed() as f64 * 1e12 / (measured.as_ps() as f64).max(1.0)
    }

    /// Operations outstanding on average over a time.
    #[must_use]
    pub fn outstanding(&self, measured: Duration) -> f64 {
        self.area as f64 / (measured.as_ps() as f64).max(1.0)
    }

    /// Mean latency of writes and reads together, seconds; none where nothing was complete.
    #[must_use]
    pub fn mean_latency(&self) -> Option<f64> {
        let sum = |h: &Histogram| h.mean().unwrap_or(0.0) * h.count() as f64;
        let count = self.completed();
        (count > 0).then(|| (sum(&self.writes) + sum(&self.reads)) / count as f64 / 1e12)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.issued += other.issued;
        self.bytes += other.bytes;
        self.remote_copies += other.remote_copies;
        self.writes.merge(&other.writes);
        self.reads.merge(&other.reads);
        self.area += other.area;
    }
}

/// Operations of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageResult {
    /// Name of the workload.
    pub workload: String,
    /// All of them.
    pub all: Operations,
    /// By host of the clients, by index.
    pub hosts: Vec<(u32, Operations)>,
}
