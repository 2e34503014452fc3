//! The sending side: which bytes go out next, and what an acknowledgement or a timeout changes.
//!
//! Loss is found by duplicate acknowledgements and repaired by the scoreboard of RFC 6675, or by NewReno (RFC 6582)
//! where SACK is off; limited transmit (RFC 3042) feeds both; a timeout starts again from the first unacknowledged
//! byte and skips what is reported meanwhile (RFC 6675 5.1). Round trips are timed one at a time and never over a
//! retransmission (Karn, RFC 6298 section 3). Congestion is answered once a window, lost or marked (RFC 3168 6.1.2).
//!
//! Beyond the RFCs, as Linux does: a closed window is probed with empty segments, and with segmentation offload a
//! piece waits until it is full or a third of the window, unless the next acknowledgement is half a round trip away.

use super::congestion::CongestionControl;
use super::ranges::ByteRange;
use super::rtt::RttEstimator;
use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Ack, DataSegment, Flags, WINDOW_MAX_BYTES};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;

/// What a sender did so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SenderStats {
    /// Bytes acknowledged in order.
    pub bytes_acked: u64,
    /// Bytes sent, those sent again included.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries begun.
    pub fast_recoveries: u64,
    /// Window reductions for ECN echo.
    pub ecn_reductions: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Congestion window, bytes (inflated by duplicates during recovery without SACK).
    pub cwnd_bytes: u64,
    /// Smoothed round-trip time, none before the first sample.
    pub srtt: Option<Duration>,
}

/// Where the sender is in the handling of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// SYN sent, no answer yet.
    Opening,
    /// No loss known.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, until everything sent before it is acknowledged.
    Resending,
}

/// One connection's sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// First unacknowledged byte (HighACK + 1).
    una: u64,
    /// Next byte to send; behind `high_data` only after a timeout.
    next: u64,
    /// Byte after the highest ever sent (HighData + 1).
    high_data: u64,
    /// Byte after the last to send; `u64::MAX` for an endless stream.
    stream_end: u64,
    /// Right edge of the receiver's window.
    edge: u64,
    /// Largest window the receiver ever offered.
    window_seen: u64,
    send_buffer: u64,
    mss: u64,
    /// Longest piece handed down, a multiple of the MSS.
    piece_max: u64,
    phase: Phase,
    dup_acks: u32,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675 (+ 1).
    recover: u64,
    /// RescueRxt + 1.
    rescue: u64,
    /// Everything below was sent before the last window reduction; 0: there was none.
    reduced: u64,
    /// The last reduction was for an ECN echo.
    reduced_by_echo: bool,
    /// New data sent by limited transmit, not counted in FlightSize.
    limited: u64,
    /// The segment at `una` is to be sent again whatever the window says.
    resend_first: bool,
    /// CWR goes on the next new data.
    announce_cwr: bool,
    send_syn: bool,
    send_probe: bool,
    /// The timer expired since `una` moved.
    timed_out: bool,
    ecn: bool,
    sack: bool,
    /// Probes since the window closed.
    probes: u32,
    deadline: Option<Instant>,
    /// The byte after the timed segment, and when that was sent.
    timed: Option<(u64, Instant)>,
    /// Bytes from the first on were sent since the second, which is at most half a round trip ago or the last send.
    burst: (u64, Instant),
    syn_at: Instant,
    rtt: RttEstimator,
    congestion: CongestionControl,
    scoreboard: Scoreboard,
    stats: SenderStats,
}

impl Sender {
    /// A connection that is open at `start` and has `bytes` to send, or endlessly many. The receiver's first window
    /// is its receive buffer; there is no round-trip sample until the first acknowledgement.
    ///
    /// Values that could not work are lifted: the MSS to 1 byte, both buffers to one MSS, the initial window to one
    /// segment. A piece is cut to whole segments.
    #[must_use]
    pub fn new(settings: &TcpSettings, start: Instant, bytes: Option<u64>) -> Self {
        let mss = u64::from(settings.mss_bytes.max(1));
        let send_buffer = settings.send_buffer_bytes.clamp(mss, u64::MAX >> 8);
        let window = settings.receive_buffer_bytes.min(WINDOW_MAX_BYTES).max(mss);
        let piece = u64::from(settings.segmentation_bytes) / mss * mss;
        let segments = u64::from(settings.initial_window_segments);
        Self {
            una: 0,
            next: 0,
            high_data: 0,
            stream_end: bytes.unwrap_or(u64::MAX),
            edge: window,
            window_seen: window,
            send_buffer,
            mss,
            piece_max: piece.max(mss),
            phase: Phase::Open,
            dup_acks: 0,
            recover: 0,
            rescue: 0,
            reduced: 0,
            reduced_by_echo: false,
            limited: 0,
            resend_first: false,
            announce_cwr: false,
            send_syn: false,
            send_probe: false,
            timed_out: false,
            ecn: settings.ecn,
            sack: settings.sack,
            probes: 0,
            deadline: None,
            timed: None,
            burst: (0, start),
            syn_at: start,
            rtt: RttEstimator::new(settings.rto_min),
            congestion: CongestionControl::new_reno(mss, segments, send_buffer),
            scoreboard: Scoreboard::new(mss),
            stats: SenderStats::default(),
        }
    }

