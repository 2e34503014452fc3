//! Policy and scenario files: text in, validated types out.
pub mod plan;
pub mod scenario;
pub use plan::CompiledPolicy;
