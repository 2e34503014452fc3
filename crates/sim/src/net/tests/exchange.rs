//! Exchanges: the time of a step on an idle network, that nobody runs ahead, and what is refused.

use super::scenarios::*;
use crate::results::{Messages, Unobserved};
use clearway_core::Duration;
use clearway_policy::scenario::{
    Destination, Law, MessagePattern, MessageTransport, Scenario, TcpSettings, WorkloadKind,
};

/// `hosts` on one switch exchange 1,000 B and compute for 50 us.
fn exchange(hosts: usize, neighbours: u32, transport: MessageTransport) -> Scenario {
    let mut scenario = star(hosts, Duration::from_ms(10));
    scenario.warmup = Duration::from_us(200);
    let kind = WorkloadKind::Messages {
        transport,
        message_bytes: Law::Constant(1_000.0),
        reply_bytes: 0,
        pattern: MessagePattern::Exchange {
            neighbours,
            compute: Duration::from_us(50),
        },
    };
    scenario.workloads = vec![workload((0..hosts).collect(), Destination::UniformOthers, kind)];
    scenario
}

fn tcp() -> MessageTransport {
    MessageTransport::Tcp(TcpSettings::default())
}

fn counted(scenario: &Scenario) -> Messages {
    outcome(scenario, 1).messages[0].messages.clone()
}

#[test]
fn a_step_of_two_takes_one_message_and_the_computing() {
    let m = counted(&exchange(2, 0, tcp()));
    // Two hops of 1,058 B: preamble and frame, then the gap as well where the next begins.
    let message = 2.0 * 1_066.0 * BYTE_PS as f64;
    let mean = m.round_trips.mean().expect("there are exchanges");
    // One host begins a little later than the other: what one waits longer the other waits less.
    assert!((mean - message).abs() < 0.03 * message, "{mean} is not {message}");
    let steps = 9_800e6 / (message + 50e6);
    let count = m.round_trips.count() as f64 / 2.0;
    assert!((count - steps).abs() < 2.0 + 0.01 * steps, "{count} of {steps}");
}

#[test]
fn everybody_makes_the_same_steps() {
    for (hosts, neighbours, each) in [(6, 1, 2), (7, 2, 4), (5, 0, 4)] {
        let m = counted(&exchange(hosts, neighbours, tcp()));
        let exchanges = m.round_trips.count();
        assert!(exchanges > 100 * hosts as u64, "{hosts}: {exchanges}");
        // Nobody is more than a step ahead of a neighbour, so all that was posted belongs to as many steps.
        let posted = exchanges * each;
        assert!(
            m.posted.abs_diff(posted) <= 2 * each * hosts as u64,
            "{hosts}: {m:?}"
        );
        assert!(m.posted - m.delivered <= each * hosts as u64, "{hosts}: {m:?}");
    }
}

#[test]
fn an_exchange_over_udp_is_refused_with_a_remedy() {
    let scenario = exchange(3, 0, MessageTransport::Udp { mtu_bytes: 1_500 });
    let refusal = crate::run(&scenario, 1, &mut Unobserved).expect_err("it could lose a message");
    assert!(refusal.to_string().contains("tcp"), "{refusal}");
}
