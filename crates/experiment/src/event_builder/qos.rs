//! Assigned against measured rates: one sender and one receiver, three senders to one, one sender to three.

mod tables;

use super::shown::{self, Line};
use crate::reproduce::{Case, Claim, Context, Runner, Section};
use clearway_report::Axis;
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../../../scenarios/event-builder-qos.toml");
const FILE: &str = "scenarios/event-builder-qos.toml";

/// A system of the talk, with the axis of its lost figure in Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    OneToOne,
    ThreeToOne,
    OneToThree,
}

impl System {
    const ALL: [Self; 3] = [Self::OneToOne, Self::ThreeToOne, Self::OneToThree];

    const fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "1x1",
            Self::ThreeToOne => "3x1",
            Self::OneToThree => "1x3",
        }
    }

    /// Assigned rates of a node, Mbit/s: those of the axis of the lost figure.
    const fn assigned(self) -> &'static [u32] {
        match self {
            Self::OneToOne => &[50, 100, 200, 300, 400, 500, 600],
            Self::ThreeToOne | Self::OneToThree => &[25, 50, 100, 150, 180, 200, 250],
        }
    }

    fn sets(self) -> Vec<String> {
        let ends = match self {
            Self::OneToOne => {
                return vec![
                    "workload.n2.stop=1ps".to_owned(),
                    "workload.n3.stop=1ps".to_owned(),
                ];
            }
            Self::ThreeToOne => [("a1", "b1"), ("a2", "b1"), ("a3", "b1")],
            Self::OneToThree => [("a1", "b1"), ("a1", "b2"), ("a1", "b3")],
        };
        (1..)
            .zip(ends)
            .flat_map(|(n, (from, to))| {
                [
                    format!("workload.n{n}.from={from}"),
                    format!("workload.n{n}.to={to}"),
                ]
            })
            .collect()
    }
}

/// What a frame of the netperf stream carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) name: &'static str,
    mss: u32,
}

/// Without time stamps: 40 B of TCP and IP headers below the MTU.
pub(super) const NORMAL: Frames = Frames {
    name: "MTU 1500",
    mss: 1_460,
};
pub(super) const JUMBO: Frames = Frames {
    name: "MTU 9000",
    mss: 8_960,
};

impl Frames {
    fn sets(self) -> Vec<String> {
        let mut sets: Vec<String> = (1..=3)
            .map(|n| format!("workload.n{n}.messages.transport.tcp.mss={}B", self.mss))
            .collect();
        // The rate tables have 256 cells for the longest frame.
        sets.push(format!("policy.qos.frame_max={}B", self.mss + 58));
        if self == JUMBO {
            for host in ["a{1..3}", "b{1..3}"] {
                sets.push(format!("host.\"{host}\".stack.interrupt.receive.time=300us"));
                sets.push(format!("host.\"{host}\".stack.interrupt.transmit.time=200us"));
            }
        }
        sets
    }

    /// Payload of what the token bucket counts: a frame without its check sequence.
    fn payload_share(self) -> f64 {
        f64::from(self.mss) / f64::from(self.mss + 54)
    }

    /// Payload rate over the assigned one as a rate table has it: whole cells, of which 256 hold the longest frame, and
    /// whole microseconds.
    fn table_share(self, rate_bps: f64) -> f64 {
        let counted = self.mss + 54;
        let mut cell = 1;
        while (self.mss + 58) / cell >= 256 {
            cell *= 2;
        }
        let micros = (f64::from(counted / cell * cell) * 8e6 / rate_bps).floor();
        f64::from(self.mss) * 8e6 / micros / rate_bps
    }
}

/// Measured payload rates of one run, bit/s, by stream; and how much of the first sender's processor was taken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) rates: Vec<f64>,
    pub(super) cpu: f64,
    pub(super) dropped: u64,
}

