//! The receiving side: puts bytes in order, acknowledges them, reports gaps, echoes congestion marks.
//!
//! Delayed acknowledgement as in RFC 1122 4.2.3.2 and RFC 5681 4.2: at the second full segment, at the timer, and at
//! once for a segment out of order, a duplicate, or one that fills a gap; FIN and window probes are answered at once.
//! SACK blocks as in RFC 2018 section 4: first the range that changed last, then the ones reported before it. The ECN
//! echo is RFC 3168's, from a mark until CWR, or DCTCP's (RFC 8257 3.2): as each segment came. The window's right edge
//! never moves back and moves on only by a worthwhile step (RFC 1122 4.2.3.3). Left out: DSACK, reneging.

use super::ranges::RangeSet;
use super::{Ack, DataSegment, Flags, SackBlock};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::{CongestionLaw, TcpSettings};

/// One connection's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: u64,
    /// Right edge of the window offered so far.
    edge: u64,
    /// Bytes that the application has taken.
    read: u64,
    buffer: u64,
    mss: u64,
    delayed_ack: Duration,
    /// In-order bytes that no acknowledgement covers yet.
    unacknowledged: u64,
    deadline: Option<Instant>,
    out_of_order: RangeSet,
    /// A byte of each of the ranges that changed last.
    recent: [u64; 3],
    sack: bool,
    ecn: bool,
    echo: bool,
    /// Echoes each mark as it came rather than until CWR (RFC 8257 3.2).
    exact_echo: bool,
    /// An acknowledgement that goes out before the one that the last segment gave.
    earlier: Option<Ack>,
    reads_at_once: bool,
    /// Where the stream ends, `u64::MAX` until FIN says it.
    stream_end: u64,
}

impl Receiver {
    /// A receiver whose application takes every byte as soon as it is in order.
    ///
    /// Used: MSS, receive buffer (at least one MSS, at most [`WINDOW_MAX_BYTES`](super::WINDOW_MAX_BYTES)), delayed
    /// acknowledgement, ECN, SACK.
    #[must_use]
    pub fn new(settings: &TcpSettings) -> Self {
        let mss = u64::from(settings.mss_bytes.max(1));
        let buffer = super::window_max(settings, mss);
        Self {
            next: 0,
            edge: buffer,
            read: 0,
            buffer,
            mss,
            delayed_ack: settings.delayed_ack,
            unacknowledged: 0,
            deadline: None,
            out_of_order: RangeSet::default(),
            recent: [0; 3],
            sack: settings.sack,
            ecn: settings.ecn,
            echo: false,
            exact_echo: settings.congestion == CongestionLaw::Dctcp,
            earlier: None,
            reads_at_once: true,
            stream_end: u64::MAX,
        }
    }

    /// A receiver whose application takes bytes only by [`read`](Self::read), so that the window can close.
    #[must_use]
    pub fn with_explicit_reads(settings: &TcpSettings) -> Self {
        Self {
            reads_at_once: false,
            ..Self::new(settings)
        }
    }

    /// A segment came in, `ce` where its packet was marked congestion experienced. Several packets may come as one
    /// segment (receive offload); its length counts.
    pub fn on_segment(&mut self, now: Instant, segment: &DataSegment, ce: bool) -> Option<Ack> {
        if segment.flags.has(Flags::SYN) {
            return Some(self.acknowledge(Flags::SYN));
        }
        if self.exact_echo {
            // RFC 8257 3.2: what came before the change is acknowledged at once, with its own mark.
            if self.echo != ce && self.unacknowledged > 0 {
                self.earlier = Some(self.acknowledge(Flags::NONE));
            }
            self.echo = ce;
        } else if self.ecn {
            // CWR first: a mark on the same packet is news (RFC 3168 6.1.3).
            self.echo = (self.echo && !segment.flags.has(Flags::CWR)) || ce;
        }
        let end = segment.end().min(self.edge);
        if end <= self.next || segment.seq >= self.edge {
            // A duplicate, a probe, or bytes beyond the window: answered at once.
            return Some(self.acknowledge(Flags::NONE));
        }
        let fin = segment.flags.has(Flags::FIN);
        if fin {
            self.stream_end = segment.end();
        }
        if segment.seq > self.next {
            self.out_of_order.insert(segment.seq, end);
            self.note_recent(segment.seq);
            return Some(self.acknowledge(Flags::NONE));
        }
        let before = self.next;
        self.next = end;
        let mut at_once = fin;
        if let Some(first) = self.out_of_order.first() {
            at_once = true;
            if first.start <= end {
                self.next = self.out_of_order.containing(end).map_or(end, |r| r.end);
                self.out_of_order.remove_below(self.next);
            }
        }
        if self.reads_at_once {
            self.read = self.next;
        }
        self.unacknowledged += self.next - before;
        if at_once || self.unacknowledged >= 2 * self.mss || self.delayed_ack == Duration::ZERO {
            return Some(self.acknowledge(Flags::NONE));
        }
        if self.deadline.is_none() {
            self.deadline = Some(now.saturating_add(self.delayed_ack));
        }
        None
    }

