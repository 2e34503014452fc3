//! Typed columns under names: the one shape that CSV and Parquet are written from, so that both say the same.
//!
//! The schemas of rows, comparisons, parameters, traces and distributions are here and nowhere else.

use clearway_metrics::{Comparison, Row};

use crate::parameter::Parameter;
use crate::trace::Trace;

/// A column of one type. Every column of a frame has the same length.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Text.
    Text(Vec<String>),
    /// Text, or nothing.
    MaybeText(Vec<Option<String>>),
    /// Whole numbers.
    Integer(Vec<u64>),
    /// Numbers; not-a-number where there is none.
    Real(Vec<f64>),
    /// Numbers, or nothing.
    MaybeReal(Vec<Option<f64>>),
}

impl Column {
    /// How many values it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(v) => v.len(),
            Self::MaybeText(v) => v.len(),
            Self::Integer(v) => v.len(),
            Self::Real(v) => v.len(),
            Self::MaybeReal(v) => v.len(),
        }
    }
    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    columns: Vec<(&'static str, Column)>,
}

impl Frame {
    /// The columns in order.
    #[must_use]
    pub fn columns(&self) -> &[(&'static str, Column)] {
        &self.columns
    }
    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |c| c.1.len())
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn with(mut self, name: &'static str, column: Column) -> Self {
        self.columns.push((name, column));
        self
    }

    /// Tidy rows: run, seed, scope, name, metric, stat, unit, layer, value, population.
    #[must_use]
    pub fn of_rows(rows: &[Row]) -> Self {
        let text = |of: fn(&Row) -> &str| Column::Text(rows.iter().map(|r| of(r).to_owned()).collect());
        Self::default()
            .with("run", text(|r| &r.run))
            .with("seed", Column::Integer(rows.iter().map(|r| r.seed).collect()))
            .with("scope", text(|r| r.scope))
            .with("name", text(|r| &r.name))
            .with("metric", text(|r| r.metric))
            .with("stat", text(|r| &r.stat))
            .with("unit", text(|r| r.unit))
            .with("layer", text(|r| r.layer))
            .with("value", Column::Real(rows.iter().map(|r| r.value).collect()))
            .with("population", text(|r| &r.population))
    }

    /// Comparisons, with the interval as ci95_low and ci95_high and the difference in per cent.
    #[must_use]
    pub fn of_comparisons(comparisons: &[Comparison]) -> Self {
        let text = |of: fn(&Comparison) -> &str| {
            Column::Text(comparisons.iter().map(|c| of(c).to_owned()).collect())
        };
        let real = |of: fn(&Comparison) -> f64| Column::Real(comparisons.iter().map(of).collect());
        Self::default()
            .with("experiment", text(|c| &c.experiment))
            .with("case", text(|c| &c.case))
            .with("metric", text(|c| &c.metric))
            .with("stat", text(|c| &c.stat))
            .with("unit", text(|c| &c.unit))
            .with("layer", text(|c| &c.layer))
            .with("published", real(|c| c.published))
            .with("predicted", real(|c| c.predicted))
            .with("ci95_low", real(|c| c.ci95[0]))
            .with("ci95_high", real(|c| c.ci95[1]))
            .with("role", text(|c| c.role.as_str()))
            .with(
                "difference_percent",
                Column::MaybeReal(comparisons.iter().map(|c| c.difference).collect()),
            )
            .with(
                "verdict",
                Column::MaybeText(
                    comparisons
                        .iter()
                        .map(|c| c.verdict.map(|v| v.as_str().to_owned()))
                        .collect(),
                ),
            )
    }

    /// Parameters with their origin.
    #[must_use]
    pub fn of_parameters(parameters: &[Parameter]) -> Self {
        let text =
            |of: fn(&Parameter) -> &str| Column::Text(parameters.iter().map(|p| of(p).to_owned()).collect());
        Self::default()
            .with("experiment", text(|p| &p.experiment))
            .with("name", text(|p| &p.name))
            .with(
                "value",
                Column::Real(parameters.iter().map(|p| p.value).collect()),
            )
            .with("unit", text(|p| &p.unit))
            .with("origin", text(|p| p.origin.as_str()))
            .with(
                "fitted_to",
                Column::MaybeText(parameters.iter().map(|p| p.fitted_to.clone()).collect()),
            )
            .with("note", text(|p| &p.note))
    }

