//! The hold model (Jones, CACM 29(4), 1986): pop the first event, push it again a random gap later; the number
//! waiting stays the same. Wheel against heap, with few, some and very many events waiting, and three shapes of
//! gaps: exponential, those of frames in a switch (now, a frame time, a cable, a burst gap), and constant-rate flows.

// The macro below makes public functions without documentation.
#![allow(missing_docs)]

use clearway_core::{Duration, Instant};
use clearway_sim::engine::{EventQueue, HeapQueue, Phase, Stream};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::hint::black_box;

/// Gaps drawn ahead, so that drawing them costs the same load for every queue.
fn gaps(law: &str) -> Vec<Duration> {
    let mut stream = Stream::new(1, 0, law);
    (0..1 << 12)
        .map(|_| {
            let ps = match law {
                "exponential" => (stream.exponential() * 10e6) as u64,
                "constant-rate" => 3_000_000_000 + stream.below(27_000_000_000),
                _ => [
                    0,
                    67_200,
                    500_000,
                    1_230_400,
                    1_230_400,
                    2_000_000,
                    stream.below(30_000_000),
                ][stream.below(7) as usize],
            };
            Duration::from_ps(ps)
        })
        .collect()
}

macro_rules! hold {
    ($criterion:expr, $name:literal, $queue:ident, $law:expr, $waiting:expr) => {
        let gaps = gaps($law);
        let mut queue = $queue::new(64);
        for event in 0..$waiting {
            let at = Instant::ZERO + gaps[event as usize % gaps.len()];
            queue.push(at, Phase::Arrival, event % 64, [event; 4]);
        }
        let mut turn = 0;
        let mut step = || {
            if let Some((at, event)) = queue.pop() {
                turn = (turn + 1) % (1 << 12);
                queue.push(at + gaps[turn], Phase::Arrival, event[0] % 64, event);
            }
        };
        for _ in 0..4 * $waiting.max(20_000) {
            step();
        }
        let id = BenchmarkId::new(format!("{}/{}", $law, $name), $waiting);
        $criterion.bench_function(id, |bencher| bencher.iter(|| black_box(step())));
    };
}

fn hold_model(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hold");
    for law in ["exponential", "switch", "constant-rate"] {
        for waiting in [100_u32, 10_000, 1_000_000] {
            hold!(group, "heap", HeapQueue, law, waiting);
            hold!(group, "wheel", EventQueue, law, waiting);
        }
    }
    group.finish();
}

fn streams(criterion: &mut Criterion) {
    let mut stream = Stream::new(1, 0, "bench");
    criterion.bench_function("stream/below", |bencher| {
        bencher.iter(|| stream.below(black_box(15)))
    });
    criterion.bench_function("stream/exponential", |bencher| {
        bencher.iter(|| stream.exponential())
    });
}

criterion_group!(benches, hold_model, streams);
criterion_main!(benches);
