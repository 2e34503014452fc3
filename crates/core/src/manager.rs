//! Placeholder.
/// Placeholder.
#[derive(Debug)]
pub struct TrafficManager;
