//! Tables of the storage experiment: what was run, each node, Little's law, windows, the change, the failing port.

use super::cases::{FAILURES, OUTSTANDING, PUBLISHED_SECONDS, Run, Seen, Span, WINDOWS};
use super::figures;
use crate::reproduce::{Claim, Section};
use clearway_report::{Cell, Table};

/// The rows that the document prints for each node: MB/s, operations a second and ms, in its order.
pub(super) const NODES: [(&str, [[f64; 3]; 4]); 4] = [
    (
        "RDMA alone",
        [
            [492.0, 1_906.0, 21.062],
            [498.0, 1_917.0, 20.800],
            [516.0, 1_982.0, f64::NAN],
            [501.0, 1_925.0, 20.767],
        ],
    ),
    (
        "both, no QoS",
        [
            [360.0, 1_382.0, 28.922],
            [358.0, 1_374.0, 28.993],
            [371.0, 1_428.0, 28.064],
            [354.0, 1_359.0, 29.399],
        ],
    ),
    (
        "both, 80:20",
        [
            [389.0, 1_497.0, 26.673],
            [392.0, 1_506.0, 26.507],
            [400.0, 1_532.0, 26.056],
            [382.0, 1_469.0, 27.110],
        ],
    ),
    (
        "both, 10:90",
        [
            [54.0, 211.0, 112.730],
            [48.0, 187.0, 113.721],
            [53.0, 206.0, 113.998],
            [55.0, 215.0, 96.011],
        ],
    ),
];

/// Totals that the document prints: operations a second, and mean latency of its nodes in seconds.
const ROWS: [(&str, f64, f64); 4] = [
    ("RDMA alone", 7_728.0, 20.876e-3),
    ("both, no QoS", 5_543.0, 28.845e-3),
    ("both, 80:20", 6_004.0, 26.587e-3),
    ("both, 10:90", 819.0, 109.115e-3),
];

fn seconds(value: Option<f64>) -> Cell {
    value.map_or_else(|| Cell::text("not within the run"), |v| Cell::number(v, "s"))
}

/// What was simulated, beside what the document ran.
pub(super) fn spans(seen: &[Seen]) -> Table {
    let headings = [
        "case",
        "measured",
        "the document",
        "storage",
        "other, a node (L2)",
        "storage among all (L1)",
        "frames lost",
        "second half to first",
    ];
    let mut table = Table::new("Simulated time and the document's", headings);
    for seen in seen {
        table.push([
            Cell::text(seen.name.clone()),
            Cell::number(seen.average(|r| r.seconds), "s"),
            Cell::number(PUBLISHED_SECONDS, "s"),
            Cell::number(seen.average(|r| r.storage), "B/s").digits(4),
            Cell::number(seen.average(|r| r.nic), "bit/s").digits(3),
            Cell::number(100.0 * seen.average(|r| r.share), "%").digits(3),
            Cell::number(seen.average(|r| r.lost as f64), "1"),
            Cell::number(seen.average(|r| r.drift), "1").digits(4),
        ]);
    }
    table.note(
        "The last column is the bytes of both classes in the second half of the measured time over those in the first: \
         a run is as long as it must be for that to be one, and shorter than the document's.",
    );
    table
}

/// Each node, published and predicted.
pub(super) fn nodes(seen: &[&Seen]) -> Table {
    let headings = [
        "case",
        "published, least to most",
        "predicted, least to most",
        "difference of means",
    ];
    let mut table = Table::new("Storage throughput of a node", headings);
    for (seen, (_, printed)) in seen.iter().zip(NODES) {
        let own: Vec<f64> = seen
            .runs
            .iter()
            .flat_map(|r| r.nodes.iter().map(|n| n[0]))
            .collect();
        let ends = |values: &[f64]| {
            let least = values.iter().fold(f64::INFINITY, |a, b| a.min(*b));
            let most = values.iter().fold(0.0, |a: f64, b| a.max(*b));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (least, most, mean)
        };
        let paper = ends(&printed.map(|row| row[0] * 1e6));
        let model = ends(&own);
        let span = |(least, most, _): (f64, f64, f64)| {
            Cell::text(format!("{:.0} to {:.0} MB/s", least / 1e6, most / 1e6))
        };
        table.push([
            Cell::text(seen.name.clone()),
            span(paper),
            span(model),
            Cell::number(100.0 * (model.2 / paper.2 - 1.0), "%").digits(2),
        ]);
    }
    table.note("Predicted: four nodes of every seed.");
    table
}

