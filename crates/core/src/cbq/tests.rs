//! What the discipline does, against figures worked out on paper.

use super::{Cbq, CbqClass, CbqLeaf, CbqPlan, TokenBucket};
use crate::api::{Classify, Dequeue, Ecn, Egress, FrameHandle, GateSet, NodeId, RefuseReason, Target};
use crate::key::FlowKey;
use crate::plan::{Accounting, IpPrefix, PlanError, Rule, RuleMatch};
use crate::time::{Duration, Instant};
use alloc::vec;
use alloc::vec::Vec;

const LINK_BPS: u64 = 1_000_000_000;
const MS: u64 = 1_000_000_000;
const FRAME: u32 = 1_250;
/// A frame of [`FRAME`] bytes on the link.
const FRAME_PS: u64 = 10_000_000;

fn class(parent: Option<u32>, rate_bps: u64) -> CbqClass {
    CbqClass {
        parent,
        rate_bps,
        priority: 4,
        weight: 1,
        allot_bytes: 1_500,
        accounting: Accounting::default(),
        packet_bytes: FRAME,
        ewma: 5,
        maxburst: 20,
        minburst: 0,
        minidle: None,
        bounded: false,
        isolated: false,
        leaf: None,
    }
}

fn leaf(parent: u32, rate_bps: u64) -> CbqClass {
    CbqClass {
        leaf: Some(CbqLeaf {
            bytes_max: 1 << 30,
            frames_max: 10_000,
            gate: 0,
            bucket: None,
        }),
        ..class(Some(parent), rate_bps)
    }
}

fn plan(leaves: Vec<CbqClass>) -> CbqPlan {
    let rules = (1..=leaves.len() as u32).map(|queue| Rule {
        queue,
        matches: RuleMatch {
            dst_ip: Some(IpPrefix {
                version: 4,
                address: u128::from(0x0A00_0000 + queue),
                length: 32,
            }),
            ..RuleMatch::default()
        },
    });
    CbqPlan {
        rules: rules.collect(),
        classes: core::iter::once(class(None, LINK_BPS)).chain(leaves).collect(),
        frames_max: 20_000,
        frame_bytes_max: 1_500,
        tick: Duration::from_ms(10),
        resolution: Duration::from_ps(1),
    }
}

fn target(cbq: &mut Cbq, slot: u32) -> Target {
    let key = FlowKey {
        ip_version: 4,
        dst_ip: u128::from(0x0A00_0000 + slot),
        ..FlowKey::default()
    };
    cbq.classify(Instant::ZERO, &key).unwrap()
}

fn fill(cbq: &mut Cbq, slot: u32, frames: u32) {
    let to = target(cbq, slot);
    for i in 0..frames {
        cbq.enqueue(
            Instant::ZERO,
            to,
            FrameHandle(slot << 20 | i),
            FRAME,
            Ecn::NotCapable,
        )
        .unwrap();
    }
}

/// Departures as (instant, class) of an interface that takes frames as fast as `gap_ps` allows.
fn departures(cbq: &mut Cbq, end_ps: u64, gap_ps: u64) -> Vec<(u64, usize)> {
    let (mut now, mut out) = (0, Vec::new());
    while now <= end_ps {
        match cbq.dequeue(Instant::from_ps(now)) {
            Dequeue::Frame(desc) => {
                out.push((now, desc.queue.slot()));
                now += gap_ps;
            }
            Dequeue::Wait { until, .. } => {
                assert!(until.as_ps() > now, "a wait that ends at once");
                now = until.as_ps();
            }
            Dequeue::Empty => break,
            Dequeue::Drop(..) => panic!("nothing ages"),
        }
    }
    out
}

fn with_bucket(rate_bps: u64, burst_bytes: u64) -> CbqPlan {
    let mut one = leaf(0, LINK_BPS);
    if let Some(leaf) = &mut one.leaf {
        leaf.bucket = Some(TokenBucket {
            rate_bps,
            burst_bytes,
        });
    }
    plan(vec![one])
}

