//! The JSON document of a run: what `--json` prints and `summary.json` holds.

use super::Finished;
use clearway_experiment::seeds::over_seeds;
use clearway_report::json;
use serde_json::{Value, json};

/// One document: head, scenario, seeds, engine, rows, and the numbers over the seeds.
pub(super) fn of(finished: &Finished<'_>) -> Value {
    let scenario = &finished.loaded.scenario;
    let seeds: Vec<u64> = finished.outcomes.iter().map(|o| o.seed).collect();
    let mut document = json::document("run");
    let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
    put("scenario", scenario.name.as_str().into());
    put("title", scenario.title.as_str().into());
    put("cites", scenario.cites.as_deref().into());
    put("scenario_hash", format!("{:016x}", finished.loaded.hash).into());
    put("seed", seeds.first().copied().into());
    put("seeds", json!(seeds));
    put("interrupted", finished.interrupted.into());
    put(
        "simulated_s",
        finished
            .outcomes
            .iter()
            .map(|o| o.simulated.as_ps() as f64 / 1e12)
            .collect(),
    );
    // Equal hashes mean equal results, on whatever machine.
    put(
        "result_hashes",
        finished
            .outcomes
            .iter()
            .map(|o| format!("{:016x}", o.hash()))
            .collect(),
    );
    put("warnings", json!(finished.loaded.warnings));
    let engine = &finished.engine;
    let figures = json!({
        "events": engine.events,
        "packet_hops": engine.packet_hops,
        "cpu_s": engine.cpu_s,
        "wall_s": engine.wall_s,
        "peak_bytes": engine.peak_bytes,
    });
    put("engine", figures);
    put("bounds", bounds(finished));
    put("rows", json::rows(&finished.rows));
    if seeds.len() > 1 {
        put("over_seeds", over(finished));
    }
    document.into()
}

/// Worst cases by class: seconds, or why there is no number.
fn bounds(finished: &Finished<'_>) -> Value {
    let seconds =
        |bound: &clearway_experiment::bounds::Bound| bound.as_ref().ok().map(|ps| *ps as f64 / 1e12);
    let class = |class: &clearway_experiment::bounds::ClassBound| {
        json!({
            "class": class.name,
            "latency_s": seconds(&class.latency_ps),
            "latency_from_first_bit_s": seconds(&class.from_first_bit_ps),
            "no_bound": class.latency_ps.as_ref().err(),
        })
    };
    finished.bounds.classes.iter().map(class).collect()
}

fn over(finished: &Finished<'_>) -> Value {
    let one = |o: clearway_experiment::seeds::OverSeeds| {
        let r = o.first;
        json!({
            "run": r.run, "scope": r.scope, "name": r.name, "metric": r.metric, "stat": r.stat, "unit": r.unit,
            "layer": r.layer, "population": r.population, "seeds": o.seeds, "mean": o.mean, "ci95": o.ci95,
            "min": o.min, "max": o.max,
        })
    };
    over_seeds(&finished.rows).into_iter().map(one).collect()
}
