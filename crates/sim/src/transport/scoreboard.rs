//! The sender's scoreboard: what the receiver reported out of order, and what follows for loss (RFC 6675, with the
//! blocks of RFC 2018).
//!
//! `IsLost` falls with the sequence number, so that all lost bytes lie below one edge, found by looking at no more
//! than the three highest ranges; and `NextSeg` never skips a hole, so that every byte below `HighRxt` that was not
//! reported has been sent again. Both make `SetPipe` a sum of three counters instead of a walk over the window. A
//! test compares it with the RFC's own loops, byte by byte.

use super::ranges::{ByteRange, RangeSet};

/// Duplicate acknowledgements that mean loss (RFC 5681 3.2, RFC 6675 section 2).
pub(crate) const DUP_THRESH: u32 = 3;

/// Reported ranges and how far the holes between them were filled again.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    sacked: RangeSet,
    /// HighRxt + 1: the byte after the highest one sent again in this recovery.
    high_rxt: u64,
    /// Bytes from HighACK + 1 to HighRxt that were not reported: sent again and still on their way.
    resent: u64,
    mss: u64,
}

impl Scoreboard {
    pub(crate) fn new(mss: u64) -> Self {
        Self {
            sacked: RangeSet::default(),
            high_rxt: 0,
            resent: 0,
            mss,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sacked.is_empty()
    }

    /// `Update()` for one block; returns the bytes that were not reported before.
    pub(crate) fn report(&mut self, start: u64, end: u64) -> u64 {
        if start < self.high_rxt {
            let below = end.min(self.high_rxt);
            let newly = below.saturating_sub(start) - self.sacked.covered(start, below);
            let inserted = self.sacked.insert(start, end);
            if inserted > 0 {
                self.resent -= newly;
            }
            return inserted;
        }
        self.sacked.insert(start, end)
    }

    /// The cumulative acknowledgement moved from `una` to `ack`.
    pub(crate) fn advance(&mut self, una: u64, ack: u64) {
        if ack >= self.high_rxt {
            self.resent = 0;
        } else {
            self.resent -= ack - una - self.sacked.covered(una, ack);
        }
        self.sacked.remove_below(ack);
    }

    /// `HighRxt = HighACK`: nothing was sent again yet.
    pub(crate) fn start_recovery(&mut self, una: u64) {
        self.high_rxt = una;
        self.resent = 0;
    }

    /// The bytes from the edge of what was sent again to `end` were sent again.
    pub(crate) fn resend(&mut self, start: u64, end: u64) {
        self.resent += end - start;
        self.high_rxt = end;
    }

    /// Every byte that was not reported and lies below this is lost; also the bytes reported from there on.
    fn lost_edge(&self) -> Option<(u64, u64)> {
        let mut bytes = 0;
        for (count, r) in (1..).zip(self.sacked.descending()) {
            bytes += r.end - r.start;
            if count >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                return Some((r.start, bytes));
            }
        }
        None
    }

    /// `IsLost(seq)` for a byte that was not reported.
    pub(crate) fn is_lost(&self, seq: u64) -> bool {
        self.lost_edge().is_some_and(|(edge, _)| seq < edge)
    }

    /// `SetPipe()`: an estimate of the bytes on their way, `una` to `high_data` being outstanding.
    pub(crate) fn pipe(&self, una: u64, high_data: u64) -> u64 {
        let (edge, above) = self.lost_edge().unwrap_or((una, self.sacked.bytes()));
        high_data - edge - above + self.resent
    }

    /// Rules (1) and (3) of `NextSeg()`: the lowest hole that was not filled again and lies below a report. Whether
    /// rule (1) applies is [`is_lost`](Self::is_lost) of its start.
    pub(crate) fn next_hole(&self, una: u64) -> Option<ByteRange> {
        self.sacked.gap_from(self.high_rxt.max(una))
    }

    /// The first outstanding hole from `una`, up to `high_data`.
    pub(crate) fn first_hole(&self, una: u64, high_data: u64) -> ByteRange {
        ByteRange {
            start: una,
            end: self.sacked.first().map_or(high_data, |r| r.start.max(una)),
        }
    }

    /// Rule (4): the highest outstanding hole, which a rescue retransmission ends with.
    pub(crate) fn last_hole(&self, una: u64, high_data: u64) -> ByteRange {
        let mut end = high_data;
        for r in self.sacked.descending() {
            if r.end < end {
                return ByteRange { start: r.end, end };
            }
            end = r.start;
        }
        ByteRange { start: una, end }
    }

    /// Where sending goes on after a timeout: `from`, or past the range that holds it, and how far the hole goes.
    pub(crate) fn skip_reported(&self, from: u64, high_data: u64) -> ByteRange {
        let start = self.sacked.containing(from).map_or(from, |r| r.end);
        let end = self.sacked.gap_from(start).map_or(high_data, |gap| gap.end);
        ByteRange { start, end }
    }