impl Run {
    fn of(outcome: &Outcome) -> Self {
        let seconds = outcome.measured().as_ps() as f64 * 1e-12;
        // By class: a class for each workload. Payload as it arrives: a message of 64 KiB is coarse at these rates.
        let rate = |c: &clearway_sim::results::ClassResult| c.counters.window.payload as f64 * 8.0 / seconds;
        let cpu = outcome.hosts.first().and_then(|h| h.cpus.first());
        Self {
            rates: outcome.classes.iter().map(rate).filter(|r| *r > 0.0).collect(),
            cpu: cpu.map_or(f64::NAN, |c| c.useful(outcome.measured())),
            dropped: outcome.classes.iter().map(|c| c.counters.dropped.frames).sum(),
        }
    }

    fn total(&self) -> f64 {
        self.rates.iter().sum()
    }

    fn least(&self) -> f64 {
        self.rates.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn largest(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Jain's index: 1 where all get the same.
    fn fairness(&self) -> f64 {
        let squares: f64 = self.rates.iter().map(|r| r * r).sum();
        self.total() * self.total() / (squares * self.rates.len() as f64)
    }
}

/// One point: the rate assigned to each receiver, in Mbit/s; none without QoS.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    system: System,
    frames: Frames,
    assigned: Option<u32>,
    /// Size of the buckets.
    burst: &'static str,
    /// What is different from the rest.
    variant: Option<Variant>,
}

/// What could have made the 1x3 system fail at full rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variant {
    name: &'static str,
    sets: &'static [&'static str],
}

const VARIANTS: [Variant; 5] = [
    Variant {
        name: "a bucket of 1 ms",
        sets: &[],
    },
    Variant {
        name: "queues of 32 frames",
        sets: &[
            "policy.qos.class.b1.cbq.tbf.limit=48kB",
            "policy.qos.class.b2.cbq.tbf.limit=48kB",
            "policy.qos.class.b3.cbq.tbf.limit=48kB",
        ],
    },
    Variant {
        name: "a processor half as fast",
        sets: &["host.\"a{1..3}\".stack.speed=0.5"],
    },
    Variant {
        name: "what waits takes the card's 128 places",
        sets: &["host.\"a{1..3}\".stack.transmit_ring=128"],
    },
    Variant {
        name: "a clock of HZ = 100 for the rate tables too",
        sets: &["policy.qos.cbq.resolution=10ms"],
    },
];

fn text(qos: bool) -> String {
    if qos {
        TEXT.to_owned()
    } else {
        TEXT.replace("nic.policy = \"qos\"\n", "")
    }
}

fn case(point: &Point) -> Case {
    let mut sets = point.system.sets();
    sets.extend(point.frames.sets());
    if let Some(rate) = point.assigned {
        for class in ["b1", "b2", "b3"] {
            let tbf = format!("policy.qos.class.{class}.cbq.tbf");
            sets.push(format!("{tbf}.rate={rate}Mbit/s"));
            sets.push(format!("{tbf}.burst={}", point.burst));
        }
    }
    sets.extend(
        point
            .variant
            .iter()
            .flat_map(|v| v.sets)
            .map(|set| (*set).to_owned()),
    );
    let variant = point.variant.map_or("", |v| v.name);
    let assigned = point
        .assigned
        .map_or_else(|| "no QoS".to_owned(), |r| format!("{r} Mbit/s"));
    Case::new(
        format!(
            "{}, {}, {assigned}, burst {}, {variant}",
            point.system.name(),
            point.frames.name,
            point.burst
        ),
        sets,
    )
}

fn run(context: &Context<'_>, points: &[Point]) -> Result<Vec<(Point, Vec<Run>)>, String> {
    let mut all = Vec::new();
    for qos in [true, false] {
        let mine: Vec<Point> = points
            .iter()
            .copied()
            .filter(|p| p.assigned.is_some() == qos)
            .collect();
        let text = text(qos);
        let runner = Runner {
            file: FILE,
            text: &text,
            options: RunOptions::default(),
        };
        let cases: Vec<Case> = mine.iter().map(case).collect();
        let runs = runner.run_kept(context, &cases, "rates", |_, _, outcome| Run::of(outcome))?;
        all.extend(mine.into_iter().zip(runs));
    }
    Ok(all)
}

