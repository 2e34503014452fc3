//! `cargo xtask fuzz`: builds the fuzz targets on the stable compiler and runs them.
//!
//! `fuzz/` is a workspace of its own whose binaries are libFuzzer targets. The coverage instrumentation is LLVM's
//! own pass, which the stable compiler can run; the address sanitizer needs a nightly one and is left out, as no
//! crate under test has unsafe code. Seeds lie in `fuzz/corpus/TARGET` and are only read; what a run finds beyond
//! them is kept in the target directory, and inputs that fail in `fuzz/artifacts/TARGET`.

use crate::step::Outcome;
use crate::{metadata, tool};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Where the fuzz workspace is.
const MANIFEST: &str = "fuzz/Cargo.toml";

/// What makes rustc emit the counters and comparisons that libFuzzer reads.
const INSTRUMENTATION: [&str; 9] = [
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // Without it LLVM joins `a && b` into one branch, and a magic number has to be guessed whole.
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Cdebug-assertions=on",
    "-Ccodegen-units=1",
];

/// Where cargo puts what it builds for the workspace.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| tool::root().join("target"), PathBuf::from)
}

/// Runs the named targets, or all, for so long each.
pub(crate) fn run(seconds: u32, wanted: &[String]) -> Outcome {
    if !tool::root().join(MANIFEST).is_file() {
        return Outcome::Skipped(format!("there is no {MANIFEST}"));
    }
    match fuzz(seconds, wanted) {
        Ok(note) => Outcome::Passed(note),
        Err(why) => Outcome::Failed(why),
    }
}

fn fuzz(seconds: u32, wanted: &[String]) -> Result<String, String> {
    let known: Vec<String> = metadata::packages(MANIFEST)?
        .iter()
        .flat_map(|p| p.targets_of("bin"))
        .collect();
    if let Some(unknown) = wanted.iter().find(|w| !known.contains(w)) {
        return Err(format!(
            "no fuzz target {unknown}; there are {}",
            known.join(", ")
        ));
    }
    let targets = if wanted.is_empty() { known } else { wanted.to_vec() };
    let host = host()?;
    let built = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(shared) => PathBuf::from(shared).join("fuzz"),
        None => tool::root().join("fuzz/target"),
    };
    build(&targets, &host, &built)?;
    // A run of libFuzzer keeps one core busy: as many at a time as there are cores.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut notes = Vec::new();
    for group in targets.chunks(cores) {
        let results: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = group
                .iter()
                .map(|target| {
                    scope.spawn(|| fuzz_one(target, seconds, &built.join(&host).join("release"), &built))
                })
                .collect();
            running
                .into_iter()
                .map(|r| r.join().unwrap_or_else(|_| Err("the runner panicked".to_owned())))
                .collect()
        });
        for result in results {
            notes.push(result?);
        }
    }
    Ok(notes.join(", "))
}

fn host() -> Result<String, String> {
    let version = tool::output(tool::at_root("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|l| l.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".to_owned())
}

fn build(targets: &[String], host: &str, built: &Path) -> Result<(), String> {
    let mut cargo = tool::cargo();
    // The target is named so that build scripts and procedural macros are not instrumented.
    cargo
        .args([
            "build",
            "--release",
            "--manifest-path",
            MANIFEST,
            "--target",
            host,
            "--target-dir",
        ])
        .arg(built);
    for target in targets {
        cargo.args(["--bin", target]);
    }
    tool::run(cargo.env("RUSTFLAGS", INSTRUMENTATION.join(" ")))
}

/// One target; the note tells how many inputs it tried.
fn fuzz_one(target: &str, seconds: u32, binaries: &Path, built: &Path) -> Result<String, String> {
    let seeds = tool::root().join("fuzz/corpus").join(target);
    let found = built.join("corpus").join(target);
    let artifacts = tool::root().join("fuzz/artifacts").join(target);
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut command = tool::at_root(binaries.join(target));
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.args(["-timeout=10", "-rss_limit_mb=4096", "-print_final_stats=1"]);
    // libFuzzer writes to the first folder alone.
    command.arg(&found).args(seeds.is_dir().then_some(&seeds));
    let output = command
        .stdout(Stdio::null())
        .output()
        .map_err(|e| format!("{target}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let last = said.lines().count().saturating_sub(60);
        let tail: Vec<&str> = said.lines().skip(last).collect();
        return Err(format!(
            "fuzz target {target}: {}\n{}",
            output.status,
            tail.join("\n")
        ));
    }
    let tried =
        executed(&said).ok_or_else(|| format!("fuzz target {target} told no count of inputs:\n{said}"))?;
    println!("{target}: {tried} inputs in {seconds} s");
    Ok(format!("{target} {tried}"))
}

/// The count of inputs in libFuzzer's closing statistics.
fn executed(said: &str) -> Option<u64> {
    let line = said
        .lines()
        .find_map(|l| l.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_inputs_is_read_from_the_closing_statistics() {
        let said = "Done 12 runs\nstat::number_of_executed_units: 4711\nstat::peak_rss_mb: 40\n";
        assert_eq!(executed(said), Some(4711));
        assert_eq!(executed("INFO: Seed: 1"), None);
    }
}
