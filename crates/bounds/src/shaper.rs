//! A node's shapers: what they let through at most, and what service is left of the node's own below them.
//!
//! A bucket of `B` bytes at rate `r` is eligible while it holds `M`, the cost of the longest frame; so over any span it
//! lets `B + r t` through. Below it, let the node get at least `R (t - T)` while it is ready, and `G = B - M`. Going back
//! in time from any instant, spans in which the node was ready alternate with spans that begin with a full bucket and end
//! with one that waits: the latter let `G + r x` through. With `r' = min(r, R)` a ready span loses at most `r' T`, so:
//!
//! * where `G >= r' T` a span that ends waiting makes good what the ready span before it lost, and since the beginning
//!   of a backlogged period arrivals find the least of `R (t - T)` and `G + r' (t - 2 T)`;
//! * otherwise each pair of spans, however short, passes `s / (x + T)`, the least that it can: `s = max(G, c)` and
//!   `x = max(0, c - G) / r` for the cheapest frame `c`; that rate takes the place of `r'` with latency `T`;
//! * from an arbitrary instant, when the bucket may be empty, `M` more is lost: `r' (t - T) - M`.
//!
//! Derived here; for `T = 0` it is the greedy shaper of Le Boudec and Thiran, section 1.5. Costs become bits on the wire
//! by the least and the greatest ratio of the two over the lengths of the frames that may come. Eligible instants are
//! rounded up to a picosecond, which `T` covers.

use crate::{Arrival, BYTE, Bucket, Ramp, Ramps, Service, WIRE_OVERHEAD_BYTES, div_up, wire};
use clearway_core::plan::{Accounting, BitShape, FlowShape, FrameShape, NodePlan};

/// Shortest and longest frame, bytes with FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// A ratio of bits on the wire to bits counted.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    wire: i128,
    cost: i128,
}

impl Ratio {
    const fn below(self, other: Self) -> bool {
        self.wire * other.cost < other.wire * self.cost
    }
    const fn down(self, data: i128) -> i128 {
        (data * self.wire).div_euclid(self.cost)
    }
    const fn up(self, data: i128) -> i128 {
        div_up(data * self.wire, self.cost)
    }
}

/// Least and greatest ratio over the lengths: at the ends, or where the least cost of a frame ends.
fn ratios(accounting: Accounting, lengths: Lengths) -> [Ratio; 2] {
    let kink = i64::from(accounting.min_bytes) - i64::from(accounting.overhead_bytes);
    let kink = u32::try_from(kink.max(0)).unwrap_or(u32::MAX);
    let at = |len: u32| Ratio {
        wire: i128::from(len) + i128::from(WIRE_OVERHEAD_BYTES),
        cost: i128::from(accounting.cost(len)),
    };
    let mut ends = [at(lengths.min); 2];
    for len in [kink.clamp(lengths.min, lengths.max), lengths.max].map(at) {
        if len.below(ends[0]) {
            ends[0] = len;
        }
        if ends[1].below(len) {
            ends[1] = len;
        }
    }
    ends
}

/// The greatest ratio of wire to cost as a pair of whole numbers.
pub(crate) fn wire_per_cost(accounting: Accounting, lengths: Lengths) -> (i128, i128) {
    let [_, most] = ratios(accounting, lengths);
    (most.wire, most.cost)
}

/// The greatest ratio of cost to wire as a pair of whole numbers.
pub(crate) fn cost_per_wire(accounting: Accounting, lengths: Lengths) -> (i128, i128) {
    let [least, _] = ratios(accounting, lengths);
    (least.cost, least.wire)
}

/// One token bucket in bits on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shaper {
    /// At most this in any span.
    pub(crate) cap: Bucket,
    /// Bit/s that are certain where the node always has something to send.
    rate: u64,
    /// `G`: what a full bucket holds beyond the longest frame, picobits.
    room: i128,
    /// What an empty bucket lacks, picobits.
    lack: i128,
    /// Wait of the least span that empties a bucket, ps, and what it lets through, picobits.
    least: (i128, i128),
}

impl Shaper {
    /// A bucket in bits. `longest` is the longest frame that the plan allows.
    pub(crate) fn bits(shape: BitShape, accounting: Accounting, lengths: Lengths, longest: u32) -> Self {
        let [least, most] = ratios(accounting, lengths);
        let rate = i128::from(shape.rate_bps);
        let lack = i128::from(accounting.cost(longest)) * BYTE;
        let burst = i128::from(shape.burst_bytes) * BYTE;
        let room = (burst - lack).max(0);
        let cheapest = i128::from(accounting.cost(lengths.min)) * BYTE;
        Self {
            cap: Bucket {
                burst: most.up(burst),
                rate: u64::try_from(most.up(rate)).unwrap_or(u64::MAX),
            },
            rate: u64::try_from(least.down(rate)).unwrap_or(u64::MAX),
            room: least.down(room),
            lack: least.up(lack),
            least: (
                div_up((cheapest - room).max(0), rate.max(1)),
                least.down(room.max(cheapest)),
            ),
        }
    }

