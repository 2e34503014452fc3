//! The uses that the T4 paper names for traffic management, each with and without the policy.
//!
//! Source: the T4 paper on quality of service and traffic management, section "Applications for Traffic Management
//! Features". The document measures none of them: it says what they gain in words, which are checked here as statements.
//! One module a use, one scenario `scenarios/t4-uses-*.toml` and one policy in `policies/` each; the parameters stand in
//! `reproductions/t4-uses.toml`, what was found in `docs/reproductions/t4-uses.md`. Left out: databases, file systems and
//! codecs themselves; what they send is a workload.

mod rac;
mod run;
mod saas;
mod shown;
mod video;

use crate::reproduce::{Claim, Context, Experiment, Findings, Prediction, Section};
use clearway_metrics::Row;
use run::{Extent, Seen, Uses};

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct T4Uses;

impl Experiment for T4Uses {
    fn name(&self) -> &'static str {
        "t4-uses"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/t4-uses.toml")
    }

    fn default_seeds(&self) -> u32 {
        3
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, Extent::Full)
    }
}

/// What one use gave.
struct Found {
    section: Section,
    claims: Vec<Claim>,
    predictions: Vec<Prediction>,
    rows: Vec<Row>,
}

fn rows(seen: &[Seen]) -> Vec<Row> {
    let runs = seen.iter().flat_map(|seen| &seen.runs);
    runs.flat_map(|run| run.rows.iter().cloned()).collect()
}

type Use = fn(&Uses<'_>) -> Result<Found, String>;

const USES: [Use; 3] = [rac::run, video::run, saas::run];

fn run(context: &Context<'_>, extent: Extent) -> Result<Findings, String> {
    let stopped = || context.stop.load(std::sync::atomic::Ordering::Relaxed);
    let uses = Uses { context, extent };
    let mut findings = Findings::default();
    for each in USES {
        if stopped() {
            break;
        }
        let found = each(&uses)?;
        if stopped() {
            break;
        }
        findings.sections.push(found.section);
        findings.claims.extend(found.claims);
        findings.predictions.extend(found.predictions);
        findings.rows.extend(found.rows);
    }
    findings.stopped = stopped();
    Ok(findings)
}
