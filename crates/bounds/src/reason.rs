//! Why there is no bound.

use std::fmt;

/// There is no bound; where and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbounded {
    /// Index of the line in [`crate::Network::lines`]; 0 where a single port was asked.
    pub line: usize,
    /// Leaf of the plan there.
    pub leaf: u32,
    /// The reason.
    pub why: Why,
}

/// The reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Arrivals of the leaf itself have no bound.
    Arrivals,
    /// Another node goes first and what it may send has no bound: its index in the plan.
    Before(u32),
    /// More comes than is served, bit/s at L1.
    Overload {
        /// Arrivals in the long run.
        arrival_bps: u64,
        /// Service that is certain in the long run.
        service_bps: u64,
    },
    /// Flows delay each other in a circle, and their bounds rise without end.
    Cycle,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrivals => write!(f, "its arrivals have no bound"),
            Self::Before(node) => {
                write!(
                    f,
                    "node {node} of the plan goes first and its arrivals have no bound"
                )
            }
            Self::Overload {
                arrival_bps,
                service_bps,
            } => write!(
                f,
                "{arrival_bps} bit/s may come in the long run and only {service_bps} bit/s are certain to be sent"
            ),
            Self::Cycle => write!(f, "flows delay each other in a circle without end"),
        }
    }
}
