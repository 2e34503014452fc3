//! The token bucket of a leaf: tokens are time at its rate, looked at only when somebody asks.
//!
//! As the token bucket filter of Linux 2.2: the head leaves when the tokens of the time since the last departure and
//! those kept then, at most a full bucket, are worth it. Left out: the second bucket with a peak rate.

use super::plan::{CbqPlan, RateTable, TokenBucket};

/// A token bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    table: RateTable,
    /// Time to fill it.
    full: u64,
    tokens: u64,
    /// When `tokens` was true.
    since: u64,
    /// The last who asked had to wait.
    short: bool,
}

impl Bucket {
    pub(super) fn new(shape: &TokenBucket, plan: &CbqPlan, now: u64) -> Self {
        let table = RateTable::new(shape.rate_bps, plan);
        let full = table.span(shape.burst_bytes);
        Self {
            table,
            full,
            tokens: full,
            since: now,
            short: false,
        }
    }

    /// True where the last frame that asked had to wait.
    pub(super) const fn is_short(&self) -> bool {
        self.short
    }

    /// Takes a frame of `bytes` out at `now`, or says how long it has to wait.
    pub(super) fn take(&mut self, now: u64, bytes: u32) -> Result<(), u64> {
        let cost = self.table.time(bytes).min(self.full);
        let tokens = self
            .tokens
            .saturating_add(now.saturating_sub(self.since))
            .min(self.full);
        self.short = tokens < cost;
        if self.short {
            return Err(cost - tokens);
        }
        self.tokens = tokens - cost;
        self.since = now;
        Ok(())
    }

    pub(super) const fn rebase(&mut self, by: u64) {
        self.since = self.since.saturating_sub(by);
    }
}
