//! What goes out next: retransmissions by `NextSeg()` of RFC 6675 section 4, new data within every window.
//!
//! Windows: congestion, receiver's, send buffer. New data leaves in whole segments (RFC 1122 4.2.3.4), several to a
//! piece where segmentation is offloaded; a short one waits by Nagle's rule where that is on. A closed window is probed
//! (RFC 9293 3.8.6.1), with empty segments. With pacing a piece waits until the one before would be through.

use super::super::ranges::ByteRange;
use super::super::scoreboard::DUP_THRESH;
use super::super::{DataSegment, Flags};
use super::{Phase, Sender};
use clearway_core::{Duration, Instant};

impl Sender {
    /// The next piece to hand down, none where nothing may be sent now. Call until none after construction,
    /// [`on_ack`](Self::on_ack) and [`on_timer`](Self::on_timer).
    pub fn poll_transmit(&mut self, now: Instant) -> Option<DataSegment> {
        if self.phase == Phase::Opening {
            return self.transmit_syn(now);
        }
        let Some(pacing) = &mut self.pacing else {
            return self.next_piece(now);
        };
        pacing.holds = now < pacing.next;
        if pacing.holds {
            return None;
        }
        let piece = self.next_piece(now);
        if let Some(piece) = &piece {
            self.pace(now, u64::from(piece.len));
        }
        piece
    }

    /// The rate at which data is paced, as bytes and the time that they take; none where there is no round trip yet.
    /// Twice the window a round trip in slow start, 1.2 times after, as in Linux: the window stays the limit.
    fn pacing_rate(&self) -> Option<(u64, u64)> {
        let srtt = self.rtt.srtt()?.as_ps().max(1);
        let cwnd = self.congestion.cwnd();
        let tenths = if cwnd < self.congestion.ssthresh() / 2 {
            20
        } else {
            12
        };
        Some((cwnd.saturating_mul(tenths), srtt.saturating_mul(10)))
    }

    /// The next piece may not follow before this one would be through at the pacing rate.
    fn pace(&mut self, now: Instant, len: u64) {
        let Some((bytes, ps)) = self.pacing_rate() else {
            return;
        };
        if let Some(pacing) = &mut self.pacing {
            let takes = u128::from(len) * u128::from(ps) / u128::from(bytes.max(1));
            let takes = Duration::from_ps(u64::try_from(takes).unwrap_or(u64::MAX));
            pacing.next = pacing.next.max(now).saturating_add(takes);
        }
    }

    /// The longest piece: where data is paced no more than a millisecond of it, but two segments (Linux again).
    fn longest_piece(&self) -> u64 {
        if self.pacing.is_none() {
            return self.piece_max;
        }
        let Some((bytes, ps)) = self.pacing_rate() else {
            return self.piece_max;
        };
        let millisecond = u128::from(bytes) * 1_000_000_000 / u128::from(ps.max(1));
        let millisecond = u64::try_from(millisecond).unwrap_or(u64::MAX) / self.mss * self.mss;
        millisecond.max(2 * self.mss).min(self.piece_max)
    }

    fn next_piece(&mut self, now: Instant) -> Option<DataSegment> {
        if self.resend_first {
            self.resend_first = false;
            let hole = self.scoreboard.first_hole(self.una, self.high_data);
            let end = hole.end.min(hole.start + self.mss);
            if self.sack {
                self.rescue = end;
            }
            return Some(self.resend(now, hole.start, end));
        }
        match self.phase {
            Phase::Recovery if self.sack => self.transmit_in_recovery(now),
            Phase::Resending if self.next < self.high_data => self.transmit_after_timeout(now),
            _ => self.transmit_new(now),
        }
    }

    fn transmit_syn(&mut self, now: Instant) -> Option<DataSegment> {
        if !self.send_syn {
            return None;
        }
        self.send_syn = false;
        self.syn_at = now;
        self.deadline = Some(now.saturating_add(self.rtt.rto()));
        Some(DataSegment {
            seq: 0,
            len: 0,
            flags: Flags::SYN.with(Flags::RETRANSMISSION.when(self.timed_out)),
        })
    }

