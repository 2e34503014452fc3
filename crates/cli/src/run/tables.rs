//! What a run shows on the terminal: classes, calls, ports, switches, drops, and what it took.

use super::Finished;
use crate::machine;
use clearway_experiment::bounds;
use clearway_metrics::Row;
use clearway_report::quantity::humanised;
use clearway_report::tables::pivot;
use clearway_report::{Micro, Table, TextOptions};
use std::io::{IsTerminal, stdout};

/// A column: metric, statistic, heading.
type Column = (&'static str, &'static str, &'static str);

const CLASSES: [Column; 9] = [
    ("offered", "mean", "offered"),
    ("throughput", "mean", "delivered"),
    ("frames_dropped", "sum", "dropped"),
    ("latency", "mean", "mean latency"),
    ("latency", "p50", "p50"),
    ("latency", "p99", "p99"),
    ("latency", "p99.9", "p99.9"),
    ("latency", "max", "max"),
    ("latency_bound", "max", "worst case"),
];
const CALLS: [Column; 5] = [
    ("calls_answered", "sum", "calls"),
    ("round_trip", "mean", "mean round trip"),
    ("round_trip", "p99", "p99"),
    ("round_trip", "max", "max"),
    ("throughput", "mean", "TCP payload"),
];
const MESSAGES: [Column; 8] = [
    ("messages_delivered", "sum", "messages"),
    ("messages_lost", "sum", "lost"),
    ("message_throughput", "mean", "payload"),
    ("one_way", "mean", "mean one way"),
    ("one_way", "p99", "p99"),
    ("message_round_trip", "mean", "mean round trip"),
    ("message_round_trip", "p99", "p99"),
    ("message_round_trip", "max", "max"),
];
const STORAGE: [Column; 7] = [
    ("operations", "mean", "operations"),
    ("blocks", "mean", "blocks"),
    ("operations_outstanding", "mean", "outstanding"),
    ("write_latency", "mean", "mean write"),
    ("write_latency", "p99", "p99"),
    ("read_latency", "mean", "mean read"),
    ("read_latency", "p99", "p99"),
];
const EVENTS: [Column; 6] = [
    ("event_rate", "mean", "events"),
    ("event_throughput", "mean", "payload"),
    ("events_incomplete", "sum", "incomplete"),
    ("event_latency", "mean", "mean latency"),
    ("event_latency", "p99", "p99"),
    ("event_latency", "max", "max"),
];
const FLOWS: [Column; 7] = [
    ("jitter", "mean", "mean jitter"),
    ("jitter", "p99", "p99"),
    ("jitter", "max", "max"),
    ("delay_variation", "mean", "mean delay variation"),
    ("delay_variation", "p99", "p99"),
    ("delay_variation", "max", "max"),
    ("frames_reordered", "sum", "reordered"),
];
const PROCESSORS: [Column; 6] = [
    ("cpu_useful", "mean", "useful"),
    ("cpu_taken", "mean", "taken"),
    ("interrupts", "sum", "interrupts"),
    ("packets_taken", "sum", "packets"),
    ("frames_taken", "sum", "frames"),
    ("receive_ring_used", "max", "ring max"),
];
const CHANGES: [Column; 6] = [
    ("at", "value", "at"),
    ("flows_concerned", "sum", "flows concerned"),
    ("flows_moved", "sum", "moved"),
    ("frames_lost", "sum", "frames lost"),
    ("flows_back_after", "value", "flows back after"),
    ("throughput_back_after", "value", "throughput back after"),
];
const PORTS: [Column; 6] = [
    ("throughput", "mean", "sent"),
    ("utilisation", "mean", "busy"),
    ("backlog", "mean", "mean backlog"),
    ("backlog", "max", "max backlog"),
    ("control_frames_sent", "sum", "pause frames sent"),
    ("time_lost_to_pause", "sum", "lost to pause"),
];
const SWITCHES: [Column; 2] = [
    ("memory_used", "mean", "mean memory"),
    ("memory_used", "max", "max memory"),
];
/// A fabric has hundreds of ports; a terminal has not.
const PORTS_SHOWN: usize = 24;

/// The tables that have lines, with their notes.
pub(super) fn of(finished: &Finished<'_>) -> Vec<Table> {
    let rows: Vec<Row> = finished.rows.iter().filter(|r| shown(r)).cloned().collect();
    let ports = finished.outcomes.first().map_or(0, |o| o.ports.len());
    let mut classes = table("Classes (L2)", &rows, "class", &CLASSES);
    for (class, reason) in bounds::unbounded(&finished.bounds) {
        classes.note(format!("no worst case of {class}: {reason}"));
    }
    let mut tables = vec![classes];
    tables.push(table("Jitter over the flows of a class", &rows, "class", &FLOWS));
    tables.push(table("Workloads", &rows, "workload", &CALLS));
    tables.push(table("Messages", &rows, "workload", &MESSAGES));
    tables.push(table("Storage", &rows, "workload", &STORAGE));
    tables.push(table("Events", &rows, "workload", &EVENTS));
    tables.push(table("Changes", &rows, "action", &CHANGES));
    tables.push(table("Processors (share of time)", &rows, "cpu", &PROCESSORS));
    tables.push(table("Switches", &rows, "switch", &SWITCHES));
    let busiest = busiest(&rows);
    let mut ports_table = table("Ports (L2; busy: L1)", &busiest, "port", &PORTS);
    if ports > PORTS_SHOWN {
        ports_table.note(format!(
            "the {PORTS_SHOWN} busiest of {ports} ports; all of them are in rows.csv"
        ));
    }
    tables.push(ports_table);
    tables.retain(|table| !table.is_empty());
    tables
}

/// One table, without the columns that no row has, of what has any of them.
fn table(title: &str, rows: &[Row], scope: &str, columns: &[Column]) -> Table {
    let is = |row: &Row, column: &Column| row.metric == column.0 && row.stat == column.1;
    let own: Vec<Row> = rows
        .iter()
        .filter(|r| r.scope == scope && columns.iter().any(|c| is(r, c)))
        .cloned()
        .collect();
    let has = |column: &&Column| own.iter().any(|r| is(r, column));
    let present: Vec<Column> = columns.iter().filter(has).copied().collect();
    pivot(title, &own, scope, &present)
}

/// Rates are shown at one layer: L2, and utilisation at L1, where it belongs.
fn shown(row: &Row) -> bool {
    match row.metric {
        "offered" | "throughput" if row.scope != "workload" => row.layer == "L2",
        "round_trip" => row.population == "all calls",
        _ => true,
    }
}

/// Rows of the ports that were busiest in the first seed, in the order of the scenario.
fn busiest(rows: &[Row]) -> Vec<Row> {
    let ports = |r: &&Row| r.scope == "port";
    let mut utilisation: Vec<(&str, f64)> = Vec::new();
    for row in rows.iter().filter(ports).filter(|r| r.metric == "utilisation") {
        if !utilisation.iter().any(|(name, _)| *name == row.name) {
            utilisation.push((&row.name, row.value));
        }
    }
    utilisation.sort_by(|a, b| b.1.total_cmp(&a.1));
    utilisation.truncate(PORTS_SHOWN);
    let kept = |r: &&Row| utilisation.iter().any(|(name, _)| *name == r.name);
    rows.iter().filter(ports).filter(kept).cloned().collect()
}

/// Everything that the terminal shows.
pub(super) fn text(finished: &Finished<'_>) -> String {
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let options = TextOptions {
        width: machine::columns(&stdout()),
        colour,
    };
    let mut text = heading(finished);
    for table in of(finished) {
        text.push('\n');
        text.push_str(&table.to_text(options));
    }
    text.push('\n');
    text.push_str(&closing(finished));
    text
}

/// Name, title, what was simulated.
fn heading(finished: &Finished<'_>) -> String {
    let scenario = &finished.loaded.scenario;
    let title = if scenario.title.is_empty() {
        String::new()
    } else {
        format!(": {}", scenario.title)
    };
    format!("{}{title}\n{}\n", scenario.name, measured(finished))
}

/// Seeds, simulated time, warm-up.
pub(super) fn measured(finished: &Finished<'_>) -> String {
    let time = |ps: u64| humanised(ps as f64 / 1e12, "s", 3, Micro::Ascii);
    let seeds = match finished.outcomes.as_slice() {
        [] => "no seed".to_owned(),
        [one] => format!("seed {}", one.seed),
        [first, .., last] => format!(
            "seeds {} to {}, \u{b1} half the 95 % interval",
            first.seed, last.seed
        ),
    };
    let simulated = finished
        .outcomes
        .iter()
        .map(|o| o.simulated.as_ps())
        .min()
        .unwrap_or(0);
    let warmup = match finished.loaded.scenario.warmup.as_ps() {
        0 => String::new(),
        ps => format!(", the first {} not measured", time(ps)),
    };
    format!("{seeds}; {} simulated{warmup}", time(simulated))
}

/// What it took.
fn closing(finished: &Finished<'_>) -> String {
    let engine = &finished.engine;
    let number = |value: f64, unit| humanised(value, unit, 3, Micro::Ascii);
    let mut text = format!(
        "{} events, {} packet-hops in {}",
        number(engine.events as f64, "1"),
        number(engine.packet_hops as f64, "1"),
        number(engine.wall_s, "s")
    );
    if let Some(cpu) = engine.cpu_s
        && engine.packet_hops > 0
    {
        let hop = number(cpu / engine.packet_hops as f64, "s");
        text.push_str(&format!(
            " ({} of processor time, {hop} a packet-hop)",
            number(cpu, "s")
        ));
    }
    if let Some(peak) = engine.peak_bytes {
        text.push_str(&format!(", {} of memory", number(peak as f64, "B")));
    }
    text.push('\n');
    if finished.interrupted {
        let done = match finished.asked {
            1 => "what was done".to_owned(),
            asked => format!("{} of {asked} seeds, all that was done", finished.outcomes.len()),
        };
        text.push_str(&format!("Interrupted: the figures are of {done} until then.\n"));
    }
    text
}
