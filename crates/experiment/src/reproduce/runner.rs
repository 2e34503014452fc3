//! Runs the cases of a reproduction, each with every seed, on all cores.
//!
//! A case is a scenario text with overrides, the same overrides that `clearway run --set` takes, so that each case can be
//! run by hand. Only what a reproduction extracts from an outcome is kept.

use super::kept::{self, Store};
use crate::cores::on_all_cores;
use clearway_policy::{Diagnostic, load_str};
use clearway_sim::{Observer, Outcome, Progress as SimProgress, RunOptions, run_with};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a reproduction is run with.
pub struct Context<'a> {
    /// Seeds a case; the seeds are 1, 2, 3, ...
    pub seeds: u32,
    /// Runs at a time.
    pub threads: usize,
    /// Set to stop; what is done is kept.
    pub stop: &'a AtomicBool,
    /// Told whenever a run has ended.
    pub progress: &'a (dyn Fn(&Progress<'_>) + Sync),
    /// Where finished results are kept and found again; none: everything is run.
    pub store: Option<&'a dyn Store>,
}

impl Context<'_> {
    /// True once somebody wants it to end: nothing further is begun.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Context<'_> {
    /// What `f` makes of a context on two threads that tells nobody and keeps nothing.
    pub(crate) fn in_test<T>(seeds: u32, stop: bool, f: impl FnOnce(&Context<'_>) -> T) -> T {
        f(&Context {
            seeds,
            threads: 2,
            stop: &AtomicBool::new(stop),
            progress: &|_| {},
            store: None,
        })
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("seeds", &self.seeds)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// How far a batch of runs is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The case whose run has ended.
    pub case: &'a str,
    /// Runs that have ended, those that were found kept included.
    pub done: usize,
    /// Runs that were found kept.
    pub kept: usize,
    /// Runs of the batch.
    pub total: usize,
}

/// One case: a scenario with overrides.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in results.
    pub name: String,
    /// `path=value`, as `--set` takes them.
    pub sets: Vec<String>,
    /// Seeds of this case, where it needs another number than the rest.
    pub seeds: Option<u32>,
}

impl Case {
    /// A case with these overrides and the batch's seeds.
    pub fn new<S: Into<String>>(name: impl Into<String>, sets: impl IntoIterator<Item = S>) -> Self {
        Self {
            name: name.into(),
            sets: sets.into_iter().map(Into::into).collect(),
            seeds: None,
        }
    }

    /// The same case with its own number of seeds.
    #[must_use]
    pub const fn with_seeds(mut self, seeds: u32) -> Self {
        self.seeds = Some(seeds);
        self
    }
}

/// A scenario text that cases vary.
#[derive(Clone, Copy, Debug)]
pub struct Runner<'a> {
    /// File name for messages.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
    /// What a run keeps beside its results.
    pub options: RunOptions,
}

struct Watch<'a> {
    stop: &'a AtomicBool,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, _: SimProgress) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