    /// An acknowledgement that is to be sent before the one that [`on_segment`](Self::on_segment) returned: DCTCP's
    /// receiver owes it where marks begin or end while an acknowledgement is delayed.
    pub const fn take_earlier(&mut self) -> Option<Ack> {
        self.earlier.take()
    }

    /// When [`on_timer`](Self::on_timer) is due; none while nothing is owed. An earlier call is harmless.
    #[must_use]
    pub const fn poll_timer(&self) -> Option<Instant> {
        self.deadline
    }

    /// The delayed acknowledgement, if it is due.
    pub fn on_timer(&mut self, now: Instant) -> Option<Ack> {
        match self.deadline {
            Some(at) if now >= at => Some(self.acknowledge(Flags::NONE)),
            _ => None,
        }
    }

    /// An acknowledgement that is owed and delayed, to ride on data of the other direction (RFC 9293 3.8.6.3).
    pub fn ride_along(&mut self) -> Option<Ack> {
        (self.unacknowledged > 0).then(|| self.acknowledge(Flags::NONE))
    }

    /// The application takes up to `bytes` of what is in order. Returns a window update where the window opens by a
    /// segment or by half the buffer.
    pub fn read(&mut self, bytes: u64) -> Option<Ack> {
        self.read += bytes.min(self.next - self.read);
        let step = self.mss.min(self.buffer / 2).max(1);
        if self.read + self.buffer >= self.edge + step && self.edge < self.next + self.mss {
            return Some(self.acknowledge(Flags::NONE));
        }
        None
    }

    /// Bytes received in order.
    #[must_use]
    pub const fn delivered_bytes(&self) -> u64 {
        self.next
    }

