//! The cases of the storage experiment as overrides of its scenario, and what is kept of their runs.

use crate::reproduce::{Case, Context, Runner};
use clearway_metrics::Row;
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

/// Seconds of a published run (`diskspd -d300`, `ntttcp -t 300`).
pub(super) const PUBLISHED_SECONDS: f64 = 300.0;
/// What the published `write latency` columns have outstanding: 4 nodes, 20 machines, 2 each.
pub(super) const OUTSTANDING: f64 = 160.0;

/// The four nodes at one switch.
pub(super) const NODES: Runner<'static> = Runner {
    file: "scenarios/s2d-ets.toml",
    text: include_str!("../../../../scenarios/s2d-ets.toml"),
    options: RunOptions {
        round_trip_samples_max: 0,
    },
};
/// The same nodes with a team of two ports each.
pub(super) const TEAM: Runner<'static> = Runner {
    file: "scenarios/s2d-ets-team.toml",
    text: include_str!("../../../../scenarios/s2d-ets-team.toml"),
    options: RunOptions {
        round_trip_samples_max: 0,
    },
};

/// Storage alone: the other workloads stop at once (zero would be refused).
const STORAGE_ALONE: [&str; 4] = [
    "workload.nic1.stop=1ps",
    "workload.nic2.stop=1ps",
    "workload.nic3.stop=1ps",
    "workload.nic4.stop=1ps",
];
/// Everything in one class.
const ONE_CLASS: &str = "policy.nic.class.rdma.pcp=7";
/// Its connections take turns, frame by frame.
const TURNS: &str = "policy.nic.class.other.per_flow.limit=4096frames";

/// Simulated milliseconds: how long, and how much of it is not measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Cases whose operations take tens of milliseconds.
    pub(super) short: (u32, u32),
    /// The case whose operations take two hundred.
    pub(super) long: (u32, u32),
    /// Where the share changes: the run, and the two changes.
    pub(super) change: (u32, [u32; 2]),
    /// Where a port fails: the run, the failure, the return.
    pub(super) team: (u32, [u32; 2]),
}

impl Span {
    /// What the published figures are compared with.
    pub(super) const PUBLISHED: Self = Self {
        short: (500, 150),
        long: (1_400, 400),
        change: (1_300, [400, 900]),
        team: (1_400, [400, 1_100]),
    };
    /// Enough to see that everything runs.
    #[cfg(test)]
    pub(super) const SMOKE: Self = Self {
        short: (40, 20),
        long: (60, 20),
        change: (60, [20, 40]),
        team: (60, [20, 40]),
    };
}

fn spanning((duration, warmup): (u32, u32)) -> [String; 2] {
    [format!("duration={duration}ms"), format!("warmup={warmup}ms")]
}

fn case(name: &str, span: (u32, u32), sets: &[&str]) -> Case {
    let sets = sets.iter().map(|&s| s.to_owned()).chain(spanning(span));
    Case::new(name, sets)
}

/// The document's five cases.
pub(super) fn published(span: &Span) -> Vec<Case> {
    vec![
        case("NIC alone", span.short, &["workload.rdma.stop=1ps"]),
        case("RDMA alone", span.short, &STORAGE_ALONE),
        case("both, no QoS", span.short, &[ONE_CLASS, TURNS]),
        case("both, 80:20", span.short, &[]),
        squeezed("both, 10:90", span, &[]),
    ]
}

/// 10 % for storage, 90 % for the rest.
fn squeezed(name: &str, span: &Span, more: &[&str]) -> Case {
    let sets = [
        "policy.nic.class.rdma.share=10%",
        "policy.nic.class.other.share=90%",
    ];
    case(name, span.long, &[&sets[..], more].concat())
}

/// The cases again with a fitted parameter at its neutral value, one seed each.
pub(super) fn left_out(span: &Span) -> Vec<(&'static str, Vec<Case>)> {
    let mirrored = published(span).into_iter().skip(1).map(|mut case| {
        case.sets.push("workload.rdma.storage.copies=2".to_owned());
        case.with_seeds(1)
    });
    let fifo = case("both, no QoS", span.short, &[ONE_CLASS]).with_seeds(1);
    vec![("copies", mirrored.collect()), ("turns", vec![fifo])]
}

