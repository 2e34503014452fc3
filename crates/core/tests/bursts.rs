//! Frames that are queued together leave a manager in the state that queueing them one by one does, every field of it.

#[path = "driver/choice.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod choice;
#[path = "driver/plans.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod plans;

use choice::{Choice, Seeded};
use clearway_core::{
    Change, Classify, Dequeue, Ecn, Egress, FlowId, FrameHandle, Instant, NodeId, TrafficManager,
};

/// Bursts that were taken together and those that were not, in 120 random steps on a random tree.
fn bursts_of_a_run(seed: u64) -> (u32, u32) {
    let c = &mut Seeded(seed);
    let plan = plans::plan(c);
    let mut manager = TrafficManager::new(&plan).expect("valid");
    let (mut together, mut apart, mut now, mut handle) = (0, 0, 0, 0);
    for _ in 0..120 {
        let key = plans::key(c.below(plans::KEYS as u64) as usize);
        let len = 1 + c.below(u64::from(plan.frame_bytes_max)) as u32;
        let times = 1 + c.below(6) as u32;
        now += c.below(1_000_000);
        let at = Instant::from_ps(now);
        if let Ok(target) = manager.classify(at, &key) {
            if c.percent(10) {
                let (flow, from) = (FlowId::of(&key), target.queue);
                let to = NodeId::first(c.below(plan.nodes.len() as u64) as u32);
                let _ = manager.reconfigure(at, Change::MoveFlow { flow, from, to });
            }
            let (mut one_by_one, before, first) = (manager.clone(), manager.clone(), handle);
            let took = manager.enqueue_more(at, target, len, times, || {
                handle += 1;
                FrameHandle(handle)
            });
            if took {
                together += 1;
                for frame in 1..=times {
                    let queued =
                        one_by_one.enqueue(at, target, FrameHandle(first + frame), len, Ecn::NotCapable);
                    assert!(
                        queued.is_ok(),
                        "seed {seed}: frame {frame} of {times}: {queued:?}"
                    );
                }
                assert_eq!(handle, first + times);
                assert_eq!(format!("{manager:?}"), format!("{one_by_one:?}"), "seed {seed}");
            } else {
                apart += 1;
                assert_eq!(handle, first, "seed {seed}: asked for a frame and left it");
                assert_eq!(manager.frames_queued(), before.frames_queued(), "seed {seed}");
                for _ in 0..times {
                    handle += 1;
                    let _ = manager.enqueue(at, target, FrameHandle(handle), len, Ecn::Capable);
                }
            }
        }
        for _ in 0..c.below(4) {
            if let Dequeue::Wait { until, .. } = manager.dequeue(at) {
                now = until.as_ps().min(now + 5_000_000);
            }
        }
    }
    (together, apart)
}

#[test]
fn frames_queued_together_are_as_if_queued_one_by_one() {
    let (mut together, mut apart) = (0, 0);
    for seed in 0..120 {
        let (a, b) = bursts_of_a_run(seed);
        together += a;
        apart += b;
    }
    assert!(
        together > 500 && apart > 500,
        "{together} together, {apart} apart"
    );
}
