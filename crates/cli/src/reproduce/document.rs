//! Experiments as one JSON document, as tables of rows, and as one page.
//!
//! Nothing here depends on how long anything took or on what was kept: the same call gives the same bytes.

use super::{Timed, summary, text};
use crate::ending::Failure;
use crate::folder::Folder;
use clearway_experiment::audit;
use clearway_experiment::reproduce::{Claim, Reproduced, Without, claim};
use clearway_metrics::Comparison;
use clearway_report::frame::Frame;
use clearway_report::{Page, Parameter, charts, csv, json, parquet, svg, svg::Size};
use serde_json::{Value, json};

/// Per cent, the target for predicted means and throughputs; the strip in the plot of differences.
const TARGET: f64 = 10.0;

fn comparisons(all: &[Timed]) -> Vec<Comparison> {
    all.iter()
        .flat_map(|t| t.reproduced.comparisons.iter().cloned())
        .collect()
}

fn parameters(all: &[Timed]) -> Vec<Parameter> {
    all.iter()
        .flat_map(|t| t.reproduced.parameters.iter().cloned())
        .collect()
}

/// The document that `--json` prints.
pub(super) fn document(all: &[Timed]) -> Value {
    let experiment = |t: &Timed| {
        let r = &t.reproduced;
        json!({
            "name": r.name, "title": r.title, "document": r.document, "seeds": r.seeds, "missing": r.missing,
            "interrupted": r.stopped,
        })
    };
    let mut document = json::document("reproduce");
    document.insert("experiments".to_owned(), all.iter().map(experiment).collect());
    document.insert("rows".to_owned(), json::comparisons(&comparisons(all)));
    document.insert("statements".to_owned(), all.iter().flat_map(statements).collect());
    document.insert("parameters".to_owned(), json::parameters(&parameters(all)));
    document.insert(
        "leave_one_out".to_owned(),
        all.iter().flat_map(left_out).collect(),
    );
    document.into()
}

fn statements(timed: &Timed) -> Vec<Value> {
    let one = |claim: &Claim| {
        json!({
            "experiment": timed.reproduced.name, "statement": claim.statement, "model": claim.model,
            "standing": claim.standing.as_str(),
        })
    };
    timed.reproduced.claims.iter().map(one).collect()
}

fn left_out(timed: &Timed) -> Vec<Value> {
    let line = |w: &Without| {
        json!({
            "experiment": timed.reproduced.name, "parameter": w.parameter, "neutral": w.neutral,
            "parameter_unit": w.parameter_unit, "case": w.comparison.case, "metric": w.comparison.metric,
            "stat": w.comparison.stat, "unit": w.comparison.unit, "published": w.comparison.published,
            "fitted": w.fitted, "without": w.comparison.predicted, "difference": w.comparison.difference,
        })
    };
    timed.reproduced.without.iter().map(line).collect()
}

/// Writes the folder.
pub(super) fn fill(folder: &Folder, all: &[Timed], document: &str) -> Result<(), Failure> {
    let rows: Vec<_> = all
        .iter()
        .flat_map(|t| t.reproduced.rows.iter().cloned())
        .collect();
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
    for Timed { reproduced, .. } in all {
        let figures = reproduced.sections.iter().flat_map(|s| &s.figures);
        for (number, figure) in (1..).zip(figures) {
            let drawn = svg::render(figure, Size::default());
            folder.write(&format!("{}-{number}.svg", reproduced.name), drawn.as_bytes())?;
        }
    }
    folder.write("report.html", page(all)?.render().as_bytes())
}

fn page(all: &[Timed]) -> Result<Page, Failure> {
    let mut page = Page::new("Clearway: published and predicted");
    if all.len() > 1 {
        page = page.table(summary::table(all, false));
    }
    for Timed { reproduced, .. } in all {
        page = experiment(page, reproduced);
    }
    // What the documents print, held against itself: of those whose experiments stand on the page.
    let file = audit::read(audit::DATA).map_err(Failure::Usage)?;
    let audited = audit::audit(&file).map_err(Failure::Usage)?;
    let here = |d: &audit::Document| all.iter().any(|t| d.experiments.contains(&t.reproduced.name));
    let documents: Vec<audit::Document> = file.documents.into_iter().filter(here).collect();
    Ok(audit::page(page, &documents, &audited))
}

fn experiment(mut page: Page, reproduced: &Reproduced) -> Page {
    page = page
        .section(format!("{}: {}", reproduced.name, reproduced.title))
        .paragraph(format!("Source: {}", reproduced.document));
    if !reproduced.comparisons.is_empty() {
        page = page.table(text::figures(reproduced));
    }
    if !reproduced.claims.is_empty() {
        page = page.table(claim::table(&reproduced.claims));
    }
    for unit in units(&reproduced.comparisons) {
        let same = reproduced.comparisons.iter().filter(|c| c.unit == unit);
        page = page.plot(&charts::published_against_predicted(
            &format!("Published and predicted, {unit}"),
            &same.cloned().collect::<Vec<_>>(),
        ));
    }
    if !reproduced.comparisons.is_empty() {
        page = page.plot(&charts::differences(
            "Differences",
            &reproduced.comparisons,
            TARGET,
        ));
    }
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
    for table in text::inputs(reproduced) {
        page = page.table(table);
    }
    if !reproduced.missing.is_empty() {
        page = page
            .paragraph("Nothing was predicted for:")
            .notes(reproduced.missing.clone());
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
