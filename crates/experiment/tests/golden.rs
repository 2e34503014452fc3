//! Golden tables: the main numbers of every shipped scenario, shortened, as text that can be read in a diff.
//!
//! Each file below `scenarios/` runs once, with its own seed, over a few simulated milliseconds; `tests/golden/NAME.txt`
//! holds what came out. `CLEARWAY_WRITE=1 cargo test -p clearway-experiment --test golden` writes the tables anew;
//! the commit that does so says which change of behaviour moved which number. Whether the numbers are right is the
//! business of other tests: these tell that they are the same as before, on every machine.

use clearway_experiment::cores;
use clearway_metrics::histogram::Histogram;
use clearway_policy::load;
use clearway_sim::Outcome;
use clearway_sim::results::Unobserved;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What is run of each scenario, unless [`SHORTER`] says less.
const DURATION: [&str; 2] = ["duration=12ms", "warmup=2ms"];
/// Scenarios with so many frames that less of them will do.
const SHORTER: &[(&str, &[&str])] = &[
    ("bench/s1", &["duration=2ms", "warmup=500us"]),
    ("bench/s3", &["duration=5ms", "warmup=1ms"]),
    (
        "s2d-ets-team",
        &[
            "duration=12ms",
            "warmup=2ms",
            "at.fails.time=5ms",
            "at.fails.detection=1ms",
            "at.returns.time=9ms",
        ],
    ),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Names of the scenario files below a folder, without the ending, in order.
fn scenarios(folder: &Path, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be listed").path();
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("a plain name");
        if path.is_dir() {
            names.extend(scenarios(&path, &format!("{prefix}{stem}/")));
        } else if path.extension().is_some_and(|e| e == "toml") {
            names.push(format!("{prefix}{stem}"));
        }
    }
    names.sort();
    names
}

fn run(name: &str) -> String {
    let shorter = SHORTER.iter().find(|(of, _)| *of == name);
    let sets = shorter.map_or(&DURATION[..], |(_, sets)| *sets);
    let sets: Vec<String> = sets.iter().map(|&s| s.to_owned()).collect();
    let path = repository().join(format!("scenarios/{name}.toml"));
    let loaded = load(&path, &sets).unwrap_or_else(|found| panic!("{name}: {}", found[0]));
    let scenario = &loaded.scenario;
    let outcome = clearway_sim::run(scenario, scenario.seed, &mut Unobserved)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    format!(
        "scenarios/{name}.toml --set {}, seed {}\n{}",
        sets.join(" --set "),
        scenario.seed,
        tables(&outcome)
    )
}

/// Microseconds, to the nanosecond.
fn micros(ps: Option<f64>) -> String {
    ps.map_or_else(|| "-".to_owned(), |ps| format!("{:.3}", ps / 1e6))
}

fn times(histogram: &Histogram) -> [String; 3] {
    let p99 = histogram.value_at_quantile(0.99).map(|v| v as f64);
    let max = histogram.max().map(|v| v as f64);
    [micros(histogram.mean()), micros(p99), micros(max)]
}

