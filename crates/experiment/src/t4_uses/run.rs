//! Runs of the uses: what is kept of an outcome, and the mean of several seeds.
//!
//! Times are in seconds, rates in bit/s. Throughput is what arrived after the warm-up; latency is of frames (or calls)
//! begun after it.

use crate::reproduce::{Case, Context, Runner};
use clearway_metrics::{Histogram, Row};
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

/// A scenario file as part of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// How much is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// What the scenario files say.
    Full,
    /// Enough to see that everything runs.
    #[cfg(test)]
    Smoke,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Latency {
    pub(super) count: u64,
    pub(super) mean: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
    /// Time, and the fraction of all that took at least so long.
    pub(super) above: Vec<(f64, f64)>,
}

const PS: f64 = 1e-12;

impl Latency {
    fn of(histogram: &Histogram) -> Option<Self> {
        let at = |q| histogram.value_at_quantile(q).map(|ps| ps as f64 * PS);
        // The line begins at the least value with all of them and ends at the largest with one.
        let first = histogram.min().map(|ps| (ps as f64 * PS, 1.0));
        let last = histogram
            .max()
            .map(|ps| (ps as f64 * PS, 1.0 / histogram.count() as f64));
        let between = histogram.ccdf().map(|(ps, share)| (ps as f64 * PS, share));
        Some(Self {
            count: histogram.count(),
            mean: histogram.mean()? * PS,
            p99: at(0.99)?,
            p999: at(0.999)?,
            max: at(1.0)?,
            above: first.into_iter().chain(between).chain(last).collect(),
        })
    }
}

/// One class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Class {
    pub(super) name: String,
    /// Frames begun, and those of them that were lost.
    pub(super) offered: u64,
    pub(super) dropped: u64,
    /// Payload that arrived.
    pub(super) payload_bps: f64,
    /// The same with all headers, preamble and gap; and the part of it that the host `server` did not send.
    pub(super) wire_bps: f64,
    pub(super) upstream_bps: f64,
    /// One way, each frame.
    pub(super) latency: Option<Latency>,
}

/// What one workload did, where frames are not what counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    pub(super) name: String,
    /// Calls, from the intended instant to the answer.
    pub(super) round_trips: Option<Latency>,
    /// Calls begun that were not answered by the end.
    pub(super) unanswered: u64,
    /// TCP payload that arrived in order, or payload of messages.
    pub(super) tcp_bps: f64,
}

/// Storage operations of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Operations {
    pub(super) name: String,
    /// Operations a second.
    pub(super) per_second: f64,
    /// Payload of the blocks.
    pub(super) bps: f64,
    /// Mean latency of all of them, seconds.
    pub(super) mean: f64,
    /// On average outstanding.
    pub(super) outstanding: f64,
    pub(super) reads: Option<Latency>,
    pub(super) writes: Option<Latency>,
}

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cpu {
    /// Share of the time in which it worked, and that of interrupts alone.
    pub(super) busy: f64,
    pub(super) interrupts: f64,
    /// Frames taken from its ring.
    pub(super) frames: u64,
}

/// How a number is spread over the streams of a class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
    /// The number, and the fraction of the streams that have at least so much.
    pub(super) above: Vec<(f64, f64)>,
}

/// Points of a line that stands for all streams.
const LINE_POINTS: usize = 200;

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let step = count.div_ceil(LINE_POINTS).max(1);
        let places = (0..count).step_by(step).chain([count - 1]);
        Self {
            min,
            mean: values.iter().sum::<f64>() / count as f64,
            p99: values[((0.99 * count as f64) as usize).min(count - 1)],
            max,
            above: places
                .map(|i| (values[i], (count - i) as f64 / count as f64))
                .collect(),
        }
    }
}

/// The streams of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Streams {
    pub(super) class: String,
    pub(super) flows: u64,
    /// Frames that came, that were lost, and that came after a later one of their stream.
    pub(super) frames: u64,
    pub(super) lost: u64,
    pub(super) reordered: u64,
    /// RFC 3550's interarrival jitter of each stream at the end, seconds.
    pub(super) jitter: Spread,
    /// Delay variation of each stream peak to peak, seconds.
    pub(super) variation: Spread,
    /// What arrived of each stream between its first and its last frame, L1 bit/s.
    pub(super) rate: Spread,
}

