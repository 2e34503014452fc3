//! `clearway reproduce`: published experiments, published against predicted.

use crate::arguments::Reproduce;
use crate::ending::{Failure, print, say};
use crate::folder::Folder;
use crate::{interrupt, machine};
use clearway_experiment::cores;
use clearway_experiment::reproduce::{self, Context, Experiment, Progress, Reproduced, Without, claim};
use clearway_metrics::Comparison;
use clearway_report::frame::Frame;
use clearway_report::{
    Cell, Page, Parameter, Table, TextOptions, charts, csv, json, parquet, svg, svg::Size, tables,
};
use serde_json::{Value, json};
use std::io::{IsTerminal, stderr, stdout};

/// Per cent, the target for predicted means and throughputs; the strip in the plot of differences.
const TARGET: f64 = 10.0;

/// Runs the experiments and shows what they found.
pub(crate) fn reproduce(arguments: &Reproduce) -> Result<(), Failure> {
    let known = reproduce::experiments();
    if arguments.list {
        return list(&known);
    }
    let chosen = choose(&known, &arguments.names)?;
    let folder = arguments.output.out.as_deref().map(Folder::open).transpose()?;
    let stop = interrupt::on_signal()?;
    let mut all = Vec::new();
    for experiment in chosen {
        let context = Context {
            seeds: arguments.seeds.unwrap_or_else(|| experiment.default_seeds()),
            threads: cores::cores(),
            stop: &stop,
            progress: &|progress| show(experiment.name(), progress),
            store: None,
        };
        let reproduced = reproduce::reproduce(experiment, &context);
        clear();
        let reproduced = reproduced.map_err(|why| Failure::Usage(format!("{}: {why}", experiment.name())))?;
        let stopped = reproduced.stopped;
        if !arguments.output.json {
            print(&text(&reproduced))?;
        }
        all.push(reproduced);
        if stopped {
            break;
        }
    }
    let document = document(&all);
    if arguments.output.json {
        print(&format!("{document}\n"))?;
    }
    if let Some(folder) = &folder {
        fill(folder, &all, &format!("{document:#}\n"))?;
        say(&format!("wrote {}\n", folder.shown()));
    }
    let wrong = |r: &Reproduced| r.misses() || !r.missing.is_empty();
    if all.iter().any(|r| r.stopped) {
        Err(Failure::Interrupted)
    } else if arguments.strict && all.iter().any(wrong) {
        Err(Failure::Check)
    } else {
        Ok(())
    }
}

fn list(known: &[&dyn Experiment]) -> Result<(), Failure> {
    let mut table = Table::new("Experiments", ["name", "what", "document", "seeds"]);
    for experiment in known {
        let file = reproduce::read(experiment.name(), experiment.data()).map_err(Failure::Usage)?;
        let seeds = Cell::number(experiment.default_seeds().into(), "1");
        table.push([
            Cell::text(experiment.name()),
            Cell::text(file.title),
            Cell::text(file.document),
            seeds,
        ]);
    }
    print(&table.to_text(TextOptions {
        width: machine::columns(&stdout()),
        colour: false,
    }))
}