impl Runner<'_> {
    /// Runs every case with every seed and extracts what is wanted. One list a case, one value a seed; a case that was
    /// stopped has fewer. Nothing is kept until the experiment is finished: see [`Self::run_kept`].
    ///
    /// # Errors
    /// The first case that cannot be read or run, with the reason.
    pub fn run<T: Send>(
        &self,
        context: &Context<'_>,
        cases: &[Case],
        extract: impl Fn(&Case, u64, &Outcome) -> T + Sync,
    ) -> Result<Vec<Vec<T>>, String> {
        self.batch(context, cases, &|_, _| None, &|_, _, _| (), &extract)
    }

    /// The same, and keeps what was extracted from each run as soon as it has ended: an interrupted experiment goes on where
    /// it was. `wanted` names what the extraction depends on beside the outcome and the case, such as which parts of
    /// it are wanted: two extractions that differ need two names.
    ///
    /// # Errors
    /// The first case that cannot be read or run, with the reason.
    pub fn run_kept<T: Send + Serialize + DeserializeOwned>(
        &self,
        context: &Context<'_>,
        cases: &[Case],
        wanted: &str,
        extract: impl Fn(&Case, u64, &Outcome) -> T + Sync,
    ) -> Result<Vec<Vec<T>>, String> {
        let name = |case: &Case, seed: u64| self.kept_name(case, seed, wanted, std::any::type_name::<T>());
        let find = |case: &Case, seed: u64| kept::find(context.store, &name(case, seed));
        let keep = |case: &Case, seed: u64, result: &T| kept::keep(context.store, &name(case, seed), result);
        self.batch(context, cases, &find, &keep, &extract)
    }

    /// The name of what is kept of one run.
    pub(super) fn kept_name(&self, case: &Case, seed: u64, wanted: &str, form: &str) -> String {
        let (options, seed) = (format!("{:?}", self.options), seed.to_le_bytes());
        let mut parts: Vec<&[u8]> = vec![
            self.file.as_bytes(),
            self.text.as_bytes(),
            options.as_bytes(),
            &seed,
        ];
        parts.extend([wanted.as_bytes(), form.as_bytes(), case.name.as_bytes()]);
        parts.extend(case.sets.iter().map(|set| set.as_bytes()));
        format!("run-{}", kept::digest(&parts))
    }

    fn batch<T: Send>(
        &self,
        context: &Context<'_>,
        cases: &[Case],
        find: &(dyn Fn(&Case, u64) -> Option<T> + Sync),
        keep: &(dyn Fn(&Case, u64, &T) + Sync),
        extract: &(dyn Fn(&Case, u64, &Outcome) -> T + Sync),
    ) -> Result<Vec<Vec<T>>, String> {
        let mut work = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let loaded = load_str(self.text, self.file, &case.sets, &embedded)
                .map_err(|findings| format!("{}: {}", case.name, first_error(&findings)))?;
            for seed in 1..=u64::from(case.seeds.unwrap_or(context.seeds)) {
                work.push((index, seed, loaded.scenario.clone()));
            }
        }
        let total = work.len();
        let (done, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let failure: Mutex<Option<String>> = Mutex::new(None);
        let results = on_all_cores(&work, context.threads, context.stop, |(index, seed, scenario)| {
            let case = &cases[*index];
            let tell = |found: usize| {
                (context.progress)(&Progress {
                    case: &case.name,
                    kept: kept.fetch_add(found, Ordering::Relaxed) + found,
                    done: done.fetch_add(1, Ordering::Relaxed) + 1,
                    total,
                });
            };
            if let Some(result) = find(case, *seed) {
                tell(1);
                return Some(result);
            }
            let outcome = run_with(scenario, *seed, &self.options, &mut Watch { stop: context.stop });
            tell(0);
            match outcome {
                Ok(outcome) if outcome.stopped => None,
                Ok(outcome) => {
                    let result = extract(case, *seed, &outcome);
                    keep(case, *seed, &result);
                    Some(result)
                }
                Err(refusal) => {
                    let mut failure = failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    failure.get_or_insert_with(|| format!("{}: {refusal}", case.name));
                    None
                }
            }
        });
        if let Some(message) = failure
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            return Err(message);
        }
        let mut by_case: Vec<Vec<T>> = cases.iter().map(|_| Vec::new()).collect();
        for ((index, ..), result) in work.iter().zip(results) {
            by_case[*index].extend(result.flatten());
        }
        Ok(by_case)
    }
}

fn first_error(findings: &[Diagnostic]) -> String {
    findings
        .first()
        .map_or_else(|| "cannot be read".to_owned(), ToString::to_string)
}

/// The files that shipped scenarios name, as part of the program: a reproduction needs no checkout.
fn embedded(path: &str) -> Result<Vec<u8>, String> {
    const FILES: &[(&str, &str)] = &[
        (
            "policies/two-channels.toml",
            include_str!("../../../../policies/two-channels.toml"),
        ),
        (
            "policies/eight-classes.toml",
            include_str!("../../../../policies/eight-classes.toml"),
        ),
        (
            "policies/ets-80-20.toml",
            include_str!("../../../../policies/ets-80-20.toml"),
        ),
        (
            "policies/per-destination.toml",
            include_str!("../../../../policies/per-destination.toml"),
        ),
        (
            "policies/per-destination-priority.toml",
            include_str!("../../../../policies/per-destination-priority.toml"),
        ),
        (
            "policies/rac-interconnect.toml",
            include_str!("../../../../policies/rac-interconnect.toml"),
        ),
        (
            "policies/saas-levels.toml",
            include_str!("../../../../policies/saas-levels.toml"),
        ),
        (
            "policies/saas-guarantees.toml",
            include_str!("../../../../policies/saas-guarantees.toml"),
        ),
        (
            "policies/seismic-messages.toml",
            include_str!("../../../../policies/seismic-messages.toml"),
        ),
        (
            "policies/lun-first.toml",
            include_str!("../../../../policies/lun-first.toml"),
        ),
        (
            "policies/lun-weighted.toml",
            include_str!("../../../../policies/lun-weighted.toml"),
        ),
        (
            "policies/lun-guarantee.toml",
            include_str!("../../../../policies/lun-guarantee.toml"),
        ),
        (
            "policies/video.toml",
            include_str!("../../../../policies/video.toml"),
        ),
        ("devices/t5.toml", include_str!("../../../../devices/t5.toml")),
        (
            "devices/sfn7122f.toml",
            include_str!("../../../../devices/sfn7122f.toml"),
        ),
        (
            "devices/acenic.toml",
            include_str!("../../../../devices/acenic.toml"),
        ),
        (
            "devices/generic-kernel.toml",
            include_str!("../../../../devices/generic-kernel.toml"),
        ),
    ];
    let name = path.trim_start_matches("../");
    FILES
        .iter()
        .find(|(file, _)| *file == name)
        .map(|(_, text)| text.as_bytes().to_vec())
        .ok_or_else(|| format!("{path} is not part of the program"))
}
