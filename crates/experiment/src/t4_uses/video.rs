//! Video streams at seven rates from one server, each at its own pace, and moved between classes while they run.

use super::Found;
use super::run::{File, Run, Seen, Spread, Streams, Uses};
use super::shown::{cell, say};
use crate::reproduce::{Case, Claim, Section};
use clearway_report::{Axis, Cell, Figure, Kind, Series, Table};

pub(super) const FILE: File = File {
    name: "scenarios/t4-uses-video.toml",
    text: include_str!("../../../../scenarios/t4-uses-video.toml"),
};
pub(super) const FAST: File = File {
    name: "scenarios/t4-uses-video-100g.toml",
    text: include_str!("../../../../scenarios/t4-uses-video-100g.toml"),
};

const POLICY: &str = "host.server.nic.policy=../policies/video.toml";
/// The class whose streams move.
const WEB: &str = "web video";

fn moves(time: &str) -> String {
    format!(
        "at.moves={{ time = \"{time}\", move = {{ workload = \"web\", between = [\"rate-4M\", \"rate-12M\"], per_second = 1000 }} }}"
    )
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new::<&str>("no policy", []),
        Case::new(
            "no policy, no web, 8 MiB of switch",
            ["switch.sw.memory=8MiB", "workload.web.stop=1ps"],
        ),
        Case::new("own pace", [POLICY]),
        Case::new("own pace, 1,000 moves/s", [POLICY.to_owned(), moves("200ms")]),
    ]
}

/// Fewer seeds: a run has 50,000 streams, each of which is a sample.
pub(super) fn fast_cases() -> Vec<Case> {
    let cases = vec![
        Case::new::<&str>("no policy", []),
        Case::new("own pace, half as long", [POLICY, "duration=150ms"]),
        Case::new("own pace", [POLICY]),
        Case::new("own pace, 1,000 moves/s", [POLICY.to_owned(), moves("50ms")]),
    ];
    cases.into_iter().map(|case| case.with_seeds(1)).collect()
}

fn streams<'a>(run: &'a Run, class: &str) -> Option<&'a Streams> {
    run.streams.iter().find(|s| s.class == class)
}

/// Classes whose frames have instants at which they are due.
fn timed(run: &Run) -> impl Iterator<Item = &Streams> {
    run.streams.iter().filter(|s| s.class != WEB)
}

fn lost(seen: &Seen) -> f64 {
    seen.average(|run| Some(run.streams.iter().map(|s| s.lost as f64).sum()))
}

fn reordered(seen: &Seen) -> u64 {
    let each = seen.runs.iter().flat_map(|run| &run.streams);
    each.map(|s| s.reordered).sum()
}

/// The worst class of a number, mean over the seeds.
fn worst(seen: &Seen, of: impl Fn(&Streams) -> f64) -> f64 {
    seen.average(|run| Some(timed(run).map(&of).fold(0.0, f64::max)))
}

fn summary(title: &str, seen: &[Seen]) -> Table {
    let headings = [
        "case",
        "simulated",
        "streams",
        "load of the server's port (L1)",
        "frames lost",
        "switch memory at most",
        "worst class: jitter p99",
        "delay variation max",
        "moves up, down",
        "reordered",
    ];
    let mut table = Table::new(title, headings);
    for seen in seen {
        let moved = seen.runs.first().map_or([0; 2], |run| run.moves);
        let load = seen.average(|run| Some(run.classes.iter().map(|c| c.wire_bps - c.upstream_bps).sum()));
        table.push([
            Cell::text(seen.name.clone()),
            cell(seen.average(|run| Some(run.seconds)), "s"),
            cell(
                seen.average(|run| Some(run.streams.iter().map(|s| s.flows as f64).sum())),
                "1",
            ),
            cell(load, "bit/s"),
            cell(lost(seen), "1"),
            cell(seen.average(|run| Some(run.switch_bytes as f64)), "B"),
            cell(worst(seen, |s| s.jitter.p99), "s"),
            cell(worst(seen, |s| s.variation.max), "s"),
            Cell::text(format!("{}, {}", moved[1], moved[0])),
            cell(reordered(seen) as f64, "1"),
        ]);
    }
    table
}