impl Streams {
    fn of(outcome: &Outcome, class: usize) -> Option<Self> {
        // Acknowledgements belong to their workload's class; the streams are what the servers send.
        let forward = |f: &&clearway_sim::results::FlowResult| {
            usize::from(f.class) == class && f.counters.delivered_bytes > 64 * f.counters.delivered_frames
        };
        let flows: Vec<_> = outcome.flows.iter().filter(forward).collect();
        let jitters: Vec<_> = flows
            .iter()
            .filter_map(|f| f.jitter)
            .filter(|j| j.frames > 1)
            .collect();
        if jitters.is_empty() {
            return None;
        }
        let rate = |j: &clearway_sim::results::FlowJitter| {
            let wire = j.span_bytes + 20 * (j.frames + j.reordered - 1);
            wire as f64 * 8.0 / (j.span_ps as f64 * PS)
        };
        let rates = jitters.iter().filter(|j| j.span_ps > 0).map(rate);
        let ps = |of: fn(&clearway_sim::results::FlowJitter) -> u64| {
            Spread::of(jitters.iter().map(|j| of(j) as f64 * PS).collect())
        };
        Some(Self {
            class: outcome.classes.get(class)?.name.clone(),
            flows: flows.len() as u64,
            frames: flows.iter().map(|f| f.counters.delivered_frames).sum(),
            lost: flows.iter().map(|f| f.counters.dropped_frames).sum(),
            reordered: jitters.iter().map(|j| j.reordered).sum(),
            jitter: ps(|j| j.jitter_ps),
            variation: ps(|j| j.variation_ps),
            rate: Spread::of(rates.collect()),
        })
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    /// Simulated seconds that were measured.
    pub(super) seconds: f64,
    pub(super) classes: Vec<Class>,
    pub(super) work: Vec<Work>,
    /// By class, where the scenario keeps the jitter of flows.
    pub(super) streams: Vec<Streams>,
    pub(super) operations: Vec<Operations>,
    /// Processors of the hosts that have a stack, in order.
    pub(super) cpus: Vec<Cpu>,
    /// Mean latency of each flow, seconds.
    pub(super) flow_latency: Spread,
    /// Streams moved between classes: down and up.
    pub(super) moves: [u64; 2],
    /// Most that a switch held, bytes.
    pub(super) switch_bytes: u64,
    /// Frames that crossed a line.
    pub(super) packet_hops: u64,
    /// Tidy rows but those of single flows.
    pub(super) rows: Vec<Row>,
}

impl Run {
    fn of(use_name: &str, case: &Case, outcome: &Outcome) -> Self {
        let seconds = outcome.measured().as_ps() as f64 * PS;
        let bps = |bytes: u64| bytes as f64 * 8.0 / seconds;
        let server = outcome
            .hosts
            .iter()
            .position(|h| h.name == "server")
            .map(|h| h as u32);
        let upstream = |class: usize| -> u64 {
            let theirs = outcome
                .flows
                .iter()
                .filter(|f| usize::from(f.class) == class && Some(f.from) != server);
            theirs
                .map(|f| f.counters.delivered_bytes + 20 * f.counters.delivered_frames)
                .sum()
        };
        let class = |(place, class): (usize, &clearway_sim::results::ClassResult)| {
            let c = &class.counters;
            Class {
                name: class.name.clone(),
                offered: c.offered.frames,
                dropped: c.dropped.frames,
                payload_bps: bps(c.window.payload),
                wire_bps: bps(c.window.l1_bytes()),
                upstream_bps: bps(upstream(place)),
                latency: Latency::of(&c.from_generation),
            }
        };
        let mut work: Vec<Work> = Vec::new();
        for call in &outcome.calls {
            work.push(Work {
                name: call.workload.clone(),
                round_trips: Latency::of(&call.calls.round_trips),
                unanswered: call.calls.begun - call.calls.answered,
                tcp_bps: 0.0,
            });
        }
        for tcp in &outcome.tcp {
            work.push(Work {
                name: tcp.workload.clone(),
                round_trips: None,
                unanswered: 0,
                tcp_bps: bps(tcp.delivered_bytes),
            });
        }
        for message in &outcome.messages {
            work.push(Work {
                name: message.workload.clone(),
                round_trips: Latency::of(&message.messages.round_trips),
                unanswered: 0,
                tcp_bps: bps(message.messages.window_bytes),
            });
        }
        let operations = outcome.storage.iter().filter_map(|storage| {
            let all = &storage.all;
            Some(Operations {
                name: storage.workload.clone(),
                per_second: all.rate(outcome.measured()),
                bps: bps(all.bytes),
                mean: all.mean_latency()?,
                outstanding: all.outstanding(outcome.measured()),
                reads: Latency::of(&all.reads),
                writes: Latency::of(&all.writes),
            })
        });
        let cpus = outcome.hosts.iter().flat_map(|host| &host.cpus).map(|cpu| Cpu {
            busy: cpu.useful(outcome.measured()),
            interrupts: cpu.usage.interrupt_ps as f64 * PS / seconds,
            frames: cpu.usage.frames,
        });
        let flow_latency = outcome
            .flows
            .iter()
            .map(|f| &f.counters)
            .filter(|c| c.delivered_frames > 0);
        let flow_latency = flow_latency.map(|c| c.latency_sum_ps as f64 * PS / c.delivered_frames as f64);
        let mut rows = outcome.rows(&format!("{use_name}: {}", case.name));
        rows.retain(|row| row.scope != "flow");
        Self {
            seconds,
            classes: outcome.classes.iter().enumerate().map(class).collect(),
            work,
            streams: (0..outcome.classes.len())
                .filter_map(|class| Streams::of(outcome, class))
                .collect(),
            operations: operations.collect(),
            cpus: cpus.collect(),
            flow_latency: Spread::of(flow_latency.collect()),
            moves: outcome.actions.iter().fold([0; 2], |[down, up], action| {
                [down + action.moves[0], up + action.moves[1]]
            }),
            switch_bytes: outcome
                .switches
                .iter()
                .map(|s| s.memory_bytes_peak)
                .max()
                .unwrap_or(0),
            packet_hops: outcome.engine.packet_hops,
            rows,
        }
    }

