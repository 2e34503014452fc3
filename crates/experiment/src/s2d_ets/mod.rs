//! Storage Spaces Direct with network QoS: storage and other traffic on one port, shared out 80 to 20 and 10 to 90.
//!
//! Source: the Chelsio paper on S2D performance with network QoS. The copies of a block are fitted to storage alone, and
//! how a NIC without QoS shares itself out to the case without; the two mixed cases with QoS are predicted. The
//! parameters stand in `reproductions/s2d-ets.toml`, the models in `scenarios/s2d-ets.toml` and
//! `scenarios/s2d-ets-team.toml`, what was found in `docs/reproductions/s2d-ets.md`. Beyond the document's tables: the
//! share changed while everything runs, Little's law on each published row, a port of a team that fails. Left out:
//! processors, disks, and who coordinates a write.

mod cases;
mod figures;
mod tables;

use crate::reproduce::{Claim, Context, Experiment, Findings, Prediction, Section, read};
use cases::{NODES, Seen, Span, TEAM};

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct S2dEts;

impl Experiment for S2dEts {
    fn name(&self) -> &'static str {
        "s2d-ets"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/s2d-ets.toml")
    }

    fn default_seeds(&self) -> u32 {
        3
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, &Span::PUBLISHED)
    }
}

/// Runs everything for the given spans of simulated time.
fn run(context: &Context<'_>, span: &Span) -> Result<Findings, String> {
    let published = read(S2dEts.name(), S2dEts.data())?.published;
    let mut findings = Findings::default();
    let seen = cases::run(context, &NODES, &cases::published(span))?;
    findings.predictions = predictions(&seen);
    let rows = seen
        .iter()
        .flat_map(|s| s.runs.iter().flat_map(|r| r.rows.iter()));
    findings.rows.extend(rows.cloned());
    findings.stopped = context.is_stopped();
    let [nic, alone, fifo, eighty, ten] = seen.as_slice() else {
        return Err("s2d-ets: a case is missing".to_owned());
    };
    if findings.stopped || seen.iter().any(|s| s.runs.is_empty()) {
        findings.stopped = true;
        return Ok(findings);
    }
    for (parameter, cases) in cases::left_out(span) {
        let without = cases::run(context, &NODES, &cases)?;
        findings
            .left_out
            .push((parameter.to_owned(), predictions(&without)));
    }
    findings.sections.push(Section {
        heading: "The five cases".to_owned(),
        text: vec![
            "Payload of blocks each counted once, whatever its copies; MB are 10^6 B. The document's columns are of \
             different instants: 2,008 MB/s over 7,728 operations a second are 259.8 kB, and a block has 262.1."
                .to_owned(),
            "Operations and latency are no evidence of their own: with 160 operations outstanding on a saturated wire, \
             operations are throughput over block, and latency is 160 over that (Little's law)."
                .to_owned(),
        ],
        tables: vec![
            tables::spans(&seen),
            tables::nodes(&[alone, fifo, eighty, ten]),
        ],
        figures: vec![
            figures::totals(&published, &[alone, fifo, eighty, ten]),
            figures::nodes(&[alone, fifo, eighty, ten]),
            figures::latencies(&[alone, fifo, eighty, ten]),
        ],
    });
    findings.sections.push(tables::little(&seen));
    findings.claims = claims(nic, fifo, eighty);
    if context.is_stopped() {
        findings.stopped = true;
        return Ok(findings);
    }
    let windows = cases::run(context, &NODES, &cases::windows(span))?;
    let changed = cases::run(context, &NODES, &[cases::change(span)])?;
    let failures = cases::run(context, &TEAM, &cases::failures(span))?;
    findings.stopped = context.is_stopped();
    let all = [&windows, &changed, &failures];
    if all.iter().any(|group| group.iter().any(|s| s.runs.is_empty())) {
        findings.stopped = true;
        return Ok(findings);
    }
    findings.sections.push(tables::windows(&windows, fifo, ten));
    let (section, claim) = tables::change(&changed[0], span);
    findings.sections.push(section);
    findings.claims.push(claim);
    let (section, claim) = tables::failures(&failures, span);
    findings.sections.push(section);
    findings.claims.push(claim);
    Ok(findings)
}

