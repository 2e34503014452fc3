//! Experiments: runs over several seeds, reproductions of published figures, verdicts.
//!
//! * [`cores`]: independent pieces of work on all cores, results in order;
//! * [`estimate`]: the memory that a run takes, before it starts;
//! * [`run`]: a scenario with several seeds;
//! * [`seeds`]: rows of several seeds brought together;
//! * [`reproduce`]: what documents publish beside what the model predicts.

pub mod cores;
pub mod estimate;
pub mod reproduce;
pub mod run;
pub mod seeds;
