//! Policy and scenario files: text in, validated types out.
mod build;
pub mod compile;
pub mod diagnostic;
mod document;
pub mod load;
mod names;
pub mod pcap;
pub mod plan;
pub mod policy;
pub mod quantity;
mod reader;
mod rules;
pub mod scenario;
mod schema;
mod syntax;

pub use compile::compile;
pub use diagnostic::{Diagnostic, Severity};
pub use load::{Loaded, is_scenario, load, load_str};
pub use plan::CompiledPolicy;
pub use policy::{Policy, load_policy, load_policy_str};
pub use schema::{policy_schema, scenario_schema};