/// The share changed from 80 to 10 % and back while everything runs.
pub(super) fn change(span: &Span) -> Case {
    let (duration, [down, up]) = span.change;
    let mut sets = vec![
        format!("duration={duration}ms"),
        format!("warmup={}ms", down / 2),
        "sample_interval=1ms".to_owned(),
    ];
    for (name, at, share) in [("squeeze", down, "10%"), ("release", up, "80%")] {
        sets.push(format!("at.{name}.time={at}ms"));
        sets.push(format!("at.{name}.class=rdma"));
        sets.push(format!("at.{name}.share={share}"));
    }
    Case::new("80 to 10 and back", sets)
}

/// Windows of the storage connections that are tried, KiB.
pub(super) const WINDOWS: [u32; 4] = [64, 128, 256, 512];

/// One FIFO, and 10:90, with other windows of the storage connections.
pub(super) fn windows(span: &Span) -> Vec<Case> {
    let with = |mut case: Case, kib: u32| {
        for side in ["send", "receive"] {
            let window = kib * if side == "send" { 1 } else { 2 };
            case.sets.push(format!(
                "workload.rdma.storage.transport.iwarp.{side}_buffer={window}KiB"
            ));
        }
        case.with_seeds(1)
    };
    let fifo = WINDOWS.map(|kib| {
        let name = format!("one FIFO, {kib} KiB");
        with(case(&name, span.short, &[ONE_CLASS]), kib)
    });
    let ets = WINDOWS.map(|kib| with(squeezed(&format!("10:90, {kib} KiB"), span, &[]), kib));
    fifo.into_iter().chain(ets).collect()
}

/// Detection times and least retransmission timeouts of the failing port, milliseconds. An acknowledgement is delayed by
/// 40 ms at most, or by half the timeout where that is less: otherwise the timer would run out before it (Windows'
/// template for data centres has 20 and 10 ms).
pub(super) const FAILURES: [(u32, u32); 5] = [(1, 300), (10, 300), (100, 300), (10, 20), (10, 100)];

/// A port of a team fails and comes back.
pub(super) fn failures(span: &Span) -> Vec<Case> {
    let (duration, [down, up]) = span.team;
    let one = |&(detection, rto): &(u32, u32)| {
        let name = format!("detected after {detection} ms, timeout {rto} ms");
        let sets = [
            format!("duration={duration}ms"),
            format!("warmup={}ms", down / 2),
            format!("at.fails.time={down}ms"),
            format!("at.returns.time={up}ms"),
            format!("at.fails.detection={detection}ms"),
            format!("workload.rdma.storage.transport.iwarp.rto_min={rto}ms"),
            format!("workload.nic.messages.transport.tcp.rto_min={rto}ms"),
            format!(
                "workload.rdma.storage.transport.iwarp.delayed_ack={}ms",
                rto.div_ceil(2).min(40)
            ),
            format!(
                "workload.nic.messages.transport.tcp.delayed_ack={}ms",
                rto.div_ceil(2).min(40)
            ),
        ];
        Case::new(name, sets).with_seeds(1)
    };
    FAILURES.iter().map(one).collect()
}

/// What is told of one timed change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) flows: u64,
    pub(super) frames_lost: u64,
    /// Seconds until the throughput of the flows that crossed the link was back.
    pub(super) throughput_back: Option<f64>,
    /// Seconds until every one of them had delivered again.
    pub(super) flows_back: Option<f64>,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// Simulated seconds that were measured.
    pub(super) seconds: f64,
    /// Payload bytes of blocks a second, all nodes.
    pub(super) storage: f64,
    /// Operations a second, all nodes.
    pub(super) operations: f64,
    /// Mean latency of a write, seconds.
    pub(super) latency: f64,
    /// Operations outstanding.
    pub(super) outstanding: f64,
    /// The same of each node: bytes a second, operations a second, seconds.
    pub(super) nodes: Vec<[f64; 3]>,
    /// L2 bit/s of the other traffic, per node.
    pub(super) nic: f64,
    /// Bytes of storage among all, on the wire.
    pub(super) share: f64,
    /// Frames lost.
    pub(super) lost: u64,
    /// Bytes delivered in the second half of the measured time for each in the first.
    pub(super) drift: f64,
    /// Writes that took at least so many seconds, as a fraction.
    pub(super) latencies: Vec<(f64, f64)>,
    /// L2 bytes of both classes in each sample interval, and its length in seconds.
    pub(super) bins: Vec<[u64; 2]>,
    pub(super) bin: f64,
    pub(super) told: Vec<Told>,
    /// Tidy rows, those of single flows left out.
    pub(super) rows: Vec<Row>,
}

