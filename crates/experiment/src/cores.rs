//! Independent pieces of work on all cores: seeds, sweep points, cases.
//!
//! Results come back in the order of the items, whatever finished first, so that nothing printed later depends on
//! the machine's load. A cancelled run starts nothing new and gives what is done. It leaves out priorities and work
//! that starts more work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many pieces run at a time on this machine.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `work` for every item, at most `threads` at a time. `None` stands for an item that was not begun because
/// `stop` was set.
///
/// # Panics
/// When `work` panics, with its message, after the pieces that run have ended.
pub fn on_all_cores<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    stop: &AtomicBool,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<Option<T>> {
    let results: Vec<Mutex<Option<T>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(item), Some(result)) = (items.get(index), results.get(index)) else {
                return;
            };
            let done = work(item);
            *result.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(done);
        }
    };
    let threads = threads.clamp(1, items.len().max(1));
    if threads == 1 {
        worker();
    } else {
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
            for thread in running {
                if let Err(panic) = thread.join() {
                    std::panic::resume_unwind(panic);
                }
            }
        });
    }
    results
        .into_iter()
        .map(|r| r.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let stop = AtomicBool::new(false);
        for threads in [0, 1, 2, 7, 1000] {
            let squares = on_all_cores(&items, threads, &stop, |n| n * n);
            assert!(
                squares
                    .iter()
                    .zip(&items)
                    .all(|(square, n)| *square == Some(n * n)),
                "{threads} threads"
            );
        }
        assert_eq!(on_all_cores(&[], 4, &stop, |n: &u64| *n), []);
    }

    #[test]
    fn a_stop_keeps_what_is_done_and_begins_nothing_new() {
        let items: Vec<u64> = (0..100).collect();
        let stop = AtomicBool::new(false);
        let results = on_all_cores(&items, 1, &stop, |n| {
            stop.store(*n == 9, Ordering::Relaxed);
            *n
        });
        assert_eq!(results.iter().flatten().count(), 10);
        assert_eq!(results[9], Some(9));
        assert!(results[10..].iter().all(Option::is_none));
    }

    #[test]
    fn a_panic_is_not_swallowed() {
        let stop = AtomicBool::new(false);
        let caught =
            std::panic::catch_unwind(|| on_all_cores(&[1, 2, 3], 2, &stop, |n| assert!(*n != 2, "two")));
        assert!(caught.is_err());
    }
}
