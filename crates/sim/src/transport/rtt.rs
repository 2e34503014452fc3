//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! SRTT and RTTVAR in integers: SRTT is kept eightfold and RTTVAR fourfold, so that the gains 1/8 and 1/4 are shifts
//! and lose less than a picosecond a step. K is 4, the clock granularity G is 1 us, the least timeout is a parameter,
//! the largest is 60 s (section 2.5). Karn's rule (section 3) is the sender's: it never hands in an ambiguous sample.

use clearway_core::Duration;

const GRANULARITY_PS: u64 = 1_000_000;
const RTO_MAX_PS: u64 = 60_000_000_000_000;
/// Timeout before the first sample (section 2.1).
const RTO_FIRST_PS: u64 = 1_000_000_000_000;
/// Timeout of the first data after a SYN was sent twice (section 5.7).
const RTO_AFTER_SYN_LOSS_PS: u64 = 3_000_000_000_000;
/// Longer samples are cut to this, about two hours, to keep the eightfold sum in range.
const SAMPLE_MAX_PS: u64 = 1 << 53;

/// The estimator and the timeout that follows from it.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    srtt_8: u64,
    rttvar_4: u64,
    rto: u64,
    rto_min: u64,
    sampled: bool,
}

impl RttEstimator {
    /// An estimator without a sample: the timeout is 1 s, or `rto_min` where that is longer.
    #[must_use]
    pub fn new(rto_min: Duration) -> Self {
        let rto_min = rto_min.as_ps().min(RTO_MAX_PS);
        Self {
            srtt_8: 0,
            rttvar_4: 0,
            rto: RTO_FIRST_PS.max(rto_min),
            rto_min,
            sampled: false,
        }
    }

    /// A measured round trip. It also ends any backoff (section 5, last paragraph).
    pub fn sample(&mut self, rtt: Duration) {
        let r = rtt.as_ps().min(SAMPLE_MAX_PS);
        if self.sampled {
            // RTTVAR first, with the old SRTT (section 2.3).
            let deviation = (self.srtt_8 >> 3).abs_diff(r);
            self.rttvar_4 = self.rttvar_4 - (self.rttvar_4 >> 2) + deviation;
            self.srtt_8 = self.srtt_8 - (self.srtt_8 >> 3) + r;
        } else {
            self.sampled = true;
            self.srtt_8 = r << 3;
            self.rttvar_4 = r << 1;
        }
        // 4 RTTVAR is what is stored.
        let rto = (self.srtt_8 >> 3) + self.rttvar_4.max(GRANULARITY_PS);
        self.rto = rto.max(self.rto_min).min(RTO_MAX_PS);
    }

    /// The timer expired: the timeout doubles (section 5.5).
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(RTO_MAX_PS);
    }

    /// The SYN had to be sent again: data starts with 3 s unless the timeout is longer (section 5.7).
    pub fn restart_after_syn_loss(&mut self) {
        self.rto = self.rto.max(RTO_AFTER_SYN_LOSS_PS);
    }

    /// The current timeout, backoff included.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        Duration::from_ps(self.rto)
    }

    /// The timeout doubled `times` more, for probing a closed window (RFC 9293 3.8.6.1).
    #[must_use]
    pub fn probe_interval(&self, times: u32) -> Duration {
        Duration::from_ps(self.rto.saturating_mul(1 << times.min(20)).min(RTO_MAX_PS))
    }

    /// The smoothed round-trip time, none before the first sample.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        if self.sampled {
            Some(Duration::from_ps(self.srtt_8 >> 3))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(n: u64) -> Duration {
        Duration::from_us(n)
    }

    #[test]
    fn the_first_timeout_is_one_second_or_the_minimum() {
        assert_eq!(RttEstimator::new(us(200)).rto(), Duration::from_ms(1_000));
        assert_eq!(
            RttEstimator::new(Duration::from_ms(1_500)).rto(),
            Duration::from_ms(1_500)
        );
    }

    #[test]
    fn the_first_sample_gives_three_times_itself() {
        let mut e = RttEstimator::new(Duration::ZERO);
        e.sample(us(100));
        assert_eq!(e.srtt(), Some(us(100)));
        assert_eq!(e.rto(), us(300));
    }

    #[test]
    fn later_samples_follow_the_formula() {
        let mut e = RttEstimator::new(Duration::ZERO);
        e.sample(us(100));
        e.sample(us(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110; RTO = 110 + 230.
        assert_eq!(e.srtt(), Some(us(110)));
        assert_eq!(e.rto(), us(340));
    }

    #[test]
    fn the_minimum_holds_and_a_constant_round_trip_leaves_the_granularity() {
        let mut a = RttEstimator::new(Duration::from_ms(200));
        let mut b = RttEstimator::new(Duration::ZERO);
        for _ in 0..1_000 {
            a.sample(us(100));
            b.sample(us(100));
        }
        assert_eq!(a.rto(), Duration::from_ms(200));
        assert_eq!(b.rto(), us(101));
    }

    #[test]
    fn backoff_doubles_up_to_a_minute_and_ends_with_a_sample() {
        let mut e = RttEstimator::new(Duration::from_ms(200));
        e.sample(us(100));
        for k in 1..=8 {
            e.back_off();
            assert_eq!(e.rto(), Duration::from_ms(200 << k));
        }
        for _ in 0..70 {
            e.back_off();
        }
        assert_eq!(e.rto(), Duration::from_ms(60_000));
        e.sample(us(100));
        assert_eq!(e.rto(), Duration::from_ms(200));
    }

    #[test]
    fn extreme_values_stay_in_range() {
        let mut e = RttEstimator::new(Duration::MAX);
        for _ in 0..200 {
            e.sample(Duration::MAX);
            e.sample(Duration::ZERO);
        }
        assert_eq!(e.rto(), Duration::from_ms(60_000));
        assert_eq!(e.probe_interval(u32::MAX), Duration::from_ms(60_000));
    }
}
