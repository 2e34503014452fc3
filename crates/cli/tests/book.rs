//! The book: every example in it is loaded, checked or run, and what it shows is what comes out.
//!
//! A fenced block's first word is its language, the second says what it is:
//!
//! * `toml policy`, `toml scenario` and `toml device`: a whole file, checked without a finding of weight; a third word
//!   names the file, for the commands after it; `toml wrong`: a file that has to be refused;
//! * `console`: commands after `$ `, run in a folder with the repository's policies, scenarios and devices, and what
//!   they print; a line `...` stands for any lines;
//! * `sh`: commands that are run without looking at what they print. Reproductions take minutes: of those it is tried
//!   whether the arguments can be used.
//!
//! The pages of keys are made from the schemas. `CLEARWAY_WRITE=1 cargo test -p clearway --test book` writes what is
//! printed, and those pages, into the book.

use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages_folder() -> PathBuf {
    repository().join("docs/book/src")
}

fn writing() -> bool {
    std::env::var_os("CLEARWAY_WRITE").is_some()
}

/// Where one page's commands run: a folder with what a checkout has.
fn workshop(page: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book").join(page);
    let _ = fs::remove_dir_all(&folder);
    for shelf in ["policies", "scenarios", "devices"] {
        copy(&repository().join(shelf), &folder.join(shelf));
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("it can be listed") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("it can be copied");
        }
    }
}

/// All pages below a folder, by their path in it.
fn pages(folder: &Path, prefix: &str) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("the book is there") {
        let entry = entry.expect("an entry");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            all.extend(pages(&entry.path(), &format!("{name}/")));
        } else if name.ends_with(".md") {
            all.push(name);
        }
    }
    all.sort();
    all
}

/// A fenced block: what its first line says, its lines, and the number of the first of them.
struct Block {
    words: Vec<String>,
    lines: Vec<String>,
    first: usize,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut all: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(words) => {
                open = true;
                all.push(Block {
                    words: words.split_whitespace().map(str::to_owned).collect(),
                    lines: Vec::new(),
                    first: number + 1,
                });
            }
            None if open => all.last_mut().expect("it was opened").lines.push(line.to_owned()),
            None => {}
        }
    }
    assert!(!open, "a fence is not closed");
    all
}

/// What a command printed, and whether it ended well.
fn clearway(folder: &Path, line: &str) -> (String, bool) {
    let words: Vec<String> = words(line);
    assert_eq!(words.first().map(String::as_str), Some("clearway"), "{line}");
    let mut arguments = words[1..].to_vec();
    if arguments.first().is_some_and(|a| a == "reproduce") && !arguments.contains(&"--list".to_owned()) {
        arguments.push("--list".to_owned());
    }
    let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let mut text = String::from_utf8(output.stdout).expect("text");
    if !output.status.success() {
        text.push_str(&String::from_utf8(output.stderr).expect("text"));
    }
    (text, output.status.success())
}

/// The words of a command line: blanks between them, single quotes around some.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// Whether the lines are those expected, where `...` stands for any lines.
fn matches(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((dots, rest)) if dots == "..." => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| line == first && matches(rest, lines)),
    }
}

/// What to show: the lines as they came out, left out where they were left out before. What stands between two such
/// places grows or shrinks to the end of its paragraph: the first line of a table is enough to show all of it.
fn shown(expected: &[String], lines: &[String]) -> Vec<String> {
    let parts: Vec<&[String]> = expected.split(|line| line == "...").collect();
    if parts.len() == 1 {
        return lines.to_vec();
    }
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            out.push("...".to_owned());
        }
        let Some(skip) = part.iter().position(|line| !line.is_empty()) else {
            continue;
        };
        let (mut begin, mut end) = (0, part.len());
        if place == parts.len() - 1 {
            begin = lines.len().saturating_sub(part.len()).max(at);
            end = lines.len();
        } else {
            if place > 0 {
                // The line that is most like the first one of the part.
                let alike = |line: &String| {
                    line.chars()
                        .zip(part[skip].chars())
                        .take_while(|(a, b)| a == b)
                        .count()
                };
                let best = (at..lines.len()).max_by_key(|n| (alike(&lines[*n]), std::cmp::Reverse(*n)));
                begin = best.unwrap_or(at);
                end = begin + 1;
            }
            while lines.get(end).is_some_and(|line| !line.is_empty()) {
                end += 1;
            }
        }
        at = end.min(lines.len());
        out.extend_from_slice(&lines[begin.min(at)..at]);
    }
    out
}