impl Run {
    pub(super) fn of(case: &Case, outcome: &Outcome) -> Self {
        let measured = outcome.measured();
        let seconds = measured.as_ps() as f64 * 1e-12;
        let storage = outcome.storage.first();
        let all = storage.map(|s| s.all.clone()).unwrap_or_default();
        let nodes = storage.map_or(&[][..], |s| &s.hosts);
        let window = |class: usize| outcome.classes.get(class).map(|c| c.counters.window);
        let l1 = |class: usize| window(class).map_or(0.0, |w| w.l1_bytes() as f64);
        let bins: Vec<[u64; 2]> = match outcome.classes.as_slice() {
            [a, b, ..] => {
                let both = a.counters.bins.iter().zip(&b.counters.bins);
                both.map(|(a, b)| [*a, *b]).collect()
            }
            _ => Vec::new(),
        };
        let bin = outcome.simulated.as_ps() as f64 * 1e-12 / (bins.len().max(2) - 1) as f64;
        let first = (outcome.warmup.as_ps() as f64 * 1e-12 / bin).ceil() as usize;
        let half = bins.len().saturating_sub(first + 1) / 2;
        let sum = |from: usize| -> f64 {
            let part = bins.iter().skip(from).take(half);
            part.map(|b| (b[0] + b[1]) as f64).sum()
        };
        let second = |ps: Option<u64>| ps.map(|ps| ps as f64 * 1e-12);
        Self {
            seconds,
            storage: all.bytes as f64 / seconds,
            operations: all.rate(measured),
            latency: all.writes.mean().map_or(f64::NAN, |ps| ps * 1e-12),
            outstanding: all.outstanding(measured),
            nodes: nodes
                .iter()
                .map(|(_, own)| {
                    let latency = own.mean_latency().unwrap_or(f64::NAN);
                    [own.bytes as f64 / seconds, own.rate(measured), latency]
                })
                .collect(),
            nic: window(1).map_or(0.0, |w| w.bytes as f64) * 8.0 / seconds / 4.0,
            share: l1(0) / (l1(0) + l1(1)),
            lost: outcome.classes.iter().map(|c| c.counters.dropped.frames).sum(),
            drift: sum(first + half) / sum(first),
            latencies: all
                .writes
                .ccdf()
                .map(|(ps, fraction)| (ps as f64 * 1e-12, fraction))
                .collect(),
            bins,
            bin,
            told: outcome
                .actions
                .iter()
                .map(|a| Told {
                    flows: a.flows,
                    frames_lost: a.frames_lost,
                    throughput_back: second(a.throughput_back_ps),
                    flows_back: second(a.flows_back_ps),
                })
                .collect(),
            rows: outcome
                .rows(&case.name)
                .into_iter()
                .filter(|row| row.scope != "flow")
                .collect(),
        }
    }

    /// The sample intervals that are measured to their ends, and how many come before them: the warm-up is not counted.
    pub(super) fn measured_bins(&self) -> (usize, &[[u64; 2]]) {
        let first = self.bins.iter().position(|b| b[0] + b[1] > 0);
        let first = first.map_or(self.bins.len(), |f| f + 1);
        let last = self.bins.len().saturating_sub(1);
        (first, self.bins.get(first..last).unwrap_or(&[]))
    }

    /// Share of storage (L2) over `bins` sample intervals before each instant, with the instants in seconds.
    pub(super) fn shares(&self, bins: usize) -> Vec<(f64, f64)> {
        let (before, measured) = self.measured_bins();
        let windows = measured.windows(bins).enumerate();
        let share = |(first, window): (usize, &[[u64; 2]])| {
            let [a, b] = window.iter().fold([0, 0], |s, w| [s[0] + w[0], s[1] + w[1]]);
            let share = a as f64 / ((a + b) as f64).max(1.0);
            ((before + first + bins) as f64 * self.bin, share)
        };
        windows.map(share).collect()
    }
}

/// A case with its runs, one a seed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) runs: Vec<Run>,
}

impl Seen {
    /// The mean of a number over the seeds.
    pub(super) fn average(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / self.runs.len() as f64
    }
}

/// Runs cases of one of the two scenarios.
pub(super) fn run(context: &Context<'_>, runner: &Runner<'_>, cases: &[Case]) -> Result<Vec<Seen>, String> {
    let results = runner.run_kept(context, cases, "numbers", |case, _, outcome| {
        Run::of(case, outcome)
    })?;
    let named = cases.iter().zip(results).map(|(case, runs)| Seen {
        name: case.name.clone(),
        runs,
    });
    Ok(named.collect())
}