    /// A class by name.
    pub(super) fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|c| c.name == name)
    }
    /// A workload by name.
    pub(super) fn work(&self, name: &str) -> Option<&Work> {
        self.work.iter().find(|w| w.name == name)
    }
    /// Storage operations by workload.
    pub(super) fn operations(&self, name: &str) -> Option<&Operations> {
        self.operations.iter().find(|o| o.name == name)
    }
    /// TCP payload of all workloads whose names begin so.
    pub(super) fn tcp_bps(&self, prefix: &str) -> f64 {
        let mine = self.work.iter().filter(|w| w.name.starts_with(prefix));
        mine.map(|w| w.tcp_bps).sum()
    }
}

/// A case with its runs, one a seed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) runs: Vec<Run>,
}

impl Seen {
    /// The mean of a number over the seeds; not a number where no run has it.
    pub(super) fn average(&self, of: impl Fn(&Run) -> Option<f64>) -> f64 {
        let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
    /// The largest of a number over the seeds.
    pub(super) fn largest(&self, of: impl Fn(&Run) -> Option<f64>) -> f64 {
        self.runs.iter().filter_map(of).fold(f64::NAN, f64::max)
    }
    /// A number of a class' latency, the mean over the seeds.
    pub(super) fn latency(&self, class: &str, of: impl Fn(&Latency) -> f64) -> f64 {
        self.average(|run| run.class(class)?.latency.as_ref().map(&of))
    }
    /// The distribution of the first seed: one is like another, and a mean of distributions is none.
    pub(super) fn first(&self, of: impl Fn(&Run) -> Option<&Latency>) -> Option<&Latency> {
        self.runs.first().and_then(of)
    }
}

/// The cases of one use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uses<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) extent: Extent,
}

impl Uses<'_> {
    /// Runs cases of a scenario.
    pub(super) fn run(&self, name: &str, file: File, cases: &[Case]) -> Result<Vec<Seen>, String> {
        let cases: Vec<Case> = cases.iter().map(|case| self.extent.apply(case)).collect();
        let runner = Runner {
            file: file.name,
            text: file.text,
            options: RunOptions::default(),
        };
        let runs = runner.run_kept(self.context, &cases, name, |case, _, outcome| {
            Run::of(name, case, outcome)
        })?;
        let seen = cases.iter().zip(runs).map(|(case, runs)| Seen {
            name: case.name.clone(),
            runs,
        });
        Ok(seen.collect())
    }
}

impl Extent {
    fn apply(self, case: &Case) -> Case {
        #[cfg(test)]
        if self == Self::Smoke {
            let mut short = case.clone().with_seeds(1);
            let spans = ["duration=4ms", "warmup=1ms"];
            short.sets.extend(spans.map(str::to_owned));
            return short;
        }
        case.clone()
    }
}

/// The same override for several names: `PREFIX.NAME.PATH=VALUE`.
pub(super) fn each(prefix: &str, names: &[&str], path: &str, value: &str) -> Vec<String> {
    let set = |name: &&str| format!("{prefix}.{name}.{path}={value}");
    names.iter().map(set).collect()
}
