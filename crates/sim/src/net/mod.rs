//! The models: hosts, switches, the lines between them, and what they share.
//!
//! A model changes its own state and the [`context`](self) it is handed, never another node. Nodes and events are
//! closed enums, frames live in a slab, and an event is a small `Copy` value that says what became due.
//!
//! * `line`: one direction of a cable; `transmitter`: one egress with its control slot and wire;
//! * `selection`: what chooses the egress's next frame: a traffic manager or a FIFO;
//! * `memory`, `flow_control`, `switch`: the shared-memory switch;
//! * `bus`, `host`, `sending`, `stack`, `application`: the end station;
//! * `messages`: what carries whole messages between hosts, and who writes them;
//! * `flow`, `routing`: flows and their paths;
//! * `script`, `schedule`: what is changed while a run goes on;
//! * `estimate`: what a run will take;
//! * `build`, `sources`, `simulation`: a scenario made into nodes, and the loop that runs it.

pub(crate) mod application;
mod build;
mod bus;
pub(crate) mod context;
mod estimate;
mod event;
pub(crate) mod event_builder;
mod fifo;
pub(crate) mod flow;
mod flow_control;
pub(crate) mod frame;
mod gates;
mod host;
mod ledger;
pub(crate) mod line;
mod memory;
pub(crate) mod messages;
mod port;
mod refusal;
mod routing;
mod schedule;
mod script;
pub(crate) mod selection;
mod sending;
pub(crate) mod simulation;
mod sources;
pub(crate) mod stack;
pub(crate) mod storage;
mod switch;
#[cfg(test)]
mod tests;
pub(crate) mod transmitter;

pub use application::Calls;
pub use estimate::{Estimate, estimate};
pub use flow::{FlowCounters, group_ip, group_mac, host_ip, host_mac};
pub use refusal::Refusal;
pub use script::{Action, Scripted};
pub use simulation::{Progress, RunOptions, run, run_scripted, run_with};
pub use stack::usage::Usage;

use host::Host;
use switch::Switch;

/// A node of the network.
#[derive(Debug)]
pub(crate) enum Node {
    /// An end station.
    Host(Box<Host>),
    /// A shared-memory switch.
    Switch(Box<Switch>),
}
