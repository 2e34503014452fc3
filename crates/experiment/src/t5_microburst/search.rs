//! The longest burst that a device takes without loss, found as RFC 2544 26.4 (back-to-back frames) finds it: a burst is
//! sent, the frames that come back are counted, and the next burst is longer or shorter.
//!
//! All searches go step by step together, so that their trials run side by side. The burst is at most [`BURST_MAX`]
//! frames: a device that takes those is said to take any. The RFC asks for trials of two seconds and 50 repetitions; the
//! simulated device does the same each time, and its ring is empty or growing long before that.

use crate::reproduce::{Case, Context, Runner};
use clearway_sim::RunOptions;

/// Frames of the longest burst tried.
pub(super) const BURST_MAX: u64 = 1 << 18;
/// Bytes of Ethernet, IP and UDP headers and FCS around a message.
pub(super) const HEADERS: u64 = 46;
/// Picoseconds of a byte at 10 Gbit/s.
const BYTE_PS: u64 = 800;

const FILE: &str = "scenarios/t5-microburst.toml";
const TEXT: &str = include_str!("../../../../scenarios/t5-microburst.toml");

/// A device and a size of message.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// Name in tables.
    pub(super) device: String,
    /// UDP payload, bytes.
    pub(super) message: u64,
    /// What makes the scenario's adapter this device.
    pub(super) sets: Vec<String>,
}

/// What a search found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) subject: Subject,
    /// The longest burst without loss; [`BURST_MAX`]: longer bursts were not tried.
    pub(super) frames: u64,
    /// Each trial: frames sent, frames that came back.
    pub(super) trials: Vec<(u64, u64)>,
}

impl Found {
    /// Nothing was lost however long the burst.
    pub(super) const fn is_unlimited(&self) -> bool {
        self.frames >= BURST_MAX
    }
    /// Bytes of a frame.
    const fn frame(&self) -> u64 {
        self.subject.message + HEADERS
    }
    /// Burst time by the paper's formula, seconds: without preamble and gap.
    pub(super) fn formula_seconds(&self) -> f64 {
        (self.frame() * self.frames) as f64 * 0.8e-9
    }
    /// What the burst takes on the wire, seconds.
    pub(super) fn wire_seconds(&self) -> f64 {
        ((self.frame() + 20) * self.frames) as f64 * 0.8e-9
    }
}

/// Picoseconds from one frame of a burst to the next.
pub(super) const fn gap_ps(message: u64) -> u64 {
    (message + HEADERS + 20) * BYTE_PS
}

/// The case of one trial.
fn trial(subject: &Subject, frames: u64) -> Case {
    let frame = subject.message + HEADERS;
    // The first frame leaves within a gap of the start; an answer may wait behind a full ring.
    let stop = frames * gap_ps(subject.message) - 1;
    let drained = stop + 40_000_000_000;
    let mut sets = subject.sets.clone();
    sets.extend([
        format!("workload.burst.open_loop.request={frame}B"),
        format!("workload.burst.open_loop.response={frame}B"),
        format!("workload.burst.stop={stop}ps"),
        format!("duration={drained}ps"),
    ]);
    Case::new(format!("{}, {} B", subject.device, subject.message), sets).with_seeds(1)
}

/// Searches for every subject. None where the work was stopped.
pub(super) fn search(context: &Context<'_>, subjects: Vec<Subject>) -> Result<Option<Vec<Found>>, String> {
    let runner = Runner {
        file: FILE,
        text: TEXT,
        options: RunOptions::default(),
    };
    // Longest burst that passed, shortest that failed.
    let mut bounds: Vec<(u64, u64)> = subjects.iter().map(|_| (0, BURST_MAX + 1)).collect();
    let mut found: Vec<Found> = subjects
        .into_iter()
        .map(|subject| Found {
            subject,
            frames: 0,
            trials: Vec::new(),
        })
        .collect();
    loop {
        let mut open = Vec::new();
        let mut cases = Vec::new();
        for (index, (found, (passed, failed))) in found.iter().zip(&bounds).enumerate() {
            if passed + 1 < *failed {
                // The longest first: a device that takes it needs no search.
                let frames = if found.trials.is_empty() {
                    BURST_MAX
                } else {
                    passed + (failed - passed) / 2
                };
                open.push((index, frames));
                cases.push(trial(&found.subject, frames));
            }
        }
        if open.is_empty() {
            break;
        }
        let answers = runner.run(context, &cases, |_, _, outcome| {
            outcome
                .calls
                .first()
                .map_or((0, 0), |c| (c.calls.begun, c.calls.answered))
        })?;
        for ((index, frames), answer) in open.into_iter().zip(answers) {
            let Some(&(sent, back)) = answer.first() else {
                return Ok(None);
            };
            if sent != frames {
                return Err(format!("t5-microburst: {sent} frames were sent for {frames}"));
            }
            found[index].trials.push((sent, back));
            let (passed, failed) = &mut bounds[index];
            if back == sent {
                *passed = frames;
            } else {
                *failed = frames;
            }
        }
    }
    for (found, (passed, _)) in found.iter_mut().zip(&bounds) {
        found.frames = *passed;
    }
    Ok(Some(found))
}
