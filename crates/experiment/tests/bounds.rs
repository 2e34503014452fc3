//! No simulated delay or backlog is ever above its bound, over random networks, policies and workloads; and the bounds are
//! reached where theory says that they are.
//!
//! `CLEARWAY_BOUNDS_CASES=100000 cargo test --release -p clearway-experiment --test bounds` looks at more cases;
//! `CLEARWAY_BOUNDS_SEED=n` begins at another one, and `CLEARWAY_BOUNDS_SHOW=1` prints the scenario of each.

#[path = "bounds/compare.rs"]
mod compare;
#[path = "bounds/random.rs"]
mod random;
#[path = "bounds/tight.rs"]
mod tight;

use compare::Compared;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

#[test]
fn nothing_is_ever_later_or_longer_than_its_bound() {
    let first = number("CLEARWAY_BOUNDS_SEED", 1);
    let cases = number("CLEARWAY_BOUNDS_CASES", 150);
    let mut all = Compared::default();
    let mut wrong = String::new();
    for seed in first..first + cases {
        let one = compare::compare(&random::scenario(seed), &format!("case {seed}"));
        wrong.push_str(&one.wrong);
        all.add(&one);
    }
    println!("{all:?}");
    assert!(wrong.is_empty(), "{wrong}");
    // A comparison that is never made shows nothing.
    assert!(
        cases < 50 || all.delays > 3 * cases && all.backlogs > 5 * cases,
        "{all:?}"
    );
    assert!(cases < 50 || 2 * all.delays > all.unbounded, "{all:?}");
}
