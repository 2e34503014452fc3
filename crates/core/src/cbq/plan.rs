//! What a class-based queueing discipline is made of, and what follows from its parameters.
//!
//! `maxidle` and `offtime` are worked out from bursts as in Floyd's "Notes on CBQ: setting parameters" (1996): with
//! g = 1 - 2^-w and v the time by which a packet at the class's rate takes longer than at the link's,
//! maxidle = v (g^-maxburst - 1) and offtime = v (1 + (g^-(minburst-1) - 1) / (1 - g)). They are kept in fixed point
//! with 32 bits of fraction. Left out: `allot` below a packet, policing at the estimator, and split nodes.

use crate::classifier;
use crate::plan::{Accounting, GATES, PlanError, PlanItem, Rule};
use crate::shaper::{COST_MAX, RATE_MAX};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

/// Most classes of one discipline.
pub const CLASSES_MAX: usize = 1 << 16;
/// Priorities, 0 first.
pub const PRIORITIES: u8 = 8;
/// Levels of the borrowing hierarchy.
pub const LEVELS_MAX: u8 = 8;
/// The largest weight of the estimator, as a power of two.
pub const EWMA_MAX: u8 = 31;
/// The largest `maxburst` and `minburst`, packets.
pub const BURST_MAX: u32 = 10_000;
/// Cells of a rate table: the smallest power of two for which the longest frame is below this many.
const CELLS: u32 = 256;

/// A discipline with its classes and rules. Class 0 is the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbqPlan {
    /// Classes; a parent stands before its children.
    pub classes: Vec<CbqClass>,
    /// Classifier rules, first match wins; `queue` is the index of a leaf.
    pub rules: Vec<Rule>,
    /// Most frames held at once.
    pub frames_max: u32,
    /// The longest frame, in the bytes that `enqueue` is given.
    pub frame_bytes_max: u32,
    /// Time between two ticks of the clock that wakes a waiting discipline: 10 ms at HZ = 100.
    pub tick: Duration,
    /// The unit of the packet clock and of the rate tables; a picosecond leaves both exact.
    pub resolution: Duration,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CbqClass {
    /// Index of the parent; none for the link alone.
    pub parent: Option<u32>,
    /// Rate of the class (of the link for class 0), bit/s.
    pub rate_bps: u64,
    /// Served before classes of a higher number, below [`PRIORITIES`].
    pub priority: u8,
    /// Share of the rounds among the classes of its priority, at least 1.
    pub weight: u64,
    /// Bytes of a round at the mean weight.
    pub allot_bytes: u32,
    /// How the class counts the bytes of a frame.
    pub accounting: Accounting,
    /// Bytes of the packet that bursts are counted in.
    pub packet_bytes: u32,
    /// The estimator forgets 2^-ewma of what it knows with each packet.
    pub ewma: u8,
    /// Packets that may leave back to back after a long idle time, above the first.
    pub maxburst: u32,
    /// Packets in a row that the delay of an overlimit class makes room for; 0: it waits no longer than it must.
    pub minburst: u32,
    /// How far the estimator may fall below zero; none: without bound.
    pub minidle: Option<Duration>,
    /// Never borrows from its parent.
    pub bounded: bool,
    /// What it sends is not counted by its parent's estimator, so that its use of the link leaves what the parent
    /// lends as it is.
    pub isolated: bool,
    /// The queue, where it is a leaf.
    pub leaf: Option<CbqLeaf>,
}

/// The queue of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbqLeaf {
    /// Most bytes waiting, as given to `enqueue`.
    pub bytes_max: u64,
    /// Most frames waiting.
    pub frames_max: u32,
    /// The gate that shuts it.
    pub gate: u8,
    /// A token bucket behind the queue.
    pub bucket: Option<TokenBucket>,
}

/// The parameters of a token bucket filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bit/s.
    pub rate_bps: u64,
    /// Bytes it holds; at least the longest frame as the class counts it.
    pub burst_bytes: u64,
}

const fn refuse(at: Option<PlanItem>, field: &'static str, expected: &'static str) -> Result<(), PlanError> {
    Err(PlanError { at, field, expected })
}

