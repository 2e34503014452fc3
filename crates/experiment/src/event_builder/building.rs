//! What the talk asks for: an event builder of N sources and N builders, by the way in which sources take turns.

use super::shown::{self, Line};
use crate::reproduce::{Case, Claim, Context, Runner, Section};
use clearway_report::{Axis, Cell, Table};
use clearway_sim::{Outcome, RunOptions};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

const TEXT: &str = include_str!("../../../../scenarios/event-builder.toml");
const FILE: &str = "scenarios/event-builder.toml";

/// Sources, and as many builders.
pub(super) const SIZES: [u32; 6] = [3, 4, 8, 16, 32, 64];
/// The sizes of the runs over TCP and on ticks, which have to be long.
pub(super) const LONG_SIZES: [u32; 5] = [3, 4, 8, 16, 32];
/// Bytes of the switch's memory where it is finite.
const MEMORY: &str = "2 MiB";
const MEMORY_LARGE: &str = "4GB";

/// How sources take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    AtOnce,
    Shaped,
    Ticks,
    Shifter,
    Pull,
}

impl Control {
    const ALL: [Self; 4] = [Self::AtOnce, Self::Shaped, Self::Shifter, Self::Pull];
    const LONG: [Self; 5] = [Self::AtOnce, Self::Shaped, Self::Shifter, Self::Pull, Self::Ticks];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "no control",
            Self::Shaped => "TBF per node",
            Self::Ticks => "TBF on 10 ms ticks",
            Self::Shifter => "barrel shifter",
            Self::Pull => "global traffic control",
        }
    }

    fn sets(self, n: u32, gigabits: u32) -> Vec<String> {
        match self {
            Self::AtOnce => Vec::new(),
            Self::Shaped | Self::Ticks => vec![format!("host.\"s{{1..{n}}}\".nic.policy=shaped")],
            Self::Shifter => {
                let slot = 80_000 / gigabits;
                vec![format!("workload.daq.event_builder.barrel_shifter.slot={slot}ns")]
            }
            Self::Pull => vec!["workload.daq.event_builder.pull.fragments_outstanding=2".to_owned()],
        }
    }
}

/// One case of the sweep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) control: Control,
    pub(super) n: u32,
    pub(super) gigabits: u32,
    large: bool,
    tcp: bool,
}

/// What is kept of one run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    /// Payload of complete events, bit/s.
    pub(super) throughput: f64,
    pub(super) latency_mean: f64,
    pub(super) latency_p99: f64,
    /// Fraction of the frames that were lost, and of the events that are incomplete for it.
    pub(super) lost_frames: f64,
    pub(super) incomplete: f64,
    pub(super) memory_peak: f64,
    /// Frames that the switch dropped.
    pub(super) dropped: u64,
    pub(super) built: u64,
    seconds: f64,
}

impl Run {
    fn of(outcome: &Outcome) -> Self {
        let seconds = outcome.measured().as_ps() as f64 * 1e-12;
        let Some(e) = outcome.events.first().map(|r| &r.events) else {
            return Self::default();
        };
        let class = outcome.classes.first().map(|c| &c.counters);
        let (offered, lost) = class.map_or((0, 0), |c| (c.offered.frames, c.dropped.frames));
        let settled = e.latency.count() + e.incomplete;
        let share = |part: u64, whole: u64| part as f64 / (whole as f64).max(1.0);
        Self {
            throughput: e.built_bytes as f64 * 8.0 / seconds,
            latency_mean: e.latency.mean().unwrap_or(f64::NAN) * 1e-12,
            latency_p99: e
                .latency
                .value_at_quantile(0.99)
                .map_or(f64::NAN, |v| v as f64 * 1e-12),
            lost_frames: share(lost, offered),
            incomplete: share(e.incomplete, settled),
            memory_peak: outcome
                .switches
                .first()
                .map_or(0.0, |s| s.memory_bytes_peak as f64),
            dropped: outcome.switches.iter().flat_map(|s| s.causes).sum(),
            built: e.built,
            seconds,
        }
    }
}

