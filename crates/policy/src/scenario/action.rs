//! What is changed while a scenario runs.

use clearway_core::Duration;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// Name, as in the file.
    pub name: String,
    /// When.
    pub at: Duration,
    /// What.
    pub action: Action,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Another weight for a class of a policy, on every egress that uses it or on the hosts named.
    Weight {
        /// Policy, by index.
        policy: usize,
        /// Slot of the class in the plan.
        node: usize,
        /// The new weight.
        weight: u32,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// Another rate for the class's shaper; none: none.
    Rate {
        /// Policy, by index.
        policy: usize,
        /// Slot of the class in the plan.
        node: usize,
        /// The new rate, bit/s.
        rate_bps: Option<u64>,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// Flows of a workload move between two classes with per-flow queues, one after another: up, down, up, ...
    MoveFlows {
        /// Policy, by index.
        policy: usize,
        /// Slots of the two classes.
        between: [usize; 2],
        /// Moves a second; 0: one move.
        per_second: u32,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// A link goes down: what is on it or sent to it is lost.
    LinkDown {
        /// Link, by index.
        link: usize,
        /// Time until its ends stop using it.
        detection: Duration,
    },
    /// It comes back.
    LinkUp {
        /// Link, by index.
        link: usize,
        /// Time until its ends use it again.
        detection: Duration,
    },
}
