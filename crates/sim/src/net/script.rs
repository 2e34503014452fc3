//! What is done to an egress while a run goes on: gates shut or opened, a live change of its traffic manager.
//!
//! A scripted action is an event of the control phase of the egress's node, so it comes before the arrivals and the
//! transmitter of the same instant, as a control call of a real data plane does.

use super::context::Context;
use super::selection::Selection;
use super::transmitter::Transmitter;
use clearway_core::{Change, Classify as _, Egress as _, GateSet, Instant, NodeId};

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
                selection => selection.change(ctx.instant(), change),
            },
        }
    }

    /// The queue in which a flow stands.
    pub(crate) fn queue_of_key(&mut self, ctx: &Context, flow: u32) -> Option<NodeId> {
        let key = ctx.keys.get(flow as usize)?;
        match &mut self.selection {
            Selection::Manager(managed) => {
                let target = managed.manager.classify(ctx.instant(), key).ok()?;
                Some(target.queue)
            }
            _ => None,
        }
    }
}

impl Selection {
    /// Changes the traffic manager.
    pub(crate) fn change(&mut self, now: Instant, change: &Change) -> Result<(), String> {
        let Self::Manager(managed) = self else {
            return Err("nothing here can be changed while it runs".to_owned());
        };
        let manager = &mut managed.manager;
        manager
            .reconfigure(now, change.clone())
            .map_err(|e| e.to_string())?;
        if let Change::MoveFlow { from, to, .. } = change {
            // Frames that moved wait in the other queue from now on.
            for queue in [from, to] {
                if let Some(state) = managed.queues.get_mut(queue.slot()) {
                    state.bytes = manager.backlog(*queue).bytes;
                    state.bytes_max = state.bytes_max.max(state.bytes);
                }
            }
        }
        Ok(())
    }
}
