//! The cases of the T4 experiment as overrides of its scenario, and what is kept of their runs.

use crate::reproduce::{Case, Context, Runner};
use clearway_metrics::{Histogram, Row};
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};

/// Samples of each run: the first calls, in every case.
pub(super) const SAMPLES: usize = 3072;
/// Seconds of the published request/response runs.
pub(super) const CALLS_SECONDS: f64 = 5.0;

const CHANNELS: &str = "../policies/two-channels.toml";
/// A workload that stops at once: zero would be refused.
pub(super) const NO_BULK: &str = "workload.bulk.stop=1ps";
const NO_CALLS: &str = "workload.calls.stop=1ps";

/// A scenario file as part of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

pub(super) const DIRECT: File = File {
    name: "scenarios/t4-qos.toml",
    text: include_str!("../../../../scenarios/t4-qos.toml"),
};

/// Simulated milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Calls or bulk alone: nothing changes over time.
    pub(super) alone: u32,
    /// Calls beside bulk, whose window grows for a second or two: the published five seconds.
    pub(super) beside: u32,
    /// Comparisons beside the published cases.
    pub(super) aside: u32,
}

impl Span {
    /// What the published figures are compared with.
    pub(super) const PUBLISHED: Self = Self {
        alone: 1000,
        beside: 5000,
        aside: 500,
    };
    /// Enough to see that everything runs.
    #[cfg(test)]
    pub(super) const SMOKE: Self = Self {
        alone: 10,
        beside: 20,
        aside: 10,
    };
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    /// Simulated seconds that were measured.
    pub(super) seconds: f64,
    /// Round trips of all calls, picoseconds.
    pub(super) round_trips: Histogram,
    /// The first round trips, picoseconds.
    pub(super) samples: Vec<u64>,
    /// TCP payload, bit/s.
    pub(super) tcp_bps: f64,
    /// Tidy rows.
    pub(super) rows: Vec<Row>,
}

/// Picoseconds of a round trip to seconds of half of it.
pub(super) fn half(round_trip_ps: f64) -> f64 {
    round_trip_ps * 0.5e-12
}

impl Run {
    fn of(case: &Case, outcome: &Outcome) -> Self {
        let calls = outcome.calls.first().map(|c| &c.calls);
        let bytes: u64 = outcome.tcp.iter().map(|t| t.delivered_bytes).sum();
        let seconds = outcome.measured().as_ps() as f64 * 1e-12;
        Self {
            seconds,
            round_trips: calls.map(|c| c.round_trips.clone()).unwrap_or_default(),
            samples: calls.map(|c| c.samples.clone()).unwrap_or_default(),
            tcp_bps: bytes as f64 * 8.0 / seconds,
            rows: outcome.rows(&case.name),
        }
    }

    /// Mean RTT/2 of all calls, seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        self.round_trips.mean().map(half)
    }
    /// A quantile of RTT/2 of all calls, seconds.
    pub(super) fn quantile(&self, q: f64) -> Option<f64> {
        self.round_trips.value_at_quantile(q).map(|ps| half(ps as f64))
    }
    /// Mean RTT/2 of the samples, seconds.
    pub(super) fn sample_mean(&self) -> Option<f64> {
        let sum: u64 = self.samples.iter().sum();
        (!self.samples.is_empty()).then(|| half(sum as f64 / self.samples.len() as f64))
    }
    /// Least RTT/2 of the samples, seconds.
    pub(super) fn sample_min(&self) -> Option<f64> {
        self.samples.iter().min().map(|&ps| half(ps as f64))
    }
    /// Largest RTT/2 of the samples, seconds.
    pub(super) fn sample_max(&self) -> Option<f64> {
        self.samples.iter().max().map(|&ps| half(ps as f64))
    }
    /// Calls a second.
    pub(super) fn call_rate(&self) -> f64 {
        self.round_trips.count() as f64 / self.seconds
    }
}

/// A case with its runs, one a seed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) runs: Vec<Run>,
}

impl Seen {
    /// The mean of a number over the seeds.
    pub(super) fn average(&self, of: impl Fn(&Run) -> Option<f64>) -> f64 {
        let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        values.iter().sum::<f64>() / values.len() as f64
    }
    /// Round trips of all seeds.
    pub(super) fn round_trips(&self) -> Histogram {
        let mut all = Histogram::default();
        for run in &self.runs {
            all.merge(&run.round_trips);
        }
        all
    }
}

/// Runs cases of the two hosts on one cable.
pub(super) fn run(context: &Context<'_>, cases: &[Case]) -> Result<Vec<Seen>, String> {
    run_file(context, DIRECT, cases)
}

