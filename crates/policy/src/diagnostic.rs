//! What is wrong with a text, and where: file, line, column, field, what was expected, the nearest valid name.
//!
//! A [`Place`] carries everything needed to point at a value: the text it stands in, its span and its field path, so
//! that a check made long after parsing still names the line. Left out: colours (the command's business).

use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing can be made of the file.
    Error,
    /// It runs, and probably not as meant.
    Warning,
    /// Worth knowing.
    Info,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name of the check, such as `unknown-key` or `burst-below-frame`.
    pub code: &'static str,
    /// The file as the caller named it, or `--set` for an override.
    pub file: String,
    /// Line, from 1; 0 where the finding is about the file as a whole.
    pub line: usize,
    /// Column in characters, from 1; 0 where the finding is about the file as a whole.
    pub column: usize,
    /// Characters that the finding covers on its line.
    pub length: usize,
    /// Path of the field, such as `class.bulk.rate`.
    pub field: String,
    /// What is wrong, with the remedy where one is known.
    pub message: String,
    /// What was expected there.
    pub expected: Option<String>,
    /// The nearest valid name.
    pub suggestion: Option<String>,
    /// The line itself.
    pub source_line: String,
}

impl Diagnostic {
    /// A finding about a file as a whole: it cannot be read, say.
    #[must_use]
    pub fn of_file(severity: Severity, code: &'static str, file: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            file: file.to_owned(),
            line: 0,
            column: 0,
            length: 0,
            field: String::new(),
            message: message.into(),
            expected: None,
            suggestion: None,
            source_line: String::new(),
        }
    }

    /// Adds what was expected.
    #[must_use]
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// Adds the valid names: all of them as what was expected (where they are few), the nearest as a suggestion.
    #[must_use]
    pub fn among<'a>(mut self, given: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        let valid: Vec<&str> = valid.into_iter().collect();
        self.suggestion = nearest(given, valid.iter().copied()).map(str::to_owned);
        if self.expected.is_none() && !valid.is_empty() {
            let shown = valid.len().min(24);
            let mut list = valid[..shown].join(", ");
            if shown < valid.len() {
                list.push_str(&format!(" and {} more", valid.len() - shown));
            }
            self.expected = Some(if valid.len() == 1 {
                list
            } else {
                format!("one of {list}")
            });
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        writeln!(f, "{word}[{}]: {}", self.code, self.message)?;
        let gutter = self.line.to_string().len();
        if self.line == 0 {
            write!(f, "  --> {}", self.file)?;
        } else {
            write!(f, "{:gutter$}--> {}:{}:{}", "", self.file, self.line, self.column)?;
        }
        if !self.field.is_empty() {
            write!(f, " ({})", self.field)?;
        }
        writeln!(f)?;
        if self.line > 0 {
            let before: String = self
                .source_line
                .chars()
                .take(self.column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            writeln!(f, "{:gutter$} |", "")?;
            writeln!(f, "{} | {}", self.line, self.source_line)?;
            writeln!(f, "{:gutter$} | {before}{}", "", "^".repeat(self.length.max(1)))?;
        }
        if let Some(expected) = &self.expected {
            writeln!(f, "{:gutter$} = expected: {expected}", "")?;
        }
        if let Some(name) = &self.suggestion {
            writeln!(f, "{:gutter$} = did you mean: {name}", "")?;
        }
        Ok(())
    }
}

/// A text and the name that findings give it.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    source: Arc<Source>,
    start: usize,
    end: usize,
    path: Arc<str>,
}

impl Place {
    pub(crate) fn new(source: &Arc<Source>, span: std::ops::Range<usize>, path: Arc<str>) -> Self {
        Self {
            source: source.clone(),
            start: span.start,
            end: span.end,
            path,
        }
    }

    /// The path of the field, such as `class.bulk.rate`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The name of the text.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// Offset of the first byte, for ordering things as the text has them.
    pub(crate) fn offset(&self) -> usize {
        self.start
    }

    /// The same spot under the path of a field inside it.
    pub(crate) fn inside(&self, key: &str) -> Self {
        let path = if self.path.is_empty() {
            key.into()
        } else {
            format!("{}.{key}", self.path).into()
        };
        Self { path, ..self.clone() }
    }

    /// The same spot under another path.
    pub(crate) fn at_path(&self, path: Arc<str>) -> Self {
        Self { path, ..self.clone() }
    }

    /// The spot `by` bytes further on, in another text.
    pub(crate) fn shifted(&self, source: &Arc<Source>, by: usize) -> Self {
        Self {
            source: source.clone(),
            start: self.start.saturating_add(by),
            end: self.end.saturating_add(by),
            path: self.path.clone(),
        }
    }

    /// A finding here.
    pub(crate) fn finding(
        &self,
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
    ) -> Diagnostic {
        let text = &self.source.text;
        let start = floor_char_boundary(text, self.start);
        let end = floor_char_boundary(text, self.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let column = text[line_start..start].chars().count() + 1;
        let length = text[start..end.min(line_end).max(start)].chars().count().max(1);
        Diagnostic {
            severity,
            code,
            file: self.source.name.clone(),
            line: text[..start].matches('\n').count() + 1,
            column,
            length,
            field: self.path.to_string(),
            message: message.into(),
            expected: None,
            suggestion: None,
            source_line: text[line_start..line_end].trim_end_matches('\r').to_owned(),
        }
    }

    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        self.finding(Severity::Error, code, message)
    }
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The valid name that is nearest to the given one, if any is near: Levenshtein distance with transpositions
/// (Damerau, 1964, restricted form), at most a third of the length and at least one.
#[must_use]
pub fn nearest<'a>(given: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (given.chars().count() / 3).max(1);
    valid
        .into_iter()
        .map(|name| (edit_distance(&given.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= allowed && *distance < name.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

fn edit_distance(a: &str, b: &str) -> usize {
    // Names are short; a long one is not worth the quadratic walk.
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_or_missing_letter_is_near_and_another_word_is_not() {
        let valid = ["weight", "rate", "burst"];
        assert_eq!(nearest("wieght", valid), Some("weight"));
        assert_eq!(nearest("brst", valid), Some("burst"));
        assert_eq!(nearest("rank", valid), None);
    }

    #[test]
    fn the_caret_stands_under_the_value_whatever_bytes_come_before_it() {
        let source = Arc::new(Source {
            name: "f.toml".into(),
            text: "a = 1\n\u{e9} = \"x\"\n".into(),
        });
        let at = source.text.find("\"x\"").unwrap_or(0);
        let d = Place::new(&source, at..at + 3, "e".into()).error("test", "wrong");
        assert_eq!((d.line, d.column, d.length), (2, 5, 3));
        assert!(d.to_string().contains("2 | \u{e9} = \"x\"\n  |     ^^^\n"));
    }
}