fn lines_of(text: &str) -> Vec<String> {
    text.trim_end()
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Runs the commands of a console block; the block as it should read.
fn console(page: &str, folder: &Path, block: &Block) -> Vec<String> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(line) = block.lines.get(at) {
        let mut command = line
            .strip_prefix("$ ")
            .unwrap_or_else(|| panic!("{page}:{}: no command: {line}", block.first + at + 1))
            .to_owned();
        out.push(line.clone());
        while command.ends_with('\\') {
            at += 1;
            command.truncate(command.len() - 1);
            command.push_str(block.lines[at].trim_start());
            out.push(block.lines[at].clone());
        }
        at += 1;
        let end = block.lines[at..].iter().position(|l| l.starts_with("$ "));
        let end = end.map_or(block.lines.len(), |n| at + n);
        let (text, _) = clearway(folder, &command);
        let (expected, lines) = (&block.lines[at..end], lines_of(&text));
        if writing() {
            out.extend(shown(expected, &lines));
        } else {
            let place = format!("{page}:{}", block.first + at);
            assert!(
                matches(expected, &lines),
                "{place}: `{command}` prints something else (CLEARWAY_WRITE=1 writes it):\n{text}"
            );
            out.extend_from_slice(expected);
        }
        at = end;
    }
    out
}

/// Tries every block of a page; the page as it should read.
fn tried(page: &str, text: &str) -> String {
    let folder = workshop(&page.replace('/', "-"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the last, so that the numbers of the lines before stay; but run from the first.
    let mut replaced: Vec<(usize, usize, Vec<String>)> = Vec::new();
    for (number, block) in blocks(text).into_iter().enumerate() {
        let kind: Vec<&str> = block.words.iter().map(String::as_str).collect();
        match kind.as_slice() {
            [
                "toml",
                what @ ("policy" | "scenario" | "device" | "wrong"),
                name @ ..,
            ] => {
                let name = name
                    .first()
                    .map_or_else(|| format!("block-{number}.toml"), |n| (*n).to_owned());
                fs::write(folder.join(&name), block.lines.join("\n") + "\n").expect("it can be written");
                let (said, well) = clearway(&folder, &format!("clearway check --strict {name}"));
                assert_eq!(well, *what != "wrong", "{page}:{}: {said}", block.first);
            }
            ["console"] => {
                let should = console(page, &folder, &block);
                replaced.push((block.first, block.first + block.lines.len(), should));
            }
            ["sh"] => {
                for line in block.lines.iter().filter(|l| l.starts_with("clearway ")) {
                    let line = line.split(" #").next().unwrap_or(line).trim_end();
                    let (said, well) = clearway(&folder, line);
                    assert!(well, "{page}:{}: {line}: {said}", block.first);
                }
            }
            ["toml", "part"] | ["text"] => {}
            other => panic!("{page}:{}: a block of no known kind: {other:?}", block.first),
        }
    }
    for (from, to, should) in replaced.into_iter().rev() {
        lines.splice(from..to, should);
    }
    lines.join("\n") + "\n"
}

/// Pages from `first` on, every `step`-th: the work is shared out over tests, which run side by side.
fn try_pages(first: usize, step: usize) {
    for page in pages(&pages_folder(), "").iter().skip(first).step_by(step) {
        let path = pages_folder().join(page);
        let text = fs::read_to_string(&path).expect("a page");
        let should = tried(page, &text);
        if writing() && should != text {
            fs::write(&path, should).expect("it can be written");
        }
    }
}

#[test]
fn every_example_works_and_shows_what_comes_out() {
    try_pages(0, 2);
}

#[test]
fn every_example_works_and_shows_what_comes_out_on_the_other_pages() {
    try_pages(1, 2);
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let folder = pages_folder();
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).expect("a summary");
    for page in pages(&folder, "") {
        let listed = page == "SUMMARY.md" || summary.contains(&format!("]({page})"));
        assert!(listed, "{page} is not in SUMMARY.md");
        let text = fs::read_to_string(folder.join(&page)).expect("a page");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or(target);
            if file.is_empty() || target.starts_with("http") {
                continue;
            }
            let from = folder.join(&page).parent().expect("a folder").join(file);
            assert!(from.exists(), "{page}: {target} leads nowhere");
        }
    }
}