pub(super) struct Found {
    pub(super) section: Section,
    pub(super) claims: Vec<Claim>,
}

/// The burst of every bucket unless a table says otherwise: what the tick asks for.
const BURST: &str = "10ms";

pub(super) fn run_all(context: &Context<'_>, thin: bool) -> Result<Found, String> {
    let mut points = Vec::new();
    for system in System::ALL {
        for frames in [NORMAL, JUMBO] {
            let rates = system.assigned().iter().copied().map(Some);
            for assigned in rates
                .chain([None])
                .filter(|r| !thin || r.is_none_or(|r| r == 100))
            {
                points.push(Point {
                    system,
                    frames,
                    assigned,
                    burst: BURST,
                    variant: None,
                });
            }
        }
    }
    for burst in ["1ms", "2500us", "5ms", "20ms"].into_iter().filter(|_| !thin) {
        points.push(Point {
            system: System::OneToOne,
            frames: NORMAL,
            assigned: Some(300),
            burst,
            variant: None,
        });
    }
    for variant in VARIANTS.into_iter().filter(|_| !thin) {
        let shown = [Some(100), Some(183), Some(250)].into_iter();
        let none = variant
            .sets
            .iter()
            .all(|set| set.starts_with("host"))
            .then_some(None);
        for assigned in shown.chain(none) {
            points.push(Point {
                system: System::OneToThree,
                frames: NORMAL,
                assigned,
                burst: if variant.sets.is_empty() { "1ms" } else { BURST },
                variant: Some(variant),
            });
        }
    }
    let found = run(context, &points)?;
    let section = Section {
        heading: "QoS: assigned and measured".to_owned(),
        text: vec![
            "Figures of the document's three systems, redrawn from the model; its own data is lost. Root CBQ of 1000 Mbit, a \
             class for each receiver, a token bucket of the assigned rate in it, a timer of 10 ms. Each bucket holds what its \
             rate brings in a tick: less is lost between ticks where nothing else makes the discipline look."
                .to_owned(),
        ],
        tables: vec![
                tables::table(&found),
                tables::overhead(&found),
                tables::bursts(&found),
                tables::variants(&found),
            ],
        figures: System::ALL.map(|system| figure(&found, system)).into(),
    };
    Ok(Found {
        claims: claims(&found),
        section,
    })
}

type Points = [(Point, Vec<Run>)];

fn of(found: &Points, system: System, frames: Frames, assigned: Option<u32>) -> Option<&Run> {
    let wanted = |p: &Point| {
        p.system == system
            && p.frames == frames
            && p.assigned == assigned
            && p.burst == BURST
            && p.variant.is_none()
    };
    found
        .iter()
        .find(|(p, _)| wanted(p))
        .and_then(|(_, runs)| runs.first())
}

fn figure(found: &Points, system: System) -> clearway_report::Figure {
    let most = f64::from(system.assigned().last().copied().unwrap_or(1)) * 1e6;
    let mut lines = Vec::new();
    for frames in [NORMAL, JUMBO] {
        let streams = if system == System::OneToOne { 1 } else { 3 };
        for stream in 0..streams {
            let at = |&rate: &u32| {
                let run = of(found, system, frames, Some(rate))?;
                Some((f64::from(rate) * 1e6, *run.rates.get(stream)?))
            };
            let name = if streams == 1 {
                format!("measured, {}", frames.name)
            } else {
                format!("node {}, {}", stream + 1, frames.name)
            };
            lines.push(Line {
                name,
                points: system.assigned().iter().filter_map(at).collect(),
            });
        }
    }
    lines.push(Line {
        name: "ideal rate".to_owned(),
        points: vec![(0.0, 0.0), (most, most)],
    });
    let mut figure = shown::figure(
        &format!("QoS performance on the {} system", system.name()),
        Axis::linear("assigned rate", "bit/s").ranged(0.0, most),
        Axis::linear("measured rate", "bit/s").ranged(0.0, most),
        lines,
        "Redrawn from the model; the document's own data is lost.",
    );
    if let Some(run) = of(found, system, NORMAL, None) {
        let mean = run.total() / run.rates.len().max(1) as f64;
        if mean <= most {
            figure = figure.threshold(mean, "no QoS, MTU 1500");
        }
    }
    figure
}

