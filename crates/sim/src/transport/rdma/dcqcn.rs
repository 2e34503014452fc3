//! DCQCN (Zhu et al., SIGCOMM 2015, section 3 and figure 7): the rate of a flow at its reaction point.
//!
//! A notification cuts the rate, `R_T = R_C, R_C (1 - alpha / 2)`, and raises `alpha = (1 - g) alpha + g`; without one
//! alpha decays by `1 - g` each `alpha_timer`. The rate comes back by steps, at each expiry of the rate timer and at
//! each `byte_counter` bytes sent: fast recovery halves the distance to `R_T` for the first F of either; then additive
//! increase raises `R_T` by `R_AI` first; once both have had more than F steps, hyper increase raises it by `i R_HAI`,
//! as IEEE 802.1Qau 30.3 does. At line rate the machine rests until the next notification.
//!
//! Left out: what vendors added since (clamped targets, rate reductions held back to one an interval).

use clearway_core::{Duration, Instant};
use clearway_policy::scenario::DcqcnSettings;

/// One flow's rate.
#[derive(Clone, Debug)]
pub struct RateMachine {
    settings: DcqcnSettings,
    line_bps: f64,
    current_bps: f64,
    target_bps: f64,
    alpha: f64,
    /// Bytes since the byte counter's last step.
    bytes: u64,
    /// Steps of the byte counter and of the timer since the last notification.
    steps: [u32; 2],
    /// When alpha decays next and when the rate timer expires; none at rest.
    due: Option<[Instant; 2]>,
}

impl RateMachine {
    /// At line rate, with the first alpha of 1.
    #[must_use]
    pub fn new(settings: &DcqcnSettings, line_bps: u64) -> Self {
        let line_bps = line_bps as f64;
        Self {
            settings: *settings,
            line_bps,
            current_bps: line_bps,
            target_bps: line_bps,
            alpha: 1.0,
            bytes: 0,
            steps: [0; 2],
            due: None,
        }
    }

    /// The rate at which the flow may send, bit/s.
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.current_bps as u64
    }

    /// The estimate of how congested the path is.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The rate to which fast recovery leads, bit/s.
    #[must_use]
    pub const fn target_bps(&self) -> u64 {
        self.target_bps as u64
    }

    /// A congestion notification came.
    pub fn on_notification(&mut self, now: Instant) {
        self.target_bps = self.current_bps;
        let least = self.settings.rate_min_bps as f64;
        self.current_bps = (self.current_bps * (1.0 - self.alpha / 2.0)).max(least.min(self.line_bps));
        self.alpha = (1.0 - self.settings.gain) * self.alpha + self.settings.gain;
        self.bytes = 0;
        self.steps = [0; 2];
        self.due = Some([
            now.saturating_add(self.settings.alpha_timer),
            now.saturating_add(self.settings.rate_timer),
        ]);
    }

    /// So many bytes were sent.
    pub fn on_sent(&mut self, bytes: u64) {
        if self.due.is_none() {
            return;
        }
        self.bytes += bytes;
        let unit = self.settings.byte_counter.max(1);
        while self.bytes >= unit && self.due.is_some() {
            self.bytes -= unit;
            self.steps[0] = self.steps[0].saturating_add(1);
            self.increase();
        }
    }

    /// When [`on_timer`](Self::on_timer) is due; none at rest.
    #[must_use]
    pub fn poll_timer(&self) -> Option<Instant> {
        self.due.map(|[alpha, rate]| alpha.min(rate))
    }

    /// Does what is due at `now`.
    pub fn on_timer(&mut self, now: Instant) {
        while let Some([alpha, rate]) = self.due {
            if alpha <= now && alpha <= rate {
                self.alpha *= 1.0 - self.settings.gain;
                self.due = Some([
                    alpha.saturating_add(at_least_a_step(self.settings.alpha_timer)),
                    rate,
                ]);
            } else if rate <= now {
                self.due = Some([
                    alpha,
                    rate.saturating_add(at_least_a_step(self.settings.rate_timer)),
                ]);
                self.steps[1] = self.steps[1].saturating_add(1);
                self.increase();
            } else {
                break;
            }
        }
    }

    fn increase(&mut self) {
        let [bytes, timer] = self.steps;
        let recovery = self.settings.fast_recovery;
        if bytes.min(timer) > recovery {
            let i = bytes.min(timer) - recovery;
            self.target_bps += f64::from(i) * self.settings.hyper_bps as f64;
        } else if bytes.max(timer) > recovery {
            self.target_bps += self.settings.additive_bps as f64;
        }
        self.target_bps = self.target_bps.min(self.line_bps);
        self.current_bps = (self.target_bps + self.current_bps) / 2.0;
        // Within a millionth of the line there is nothing to recover: halving would go on for ever.
        if self.current_bps >= self.line_bps * (1.0 - 1e-6) {
            self.current_bps = self.line_bps;
            self.due = None;
        }
    }
}

/// A timer of no length would never let time go on.
fn at_least_a_step(timer: Duration) -> Duration {
    timer.max(Duration::from_ns(1))
}

