//! What is kept of one run of the backplane: a handful of numbers, and histograms where a figure needs them.
//!
//! Latency is of the frames generated and delivered in the run, from three starting points: generation at the
//! application, entry into the NIC (the FIFO of NIC and MAC; the queue of the application where a station has no such
//! FIFO), and the first bit on the first wire. Where the queue of the application grows, the mean depends on how long the
//! run is.

use crate::reproduce::{Case, Context, Runner};
use clearway_metrics::{Histogram, Row, Summary};
use clearway_report::Cell;
use clearway_sim::results::FlowControlMark;
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

const PS: f64 = 1e-12;
/// A control frame on the wire, bits: 64 bytes, 8 of preamble, 12 of gap.
pub(super) const CONTROL_BITS: f64 = 672.0;
/// Line rate of every station, bit/s.
pub(super) const LINE: f64 = 10e9;

/// Latency from one starting point, seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Latency {
    pub(super) mean: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

impl Latency {
    fn of(h: &Histogram) -> Self {
        Self {
            mean: h.mean().unwrap_or(0.0) * PS,
            p99: h.value_at_quantile(0.99).unwrap_or(0) as f64 * PS,
            max: h.max().unwrap_or(0) as f64 * PS,
        }
    }
}

/// One traffic class of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Class {
    /// L2 bytes generated.
    pub(super) offered: u64,
    pub(super) delivered: u64,
    /// L2, bit/s, over the run.
    pub(super) throughput: f64,
    pub(super) generation: Latency,
    pub(super) nic: Latency,
    pub(super) first_bit: Latency,
    /// From generation; empty unless asked for.
    pub(super) histogram: Histogram,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) seconds: f64,
    /// L2, bit/s, of all classes.
    pub(super) throughput: f64,
    pub(super) discarded: f64,
    /// Control frames a second that the switch sends on one link, mean of the links.
    pub(super) control: f64,
    /// Most memory in use, bytes.
    pub(super) memory: f64,
    /// Of all frames: mean from generation, NIC entry and first bit, seconds.
    pub(super) mean: [f64; 3],
    pub(super) classes: Vec<Class>,
    /// Memory in use over time, bytes, where sampled.
    pub(super) samples: Vec<(f64, f64)>,
    #[serde(with = "marks")]
    pub(super) marks: Vec<FlowControlMark>,
    pub(super) rows: Vec<Row>,
}

/// What is kept beside the numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keep {
    pub(super) histograms: bool,
    pub(super) rows: bool,
}

impl Measured {
    fn of(case: &Case, outcome: &Outcome, keep: Keep) -> Self {
        let seconds = outcome.measured().as_ps() as f64 * PS;
        let classes: Vec<Class> = outcome
            .classes
            .iter()
            .map(|c| Class {
                offered: c.counters.offered.bytes,
                delivered: c.counters.delivered.frames,
                throughput: c.counters.window.bytes as f64 * 8.0 / seconds,
                generation: Latency::of(&c.counters.from_generation),
                nic: Latency::of(&c.counters.from_nic),
                first_bit: Latency::of(&c.counters.from_first_bit),
                histogram: if keep.histograms {
                    c.counters.from_generation.clone()
                } else {
                    Histogram::new()
                },
            })
            .collect();
        let frames: f64 = classes.iter().map(|c| c.delivered as f64).sum();
        let over_all = |from: fn(&Class) -> f64| {
            classes.iter().map(|c| from(c) * c.delivered as f64).sum::<f64>() / frames.max(1.0)
        };
        let mean = [
            over_all(|c| c.generation.mean),
            over_all(|c| c.nic.mean),
            over_all(|c| c.first_bit.mean),
        ];
        let from_switch: Vec<u64> = outcome
            .ports
            .iter()
            .filter(|p| p.name.starts_with("sw@"))
            .map(|p| p.control_frames)
            .collect();
        let wanted = |row: &Row| keep.rows && matches!(row.scope, "class" | "switch" | "port");
        Self {
            seconds,
            throughput: classes.iter().map(|c| c.throughput).sum(),
            discarded: outcome
                .classes
                .iter()
                .map(|c| c.counters.dropped.frames as f64)
                .sum(),
            control: from_switch.iter().sum::<u64>() as f64 / (from_switch.len().max(1) as f64 * seconds),
            memory: outcome
                .switches
                .iter()
                .map(|s| s.memory_bytes_peak as f64)
                .fold(0.0, f64::max),
            mean,
            classes,
            samples: samples(outcome),
            marks: outcome.marks.clone(),
            rows: if keep.rows {
                outcome.rows(&case.name).into_iter().filter(wanted).collect()
            } else {
                Vec::new()
            },
        }
    }
}

fn samples(outcome: &Outcome) -> Vec<(f64, f64)> {
    let Some(line) = outcome.series.lines.iter().find(|l| l.scope == "switch") else {
        return Vec::new();
    };
    outcome
        .series
        .times_ps
        .iter()
        .zip(&line.values)
        .map(|(at, bytes)| (*at as f64 * PS, *bytes as f64))
        .collect()
}

/// A scenario text with its file name.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// Runs the cases of one scenario: a list a case, a value a seed.
pub(super) fn run(
    context: &Context<'_>,
    file: File,
    cases: &[Case],
    keep: Keep,
) -> Result<Vec<Vec<Measured>>, String> {
    let runner = Runner {
        file: file.name,
        text: file.text,
        options: RunOptions::default(),
    };
    runner.run_kept(context, cases, &format!("{keep:?}"), |case, _, outcome| {
        Measured::of(case, outcome, keep)
    })
}

/// Marks as numbers, to be kept: when, on which line, for which gates, whether it stops.
mod marks {
    use super::FlowControlMark;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(marks: &[FlowControlMark], to: S) -> Result<S::Ok, S::Error> {
        let numbers = marks.iter().map(|m| (m.at_ps, m.line, m.gates, m.off));
        numbers.collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<FlowControlMark>, D::Error> {
        let numbers = Vec::<(u64, u32, u64, bool)>::deserialize(from)?;
        let mark = |(at_ps, line, gates, off)| FlowControlMark {
            at_ps,
            line,
            gates,
            off,
        };
        Ok(numbers.into_iter().map(mark).collect())
    }
}

/// One number of every run.
pub(super) fn each(runs: &[Measured], value: impl Fn(&Measured) -> f64) -> Vec<f64> {
    runs.iter().map(value).collect()
}

/// The mean of one number over the runs; not a number where there are none.
pub(super) fn mean(runs: &[Measured], value: impl Fn(&Measured) -> f64) -> f64 {
    Summary::of(&each(runs, value)).map_or(f64::NAN, |s| s.mean)
}

/// The largest of one number over the runs; not a number where there are none.
pub(super) fn largest(runs: &[Measured], value: impl Fn(&Measured) -> f64) -> f64 {
    Summary::of(&each(runs, value)).map_or(f64::NAN, |s| s.max)
}

/// A cell with the mean over the runs.
pub(super) fn cell(runs: &[Measured], unit: &str, value: impl Fn(&Measured) -> f64) -> Cell {
    Cell::number(mean(runs, value), unit)
}
