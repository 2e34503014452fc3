//! Messages of a seismic simulation before bulk reads from network storage.

use super::Found;
use super::run::{File, Latency, Run, Seen, Uses, each};
use super::shown::{LATENCY, cell, distribution, latency_cells, say};
use crate::reproduce::{Case, Claim, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-seismic.toml",
    text: include_str!("../../../../scenarios/t4-uses-seismic.toml"),
};

const NO_READS: &str = "workload.reads.stop=1ps";
const ALL_TO_ALL: &str = "workload.steps.messages.exchange={ compute = \"100us\" }";
const LATE: &str = "The first seed. A node that is late itself finds its neighbours' messages waiting: its exchange is short.";
/// Storage units of the sweep.
const UNITS: [u32; 3] = [4, 8, 12];
const NODES: f64 = 16.0;

fn policy() -> Vec<String> {
    let policy = "../policies/seismic-messages.toml";
    let mut sets = each("host", &["node", "nas"], "nic.policy", policy);
    sets.push(format!("switch.sw.policy={policy}"));
    sets
}

fn with(name: &str, sets: &[&str], policy: Vec<String>) -> Case {
    Case::new(name, sets.iter().map(|set| (*set).to_owned()).chain(policy))
}

pub(super) fn cases() -> Vec<Case> {
    let nics = policy().into_iter().take(2).collect();
    vec![
        with("no reads", &[NO_READS], vec![]),
        with("no policy", &[], vec![]),
        with("policy in the NICs only", &[], nics),
        with("messages first", &[], policy()),
        with("all to all, no reads", &[ALL_TO_ALL, NO_READS], vec![]),
        with("all to all, no policy", &[ALL_TO_ALL], vec![]),
        with("all to all, messages first", &[ALL_TO_ALL], policy()),
    ]
}

pub(super) fn sweep() -> Vec<Case> {
    let both = |units: u32| {
        let count = format!("host.nas.count={units}");
        let bare = Case::new(format!("{units} storage units, no policy"), [count.clone()]);
        let sets = policy().into_iter().chain([count]);
        [
            bare,
            Case::new(format!("{units} storage units, messages first"), sets),
        ]
    };
    UNITS
        .into_iter()
        .flat_map(both)
        .map(|case| case.with_seeds(1))
        .collect()
}

fn steps(run: &Run) -> Option<&Latency> {
    run.work("steps")?.round_trips.as_ref()
}

/// Steps a second of the whole cluster: everybody does as many.
fn rate(seen: &Seen) -> f64 {
    seen.average(|run| Some(steps(run)?.count as f64 / NODES / run.seconds))
}

fn reads(seen: &Seen) -> f64 {
    seen.average(|run| Some(run.work("reads").map_or(0.0, |w| w.tcp_bps)))
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let seen = uses.run("seismic", FILE, &cases())?;
    let [calm, none, nics, first, all_calm, all_none, all_first] = seen.as_slice() else {
        return Err("seismic: a case is missing".to_owned());
    };
    let swept = uses.run("seismic", FILE, &sweep())?;
    let headings = ["case"]
        .into_iter()
        .chain(LATENCY)
        .chain(["steps", "reads, payload", "frames lost"]);
    let mut table = Table::new("Exchange of messages in a step", headings);
    for seen in seen.iter().chain(&swept) {
        let lost = seen.average(|run| Some(run.classes.iter().map(|c| c.dropped as f64).sum()));
        let cells = [Cell::text(seen.name.clone())]
            .into_iter()
            .chain(latency_cells(seen, steps))
            .chain([
                cell(rate(seen), "step/s"),
                cell(reads(seen), "bit/s"),
                cell(lost, "1"),
            ]);
        table.push(cells);
    }
    table.note("An exchange lasts from a node's own sending to its last message. A step is an exchange and 100 us of computing.");
    let mean = |seen: &Seen| seen.average(|run| steps(run).map(|l| l.mean));
    let factor = mean(none) / mean(calm);
    let claims = vec![
        Claim::new(
            "An order of magnitude deterioration without management (figure 8), for the messages of a cluster",
            format!(
                "an exchange takes {} without reads and {} beside them, {factor:.1} times as long; steps a second fall from {:.0} to {:.0}, as \
                 100 us of each are computing. The storage units cannot fill sixteen ports: no queue is as deep as one between two hosts",
                say(mean(calm), "s"),
                say(mean(none), "s"),
                rate(calm),
                rate(none),
            ),
            factor >= 10.0,
        ),
        Claim::new(
            "Messaging traffic is prioritised, allowing it to be delivered with the lowest latency possible",
            format!(
                "messages first: {} beside reads, {} without; in the NICs only {}, for the replies meet in the switch",
                say(mean(first), "s"),
                say(mean(calm), "s"),
                say(mean(nics), "s"),
            ),
            mean(first) < 1.1 * mean(calm),
        ),
        Claim::new(
            "... without affecting the bandwidth of the data mover",
            format!(
                "reads take {} without and {} with the policy; everybody with everybody, where messages fill half of each port, {} and {}: \
                 faster steps are more messages, and reads get what is left",
                say(reads(none), "bit/s"),
                say(reads(first), "bit/s"),
                say(reads(all_none), "bit/s"),
                say(reads(all_first), "bit/s"),
            ),
            reads(first) > 0.98 * reads(none),
        ),
    ];
    let lines = [calm, none, nics, first].map(|seen| (seen.name.clone(), seen.first(steps)));
    let wide = [all_calm, all_none, all_first].map(|seen| (seen.name.clone(), seen.first(steps)));
    let figures = vec![
        distribution("Exchange with four neighbours", "time of an exchange", lines).caption(LATE),
        distribution(
            "Exchange of everybody with everybody",
            "time of an exchange",
            wide,
        )
        .caption(LATE),
        units_figure(&swept),
    ];
    let mut rows = super::rows(&seen);
    rows.extend(super::rows(&swept));
    Ok(Found {
        section: Section {
            heading: "Seismic cluster: messages before storage data".to_owned(),
            text: vec![
                "Sixteen nodes exchange 8 KiB with two neighbours to either side in each step and compute for 100 us; each reads 64 KiB \
                 blocks from eight storage units, 32 under way. A node begins a step when it has the messages of all its neighbours: one \
                 late message holds up its receiver and soon everybody."
                    .to_owned(),
            ],
            tables: vec![table],
            figures,
        },
        claims,
        predictions: Vec::new(),
        rows,
    })
}

fn units_figure(swept: &[Seen]) -> Figure {
    let mut figure = Figure::new(
        "Steps of the cluster by what storage sends",
        Axis::linear("storage units of 10 Gbit/s", "1"),
        Axis::linear("steps", "step/s"),
    );
    for (place, name) in [(0, "no policy"), (1, "messages first")] {
        let cases = swept.iter().skip(place).step_by(2);
        let points = UNITS
            .iter()
            .zip(cases)
            .map(|(units, seen)| (f64::from(*units), rate(seen)));
        figure = figure.series(Series::new(name, Kind::Path, points));
    }
    figure.caption("Sixteen nodes with four neighbours each; the more storage, the more its replies meet.")
}
