//! The T4 experiment: a request/response loop beside one TCP stream, alone, in one channel and in two.
//!
//! Source: the T4 paper on quality of service and traffic management. Fitted on the first two cases, predicted for the
//! third; the parameters stand in `reproductions/t4-qos.toml`, the model in `scenarios/t4-qos.toml`. Two further
//! scenarios carry the idea on: through a switch that reads the tag, and into a host behind a slow bus. The page
//! `docs/reproductions/t4-qos.md` says what was found. Left out: offloaded TCP, interrupts, the host's CPUs.

mod cases;
mod figures;
mod onward;
mod tables;

use crate::reproduce::{Context, Experiment, Findings, Prediction, Section, read};
use cases::{CALLS_SECONDS, Seen, Span, main_cases};

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct T4Qos;

impl Experiment for T4Qos {
    fn name(&self) -> &'static str {
        "t4-qos"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/t4-qos.toml")
    }

    fn default_seeds(&self) -> u32 {
        5
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, &Span::PUBLISHED)
    }
}

/// Runs everything, the main cases for the given spans of simulated time.
fn run(context: &Context<'_>, span: &Span) -> Result<Findings, String> {
    let published = read(T4Qos.name(), T4Qos.data())?.published;
    let mut findings = Findings::default();
    let seen = cases::run(context, &main_cases(span))?;
    let [alone, tcp_alone, one, two] = seen.as_slice() else {
        return Err("t4-qos: a case is missing".to_owned());
    };
    findings.predictions = predictions(alone, tcp_alone, one, two);
    for group in &seen {
        findings
            .rows
            .extend(group.runs.iter().flat_map(|run| run.rows.iter().cloned()));
    }
    for (parameter, cases) in cases::left_out(span) {
        if context.is_stopped() {
            break;
        }
        let without = cases::run(context, &cases)?;
        if let [alone, tcp_alone, one, two] = without.as_slice() {
            findings
                .left_out
                .push((parameter.to_owned(), predictions(alone, tcp_alone, one, two)));
        }
    }
    findings.sections.push(Section {
        heading: "The three cases".to_owned(),
        text: vec![
            "A sample is one of the first 3,072 calls of a run, in every case. Latency is RTT/2, as the document prints it."
                .to_owned(),
            "Figures 8, 9 and 10 of the document are lost; these are redrawn from the model, with what the text prints."
                .to_owned(),
        ],
        tables: vec![tables::spans(&[alone, tcp_alone, one, two])],
        figures: vec![
            figures::latency(&published, alone, one, two),
            figures::throughput(&published, tcp_alone, one, two),
            figures::over_time(alone, one, two),
            figures::distribution("RTT/2 of all calls", &[alone, one, two]),
        ],
    });
    if !context.is_stopped() {
        let changed = cases::sensitivity(span);
        let each: Vec<_> = changed.iter().map(|c| c.case.clone()).collect();
        let group = cases::run(context, &each)?;
        let section = tables::sensitivity(&published, alone, two, &changed, &group);
        findings.sections.push(section);
    }
    if !context.is_stopped() {
        findings.sections.push(onward::switch(context, span)?);
    }
    if !context.is_stopped() {
        findings.sections.push(onward::inbound(context, span)?);
    }
    findings.stopped = context.is_stopped();
    Ok(findings)
}

