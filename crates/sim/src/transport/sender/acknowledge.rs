//! What an acknowledgement changes: window, scoreboard, round-trip sample, growth, and the way into and out of loss
//! recovery (RFC 5681 3.2, RFC 6582 3.2, RFC 6675 section 5) and of the reaction to marks (RFC 3168 6.1.2).
//!
//! Left out: anything that a receiver of this module cannot send (a window that shrinks, reneging without a timeout).
//! Acknowledgements that no receiver could send are ignored.

use super::super::scoreboard::DUP_THRESH;
use super::super::{Ack, Flags};
use super::{Phase, Sender};
use clearway_core::Instant;

impl Sender {
    /// An acknowledgement came in. Call [`poll_transmit`](Self::poll_transmit) until it returns none, then look at
    /// [`poll_timer`](Self::poll_timer).
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if self.phase == Phase::Opening {
            self.on_syn_ack(now, ack);
            return;
        }
        if ack.ack < self.una || ack.ack > self.high_data || ack.flags.has(Flags::SYN) {
            return;
        }
        let flight_before = self.flight_size();
        let had_data = self.high_data > self.una;
        let window_moved = self.take_window(ack);
        let newly_reported = if self.sack { self.take_blocks(now, ack) } else { 0 };
        let acked = ack.ack - self.una;
        if acked > 0 {
            self.take_cumulative(now, ack.ack);
        }
        let duplicate = if self.sack {
            newly_reported > 0
        } else {
            acked == 0 && had_data && !window_moved
        };
        let echoed = self.ecn && ack.flags.has(Flags::ECE);
        self.congestion.observe(acked, echoed, self.una, self.high_data);
        if echoed && self.phase == Phase::Open && (ack.ack > self.reduced || self.reduced == 0) {
            self.on_echo(flight_before);
        }
        match self.phase {
            Phase::Open => {
                if acked > 0 && !echoed {
                    if self.used_its_window() {
                        self.congestion.on_ack(acked, now, self.rtt.srtt());
                    } else {
                        self.congestion.on_ack_without_growth(now);
                    }
                }
                if duplicate {
                    self.on_duplicate();
                }
            }
            Phase::Recovery => self.on_ack_in_recovery(acked, duplicate),
            Phase::Resending => {
                if acked > 0 && !echoed {
                    self.congestion.on_ack(acked, now, self.rtt.srtt());
                }
                if self.una >= self.recover {
                    self.phase = Phase::Open;
                }
            }
            Phase::Opening => {}
        }
    }

    fn on_syn_ack(&mut self, now: Instant, ack: &Ack) {
        if !ack.flags.has(Flags::SYN) || self.send_syn {
            return;
        }
        self.phase = Phase::Open;
        self.deadline = None;
        if self.timed_out {
            self.timed_out = false;
            self.rtt.restart_after_syn_loss();
            if self.stats.timeouts > 1 {
                // RFC 6928 section 2 spares the window after a single retransmission of the SYN.
                self.congestion.on_timeout(0, true);
            }
        } else {
            self.rtt.sample(now.saturating_since(self.syn_at));
        }
        self.take_window(ack);
    }

    /// The edge only moves on: an older acknowledgement that comes late does not close the window again.
    fn take_window(&mut self, ack: &Ack) -> bool {
        let window = u64::from(ack.window);
        let edge = ack.ack + window;
        self.window_seen = self.window_seen.max(window);
        let moved = edge != self.edge;
        self.edge = self.edge.max(edge);
        if moved && self.high_data == self.una && self.edge > self.next {
            // The window opened: probing ends.
            self.deadline = None;
            self.probes = 0;
            self.send_probe = false;
        }
        moved
    }

    fn take_blocks(&mut self, now: Instant, ack: &Ack) -> u64 {
        let mut newly = 0;
        for block in ack.sack {
            if block.len == 0 {
                break;
            }
            let start = ack.ack + u64::from(block.offset);
            let end = start + u64::from(block.len);
            // A block at the cumulative edge or beyond what was sent contradicts itself.
            if start > ack.ack && end <= self.high_data {
                newly += self.scoreboard.report(start, end);
                if let Some((timed, at)) = self.timed
                    && (start + 1..=end).contains(&timed)
                {
                    // Sent once and arrived: a sample as good as a cumulative one, without the wait for the gap.
                    self.timed = None;
                    self.rtt.sample(now.saturating_since(at));
                }
            }
        }
        newly
    }

    fn take_cumulative(&mut self, now: Instant, ack: u64) {
        if let Some((end, at)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.rtt.sample(now.saturating_since(at));
        }
        self.scoreboard.advance(self.una, ack);
        self.stats.bytes_acked += ack - self.una;
        self.una = ack;
        self.next = self.next.max(ack);
        self.timed_out = false;
        // RFC 6298 5.2 and 5.3. In recovery without SACK only the first partial acknowledgement restarts the timer
        // (the impatient variant of RFC 6582): `dup_acks` still holds the duplicates that began it.
        let later_partial =
            self.phase == Phase::Recovery && !self.sack && self.dup_acks == 0 && ack < self.recover;
        if self.una == self.high_data {
            self.deadline = None;
        } else if !later_partial {
            self.deadline = Some(now.saturating_add(self.rtt.rto()));
        }
        self.dup_acks = 0;
        if self.phase == Phase::Open {
            self.limited = 0;
        }
    }

    /// False where the application, not the window, limited what was outstanding: such a window may not grow (RFC 9438
    /// 5.8, RFC 7661). In slow start half the window is enough, as in Linux.
    const fn used_its_window(&self) -> bool {
        if !self.app_limited {
            return true;
        }
        let (cwnd, used) = (self.congestion.cwnd(), self.peak.0);
        if cwnd < self.congestion.ssthresh() {
            cwnd < 2 * used
        } else {
            cwnd < used + self.mss
        }
    }

    fn on_echo(&mut self, flight: u64) {
        self.congestion.on_ecn_echo(flight);
        self.stats.ecn_reductions += 1;
        self.note_reduction(true);
    }

    fn on_duplicate(&mut self) {
        self.dup_acks = self.dup_acks.saturating_add(1);
        let lost = self.dup_acks >= DUP_THRESH || (self.sack && self.scoreboard.is_lost(self.una));
        // After a timeout or a recovery, duplicates may come from its own retransmissions: RFC 6582 wants `recover`
        // exceeded. With SACK a duplicate reports news, and RFC 6675 5.1 only wants it reached, as it is here.
        let allowed = self.sack || self.una > self.recover || self.recover == 0;
        if !lost || !allowed || self.una == self.high_data {
            return;
        }
        self.phase = Phase::Recovery;
        self.stats.fast_recoveries += 1;
        self.recover = self.high_data;
        if self.reduced_by_echo && self.una < self.reduced {
            self.congestion.on_loss_after_reduction();
        } else {
            self.congestion.on_loss(self.flight_size());
            self.note_reduction(false);
        }
        self.limited = 0;
        self.resend_first = true;
        if self.sack {
            self.scoreboard.start_recovery(self.una);
        } else {
            self.congestion.inflate(u64::from(DUP_THRESH) * self.mss);
        }
    }

    fn on_ack_in_recovery(&mut self, acked: u64, duplicate: bool) {
        if self.una >= self.recover {
            self.phase = Phase::Open;
            self.resend_first = false;
            if !self.sack {
                self.congestion.on_full_ack(self.high_data - self.una);
            }
        } else if !self.sack {
            if acked > 0 {
                self.congestion.on_partial_ack(acked);
                self.resend_first = true;
            } else if duplicate {
                self.congestion.inflate(self.mss);
            }
        }
    }
}
