//! A policy compiled to a plan, with the names that its nodes had in the text.

use clearway_core::Plan;
use clearway_core::cbq::CbqPlan;

/// A policy ready for a traffic manager.
#[derive(Clone, Debug, PartialEq)]
pub struct CompiledPolicy {
    /// Name of the policy.
    pub name: String,
    /// The plan.
    pub plan: Plan,
    /// Name of each node of the plan, as a path such as `root/bulk/video`.
    pub node_names: Vec<String>,
    /// The line rate that percentages and times were taken of, bit/s; none where the plan is the same at any rate.
    pub line_rate_bps: Option<u64>,
    /// Class-based queueing with the same classes, where the policy asks for it; the plan is then what an ideal port
    /// with the same rules would do, and carries nothing out.
    pub cbq: Option<Box<CbqPlan>>,
}
