//! From the text of a scenario to the validated scenario: names to indices, units to integers, policies to plans.

mod actions;
mod classes;
mod event_builder;
mod flow_control;
mod gates;
mod messages;
mod policies;
mod stack;
mod storage;
mod topology;
mod transport;
mod workloads;

use crate::diagnostic::{Diagnostic, Place};
use crate::load::Fnv;
use crate::policy::Policy;
use crate::reader::At;
use crate::scenario::{NodeRef, Scenario};
use crate::syntax::scenario::ScenarioText;
use clearway_core::Duration;

/// The longest run: instants stay below the traffic manager's limit with room to spare.
const DURATION_MAX: Duration = Duration::from_ps(1 << 62);
/// No more samples of a time series than this.
const SAMPLES_MAX: u64 = 10_000_000;

/// Where things of the scenario stand in the text, by the indices of the scenario; what lint points at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) switches: Vec<Place>,
    pub(crate) links: Vec<Place>,
    pub(crate) workloads: Vec<Place>,
    /// For each compiled policy of the scenario: which of the policies that were read, and the line rate.
    pub(crate) compiled_from: Vec<(usize, u64)>,
    /// Where each of the policies that were read was asked for first.
    pub(crate) policies: Vec<Place>,
}

#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) scenario: Scenario,
    pub(crate) policies: Vec<Policy>,
    pub(crate) facts: Facts,
}

/// What gives the content of a file that a scenario names.
pub(crate) type Resolve<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

pub(crate) fn text_of(value: Option<&At<String>>) -> Option<String> {
    value.map(|v| v.value.clone())
}

pub(crate) fn build(
    raw: &ScenarioText,
    stem: &str,
    resolve: Resolve<'_>,
    hash: &mut Fnv,
    findings: &mut Vec<Diagnostic>,
) -> Built {
    let mut facts = Facts::default();
    let duration = raw
        .duration
        .as_ref()
        .map_or(Duration::ZERO, |d| Duration::from_ps(d.value.0));
    let warmup = raw
        .warmup
        .as_ref()
        .map_or(Duration::ZERO, |d| Duration::from_ps(d.value.0));
    if let Some(at) = &raw.duration
        && (duration == Duration::ZERO || duration > DURATION_MAX)
    {
        findings.push(
            at.error("range", "the simulated time is out of range")
                .expecting("above 0 and at most 53 days"),
        );
    }
    if let Some(at) = raw.warmup.as_ref().filter(|_| warmup >= duration) {
        findings.push(
            at.error("range", "the run ends before its warm-up does")
                .expecting("less than `duration`"),
        );
    }
    let sample_interval = raw.sample_interval.as_ref().map(|t| Duration::from_ps(t.value.0));
    if let Some(at) = &raw.sample_interval
        && (at.value.0 == 0 || duration.as_ps() / at.value.0 > SAMPLES_MAX)
    {
        let message = format!("this gives more than {SAMPLES_MAX} samples");
        findings.push(at.error("range", message).expecting("a longer interval"));
    }
    let mut registry = policies::Registry::new(resolve, hash);
    registry.define(raw, findings);
    let network = topology::build(raw, &mut registry, &mut facts, findings);
    let sent = workloads::build(raw, &network, duration, &mut registry, &mut facts, findings);
    let links = topology::link_names(raw, &network, &facts, findings);
    let actions = actions::Actions::new(&network, &links, &sent.workloads, duration);
    let actions = actions.build(raw, &mut registry, findings);
    registry.unused(raw, findings);
    facts.compiled_from = registry.compiled_from;
    facts.policies = registry.asked;
    let policy_at = |link: &crate::scenario::Link, end: usize| {
        link.ends[end].policy.or_else(|| match link.ends[end].node {
            NodeRef::Host(h) => network.hosts[h].nic.policy,
            NodeRef::Switch(s) => network.switches[s].policy,
        })
    };
    gates::check(
        &network.links,
        &network.switches,
        &policy_at,
        &registry.sources,
        &facts,
        findings,
    );
    let scenario = Scenario {
        name: text_of(raw.name.as_ref()).unwrap_or_else(|| stem.to_owned()),
        title: text_of(raw.title.as_ref()).unwrap_or_default(),
        cites: text_of(raw.cites.as_ref()),
        duration,
        warmup,
        seed: raw
            .seed
            .as_ref()
            .and_then(|s| u64::try_from(s.value.0).ok())
            .unwrap_or(1),
        sample_interval,
        flow_histograms: raw.flow_histograms.as_ref().is_some_and(|b| b.value),
        flow_jitter: raw.flow_jitter.as_ref().is_some_and(|b| b.value),
        hosts: network.hosts,
        switches: network.switches,
        links: network.links,
        workloads: sent.workloads,
        classes: sent.classes,
        policies: registry.out,
        actions,
    };
    Built {
        scenario,
        policies: registry.sources,
        facts,
    }
}
