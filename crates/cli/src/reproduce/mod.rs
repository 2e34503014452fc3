//! `clearway reproduce`: published experiments, published against predicted.
//!
//! What is finished is kept: a call after an interruption goes on where the other was, and a call with nothing changed
//! shows what was found before, byte for byte.

mod document;
mod summary;
mod text;
mod watch;

use crate::arguments::Reproduce;
use crate::cache::{Cache, Shelf};
use crate::ending::{Failure, print, say};
use crate::folder::Folder;
use crate::{interrupt, machine};
use clearway_experiment::cores;
use clearway_experiment::reproduce::{self, Context, Experiment, Reproduced, Store};
use clearway_report::{Cell, Table, TextOptions};
use std::io::stdout;
use std::sync::atomic::AtomicBool;
use watch::Watch;

/// An experiment, done, and the seconds that a person waited for it.
struct Timed {
    reproduced: Reproduced,
    seconds: f64,
}

/// An experiment to be done.
struct Due<'a> {
    experiment: &'a dyn Experiment,
    seeds: u32,
    shelf: Option<Shelf>,
    /// Its findings stand there.
    kept: bool,
    /// Seconds that it will take, where that is known.
    expected: Option<f64>,
}

/// Runs the experiments and shows what they found.
pub(crate) fn reproduce(arguments: &Reproduce) -> Result<(), Failure> {
    let known = reproduce::experiments();
    let chosen = choose(&known, &arguments.names)?;
    let cache = Cache::open(arguments)?;
    let all_due = due(&chosen, arguments, cache.as_ref());
    if arguments.list {
        return list(&all_due);
    }
    let folder = arguments.output.out.as_deref().map(Folder::open).transpose()?;
    let stop = interrupt::on_signal()?;
    let full = arguments.full || all_due.len() == 1;
    let mut all: Vec<Timed> = Vec::new();
    for place in 0..all_due.len() {
        let timed = one(&all_due, place, &stop)?;
        if let Some(cache) = &cache {
            let r = &timed.reproduced;
            // Only a whole run says how long the next will take.
            if !r.kept && !r.stopped && all_due[place].expected.is_none_or(|e| timed.seconds > e / 2.0) {
                cache.took(&r.name, r.seeds, timed.seconds);
            }
        }
        if !arguments.output.json {
            print(&text::one(&timed.reproduced, full))?;
        }
        let stopped = timed.reproduced.stopped;
        all.push(timed);
        if stopped {
            break;
        }
    }
    let document = document::document(&all);
    if arguments.output.json {
        print(&format!("{document}\n"))?;
    } else if all_due.len() > 1 {
        print(&text::end(&all, full))?;
    }
    if let Some(folder) = &folder {
        document::fill(folder, &all, &format!("{document:#}\n"))?;
        say(&format!("wrote {}\n", folder.shown()));
    }
    let wrong = |t: &Timed| t.reproduced.misses() || !t.reproduced.missing.is_empty();
    if all.iter().any(|t| t.reproduced.stopped) {
        Err(Failure::Interrupted)
    } else if arguments.strict && all.iter().any(wrong) {
        Err(Failure::Check)
    } else {
        Ok(())
    }
}

/// What is to be done, and how long it will take if that is known.
fn due<'a>(chosen: &[&'a dyn Experiment], arguments: &Reproduce, cache: Option<&Cache>) -> Vec<Due<'a>> {
    let times = cache.map(Cache::times).unwrap_or_default();
    let one = |experiment: &&'a dyn Experiment| {
        let seeds = arguments.seeds.unwrap_or_else(|| experiment.default_seeds());
        let shelf = cache.map(|c| c.shelf(experiment.name()));
        let kept = shelf
            .as_ref()
            .is_some_and(|s| reproduce::is_kept(*experiment, seeds, s));
        let last = || times.get(&(experiment.name().to_owned(), seeds)).copied();
        Due {
            experiment: *experiment,
            seeds,
            expected: if kept { Some(0.0) } else { last() },
            kept,
            shelf,
        }
    };
    chosen.iter().map(one).collect()
}

/// Does one of them.
fn one(all: &[Due<'_>], place: usize, stop: &AtomicBool) -> Result<Timed, Failure> {
    let due = &all[place];
    let name = due.experiment.name();
    let after = all[place + 1..].iter().map(|d| d.expected).sum::<Option<f64>>();
    let expected = due.expected.zip(after).map(|(this, after)| [this, after]);
    let shown = match all.len() {
        1 => name.to_owned(),
        of => format!("[{} of {of}] {name}", place + 1),
    };
    let watch = Watch::begin(shown, expected);
    let context = Context {
        seeds: due.seeds,
        threads: cores::cores(),
        stop,
        progress: &|progress| watch.show(progress),
        store: due.shelf.as_ref().map(|s| s as &dyn Store),
    };
    let reproduced = reproduce::reproduce(due.experiment, &context);
    watch.end();
    Ok(Timed {
        reproduced: reproduced.map_err(|why| Failure::Usage(format!("{name}: {why}")))?,
        seconds: watch.elapsed().as_secs_f64(),
    })
}

fn list(all: &[Due<'_>]) -> Result<(), Failure> {
    let mut table = Table::new("Experiments", ["name", "what", "document", "seeds", "kept"]);
    for due in all {
        let experiment = due.experiment;
        let file = reproduce::read(experiment.name(), experiment.data()).map_err(Failure::Usage)?;
        let runs = due.shelf.as_ref().map_or(0, Shelf::runs);
        let kept = match (due.kept, runs) {
            (true, _) => "finished".to_owned(),
            (false, 0) => "-".to_owned(),
            (false, runs) => format!("{runs} runs"),
        };
        table.push([
            Cell::text(experiment.name()),
            Cell::text(file.title),
            Cell::text(file.document),
            Cell::number(due.seeds.into(), "1"),
            Cell::text(kept),
        ]);
    }
    print(&table.to_text(TextOptions {
        width: machine::columns(&stdout()),
        colour: false,
    }))
}

fn choose<'a>(known: &[&'a dyn Experiment], names: &[String]) -> Result<Vec<&'a dyn Experiment>, Failure> {
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |name: &String| {
        known.iter().copied().find(|e| e.name() == name).ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|e| e.name()).collect();
            let near = clearway_policy::diagnostic::nearest(name, all.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
            Failure::Usage(format!(
                "no experiment {name:?}{hint}; there are {}",
                all.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}
