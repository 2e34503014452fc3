//! How large the congestion window is: growth and reduction, without knowing which bytes were lost.
//!
//! NewReno: slow start and congestion avoidance of RFC 5681 section 3.1 with byte counting (one MSS for each window
//! of bytes acknowledged), halving of section 3.2, loss window of one segment, initial window of RFC 6928, and the
//! same halving for ECN (RFC 3168 6.1.2). Another law is another variant of [`CongestionControl`]; there is one so
//! far.

/// A congestion control law with its window. All sizes are payload bytes.
#[derive(Clone, Copy, Debug)]
pub enum CongestionControl {
    /// RFC 5681 as amended by RFC 6582.
    NewReno(NewReno),
}

/// Window, threshold and the bytes counted towards the next increase.
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
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
    /// NewReno at its initial window, in slow start.
    #[must_use]
    pub fn new_reno(mss: u64, initial_segments: u64, cwnd_max: u64) -> Self {
        let mss = mss.max(1);
        let cwnd_max = cwnd_max.max(mss);
        let cwnd = initial_window(mss, initial_segments.max(1)).min(cwnd_max);
        Self::NewReno(NewReno {
            cwnd,
            initial: cwnd,
            ssthresh: u64::MAX,
            counted: 0,
            mss,
            increase: mss,
            cwnd_max,
        })
    }

    /// The same with a first slow start threshold, which RFC 5681 3.1 leaves open, and an increase of congestion
    /// avoidance of at most the one segment that it allows.
    #[must_use]
    pub fn growing(mut self, slow_start_threshold: u64, increase: u64) -> Self {
        match &mut self {
            Self::NewReno(s) => {
                s.ssthresh = slow_start_threshold.max(2 * s.mss);
                s.increase = increase.clamp(1, s.mss);
            }
        }
        self
    }

    const fn state(&self) -> &NewReno {
        match self {
            Self::NewReno(s) => s,
        }
    }

    /// The congestion window.
    #[must_use]
    pub const fn cwnd(&self) -> u64 {
        self.state().cwnd
    }

    /// The slow start threshold; `u64::MAX` before the first loss.
    #[must_use]
    pub const fn ssthresh(&self) -> u64 {
        self.state().ssthresh
    }

    /// Sending begins again after an idle time longer than the retransmission timeout (RFC 5681 4.1).
    pub fn restart(&mut self) {
        match self {
            Self::NewReno(s) => s.cwnd = s.cwnd.min(s.initial),
        }
    }

    /// An acknowledgement of `acked` new bytes outside loss recovery.
    pub fn on_ack(&mut self, acked: u64) {
        match self {
            Self::NewReno(s) => s.grow(acked),
        }
    }

    /// Loss was inferred with `flight` bytes outstanding: window and threshold become half of them.
    pub fn on_loss(&mut self, flight: u64) {
        match self {
            Self::NewReno(s) => {
                s.ssthresh = s.half(flight);
                s.cwnd = s.ssthresh.min(s.cwnd_max);
                s.counted = 0;
            }
        }
    }

    /// Loss in a window that was already reduced for ECN: the reduction stands, there is no second one.
    pub fn on_loss_after_reduction(&mut self) {
        match self {
            Self::NewReno(s) => {
                s.cwnd = s.cwnd.min(s.ssthresh);
                s.counted = 0;
            }
        }
    }

    /// The retransmission timer expired with `flight` bytes outstanding; `again` where it did so for the same bytes
    /// before, which leaves the threshold alone (RFC 5681 3.1).
    pub fn on_timeout(&mut self, flight: u64, again: bool) {
        match self {
            Self::NewReno(s) => {
                if !again {
                    s.ssthresh = s.half(flight);
                }
                s.cwnd = s.mss;
                s.counted = 0;
            }
        }
    }

    /// A congestion mark was echoed with `flight` bytes outstanding; never enlarges the window.
    pub fn on_ecn_echo(&mut self, flight: u64) {
        match self {
            Self::NewReno(s) => {
                s.ssthresh = s.half(flight);
                s.cwnd = s.cwnd.min(s.ssthresh);
                s.counted = 0;
            }
        }
    }

    /// Adds bytes for segments that are known to have left the network (RFC 5681 3.2 steps 3 and 4).
    pub fn inflate(&mut self, bytes: u64) {
        match self {
            Self::NewReno(s) => s.cwnd = s.cwnd.saturating_add(bytes),
        }
    }

    /// A partial acknowledgement of `acked` bytes during recovery without SACK (RFC 6582 3.2 step 3).
    pub fn on_partial_ack(&mut self, acked: u64) {
        match self {
            Self::NewReno(s) => {
                s.cwnd = s
                    .cwnd
                    .saturating_sub(acked)
                    .max(if acked >= s.mss { 0 } else { s.mss });
                if acked >= s.mss {
                    s.cwnd += s.mss;
                }
            }
        }
    }

    /// Recovery without SACK ended with `flight` bytes outstanding: the window deflates (RFC 6582 3.2 step 3, first
    /// option).
    pub fn on_full_ack(&mut self, flight: u64) {
        match self {
            Self::NewReno(s) => {
                s.cwnd = s
                    .ssthresh
                    .min(flight.max(s.mss).saturating_add(s.mss))
                    .min(s.cwnd_max);
                s.counted = 0;
            }
        }
    }
}