#[test]
fn a_full_link_is_shared_by_weight_and_never_idle() {
    let mut light = leaf(0, LINK_BPS);
    let mut heavy = leaf(0, LINK_BPS);
    (light.weight, heavy.weight) = (1, 3);
    let mut cbq = Cbq::new(&plan(vec![light, heavy])).unwrap();
    fill(&mut cbq, 1, 4_000);
    fill(&mut cbq, 2, 4_000);
    let out = departures(&mut cbq, 4_000 * FRAME_PS - 1, FRAME_PS);
    assert_eq!(out.len(), 4_000);
    assert!(out.windows(2).all(|w| w[1].0 - w[0].0 == FRAME_PS));
    let heavy = out.iter().filter(|o| o.1 == 2).count();
    // Quanta of 750 and 2,250 bytes: 1 frame in 4 within a round's frames.
    assert!((2_995..=3_005).contains(&heavy), "{heavy}");
}

#[test]
fn a_lower_priority_number_goes_first_while_it_is_under_its_limit() {
    let (mut first, mut second) = (leaf(0, LINK_BPS), leaf(0, LINK_BPS));
    (first.priority, second.priority) = (0, 7);
    let mut cbq = Cbq::new(&plan(vec![second, first])).unwrap();
    fill(&mut cbq, 1, 10);
    fill(&mut cbq, 2, 10);
    let order: Vec<usize> = departures(&mut cbq, MS, FRAME_PS).iter().map(|o| o.1).collect();
    assert_eq!(order[..10], [2; 10]);
    assert_eq!(order[10..], [1; 10]);
}

/// After a sleep the first frame finds the estimator at maxidle, v (g^-n - 1) with n = maxburst; each frame back to back
/// takes it from A to g A - v / 2^w, so it stands at v (g^(k-n) - 1) after k more: zero after n. A packet a little shorter
/// than the frames makes that a little less than zero, and the class sleeps till the next tick.
#[test]
fn a_bounded_class_sends_maxburst_and_one_frames_a_tick_where_the_tick_is_longer_than_its_pace() {
    for (maxburst, packet_bytes, a_tick) in [
        (1, FRAME - 1, 2),
        (5, FRAME - 1, 6),
        (20, FRAME - 1, 21),
        (60, FRAME - 1, 61),
        (20, FRAME + 1, 22),
    ] {
        // 500 Mbit/s: a frame each 20 us, 500 a tick of 10 ms, more than any of these bursts.
        let mut slow = leaf(0, LINK_BPS / 2);
        (slow.bounded, slow.maxburst, slow.packet_bytes) = (true, maxburst, packet_bytes);
        let mut cbq = Cbq::new(&plan(vec![slow])).unwrap();
        fill(&mut cbq, 1, 3_000);
        let out = departures(&mut cbq, 100 * MS, FRAME_PS);
        for k in 1..10 {
            let sent = out.iter().filter(|o| o.0 / (10 * MS) == k).count();
            assert_eq!(sent, a_tick, "in tick {k} with a maxburst of {maxburst}");
        }
        let latest = a_tick as u64 * FRAME_PS;
        assert!(out.iter().all(|o| o.0 < 10 * MS || o.0 % (10 * MS) < latest));
    }
}

/// 20 Mbit/s is a frame each 500 us, 20 a tick. The first of a tick finds 9.5 ms of idle time in the mean; v is 490 us, and
/// 9.5 + 32 x 0.49 = 25.18 is 15.68 x 1.606 = 15.68 x (32/31)^14.9: 15 more go, 16 a tick. Forgetting by packets costs
/// a fifth of the rate, whatever maxburst allows.
#[test]
fn an_estimator_that_forgets_by_packets_loses_rate_to_the_tick() {
    let mut slow = leaf(0, LINK_BPS / 50);
    (slow.bounded, slow.maxburst) = (true, 40);
    let mut cbq = Cbq::new(&plan(vec![slow])).unwrap();
    fill(&mut cbq, 1, 9_000);
    let out = departures(&mut cbq, 2_000 * MS - 1, FRAME_PS);
    for k in 2..200 {
        let sent = out.iter().filter(|o| o.0 / (10 * MS) == k).count();
        assert!((15..=17).contains(&sent), "{sent} in tick {k}");
    }
    let steady = out.iter().filter(|o| o.0 >= 1_000 * MS).count();
    assert!((1_590..=1_610).contains(&steady), "{steady}");
}