fn tables(outcome: &Outcome) -> String {
    let mut text = String::new();
    let latency = ["mean us", "p99 us", "max us"];
    let heading = ["class", "offered", "delivered", "dropped", "in flight"];
    let mut lines = vec![[heading.as_slice(), &latency].concat().join("\t")];
    for class in &outcome.classes {
        let c = &class.counters;
        let frames = [
            c.offered.frames,
            c.delivered.frames,
            c.dropped.frames,
            class.in_flight,
        ];
        let cells = frames.map(|n| n.to_string());
        let all = [
            std::slice::from_ref(&class.name),
            cells.as_slice(),
            &times(&c.from_generation),
        ];
        lines.push(all.concat().join("\t"));
    }
    align(&mut text, &lines);

    let mut lines = vec![[["calls", "answered"].as_slice(), &latency].concat().join("\t")];
    for call in &outcome.calls {
        let head = [call.workload.clone(), call.calls.answered.to_string()];
        let all = [head.as_slice(), &times(&call.calls.round_trips)];
        lines.push(all.concat().join("\t"));
    }
    align(&mut text, &lines);

    let mut lines = vec!["TCP\tconnections\tbytes".to_owned()];
    for tcp in &outcome.tcp {
        lines.push(format!(
            "{}\t{}\t{}",
            tcp.workload, tcp.connections, tcp.delivered_bytes
        ));
    }
    align(&mut text, &lines);

    let heading = ["storage", "operations", "copies sent"];
    let mut lines = vec![[heading.as_slice(), &latency].concat().join("\t")];
    for storage in &outcome.storage {
        let o = &storage.all;
        let head = [
            storage.workload.clone(),
            o.completed().to_string(),
            o.remote_copies.to_string(),
        ];
        let all = [head.as_slice(), &times(&o.writes)];
        lines.push(all.concat().join("\t"));
    }
    align(&mut text, &lines);

    let heading = ["events", "triggered", "built", "fragments", "incomplete"];
    let mut lines = vec![[heading.as_slice(), &latency].concat().join("\t")];
    for result in &outcome.events {
        let e = &result.events;
        let counts = [e.triggered, e.built, e.fragments, e.incomplete].map(|n| n.to_string());
        let name = std::slice::from_ref(&result.workload);
        lines.push([name, counts.as_slice(), &times(&e.latency)].concat().join("\t"));
    }
    align(&mut text, &lines);

    let mut lines = vec!["action\tat us\tports\tflows\tflows moved\tframes lost".to_owned()];
    for action in &outcome.actions {
        lines.push(format!(
            "{}\t{}\t{}\t{}\t{}\t{}",
            action.name,
            micros(Some(action.at_ps as f64)),
            action.ports,
            action.flows,
            action.flows_moved,
            action.frames_lost
        ));
    }
    align(&mut text, &lines);

    let mut lines = vec!["switch\tmost memory B\tmean memory B".to_owned()];
    let measured = u128::from(outcome.measured().as_ps().max(1));
    for switch in &outcome.switches {
        let mean = switch.memory_area / measured;
        lines.push(format!("{}\t{}\t{mean}", switch.name, switch.memory_bytes_peak));
    }
    align(&mut text, &lines);

    let ports = &outcome.ports;
    let total = |of: fn(&clearway_sim::results::PortResult) -> u64| ports.iter().map(of).sum::<u64>();
    let lines = [
        "all ports\tframes\tL2 bytes\tcontrol frames\tlost to pause us\tdeepest B".to_owned(),
        format!(
            "{}\t{}\t{}\t{}\t{}\t{}",
            ports.len(),
            total(|p| p.totals.frames),
            total(|p| p.totals.bytes),
            total(|p| p.control_frames),
            micros(Some(total(|p| p.lost_to_pause_ps) as f64)),
            ports.iter().map(|p| p.backlog_bytes_max).max().unwrap_or(0)
        ),
    ];
    align(&mut text, &lines);
    text
}

/// Appends a table of tab-separated lines: the first column to the left, numbers to the right. One without lines
/// below its heading is left out.
fn align(text: &mut String, lines: &[String]) {
    if lines.len() < 2 {
        return;
    }
    let rows: Vec<Vec<&str>> = lines.iter().map(|l| l.split('\t').collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|r| r.get(column));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    text.push('\n');
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            let _ = if column == 0 {
                write!(text, "{cell:<width$}")
            } else {
                write!(text, "  {cell:>width$}")
            };
        }
        text.push('\n');
    }
}

/// Lines that are in one text alone, in order.
fn difference(golden: &str, now: &str) -> String {
    let mut said = String::new();
    for line in golden.lines().filter(|l| !now.lines().any(|n| n == *l)) {
        let _ = writeln!(said, "- {line}");
    }
    for line in now.lines().filter(|l| !golden.lines().any(|g| g == *l)) {
        let _ = writeln!(said, "+ {line}");
    }
    said
}

#[test]
fn shipped_scenarios_give_the_numbers_of_their_golden_tables() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let names = scenarios(&repository().join("scenarios"), "");
    assert!(names.len() >= 8, "{names:?}");
    let stop = AtomicBool::new(false);
    let texts = cores::on_all_cores(&names, cores::cores(), &stop, |name| run(name));
    let mut wrong = String::new();
    let mut known = Vec::new();
    for (name, text) in names.iter().zip(texts) {
        let text = text.expect("nobody stops it");
        let file = format!("{}.txt", name.replace('/', "-"));
        let path = golden.join(&file);
        if std::env::var_os("CLEARWAY_WRITE").is_some() {
            std::fs::create_dir_all(&golden).expect("the folder can be made");
            std::fs::write(&path, &text).expect("the folder can be written");
        }
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        if before != text {
            let _ = writeln!(wrong, "\ntests/golden/{file}\n{}", difference(&before, &text));
        }
        known.push(file);
    }
    for entry in std::fs::read_dir(&golden).expect("the golden tables are there") {
        let file = entry.expect("the folder can be listed").file_name();
        let file = file.to_str().expect("a plain name");
        if !known.iter().any(|k| k == file) {
            let _ = writeln!(wrong, "\ntests/golden/{file} belongs to no scenario");
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}\nIf this is meant: set CLEARWAY_WRITE=1, run this test, and say in the commit what moved the numbers"
    );
}
