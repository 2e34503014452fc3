//! Comparisons, claims, progress and kept results of reproductions, without running a simulator.

use super::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const SCENARIO: &str = r#"
name = "two-hosts"
duration = "200us"
[host.h]
count = 2
[link.l]
ends = ["h1", "h2"]
rate = "10Gbit/s"
[workload.w]
from = "h1"
to = "h2"
on_off = { frame = "1518B", rate = "8Gbit/s", on = { exponential = "5us" }, off = { exponential = "5us" } }
"#;
const DATA: &str = r#"
title = "t"
document = "d"
tolerance = 10
parameter = []
[[figure]]
case = "a"
metric = "frames"
stat = "sum"
unit = "1"
value = 100
role = "predicted"
"#;

/// A store in memory that counts what it is asked.
#[derive(Default)]
struct Memory {
    entries: Mutex<BTreeMap<String, Vec<u8>>>,
    complaints: Mutex<Vec<String>>,
}

impl Store for Memory {
    fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.entries.lock().expect("whole").get(name).cloned()
    }
    fn put(&self, name: &str, bytes: &[u8]) {
        self.entries
            .lock()
            .expect("whole")
            .insert(name.to_owned(), bytes.to_vec());
    }
    fn unusable(&self, name: &str, why: &str) {
        self.complaints
            .lock()
            .expect("whole")
            .push(format!("{name}: {why}"));
    }
}

/// Two cases; counts the runs that were really simulated, and can ask for a stop after some of them.
struct Small {
    scenario: String,
    simulated: AtomicUsize,
    stop_after: usize,
    stop: AtomicBool,
}

impl Small {
    fn new(scenario: &str, stop_after: usize) -> Self {
        Self {
            scenario: scenario.to_owned(),
            simulated: AtomicUsize::new(0),
            stop_after,
            stop: AtomicBool::new(false),
        }
    }

    fn reproduce(&self, store: &Memory) -> Reproduced {
        let context = Context {
            seeds: 3,
            threads: 1,
            stop: &self.stop,
            progress: &|_| {},
            store: Some(store),
        };
        reproduce(self, &context).unwrap_or_else(|e| panic!("{e}"))
    }

    fn simulated(&self) -> usize {
        self.simulated.load(Ordering::Relaxed)
    }
}

impl Experiment for Small {
    fn name(&self) -> &'static str {
        "small"
    }
    fn data(&self) -> &'static str {
        DATA
    }
    fn default_seeds(&self) -> u32 {
        3
    }
    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        let runner = Runner {
            file: "small.toml",
            text: &self.scenario,
            options: clearway_sim::RunOptions::default(),
        };
        let cases = [
            Case::new("a", ["duration=200us"]),
            Case::new("b", ["duration=100us"]),
        ];
        let runs = runner.run_kept(context, &cases, "", |_, _, outcome| {
            if self.simulated.fetch_add(1, Ordering::Relaxed) + 1 == self.stop_after {
                self.stop.store(true, Ordering::Relaxed);
            }
            outcome
                .classes
                .iter()
                .map(|c| c.counters.delivered.frames as f64)
                .sum::<f64>()
        })?;
        let mut table = clearway_report::Table::new("t", ["case", "frames"]);
        for (case, runs) in cases.iter().zip(&runs) {
            table.push([
                clearway_report::Cell::text(&case.name),
                clearway_report::Cell::number(runs.iter().sum::<f64>() / 3.0, "1"),
            ]);
        }
        Ok(Findings {
            predictions: vec![Prediction {
                case: "a".to_owned(),
                metric: "frames".to_owned(),
                stat: "sum".to_owned(),
                samples: runs[0].clone(),
            }],
            claims: vec![Claim::new("frames arrive", "they do", true)],
            sections: vec![Section {
                heading: "h".to_owned(),
                tables: vec![table],
                ..Section::default()
            }],
            ..Findings::default()
        })
    }
}

/// All of it but where it came from.
fn shown(reproduced: &Reproduced) -> String {
    let mut reproduced = reproduced.clone();
    reproduced.kept = false;
    format!("{reproduced:?}")
}

#[test]
fn what_is_finished_is_not_run_again() {
    let store = Memory::default();
    let first = Small::new(SCENARIO, 0);
    let was = first.reproduce(&store);
    assert!(first.simulated() == 6 && !was.kept);
    let second = Small::new(SCENARIO, 0);
    let is = second.reproduce(&store);
    assert!(second.simulated() == 0 && is.kept);
    assert_eq!(shown(&is), shown(&was));
    assert!(is.comparisons[0].predicted > 10.0, "{is:?}");
}