/// The numbers that the document prints, one a seed.
fn predictions(alone: &Seen, tcp_alone: &Seen, one: &Seen, two: &Seen) -> Vec<Prediction> {
    let mut all = Vec::new();
    let mut add = |seen: &Seen, metric: &str, stat: &str, samples: Vec<f64>| {
        let (case, metric, stat) = (seen.name.clone(), metric.to_owned(), stat.to_owned());
        if !samples.is_empty() {
            all.push(Prediction {
                case,
                metric,
                stat,
                samples,
            });
        }
    };
    for seen in [alone, one, two] {
        let each =
            |of: &dyn Fn(&cases::Run) -> Option<f64>| seen.runs.iter().filter_map(of).collect::<Vec<f64>>();
        add(seen, "RTT/2", "mean of all calls", each(&cases::Run::mean));
        add(
            seen,
            "RTT/2",
            "mean of 3072 samples",
            each(&cases::Run::sample_mean),
        );
        add(
            seen,
            "RTT/2",
            "min of 3072 samples",
            each(&cases::Run::sample_min),
        );
        add(
            seen,
            "RTT/2",
            "max of 3072 samples",
            each(&cases::Run::sample_max),
        );
        add(
            seen,
            "calls in 5 s",
            "count",
            each(&|run| Some(run.call_rate() * CALLS_SECONDS)),
        );
    }
    let free: Vec<f64> = tcp_alone.runs.iter().map(|run| run.tcp_bps).collect();
    // The stream lasts ten seconds, the calls five of them.
    for seen in [one, two] {
        let both = seen
            .runs
            .iter()
            .zip(&free)
            .map(|(run, free)| f64::midpoint(run.tcp_bps, *free));
        add(seen, "TCP throughput", "mean of 10 s", both.collect());
    }
    add(tcp_alone, "TCP throughput", "mean of 10 s", free);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::reproduce;

    #[test]
    fn nothing_of_the_third_case_was_used() {
        let file = read("t4-qos", T4Qos.data()).expect("the data file is valid");
        for figure in file.published.iter().filter(|f| f.case == "two channels") {
            assert_eq!(
                figure.role,
                clearway_metrics::Role::Predicted,
                "{} {}",
                figure.metric,
                figure.stat
            );
        }
        for parameter in &file.parameters {
            let used = parameter.fitted_to.clone().unwrap_or_default();
            assert!(
                !used.contains("two channels"),
                "{} was fitted to {used}",
                parameter.name
            );
        }
    }

    #[test]
    fn every_published_figure_has_a_prediction_from_a_short_run() {
        let findings = Context::in_test(1, false, |c| run(c, &Span::SMOKE)).expect("the scenarios run");
        let file = read("t4-qos", T4Qos.data()).expect("the data file is valid");
        for figure in &file.published {
            let found = findings
                .predictions
                .iter()
                .any(|p| p.case == figure.case && p.metric == figure.metric && p.stat == figure.stat);
            assert!(found, "{}: {} {}", figure.case, figure.metric, figure.stat);
        }
        for (parameter, _) in &findings.left_out {
            assert!(
                file.left_out(parameter).is_some(),
                "{parameter} has no neutral value"
            );
        }
        assert_eq!(findings.sections.len(), 4);
        for section in &findings.sections {
            assert!(
                !section.tables.is_empty() && !section.figures.is_empty(),
                "{}",
                section.heading
            );
        }
    }

    #[test]
    fn calls_alone_take_the_stack_the_buses_and_the_wire() {
        let cases = &main_cases(&Span::SMOKE)[..1];
        let seen = Context::in_test(4, false, |c| cases::run(c, cases)).expect("it runs");
        // One way: two stacks with their jitter, 88 B on either bus, 72 B on the wire, 3 m of cable.
        let formula = 2.0 * (1545e-9 + 35e-9) + 2.0 * 88.0 * 8.0 / 32e9 + 72.0 * 8.0 / 10e9 + 15e-9;
        let mean = seen[0].average(cases::Run::mean);
        // 6,000 calls of four exponential draws each: a standard error below half a nanosecond.
        assert!((mean - formula).abs() < 2e-9, "{mean} is not {formula}");
    }

    #[test]
    fn two_channels_shield_the_requests_even_in_a_short_run() {
        let seen = Context::in_test(1, false, |c| cases::run(c, &main_cases(&Span::SMOKE))).expect("it runs");
        let mean = |i: usize| seen[i].runs[0].mean().expect("there are calls");
        assert!(
            mean(0) < mean(3) && 2.0 * mean(3) < mean(2),
            "{} {} {}",
            mean(0),
            mean(3),
            mean(2)
        );
        let tcp = |i: usize| seen[i].runs[0].tcp_bps;
        assert!(
            tcp(3) > 0.98 * tcp(2),
            "the aggregate is preserved: {} {}",
            tcp(3),
            tcp(2)
        );
    }

    #[test]
    fn a_stopped_run_says_so() {
        let found = Context::in_test(1, true, |c| reproduce(&T4Qos, c)).expect("stopping is no failure");
        assert!(found.stopped && !found.missing.is_empty());
    }
}
