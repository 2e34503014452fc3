//! Why a scenario is not run: what it is about, what is wrong, and what helps.

use crate::workload::SourceError;
use clearway_core::PlanError;
use std::fmt;

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is about: `link uplink`, `workload bulk`.
    pub item: String,
    /// The field at fault.
    pub field: &'static str,
    /// What is wrong and what helps.
    pub problem: String,
}

impl Refusal {
    pub(crate) fn new(item: impl Into<String>, field: &'static str, problem: impl Into<String>) -> Self {
        Self {
            item: item.into(),
            field,
            problem: problem.into(),
        }
    }

    /// A policy whose plan the traffic manager does not take.
    pub(crate) fn plan(policy: &str, error: &PlanError) -> Self {
        Self::new(format!("policy {policy}"), "plan", error.to_string())
    }
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Self {
        Self::new(format!("workload {}", error.workload), error.field, error.problem)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.item, self.field, self.problem)
    }
}
impl std::error::Error for Refusal {}
