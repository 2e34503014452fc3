//! `clearway run`: a scenario, one seed or several, as a table, a document or a folder.

mod capture;
mod document;
mod page;
mod tables;
mod traces;

use crate::arguments::Run as Arguments;
use crate::ending::{Failure, print, say};
use crate::folder::Folder;
use crate::progress::Progress;
use crate::{interrupt, machine};
use capture::Capture;
use clearway_experiment::bounds::{self, ScenarioBounds};
use clearway_experiment::cores;
use clearway_experiment::run::Run;
use clearway_metrics::Row;
use clearway_policy::{Diagnostic, Loaded};
use clearway_report::frame::Frame;
use clearway_report::{csv, parquet};
use clearway_sim::Outcome;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What the engine did, and what it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Engine {
    pub(crate) events: u64,
    pub(crate) packet_hops: u64,
    /// Processor time, all threads together, seconds.
    pub(crate) cpu_s: Option<f64>,
    pub(crate) wall_s: f64,
    /// The most memory that the process held, bytes.
    pub(crate) peak_bytes: Option<u64>,
}

/// A finished run.
#[derive(Debug)]
pub(crate) struct Finished<'a> {
    pub(crate) loaded: &'a Loaded,
    /// One a seed, in the order of the seeds.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) rows: Vec<Row>,
    /// Worst cases, where they were asked for.
    pub(crate) bounds: ScenarioBounds,
    pub(crate) engine: Engine,
    /// It was interrupted: seeds are missing, or what there is is short.
    pub(crate) interrupted: bool,
    /// Seeds that were asked for.
    pub(crate) asked: usize,
}

impl Finished<'_> {
    /// Puts the worst cases beside what was measured.
    fn put_bounds(&mut self) {
        let scenario = &self.loaded.scenario;
        self.bounds = bounds::of(scenario);
        for outcome in &self.outcomes {
            self.rows
                .extend(bounds::rows(&self.bounds, &scenario.name, outcome.seed));
        }
    }
}

/// Runs a scenario and shows what came out.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let loaded = clearway_policy::load(&arguments.scenario, &arguments.set)
        .map_err(|mistakes| not_a_scenario(&arguments.scenario).unwrap_or(Failure::Mistakes(mistakes)))?;
    warn(&loaded.warnings);
    let first = arguments.seed.unwrap_or(loaded.scenario.seed);
    let seeds: Vec<u64> = (0..u64::from(arguments.seeds))
        .map(|n| first.wrapping_add(n))
        .collect();
    let threads = cores::cores().min(seeds.len());
    fits(&loaded, threads)?;
    let folder = arguments.output.out.as_deref().map(Folder::open).transpose()?;
    let capture = folder
        .as_ref()
        .map(|f| Capture::open(f, &loaded.scenario, first))
        .transpose()?
        .flatten();
    let stop = interrupt::on_signal()?;
    let mut finished = simulate(&loaded, &seeds, threads, capture.as_ref(), &stop)?;
    finished.put_bounds();
    if let Some(capture) = capture {
        capture.close()?;
    }
    let document = document::of(&finished);
    if arguments.output.json {
        print(&format!("{document}\n"))?;
    } else {
        print(&tables::text(&finished))?;
    }
    if let Some(folder) = &folder {
        fill(folder, &finished, &format!("{document:#}\n"))?;
        say(&format!("wrote {}\n", folder.shown()));
    }
    if finished.interrupted {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}

/// A policy given as a scenario has as many mistakes as keys; one word is better.
fn not_a_scenario(file: &Path) -> Option<Failure> {
    let text = std::fs::read_to_string(file).ok()?;
    clearway_policy::load_policy_str(&text, "").ok()?;
    (!clearway_policy::is_scenario(&text)).then(|| {
        Failure::Usage(format!(
            "{} is a policy; run takes a scenario, which says who uses which policy and what is sent (clearway check \
             looks at both)",
            file.display()
        ))
    })
}

