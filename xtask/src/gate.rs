//! `cargo xtask test`: the gate that every change passes, here as in CI.
//!
//! Cheap steps come first, so that a wrong indent is told in a second. The first failure ends the run unless
//! `--keep-going` is given. A step that cannot run here says so in the summary; it never passes in silence.

use crate::step::{Finished, Outcome, summary};
use crate::{fuzz, tidy, tool, wasm};
use std::time::Instant;

/// Arguments of `cargo xtask test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Time for each fuzz target; 0 leaves fuzzing out.
    pub(crate) fuzz_seconds: u32,
    /// Runs the later steps after a failure, too.
    pub(crate) keep_going: bool,
}

/// A step: its name, and what it does.
type Step<'a> = (&'static str, &'a dyn Fn() -> Outcome);

/// Runs all steps and prints the summary.
pub(crate) fn run(options: &Options) -> Outcome {
    let fuzz = || match options.fuzz_seconds {
        0 => Outcome::Skipped("--no-fuzz".to_owned()),
        seconds => fuzz::run(seconds, &[]),
    };
    let steps: [Step<'_>; 7] = [
        ("fmt", &|| cargo(&["fmt", "--all", "--check"]).into()),
        ("tidy", &|| tidy::run(false)),
        ("clippy", &|| {
            locked(
                "clippy",
                &["--workspace", "--all-targets", "--", "-D", "warnings"],
            )
            .into()
        }),
        ("test", &|| {
            locked("test", &["--workspace", "--no-fail-fast"]).into()
        }),
        ("doc", &documentation),
        ("wasm", &wasm::run),
        ("fuzz", &fuzz),
    ];
    let mut finished = Vec::new();
    for (name, step) in steps {
        println!("\n== {name}");
        let (outcome, took) = timed(step);
        match &outcome {
            Outcome::Failed(why) => println!("{name} FAILED: {why}"),
            Outcome::Skipped(why) => println!("{name} SKIPPED: {why}"),
            Outcome::Passed(note) => println!("{name} passed {note}"),
        }
        let stop = outcome.is_failed() && !options.keep_going;
        finished.push(Finished { name, outcome, took });
        if stop {
            break;
        }
    }
    print!("{}", summary(&finished));
    let failed: Vec<_> = finished
        .iter()
        .filter(|f| f.outcome.is_failed())
        .map(|f| f.name)
        .collect();
    if failed.is_empty() {
        Outcome::Passed(String::new())
    } else {
        Outcome::Failed(failed.join(", "))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time that a step takes is for the person who waits"
)]
fn timed(step: &dyn Fn() -> Outcome) -> (Outcome, std::time::Duration) {
    let begin = Instant::now();
    let outcome = step();
    (outcome, begin.elapsed())
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    tool::run(tool::cargo().args(arguments))
}

/// In CI the lock file is what was reviewed, and must be complete.
fn locked(subcommand: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = tool::cargo();
    command.arg(subcommand);
    if std::env::var_os("CI").is_some() {
        command.arg("--locked");
    }
    tool::run(command.args(arguments))
}

fn documentation() -> Outcome {
    let mut command = tool::cargo();
    command
        .args(["doc", "--workspace", "--no-deps", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-Dwarnings");
    tool::run(&mut command).into()
}
