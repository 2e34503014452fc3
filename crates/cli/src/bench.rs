//! `clearway bench`: how fast the simulator is on this machine.
//!
//! The scenarios of `scenarios/bench/` are part of the program, so that a figure can be had without a checkout. Each
//! run is on one core, with its traffic managers, histograms and counters on. The figure is processor time over
//! packet-hops (frames times lines they cross), the median of the repeats with the least and the most. A machine's speed
//! changes from second to second, so the bare event loop of the engine, which does nothing but handle events, runs
//! before each repeat of `s1-16`: the ratio of the two is taken pair by pair. The targets are the project's own, for
//! the machine that its notes describe.

use crate::arguments::Bench;
use crate::ending::{Failure, print, say};
use crate::{interrupt, machine, run};
use clearway_policy::Loaded;
use clearway_report::{Cell, Table, TextOptions, Tone};
use serde_json::{Value, json};
use std::io::stdout;
use std::path::Path;

/// A scenario that is part of the program: name, text, overrides.
type BuiltIn = (&'static str, &'static str, &'static [&'static str]);

const S1: &str = include_str!("../../../scenarios/bench/s1.toml");
const S2: &str = include_str!("../../../scenarios/bench/s2.toml");
const S3: &str = include_str!("../../../scenarios/bench/s3.toml");
const VIDEO: &str = include_str!("../../../scenarios/bench/video-50k.toml");
const EIGHT_CLASSES: &str = include_str!("../../../policies/eight-classes.toml");

/// Highest median that a benchmark aims at, nanoseconds a packet-hop.
const TARGETS_NS: [(&str, f64); 6] = [
    ("s1-4", 60.0),
    ("s1-16", 60.0),
    ("s2", 60.0),
    ("s3-10k", 100.0),
    ("s3-100k", 250.0),
    // Four million frames a second of processor time.
    ("video-50k", 250.0),
];
/// Highest ratio to the bare event loop that `s1-16` aims at.
const TARGET_RATIO: f64 = 1.4;
/// The benchmark that the bare event loop is interleaved with, and its hosts.
const BESIDE_BARE: (&str, u32) = ("s1-16", 16);

const BUILT_IN: [BuiltIn; 6] = [
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
    ("video-50k", VIDEO, &[]),
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
    /// Seconds of processor time a packet-hop of the bare loop, one before each repeat.
    bare_s: Vec<f64>,
}

/// Median, least and most.
#[derive(Clone, Copy)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
        let last = sorted.len().saturating_sub(1);
        Self {
            median: f64::midpoint(at(last / 2), at(sorted.len() / 2)),
            min: at(0),
            max: at(last),
        }
    }
    fn json(self, scale: f64) -> Value {
        json!({"median": self.median * scale, "min": self.min * scale, "max": self.max * scale})
    }
}

impl Figures {
    /// Seconds a packet-hop.
    fn per_hop(&self) -> Spread {
        Spread::of(self.cpu_s.iter().map(|s| s / self.packet_hops as f64))
    }
    /// Times the bare loop's, pair by pair.
    fn ratio(&self) -> Option<Spread> {
        let pairs = self.cpu_s.iter().zip(&self.bare_s);
        let hops = self.packet_hops as f64;
        (!self.bare_s.is_empty()).then(|| Spread::of(pairs.map(|(s, bare)| s / hops / bare)))
    }
    fn events_a_hop(&self) -> f64 {
        self.events as f64 / self.packet_hops as f64
    }
    fn target_ns(&self) -> Option<f64> {
        TARGETS_NS.iter().find(|t| t.0 == self.name).map(|t| t.1)
    }
}

