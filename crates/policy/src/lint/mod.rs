//! What a policy or scenario says that is probably not meant: the checks of `clearway check`.
//!
//! Every check has a stable code:
//!
//! | code | severity | what |
//! | --- | --- | --- |
//! | `shares-above-whole` | warning | shares of siblings add up to more than 100 % |
//! | `limit-above-line` | warning | a rate that the line never reaches |
//! | `guarantees-above-line` | warning | guarantees that cannot all be kept |
//! | `pcp-order` | warning | priorities ranked against the recommended order of IEEE 802.1Q (1 below 0 below 2 to 7) |
//! | `unmatched-class` | warning | a queue that no frame can reach |
//! | `shadowed-rule` | warning | a rule of which earlier ones leave nothing |
//! | `no-default` | warning | frames that no rule takes are refused |
//! | `largest-turn` | info | how much one class sends in a row |
//! | `frame-above-policy` | warning | frames longer than a policy on their way takes |
//! | `headroom` | warning | PAUSE or PFC with less memory than is still under way when it is sent |
//! | `buffer-cycle` | warning | buffers that can wait for each other in a circle: deadlock |
//!
//! `burst-below-frame` and `pfc-mixed-queue` are errors, `unused-policy` is a warning that loading reports.

mod buffer_cycle;
mod headroom;
mod matching;
mod tree;

use crate::compile::Compiler;
use crate::diagnostic::{Diagnostic, Severity};
use crate::load::Loaded;
use crate::policy::Policy;
use crate::scenario::{Law, NodeRef, Scenario, WorkloadKind};
use std::collections::{BTreeMap, BTreeSet};

/// Checks a policy for a port of this line rate (bit/s); without one, what depends on it is left out.
#[must_use]
pub fn lint_policy(policy: &Policy, line_rate_bps: Option<u64>) -> Vec<Diagnostic> {
    let mut compiler = Compiler::new(line_rate_bps.unwrap_or(crate::policy::CHECK_RATE_BPS));
    compiler.run(policy);
    if crate::policy::has_errors(&compiler.findings) {
        return compiler.findings;
    }
    let mut findings = Vec::new();
    tree::check(policy, &compiler, line_rate_bps, &mut findings);
    matching::check(policy, &compiler, &mut findings);
    findings
}

/// Checks a scenario with all its policies, each once for every line rate that it is used at.
#[must_use]
pub fn lint(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (source, rate) in &loaded.facts.compiled_from {
        if let Some(policy) = loaded.policies.get(*source) {
            for finding in lint_policy(policy, Some(*rate)) {
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
    }
    frames(loaded, &mut findings);
    headroom::check(loaded, &mut findings);
    buffer_cycle::check(loaded, &mut findings);
    findings
}

/// The index of the policy at one end of a link, if that end transmits through one.
pub(crate) fn policy_at(scenario: &Scenario, link: usize, end: usize) -> Option<usize> {
    let end = &scenario.links.get(link)?.ends[end];
    end.policy.or_else(|| match end.node {
        NodeRef::Host(h) => scenario.hosts.get(h)?.nic.policy,
        NodeRef::Switch(s) => scenario.switches.get(s)?.policy,
    })
}

/// The longest frame of a workload, as far as its law bounds it; L2 bytes with FCS.
pub(crate) fn longest_frame(kind: &WorkloadKind, tagged: bool) -> u32 {
    let law = |law: &Law| match law {
        Law::Constant(x) | Law::Exponential(x) | Law::Geometric(x) | Law::Uniform(_, x) => *x,
        Law::Pareto { max, .. } => *max,
        Law::Empirical(pairs) => pairs.iter().map(|(x, _)| *x).fold(0.0, f64::max),
    };
    match kind {
        WorkloadKind::Bursty { frame_bytes, .. }
        | WorkloadKind::Poisson { frame_bytes, .. }
        | WorkloadKind::ConstantRate { frame_bytes, .. }
        | WorkloadKind::OnOff { frame_bytes, .. } => law(frame_bytes) as u32,
        WorkloadKind::RequestResponse {
            request_bytes,
            response_bytes,
            ..
        }
        | WorkloadKind::OpenLoop {
            request_bytes,
            response_bytes,
            ..
        } => *request_bytes.max(response_bytes),
        // Ethernet header and FCS, a tag, IPv4 and TCP headers.
        WorkloadKind::TcpBulk { tcp, .. } => {
            tcp.mss_bytes + tcp.option_bytes + 58 + if tagged { 4 } else { 0 }
        }
        WorkloadKind::Messages { transport, .. }
        | WorkloadKind::Storage { transport, .. }
        | WorkloadKind::EventBuilder { transport, .. } => {
            transport.frame_bytes_max() + if tagged { 4 } else { 0 }
        }
        WorkloadKind::Replay { frames } => frames.iter().map(|f| f.bytes).max().unwrap_or(0),
    }
}

/// Frames that a policy on their way would refuse for their length.
fn frames(loaded: &Loaded, findings: &mut Vec<Diagnostic>) {
    let scenario = &loaded.scenario;
    // Frames pass their sender's NIC for certain; of the switches, those that all hosts share are looked at as one.
    let mut least: BTreeMap<usize, (u32, &str)> = BTreeMap::new();
    for (l, link) in scenario.links.iter().enumerate() {
        for (e, end) in link.ends.iter().enumerate() {
            if let (NodeRef::Host(h), Some(policy)) = (end.node, policy_at(scenario, l, e)) {
                let policy = &scenario.policies[policy];
                least.insert(h, (policy.plan.frame_bytes_max, &policy.name));
            }
        }
    }
    let mut told = BTreeSet::new();
    for (w, workload) in scenario.workloads.iter().enumerate() {
        let tagged =
            workload.marks.vlan_id.is_some() || workload.marks.pcp.is_some() || workload.marks.pcp_uniform;
        let longest = longest_frame(&workload.kind, tagged);
        for sender in &workload.from {
            if let Some((most, name)) = least.get(sender).filter(|(most, _)| longest > *most)
                && told.insert(w)
            {
                let message = format!(
                    "frames of {longest} bytes, but policy `{name}` of host `{}` refuses frames above {most}",
                    scenario.hosts[*sender].name
                );
                let place = &loaded.facts.workloads[w];
                let finding = place.finding(Severity::Warning, "frame-above-policy", message);
                findings.push(finding.expecting(format!("frame_max = \"{longest}B\" in the policy")));
            }
        }
    }
}
