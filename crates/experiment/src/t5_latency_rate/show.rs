//! Tables and figures of the latency experiment.

use super::cases::{Card, Run, Seen, Spacing};
use crate::reproduce::Section;
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

const LOST: &str = "Redrawn from the model; the document's own data is lost.";
const LEVEL: &str =
    "The level is that of the card before: no absolute latency of the document survives, only differences.";

fn group<'a>(seen: &'a [Seen], transport: &'a str, spacing: Spacing) -> impl Iterator<Item = &'a Seen> {
    seen.iter()
        .filter(move |s| s.point.transport == transport && s.point.spacing == spacing)
}

/// Thousands a second.
fn thousands(rate: f64) -> String {
    format!("{:.1}K", rate / 1e3)
}

fn table(seen: &[Seen], transport: &str, spacing: Spacing) -> Table {
    let words = match spacing {
        Spacing::Even => "evenly spaced",
        Spacing::Poisson => "Poisson",
    };
    let headings = [
        "card",
        "messages/s",
        "arrive",
        "lost",
        "min",
        "average",
        "99 %",
        "client useful",
        "server useful",
        "simulated",
    ];
    let mut table = Table::new(format!("{}, {words}", transport.to_uppercase()), headings);
    for seen in group(seen, transport, spacing) {
        let time = |of: &dyn Fn(&Run) -> Option<f64>| {
            if seen.is_sustained() {
                Cell::number(seen.average(of), "s").digits(4)
            } else {
                Cell::text("not sustained")
            }
        };
        table.push([
            Cell::text(seen.point.card.name()),
            Cell::text(thousands(seen.point.rate)),
            Cell::text(thousands(seen.average(|r| Some(r.arrived)))),
            Cell::number(seen.average(|r| Some(r.lost as f64)), "1"),
            time(&Run::min),
            time(&Run::mean),
            time(&|r| r.quantile(0.99)),
            Cell::number(seen.average(|r| Some(r.useful[0])), "1").digits(3),
            Cell::number(seen.average(|r| Some(r.useful[1])), "1").digits(3),
            Cell::number(seen.average(|r| Some(r.seconds)), "s").digits(3),
        ]);
    }
    table.note(match spacing {
        Spacing::Even => "One way. With equal hosts that never queue it is half the round trip.",
        Spacing::Poisson => "Half the round trip of every hundredth message, which is answered.",
    });
    table.note("Useful: the share of a polling processor's time that is work. Arrive: answers included.");
    table
}

fn by_rate(seen: &[Seen], transport: &str, spacing: Spacing, title: &str, caption: &str) -> Figure {
    let line = |name: String, card: Card, of: &dyn Fn(&Run) -> Option<f64>| {
        let points = group(seen, transport, spacing)
            .filter(|s| s.point.card == card && s.is_sustained())
            .map(|s| (s.point.rate, s.average(of)));
        Series::new(name, Kind::Line, points)
    };
    let time = match spacing {
        Spacing::Even => Axis::linear("half the round trip", "s"),
        Spacing::Poisson => Axis::log("half the round trip", "s"),
    };
    let mut figure = Figure::new(title, Axis::log("rate", "message/s"), time);
    for card in [Card::T5, Card::Sfn] {
        figure = figure
            .series(line(format!("{} average", card.name()), card, &Run::mean))
            .series(line(format!("{} 99 %", card.name()), card, &|r| r.quantile(0.99)));
    }
    figure.caption(format!("{LOST} {caption} {LEVEL}"))
}

/// Bars at the least rate.
fn at_least(seen: &[Seen]) -> Figure {
    let groups: Vec<(String, &str, Card)> = ["udp", "tcp"]
        .into_iter()
        .flat_map(|t| [Card::T5, Card::Sfn].map(|c| (format!("{} {}", c.name(), t.to_uppercase()), t, c)))
        .collect();
    let bars = |name: &str, of: &dyn Fn(&Run) -> Option<f64>| {
        let points = groups.iter().enumerate().filter_map(|(i, (_, transport, card))| {
            let seen = super::at(seen, *card, transport, 10e3)?;
            Some((i as f64, seen.average(of)))
        });
        Series::new(name, Kind::Bars, points)
    };
    Figure::new(
        "UDP and TCP latency at 10K/s, redrawn",
        Axis::names("", groups.iter().map(|g| g.0.clone())),
        Axis::linear("half the round trip", "s"),
    )
    .series(bars("minimum", &Run::min))
    .series(bars("average", &Run::mean))
    .caption(format!(
        "{LOST} The two differences are what the SFN's costs were fitted to. {LEVEL}"
    ))
}

/// Everything by rate.
pub(super) fn sections(seen: &[Seen]) -> Vec<Section> {
    let even = Section {
        heading: "Evenly spaced messages".to_owned(),
        text: vec![
            "The tool spaces its messages evenly. A stack with constant costs then shows no queue until its processor is full: \
             the lines are flat, and end."
                .to_owned(),
        ],
        tables: vec![table(seen, "udp", Spacing::Even), table(seen, "tcp", Spacing::Even)],
        figures: vec![
            at_least(seen),
            by_rate(
                seen,
                "udp",
                Spacing::Even,
                "UDP latency by rate, redrawn",
                "A line ends where the next rate is not sustained.",
            ),
            by_rate(
                seen,
                "tcp",
                Spacing::Even,
                "TCP latency by rate, redrawn",
                "A line ends where the next rate is not sustained.",
            ),
        ],
    };
    let poisson = Section {
        heading: "Messages at random instants".to_owned(),
        text: vec![
            "The other end of what a busy sender may do. Now both queue, each according to how busy its processor is: the SFN's \
             rise is what the document describes, the T5's flat line is not."
                .to_owned(),
        ],
        tables: vec![
            table(seen, "udp", Spacing::Poisson),
            table(seen, "tcp", Spacing::Poisson),
        ],
        figures: vec![by_rate(
            seen,
            "udp",
            Spacing::Poisson,
            "UDP latency by rate with Poisson arrivals",
            "Not what the tool does.",
        )],
    };
    vec![even, poisson]
}
