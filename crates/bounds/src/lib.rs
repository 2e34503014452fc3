//! Worst-case delay and backlog of a plan whose arrivals are bounded by token buckets, by network calculus.
//!
//! * [`Arrival`]: concave arrival curves, the least of several token buckets;
//! * [`Service`]: convex service curves, the greatest of several rate-latency lines, and the least of such;
//! * [`deviation`]: horizontal and vertical deviation, deconvolution, convolution;
//! * [`Port`]: one transmitter with the plan of a traffic manager: waiting time and backlog of every leaf;
//! * [`Network`]: several hops, output curves carried from one to the next until nothing changes.
//!
//! Everything is integer: time in picoseconds, rates in bit/s, data in picobits (10^-12 bit, so that a rate times a
//! time is exact). What cannot be exact is rounded to the safe side: arrivals and delays up, service down. What has no
//! bound is [`Unbounded`], with the place and the reason, never a number. `docs/bounds.md` states the model, the
//! formulas and what is left out.
//!
//! Sources: J.-Y. Le Boudec and P. Thiran, Network Calculus (Springer, 2001), chapters 1, 2 and 6; M. Boyer, G. Stea,
//! W. Mangoua Sofack, Deficit Round Robin with network calculus (VALUETOOLS 2012); L. Thomas, J.-Y. Le Boudec,
//! A. Mifdaoui, On cyclic dependencies and regulators in time-sensitive networks (RTSS 2019).

pub mod arrival;
pub mod deviation;
pub mod network;
pub mod port;
mod reason;
pub mod service;
mod shaper;
mod tree;

pub use arrival::{Arrival, Bucket};
pub use network::{Flow, FlowBound, Hop, Line, Network, NetworkBounds};
pub use port::{LeafBound, Port, PortBounds, Stream};
pub use reason::{Unbounded, Why};
pub use service::{Ramp, Ramps, Service};

/// Picobits of a byte: 8 bits of 10^12.
pub const BYTE: i128 = 8_000_000_000_000;
/// What a frame takes on the wire beyond its own length, bytes: preamble, start delimiter and gap (IEEE 802.3).
pub const WIRE_OVERHEAD_BYTES: u32 = 20;
/// Preamble and start delimiter, bytes: the last bit of a frame is out this long and its own length after the first.
pub const PREAMBLE_BYTES: u32 = 8;
/// Data beyond this is as good as unbounded: 151 GB, in picobits.
pub const DATA_MAX: i128 = 1 << 80;

/// Picobits that a frame of `len` bytes (with FCS) takes on the wire, gap included.
#[must_use]
pub const fn wire(len: u32) -> i128 {
    (len as i128 + WIRE_OVERHEAD_BYTES as i128) * BYTE
}

/// `a / b` rounded up, for `b > 0`.
const fn div_up(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + (a.rem_euclid(b) > 0) as i128
}

/// Picoseconds as an unsigned number, saturating at both ends.
fn ps(time: i128) -> u64 {
    u64::try_from(time.max(0)).unwrap_or(u64::MAX)
}