    /// Step (C) of RFC 6675 section 5 with `NextSeg()`.
    fn transmit_in_recovery(&mut self, now: Instant) -> Option<DataSegment> {
        let pipe = self.scoreboard.pipe(self.una, self.high_data);
        if self.congestion.cwnd() < pipe + self.mss {
            return None;
        }
        let hole = self.scoreboard.next_hole(self.una);
        if let Some(h) = hole
            && self.scoreboard.is_lost(h.start)
        {
            return Some(self.resend(now, h.start, h.end.min(h.start + self.mss)));
        }
        if let Some(segment) = self.transmit_new(now) {
            return Some(segment);
        }
        if let Some(h) = hole {
            return Some(self.resend(now, h.start, h.end.min(h.start + self.mss)));
        }
        if self.una > self.rescue {
            // Rule (4): one rescue retransmission a recovery, which leaves HighRxt alone.
            self.rescue = self.recover;
            let last = self.scoreboard.last_hole(self.una, self.high_data);
            let start = last.start.max(last.end.saturating_sub(self.mss));
            return Some(self.emit_again(now, start, last.end));
        }
        None
    }

    /// After a timeout: from the first unacknowledged byte on, past what was reported since.
    fn transmit_after_timeout(&mut self, now: Instant) -> Option<DataSegment> {
        let ByteRange { start, end } = self.scoreboard.skip_reported(self.next, self.high_data);
        if start >= self.high_data {
            self.next = self.high_data;
            return self.transmit_new(now);
        }
        let pipe = self.next - self.una - self.scoreboard.reported(self.una, self.next);
        if pipe > 0 && self.congestion.cwnd() < pipe + self.mss {
            return None;
        }
        let end = end.min(start + self.mss);
        self.next = end;
        Some(self.emit_again(now, start, end))
    }

    fn pipe(&self) -> u64 {
        if self.scoreboard.is_empty() {
            self.next - self.una
        } else if self.phase == Phase::Resending {
            self.next - self.una - self.scoreboard.reported(self.una, self.next)
        } else {
            self.scoreboard.pipe(self.una, self.high_data)
        }
    }

    /// New data within every window, in pieces of whole segments.
    fn transmit_new(&mut self, now: Instant) -> Option<DataSegment> {
        let left = self.written - self.next;
        if left == 0 {
            return None;
        }
        if self.app_limited {
            self.restart_after_idle(now);
        }
        let outstanding = self.next - self.una;
        let mut cwnd = self.congestion.cwnd();
        let disordered = self.dup_acks > 0;
        if disordered && !self.sack && self.phase == Phase::Open {
            // Limited transmit: a segment more for each of the first two duplicates (RFC 3042). With SACK the pipe
            // has shrunk by what the duplicates reported, which comes to the same.
            cwnd += u64::from(self.dup_acks.min(DUP_THRESH - 1)) * self.mss;
        }
        let by_peer = self.edge.saturating_sub(self.next);
        let room = cwnd
            .saturating_sub(self.pipe())
            .min(by_peer)
            .min(self.send_buffer.saturating_sub(outstanding));
        let piece_max = self.longest_piece();
        let mut len = left.min(room).min(piece_max);
        if len < self.mss && len < left {
            // Whole segments, but for a receiver whose whole window is small (RFC 1122 4.2.3.4).
            let short_window = len == by_peer && len >= self.window_seen.div_ceil(2);
            if !short_window {
                len = 0;
            }
        } else if len < piece_max && len < left {
            // Longer than a segment and shorter than a piece: only segmentation offload comes here.
            len -= len % self.mss;
            if !disordered && self.phase == Phase::Open && self.expects_ack(now) {
                let window = cwnd.min(self.send_buffer).min(self.edge - self.una);
                if len < (window / 3).min(piece_max) / self.mss * self.mss {
                    len = 0;
                }
            }
        } else if self.nagle && len == left && self.next + len != self.stream_end {
            // What does not fill a segment goes alone, and only when nothing is on its way (RFC 9293 3.7.4).
            let full = len / self.mss * self.mss;
            if full > 0 || outstanding > 0 {
                len = full;
            }
        }
        if self.send_probe {
            self.send_probe = false;
            if len == 0 {
                return Some(self.probe(now, by_peer.min(left).min(self.mss)));
            }
        }
        if len == 0 {
            if outstanding == 0 && self.deadline.is_none() {
                // Only the receiver's window can stop a sender with nothing outstanding.
                self.deadline = Some(now.saturating_add(self.rtt.probe_interval(self.probes)));
            }
            return None;
        }
        if disordered && self.phase == Phase::Open {
            self.limited += len;
        }
        Some(self.emit_new(now, len))
    }