#[test]
fn a_class_that_may_borrow_takes_what_its_sibling_leaves() {
    let mut a = leaf(0, LINK_BPS / 10);
    let mut cbq = Cbq::new(&plan(vec![a.clone(), leaf(0, LINK_BPS / 2)])).unwrap();
    fill(&mut cbq, 1, 1_000);
    let out = departures(&mut cbq, 1_000 * FRAME_PS - 1, FRAME_PS);
    assert_eq!(
        out.len(),
        1_000,
        "the link is not idle while a class that may borrow has frames"
    );
    assert!(cbq.delays_and_borrows(NodeId::first(1)).unwrap().1 > 500);
    a.bounded = true;
    let mut cbq = Cbq::new(&plan(vec![a, leaf(0, LINK_BPS / 2)])).unwrap();
    fill(&mut cbq, 1, 1_000);
    assert!(departures(&mut cbq, 1_000 * FRAME_PS - 1, FRAME_PS).len() < 200);
    assert_eq!(cbq.delays_and_borrows(NodeId::first(1)).unwrap().1, 0);
}

#[test]
fn a_child_borrows_up_the_tree_and_no_higher_than_a_bounded_parent() {
    let mut group = class(Some(0), LINK_BPS / 5);
    group.bounded = true;
    let mut plan = plan(vec![leaf(0, LINK_BPS), leaf(0, LINK_BPS)]);
    plan.classes.insert(1, group);
    plan.classes[2] = leaf(1, LINK_BPS / 100);
    plan.rules.iter_mut().for_each(|r| r.queue += 1);
    let mut cbq = Cbq::new(&plan).unwrap();
    let to = {
        let key = FlowKey {
            ip_version: 4,
            dst_ip: 0x0A00_0001,
            ..FlowKey::default()
        };
        cbq.classify(Instant::ZERO, &key).unwrap()
    };
    assert_eq!(to.queue.slot(), 2);
    for i in 0..9_000 {
        cbq.enqueue(Instant::ZERO, to, FrameHandle(i), FRAME, Ecn::NotCapable)
            .unwrap();
    }
    let out = departures(&mut cbq, 200 * MS, FRAME_PS).len() as u64;
    // Twenty times its own rate is the parent's; the tick leaves maxburst and one frames, one more or less by rounding,
    // of it each 10 ms. Alone on its 10 Mbit/s the child would send 160 frames.
    assert!(out >= 20 * 20, "{out}");
    assert!(out <= 20 * 22, "{out}");
    assert_eq!(cbq.counters(NodeId::first(1)).unwrap().frames_out, out);
}

/// On ticks alone a bucket gives min(burst, rate x tick) a tick: a rate r needs a burst of r x 10 ms.
#[test]
fn a_token_bucket_needs_a_burst_of_its_rate_times_the_tick() {
    let rate = 100_000_000;
    // 125,000 bytes a tick are 100 frames: with 40 frames of burst 40 a tick, with 100 or 200 all 100.
    for (burst_frames, a_tick) in [(40, 40), (99, 99), (100, 100), (200, 100)] {
        let mut cbq = Cbq::new(&with_bucket(rate, burst_frames * u64::from(FRAME))).unwrap();
        fill(&mut cbq, 1, 9_000);
        // The interface takes everything at once.
        let out = departures(&mut cbq, 500 * MS, 0);
        assert_eq!(out.iter().filter(|o| o.0 == 0).count() as u64, burst_frames);
        for k in 1..=50 {
            assert_eq!(
                out.iter().filter(|o| o.0 == k * 10 * MS).count() as u64,
                a_tick,
                "burst {burst_frames}"
            );
        }
        assert!(
            out.iter().all(|o| o.0 % (10 * MS) == 0),
            "nothing leaves between ticks"
        );
    }
}

