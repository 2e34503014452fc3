//! Tables of the T4 experiment beside published against predicted.

use super::cases::{CALLS_SECONDS, Changed, Run, Seen};
use super::figures;
use crate::reproduce::{Published, Section};
use clearway_report::{Cell, Table};

/// What was simulated, beside what the document ran.
pub(super) fn spans(seen: &[&Seen]) -> Table {
    let headings = [
        "case",
        "simulated",
        "the document",
        "RTT/2 mean",
        "first 3,072 calls",
        "TCP payload",
    ];
    let mut table = Table::new("Simulated time and the document's", headings);
    for seen in seen {
        let seconds = seen.average(|r| Some(r.seconds));
        let document = if seen.name == "TCP alone" {
            10.0
        } else {
            CALLS_SECONDS
        };
        let calls = seen.runs.iter().any(|r| r.samples.len() > 1);
        table.push([
            Cell::text(seen.name.clone()),
            Cell::number(seconds, "s"),
            Cell::number(document, "s"),
            cell(calls, seen.average(Run::mean), "s"),
            cell(calls, seen.average(Run::sample_mean), "s"),
            cell(seen.name != "alone", seen.average(|r| Some(r.tcp_bps)), "bit/s"),
        ]);
    }
    table.note(
        "Calls alone and TCP alone have nothing that changes over time: calls in 5 s are the rate times 5 s.",
    );
    table.note(
        "TCP here is measured while the calls run. The document's stream lasts 10 s and the calls 5 of them: what is \
         compared is the mean of this and of TCP alone.",
    );
    table
}

fn cell(shown: bool, value: f64, unit: &str) -> Cell {
    if shown {
        Cell::number(value, unit).digits(4)
    } else {
        Cell::text("-")
    }
}

/// What the prediction for two channels hangs on.
pub(super) fn sensitivity(
    published: &[Published],
    alone: &Seen,
    two: &Seen,
    changed: &[Changed],
    group: &[Seen],
) -> Section {
    let headings = ["changed", "RTT/2 mean", "added by bulk", "p99", "max"];
    let mut table = Table::new("Two channels with something else", headings);
    for (changed, seen) in changed.iter().zip(group) {
        let mean = seen.average(Run::mean);
        table.push([
            Cell::text(seen.name.clone()),
            Cell::number(mean, "s"),
            Cell::number(mean - alone.average(Run::mean) - changed.cable, "s"),
            Cell::number(seen.average(|r| r.quantile(0.99)), "s"),
            Cell::number(seen.average(|r| r.quantile(1.0)), "s"),
        ]);
    }
    table.note("Added by bulk: the mean less that of the calls alone and less a longer cable's own delay.");
    Section {
        heading: "What the prediction hangs on".to_owned(),
        text: vec![
            "A request waits for what cannot be interrupted: a frame on the wire, a frame on the receiver's bus, a \
             transfer on the sender's bus. How long a transfer may be is not published. The model takes what a PCI \
             Express device can have asked for at once, 32 read requests of 512 B; the table shows the others."
                .to_owned(),
            "A closed loop beside a saturated link keeps step with it: each request comes a fixed time after the frame \
             that the one before waited for. A few metres of cable, or nanoseconds of stack, therefore move the mean by \
             more than the interval over the seeds says, which holds for this cable and this stack only."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![figures::sensitivity(published, two, group)],
    }
}
