//! What must hold whatever the rules page says: no frame is lost, doubled or reordered, no shaper is exceeded, no
//! answer is early or late. Nothing here knows the reference model.

#[path = "driver/choice.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod choice;
#[path = "driver/plans.rs"]
#[allow(dead_code, reason = "the differential test uses the rest")]
mod plans;
#[path = "properties/port.rs"]
mod port;
#[path = "properties/scheduling.rs"]
mod scheduling;

use choice::{Choice, Seeded};
use clearway_core::plan::{FlowShape, NodeKind, Plan, QueueMode};
use clearway_core::{FrameDesc, QueueId};
use port::{Op, Outcome, Port, ops};
use std::collections::BTreeMap;

const SEEDS: u64 = 300;
const CALLS: usize = 600;

fn each_plan(purpose: u64, mut edit: impl FnMut(&mut Plan), mut check: impl FnMut(&Plan, &mut Seeded)) {
    for seed in 0..SEEDS {
        let c = &mut Seeded(purpose << 32 | seed);
        let mut plan = plans::plan(c);
        edit(&mut plan);
        check(&plan, c);
    }
}

fn edit_queues(plan: &mut Plan, edit: impl Fn(&mut clearway_core::plan::QueuePlan)) {
    for node in &mut plan.nodes {
        if let NodeKind::Queue(queue) = &mut node.kind {
            edit(queue);
        }
    }
}

#[test]
fn every_frame_that_enters_leaves_once_and_its_flow_stays_in_order() {
    let (mut left, mut moved, mut removed, mut held) = (0, 0, 0, 0);
    let check = |plan: &Plan, c: &mut Seeded| {
        let mut port = Port::new(plan, 0);
        let mut last = BTreeMap::new();
        let mut leave = |port: &mut Port, frame: FrameDesc| {
            let (flow, entered) = port.strike(frame);
            assert!(entered <= port.now_ps, "{frame:?} left before it entered");
            let before = last.insert(flow, frame.handle);
            assert!(
                before.is_none_or(|before| before < frame.handle),
                "flow {flow}: {frame:?} after {before:?}"
            );
            left += 1;
        };
        for op in ops(c, CALLS, plan.frame_bytes_max, true) {
            match port.carry_out(op) {
                Some(Outcome::Left(frame) | Outcome::Dropped(frame)) => leave(&mut port, frame),
                Some(Outcome::Moved(true)) => moved += 1,
                Some(Outcome::Removed(true)) => removed += 1,
                _ => {}
            }
            use clearway_core::Egress;
            held += port
                .queues
                .iter()
                .map(|&q| u64::from(port.manager.backlog(q).held_frames))
                .sum::<u64>();
        }
        // Then everything comes out.
        loop {
            match port.take() {
                Outcome::Left(frame) | Outcome::Dropped(frame) => leave(&mut port, frame),
                Outcome::Wait { until_ps, .. } => port.now_ps = until_ps,
                _ => break,
            }
        }
        assert!(port.inside.is_empty(), "never came out: {:?}", port.inside);
        assert_eq!(port.manager.frames_queued(), 0);
    };
    each_plan(1, |_| {}, check);
    assert!(
        left > 10_000 && moved > 1_000 && removed > 50 && held > 1_000,
        "{left} {moved} {removed} {held}"
    );
}

/// The all-pairs bound as a running one: tokens missing fall at the rate, rise with each departure, and must never
/// exceed the burst. Then no interval between two departures carries more than rate times its length plus burst.
#[derive(Default)]
struct Bound {
    missing: i128,
    at_ps: u64,
}

impl Bound {
    /// Units are picobits or pico-frames: a rate gains just `rate` of them a picosecond.
    fn leave(&mut self, now_ps: u64, units: i128, rate: u64, burst: i128) {
        let gained = i128::from(rate) * i128::from(now_ps - self.at_ps);
        self.missing = (self.missing - gained).max(0) + units;
        self.at_ps = now_ps;
        assert!(self.missing <= burst, "{} above a burst of {burst}", self.missing);
    }
}

const BITS: i128 = 8_000_000_000_000;
const FRAMES: i128 = 1_000_000_000_000;

#[test]
fn no_shaper_ever_lets_more_through_than_rate_times_time_plus_burst() {
    let mut checked = [0_u64; 3];
    let check = |plan: &Plan, c: &mut Seeded| {
        let mut port = Port::new(plan, 0);
        let mut nodes: BTreeMap<(usize, bool), Bound> = BTreeMap::new();
        let mut flows: BTreeMap<usize, Bound> = BTreeMap::new();
        let mut leave = |port: &mut Port, frame: FrameDesc| {
            let (flow, _) = port.strike(frame);
            let now = port.now_ps;
            let mut at = Some(frame.queue.slot());
            while let Some(slot) = at {
                let node = &plan.nodes[slot];
                let bits = i128::from(node.accounting.cost(frame.len)) * BITS;
                if let Some(s) = node.rate {
                    let burst = i128::from(s.burst_bytes) * BITS;
                    nodes
                        .entry((slot, false))
                        .or_default()
                        .leave(now, bits, s.rate_bps, burst);
                    checked[0] += 1;
                }
                if let Some(s) = node.frame_rate {
                    let burst = i128::from(s.burst_frames) * FRAMES;
                    nodes
                        .entry((slot, true))
                        .or_default()
                        .leave(now, FRAMES, s.rate_fps, burst);
                    checked[1] += 1;
                }
                if let NodeKind::Queue(queue) = &node.kind
                    && let QueueMode::PerFlow {
                        shape: Some(shape), ..
                    } = queue.mode
                {
                    let (units, rate, burst) = match shape {
                        FlowShape::Bits(s) => (bits, s.rate_bps, i128::from(s.burst_bytes) * BITS),
                        FlowShape::Frames(s) => (FRAMES, s.rate_fps, i128::from(s.burst_frames) * FRAMES),
                    };
                    flows.entry(flow).or_default().leave(now, units, rate, burst);
                    checked[2] += 1;
                }
                at = node.parent.map(|p| p as usize);
            }
        };
        for op in ops(c, CALLS, plan.frame_bytes_max, false) {
            match port.carry_out(op) {
                Some(Outcome::Left(frame)) => leave(&mut port, frame),
                Some(Outcome::Dropped(frame)) => drop(port.strike(frame)),
                Some(Outcome::Wait { until_ps, .. }) if c.percent(60) => port.now_ps = until_ps,
                _ => {}
            }
        }
    };
    each_plan(2, |_| {}, check);
    assert!(checked.iter().all(|&n| n > 2_000), "{checked:?}");
}

