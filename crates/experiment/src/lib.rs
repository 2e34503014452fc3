//! Experiments: runs over several seeds, reproductions of published figures, verdicts.
//!
//! * [`cores`]: independent pieces of work on all cores, results in order;
//! * [`seeds`]: rows of several seeds brought together.

pub mod cores;
pub mod seeds;
