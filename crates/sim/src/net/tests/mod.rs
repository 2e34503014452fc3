//! Facts about the models: exact, against theory, and as properties.

mod conservation;
mod exact;
mod flow_control;
mod messages;
mod queueing;
mod scenarios;
