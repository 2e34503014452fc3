//! RoCEv2 in scripted exchanges and over bad paths.

use super::super::testing::Draws;
use super::*;
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::{DcqcnSettings, RoceSettings};
use std::collections::BTreeMap;

/// The numbers of the paper; hyper increase and the least rate, which it leaves open, as the scenario files have them.
pub(super) fn dcqcn() -> DcqcnSettings {
    DcqcnSettings {
        gain: 1.0 / 256.0,
        notification_interval: Duration::from_us(50),
        alpha_timer: Duration::from_us(55),
        rate_timer: Duration::from_us(55),
        byte_counter: 10_000_000,
        fast_recovery: 5,
        additive_bps: 40_000_000,
        hyper_bps: 400_000_000,
        rate_min_bps: 10_000_000,
    }
}

fn settings() -> RoceSettings {
    RoceSettings {
        mtu_bytes: 1_000,
        window_bytes: 8_000,
        timeout: Duration::from_ms(1),
        dcqcn: None,
    }
}

const LINE: u64 = 10_000_000_000;

/// Everything that may go out by `now`, pacing waited for.
fn sent(r: &mut Requester, now: &mut Instant) -> Vec<(u64, u32)> {
    let mut all = Vec::new();
    loop {
        if let Some(p) = r.poll_transmit(*now) {
            all.push((p.psn, p.payload));
        } else if r.holds_until().is_some_and(|at| at > *now) {
            *now = r.holds_until().expect("just looked");
        } else {
            return all;
        }
    }
}

fn answer(kind: PacketKind, psn: u64) -> Packet {
    Packet {
        psn,
        payload: 0,
        kind,
    }
}

#[test]
fn a_message_is_cut_at_the_mtu_and_the_window_limits_what_is_out() {
    let (mut r, mut now) = (Requester::new(&settings(), LINE), Instant::ZERO);
    assert_eq!(r.post(2_500), 3);
    assert_eq!(r.post(10_000), 13);
    assert_eq!(
        sent(&mut r, &mut now),
        [
            (0, 1_000),
            (1, 1_000),
            (2, 500),
            (3, 1_000),
            (4, 1_000),
            (5, 1_000),
            (6, 1_000),
            (7, 1_000)
        ],
        "7,500 bytes; another thousand would be more than 8,000"
    );
    r.on_packet(now, &answer(PacketKind::Ack, 2));
    assert_eq!(r.acknowledged(), 3);
    assert_eq!(sent(&mut r, &mut now).first(), Some(&(8, 1_000)));
}

#[test]
fn packets_follow_each_other_at_the_line_rate() {
    let mut r = Requester::new(&settings(), LINE);
    r.post(3_000);
    let first = r.poll_transmit(Instant::ZERO).expect("the first");
    assert_eq!(r.poll_transmit(Instant::ZERO), None);
    let due = r.holds_until().expect("held back");
    let bytes = u64::from(first.ip_payload_bytes()) + 58;
    assert_eq!(due, Instant::ZERO + Duration::of_bytes(bytes, LINE));
    assert_eq!(r.poll_transmit(due).map(|p| p.psn), Some(1));
}

#[test]
fn a_negative_acknowledgement_goes_back_and_takes_what_it_acknowledges() {
    let (mut r, mut now) = (Requester::new(&settings(), LINE), Instant::ZERO);
    r.post(6_000);
    sent(&mut r, &mut now);
    r.on_packet(now, &answer(PacketKind::Nak, 2));
    assert_eq!(r.acknowledged(), 2);
    let again: Vec<u64> = sent(&mut r, &mut now).iter().map(|p| p.0).collect();
    assert_eq!(again, [2, 3, 4, 5]);
    assert_eq!((r.stats().naks, r.stats().retransmissions), (1, 4));
    // An older one that comes late says nothing.
    r.on_packet(now, &answer(PacketKind::Ack, 3));
    r.on_packet(now, &answer(PacketKind::Nak, 2));
    assert_eq!(sent(&mut r, &mut now), []);
}

