//! A run beside its bounds.

use clearway_experiment::bounds;
use clearway_policy::scenario::Scenario;
use clearway_sim::results::Unobserved;
use std::fmt::Write as _;

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Flows with frames and a bound.
    pub(crate) delays: u64,
    /// Queues with frames and a bound.
    pub(crate) backlogs: u64,
    /// Flows with frames and no bound.
    pub(crate) unbounded: u64,
    /// The nearest that a delay came to its bound, 1: reached.
    pub(crate) nearest_delay: f64,
    /// The same of backlogs.
    pub(crate) nearest_backlog: f64,
    /// Sum of delay over bound.
    pub(crate) closeness: f64,
    /// What was above its bound.
    pub(crate) wrong: String,
}

impl Compared {
    pub(crate) fn add(&mut self, other: &Self) {
        self.delays += other.delays;
        self.backlogs += other.backlogs;
        self.unbounded += other.unbounded;
        self.closeness += other.closeness;
        self.nearest_delay = self.nearest_delay.max(other.nearest_delay);
        self.nearest_backlog = self.nearest_backlog.max(other.nearest_backlog);
    }
}

/// Runs a scenario and compares every flow and queue.
pub(crate) fn compare(scenario: &Scenario, name: &str) -> Compared {
    let found = bounds::of(scenario);
    let outcome = clearway_sim::run(scenario, scenario.seed, &mut Unobserved)
        .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    let mut all = Compared::default();
    for flow in outcome.flows.iter().filter(|f| f.counters.delivered_frames > 0) {
        let same = |b: &&bounds::FlowBound| {
            b.workload == flow.workload as usize && b.from == flow.from as usize && b.to == flow.to as usize
        };
        // A capture has several flows between the same hosts: the bound of none of them may be missed by its own.
        let bound = found.flows.iter().filter(same).map(|b| b.latency_ps.clone());
        let worst = bound.reduce(|a, b| Ok(a?.max(b?)));
        let seen = flow.counters.latency_max_ps;
        match worst {
            None => panic!("{name}: no word on the flow {flow:?}"),
            Some(Err(_)) => all.unbounded += 1,
            Some(Ok(bound)) => {
                all.delays += 1;
                let share = seen as f64 / bound as f64;
                all.closeness += share;
                all.nearest_delay = all.nearest_delay.max(share);
                if seen > bound {
                    let workload = &scenario.workloads[flow.workload as usize].name;
                    let _ = writeln!(
                        all.wrong,
                        "{name}: {workload}, host {} to {}: {seen} ps seen, bound {bound} ps",
                        flow.from, flow.to
                    );
                }
            }
        }
    }
    for class in &outcome.classes {
        let Some(bound) = found.classes.iter().find(|b| b.name == class.name) else {
            continue;
        };
        let c = &class.counters;
        for (what, seen, bound) in [
            ("from generation", c.from_generation.max(), &bound.latency_ps),
            (
                "from the first bit",
                c.from_first_bit.max(),
                &bound.from_first_bit_ps,
            ),
        ] {
            if let (Some(seen), Ok(bound)) = (seen, bound)
                && seen > *bound
            {
                let _ = writeln!(
                    all.wrong,
                    "{name}: class {} {what}: {seen} ps seen, bound {bound} ps",
                    class.name
                );
            }
        }
    }
    for (line, port) in outcome.ports.iter().enumerate() {
        let single = [(port.name.clone(), port.backlog_bytes_max)];
        let queues: Vec<(String, u64)> = if port.queues.is_empty() {
            single.to_vec()
        } else {
            let name = |q: &str| format!("{}:{q}", port.name);
            port.queues.iter().map(|q| (name(&q.name), q.bytes_max)).collect()
        };
        for (queue, seen) in queues {
            let here = |b: &&bounds::QueueBound| b.line == line && b.name == queue;
            let Some(bound) = found.queues.iter().find(here) else {
                assert_eq!(seen, 0, "{name}: no word on {queue}");
                continue;
            };
            let Ok(bytes) = bound.backlog_bytes else { continue };
            if seen > 0 {
                all.backlogs += 1;
                all.nearest_backlog = all.nearest_backlog.max(seen as f64 / bytes as f64);
            }
            if seen > bytes {
                let _ = writeln!(all.wrong, "{name}: {queue}: {seen} B seen, bound {bytes} B");
            }
        }
    }
    all
}
