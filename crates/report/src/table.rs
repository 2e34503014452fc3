//! Tables: cells with a meaning, shown as aligned text for a terminal or as HTML by [`crate::Page`].
//!
//! Text is aligned by character count; columns of text shrink, the widest first, until the table fits the given width;
//! numbers are never cut. It leaves out double-width characters, which take one column here.

use crate::escape;
use crate::quantity::{Micro, humanised};
use serde::{Deserialize, Serialize};

/// How a cell should strike the eye. It repeats what the text says and never replaces it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tone {
    /// Like any other.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// To be read with care.
    Caution,
    /// Of lesser weight.
    Faint,
}

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Content {
    Text(String),
    Number {
        value: f64,
        unit: String,
        digits: usize,
    },
    Interval {
        low: f64,
        high: f64,
        unit: String,
        digits: usize,
    },
    PlusMinus {
        value: f64,
        half: f64,
        unit: String,
        digits: usize,
    },
    Change(Option<f64>),
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    content: Content,
    tone: Tone,
}

impl Cell {
    /// Text, set to the left.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: Content::Text(text.into()),
            tone: Tone::Plain,
        }
    }
    /// Nothing.
    #[must_use]
    pub fn blank() -> Self {
        Self::text("")
    }
    /// A number with an SI prefix, three significant digits, set to the right.
    #[must_use]
    pub fn number(value: f64, unit: impl Into<String>) -> Self {
        Self {
            content: Content::Number {
                value,
                unit: unit.into(),
                digits: 3,
            },
            tone: Tone::Plain,
        }
    }
    /// An interval with its unit, or `-` where it has no ends.
    #[must_use]
    pub fn interval([low, high]: [f64; 2], unit: impl Into<String>) -> Self {
        Self {
            content: Content::Interval {
                low,
                high,
                unit: unit.into(),
                digits: 3,
            },
            tone: Tone::Plain,
        }
    }
    /// A number and half the width of its confidence interval.
    #[must_use]
    pub fn plus_minus(value: f64, half: f64, unit: impl Into<String>) -> Self {
        Self {
            content: Content::PlusMinus {
                value,
                half,
                unit: unit.into(),
                digits: 3,
            },
            tone: Tone::Plain,
        }
    }
    /// A difference in per cent with its sign, or `-`.
    #[must_use]
    pub const fn change(percent: Option<f64>) -> Self {
        Self {
            content: Content::Change(percent),
            tone: Tone::Plain,
        }
    }
    /// The same with another number of significant digits (1 to 17).
    #[must_use]
    pub fn digits(mut self, to: usize) -> Self {
        if let Content::Number { digits, .. }
        | Content::Interval { digits, .. }
        | Content::PlusMinus { digits, .. } = &mut self.content
        {
            *digits = to;
        }
        self
    }
    /// The same in another tone.
    #[must_use]
    pub const fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
    pub(crate) const fn tone_of(&self) -> Tone {
        self.tone
    }
    pub(crate) const fn is_text(&self) -> bool {
        matches!(self.content, Content::Text(_))
    }
    /// What the cell reads, with the given spelling of a millionth.
    #[must_use]
    pub fn shown(&self, micro: Micro) -> String {
        match &self.content {
            Content::Text(text) => text.clone(),
            Content::Number { value, unit, digits } => humanised(*value, unit, *digits, micro),
            Content::Interval {
                low,
                high,
                unit,
                digits,
            } => {
                if low.is_finite() && high.is_finite() {
                    let [low, high] = [*low, *high].map(|v| humanised(v, unit, *digits, micro));
                    // One unit is enough where both ends have the same.
                    match (low.split_once(' '), high.split_once(' ')) {
                        (Some((l, u)), Some((h, v))) if u == v => format!("{l} .. {h} {u}"),
                        _ => format!("{low} .. {high}"),
                    }
                } else {
                    "-".to_owned()
                }
            }
            Content::Change(Some(percent)) if percent.is_finite() => format!("{:+.1} %", percent + 0.0),
            Content::Change(_) => "-".to_owned(),
            Content::PlusMinus {
                value,
                half,
                unit,
                digits,
            } => {
                let number = humanised(*value, unit, *digits, micro);
                if half.is_finite() {
                    format!("{number} \u{b1} {}", humanised(*half, unit, 2, micro))
                } else {
                    number
                }
            }
        }
    }
}

/// A table with headings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub(crate) title: String,
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) notes: Vec<String>,
}

/// How a terminal shows a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the screen; `None` for no limit.
    pub width: Option<usize>,
    /// Whether to colour by tone with ANSI escapes.
    pub colour: bool,
}

