//! Counts what a run has met, so that a test can insist that nothing was left out.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(BTreeMap<&'static str, u64>);

impl Seen {
    pub(crate) fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
    pub(crate) fn note_if(&mut self, is: bool, what: &'static str) {
        if is {
            self.note(what);
        }
    }
    pub(crate) fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        REQUIRED
            .iter()
            .copied()
            .filter(|what| !self.0.contains_key(what))
            .collect()
    }
    pub(crate) fn table(&self) -> String {
        self.0
            .iter()
            .map(|(what, count)| format!("{count:>10} {what}\n"))
            .collect()
    }
}

/// What a full run must have met at least once.
pub(crate) const REQUIRED: &[&str] = &[
    // Plans.
    "plan of 1 level",
    "plan of 2 levels",
    "plan of 3 levels",
    "plan of 4 levels",
    "strict",
    "weighted",
    "shared queue",
    "per-flow queue",
    "flow shape bits",
    "flow shape frames",
    "flow shape none",
    "rate",
    "frame rate",
    "both shapers",
    "guarantee below strict",
    "guarantee below weighted",
    "accounting",
    "meter of one rate",
    "meter of two rates",
    "mark at enqueue",
    "mark at dequeue",
    "age limit",
    "more than 16 children",
    // Calls and time.
    "classify",
    "enqueue",
    "dequeue",
    "pause shuts",
    "pause opens",
    "rebase",
    "at until",
    "1 ps before until",
    "1 ps after until",
    "back in time",
    "no time",
    "tiny step",
    "huge step",
    // Answers.
    "answer frame",
    "answer drop",
    "answer wait for shaper",
    "answer wait for flow shaper",
    "answer wait for gate",
    "answer empty",
    "colour yellow",
    "colour red",
    "marked by the queue",
    "marked by the sender",
    // Refusals.
    "refused no-rule",
    "refused queue-gone",
    "refused stale-target",
    "refused flows-max",
    "refused frames-max",
    "refused queue-full",
    "refused flow-full",
    "refused meter-red",
    "refused frame-length",
    // Changes that were made.
    "change rate",
    "change frame rate",
    "change guarantee",
    "change weight",
    "change flow shape",
    "change add",
    "change remove",
    "change move",
    "change rules",
    "node drains",
    "node gone at once",
    "frame left a draining queue",
    "moved with frames",
    "moved to a shared queue with frames",
    "moved while older frames wait",
    "frames held",
    "held frames moved on",
    "held frames entered",
    "flow forgotten for room",
    "16 children joined at one visit",
    "forward through an empty port",
    "forward in a busy port",
    "forward refused",
    // Changes that were refused.
    "change refused: node gone",
    "change refused: root",
    "change refused: elsewhere",
    "change refused: wrong kind",
    "change refused: nodes max",
    "change refused: flows max",
    "change refused: plan",
];
