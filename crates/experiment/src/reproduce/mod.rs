//! Reproductions: what a document publishes beside what the model predicts.
//!
//! A reproduction is a data file (`reproductions/NAME.toml`: published figures, parameters with their origin,
//! tolerances), a scenario (`scenarios/NAME.toml`) and the code that runs its cases. The parameters are frozen in the
//! files before anything is compared. A figure that a parameter was fitted to or derived from is never counted
//! as predicted.

pub mod claim;
pub mod kept;
mod published;
mod runner;

pub use claim::{Claim, Standing};
pub use kept::Store;
pub use published::{LeftOut, Published, PublishedFile, read};
pub use runner::{Case, Context, Progress, Runner};

use clearway_metrics::{Comparison, Role, Summary, Verdict};
use clearway_report::{Figure, Parameter, Table};
use serde::{Deserialize, Serialize};

/// One experiment of the documents.
pub trait Experiment: Sync {
    /// Short name, as the command takes it.
    fn name(&self) -> &'static str;
    /// The text of its data file.
    fn data(&self) -> &'static str;
    /// Seeds unless the command line says otherwise.
    fn default_seeds(&self) -> u32;
    /// Runs everything.
    ///
    /// # Errors
    /// Says which scenario could not be run and why.
    fn run(&self, context: &Context<'_>) -> Result<Findings, String>;
}

/// What one number came out as, over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Case, as in the data file.
    pub case: String,
    /// Metric, as in the data file.
    pub metric: String,
    /// Summary, as in the data file.
    pub stat: String,
    /// One value a seed, in the unit of the data file.
    pub samples: Vec<f64>,
}

/// One part of a report: text, tables, figures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Section {
    /// Heading.
    pub heading: String,
    /// Paragraphs before tables and figures.
    pub text: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
}

/// What an experiment found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Findings {
    /// Numbers to hold against published figures.
    pub predictions: Vec<Prediction>,
    /// The same numbers with one parameter at its neutral value, by the parameter's name.
    pub left_out: Vec<(String, Vec<Prediction>)>,
    /// What the document says in words, checked on the model.
    pub claims: Vec<Claim>,
    /// Everything else that the experiment shows.
    pub sections: Vec<Section>,
    /// Tidy rows of all runs.
    pub rows: Vec<clearway_metrics::Row>,
    /// True where the run was stopped before everything was done.
    pub stopped: bool,
}

/// One line of the leave-one-out table: a figure with the parameter that was fitted to it, and without.
#[derive(Clone, Debug, PartialEq)]
pub struct Without {
    /// The parameter put back to its neutral value.
    pub parameter: String,
    /// That value.
    pub neutral: f64,
    /// Unit of the parameter.
    pub parameter_unit: String,
    /// What the figure came out as then, against the published one.
    pub comparison: Comparison,
    /// Its mean with the parameter as fitted.
    pub fitted: f64,
}

/// A reproduction, done.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// Short name.
    pub name: String,
    /// What it reproduces.
    pub title: String,
    /// The document.
    pub document: String,
    /// Seeds that were run.
    pub seeds: u32,
    /// Published against predicted, in the order of the data file.
    pub comparisons: Vec<Comparison>,
    /// Published figures that nothing was predicted for.
    pub missing: Vec<String>,
    /// Parameters with their origins.
    pub parameters: Vec<Parameter>,
    /// Leave-one-out.
    pub without: Vec<Without>,
    /// What the document says in words, checked on the model.
    pub claims: Vec<Claim>,
    /// Further parts of the report.
    pub sections: Vec<Section>,
    /// Tidy rows of all runs.
    pub rows: Vec<clearway_metrics::Row>,
    /// True where the run was stopped before everything was done.
    pub stopped: bool,
    /// True where the findings were kept from an earlier call: nothing was run.
    pub kept: bool,
}

impl Reproduced {
    /// True where a prediction misses its published figure, or the model does not bear out a published statement.
    #[must_use]
    pub fn misses(&self) -> bool {
        self.comparisons.iter().any(|c| c.verdict == Some(Verdict::Miss))
            || self.claims.iter().any(|c| c.standing == Standing::Misses)
    }
}

/// All experiments, in the order in which they are shown.
#[must_use]
pub fn experiments() -> Vec<&'static dyn Experiment> {
    vec![
        &crate::backplane::Backplane,
        &crate::t4_qos::T4Qos,
        &crate::t4_uses::T4Uses,
        &crate::event_builder::EventBuilder,
        &crate::s2d_ets::S2dEts,
        &crate::t5_microburst::T5Microburst,
        &crate::t5_latency_rate::T5LatencyRate,
        &crate::t5_pingpong::T5Pingpong,
    ]
}

