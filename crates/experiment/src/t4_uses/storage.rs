//! One LUN before all other LUNs and volumes of a storage server, in operations a second and latency.

use super::Found;
use super::run::{File, Latency, Operations, Run, Seen, Uses};
use super::shown::{bars, cell, distribution, say};
use crate::reproduce::{Case, Claim, Section};
use clearway_report::{Axis, Cell, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-storage.toml",
    text: include_str!("../../../../scenarios/t4-uses-storage.toml"),
};

fn everywhere(policy: &str) -> Vec<String> {
    let ports = ["host.server.nic", "host.client.nic", "switch.sw"];
    ports
        .map(|port| format!("{port}.policy=../policies/{policy}.toml"))
        .to_vec()
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new("LUN1 alone", ["workload.others.stop=1ps"]),
        Case::new("others alone", ["workload.lun1.stop=1ps"]),
        Case::new::<&str>("no policy", []),
        Case::new("LUN1 first", everywhere("lun-first")),
        Case::new(
            "LUN1 first at the server only",
            everywhere("lun-first").into_iter().take(1),
        ),
        Case::new("LUN1 30 %", everywhere("lun-weighted")),
        Case::new("LUN1 2 Gbit/s guaranteed", everywhere("lun-guarantee")),
    ]
}

fn number(seen: &Seen, name: &str, of: impl Fn(&Operations) -> f64) -> f64 {
    seen.average(|run| run.operations(name).map(&of))
}

fn reads(run: &Run) -> Option<&Latency> {
    run.operations("lun1")?.reads.as_ref()
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let seen = uses.run("storage", FILE, &cases())?;
    let [alone, _, none, first, server, weighted, guarantee] = seen.as_slice() else {
        return Err("storage: a case is missing".to_owned());
    };
    let headings = [
        "case",
        "LUN1 IOPS",
        "latency mean",
        "read p99",
        "write p99",
        "outstanding",
        "others IOPS",
        "latency mean",
        "all blocks",
    ];
    let mut table = Table::new("One LUN and all others", headings);
    let p99 = |latency: &Option<Latency>| latency.as_ref().map_or(f64::NAN, |l| l.p99);
    let blocks = |seen: &Seen| seen.average(|run| Some(run.operations.iter().map(|o| o.bps).sum()));
    for seen in &seen {
        table.push([
            Cell::text(seen.name.clone()),
            cell(number(seen, "lun1", |o| o.per_second), "op/s"),
            cell(number(seen, "lun1", |o| o.mean), "s"),
            cell(number(seen, "lun1", |o| p99(&o.reads)), "s"),
            cell(number(seen, "lun1", |o| p99(&o.writes)), "s"),
            cell(number(seen, "lun1", |o| o.outstanding), "1"),
            cell(number(seen, "others", |o| o.per_second), "op/s"),
            cell(number(seen, "others", |o| o.mean), "s"),
            cell(blocks(seen), "bit/s"),
        ]);
    }
    table.note(
        "A closed loop: operations a second times latency is what is outstanding (Little's law), eight blocks of 8 KiB for LUN1. \
         80 us of each operation are the server's own.",
    );
    let iops = |seen: &Seen| number(seen, "lun1", |o| o.per_second);
    let mean = |seen: &Seen| number(seen, "lun1", |o| o.mean);
    let others = |seen: &Seen| number(seen, "others", |o| o.per_second);
    let claims = vec![
        Claim::new(
            "Bypassing all traffic to LUN1 over a dedicated channel allows LUN1 Client to meet the desired level of storage I/O QoS \
             measured in terms of IOPs and latency",
            format!(
                "LUN1 has {} and {} alone, {} and {} beside the others without a policy, {} and {} before them",
                say(iops(alone), "op/s"),
                say(mean(alone), "s"),
                say(iops(none), "op/s"),
                say(mean(none), "s"),
                say(iops(first), "op/s"),
                say(mean(first), "s"),
            ),
            iops(first) > 0.95 * iops(alone) && mean(first) < 1.05 * mean(alone),
        ),
        Claim::no_evidence(
            "Aggregate throughput is preserved",
            format!(
                "all blocks together: {} without a policy, {} with LUN1 first. The others fall from {} to {}: what LUN1 gains in a closed \
                 loop it takes from them",
                say(blocks(none), "bit/s"),
                say(blocks(first), "bit/s"),
                say(others(none), "op/s"),
                say(others(first), "op/s"),
            ),
        ),
    ];
    let shown = [alone, none, first, weighted, guarantee];
    let lines = shown.iter().map(|seen| (seen.name.clone(), seen.first(reads)));
    let figures = vec![
        distribution("LUN1: latency of reads", "latency", lines),
        bars(
            "Operations a second",
            Axis::linear("operations", "op/s"),
            &[alone, none, first, weighted, guarantee],
            &[("LUN1, 8 KiB", &iops), ("all others, 64 KiB", &others)],
        ),
    ];
    Ok(Found {
        section: Section {
            heading: "Storage server: one LUN before all others".to_owned(),
            text: vec![
                "Client 1 reads and writes blocks of 8 KiB of LUN1, eight at a time; seven others keep the server's port full with 64 KiB \
                 blocks of other LUNs and volumes. LUN1 first, with a share of 30 %, or with 2 Gbit/s guaranteed."
                    .to_owned(),
                format!(
                    "The server's own port decides here: with the policy there alone LUN1 has {}, and {} with it at the clients and at the \
                     switch as well, where writes queue.",
                    say(iops(server), "op/s"),
                    say(iops(first), "op/s"),
                ),
            ],
            tables: vec![table],
            figures,
        },
        claims,
        predictions: Vec::new(),
        rows: super::rows(&seen),
    })
}
