//! Names and groups of names: `h{1..16}`, groups by count, and references to either.

use crate::diagnostic::{Diagnostic, Place};
use crate::reader::At;
use std::collections::BTreeMap;

/// No more names than this from one pattern.
pub(crate) const GROUP_MAX: usize = 100_000;

/// Expands one `{first..last}`; numbers keep leading zeros (`h{01..16}`). A name without one is itself.
pub(crate) fn expand(name: &str, place: &Place, findings: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
    let Some(open) = name.find('{') else {
        return Some(vec![name.to_owned()]);
    };
    let parsed = name[open..].find('}').and_then(|close| {
        let (before, after) = (&name[..open], &name[open + close + 1..]);
        let (first, last) = name[open + 1..open + close].split_once("..")?;
        let width = if first.starts_with('0') { first.len() } else { 1 };
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        (first <= last && !after.contains('{') && width <= 9).then_some((before, after, first, last, width))
    });
    let Some((before, after, first, last, width)) = parsed else {
        let finding = place.error("name", format!("`{name}` is no pattern of names"));
        findings.push(finding.expecting("one pair of numbers such as h{1..16}"));
        return None;
    };
    if (last - first) as usize >= GROUP_MAX {
        let finding = place.error("range", format!("`{name}` makes too many names"));
        findings.push(finding.expecting(format!("at most {GROUP_MAX}")));
        return None;
    }
    Some(
        (first..=last)
            .map(|n| format!("{before}{n:0width$}{after}"))
            .collect(),
    )
}

/// What names stand for: single things by index, groups by list.
#[derive(Debug)]
pub(crate) struct Names<T> {
    what: &'static str,
    all: BTreeMap<String, Vec<T>>,
}

impl<T: Copy + Ord> Names<T> {
    pub(crate) const fn new(what: &'static str) -> Self {
        Self {
            what,
            all: BTreeMap::new(),
        }
    }

    /// Gives a name to one thing or a group; a name that is taken is a finding.
    pub(crate) fn define(
        &mut self,
        name: &str,
        things: Vec<T>,
        place: &Place,
        findings: &mut Vec<Diagnostic>,
    ) {
        if self.all.insert(name.to_owned(), things).is_some() {
            let finding = place.error("name", format!("the name `{name}` is taken"));
            findings.push(finding.expecting("a name of its own"));
        }
    }

    /// All that a reference stands for: a name, a group or a pattern of names.
    pub(crate) fn find(&self, name: &At<String>, findings: &mut Vec<Diagnostic>) -> Option<Vec<T>> {
        if let Some(things) = self.all.get(&name.value) {
            return Some(things.clone());
        }
        let mut things = Vec::new();
        for one in expand(&name.value, &name.place, findings)? {
            let Some(found) = self.all.get(&one) else {
                let message = format!("there is no {} `{one}`", self.what);
                findings.push(
                    name.error("unknown-name", message)
                        .among(&one, self.all.keys().map(String::as_str)),
                );
                return None;
            };
            things.extend(found);
        }
        Some(things)
    }

    /// All that several references stand for, each once, in the order given.
    pub(crate) fn find_all(&self, names: &[At<String>], findings: &mut Vec<Diagnostic>) -> Vec<T> {
        let mut seen = std::collections::BTreeSet::new();
        let all: Vec<T> = names
            .iter()
            .filter_map(|n| self.find(n, findings))
            .flatten()
            .collect();
        all.into_iter().filter(|t| seen.insert(*t)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Source;
    use std::sync::Arc;

    #[test]
    fn a_pattern_names_every_number_and_keeps_leading_zeros() {
        let source = Arc::new(Source {
            name: "f".into(),
            text: String::new(),
        });
        let place = Place::new(&source, 0..0, "".into());
        let mut findings = Vec::new();
        let names = expand("h{08..11}x", &place, &mut findings).unwrap_or_default();
        assert_eq!(names, ["h08x", "h09x", "h10x", "h11x"]);
        for wrong in ["h{2..1}", "h{a..b}", "h{1..2}{3..4}", "h{1", "h{0..99999999}"] {
            assert_eq!(expand(wrong, &place, &mut findings), None, "{wrong}");
        }
        assert_eq!(findings.len(), 5);
    }
}
