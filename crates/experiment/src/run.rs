//! A scenario with several seeds, on all cores.
//!
//! Outcomes come back in the order of the seeds. A stop ends the runs that go on at their present instant and
//! begins no other; what is done is kept, and each outcome says whether it was stopped.

use crate::cores::on_all_cores;
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::Scenario;
use clearway_sim::results::CaptureRecord;
use clearway_sim::{Observer, Outcome, Progress, Refusal};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to run, and who looks on.
pub struct Run<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Root seeds.
    pub seeds: &'a [u64],
    /// How many run at a time.
    pub threads: usize,
    /// Set by whoever wants it to end.
    pub stop: &'a AtomicBool,
    /// Told how far simulated time went on, of any of the runs.
    pub advance: &'a (dyn Fn(Duration) + Sync),
    /// Given the frames that captured ends sent, with the root seed.
    pub frames: &'a (dyn Fn(u64, &[CaptureRecord]) + Sync),
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.scenario.name;
        f.debug_struct("Run")
            .field("scenario", name)
            .field("seeds", &self.seeds)
            .finish_non_exhaustive()
    }
}

struct Watch<'a> {
    run: &'a Run<'a>,
    seed: u64,
    seen: Instant,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: Progress) -> bool {
        (self.run.advance)(progress.now.saturating_since(self.seen));
        self.seen = progress.now;
        !self.run.stop.load(Ordering::Relaxed)
    }
    fn frames(&mut self, records: &[CaptureRecord]) {
        (self.run.frames)(self.seed, records);
    }
}

impl Run<'_> {
    /// Runs every seed. There are fewer outcomes than seeds where a stop came before a seed's turn.
    ///
    /// # Errors
    /// The scenario cannot run, whatever the seed.
    pub fn outcomes(&self) -> Result<Vec<Outcome>, Refusal> {
        let one = |seed: &u64| {
            let mut watch = Watch {
                run: self,
                seed: *seed,
                seen: Instant::ZERO,
            };
            let outcome = clearway_sim::run(self.scenario, *seed, &mut watch)?;
            let end = Instant::ZERO.saturating_add(outcome.simulated);
            (self.advance)(end.saturating_since(watch.seen));
            Ok(outcome)
        };
        on_all_cores(self.seeds, self.threads, self.stop, one)
            .into_iter()
            .flatten()
            .collect()
    }
}