/// The scenario of a size: the shipped text with other numbers, and a policy with a class for each builder.
pub(super) fn text(n: u32, gigabits: u32, ticks: bool) -> String {
    let mut text = TEXT.replace("1..4", &format!("1..{n}"));
    let rate = u64::from(gigabits) * 1_000_000_000 / u64::from(n);
    text.push_str("\n[policy.shaped]\nkind = \"weighted\"\nlayer = \"L1\"\ndefault = \"rest\"\n");
    if ticks {
        text.push_str("discipline = \"cbq\"\n");
    }
    text.push_str("class.rest = {}\n");
    for builder in 1..=n {
        // Hosts have the addresses 10.0.0.1 and on in the order of the file: builders come after the sources.
        let address = n + builder;
        let shape = if ticks {
            format!("cbq.tbf = {{ rate = \"{rate}bit/s\", burst = \"10ms\" }}")
        } else {
            format!("rate = \"{rate}bit/s\"")
        };
        let _ = writeln!(
            text,
            "[policy.shaped.class.b{builder}]\n{shape}\nmatch = {{ dst_ip = \"10.0.0.{address}\" }}"
        );
    }
    text
}

fn case(point: &Point, milliseconds: u32) -> Case {
    let Point {
        control,
        n,
        gigabits,
        large,
        tcp,
    } = *point;
    let mut sets = control.sets(n, gigabits);
    sets.extend([
        format!("link.sources.rate={gigabits}Gbit/s"),
        format!("link.builders.rate={gigabits}Gbit/s"),
        format!("switch.sw.memory={}", if large { MEMORY_LARGE } else { MEMORY }),
        format!("workload.daq.event_builder.events_in_flight={}", 4 * n),
        format!("duration={milliseconds}ms"),
        format!("warmup={}us", milliseconds * 250),
    ]);
    if tcp {
        sets.push("workload.daq.event_builder.transport={ tcp = { send_buffer = \"512KiB\", receive_buffer = \"512KiB\" } }".to_owned());
    }
    let name = format!(
        "{} x {n}, {gigabits} Gbit/s, {}{}",
        control.name(),
        if tcp { "TCP" } else { "UDP" },
        if large { ", any memory" } else { "" }
    );
    Case::new(name, sets)
}

/// Runs points; one run for each seed.
fn run(context: &Context<'_>, points: &[(Point, u32)]) -> Result<Vec<(Point, Vec<Run>)>, String> {
    let mut all = Vec::with_capacity(points.len());
    // Points of one size and policy share a text.
    let mut groups: Vec<(String, Vec<(Point, u32)>)> = Vec::new();
    for &(point, ms) in points {
        let text = text(point.n, point.gigabits, point.control == Control::Ticks);
        match groups.iter_mut().find(|g| g.0 == text) {
            Some(group) => group.1.push((point, ms)),
            None => groups.push((text, vec![(point, ms)])),
        }
    }
    for (text, group) in &groups {
        let runner = Runner {
            file: FILE,
            text,
            options: RunOptions::default(),
        };
        let cases: Vec<Case> = group.iter().map(|(point, ms)| case(point, *ms)).collect();
        let runs = runner.run_kept(context, &cases, "event builder", |_, _, outcome| Run::of(outcome))?;
        all.extend(group.iter().map(|g| g.0).zip(runs));
    }
    Ok(all)
}

/// The mean of the runs of a point.
fn mean(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(of).sum::<f64>() / runs.len() as f64
}

/// Simulated milliseconds: several rounds over all builders, each of which takes 4 events in flight a builder.
fn milliseconds(n: u32, gigabits: u32) -> u32 {
    if gigabits == 1 { 16.max(n) } else { 4.max(n / 8) }
}

/// What the sweeps gave.
pub(super) struct Found {
    pub(super) sections: Vec<Section>,
    pub(super) claims: Vec<Claim>,
}

pub(super) fn run_all(context: &Context<'_>, sizes: &[u32], long_sizes: &[u32]) -> Result<Found, String> {
    let mut points = Vec::new();
    for gigabits in [1, 10] {
        for large in [true, false] {
            for control in Control::ALL {
                for &n in sizes {
                    let point = Point {
                        control,
                        n,
                        gigabits,
                        large,
                        tcp: false,
                    };
                    points.push((point, milliseconds(n, gigabits)));
                }
            }
        }
    }
    let udp = run(context, &points)?;
    let mut points = Vec::new();
    for control in Control::LONG {
        for &n in long_sizes {
            let point = Point {
                control,
                n,
                gigabits: 1,
                large: false,
                tcp: true,
            };
            points.push((point, 400));
        }
    }
    let tcp = run(context, &points)?;
    let mut sections = Vec::new();
    for gigabits in [1, 10] {
        sections.push(section(&udp, gigabits, sizes));
    }
    sections.push(tcp_section(&tcp, long_sizes));
    Ok(Found {
        claims: claims(&udp, &tcp),
        sections,
    })
}

