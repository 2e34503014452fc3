//! A sorted set of disjoint, non-touching byte ranges: what a receiver holds out of order, what a sender knows of it.
//!
//! Kept in a ring: new ranges mostly come at the top, old ones leave at the bottom. The number of ranges is bounded;
//! a range that would be one too many is refused, which both users may do (RFC 2018 section 8: what is reported out
//! of order is advice).

use std::collections::VecDeque;

/// Most ranges held: 16 bytes each.
const RANGES_MAX: usize = 16_384;

/// Bytes `start..end`, never empty inside a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl ByteRange {
    const fn len(self) -> u64 {
        self.end - self.start
    }
}

/// The set.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<ByteRange>,
    bytes: u64,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes in the set.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn first(&self) -> Option<ByteRange> {
        self.ranges.front().copied()
    }

    /// The ranges from the lowest up.
    pub(crate) fn ascending(&self) -> impl Iterator<Item = ByteRange> {
        self.ranges.iter().copied()
    }

    /// The ranges from the highest down.
    pub(crate) fn descending(&self) -> impl Iterator<Item = ByteRange> {
        self.ranges.iter().rev().copied()
    }

    /// Index of the first range that ends above `seq`.
    fn above(&self, seq: u64) -> usize {
        self.ranges.partition_point(|r| r.end <= seq)
    }

    /// The range that holds byte `seq`.
    pub(crate) fn containing(&self, seq: u64) -> Option<ByteRange> {
        self.ranges
            .get(self.above(seq))
            .copied()
            .filter(|r| r.start <= seq)
    }

    /// The gap that begins at or after `from`, where a range lies above it.
    pub(crate) fn gap_from(&self, from: u64) -> Option<ByteRange> {
        let i = self.above(from);
        let r = *self.ranges.get(i)?;
        if r.start > from {
            return Some(ByteRange {
                start: from,
                end: r.start,
            });
        }
        let next = self.ranges.get(i + 1)?;
        Some(ByteRange {
            start: r.end,
            end: next.start,
        })
    }

    /// The bytes of `start..end` that are in the set.
    pub(crate) fn covered(&self, start: u64, end: u64) -> u64 {
        let mut sum = 0;
        for r in self.ranges.range(self.above(start)..) {
            if r.start >= end {
                break;
            }
            sum += r.end.min(end) - r.start.max(start);
        }
        sum
    }

    /// Adds `start..end`; returns the bytes that were not there before, zero where the set is full.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        match self.ranges.back_mut() {
            None => return self.push(ByteRange { start, end }),
            Some(last) if start > last.end => return self.push(ByteRange { start, end }),
            Some(last) if start >= last.start => {
                let new = end.saturating_sub(last.end);
                last.end = last.end.max(end);
                self.bytes += new;
                return new;
            }
            Some(_) => {}
        }
        // First range that touches or lies above, and the first that lies clear above.
        let from = self.ranges.partition_point(|r| r.end < start);
        let to = from + self.ranges.range(from..).take_while(|r| r.start <= end).count();
        if from == to {
            if self.ranges.len() >= RANGES_MAX {
                return 0;
            }
            self.ranges.insert(from, ByteRange { start, end });
            self.bytes += end - start;
            return end - start;
        }
        let merged = ByteRange {
            start: start.min(self.ranges[from].start),
            end: end.max(self.ranges[to - 1].end),
        };
        let before: u64 = self.ranges.range(from..to).map(|r| r.len()).sum();
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
        let new = merged.len() - before;
        self.bytes += new;
        new
    }

    fn push(&mut self, range: ByteRange) -> u64 {
        if self.ranges.len() >= RANGES_MAX {
            return 0;
        }
        self.ranges.push_back(range);
        self.bytes += range.len();
        range.len()
    }

    /// Forgets everything below `seq`; returns the bytes forgotten.
    pub(crate) fn remove_below(&mut self, seq: u64) -> u64 {
        let mut gone = 0;
        while let Some(front) = self.ranges.front_mut() {
            if front.end <= seq {
                gone += front.len();
                self.ranges.pop_front();
            } else {
                if front.start < seq {
                    gone += seq - front.start;
                    front.start = seq;
                }
                break;
            }
        }
        self.bytes -= gone;
        gone
    }

    /// Empties the set, keeping its memory.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[(u64, u64)]) -> RangeSet {
        let mut s = RangeSet::default();
        for &(a, b) in ranges {
            s.insert(a, b);
        }
        s
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut s = set(&[(10, 20), (30, 40), (50, 60)]);
        assert_eq!(s.insert(20, 30), 10);
        assert_eq!(s.first(), Some(ByteRange { start: 10, end: 40 }));
        assert_eq!(s.insert(5, 55), 15);
        assert_eq!(s.first(), Some(ByteRange { start: 5, end: 60 }));
        assert_eq!(s.bytes(), 55);
    }

    #[test]
    fn gaps_are_found_only_below_the_highest_range() {
        let s = set(&[(10, 20), (30, 40)]);
        assert_eq!(s.gap_from(0), Some(ByteRange { start: 0, end: 10 }));
        assert_eq!(s.gap_from(10), Some(ByteRange { start: 20, end: 30 }));
        assert_eq!(s.gap_from(25), Some(ByteRange { start: 25, end: 30 }));
        assert_eq!(s.gap_from(30), None);
        assert_eq!(s.gap_from(90), None);
    }

    #[test]
    fn the_number_of_ranges_is_bounded() {
        let mut s = RangeSet::default();
        for i in 0..RANGES_MAX as u64 {
            assert_eq!(s.insert(10 * i, 10 * i + 5), 5);
        }
        assert_eq!(s.insert(7, 8), 0);
        assert_eq!(s.insert(u64::MAX - 1, u64::MAX), 0);
        assert_eq!(s.insert(5, 6), 1, "a range that touches another needs no room");
    }

    #[test]
    fn random_operations_agree_with_a_bitmap() {
        let mut x = 7_u64;
        let mut draw = move |n: u64| {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % n
        };
        for _ in 0..200 {
            let mut s = RangeSet::default();
            let mut bits = [false; 256];
            let mut floor = 0;
            for _ in 0..60 {
                let start = floor + draw(256 - floor);
                let end = (start + draw(24)).min(256);
                if draw(8) == 0 {
                    let gone = bits[floor as usize..start as usize]
                        .iter()
                        .filter(|b| **b)
                        .count();
                    assert_eq!(s.remove_below(start), gone as u64);
                    bits[..start as usize].fill(false);
                    floor = start;
                } else {
                    let new = bits[start as usize..end as usize].iter().filter(|b| !**b).count();
                    assert_eq!(s.insert(start, end), new as u64);
                    bits[start as usize..end as usize].fill(true);
                }
                let (a, b) = (draw(256), draw(256));
                let covered = bits
                    .iter()
                    .enumerate()
                    .filter(|(i, b_)| **b_ && (a..b).contains(&(*i as u64)));
                assert_eq!(s.covered(a, b.max(a)), covered.count() as u64);
                assert_eq!(s.containing(a).is_some(), bits[a as usize]);
                assert_eq!(s.bytes(), bits.iter().filter(|b| **b).count() as u64);
                let mut previous = 0;
                for r in s.ranges.iter() {
                    assert!(r.start < r.end && (r.start > previous || previous == 0));
                    previous = r.end;
                }
            }
        }
    }
}
