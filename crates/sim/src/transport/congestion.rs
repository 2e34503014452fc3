//! How large the congestion window is: growth and reduction, without knowing which bytes were lost.
//!
//! NewReno: slow start and congestion avoidance of RFC 5681 section 3.1 with byte counting (one MSS for each window
//! of bytes acknowledged), halving of section 3.2, loss window of one segment, initial window of RFC 6928, and the
//! same halving for ECN (RFC 3168 6.1.2). CUBIC (RFC 9438) and DCTCP (RFC 8257) change what congestion avoidance adds
//! and what a reduction leaves; slow start, recovery and timeouts are the same for all.

mod cubic;
mod dctcp;

use clearway_core::{Duration, Instant};
use clearway_policy::scenario::CongestionLaw;
use cubic::Cubic;
use dctcp::Dctcp;

/// A congestion control law with its window. All sizes are payload bytes.
#[derive(Clone, Copy, Debug)]
pub struct CongestionControl {
    window: Window,
    law: Law,
}

/// What tells the laws apart.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// RFC 5681 as amended by RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic(Cubic),
    /// RFC 8257.
    Dctcp(Dctcp),
}

/// Window, threshold and the bytes counted towards the next increase.
#[derive(Clone, Copy, Debug)]
struct Window {
    cwnd: u64,
    /// The window to start again from after an idle time.
    initial: u64,
    ssthresh: u64,
    counted: u64,
    mss: u64,
    /// What a window of acknowledged bytes adds in congestion avoidance.
    increase: u64,
    cwnd_max: u64,
}

/// The initial window of RFC 6928 for `segments` where the RFC says ten: that many segments, but no more bytes than
/// that many of 1,460, and two segments in any case.
const fn initial_window(mss: u64, segments: u64) -> u64 {
    let wanted = segments.saturating_mul(mss);
    let capped = segments.saturating_mul(1_460);
    let two = mss.saturating_mul(2);
    let limit = if capped > two { capped } else { two };
    if wanted < limit { wanted } else { limit }
}

impl CongestionControl {
    /// A law at its initial window, in slow start.
    #[must_use]
    pub fn new(law: CongestionLaw, mss: u64, initial_segments: u64, cwnd_max: u64) -> Self {
        let mss = mss.max(1);
        let cwnd_max = cwnd_max.max(mss);
        let cwnd = initial_window(mss, initial_segments.max(1)).min(cwnd_max);
        let law = match law {
            CongestionLaw::NewReno => Law::NewReno,
            CongestionLaw::Cubic => Law::Cubic(Cubic::new()),
            CongestionLaw::Dctcp => Law::Dctcp(Dctcp::new()),
        };
        Self {
            window: Window {
                cwnd,
                initial: cwnd,
                ssthresh: u64::MAX,
                counted: 0,
                mss,
                increase: mss,
                cwnd_max,
            },
            law,
        }
    }

    /// The same with a first slow start threshold, which RFC 5681 3.1 leaves open, and an increase of congestion
    /// avoidance of at most the one segment that it allows.
    #[must_use]
    pub fn growing(mut self, slow_start_threshold: u64, increase: u64) -> Self {
        let w = &mut self.window;
        w.ssthresh = slow_start_threshold.max(2 * w.mss);
        w.increase = increase.clamp(1, w.mss);
        self
    }

    /// The congestion window.
    #[must_use]
    pub const fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    /// The slow start threshold; `u64::MAX` before the first loss.
    #[must_use]
    pub const fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    /// DCTCP's estimate of the fraction of bytes that were marked; none by another law.
    #[must_use]
    pub const fn marked_fraction(&self) -> Option<f64> {
        match &self.law {
            Law::Dctcp(d) => Some(d.alpha()),
            Law::NewReno | Law::Cubic(_) => None,
        }
    }