/// Seconds of processor time a packet-hop of the engine's bare event loop, where this system tells processor time.
fn bare(time: clearway_core::Duration, seed: u64) -> Option<f64> {
    let before = machine::processor_time()?;
    let done = clearway_sim::engine::bare::run(BESIDE_BARE.1, time, seed);
    let took = machine::processor_time()?.saturating_sub(before);
    Some(took.as_secs_f64() / done.packet_hops.max(1) as f64)
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
            bare_s: Vec::new(),
        };
        machine::forget_peak();
        for _ in 0..arguments.repeats {
            if figures.name == BESIDE_BARE.0 {
                let seconds = bare(loaded.scenario.duration, loaded.scenario.seed);
                figures.bare_s.extend(seconds);
            }
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
        let ratio = f.ratio().map(|ratio| ratio.json(1.0));
        json!({
            "name": f.name, "title": f.title, "events": f.events, "packet_hops": f.packet_hops,
            "events_per_packet_hop": f.events_a_hop(), "cpu_s": f.cpu_s, "ns_per_packet_hop": f.per_hop().json(1e9),
            "packet_hops_per_cpu_s": 1.0 / f.per_hop().median,
            "target_ns": f.target_ns(), "bare_ns_per_packet_hop": (!f.bare_s.is_empty())
                .then(|| Spread::of(f.bare_s.iter().copied()).json(1e9)),
            "ratio_to_bare": ratio, "target_ratio": f.ratio().map(|_| TARGET_RATIO), "peak_bytes": f.peak_bytes,
        })
    };
    let mut document = clearway_report::json::document("bench");
    document.insert("benchmarks".to_owned(), all.iter().map(one).collect());
    document.into()
}

fn table(all: &[Figures]) -> String {
    let headings = [
        "scenario",
        "a packet-hop",
        "least",
        "most",
        "target",
        "met",
        "hops a CPU second",
        "events a hop",
        "packet-hops",
        "memory",
    ];
    let mut table = Table::new("Simulator speed, one core, processor time", headings);
    let verdict = |met: bool| {
        let (text, tone) = if met {
            ("ok", Tone::Good)
        } else {
            ("miss", Tone::Bad)
        };
        Cell::text(text).tone(tone)
    };
    for f in all {
        let Spread { median, min, max } = f.per_hop();
        let target = f.target_ns();
        table.push([
            Cell::text(f.name.as_str()),
            Cell::number(median, "s"),
            Cell::number(min, "s"),
            Cell::number(max, "s"),
            target.map_or_else(Cell::blank, |ns| Cell::number(ns * 1e-9, "s")),
            target.map_or_else(Cell::blank, |ns| verdict(median * 1e9 <= ns)),
            Cell::number(1.0 / median, "1/s"),
            Cell::number(f.events_a_hop(), "1"),
            Cell::number(f.packet_hops as f64, "1"),
            f.peak_bytes
                .map_or_else(Cell::blank, |bytes| Cell::number(bytes as f64, "B")),
        ]);
        if let Some(ratio) = f.ratio() {
            let Spread { median, min, max } = Spread::of(f.bare_s.iter().copied());
            table.push([
                Cell::text("bare loop"),
                Cell::number(median, "s"),
                Cell::number(min, "s"),
                Cell::number(max, "s"),
            ]);
            table.push([
                Cell::text("ratio"),
                Cell::number(ratio.median, "1"),
                Cell::number(ratio.min, "1"),
                Cell::number(ratio.max, "1"),
                Cell::number(TARGET_RATIO, "1"),
                verdict(ratio.median <= TARGET_RATIO),
            ]);
        }
    }
    let repeats = all.first().map_or(0, |f| f.cpu_s.len());
    table.note(format!(
        "median, least and most of {repeats}; the bare loop handles the events of s1-16 and nothing else, before each of its \
         runs; memory is the most that the process held meanwhile"
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
    fn a_spread_is_median_least_and_most() {
        let odd = Spread::of([3.0, 1.0, 2.0]);
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        assert!((Spread::of([4.0, 1.0, 2.0, 3.0]).median - 2.5).abs() < 1e-12);
    }

    #[test]
    fn every_built_in_benchmark_has_a_target() {
        let names = BUILT_IN.map(|b| b.0);
        assert_eq!(TARGETS_NS.map(|t| t.0), names);
        assert!(names.contains(&BESIDE_BARE.0));
    }

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
                ("s3-100k", 2),
                ("video-50k", 2)
            ]
        );
    }
}