/// Runs cases of one of the scenarios.
pub(super) fn run_file(context: &Context<'_>, file: File, cases: &[Case]) -> Result<Vec<Seen>, String> {
    let options = RunOptions {
        round_trip_samples_max: SAMPLES,
    };
    let runner = Runner {
        file: file.name,
        text: file.text,
        options,
    };
    let runs = runner.run_kept(context, cases, "", |case, _, outcome| Run::of(case, outcome))?;
    Ok(cases
        .iter()
        .zip(runs)
        .map(|(case, runs)| Seen {
            name: case.name.clone(),
            runs,
        })
        .collect())
}

/// `path=value` for several hosts.
pub(super) fn each(hosts: &[&str], path: &str, value: &str) -> Vec<String> {
    hosts
        .iter()
        .map(|host| format!("host.{host}.{path}={value}"))
        .collect()
}

/// Two channels on transmit and on receive.
pub(super) fn two_channels(hosts: &[&str]) -> Vec<String> {
    let mut sets = each(hosts, "nic.policy", CHANNELS);
    sets.extend(each(hosts, "nic.receive_policy", CHANNELS));
    sets
}

/// Two channels at every port of the switch.
pub(super) fn switch_policy() -> String {
    format!("switch.sw.policy={CHANNELS}")
}

fn case(name: &str, ms: u32, sets: impl IntoIterator<Item = String>) -> Case {
    Case::new(name, std::iter::once(format!("duration={ms}ms")).chain(sets))
}

/// The published cases: requests alone, TCP alone, one channel, two channels.
pub(super) fn main_cases(span: &Span) -> [Case; 4] {
    [
        case("alone", span.alone, [NO_BULK.to_owned()]),
        case("TCP alone", span.alone, [NO_CALLS.to_owned()]),
        case("one channel", span.beside, []),
        case("two channels", span.beside, two_channels(&["a", "b"])),
    ]
}

/// A parameter at its neutral value.
struct Neutral {
    parameter: &'static str,
    sets: Vec<String>,
    /// Whether it bears on calls alone.
    alone: bool,
    /// Whether it bears on how one channel's backlog grows, which takes the whole run.
    backlog: bool,
}

/// The same with one parameter at its neutral value, by parameter: two seeds, and shorter where nothing grows. Cases
/// that it does not bear on have no runs.
pub(super) fn left_out(span: &Span) -> Vec<(&'static str, Vec<Case>)> {
    let stack = |parameter: &'static str, value: &str| Neutral {
        parameter,
        sets: each(&["a", "b"], parameter, value),
        alone: true,
        backlog: false,
    };
    let tcp = |parameter: &'static str, values: &[(&str, &str)], backlog: bool| Neutral {
        parameter,
        sets: values
            .iter()
            .map(|(key, value)| format!("workload.bulk.tcp_bulk.{key}={value}"))
            .collect(),
        alone: false,
        backlog,
    };
    let all = [
        stack("stack_delay", "1us"),
        stack("stack_jitter", "0s"),
        tcp("increase", &[("increase", "1460B")], true),
        tcp("send_buffer", &[("send_buffer", "65536B")], true),
        // Time stamps take twelve bytes of every segment.
        tcp("mss", &[("mss", "1448B"), ("options", "12B")], false),
    ];
    let with = |neutral: Neutral| {
        let short = Span {
            alone: span.aside,
            ..*span
        };
        let [alone, tcp_alone, one, mut two] = main_cases(&short);
        if let Some(duration) = two.sets.first_mut() {
            *duration = format!("duration={}ms", span.aside);
        }
        let seeds = |case: Case, seeds: u32| {
            let mut case = case.with_seeds(seeds);
            case.sets.extend(neutral.sets.iter().cloned());
            case
        };
        let cases = vec![
            seeds(alone, if neutral.alone { 2 } else { 0 }),
            seeds(tcp_alone, 2),
            seeds(one, if neutral.backlog { 2 } else { 0 }),
            seeds(two, 2),
        ];
        (neutral.parameter, cases)
    };
    all.into_iter().map(with).collect()
}

/// Two channels with something else.
pub(super) struct Changed {
    pub(super) case: Case,
    /// What a longer cable adds to RTT/2 by itself, seconds.
    pub(super) cable: f64,
}