#[test]
fn a_wait_is_exact_neither_a_picosecond_early_nor_late() {
    let mut waits = 0;
    let check = |plan: &Plan, c: &mut Seeded| {
        let mut port = Port::new(plan, 0);
        for op in ops(c, CALLS, plan.frame_bytes_max, true) {
            let Some(Outcome::Wait { until_ps, reason }) = port.carry_out(op) else {
                continue;
            };
            waits += 1;
            assert!(until_ps > port.now_ps);
            for at in [port.now_ps + (until_ps - port.now_ps) / 2, until_ps - 1] {
                port.now_ps = at;
                assert_eq!(
                    port.take(),
                    Outcome::Wait { until_ps, reason },
                    "asked again before it is due"
                );
            }
            port.now_ps = until_ps;
            let due = port.take();
            assert!(
                matches!(due, Outcome::Left(_) | Outcome::Dropped(_)),
                "due at {until_ps}: {due:?}"
            );
        }
    };
    each_plan(3, |_| {}, check);
    assert!(waits > 5_000, "{waits}");
}

#[test]
fn without_shapers_and_pauses_a_port_with_frames_never_waits() {
    let unshaped = |plan: &mut Plan| {
        for node in &mut plan.nodes {
            (node.rate, node.frame_rate) = (None, None);
        }
        edit_queues(plan, |queue| {
            if let QueueMode::PerFlow { shape, .. } = &mut queue.mode {
                *shape = None;
            }
        });
    };
    let mut taken = 0;
    let check = |plan: &Plan, c: &mut Seeded| {
        let mut port = Port::new(plan, 0);
        let calls = ops(c, CALLS, plan.frame_bytes_max, true);
        for op in calls.into_iter().filter(|op| !matches!(op, Op::Pause { .. })) {
            let inside = port.manager.frames_queued();
            match port.carry_out(op) {
                Some(Outcome::Left(_) | Outcome::Dropped(_)) => taken += 1,
                Some(Outcome::Empty) => assert_eq!(inside, 0, "empty with frames inside"),
                Some(Outcome::Wait { .. }) => panic!("waits with nothing to wait for"),
                _ => {}
            }
        }
    };
    each_plan(4, unshaped, check);
    assert!(taken > 10_000, "{taken}");
}

#[test]
fn a_shift_of_all_times_or_a_rebase_changes_no_answer() {
    let mut compared = 0;
    let check = |plan: &Plan, c: &mut Seeded| {
        let calls = ops(c, CALLS, plan.frame_bytes_max, true);
        // Where time stood still at `Wait`, it goes on from there in every run alike.
        let run = |shift: u64, rebases: Option<u64>| {
            let mut port = Port::new(plan, shift);
            let mut rebases = rebases.map(Seeded);
            let mut outcomes = Vec::new();
            for (index, &op) in calls.iter().enumerate() {
                if let Some(c) = rebases.as_mut()
                    && c.percent(5)
                {
                    port.rebase(c);
                }
                let outcome = port.carry_out(op);
                if let Some(Outcome::Wait { until_ps, .. }) = outcome
                    && index % 2 == 0
                {
                    port.now_ps = until_ps;
                }
                outcomes.push(outcome);
            }
            outcomes
        };
        let plain = run(0, None);
        compared += plain.len();
        assert_eq!(plain, run(1, None), "shifted by a picosecond");
        assert_eq!(plain, run(c.below(1 << 61), None), "shifted far");
        assert_eq!(plain, run(c.below(1 << 40), Some(c.draw())), "rebased");
    };
    each_plan(5, |_| {}, check);
    assert!(compared > 10_000, "{compared}");
}

#[test]
fn a_queue_keeps_what_its_backlog_says() {
    use clearway_core::Egress;
    let check = |plan: &Plan, c: &mut Seeded| {
        let mut port = Port::new(plan, 0);
        let mut held: BTreeMap<QueueId, i64> = BTreeMap::new();
        for op in ops(c, CALLS, plan.frame_bytes_max, false) {
            match port.carry_out(op) {
                Some(Outcome::Entered(queue)) => *held.entry(queue).or_default() += 1,
                Some(Outcome::Left(frame) | Outcome::Dropped(frame)) => {
                    *held.entry(frame.queue).or_default() -= 1
                }
                _ => {}
            }
            for &queue in &port.queues {
                let frames = i64::from(port.manager.backlog(queue).frames);
                assert_eq!(frames, held.get(&queue).copied().unwrap_or(0));
            }
        }
    };
    each_plan(6, |_| {}, check);
}
