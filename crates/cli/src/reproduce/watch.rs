//! One line on a terminal while experiments run: how far, how long, how much longer.
//!
//! The estimate for everything that is left comes from what each experiment took the last time; where one of them has
//! never run, the estimate is for the batch of runs that is going on.

use crate::ending::say;
use crate::machine;
use crate::progress::span;
use clearway_experiment::reproduce::Progress;
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The present time. What a person waits for is timed, results are not.
#[expect(clippy::disallowed_methods, reason = "what a person waits for is timed")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Watches one experiment.
pub(super) struct Watch {
    /// `[2 of 8] t4-qos`
    name: String,
    begun: Instant,
    /// Seconds that this experiment took the last time, and seconds that those after it will take; if known.
    expected: Option<[f64; 2]>,
    batch: Mutex<Batch>,
}

struct Batch {
    begun: Instant,
    /// When a run of any batch ended last.
    last: Instant,
}

impl Watch {
    pub(super) fn begin(name: String, expected: Option<[f64; 2]>) -> Self {
        let begun = now();
        Self {
            name,
            begun,
            expected,
            batch: Mutex::new(Batch { begun, last: begun }),
        }
    }

    /// Since it began.
    pub(super) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.begun)
    }

    /// A run has ended.
    pub(super) fn show(&self, progress: &Progress<'_>) {
        if !stderr().is_terminal() {
            return;
        }
        let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        // A batch begins where the one before ended: its own first run took time, too.
        if progress.done == 1 {
            batch.begun = batch.last;
        }
        batch.last = now();
        let [all, part] = [self.begun, batch.begun].map(|begun| batch.last.saturating_duration_since(begun));
        let text = line(&self.name, progress, all, part, self.expected);
        let width = machine::columns(&stderr()).unwrap_or(80).saturating_sub(1);
        let text: String = text.chars().take(width).collect();
        say(&format!("\r{text}\x1b[K"));
    }

    /// Leaves the terminal as it was.
    pub(super) fn end(&self) {
        if stderr().is_terminal() {
            say("\r\x1b[K");
        }
    }
}

fn line(
    name: &str,
    progress: &Progress<'_>,
    all: Duration,
    part: Duration,
    expected: Option<[f64; 2]>,
) -> String {
    let Progress {
        case,
        done,
        kept,
        total,
    } = *progress;
    let left = match expected {
        // The last time is no promise: it never says less than nothing.
        Some([this, after]) => Some((((this - all.as_secs_f64()).max(0.0) + after), "left")),
        None => {
            let simulated = done.saturating_sub(kept);
            let each = part.as_secs_f64() / simulated as f64;
            (simulated > 0 && done < total).then(|| (each * (total - done) as f64, "left of this part"))
        }
    };
    let left = left.map_or_else(String::new, |(seconds, of)| {
        format!(", about {} {of}", span(seconds))
    });
    let kept = if kept > 0 {
        format!(", {kept} of them kept")
    } else {
        String::new()
    };
    format!(
        "{name}: {done} of {total} runs{kept} ({case}), {}{left}",
        span(all.as_secs_f64())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: Progress<'_> = Progress {
        case: "two channels",
        done: 4,
        kept: 2,
        total: 10,
    };

    #[test]
    fn what_is_left_comes_from_the_last_time_or_from_the_batch() {
        let [all, part] = [20, 6].map(Duration::from_secs);
        assert_eq!(
            line("[1 of 2] t4-qos", &PROGRESS, all, part, Some([30.0, 15.0])),
            "[1 of 2] t4-qos: 4 of 10 runs, 2 of them kept (two channels), 20.0 s, about 25.0 s left"
        );
        assert_eq!(
            line("t4-qos", &PROGRESS, all, part, None),
            "t4-qos: 4 of 10 runs, 2 of them kept (two channels), 20.0 s, about 18.0 s left of this part"
        );
    }

    #[test]
    fn nothing_is_estimated_from_nothing() {
        let none = Progress { kept: 4, ..PROGRESS };
        let text = line("x", &none, Duration::ZERO, Duration::ZERO, None);
        assert!(!text.contains("left"), "{text}");
        let late = line(
            "x",
            &PROGRESS,
            Duration::from_secs(90),
            Duration::ZERO,
            Some([30.0, 0.0]),
        );
        assert!(late.ends_with("about 0 s left"), "{late}");
    }
}