fn claims(found: &Points) -> Vec<Claim> {
    let mut claims = Vec::new();
    let ratio = |system: System, frames: Frames, rate: u32| {
        of(found, system, frames, Some(rate)).map(|run| {
            (
                run.least() / (f64::from(rate) * 1e6),
                run.largest() / (f64::from(rate) * 1e6),
            )
        })
    };
    if let (Some(normal), Some(jumbo)) = (
        ratio(System::OneToOne, NORMAL, 100),
        ratio(System::OneToOne, JUMBO, 100),
    ) {
        let below = System::OneToOne.assigned().iter().filter(|r| **r <= 500);
        let all: Vec<f64> = below
            .filter_map(|&r| ratio(System::OneToOne, NORMAL, r))
            .map(|r| r.0)
            .collect();
        let (least, most) = all
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, m), &r| (l.min(r), m.max(r)));
        claims.push(Claim::new(
            "1x1: bandwidth assignment worked well",
            format!(
                "normal frames, up to 500 Mbit/s assigned: {:.1} to {:.1} % of it measured",
                least * 100.0,
                most * 100.0
            ),
            least > 0.95 && most < 1.05,
        ));
        claims.push(Claim::new(
            "The overhead of QoS was very small and nearly 1 %",
            format!(
                "100 Mbit/s assigned: {:.2} % below it with normal frames, {:.2} % with jumbo frames (below zero: above it)",
                100.0 - normal.0 * 100.0,
                100.0 - jumbo.0 * 100.0
            ),
            [normal.0, jumbo.0].iter().any(|r| (0.985..0.995).contains(r)),
        ));
    }
    if let (Some(small), Some(large)) = (
        ratio(System::ThreeToOne, NORMAL, 100),
        ratio(System::ThreeToOne, NORMAL, 150),
    ) {
        claims.push(Claim::new(
            "3x1: bandwidth assignment worked well",
            format!(
                "100 Mbit/s to each: {:.1} to {:.1} % of it measured, 150: {:.1} to {:.1} %",
                small.0 * 100.0,
                small.1 * 100.0,
                large.0 * 100.0,
                large.1 * 100.0
            ),
            small.0 > 0.93 && large.0 > 0.93,
        ));
    }
    if let (Some(small), Some(full), Some(without)) = (
        ratio(System::OneToThree, NORMAL, 50),
        of(found, System::OneToThree, NORMAL, Some(250)),
        of(found, System::OneToThree, NORMAL, None),
    ) {
        claims.push(Claim::new(
            "1x3: bandwidth assignment worked well at small rate",
            format!(
                "50 Mbit/s to each: {:.1} to {:.1} % of it measured",
                small.0 * 100.0,
                small.1 * 100.0
            ),
            small.0 > 0.93,
        ));
        claims.push(Claim::new(
            "1x3: it did not work at full rate; packet sharing without QoS was better than with QoS",
            format!(
                "250 Mbit/s to each, more than the sender can: {:.0} to {:.0} Mbit/s with QoS (fairness {:.3}, {:.0} in all), {:.0} to \
                 {:.0} without (fairness {:.3}, {:.0} in all)",
                full.least() / 1e6,
                full.largest() / 1e6,
                full.fairness(),
                full.total() / 1e6,
                without.least() / 1e6,
                without.largest() / 1e6,
                without.fairness(),
                without.total() / 1e6
            ),
            full.fairness() < without.fairness() - 0.01 || full.total() < 0.97 * without.total(),
        ));
    }
    claims
}
