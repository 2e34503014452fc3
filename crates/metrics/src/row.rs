//! Tidy rows: one measured or predicted number a row, with everything needed to read it.

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which run of a sweep: its label.
    pub run: String,
    /// The root seed of the run.
    pub seed: u64,
    /// What kind of thing `name` is: `run`, `class`, `flow`, `link`, `port`, `switch`, `host`, `queue`, `engine`.
    pub scope: &'static str,
    /// Which one, as the scenario names it.
    pub name: String,
    /// What was counted: `latency`, `throughput`, `frames_dropped`, ...
    pub metric: &'static str,
    /// Which summary: `mean`, `p50`, `p90`, `p99`, `p99.9`, `min`, `max`, `sum`, `count`, or a reason.
    pub stat: String,
    /// Unit of `value`: `s`, `bit/s`, `B`, `1`, `frame/s`.
    pub unit: &'static str,
    /// Accounting layer: `L1` (preamble and gap), `L2` (with FCS), `payload`, or `-`.
    pub layer: &'static str,
    /// The number.
    pub value: f64,
    /// Which samples: `all frames`, `all calls`, `3072 samples`, ...
    pub population: String,
}
