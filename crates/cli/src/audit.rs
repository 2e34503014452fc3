//! `clearway audit`: arithmetic checks on what the documents publish, each with its computation.

use crate::arguments::Audit;
use crate::ending::{Failure, print, say};
use crate::folder::Folder;
use crate::machine;
use clearway_experiment::audit::{self, Agreement, Audited, Subject};
use clearway_report::{Page, TextOptions, json};
use std::io::{IsTerminal, stdout};

/// Does the checks and shows them.
pub(crate) fn audit(arguments: &Audit) -> Result<(), Failure> {
    let file = audit::read(audit::DATA).map_err(Failure::Usage)?;
    let mut all = audit::audit(&file).map_err(Failure::Usage)?;
    choose(&mut all, &arguments.names)?;
    let head = json::document("audit");
    let document = audit::document(head, &file.documents, &all);
    if arguments.output.json {
        print(&format!("{document:#}\n"))?;
    } else {
        print(&text(&file.documents, &all, arguments))?;
    }
    if let Some(folder) = arguments.output.out.as_deref().map(Folder::open).transpose()? {
        let page = Page::new("Clearway: audit of the published numbers").paragraph(NOTE);
        folder.write("summary.json", format!("{document:#}\n").as_bytes())?;
        let page = audit::page(page, &file.documents, &all);
        folder.write("report.html", page.render().as_bytes())?;
        say(&format!("wrote {}\n", folder.shown()));
    }
    let wrong = |a: &Audited| a.agreement == Agreement::Inconsistent && a.check.subject == Subject::Published;
    if arguments.strict && all.iter().any(wrong) {
        Err(Failure::Check)
    } else {
        Ok(())
    }
}

const NOTE: &str = "Consistent: the numbers agree within their printed digits, or to half a per cent, which two measurements of one \
                    thing may differ by. Approximate: within 5 per cent, unless the check says otherwise. An assumption is one \
                    of a model, held against published numbers; the rest are published numbers among themselves.";

/// Keeps the checks of the named documents, and the named checks.
fn choose(all: &mut Vec<Audited>, names: &[String]) -> Result<(), Failure> {
    let known = |a: &Audited, name: &str| a.check.document == name || a.check.name == name;
    if let Some(unknown) = names.iter().find(|n| !all.iter().any(|a| known(a, n))) {
        let all: Vec<&str> = all
            .iter()
            .flat_map(|a| [a.check.document.as_str(), a.check.name.as_str()])
            .collect();
        let near = clearway_policy::diagnostic::nearest(unknown, all.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        return Err(Failure::Usage(format!(
            "no document and no check {unknown:?}{hint}; `clearway audit` lists them"
        )));
    }
    if !names.is_empty() {
        all.retain(|a| names.iter().any(|n| known(a, n)));
    }
    Ok(())
}

fn text(documents: &[audit::Document], all: &[Audited], arguments: &Audit) -> String {
    let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let width = machine::columns(&stdout());
    let mut text = String::new();
    for table in audit::tables(documents, all) {
        text.push_str(&format!("{}\n", table.to_text(TextOptions { width, colour })));
    }
    // A check that was asked for by name is shown whole; of all of them, those that something is wrong with.
    let named = |a: &Audited| arguments.names.contains(&a.check.name);
    let shown = |a: &&Audited| arguments.full || named(a) || a.agreement == Agreement::Inconsistent;
    for audited in all.iter().filter(shown) {
        text.push_str(&format!("{}\n", audit::computation(audited)));
    }
    // Each document has its own; those of several are added up.
    if all.iter().any(|a| a.check.document != all[0].check.document) {
        text.push_str(&format!("{}\n", audit::tally(all.iter())));
    }
    if !arguments.full && all.iter().any(|a| !shown(&a)) {
        text.push_str("--full writes out every computation.\n");
    }
    text
}
