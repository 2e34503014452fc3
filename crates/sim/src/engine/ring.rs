//! One turn of a timing wheel: 4,096 slots, each the head of a list, and a bitmap that finds the next used one.
//!
//! Source: the timing wheels of Varghese and Lauck (SOSP 1987), with a bitmap of two levels so that finding the
//! next used slot takes two steps however far away it is. A ring knows positions, not times: its owner maps
//! slot numbers to time and keeps the lists' entries.

/// Ends a list.
pub(super) const NIL: u32 = u32::MAX;
/// Slots of a ring, as a power of two.
pub(super) const RING_BITS: u32 = 12;
/// Slots of a ring.
pub(super) const RING_SLOTS: u64 = 1 << RING_BITS;

const WORDS: usize = 64;

/// Slot heads with a bitmap of the used ones.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    heads: Box<[u32; RING_SLOTS as usize]>,
    words: [u64; WORDS],
    used_words: u64,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self {
            heads: Box::new([NIL; RING_SLOTS as usize]),
            words: [0; WORDS],
            used_words: 0,
        }
    }

    /// Puts `entry` at the head of the list of `slot` and returns what stood there ([`NIL`] for nothing).
    #[inline]
    pub(super) fn link(&mut self, slot: u64, entry: u32) -> u32 {
        let position = (slot % RING_SLOTS) as usize;
        let word = position / 64;
        self.words[word] |= 1 << (position % 64);
        self.used_words |= 1 << word;
        std::mem::replace(&mut self.heads[position], entry)
    }

    /// Empties `slot` and returns the head of its list.
    #[inline]
    pub(super) fn take(&mut self, slot: u64) -> u32 {
        let position = (slot % RING_SLOTS) as usize;
        let word = position / 64;
        let left = self.words[word] & !(1 << (position % 64));
        self.words[word] = left;
        self.used_words &= !(u64::from(left == 0) << word);
        std::mem::replace(&mut self.heads[position], NIL)
    }

    /// The first used slot of the 4,096 after `cursor`, or `u64::MAX`.
    #[inline]
    pub(super) fn next_after(&self, cursor: u64) -> u64 {
        let first = cursor + 1;
        let position = (first % RING_SLOTS) as usize;
        let word = position / 64;
        let here = self.words[word] >> (position % 64);
        if here != 0 {
            return first + u64::from(here.trailing_zeros());
        }
        if self.used_words == 0 {
            return u64::MAX;
        }
        // The turn ends in the word it began in: its low bits are the last of the 4,096 slots.
        let turned = self.used_words.rotate_right(word as u32 + 1);
        let word = (word + 1 + turned.trailing_zeros() as usize) % WORDS;
        let found = (word * 64) as u64 + u64::from(self.words[word].trailing_zeros());
        first + (found.wrapping_sub(first) % RING_SLOTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_used_slot_is_found_at_every_distance() {
        for cursor in [0_u64, 1, 63, 64, 1_000, 4_095, 4_096, 123_456_789] {
            for distance in 1..=RING_SLOTS {
                let mut ring = Ring::new();
                assert_eq!(ring.next_after(cursor), u64::MAX);
                assert_eq!(ring.link(cursor + distance, 7), NIL);
                assert_eq!(ring.next_after(cursor), cursor + distance);
                assert_eq!(ring.take(cursor + distance), 7);
                assert_eq!(ring.next_after(cursor), u64::MAX);
            }
        }
    }

    #[test]
    fn the_nearest_of_many_comes_first() {
        let mut ring = Ring::new();
        for slot in [1_500, 1_030, 1_029, 2_000] {
            ring.link(slot, slot as u32);
        }
        let mut cursor = 1_000;
        for expected in [1_029, 1_030, 1_500, 2_000] {
            cursor = ring.next_after(cursor);
            assert_eq!(cursor, expected);
            assert_eq!(u64::from(ring.take(cursor)), expected);
        }
    }

    #[test]
    fn a_list_keeps_what_stood_there() {
        let mut ring = Ring::new();
        assert_eq!(ring.link(5, 1), NIL);
        assert_eq!(ring.link(5, 2), 1);
        assert_eq!(ring.take(5), 2);
    }
}
