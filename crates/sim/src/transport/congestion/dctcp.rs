//! DCTCP's sender (RFC 8257 3.3): an estimate of the fraction of bytes that were marked, and a reduction by half of it.

/// Weight of the newest window in the estimate (section 4.2 recommends 1/16).
const GAIN: f64 = 1.0 / 16.0;

/// The state of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    alpha: f64,
    acked: u64,
    marked: u64,
    /// The window that is being observed ends here.
    window_end: u64,
}

impl Dctcp {
    /// The first estimate is 1 (section 3.3): cautious.
    pub(super) const fn new() -> Self {
        Self {
            alpha: 1.0,
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// `acked` bytes up to `una` were acknowledged, echoing marks or not; `next` is the next byte to be sent.
    pub(super) fn observe(&mut self, acked: u64, echoed: bool, una: u64, next: u64) {
        self.acked += acked;
        if echoed {
            self.marked += acked;
        }
        if una <= self.window_end {
            return;
        }
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = self.alpha * (1.0 - GAIN) + GAIN * fraction;
        }
        self.window_end = next;
        self.acked = 0;
        self.marked = 0;
    }

    /// The window after a mark.
    pub(super) fn reduced(&self, cwnd: u64) -> u64 {
        (cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_converges_to_the_marked_fraction_as_its_gain_says() {
        // One byte in four is marked in every window of 40 segments: alpha - 1/4 shrinks by 15/16 a window.
        let mut d = Dctcp::new();
        let mut una = 0;
        for window in 1..=200 {
            for i in 0..40 {
                una += 1_000;
                d.observe(1_000, i % 4 == 0, una, una + 39_000);
            }
            // The first acknowledgement ends a window of its own, marked: the estimate stays at 1 there.
            let expected = 0.25 + 0.75 * libm::pow(15.0 / 16.0, f64::from(window - 1));
            assert!(
                (d.alpha() - expected).abs() < 1e-12,
                "{window}: {} {expected}",
                d.alpha()
            );
        }
        assert!((d.alpha() - 0.25).abs() < 1e-5);
    }

    #[test]
    fn without_marks_alpha_decays_and_with_all_marked_it_halves_the_window() {
        let mut d = Dctcp::new();
        assert_eq!(d.reduced(100_000), 50_000);
        let mut una = 0;
        for _ in 0..400 {
            una += 1_000;
            d.observe(1_000, false, una, una);
        }
        assert!(d.alpha() < 1e-9);
        assert!(d.reduced(100_000) >= 99_999);
    }
}
