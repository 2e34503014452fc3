//! Prints the result hash of several scenarios and seeds: the same lines natively and as WebAssembly.
//!
//! The scenarios are the shipped ones, shortened, read from text that is part of the program, so that the module needs
//! nothing but a standard output. `cargo xtask wasm` compares the two worlds.

use clearway_sim::{Unobserved, run};

/// Name, text, overrides.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: [Case; 4] = [
    (
        "first-steps",
        include_str!("../../../scenarios/first-steps.toml"),
        &["duration=6ms", "warmup=1ms"],
    ),
    (
        "s1",
        include_str!("../../../scenarios/bench/s1.toml"),
        &["duration=3ms"],
    ),
    (
        "s2",
        include_str!("../../../scenarios/bench/s2.toml"),
        &["duration=30ms"],
    ),
    (
        "s3",
        include_str!("../../../scenarios/bench/s3.toml"),
        &["duration=20ms", "workload.streams.constant_rate.flows=1000"],
    ),
];

fn main() {
    for (name, text, sets) in CASES {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let loaded = match clearway_policy::load_str(text, name, &sets, &policy) {
            Ok(loaded) => loaded,
            Err(findings) => {
                println!("{name}: {}", findings[0]);
                continue;
            }
        };
        for seed in 1..=3 {
            match run(&loaded.scenario, seed, &mut Unobserved) {
                Ok(outcome) => println!(
                    "{name} seed {seed}: {:016x}, {} events, {} packet-hops",
                    outcome.hash(),
                    outcome.engine.events,
                    outcome.engine.packet_hops
                ),
                Err(refusal) => println!("{name}: {refusal}"),
            }
        }
    }
}

fn policy(path: &str) -> Result<Vec<u8>, String> {
    let text = match path.trim_start_matches("../") {
        "policies/two-channels.toml" => include_str!("../../../policies/two-channels.toml"),
        "policies/eight-classes.toml" => include_str!("../../../policies/eight-classes.toml"),
        other => return Err(format!("{other} is not part of the program")),
    };
    Ok(text.as_bytes().to_vec())
}