type Points = [(Point, Vec<Run>)];

/// Lines over N, one for each control.
fn lines(
    points: &Points,
    controls: &[Control],
    wanted: impl Fn(&Point) -> bool,
    of: impl Fn(&Run) -> f64,
) -> Vec<Line> {
    let line = |control: &Control| {
        let mine = points
            .iter()
            .filter(|(p, runs)| p.control == *control && wanted(p) && !runs.is_empty());
        Line {
            name: control.name().to_owned(),
            points: mine.map(|(p, runs)| (f64::from(p.n), mean(runs, &of))).collect(),
        }
    };
    controls.iter().map(line).collect()
}

fn per_builder(run: &Run, n: f64) -> f64 {
    run.throughput / n
}

fn throughput_lines(points: &Points, controls: &[Control], wanted: impl Fn(&Point) -> bool) -> Vec<Line> {
    let mut all = lines(points, controls, wanted, |run| run.throughput);
    for line in &mut all {
        for point in &mut line.points {
            point.1 /= point.0;
        }
    }
    all
}

fn table(title: &str, points: &Points, wanted: impl Fn(&Point) -> bool) -> Table {
    let headings = [
        "control",
        "N x N",
        "payload a builder",
        "event latency",
        "p99",
        "frames lost",
        "events incomplete",
        "switch memory, peak",
        "events built",
        "simulated",
    ];
    let mut table = Table::new(title, headings);
    for (p, runs) in points.iter().filter(|(p, runs)| wanted(p) && !runs.is_empty()) {
        let percent = |value: f64| Cell::number(value * 100.0, "%").digits(3);
        table.push([
            Cell::text(p.control.name()),
            Cell::text(format!("{0} x {0}", p.n)),
            Cell::number(mean(runs, |r| per_builder(r, f64::from(p.n))), "bit/s").digits(3),
            Cell::number(mean(runs, |r| r.latency_mean), "s").digits(3),
            Cell::number(mean(runs, |r| r.latency_p99), "s").digits(3),
            percent(mean(runs, |r| r.lost_frames)),
            percent(mean(runs, |r| r.incomplete)),
            Cell::number(mean(runs, |r| r.memory_peak), "B").digits(3),
            Cell::number(mean(runs, |r| r.built as f64), "1").digits(4),
            Cell::number(mean(runs, |r| r.seconds), "s"),
        ]);
    }
    table
}

fn section(points: &Points, gigabits: u32, sizes: &[u32]) -> Section {
    let large = |p: &Point| p.gigabits == gigabits && p.large;
    let small = |p: &Point| p.gigabits == gigabits && !p.large;
    let x = || shown::over_sizes(sizes);
    let figure = |title: &str, y: Axis, lines: Vec<Line>, caption: &str| {
        shown::figure(&format!("{title}, {gigabits} Gbit/s"), x(), y, lines, caption)
    };
    let mut with = table(
        &format!("A switch memory of any size, {gigabits} Gbit/s, UDP"),
        points,
        large,
    );
    with.note("Four events in flight for each builder; fragments of 4,000 to 12,000 B, 8,000 on average. Nothing is lost.");
    let without = table(
        &format!("A switch memory of {MEMORY}, {gigabits} Gbit/s, UDP"),
        points,
        small,
    );
    Section {
        heading: format!("N sources to N builders at {gigabits} Gbit/s"),
        text: vec![format!(
            "The document names these ways for an event builder and measures none. A line of {gigabits} Gbit/s carries at \
             most {:.3} of it as payload of full frames (1,472 of 1,538 B).",
            1472.0 / 1538.0
        )],
        tables: vec![with, without],
        figures: vec![
            figure(
                "Payload a builder",
                Axis::linear("payload", "bit/s").ranged(0.0, f64::from(gigabits) * 1e9),
                throughput_lines(points, &Control::ALL, large),
                "Memory of any size.",
            ),
            figure(
                "Event latency, 99 %",
                Axis::log("trigger to complete event", "s"),
                lines(points, &Control::ALL, large, |r| r.latency_p99),
                "Memory of any size.",
            ),
            figure(
                "Switch memory, peak",
                Axis::log("memory", "B"),
                lines(points, &Control::ALL, large, |r| r.memory_peak),
                "What nothing lost needs.",
            ),
            figure(
                "Events incomplete",
                Axis::linear("events", "%").ranged(0.0, 100.0),
                lines(points, &Control::ALL, small, |r| r.incomplete * 100.0),
                &format!("With a memory of {MEMORY}, over UDP."),
            ),
        ],
    }
}

