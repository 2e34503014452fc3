//! The microburst experiment: how long a burst at line rate two adapters take without loss, by size of message.
//!
//! Source: the T5 paper against the SFN7122F. The device under test is searched by trials, never by an equation; its
//! numbers stand in `devices/t5.toml` and `devices/sfn7122f.toml`. The ring of one card is published, its drain rate
//! derived from one point; of the other card one member of a family is fitted, and the family is shown. The page
//! `docs/reproductions/t5-microburst.md` says what was found. Left out: PCI Express, and whatever else a card may drop for.

mod search;
mod show;

use crate::reproduce::{Claim, Context, Experiment, Findings, Prediction};
use search::{Found, Subject};

/// Messages tried, bytes of UDP payload; the first makes the shortest Ethernet frame, the last the longest.
const SIZES: [u64; 8] = [18, 64, 128, 256, 512, 1024, 1280, 1472];
const T5: &str = "T520-LL-CR";
const SFN: &str = "SFN7122F";

/// The experiment.
#[derive(Clone, Copy, Debug)]
pub struct T5Microburst;

impl Experiment for T5Microburst {
    fn name(&self) -> &'static str {
        "t5-microburst"
    }

    fn data(&self) -> &'static str {
        include_str!("../../../../reproductions/t5-microburst.toml")
    }

    fn default_seeds(&self) -> u32 {
        1
    }

    fn run(&self, context: &Context<'_>) -> Result<Findings, String> {
        run(context, &SIZES)
    }
}

fn device(name: &str, file: &str, messages: &[u64]) -> Vec<Subject> {
    let subject = |&message: &u64| Subject {
        device: name.to_owned(),
        message,
        sets: vec![format!("host.adapter.device=../devices/{file}.toml")],
    };
    messages.iter().map(subject).collect()
}

/// A looping application that needs so long for a message, nanoseconds, and the ring with which a burst of 400 messages of
/// 64 B is the longest.
#[derive(Clone, Copy, Debug)]
struct Member {
    cost_ns: u64,
    ring: u64,
}

impl Member {
    /// The ring that the fluid rule gives: what is left of 400 frames when the last one comes.
    const fn of(cost_ns: u64) -> Self {
        let gone = 400 * search::gap_ps(64) / 1000 / cost_ns;
        Self {
            cost_ns,
            ring: 400 - gone,
        }
    }

    fn subjects(self) -> Vec<Subject> {
        let subject = |message| {
            Subject {
            device: format!("{} ns", self.cost_ns),
            message,
            sets: vec![
                "host.adapter.device=../devices/sfn7122f.toml".to_owned(),
                format!(
                    "host.adapter.stack.receive={{ per_message = \"0ns\", per_packet = \"{}ns\", copy = \"100000Gbit/s\" }}",
                    self.cost_ns
                ),
                "host.adapter.stack.transmit={ per_message = \"0ns\", per_packet = \"0ns\", copy = \"100000Gbit/s\" }".to_owned(),
                format!("host.adapter.stack.receive_ring={}", self.ring),
            ],
        }
        };
        [64, 256].map(subject).to_vec()
    }
}

/// From a processor that keeps up with half the line to one that drains nothing within a burst.
const FAMILY: [u64; 6] = [300, 600, 990, 1_300, 2_600, 100_000];

fn run(context: &Context<'_>, sizes: &[u64]) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let mut subjects = device(T5, "t5", sizes);
    subjects.extend(device(SFN, "sfn7122f", sizes));
    let Some(found) = search::search(context, subjects)? else {
        findings.stopped = true;
        return Ok(findings);
    };
    let (t5, sfn) = found.split_at(sizes.len());
    findings.predictions = t5.iter().chain(sfn).flat_map(predictions).collect();
    findings.claims = claims(t5, sfn);
    findings.sections.push(show::sizes(t5, sfn));
    let members = FAMILY.map(Member::of);
    let Some(family) = search::search(context, members.iter().flat_map(|m| m.subjects()).collect())? else {
        findings.stopped = true;
        return Ok(findings);
    };
    findings.sections.push(show::family(t5, &members, &family));
    let mut subjects = device(SFN, "sfn7122f", &[64]);
    for subject in &mut subjects {
        subject
            .sets
            .push("host.adapter.stack.receive_ring=512".to_owned());
    }
    match search::search(context, subjects)? {
        Some(without) => {
            let without = without.iter().flat_map(predictions).collect();
            findings.left_out.push(("sfn receive_ring".to_owned(), without));
        }
        None => findings.stopped = true,
    }
    Ok(findings)
}

fn predictions(found: &Found) -> Vec<Prediction> {
    let case = format!("{}, {} B", found.subject.device, found.subject.message);
    let one = |metric: &str, stat: &str, value: f64| Prediction {
        case: case.clone(),
        metric: metric.to_owned(),
        stat: stat.to_owned(),
        samples: vec![value],
    };
    vec![
        one("burst", "packets without loss", found.frames as f64),
        one("burst time", "by the document's formula", found.formula_seconds()),
    ]
}

fn of_size(found: &[Found], message: u64) -> Option<&Found> {
    found.iter().find(|f| f.subject.message == message)
}

