//! What is told of each timed change of a scenario.

use clearway_core::Duration;

/// One action: what it touched, what was lost by it, and when things were as before.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ActionResult {
    /// Name, as in the scenario.
    pub name: String,
    /// When, picoseconds.
    pub at_ps: u64,
    /// Transmitters whose policy it changed.
    pub ports: u64,
    /// Flows that crossed a link when it broke.
    pub flows: u64,
    /// Flows that were laid anew, or moves of flows between classes.
    pub flows_moved: u64,
    /// Of the moves between classes: down and up.
    pub moves: [u64; 2],
    /// Frames lost on the link, once for each receiver, whenever generated, until it came back or the run ended.
    pub frames_lost: u64,
    /// From the break until every flow that crossed the link had delivered again; none: it did not come to that.
    pub flows_back_ps: Option<u64>,
    /// From the break until these flows had nine tenths of their mean throughput again; none: it did not come to that.
    pub throughput_back_ps: Option<u64>,
}

impl ActionResult {
    pub(crate) fn new(name: &str, at_ps: u64) -> Self {
        Self {
            name: name.to_owned(),
            at_ps,
            ..Self::default()
        }
    }

    /// Numbers for the digest.
    pub(super) fn words(&self) -> [u64; 8] {
        let or_never = |ps: Option<u64>| ps.unwrap_or(u64::MAX);
        [
            self.at_ps,
            self.ports,
            self.flows,
            self.flows_moved,
            self.moves[1],
            self.frames_lost,
            or_never(self.flows_back_ps),
            or_never(self.throughput_back_ps),
        ]
    }

    /// Time until the throughput of the flows was back.
    #[must_use]
    pub fn throughput_back(&self) -> Option<Duration> {
        self.throughput_back_ps.map(Duration::from_ps)
    }
}
