//! The keys of the two files, each declared once: reader and JSON Schema come from these types.

pub(crate) mod action;
pub(crate) mod cbq;
pub(crate) mod law;
pub(crate) mod matches;
pub(crate) mod policy;
pub(crate) mod scenario;
pub(crate) mod stack;
pub(crate) mod transport;
pub(crate) mod workload;
