//! `clearway bench`: how fast the simulator is on this machine.
//!
//! The scenarios of `scenarios/bench/` are part of the program, so that a figure can be had without a checkout. Each
//! run is on one core, with its traffic managers, histograms and counters on. The figure is processor time over
//! packet-hops (frames times lines they cross), the best of the repeats.

use crate::arguments::Bench;
use crate::ending::{Failure, print, say};
use crate::{interrupt, machine, run};
use clearway_policy::Loaded;
use clearway_report::{Cell, Table, TextOptions};
use serde_json::{Value, json};
use std::io::stdout;
use std::path::Path;

/// A scenario that is part of the program: name, text, overrides.
type BuiltIn = (&'static str, &'static str, &'static [&'static str]);

const S1: &str = include_str!("../../../scenarios/bench/s1.toml");
const S2: &str = include_str!("../../../scenarios/bench/s2.toml");
const S3: &str = include_str!("../../../scenarios/bench/s3.toml");
const EIGHT_CLASSES: &str = include_str!("../../../policies/eight-classes.toml");

const BUILT_IN: [BuiltIn; 5] = [
    ("s1-4", S1, &["host.h.count=4", "switch.sw.memory=6MB"]),
    ("s1-16", S1, &[]),
    ("s2", S2, &[]),
    ("s3-10k", S3, &[]),
    (
        "s3-100k",
        S3,
        &[
            "workload.streams.constant_rate.flows=100000",
            "workload.streams.constant_rate.rate=0.4Mbit/s",
            "policy.paced.class.streams.per_flow.rate=0.4Mbit/s",
        ],
    ),
];

/// What one scenario took.
struct Figures {
    name: String,
    title: String,
    events: u64,
    packet_hops: u64,
    /// Seconds of processor time, one a repeat.
    cpu_s: Vec<f64>,
    peak_bytes: Option<u64>,
}

impl Figures {
    fn best(&self) -> f64 {
        self.cpu_s.iter().copied().fold(f64::INFINITY, f64::min)
    }
    fn per_hop(&self) -> f64 {
        self.best() / self.packet_hops as f64
    }
}

/// Runs the benchmarks.
pub(crate) fn bench(arguments: &Bench) -> Result<(), Failure> {
    let scenarios = match &arguments.scenarios {
        Some(folder) => from_folder(folder)?,
        None => built_in()?,
    };
    let wanted = |name: &str| {
        arguments.names.is_empty() || arguments.names.iter().any(|n| name.starts_with(n.as_str()))
    };
    if let Some(unknown) = arguments
        .names
        .iter()
        .find(|n| !scenarios.iter().any(|(name, _)| name.starts_with(n.as_str())))
    {
        let known: Vec<&str> = scenarios.iter().map(|(name, _)| name.as_str()).collect();
        return Err(Failure::Usage(format!(
            "no benchmark {unknown:?}; there are {}",
            known.join(", ")
        )));
    }
    let stop = interrupt::on_signal()?;
    let mut all = Vec::new();
    for (name, loaded) in scenarios.into_iter().filter(|(name, _)| wanted(name)) {
        run::fits(&loaded, 1)?;
        let mut figures = Figures {
            name,
            title: loaded.scenario.title.clone(),
            events: 0,
            packet_hops: 0,
            cpu_s: Vec::new(),
            peak_bytes: None,
        };
        machine::forget_peak();
        for _ in 0..arguments.repeats {
            let finished = run::simulate(&loaded, &[loaded.scenario.seed], 1, None, &stop)?;
            if finished.interrupted {
                return Err(Failure::Interrupted);
            }
            figures.events = finished.engine.events;
            figures.packet_hops = finished.engine.packet_hops;
            figures
                .cpu_s
                .push(finished.engine.cpu_s.unwrap_or(finished.engine.wall_s));
        }
        figures.peak_bytes = machine::peak_bytes();
        if figures.packet_hops == 0 {
            say(&format!("{}: no frame crossed a line\n", figures.name));
            continue;
        }
        all.push(figures);
    }
    print(&if arguments.json {
        format!("{:#}\n", document(&all))
    } else {
        table(&all)
    })
}

fn built_in() -> Result<Vec<(String, Loaded)>, Failure> {
    let resolve = |path: &str| {
        let known = path.ends_with("policies/eight-classes.toml");
        if known {
            Ok(EIGHT_CLASSES.as_bytes().to_vec())
        } else {
            Err(format!("{path} is not part of the program"))
        }
    };
    let load = |(name, text, sets): BuiltIn| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let loaded = clearway_policy::load_str(text, name, &sets, &resolve).map_err(Failure::Mistakes)?;
        Ok((name.to_owned(), loaded))
    };
    BUILT_IN.into_iter().map(load).collect()
}

/// Every scenario of a folder, by file name.
fn from_folder(folder: &Path) -> Result<Vec<(String, Loaded)>, Failure> {
    let unreadable = |e: std::io::Error| Failure::Usage(format!("cannot read {}: {e}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::Usage(format!(
            "no scenario (*.toml) in {}",
            folder.display()
        )));
    }
    let load = |path: std::path::PathBuf| {
        let name = path
            .file_stem()
            .map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        clearway_policy::load(&path, &[])
            .map(|loaded| (name, loaded))
            .map_err(Failure::Mistakes)
    };
    paths.into_iter().map(load).collect()
}

fn document(all: &[Figures]) -> Value {
    let one = |f: &Figures| {
        json!({
            "name": f.name, "title": f.title, "events": f.events, "packet_hops": f.packet_hops, "cpu_s": f.cpu_s,
            "ns_per_packet_hop": f.per_hop() * 1e9, "peak_bytes": f.peak_bytes,
        })
    };
    let mut document = clearway_report::json::document("bench");
    document.insert("benchmarks".to_owned(), all.iter().map(one).collect());
    document.into()
}

fn table(all: &[Figures]) -> String {
    let headings = [
        "scenario",
        "what",
        "packet-hops",
        "events a hop",
        "a packet-hop",
        "slowest",
        "memory",
    ];
    let mut table = Table::new("Simulator speed, one core, processor time", headings);
    for f in all {
        let slowest = f.cpu_s.iter().copied().fold(0.0, f64::max) / f.packet_hops as f64;
        table.push([
            Cell::text(f.name.as_str()),
            Cell::text(f.title.as_str()),
            Cell::number(f.packet_hops as f64, "1"),
            Cell::number(f.events as f64 / f.packet_hops as f64, "1"),
            Cell::number(f.per_hop(), "s"),
            Cell::number(slowest, "s"),
            f.peak_bytes
                .map_or_else(Cell::blank, |bytes| Cell::number(bytes as f64, "B")),
        ]);
    }
    let repeats = all.first().map_or(0, |f| f.cpu_s.len());
    table.note(format!(
        "best and slowest of {repeats}; memory is the most that the process held meanwhile"
    ));
    table.to_text(TextOptions {
        width: machine::columns(&stdout()),
        colour: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_scenarios_can_be_read() {
        let scenarios = built_in().unwrap_or_else(|failure| panic!("{failure}"));
        let hosts: Vec<(&str, usize)> = scenarios
            .iter()
            .map(|(name, loaded)| (name.as_str(), loaded.scenario.hosts.len()))
            .collect();
        assert_eq!(
            hosts,
            [
                ("s1-4", 4),
                ("s1-16", 16),
                ("s2", 17),
                ("s3-10k", 2),
                ("s3-100k", 2)
            ]
        );
    }
}
