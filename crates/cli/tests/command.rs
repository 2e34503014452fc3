//! The built command as a user meets it: exit codes, messages, documents, folders, interruption.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
name = "two-hosts"
title = "Two hosts on one cable"
duration = "1ms"
sample_interval = "50us"

[host.h]
count = 2
stack_delay = "1us"

[link.l]
ends = ["h1", "h2"]
rate = "10Gbit/s"
capture = "a"

[workload.w]
from = "h1"
to = "h2"
poisson = { frame = "512B", rate = "4Gbit/s" }
"#;

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn scenario(test: &str, text: &str) -> PathBuf {
    let path = folder(test).join("scenario.toml");
    fs::write(&path, text).expect("the scenario");
    path
}

fn clearway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(arguments)
        // Tests leave the user's cache alone.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Exit code, and what it said on standard error.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = clearway(arguments);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(!said.contains("panicked"), "{said}");
    (output.status.code(), said)
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn a_run_prints_a_table_and_exits_with_zero() {
    let path = scenario("table", SCENARIO);
    let output = clearway(&["run", shown(&path)]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text.starts_with("two-hosts: Two hosts on one cable\nseed 1; 1.00 ms simulated"),
        "{text}"
    );
    assert!(text.contains("mean latency") && text.contains("h1@l"), "{text}");
    // Neither a progress bar nor colours where nobody looks on.
    assert!(output.stderr.is_empty() && !text.contains('\x1b'));
}

#[test]
fn the_document_says_what_was_run_and_what_it_took() {
    let path = scenario("json", SCENARIO);
    let document = document(&clearway(&["run", shown(&path), "--json", "--seed", "7"]));
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["seed"], 7);
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["scenario_hash"].as_str().map(str::len), Some(16));
    let engine = &document["engine"];
    assert!(
        engine["events"].as_u64() > Some(100) && engine["packet_hops"].as_u64() > Some(100),
        "{engine}"
    );
    assert!(engine["wall_s"].as_f64() > Some(0.0));
    #[cfg(target_os = "linux")]
    assert!(
        engine["cpu_s"].as_f64() > Some(0.0) && engine["peak_bytes"].as_u64() > Some(1_000_000),
        "{engine}"
    );
    let rows = document["rows"].as_array().expect("rows");
    let mean = rows
        .iter()
        .find(|r| r["scope"] == "class" && r["metric"] == "latency" && r["stat"] == "mean");
    let mean = mean.and_then(|r| r["value"].as_f64()).expect("a mean latency");
    // 1 us at each end, 15 ns of cable, 416 ns of frame and preamble, and some queueing.
    assert!((2.4e-6..4e-6).contains(&mean), "{mean}");
    for field in [
        "run",
        "seed",
        "scope",
        "name",
        "metric",
        "stat",
        "unit",
        "layer",
        "value",
        "population",
    ] {
        assert!(rows.iter().all(|r| r.get(field).is_some()), "{field}");
    }
}

