//! What the terminal shows of experiments.

use super::Timed;
use super::summary;
use crate::machine;
use clearway_experiment::reproduce::{Claim, Reproduced, Without};
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
    if !reproduced.comparisons.is_empty() {
        text.push_str(&format!("\n{}", figures(reproduced).to_text(options)));
    }
    text.push_str(&statements(&reproduced.claims, options.width.unwrap_or(100)));
    for table in inputs(reproduced).iter().filter(|_| full) {
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

/// Published against predicted.
pub(super) fn figures(reproduced: &Reproduced) -> Table {
    let title = format!("Published against predicted ({} seeds)", reproduced.seeds);
    tables::comparisons(&title, &reproduced.comparisons)
}

/// Statements as paragraphs: in the columns of a table a terminal would cut them short.
fn statements(claims: &[Claim], width: usize) -> String {
    let mut text = String::new();
    if !claims.is_empty() {
        text.push_str("\nStatements of the document, and what the model says\n");
    }
    for claim in claims {
        let standing = format!("{:<13}", claim.standing.as_str());
        let indent = " ".repeat(standing.len());
        text.push_str(&wrapped(&claim.statement, &standing, &indent, width));
        text.push_str(&wrapped(&claim.model, &indent, &format!("{indent}  "), width));
    }
    text
}

/// Words in lines of at most `width` characters, the first line begun by `first`, the others by `rest`.
fn wrapped(words: &str, first: &str, rest: &str, width: usize) -> String {
    let mut text = String::new();
    let (mut line, mut empty) = (first.to_owned(), true);
    for word in words.split_whitespace() {
        let longer = line.chars().count() + usize::from(!empty) + word.chars().count();
        if !empty && longer > width {
            text.push_str(&format!("{line}\n"));
            (line, empty) = (rest.to_owned(), true);
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(&format!("{}\n", line.trim_end()));
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_never_cut_short() {
        let claim = Claim::new(
            "one two three four five six seven",
            "eight nine ten eleven twelve",
            false,
        );
        let text = statements(&[claim], 32);
        let golden = "
Statements of the document, and what the model says
misses       one two three four
             five six seven
             eight nine ten
               eleven twelve
";
        assert_eq!(text, golden);
        assert_eq!(statements(&[], 80), "");
        // A word that fits nowhere still stands there, whole.
        assert!(wrapped("incomprehensibilities", "a ", "  ", 5).contains("incomprehensibilities"));
    }
}
