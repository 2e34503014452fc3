//! Remote direct memory access: the framing of iWARP over TCP, and RoCEv2 with its rate control.
//!
//! RoCEv2 is a pair of state machines without I/O, as TCP's are: [`Requester`] and [`Responder`] are the two ends of a
//! reliable connection that writes one way. Time is an argument, bytes have no content, and the caller carries
//! [`Packet`]s. Sources: InfiniBand Architecture Specification 1.4 chapter 9 (transport) and annex A17 (RoCEv2); Zhu et
//! al., "Congestion control for large-scale RDMA deployments" (SIGCOMM 2015) for DCQCN. Left out: reads, atomics,
//! receive queues (every message is a write), retry limits, packet sequence numbers that wrap (64 bits here).

pub mod dcqcn;
pub mod iwarp;
pub mod packet;
pub mod requester;
pub mod responder;
#[cfg(test)]
mod tests;

pub use packet::{Packet, PacketKind};
pub use requester::{Requester, RequesterStats};
pub use responder::Responder;