fn by_class(title: &str, without: &Seen, with: &Seen) -> Table {
    let headings = [
        "class",
        "streams",
        "jitter p99 without",
        "with",
        "delay variation p99 without",
        "with",
        "lost without",
        "with",
        "rate min",
        "rate max",
    ];
    let mut table = Table::new(title, headings);
    let names: Option<Vec<String>> = with
        .runs
        .first()
        .map(|run| timed(run).map(|s| s.class.clone()).collect());
    for name in names.unwrap_or_default() {
        let number = |seen: &Seen, of: fn(&Streams) -> f64| seen.average(|run| streams(run, &name).map(of));
        table.push([
            Cell::text(name.clone()),
            cell(number(with, |s| s.flows as f64), "1"),
            cell(number(without, |s| s.jitter.p99), "s"),
            cell(number(with, |s| s.jitter.p99), "s"),
            cell(number(without, |s| s.variation.p99), "s"),
            cell(number(with, |s| s.variation.p99), "s"),
            cell(number(without, |s| s.lost as f64), "1"),
            cell(number(with, |s| s.lost as f64), "1"),
            cell(number(with, |s| s.rate.min), "bit/s"),
            cell(number(with, |s| s.rate.max), "bit/s"),
        ]);
    }
    table.note(
        "Jitter of a stream is RFC 3550's at its last frame, delay variation the largest less the least delay; both against the \
         instants at which a player of constant rate wants the frames (RFC 2250). p99 is over the streams.",
    );
    table
}

fn over_streams(title: &str, x: Axis, lines: Vec<(String, Option<&Spread>)>) -> Figure {
    let mut figure = Figure::new(title, x, Axis::linear("fraction of streams at or above", "1"));
    for (name, spread) in lines {
        let points = spread.map_or(&[][..], |s| s.above.as_slice());
        figure = figure.series(Series::new(name, Kind::Step, points.iter().copied()));
    }
    figure.caption("The first seed.")
}

fn variation_figure(title: &str, without: &Seen, with: &Seen) -> Figure {
    let shown = ["500 kbit/s", "2.5 Mbit/s", "18 Mbit/s"];
    let mut lines = Vec::new();
    for class in shown {
        for (case, seen) in [("no policy", without), ("own pace", with)] {
            let first = seen.runs.first().and_then(|run| streams(run, class));
            lines.push((format!("{class}, {case}"), first.map(|s| &s.variation)));
        }
    }
    over_streams(title, Axis::log("delay variation, peak to peak", "s"), lines)
}

fn web_figure(still: &Seen, moved: &Seen) -> Figure {
    let lines = [still, moved].map(|seen| {
        let web = seen.runs.first().and_then(|run| streams(run, WEB));
        (seen.name.clone(), web.map(|s| &s.rate))
    });
    let x = Axis::linear("rate (L1)", "bit/s").ranged(0.0, 14e6);
    over_streams("Web video: what each stream got", x, lines.to_vec()).caption(
        "The first seed: 12 and 4 Mbit/s where streams stay, something between where they are moved.",
    )
}