fn tcp_section(points: &Points, sizes: &[u32]) -> Section {
    let any = |_: &Point| true;
    let x = || shown::over_sizes(sizes);
    Section {
        heading: "The same over TCP/IP".to_owned(),
        text: vec![format!(
            "\"How can we use Gigabit Ethernet with TCP/IP?\" A connection for each pair, {MEMORY} of switch memory, the least \
             retransmission timeout 200 ms. \"TBF on 10 ms ticks\" is class-based queueing with a token bucket for each \
             builder as Linux 2.2 had it, its burst the rate times the tick."
        )],
        tables: vec![table("Over TCP, 1 Gbit/s", points, any)],
        figures: vec![
            shown::figure(
                "Payload a builder, TCP",
                x(),
                Axis::linear("payload", "bit/s").ranged(0.0, 1e9),
                throughput_lines(points, &Control::LONG, any),
                "1 Gbit/s.",
            ),
            shown::figure(
                "Event latency, 99 %, TCP",
                x(),
                Axis::log("trigger to complete event", "s"),
                lines(points, &Control::LONG, any, |r| r.latency_p99),
                "1 Gbit/s.",
            ),
        ],
    }
}

fn claims(udp: &Points, tcp: &Points) -> Vec<Claim> {
    let find = |points: &Points, control: Control, n: u32, large: bool| {
        let found = points
            .iter()
            .find(|(p, _)| p.control == control && p.n == n && p.gigabits == 1 && p.large == large);
        found.and_then(|(_, runs)| runs.first().copied())
    };
    let most = udp.iter().map(|(p, _)| p.n).max().unwrap_or(0);
    let mut claims = Vec::new();
    if let (Some(none), Some(shifter), Some(pull)) = (
        find(udp, Control::AtOnce, most, true),
        find(udp, Control::Shifter, most, true),
        find(udp, Control::Pull, most, true),
    ) {
        claims.push(Claim::new(
            "Traffic management of event data flow is necessary for event builder",
            format!(
                "{most} x {most} at 1 Gbit/s: {:.1} MB of switch memory without control, {:.2} MB with a barrel shifter, {:.2} MB \
                 with global traffic control",
                none.memory_peak / 1e6,
                shifter.memory_peak / 1e6,
                pull.memory_peak / 1e6
            ),
            none.memory_peak > 4.0 * shifter.memory_peak.max(pull.memory_peak),
        ));
    }
    let most = tcp.iter().map(|(p, _)| p.n).max().unwrap_or(0);
    if let (Some(none), Some(shaped), Some(ticks)) = (
        find(tcp, Control::AtOnce, most, false),
        find(tcp, Control::Shaped, most, false),
        find(tcp, Control::Ticks, most, false),
    ) {
        let rate = |run: Run| run.throughput / f64::from(most) / 1e6;
        let megabytes = |run: Run| run.memory_peak / 1e6;
        claims.push(Claim::new(
            "It is not clear that the QoS on Gigabit Ethernet is effective for event builder",
            format!(
                "{most} x {most} over TCP with {MEMORY} in the switch: {:.0} Mbit/s a builder and {:.2} MB without control, {:.0} and {:.2} \
                 with exact token buckets at each node, {:.0} and {:.2} with token buckets on 10 ms ticks, whose bursts of 10 ms let a whole \
                 fragment through at once",
                rate(none),
                megabytes(none),
                rate(shaped),
                megabytes(shaped),
                rate(ticks),
                megabytes(ticks)
            ),
            megabytes(ticks) > 2.0 * megabytes(shaped),
        ));
    }
    claims
}
