//! What is done to an egress while a run goes on: gates shut or opened, a live change of its traffic manager.
//!
//! A scripted action is an event of the control phase of the egress's node, so it comes before the arrivals and the
//! transmitter of the same instant, as a control call of a real data plane does.

use super::context::Context;
use super::selection::Selection;
use super::transmitter::Transmitter;
use clearway_core::{Change, GateSet, Instant};

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripted {
    /// When.
    pub at: Instant,
    /// Index of the link in the scenario.
    pub link: usize,
    /// Which end of it: 0 or 1.
    pub end: usize,
    /// What.
    pub action: Action,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a script has a handful of actions, and a change is built in place"
)]
pub enum Action {
    /// Shuts gates until an instant; one that is past opens them.
    Pause {
        /// The gates.
        gates: GateSet,
        /// Until when.
        until: Instant,
    },
    /// Changes the egress's traffic manager.
    Change(Change),
}

impl Transmitter {
    /// Carries out an action at the present instant.
    ///
    /// Says why a change is impossible.
    pub(crate) fn act(&mut self, ctx: &Context, action: &Action) -> Result<(), String> {
        match action {
            Action::Pause { gates, until } => {
                self.pause(ctx, gates.0, until.as_ps());
                Ok(())
            }
            Action::Change(change) => match &mut self.selection {
                Selection::Fifo(_) => Err("this egress has no policy; give it one".to_owned()),
                Selection::Manager(managed) => managed
                    .manager
                    .reconfigure(ctx.instant(), change.clone())
                    .map(|_| ())
                    .map_err(|e| e.to_string()),
            },
        }
    }
}
