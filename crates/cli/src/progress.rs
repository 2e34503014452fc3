//! The progress bar: how far, how fast, how long still. On standard error, and only when it is a terminal.

use crate::{ending, machine};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two drawings.
const REDRAW: Duration = Duration::from_millis(100);
/// Simulated time is added up in units of this many picoseconds: a sum over many runs must not overflow.
const UNIT_PS: u64 = 1000;

/// Simulated time of several runs, as they go.
#[derive(Debug)]
pub(crate) struct Progress {
    begin: Instant,
    /// Simulated nanoseconds of all runs together.
    total: u64,
    done: AtomicU64,
    ended: AtomicBool,
}

impl Progress {
    /// For `runs` runs of `duration_ps` simulated picoseconds each.
    pub(crate) fn new(runs: u64, duration_ps: u64) -> Self {
        let total = (duration_ps / UNIT_PS).max(1).saturating_mul(runs.max(1));
        Self {
            begin: now(),
            total,
            done: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// A run went on by so much simulated time.
    pub(crate) fn advance(&self, by_ps: u64) {
        self.done.fetch_add(by_ps / UNIT_PS, Ordering::Relaxed);
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.begin)
    }

    /// Draws the bar while `work` runs.
    pub(crate) fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        if !stderr().is_terminal() {
            return work();
        }
        std::thread::scope(|scope| {
            let drawer = scope.spawn(|| self.draw());
            // Also when `work` panics, or the scope would wait for the drawer for ever.
            let guard = Guard(self);
            let result = work();
            drop(guard);
            drawer.thread().unpark();
            let _ = drawer.join();
            result
        })
    }

    fn draw(&self) {
        loop {
            std::thread::park_timeout(REDRAW);
            if self.ended.load(Ordering::Relaxed) {
                ending::say("\r\x1b[K");
                return;
            }
            let width = machine::columns(&stderr()).unwrap_or(80);
            let line = line(
                self.done.load(Ordering::Relaxed),
                self.total,
                self.elapsed(),
                width,
            );
            ending::say(&format!("\r{line}\x1b[K"));
        }
    }
}

struct Guard<'a>(&'a Progress);
impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

#[expect(clippy::disallowed_methods, reason = "the person who waits is told how long")]
fn now() -> Instant {
    Instant::now()
}

/// One line, at most `width` wide: a bar, simulated time, speed, time left. Times in simulated nanoseconds.
fn line(done: u64, total: u64, elapsed: Duration, width: usize) -> String {
    let share = (done as f64 / total as f64).min(1.0);
    let wall = elapsed.as_secs_f64();
    let speed = done as f64 / 1e9 / wall.max(1e-9);
    let left = if share > 0.0 {
        span(wall * (1.0 - share) / share)
    } else {
        "?".to_owned()
    };
    let (at, end) = (span(done as f64 / 1e9), span(total as f64 / 1e9));
    let text = format!(
        " {:3.0} %  {at} of {end} simulated, {} a second, {left} left",
        share * 100.0,
        span(speed)
    );
    let room = width.saturating_sub(text.len() + 3).min(30);
    let filled = (share * room as f64) as usize;
    let bar = if room < 5 {
        String::new()
    } else {
        format!("[{}{}]", "#".repeat(filled), "-".repeat(room - filled))
    };
    let mut line = bar + &text;
    line.truncate(width.saturating_sub(1));
    line
}

/// A span of time with three digits: 12.3 ms, 4.56 s, 3 min 20 s.
pub(crate) fn span(seconds: f64) -> String {
    if seconds >= 3600.0 {
        format!(
            "{:.0} h {:.0} min",
            (seconds / 3600.0).floor(),
            (seconds % 3600.0 / 60.0).floor()
        )
    } else if seconds >= 60.0 {
        format!(
            "{:.0} min {:.0} s",
            (seconds / 60.0).floor(),
            (seconds % 60.0).floor()
        )
    } else {
        clearway_report::quantity::humanised(seconds, "s", 3, clearway_report::Micro::Ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_simulated_time_speed_and_time_left() {
        let text = line(250_000_000, 1_000_000_000, Duration::from_secs(5), 100);
        assert_eq!(
            text,
            "[#######-----------------------]  25 %  250 ms of 1.00 s simulated, 50.0 ms a second, 15.0 s left"
        );
    }

    #[test]
    fn it_fits_any_terminal_and_any_number() {
        for width in 0..120 {
            for (done, total) in [(0, 1), (1, 1), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
                let text = line(done, total, Duration::from_secs(100_000), width);
                assert!(text.len() < width.max(1), "{width}: {text:?}");
            }
        }
    }

    #[test]
    fn long_spans_are_told_in_minutes_and_hours() {
        assert_eq!(span(200.0), "3 min 20 s");
        assert_eq!(span(7260.0), "2 h 1 min");
    }
}
