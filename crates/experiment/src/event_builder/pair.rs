//! Throughput between two PCs by message size: frame length, coalescing, processor, bus, memory copy.

use super::shown::{self, Line};
use crate::reproduce::{Case, Claim, Context, Prediction, Runner, Section};
use clearway_report::{Axis, Cell, Table};
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../../../../scenarios/event-builder-pair.toml");
const FILE: &str = "scenarios/event-builder-pair.toml";

/// Message sizes of the document's axes, bytes.
const SIZES: [u64; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// The pairs tx_coal and rx_coal that the document tried, microseconds.
const PAIRS: [(u32, u32); 8] = [
    (20, 30),
    (400, 120),
    (200, 300),
    (996, 1_000),
    (400, 600),
    (2_000, 2_000),
    (2, 3),
    (40, 12),
];

/// A PC of the document: its clock over that of the PC500, and the rate of a copy in its memory, Mbit/s: a copied byte is
/// read, its line fetched, and written, so a third of 8 B times the memory's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Machine {
    name: &'static str,
    speed: f64,
    copy_mbps: u32,
}

const PC500: Machine = Machine {
    name: "PC500 (440GX)",
    speed: 1.0,
    copy_mbps: 2_133,
};
const PC733: Machine = Machine {
    name: "PC733 (ServerSet III LE)",
    speed: 1.466,
    copy_mbps: 2_837,
};
const PC800: Machine = Machine {
    name: "PC800 (440BX)",
    speed: 1.6,
    copy_mbps: 2_133,
};

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    machine: Machine,
    jumbo: bool,
    /// 64-bit PCI at 33 MHz rather than 32-bit.
    wide: bool,
    coalescing: (u32, u32),
    bytes: u64,
}

impl Point {
    /// The document's tuning: 996/1000 for normal frames, 200/300 for jumbo frames.
    const fn tuned(machine: Machine, jumbo: bool, bytes: u64) -> Self {
        Self {
            machine,
            jumbo,
            wide: false,
            coalescing: if jumbo { (200, 300) } else { (996, 1_000) },
            bytes,
        }
    }