    /// Traces, one row a bucket: scope, name, metric, unit, at_s, width_s, min, mean, max.
    #[must_use]
    pub fn of_traces(traces: &[Trace]) -> Self {
        let text = |of: fn(&Trace) -> &str| {
            Column::Text(
                traces
                    .iter()
                    .flat_map(|t| std::iter::repeat_n(of(t).to_owned(), t.points.len()))
                    .collect(),
            )
        };
        let real = |of: fn(&crate::trace::TracePoint) -> f64| {
            Column::Real(traces.iter().flat_map(|t| t.points.iter().map(of)).collect())
        };
        Self::default()
            .with("scope", text(|t| &t.scope))
            .with("name", text(|t| &t.name))
            .with("metric", text(|t| &t.metric))
            .with("unit", text(|t| &t.unit))
            .with("at_s", real(|p| p.at))
            .with("width_s", real(|p| p.width))
            .with("min", real(|p| p.min))
            .with("mean", real(|p| p.mean))
            .with("max", real(|p| p.max))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::parameter::Origin;
    use clearway_metrics::{Role, Verdict};

    pub(crate) fn rows() -> Vec<Row> {
        let row = |seed, name: &str, stat: &str, value| Row {
            run: "none, \"1.5 MB\"".into(),
            seed,
            scope: "class",
            name: name.into(),
            metric: "latency",
            stat: stat.into(),
            unit: "s",
            layer: "L2",
            value,
            population: "all frames".into(),
        };
        vec![
            row(1, "gold", "mean", 3.3e-6),
            row(1, "gold", "p99", 1e-300),
            row(u64::MAX, "Bücher\nzwei", "max", f64::NAN),
            row(2, "gold", "mean", 0.1 + 0.2),
        ]
    }

    pub(crate) fn comparisons() -> Vec<Comparison> {
        let of = |case: &str, published, predicted, role| Comparison {
            experiment: "backplane".into(),
            case: case.into(),
            metric: "throughput".into(),
            stat: "mean".into(),
            unit: "bit/s".into(),
            layer: "L2".into(),
            published,
            predicted,
            ci95: [predicted * 0.99, predicted * 1.01],
            role,
            difference: None,
            verdict: None,
        };
        vec![
            of("1.5 MB, no flow control", 38e9, 37.2e9, Role::Predicted).judged(Some(10.0)),
            of("32 KB, 802.3x", 24e9, 29.5e9, Role::Predicted).judged(Some(10.0)),
            of("32 KB, no flow control", 29e9, 29e9, Role::Fitted).judged(Some(10.0)),
            of("extreme", 0.0, 1.0, Role::Predicted).judged(None),
        ]
    }

    pub(crate) fn parameters() -> Vec<Parameter> {
        vec![
            Parameter {
                experiment: "backplane".into(),
                name: "burst".into(),
                value: 12.0,
                unit: "frames".into(),
                origin: Origin::Fitted,
                fitted_to: Some("32 KB, no flow control: throughput".into()),
                note: "geometric".into(),
            },
            Parameter {
                experiment: "backplane".into(),
                name: "rate".into(),
                value: 1e10,
                unit: "bit/s".into(),
                origin: Origin::Published,
                fitted_to: None,
                note: String::new(),
            },
        ]
    }

    #[test]
    fn every_column_of_a_frame_has_the_same_length() {
        let frames = [
            (Frame::of_rows(&rows()), 4),
            (Frame::of_comparisons(&comparisons()), 4),
            (Frame::of_parameters(&parameters()), 2),
            (Frame::of_traces(&[]), 0),
        ];
        for (frame, len) in frames {
            assert!(
                frame
                    .columns()
                    .iter()
                    .all(|(name, c)| c.len() == len && !name.is_empty())
            );
        }
    }

    #[test]
    fn a_comparison_without_a_target_has_no_verdict() {
        let verdicts: Vec<_> = comparisons().iter().map(|c| c.verdict).collect();
        assert_eq!(
            verdicts,
            [
                Some(Verdict::Ok),
                Some(Verdict::Miss),
                Some(Verdict::Fitted),
                None
            ]
        );
    }
}
