//! The command line: subcommands, options and their help. Completions and the manual page come from here, too.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    a check failed
  2    usage: an argument or a file that cannot be used, with the reason
  3    the environment is unfit: a folder that cannot be written, too little memory
  130  interrupted; what was done is kept

Examples:
  clearway reproduce                          published experiments: published against predicted
  clearway run scenarios/backplane.toml       one scenario, as a table
  clearway check policies/two-channels.toml   mistakes and warnings, before anything runs";

const RUN_HELP: &str = "\
Examples:
  clearway run scenarios/backplane.toml
  clearway run scenarios/backplane.toml --seeds 20 --out out/backplane
  clearway run scenarios/backplane.toml --set switch.sw.memory=64KiB --set duration=100ms
  clearway run scenarios/backplane.toml --json | jq '.rows[] | select(.metric == \"latency\")'

With --out the folder holds:
  summary.json   what --json prints
  rows.csv       tidy rows: run, seed, scope, name, metric, stat, unit, layer, value, population
  rows.parquet   the same rows
  series.csv     queues, memory and throughput over time, where the scenario samples them
  *.pcapng       frames of the ports that the scenario captures
  report.html    one self-contained page with plots";

const REPRODUCE_HELP: &str = "\
Examples:
  clearway reproduce --list
  clearway reproduce
  clearway reproduce backplane --seeds 5 --out out/backplane
  clearway reproduce --json > reproduced.json

Finished experiments and runs are kept: after an interruption the same command goes on where it was, and what is
finished is not run again until the program, the seeds or a file in it changes. --fresh runs all the same.

Verdicts: ok (within the tolerance), miss, fitted (used to choose a parameter, so not a prediction), weak (the
interval over the seeds is so wide that the figure could not miss).";

const AUDIT_HELP: &str = "\
Examples:
  clearway audit
  clearway audit s2d --full
  clearway audit burst-ratio-256
  clearway audit --json | jq '.checks[] | select(.verdict == \"inconsistent\") | .name'

Verdicts: consistent (within the printed digits, or half a per cent), approximate (within 5 per cent unless the
check says otherwise), inconsistent. --strict fails on published numbers that are inconsistent; assumptions of
models that the published numbers rule out are shown and do not count.";

const CHECK_HELP: &str = "\
Examples:
  clearway check policies/two-channels.toml
  clearway check scenarios/backplane.toml --set link.port.rate=25Gbit/s
  clearway check scenarios/backplane.toml --json | jq '.findings[] | .message'";

const BENCH_HELP: &str = "\
Examples:
  clearway bench
  clearway bench s1 --repeats 5
  clearway bench --json

Each scenario runs on one core. The figure is the best of the repeats: the others had more of the machine's other
work in them.";

/// Design, predict, enforce and verify Ethernet quality of service.
///
/// A policy says who may send how much and who goes first; a scenario puts policies on hosts, switches and links
/// and says what is sent. The same traffic manager carries a policy out here, in virtual time, and in the data
/// plane.
#[derive(Debug, Parser)]
#[command(name = "clearway", version, after_long_help = AFTER_HELP, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scenario and show what came out
    #[command(after_long_help = RUN_HELP)]
    Run(Run),
    /// Predict published experiments and show published and predicted figures side by side
    #[command(after_long_help = REPRODUCE_HELP)]
    Reproduce(Reproduce),
    /// Check the arithmetic of what the documents publish
    #[command(after_long_help = AUDIT_HELP)]
    Audit(Audit),
    /// Look for mistakes in a policy or scenario file without running it
    #[command(after_long_help = CHECK_HELP)]
    Check(Check),
    /// Measure how fast the simulator is on this machine
    #[command(after_long_help = BENCH_HELP)]
    Bench(Bench),
    /// Print the JSON Schema of policy or scenario files
    #[command(after_long_help = "Example:\n  clearway schema scenario > scenario.schema.json")]
    Schema {
        /// Which kind of file
        #[arg(value_enum)]
        kind: SchemaKind,
    },
    /// Print the completions of a shell
    #[command(
        after_long_help = "Example:\n  clearway completions bash > ~/.local/share/bash-completion/completions/clearway"
    )]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_long_help = "Example:\n  clearway man > clearway.1 && man ./clearway.1")]
    Man {
        /// The page of one subcommand instead of the main one
        subcommand: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario file (TOML)
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Root seed, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run this many seeds, from the root seed upwards, on all cores
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Change a field of the scenario, such as duration=10ms; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Experiments; all of them if none is named
    pub(crate) names: Vec<String>,
    /// List the experiments, with what is kept of them, and stop
    #[arg(long)]
    pub(crate) list: bool,
    /// Seeds for each case, instead of each experiment's own number
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// Exit with 1 if a prediction misses, or a published statement is not borne out
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show parameters, tables and checks of several experiments, too
    #[arg(long)]
    pub(crate) full: bool,
    /// Keep finished results here, instead of in the user's cache
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cache: Option<PathBuf>,
    /// Neither use kept results nor keep any
    #[arg(long, conflicts_with_all = ["cache", "fresh"])]
    pub(crate) no_cache: bool,
    /// Run everything again, and keep what comes out
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Documents or checks; all of them if none is named
    pub(crate) names: Vec<String>,
    /// Write out every computation, not only those that something is wrong with
    #[arg(long)]
    pub(crate) full: bool,
    /// Exit with 1 if published numbers are inconsistent
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Policy or scenario files (TOML)
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Change a field of a scenario before looking at it
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Exit with 1 on warnings, too
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Scenarios to run; all of them if none is named
    pub(crate) names: Vec<String>,
    /// Folder with the scenarios, instead of those built in
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scenarios: Option<PathBuf>,
    /// Runs of each scenario
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: u32,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Write rows, time series, captures and a report into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SchemaKind {
    /// A policy: classes, rates, rules
    Policy,
    /// A scenario: hosts, switches, links, workloads
    Scenario,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_fit_together() {
        Arguments::command().debug_assert();
    }
}