#[test]
fn a_timeout_goes_back_to_the_first_that_is_not_acknowledged() {
    let (mut r, mut now) = (Requester::new(&settings(), LINE), Instant::ZERO);
    r.post(3_000);
    sent(&mut r, &mut now);
    r.on_packet(now, &answer(PacketKind::Ack, 0));
    let due = r.poll_timer().expect("two are out");
    assert_eq!(due, now + Duration::from_ms(1));
    r.on_timer(due.saturating_sub(Duration::from_ps(1)));
    assert_eq!(r.stats().timeouts, 0);
    r.on_timer(due);
    now = due;
    assert_eq!(sent(&mut r, &mut now), [(1, 1_000), (2, 1_000)]);
    r.on_packet(now, &answer(PacketKind::Ack, 2));
    assert_eq!(r.poll_timer(), None);
}

#[test]
fn the_responder_answers_as_the_specification_says() {
    let mut r = Responder::new(&settings());
    let write = |psn, wants_ack| Packet {
        psn,
        payload: 1_000,
        kind: PacketKind::Write {
            first: false,
            wants_ack,
        },
    };
    let mut on = |psn, wants_ack| r.on_packet(Instant::ZERO, &write(psn, wants_ack), false);
    assert_eq!(on(0, false), [None, None]);
    assert_eq!(on(1, true), [None, Some(answer(PacketKind::Ack, 1))]);
    assert_eq!(on(3, false), [None, Some(answer(PacketKind::Nak, 2))]);
    assert_eq!(on(4, true), [None, None], "said once");
    assert_eq!(on(2, true), [None, Some(answer(PacketKind::Ack, 2))]);
    assert_eq!(on(5, false), [None, Some(answer(PacketKind::Nak, 3))]);
    assert_eq!(
        on(1, true),
        [None, Some(answer(PacketKind::Ack, 2))],
        "a duplicate"
    );
}

/// Messages over a path that loses, with a round trip of 20 us; the requester when all is done.
fn transfer(seed: u64, loss: f64, messages: u64) -> Requester {
    enum Event {
        Data(Packet),
        Answer(Packet),
        Timer,
    }
    let mut draws = Draws(seed);
    let tcp = RoceSettings {
        window_bytes: 4_000 + draws.below(100_000),
        ..settings()
    };
    let (mut a, mut b) = (Requester::new(&tcp, LINE), Responder::new(&tcp));
    let mut events: BTreeMap<(Instant, u64), Event> = BTreeMap::new();
    let mut count = 0;
    let mut end = 0;
    let mut armed = None;
    for _ in 0..messages {
        end = a.post(1 + draws.below(20_000));
    }
    let way = Duration::from_us(10);
    events.insert((Instant::ZERO, 0), Event::Timer);
    while let Some(((now, _), event)) = events.pop_first() {
        match event {
            Event::Data(p) => {
                for said in b.on_packet(now, &p, false).into_iter().flatten() {
                    if !draws.chance(loss) {
                        count += 1;
                        events.insert((now + way, count), Event::Answer(said));
                    }
                }
            }
            Event::Answer(p) => a.on_packet(now, &p),
            Event::Timer => {
                armed = None;
                a.on_timer(now);
            }
        }
        while let Some(p) = a.poll_transmit(now) {
            if !draws.chance(loss) {
                count += 1;
                events.insert((now + way, count), Event::Data(p));
            }
        }
        if a.acknowledged() == end {
            assert_eq!(b.expected(), end, "acknowledged is there");
            return a;
        }
        if let Some(due) = a.poll_timer().filter(|due| armed.is_none_or(|at| *due < at)) {
            armed = Some(due);
            count += 1;
            events.insert((due.max(now), count), Event::Timer);
        }
    }
    panic!(
        "seed {seed}: the transfer stopped at {} of {end}",
        a.acknowledged()
    );
}

#[test]
fn go_back_n_loses_nothing_over_a_path_that_loses() {
    let (mut naks, mut timeouts) = (0, 0);
    for seed in 0..200 {
        let loss = [0.0, 0.001, 0.02, 0.2][(seed % 4) as usize];
        let stats = transfer(seed, loss, 20).stats();
        if loss == 0.0 {
            assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
        }
        naks += stats.naks;
        timeouts += stats.timeouts;
    }
    assert!(
        naks > 200 && timeouts > 50,
        "the paths must be bad: {naks} {timeouts}"
    );
}
