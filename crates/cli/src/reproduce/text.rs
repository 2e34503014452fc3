//! What the terminal shows of experiments.

use super::Timed;
use super::summary;
use crate::machine;
use clearway_experiment::reproduce::{Reproduced, Without, claim};
use clearway_report::{Cell, Table, TextOptions, tables};
use std::io::{IsTerminal, stdout};

fn options() -> TextOptions {
    TextOptions {
        width: machine::columns(&stdout()),
        colour: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// One experiment: its figures and statements, and everything else where it is asked for.
pub(super) fn one(reproduced: &Reproduced, full: bool) -> String {
    let options = options();
    let mut text = format!(
        "{}: {}\n{}\n",
        reproduced.name, reproduced.title, reproduced.document
    );
    let mut shown = results(reproduced);
    if full {
        shown.extend(inputs(reproduced));
    }
    for table in shown {
        text.push_str(&format!("\n{}", table.to_text(options)));
    }
    for section in reproduced.sections.iter().filter(|_| full) {
        text.push_str(&format!("\n{}\n", section.heading));
        for paragraph in &section.text {
            text.push_str(&format!("{paragraph}\n"));
        }
        for table in &section.tables {
            text.push_str(&format!("\n{}", table.to_text(options)));
        }
    }
    for missing in &reproduced.missing {
        text.push_str(&format!("Nothing was predicted for {missing}.\n"));
    }
    if reproduced.stopped {
        text.push_str("Interrupted: the figures are of what was done until then.\n");
    }
    text.push('\n');
    text
}

/// What several experiments end with.
pub(super) fn end(all: &[Timed], full: bool) -> String {
    let mut text = summary::table(all, true).to_text(options());
    if !full {
        text.push_str(
            "`clearway reproduce NAME` shows one with its parameters, tables and checks; --full all of them.\n",
        );
    }
    text
}

/// Published against predicted, and statements.
pub(super) fn results(reproduced: &Reproduced) -> Vec<Table> {
    let title = format!("Published against predicted ({} seeds)", reproduced.seeds);
    let mut all = vec![tables::comparisons(&title, &reproduced.comparisons)];
    if !reproduced.claims.is_empty() {
        all.push(claim::table(&reproduced.claims));
    }
    all
}

/// What the results rest on: parameters, leave-one-out.
pub(super) fn inputs(reproduced: &Reproduced) -> Vec<Table> {
    let mut all = vec![tables::parameters("Parameters", &reproduced.parameters)];
    if !reproduced.without.is_empty() {
        all.push(without(&reproduced.without));
    }
    all
}

fn without(lines: &[Without]) -> Table {
    let headings = [
        "parameter",
        "put back to",
        "case",
        "figure",
        "published",
        "as fitted",
        "without it",
        "difference",
    ];
    let mut table = Table::new("Leave one out", headings);
    for line in lines {
        let c = &line.comparison;
        table.push([
            Cell::text(line.parameter.as_str()),
            Cell::number(line.neutral, line.parameter_unit.as_str()),
            Cell::text(c.case.as_str()),
            Cell::text(format!("{} {}", c.metric, c.stat)),
            Cell::number(c.published, c.unit.as_str()),
            Cell::number(line.fitted, c.unit.as_str()),
            Cell::number(c.predicted, c.unit.as_str()),
            c.difference.map_or_else(Cell::blank, |d| Cell::number(d, "%")),
        ]);
    }
    table.note("Each fitted parameter in turn has the value that one would take without the figure it was fitted to.");
    table
}