    /// False where all that is outstanding was sent within half a round trip: nothing will make a piece grow soon.
    fn expects_ack(&self, now: Instant) -> bool {
        let (first, at) = self.burst;
        self.next > self.una && (self.una < first || now.saturating_since(at) > self.half_round())
    }

    fn half_round(&self) -> Duration {
        Duration::from_ps(self.rtt.srtt().unwrap_or_default().as_ps() / 2)
    }

    /// A closed window is probed with an empty segment, one too small for a segment is used up at last.
    fn probe(&mut self, now: Instant, len: u64) -> DataSegment {
        self.stats.window_probes += 1;
        if len > 0 {
            return self.emit_new(now, len);
        }
        self.deadline = Some(now.saturating_add(self.rtt.probe_interval(self.probes)));
        DataSegment {
            seq: self.next,
            len: 0,
            flags: Flags::NONE,
        }
    }

    /// A window that has not been used for a retransmission timeout says nothing about the path any more (RFC 5681
    /// 4.1).
    fn restart_after_idle(&mut self, now: Instant) {
        if self.high_data == self.una && now.saturating_since(self.sent_at) > self.rtt.rto() {
            self.congestion.restart();
        }
    }

    fn emit_new(&mut self, now: Instant, len: u64) -> DataSegment {
        self.sent_at = now;
        let seq = self.next;
        let end = seq + len;
        self.next = end;
        self.high_data = end;
        let outstanding = end - self.una;
        if outstanding > self.peak.0 || self.una >= self.peak.1 {
            self.peak = (outstanding, end);
        }
        if self.timed.is_none() {
            self.timed = Some((seq + len.min(self.mss), now));
        }
        if now.saturating_since(self.burst.1) > self.half_round() {
            self.burst = (seq, now);
        }
        let cwr = self.announce_cwr;
        self.announce_cwr = false;
        self.emit(
            now,
            seq,
            len,
            Flags::CWR.when(cwr).with(Flags::ECT.when(self.ecn)),
        )
    }

    fn resend(&mut self, now: Instant, start: u64, end: u64) -> DataSegment {
        if self.sack {
            self.scoreboard.resend(start, end);
        }
        self.emit_again(now, start, end)
    }

    /// Retransmissions are not ECN-capable (RFC 3168 6.1.5) and end the running measurement (Karn).
    fn emit_again(&mut self, now: Instant, start: u64, end: u64) -> DataSegment {
        self.timed = None;
        self.stats.retransmissions += 1;
        self.emit(now, start, end - start, Flags::RETRANSMISSION)
    }

    fn emit(&mut self, now: Instant, seq: u64, len: u64, flags: Flags) -> DataSegment {
        self.stats.bytes_sent += len;
        if self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.rtt.rto()));
        }
        let fin = Flags::FIN.when(seq + len == self.stream_end);
        DataSegment {
            seq,
            len: u32::try_from(len).unwrap_or(u32::MAX),
            flags: flags.with(fin),
        }
    }
}
