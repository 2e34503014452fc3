//! The audit as tables, as sections of a page, and as one JSON document.

use super::{Agreement, Audited, Document, Line, Subject, five};
use clearway_report::{Cell, Page, Table, Tone};
use serde_json::{Map, Value, json};

/// One table a document: what was asked, what came out, what is published, what that says.
#[must_use]
pub fn tables(documents: &[Document], audited: &[Audited]) -> Vec<Table> {
    let mut all = Vec::new();
    for document in documents {
        let own: Vec<&Audited> = audited
            .iter()
            .filter(|a| a.check.document == document.key)
            .collect();
        if !own.is_empty() {
            all.push(table(document, &own));
        }
    }
    all
}

fn table(document: &Document, audited: &[&Audited]) -> Table {
    let title = format!("{}: {}", document.key, document.title);
    let mut table = Table::new(
        title,
        ["check", "computed", "published", "off by", "of", "verdict"],
    );
    for a in audited {
        let sign = a.check.relation.sign();
        table.push([
            Cell::text(&a.check.name),
            Cell::number(a.computed, a.check.unit).digits(5),
            Cell::text(format!("{sign} {}", a.check.published.shown())),
            // Rounded first, so that next to nothing has no sign.
            Cell::change(Some((a.difference * 10.0).round() / 10.0 + 0.0)),
            Cell::text(a.check.subject.as_str()).tone(match a.check.subject {
                Subject::Published => Tone::Plain,
                Subject::Assumption => Tone::Faint,
            }),
            Cell::text(a.agreement.as_str()).tone(tone(a.agreement)),
        ]);
    }
    table.note(tally(audited.iter().copied()));
    table
}

const fn tone(agreement: Agreement) -> Tone {
    match agreement {
        Agreement::Consistent => Tone::Good,
        Agreement::Approximate => Tone::Caution,
        Agreement::Inconsistent => Tone::Bad,
    }
}

/// How many came out how.
pub fn tally<'a>(audited: impl Iterator<Item = &'a Audited> + Clone) -> String {
    let count = |agreement| audited.clone().filter(|a| a.agreement == agreement).count();
    format!(
        "{} consistent, {} approximate, {} inconsistent",
        count(Agreement::Consistent),
        count(Agreement::Approximate),
        count(Agreement::Inconsistent)
    )
}

/// The computation of one check, written out: inputs with where they stand, formulas, result, verdict, finding.
#[must_use]
pub fn computation(a: &Audited) -> String {
    let mut text = format!("{}: {}\n", a.check.name, a.check.asks);
    for input in &a.check.inputs {
        let number = input.number.shown();
        let source = input.source.as_str();
        text.push_str(&format!(
            "  {} = {number}  [{source}] {}\n",
            input.name, input.stands
        ));
    }
    for Line {
        name,
        formula,
        numbers,
        value,
        unit,
    } in &a.lines
    {
        let name = if name.is_empty() {
            String::new()
        } else {
            format!("{name} = ")
        };
        // A formula without anything to put in reads the same twice.
        let numbers = if formula == numbers {
            String::new()
        } else {
            format!(" = {numbers}")
        };
        text.push_str(&format!("  {name}{formula}{numbers} = {}\n", five(*value, unit)));
    }
    let published = a.check.published.shown();
    text.push_str(&format!(
        "  published: {} {published}  {}\n  {} ({:+.2} %): {}\n",
        a.check.relation.sign(),
        a.check.published_stands,
        a.agreement.as_str(),
        a.difference + 0.0,
        a.check.finding
    ));
    text
}

/// Puts tables and computations into a page.
#[must_use]
pub fn page(mut page: Page, documents: &[Document], audited: &[Audited]) -> Page {
    for document in documents {
        let own: Vec<&Audited> = audited
            .iter()
            .filter(|a| a.check.document == document.key)
            .collect();
        if own.is_empty() {
            continue;
        }
        page = page
            .section(format!("Audit of the published numbers: {}", document.title))
            .table(table(document, &own));
        let computations: Vec<String> = own.iter().map(|a| computation(a)).collect();
        page = page.verbatim(computations.join("\n"));
    }
    page
}

/// Every check with its computation, for programs.
#[must_use]
pub fn document(mut head: Map<String, Value>, documents: &[Document], audited: &[Audited]) -> Value {
    let documents = documents
        .iter()
        .map(|d| json!({"key": d.key, "title": d.title, "experiments": d.experiments}));
    head.insert("documents".to_owned(), documents.collect());
    head.insert("checks".to_owned(), audited.iter().map(check).collect());
    head.into()
}

fn check(a: &Audited) -> Value {
    let inputs = a.check.inputs.iter().map(|i| {
        json!({
            "name": i.name, "value": i.number.value(), "range": i.number.range(), "unit": i.number.base(),
            "printed": i.number.shown(), "source": i.source.as_str(), "stands": i.stands,
        })
    });
    let lines = a.lines.iter().map(|l| {
        json!({"name": l.name, "formula": l.formula, "numbers": l.numbers, "value": l.value, "unit": l.unit})
    });
    json!({
        "document": a.check.document, "name": a.check.name, "asks": a.check.asks,
        "inputs": inputs.collect::<Vec<_>>(), "computation": lines.collect::<Vec<_>>(),
        "computed": a.computed, "range": a.range, "unit": a.check.unit,
        "relation": a.check.relation.sign(),
        "published": a.check.published.value(), "published_range": a.check.published.range(),
        "published_printed": a.check.published.shown(), "published_stands": a.check.published_stands,
        "difference": a.difference, "of": a.check.subject.as_str(), "verdict": a.agreement.as_str(),
        "finding": a.check.finding,
    })
}