#[test]
fn a_bucket_waits_for_the_first_tick_at_or_after_its_tokens() {
    // 1,250 bytes at 1.25 Mbit/s take 8 ms: one frame at 0, then at ticks 10, 20 (16 ms), 30 (24 ms), 40 (32), 40.
    let mut cbq = Cbq::new(&with_bucket(1_250_000, 2_500)).unwrap();
    fill(&mut cbq, 1, 7);
    let at: Vec<u64> = departures(&mut cbq, 100 * MS, 0)
        .iter()
        .map(|o| o.0 / MS)
        .collect();
    // Two at 0; the debt of the third ends at 8, of the fourth at 16, ...; two are worth 16 ms, which fit a bucket.
    assert_eq!(at, [0, 0, 10, 20, 30, 40, 40]);
}

#[test]
fn a_frame_that_comes_between_ticks_makes_the_bucket_look() {
    let mut cbq = Cbq::new(&with_bucket(100_000_000, u64::from(FRAME) * 2)).unwrap();
    fill(&mut cbq, 1, 3);
    assert_eq!(departures(&mut cbq, 0, 0).len(), 2);
    // A frame takes 100 us of tokens: the third could leave at 100 us, and does when the fourth comes at 150.
    let at = |us: u64| Instant::from_ps(us * 1_000_000);
    assert!(matches!(cbq.dequeue(at(120)), Dequeue::Wait { until, .. } if until == at(10_000)));
    let to = target(&mut cbq, 1);
    cbq.enqueue(at(150), to, FrameHandle(9), FRAME, Ecn::NotCapable)
        .unwrap();
    assert!(matches!(cbq.dequeue(at(150)), Dequeue::Frame(d) if d.handle == FrameHandle(1 << 20 | 2)));
    assert!(matches!(cbq.dequeue(at(150)), Dequeue::Wait { until, .. } if until == at(10_000)));
}

#[test]
fn a_rate_table_counts_whole_cells_and_whole_units_of_its_clock() {
    let mut plan = with_bucket(300_000_000, 1_514 * 4);
    plan.frame_bytes_max = 1_514;
    plan.resolution = Duration::from_us(1);
    // Cells of 8 bytes: 1,514 counts for 1,512, which take 40.32 us: 40. Four of them, with 200 us in 10 ms ticks.
    let table = super::plan::RateTable::new(300_000_000, &plan);
    assert_eq!(table.time(1_514), 40_000_000);
    assert_eq!(plan.cell(), 3);
    plan.frame_bytes_max = 9_014;
    assert_eq!(plan.cell(), 6);
}

#[test]
fn a_shut_gate_holds_its_class_until_it_opens_and_no_other() {
    let (mut a, b) = (leaf(0, LINK_BPS), leaf(0, LINK_BPS));
    if let Some(leaf) = &mut a.leaf {
        leaf.gate = 3;
    }
    let mut cbq = Cbq::new(&plan(vec![a, b])).unwrap();
    fill(&mut cbq, 1, 2);
    fill(&mut cbq, 2, 2);
    let opens = Instant::from_ps(123_456_789);
    cbq.pause(Instant::ZERO, GateSet::one(3), opens);
    let out = departures(&mut cbq, MS, FRAME_PS);
    assert_eq!(
        out,
        [
            (0, 2),
            (FRAME_PS, 2),
            (opens.as_ps(), 1),
            (opens.as_ps() + FRAME_PS, 1)
        ]
    );
}

