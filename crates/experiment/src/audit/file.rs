//! The data file of the audit: documents, and checks with their inputs, steps, formula and published figure.
//!
//! ```toml
//! [[document]]
//! key = "t4-qos"
//! title = "..."
//! experiments = ["t4-qos"]          # whose report shows these checks
//!
//! [[check]]
//! document = "t4-qos"
//! name = "calls-one-channel"
//! asks = "Do the calls, one after the other, make up the run of 5 s?"
//! inputs = [
//!   { name = "calls", value = "19348", unit = "1", half = 0, stands = "calls 19348" },
//!   { name = "rtt", value = "258.428", unit = "us", stands = "Average RTT: 258.428 usec" },
//! ]
//! steps = []                        # { name, formula, unit }: named results that the formula uses
//! formula = "calls * rtt"
//! unit = "s"
//! published = { value = "5", unit = "s", half = 0.001, stands = "-T 5" }
//! relation = "equals"               # or "at least", "at most": what the computed figure is to be
//! approximately = 5                 # per cent that still count as approximate
//! of = "published"                  # or "assumption": what the verdict is about
//! finding = "..."                   # what follows from it
//! ```
//!
//! An input's `origin` is `published`, `standard` (exact) or `inferred` (exact); `half` is how far a number may be
//! off, in its unit, where that is not half a unit of its last digit.

use super::formula::Formula;
use super::printed::{Printed, base_unit};
use serde::Deserialize;

/// A document whose numbers are checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Short name.
    pub key: String,
    /// Its title.
    pub title: String,
    /// The experiments that reproduce it.
    pub experiments: Vec<String>,
}

/// Where an input comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The document prints it.
    #[default]
    Published,
    /// A standard gives it.
    Standard,
    /// Nobody gives it: it is taken from elsewhere, and the check hangs on it.
    Inferred,
}

impl Source {
    /// The word used in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Standard => "standard",
            Self::Inferred => "inferred",
        }
    }
}

/// A number that goes into a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name in the formula.
    pub name: String,
    /// The number.
    pub number: Printed,
    /// Where it comes from.
    pub source: Source,
    /// Where it stands, in the words that stand there.
    pub stands: String,
}

/// A named result that the formula, or a later step, uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// How it is computed.
    pub formula: Formula,
    /// Its unit, without prefix.
    pub unit: &'static str,
}

/// What the computed figure is to be to the published one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Relation {
    /// The same.
    #[default]
    #[serde(rename = "equals")]
    Equals,
    /// As much or more.
    #[serde(rename = "at least")]
    AtLeast,
    /// As much or less.
    #[serde(rename = "at most")]
    AtMost,
}

impl Relation {
    /// How tables write it before the published figure.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// Published numbers among themselves and with standards.
    #[default]
    Published,
    /// An assumption of a model, held against published numbers.
    Assumption,
}

impl Subject {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Assumption => "assumption",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The document's key.
    pub document: String,
    /// Short name.
    pub name: String,
    /// The question.
    pub asks: String,
    /// What goes in.
    pub inputs: Vec<Input>,
    /// What is computed on the way.
    pub steps: Vec<Step>,
    /// What is computed.
    pub formula: Formula,
    /// Its unit, without prefix.
    pub unit: &'static str,
    /// What it is held against.
    pub published: Printed,
    /// Where that stands.
    pub published_stands: String,
    /// What the first is to be to the second.
    pub relation: Relation,
    /// Per cent of the published figure that still count as approximate.
    pub approximately: f64,
    /// What the verdict is about.
    pub subject: Subject,
    /// What follows.
    pub finding: String,
}