impl NewReno {
    /// Equation (4) of RFC 5681.
    fn half(&self, flight: u64) -> u64 {
        (flight / 2).max(2 * self.mss)
    }

    fn grow(&mut self, acked: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += acked.min(self.mss);
        } else {
            self.counted += acked;
            if self.counted >= self.cwnd {
                self.counted -= self.cwnd;
                self.cwnd += self.increase;
            }
        }
        self.cwnd = self.cwnd.min(self.cwnd_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

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
        let mut c = CongestionControl::new_reno(MSS, 10, u64::MAX);
        c.on_ack(2 * MSS);
        c.on_ack(300);
        assert_eq!(c.cwnd(), 11_300);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_window() {
        let mut c = CongestionControl::new_reno(MSS, 10, u64::MAX);
        c.on_loss(20 * MSS);
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000, 10_000));
        for _ in 0..5 {
            c.on_ack(2 * MSS);
        }
        assert_eq!(c.cwnd(), 11_000);
        for _ in 0..11 {
            c.on_ack(MSS);
        }
        assert_eq!(c.cwnd(), 12_000);
    }

    #[test]
    fn a_first_threshold_ends_slow_start_and_the_increase_may_be_less_than_a_segment() {
        let mut c = CongestionControl::new_reno(MSS, 10, u64::MAX).growing(12 * MSS, 50);
        c.on_ack(MSS);
        c.on_ack(MSS);
        assert_eq!(c.cwnd(), 12_000);
        for _ in 0..12 {
            c.on_ack(MSS);
        }
        assert_eq!(c.cwnd(), 12_050);
        let c = CongestionControl::new_reno(MSS, 10, u64::MAX).growing(0, 5 * MSS);
        assert_eq!(c.ssthresh(), 2 * MSS);
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold_alone() {
        let mut c = CongestionControl::new_reno(MSS, 10, u64::MAX);
        c.on_timeout(10 * MSS, false);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 5_000));
        c.on_timeout(MSS, true);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 5_000));
    }

    #[test]
    fn a_mark_never_enlarges_the_window() {
        let mut c = CongestionControl::new_reno(MSS, 10, u64::MAX);
        c.on_timeout(10 * MSS, false);
        c.on_ecn_echo(MSS);
        assert_eq!((c.cwnd(), c.ssthresh()), (1_000, 2_000));
    }

    #[test]
    fn the_window_stays_within_its_limit() {
        let mut c = CongestionControl::new_reno(MSS, 10, 12_500);
        for _ in 0..10 {
            c.on_ack(MSS);
        }
        assert_eq!(c.cwnd(), 12_500);
    }
}
