//! All experiments on one screen: how their figures and statements came out.

use super::Timed;
use crate::progress::span;
use clearway_experiment::reproduce::{Reproduced, Standing};
use clearway_metrics::{Role, Verdict};
use clearway_report::{Cell, Table, Tone};

/// One line an experiment. Times are left out where the same call later has to give the same bytes.
pub(super) fn table(all: &[Timed], times: bool) -> Table {
    let headings = [
        "experiment",
        "ok",
        "miss",
        "weak",
        "fitted",
        "no target",
        "statements",
        "worst",
        "time",
    ];
    let shown = headings.len() - usize::from(!times);
    let mut table = Table::new("Summary", headings.into_iter().take(shown));
    for Timed { reproduced, seconds } in all {
        table.push(row(reproduced, *seconds).into_iter().take(shown));
    }
    table.note(
        "Figures that were predicted, by verdict; fitted: used for the model, so no evidence. Worst: the largest difference of a \
         predicted figure that has a target. Statements: how many of the document's the model bears out.",
    );
    for Timed { reproduced, .. } in all {
        for missing in &reproduced.missing {
            table.note(format!(
                "{}: nothing was predicted for {missing}",
                reproduced.name
            ));
        }
    }
    table
}

fn row(reproduced: &Reproduced, seconds: f64) -> [Cell; 9] {
    let count = |verdict: Option<Verdict>| {
        let count = reproduced
            .comparisons
            .iter()
            .filter(|c| c.verdict == verdict)
            .count();
        Cell::number(count as f64, "1")
    };
    let misses = reproduced
        .comparisons
        .iter()
        .any(|c| c.verdict == Some(Verdict::Miss));
    let miss = count(Some(Verdict::Miss));
    let time = if reproduced.stopped {
        Cell::text("interrupted").tone(Tone::Caution)
    } else if reproduced.kept {
        Cell::text("cached").tone(Tone::Faint)
    } else {
        Cell::text(span(seconds))
    };
    [
        Cell::text(&reproduced.name),
        count(Some(Verdict::Ok)),
        if misses { miss.tone(Tone::Bad) } else { miss },
        count(Some(Verdict::Weak)),
        count(Some(Verdict::Fitted)),
        count(None),
        statements(reproduced),
        Cell::change(worst(reproduced)),
        time,
    ]
}

fn statements(reproduced: &Reproduced) -> Cell {
    let count = |standing| {
        reproduced
            .claims
            .iter()
            .filter(|c| c.standing == standing)
            .count()
    };
    let (hold, miss) = (count(Standing::Holds), count(Standing::Misses));
    match (hold + miss, miss) {
        (0, _) => Cell::text("-"),
        (of, 0) => Cell::text(format!("{hold} of {of}")).tone(Tone::Good),
        (of, _) => Cell::text(format!("{hold} of {of}")).tone(Tone::Bad),
    }
}

/// The largest difference of a predicted figure with a target, in per cent, with its sign.
fn worst(reproduced: &Reproduced) -> Option<f64> {
    let judged = |c: &&clearway_metrics::Comparison| c.role == Role::Predicted && c.verdict.is_some();
    let differences = reproduced
        .comparisons
        .iter()
        .filter(judged)
        .filter_map(|c| c.difference);
    differences.max_by(|a, b| a.abs().total_cmp(&b.abs()))
}