impl CbqPlan {
    /// Checks the whole plan.
    ///
    /// # Errors
    /// The first class, rule or limit that the discipline could not carry out.
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.classes.is_empty() || self.classes.len() > CLASSES_MAX {
            return refuse(None, "classes", "1 to 65,536 classes");
        }
        if self.frames_max == 0 || self.frames_max > 1 << 30 {
            return refuse(None, "frames_max", "1 to 2^30 frames");
        }
        if self.frame_bytes_max == 0 || self.frame_bytes_max > COST_MAX {
            return refuse(None, "frame_bytes_max", "1 to 2^20 bytes");
        }
        let span = Duration::from_ms(1_000).as_ps();
        if self.tick == Duration::ZERO || self.tick.as_ps() > span {
            return refuse(None, "tick", "a span up to a second, above zero");
        }
        if self.resolution == Duration::ZERO || self.resolution > self.tick {
            return refuse(None, "resolution", "a span up to a tick, above zero");
        }
        for (index, class) in self.classes.iter().enumerate() {
            self.check(index, class)?;
        }
        classifier::validate_conditions(&self.rules)?;
        for (index, rule) in self.rules.iter().enumerate() {
            let leaf = self
                .classes
                .get(rule.queue as usize)
                .is_some_and(|c| c.leaf.is_some());
            if !leaf {
                return refuse(Some(PlanItem::Rule(index as u32)), "queue", "the index of a leaf");
            }
        }
        Ok(())
    }

    fn check(&self, index: usize, class: &CbqClass) -> Result<(), PlanError> {
        let at = Some(PlanItem::Node(index as u32));
        match class.parent {
            None if index > 0 => return refuse(at, "parent", "a parent: only class 0 is the link"),
            Some(parent) => {
                let above = self.classes.get(..index).and_then(|c| c.get(parent as usize));
                let Some(above) = above else {
                    return refuse(at, "parent", "a class that stands before its children");
                };
                if above.leaf.is_some() {
                    return refuse(at, "parent", "a class without a queue");
                }
                if self.depth(index) > usize::from(LEVELS_MAX) {
                    return refuse(at, "parent", "a tree of at most 8 levels");
                }
            }
            None => {}
        }
        if class.rate_bps == 0 || class.rate_bps > RATE_MAX {
            return refuse(at, "rate", "a rate of 1 bit/s to 2^43 bit/s");
        }
        if class.priority >= PRIORITIES {
            return refuse(at, "priority", "0 to 7");
        }
        if class.weight == 0 || class.weight > RATE_MAX {
            return refuse(at, "weight", "1 to 2^43");
        }
        if class.allot_bytes == 0 || class.allot_bytes > COST_MAX {
            return refuse(at, "allot", "1 to 2^20 bytes");
        }
        if class.packet_bytes == 0 || class.packet_bytes > COST_MAX {
            return refuse(at, "packet", "1 to 2^20 bytes");
        }
        if class.ewma == 0 || class.ewma > EWMA_MAX {
            return refuse(at, "ewma", "1 to 31");
        }
        if class.maxburst > BURST_MAX || class.minburst > BURST_MAX {
            return refuse(at, "maxburst", "at most 10,000 packets, `minburst` too");
        }
        let longest = i64::from(self.frame_bytes_max) + i64::from(class.accounting.overhead_bytes);
        if longest > i64::from(COST_MAX) || class.accounting.min_bytes > COST_MAX {
            return refuse(
                at,
                "accounting",
                "a longest frame that counts for at most 2^20 bytes",
            );
        }
        let Some(leaf) = &class.leaf else { return Ok(()) };
        if leaf.frames_max == 0 || leaf.bytes_max == 0 {
            return refuse(at, "limit", "room for at least one frame and one byte");
        }
        if leaf.gate >= GATES {
            return refuse(at, "gate", "0 to 63");
        }
        let Some(bucket) = leaf.bucket else { return Ok(()) };
        if bucket.rate_bps == 0 || bucket.rate_bps > RATE_MAX {
            return refuse(at, "bucket rate", "a rate of 1 bit/s to 2^43 bit/s");
        }
        if bucket.burst_bytes < u64::from(class.accounting.cost(self.frame_bytes_max)) {
            return refuse(
                at,
                "bucket burst",
                "a burst of at least the longest frame as the class counts it",
            );
        }
        let fill = u128::from(bucket.burst_bytes) * 8_000_000_000_000 / u128::from(bucket.rate_bps);
        if fill > 1 << 60 {
            return refuse(
                at,
                "bucket burst",
                "a burst that fills in less than 2^60 ps (13 days)",
            );
        }
        Ok(())
    }

    fn depth(&self, mut index: usize) -> usize {
        let mut depth = 1;
        while let Some(parent) = self.classes.get(index).and_then(|c| c.parent) {
            depth += 1;
            index = parent as usize;
        }
        depth
    }

    /// The bytes of a cell of the rate tables, as a power of two.
    pub(super) const fn cell(&self) -> u32 {
        if self.resolution.as_ps() == 1 {
            return 0;
        }
        let mut cell = 0;
        while self.frame_bytes_max >> cell >= CELLS {
            cell += 1;
        }
        cell
    }
}

