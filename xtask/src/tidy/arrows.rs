//! Which crate may stand on which: the arrows of ARCHITECTURE.md.
//!
//! An arrow that is not listed here is a finding, as is a crate that is not listed at all: a new room says first
//! where it stands. Dependencies of tests are free, except that nothing ever stands on the command or on the
//! Python package.

use super::Finding;
use crate::metadata::Package;
use crate::tool;

/// What each crate may stand on, and whether it may use crates from outside.
const ROOMS: [(&str, &[&str], bool); 15] = [
    ("clearway-core", &[], false),
    ("clearway-wire", &["clearway-core"], false),
    ("clearway-policy", &["clearway-core"], true),
    ("clearway-metrics", &[], true),
    ("clearway-bounds", &["clearway-core"], true),
    ("clearway-sim", BASE, true),
    (
        "clearway-dataplane",
        &[
            "clearway-core",
            "clearway-wire",
            "clearway-policy",
            "clearway-metrics",
            "clearway-xsk",
        ],
        true,
    ),
    ("clearway-linux", BASE, true),
    ("clearway-xsk", &[], true),
    ("clearway-measure", BASE, true),
    ("clearway-experiment", JOINED, true),
    ("clearway-report", &["clearway-metrics"], true),
    ("clearway", TOP, true),
    ("clearway-python", TOP, true),
    ("xtask", &[], true),
];
const BASE: &[&str] = &[
    "clearway-core",
    "clearway-wire",
    "clearway-policy",
    "clearway-metrics",
    "clearway-bounds",
];
const JOINED: &[&str] = &[
    "clearway-core",
    "clearway-wire",
    "clearway-policy",
    "clearway-metrics",
    "clearway-bounds",
    "clearway-sim",
    "clearway-dataplane",
    "clearway-linux",
    "clearway-measure",
    "clearway-report",
];
const TOP: &[&str] = &[
    "clearway-core",
    "clearway-wire",
    "clearway-policy",
    "clearway-metrics",
    "clearway-bounds",
    "clearway-sim",
    "clearway-dataplane",
    "clearway-linux",
    "clearway-measure",
    "clearway-experiment",
    "clearway-report",
];
/// Nothing stands on these, tests included.
const TOPS: [&str; 3] = ["clearway", "clearway-python", "xtask"];

/// Arrows that should not be.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let ours: Vec<&str> = packages.iter().map(|p| p.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let path = package
            .manifest
            .strip_prefix(tool::root())
            .unwrap_or(&package.manifest)
            .display()
            .to_string();
        let mut found = |text: String| findings.push(Finding::new(&path, None, text));
        let Some((_, may, outside)) = ROOMS.iter().find(|(name, ..)| *name == package.name) else {
            found(format!(
                "{} has no place in xtask/src/tidy/arrows.rs: say what it may stand on",
                package.name
            ));
            continue;
        };
        for name in &package.stands_on {
            if ours.contains(&name.as_str()) {
                if !may.contains(&name.as_str()) {
                    found(format!(
                        "{} must not stand on {name} (ARCHITECTURE.md)",
                        package.name
                    ));
                }
            } else if !outside {
                found(format!(
                    "{} uses no crate from outside, not even {name}",
                    package.name
                ));
            }
        }
        for name in package
            .for_tests
            .iter()
            .filter(|name| TOPS.contains(&name.as_str()))
        {
            found(format!(
                "nothing stands on {name}, the tests of {} neither",
                package.name
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, stands_on: &[&str], for_tests: &[&str]) -> Package {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        Package {
            name: name.to_owned(),
            manifest: format!("{name}/Cargo.toml").into(),
            stands_on: owned(stands_on),
            for_tests: owned(for_tests),
            targets: Vec::new(),
        }
    }

    #[test]
    fn an_arrow_that_points_the_wrong_way_is_found() {
        let core = package("clearway-core", &[], &[]);
        let good = [
            core.clone(),
            package("clearway-sim", &["clearway-core", "libm"], &[]),
        ];
        assert_eq!(check(&good), []);
        let sim = package("clearway-sim", &["clearway-dataplane"], &[]);
        let pump = package("clearway-dataplane", &[], &["clearway-sim"]);
        let texts: Vec<String> = check(&[core, sim, pump]).into_iter().map(|f| f.text).collect();
        assert_eq!(
            texts,
            ["clearway-sim must not stand on clearway-dataplane (ARCHITECTURE.md)"]
        );
    }

    #[test]
    fn the_core_stands_on_nothing_and_nothing_on_the_command() {
        let core = package("clearway-core", &["libm"], &["clearway"]);
        assert_eq!(check(&[core, package("clearway", &[], &[])]).len(), 2);
    }

    #[test]
    fn a_new_crate_says_where_it_stands() {
        assert_eq!(check(&[package("clearway-attic", &[], &[])]).len(), 1);
    }
}
