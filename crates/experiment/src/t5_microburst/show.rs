//! Tables and figures of the microburst experiment.

use super::Member;
use super::search::{BURST_MAX, Found, gap_ps};
use crate::reproduce::Section;
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

const LOST: &str = "Redrawn from the model; the document's own data is lost.";

fn frames(found: &Found) -> Cell {
    if found.is_unlimited() {
        Cell::text(format!("any (tried: {BURST_MAX})"))
    } else {
        Cell::text(found.frames.to_string())
    }
}

fn seconds(found: &Found, value: f64) -> Cell {
    if found.is_unlimited() {
        Cell::text("-")
    } else {
        Cell::number(value, "s").digits(4)
    }
}

/// By size of message, both adapters.
pub(super) fn sizes(t5: &[Found], sfn: &[Found]) -> Section {
    let headings = [
        "message",
        "rate of the burst",
        "T5 packets",
        "formula",
        "on the wire",
        "SFN packets",
        "formula",
        "on the wire",
        "ratio",
    ];
    let mut table = Table::new("Longest burst without loss", headings);
    for (a, b) in t5.iter().zip(sfn) {
        let limited = !a.is_unlimited() && !b.is_unlimited();
        table.push([
            Cell::number(a.subject.message as f64, "B"),
            Cell::number(1e12 / gap_ps(a.subject.message) as f64, "frame/s").digits(4),
            frames(a),
            seconds(a, a.formula_seconds()),
            seconds(a, a.wire_seconds()),
            frames(b),
            seconds(b, b.formula_seconds()),
            seconds(b, b.wire_seconds()),
            if limited {
                Cell::number(a.frames as f64 / b.frames as f64, "1").digits(3)
            } else {
                Cell::text("-")
            },
        ]);
    }
    table.note("The formula counts 46 B beside the message; a frame takes 66 B beside it on the wire.");
    let trials: usize = t5.iter().chain(sfn).map(|f| f.trials.len()).sum();
    table.note(format!(
        "{trials} trials; the search of RFC 2544 26.4, one trial a burst length."
    ));
    let line = |name: &str, found: &[Found], of: fn(&Found) -> f64| {
        let limited = found.iter().filter(|f| !f.is_unlimited());
        Series::new(
            name,
            Kind::Line,
            limited.map(|f| (f.subject.message as f64, of(f))),
        )
    };
    let burst = Figure::new(
        "Microburst by size of message, redrawn",
        Axis::linear("UDP message", "B"),
        Axis::log("burst time by the document's formula", "s"),
    )
    .series(line("T520-LL-CR", t5, Found::formula_seconds))
    .series(line("SFN7122F", sfn, Found::formula_seconds))
    .caption(format!(
        "{LOST} Lines end where the adapter takes a burst of any length. The points at 64 B are what the devices were \
         derived from and fitted to; the rest follows."
    ));
    let path = |name: &str, found: &[Found]| {
        let at = found.iter().find(|f| f.subject.message == 64);
        let trials = at.map_or(&[][..], |f| &f.trials[..]).iter().enumerate();
        Series::new(
            name,
            Kind::Line,
            trials.map(|(i, t)| (i as f64 + 1.0, t.0 as f64)),
        )
    };
    let search = Figure::new(
        "The search at 64 B",
        Axis::linear("trial", "1"),
        Axis::log("burst sent", "frame"),
    )
    .series(path("T520-LL-CR", t5))
    .series(path("SFN7122F", sfn))
    .caption(
        "Each trial halves what is open: longer after a burst that came back whole, shorter after a loss.",
    );
    Section {
        heading: "By size of message".to_owned(),
        text: vec![
            "A generator sends a burst at line rate, the application sends every datagram back, and what comes back is counted."
                .to_owned(),
        ],
        tables: vec![table],
        figures: vec![burst, search],
    }
}

/// Other adapters that would have given the one published point of the SFN7122F.
pub(super) fn family(t5: &[Found], members: &[Member], found: &[Found]) -> Section {
    let headings = [
        "time of a message",
        "drain",
        "ring",
        "64 B",
        "256 B",
        "T5 at 256 B is longer by",
    ];
    let mut table = Table::new("Adapters with a burst of 400 at 64 B", headings);
    let wide = super::of_size(t5, 256).map_or(f64::NAN, |f| f.frames as f64);
    let mut points = Vec::new();
    for (member, pair) in members.iter().zip(found.chunks(2)) {
        let [short, long] = pair else { continue };
        let ratio = wide / long.frames as f64;
        if !long.is_unlimited() {
            points.push((1e9 / member.cost_ns as f64, ratio));
        }
        table.push([
            Cell::number(member.cost_ns as f64 * 1e-9, "s"),
            Cell::number(1e9 / member.cost_ns as f64, "frame/s").digits(3),
            Cell::text(member.ring.to_string()),
            frames(short),
            frames(long),
            if long.is_unlimited() {
                Cell::text("-")
            } else {
                Cell::number(ratio, "1").digits(3)
            },
        ]);
    }
    table.note(
        "One point fixes one combination of ring and drain. The device file takes the member whose time of a message fits \
         the latency experiment; all of them are far from 100.",
    );
    let figure = Figure::new(
        "How 256 B depends on the member of the family",
        Axis::log("drain rate", "frame/s"),
        Axis::linear("burst of the T5 over burst of the SFN at 256 B", "1").ranged(0.0, 110.0),
    )
    .series(Series::new("adapters with 400 at 64 B", Kind::Line, points))
    .threshold(100.0, "the document: more than 100")
    .caption("Redrawn from the model. An adapter that drains nothing within a burst comes nearest to the statement.");
    Section {
        heading: "What one point says of the SFN7122F".to_owned(),
        text: Vec::new(),
        tables: vec![table],
        figures: vec![figure],
    }
}
