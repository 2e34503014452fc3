//! `cargo xtask wasm`: the same results natively and as WebAssembly under Node.
//!
//! A simulation is promised to give the same result, bit for bit, on every machine. WebAssembly has another
//! pointer size, another compiler back end and another mathematics library, and runs wherever Node does. First the
//! crates that a simulation needs must build for it. Then the example `wasm_determinism` of the simulator, if there
//! is one, is run in both worlds: natively as a program, and as a module by the script
//! `crates/sim/examples/wasm_determinism.mjs` (argument: path of the module). Both print result hashes; the texts
//! must be equal.

use crate::step::Outcome;
use crate::{metadata, tool};

const TARGET: &str = "wasm32-wasip1";
const SIMULATOR: &str = "clearway-sim";
const HARNESS: &str = "wasm_determinism";
/// What a simulation is made of.
const CRATES: [&str; 4] = ["clearway-core", "clearway-policy", "clearway-metrics", SIMULATOR];

/// Builds and compares.
pub(crate) fn run() -> Outcome {
    if let Err(why) = target_ready() {
        return Outcome::Skipped(why);
    }
    compare().unwrap_or_else(Outcome::Failed)
}

/// What the comparison needs and a machine may lack.
fn target_ready() -> Result<(), String> {
    tool::output(tool::at_root("node").arg("--version"))
        .map_err(|_| "node is not installed: nothing can run the module".to_owned())?;
    let sysroot = tool::output(tool::at_root("rustc").args(["--print", "sysroot"]))?;
    if std::path::Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .is_dir()
    {
        return Ok(());
    }
    tool::output(tool::at_root("rustup").args(["target", "add", TARGET]))
        .map(drop)
        .map_err(|_| format!("the target {TARGET} is not installed and rustup could not add it"))
}

fn compare() -> Result<Outcome, String> {
    let mut build = tool::cargo();
    build.args(["build", "--release", "--target", TARGET]);
    for name in CRATES {
        build.args(["--package", name]);
    }
    tool::run(&mut build)?;
    let packages = metadata::packages("Cargo.toml")?;
    let simulator = packages
        .iter()
        .find(|p| p.name == SIMULATOR)
        .ok_or("the workspace has no simulator")?;
    if !simulator.targets.iter().any(|(_, name)| name == HARNESS) {
        return Ok(Outcome::Skipped(format!(
            "the crates build for {TARGET}; no example {HARNESS} to compare"
        )));
    }
    let example = ["--release", "--package", SIMULATOR, "--example", HARNESS];
    let native = tool::output(tool::cargo().args(["run", "--quiet"]).args(example))?;
    tool::run(tool::cargo().args(["build", "--target", TARGET]).args(example))?;
    let module = crate::fuzz::target_directory()
        .join(TARGET)
        .join("release/examples")
        .join(format!("{HARNESS}.wasm"));
    let script = format!("crates/sim/examples/{HARNESS}.mjs");
    let wasm = tool::output(tool::at_root("node").arg(script).arg(module))?;
    if native != wasm {
        return Err(format!("results differ\nnative:\n{native}\nwasm32:\n{wasm}"));
    }
    Ok(Outcome::Passed(format!(
        "{} lines of results equal",
        native.lines().count()
    )))
}
