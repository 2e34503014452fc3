//! The manager against the slow reference model, on random plans and random calls: every answer, instant, backlog and
//! counter must be the same. `CLEARWAY_SECONDS` sets how long it runs, `CLEARWAY_FIRST` at which seed it starts, and
//! `CLEARWAY_SEED` replays one case.

mod driver;
mod model;

use driver::choice::{Choice, Seeded};
use driver::seen::Seen;
use driver::steps::{Mix, Step, step};
use driver::{plans, shrink};
use std::time::{Duration, Instant};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn case(seed: u64) -> (clearway_core::Plan, Vec<Step>) {
    let c = &mut Seeded(seed);
    let plan = plans::plan(c);
    let calls = c.of(&[60, 300, 1_500]);
    let (crowded, forward) = c.of(&[(0, 0), (0, 10), (40, 10), (75, 0), (0, 90)]);
    let steps = (0..calls).map(|_| step(c, Mix { crowded, forward })).collect();
    (plan, steps)
}

fn carry_out(seed: u64, seen: &mut Seen) {
    let (plan, steps) = case(seed);
    let (run, failure) = shrink::run(&plan, &steps, false);
    if let Some(failure) = failure {
        std::panic::set_hook(Box::new(|_| {}));
        let report = shrink::report(&plan, &steps);
        let _ = std::panic::take_hook();
        panic!(
            "CLEARWAY_SEED={seed} fails at step {}: {}\nshrunk: {report}",
            failure.step, failure.what
        );
    }
    if let Some(run) = run {
        seen.add(&run.seen);
    }
}

#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "a time budget, for the person who waits"
)]
fn the_manager_answers_like_the_model() {
    let mut seen = Seen::default();
    if let Some(seed) = number("CLEARWAY_SEED") {
        carry_out(seed, &mut seen);
        return;
    }
    // At least the first seeds, always the same, whatever the machine; then as many as the time allows.
    let budget = Duration::from_secs(number("CLEARWAY_SECONDS").unwrap_or(15));
    let first = number("CLEARWAY_FIRST").unwrap_or(0);
    let (start, mut seed) = (Instant::now(), first);
    while seed < first + 400 || start.elapsed() < budget {
        carry_out(seed, &mut seen);
        seed += 1;
    }
    println!("{} cases\n{}", seed - first, seen.table());
    assert_eq!(seen.missing(), Vec::<&str>::new(), "never met up to seed {seed}");
}
