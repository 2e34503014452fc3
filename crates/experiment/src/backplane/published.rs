//! The figures of the talk's text: frames discarded, throughput, control frames, and the same with one parameter at the
//! value that one would take without its figure.

use super::measure::{CONTROL_BITS, Keep, LINE, Measured, each, run};
use super::{BASE, HALF, pause};
use crate::reproduce::{Case, Context, Findings, Prediction};

pub(super) const LARGE: &str = "1.5 MB, no flow control";
pub(super) const SMALL: &str = "32 KB, no flow control";
pub(super) const PAUSED: &str = "32 KB, 802.3x above 16 KB";
const BLOCKING: &str = "loss to XOFF blocking";
/// Memory of the small switch.
pub(super) const SMALL_MEMORY: &str = "switch.sw.memory=32KiB";

/// Seeds of each run with a parameter left out.
const SEEDS_LEFT_OUT: u32 = 8;

/// The three configurations of the text, with further overrides; the last one's low threshold in bytes.
fn cases(sets: &[String], low: u64) -> Vec<Case> {
    let with = |name: &str, more: Vec<String>| Case::new(name, sets.iter().cloned().chain(more));
    vec![
        with(LARGE, vec![]),
        with(SMALL, vec![SMALL_MEMORY.to_owned()]),
        with(PAUSED, vec![SMALL_MEMORY.to_owned(), pause(16_384, low, "total")]),
    ]
}

/// Runs the three configurations.
pub(super) fn run_all(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let cases = cases(&[], HALF);
    let keep = Keep {
        rows: true,
        ..Keep::default()
    };
    let mut runs = run(context, BASE, &cases, keep)?;
    findings.predictions.extend(predictions(&runs));
    for run in runs.iter_mut().flatten() {
        findings.rows.append(&mut run.rows);
    }
    Ok(())
}

/// Puts each fitted parameter back to its neutral value, one at a time.
pub(super) fn leave_one_out(context: &Context<'_>, findings: &mut Findings) -> Result<(), String> {
    let without: [(&str, &[&str], u64); 5] = [
        (
            "burst mean",
            &["workload.bursts.bursty.burst={ geometric = \"1518B\" }"],
            HALF,
        ),
        ("load", &["workload.bursts.bursty.load=1.0"], HALF),
        ("redirect", &["workload.bursts.to.probability=0.0"], HALF),
        // One would take half of the high threshold without the figure: the same runs again.
        ("low threshold", &[], HALF),
        ("test length", &["duration=100ms"], HALF),
    ];
    for (parameter, sets, low) in without {
        let few = |case: Case| case.with_seeds(context.seeds.min(SEEDS_LEFT_OUT));
        let cases: Vec<Case> = cases(&sets.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>(), low)
            .into_iter()
            .map(few)
            .collect();
        let runs = run(context, BASE, &cases, Keep::default())?;
        findings.left_out.push((parameter.to_owned(), predictions(&runs)));
    }
    Ok(())
}

fn predictions(runs: &[Vec<Measured>]) -> Vec<Prediction> {
    let [large, small, paused] = runs else {
        return Vec::new();
    };
    let one = |case: &str, metric: &str, stat: &str, samples: Vec<f64>| Prediction {
        case: case.to_owned(),
        metric: metric.to_owned(),
        stat: stat.to_owned(),
        samples,
    };
    let mut all = Vec::new();
    for (case, runs) in [(LARGE, large), (SMALL, small), (PAUSED, paused)] {
        all.push(one(case, "frames discarded", "sum", each(runs, |r| r.discarded)));
        all.push(one(case, "throughput", "mean", each(runs, |r| r.throughput)));
    }
    all.push(one(
        PAUSED,
        "control frames on one link",
        "mean",
        each(paused, |r| r.control),
    ));
    let traffic = |r: &Measured| r.control * CONTROL_BITS;
    all.push(one(
        PAUSED,
        "control traffic on one link",
        "mean",
        each(paused, traffic),
    ));
    all.push(one(
        PAUSED,
        "control share of one link",
        "mean",
        each(paused, |r| traffic(r) / LINE * 100.0),
    ));
    let lost: Vec<f64> = large
        .iter()
        .zip(paused)
        .map(|(l, p)| l.throughput - p.throughput)
        .collect();
    let share = lost
        .iter()
        .zip(large)
        .map(|(lost, l)| lost / l.throughput * 100.0)
        .collect();
    all.push(one(BLOCKING, "throughput lost", "mean", lost));
    all.push(one(BLOCKING, "throughput lost", "share of 38 Gbit/s", share));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_control_rate_is_the_published_share_of_the_line() {
        let traffic = 165_000.0 * CONTROL_BITS;
        assert!((traffic - 110.88e6).abs() < 1.0);
        assert!((traffic / LINE * 100.0 - 1.1088).abs() < 1e-9);
    }
}