    /// A bucket in frames.
    pub(crate) fn frames(shape: FrameShape, lengths: Lengths) -> Self {
        let (least, most) = (wire(lengths.min), wire(lengths.max));
        let rate = |frame: i128| {
            let bits = i128::from(shape.rate_fps) * frame;
            (bits.div_euclid(crate::BYTE / 8), div_up(bits, crate::BYTE / 8))
        };
        let burst = i128::from(shape.burst_frames);
        let room = (burst - 1).max(0);
        let second = crate::BYTE / 8;
        Self {
            cap: Bucket {
                burst: burst * most,
                rate: u64::try_from(rate(most).1).unwrap_or(u64::MAX),
            },
            rate: u64::try_from(rate(least).0).unwrap_or(u64::MAX),
            room: room * least,
            lack: least,
            least: (
                div_up((1 - room).max(0) * second, i128::from(shape.rate_fps.max(1))),
                room.max(1) * least,
            ),
        }
    }

    /// The limit of each flow of a per-flow queue.
    pub(crate) fn flow(shape: FlowShape, accounting: Accounting, lengths: Lengths, longest: u32) -> Self {
        match shape {
            FlowShape::Bits(shape) => Self::bits(shape, accounting, lengths, longest),
            FlowShape::Frames(shape) => Self::frames(shape, lengths),
        }
    }

    /// The shapers of a node.
    pub(crate) fn of_node(node: &NodePlan, lengths: Lengths, longest: u32) -> Vec<Self> {
        let bits = node
            .rate
            .map(|shape| Self::bits(shape, node.accounting, lengths, longest));
        let frames = node.frame_rate.map(|shape| Self::frames(shape, lengths));
        bits.into_iter().chain(frames).collect()
    }
}

/// Everything that these shapers let through at most.
pub(crate) fn cap(shapers: &[Shaper]) -> Arrival {
    Arrival::least(shapers.iter().map(|s| s.cap))
}

/// The rate that is certain behind a ready span of this ramp, whether a waiting span makes good for a ready one, and
/// the latency.
fn certain(shapers: &[Shaper], ramp: &Ramp) -> (u64, bool, i128) {
    let latency = ramp.latency() + 1;
    let rate = shapers.iter().map(|s| s.rate).fold(ramp.rate, u64::min);
    let room = shapers.iter().map(|s| s.room).min().unwrap_or(0);
    if room >= i128::from(rate) * latency {
        return (rate, true, latency);
    }
    let slow = shapers.iter().map(|s| {
        let (wait, passed) = s.least;
        passed.div_euclid((wait + latency).max(1))
    });
    let rate = slow.fold(i128::from(rate), i128::min);
    (u64::try_from(rate.max(0)).unwrap_or(u64::MAX), false, latency)
}

/// Service of a shaped node over any span in which it has frames.
pub(crate) fn at_any_time(shapers: &[Shaper], ready: &Ramps) -> Ramps {
    if shapers.is_empty() {
        return ready.clone();
    }
    let lack = shapers.iter().map(|s| s.lack).max().unwrap_or(0);
    Ramps::greatest(ready.ramps().iter().map(|ramp| {
        let (rate, _, latency) = certain(shapers, ramp);
        Ramp {
            rate,
            lag: i128::from(rate) * latency + lack,
        }
    }))
}

/// Service that arrivals of a shaped queue find: each answer holds by itself.
pub(crate) fn for_arrivals(shapers: &[Shaper], ready: &Ramps) -> Vec<Service> {
    if shapers.is_empty() {
        return vec![Service::of(ready.clone())];
    }
    let room = shapers.iter().map(|s| s.room).min().unwrap_or(0);
    let one = |ramp: &Ramp| {
        let (rate, good, latency) = certain(shapers, ramp);
        if rate == 0 {
            return None;
        }
        let lag = i128::from(rate) * latency;
        if !good {
            return Some(Service::of(Ramps::of(Ramp { rate, lag })));
        }
        let after = Ramps::of(Ramp {
            rate,
            lag: 2 * lag - room,
        });
        Some(Service {
            parts: vec![ready.clone(), after],
        })
    };
    ready.ramps().iter().filter_map(one).collect()
}