/// The file.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFile {
    /// Documents, in the order in which they are shown.
    pub documents: Vec<Document>,
    /// Checks, in the file's order.
    pub checks: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    document: Vec<Document>,
    check: Vec<CheckText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckText {
    document: String,
    name: String,
    asks: String,
    inputs: Vec<InputText>,
    #[serde(default)]
    steps: Vec<StepText>,
    formula: String,
    unit: String,
    published: PublishedText,
    #[serde(default)]
    relation: Relation,
    #[serde(default = "five")]
    approximately: f64,
    #[serde(default)]
    of: Subject,
    finding: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InputText {
    name: String,
    value: String,
    unit: String,
    half: Option<f64>,
    #[serde(default)]
    origin: Source,
    stands: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    name: String,
    formula: String,
    unit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedText {
    value: String,
    unit: String,
    half: Option<f64>,
    stands: String,
}

const fn five() -> f64 {
    5.0
}

/// Reads the file.
///
/// # Errors
/// Names the check and what is wrong with it.
pub fn read(text: &str) -> Result<AuditFile, String> {
    let file: FileText = toml::from_str(text).map_err(|e| format!("reproductions/audit.toml: {e}"))?;
    let mut checks: Vec<Check> = Vec::new();
    for text in file.check {
        let name = text.name.clone();
        let told = |why: String| format!("reproductions/audit.toml: check `{name}`: {why}");
        if !file.document.iter().any(|d| d.key == text.document) {
            return Err(told(format!("there is no document `{}`", text.document)));
        }
        if checks.iter().any(|c| c.name == text.name) {
            return Err(told("there is another check of this name".to_owned()));
        }
        checks.push(check(text).map_err(told)?);
    }
    Ok(AuditFile {
        documents: file.document,
        checks,
    })
}

fn check(text: CheckText) -> Result<Check, String> {
    let unit = |name: &str| {
        base_unit(name).filter(|base| *base == name).ok_or_else(|| {
            format!("results have a unit without prefix such as s, bit/s or B; `{name}` is none")
        })
    };
    let mut known: Vec<String> = Vec::new();
    let mut inputs = Vec::new();
    for input in text.inputs {
        // A number of a standard and one that we took ourselves are what they are.
        let half = input.half.or((input.origin != Source::Published).then_some(0.0));
        let number =
            Printed::read(&input.value, &input.unit, half).map_err(|e| format!("{}: {e}", input.name))?;
        if known.contains(&input.name) {
            return Err(format!("there are two values for `{}`", input.name));
        }
        known.push(input.name.clone());
        inputs.push(Input {
            name: input.name,
            number,
            source: input.origin,
            stands: input.stands,
        });
    }
    let formula = |text: &str, known: &[String]| -> Result<Formula, String> {
        let formula = Formula::read(text)?;
        match formula.names().iter().find(|n| !known.iter().any(|k| k == *n)) {
            Some(unknown) => Err(format!("`{unknown}` is neither an input nor an earlier step")),
            None => Ok(formula),
        }
    };
    let mut steps = Vec::new();
    for step in text.steps {
        steps.push(Step {
            formula: formula(&step.formula, &known)?,
            unit: unit(&step.unit)?,
            name: step.name.clone(),
        });
        known.push(step.name);
    }
    let last = formula(&text.formula, &known)?;
    let used = |name: &str| {
        last.names().contains(&name) || steps.iter().any(|s: &Step| s.formula.names().contains(&name))
    };
    if let Some(unused) = known.iter().find(|name| !used(name)) {
        return Err(format!("`{unused}` goes into nothing"));
    }
    let published = Printed::read(&text.published.value, &text.published.unit, text.published.half)?;
    let result = unit(&text.unit)?;
    if published.base() != result {
        return Err(format!(
            "the result is in {result}, the published figure in {}",
            published.base()
        ));
    }
    if published.value() == 0.0 || !text.approximately.is_finite() || text.approximately < 0.0 {
        return Err("needs a published figure other than 0 and `approximately` of 0 or more".to_owned());
    }
    Ok(Check {
        document: text.document,
        name: text.name,
        asks: text.asks,
        inputs,
        steps,
        formula: last,
        unit: result,
        published,
        published_stands: text.published.stands,
        relation: text.relation,
        approximately: text.approximately,
        subject: text.of,
        finding: text.finding,
    })
}
