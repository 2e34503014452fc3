//! The deterministic packet-level simulator.
//!
//! * [`engine`]: event queue, seeds, slab;
//! * [`workload`]: open-loop sources;
//! * [`transport`]: TCP as state machines without I/O;
//! * [`net`]: hosts, switches and lines; [`run`] makes a scenario into an [`results::Outcome`];
//! * [`results`]: what is counted, as tidy rows;
//! * [`theory`]: closed-form results that the models are tested against.

pub mod engine;
pub mod net;
pub mod results;
pub mod theory;
pub mod transport;
pub mod workload;

pub use net::{
    Action, Estimate, Progress, Refusal, RunOptions, Scripted, estimate, run, run_scripted, run_with,
};
pub use results::{Observer, Outcome, Unobserved};