#[test]
fn a_stop_loses_no_finished_run() {
    let store = Memory::default();
    let stopped = Small::new(SCENARIO, 4);
    assert!(stopped.reproduce(&store).stopped);
    let entries = store.entries.lock().expect("whole").len();
    assert_eq!(
        entries, 4,
        "runs alone: findings of a stopped experiment are not kept"
    );
    let rest = Small::new(SCENARIO, 0);
    let is = rest.reproduce(&store);
    assert!(rest.simulated() == 2 && !is.kept && !is.stopped);
    let fresh = Small::new(SCENARIO, 0).reproduce(&Memory::default());
    assert_eq!(shown(&is), shown(&fresh));
}

#[test]
fn a_changed_scenario_is_run_again() {
    let store = Memory::default();
    Small::new(SCENARIO, 0).reproduce(&store);
    // Findings stand for the whole program, whose scenarios do not change while it runs; runs stand for their text.
    store
        .entries
        .lock()
        .expect("whole")
        .retain(|name, _| name.starts_with("run-"));
    let changed = Small::new(&SCENARIO.replace("\"10Gbit/s\"", "\"9Gbit/s\""), 0);
    changed.reproduce(&store);
    assert_eq!(changed.simulated(), 6);
}

#[test]
fn damaged_and_foreign_entries_are_told_and_run_again() {
    let store = Memory::default();
    let was = Small::new(SCENARIO, 0).reproduce(&store);
    {
        let mut entries = store.entries.lock().expect("whole");
        let names: Vec<String> = entries.keys().cloned().collect();
        let (findings, runs) = names.split_first().expect("entries");
        assert!(findings.starts_with("findings-"));
        // One is cut, one is somebody else's, one stands in another's place, one has a bit turned.
        let last = entries[findings].len() - 1;
        entries.get_mut(findings).expect("it").truncate(last);
        entries.insert(runs[0].clone(), b"\x7fELF".to_vec());
        let other = entries[&runs[2]].clone();
        entries.insert(runs[1].clone(), other);
        *entries
            .get_mut(&runs[3])
            .and_then(|e| e.last_mut())
            .expect("a byte") ^= 0x10;
    }
    let again = Small::new(SCENARIO, 0);
    let is = again.reproduce(&store);
    assert_eq!((again.simulated(), is.kept), (3, false));
    assert_eq!(shown(&is), shown(&was));
    assert_eq!(store.complaints.lock().expect("whole").len(), 4);
    let third = Small::new(SCENARIO, 0);
    assert!(
        third.reproduce(&store).kept,
        "what was computed again stands in the place of what was damaged"
    );
}

#[test]
fn another_wish_has_another_name() {
    let runner = |text| Runner {
        file: "f",
        text,
        options: clearway_sim::RunOptions::default(),
    };
    let case = Case::new("a", ["duration=1ms"]);
    let name = runner("x").kept_name(&case, 1, "rows", "T");
    for other in [
        runner("y").kept_name(&case, 1, "rows", "T"),
        runner("x").kept_name(&case, 2, "rows", "T"),
        runner("x").kept_name(&case, 1, "", "T"),
        runner("x").kept_name(&case, 1, "rows", "U"),
        runner("x").kept_name(&Case::new("a", ["duration=2ms"]), 1, "rows", "T"),
    ] {
        assert_ne!(other, name);
    }
}

#[test]
fn every_experiment_can_be_stopped_before_anything_is_done() {
    let stop = AtomicBool::new(true);
    for experiment in experiments() {
        let store = Memory::default();
        let context = Context {
            seeds: 2,
            threads: 2,
            stop: &stop,
            progress: &|_| {},
            store: Some(&store),
        };
        let reproduced =
            reproduce(experiment, &context).unwrap_or_else(|e| panic!("{}: {e}", experiment.name()));
        assert!(reproduced.stopped, "{}", experiment.name());
        assert!(
            store.entries.lock().expect("whole").is_empty(),
            "{}",
            experiment.name()
        );
    }
}

#[test]
fn a_statement_that_is_missed_counts() {
    let mut reproduced = Small::new(SCENARIO, 0).reproduce(&Memory::default());
    reproduced.comparisons.clear();
    assert!(!reproduced.misses());
    reproduced.claims.push(Claim::new("s", "m", false));
    assert!(reproduced.misses());
}
