//! Experiments: runs over several seeds, reproductions of published figures, verdicts.
//!
//! * [`audit`]: arithmetic checks on what the documents publish;
//! * [`backplane`]: the experiment of the backplane talk;
//! * [`mod@bounds`]: worst-case delay and backlog of a scenario, by network calculus;
//! * [`cores`]: independent pieces of work on all cores, results in order;
//! * [`event_builder`]: the experiment of the event builder talk;
//! * [`headers`]: the bytes that a simulated frame would begin with;
//! * [`run`]: a scenario with several seeds;
//! * [`seeds`]: rows of several seeds brought together;
//! * [`reproduce`]: what documents publish beside what the model predicts;
//! * [`s2d_ets`]: storage and other traffic on one port;
//! * [`t4_qos`]: the experiment of the T4 paper;
//! * [`t4_uses`]: the uses that it names;
//! * [`t5_latency_rate`]: messages at a given rate over two adapters, and one in flight ([`t5_pingpong`]);
//! * [`t5_microburst`]: bursts at line rate into two adapters.

pub mod audit;
pub mod backplane;
pub mod bounds;
pub mod cores;
pub mod event_builder;
pub mod headers;
pub mod reproduce;
pub mod run;
pub mod s2d_ets;
pub mod seeds;
pub mod t4_qos;
pub mod t4_uses;
pub mod t5_latency_rate;
pub mod t5_microburst;
pub mod t5_pingpong;
