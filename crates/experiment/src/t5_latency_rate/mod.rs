//! The latency experiment: messages of 256 B at 10,000 to 2,000,000 a second over two adapters, UDP and TCP.
//!
//! Source: the T5 paper against the SFN7122F, whose graphs are lost: what its text states is checked, the curves are
//! redrawn from the model. The T5's costs come from the microburst experiment; of the other adapter three numbers are
//! fitted to three statements. Beside it stands what stacks of four kinds take of the processors. The page
//! `docs/reproductions/t5-latency-rate.md` says what was found. Left out: whatever makes one message cost more than another.

mod cases;
mod show;
mod stacks;

use crate::reproduce::{Claim, Context, Experiment, Findings, Prediction};
use cases::{Card, Point, Seen, Spacing};

/// Messages a second.
const RATES: [f64; 8] = [10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6];
/// More than either host can handle, and nearly what the line carries.
const BEYOND: f64 = 3.8e6;
/// Messages of a run.
const MESSAGES: f64 = 60e3;

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct T5LatencyRate;

impl Experiment for T5LatencyRate {
    fn name(&self) -> &'static str {
        "t5-latency-rate"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/t5-latency-rate.toml")
    }

    fn default_seeds(&self) -> u32 {
        3
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, &RATES, MESSAGES)
    }
}

fn points(rates: &[f64]) -> Vec<Point> {
    let mut all = Vec::new();
    for spacing in [Spacing::Even, Spacing::Poisson] {
        for transport in ["udp", "tcp"] {
            for card in [Card::T5, Card::Sfn] {
                let beyond = (spacing == Spacing::Even && transport == "udp").then_some(BEYOND);
                all.extend(rates.iter().copied().chain(beyond).map(|rate| Point {
                    card,
                    transport,
                    spacing,
                    rate,
                }));
            }
        }
    }
    all
}

/// Both adapters at the least rate, for what is fitted there.
fn least(rates: &[f64]) -> Vec<Point> {
    let mut all = points(&rates[..1]);
    all.retain(|p| p.spacing == Spacing::Even && p.rate < BEYOND);
    all
}

fn run(context: &Context<'_>, rates: &[f64], messages: f64) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let Some(seen) = cases::run(context, &points(rates), messages, &[])? else {
        findings.stopped = true;
        return Ok(findings);
    };
    findings.predictions = predictions(&seen);
    findings.claims = claims(&seen);
    findings.sections.extend(show::sections(&seen));
    for seen in seen
        .iter()
        .filter(|s| s.point.card == Card::Sfn || s.point.rate <= 1e6)
    {
        findings
            .rows
            .extend(seen.runs.iter().flat_map(|run| run.rows.iter().cloned()));
    }
    for (parameter, keys) in [
        (
            "sfn receive per_packet",
            ["receive.per_packet=238ns", "receive.per_segment=588ns"].as_slice(),
        ),
        (
            "sfn transmit per_packet",
            &["transmit.per_packet=840ns", "transmit.per_segment=1190ns"],
        ),
        ("sfn receive per_segment", &["receive.per_segment=840ns"]),
    ] {
        let more: Vec<String> = keys
            .iter()
            .flat_map(|key| ["client", "server"].map(|host| format!("host.{host}.stack.{key}")))
            .collect();
        // The T5 keeps its own numbers.
        let (t5, sfn): (Vec<Point>, Vec<Point>) = least(rates).into_iter().partition(|p| p.card == Card::T5);
        let Some(mut without) = cases::run(context, &t5, messages / 10.0, &[])? else {
            findings.stopped = true;
            return Ok(findings);
        };
        let Some(changed) = cases::run(context, &sfn, messages / 10.0, &more)? else {
            findings.stopped = true;
            return Ok(findings);
        };
        without.extend(changed);
        findings
            .left_out
            .push((parameter.to_owned(), predictions(&without)));
    }
    match stacks::section(context)? {
        Some(section) => findings.sections.push(section),
        None => findings.stopped = true,
    }
    Ok(findings)
}

fn at<'a>(seen: &'a [Seen], card: Card, transport: &str, rate: f64) -> Option<&'a Seen> {
    seen.iter().find(|s| {
        let p = &s.point;
        p.card == card
            && p.transport == transport
            && p.spacing == Spacing::Even
            && (p.rate - rate).abs() < 1.0
    })
}

/// How much longer the SFN's mean is at the least rate, one a seed.
fn predictions(seen: &[Seen]) -> Vec<Prediction> {
    let mut all = Vec::new();
    for transport in ["udp", "tcp"] {
        let (Some(t5), Some(sfn)) = (
            at(seen, Card::T5, transport, 10e3),
            at(seen, Card::Sfn, transport, 10e3),
        ) else {
            continue;
        };
        let both = t5.runs.iter().zip(&sfn.runs);
        let samples = both.filter_map(|(a, b)| Some(b.mean()? - a.mean()?)).collect();
        all.push(Prediction {
            case: format!("{} at 10K/s", transport.to_uppercase()),
            metric: "latency, SFN7122F less T520-LL-CR".to_owned(),
            stat: "mean".to_owned(),
            samples,
        });
    }
    all
}

