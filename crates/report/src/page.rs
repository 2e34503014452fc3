//! One self-contained HTML page: headings, text, tables, plots. No script, no font, no file from outside.
//!
//! Everything is escaped: names come from scenario files. The page follows the reader's light or dark setting; plots
//! keep their own white ground.

use crate::escape::markup;
use crate::figure::Figure;
use crate::quantity::Micro;
use crate::svg::{self, Size};
use crate::table::{Table, Tone};

#[derive(Clone, Debug)]
enum Block {
    Section(String),
    Text(String),
    Table(Table),
    Plot(String),
    Notes(Vec<String>),
    Verbatim(String),
}

/// A page in the making.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    blocks: Vec<Block>,
}

const STYLE: &str = "\
:root{--ink:#1a1a1a;--muted:#5c5c5c;--ground:#fff;--rule:#d9d9d9;--stripe:#f6f7f8;--good:#006b4e;--bad:#b3300c;\
--caution:#8a5a00;--link:#00568a;color-scheme:light dark}\n\
@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--muted:#a8a8a8;--ground:#16181b;--rule:#3a3d42;\
--stripe:#1e2125;--good:#4fd1a5;--bad:#ff8f66;--caution:#f0b84a;--link:#7cc4f5}}\n\
*{box-sizing:border-box}\n\
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 4rem;background:var(--ground);color:var(--ink);\
font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n\
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .5rem}\n\
h2{font-size:1.25rem;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}\n\
p{max-width:46rem;margin:.6rem 0}\n\
a{color:var(--link)}\n\
nav ul{list-style:none;margin:.5rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}\n\
.wide{overflow-x:auto;margin:1rem 0}\n\
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}\n\
caption{text-align:left;font-weight:600;padding:.25rem .6rem .4rem 0}\n\
th,td{padding:.3rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}\n\
th{border-bottom:2px solid var(--rule);font-weight:600;white-space:nowrap}\n\
tbody tr:nth-child(even){background:var(--stripe)}\n\
.n{text-align:right;white-space:nowrap}\n\
.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}\n\
.caution{color:var(--caution)}.faint{color:var(--muted)}\n\
figure{margin:1.25rem 0}\n\
figure svg{display:block;max-width:100%;height:auto;border:1px solid var(--rule);border-radius:6px}\n\
figcaption,.note{color:var(--muted);font-size:.875rem;max-width:46rem;margin:.4rem 0}\n\
pre{overflow-x:auto;background:var(--stripe);border:1px solid var(--rule);border-radius:6px;padding:.75rem;\
font:.8125rem/1.45 ui-monospace,'DejaVu Sans Mono',monospace}\n\
@media print{body{max-width:none;padding:0}.wide{overflow:visible}figure,tr{break-inside:avoid}}\n";

impl Page {
    /// An empty page.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            blocks: Vec::new(),
        }
    }
    /// Begins a section.
    #[must_use]
    pub fn section(self, heading: impl Into<String>) -> Self {
        self.with(Block::Section(heading.into()))
    }
    /// A paragraph.
    #[must_use]
    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.with(Block::Text(text.into()))
    }
    /// A table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }
    /// A plot of the usual size, with its caption.
    #[must_use]
    pub fn plot(self, figure: &Figure) -> Self {
        // Names of places need height, not width.
        let rows = figure.y.categories.len() as f64;
        let height = if rows > 0.0 {
            130.0 + 34.0 * rows
        } else {
            Size::default().height
        };
        self.plot_sized(
            figure,
            Size {
                height,
                ..Size::default()
            },
        )
    }
    /// A plot of a given size, with its caption.
    #[must_use]
    pub fn plot_sized(self, figure: &Figure, size: Size) -> Self {
        let caption = if figure.caption.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>\n", markup(&figure.caption))
        };
        let drawing = svg::render(figure, size);
        self.with(Block::Plot(format!("<figure>\n{drawing}{caption}</figure>\n")))
    }
    /// A list of remarks.
    #[must_use]
    pub fn notes<N: Into<String>>(self, notes: impl IntoIterator<Item = N>) -> Self {
        self.with(Block::Notes(notes.into_iter().map(Into::into).collect()))
    }
    /// Text as it stands: a scenario, a command.
    #[must_use]
    pub fn verbatim(self, text: impl Into<String>) -> Self {
        self.with(Block::Verbatim(text.into()))
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// The page as text.
    #[must_use]
    pub fn render(&self) -> String {
        let title = markup(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"generator\" content=\"clearway {}\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
             </head>\n<body>\n<main>\n<h1>{title}</h1>\n",
            env!("CARGO_PKG_VERSION")
        );
        let headings: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|b| {
                if let Block::Section(h) = b {
                    Some(h.as_str())
                } else {
                    None
                }
            })
            .collect();
        let mut contents = String::new();
        if headings.len() > 2 {
            contents.push_str("<nav aria-label=\"Contents\"><ul>\n");
            for (i, heading) in headings.iter().enumerate() {
                contents.push_str(&format!(
                    "<li><a href=\"#s{}\">{}</a></li>\n",
                    i + 1,
                    markup(heading)
                ));
            }
            contents.push_str("</ul></nav>\n");
        }
        let mut section = 0;
        for block in &self.blocks {
            match block {
                Block::Section(heading) => {
                    section += 1;
                    // The contents stand after the opening paragraphs, before the first section.
                    out.push_str(&std::mem::take(&mut contents));
                    out.push_str(&format!("<h2 id=\"s{section}\">{}</h2>\n", markup(heading)));
                }
                Block::Text(text) => out.push_str(&format!("<p>{}</p>\n", markup(text))),
                Block::Table(table) => out.push_str(&html_table(table)),
                Block::Plot(plot) => out.push_str(plot),
                Block::Notes(notes) => {
                    out.push_str("<ul>\n");
                    notes
                        .iter()
                        .for_each(|n| out.push_str(&format!("<li>{}</li>\n", markup(n))));
                    out.push_str("</ul>\n");
                }
                Block::Verbatim(text) => out.push_str(&format!("<pre>{}</pre>\n", markup(text))),
            }
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }
}