/// Runs one experiment and holds it against its document.
///
/// # Errors
/// The data file or a scenario is wrong, or a run failed.
pub fn reproduce(experiment: &dyn Experiment, context: &Context<'_>) -> Result<Reproduced, String> {
    let file = read(experiment.name(), experiment.data())?;
    let name = kept_name(experiment, context.seeds);
    let earlier = kept::find(context.store, &name);
    let kept = earlier.is_some();
    let findings = match earlier {
        Some(findings) => findings,
        None => run(experiment, context)?,
    };
    if !kept && !findings.stopped {
        kept::keep(context.store, &name, &findings);
    }
    let (mut comparisons, mut missing) = (Vec::new(), Vec::new());
    for figure in &file.published {
        match find(&findings.predictions, figure) {
            Some(prediction) => {
                comparisons.extend(compare(experiment.name(), figure, prediction, figure.role))
            }
            None => missing.push(format!("{}: {} {}", figure.case, figure.metric, figure.stat)),
        }
    }
    let mut without = Vec::new();
    for (name, predictions) in &findings.left_out {
        let Some(left) = file.left_out(name) else {
            return Err(format!(
                "{}: parameter `{name}` has no neutral value",
                experiment.name()
            ));
        };
        for figure in file.published.iter().filter(|f| left.affects(f)) {
            let fitted = find(&findings.predictions, figure).and_then(|p| Summary::of(&p.samples));
            let comparison = find(predictions, figure)
                .and_then(|p| compare(experiment.name(), figure, p, Role::Predicted));
            if let (Some(fitted), Some(comparison)) = (fitted, comparison) {
                without.push(Without {
                    parameter: name.clone(),
                    neutral: left.neutral,
                    parameter_unit: left.unit.clone(),
                    comparison,
                    fitted: fitted.mean,
                });
            }
        }
    }
    Ok(Reproduced {
        name: experiment.name().to_owned(),
        title: file.title,
        document: file.document,
        seeds: context.seeds,
        comparisons,
        missing,
        parameters: file.parameters,
        without,
        claims: findings.claims,
        sections: findings.sections,
        rows: findings.rows,
        stopped: findings.stopped,
        kept,
    })
}

/// Runs an experiment. Whatever it makes of a stop: it counts as stopped, so that nothing unfinished is kept, and what it
/// could not find any more is no error.
fn run(experiment: &dyn Experiment, context: &Context<'_>) -> Result<Findings, String> {
    let found = experiment.run(context);
    if !context.is_stopped() {
        return found;
    }
    Ok(Findings {
        stopped: true,
        ..found.unwrap_or_default()
    })
}

/// The name under which the findings of an experiment are kept. Its scenarios and its code are part of the program.
fn kept_name(experiment: &dyn Experiment, seeds: u32) -> String {
    let parts = [
        experiment.name().as_bytes(),
        experiment.data().as_bytes(),
        &seeds.to_le_bytes(),
    ];
    format!("findings-{}", kept::digest(&parts))
}

/// True where the findings of an experiment with this many seeds are kept and can be used.
#[must_use]
pub fn is_kept(experiment: &dyn Experiment, seeds: u32, store: &dyn Store) -> bool {
    kept::find::<Findings>(Some(store), &kept_name(experiment, seeds)).is_some()
}

fn find<'a>(predictions: &'a [Prediction], figure: &Published) -> Option<&'a Prediction> {
    predictions
        .iter()
        .find(|p| p.case == figure.case && p.metric == figure.metric && p.stat == figure.stat)
}

fn compare(experiment: &str, figure: &Published, prediction: &Prediction, role: Role) -> Option<Comparison> {
    let summary = Summary::of(&prediction.samples)?;
    let comparison = Comparison {
        experiment: experiment.to_owned(),
        case: figure.case.clone(),
        metric: figure.metric.clone(),
        stat: figure.stat.clone(),
        unit: figure.unit.clone(),
        layer: figure.layer.clone(),
        published: figure.value,
        predicted: summary.mean,
        ci95: summary.ci95().unwrap_or([f64::NAN; 2]),
        role,
        difference: None,
        verdict: None,
    };
    Some(comparison.judged(figure.tolerance))
}

#[cfg(test)]
mod tests;
