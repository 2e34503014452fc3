//! The ping-pong experiment: one message in flight between two hosts, by size, over UDP and TCP.
//!
//! Source: the T5 paper against the SFN7122F, whose graphs of it are lost; the curves are redrawn from the model. Every
//! parameter is that of the other two experiments. The page `docs/reproductions/t5-pingpong.md` says what was found. Left
//! out: caches that grow cold between messages, which may be what sets this test apart from the one at 10K/s.

use crate::reproduce::{Case, Claim, Context, Experiment, Findings, Runner, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};
use clearway_sim::{Outcome, RunOptions};

const FILE: &str = "scenarios/t5-pingpong.toml";
const TEXT: &str = include_str!("../../../../scenarios/t5-pingpong.toml");
/// Payload bytes; the last is the longest datagram of one frame.
const SIZES: [u32; 9] = [1, 16, 32, 64, 128, 256, 512, 1024, 1472];
const CARDS: [(&str, &str); 2] = [("T520-LL-CR", "t5"), ("SFN7122F", "sfn7122f")];
/// Two that differ by less are called comparable.
const COMPARABLE: f64 = 0.1;

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct T5Pingpong;

impl Experiment for T5Pingpong {
    fn name(&self) -> &'static str {
        "t5-pingpong"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/t5-pingpong.toml")
    }

    fn default_seeds(&self) -> u32 {
        1
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context)
    }
}

/// Half the round trip, seconds.
#[derive(Clone, Copy, Debug)]
struct Half {
    min: f64,
    mean: f64,
    calls: u64,
}

fn half(outcome: &Outcome) -> Half {
    let round_trips = outcome.messages.first().map(|m| &m.messages.round_trips);
    Half {
        min: round_trips
            .and_then(|r| r.min())
            .map_or(f64::NAN, |ps| ps as f64 * 0.5e-12),
        mean: round_trips
            .and_then(|r| r.mean())
            .map_or(f64::NAN, |ps| ps * 0.5e-12),
        calls: round_trips.map_or(0, |r| r.count()),
    }
}

/// One line of the figure.
#[derive(Clone, Debug)]
struct Line {
    card: &'static str,
    transport: &'static str,
    /// By size.
    points: Vec<(u32, Half)>,
}

fn measure(context: &Context<'_>) -> Result<Option<Vec<Line>>, String> {
    let runner = Runner {
        file: FILE,
        text: TEXT,
        options: RunOptions::default(),
    };
    let mut lines = Vec::new();
    for transport in ["udp", "tcp"] {
        for (card, device) in CARDS {
            let case = |size: &u32| {
                let mut sets = vec![
                    format!("workload.pings.messages.transport={transport}"),
                    format!("workload.pings.messages.message={size}B"),
                    format!("workload.pings.messages.reply={size}B"),
                ];
                sets.extend(
                    ["client", "server"].map(|h| format!("host.{h}.device=../devices/{device}.toml")),
                );
                Case::new(format!("{card}, {}, {size} B", transport.to_uppercase()), sets)
            };
            let cases: Vec<Case> = SIZES.iter().map(case).collect();
            let runs = runner.run(context, &cases, |_, _, outcome| half(outcome))?;
            let mut points = Vec::new();
            for (&size, runs) in SIZES.iter().zip(runs) {
                let Some(&first) = runs.first() else {
                    return Ok(None);
                };
                points.push((size, first));
            }
            lines.push(Line {
                card,
                transport,
                points,
            });
        }
    }
    Ok(Some(lines))
}

fn run(context: &Context<'_>) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let Some(lines) = measure(context)? else {
        findings.stopped = true;
        return Ok(findings);
    };
    findings.claims = claims(&lines);
    let mut section = Section {
        heading: "By size of message".to_owned(),
        text: vec![
            "Half the round trip with one message in flight. Nothing queues and every cost is constant, so that minimum and \
             average agree; the document averages five runs because one of the cards varied from run to run."
                .to_owned(),
        ],
        ..Section::default()
    };
    for transport in ["udp", "tcp"] {
        section.tables.push(table(&lines, transport));
        section.figures.push(figure(&lines, transport));
    }
    findings.sections.push(section);
    Ok(findings)
}

fn find<'a>(lines: &'a [Line], card: &str, transport: &str) -> Option<&'a Line> {
    lines.iter().find(|l| l.card == card && l.transport == transport)
}