fn micros(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

fn claims(seen: &[Seen]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let sustained = |card, transport, rate| at(seen, card, transport, rate).map(Seen::is_sustained);
    let arrived = |card, transport, rate| {
        at(seen, card, transport, rate).map_or(f64::NAN, |s| s.average(|r| Some(r.arrived)))
    };
    if let (Some(one), Some(two)) = (sustained(Card::Sfn, "udp", 1e6), sustained(Card::Sfn, "udp", 2e6)) {
        claims.push(Claim::no_evidence(
            "The Solarflare adapter is not capable of sustaining more than 1M UDP messages/s without dropping.",
            format!(
                "1M/s sustained: {one}; 2M/s: {two}, {:.2}M/s arrive. The time of a message was fitted to this.",
                arrived(Card::Sfn, "udp", 2e6) / 1e6
            ),
        ));
    }
    if let Some(two) = sustained(Card::T5, "udp", 2e6) {
        let (t5, sfn) = (
            arrived(Card::T5, "udp", BEYOND),
            arrived(Card::Sfn, "udp", BEYOND),
        );
        claims.push(Claim::new(
            "Chelsio's solution sustains loads in excess of 2M UDP messages/s, more than twice the limit of Solarflare.",
            format!(
                "2M/s sustained: {two}; with more than either can take, {:.2}M/s arrive against {:.2}M/s. The T5's time of a \
                 message comes from the microburst test alone.",
                t5 / 1e6,
                sfn / 1e6
            ),
            two && t5 > 2.0 * sfn,
        ));
    }
    if let (Some(half), Some(one)) = (
        sustained(Card::Sfn, "tcp", 500e3),
        sustained(Card::Sfn, "tcp", 1e6),
    ) {
        claims.push(Claim::new(
            "TCP: the Solarflare adapter's points at 1M and 2M messages/s are missing, those below are there.",
            format!(
                "500K/s sustained: {half}; 1M/s: {one}, {:.0}K/s arrive, and {:.0} frames a run are lost in the receiver's ring \
                 and sent again. What a TCP segment costs more was fitted to the latency at 10K/s.",
                arrived(Card::Sfn, "tcp", 1e6) / 1e3,
                at(seen, Card::Sfn, "tcp", 1e6).map_or(f64::NAN, |s| s.average(|r| Some(r.dropped as f64)))
            ),
            half && !one,
        ));
    }
    if let Some(two) = sustained(Card::T5, "tcp", 2e6) {
        claims.push(Claim::new(
            "TCP: Chelsio demonstrates much higher capacity at high load.",
            format!(
                "2M/s sustained: {two}, where the other arrives at {:.0}K/s.",
                arrived(Card::Sfn, "tcp", 2e6) / 1e3
            ),
            two,
        ));
    }
    let spread = |card: Card, rate: f64| {
        at(seen, card, "udp", rate).map(|s| (s.average(cases::Run::min), s.average(|r| r.quantile(0.99))))
    };
    if let Some((min, p99)) = spread(Card::T5, 2e6) {
        claims.push(Claim::no_evidence(
            "Minimum, average and 99 % of the T5 are virtually indistinguishable, up to 2M/s.",
            format!(
                "{} and {} at 2M/s with evenly spaced messages: whatever has a constant cost does that below its limit.",
                micros(min),
                micros(p99)
            ),
        ));
    }
    if let (Some((_, low)), Some((min, p99))) = (spread(Card::Sfn, 10e3), spread(Card::Sfn, 1e6)) {
        claims.push(Claim::new(
            "The Solarflare's latency deteriorates significantly as the load is increased, along with increased variance.",
            format!(
                "99 % at 10K/s {}, at 1M/s {} with a minimum of {}: messages that are evenly spaced and cost the same never \
                 queue. With Poisson arrivals (figure) it does; then the T5 spreads as well. What varies is not modelled.",
                micros(low),
                micros(p99),
                micros(min)
            ),
            p99 > 2.0 * low,
        ));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::read;

    #[test]
    fn every_published_figure_and_statement_is_met_by_a_short_run() {
        let rates = [10e3, 500e3, 1e6, 2e6];
        let findings = Context::in_test(1, false, |c| run(c, &rates, 3e3)).expect("the scenarios run");
        let file = read("t5-latency-rate", T5LatencyRate.data()).expect("the data file is valid");
        for figure in &file.published {
            let found = findings
                .predictions
                .iter()
                .find(|p| p.case == figure.case && p.metric == figure.metric && p.stat == figure.stat);
            let mean = found.and_then(|p| p.samples.first()).copied().unwrap_or(f64::NAN);
            assert!(
                (mean / figure.value - 1.0).abs() < 0.05,
                "{}: {mean}",
                figure.case
            );
        }
        for (parameter, _) in &findings.left_out {
            assert!(
                file.left_out(parameter).is_some(),
                "{parameter} has no neutral value"
            );
        }
        assert_eq!(findings.claims.len(), 6);
        assert!(findings.sections.len() >= 3);
    }

    #[test]
    fn half_the_round_trip_is_the_sum_of_its_parts() {
        let points = least(&[10e3]);
        let seen = Context::in_test(1, false, |c| cases::run(c, &points, 500.0, &[]))
            .expect("it runs")
            .expect("nobody stops it");
        for s in &seen {
            // Two ways of 1,246 ns, 15 ns of cable, 310 B on the wire (TCP: 322 B), and both costs.
            let tcp = s.point.transport == "tcp";
            let wire = if tcp { 322.0 } else { 310.0 } * 0.8e-9;
            let costs = match s.point.card {
                Card::T5 => 598e-9,
                Card::Sfn if tcp => 2.0 * 100e-9 + (1_190.0 + 588.0) * 1e-9,
                Card::Sfn => 2.0 * 100e-9 + (840.0 + 238.0) * 1e-9,
            };
            let copies = if s.point.card == Card::Sfn {
                2.0 * 256.0 * 8.0 / 198.4e9
            } else {
                0.0
            };
            let sum = 2.0 * 1_246e-9 + 15e-9 + wire + costs + copies;
            let min = s.average(cases::Run::min);
            // Histograms keep about three digits.
            assert!(
                (min / sum - 1.0).abs() < 0.01,
                "{}: {min} is not {sum}",
                s.point.name()
            );
        }
    }
}
