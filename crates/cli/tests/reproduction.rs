//! `clearway reproduce` as a user meets it: what is kept between two calls, and what an interruption leaves.

#![cfg(unix)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A folder of a test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("reproduction")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn reproduce(cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway"));
    command
        .arg("reproduce")
        .args(arguments)
        .env("XDG_CACHE_HOME", cache)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn done(cache: &Path, arguments: &[&str]) -> Output {
    reproduce(cache, arguments).output().expect("it starts")
}

/// Starts it, and ends it with a signal once `enough` says so.
fn interrupted(mut child: Child, enough: impl Fn() -> bool) -> Output {
    for _ in 0..3000 {
        std::thread::sleep(Duration::from_millis(100));
        assert!(
            child.try_wait().expect("its state").is_none(),
            "it ended before the signal"
        );
        if enough() {
            break;
        }
    }
    assert!(enough(), "nothing was finished in five minutes");
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    child.wait_with_output().expect("it ends")
}

/// Kept runs of an experiment, in whatever program's folder.
fn kept(cache: &Path, experiment: &str) -> Vec<PathBuf> {
    let programs = std::fs::read_dir(cache.join("clearway")).into_iter().flatten();
    programs
        .filter_map(|p| std::fs::read_dir(p.ok()?.path().join(experiment)).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|p| {
            p.file_name()
                .is_some_and(|n| n.to_string_lossy().starts_with("run-"))
        })
        .collect()
}

#[test]
fn an_interrupted_reproduction_keeps_what_is_done_and_goes_on_there() {
    let (cache, out) = (folder("interrupted"), folder("interrupted-out"));
    // So many seeds that it cannot be done before the signal comes.
    let out = out.to_str().expect("a plain path");
    let arguments = ["backplane", "--seeds", "100000", "--json", "--out", out];
    let start = || reproduce(&cache, &arguments).spawn().expect("it starts");
    let output = interrupted(start(), || kept(&cache, "backplane").len() >= 2);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["experiments"][0]["interrupted"], true);
    for file in ["summary.json", "rows.csv", "report.html"] {
        assert!(Path::new(out).join(file).is_file(), "{file}");
    }

    let first = kept(&cache, "backplane");
    let list = done(&cache, &["--list", "--seeds", "100000"]);
    let said = String::from_utf8(list.stdout).expect("text");
    assert!(said.contains(&format!("{} runs", first.len())), "{said}");

    // One of them is damaged: it is told and run again, the others are not.
    let content = std::fs::read(&first[0]).expect("an entry");
    let written = |p: &PathBuf| std::fs::metadata(p).and_then(|m| m.modified()).expect("its time");
    let times: Vec<_> = first[1..].iter().map(written).collect();
    std::fs::write(&first[0], &content[..content.len() / 2]).expect("it");
    let again = || {
        kept(&cache, "backplane").len() > first.len() && std::fs::read(&first[0]).is_ok_and(|c| c == content)
    };
    let output = interrupted(start(), again);
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("a kept result is not used: its content is damaged"),
        "{said}"
    );
    assert_eq!(first[1..].iter().map(written).collect::<Vec<_>>(), times);
}

/// Names and contents of the files of a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").path())
        .map(|p| {
            (
                p.file_name().expect("a name").to_string_lossy().into_owned(),
                std::fs::read(&p).expect("a file"),
            )
        })
        .collect();
    all.sort();
    all
}

#[test]
fn what_is_kept_gives_the_same_documents_byte_for_byte() {
    let cache = folder("bytes");
    let run = |out: &str| {
        let out = folder(out);
        let shown = out.to_str().expect("a plain path");
        // The one that takes seconds; named twice, so that there is a summary.
        let twice = ["t5-microburst", "t5-microburst", "--seeds", "1", "--out", shown];
        let output = done(&cache, &twice);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).expect("text");
        (files(&out), said, String::from_utf8(output.stderr).expect("text"))
    };
    let cached = |said: &str| {
        said.lines()
            .filter(|l| l.starts_with("t5-microburst") && l.ends_with("cached"))
            .count()
    };
    let (first, said, _) = run("bytes-1");
    assert!(said.contains("Summary") && cached(&said) == 1, "{said}");
    assert!(first.iter().any(|(name, _)| name == "report.html") && first.len() >= 8);
    let (second, said, complaints) = run("bytes-2");
    assert!(
        cached(&said) == 2 && !complaints.contains("note"),
        "{said}{complaints}"
    );
    assert!(first == second, "other documents");
    let list = String::from_utf8(done(&cache, &["--list", "--seeds", "1"]).stdout).expect("text");
    assert!(
        list.lines()
            .any(|l| l.starts_with("t5-microburst") && l.ends_with("finished")),
        "{list}"
    );

    // Damaged: told, run again, and the same.
    let findings = std::fs::read_dir(cache.join("clearway")).expect("programs");
    let findings = findings
        .filter_map(|p| Some(p.ok()?.path().join("t5-microburst")))
        .find(|p| p.is_dir());
    for (name, mut content) in files(&findings.clone().expect("a folder")) {
        if name.starts_with("findings-") {
            *content.last_mut().expect("a byte") ^= 1;
            std::fs::write(findings.as_ref().expect("a folder").join(name), content).expect("it");
        }
    }
    let (third, said, complaints) = run("bytes-3");
    assert!(
        cached(&said) == 1 && complaints.contains("its content is damaged"),
        "{said}{complaints}"
    );
    assert!(first == third, "other documents");
}

#[test]
fn a_cache_that_was_named_has_to_be_usable() {
    let cache = folder("named");
    let file = cache.join("file");
    std::fs::write(&file, "").expect("it");
    let output = done(
        &cache,
        &["--list", "--cache", file.to_str().expect("a plain path")],
    );
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    // The user's own is not asked for: that it cannot be used is told, and nothing else.
    let output = done(&file, &["--list"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing is kept"));
    let output = done(&cache, &["--list", "--no-cache", "--fresh"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