/// Means of both cards by size.
fn pairs(lines: &[Line], transport: &str) -> Vec<(u32, Half, Half)> {
    let (Some(t5), Some(sfn)) = (
        find(lines, CARDS[0].0, transport),
        find(lines, CARDS[1].0, transport),
    ) else {
        return Vec::new();
    };
    let both = t5.points.iter().zip(&sfn.points);
    both.map(|(a, b)| (a.0, a.1, b.1)).collect()
}

fn claims(lines: &[Line]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let udp = pairs(lines, "udp");
    let widest = udp.iter().map(|p| p.2.mean / p.1.mean - 1.0).fold(0.0, f64::max);
    let least = udp
        .iter()
        .map(|p| p.2.mean - p.1.mean)
        .fold(f64::INFINITY, f64::min);
    claims.push(Claim::new(
        "Chelsio and Solarflare offer comparable UDP latency in ping-pong tests (single packet in flight).",
        format!(
            "Up to {:.0} % apart, by {:.2} us or more. The same document has the two 0.7 us apart at 10K messages/s, where 100 us \
             lie between messages and nothing queues either: a stack whose costs do not depend on how long it was idle \
             cannot give both.",
            widest * 100.0,
            least * 1e6
        ),
        widest < COMPARABLE,
    ));
    let tcp = pairs(lines, "tcp");
    let better = tcp.iter().all(|p| p.1.mean < p.2.mean);
    claims.push(Claim::no_evidence(
        "Chelsio provides better results than Solarflare in the TCP test.",
        format!("At every size: {better}. The costs were fitted to a difference of the same sign at 10K/s."),
    ));
    claims
}

fn table(lines: &[Line], transport: &str) -> Table {
    let headings = [
        "message",
        "T5 min",
        "T5 average",
        "SFN min",
        "SFN average",
        "difference",
        "round trips",
    ];
    let mut table = Table::new(
        format!("{} ping-pong, half the round trip", transport.to_uppercase()),
        headings,
    );
    let time = |seconds: f64| Cell::number(seconds, "s").digits(4);
    for (size, a, b) in pairs(lines, transport) {
        table.push([
            Cell::number(f64::from(size), "B"),
            time(a.min),
            time(a.mean),
            time(b.min),
            time(b.mean),
            time(b.mean - a.mean),
            Cell::text((a.calls + b.calls).to_string()),
        ]);
    }
    table
}

fn figure(lines: &[Line], transport: &str) -> Figure {
    let mut figure = Figure::new(
        format!(
            "{} ping-pong by size of message, redrawn",
            transport.to_uppercase()
        ),
        Axis::linear("message", "B"),
        Axis::linear("half the round trip", "s"),
    );
    for line in lines.iter().filter(|l| l.transport == transport) {
        let points = line
            .points
            .iter()
            .map(|(size, half)| (f64::from(*size), half.mean));
        figure = figure.series(Series::new(line.card, Kind::Line, points));
    }
    figure.caption(
        "Redrawn from the model; the document's own data is lost. Minimum and average are one line. The level is that of the \
         card before: only differences were published.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_message_takes_its_bytes_longer_and_the_cards_differ_as_their_costs_do() {
        let lines = Context::in_test(1, false, measure)
            .expect("it runs")
            .expect("nobody stops it");
        for (transport, apart) in [("udp", 680e-9), ("tcp", 1_380e-9)] {
            let pairs = pairs(&lines, transport);
            assert_eq!(pairs.len(), SIZES.len());
            let (short, long) = (pairs[3].1, pairs[7].1);
            // 64 to 1,024 B: 960 B more on the wire at 0.8 ns a byte; the T5 copies nothing.
            assert!(
                (long.min - short.min - 960.0 * 0.8e-9).abs() < 0.01 * long.min,
                "{transport}"
            );
            // Beyond 1,460 B TCP takes a second segment.
            for (size, t5, sfn) in pairs.into_iter().filter(|p| p.0 <= 1_460) {
                // The copy of both sides adds 81 ps a byte to the difference.
                let expected = apart + f64::from(size) * 2.0 * 8.0 / 198.4e9;
                let error = (sfn.min - t5.min - expected).abs();
                assert!(error < 0.01 * sfn.min, "{transport}, {size} B: {error}");
                assert!(
                    (t5.mean / t5.min - 1.0).abs() < 0.01 && t5.calls > 900,
                    "{transport}, {size} B"
                );
            }
        }
        assert_eq!(claims(&lines).len(), 2);
    }
}