/// Where congestion is notified: at most one notification each interval while marked packets come (section 3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct NotificationPoint {
    interval: Duration,
    last: Option<Instant>,
}

impl NotificationPoint {
    /// With the least time between two notifications.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self { interval, last: None }
    }

    /// A marked packet came: true where a notification goes back.
    pub fn on_mark(&mut self, now: Instant) -> bool {
        let due = self
            .last
            .is_none_or(|last| now.saturating_since(last) >= self.interval);
        if due {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::dcqcn;
    use super::*;

    const LINE: u64 = 40_000_000_000;

    fn at_us(us: u64) -> Instant {
        Instant::ZERO.saturating_add(Duration::from_us(us))
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn a_notification_cuts_the_rate_by_half_of_alpha() {
        let mut m = RateMachine::new(&dcqcn(), LINE);
        assert_eq!((m.rate_bps(), m.poll_timer()), (LINE, None));
        m.on_notification(at_us(0));
        // Alpha begins at 1 and stays there: (1 - g) + g.
        assert_eq!((m.rate_bps(), m.target_bps()), (LINE / 2, LINE));
        assert!(near(m.alpha(), 1.0));
        m.on_notification(at_us(50));
        assert_eq!((m.rate_bps(), m.target_bps()), (LINE / 4, LINE / 2));
    }

    #[test]
    fn alpha_decays_by_one_minus_g_each_timer_without_a_notification() {
        let settings = DcqcnSettings {
            rate_timer: Duration::from_ms(1_000),
            ..dcqcn()
        };
        let mut m = RateMachine::new(&settings, LINE);
        m.on_notification(at_us(0));
        m.on_timer(at_us(54));
        assert!(near(m.alpha(), 1.0));
        m.on_timer(at_us(55 * 100));
        assert!(near(m.alpha(), libm::pow(255.0 / 256.0, 100.0)));
        let before = m.alpha();
        m.on_notification(at_us(55 * 100 + 1));
        assert!(near(m.alpha(), before * 255.0 / 256.0 + 1.0 / 256.0));
    }

    #[test]
    fn fast_recovery_halves_the_distance_five_times_and_then_the_target_rises() {
        let mut m = RateMachine::new(&dcqcn(), LINE);
        m.on_notification(at_us(0));
        m.on_notification(at_us(1));
        let (target, start) = (20e9, 10e9);
        for n in 1..=5_u32 {
            m.on_timer(at_us(1 + 55 * u64::from(n)));
            let expected = target - (target - start) / f64::from(1 << n);
            assert!(near(m.current_bps, expected), "{n}: {}", m.current_bps);
            assert!(near(m.target_bps, target));
        }
        for n in 1..=3_u32 {
            let before = m.current_bps;
            m.on_timer(at_us(1 + 55 * u64::from(5 + n)));
            let expected = target + 40e6 * f64::from(n);
            assert!(near(m.target_bps, expected), "{n}");
            assert!(near(m.current_bps, (expected + before) / 2.0));
        }
    }

    #[test]
    fn the_byte_counter_steps_as_the_timer_does_and_both_together_make_it_hyper() {
        let mut m = RateMachine::new(&dcqcn(), LINE);
        m.on_notification(at_us(0));
        m.on_notification(at_us(1));
        for _ in 0..6 {
            m.on_sent(10_000_000);
        }
        assert!(near(m.target_bps, 20e9 + 40e6), "one additive step");
        // Six steps of the timer after six of the counter: the first five add R_AI, from the sixth both are above F.
        for n in 1..=6 {
            m.on_timer(at_us(1 + 55 * n));
        }
        assert!(near(m.target_bps, 20e9 + 6.0 * 40e6 + 400e6), "{}", m.target_bps);
        // The next pair: min(7, 6) - 5 = 1, then min(7, 7) - 5 = 2.
        m.on_sent(10_000_000);
        m.on_timer(at_us(1 + 55 * 7));
        assert!(near(m.target_bps, 20e9 + 6.0 * 40e6 + 4.0 * 400e6));
    }

    #[test]
    fn at_line_rate_it_rests() {
        let mut m = RateMachine::new(&dcqcn(), LINE);
        m.on_notification(at_us(0));
        let mut now = at_us(0);
        for _ in 0..100_000 {
            let Some(due) = m.poll_timer() else { break };
            now = due;
            m.on_timer(due);
        }
        assert_eq!((m.poll_timer(), m.rate_bps()), (None, LINE));
        // From half the line with the line as target: twenty halvings to a millionth.
        assert_eq!(now, at_us(55 * 19));
    }

    #[test]
    fn the_rate_keeps_its_least_value() {
        let mut m = RateMachine::new(&dcqcn(), LINE);
        for n in 0..100 {
            m.on_notification(at_us(n));
        }
        assert_eq!(m.rate_bps(), 10_000_000);
    }

    #[test]
    fn notifications_keep_their_distance() {
        let mut p = NotificationPoint::new(Duration::from_us(50));
        let sent: Vec<u64> = (0..200).filter(|&us| p.on_mark(at_us(us))).collect();
        assert_eq!(sent, [0, 50, 100, 150]);
    }
}