    /// Bytes reported in `start..end`.
    pub(crate) fn reported(&self, start: u64, end: u64) -> u64 {
        self.sacked.covered(start, end)
    }

    /// A timeout: the receiver may have thrown away what it reported (RFC 2018 section 8).
    pub(crate) fn clear(&mut self) {
        self.sacked.clear();
        self.high_rxt = 0;
        self.resent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RFC's definitions, one byte at a time.
    struct PerByte {
        sacked: Vec<bool>,
        una: usize,
        high_data: usize,
        high_rxt: usize,
        mss: usize,
    }

    impl PerByte {
        fn is_lost(&self, seq: usize) -> bool {
            let above = &self.sacked[seq..self.high_data];
            let bytes = above.iter().filter(|b| **b).count();
            let runs = (0..above.len())
                .filter(|&i| above[i] && (i == 0 || !above[i - 1]))
                .count();
            runs >= 3 || bytes > 2 * self.mss
        }
        fn pipe(&self) -> u64 {
            let mut pipe = 0;
            for s in (self.una..self.high_data).filter(|&s| !self.sacked[s]) {
                pipe += u64::from(!self.is_lost(s));
                pipe += u64::from(s < self.high_rxt);
            }
            pipe
        }
        fn next_hole(&self) -> Option<usize> {
            let top = self.sacked.iter().rposition(|b| *b)?;
            (self.high_rxt.max(self.una)..top).find(|&s| !self.sacked[s])
        }
    }

    #[test]
    fn counters_agree_with_the_rfcs_loops_byte_by_byte() {
        let mut x = 99_u64;
        let mut draw = move |n: usize| {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) as usize % n
        };
        let mut resent_and_lost = 0;
        for _ in 0..300 {
            let high_data = 200;
            let mut slow = PerByte {
                sacked: vec![false; high_data],
                una: 0,
                high_data,
                high_rxt: 0,
                mss: 8,
            };
            let mut fast = Scoreboard::new(8);
            fast.start_recovery(0);
            for _ in 0..40 {
                match draw(4) {
                    0 | 1 => {
                        let start = slow.una + 1 + draw(high_data - slow.una - 1);
                        let end = (start + 1 + draw(20)).min(high_data);
                        let new = slow.sacked[start..end].iter().filter(|b| !**b).count() as u64;
                        assert_eq!(fast.report(start as u64, end as u64), new);
                        slow.sacked[start..end].fill(true);
                    }
                    2 => {
                        let hole = fast.next_hole(slow.una as u64);
                        assert_eq!(hole.map(|h| h.start as usize), slow.next_hole());
                        if let Some(h) = hole {
                            let end = h.end.min(h.start + 8);
                            fast.resend(h.start, end);
                            slow.high_rxt = end as usize;
                            resent_and_lost += u32::from(fast.is_lost(h.start));
                        }
                    }
                    _ => {
                        // As a receiver does it: the new edge is never inside a reported range.
                        let mut ack = (slow.una + draw(16)).min(high_data - 20).max(slow.una);
                        while slow.sacked[ack] && ack < high_data - 10 {
                            ack += 1;
                        }
                        if !slow.sacked[ack] {
                            fast.advance(slow.una as u64, ack as u64);
                            slow.una = ack;
                            slow.sacked[..ack].fill(false);
                        }
                    }
                }
                assert_eq!(fast.pipe(slow.una as u64, high_data as u64), slow.pipe());
                if !slow.sacked[slow.una] {
                    assert_eq!(fast.is_lost(slow.una as u64), slow.is_lost(slow.una));
                }
                let last = fast.last_hole(slow.una as u64, high_data as u64);
                assert_eq!(
                    last.end as usize,
                    slow.sacked.iter().rposition(|b| !*b).map_or(0, |p| p + 1)
                );
            }
        }
        assert!(
            resent_and_lost > 500,
            "the walk must reach lost holes: {resent_and_lost}"
        );
    }

    #[test]
    fn a_byte_is_lost_with_more_than_two_segments_reported_above_it() {
        let mut s = Scoreboard::new(1_000);
        s.report(1_000, 3_000);
        assert!(!s.is_lost(0));
        s.report(3_000, 3_001);
        assert!(s.is_lost(0));
    }

    #[test]
    fn three_separate_reports_mean_loss_however_short() {
        let mut s = Scoreboard::new(1_000);
        s.report(1_000, 1_010);
        s.report(2_000, 2_010);
        assert!(!s.is_lost(0));
        s.report(3_000, 3_010);
        assert!(s.is_lost(0));
        assert!(!s.is_lost(1_500));
    }
}
