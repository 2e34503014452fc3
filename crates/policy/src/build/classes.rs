//! Traffic classes of the results: the names that reports use, and the one that each workload counts in.
//!
//! A class that a workload spreads over the priorities (`pcp = "uniform"`) stands for eight in a row, `NAME/pcp0` to
//! `NAME/pcp7`, so that results are kept per priority. A workload of one priority that names the same class counts in
//! that priority's, an unmarked one in that of priority 0 (IEEE 802.1Q: the default of untagged frames).

use crate::diagnostic::{Diagnostic, Place};
use crate::reader::NamedEntry;
use crate::syntax::scenario::ScenarioText;
use crate::syntax::workload::{PcpWord, WorkloadText};
use std::collections::BTreeSet;

/// Priorities of IEEE 802.1Q.
const PRIORITIES: u8 = 8;

/// The classes of a scenario.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// In the order of reports.
    pub(crate) names: Vec<String>,
    /// As the text gives them, where it does: workloads may name no other.
    given: Option<Vec<String>>,
    /// Those that stand for eight.
    spread: BTreeSet<String>,
}

impl Classes {
    /// The classes that the text lists, or else those that workloads name.
    pub(crate) fn read(raw: &ScenarioText, findings: &mut Vec<Diagnostic>) -> Self {
        let workloads = || raw.workload.iter().flat_map(|w| &w.value.0);
        let mut classes = Self {
            spread: workloads().filter(|w| is_spread(w)).map(name_of).collect(),
            ..Self::default()
        };
        if let Some(list) = &raw.classes {
            let list = &list.value.0;
            classes.given = Some(list.iter().map(|c| c.value.clone()).collect());
            for class in list {
                classes.add(&class.value, &class.place, findings);
            }
        } else {
            let mut seen = BTreeSet::new();
            for entry in workloads() {
                let name = name_of(entry);
                if !seen.contains(&name) {
                    classes.add(&name, &entry.place, findings);
                    let _ = seen.insert(name);
                }
            }
        }
        classes
    }

    fn add(&mut self, name: &str, place: &Place, findings: &mut Vec<Diagnostic>) {
        let parts: Vec<String> = if self.spread.contains(name) {
            (0..PRIORITIES).map(|pcp| of_priority(name, pcp)).collect()
        } else {
            vec![name.to_owned()]
        };
        for part in parts {
            if self.names.contains(&part) {
                findings.push(place.error("name", format!("the class `{part}` is there already")));
            }
            self.names.push(part);
        }
    }

    /// Index of the class that a workload counts in: the first of the eight if it spreads its frames.
    pub(crate) fn index_of(&self, entry: &NamedEntry<WorkloadText>, findings: &mut Vec<Diagnostic>) -> usize {
        let name = name_of(entry);
        let wanted = match entry.value.pcp.as_ref().map(|p| p.value) {
            _ if !self.spread.contains(&name) => name.clone(),
            Some(PcpWord::One(pcp)) => of_priority(&name, pcp),
            _ => of_priority(&name, 0),
        };
        let found = self.names.iter().position(|n| *n == wanted);
        found.unwrap_or_else(|| {
            let place = entry.value.class.as_ref().map_or(&entry.place, |c| &c.place);
            let finding = place.error("unknown-class", format!("`{name}` is not one of `classes`"));
            let given = self.given.iter().flatten().map(String::as_str);
            findings.push(finding.among(&name, given));
            0
        })
    }
}

fn of_priority(name: &str, pcp: u8) -> String {
    format!("{name}/pcp{pcp}")
}

fn name_of(entry: &NamedEntry<WorkloadText>) -> String {
    let named = entry.value.class.as_ref().map(|c| &c.value);
    named.unwrap_or(&entry.name).clone()
}

fn is_spread(entry: &NamedEntry<WorkloadText>) -> bool {
    matches!(entry.value.pcp.as_ref().map(|p| p.value), Some(PcpWord::Uniform))
}

#[cfg(test)]
mod tests {
    use crate::{Diagnostic, Loaded, load_str};

    fn read(classes: &str, workloads: &[(&str, &str)]) -> Result<Loaded, Vec<Diagnostic>> {
        let mut text = format!("duration = \"1ms\"\n{classes}\n[host.h]\ncount = 2\n");
        text.push_str("[link.l]\nends = [\"h1\", \"h2\"]\nrate = \"1Gbit/s\"\n");
        for (name, more) in workloads {
            text.push_str(&format!(
                "[workload.{name}]\nfrom = \"h1\"\nto = \"h2\"\n{more}\n"
            ));
            text.push_str("poisson = { frame = \"512B\", rate = \"1Mbit/s\" }\n");
        }
        load_str(&text, "s.toml", &[], &|_| Err("no files".to_owned()))
    }

    fn indices(loaded: &Loaded) -> Vec<usize> {
        loaded.scenario.workloads.iter().map(|w| w.class).collect()
    }

    #[test]
    fn a_workload_over_all_priorities_has_a_class_for_each() {
        let workloads = [
            ("voice", ""),
            ("mix", "pcp = \"uniform\""),
            ("bulk", ""),
            ("five", "pcp = 5\nclass = \"mix\""),
            ("plain", "class = \"mix\""),
        ];
        let loaded = read("", &workloads).expect("a scenario");
        let names = &loaded.scenario.classes;
        assert_eq!(names.len(), 10);
        assert_eq!(
            (&*names[0], &*names[1], &*names[8], &*names[9]),
            ("voice", "mix/pcp0", "mix/pcp7", "bulk")
        );
        assert_eq!(indices(&loaded), [0, 1, 9, 6, 1]);
    }

    #[test]
    fn listed_classes_keep_their_order_and_no_other_may_be_named() {
        let workloads = [("mix", "pcp = \"uniform\"\nclass = \"all\""), ("voice", "")];
        let loaded = read("classes = [\"voice\", \"all\"]", &workloads).expect("a scenario");
        assert_eq!(loaded.scenario.classes.len(), 9);
        assert_eq!(indices(&loaded), [1, 0]);
        let found = read("classes = [\"voice\", \"al\"]", &workloads).expect_err("no such class");
        assert_eq!(found[0].code, "unknown-class");
        let twice = read("classes = [\"all\", \"voice\", \"all/pcp3\"]", &workloads).expect_err("twice");
        assert_eq!(twice[0].code, "name");
    }
}
