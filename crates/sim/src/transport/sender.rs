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
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;

mod acknowledge;
mod transmit;

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

/// Segments spread over time.
#[derive(Clone, Copy, Debug)]
struct Pacing {
    /// Nothing is sent before.
    next: Instant,
    /// Something was held back until then.
    holds: bool,
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
    /// Byte after the last that the application has written.
    written: u64,
    /// The application writes piece by piece, so that the window is not always what limits the sender.
    app_limited: bool,
    /// When data was sent last.
    sent_at: Instant,
    /// The most that was outstanding in a window, and where that window ends.
    peak: (u64, u64),
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
    nagle: bool,
    pacing: Option<Pacing>,
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
    /// segment, the slow start threshold to two; an increase above one MSS is one MSS. A piece is cut to whole
    /// segments.
    #[must_use]
    pub fn new(settings: &TcpSettings, start: Instant, bytes: Option<u64>) -> Self {
        let mss = u64::from(settings.mss_bytes.max(1));
        let send_buffer = settings.send_buffer_bytes.clamp(mss, u64::MAX >> 8);
        let window = super::window_max(settings, mss);
        let piece = u64::from(settings.segmentation_bytes) / mss * mss;
        let segments = u64::from(settings.initial_window_segments);
        Self {
            una: 0,
            next: 0,
            high_data: 0,
            stream_end: bytes.unwrap_or(u64::MAX),
            written: bytes.unwrap_or(u64::MAX),
            app_limited: false,
            sent_at: start,
            peak: (0, 0),
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
            nagle: settings.nagle,
            pacing: settings.pacing.then_some(Pacing {
                next: start,
                holds: false,
            }),
            probes: 0,
            deadline: None,
            timed: None,
            burst: (0, start),
            syn_at: start,
            rtt: RttEstimator::new(settings.rto_min),
            congestion: CongestionControl::new(settings.congestion, mss, segments, send_buffer).growing(
                settings.slow_start_threshold_bytes,
                u64::from(settings.increase_bytes),
            ),
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

    /// The same connection with an application that writes by [`supply`](Self::supply): nothing is there to send yet,
    /// and the stream has no end.
    #[must_use]
    pub const fn fed_by_application(mut self) -> Self {
        self.stream_end = u64::MAX;
        self.written = 0;
        self.app_limited = true;
        self
    }

    /// The application has written `bytes` more. What the send buffer has no room for waits outside it; see
    /// [`has_room`](Self::has_room). Call [`poll_transmit`](Self::poll_transmit) then.
    pub const fn supply(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// True where the send buffer holds everything written and has room for a byte more: a blocking write would begin.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.written - self.una < self.send_buffer
    }

    /// Bytes acknowledged in order, from the first of the connection.
    #[must_use]
    pub const fn acknowledged(&self) -> u64 {
        self.una
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

    /// When [`poll_transmit`](Self::poll_transmit) is to be asked again though nothing came in: pacing held it back.
    #[must_use]
    pub const fn poll_send(&self) -> Option<Instant> {
        match self.pacing {
            Some(Pacing { next, holds: true }) => Some(next),
            _ => None,
        }
    }

    /// DCTCP's estimate of the fraction of bytes that were marked; none by another law.
    #[must_use]
    pub const fn marked_fraction(&self) -> Option<f64> {
        self.congestion.marked_fraction()
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
