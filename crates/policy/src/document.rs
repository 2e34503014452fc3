//! The parsed text as a tree of values that know where they stand, and the overrides of the command line.
//!
//! TOML is read by the `toml` crate with recovery, so that one run reports every syntax error. The tree is our own so
//! that values from an override point at the override, not into the file. Left out: dates (no field takes one).

use crate::diagnostic::{Diagnostic, Place, Severity, Source};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// No text longer than this is read.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A value as TOML has them.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// In the order of the text.
    Table(Vec<Entry>),
    Array(Vec<Node>),
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A date, or a number that does not fit.
    Other(&'static str),
}

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Value {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Table(_) => "a table",
            Self::Array(_) => "an array",
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Bool(_) => "a truth value",
            Self::Other(what) => what,
        }
    }
}

fn join(path: &str, key: &str) -> Arc<str> {
    let quoted = key.is_empty() || key.contains(['.', ' ', '"']);
    let key = if quoted {
        format!("{key:?}")
    } else {
        key.to_owned()
    };
    if path.is_empty() {
        key.into()
    } else {
        format!("{path}.{key}").into()
    }
}

fn convert(source: &Arc<Source>, span: std::ops::Range<usize>, path: Arc<str>, value: &DeValue<'_>) -> Node {
    let value = match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => Value::Other("an integer beyond 64 bits"),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Value::Float(x),
            _ => Value::Other("a number that is not finite"),
        },
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .enumerate()
                .map(|(i, item)| convert(source, item.span(), format!("{path}[{i}]").into(), item.get_ref()))
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(entries(source, &path, table)),
    };
    Node {
        place: Place::new(source, span, path),
        value,
    }
}

fn entries(source: &Arc<Source>, path: &str, table: &DeTable<'_>) -> Vec<Entry> {
    let mut all: Vec<Entry> = table
        .iter()
        .map(|(key, value)| {
            let child = join(path, key.get_ref());
            Entry {
                key: key.get_ref().clone().into_owned(),
                key_place: Place::new(source, key.span(), child.clone()),
                node: convert(source, value.span(), child, value.get_ref()),
            }
        })
        .collect();
    all.sort_by_key(|entry| entry.key_place.offset());
    all
}

/// Reads a text; every syntax error is a finding.
pub(crate) fn parse(name: &str, text: &str, findings: &mut Vec<Diagnostic>) -> Node {
    let mut text = text;
    if text.len() > TEXT_BYTES_MAX {
        findings.push(Diagnostic::of_file(
            Severity::Error,
            "too-long",
            name,
            format!(
                "the text has {} bytes; at most {TEXT_BYTES_MAX} are read",
                text.len()
            ),
        ));
        text = "";
    }
    let source = Arc::new(Source {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().unwrap_or(0..0);
        findings.push(Place::new(&source, at, "".into()).error("syntax", error.message().to_owned()));
    }
    Node {
        place: Place::new(&source, 0..0, "".into()),
        value: Value::Table(entries(&source, "", table.get_ref())),
    }
}

/// Applies one `path=value` of the command line. The value is TOML, or else a bare string: `5us` needs no quotes.
pub(crate) fn set(root: &mut Node, assignment: &str, findings: &mut Vec<Diagnostic>) {
    let source = Arc::new(Source {
        name: "--set".to_owned(),
        text: assignment.to_owned(),
    });
    let whole = Place::new(&source, 0..assignment.len(), "".into());
    let Some(equals) = assignment.find('=') else {
        findings.push(
            whole
                .error("override", "no `=` in the override")
                .expecting("path=value, such as duration=10ms"),
        );
        return;
    };
    let (path, text) = (assignment[..equals].trim(), assignment[equals + 1..].trim());
    let Some(keys) = split_path(path) else {
        findings.push(
            Place::new(&source, 0..equals, path.into())
                .error("override", "the path has an empty part or an open quote")
                .expecting("keys joined by points, such as switch.sw.memory"),
        );
        return;
    };
    let value_start = assignment.len() - assignment[equals + 1..].trim_start().len();
    let span = value_start.min(assignment.len())..assignment.trim_end().len().max(value_start);
    let value = match DeValue::parse(text) {
        // Spans inside the value are relative to it: only its own place is kept for all of it.
        Ok(value) => relocate(
            convert(&source, span, path.into(), value.get_ref()),
            &source,
            value_start,
        ),
        Err(_) => Node {
            place: Place::new(&source, span, path.into()),
            value: Value::Text(text.to_owned()),
        },
    };
    let named = Place::new(&source, 0..path.len().max(1), "".into());
    assign(root, &keys, value, &named, findings);
}

fn relocate(node: Node, source: &Arc<Source>, by: usize) -> Node {
    fn inner(node: Node, source: &Arc<Source>, by: usize) -> Node {
        let place = node.place.shifted(source, by);
        let mut node = relocate_children(node, source, by);
        node.place = place;
        node
    }
    fn relocate_children(mut node: Node, source: &Arc<Source>, by: usize) -> Node {
        node.value = match node.value {
            Value::Array(items) => Value::Array(items.into_iter().map(|n| inner(n, source, by)).collect()),
            Value::Table(entries) => Value::Table(
                entries
                    .into_iter()
                    .map(|e| Entry {
                        key: e.key,
                        key_place: e.key_place.shifted(source, by),
                        node: inner(e.node, source, by),
                    })
                    .collect(),
            ),
            other => other,
        };
        node
    }
    relocate_children(node, source, by)
}

fn split_path(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut key = String::new();
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => {
                if key.is_empty() {
                    return None;
                }
                keys.push(std::mem::take(&mut key));
            }
            c => key.push(c),
        }
    }
    if quoted || key.is_empty() || keys.len() > 32 {
        return None;
    }
    keys.push(key);
    Some(keys)
}

