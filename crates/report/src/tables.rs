//! Tables made from measures: comparisons with verdicts, parameters with origins, and a summary of tidy rows.

use std::collections::BTreeMap;

use clearway_metrics::{Comparison, Role, Row, Summary, Verdict};

use crate::parameter::{Origin, Parameter};
use crate::table::{Cell, Table, Tone};

const fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Ok => Tone::Good,
        Verdict::Miss => Tone::Bad,
        Verdict::Fitted => Tone::Faint,
        Verdict::Weak => Tone::Caution,
    }
}

/// Published against predicted, a line each, and how many came out how.
#[must_use]
pub fn comparisons(title: &str, comparisons: &[Comparison]) -> Table {
    let headings = [
        "case",
        "figure",
        "published",
        "predicted",
        "95 % interval",
        "difference",
        "role",
        "verdict",
    ];
    let mut table = Table::new(title, headings);
    for c in comparisons {
        let layer = if c.layer == "-" || c.layer.is_empty() {
            String::new()
        } else {
            format!(" ({})", c.layer)
        };
        let difference = Cell::change(c.difference);
        let verdict = c.verdict.map_or_else(
            || Cell::text("no target").tone(Tone::Faint),
            |v| Cell::text(v.as_str()).tone(tone_of(v)),
        );
        table.push([
            Cell::text(&c.case),
            Cell::text(format!("{} {}{layer}", c.metric, c.stat)),
            Cell::number(c.published, &c.unit),
            Cell::number(c.predicted, &c.unit),
            Cell::interval(c.ci95, &c.unit),
            difference,
            Cell::text(c.role.as_str()).tone(if c.role == Role::Predicted {
                Tone::Plain
            } else {
                Tone::Faint
            }),
            verdict,
        ]);
    }
    table.note(tally(comparisons));
    table
}

/// `2 ok, 1 miss, 1 fitted, 1 without target`: those that do not occur are left out.
#[must_use]
pub fn tally(comparisons: &[Comparison]) -> String {
    let count = |v| comparisons.iter().filter(|c| c.verdict == v).count();
    let parts: Vec<String> = [
        (Some(Verdict::Ok), "ok"),
        (Some(Verdict::Miss), "miss"),
        (Some(Verdict::Weak), "weak"),
        (Some(Verdict::Fitted), "fitted"),
        (None, "without target"),
    ]
    .into_iter()
    .map(|(v, word)| (count(v), word))
    .filter(|(n, _)| *n > 0)
    .map(|(n, word)| format!("{n} {word}"))
    .collect();
    if parts.is_empty() {
        "nothing compared".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Parameters and where they come from.
#[must_use]
pub fn parameters(title: &str, parameters: &[Parameter]) -> Table {
    let mut table = Table::new(title, ["parameter", "value", "origin", "from", "note"]);
    for p in parameters {
        let tone = if p.origin == Origin::Fitted {
            Tone::Caution
        } else {
            Tone::Plain
        };
        table.push([
            Cell::text(&p.name),
            Cell::number(p.value, &p.unit).digits(4),
            Cell::text(p.origin.as_str()).tone(tone),
            Cell::text(p.fitted_to.as_deref().unwrap_or("")),
            Cell::text(&p.note),
        ]);
    }
    table
}

/// Run and name of a line, or metric and stat of a column.
type Key<'a> = (&'a str, &'a str);

/// The rows of one scope as a table: a line for each run and name, a column for each (metric, stat, heading).
///
/// Several seeds of the same run become their mean and half the 95 % interval. The run's label is shown when there is
/// more than one. Lines and runs keep the order in which the rows name them.
#[must_use]
pub fn pivot(title: &str, rows: &[Row], scope: &str, columns: &[(&str, &str, &str)]) -> Table {
    let rows: Vec<&Row> = rows.iter().filter(|r| r.scope == scope).collect();
    // One pass over the rows: a run can have a hundred thousand flows.
    let mut keys: Vec<Key<'_>> = Vec::new();
    let mut found: BTreeMap<Key<'_>, BTreeMap<Key<'_>, (&'static str, Vec<f64>)>> = BTreeMap::new();
    for r in &rows {
        let key = (r.run.as_str(), r.name.as_str());
        let cells = found.entry(key).or_insert_with(|| {
            keys.push(key);
            BTreeMap::new()
        });
        cells
            .entry((r.metric, r.stat.as_str()))
            .or_insert_with(|| (r.unit, Vec::new()))
            .1
            .push(r.value);
    }
    let several_runs = keys.windows(2).any(|w| w[0].0 != w[1].0);
    let head = several_runs.then_some("run").into_iter().chain([scope]);
    let mut table = Table::new(title, head.chain(columns.iter().map(|c| c.2)));
    for key in keys {
        let label = several_runs
            .then(|| Cell::text(key.0))
            .into_iter()
            .chain([Cell::text(key.1)]);
        let numbers = columns.iter().map(|(metric, stat, _)| {
            let Some((unit, values)) = found.get(&key).and_then(|cells| cells.get(&(*metric, *stat))) else {
                return Cell::text("-");
            };
            match Summary::of(values) {
                Some(s) => s.half_width(0.95).map_or_else(
                    || Cell::number(s.mean, *unit),
                    |half| Cell::plus_minus(s.mean, half, *unit),
                ),
                None => Cell::number(f64::NAN, *unit),
            }
        });
        table.push(label.chain(numbers));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests as sample;
    use crate::table::TextOptions;

    #[test]
    fn comparisons_print_as_a_readable_table() {
        let text = comparisons("backplane", &sample::comparisons()).to_text(TextOptions::default());
        let golden = "\
backplane
case                     figure                  published    predicted        95 % interval  difference  role       verdict
1.5 MB, no flow control  throughput mean (L2)  38.0 Gbit/s  37.2 Gbit/s  36.8 .. 37.6 Gbit/s      -2.1 %  predicted  ok
32 KB, 802.3x            throughput mean (L2)  24.0 Gbit/s  29.5 Gbit/s  29.2 .. 29.8 Gbit/s     +22.9 %  predicted  miss
32 KB, no flow control   throughput mean (L2)  29.0 Gbit/s  29.0 Gbit/s  28.7 .. 29.3 Gbit/s      +0.0 %  fitted     fitted
extreme                  throughput mean (L2)      0 bit/s   1.00 bit/s  0.990 .. 1.01 bit/s           -  predicted  no target
1 ok, 1 miss, 1 fitted, 1 without target
";
        assert_eq!(text, golden);
    }

    #[test]
    fn several_seeds_become_a_mean_with_its_interval() {
        let table = pivot(
            "classes",
            &sample::rows(),
            "class",
            &[("latency", "mean", "mean latency")],
        );
        let text = table.to_text(TextOptions::default());
        assert!(text.contains("gold") && text.contains('\u{b1}'), "{text}");
        assert!(!text.lines().nth(1).unwrap().contains("run"));
        assert!(pivot("", &sample::rows(), "host", &[]).is_empty());
    }

    #[test]
    fn fitted_parameters_name_their_figure() {
        let text = parameters("", &sample::parameters()).to_text(TextOptions::default());
        assert!(
            text.contains("fitted     32 KB, no flow control: throughput"),
            "{text}"
        );
        assert!(text.contains("10.00 Gbit/s"));
    }

    #[test]
    fn an_empty_comparison_says_so() {
        assert_eq!(tally(&[]), "nothing compared");
    }
}
