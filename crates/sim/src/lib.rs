//! The deterministic packet-level simulator.
//!
//! * [`engine`]: event queue, seeds, slab;
//! * [`workload`]: open-loop sources;
//! * [`theory`]: closed-form results that the models are tested against.

pub mod engine;
pub mod theory;
pub mod transport;
pub mod workload;