fn choose<'a>(known: &[&'a dyn Experiment], names: &[String]) -> Result<Vec<&'a dyn Experiment>, Failure> {
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |name: &String| {
        known.iter().copied().find(|e| e.name() == name).ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|e| e.name()).collect();
            let near = clearway_policy::diagnostic::nearest(name, all.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
            Failure::Usage(format!(
                "no experiment {name:?}{hint}; there are {}",
                all.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}

/// One line on a terminal: how many runs are done.
fn show(experiment: &str, progress: &Progress<'_>) {
    if stderr().is_terminal() {
        let width = machine::columns(&stderr()).unwrap_or(80).saturating_sub(1);
        let line = format!(
            "{experiment}: {} of {} runs, {}",
            progress.done, progress.total, progress.case
        );
        let line: String = line.chars().take(width).collect();
        say(&format!("\r{line}\x1b[K"));
    }
}

fn clear() {
    if stderr().is_terminal() {
        say("\r\x1b[K");
    }
}

/// What the terminal shows of one experiment.
fn text(reproduced: &Reproduced) -> String {
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let options = TextOptions {
        width: machine::columns(&stdout()),
        colour,
    };
    let mut text = format!(
        "{}: {}\n{}\n",
        reproduced.name, reproduced.title, reproduced.document
    );
    for table in main_tables(reproduced) {
        text.push_str(&format!("\n{}", table.to_text(options)));
    }
    for section in &reproduced.sections {
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

/// Published against predicted, parameters, leave-one-out.
fn main_tables(reproduced: &Reproduced) -> Vec<Table> {
    let title = format!("Published against predicted ({} seeds)", reproduced.seeds);
    let mut all = vec![tables::comparisons(&title, &reproduced.comparisons)];
    all.push(tables::parameters("Parameters", &reproduced.parameters));
    if !reproduced.without.is_empty() {
        all.push(without(&reproduced.without));
    }
    if !reproduced.claims.is_empty() {
        all.push(claim::table(&reproduced.claims));
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

fn comparisons(all: &[Reproduced]) -> Vec<Comparison> {
    all.iter().flat_map(|r| r.comparisons.iter().cloned()).collect()
}

fn parameters(all: &[Reproduced]) -> Vec<Parameter> {
    all.iter().flat_map(|r| r.parameters.iter().cloned()).collect()
}

fn document(all: &[Reproduced]) -> Value {
    let experiment = |r: &Reproduced| {
        json!({
            "name": r.name, "title": r.title, "document": r.document, "seeds": r.seeds, "missing": r.missing,
            "interrupted": r.stopped,
        })
    };
    let left_out = |r: &Reproduced| -> Vec<Value> {
        let line = |w: &Without| {
            json!({
                "experiment": r.name, "parameter": w.parameter, "neutral": w.neutral,
                "parameter_unit": w.parameter_unit, "case": w.comparison.case, "metric": w.comparison.metric,
                "stat": w.comparison.stat, "unit": w.comparison.unit, "published": w.comparison.published,
                "fitted": w.fitted, "without": w.comparison.predicted, "difference": w.comparison.difference,
            })
        };
        r.without.iter().map(line).collect()
    };
    let mut document = json::document("reproduce");
    document.insert("experiments".to_owned(), all.iter().map(experiment).collect());
    document.insert("rows".to_owned(), json::comparisons(&comparisons(all)));
    document.insert("parameters".to_owned(), json::parameters(&parameters(all)));
    document.insert(
        "leave_one_out".to_owned(),
        all.iter().flat_map(left_out).collect(),
    );
    document.into()
}

/// Writes the folder.
fn fill(folder: &Folder, all: &[Reproduced], document: &str) -> Result<(), Failure> {
    let rows: Vec<_> = all.iter().flat_map(|r| r.rows.iter().cloned()).collect();
    let frames = [
        ("comparisons", Frame::of_comparisons(&comparisons(all))),
        ("parameters", Frame::of_parameters(&parameters(all))),
        ("rows", Frame::of_rows(&rows)),
    ];
    folder.write("summary.json", document.as_bytes())?;
    for (name, frame) in frames {
        folder.write(&format!("{name}.csv"), csv::write(&frame).as_bytes())?;
        let encoded = parquet::write(&frame);
        let encoded = encoded.map_err(|e| Failure::Environment(format!("cannot write Parquet: {e}")))?;
        folder.write(&format!("{name}.parquet"), &encoded)?;
    }
    for reproduced in all {
        let figures = reproduced.sections.iter().flat_map(|s| &s.figures);
        for (number, figure) in (1..).zip(figures) {
            let drawn = svg::render(figure, Size::default());
            folder.write(&format!("{}-{number}.svg", reproduced.name), drawn.as_bytes())?;
        }
    }
    folder.write("report.html", page(all).render().as_bytes())
}

fn page(all: &[Reproduced]) -> Page {
    let mut page = Page::new("Clearway: published and predicted");
    for reproduced in all {
        page = page
            .section(format!("{}: {}", reproduced.name, reproduced.title))
            .paragraph(format!("Source: {}", reproduced.document));
        let mut tables = main_tables(reproduced).into_iter();
        if let Some(compared) = tables.next() {
            page = page.table(compared);
        }
        for unit in units(&reproduced.comparisons) {
            let same: Vec<Comparison> = reproduced
                .comparisons
                .iter()
                .filter(|c| c.unit == unit)
                .cloned()
                .collect();
            page = page.plot(&charts::published_against_predicted(
                &format!("Published and predicted, {unit}"),
                &same,
            ));
        }
        page = page.plot(&charts::differences(
            "Differences",
            &reproduced.comparisons,
            TARGET,
        ));
        for section in &reproduced.sections {
            page = page.section(section.heading.as_str());
            for paragraph in &section.text {
                page = page.paragraph(paragraph.as_str());
            }
            for table in &section.tables {
                page = page.table(table.clone());
            }
            for figure in &section.figures {
                page = page.plot(figure);
            }
        }
        // What the figures rest on comes after them: few read it first, nobody should have to look for it.
        page = page.section(format!("{}: what went into the model", reproduced.name));
        for table in tables {
            page = page.table(table);
        }
        if !reproduced.missing.is_empty() {
            page = page
                .paragraph("Nothing was predicted for:")
                .notes(reproduced.missing.clone());
        }
    }
    page
}

/// The units that occur, in the order of the figures.
fn units(comparisons: &[Comparison]) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for comparison in comparisons {
        if !units.contains(&comparison.unit) {
            units.push(comparison.unit.clone());
        }
    }
    units
}