/// Little's law on each row of the document and of the model.
pub(super) fn little(seen: &[Seen]) -> Section {
    let headings = [
        "case",
        "published operations",
        "published latency",
        "outstanding by Little's law",
        "latency that 160 would give",
        "predicted latency",
        "predicted outstanding",
    ];
    let mut table = Table::new("Operations times latency", headings);
    for (name, operations, latency) in ROWS {
        let Some(seen) = seen.iter().find(|s| s.name == name) else {
            continue;
        };
        let product = operations * latency;
        let cell = Cell::number(product, "1").digits(3);
        table.push([
            Cell::text(name),
            Cell::number(operations, "op/s").digits(4),
            Cell::number(latency, "s").digits(4),
            if (product / OUTSTANDING - 1.0).abs() > 0.05 {
                cell.tone(clearway_report::Tone::Bad)
            } else {
                cell
            },
            Cell::number(OUTSTANDING / operations, "s").digits(4),
            Cell::number(seen.average(|r| r.latency), "s").digits(4),
            Cell::number(seen.average(|r| r.outstanding), "1").digits(4),
        ]);
    }
    Section {
        heading: "Little's law".to_owned(),
        text: vec![
            "80 machines with one thread and two operations each have 160 outstanding, whatever the network does: the \
             product of rate and latency must be 160 in every row. It is in three of the document's, within one per cent. \
             At 10:90 it is 89: either a good part of the operations was not counted in the latency, or the machines \
             did not all run. The model's 10:90 row misses the published latency for this reason, and for no other: its \
             rate is the published one."
                .to_owned(),
        ],
        tables: vec![table],
        figures: Vec::new(),
    }
}

