//! Tidy rows: one measured or predicted number a row, with everything needed to read it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

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

/// A row that was kept between two runs of the program: its words are no part of this one.
#[derive(Serialize, Deserialize)]
struct Kept {
    run: String,
    seed: u64,
    scope: String,
    name: String,
    metric: String,
    stat: String,
    unit: String,
    layer: String,
    value: f64,
    population: String,
}

impl From<Row> for Kept {
    fn from(row: Row) -> Self {
        Self {
            run: row.run,
            seed: row.seed,
            scope: row.scope.to_owned(),
            name: row.name,
            metric: row.metric.to_owned(),
            stat: row.stat,
            unit: row.unit.to_owned(),
            layer: row.layer.to_owned(),
            value: row.value,
            population: row.population,
        }
    }
}

impl From<Kept> for Row {
    fn from(kept: Kept) -> Self {
        Self {
            run: kept.run,
            seed: kept.seed,
            scope: word(kept.scope),
            name: kept.name,
            metric: word(kept.metric),
            stat: kept.stat,
            unit: word(kept.unit),
            layer: word(kept.layer),
            value: kept.value,
            population: kept.population,
        }
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Kept::from(self.clone()).serialize(serializer)
    }
}

// By hand: the derived one would only read from text that lives as long as the program.
impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Kept::deserialize(deserializer).map(Self::from)
    }
}

/// The one copy of a word. Rows have a few dozen different ones, however many rows are read.
fn word(text: String) -> &'static str {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text.as_str()) {
        return known;
    }
    let new: &'static str = text.leak();
    words.insert(new);
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_was_kept_is_the_same_and_its_words_are_held_once() {
        let row = Row {
            run: "a".to_owned(),
            seed: 3,
            scope: "class",
            name: "bulk".to_owned(),
            metric: "latency",
            stat: "mean".to_owned(),
            unit: "s",
            layer: "-",
            value: 1.5,
            population: "all frames".to_owned(),
        };
        let back = || Row::from(Kept::from(row.clone()));
        assert_eq!(back(), row);
        assert!(std::ptr::eq(back().metric, back().metric));
    }
}
