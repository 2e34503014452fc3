//! Time of a frame in and a frame out. Run with `cargo bench -p clearway-core --bench queues`.
//!
//! The baseline is the same loop without a manager; machines differ, so compare the ratio as well as the time.

mod load;

use criterion::{Criterion, Throughput};
use load::{LOADS, Load};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("enqueue and dequeue");
    group.throughput(Throughput::Elements(1));
    for (index, (name, _)) in LOADS.into_iter().enumerate() {
        let mut load = Load::new(index);
        group.bench_function(name, |bencher| bencher.iter(|| load.step()));
        assert!(load.passed() == 0 || load.sum > 0, "{name}: nothing passed");
    }
    group.finish();
    criterion.final_summary();
    for (name, nanoseconds) in LOADS.iter().skip(1) {
        println!("target: {name}: {nanoseconds} ns");
    }
}