    /// Sending begins again after an idle time longer than the retransmission timeout (RFC 5681 4.1).
    pub fn restart(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.initial);
    }

    /// An acknowledgement of `acked` new bytes outside loss recovery.
    pub fn on_ack(&mut self, acked: u64, now: Instant, srtt: Option<Duration>) {
        let w = &mut self.window;
        if w.cwnd < w.ssthresh {
            w.cwnd += acked.min(w.mss);
        } else if let Law::Cubic(cubic) = &mut self.law {
            w.cwnd += cubic.grow(acked, w.cwnd, w.mss, now, srtt);
        } else {
            w.counted += acked;
            if w.counted >= w.cwnd {
                w.counted -= w.cwnd;
                w.cwnd += w.increase;
            }
        }
        w.cwnd = w.cwnd.min(w.cwnd_max);
    }

    /// An acknowledgement that may not widen the window: the application was the limit.
    pub fn on_ack_without_growth(&mut self, now: Instant) {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.pause(now);
        }
    }

    /// Any acknowledgement of `acked` new bytes up to `una`, echoing marks or not, with `next` the next byte to be
    /// sent: what DCTCP estimates from.
    pub fn observe(&mut self, acked: u64, echoed: bool, una: u64, next: u64) {
        if let Law::Dctcp(dctcp) = &mut self.law {
            dctcp.observe(acked, echoed, una, next);
        }
    }

    /// What a congestion event with `flight` bytes outstanding leaves: half (equation (4) of RFC 5681), or 0.7 with
    /// CUBIC; two segments at least.
    fn remainder(&mut self, flight: u64) -> u64 {
        let w = &self.window;
        let left = match &mut self.law {
            Law::Cubic(cubic) => {
                cubic.reduce(w.cwnd as f64 / w.mss as f64);
                (flight as f64 * cubic::BETA) as u64
            }
            Law::NewReno | Law::Dctcp(_) => flight / 2,
        };
        left.max(2 * w.mss)
    }

    /// Loss was inferred with `flight` bytes outstanding: window and threshold become what the law leaves of them.
    pub fn on_loss(&mut self, flight: u64) {
        let left = self.remainder(flight);
        let w = &mut self.window;
        w.ssthresh = left;
        w.cwnd = left.min(w.cwnd_max);
        w.counted = 0;
    }

    /// Loss in a window that was already reduced for ECN: the reduction stands, there is no second one.
    pub fn on_loss_after_reduction(&mut self) {
        let w = &mut self.window;
        w.cwnd = w.cwnd.min(w.ssthresh);
        w.counted = 0;
    }

    /// The retransmission timer expired with `flight` bytes outstanding; `again` where it did so for the same bytes
    /// before, which leaves the threshold alone (RFC 5681 3.1).
    pub fn on_timeout(&mut self, flight: u64, again: bool) {
        if !again {
            self.window.ssthresh = self.remainder(flight);
        }
        self.window.cwnd = self.window.mss;
        self.window.counted = 0;
    }

    /// A congestion mark was echoed with `flight` bytes outstanding; never enlarges the window.
    pub fn on_ecn_echo(&mut self, flight: u64) {
        let left = match &self.law {
            Law::Dctcp(dctcp) => dctcp.reduced(self.window.cwnd).max(2 * self.window.mss),
            Law::NewReno | Law::Cubic(_) => self.remainder(flight),
        };
        let w = &mut self.window;
        w.ssthresh = left;
        w.cwnd = w.cwnd.min(left);
        w.counted = 0;
    }

    /// Adds bytes for segments that are known to have left the network (RFC 5681 3.2 steps 3 and 4).
    pub fn inflate(&mut self, bytes: u64) {
        self.window.cwnd = self.window.cwnd.saturating_add(bytes);
    }

    /// A partial acknowledgement of `acked` bytes during recovery without SACK (RFC 6582 3.2 step 3).
    pub fn on_partial_ack(&mut self, acked: u64) {
        let w = &mut self.window;
        let least = if acked >= w.mss { 0 } else { w.mss };
        w.cwnd = w.cwnd.saturating_sub(acked).max(least);
        if acked >= w.mss {
            w.cwnd += w.mss;
        }
    }

    /// Recovery without SACK ended with `flight` bytes outstanding: the window deflates (RFC 6582 3.2 step 3, first
    /// option).
    pub fn on_full_ack(&mut self, flight: u64) {
        let w = &mut self.window;
        let flight = flight.max(w.mss).saturating_add(w.mss);
        w.cwnd = w.ssthresh.min(flight).min(w.cwnd_max);
        w.counted = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;
    const T0: Instant = Instant::ZERO;

    fn new_reno(mss: u64, segments: u64, cwnd_max: u64) -> CongestionControl {
        CongestionControl::new(CongestionLaw::NewReno, mss, segments, cwnd_max)
    }

    #[test]
    fn the_initial_window_is_rfc_6928s() {
        assert_eq!(initial_window(1_460, 10), 14_600);
        assert_eq!(initial_window(536, 10), 5_360);
        assert_eq!(initial_window(8_960, 10), 17_920);
        assert_eq!(initial_window(4_000, 10), 14_600);
        assert_eq!(initial_window(1_460, 1), 1_460);
    }

    #[test]
    fn slow_start_adds_at_most_a_segment_an_acknowledgement() {
        let mut c = new_reno(MSS, 10, u64::MAX);
        c.on_ack(2 * MSS, T0, None);
        c.on_ack(300, T0, None);
        assert_eq!(c.cwnd(), 11_300);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_window() {
        let mut c = new_reno(MSS, 10, u64::MAX);
        c.on_loss(20 * MSS);
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000, 10_000));
        for _ in 0..5 {
            c.on_ack(2 * MSS, T0, None);
        }
        assert_eq!(c.cwnd(), 11_000);
        for _ in 0..11 {
            c.on_ack(MSS, T0, None);
        }
        assert_eq!(c.cwnd(), 12_000);
    }

    #[test]
    fn a_first_threshold_ends_slow_start_and_the_increase_may_be_less_than_a_segment() {
        let mut c = new_reno(MSS, 10, u64::MAX).growing(12 * MSS, 50);
        c.on_ack(MSS, T0, None);
        c.on_ack(MSS, T0, None);
        assert_eq!(c.cwnd(), 12_000);
        for _ in 0..12 {
            c.on_ack(MSS, T0, None);
        }
        assert_eq!(c.cwnd(), 12_050);
        let c = new_reno(MSS, 10, u64::MAX).growing(0, 5 * MSS);
        assert_eq!(c.ssthresh(), 2 * MSS);
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold_alone() {
        let mut c = new_reno(MSS, 10, u64::MAX);
        c.on_timeout(10 * MSS, false);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 5_000));
        c.on_timeout(MSS, true);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 5_000));
    }

    #[test]
    fn a_mark_never_enlarges_the_window() {
        let mut c = new_reno(MSS, 10, u64::MAX);
        c.on_timeout(10 * MSS, false);
        c.on_ecn_echo(MSS);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 2_000));
    }

    #[test]
    fn the_window_stays_within_its_limit() {
        let mut c = new_reno(MSS, 10, 12_500);
        for _ in 0..10 {
            c.on_ack(MSS, T0, None);
        }
        assert_eq!(c.cwnd(), 12_500);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_with_cubic_and_half_with_the_others() {
        for (law, left) in [
            (CongestionLaw::NewReno, 10_000),
            (CongestionLaw::Dctcp, 10_000),
            (CongestionLaw::Cubic, 14_000),
        ] {
            let mut c = CongestionControl::new(law, MSS, 20, u64::MAX);
            c.on_loss(20 * MSS);
            assert_eq!((c.cwnd(), c.ssthresh()), (left, left), "{law:?}");
        }
    }

    #[test]
    fn a_mark_leaves_what_the_law_says() {
        let mut c = CongestionControl::new(CongestionLaw::Cubic, MSS, 20, u64::MAX);
        c.on_ecn_echo(20 * MSS);
        assert_eq!(c.cwnd(), 14_000);
        // DCTCP with alpha at (15/16)^16 = 0.356 after sixteen windows without a mark: 1 - 0.178 of 20 segments.
        let mut c = CongestionControl::new(CongestionLaw::Dctcp, MSS, 20, u64::MAX);
        for n in 1..=16 {
            c.observe(MSS, false, n * MSS, n * MSS);
        }
        c.on_ecn_echo(20 * MSS);
        assert_eq!(
            c.cwnd(),
            (20_000.0 * (1.0 - libm::pow(15.0 / 16.0, 16.0) / 2.0)) as u64
        );
    }
}