/// Columns of text are not cut below this.
const NARROWEST: usize = 8;

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new<H: Into<String>>(title: impl Into<String>, headings: impl IntoIterator<Item = H>) -> Self {
        Self {
            title: title.into(),
            headings: headings.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }
    /// Adds a row; missing cells are blank, surplus ones are left out.
    pub fn push(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().take(self.headings.len()).collect();
        row.resize_with(self.headings.len(), Cell::blank);
        self.rows.push(row);
    }
    /// Adds a line below the table.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
    /// How many rows it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a column is set to the left: it holds text alone.
    pub(crate) fn is_text_column(&self, column: usize) -> bool {
        self.rows.iter().filter_map(|r| r.get(column)).all(Cell::is_text)
    }

    /// The table as aligned lines, each ended by a newline.
    #[must_use]
    pub fn to_text(&self, options: TextOptions) -> String {
        let headings: Vec<String> = self.headings.iter().map(|h| escape::line(h)).collect();
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|c| escape::line(&c.shown(Micro::Ascii))).collect())
            .collect();
        let widths = self.fit(&headings, &cells, options.width);
        let mut out = String::new();
        if !self.title.is_empty() {
            out.push_str(&painted(&escape::line(&self.title), "1", options.colour));
            out.push('\n');
        }
        let mut line = |texts: &[String], code: &dyn Fn(usize) -> &'static str| {
            let mut text = String::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    text.push_str("  ");
                }
                let cell = cut(texts.get(column).map_or("", String::as_str), *width);
                let gap = " ".repeat(width - cell.chars().count());
                let left = self.is_text_column(column);
                let cell = painted(&cell, code(column), options.colour);
                text.push_str(&if left { cell + &gap } else { gap + &cell });
            }
            out.push_str(text.trim_end());
            out.push('\n');
        };
        line(&headings, &|_| "4");
        for (row, texts) in self.rows.iter().zip(&cells) {
            line(texts, &|column| {
                code_of(row.get(column).map_or(Tone::Plain, Cell::tone_of))
            });
        }
        for note in &self.notes {
            out.push_str(&wrapped(&escape::line(note), options.width.unwrap_or(100)));
        }
        out
    }

    /// Column widths: as wide as the contents; where that is too wide, the widest column of text gives way first.
    fn fit(&self, headings: &[String], cells: &[Vec<String>], limit: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = headings.iter().map(|h| h.chars().count()).collect();
        for row in cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let Some(limit) = limit else { return widths };
        loop {
            let total = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            let widest = (0..widths.len())
                .filter(|&c| self.is_text_column(c) && widths[c] > NARROWEST)
                .max_by_key(|&c| (widths[c], c));
            match widest {
                Some(c) if total > limit => widths[c] -= 1,
                _ => return widths,
            }
        }
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('\u{2026}');
    short
}

fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            used = 0;
        }
        if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
    out
}

/// ANSI codes that stay readable on light and dark screens.
const fn code_of(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "32",
        Tone::Bad => "1;31",
        Tone::Caution => "33",
        Tone::Faint => "2",
    }
}

fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour && !code.is_empty() && !text.is_empty() {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut t = Table::new("Latency", ["case", "mean", "verdict"]);
        t.push([
            Cell::text("one channel"),
            Cell::number(36.52e-6, "s"),
            Cell::text("ok").tone(Tone::Good),
        ]);
        t.push([
            Cell::text("two"),
            Cell::number(4.2e-6, "s"),
            Cell::text("miss").tone(Tone::Bad),
        ]);
        t.note("All calls.");
        t
    }

    #[test]
    fn text_is_set_left_and_numbers_right() {
        let golden = "Latency\n\
                      case            mean  verdict\n\
                      one channel  36.5 us  ok\n\
                      two          4.20 us  miss\n\
                      All calls.\n";
        assert_eq!(sample().to_text(TextOptions::default()), golden);
    }

    #[test]
    fn a_narrow_screen_cuts_text_and_never_numbers() {
        let text = sample().to_text(TextOptions {
            width: Some(26),
            colour: false,
        });
        assert!(text.contains("one cha\u{2026}  36.5 us  ok\n"), "{text}");
        assert!(text.lines().skip(1).all(|l| l.chars().count() <= 26));
        let tiny = sample().to_text(TextOptions {
            width: Some(0),
            colour: false,
        });
        assert!(tiny.contains("36.5 us"));
    }

    #[test]
    fn colour_adds_escapes_and_nothing_else() {
        let coloured = sample().to_text(TextOptions {
            width: None,
            colour: true,
        });
        assert!(coloured.contains("\u{1b}[1;31mmiss\u{1b}[0m"));
        let mut bare = coloured;
        for code in [
            "\u{1b}[0m",
            "\u{1b}[1m",
            "\u{1b}[4m",
            "\u{1b}[32m",
            "\u{1b}[1;31m",
        ] {
            bare = bare.replace(code, "");
        }
        assert_eq!(bare, sample().to_text(TextOptions::default()));
    }

    #[test]
    fn names_cannot_write_to_the_terminal() {
        let mut t = Table::new("", ["name"]);
        t.push([Cell::text("evil\u{1b}]0;title\u{7}\nnext")]);
        assert!(!t.to_text(TextOptions::default()).contains('\u{1b}'));
        assert_eq!(t.to_text(TextOptions::default()).lines().count(), 2);
    }

    #[test]
    fn rows_are_as_long_as_the_headings() {
        let mut t = Table::new("", ["a", "b"]);
        t.push([Cell::text("x")]);
        t.push([Cell::text("x"), Cell::text("y"), Cell::text("z")]);
        assert_eq!(t.to_text(TextOptions::default()), "a  b\nx\nx  y\n");
    }

    #[test]
    fn an_interval_shows_its_unit_once_and_nothing_without_ends() {
        assert_eq!(
            Cell::interval([4.1e-6, 4.3e-6], "s").shown(Micro::Ascii),
            "4.10 .. 4.30 us"
        );
        assert_eq!(
            Cell::interval([0.9e-6, 1.3e-6], "s").shown(Micro::Ascii),
            "900 ns .. 1.30 us"
        );
        assert_eq!(Cell::interval([f64::NAN; 2], "s").shown(Micro::Ascii), "-");
        assert_eq!(
            Cell::plus_minus(4.2e-6, 0.05e-6, "s").shown(Micro::Ascii),
            "4.20 us \u{b1} 50 ns"
        );
    }
}
