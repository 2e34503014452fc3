//! Text made safe for HTML and SVG, and for a terminal.
//!
//! Names come from scenario files: they may hold markup, quotes or control characters. Control characters that XML
//! 1.0 forbids, and those that would move a terminal's cursor, become U+FFFD.

/// `text` for an XML or HTML text node or a quoted attribute.
pub(crate) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `text` for one line of a terminal.
pub(crate) fn line(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\n' || c == '\t' {
                ' '
            } else if c.is_control() {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_made_harmless() {
        assert_eq!(
            markup("<a href=\"x\">'&'\u{1b}[0m"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\u{fffd}[0m"
        );
        assert_eq!(line("a\nb\u{1b}[2Jc"), "a b\u{fffd}[2Jc");
    }
}
