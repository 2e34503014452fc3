//! Where random decisions come from: a seeded generator, or the bytes of a fuzzer.

/// A source of decisions.
pub(crate) trait Choice {
    fn draw(&mut self) -> u64;

    /// A number below `n`, zero for `n` = 0.
    fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.draw() % n }
    }
    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }
    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
    fn of<T: Copy>(&mut self, values: &[T]) -> T
    where
        Self: Sized,
    {
        values[self.below(values.len() as u64) as usize]
    }
}

/// `SplitMix64` (Steele, Lea, Flood, 2014): any seed gives a full period.
pub(crate) struct Seeded(pub(crate) u64);

impl Choice for Seeded {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}
