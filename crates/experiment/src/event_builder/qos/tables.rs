//! Tables of the rates that were assigned and measured.

use super::{BURST, JUMBO, NORMAL, Points, System, of};
use clearway_report::{Cell, Table};

pub(super) fn table(found: &Points) -> Table {
    let headings = [
        "system",
        "frames",
        "assigned to each",
        "measured, least",
        "largest",
        "in all",
        "fairness",
        "sender's processor",
        "frames lost",
    ];
    let mut table = Table::new("Assigned and measured rates", headings);
    for (p, runs) in found
        .iter()
        .filter(|(p, _)| p.burst == BURST && p.variant.is_none())
    {
        let Some(run) = runs.first() else { continue };
        table.push([
            Cell::text(p.system.name()),
            Cell::text(p.frames.name),
            p.assigned.map_or_else(
                || Cell::text("no QoS"),
                |r| Cell::number(f64::from(r) * 1e6, "bit/s"),
            ),
            Cell::number(run.least(), "bit/s").digits(4),
            Cell::number(run.largest(), "bit/s").digits(4),
            Cell::number(run.total(), "bit/s").digits(4),
            Cell::number(run.fairness(), "1").digits(4),
            Cell::number(run.cpu * 100.0, "%").digits(3),
            Cell::number(run.dropped as f64, "1"),
        ]);
    }
    table.note("Payload at the receiver. The first seed; a run measures 400 ms after 200 ms, the document does not say how long.");
    table
}

/// Where "nearly 1 %" could come from: netperf's payload over what a token bucket counts, in four readings.
pub(super) fn overhead(found: &Points) -> Table {
    let headings = [
        "frames",
        "a Mbit of tc",
        "payload over counted",
        "of the assigned",
        "by a rate table",
        "in the model",
    ];
    let mut table = Table::new("\"Overhead nearly 1 %\": four readings", headings);
    for frames in [NORMAL, JUMBO] {
        for (name, mega) in [
            ("1,000,000 bit", 1e6),
            ("1,048,576 bit, as tc of 2000", 1_048_576.0),
        ] {
            let measured =
                of(found, System::OneToOne, frames, Some(100)).map_or(f64::NAN, |run| run.total() / 100e6);
            table.push([
                Cell::text(frames.name),
                Cell::text(name),
                Cell::number(frames.payload_share() * 100.0, "%").digits(4),
                Cell::number(frames.payload_share() * mega / 1e6 * 100.0, "%").digits(4),
                Cell::number(frames.table_share(100.0 * mega) * mega / 1e6 * 100.0, "%").digits(4),
                if mega > 1e6 {
                    Cell::text("-")
                } else {
                    Cell::number(measured * 100.0, "%").digits(4)
                },
            ]);
        }
    }
    table.note(
        "100 Mbit/s assigned. A token bucket counts a frame without its check sequence, netperf the payload; the discipline \
         looks the time of a frame up in a table of 256 cells and whole microseconds, which are cut off. Exact costs and jumbo \
         frames are 0.6 % below what is assigned; the document says neither which frames nor which Mbit.",
    );
    table
}

pub(super) fn bursts(found: &Points) -> Table {
    let mut table = Table::new(
        "1x1, 300 Mbit/s assigned, by the bucket's size",
        [
            "bucket, time at its rate",
            "on ticks alone",
            "measured",
            "of the assigned rate",
        ],
    );
    for (p, runs) in found {
        let (Some(run), Some(300)) = (runs.first(), p.assigned) else {
            continue;
        };
        if p.system != System::OneToOne || p.frames != NORMAL || p.variant.is_some() {
            continue;
        }
        let ms = match p.burst {
            "1ms" => 1.0,
            "2500us" => 2.5,
            "5ms" => 5.0,
            "20ms" => 20.0,
            _ => 10.0,
        };
        table.push([
            Cell::number(ms * 1e-3, "s"),
            Cell::number(300e6 * f64::min(ms / 10.0, 1.0) * NORMAL.payload_share(), "bit/s").digits(3),
            Cell::number(run.total(), "bit/s").digits(4),
            Cell::number(run.total() / 300e6 * 100.0, "%").digits(4),
        ]);
    }
    table.note("On ticks alone a bucket of b bytes gives min(b, rate x 10 ms) a tick. Frames that come between ticks make the discipline look as well, so TCP gets more.");
    table
}

/// The 1x3 system with what could have made it fail.
pub(super) fn variants(found: &Points) -> Table {
    let headings = [
        "different",
        "assigned to each",
        "measured, least",
        "largest",
        "in all",
        "fairness",
        "sender's processor",
        "frames lost",
    ];
    let mut table = Table::new("1x3 at full rate: what could have failed", headings);
    for (p, runs) in found {
        let (Some(variant), Some(run)) = (p.variant, runs.first()) else {
            continue;
        };
        table.push([
            Cell::text(variant.name),
            p.assigned.map_or_else(
                || Cell::text("no QoS"),
                |r| Cell::number(f64::from(r) * 1e6, "bit/s").digits(3),
            ),
            Cell::number(run.least(), "bit/s").digits(4),
            Cell::number(run.largest(), "bit/s").digits(4),
            Cell::number(run.total(), "bit/s").digits(4),
            Cell::number(run.fairness(), "1").digits(4),
            Cell::number(run.cpu * 100.0, "%").digits(3),
            Cell::number(run.dropped as f64, "1"),
        ]);
    }
    table.note("Normal frames, one thing changed at a time. None was chosen to meet the document.");
    table
}