/// The numbers that the document prints, one a seed.
fn predictions(seen: &[Seen]) -> Vec<Prediction> {
    let mut all = Vec::new();
    for seen in seen {
        let mut add = |metric: &str, stat: &str, of: &dyn Fn(&cases::Run) -> f64| {
            let samples: Vec<f64> = seen.runs.iter().map(of).filter(|v| v.is_finite()).collect();
            if !samples.is_empty() {
                all.push(Prediction {
                    case: seen.name.clone(),
                    metric: metric.to_owned(),
                    stat: stat.to_owned(),
                    samples,
                });
            }
        };
        if seen.name == "NIC alone" {
            add("NIC throughput of a node", "mean of three nodes", &|r| r.nic);
            continue;
        }
        add("storage throughput", "four nodes", &|r| r.storage);
        add("operations", "four nodes", &|r| r.operations);
        add("write latency", "mean", &|r| r.latency);
        if seen.name == "both, no QoS" {
            add("share of storage", "of all bytes on the wire", &|r| {
                100.0 * r.share
            });
        }
    }
    all
}

/// What the document says in words about its five cases.
fn claims(nic: &Seen, fifo: &Seen, eighty: &Seen) -> Vec<Claim> {
    let share = 100.0 * fifo.average(|r| r.share);
    let wire = |seen: &Seen| seen.average(|r| r.nic * 4.0 / (1.0 - r.share).max(1e-9));
    let (alone, both) = (nic.average(|r| r.nic * 4.0), wire(eighty));
    vec![
        Claim::no_evidence(
            "\"NIC only bandwidth results from each host, reaching line-rate\"",
            format!(
                "{:.2} Gbit/s a node (L2). Any model of two TCP streams on a 10 Gbit/s line reaches it.",
                alone / 4e9
            ),
        ),
        Claim::new(
            "\"iWARP RDMA consuming 75% of bandwidth when both iWARP RDMA and NIC traffic are run concurrently with no \
             network QoS configured\"",
            format!("{share:.1} % of the bytes on the wire: six connections of eight."),
            (share - 75.0).abs() < 2.0,
        ),
        Claim::new(
            "\"allocate bandwidth efficiently to different protocols without any loss in performance\"",
            format!(
                "both together move {:.2} Gbit/s at 80:20, the streams alone {:.2}: what one class leaves, the other \
                 takes.",
                both / 1e9,
                alone / 1e9
            ),
            (both / alone - 1.0).abs() < 0.02,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_cases_with_qos_was_used() {
        let file = read("s2d-ets", S2dEts.data()).expect("the data file is valid");
        let mut predicted = 0;
        for figure in file.published.iter().filter(|f| f.case.contains(':')) {
            assert_ne!(
                figure.role,
                clearway_metrics::Role::Fitted,
                "{} {}",
                figure.case,
                figure.metric
            );
            predicted += u32::from(figure.role == clearway_metrics::Role::Predicted);
        }
        assert!(predicted >= 3);
        for parameter in &file.parameters {
            let used = parameter.fitted_to.clone().unwrap_or_default();
            assert!(
                !used.contains(':') || !used.contains("80:20") && !used.contains("10:90"),
                "{used}"
            );
        }
    }

    #[test]
    fn every_published_figure_has_a_prediction_from_a_short_run() {
        let findings = Context::in_test(1, false, |c| run(c, &Span::SMOKE)).expect("the scenarios run");
        assert!(!findings.stopped);
        let file = read("s2d-ets", S2dEts.data()).expect("the data file is valid");
        for figure in &file.published {
            let found = findings
                .predictions
                .iter()
                .any(|p| p.case == figure.case && p.metric == figure.metric && p.stat == figure.stat);
            // Operations at 10 % take longer than the short run.
            let slow = figure.case == "both, 10:90" && figure.metric == "write latency";
            assert!(
                found || slow,
                "{}: {} {}",
                figure.case,
                figure.metric,
                figure.stat
            );
        }
        for (parameter, _) in &findings.left_out {
            assert!(
                file.left_out(parameter).is_some(),
                "{parameter} has no neutral value"
            );
        }
        assert_eq!((findings.sections.len(), findings.claims.len()), (5, 5));
        assert!(findings.sections.iter().all(|s| !s.tables.is_empty()));
    }
}
