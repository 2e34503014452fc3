//! Instructions of a frame in and a frame out, counted by valgrind: the same on a busy machine as on an idle one.
//! Run with `cargo bench -p clearway-core --bench instructions`.
//!
//! The bench runs itself under callgrind twice for each load, with `n` and `2 n` steps: the difference is `n` steps
//! without construction. It says so and ends well where there is no valgrind.

mod load;

use load::{LOADS, Load};
use std::process::{Command, ExitCode};

const STEPS: u64 = 20_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, load, steps] = arguments.as_slice()
        && flag == "--steps"
    {
        let (Ok(index), Ok(steps)) = (load.parse(), steps.parse()) else {
            return ExitCode::from(2);
        };
        run(index, steps);
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|a| a == "--test") {
        for index in 0..LOADS.len() {
            run(index, 1_000);
        }
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions: SKIPPED, valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    for (index, (name, _)) in LOADS.into_iter().enumerate() {
        match (counted(index, STEPS), counted(index, 2 * STEPS)) {
            (Some(once), Some(twice)) => {
                let each = (twice.saturating_sub(once)) as f64 / STEPS as f64;
                println!("{name}: {each:.1} instructions");
            }
            _ => {
                println!("{name}: valgrind gave no count");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn run(index: usize, steps: u64) {
    let mut load = Load::new(index);
    for _ in 0..steps {
        load.step();
    }
    assert_eq!(load.passed(), steps);
    std::hint::black_box(load.sum);
}

/// Instructions of a whole run, from callgrind's last line: `Collected : N`.
fn counted(index: usize, steps: u64) -> Option<u64> {
    let own = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args(["--steps", &index.to_string(), &steps.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().last()?.parse().ok()
}
