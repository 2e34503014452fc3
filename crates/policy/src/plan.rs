//! A policy compiled to a plan, with the names that its nodes had in the text.

use clearway_core::Plan;

/// A policy ready for a traffic manager.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledPolicy {
    /// Name of the policy.
    pub name: String,
    /// The plan.
    pub plan: Plan,
    /// Name of each node of the plan, as a path such as `root/bulk/video`.
    pub node_names: Vec<String>,
    /// True where `plan` was made for any line rate; limits given in percent wait for the port's rate.
    pub line_rate_bps: Option<u64>,
}
