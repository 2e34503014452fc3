//! The cases of the latency experiment as overrides of its scenario, and what is kept of their runs.

use crate::reproduce::{Case, Context, Runner};
use clearway_metrics::{Histogram, Row};
use clearway_sim::{Outcome, RunOptions};

const FILE: &str = "scenarios/t5-latency-rate.toml";
const TEXT: &str = include_str!("../../../../scenarios/t5-latency-rate.toml");
/// Every so many messages one is answered: sockperf's default.
const ANSWERED_EVERY: f64 = 100.0;
/// A rate is sustained where so much of it arrives and nothing is lost.
const SUSTAINED: f64 = 0.99;

/// An adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Card {
    T5,
    Sfn,
}

impl Card {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::T5 => "T520-LL-CR",
            Self::Sfn => "SFN7122F",
        }
    }

    /// What makes both hosts have it.
    fn sets(self) -> Vec<String> {
        let each = |path: &str| ["client", "server"].map(|host| format!("host.{host}.{path}"));
        match self {
            Self::T5 => Vec::new(),
            // A transmit ring is not published; the device file has the receive ring.
            Self::Sfn => each("device=../devices/sfn7122f.toml")
                .into_iter()
                .chain(each("stack={}"))
                .collect(),
        }
    }
}

/// How the instants of messages are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    Even,
    Poisson,
}

/// What a case is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) card: Card,
    /// "udp" or "tcp".
    pub(super) transport: &'static str,
    pub(super) spacing: Spacing,
    /// Messages a second.
    pub(super) rate: f64,
}

impl Point {
    pub(super) fn name(&self) -> String {
        let spacing = match self.spacing {
            Spacing::Even => "",
            Spacing::Poisson => ", Poisson",
        };
        format!(
            "{}, {}, {}K/s{spacing}",
            self.card.name(),
            self.transport.to_uppercase(),
            self.rate / 1e3
        )
    }

    /// Simulated milliseconds for about so many messages.
    fn milliseconds(&self, messages: f64) -> f64 {
        messages / self.rate * 1e3
    }

    fn case(&self, messages: f64) -> Case {
        let ms = self.milliseconds(messages);
        let mut sets = self.card.sets();
        let arrivals = match self.spacing {
            Spacing::Even => "even",
            Spacing::Poisson => "poisson",
        };
        let probes = match self.spacing {
            // Two even streams would meet at the same place each time: one, and its way there.
            Spacing::Even => {
                sets.push("workload.probes.stop=1ps".to_owned());
                0.0
            }
            Spacing::Poisson => 1.0 / ANSWERED_EVERY,
        };
        for (workload, share) in [("load", 1.0 - probes), ("probes", 1.0 / ANSWERED_EVERY)] {
            let key = format!("workload.{workload}.messages");
            sets.push(format!("{key}.rate={:.0}frame/s", self.rate * share));
            sets.push(format!("{key}.transport={}", self.transport));
            sets.push(format!("{key}.arrivals={arrivals}"));
        }
        sets.push(format!("duration={:.0}us", ms * 1.1e3));
        sets.push(format!("warmup={:.0}us", ms * 0.1e3));
        Case::new(self.name(), sets)
    }
}

/// One run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Times that are compared, picoseconds.
    times: Histogram,
    /// What one of them is of half a round trip: one way, or the whole round trip.
    part: f64,
    /// Messages a second that arrived.
    pub(super) arrived: f64,
    /// Messages a second that were sent.
    offered: f64,
    /// Messages lost.
    pub(super) lost: u64,
    /// Frames lost, those that TCP sent again among them.
    pub(super) dropped: u64,
    /// Useful share of the client's and the server's processor.
    pub(super) useful: [f64; 2],
    pub(super) seconds: f64,
    pub(super) rows: Vec<Row>,
}

impl Run {
    fn of(case: &Case, outcome: &Outcome) -> Self {
        let seconds = outcome.measured().as_ps() as f64 * 1e-12;
        let (mut round_trips, mut one_way) = (Histogram::default(), Histogram::default());
        let (mut window, mut posted, mut lost) = (0, 0, 0);
        for result in &outcome.messages {
            let m = &result.messages;
            round_trips.merge(&m.round_trips);
            one_way.merge(&m.one_way);
            (window, posted, lost) = (window + m.window, posted + m.posted, lost + m.lost);
        }
        let useful = |host: usize| {
            let cpu = outcome.hosts.get(host).and_then(|h| h.cpus.first());
            cpu.map_or(0.0, |c| c.useful(outcome.measured()))
        };
        let answered = round_trips.count() > 0;
        Self {
            times: if answered { round_trips } else { one_way },
            part: if answered { 0.5e-12 } else { 1e-12 },
            arrived: window as f64 / seconds,
            offered: posted as f64 / seconds,
            lost,
            dropped: outcome.classes.iter().map(|c| c.counters.dropped.frames).sum(),
            useful: [useful(0), useful(1)],
            seconds,
            rows: outcome.rows(&case.name),
        }
    }

    /// Mean of half the round trip, seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        self.times.mean().map(|ps| ps * self.part)
    }
    /// A quantile of half the round trip, seconds.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        self.times.value_at_quantile(q).map(|ps| ps as f64 * self.part)
    }
    /// The least half round trip, seconds.
    pub(super) fn min(&self) -> Option<f64> {
        self.times.min().map(|ps| ps as f64 * self.part)
    }
    fn is_sustained(&self) -> bool {
        self.lost == 0 && self.arrived >= SUSTAINED * self.offered
    }
}

/// A case with its runs, one a seed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) point: Point,
    pub(super) runs: Vec<Run>,
}

impl Seen {
    /// The mean of a number over the seeds; not a number where there is none.
    pub(super) fn average(&self, of: impl Fn(&Run) -> Option<f64>) -> f64 {
        let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
    /// Everything that was sent arrived, nearly as fast.
    pub(super) fn is_sustained(&self) -> bool {
        self.runs.iter().all(Run::is_sustained)
    }
}

/// Runs the points for about so many messages each. None where the work was stopped.
pub(super) fn run(
    context: &Context<'_>,
    points: &[Point],
    messages: f64,
    more: &[String],
) -> Result<Option<Vec<Seen>>, String> {
    let runner = Runner {
        file: FILE,
        text: TEXT,
        options: RunOptions::default(),
    };
    let mut cases: Vec<Case> = points.iter().map(|p| p.case(messages)).collect();
    for case in &mut cases {
        case.sets.extend(more.iter().cloned());
    }
    let runs = runner.run(context, &cases, |case, _, outcome| Run::of(case, outcome))?;
    if runs.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    let seen = points.iter().zip(runs).map(|(&point, runs)| Seen { point, runs });
    Ok(Some(seen.collect()))
}
