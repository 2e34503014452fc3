//! What stacks of four kinds take of the processors for the same messages.

use crate::reproduce::{Case, Context, Runner, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};
use clearway_sim::{Outcome, RunOptions};

const FILE: &str = "scenarios/t5-stacks.toml";
const TEXT: &str = include_str!("../../../../scenarios/t5-stacks.toml");

/// A stack: its name, its device, its transport, further keys of both hosts.
type Stack = (&'static str, &'static str, &'static str, &'static [&'static str]);

const STACKS: [Stack; 5] = [
    ("kernel", "generic-kernel", "tcp", &[]),
    ("user space (SFN7122F)", "sfn7122f", "tcp", &[]),
    ("offload, polled (T5)", "t5", "tcp", &[]),
    (
        "offload, not polled (T5)",
        "t5",
        "tcp",
        &["interrupt={ cost = \"10us\" }"],
    ),
    (
        "RDMA (T5, iWARP)",
        "t5",
        "iwarp",
        &["kind=rdma", "interrupt={ cost = \"10us\" }"],
    ),
];

/// Payload bytes and messages a second.
const LOADS: [(u32, u32); 2] = [(65_536, 10_000), (256, 100_000)];

struct Used {
    /// Useful and taken share at the client, then at the server.
    shares: [(f64, f64); 2],
    payload_bps: f64,
    mean: f64,
}

fn used(outcome: &Outcome) -> Used {
    let span = outcome.measured();
    let share = |host: usize| {
        let cpu = outcome.hosts.get(host).and_then(|h| h.cpus.first());
        cpu.map_or((0.0, 0.0), |c| (c.useful(span), c.taken(span)))
    };
    let m = outcome.messages.first().map(|m| &m.messages);
    let seconds = span.as_ps() as f64 * 1e-12;
    Used {
        shares: [share(0), share(1)],
        payload_bps: m.map_or(0.0, |m| m.window_bytes as f64 * 8.0 / seconds),
        mean: m.and_then(|m| m.one_way.mean()).unwrap_or(f64::NAN) * 1e-12,
    }
}

/// The section; none where the work was stopped.
pub(super) fn section(context: &Context<'_>) -> Result<Option<Section>, String> {
    let runner = Runner {
        file: FILE,
        text: TEXT,
        options: RunOptions::default(),
    };
    let mut tables = Vec::new();
    let mut figures = Vec::new();
    for (bytes, rate) in LOADS {
        let case = |&(name, device, transport, more): &Stack| {
            let mut sets = vec![
                format!("workload.load.messages.transport={transport}"),
                format!("workload.load.messages.message={bytes}B"),
                format!("workload.load.messages.rate={rate}frame/s"),
            ];
            for host in ["client", "server"] {
                sets.push(format!("host.{host}.device=../devices/{device}.toml"));
                sets.extend(more.iter().map(|key| format!("host.{host}.stack.{key}")));
            }
            Case::new(name, sets).with_seeds(1)
        };
        let cases: Vec<Case> = STACKS.iter().map(case).collect();
        let runs = runner.run(context, &cases, |_, _, outcome| used(outcome))?;
        if runs.iter().any(Vec::is_empty) {
            return Ok(None);
        }
        let what = format!("{rate} messages/s of {bytes} B");
        let headings = [
            "stack",
            "payload",
            "one way",
            "sender useful",
            "sender taken",
            "receiver useful",
            "receiver taken",
        ];
        let mut table = Table::new(format!("Processors: {what}"), headings);
        let mut bars = [Vec::new(), Vec::new()];
        for (i, (stack, runs)) in STACKS.iter().zip(&runs).enumerate() {
            let Some(run) = runs.first() else { continue };
            let share = |x: f64| Cell::number(x, "1").digits(3);
            table.push([
                Cell::text(stack.0),
                Cell::number(run.payload_bps, "bit/s").digits(4),
                Cell::number(run.mean, "s").digits(4),
                share(run.shares[0].0),
                share(run.shares[0].1),
                share(run.shares[1].0),
                share(run.shares[1].1),
            ]);
            for (bars, share) in bars.iter_mut().zip(run.shares) {
                bars.push((i as f64, share.0));
            }
        }
        table.note("Useful: work. Taken: what nobody else can have, all of a processor that polls.");
        tables.push(table);
        let [client, server] = bars;
        figures.push(
            Figure::new(
                format!("Work of the processors: {what}"),
                Axis::names("", STACKS.map(|s| s.0.to_owned())),
                Axis::linear("useful share of one processor", "1").ranged(0.0, 1.0),
            )
            .series(Series::new("sender", Kind::Bars, client))
            .series(Series::new("receiver", Kind::Bars, server))
            .caption("A polled stack takes the whole processor however little of it is work."),
        );
    }
    Ok(Some(Section {
        heading: "What stacks take of the processors".to_owned(),
        text: vec![
            "The document names processor use for each kind of stack without numbers. Here each carries the same messages over \
             TCP (RDMA: iWARP); costs are those of the device files, the kernel's from others' published measurements."
                .to_owned(),
        ],
        tables,
        figures,
    }))
}
