//! Bytes become a plan and calls; the manager must answer like the reference model of `crates/core/tests`.
#![no_main]

#[path = "../../../crates/core/tests/driver/mod.rs"]
#[allow(dead_code, reason = "the differential test counts and shrinks as well")]
mod driver;
#[path = "../../../crates/core/tests/model/mod.rs"]
mod model;

use driver::choice::Choice;
use driver::compare::Run;
use driver::plans;
use driver::steps::{Mix, step};
use libfuzzer_sys::fuzz_target;

/// More calls than this make an input slow and no more telling.
const CALLS_MAX: usize = 400;

/// Decisions from the input, a byte for each small one; zeros when it is spent.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take(&mut self, count: usize) -> u64 {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

impl Choice for Bytes<'_> {
    fn draw(&mut self) -> u64 {
        // Two bytes, spread over all 64 bits.
        self.take(2).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn below(&mut self, n: u64) -> u64 {
        let bytes = match n {
            0 | 1 => return 0,
            2..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            0x1_0001..=0x1_0000_0000 => 4,
            _ => 8,
        };
        self.take(bytes) % n
    }
}

/// Carries out the input; what disagreed, with the calls before it where they are kept.
fn run(input: &[u8], keep_trace: bool) -> Result<(), String> {
    let bytes = &mut Bytes(input);
    let plan = plans::plan(bytes);
    let mix = Mix {
        crowded: bytes.below(4) * 25,
        forward: bytes.below(4) * 30,
    };
    let mut run = Run::new(&plan, keep_trace)?;
    for _ in 0..CALLS_MAX {
        if bytes.0.is_empty() {
            break;
        }
        if let Err(what) = run.step(&step(bytes, mix)) {
            let calls = run.trace.unwrap_or_default().join("\n");
            return Err(format!("{what}\ncalls:\n{calls}\nplan:\n{plan:#?}"));
        }
    }
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    if run(input, false).is_err() {
        panic!("{}", run(input, true).err().unwrap_or_default());
    }
});
