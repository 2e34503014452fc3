//! Facts about the models: exact, against theory, and as properties.

mod actions;
mod conservation;
mod event_builder;
mod exact;
mod exchange;
mod fairness;
mod flow_control;
mod messages;
mod queueing;
mod scenarios;
mod stack;
mod stack_random;
mod storage;
