//! Clearway's development commands: `cargo xtask test` runs what CI runs.
//!
//! Each command is a module that says what it did as a [`step::Outcome`]; this file reads the arguments and turns
//! outcomes into an exit code: 0 done, 1 something failed, 2 usage. What a person needs for daily work stands in
//! CONTRIBUTING.md. No part of the product depends on this crate.

mod bench;
mod fuzz;
mod gate;
mod metadata;
mod step;
mod tidy;
mod tool;
mod wasm;

use std::process::ExitCode;
use step::Outcome;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test [--no-fuzz] [--keep-going] [--fuzz-seconds N]
                              Everything that CI runs, with a summary of steps and times
  tidy [--shrink]             Dependency arrows, file names and lengths, and other rules of the house;
                              --shrink lowers the allowances in xtask/long-files.txt to what is needed
  fuzz [--seconds N] [TARGET...]
                              Builds the fuzz targets and runs each for N seconds (default 30)
  bench [ARGUMENT...]         Runs the benchmarks; arguments go to them
  wasm                        Same results natively and as WebAssembly, if the toolchain can build it
";

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Test(gate::Options),
    Tidy { shrink: bool },
    Fuzz { seconds: u32, targets: Vec<String> },
    Bench(Vec<String>),
    Wasm,
    Help,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match parse(&arguments) {
        Ok(Command::Test(options)) => gate::run(&options),
        Ok(Command::Tidy { shrink }) => tidy::run(shrink),
        Ok(Command::Fuzz { seconds, targets }) => fuzz::run(seconds, &targets),
        Ok(Command::Bench(arguments)) => bench::run(&arguments),
        Ok(Command::Wasm) => wasm::run(),
        Ok(Command::Help) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Outcome::Passed(note) => {
            println!("{note}");
            ExitCode::SUCCESS
        }
        Outcome::Skipped(why) => {
            println!("SKIPPED: {why}");
            ExitCode::SUCCESS
        }
        Outcome::Failed(why) => {
            eprintln!("FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    let Some((command, rest)) = arguments.split_first() else {
        return Ok(Command::Help);
    };
    match command.as_str() {
        "test" => parse_test(rest).map(Command::Test),
        "tidy" => match rest {
            [] => Ok(Command::Tidy { shrink: false }),
            [flag] if flag == "--shrink" => Ok(Command::Tidy { shrink: true }),
            _ => Err(format!("tidy does not take {rest:?}")),
        },
        "fuzz" => {
            let (mut seconds, mut targets) = (30, Vec::new());
            let mut rest = rest.iter();
            while let Some(argument) = rest.next() {
                match argument.as_str() {
                    "--seconds" => seconds = number("--seconds", rest.next())?,
                    flag if flag.starts_with('-') => return Err(format!("fuzz does not know {flag}")),
                    target => targets.push(target.to_owned()),
                }
            }
            Ok(Command::Fuzz { seconds, targets })
        }
        "bench" => Ok(Command::Bench(rest.to_vec())),
        "wasm" if rest.is_empty() => Ok(Command::Wasm),
        "help" | "--help" | "-h" => Ok(Command::Help),
        _ => Err(format!("no command {command:?}")),
    }
}

fn parse_test(rest: &[String]) -> Result<gate::Options, String> {
    let mut options = gate::Options {
        fuzz_seconds: 30,
        keep_going: false,
    };
    let mut rest = rest.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--no-fuzz" => options.fuzz_seconds = 0,
            "--keep-going" => options.keep_going = true,
            "--fuzz-seconds" => options.fuzz_seconds = number("--fuzz-seconds", rest.next())?,
            _ => return Err(format!("test does not know {argument:?}")),
        }
    }
    Ok(options)
}

fn number(flag: &str, value: Option<&String>) -> Result<u32, String> {
    let value = value.ok_or_else(|| format!("{flag} needs a number of seconds"))?;
    value
        .parse()
        .map_err(|_| format!("{flag}: {value:?} is not a whole number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_say_what_runs_and_for_how_long() {
        let options = |fuzz_seconds, keep_going| {
            Ok(Command::Test(gate::Options {
                fuzz_seconds,
                keep_going,
            }))
        };
        assert_eq!(parsed("test"), options(30, false));
        assert_eq!(parsed("test --no-fuzz --keep-going"), options(0, true));
        assert_eq!(parsed("test --fuzz-seconds 5"), options(5, false));
        let fuzz = Command::Fuzz {
            seconds: 7,
            targets: vec!["plan".to_owned()],
        };
        assert_eq!(parsed("fuzz --seconds 7 plan"), Ok(fuzz));
        assert_eq!(parsed(""), Ok(Command::Help));
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (line, word) in [
            ("tset", "tset"),
            ("test --nofuzz", "--nofuzz"),
            ("fuzz --seconds", "--seconds"),
            ("fuzz --seconds ten", "ten"),
            ("tidy --bless", "--bless"),
        ] {
            let problem = parsed(line).expect_err(line);
            assert!(problem.contains(word), "{problem}");
        }
    }
}