    /// As [`new`](Self::new), but data waits for a SYN and its SYN-ACK, which give the first round-trip sample. The
    /// handshake's last acknowledgement is the first data segment.
    #[must_use]
    pub fn with_handshake(settings: &TcpSettings, start: Instant, bytes: Option<u64>) -> Self {
        Self {
            phase: Phase::Opening,
            send_syn: true,
            ..Self::new(settings, start, bytes)
        }
    }

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
        if echoed && self.phase == Phase::Open && (ack.ack > self.reduced || self.reduced == 0) {
            self.on_echo(flight_before);
        }
        match self.phase {
            Phase::Open => {
                if acked > 0 && !echoed {
                    self.congestion.on_ack(acked);
                }
                if duplicate {
                    self.on_duplicate();
                }
            }
            Phase::Recovery => self.on_ack_in_recovery(acked, duplicate),
            Phase::Resending => {
                if acked > 0 && !echoed {
                    self.congestion.on_ack(acked);
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

    fn on_echo(&mut self, flight: u64) {
        self.congestion.on_ecn_echo(flight);
        self.stats.ecn_reductions += 1;
        self.note_reduction(true);
    }

    fn note_reduction(&mut self, by_echo: bool) {
        self.reduced = self.high_data;
        self.reduced_by_echo = by_echo;
        self.announce_cwr = self.ecn;
    }

    /// FlightSize of RFC 5681, less what limited transmit sent.
    const fn flight_size(&self) -> u64 {
        (self.high_data - self.una).saturating_sub(self.limited)
    }

    fn on_duplicate(&mut self) {
        self.dup_acks = self.dup_acks.saturating_add(1);
        let lost = self.dup_acks >= DUP_THRESH || (self.sack && self.scoreboard.is_lost(self.una));
        // RFC 6582 asks for more than `recover`, RFC 6675 5.1 for `recover`: only SACK can tell the duplicates that a
        // timeout's own retransmissions cause from loss.
        let allowed = if self.sack {
            self.una >= self.recover
        } else {
            self.una > self.recover || self.recover == 0
        };
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

    /// The next piece to hand down, none where nothing may be sent now. Call until none after construction,
    /// [`on_ack`](Self::on_ack) and [`on_timer`](Self::on_timer).
    pub fn poll_transmit(&mut self, now: Instant) -> Option<DataSegment> {
        if self.phase == Phase::Opening {
            return self.transmit_syn(now);
        }
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
        let left = self.stream_end - self.next;
        if left == 0 {
            return None;
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
        let mut len = left.min(room).min(self.piece_max);
        if len < left && !len.is_multiple_of(self.mss) {
            // Whole segments, but for a receiver whose whole window is small (RFC 1122 4.2.3.4).
            let short_window = len < self.mss && len == by_peer && len >= self.window_seen.div_ceil(2);
            if !short_window {
                len -= len % self.mss;
            }
        }
        if len < self.piece_max
            && len < left
            && !disordered
            && self.phase == Phase::Open
            && self.expects_ack(now)
        {
            let window = cwnd.min(self.send_buffer).min(self.edge - self.una);
            if len < (window / 3).min(self.piece_max) / self.mss * self.mss {
                len = 0;
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

    fn emit_new(&mut self, now: Instant, len: u64) -> DataSegment {
        let seq = self.next;
        let end = seq + len;
        self.next = end;
        self.high_data = end;
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

    /// When [`on_timer`](Self::on_timer) is due; none while nothing is. The instant mostly moves later: a caller may
    /// keep an event at an earlier one, call then (which does nothing) and look again.
    #[must_use]
    pub const fn poll_timer(&self) -> Option<Instant> {
        self.deadline
    }

    /// Does what is due at `now`, nothing before the deadline.
    pub fn on_timer(&mut self, now: Instant) {
        match self.deadline {
            Some(at) if now >= at => self.deadline = None,
            _ => return,
        }
        if self.phase == Phase::Opening {
            self.stats.timeouts += 1;
            self.timed_out = true;
            self.send_syn = true;
            self.rtt.back_off();
        } else if self.high_data > self.una {
            self.on_timeout(now);
        } else {
            self.send_probe = true;
            self.probes = self.probes.saturating_add(1);
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.congestion.on_timeout(self.flight_size(), self.timed_out);
        self.timed_out = true;
        self.note_reduction(false);
        self.recover = self.high_data;
        self.next = self.una;
        self.phase = Phase::Resending;
        self.dup_acks = 0;
        self.limited = 0;
        self.resend_first = false;
        self.timed = None;
        self.scoreboard.clear();
        self.rtt.back_off();
        self.deadline = Some(now.saturating_add(self.rtt.rto()));
    }

    /// What happened so far.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            cwnd_bytes: self.congestion.cwnd(),
            srtt: self.rtt.srtt(),
            ..self.stats
        }
    }

    /// Bytes sent and not yet acknowledged in order.
    #[must_use]
    pub const fn outstanding_bytes(&self) -> u64 {
        self.high_data - self.una
    }

    /// True once every byte of a finite stream is acknowledged.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.una == self.stream_end
    }

    /// The retransmission timeout, backoff included.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rtt.rto()
    }
}
