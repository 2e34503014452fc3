//! The overlimit estimator of one class: a weighted mean of the time by which packets leave later than the class's rate
//! would have them.
//!
//! Floyd and Jacobson, "Link-sharing and resource management models for packet networks" (1995), section on the
//! estimator: idle is the time since the last packet less the time that a packet of this length takes at the class's
//! rate; avgidle forgets 2^-w of itself with each. Below zero the class is over its limit, until the instant
//! `undertime`. As in Linux the mean is kept multiplied by 2^w.

use super::plan::{CbqClass, CbqPlan, RateTable};

/// Idle times from here on (about 140 s) fill the estimator whatever it knew.
const FORGOTTEN_PS: u64 = 1 << 47;

/// Estimator of one class. Instants are of the discipline's own clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimator {
    pub(super) table: RateTable,
    ewma: u8,
    /// Scaled by 2^ewma, like `avgidle`.
    maxidle: i64,
    minidle: i64,
    offtime: u64,
    avgidle: i64,
    last: u64,
    /// The class may send from here on; 0: at once.
    pub(super) undertime: u64,
    /// It was delayed and has not sent since.
    pub(super) delayed: bool,
}

const fn scaled(ps: u64, ewma: u8) -> i64 {
    let wide = (ps as u128) << ewma;
    if wide > 1 << 61 { 1 << 61 } else { wide as i64 }
}

impl Estimator {
    pub(super) fn new(class: &CbqClass, plan: &CbqPlan, now: u64) -> Self {
        let link_bps = plan.classes.first().map_or(class.rate_bps, |c| c.rate_bps);
        let maxidle = scaled(class.maxidle_ps(link_bps), class.ewma);
        Self {
            table: RateTable::new(class.rate_bps, plan),
            ewma: class.ewma,
            maxidle,
            minidle: -class.minidle.map_or(1 << 61, |d| scaled(d.as_ps(), class.ewma)),
            offtime: class.offtime_ps(link_bps),
            // A class begins as one that was idle for long.
            avgidle: maxidle,
            last: now,
            undertime: 0,
            delayed: false,
        }
    }

    pub(super) const fn is_under(&self, now: u64) -> bool {
        now >= self.undertime
    }

    /// What the mean below zero comes to as a time of waiting: the part that a packet does not forget.
    const fn debt(&self) -> u64 {
        let below = (self.avgidle.saturating_neg()) as u64;
        below - (below >> self.ewma)
    }

    /// A packet has left at `now`, for which the class takes `own` and the link `link`.
    pub(super) fn sent(&mut self, now: u64, own: u64, link: u64) {
        let idle = now.saturating_sub(self.last);
        self.last = now;
        let mean = if idle >= FORGOTTEN_PS {
            self.maxidle
        } else {
            let idle = idle as i64 - own.min(1 << 61) as i64;
            self.avgidle.saturating_add(idle - (self.avgidle >> self.ewma))
        };
        if mean > 0 {
            self.avgidle = mean.min(self.maxidle);
            self.undertime = 0;
            return;
        }
        self.avgidle = mean.max(self.minidle);
        // The instant at which a packet would bring the mean back to zero.
        let wait = self.debt().saturating_add(own).saturating_sub(link);
        self.undertime = now.saturating_add(wait);
    }

    /// The delay action: the class was found over its limit and may not borrow. The time it still waits.
    pub(super) fn delay(&mut self, now: u64) -> u64 {
        let mut wait = self.undertime.saturating_sub(now);
        if !self.delayed {
            wait = wait.saturating_add(self.offtime);
            // It sleeps now and cannot work its debt off meanwhile: the debt is forgiven.
            if self.avgidle < 0 {
                wait = wait.saturating_sub(self.debt()).max(1);
            }
            self.avgidle = self.avgidle.max(self.minidle);
            self.undertime = now.saturating_add(wait);
            self.delayed = true;
        }
        wait.max(1)
    }

    pub(super) const fn rebase(&mut self, by: u64) {
        self.last = self.last.saturating_sub(by);
        self.undertime = self.undertime.saturating_sub(by);
    }
}
