//! Random stacks on random hosts: every frame is delivered once, lost once, or still there; a run repeats itself.

use super::conservation::{random_scenario, sums};
use super::scenarios::outcome;
use crate::engine::Stream;
use crate::results::Cause;
use clearway_core::Duration;
use clearway_policy::scenario::{Coalescing, Costs, Cpu, Destination, Stack, StackKind, Wake};

fn random_costs(r: &mut Stream) -> Costs {
    Costs {
        per_message: Duration::from_ns(r.below(2) * r.below(500)),
        per_packet: Duration::from_ns(r.below(1_000)),
        per_segment: Duration::from_ns(r.below(1_000)),
        per_ack: Duration::from_ns(r.below(2) * r.below(300)),
        copy_bps: r.chance(0.5).then(|| 1_000_000_000 + r.below(100_000_000_000)),
    }
}

fn random_rule(r: &mut Stream) -> Coalescing {
    Coalescing {
        frames: if r.chance(0.3) {
            u32::MAX
        } else {
            1 + r.below(20) as u32
        },
        time: Duration::from_us(r.below(30)),
    }
}

fn random_stack(r: &mut Stream) -> Stack {
    let kinds = [
        StackKind::Kernel,
        StackKind::UserSpace,
        StackKind::Offload,
        StackKind::Rdma,
    ];
    let cpu = |r: &mut Stream| Cpu {
        weight: 1 + r.below(4) as u32,
        receive: r.chance(0.3).then(|| random_rule(r)),
    };
    Stack {
        kind: kinds[r.below(4) as usize],
        cpus: (0..1 + r.below(4)).map(|_| cpu(r)).collect(),
        transmit: random_costs(r),
        receive: random_costs(r),
        wake: if r.chance(0.4) {
            Wake::Poll
        } else {
            Wake::Interrupt {
                cost: Duration::from_ns(r.below(4_000)),
                receive: random_rule(r),
                transmit: r.chance(0.5).then(|| random_rule(r)),
            }
        },
        receive_ring_frames: 1 + r.below(60) as u32,
        transmit_ring_frames: (r.below(2) * (1 + r.below(50))) as u32,
        merge_bytes: (r.below(2) * r.below(65_536)) as u32,
        budget: 1 + r.below(64) as u32,
    }
}

#[test]
fn every_frame_of_a_host_with_processors_is_delivered_lost_or_still_there() {
    let mut r = Stream::new(13, 0, "random stacks");
    let (mut ring, mut used, mut merged) = (0, 0, 0);
    for round in 0..60 {
        let mut s = random_scenario(&mut r);
        for host in &mut s.hosts {
            if r.chance(0.7) {
                host.stack = Some(Box::new(random_stack(&mut r)));
            }
        }
        let o = outcome(&s, round);
        let (offered, delivered, dropped) = sums(&o);
        let group = s
            .workloads
            .iter()
            .any(|w| matches!(w.to, Destination::Multicast(_)));
        if group {
            let least = delivered + dropped + o.engine.frames_left;
            let most = delivered + dropped + o.engine.frames_left * s.hosts.len() as u64;
            assert!((least..=most).contains(&offered), "round {round}");
        } else {
            assert_eq!(
                offered,
                delivered + dropped + o.engine.frames_left,
                "round {round}: {s:#?}"
            );
        }
        let causes = o
            .switches
            .iter()
            .map(|s| &s.causes)
            .chain(o.hosts.iter().map(|h| &h.causes));
        assert_eq!(causes.flatten().sum::<u64>(), dropped, "round {round}");
        for (host, settings) in o.hosts.iter().zip(&s.hosts) {
            for cpu in &host.cpus {
                let limit = settings.stack.as_ref().map_or(0, |s| s.receive_ring_frames);
                assert!(cpu.usage.ring_frames_max <= u64::from(limit), "round {round}");
                assert!(
                    cpu.usage.busy_ps() <= s.duration.as_ps(),
                    "round {round}: a processor is serial"
                );
                used += u32::from(cpu.usage.frames > 0);
                merged += u32::from(cpu.usage.frames > cpu.usage.packets);
            }
            ring += u32::from(host.causes[Cause::ReceiveRing.index()] > 0);
        }
        if round % 10 == 0 {
            assert_eq!(o.hash(), outcome(&s, round).hash(), "round {round}");
        }
    }
    assert!(ring > 15 && used > 60 && merged > 5, "{ring} {used} {merged}");
}
