//! `clearway`: files, standard output, exit codes.
//!
//! What is computed is computed elsewhere: scenarios and policies are read by `clearway-policy`, run by
//! `clearway-sim` and `clearway-experiment`, and drawn by `clearway-report`. This crate opens files, shows progress,
//! stops when asked to and says how it ended.

mod arguments;
mod audit;
mod bench;
mod cache;
mod check;
mod ending;
mod folder;
mod interrupt;
mod machine;
mod manual;
mod progress;
mod reproduce;
mod run;

use arguments::{Arguments, Command, SchemaKind};
use clap::Parser;
use ending::{Failure, print};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(e) => {
            // Help and version come here too; clap knows which of them is an error.
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    ending::end(carry_out(&arguments.command))
}

fn carry_out(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(arguments),
        Command::Audit(arguments) => audit::audit(arguments),
        Command::Bench(arguments) => bench::bench(arguments),
        Command::Check(check) => check::check(check),
        Command::Schema { kind } => schema(*kind),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { subcommand } => manual::page(subcommand.as_deref()),
    }
}

fn schema(kind: SchemaKind) -> Result<(), Failure> {
    let schema = match kind {
        SchemaKind::Policy => clearway_policy::policy_schema(),
        SchemaKind::Scenario => clearway_policy::scenario_schema(),
    };
    print(&format!("{schema:#}\n"))
}
