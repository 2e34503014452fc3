//! Measures: numbers in, numbers out. No files, no frames, no schedulers, no clock.
//!
//! Integers go in on the hot path ([`Histogram::record`]); floats come out when a run is over.
pub mod histogram;
pub mod little;
pub mod occupancy;
pub mod rates;
pub mod row;
pub mod series;
pub mod student;
pub mod summary;
pub mod verdict;

pub use histogram::{Bucket, Histogram, HistogramParts, PartsError};
pub use little::LittlesLaw;
pub use occupancy::Occupancy;
pub use row::Row;
pub use series::{SeriesPoint, TimeSeries};
pub use summary::Summary;
pub use verdict::{Comparison, Role, Verdict};

#[cfg(test)]
mod tests {
    /// A seeded generator for property tests (Steele, Lea and Flood, SplitMix64, 2014).
    pub(crate) struct Random(u64);

    impl Random {
        pub(crate) const fn new(seed: u64) -> Self {
            Self(seed)
        }
        pub(crate) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
        pub(crate) fn below(&mut self, n: u64) -> u64 {
            self.next() % n
        }
    }
}
