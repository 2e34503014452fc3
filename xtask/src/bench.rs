//! `cargo xtask bench`: the benchmarks of every crate that has some.
//!
//! Arguments go to the benchmarks: a filter, or criterion's `--save-baseline NAME`. Figures of a busy machine are
//! worth little; what the project quotes is the best of several runs on an idle one.

use crate::step::Outcome;
use crate::{metadata, tool};

/// Runs them all, one after the other.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let packages = match metadata::packages("Cargo.toml") {
        Ok(packages) => packages,
        Err(why) => return Outcome::Failed(why),
    };
    let mut ran = Vec::new();
    for package in packages {
        // Named one by one: the test harness of libraries and binaries does not know criterion's arguments.
        for bench in package.targets_of("bench") {
            let mut cargo = tool::cargo();
            cargo
                .args(["bench", "--package", &package.name, "--bench", &bench, "--"])
                .args(arguments);
            if let Err(why) = tool::run(&mut cargo) {
                return Outcome::Failed(why);
            }
            ran.push(bench);
        }
    }
    if ran.is_empty() {
        return Outcome::Skipped("no crate has benchmarks".to_owned());
    }
    Outcome::Passed(format!("ran {}", ran.join(", ")))
}
