//! CUBIC (RFC 9438): after a reduction the window follows a cubic of the time since, flat where it was before.
//!
//! `W(t) = C (t - K)^3 + W_max` with `K = cbrt((W_max - W_epoch) / C)`, C = 0.4 segments/s^3, the reduction to 0.7,
//! fast convergence (4.7), and the Reno-friendly region (4.3) in which the window is at least that of an AIMD flow of
//! the same mean. Time in which the application, not the window, was the limit does not count (5.8). Left out:
//! HyStart++, the options of section 4.9 for spurious losses.

use clearway_core::{Duration, Instant};

/// Segments per second cubed (section 5).
const C: f64 = 0.4;
/// What is left of the window after a congestion event (section 4.6).
pub(super) const BETA: f64 = 0.7;
/// Increase of the AIMD flow that has the same mean window (section 4.3): 3 (1 - beta) / (1 + beta).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of the law; windows are in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    /// The window at which growth is flat.
    w_max: f64,
    /// The window just before the last reduction.
    prior: f64,
    /// Seconds from the start of the epoch to the flat place.
    k: f64,
    /// The AIMD flow's window.
    estimate: f64,
    /// When congestion avoidance began after the last event; none before.
    epoch: Option<Instant>,
    /// The last acknowledgement.
    last: Instant,
    /// Growth of less than a byte that is still to come, bytes.
    carry: f64,
}

fn seconds(d: Duration) -> f64 {
    d.as_ps() as f64 / 1e12
}

impl Cubic {
    pub(super) const fn new() -> Self {
        Self {
            w_max: 0.0,
            prior: 0.0,
            k: 0.0,
            estimate: 0.0,
            epoch: None,
            last: Instant::ZERO,
            carry: 0.0,
        }
    }

    /// A congestion event at a window of `cwnd` segments.
    pub(super) fn reduce(&mut self, cwnd: f64) {
        // Fast convergence: a window that did not reach the last maximum leaves room for newer flows.
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.prior = cwnd;
        self.epoch = None;
        self.carry = 0.0;
    }

    /// The application was the limit: the epoch waits.
    pub(super) fn pause(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = epoch.saturating_add(now.saturating_since(self.last));
        }
        self.last = now;
    }

    /// The cubic, `t` seconds after the start of the epoch.
    pub(super) fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }

    /// `acked` bytes were acknowledged in congestion avoidance at a window of `cwnd` bytes: by how many it grows.
    pub(super) fn grow(
        &mut self,
        acked: u64,
        cwnd: u64,
        mss: u64,
        now: Instant,
        srtt: Option<Duration>,
    ) -> u64 {
        let segment = mss as f64;
        let w = cwnd as f64 / segment;
        self.last = now;
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.epoch = Some(now);
                self.estimate = w;
                if self.w_max > w {
                    self.k = libm::cbrt((self.w_max - w) / C);
                } else {
                    self.w_max = w;
                    self.k = 0.0;
                }
                now
            }
        };
        let segments = acked as f64 / segment;
        let alpha = if self.estimate < self.prior { ALPHA } else { 1.0 };
        self.estimate += alpha * segments / w;
        let t = seconds(now.saturating_since(epoch));
        let gain = if self.w_cubic(t) < self.estimate {
            (self.estimate - w).max(0.0) * segment
        } else {
            let target = self
                .w_cubic(t + seconds(srtt.unwrap_or_default()))
                .clamp(w, 1.5 * w);
            (target - w) / w * acked as f64
        };
        self.carry += gain;
        let whole = self.carry as u64;
        self.carry -= whole as f64;
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// Windows in segments every round trip after a reduction from `from` to `to` segments.
    fn rounds(from: f64, to: u64, rtt: Duration, count: usize) -> (Cubic, Vec<(f64, f64)>) {
        let mut cubic = Cubic::new();
        cubic.reduce(from);
        let mut cwnd = to * MSS;
        let mut now = Instant::from_ps(1_000_000_000_000);
        let start = now;
        let mut seen = Vec::new();
        for _ in 0..count {
            // A window is acknowledged evenly over the round trip.
            let segments = cwnd / MSS;
            for i in 0..segments {
                let at = now.saturating_add(Duration::from_ps(rtt.as_ps() / segments * i));
                cwnd += cubic.grow(MSS, cwnd, MSS, at, Some(rtt));
            }
            now = now.saturating_add(rtt);
            seen.push((seconds(now.saturating_since(start)), cwnd as f64 / MSS as f64));
        }
        (cubic, seen)
    }

    #[test]
    fn the_window_follows_the_cubic_through_both_its_regions() {
        // 1,000 segments and 100 ms: AIMD growth of half a segment a round is far below. The window aims a round trip
        // ahead and moves there over a round trip, so it is W(t) within what the curve moves in one: 0.4 (3 K^2) 0.1 at
        // the start, 10 segments of 1,000. Accepted: the curve of one round before to one round after.
        let rtt = Duration::from_ms(100);
        let (cubic, seen) = rounds(1_000.0, 700, rtt, 160);
        let k = libm::cbrt(300.0 / C);
        assert!((cubic.k - k).abs() < 1e-9 && k > 9.0 && k < 9.2);
        for (t, w) in seen {
            let (low, high) = (cubic.w_cubic(t - 0.1), cubic.w_cubic(t + 0.1));
            assert!(
                (low - 1.0..=high + 1.0).contains(&w),
                "t {t}: {w} not in {low}..{high}"
            );
        }
    }

    #[test]
    fn at_short_round_trips_the_window_is_that_of_the_friendly_aimd_flow() {
        // 1 ms and 50 segments: the cubic gains 0.4 t^3, nothing in 20 ms; AIMD gains 0.529 segments a round.
        let (_, seen) = rounds(50.0, 35, Duration::from_ms(1), 20);
        let gained = seen[19].1 - 35.0;
        let aimd = ALPHA * 20.0;
        // A round of a growing window acknowledges less than a window: at most one part in 35 short, and a byte a step.
        assert!(
            gained > 0.95 * aimd && gained <= 1.001 * aimd,
            "{gained} of {aimd}"
        );
    }

    #[test]
    fn a_window_that_did_not_reach_the_last_maximum_aims_lower() {
        let mut cubic = Cubic::new();
        cubic.reduce(100.0);
        assert!((cubic.w_max - 100.0).abs() < 1e-12);
        cubic.reduce(80.0);
        assert!((cubic.w_max - 68.0).abs() < 1e-12, "{}", cubic.w_max);
        cubic.reduce(90.0);
        assert!((cubic.w_max - 90.0).abs() < 1e-12);
    }

    #[test]
    fn time_without_anything_to_send_does_not_count() {
        let rtt = Duration::from_ms(100);
        let mut a = Cubic::new();
        a.reduce(1_000.0);
        let mut b = a;
        let at = |ms: u64| Instant::ZERO.saturating_add(Duration::from_ms(ms));
        let mut grown = [0, 0];
        for i in 0..50 {
            grown[0] += a.grow(10 * MSS, 700 * MSS, MSS, at(100 * i), Some(rtt));
            let late = if i < 10 { 0 } else { 60_000 };
            if i == 10 {
                b.pause(at(60_000 + 100 * i - 100));
            }
            grown[1] += b.grow(10 * MSS, 700 * MSS, MSS, at(100 * i + late), Some(rtt));
        }
        assert!(grown[0] > 0 && grown[0] == grown[1], "{grown:?}");
    }
}
