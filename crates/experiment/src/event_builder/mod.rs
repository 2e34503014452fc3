//! The event builder experiment: throughput between PCs, assigned and measured rates, and event building itself.
//!
//! Source: the talk on quality of service on Gigabit Ethernet for event builders (DAQ2000). Its plots are lost but for their
//! captions, so that its statements are checked as statements and its figures redrawn from the model. Three scenarios:
//! `scenarios/event-builder-pair.toml`, `-qos.toml` and `event-builder.toml`; parameters in `reproductions/event-builder.toml`
//! and `devices/acenic.toml`; what was found in `docs/reproductions/event-builder.md`. Left out: trigger distribution, the
//! firmware of the switch, and what a discipline costs the processor.

mod building;
mod pair;
mod qos;
mod shown;

use crate::reproduce::{Context, Experiment, Findings};

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct EventBuilder;

impl Experiment for EventBuilder {
    fn name(&self) -> &'static str {
        "event-builder"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/event-builder.toml")
    }

    fn default_seeds(&self) -> u32 {
        1
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, false)
    }
}

/// Runs everything; thin: enough to see that everything runs.
fn run(context: &Context<'_>, thin: bool) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let pair = pair::run_all(context, thin)?;
    findings.predictions = pair.predictions;
    findings.claims = pair.claims;
    findings.sections = pair.sections;
    if !context.is_stopped() {
        let qos = qos::run_all(context, thin)?;
        findings.claims.extend(qos.claims);
        findings.sections.push(qos.section);
    }
    if !context.is_stopped() {
        let (sizes, long) = if thin {
            (&building::SIZES[..2], &building::LONG_SIZES[..1])
        } else {
            (&building::SIZES[..], &building::LONG_SIZES[..])
        };
        let built = building::run_all(context, sizes, long)?;
        findings.claims.extend(built.claims);
        findings.sections.extend(built.sections);
    }
    findings.stopped = context.is_stopped();
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::read;

    #[test]
    fn everything_runs_and_every_published_figure_has_a_prediction() {
        let findings = Context::in_test(1, false, |c| run(c, true)).expect("the scenarios run");
        let file = read("event-builder", EventBuilder.data()).expect("the data file is valid");
        for figure in &file.published {
            let found = findings
                .predictions
                .iter()
                .any(|p| p.case == figure.case && p.metric == figure.metric && p.stat == figure.stat);
            assert!(found, "{}: {} {}", figure.case, figure.metric, figure.stat);
        }
        assert_eq!(findings.sections.len(), 7);
        assert!(findings.sections.iter().all(|s| !s.figures.is_empty()));
    }

    #[test]
    fn a_stopped_run_says_so() {
        let found = Context::in_test(1, true, |c| run(c, true)).expect("stopping is no failure");
        assert!(found.stopped && found.sections.len() < 7);
    }

    #[test]
    fn the_shipped_scenarios_are_clean() {
        for name in ["event-builder", "event-builder-pair", "event-builder-qos"] {
            let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let loaded = clearway_policy::load(std::path::Path::new(&path), &[]).expect("it loads");
            let found = clearway_policy::lint(&loaded);
            // How long the longest turn is, is told and no fault.
            let faults = found
                .iter()
                .filter(|d| d.severity != clearway_policy::Severity::Info);
            assert!(
                loaded.warnings.is_empty() && faults.count() == 0,
                "{name}: {found:?}"
            );
        }
    }
}