const fn class_of(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Caution => "caution",
        Tone::Faint => "faint",
    }
}

fn html_table(table: &Table) -> String {
    let attribute = |numeric: bool, tone: Tone| {
        let classes: Vec<&str> = [if numeric { "n" } else { "" }, class_of(tone)]
            .into_iter()
            .filter(|c| !c.is_empty())
            .collect();
        if classes.is_empty() {
            String::new()
        } else {
            format!(" class=\"{}\"", classes.join(" "))
        }
    };
    let mut out = String::from("<div class=\"wide\">\n<table>\n");
    if !table.title.is_empty() {
        out.push_str(&format!("<caption>{}</caption>\n", markup(&table.title)));
    }
    out.push_str("<thead><tr>");
    for (column, heading) in table.headings.iter().enumerate() {
        let class = attribute(!table.is_text_column(column), Tone::Plain);
        out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", markup(heading)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let class = attribute(!table.is_text_column(column), cell.tone_of());
            out.push_str(&format!("<td{class}>{}</td>", markup(&cell.shown(Micro::Sign))));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    for note in &table.notes {
        out.push_str(&format!("<p class=\"note\">{}</p>\n", markup(note)));
    }
    out.push_str("</div>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Kind, Series};
    use crate::frame::tests as sample;
    use crate::tables;

    fn page() -> String {
        let figure = Figure::new("Curve", Axis::linear("x", "s"), Axis::linear("y", "B"))
            .series(Series::new("a<b", Kind::Line, [(0.0, 1.0), (1.0, 2.0)]))
            .caption("A & B");
        Page::new("Run of <scenario>")
            .paragraph("What & why")
            .section("One")
            .table(tables::comparisons("Published", &sample::comparisons()))
            .section("Two")
            .plot(&figure)
            .section("Three")
            .notes(["a > b"])
            .verbatim("<toml>")
            .render()
    }

    #[test]
    fn every_opened_element_is_closed_in_order() {
        let html = page();
        let mut open: Vec<String> = Vec::new();
        for tag in html.split('<').skip(1).map(|t| t.split('>').next().unwrap()) {
            let name: String = tag
                .trim_start_matches('/')
                .chars()
                .take_while(|c| c.is_alphanumeric())
                .collect();
            if tag.starts_with('/') {
                assert_eq!(open.pop().as_deref(), Some(name.as_str()), "</{name}>");
            } else if !tag.starts_with('!') && !tag.ends_with('/') && name != "meta" {
                open.push(name);
            }
        }
        assert_eq!(open, Vec::<String>::new());
    }

    #[test]
    fn nothing_comes_from_outside_and_nothing_runs() {
        let html = page();
        for outside in ["<script", "src=", "<link", "@import", "url(", "<iframe"] {
            assert!(!html.contains(outside), "{outside}");
        }
        // The one address is the name of the SVG vocabulary.
        assert_eq!(
            html.matches("http").count(),
            html.matches("http://www.w3.org/2000/svg").count()
        );
    }

    #[test]
    fn all_text_is_escaped() {
        let html = page();
        for text in [
            "Run of &lt;scenario&gt;",
            "What &amp; why",
            "a&lt;b",
            "A &amp; B",
            "a &gt; b",
            "&lt;toml&gt;",
        ] {
            assert!(html.contains(text), "{text}");
        }
        assert!(!html.contains("<toml>") && !html.contains("<scenario>"));
    }

    #[test]
    fn three_sections_make_contents_with_working_links() {
        let html = page();
        for i in 1..=3 {
            assert!(html.contains(&format!("href=\"#s{i}\"")) && html.contains(&format!("id=\"s{i}\"")));
        }
        assert!(!Page::new("t").section("a").render().contains("<nav"));
    }

    #[test]
    fn verdicts_are_words_with_a_tone() {
        let html = page();
        assert!(html.contains("<td class=\"bad\">miss</td>"));
        assert!(html.contains("<td class=\"n\">38.0 Gbit/s</td>"));
    }
}