pub(super) fn run(uses: &Uses<'_>) -> Result<Found, String> {
    let seen = uses.run("video", FILE, &cases())?;
    let [none, large, paced, moved] = seen.as_slice() else {
        return Err("video: a case is missing".to_owned());
    };
    let fast = uses.run("video 100G", FAST, &fast_cases())?;
    let [fast_none, fast_half, fast_paced, fast_moved] = fast.as_slice() else {
        return Err("video at 100 Gbit/s: a case is missing".to_owned());
    };
    let rate_error = |seen: &Seen| worst(seen, |s| (s.rate.mean / nominal(&s.class) - 1.0).abs());
    let web = |seen: &Seen, of: fn(&Streams) -> f64| seen.average(|run| streams(run, WEB).map(of));
    let ups = |seen: &Seen| seen.runs.first().map_or([0; 2], |run| run.moves);
    let mut text = vec![
        "A server hands over a picture every 40 ms (a frame at a time where a picture is less than two), 16,000 streams at 78 % of \
         10 Gbit/s, behind it a small switch (512 KiB) with ten access ports of 1 Gbit/s; then 50,000 streams at 75 % of 100 Gbit/s \
         and access ports of 10 Gbit/s. Web video is TCP, which takes the rate of its class."
            .to_owned(),
    ];
    let frames: u64 = fast_paced.runs.iter().map(|run| run.packet_hops).sum();
    text.push(format!(
        "50,000 streams run for {}, {} frames over two links. Half as long the delay variation of a stream in the worst class is at \
         most {}, against {}: a longer run would show nothing new. Streams below 1 Mbit/s have few frames in that time; their \
         jitter is still settling.",
        say(fast_paced.average(|run| Some(run.seconds)), "s"),
        say(frames as f64 / 2.0, "1"),
        say(worst(fast_half, |s| s.variation.max), "s"),
        say(worst(fast_paced, |s| s.variation.max), "s"),
    ));
    let claims = vec![
        Claim::new(
            "T4 traffic manages tens of thousands of IPTV and Web/HTTP video streams",
            format!(
                "16,000 on 10 Gbit/s and 50,000 on 100 Gbit/s with the policy: {} and {} frames lost, every class within {:.2} % of its \
                 rate. What the chip's own scheduler can hold is not modelled",
                say(lost(paced), "1"),
                say(lost(fast_paced), "1"),
                100.0 * rate_error(paced).max(rate_error(fast_paced)),
            ),
            lost(paced) == 0.0 && lost(fast_paced) == 0.0 && rate_error(paced) < 0.01,
        ),
        Claim::new(
            "The traffic manager can handle multiple media rates simultaneously and manage each of the flows with low jitter",
            format!(
                "jitter p99 in the worst class {} with the policy, {} without; the whole delay variation of no stream is above {}. \
                 Without, it is the picture that the server hands over at once: an assumption, not a finding",
                say(worst(paced, |s| s.jitter.p99), "s"),
                say(worst(none, |s| s.jitter.p99), "s"),
                say(worst(paced, |s| s.variation.max), "s"),
            ),
            worst(paced, |s| s.jitter.p99) < 0.1 * worst(none, |s| s.jitter.p99),
        ),
        Claim::new(
            "The media rate for a particular flow can be adjusted dynamically by moving the flow from one traffic class to another",
            format!(
                "{} moves up and {} down in {}, {} frames lost and {} reordered; web streams got {} to {} where they stayed, {} to {} \
                 where they were moved",
                ups(moved)[1],
                ups(moved)[0],
                say(moved.average(|run| Some(run.seconds)), "s"),
                say(lost(moved), "1"),
                reordered(moved),
                say(web(paced, |s| s.rate.min), "bit/s"),
                say(web(paced, |s| s.rate.max), "bit/s"),
                say(web(moved, |s| s.rate.min), "bit/s"),
                say(web(moved, |s| s.rate.max), "bit/s"),
            ),
            ups(moved)[1] > 0
                && lost(moved) == 0.0
                && reordered(moved) == 0
                && lost(fast_moved) == 0.0
                && reordered(fast_moved) == 0,
        ),
    ];
    let figures = vec![
        variation_figure("16,000 streams: delay variation of each stream", none, paced),
        web_figure(paced, moved),
        variation_figure(
            "50,000 streams: delay variation of each stream",
            fast_none,
            fast_paced,
        ),
        memory_figure(&[none, large, paced, moved]),
    ];
    let mut rows = super::rows(&seen);
    rows.extend(super::rows(&fast));
    Ok(Found {
        section: Section {
            heading: "Video server: tens of thousands of streams".to_owned(),
            text,
            tables: vec![
                summary("16,000 streams on 10 Gbit/s", &seen),
                by_class("16,000 streams by rate, without and with the policy", none, paced),
                summary("50,000 streams on 100 Gbit/s", &fast),
                by_class(
                    "50,000 streams by rate, without and with the policy",
                    fast_none,
                    fast_paced,
                ),
            ],
            figures,
        },
        claims,
        predictions: Vec::new(),
        rows,
    })
}

fn memory_figure(cases: &[&Seen]) -> Figure {
    let memory = |seen: &Seen| seen.average(|run| Some(run.switch_bytes as f64));
    super::shown::bars(
        "Memory that the access switch needs",
        Axis::linear("most that was used", "B"),
        cases,
        &[("", &memory)],
    )
    .caption("512 KiB of it, but for the second, which shows what pictures back to back would take.")
}

/// The rate in a class' name, bit/s.
fn nominal(class: &str) -> f64 {
    let number = class
        .split(' ')
        .next()
        .and_then(|n| n.parse::<f64>().ok())
        .unwrap_or(f64::NAN);
    number * if class.contains("kbit/s") { 1e3 } else { 1e6 }
}
