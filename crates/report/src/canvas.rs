//! SVG primitives: elements as text, coordinates to a tenth of a pixel, all text escaped.
//!
//! Text widths are estimated, since no font is at hand: generously, so that nothing overlaps in any sans-serif font.

use std::fmt::Write as _;

use crate::escape;

/// Colours that people with any colour vision can tell apart (M. Okabe and K. Ito, "Color Universal Design", 2008),
/// in an order in which neighbours differ in lightness too; yellow is left out, it vanishes on white.
pub(crate) const PALETTE: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d",
];
pub(crate) const TEXT: &str = "#1a1a1a";
pub(crate) const MUTED: &str = "#5c5c5c";
pub(crate) const GRID: &str = "#e4e4e4";
pub(crate) const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) fill: &'static str,
    pub(crate) bold: bool,
    /// Degrees, clockwise, around its place.
    pub(crate) turned: f64,
    /// A white edge, for text above lines.
    pub(crate) halo: bool,
}

impl Setting {
    pub(crate) const fn new(size: f64, anchor: Anchor) -> Self {
        Self {
            size,
            anchor,
            fill: TEXT,
            bold: false,
            turned: 0.0,
            halo: false,
        }
    }
    pub(crate) const fn fill(mut self, fill: &'static str) -> Self {
        self.fill = fill;
        self
    }
    pub(crate) const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }
    pub(crate) const fn turned(mut self, degrees: f64) -> Self {
        self.turned = degrees;
        self
    }
    pub(crate) const fn halo(mut self) -> Self {
        self.halo = true;
        self
    }
}

/// Elements so far.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    pub(crate) out: String,
}

/// A coordinate to a tenth of a pixel, without a trailing zero or a negative zero.
pub(crate) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0 + 0.0;
    format!("{tenths}")
}

impl Canvas {
    /// An element without content; `attributes` are already sound.
    pub(crate) fn element(&mut self, name: &str, attributes: &[(&str, String)]) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.out, " {key}=\"{value}\"");
        }
        self.out.push_str("/>\n");
    }

    pub(crate) fn line(
        &mut self,
        [x1, y1]: [f64; 2],
        [x2, y2]: [f64; 2],
        stroke: &str,
        width: f64,
        dash: &str,
    ) {
        let mut a = vec![
            ("x1", px(x1)),
            ("y1", px(y1)),
            ("x2", px(x2)),
            ("y2", px(y2)),
            ("stroke", stroke.to_owned()),
            ("stroke-width", px(width)),
        ];
        if !dash.is_empty() {
            a.push(("stroke-dasharray", dash.to_owned()));
        }
        self.element("line", &a);
    }

    pub(crate) fn rect(&mut self, [x, y]: [f64; 2], [w, h]: [f64; 2], fill: &str, opacity: f64) {
        let mut a = vec![
            ("x", px(x)),
            ("y", px(y)),
            ("width", px(w.max(0.0))),
            ("height", px(h.max(0.0))),
            ("fill", fill.to_owned()),
        ];
        if opacity < 1.0 {
            a.push(("fill-opacity", opacity.to_string()));
        }
        self.element("rect", &a);
    }

    pub(crate) fn stroke(&mut self, path: &str, colour: &str, width: f64, dash: &str) {
        let mut a = vec![
            ("d", path.to_owned()),
            ("fill", "none".to_owned()),
            ("stroke", colour.to_owned()),
            ("stroke-width", px(width)),
            ("stroke-linejoin", "round".to_owned()),
        ];
        if !dash.is_empty() {
            a.push(("stroke-dasharray", dash.to_owned()));
        }
        self.element("path", &a);
    }

    pub(crate) fn area(&mut self, path: &str, colour: &str, opacity: f64) {
        let a = [
            ("d", path.to_owned()),
            ("fill", colour.to_owned()),
            ("fill-opacity", opacity.to_string()),
            ("stroke", "none".to_owned()),
        ];
        self.element("path", &a);
    }

    pub(crate) fn text(&mut self, [x, y]: [f64; 2], text: &str, set: Setting) {
        let anchor = match set.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = if set.turned == 0.0 {
            String::new()
        } else {
            format!(" transform=\"rotate({} {} {})\"", px(set.turned), px(x), px(y))
        };
        let bold = if set.bold { " font-weight=\"600\"" } else { "" };
        let halo = if set.halo {
            " stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\""
        } else {
            ""
        };
        let _ = writeln!(
            self.out,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{anchor}{turn}{bold}{halo}>{}</text>",
            px(x),
            px(y),
            px(set.size),
            set.fill,
            escape::markup(text)
        );
    }

    /// One of seven symbols, told apart by shape as well as by colour.
    pub(crate) fn symbol(&mut self, [x, y]: [f64; 2], shape: usize, radius: f64, colour: &str, hollow: bool) {
        let fill = if hollow { "#fff" } else { colour };
        let edge = if hollow { colour } else { "#fff" };
        let width = if hollow { 1.6 } else { 0.8 };
        let paint = [
            ("fill", fill.to_owned()),
            ("stroke", edge.to_owned()),
            ("stroke-width", px(width)),
        ];
        let corners = |list: &[[f64; 2]]| {
            list.iter()
                .map(|[a, b]| format!("{},{}", px(x + a * radius), px(y + b * radius)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let outline = match shape % 7 {
            0 => {
                let [f, s, w] = paint;
                self.element(
                    "circle",
                    &[("cx", px(x)), ("cy", px(y)), ("r", px(radius)), f, s, w],
                );
                return;
            }
            1 => corners(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
            2 => corners(&[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]]),
            3 => corners(&[[1.2, 0.0], [-0.8, -1.1], [-0.8, 1.1]]),
            4 => corners(&[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]]),
            5 => corners(&[[-1.2, 0.0], [0.8, -1.1], [0.8, 1.1]]),
            _ => corners(&[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]]),
        };
        let [f, s, w] = paint;
        self.element("polygon", &[("points", outline), f, s, w]);
    }
}

