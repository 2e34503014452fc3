//! The backplane switch of a talk of March 2004: frame discard, throughput and latency with and without 802.3x.
//!
//! `scenarios/backplane.toml` is the model, `reproductions/backplane.toml` holds the published figures and says which
//! parameters were fitted to which. Beside the figures of the text this experiment redraws the lost graphs, explains the
//! maximum latency of high priorities that the talk mentions, and answers its open question.

mod critical;
mod measure;
mod open_question;
mod over_time;
mod priorities;
mod published;
mod sweep;

use crate::reproduce::{Context, Experiment, Findings};
use clearway_metrics::Histogram;
use measure::{File, Measured};

const BASE: File = File {
    name: "scenarios/backplane.toml",
    text: include_str!("../../../../scenarios/backplane.toml"),
};
const PRIORITIES: File = File {
    name: "scenarios/backplane-priorities.toml",
    text: include_str!("../../../../scenarios/backplane-priorities.toml"),
};
const CREDITS: File = File {
    name: "scenarios/backplane-credits.toml",
    text: include_str!("../../../../scenarios/backplane-credits.toml"),
};
const CREDITS_PRIORITY: File = File {
    name: "scenarios/backplane-credits-priority.toml",
    text: include_str!("../../../../scenarios/backplane-credits-priority.toml"),
};
const ECN: File = File {
    name: "scenarios/backplane-ecn.toml",
    text: include_str!("../../../../scenarios/backplane-ecn.toml"),
};

/// Low threshold of the talk's 802.3x, bytes: half of the high one.
const HALF: u64 = 8_192;

/// 802.3x as an override.
fn pause(high: u64, low: u64, scope: &str) -> String {
    format!("switch.sw.flow_control.pause={{ high = \"{high}B\", low = \"{low}B\", scope = \"{scope}\" }}")
}

/// A class's latencies of all runs.
fn merged(runs: &[Measured], class: usize) -> Histogram {
    let mut all = Histogram::new();
    for class in runs.iter().filter_map(|r| r.classes.get(class)) {
        all.merge(&class.histogram);
    }
    all
}

/// The experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backplane;

impl Experiment for Backplane {
    fn name(&self) -> &'static str {
        "backplane"
    }
    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/backplane.toml")
    }
    fn default_seeds(&self) -> u32 {
        20
    }
    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        let mut findings = Findings::default();
        let parts = [
            published::run_all,
            published::leave_one_out,
            sweep::run_all,
            over_time::run_all,
            priorities::run_all,
            open_question::run_all,
            critical::run_all,
        ];
        for part in parts {
            if context.is_stopped() {
                findings.stopped = true;
                break;
            }
            part(context, &mut findings)?;
        }
        findings.stopped |= context.is_stopped();
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Case, read};
    use clearway_metrics::Role;
    use measure::{Keep, run};
    use std::sync::atomic::AtomicBool;

    /// A run of each shipped scenario that lasts a millisecond.
    fn brief(file: File) -> Measured {
        let stop = AtomicBool::new(false);
        let context = Context {
            seeds: 1,
            threads: 1,
            stop: &stop,
            progress: &|_| {},
            store: None,
        };
        let case = Case::new("brief", ["duration=1ms"]);
        let runs = run(&context, file, &[case], Keep::default()).unwrap_or_else(|e| panic!("{e}"));
        runs.into_iter().flatten().next().expect("one run")
    }

    #[test]
    fn the_published_24_gbits_are_used_for_no_parameter() {
        let file = read("backplane", Backplane.data()).unwrap_or_else(|e| panic!("{e}"));
        let held: Vec<_> = file.published.iter().filter(|f| f.value == 24e9).collect();
        assert!(held.len() == 1 && held[0].role == Role::Predicted);
        let fitted = |p: &clearway_report::Parameter| p.fitted_to.clone().unwrap_or_default();
        assert!(
            file.parameters
                .iter()
                .all(|p| fitted(p) != format!("{}: {}", held[0].case, held[0].metric))
        );
    }

    #[test]
    fn the_data_file_has_every_parameter_as_the_scenario_has_it() {
        for text in [
            "\"8600B\"",
            "load = 0.972 ",
            "probability = 0.0205 ",
            "\"174.3ms\"",
            "\"4KiB\"",
            "\"1.5MiB\"",
        ] {
            assert!(BASE.text.contains(text), "{text}");
        }
        let file = read("backplane", Backplane.data()).unwrap_or_else(|e| panic!("{e}"));
        let value = |name: &str| file.parameters.iter().find(|p| p.name == name).map(|p| p.value);
        let values = [
            "burst mean",
            "load",
            "redirect",
            "test length",
            "NIC and MAC buffer",
            "shared memory",
        ]
        .map(value);
        assert_eq!(
            values,
            [8600.0, 0.972, 0.0205, 0.1743, 4096.0, 1_572_864.0].map(Some)
        );
        assert_eq!(value("low threshold"), Some(HALF as f64));
    }

    #[test]
    fn arrivals_do_not_depend_on_the_network() {
        let [free, credits] = [BASE, CREDITS].map(|file| brief(file).classes[0].offered);
        assert!(free > 4_000_000 && free == credits);
        let classes = |file| brief(file).classes.iter().map(|c| c.offered).collect::<Vec<_>>();
        assert_eq!(classes(PRIORITIES), classes(CREDITS_PRIORITY));
    }

    #[test]
    fn credits_lose_nothing_and_stay_within_32_kilobytes() {
        for file in [CREDITS, CREDITS_PRIORITY] {
            let run = brief(file);
            assert!(run.discarded == 0.0 && run.memory > 1_518.0 && run.memory <= 32_768.0);
        }
    }

    #[test]
    fn tcp_with_ecn_fills_most_of_the_lines() {
        assert!(brief(ECN).throughput > 20e9);
    }
}
