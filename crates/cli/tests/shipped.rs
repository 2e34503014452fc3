//! What the repository ships and what the help says about it: every file is clean, every example works.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command, started where a new user stands.
fn clearway<S: AsRef<str>>(arguments: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(arguments.iter().map(AsRef::as_ref))
        .current_dir(repository())
        // Tests leave the user's cache alone.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .output()
        .expect("it starts")
}

/// TOML files below a folder, as one would type them.
fn files(folder: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(repository().join(folder)).expect("the folder is there") {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().into_string().expect("a plain name");
        let path = format!("{folder}/{name}");
        if entry.path().is_dir() {
            all.extend(files(&path));
        } else if name.ends_with(".toml") {
            all.push(path);
        }
    }
    all.sort();
    all
}

#[test]
fn check_finds_no_mistake_in_what_is_shipped() {
    for folder in ["policies", "scenarios"] {
        let files = files(folder);
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            let output = clearway(&["check", &file]);
            assert_eq!(output.status.code(), Some(0), "{file}: {output:?}");
            let said = String::from_utf8(output.stdout).expect("text");
            assert!(!said.contains("error"), "{said}");
        }
    }
}

#[test]
fn examples_of_the_help_name_files_and_fields_that_are_there() {
    let mut seen = 0;
    for page in [&["--help"][..], &["run", "--help"], &["check", "--help"]] {
        let help = String::from_utf8(clearway(page).stdout).expect("text");
        for line in help.lines() {
            let words: Vec<&str> = line.split_whitespace().take_while(|w| *w != "|").collect();
            let ["clearway", "run" | "check", file, more @ ..] = words.as_slice() else {
                continue;
            };
            let mut arguments = vec!["check", file];
            for pair in more.windows(2).filter(|pair| pair[0] == "--set") {
                arguments.extend(pair);
            }
            let output = clearway(&arguments);
            assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen} examples");
}

#[test]
fn a_policy_given_as_a_scenario_is_told_in_one_line() {
    let output = clearway(&["run", "policies/video.toml"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("video.toml is a policy") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_link_without_a_rate_is_refused_without_its_consequences() {
    let file = "scenarios/first-steps.toml";
    let output = clearway(&["run", file, "--set", "link.cable.rate=0bit/s"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said.contains("from 1bit/s") && said.matches("error[").count() == 1,
        "{said}"
    );
    let output = clearway(&["run", file, "--set", "link.cabel.rate=1Gbit/s"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("did you mean: cable"), "{said}");
}
