//! Messages of a database cluster's lock manager before the data of its storage.

use super::Found;
use super::run::{File, Latency, Run, Seen, Uses, each};
use super::shown::{LATENCY, bars, cell, distribution, latency_cells, say};
use crate::reproduce::{Case, Claim, Prediction, Section};
use clearway_report::{Axis, Cell, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-rac.toml",
    text: include_str!("../../../../scenarios/t4-uses-rac.toml"),
};

const POLICY: &str = "../policies/rac-interconnect.toml";
const DATA: [&str; 8] = [
    "reads-1", "reads-2", "reads-3", "reads-4", "writes-1", "writes-2", "writes-3", "writes-4",
];
/// Stops a workload before it begins: zero would be refused.
const NEVER: &str = "1ps";

/// What the document measures between two hosts: four microseconds beside bulk, three without.
const PUBLISHED_FACTOR: f64 = 4.254 / 3.276;

pub(super) fn cases() -> Vec<Case> {
    let nics = || each("host", &["node", "storage"], "nic.policy", POLICY);
    let switch = || vec![format!("switch.sw.policy={POLICY}")];
    vec![
        Case::new("messages alone", each("workload", &DATA, "stop", NEVER)),
        Case::new("data alone", [format!("workload.locks.stop={NEVER}")]),
        Case::new::<String>("no policy", []),
        Case::new("policy in the NICs only", nics()),
        Case::new("policy end to end", nics().into_iter().chain(switch())),
    ]
}

fn locks(run: &Run) -> Option<&Latency> {
    run.class("locks")?.latency.as_ref()
}

fn calls(run: &Run) -> Option<&Latency> {
    run.work("locks")?.round_trips.as_ref()
}

fn data(seen: &Seen) -> f64 {
    seen.average(|run| Some(run.tcp_bps("reads") + run.tcp_bps("writes")))
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let seen = uses.run("RAC", FILE, &cases())?;
    let [alone, data_alone, none, nics, all] = seen.as_slice() else {
        return Err("RAC: a case is missing".to_owned());
    };
    let mut table = Table::new(
        "Lock-manager messages beside storage data",
        ["case"].into_iter().chain(LATENCY).chain([
            "round trip",
            "p99",
            "messages lost",
            "data, TCP payload",
        ]),
    );
    for case in &seen {
        let lost = case.average(|run| Some(run.class("locks")?.dropped as f64));
        let cells = [Cell::text(case.name.clone())]
            .into_iter()
            .chain(latency_cells(case, locks))
            .chain([
                cell(case.average(|run| calls(run).map(|l| l.mean)), "s"),
                cell(case.average(|run| calls(run).map(|l| l.p99)), "s"),
                cell(lost, "1"),
                cell(data(case), "bit/s"),
            ]);
        table.push(cells);
    }
    table.note("Latency of a message one way, application to application; a round trip counts from the instant at which the request was meant to be sent.");
    let beside: Vec<&Seen> = vec![alone, none, nics, all];
    let lines = beside.iter().map(|seen| (seen.name.clone(), seen.first(locks)));
    let figures = vec![
        distribution("Messages of the lock manager, one way", "latency", lines),
        bars(
            "Storage data",
            Axis::linear("TCP payload", "bit/s").ranged(0.0, 80e9),
            &[data_alone, none, nics, all],
            &[("", &data)],
        )
        .caption("Eight ports of 10 Gbit/s, both directions."),
    ];
    let mean = |seen: &Seen| seen.latency("locks", |l| l.mean);
    let (without, with) = (mean(none) / mean(alone), mean(all) / mean(alone));
    let least = seen
        .iter()
        .filter(|s| s.name != alone.name)
        .map(data)
        .fold(f64::INFINITY, f64::min);
    let claims = vec![
        Claim::no_evidence(
            "Figure 8: a regular NIC would have shown an order of magnitude deterioration in latency",
            format!(
                "messages of the cluster: {} alone, {} beside data, {without:.0} times as much. How many times is what TCP \
                 keeps in flight, 256 kB for a port here; from 36 kB on it is more than tenfold in any model",
                say(mean(alone), "s"),
                say(mean(none), "s")
            ),
        ),
        Claim::new(
            "Traffic Management maintains latency at near baseline numbers",
            format!(
                "{} end to end, {with:.2} times the messages alone; the document's own numbers make it {PUBLISHED_FACTOR:.2}. \
                 With the policy in the NICs only it is {}",
                say(mean(all), "s"),
                say(mean(nics), "s")
            ),
            with < 1.5,
        ),
        Claim::no_evidence(
            "Inter-node traffic is delivered with the lowest latency possible without affecting the bandwidth of the data mover",
            format!(
                "data takes {} alone and at least {} beside messages; a scheduler that never idles could do nothing else",
                say(data(data_alone), "bit/s"),
                say(least, "bit/s")
            ),
        ),
    ];
    let samples = |of: &Seen| -> Vec<f64> {
        let each = of.runs.iter().zip(&alone.runs);
        each.filter_map(|(run, base)| Some(locks(run)?.mean / locks(base)?.mean))
            .collect()
    };
    let prediction = |case: &str, seen: &Seen| Prediction {
        case: format!("RAC interconnect, {case}"),
        metric: "latency against that alone".to_owned(),
        stat: "mean".to_owned(),
        samples: samples(seen),
    };
    let predictions = vec![prediction("no policy", none), prediction("policy", all)];
    Ok(Found {
        section: Section {
            heading: "Database cluster: lock-manager messages before storage data".to_owned(),
            text: vec![
                "Four nodes and four storage units on one switch. The nodes ask each other for locks, 20,000 times a second \
                 each; every node reads from every storage unit and writes to it over one TCP connection each way, so that all \
                 eight ports are full in both directions."
                    .to_owned(),
            ],
            tables: vec![table],
            figures,
        },
        claims,
        predictions,
        rows: super::rows(&seen),
    })
}
