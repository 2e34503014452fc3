//! Tables of the T4 experiment beside published against predicted.

use super::cases::{CALLS_SECONDS, Seen};
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
            cell(calls, seen.average(super::cases::Run::mean), "s"),
            cell(calls, seen.average(super::cases::Run::sample_mean), "s"),
            cell(seen.name != "alone", seen.average(|r| Some(r.tcp_bps)), "bit/s"),
        ]);
    }
    table.note(
        "The backlog of one channel grows for seconds and is simulated in full. Elsewhere the first 3,072 calls and all \
         calls of a shorter run agree: there is no trend, and calls in 5 s are the rate times 5 s.",
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
pub(super) fn sensitivity(published: &[Published], two: &Seen, group: &[Seen]) -> Section {
    let headings = ["changed", "RTT/2 mean", "against the model", "p99", "max"];
    let mut table = Table::new("Two channels with something else", headings);
    let model = two.average(super::cases::Run::mean);
    for seen in group {
        let mean = seen.average(super::cases::Run::mean);
        table.push([
            Cell::text(seen.name.clone()),
            Cell::number(mean, "s"),
            Cell::change(Some((mean / model - 1.0) * 100.0)),
            Cell::number(seen.average(|r| r.quantile(0.99)), "s"),
            Cell::number(seen.average(|r| r.quantile(1.0)), "s"),
        ]);
    }
    table.note("A longer cable adds its own delay: 5 ns a metre.");
    Section {
        heading: "What the prediction hangs on".to_owned(),
        text: vec![
            "A request waits for what cannot be interrupted: a frame on the wire, a frame on the receiver's bus, a \
             transfer on the sender's bus. How long a transfer may be is not published. The model takes what a PCI \
             Express device can have asked for at once, 32 read requests of 512 B; the table shows the others."
                .to_owned(),
            "A closed loop beside a saturated link keeps step with it: each request comes a fixed time after the frame \
             that the one before waited for. A few metres of cable, or nanoseconds of stack, therefore move the mean by \
             more than the interval over the seeds says."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![figures::sensitivity(published, two, group)],
    }
}