    fn case(&self) -> Case {
        let host = |key: &str| format!("host.\"pc{{1..2}}\".{key}");
        let (tx, rx) = self.coalescing;
        let mut sets = vec![
            format!("workload.netperf.messages.message={}B", self.bytes),
            format!("{}={}", host("stack.speed"), self.machine.speed),
            format!("{}={}Mbit/s", host("stack.receive.copy"), self.machine.copy_mbps),
            format!("{}={}Mbit/s", host("stack.transmit.copy"), self.machine.copy_mbps),
            format!("{}={rx}us", host("stack.interrupt.receive.time")),
            format!("{}={tx}us", host("stack.interrupt.transmit.time")),
        ];
        if self.jumbo {
            sets.push("workload.netperf.messages.transport.tcp.mss=8960B".to_owned());
        }
        if self.wide {
            // Twice the rate; the overhead keeps the set-up's time: half of 2 x (1,285 + 1,518) B is left for it.
            sets.push(format!("{}=2.112Gbit/s", host("nic.host_interface.rate")));
            sets.push(format!("{}=4088B", host("nic.host_interface.packet_overhead")));
        }
        Case::new(
            format!(
                "{}, {}, {}-bit PCI, tx {tx} rx {rx}, {} B, copy {}",
                self.machine.name,
                if self.jumbo { "jumbo" } else { "normal" },
                if self.wide { 64 } else { 32 },
                self.bytes,
                self.machine.copy_mbps
            ),
            sets,
        )
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Run {
    /// Payload, bit/s.
    rate: f64,
    /// Share of the sender's and the receiver's processor.
    sender: f64,
    receiver: f64,
}

impl Run {
    fn of(outcome: &Outcome) -> Self {
        let measured = outcome.measured();
        let seconds = measured.as_ps() as f64 * 1e-12;
        // Bytes in order: a message of 10 MB takes most of the run.
        let bytes: u64 = outcome.classes.iter().map(|c| c.counters.window.payload).sum();
        let cpu = |host: usize| {
            let cpu = outcome.hosts.get(host).and_then(|h| h.cpus.first());
            cpu.map_or(f64::NAN, |c| c.useful(measured))
        };
        Self {
            rate: bytes as f64 * 8.0 / seconds,
            sender: cpu(0),
            receiver: cpu(1),
        }
    }
}

type Points = [(Point, Run)];

fn run(context: &Context<'_>, points: &[Point]) -> Result<Vec<(Point, Run)>, String> {
    let runner = Runner {
        file: FILE,
        text: TEXT,
        options: RunOptions::default(),
    };
    let cases: Vec<Case> = points.iter().map(|p| p.case().with_seeds(1)).collect();
    let runs = runner.run_kept(context, &cases, "pair", |_, _, outcome| Run::of(outcome))?;
    let first = |(point, runs): (&Point, Vec<Run>)| runs.first().map(|run| (*point, *run));
    Ok(points.iter().zip(runs).filter_map(first).collect())
}

pub(super) struct Found {
    pub(super) sections: Vec<Section>,
    pub(super) claims: Vec<Claim>,
    pub(super) predictions: Vec<Prediction>,
}

pub(super) fn run_all(context: &Context<'_>, thin: bool) -> Result<Found, String> {
    let sizes: &[u64] = if thin { &SIZES[4..5] } else { &SIZES };
    let mut points = Vec::new();
    for &bytes in sizes {
        for jumbo in [false, true] {
            for machine in [PC500, PC733, PC800] {
                points.push(Point::tuned(machine, jumbo, bytes));
            }
            points.push(Point {
                wide: true,
                ..Point::tuned(PC733, jumbo, bytes)
            });
            for coalescing in PAIRS {
                points.push(Point {
                    coalescing,
                    ..Point::tuned(PC500, jumbo, bytes)
                });
            }
        }
    }
    // The copy speeds of the document's second figure, 100 to 450 MB/s.
    for megabytes in [100, 150, 200, 250, 300, 350, 400, 450] {
        for jumbo in [false, true] {
            let machine = Machine {
                copy_mbps: 8 * megabytes,
                ..PC500
            };
            points.push(Point {
                wide: true,
                ..Point::tuned(machine, jumbo, LARGE)
            });
        }
    }
    points.dedup();
    let found = run(context, &points)?;
    Ok(Found {
        sections: vec![basic(&found), tuning(&found), copies(&found)],
        claims: claims(&found),
        predictions: predictions(&found),
    })
}

/// The message size of statements and bars.
const LARGE: u64 = 100_000;

fn find(found: &Points, point: Point) -> Option<Run> {
    found.iter().find(|(p, _)| *p == point).map(|(_, run)| *run)
}

fn over_sizes(found: &Points, name: &str, point: impl Fn(u64) -> Point) -> Line {
    let at = |&bytes: &u64| find(found, point(bytes)).map(|run| (bytes as f64, run.rate));
    Line {
        name: name.to_owned(),
        points: SIZES.iter().filter_map(at).collect(),
    }
}

fn sized(title: &str, lines: Vec<Line>) -> clearway_report::Figure {
    shown::figure(
        title,
        Axis::log("message size", "B").ranged(10.0, 1e7),
        Axis::linear("transfer speed", "bit/s").ranged(0.0, 1e9),
        lines,
        "Redrawn from the model; the document's own data is lost.",
    )
}

fn basic(found: &Points) -> Section {
    let machines = |jumbo: bool| -> Vec<Line> {
        let line = |m: Machine| over_sizes(found, m.name, |bytes| Point::tuned(m, jumbo, bytes));
        [PC500, PC733, PC800].map(line).into()
    };
    let mut buses = Vec::new();
    for jumbo in [false, true] {
        for wide in [false, true] {
            let name = format!(
                "{}-bit PCI, MTU {}",
                if wide { 64 } else { 32 },
                if jumbo { 9000 } else { 1500 }
            );
            buses.push(over_sizes(found, &name, |bytes| Point {
                wide,
                ..Point::tuned(PC733, jumbo, bytes)
            }));
        }
    }
    let mut table = Table::new(
        "Messages of 100,000 B",
        [
            "machine",
            "frames",
            "PCI",
            "throughput",
            "sender's processor",
            "receiver's processor",
        ],
    );
    for jumbo in [false, true] {
        for (machine, wide) in [(PC500, false), (PC733, false), (PC733, true), (PC800, false)] {
            let point = Point {
                wide,
                ..Point::tuned(machine, jumbo, LARGE)
            };
            let Some(run) = find(found, point) else { continue };
            table.push([
                Cell::text(machine.name),
                Cell::text(if jumbo { "MTU 9000" } else { "MTU 1500" }),
                Cell::text(if wide { "64-bit" } else { "32-bit" }),
                Cell::number(run.rate, "bit/s").digits(4),
                Cell::number(run.sender * 100.0, "%").digits(3),
                Cell::number(run.receiver * 100.0, "%").digits(3),
            ]);
        }
    }
    table.note("Both buses at 33 MHz: the document gives their widths only.");
    Section {
        heading: "Throughput between two PCs".to_owned(),
        text: vec![
            "A card's time for a frame (devices/acenic.toml: bus and firmware, fitted to one reading of the 1x1 figure) decides with \
             normal frames; bus and memory with jumbo frames. That normal frames do not depend on processor and bus is what the device \
             was fitted to, so it is no evidence."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![
            sized("Transfer speed in normal frame", machines(false)),
            sized("Transfer speed in jumbo frame", machines(true)),
            sized("Bus width dependency", buses),
        ],
    }
}

fn tuning(found: &Points) -> Section {
    let lines = |jumbo: bool| -> Vec<Line> {
        let line = |(tx, rx): (u32, u32)| {
            over_sizes(found, &format!("tx={tx}:rx={rx}"), |bytes| Point {
                coalescing: (tx, rx),
                ..Point::tuned(PC500, jumbo, bytes)
            })
        };
        PAIRS.map(line).into()
    };
    let mut table = Table::new(
        "Coalescing pairs, PC500s, messages of 100,000 B",
        [
            "tx_coal",
            "rx_coal",
            "MTU 1500",
            "receiver's processor",
            "MTU 9000",
            "receiver's processor",
        ],
    );
    for pair in PAIRS {
        let at = |jumbo: bool| {
            let point = Point {
                coalescing: pair,
                ..Point::tuned(PC500, jumbo, LARGE)
            };
            let run = find(found, point);
            (
                run.map_or(f64::NAN, |r| r.rate),
                run.map_or(f64::NAN, |r| r.receiver),
            )
        };
        let (normal, jumbo) = (at(false), at(true));
        table.push([
            Cell::number(f64::from(pair.0) * 1e-6, "s"),
            Cell::number(f64::from(pair.1) * 1e-6, "s"),
            Cell::number(normal.0, "bit/s").digits(4),
            Cell::number(normal.1 * 100.0, "%").digits(3),
            Cell::number(jumbo.0, "bit/s").digits(4),
            Cell::number(jumbo.1 * 100.0, "%").digits(3),
        ]);
    }
    Section {
        heading: "Tuning the network driver".to_owned(),
        text: Vec::new(),
        tables: vec![table],
        figures: vec![
            sized("Coalescing, normal frame", lines(false)),
            sized("Coalescing, jumbo frame", lines(true)),
        ],
    }
}

fn copies(found: &Points) -> Section {
    let line = |jumbo: bool| {
        let mine = found
            .iter()
            .filter(|(p, _)| p.jumbo == jumbo && p.wide && p.machine.name == PC500.name && p.bytes == LARGE);
        Line {
            name: if jumbo { "MTU 9000" } else { "MTU 1500" }.to_owned(),
            points: mine
                .map(|(p, run)| (f64::from(p.machine.copy_mbps) * 1e6, run.rate))
                .collect(),
        }
    };
    Section {
        heading: "Memory copy".to_owned(),
        text: vec![
            "The document's memory-copy curves are lost but for their axis, 50 to 450 MB/s. A byte is copied once on either side."
                .to_owned(),
        ],
        tables: Vec::new(),
        figures: vec![shown::figure(
            "Throughput by memory copy, 500 MHz, 64-bit PCI, messages of 100,000 B",
            Axis::linear("memory copy", "bit/s").ranged(0.0, 3.6e9),
            Axis::linear("transfer speed", "bit/s").ranged(0.0, 1e9),
            vec![line(false), line(true)],
            "800 Mbit/s are 100 MB/s.",
        )],
    }
}

fn predictions(found: &Points) -> Vec<Prediction> {
    let wide = |bytes: u64| Point {
        wide: true,
        ..Point::tuned(PC733, true, bytes)
    };
    let best = SIZES
        .iter()
        .filter_map(|&bytes| find(found, wide(bytes)))
        .map(|r| r.rate);
    let largest = best.fold(f64::NAN, f64::max);
    vec![Prediction {
        case: "64-bit PCI, MTU 9000".to_owned(),
        metric: "throughput".to_owned(),
        stat: "largest".to_owned(),
        samples: vec![largest],
    }]
}

fn claims(found: &Points) -> Vec<Claim> {
    let rate = |machine, jumbo, wide| {
        let point = Point {
            wide,
            ..Point::tuned(machine, jumbo, LARGE)
        };
        find(found, point).map_or(f64::NAN, |r| r.rate / 1e6)
    };
    let all = |jumbo: bool| [PC500, PC733, PC800].map(|m| rate(m, jumbo, false));
    let spread = |rates: [f64; 3]| {
        let (low, high) = rates
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, h), &r| (l.min(r), h.max(r)));
        (high - low) / high
    };
    let (normal, jumbo) = (all(false), all(true));
    let shown = |rates: [f64; 3]| {
        format!(
            "{:.0}, {:.0}, {:.0} Mbit/s (PC500, PC733, PC800)",
            rates[0], rates[1], rates[2]
        )
    };
    let mut claims = vec![
        Claim::no_evidence(
            "Transfer speed does not depend on CPU speed in normal frame",
            format!("{}: the device was fitted to this statement", shown(normal)),
        ),
        Claim::no_evidence(
            "Bus width does not affect transfer speed in normal frame",
            format!(
                "32-bit {:.0}, 64-bit {:.0} Mbit/s: the device was fitted to this statement",
                rate(PC733, false, false),
                rate(PC733, false, true)
            ),
        ),
        Claim::new(
            "Transfer speed depends on chipset performance in jumbo frame",
            format!("{}: they differ by {:.1} %", shown(jumbo), spread(jumbo) * 100.0),
            spread(jumbo) > 0.05,
        ),
        Claim::new(
            "64-bit PCI improves transfer speed in jumbo frame",
            format!(
                "PC733, MTU 9000: 32-bit {:.0}, 64-bit {:.0} Mbit/s",
                rate(PC733, true, false),
                rate(PC733, true, true)
            ),
            rate(PC733, true, true) > 1.02 * rate(PC733, true, false),
        ),
    ];
    for (jumbo, best) in [(false, (996, 1_000)), (true, (200, 300))] {
        let of = |coalescing| {
            let point = Point {
                coalescing,
                ..Point::tuned(PC500, jumbo, LARGE)
            };
            find(found, point).map_or(f64::NAN, |r| r.rate / 1e6)
        };
        let mut rates: Vec<(f64, (u32, u32))> = PAIRS.map(|pair| (of(pair), pair)).into();
        rates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (top, pair) = rates[0];
        let (low, worst) = rates[rates.len() - 1];
        claims.push(Claim::new(
            format!(
                "Tuned parameters, {} frame: tx_coal={} rx_coal={}",
                if jumbo { "jumbo" } else { "normal" },
                best.0,
                best.1
            ),
            format!(
                "{:.0} Mbit/s with that pair; the best is {}/{} with {top:.0}, the worst {}/{} with {low:.0}",
                of(best),
                pair.0,
                pair.1,
                worst.0,
                worst.1
            ),
            of(best) > 0.99 * top && low < 0.95 * top,
        ));
    }
    claims
}