#[test]
fn the_same_seed_gives_the_same_results_and_seeds_count_up() {
    let path = scenario("seeds", SCENARIO);
    let once = document(&clearway(&["run", shown(&path), "--json", "--seed", "3"]));
    let several = document(&clearway(&["run", shown(&path), "--json", "--seeds", "3"]));
    assert_eq!(several["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(several["result_hashes"][2], once["result_hashes"][0]);
    assert_ne!(several["result_hashes"][0], several["result_hashes"][1]);
    let over = several["over_seeds"].as_array().expect("numbers over the seeds");
    let latency = over
        .iter()
        .find(|o| o["metric"] == "latency" && o["stat"] == "mean")
        .expect("latency");
    assert_eq!(latency["seeds"], 3);
    let [low, high] = [0, 1].map(|i| latency["ci95"][i].as_f64().expect("an interval"));
    let mean = latency["mean"].as_f64().expect("a mean");
    assert!(low < mean && mean < high);
}

#[test]
fn the_folder_holds_rows_series_capture_and_report() {
    let path = scenario("folder", SCENARIO);
    let out = path.with_file_name("out");
    let output = clearway(&["run", shown(&path), "--out", shown(&out)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut names: Vec<String> = fs::read_dir(&out)
        .expect("the folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    let expected = [
        "capture.pcapng",
        "report.html",
        "rows.csv",
        "rows.parquet",
        "series.csv",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(names, expected);
    let read = |name: &str| fs::read(out.join(name)).expect("a file");
    assert!(read("rows.csv").starts_with(b"run,seed,scope,name,metric,stat,unit,layer,value,population\n"));
    assert!(read("rows.parquet").starts_with(b"PAR1") && read("rows.parquet").ends_with(b"PAR1"));
    // Section header and byte order of pcapng.
    assert!(read("capture.pcapng").starts_with(&[0x0A, 0x0D, 0x0D, 0x0A]));
    let summary: Value = serde_json::from_slice(&read("summary.json")).expect("a document");
    let hops = summary["engine"]["packet_hops"].as_u64().expect("packet-hops");
    assert!(
        read("capture.pcapng").len() as u64 > hops * 60,
        "a block for each frame of the one direction in use"
    );
    let page = String::from_utf8(read("report.html")).expect("text");
    assert!(page.contains("<svg") && page.contains("two-hosts"));
    // Self-contained: nothing is fetched.
    assert!(
        !page.contains("src=\"http") && !page.contains("href=\"http"),
        "the page links outside"
    );
}

#[test]
fn a_wrong_unit_is_told_with_place_and_remedy() {
    let path = scenario("unit", &SCENARIO.replace("10Gbit/s", "10Gbut/s"));
    for command in [vec!["run", shown(&path)], vec!["run", shown(&path), "--json"]] {
        let (code, said) = refused(&command);
        assert_eq!(code, Some(2));
        assert!(
            said.contains("scenario.toml:13:8") && said.contains("10Gbut/s"),
            "{said}"
        );
        assert!(
            said.contains("expected") || said.contains("did you mean"),
            "{said}"
        );
    }
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let path = scenario("key", &SCENARIO.replace("stack_delay", "stak_delay"));
    let (code, said) = refused(&["run", shown(&path)]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("stak_delay") && said.contains("did you mean: stack_delay"),
        "{said}"
    );
}

#[test]
fn a_file_that_is_not_there_is_a_matter_of_usage() {
    for command in ["run", "check"] {
        let (code, said) = refused(&[command, "no-such-scenario.toml"]);
        assert_eq!(code, Some(2), "{command}");
        assert!(said.contains("no-such-scenario.toml"), "{said}");
    }
}

#[test]
fn check_fails_on_mistakes_and_passes_good_files() {
    let good = scenario("check-good", SCENARIO);
    let output = clearway(&["check", shown(&good)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bad = scenario(
        "check-bad",
        &SCENARIO.replace("[workload.w]", "[workload.w]\nspeed = 3"),
    );
    let output = clearway(&["check", shown(&good), shown(&bad)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1 error"),
        "{output:?}"
    );
    let findings = document(&clearway(&["check", "--json", shown(&bad)]));
    assert_eq!(findings["findings"][0]["code"], "unknown-key");
    assert_eq!(findings["findings"][0]["line"], 17);
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_runs() {
    let path = scenario("unwritable", SCENARIO);
    // A file where a folder would have to be: not even root can write there.
    let (code, said) = refused(&[
        "run",
        shown(&path),
        "--out",
        shown(&path.join("out")),
        "--set",
        "duration=1000s",
        "--set",
        "sample_interval=1s",
    ]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("cannot write"), "{said}");
}

#[test]
fn a_run_that_no_memory_holds_is_refused_with_an_estimate() {
    // Two hundred ports: more than any machine has, by a factor of hundreds.
    let text = SCENARIO
        .replace("count = 2", "count = 100\nnic = { policy = \"huge\" }")
        .replace("[\"h1\", \"h2\"]", "[\"h\", \"sw\"]")
        + "\n[switch.sw]\nmemory = \"1MB\"\npolicy = \"huge\"\n[policy.huge]\nframes_max = 1000000000\nflows_max = 1000000000\n[policy.huge.class.all]\n";
    let path = scenario("memory", &text);
    let (code, said) = refused(&["run", shown(&path)]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("memory") && said.contains("GB"), "{said}");
}

#[test]
fn usage_errors_exit_with_two_and_help_with_zero() {
    assert_eq!(refused(&[]).0, Some(2));
    assert_eq!(refused(&["rnu"]).0, Some(2));
    assert_eq!(refused(&["run"]).0, Some(2));
    assert_eq!(refused(&["run", "x.toml", "--seeds", "0"]).0, Some(2));
    assert_eq!(refused(&["run", "x.toml", "--seed", "-1"]).0, Some(2));
    let (code, said) = refused(&["reproduce", "no-such-experiment"]);
    assert!(code == Some(2) && said.contains("no-such-experiment"), "{said}");
    let (code, said) = refused(&["bench", "s9"]);
    assert!(code == Some(2) && said.contains("s1-16"), "{said}");
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["reproduce", "--list"],
    ] {
        let output = clearway(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty());
    }
}

#[test]
fn an_override_that_is_wrong_points_at_itself() {
    let path = scenario("set", SCENARIO);
    let (code, said) = refused(&["run", shown(&path), "--set", "duration=fast"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--set") && said.contains("duration"), "{said}");
    let (code, said) = refused(&["run", shown(&path), "--set", "duration"]);
    assert!(code == Some(2) && said.contains('='), "{said}");
}

#[test]
fn completions_manual_and_schema_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = clearway(&["completions", shell]);
        assert!(
            output.status.success() && String::from_utf8_lossy(&output.stdout).contains("reproduce"),
            "{shell}"
        );
    }
    let page = String::from_utf8(clearway(&["man"]).stdout).expect("text");
    assert!(page.contains(".TH") && page.contains("Exit codes"), "{page}");
    let page = String::from_utf8(clearway(&["man", "run"]).stdout).expect("text");
    assert!(page.contains("seeds"), "{page}");
    for kind in ["policy", "scenario"] {
        let schema = document(&clearway(&["schema", kind]));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["schema", "scenario"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// Ends a long run with a signal, as soon as it has begun, and gives what it left.
#[cfg(unix)]
fn interrupted(path: &Path, signal: &str, more: &[&str]) -> Output {
    use std::thread::sleep;
    use std::time::Duration;
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args([
            "run",
            shown(path),
            "--json",
            "--set",
            "duration=1000s",
            "--set",
            "sample_interval=1s",
        ])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    sleep(Duration::from_millis(600));
    assert!(
        child.try_wait().expect("its state").is_none(),
        "it ended before the signal"
    );
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .expect("kill");
    assert!(kill.success());
    child.wait_with_output().expect("it ends")
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_done() {
    let path = scenario("interrupt", &SCENARIO.replace("capture = \"a\"\n", ""));
    let out = path.with_file_name("out");
    for signal in ["-INT", "-TERM"] {
        let output = interrupted(&path, signal, &["--out", shown(&out)]);
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let document = document(&output);
        assert_eq!(document["interrupted"], true);
        let simulated = document["simulated_s"][0].as_f64().expect("simulated time");
        assert!(simulated > 0.0 && simulated < 1000.0, "{simulated}");
        assert!(document["engine"]["packet_hops"].as_u64() > Some(0));
        assert!(out.join("report.html").is_file() && out.join("rows.csv").is_file());
    }
}
