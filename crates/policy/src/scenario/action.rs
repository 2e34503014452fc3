//! What is changed while a scenario runs.
//!
//! An action of the file may concern several policies (one text compiled for several line rates) or several links (a
//! group): it is one [`Scheduled`] with a change for each. Names are resolved, percentages are rates and weights.

use clearway_core::Duration;
use clearway_core::plan::BitShape;

/// One action of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// Name, as in the file.
    pub name: String,
    /// When.
    pub at: Duration,
    /// What, in order.
    pub actions: Vec<Action>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Other weights for classes of a policy, on every egress that uses it or on the hosts named.
    Weights {
        /// Policy, by index.
        policy: usize,
        /// Slots of classes in the plan, and their new weights.
        weights: Vec<(usize, u32)>,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// Another rate for a class's shaper, on every egress that uses the policy or on the hosts named.
    Rate {
        /// Policy, by index.
        policy: usize,
        /// Slot of the class in the plan.
        node: usize,
        /// The new limit; none: none.
        rate: Option<BitShape>,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// Flows of a workload move between two queues, one after another: up, down, up, ... Each time it is the flow that
    /// has been longest in the queue that it leaves. A flow moves on every egress of its path that uses the policy.
    MoveFlows {
        /// Policy, by index.
        policy: usize,
        /// Workload, by index.
        workload: usize,
        /// Slots of the two queues: "up" is from the first to the second.
        between: [usize; 2],
        /// Moves a second, both directions together.
        per_second: u32,
        /// No move after this instant; none: to the end of the run.
        stop: Option<Duration>,
        /// Hosts whose NIC changes; empty: everything that uses the policy.
        hosts: Vec<usize>,
    },
    /// A link goes down: what is on it or sent to it is lost.
    LinkDown {
        /// Link, by index.
        link: usize,
        /// Time until nothing is routed over it any more.
        detection: Duration,
    },
    /// It comes back.
    LinkUp {
        /// Link, by index.
        link: usize,
        /// Time until flows are routed over it again.
        detection: Duration,
    },
}
