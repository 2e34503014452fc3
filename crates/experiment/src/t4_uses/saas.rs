//! Customers of a shared server with four service levels.

use super::Found;
use super::run::{File, Latency, Run, Seen, Uses, each};
use super::shown::{cell, distribution, say};
use crate::reproduce::{Case, Claim, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Point, Series, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-saas.toml",
    text: include_str!("../../../../scenarios/t4-uses-saas.toml"),
};

/// A service level of policies/saas-levels.toml and policies/saas-guarantees.toml, in order of rank.
struct Level {
    name: &'static str,
    share: f64,
    /// L1 bit/s.
    guarantee: f64,
    ceiling: f64,
}

const fn level(name: &'static str, share: f64, guarantee: f64, ceiling: f64) -> Level {
    Level {
        name,
        share,
        guarantee,
        ceiling,
    }
}

const LEVELS: [Level; 4] = [
    level("platinum", 0.50, 4e9, 8e9),
    level("gold", 0.30, 2.5e9, 5e9),
    level("silver", 0.16, 1.2e9, 3e9),
    level("bronze", 0.04, 0.3e9, 1e9),
];

const LINE: f64 = 10e9;

/// What divides the line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Nothing,
    Shares,
    Guarantees,
}

/// What the customers do.
struct Trouble {
    name: &'static str,
    sets: &'static [&'static str],
    /// Who downloads.
    busy: [bool; 4],
}

const TROUBLES: [Trouble; 4] = [
    Trouble {
        name: "all busy",
        sets: &[],
        busy: [true; 4],
    },
    Trouble {
        name: "bronze greedy",
        sets: &["workload.bronze-downloads.tcp_bulk.connections=64"],
        busy: [true; 4],
    },
    Trouble {
        name: "bronze floods",
        sets: &["workload.bronze-flood.stop=120ms"],
        busy: [true; 4],
    },
    Trouble {
        name: "two quiet",
        sets: &[
            "workload.platinum-downloads.stop=1ps",
            "workload.gold-downloads.stop=1ps",
        ],
        busy: [false, false, true, true],
    },
];

struct Made {
    case: Case,
    rule: Rule,
    busy: [bool; 4],
}

fn made() -> Vec<Made> {
    let downloads = LEVELS.map(|level| format!("{}-downloads", level.name));
    let names: Vec<&str> = downloads.iter().map(String::as_str).collect();
    let mut all = vec![Made {
        case: Case::new("questions alone", each("workload", &names, "stop", "1ps")),
        rule: Rule::Nothing,
        busy: [false; 4],
    }];
    let policy = |name: &str| format!("host.server.nic.policy=../policies/{name}.toml");
    for trouble in TROUBLES {
        let rules = [
            (Rule::Nothing, "no policy", None),
            (Rule::Shares, "shares", Some(policy("saas-levels"))),
            (Rule::Guarantees, "rates", Some(policy("saas-guarantees"))),
        ];
        for (rule, name, policy) in rules {
            let sets = trouble.sets.iter().map(|set| (*set).to_owned()).chain(policy);
            all.push(Made {
                case: Case::new(format!("{}, {name}", trouble.name), sets),
                rule,
                busy: trouble.busy,
            });
        }
    }
    all
}

pub(super) fn cases() -> Vec<Case> {
    made().into_iter().map(|made| made.case).collect()
}

fn answers<'a>(run: &'a Run, level: &Level) -> Option<&'a Latency> {
    run.work(&format!("{}-questions", level.name))?
        .round_trips
        .as_ref()
}

/// What the answers of a level took of the server's line, L1 bit/s.
fn answers_bps(run: &Run, level: &Level) -> f64 {
    sent_bps(run, &format!("{} answers", level.name))
}

/// What the server sent of a class, L1 bit/s: without questions and acknowledgements.
fn sent_bps(run: &Run, class: &str) -> f64 {
    run.class(class).map_or(0.0, |c| c.wire_bps - c.upstream_bps)
}

/// What a level took of the server's line beside the answers that go before everything, L1 bit/s.
fn took(run: &Run, level: usize, rule: Rule) -> f64 {
    let downloads = sent_bps(run, LEVELS[level].name);
    let first = level < 2 && rule != Rule::Nothing;
    downloads
        + if first {
            0.0
        } else {
            answers_bps(run, &LEVELS[level])
        }
}