#[test]
fn the_pages_of_keys_are_those_of_the_schemas() {
    for kind in ["policy", "scenario"] {
        let output = Command::new(env!("CARGO_BIN_EXE_clearway"))
            .args(["schema", kind])
            .output()
            .expect("it starts");
        let schema: Value = serde_json::from_slice(&output.stdout).expect("a schema");
        let should = keys(kind, &schema);
        let path = pages_folder().join(format!("keys-{kind}.md"));
        if writing() {
            fs::write(&path, &should).expect("it can be written");
        }
        let is = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            is == should,
            "{} is not of this program: CLEARWAY_WRITE=1 writes it",
            path.display()
        );
    }
}

/// All tables of a schema and their keys, as a page.
fn keys(kind: &str, schema: &Value) -> String {
    let mut page = format!(
        "# Keys of a {kind} file\n\nMade from the JSON Schema that `clearway schema {kind}` prints; the program tells the same where a key is \
         wrong. Keys marked * are required. Times, rates, sizes and so on are text with a unit: `\"10us\"`, `\"2.5Gbit/s\"`, `\"1518B\"`.\n"
    );
    let none = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&none);
    let file = schema["$ref"]
        .as_str()
        .and_then(|r| r.rsplit('/').next())
        .unwrap_or_default();
    // The file itself first, then its tables by name.
    let rest = definitions.iter().filter(|(name, _)| *name != file);
    for (name, definition) in definitions.iter().filter(|(name, _)| *name == file).chain(rest) {
        section(&mut page, name, definition);
    }
    page
}

/// The name of a table as people read it.
fn short(name: &str) -> &str {
    name.strip_suffix("Text").unwrap_or(name)
}

fn section(page: &mut String, name: &str, table: &Value) {
    page.push_str(&format!("\n## {}\n\n", short(name)));
    if let Some(text) = table["description"].as_str() {
        page.push_str(&format!("{}\n\n", plain(text)));
    }
    page.push_str("| key | form | |\n| --- | --- | --- |\n");
    let none = Map::new();
    let required = |key: &str| {
        table["required"]
            .as_array()
            .is_some_and(|r| r.iter().any(|k| k == key))
    };
    for (key, value) in table["properties"].as_object().unwrap_or(&none) {
        let star = if required(key) { "*" } else { "" };
        let text = value["description"].as_str().unwrap_or_default();
        page.push_str(&format!(
            "| `{key}`{star} | {} | {} |\n",
            form(value),
            plain(text)
        ));
    }
}

/// No character that a table of Markdown would take for its own.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// A schema in a few words.
fn form(value: &Value) -> String {
    if let Some(reference) = value["$ref"].as_str() {
        let name = short(reference.rsplit('/').next().unwrap_or(reference));
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(any) = value["anyOf"].as_array() {
        let mut forms: Vec<String> = any.iter().map(form).collect();
        forms.dedup();
        return forms.join(" or ");
    }
    if let Some(word) = value.get("const") {
        return format!("`{word}`");
    }
    if let Some(words) = value["enum"].as_array() {
        return words
            .iter()
            .map(|w| format!("`{w}`"))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match value["type"].as_str() {
        Some("array") => format!("list of {}", form(&value["items"])),
        Some("object") if value["additionalProperties"].is_object() => {
            format!("tables by name, {}", form(&value["additionalProperties"]))
        }
        Some("object") => "table".to_owned(),
        Some("string") => quantity(value["pattern"].as_str().unwrap_or_default()),
        Some(kind) => match (value["minimum"].as_i64(), value["maximum"].as_i64()) {
            (Some(low), Some(high)) => format!("{low} to {high}"),
            _ => kind.to_owned(),
        },
        None => "any".to_owned(),
    }
}

/// What a text with this pattern is: the units tell.
fn quantity(pattern: &str) -> String {
    let kinds = [
        ("Mbit/s", "rate"),
        ("KiB", "size"),
        ("|us|", "time"),
        ("|km)", "length"),
        ("frame/s", "frame rate"),
        ("frames", "frames"),
        ("%", "per cent"),
    ];
    let found: Vec<&str> = kinds
        .iter()
        .filter(|(unit, _)| pattern.contains(unit))
        .map(|k| k.1)
        .collect();
    if found.is_empty() {
        "text".to_owned()
    } else {
        found.join(" or ")
    }
}