#[test]
fn bursts_and_offtime_follow_from_the_notes_on_parameters() {
    let mut half = leaf(0, LINK_BPS / 2);
    // v = 10 us; g = 31/32. With ewma 1, g = 1/2: maxidle = v (2^n - 1), offtime = v (1 + 2 (2^(n-1) - 1)).
    (half.ewma, half.maxburst, half.minburst) = (1, 3, 3);
    assert_eq!(half.maxidle_ps(LINK_BPS), 7 * 10_000_000);
    assert_eq!(half.offtime_ps(LINK_BPS), 7 * 10_000_000);
    half.minburst = 0;
    assert_eq!(half.offtime_ps(LINK_BPS), 0);
    // A class of the link's rate has no surplus: what one packet leaves behind, 2^-ewma of it.
    assert_eq!(class(None, LINK_BPS).maxidle_ps(LINK_BPS), FRAME_PS / 32);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let field = |plan: &CbqPlan| -> Result<(), (&str, PlanError)> {
        Cbq::new(plan).map(|_| ()).map_err(|e| (e.field, e))
    };
    let named = |change: &dyn Fn(&mut CbqPlan)| {
        let mut plan = with_bucket(1_000_000, 1_500);
        change(&mut plan);
        field(&plan).err().map(|e| e.0)
    };
    assert_eq!(named(&|_| {}), None);
    assert_eq!(named(&|p| p.tick = Duration::ZERO), Some("tick"));
    assert_eq!(
        named(&|p| p.resolution = Duration::from_ms(11)),
        Some("resolution")
    );
    assert_eq!(named(&|p| p.classes[1].ewma = 32), Some("ewma"));
    assert_eq!(named(&|p| p.classes[1].parent = Some(1)), Some("parent"));
    assert_eq!(named(&|p| p.rules[0].queue = 0), Some("queue"));
    assert_eq!(named(&|p| p.frame_bytes_max = 1_501), Some("bucket burst"));
    let mut cbq = Cbq::new(&plan(vec![leaf(0, LINK_BPS)])).unwrap();
    let to = target(&mut cbq, 1);
    let refused = cbq.enqueue(Instant::ZERO, to, FrameHandle(1), 1_501, Ecn::NotCapable);
    assert_eq!(refused.map_err(|r| r.reason), Err(RefuseReason::FrameLength));
    assert_eq!(
        cbq.classify(Instant::ZERO, &FlowKey::default()).err(),
        Some(RefuseReason::NoRule)
    );
}

/// A small generator: the tests need spread, not quality.
struct Draw(u64);
impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn random_plan(draw: &mut Draw) -> CbqPlan {
    let mut plan = plan(Vec::new());
    plan.resolution = Duration::from_ps([1, 1_000_000][draw.below(2) as usize]);
    plan.tick = Duration::from_us([100, 1_000, 10_000][draw.below(3) as usize]);
    plan.frames_max = 60;
    let groups = draw.below(3) as u32;
    for _ in 0..groups {
        plan.classes.push(class(Some(0), LINK_BPS / (1 + draw.below(20))));
    }
    for _ in 0..1 + draw.below(6) {
        let mut new = leaf(
            draw.below(u64::from(groups) + 1) as u32,
            LINK_BPS / (1 + draw.below(200)),
        );
        new.priority = draw.below(3) as u8;
        new.weight = 1 + draw.below(50);
        new.maxburst = draw.below(40) as u32;
        new.minburst = draw.below(5) as u32;
        new.bounded = draw.below(3) == 0;
        new.isolated = draw.below(4) == 0;
        if let Some(leaf) = &mut new.leaf {
            leaf.frames_max = 1 + draw.below(40) as u32;
            leaf.gate = draw.below(3) as u8;
            if draw.below(2) == 0 {
                leaf.bucket = Some(TokenBucket {
                    rate_bps: LINK_BPS / (1 + draw.below(100)),
                    burst_bytes: 1_500 + draw.below(100_000),
                });
            }
        }
        let queue = plan.classes.len() as u32;
        plan.classes.push(new);
        plan.rules.push(Rule {
            queue,
            matches: RuleMatch {
                dst_ip: Some(IpPrefix {
                    version: 4,
                    address: u128::from(0x0A00_0000 + queue),
                    length: 32,
                }),
                ..RuleMatch::default()
            },
        });
    }
    plan
}