    /// True once every byte up to the last one that the sender will send is in order.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.next >= self.stream_end
    }

    fn note_recent(&mut self, seq: u64) {
        let [a, b, _] = self.recent;
        self.recent = [seq, a, b];
    }

    fn acknowledge(&mut self, flags: Flags) -> Ack {
        self.unacknowledged = 0;
        self.deadline = None;
        let room = self.read + self.buffer;
        let step = self.mss.min(self.buffer / 2).max(1);
        if room >= self.edge + step || self.reads_at_once {
            self.edge = room.max(self.edge);
        }
        let mut ack = Ack {
            ack: self.next,
            window: u32::try_from(self.edge - self.next).unwrap_or(u32::MAX),
            flags: flags.with(Flags::ECE.when(self.echo)),
            sack: [SackBlock::default(); 3],
        };
        if self.sack && !self.out_of_order.is_empty() {
            self.fill_sack(&mut ack);
        }
        ack
    }

    /// The ranges that changed last, then the lowest ones, which a sender that starts again after a timeout needs.
    fn fill_sack(&mut self, ack: &mut Ack) {
        let mut used = 0;
        let mut starts = [0; 3];
        let recent = self
            .recent
            .iter()
            .filter_map(|seq| self.out_of_order.containing(*seq));
        for r in recent.chain(self.out_of_order.ascending().take(3)) {
            if used == starts.len() {
                break;
            }
            if starts[..used].contains(&r.start) {
                continue;
            }
            let offset = u32::try_from(r.start - self.next);
            let (Ok(offset), Ok(len)) = (offset, u32::try_from(r.end - r.start)) else {
                continue;
            };
            starts[used] = r.start;
            ack.sack[used] = SackBlock { offset, len };
            used += 1;
        }
        // Without doubles, so that reports of one range do not push the others out.
        self.recent = starts;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::settings;
    use super::*;

    const T0: Instant = Instant::ZERO;

    fn segment(seq: u64, len: u32) -> DataSegment {
        DataSegment {
            seq,
            len,
            flags: Flags::NONE,
        }
    }
    fn blocks(ack: Option<Ack>) -> Vec<(u64, u64)> {
        let ack = ack.expect("an acknowledgement");
        let used = ack.sack.iter().filter(|b| b.len > 0);
        used.map(|b| (ack.ack + u64::from(b.offset), u64::from(b.len)))
            .collect()
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_at_the_timer() {
        let mut r = Receiver::new(&settings());
        let due = T0 + settings().delayed_ack;
        assert_eq!(r.on_segment(T0, &segment(0, 1_000), false), None);
        assert_eq!(r.poll_timer(), Some(due));
        let ack = r.on_segment(T0 + Duration::from_us(5), &segment(1_000, 1_000), false);
        assert_eq!(ack.map(|a| a.ack), Some(2_000));
        assert_eq!(r.poll_timer(), None);
        assert_eq!(r.on_timer(due), None, "an old timer is harmless");
        assert_eq!(r.on_segment(due, &segment(2_000, 1_000), false), None);
        let due = due + settings().delayed_ack;
        assert_eq!(r.on_timer(due.saturating_sub(Duration::from_ps(1))), None);
        assert_eq!(r.on_timer(due).map(|a| a.ack), Some(3_000));
    }

    #[test]
    fn short_segments_are_delayed_until_they_make_two_full_ones() {
        let mut r = Receiver::new(&settings());
        for i in 0..3 {
            assert_eq!(r.on_segment(T0, &segment(500 * i, 500), false), None);
        }
        assert_eq!(
            r.on_segment(T0, &segment(1_500, 500), false).map(|a| a.ack),
            Some(2_000)
        );
    }

    #[test]
    fn without_delay_every_segment_is_acknowledged() {
        let mut r = Receiver::new(&TcpSettings {
            delayed_ack: Duration::ZERO,
            ..settings()
        });
        assert_eq!(
            r.on_segment(T0, &segment(0, 1_000), false).map(|a| a.ack),
            Some(1_000)
        );
    }

    #[test]
    fn blocks_name_the_latest_change_first_and_then_earlier_ones() {
        let mut r = Receiver::new(&settings());
        assert_eq!(
            blocks(r.on_segment(T0, &segment(2_000, 1_000), false)),
            [(2_000, 1_000)]
        );
        assert_eq!(
            blocks(r.on_segment(T0, &segment(6_000, 1_000), false)),
            [(6_000, 1_000), (2_000, 1_000)]
        );
        assert_eq!(
            blocks(r.on_segment(T0, &segment(4_000, 1_000), false)),
            [(4_000, 1_000), (6_000, 1_000), (2_000, 1_000)]
        );
        // Joins two ranges.
        assert_eq!(
            blocks(r.on_segment(T0, &segment(3_000, 1_000), false)),
            [(2_000, 3_000), (6_000, 1_000)]
        );
        assert_eq!(
            blocks(r.on_segment(T0, &segment(9_000, 1_000), false)),
            [(9_000, 1_000), (2_000, 3_000), (6_000, 1_000)]
        );
        assert_eq!(
            blocks(r.on_segment(T0, &segment(11_000, 1_000), false)),
            [(11_000, 1_000), (9_000, 1_000), (2_000, 3_000)]
        );
    }

    #[test]
    fn a_joined_range_leaves_room_for_the_lowest_one_not_yet_named() {
        let mut r = Receiver::new(&settings());
        for seq in [2_000, 4_000, 6_000, 8_000] {
            r.on_segment(T0, &segment(seq, 1_000), false);
        }
        // 4 to 9 are one range; the one at 2 was pushed out of the three before.
        r.on_segment(T0, &segment(5_000, 1_000), false);
        assert_eq!(
            blocks(r.on_segment(T0, &segment(7_000, 1_000), false)),
            [(4_000, 5_000), (2_000, 1_000)]
        );
    }

    #[test]
    fn filling_a_gap_is_acknowledged_at_once_and_delivers_what_waited() {
        let mut r = Receiver::new(&settings());
        r.on_segment(T0, &segment(1_000, 1_000), false);
        r.on_segment(T0, &segment(3_000, 1_000), false);
        let ack = r.on_segment(T0, &segment(0, 1_000), false);
        assert_eq!(blocks(ack), [(3_000, 1_000)]);
        assert_eq!(ack.map(|a| a.ack), Some(2_000));
        assert_eq!(
            r.on_segment(T0, &segment(1_500, 1_500), false).map(|a| a.ack),
            Some(4_000)
        );
        assert_eq!(r.delivered_bytes(), 4_000);
    }

    #[test]
    fn even_a_short_segment_is_acknowledged_at_once_where_a_gap_remains_or_closes() {
        let mut r = Receiver::new(&settings());
        r.on_segment(T0, &segment(200, 100), false);
        assert_eq!(
            r.on_segment(T0, &segment(0, 100), false).map(|a| a.ack),
            Some(100)
        );
        assert_eq!(
            r.on_segment(T0, &segment(100, 100), false).map(|a| a.ack),
            Some(300)
        );
        assert_eq!(r.on_segment(T0, &segment(300, 100), false), None);
    }

    #[test]
    fn a_duplicate_is_acknowledged_at_once() {
        let mut r = Receiver::new(&settings());
        r.on_segment(T0, &segment(0, 2_000), false);
        assert_eq!(
            r.on_segment(T0, &segment(0, 1_000), false).map(|a| a.ack),
            Some(2_000)
        );
        assert_eq!(r.delivered_bytes(), 2_000);
    }

    #[test]
    fn a_mark_is_echoed_until_cwr_and_a_mark_on_the_cwr_packet_counts_again() {
        let mut r = Receiver::new(&TcpSettings {
            ecn: true,
            delayed_ack: Duration::ZERO,
            ..settings()
        });
        let mut echo = |seq, flags, ce| {
            let ack = r.on_segment(
                T0,
                &DataSegment {
                    seq,
                    len: 1_000,
                    flags,
                },
                ce,
            );
            ack.expect("no delay").flags.has(Flags::ECE)
        };
        assert!(!echo(0, Flags::ECT, false));
        assert!(echo(1_000, Flags::ECT, true));
        assert!(echo(2_000, Flags::ECT, false));
        assert!(echo(3_000, Flags::ECT.with(Flags::CWR), true));
        assert!(!echo(4_000, Flags::ECT.with(Flags::CWR), false));
        assert!(!echo(5_000, Flags::ECT, false));
    }

    #[test]
    fn bytes_beyond_the_window_are_not_taken() {
        let mut r = Receiver::with_explicit_reads(&TcpSettings {
            receive_buffer_bytes: 2_500,
            ..settings()
        });
        let ack = r
            .on_segment(T0, &segment(0, 3_000), false)
            .expect("more than two segments");
        assert_eq!((ack.ack, ack.window), (2_500, 0));
        let ack = r
            .on_segment(T0, &segment(2_500, 500), false)
            .expect("the window is closed");
        assert_eq!((ack.ack, ack.window), (2_500, 0));
    }

    #[test]
    fn the_window_opens_by_a_worthwhile_step() {
        let mut r = Receiver::with_explicit_reads(&TcpSettings {
            receive_buffer_bytes: 4_000,
            ..settings()
        });
        r.on_segment(T0, &segment(0, 4_000), false);
        assert_eq!(r.read(999), None);
        let update = r.read(1).expect("a segment fits");
        assert_eq!((update.ack, update.window), (4_000, 1_000));
        assert_eq!(
            r.read(1_000_000),
            None,
            "the sender has a segment's room and will hear of more"
        );
        assert_eq!(r.on_segment(T0, &segment(4_000, 1_000), false), None);
        assert_eq!(
            r.on_timer(T0 + settings().delayed_ack).map(|a| (a.ack, a.window)),
            Some((5_000, 3_000))
        );
    }

    #[test]
    fn a_probe_is_answered_at_once() {
        let mut r = Receiver::new(&settings());
        assert_eq!(r.on_segment(T0, &segment(0, 0), false).map(|a| a.ack), Some(0));
    }

    #[test]
    fn the_last_byte_is_acknowledged_at_once() {
        let mut r = Receiver::new(&settings());
        let fin = DataSegment {
            seq: 0,
            len: 10,
            flags: Flags::FIN,
        };
        assert_eq!(r.on_segment(T0, &fin, false).map(|a| a.ack), Some(10));
        assert!(r.is_finished());
    }
}