/// What each busy level is promised of `left`, L1 bit/s: by shares, what one cannot take going to the others in
/// proportion; or by guarantees, the rest going by rank. Nobody gets more than the ceiling.
fn promised(rule: Rule, busy: &[bool; 4], mut left: f64) -> [f64; 4] {
    let mut got = [0.0; 4];
    let mut open = *busy;
    if rule == Rule::Guarantees {
        for (i, level) in LEVELS.iter().enumerate().filter(|(i, _)| busy[*i]) {
            got[i] = level.guarantee;
            left -= level.guarantee;
        }
        for (i, level) in LEVELS.iter().enumerate().filter(|(i, _)| busy[*i]) {
            let more = left.min(level.ceiling - got[i]).max(0.0);
            got[i] += more;
            left -= more;
        }
        return got;
    }
    loop {
        let shares: f64 = (0..4).filter(|&i| open[i]).map(|i| LEVELS[i].share).sum();
        let part = |i: usize| LEVELS[i].share / shares * left;
        let Some(i) = (0..4).find(|&i| open[i] && part(i) > LEVELS[i].ceiling) else {
            for i in (0..4).filter(|&i| open[i]) {
                got[i] = part(i);
            }
            return got;
        };
        (got[i], open[i]) = (LEVELS[i].ceiling, false);
        left -= LEVELS[i].ceiling;
    }
}

/// What is left of the line below the answers that go first.
fn left_of(run: &Run) -> f64 {
    LINE - answers_bps(run, &LEVELS[0]) - answers_bps(run, &LEVELS[1])
}

/// Got against promised, for each busy level, as the mean over the seeds.
fn errors(made: &Made, seen: &Seen) -> Vec<(usize, f64, f64)> {
    let busy = (0..4).filter(|&i| made.busy[i]);
    let each = busy.map(|i| {
        let promise = seen.average(|run| Some(promised(made.rule, &made.busy, left_of(run))[i]));
        (i, promise, seen.average(|run| Some(took(run, i, made.rule))))
    });
    each.collect()
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let made = made();
    let seen = uses.run("SaaS", FILE, &cases())?;
    let mut share_table = Table::new(
        "What each level got of the line (L1)",
        ["case", "level", "promised", "got", "difference %", "ceiling"],
    );
    let mut worst: f64 = 0.0;
    let mut above_ceiling: f64 = 0.0;
    for (made, seen) in made.iter().zip(&seen).filter(|(m, _)| m.rule != Rule::Nothing) {
        for (i, promise, got) in errors(made, seen) {
            let difference = (got / promise - 1.0) * 100.0;
            worst = worst.max(difference.abs());
            above_ceiling = above_ceiling.max((got / LEVELS[i].ceiling - 1.0) * 100.0);
            share_table.push([
                Cell::text(seen.name.clone()),
                Cell::text(LEVELS[i].name),
                cell(promise, "bit/s"),
                cell(got, "bit/s"),
                cell(difference, "1"),
                cell(LEVELS[i].ceiling, "bit/s"),
            ]);
        }
    }
    share_table.note(
        "Promised: of the line less the answers that go first, by share up to the ceilings, or the guarantees and the rest \
         by rank. Preamble and gap count.",
    );
    let mut headings = vec!["case".to_owned()];
    for level in &LEVELS {
        headings.extend([format!("{} mean", level.name), "p99".to_owned()]);
    }
    let mut answer_table = Table::new(
        "Answers: round trip from the instant a question was meant to be asked",
        headings,
    );
    for seen in &seen {
        let cells = LEVELS.iter().flat_map(|level| {
            [
                cell(seen.average(|run| answers(run, level).map(|l| l.mean)), "s"),
                cell(seen.average(|run| answers(run, level).map(|l| l.p99)), "s"),
            ]
        });
        answer_table.push(std::iter::once(Cell::text(seen.name.clone())).chain(cells));
    }
    answer_table.note(
        "Answered questions alone: where bronze floods, most of its own answers are lost in its own queue.",
    );
    let of = |name: &str| seen.iter().find(|s| s.name == name);
    let mean = |name: &str, level: usize| {
        of(name).map_or(f64::NAN, |s| {
            s.average(|run| answers(run, &LEVELS[level]).map(|l| l.mean))
        })
    };
    let calm = mean("questions alone", 0);
    let (flood, kept) = (
        mean("bronze floods, no policy", 0),
        mean("bronze floods, shares", 0),
    );
    let claims = vec![
        Claim::no_evidence(
            "Multiple customers sharing the SaaS application and hardware can be assigned different classes of bandwidth",
            format!(
                "in eight cases with a policy no level is off its promise by more than {worst:.2} %, whatever the others do; \
                 whoever divides an overloaded line by a rule finds it divided by that rule"
            ),
        ),
        Claim::new(
            "... and of latency",
            format!(
                "platinum's answers take {} alone, {} when bronze floods the port without a policy, {} with one; silver's {} and \
                 bronze's, which has no promise, {}",
                say(calm, "s"),
                say(flood, "s"),
                say(kept, "s"),
                say(mean("bronze floods, shares", 2), "s"),
                say(mean("bronze floods, shares", 3), "s"),
            ),
            kept < 2.0 * calm && flood > 10.0 * calm,
        ),
        Claim::no_evidence(
            "Control maximum bandwidth that a connection, flow or class (group of flows) can use",
            format!(
                "with more than half the line idle no level is above its ceiling by more than {:.3} %: a shaper does what it is for",
                above_ceiling.max(0.0)
            ),
        ),
    ];
    let figures = vec![share_figure(&made, &seen), answer_figure(&seen), {
        let shown = [
            "questions alone",
            "bronze floods, no policy",
            "bronze floods, shares",
        ];
        let lines = shown.iter().filter_map(|name| of(name)).map(|seen| {
            let first = seen.first(|run| answers(run, &LEVELS[0]));
            (seen.name.clone(), first)
        });
        distribution("Platinum's answers", "round trip", lines)
    }];
    Ok(Found {
        section: Section {
            heading: "Shared server: customers with four service levels".to_owned(),
            text: vec![
                "Four customers' virtual machines behind one 10 Gbit/s port. Each customer asks 5,000 questions a second and \
                 downloads over TCP as fast as it goes. Bronze misbehaves in two ways: with 64 connections where the others have \
                 four, and with 9 Gbit/s of UDP, which does not react to loss."
                    .to_owned(),
                "Two policies: shares of the line (policies/saas-levels.toml), and guaranteed rates with the rest by rank \
                 (policies/saas-guarantees.toml), where silver's answers have no promise."
                    .to_owned(),
            ],
            tables: vec![share_table, answer_table],
            figures,
        },
        claims,
        predictions: Vec::new(),
        rows: super::rows(&seen),
    })
}