fn assign(node: &mut Node, keys: &[String], value: Node, whole: &Place, findings: &mut Vec<Diagnostic>) {
    let Some((key, rest)) = keys.split_first() else {
        *node = value;
        return;
    };
    match &mut node.value {
        Value::Table(entries) => {
            let at = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
                let place = whole.at_path(join(node.place.path(), key));
                entries.push(Entry {
                    key: key.clone(),
                    key_place: place.clone(),
                    node: Node {
                        place,
                        value: Value::Table(Vec::new()),
                    },
                });
                entries.len() - 1
            });
            assign(&mut entries[at].node, rest, value, whole, findings);
        }
        Value::Array(items) => match key.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
            Some(item) => assign(item, rest, value, whole, findings),
            None => findings.push(
                whole
                    .error("override", format!("{} has no element {key}", node.place.path()))
                    .expecting(format!("an index below {}", items.len())),
            ),
        },
        other => findings.push(
            whole
                .error(
                    "override",
                    format!("{} is {} and has no field {key}", node.place.path(), other.kind()),
                )
                .expecting("the path of a field"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
        match &node.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }

    #[test]
    fn every_syntax_error_of_a_text_is_reported() {
        let mut findings = Vec::new();
        parse("f", "a = = 1\nb = 2\nc = \"open\nd = ]\n", &mut findings);
        let lines: Vec<usize> = findings.iter().map(|d| d.line).collect();
        assert!(
            lines.contains(&1) && lines.contains(&3) && lines.contains(&4),
            "{lines:?}"
        );
    }

    #[test]
    fn an_override_replaces_adds_and_points_at_itself() {
        let mut findings = Vec::new();
        let mut root = parse("f", "[switch.sw]\nmemory = \"1MB\"\n", &mut findings);
        set(&mut root, "switch.sw.memory=32KiB", &mut findings);
        set(&mut root, "switch.sw.cell = [1, 2]", &mut findings);
        set(&mut root, "switch.sw.memory.x=1", &mut findings);
        let sw = get(&root, "switch").and_then(|n| get(n, "sw"));
        let memory = sw.and_then(|n| get(n, "memory"));
        assert!(matches!(memory.map(|n| &n.value), Some(Value::Text(t)) if t == "32KiB"));
        let d = memory.map(|n| n.place.error("test", "x"));
        assert_eq!(
            d.map(|d| (d.file, d.column, d.length)),
            Some(("--set".to_owned(), 18, 5))
        );
        let cell = sw.and_then(|n| get(n, "cell"));
        let Some(Value::Array(items)) = cell.map(|n| &n.value) else {
            panic!("not an array")
        };
        assert_eq!(items[1].place.error("test", "x").column, 22);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("has no field x"));
    }
}