fn claims(t5: &[Found], sfn: &[Found]) -> Vec<Claim> {
    let mut claims = Vec::new();
    let ratio = |message| {
        let pair = of_size(t5, message).zip(of_size(sfn, message));
        pair.filter(|(a, b)| !a.is_unlimited() && !b.is_unlimited())
            .map(|(a, b)| a.frames as f64 / b.frames as f64)
    };
    if let (Some(wide), Some(short)) = (ratio(256), ratio(64)) {
        let above = t5
            .iter()
            .map(|f| f.subject.message)
            .find(|m| ratio(*m).is_some_and(|r| r > 100.0));
        claims.push(Claim::new(
            "At 256 B packet size, Chelsio's adapter sustains more than 100 times larger bursts than Solarflare.",
            format!(
                "{wide:.1} times at 256 B, {short:.1} at 64 B; the first size above 100 is {}. Whichever member of the family \
                 below the SFN7122F is, it stays below 100 at 256 B.",
                above.map_or("none".to_owned(), |m| format!("{m} B"))
            ),
            wide > 100.0,
        ));
    }
    if let (Some(a), Some(b)) = (of_size(t5, 64), of_size(sfn, 64)) {
        let (wire, formula) = (a.wire_seconds() * 1e3, a.formula_seconds() * 1e3);
        claims.push(Claim::new(
            "Chelsio 64 Byte UDP Message: (46+64)*23000*.1ns*8 = 2.0240 ms of burst at wire rate.",
            format!(
                "{} packets take {wire:.3} ms on the wire; the formula's {formula:.3} ms leaves out 20 B of preamble and gap a \
                 frame. The other card: {:.2} us, not {:.2}.",
                a.frames,
                b.wire_seconds() * 1e6,
                b.formula_seconds() * 1e6
            ),
            (wire / formula - 1.0).abs() < 0.1,
        ));
    }
    let least = |all: &[Found]| all.iter().find(|f| f.is_unlimited()).map(|f| f.subject.message);
    if let Some(a) = least(t5) {
        let other = match least(sfn) {
            Some(b) => format!("the other from {b} B on"),
            None => "the other at no length of an Ethernet frame".to_owned(),
        };
        claims.push(Claim::no_evidence(
            "An adapter capable of sustaining an unlimited back-to-back stream is impervious to microburst issues.",
            format!(
                "The T5 takes any burst from {a} B on, {other}: then messages come no faster than they are handled. Any finite \
                 cost has such a size; that it is below the longest frame follows from the drain rate at 64 B."
            ),
        ));
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::read;

    #[test]
    fn the_search_ends_one_frame_before_the_first_loss() {
        let mut subjects = device(SFN, "sfn7122f", &[64]);
        // 21 places at 1,000 ns a message: frame k finds k - 1 - floor((k - 1) 104 / 1000) before it.
        subjects[0].sets.extend([
            "host.adapter.stack.receive={ per_message = \"0ns\", per_packet = \"1us\", copy = \"100000Gbit/s\" }".to_owned(),
            "host.adapter.stack.transmit={ per_message = \"0ns\", per_packet = \"0ns\", copy = \"100000Gbit/s\" }".to_owned(),
            "host.adapter.stack.receive_ring=21".to_owned(),
        ]);
        let found = Context::in_test(1, false, |c| search::search(c, subjects))
            .expect("it runs")
            .expect("nobody stops it");
        let first_lost = (1..).find(|k| (k - 1) - (k - 1) * 104 / 1_000 >= 21).unwrap_or(0);
        // A message of 64 B is copied in less than a picosecond: rounded up, it costs one.
        assert!(
            found[0].frames.abs_diff(first_lost - 1) <= 1,
            "{} {first_lost}",
            found[0].frames
        );
        assert!(found[0].trials.len() <= 20 && found[0].trials[0].0 == search::BURST_MAX);
        assert!(
            found[0]
                .trials
                .iter()
                .all(|(sent, back)| (sent == back) == (*sent <= found[0].frames))
        );
    }

    #[test]
    fn the_two_points_of_the_document_come_back_from_the_devices() {
        let mut subjects = device(T5, "t5", &[64]);
        subjects.extend(device(SFN, "sfn7122f", &[64]));
        let found = Context::in_test(1, false, |c| search::search(c, subjects))
            .expect("it runs")
            .expect("nobody stops it");
        assert!(found[0].frames.abs_diff(23_000) <= 5, "{}", found[0].frames);
        assert!(found[1].frames.abs_diff(400) <= 1, "{}", found[1].frames);
    }

    #[test]
    fn the_data_file_says_what_the_devices_have() {
        let file = read("t5-microburst", T5Microburst.data()).expect("it is valid");
        let of = |text: &str| {
            let numbers = clearway_policy::load_device_str(text, "device").expect("it is valid");
            move |key: &str| {
                let number = numbers.iter().find(|n| n.key == key);
                number.map(|n| n.value.replace('_', "")).unwrap_or_default()
            }
        };
        let t5 = of(include_str!("../../../../devices/t5.toml"));
        let sfn = of(include_str!("../../../../devices/sfn7122f.toml"));
        for p in &file.parameters {
            let (device, key) = p.name.split_once(' ').expect("device and key");
            let key = format!("stack.{}", key.replace(' ', "."));
            let said = if device == "t5" { t5(&key) } else { sfn(&key) };
            let number: String = said
                .chars()
                .take_while(|c| c.is_ascii_digit() || *c == '.')
                .collect();
            let scale = if said.ends_with("ns") { 1e-9 } else { 1.0 };
            let scale = if said.ends_with("Gbit/s") { 1e9 } else { scale };
            let value: f64 = number.parse().unwrap_or(f64::NAN);
            assert!(
                (value * scale - p.value).abs() <= 1e-9 * p.value.abs(),
                "{}: {said}",
                p.name
            );
        }
    }
}