/// In tables only: it looks like the flood.
const HIDDEN: &str = "bronze greedy";

/// What each level got, by case.
fn share_figure(made: &[Made], seen: &[Seen]) -> Figure {
    let drawn = |(_, seen): &(&Made, &Seen)| !seen.name.starts_with(HIDDEN);
    let shown: Vec<(&Made, &Seen)> = made.iter().zip(seen).skip(1).filter(drawn).collect();
    let names = Axis::names("", shown.iter().map(|(_, seen)| seen.name.clone()));
    let mut figure = Figure::new(
        "What each level got of the line",
        names,
        Axis::linear("L1", "bit/s"),
    );
    for (i, level) in LEVELS.iter().enumerate() {
        let points = shown
            .iter()
            .enumerate()
            .map(|(x, (made, seen))| (x as f64, seen.average(|run| Some(took(run, i, made.rule)))));
        figure = figure.series(Series::new(level.name, Kind::Bars, points));
    }
    figure.caption("Downloads, and the answers that do not go first.")
}

/// Mean answers by case; whiskers to the longest.
fn answer_figure(seen: &[Seen]) -> Figure {
    let seen: Vec<&Seen> = seen
        .iter()
        .filter(|seen| !seen.name.starts_with(HIDDEN))
        .collect();
    let names = Axis::names("", seen.iter().map(|seen| seen.name.clone()));
    let mut figure = Figure::new("Answers, mean and longest", names, Axis::log("round trip", "s"));
    for level in &LEVELS {
        let points = seen.iter().enumerate().map(|(x, seen)| {
            let mean = seen.average(|run| answers(run, level).map(|l| l.mean));
            let max = seen.largest(|run| answers(run, level).map(|l| l.max));
            Point::new(x as f64, mean).spanning(mean, max)
        });
        figure.series.push(Series {
            points: points.collect(),
            ..Series::new(level.name, Kind::Scatter, [])
        });
    }
    figure.abreast = true;
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_add_up_to_the_line_or_to_the_ceilings() {
        for rule in [Rule::Shares, Rule::Guarantees] {
            let all: f64 = promised(rule, &[true; 4], 9.9e9).iter().sum();
            assert!((all - 9.9e9).abs() < 1.0, "{all}");
            let two = promised(rule, &[false, false, true, true], 9.9e9);
            assert_eq!(two, [0.0, 0.0, 3e9, 1e9]);
        }
        assert_eq!(
            promised(Rule::Guarantees, &[true; 4], 9e9),
            [5e9, 2.5e9, 1.2e9, 0.3e9]
        );
    }

    #[test]
    fn the_levels_are_those_of_the_policies() {
        let shares = include_str!("../../../../policies/saas-levels.toml");
        let guarantees = include_str!("../../../../policies/saas-guarantees.toml");
        for level in &LEVELS {
            let part = |text: &str| {
                let from = text
                    .find(&format!("[class.customers.class.{}]", level.name))
                    .expect("the class");
                let rest = &text[from + 1..];
                rest[..rest.find("\n[").unwrap_or(rest.len())].to_owned()
            };
            let ceiling = format!("rate = \"{}Gbit/s\"", level.ceiling / 1e9);
            let share = format!("share = \"{}%\"", (level.share * 100.0).round());
            let guarantee = format!("guarantee = \"{}Gbit/s\"", level.guarantee / 1e9);
            assert!(
                part(shares).contains(&ceiling) && part(shares).contains(&share),
                "{}",
                level.name
            );
            assert!(
                part(guarantees).contains(&ceiling) && part(guarantees).contains(&guarantee),
                "{}",
                level.name
            );
        }
    }
}