/// Says what is probably not as meant.
pub(crate) fn warn(warnings: &[Diagnostic]) {
    for warning in warnings {
        say(&format!("{warning}\n"));
    }
}

/// Refuses what the machine's memory cannot hold.
pub(crate) fn fits(loaded: &Loaded, threads: usize) -> Result<(), Failure> {
    let Some(available) = machine::available_bytes() else {
        return Ok(());
    };
    let estimate = clearway_sim::estimate(&loaded.scenario);
    let needed = estimate.bytes.saturating_mul(threads as u64);
    if needed <= available {
        return Ok(());
    }
    let size = |bytes: u64| {
        clearway_report::quantity::humanised(bytes as f64, "B", 3, clearway_report::Micro::Ascii)
    };
    let together = match threads {
        1 => String::new(),
        threads => format!(" ({threads} seeds at a time)"),
    };
    Err(Failure::Environment(format!(
        "the run needs about {} of memory{together}, and {} can be had; fewer flows, a smaller frames_max or \
         flows_max in its policies, or a longer sample_interval would help",
        size(needed),
        size(available),
    )))
}

/// Runs all seeds, with a progress bar, until they are done or `stop` is set.
pub(crate) fn simulate<'a>(
    loaded: &'a Loaded,
    seeds: &[u64],
    threads: usize,
    capture: Option<&Capture>,
    stop: &AtomicBool,
) -> Result<Finished<'a>, Failure> {
    let scenario = &loaded.scenario;
    let progress = Progress::new(seeds.len() as u64, scenario.duration.as_ps());
    let before = machine::processor_time();
    let run = Run {
        scenario,
        seeds,
        threads,
        stop,
        advance: &|by| progress.advance(by.as_ps()),
        frames: &|seed, records| {
            if let Some(capture) = capture {
                capture.take(seed, records);
            }
        },
    };
    let mut outcomes = progress
        .watch(|| run.outcomes())
        .map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    let spent = machine::processor_time()
        .zip(before)
        .map(|(after, before)| (after - before).as_secs_f64());
    let engine = Engine {
        events: outcomes.iter().map(|o| o.engine.events).sum(),
        packet_hops: outcomes.iter().map(|o| o.engine.packet_hops).sum(),
        cpu_s: spent,
        wall_s: progress.elapsed().as_secs_f64(),
        peak_bytes: machine::peak_bytes(),
    };
    let interrupted = outcomes.len() < seeds.len() || outcomes.iter().any(|o| o.stopped);
    // Sums over a part of the time do not belong beside those over all of it.
    if outcomes.iter().any(|o| !o.stopped) {
        outcomes.retain(|o| !o.stopped);
    }
    let rows = outcomes.iter().flat_map(|o| o.rows(&scenario.name)).collect();
    Ok(Finished {
        loaded,
        outcomes,
        rows,
        bounds: ScenarioBounds::default(),
        engine,
        interrupted,
        asked: seeds.len(),
    })
}

/// Writes the folder.
fn fill(folder: &Folder, finished: &Finished<'_>, document: &str) -> Result<(), Failure> {
    let encoded = |frame: &Frame| {
        parquet::write(frame).map_err(|e| Failure::Environment(format!("cannot write Parquet: {e}")))
    };
    folder.write("summary.json", document.as_bytes())?;
    let rows = Frame::of_rows(&finished.rows);
    folder.write("rows.csv", csv::write(&rows).as_bytes())?;
    folder.write("rows.parquet", &encoded(&rows)?)?;
    let traces = traces::all(finished);
    if !traces.is_empty() {
        let series = Frame::of_traces(&traces);
        folder.write("series.csv", csv::write(&series).as_bytes())?;
        folder.write("series.parquet", &encoded(&series)?)?;
    }
    folder.write("report.html", page::of(finished).render().as_bytes())
}
