//! The receive side: flows spread over a host's processors, with shares and interrupts of their own.

use super::Found;
use super::run::{File, Seen, Uses};
use super::shown::{bars, cell, say};
use crate::reproduce::{Case, Claim, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-receive.toml",
    text: include_str!("../../../../scenarios/t4-uses-receive.toml"),
};

pub(super) fn cases() -> Vec<Case> {
    let cpus = |list: &str| format!("host.server.stack.cpus={list}");
    let late = "{ coalesce = { frames = 64, time = \"200us\" } }";
    vec![
        Case::new::<String>("one processor", []),
        Case::new("four, equal shares", [cpus("4")]),
        Case::new(
            "four, shares 1:1:2:4",
            [cpus(
                "[{ weight = 1 }, { weight = 1 }, { weight = 2 }, { weight = 4 }]",
            )],
        ),
        Case::new(
            "two quick, two that wait",
            [cpus(&format!("[{{}}, {{}}, {late}, {late}]"))],
        ),
    ]
}

fn busy(seen: &Seen, cpu: usize) -> f64 {
    seen.average(|run| run.cpus.get(cpu).map(|c| c.busy))
}

/// Share of the frames that a processor took.
fn share(seen: &Seen, cpu: usize) -> f64 {
    seen.average(|run| {
        let all: u64 = run.cpus.iter().map(|c| c.frames).sum();
        run.cpus.get(cpu).map(|c| c.frames as f64 / all as f64)
    })
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let seen = uses.run("receive", FILE, &cases())?;
    let [one, four, shares, waiting] = seen.as_slice() else {
        return Err("receive: a case is missing".to_owned());
    };
    let lost = |seen: &Seen| {
        seen.average(|run| {
            run.class("datagrams")
                .map(|c| c.dropped as f64 / c.offered as f64 * 100.0)
        })
    };
    let mut table = Table::new(
        "512 flows, 1.6 million datagrams a second",
        [
            "case",
            "processor",
            "share of the frames",
            "busy",
            "of it interrupts",
            "lost %",
            "flows: mean latency least",
            "most",
        ],
    );
    for seen in &seen {
        let cpus = seen.runs.first().map_or(0, |run| run.cpus.len());
        for cpu in 0..cpus {
            let whole = |value: f64, unit: &str| {
                if cpu == 0 {
                    cell(value, unit)
                } else {
                    Cell::blank()
                }
            };
            table.push([
                Cell::text(if cpu == 0 {
                    seen.name.clone()
                } else {
                    String::new()
                }),
                Cell::text(format!("{}", cpu + 1)),
                cell(share(seen, cpu), "1"),
                cell(busy(seen, cpu), "1"),
                cell(seen.average(|run| run.cpus.get(cpu).map(|c| c.interrupts)), "1"),
                whole(lost(seen), "1"),
                whole(seen.average(|run| Some(run.flow_latency.min)), "s"),
                whole(seen.average(|run| Some(run.flow_latency.max)), "s"),
            ]);
        }
    }
    table.note("A processor takes the flows whose hash falls in its part: 512 flows come out as the weights say only roughly.");
    let all_busy = |seen: &Seen| (0..4).map(|cpu| busy(seen, cpu)).sum::<f64>();
    let claims = vec![
        Claim::new(
            "Traffic from multiple flows can be load-balanced, with programmable bandwidth, across host CPUs",
            format!(
                "one processor loses {:.0} % of 1.6 million datagrams a second, four lose {:.0} %; weights of 1:1:2:4 give shares of {:.2}, {:.2}, \
                 {:.2} and {:.2} of the frames",
                lost(one),
                lost(four),
                share(shares, 0),
                share(shares, 1),
                share(shares, 2),
                share(shares, 3),
            ),
            lost(one) > 1.0 && lost(four) == 0.0 && share(shares, 3) > 1.5 * share(shares, 2),
        ),
        Claim::new(
            "... and programmable latency",
            format!(
                "where two processors wait for 64 frames or 200 us their flows take up to {} on average, the others' from {} on; \
                 the four are busy for {:.2} processors instead of {:.2}",
                say(waiting.average(|run| Some(run.flow_latency.max)), "s"),
                say(waiting.average(|run| Some(run.flow_latency.min)), "s"),
                all_busy(waiting),
                all_busy(four),
            ),
            all_busy(waiting) < all_busy(four),
        ),
    ];
    let mut figure = Figure::new(
        "Mean latency of each flow",
        Axis::log("latency", "s"),
        Axis::linear("fraction of flows at or above", "1"),
    );
    for seen in &seen {
        let points = seen
            .runs
            .first()
            .map_or(&[][..], |run| run.flow_latency.above.as_slice());
        figure = figure.series(Series::new(seen.name.clone(), Kind::Step, points.iter().copied()));
    }
    let processor = |cpu: usize| move |seen: &Seen| busy(seen, cpu);
    let each = [processor(0), processor(1), processor(2), processor(3)];
    let figures = vec![
        figure.caption("The first seed."),
        bars(
            "How busy each processor is",
            Axis::linear("share of the time", "1").ranged(0.0, 1.1),
            &[one, four, shares, waiting],
            &[("1", &each[0]), ("2", &each[1]), ("3", &each[2]), ("4", &each[3])],
        ),
    ];
    Ok(Found {
        section: Section {
            heading: "Receive side: flows over a host's processors".to_owned(),
            text: vec![
                "Eight clients send 512 flows of 256 B datagrams to a server with a kernel's stack (devices/generic-kernel.toml). Priority \
                 receive channels stand in t4-qos, section \"Bulk into a host behind a slow bus\"."
                    .to_owned(),
            ],
            tables: vec![table],
            figures,
        },
        claims,
        predictions: Vec::new(),
        rows: super::rows(&seen),
    })
}