/// Two channels with other transfers on the bus, then with other cables; the names are what stands in the table.
pub(super) fn sensitivity(span: &Span) -> Vec<Changed> {
    let changed = |name: String, sets: Vec<String>, ms: u32, cable: f64| {
        let sets = two_channels(&["a", "b"]).into_iter().chain(sets);
        Changed {
            case: case(&name, ms, sets).with_seeds(1),
            cable,
        }
    };
    let bus = |name: &str, size: &str| {
        let sets = each(&["a", "b"], "nic.host_interface.transfer_max", size);
        changed(name.to_owned(), sets, 2 * span.aside, 0.0)
    };
    let cable = |metres: u32| {
        let sets = vec![format!("link.cable.length={metres}m")];
        let more = f64::from(metres - 3) * 5e-9;
        changed(format!("cable of {metres} m"), sets, span.aside, more)
    };
    vec![
        bus("one read request, 512 B", "512B"),
        bus("one frame, 1518 B", "1518B"),
        bus("32 read requests, 16 KiB (the model)", "16KiB"),
        bus("a segmented send, 64 KiB", "64KiB"),
        cable(20),
        cable(60),
        cable(100),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::read;
    use clearway_policy::scenario::{Scenario, WorkloadKind};

    fn scenario(sets: &[String]) -> Scenario {
        let read_file =
            |_: &str| std::fs::read("../../policies/two-channels.toml").map_err(|e| e.to_string());
        clearway_policy::load_str(DIRECT.text, DIRECT.name, sets, &read_file)
            .expect("the scenario is valid")
            .scenario
    }

    /// The value of a parameter of the data file in a scenario.
    fn value(scenario: &Scenario, parameter: &str) -> f64 {
        let host = &scenario.hosts[0];
        let bus = host.nic.host_interface.as_ref().expect("the bus is modelled");
        let calls = scenario
            .workloads
            .iter()
            .find(|w| w.name == "calls")
            .expect("there are calls");
        let bulk = scenario
            .workloads
            .iter()
            .find(|w| w.name == "bulk")
            .expect("there is bulk");
        let (WorkloadKind::RequestResponse { request_bytes, .. }, WorkloadKind::TcpBulk { tcp, .. }) =
            (&calls.kind, &bulk.kind)
        else {
            panic!("the workloads are of other kinds");
        };
        match parameter {
            "stack_delay" => host.stack_delay_tx.as_ps() as f64 * 1e-12,
            "stack_jitter" => host.stack_jitter.as_ps() as f64 * 1e-12,
            "increase" => f64::from(tcp.increase_bytes),
            "send_buffer" => tcp.send_buffer_bytes as f64,
            "mss" => f64::from(tcp.mss_bytes),
            "slow_start_threshold" => tcp.slow_start_threshold_bytes as f64,
            "segmentation" => f64::from(tcp.segmentation_bytes),
            "rate" => bus.rate_bps as f64,
            "packet_payload" => f64::from(bus.packet_payload_bytes),
            "packet_overhead" => f64::from(bus.packet_overhead_bytes),
            "transfer_max" => f64::from(bus.transfer_bytes_max),
            "request" => f64::from(*request_bytes),
            "length" => scenario.links[0].delay.as_ps() as f64 / 5000.0,
            other => panic!("{other} is not part of the scenario"),
        }
    }

    #[test]
    fn the_data_file_says_what_the_scenario_has() {
        let file =
            read("t4-qos", include_str!("../../../../reproductions/t4-qos.toml")).expect("it is valid");
        let scenario = scenario(&[]);
        assert!(file.parameters.len() >= 13);
        for p in &file.parameters {
            let got = value(&scenario, &p.name);
            assert!(
                (got - p.value).abs() <= 1e-9 * p.value,
                "{}: {got} is not {}",
                p.name,
                p.value
            );
        }
    }

    #[test]
    fn leaving_a_parameter_out_sets_its_neutral_value() {
        let file =
            read("t4-qos", include_str!("../../../../reproductions/t4-qos.toml")).expect("it is valid");
        for (parameter, cases) in left_out(&Span::SMOKE) {
            let neutral = file.left_out(parameter).expect("it has a neutral value").neutral;
            let got = value(&scenario(&cases[3].sets), parameter);
            assert!(
                (got - neutral).abs() <= 1e-9 * neutral,
                "{parameter}: {got} is not {neutral}"
            );
        }
    }

    #[test]
    fn both_hosts_have_the_same_stack_and_bus() {
        let scenario = scenario(&[]);
        let [a, b] = scenario.hosts.as_slice() else {
            panic!("two hosts")
        };
        assert_eq!(
            (a.stack_delay_rx, a.stack_jitter),
            (b.stack_delay_tx, b.stack_jitter)
        );
        assert_eq!(a.nic, b.nic);
    }
}
