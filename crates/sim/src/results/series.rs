//! Time series: memory of switches and bytes waiting at ports, sampled at a fixed interval.

use crate::net::Node;
use crate::net::context::Context;
use clearway_policy::scenario::Scenario;

/// One sampled quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLine {
    /// `switch` or `port`.
    pub scope: &'static str,
    /// Which one.
    pub name: String,
    /// What was sampled.
    pub metric: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// A value for each of [`Series::times_ps`].
    pub values: Vec<u64>,
}

/// All samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Instants, picoseconds.
    pub times_ps: Vec<u64>,
    /// The quantities.
    pub lines: Vec<SeriesLine>,
}

/// Name of a line's transmitter: its link and the node that sends.
pub(crate) fn port_name(scenario: &Scenario, line: usize) -> String {
    use clearway_policy::scenario::NodeRef;
    let Some(link) = scenario.links.get(line / 2) else {
        return String::new();
    };
    let node = match link.ends[line % 2].node {
        NodeRef::Host(h) => scenario.hosts.get(h).map(|h| h.name.as_str()),
        NodeRef::Switch(s) => scenario.switches.get(s).map(|s| s.name.as_str()),
    };
    format!("{}@{}", node.unwrap_or(""), link.name)
}

impl Series {
    /// Empty series for everything that a scenario samples.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        if scenario.sample_interval.is_none() {
            return Self::default();
        }
        let line = |scope, name, metric| SeriesLine {
            scope,
            name,
            metric,
            unit: "B",
            values: Vec::new(),
        };
        let switches = scenario
            .switches
            .iter()
            .map(|s| line("switch", s.name.clone(), "memory_used"));
        let ports = (0..2 * scenario.links.len()).map(|l| line("port", port_name(scenario, l), "backlog"));
        Self {
            times_ps: Vec::new(),
            lines: switches.chain(ports).collect(),
        }
    }

    /// Takes a sample of everything.
    pub(crate) fn take(&mut self, nodes: &mut [Node], ctx: &mut Context) {
        self.times_ps.push(ctx.now);
        let switches = nodes.iter().filter(|n| matches!(n, Node::Switch(_))).count();
        let mut place = 0;
        for node in nodes {
            if let Node::Switch(switch) = node {
                switch.settle(ctx);
                if let Some(line) = self.lines.get_mut(place) {
                    line.values.push(switch.memory.used);
                }
                place += 1;
            }
            for transmitter in node.transmitters() {
                if let Some(line) = self.lines.get_mut(switches + transmitter.line as usize) {
                    line.values.push(transmitter.backlog_bytes);
                }
            }
        }
    }
}
