//! The deterministic packet-level simulator.
//!
//! * [`engine`]: event queue, seeds, slab;

pub mod engine;
pub mod transport;
