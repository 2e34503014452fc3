//! Drives the manager and the model through the same random calls and compares every answer.

mod changes;
pub(crate) mod choice;
pub(crate) mod compare;
mod notes;
pub(crate) mod plans;
pub(crate) mod seen;
pub(crate) mod shrink;
pub(crate) mod steps;
mod words;
