//! The shared memory of a switch: what is charged, to whom, and what is freed when.
//!
//! A frame's memory is freed when the last bit of its last copy is out. The freeing is written down at the start of
//! the transmission and carried out when somebody could tell the difference: before an admission that would fail
//! without it, before a new maximum, a sample, or a flow-control threshold. That saves an event a frame.
//!
//! Source: dynamic thresholds are Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", IEEE/ACM Transactions on Networking 6(2), 1998. Left out: private and headroom pools.

use clearway_policy::scenario::Threshold;

/// A freeing that is due when the last bit of a frame is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    pub(crate) at: u64,
    pub(crate) bytes: u32,
    pub(crate) len: u32,
    pub(crate) ingress: u16,
    /// Place in the flow-control accounts: priority, or output.
    pub(crate) account: u8,
    /// Record of a memory shared by copies.
    pub(crate) shared: u32,
    /// Queue of the output that held it, by slot.
    pub(crate) queue: u32,
}

/// Occupancy of one memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) bytes_max: u64,
    cell_bytes: u32,
    pub(crate) used: u64,
    /// Most bytes used since the warm-up.
    pub(crate) peak: u64,
    /// Byte-picoseconds since the warm-up: every byte adds its instant of leaving and takes away that of coming.
    area: i128,
    warmup: u64,
    pub(crate) threshold: Threshold,
}

impl Memory {
    pub(crate) fn new(bytes_max: u64, cell_bytes: u32, threshold: Threshold, warmup: u64) -> Self {
        Self {
            bytes_max,
            cell_bytes: cell_bytes.max(1),
            used: 0,
            peak: 0,
            area: 0,
            warmup,
            threshold,
        }
    }

    /// Memory that a frame takes.
    #[inline]
    pub(crate) const fn cells_of(&self, len: u32) -> u32 {
        if self.cell_bytes == 1 {
            len
        } else {
            len.div_ceil(self.cell_bytes).saturating_mul(self.cell_bytes)
        }
    }

    pub(crate) const fn cell_bytes(&self) -> u32 {
        self.cell_bytes
    }

    #[inline]
    pub(crate) const fn fits(&self, bytes: u32) -> bool {
        self.used + bytes as u64 <= self.bytes_max
    }

    #[inline]
    pub(crate) fn charge(&mut self, now: u64, bytes: u32) {
        self.used += u64::from(bytes);
        self.area -= i128::from(bytes) * i128::from(now.max(self.warmup));
    }

    #[inline]
    pub(crate) fn free(&mut self, at: u64, bytes: u32) {
        self.used = self.used.saturating_sub(u64::from(bytes));
        self.area += i128::from(bytes) * i128::from(at.max(self.warmup));
    }

    /// True where a queue that holds `held` bytes may take `bytes` more, by its threshold. The memory of the frame
    /// itself is charged already.
    pub(crate) fn within_threshold(&self, held: u64, bytes: u32) -> bool {
        let wanted = held + u64::from(bytes);
        match self.threshold {
            Threshold::Shared => true,
            Threshold::Static(limit) => wanted <= limit,
            Threshold::Dynamic {
                numerator,
                denominator,
            } => {
                let free = self
                    .bytes_max
                    .saturating_sub(self.used - u64::from(bytes).min(self.used));
                u128::from(wanted) * u128::from(denominator.max(1))
                    <= u128::from(free) * u128::from(numerator)
            }
        }
    }

    /// Mean bytes used from the warm-up to `end`, times the picoseconds between: byte-picoseconds.
    pub(crate) fn area_until(&self, end: u64) -> u128 {
        let open = i128::from(self.used) * i128::from(end.max(self.warmup));
        u128::try_from(self.area + open).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_round_up() {
        let memory = Memory::new(10_000, 208, Threshold::Shared, 0);
        assert_eq!(
            (memory.cells_of(1), memory.cells_of(208), memory.cells_of(209)),
            (208, 208, 416)
        );
    }

    #[test]
    fn the_area_is_bytes_times_time_held() {
        let mut memory = Memory::new(10_000, 1, Threshold::Shared, 0);
        memory.charge(100, 10);
        memory.charge(150, 4);
        memory.free(200, 10);
        assert_eq!(memory.area_until(300), 10 * 100 + 4 * 150);
    }

    #[test]
    fn a_dynamic_threshold_follows_the_free_memory() {
        let mut memory = Memory::new(
            1_000,
            1,
            Threshold::Dynamic {
                numerator: 1,
                denominator: 2,
            },
            0,
        );
        memory.charge(0, 100);
        // Free before this frame: 1,000; half of it is the limit.
        assert!(memory.within_threshold(400, 100));
        assert!(!memory.within_threshold(401, 100));
        memory.charge(0, 400);
        assert!(!memory.within_threshold(400, 100));
    }
}