/// The time that a frame takes at a rate, as a rate table says: whole cells, whole units of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateTable {
    rate_bps: u64,
    cell: u32,
    resolution_ps: u64,
}

impl RateTable {
    pub(super) const fn new(rate_bps: u64, plan: &CbqPlan) -> Self {
        Self {
            rate_bps,
            cell: plan.cell(),
            resolution_ps: plan.resolution.as_ps(),
        }
    }

    /// Picoseconds that `bytes` (at most [`COST_MAX`]) take.
    pub(super) const fn time(&self, bytes: u32) -> u64 {
        let cells = (bytes >> self.cell) << self.cell;
        let ps = cells as u64 * 8_000_000_000_000 / self.rate_bps;
        ps - ps % self.resolution_ps
    }

    /// The same for any number of bytes, exact to the unit of the clock.
    pub(super) const fn span(&self, bytes: u64) -> u64 {
        let ps = bytes as u128 * 8_000_000_000_000 / self.rate_bps as u128;
        let ps = ps - ps % self.resolution_ps as u128;
        if ps > Instant::LIMIT.as_ps() as u128 {
            Instant::LIMIT.as_ps()
        } else {
            ps as u64
        }
    }
}

/// One in fixed point.
const ONE: u128 = 1 << 32;
/// What a power of 1/g is at most, in fixed point: it saturates here, beyond any idle time.
const POWER_MAX: u128 = 1 << 80;
/// Spans derived from bursts are at most this long.
const SPAN_MAX: u128 = 1 << 60;

/// (1 / (1 - 2^-ewma))^power in fixed point.
const fn growth(ewma: u8, power: u32) -> u128 {
    let (mut value, mut n) = (ONE, 0);
    let whole = 1_u128 << ewma;
    while n < power && value < POWER_MAX {
        value = value * whole / (whole - 1);
        n += 1;
    }
    value
}

/// How much longer the class's packet takes than the link's.
const fn surplus(class: &CbqClass, link_bps: u64) -> u128 {
    let own = class.packet_bytes as u128 * 8_000_000_000_000 / class.rate_bps as u128;
    let link = class.packet_bytes as u128 * 8_000_000_000_000 / link_bps as u128;
    own.saturating_sub(link)
}

const fn least(a: u128, b: u128) -> u128 {
    if a < b { a } else { b }
}

impl CbqClass {
    /// The most that the estimator remembers of an idle time, picoseconds: what `maxburst` packets at the link's
    /// rate use up, and at least what a packet leaves behind.
    #[must_use]
    pub const fn maxidle_ps(&self, link_bps: u64) -> u64 {
        let packet = self.packet_bytes as u128 * 8_000_000_000_000 / link_bps as u128;
        let floor = packet >> self.ewma;
        let burst = surplus(self, link_bps).saturating_mul(growth(self.ewma, self.maxburst) - ONE) >> 32;
        least(if burst > floor { burst } else { floor }, SPAN_MAX) as u64
    }

    /// How much longer than it must an overlimit class waits, picoseconds.
    #[must_use]
    pub const fn offtime_ps(&self, link_bps: u64) -> u64 {
        if self.minburst == 0 {
            return 0;
        }
        let more = (growth(self.ewma, self.minburst - 1) - ONE) << self.ewma;
        least(surplus(self, link_bps).saturating_mul(ONE + more) >> 32, SPAN_MAX) as u64
    }
}