/// What the windows of the storage connections decide.
pub(super) fn windows(seen: &[Seen], turns: &Seen, ten: &Seen) -> Section {
    let headings = ["window", "share of storage in one FIFO", "storage at 10:90"];
    let mut table = Table::new("Other windows of the storage connections", headings);
    let (fifo, ets) = seen.split_at(WINDOWS.len().min(seen.len()));
    for ((kib, fifo), ets) in WINDOWS.iter().zip(fifo).zip(ets) {
        table.push([
            Cell::text(format!("{kib} KiB")),
            Cell::number(100.0 * fifo.average(|r| r.share), "%").digits(3),
            Cell::number(ets.average(|r| r.storage), "B/s").digits(3),
        ]);
    }
    table.note(format!(
        "The model has 128 KiB and connections that take turns: {:.1} % without QoS whatever the window, and {:.0} MB/s \
         at 10:90; published are 75 % and 210 MB/s.",
        100.0 * turns.average(|r| r.share),
        ten.average(|r| r.storage) / 1e6
    ));
    Section {
        heading: "What decides the shares".to_owned(),
        text: vec![
            "A FIFO gives each connection what it has in flight, so windows decide, not the number of connections: only \
             equal windows (512 KiB, those of the other streams) give 75 %. A NIC whose connections take turns gives \
             three quarters to six of eight, whatever their windows."
                .to_owned(),
            "At 10:90 it is the other way round. The class with 90 % must never run dry, or the other takes what it \
             leaves. Its streams have 1 MiB in flight; with storage windows as large as theirs, so much of that stands \
             behind storage in the switch's FIFO that storage gets more than twice its share. No window meets both \
             published rows from one FIFO: that is the reason for the turns, and why the case without QoS is not counted \
             as predicted."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![figures::windows(fifo, ets)],
    }
}

/// Sample intervals of which a share is taken.
const SHARE_BINS: usize = 10;
/// How near the new share it must stay.
const NEAR: f64 = 0.02;

/// Seconds from `at` on until the share stays near what it is in the last quarter before `until`.
fn settling(run: &Run, at: f64, until: f64) -> Option<f64> {
    let shares: Vec<(f64, f64)> = run
        .shares(SHARE_BINS)
        .into_iter()
        .filter(|s| s.0 > at + run.bin / 2.0 && s.0 <= until)
        .collect();
    let last = &shares[shares.len() - shares.len().div_ceil(4)..];
    let end = last.iter().map(|s| s.1).sum::<f64>() / last.len().max(1) as f64;
    let off = shares.iter().rposition(|s| (s.1 - end).abs() > NEAR);
    match off {
        None => Some(0.0),
        Some(place) => shares.get(place + 1).map(|s| s.0 - at),
    }
}

/// The share changed while everything runs.
pub(super) fn change(seen: &Seen, span: &Span) -> (Section, Claim) {
    let (duration, [down, up]) = span.change;
    let seconds_of = |ms: u32| f64::from(ms) * 1e-3;
    let headings = [
        "change",
        "share before",
        "share after",
        "settled after",
        "frames lost",
    ];
    let mut table = Table::new("The share changed during the run", headings);
    let parts = [
        ("80 to 10 %", down / 2, down, up),
        ("10 to 80 %", down, up, duration),
    ];
    let mut worst: f64 = 0.0;
    for (name, from, at, until) in parts {
        let mean = |from: u32, to: u32| {
            seen.average(|r| {
                let shares = r.shares(SHARE_BINS);
                let middle = f64::midpoint(seconds_of(from), seconds_of(to));
                let part: Vec<f64> = shares
                    .iter()
                    .filter(|s| s.0 > middle && s.0 <= seconds_of(to))
                    .map(|s| s.1)
                    .collect();
                part.iter().sum::<f64>() / part.len().max(1) as f64
            })
        };
        let times: Vec<Option<f64>> = seen
            .runs
            .iter()
            .map(|r| settling(r, seconds_of(at), seconds_of(until)))
            .collect();
        let all: Option<Vec<f64>> = times.into_iter().collect();
        let time = all.map(|t| t.iter().sum::<f64>() / t.len().max(1) as f64);
        worst = worst.max(time.unwrap_or(f64::INFINITY));
        table.push([
            Cell::text(name),
            Cell::number(100.0 * mean(from, at), "%").digits(3),
            Cell::number(100.0 * mean(at, until), "%").digits(3),
            seconds(time),
            Cell::number(seen.average(|r| r.lost as f64), "1"),
        ]);
    }
    table.note(
        "Share of storage among the bytes delivered in the ten milliseconds before an instant; settled when it stays within \
         two points of what it is in the last quarter of its time. A measurement over ten milliseconds needs ten to see \
         a change at once.",
    );
    let lost = seen.average(|r| r.lost as f64);
    let claim = Claim::new(
        "\"the QoS limit can be configured/changed dynamically without changing switch configuration\"",
        format!(
            "80 to 10 % and back while all runs: settled after {:.0} ms at most, {lost:.0} frames lost, the switch knows \
             nothing of it.",
            worst * 1e3
        ),
        worst.is_finite() && lost == 0.0,
    );
    let section = Section {
        heading: "The share changed during the run".to_owned(),
        text: vec![
            "The manager takes a new weight between two frames and loses nothing. What is seen at the receivers follows \
             as soon as what was queued behind it, in the NIC and in the switch, has left."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![figures::change(seen, SHARE_BINS)],
    };
    (section, claim)
}

/// A port of a team fails.
pub(super) fn failures(seen: &[Seen], span: &Span) -> (Section, Claim) {
    let headings = [
        "detected after",
        "least timeout",
        "flows on the port",
        "frames lost",
        "throughput back after",
        "every flow back after",
        "slowest write",
    ];
    let mut table = Table::new("One of two ports fails", headings);
    let (mut lost, mut back, mut all_back) = (0, 0.0_f64, true);
    for ((detection, rto), seen) in FAILURES.iter().zip(seen) {
        let Some((run, told)) = seen.runs.first().and_then(|r| Some((r, r.told.first()?))) else {
            continue;
        };
        lost = told.frames_lost.max(lost);
        all_back &= told.flows_back.is_some();
        back = told.flows_back.unwrap_or(0.0).max(back);
        let slowest = run.latencies.last().map(|l| l.0);
        table.push([
            Cell::number(f64::from(*detection) * 1e-3, "s"),
            Cell::number(f64::from(*rto) * 1e-3, "s"),
            Cell::number(told.flows as f64, "1"),
            Cell::number(told.frames_lost as f64, "1"),
            seconds(told.throughput_back),
            seconds(told.flows_back),
            seconds(slowest),
        ]);
    }
    table.note(
        "Lost are frames on the port and those sent to it until the flows are laid over the other one; nothing else is. \
         Throughput is back when the flows that crossed the port have nine tenths of their mean again for ten \
         milliseconds.",
    );
    let claim = Claim::new(
        "\"fault tolerance in the event of a network adapter failure\" (SET over two ports)",
        format!(
            "no operation is lost; up to {lost} frames are, and every flow delivers again after {:.0} ms at most: \
             detection, then a retransmission timeout.",
            back * 1e3
        ),
        all_back,
    );
    let (duration, [down, up]) = span.team;
    let section = Section {
        heading: "A port of a team fails".to_owned(),
        text: vec![format!(
            "The document configures a team and publishes no measurement of it: nothing here is held against a figure. Two \
             ports a node, flows spread by hash, a load that one port can carry; of {:.1} s the port is down from {:.1} to \
             {:.1}. A connection that lost its last segments waits for its retransmission timer, so that Windows' least \
             timeout of 300 ms, not the detection, is what an application sees.",
            f64::from(duration) * 1e-3,
            f64::from(down) * 1e-3,
            f64::from(up) * 1e-3
        )],
        tables: vec![table],
        figures: vec![figures::failures(seen)],
    };
    (section, claim)
}