/// Every handle that enters leaves once, in the order of its class; no bucket gives more than its burst and its rate
/// times the time; nothing waits for ever; and a shifted origin changes nothing.
#[test]
fn handles_are_conserved_buckets_hold_and_a_shifted_origin_changes_nothing() {
    for seed in 0..300 {
        let mut draw = Draw(seed);
        let plan = random_plan(&mut draw);
        let mut cbq = Cbq::new(&plan).unwrap();
        let mut shifted = cbq.clone();
        let (mut origin, mut now, mut next) = (0, 0_u64, 0_u32);
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); plan.classes.len()];
        let mut sent: Vec<Vec<(u64, u32)>> = vec![Vec::new(); plan.classes.len()];
        for step in 0..600 {
            let tail = step >= 400;
            let at = |now: u64, origin: u64| Instant::from_ps(now - origin);
            if draw.below(2) == 0 && !tail {
                let slot = plan.rules[draw.below(plan.rules.len() as u64) as usize].queue;
                let len = 64 + draw.below(1_437) as u32;
                let to = target(&mut cbq, slot);
                let taken = cbq.enqueue(at(now, 0), to, FrameHandle(next), len, Ecn::NotCapable);
                let other = shifted.enqueue(at(now, origin), to, FrameHandle(next), len, Ecn::NotCapable);
                assert_eq!(taken, other);
                match taken {
                    Ok(queue) => inside[queue.slot()].push(next),
                    Err(refused) => assert_eq!(refused.handle, FrameHandle(next)),
                }
                next += 1;
            }
            if draw.below(40) == 0 {
                let set = GateSet::one(draw.below(3) as u8);
                let span = draw.below(20 * MS);
                cbq.pause(at(now, 0), set, at(now + span, 0));
                shifted.pause(at(now, origin), set, at(now + span, origin));
            }
            if draw.below(50) == 0 {
                let by = now - origin;
                shifted.rebase(Duration::from_ps(by));
                origin = now;
            }
            let (one, two) = (cbq.dequeue(at(now, 0)), shifted.dequeue(at(now, origin)));
            match (one, two) {
                (Dequeue::Frame(a), Dequeue::Frame(b)) => {
                    assert_eq!(a, b);
                    assert_eq!(inside[a.queue.slot()].remove(0), a.handle.0);
                    sent[a.queue.slot()].push((now, a.len));
                    now += u64::from(a.len) * 8_000;
                }
                (Dequeue::Wait { until: a, .. }, Dequeue::Wait { until: b, .. }) => {
                    assert_eq!(a.as_ps(), b.as_ps() + origin, "seed {seed}");
                    now = if draw.below(3) == 0 && !tail {
                        now + draw.below(MS)
                    } else {
                        a.as_ps()
                    };
                }
                (Dequeue::Empty, Dequeue::Empty) => now += draw.below(MS),
                (a, b) => panic!("seed {seed}: {a:?} and {b:?}"),
            }
        }
        while let Dequeue::Wait { .. } | Dequeue::Frame(_) = cbq.dequeue(Instant::from_ps(now)) {
            now += 10 * MS;
            assert!(now < 1_000_000 * MS, "seed {seed}: something waits for ever");
        }
        assert_eq!(cbq.frames_queued(), 0);
        for (class, sent) in plan.classes.iter().zip(&sent) {
            let Some(bucket) = class.leaf.and_then(|l| l.bucket) else {
                continue;
            };
            // The rate table's unit may make a frame up to a unit and a cell cheaper.
            let exact = plan.resolution.as_ps() == 1;
            for (i, from) in sent.iter().enumerate().filter(|_| exact) {
                let mut bytes = 0;
                for to in &sent[i..] {
                    bytes += u64::from(to.1);
                    let time = u128::from(to.0 - from.0) * u128::from(bucket.rate_bps) / 8_000_000_000_000;
                    assert!(
                        u128::from(bytes) <= time + u128::from(bucket.burst_bytes) + 2,
                        "seed {seed}"
                    );
                }
            }
        }
    }
}
