//! The pump: moves frames from a port's receive side through the traffic manager to its transmit side.
//!
//! It holds the bytes, asks the manager who goes next and never decides that itself. Clock and port are the
//! caller's: the real ones of a live data plane, or a [`memory::MemoryPort`] and instants of a test's choosing. The order
//! of what happens at one instant is the simulator's: control, arrivals, transmitter free.
//!
//! Left out here: AF_XDP, TAP and shared-memory ports, threads, the real clock.

pub mod memory;
pub mod port;
pub mod pump;

pub use memory::MemoryPort;
pub use port::{Port, Received};
pub use pump::{Pump, PumpCounters, Wake};