/// About how wide a text is, in pixels.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            'A'..='Z' => 0.69,
            c if (c as u32) > 0x2e80 => 1.0,
            _ => 0.61,
        })
        .sum();
    ems * size
}

/// Words in lines no wider than `width`; a word that is wider stands alone. The last line of `most` is cut.
pub(crate) fn wrap(text: &str, size: f64, width: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line)
                if text_width(line, size) + text_width(" ", size) + text_width(word, size) <= width =>
            {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let cut = lines.len() > most.max(1);
    lines.truncate(most.max(1));
    for (i, line) in lines.iter_mut().enumerate() {
        let last = cut && i + 1 == most.max(1);
        if last || text_width(line, size) > width {
            while !line.is_empty() && text_width(line, size) + size * 0.9 > width {
                line.pop();
            }
            line.push('\u{2026}');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(
            [px(1.0), px(-0.01), px(2.345), px(1e6)],
            ["1", "0", "2.3", "1000000"]
        );
    }

    #[test]
    fn long_text_wraps_and_is_cut() {
        let lines = wrap(
            "32 KB shared memory with pause per priority and credits",
            10.0,
            120.0,
            2,
        );
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('\u{2026}'));
        assert!(lines.iter().all(|l| text_width(l, 10.0) <= 130.0));
        assert_eq!(wrap("short", 10.0, 120.0, 2), ["short"]);
        assert!(wrap("", 10.0, 100.0, 3).is_empty());
        assert_eq!(wrap("unbreakablelongname", 10.0, 30.0, 3).len(), 1);
    }

    #[test]
    fn text_is_escaped() {
        let mut c = Canvas::default();
        c.text([0.0, 0.0], "<script>&", Setting::new(10.0, Anchor::Start));
        assert!(c.out.contains("&lt;script&gt;&amp;"));
    }
}
