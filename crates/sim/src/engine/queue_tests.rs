//! The event queue beside the heap, which is simple enough to be right.

use super::super::heap::HeapQueue;
use super::super::random::Stream;
use super::super::wheel::MOVES_MAX;
use super::*;

const PHASES: [Phase; 3] = [Phase::Control, Phase::Arrival, Phase::TransmitterFree];

/// The wheel beside the heap: every answer must be the same.
struct Pair {
    wheel: EventQueue<u32>,
    heap: HeapQueue<u32>,
    now: u64,
    pushed: u32,
    stream: Stream,
}

impl Pair {
    fn new(seed: u64) -> Self {
        Self {
            wheel: EventQueue::new(8),
            heap: HeapQueue::new(8),
            now: 0,
            pushed: 0,
            stream: Stream::new(seed, 0, "event queue test"),
        }
    }
    fn push(&mut self, at: u64) {
        let phase = PHASES[self.stream.below(3) as usize];
        let node = self.stream.below(8) as u32;
        self.wheel.push(Instant::from_ps(at), phase, node, self.pushed);
        self.heap.push(Instant::from_ps(at), phase, node, self.pushed);
        self.pushed += 1;
    }
    fn pop(&mut self) -> bool {
        if self.stream.below(4) == 0 {
            assert_eq!(self.wheel.peek(), self.heap.peek());
        }
        let expected = self.heap.pop();
        assert_eq!(self.wheel.pop(), expected);
        assert_eq!(self.wheel.len(), self.heap.len());
        if let Some((at, _)) = expected {
            self.now = at.as_ps();
        }
        expected.is_some()
    }
    fn drain(&mut self) {
        while self.pop() {}
        assert!(self.wheel.is_empty());
    }
}

/// A gap of a random order of magnitude up to `bits` bits.
fn gap(stream: &mut Stream, bits: u64) -> u64 {
    let magnitude = stream.below(bits + 1);
    stream.next_u64() & ((1_u64 << magnitude) - 1)
}

#[test]
fn the_wheel_agrees_with_the_heap_on_gaps_of_every_magnitude() {
    for bits in [4, 12, 20, 30, 40, 50, 60] {
        let mut pair = Pair::new(bits);
        for _ in 0..40_000 {
            // The number waiting wanders up and down, through empty.
            if pair.stream.below(1_000) < 505 {
                let at = pair.now.saturating_add(gap(&mut pair.stream, bits));
                pair.push(at);
            } else {
                pair.pop();
            }
        }
        pair.drain();
    }
}

#[test]
fn the_wheel_agrees_with_the_heap_when_the_traffic_changes_its_scale() {
    let mut pair = Pair::new(77);
    for _ in 0..3_000 {
        let at = gap(&mut pair.stream, 30);
        pair.push(at);
    }
    let shift = pair.wheel.wheel.shift;
    let (mut least, mut most) = (shift, shift);
    for bits in [14, 44, 10, 36, 20, 50, 24] {
        for _ in 0..60_000 {
            pair.pop();
            let at = pair.now.saturating_add(pair.stream.next_u64() >> (64 - bits));
            pair.push(at);
            least = least.min(pair.wheel.wheel.shift);
            most = most.max(pair.wheel.wheel.shift);
        }
    }
    pair.drain();
    assert!(
        least < shift && most > shift,
        "the width never moved both ways: {least} to {most}"
    );
}

#[test]
fn bursts_at_one_instant_come_out_in_order_whenever_they_are_pushed() {
    let mut pair = Pair::new(5);
    for round in 0..40_u64 {
        let at = round * 1_000_000_000;
        for _ in 0..300 {
            pair.push(at);
        }
        for step in 0..900_u64 {
            pair.pop();
            // Half of them again at exactly the present time, some in the next slot, some a round ahead.
            if step < 600 {
                let ahead = [0, 0, 1 << 15, 1_000_000_000][pair.stream.below(4) as usize];
                pair.push(pair.now + ahead);
            }
        }
    }
    pair.drain();
}

#[test]
fn an_event_before_the_present_comes_out_next() {
    let mut pair = Pair::new(6);
    for at in [5_000_000, 6_000_000, 6_000_001, 1 << 40] {
        pair.push(at);
    }
    pair.pop();
    pair.push(0);
    pair.push(4_999_999);
    pair.drain();
}

#[test]
fn the_end_of_time_is_an_instant_like_any_other() {
    let mut pair = Pair::new(7);
    for step in 0..2_000 {
        let at = u64::MAX - gap(&mut pair.stream, 63);
        pair.push(at);
        pair.push(u64::MAX);
        if step % 3 == 0 {
            pair.pop();
        }
    }
    pair.drain();
    pair.push(u64::MAX);
    pair.push(0);
    pair.drain();
}

#[test]
fn pushing_during_one_instant_stays_cheap_however_many_wait() {
    // Without the side heap this moves 20,000 entries a push: minutes instead of milliseconds. The moves are
    // counted by what the run holds.
    let mut queue = EventQueue::new(1);
    for event in 0..20_000_u32 {
        queue.push(Instant::ZERO, Phase::Arrival, 0, event);
    }
    for event in 0..20_000_u32 {
        assert_eq!(queue.pop(), Some((Instant::ZERO, event)));
        queue.push(Instant::ZERO, Phase::Arrival, 0, 20_000 + event);
        assert!(queue.wheel.run.len() <= MOVES_MAX + 1);
    }
    assert_eq!(queue.len(), 20_000);
}

#[test]
fn a_steady_number_of_events_needs_no_more_memory() {
    let mut queue = EventQueue::new(1);
    let mut stream = Stream::new(1, 0, "steady");
    for event in 0..1_000_u32 {
        queue.push(
            Instant::from_ps(stream.below(10_000_000)),
            Phase::Control,
            0,
            event,
        );
    }
    for _ in 0..200_000 {
        if let Some((at, event)) = queue.pop() {
            let at = Instant::from_ps(at.as_ps() + stream.below(20_000_000));
            queue.push(at, Phase::Control, 0, event);
        }
    }
    assert!(
        queue.wheel.pool.len() <= 1_000,
        "the pool holds {} places for 1,000 events",
        queue.wheel.pool.len()
    );
}
