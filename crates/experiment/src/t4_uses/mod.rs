//! The uses that the T4 paper names for traffic management, each with and without the policy.
//!
//! Source: the T4 paper on quality of service and traffic management, section "Applications for Traffic Management
//! Features". The document measures none of them: it says what they gain in words, which are checked here as statements.
//! One module a use, one scenario `scenarios/t4-uses-*.toml` and one policy in `policies/` each; the parameters stand in
//! `reproductions/t4-uses.toml`, what was found in `docs/reproductions/t4-uses.md`. Left out: databases, file systems and
//! codecs themselves; what they send is a workload.

mod rac;
mod receive;
mod run;
mod saas;
mod seismic;
mod shown;
mod storage;
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

/// In the order of the document.
const USES: [Use; 6] = [
    rac::run,
    seismic::run,
    storage::run,
    video::run,
    saas::run,
    receive::run,
];

fn run(context: &Context<'_>, extent: Extent) -> Result<Findings, String> {
    let uses = Uses { context, extent };
    let mut findings = Findings::default();
    for each in USES {
        if context.is_stopped() {
            break;
        }
        let found = each(&uses)?;
        if context.is_stopped() {
            break;
        }
        findings.sections.push(found.section);
        findings.claims.extend(found.claims);
        findings.predictions.extend(found.predictions);
        findings.rows.extend(found.rows);
    }
    findings.stopped = context.is_stopped();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Case, Standing, read};

    /// Every use in a few milliseconds: too short for its numbers, long enough to see that all of it runs.
    #[test]
    fn every_use_has_tables_figures_and_statements() {
        let found = Context::in_test(1, false, |c| run(c, Extent::Smoke)).expect("the scenarios run");
        assert_eq!(found.sections.len(), USES.len());
        for section in &found.sections {
            assert!(
                !section.tables.is_empty() && section.figures.len() >= 2,
                "{}",
                section.heading
            );
            assert!(
                section.tables.iter().all(|t| !t.is_empty()),
                "{}",
                section.heading
            );
        }
        assert!(found.claims.len() >= 12 && !found.rows.is_empty());
        let file = read(T4Uses.name(), T4Uses.data()).expect("the data file is valid");
        for figure in &file.published {
            let known = found
                .predictions
                .iter()
                .any(|p| p.case == figure.case && p.metric == figure.metric);
            assert!(known, "{}: {}", figure.case, figure.metric);
        }
    }

    #[test]
    fn messages_of_a_cluster_are_shielded_even_in_a_short_run() {
        let found = Context::in_test(1, false, |c| {
            rac::run(&Uses {
                context: c,
                extent: Extent::Smoke,
            })
        })
        .expect("it runs");
        let factor = |case: &str| {
            let one = found
                .predictions
                .iter()
                .find(|p| p.case.ends_with(case))
                .expect("it is predicted");
            one.samples[0]
        };
        assert!(factor(", policy") < 1.5 && factor("no policy") > 10.0);
    }

    #[test]
    fn every_case_reads_without_a_warning() {
        let all: [(run::File, Vec<Case>); 6] = [
            (rac::FILE, rac::cases()),
            (seismic::FILE, seismic::cases()),
            (storage::FILE, storage::cases()),
            (video::FILE, video::cases()),
            (saas::FILE, saas::cases()),
            (video::FAST, video::fast_cases()),
        ];
        for (file, cases) in all {
            for case in cases {
                let read = |path: &str| {
                    let name = path.trim_start_matches("../");
                    std::fs::read(format!("../../{name}")).map_err(|e| e.to_string())
                };
                let loaded = clearway_policy::load_str(file.text, file.name, &case.sets, &read);
                let loaded = loaded.unwrap_or_else(|found| panic!("{}: {}", case.name, found[0]));
                let wrong = clearway_policy::lint(&loaded);
                let wrong: Vec<_> = wrong
                    .iter()
                    .filter(|d| d.severity < clearway_policy::Severity::Info)
                    .collect();
                assert!(wrong.is_empty(), "{}: {wrong:?}", case.name);
            }
        }
    }

    #[test]
    fn statements_that_any_model_bears_out_are_marked() {
        let found = Context::in_test(1, false, |c| {
            saas::run(&Uses {
                context: c,
                extent: Extent::Smoke,
            })
        })
        .expect("it runs");
        let empty = found
            .claims
            .iter()
            .filter(|c| c.standing == Standing::NoEvidence)
            .count();
        assert_eq!(empty, 2);
    }
}
