//! Bounds as tidy rows beside those of a run, and the reasons where there are none.

use super::{Bound, ScenarioBounds};
use clearway_metrics::Row;

const SECOND_PS: f64 = 1e12;

/// What the population of a bound is called.
const WORST: &str = "worst case";

/// Rows of every bound, for a run of this name and seed.
#[must_use]
pub fn rows(bounds: &ScenarioBounds, run: &str, seed: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |scope, name: &str, metric, unit, layer, value: &Bound, scale: f64| {
        if let Ok(value) = value {
            rows.push(Row {
                run: run.to_owned(),
                seed,
                scope,
                name: name.to_owned(),
                metric,
                stat: "max".to_owned(),
                unit,
                layer,
                value: *value as f64 / scale,
                population: WORST.to_owned(),
            });
        }
    };
    for class in &bounds.classes {
        add(
            "class",
            &class.name,
            "latency_bound",
            "s",
            "-",
            &class.latency_ps,
            SECOND_PS,
        );
        add(
            "class",
            &class.name,
            "latency_from_first_bit_bound",
            "s",
            "-",
            &class.from_first_bit_ps,
            SECOND_PS,
        );
    }
    for queue in &bounds.queues {
        add(
            "queue",
            &queue.name,
            "backlog_bound",
            "B",
            "L2",
            &queue.backlog_bytes,
            1.0,
        );
    }
    rows
}

/// The classes whose latency has no bound, each with the reason.
pub fn unbounded(bounds: &ScenarioBounds) -> impl Iterator<Item = (&str, &str)> {
    bounds.classes.iter().filter_map(|class| {
        let reason = class.latency_ps.as_ref().err()?;
        Some((class.name.as_str(), reason.as_str()))
    })
}
