//! The audit: do the published numbers agree with one another, with standards, and with what models assume?
//!
//! Inputs and formulas are data (`reproductions/audit.toml`); a formula is evaluated as it is shown. Every input may be
//! anything that rounds to what is printed: the computed figure is a range, found at the corners of the inputs'
//! ranges (exact for formulas that rise or fall with each input). Verdicts, in this order:
//!
//! 1. *consistent*: computed and published ranges have a number in common that satisfies the relation, or the figures differ
//!    by at most [`MEASURED`] per cent, which is what two measurements of one thing may differ by;
//! 2. *approximate*: they differ by at most the check's own allowance, 5 per cent unless it says otherwise;
//! 3. *inconsistent*.
//!
//! It leaves out what needs a model of the network: that is what reproductions are for.

pub mod file;
pub mod formula;
pub mod printed;
mod shown;

pub use file::{AuditFile, Check, Document, Input, Relation, Source, Step, Subject, read};
pub use shown::{computation, document, page, tables, tally};

use clearway_report::{Micro, quantity};

/// Per cent that two measurements of one thing may differ by and still count as the same.
pub const MEASURED: f64 = 0.5;
/// More inputs that are not exact would need more corners than is sensible.
const MOST_INEXACT: usize = 12;

/// The text of the data file.
pub const DATA: &str = include_str!("../../../../reproductions/audit.toml");

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The numbers agree within their digits, or as well as measurements do.
    Consistent,
    /// They differ, but little.
    Approximate,
    /// They cannot both be right.
    Inconsistent,
}

impl Agreement {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Approximate => "approximate",
            Self::Inconsistent => "inconsistent",
        }
    }
}

/// One line of a computation, written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What is computed; empty for the result.
    pub name: String,
    /// The formula with names.
    pub formula: String,
    /// The formula with numbers.
    pub numbers: String,
    /// What it gives, in `unit`.
    pub value: f64,
    /// Unit without prefix.
    pub unit: &'static str,
}

/// A check, done.
#[derive(Clone, Debug, PartialEq)]
pub struct Audited {
    /// What was checked.
    pub check: Check,
    /// The computation; the last line is the result.
    pub lines: Vec<Line>,
    /// The result with the inputs as printed, in the check's unit.
    pub computed: f64,
    /// The least and the most that it can be, for inputs that round to what is printed.
    pub range: [f64; 2],
    /// (computed - published) / published, per cent.
    pub difference: f64,
    /// The verdict.
    pub agreement: Agreement,
}

/// Does one check.
///
/// # Errors
/// A formula gives no number, or too many inputs are not exact.
pub fn carry_out(check: &Check) -> Result<Audited, String> {
    let told = |why: &str| format!("check `{}`: {why}", check.name);
    let central: Vec<f64> = check.inputs.iter().map(|i| i.number.value()).collect();
    let values = evaluate(check, &central).ok_or_else(|| told("the formula gives no number"))?;
    let computed = values.last().copied().unwrap_or(f64::NAN);
    let open: Vec<usize> = (0..check.inputs.len())
        .filter(|i| !check.inputs[*i].number.is_exact())
        .collect();
    if open.len() > MOST_INEXACT {
        return Err(told("more than 12 inputs are not exact"));
    }
    let mut range = [computed; 2];
    for corner in 0..1_u32 << open.len() {
        let mut inputs = central.clone();
        for (bit, input) in open.iter().enumerate() {
            inputs[*input] = check.inputs[*input].number.range()[(corner >> bit & 1) as usize];
        }
        let at = evaluate(check, &inputs).and_then(|v| v.last().copied());
        let at = at.ok_or_else(|| told("the formula gives no number at an end of its inputs"))?;
        range = [range[0].min(at), range[1].max(at)];
    }
    let published = check.published.value();
    let difference = (computed - published) / published.abs() * 100.0;
    Ok(Audited {
        lines: lines(check, &values),
        computed,
        range,
        difference,
        agreement: agreement(check, range, difference),
        check: check.clone(),
    })
}

/// Steps and result, in order; `None` where one of them is no finite number.
fn evaluate(check: &Check, inputs: &[f64]) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = Vec::new();
    let formulas = check.steps.iter().map(|s| &s.formula).chain([&check.formula]);
    for formula in formulas {
        let of = |name: &str| {
            let input = check.inputs.iter().position(|i| i.name == name);
            let step = || check.steps.iter().position(|s| s.name == name);
            match input {
                Some(place) => inputs.get(place).copied(),
                None => values.get(step()?).copied(),
            }
        };
        let value = formula.value(&of).filter(|v| v.is_finite())?;
        values.push(value);
    }
    Some(values)
}

fn agreement(check: &Check, range: [f64; 2], difference: f64) -> Agreement {
    let published = check.published.range();
    let (reaches, stays) = (range[1] >= published[0], range[0] <= published[1]);
    let (holds, beyond) = match check.relation {
        Relation::Equals => (reaches && stays, difference.abs()),
        Relation::AtLeast => (reaches, -difference),
        Relation::AtMost => (stays, difference),
    };
    if holds || beyond <= MEASURED {
        Agreement::Consistent
    } else if beyond <= check.approximately {
        Agreement::Approximate
    } else {
        Agreement::Inconsistent
    }
}

/// Five significant digits: the documents print no more than six.
fn five(value: f64, unit: &str) -> String {
    quantity::humanised(value, unit, 5, Micro::Ascii)
}

fn lines(check: &Check, values: &[f64]) -> Vec<Line> {
    let write = |name: &str| {
        let input = check.inputs.iter().find(|i| i.name == name);
        let step = check.steps.iter().position(|s| s.name == name);
        match (input, step) {
            (Some(input), _) => input.number.shown(),
            (None, Some(place)) => five(values[place], check.steps[place].unit),
            (None, None) => name.to_owned(),
        }
    };
    let line = |name: &str, formula: &formula::Formula, unit, value| Line {
        name: name.to_owned(),
        formula: formula.written(&str::to_owned),
        numbers: formula.written(&write),
        value,
        unit,
    };
    let steps = check
        .steps
        .iter()
        .zip(values)
        .map(|(s, v)| line(&s.name, &s.formula, s.unit, *v));
    let result = values.last().map(|v| line("", &check.formula, check.unit, *v));
    steps.chain(result).collect()
}

/// Does every check of a data file.
///
/// # Errors
/// The first check that cannot be done.
pub fn audit(file: &AuditFile) -> Result<Vec<Audited>, String> {
    file.checks.iter().map(carry_out).collect()
}

#[cfg(test)]
mod tests;
