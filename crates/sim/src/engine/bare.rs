//! A bare event loop: the least that a packet-level simulation of one switch can do on this engine.
//!
//! It is what the simulator's speed is held against, so that a figure does not depend on the machine. Hosts send
//! frames of 1500 B at 95 % of 10 Gb/s to uniformly random others through an output-queued switch: the same events a
//! frame as in the benchmark S1 (source, arrival, transmitter free), in the same queue, the same draws for a
//! destination and a priority, one 64-byte record written and read for each frame, one FIFO of handles for each port.
//! Left out is all that a simulator is for: traffic managers, classes, shapers, lengths, rates, memory and its
//! limits, flow control, statistics. One sum of latencies is kept, so that no work is optimised away.

use super::{EventQueue, Phase, Slab, Stream};
use clearway_core::{Duration, Instant};
use std::collections::VecDeque;

/// What the loop did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bare {
    /// Events handled.
    pub events: u64,
    /// Frames times the two lines that each crossed.
    pub packet_hops: u64,
    /// Sum of latencies, picoseconds.
    pub latency_sum_ps: u128,
}

/// Picoseconds between two frames of a host: S1's 791,667 frames a second.
const GAP_PS: u64 = 1_263_157;
/// Picoseconds that a frame of 1500 B takes at 10 Gb/s with preamble and gap.
const FRAME_PS: u64 = 1_520 * 800;
/// Picoseconds until its last bit is out and has crossed 10 m.
const ARRIVE_PS: u64 = 1_508 * 800 + 50_000;

#[derive(Clone, Copy, Debug)]
enum Event {
    Source { host: u32 },
    Arrival { frame: u32 },
    Free { port: u32 },
}

/// As large as the simulator's record of a frame.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Frame {
    generated: u64,
    to: u32,
    priority: u8,
    rest: [u64; 5],
}

#[derive(Debug, Default)]
struct Port {
    waiting: VecDeque<u32>,
    busy: bool,
}

/// Runs `hosts` hosts (at least two) for a time.
#[must_use]
pub fn run(hosts: u32, time: Duration, seed: u64) -> Bare {
    let hosts = hosts.max(2);
    let end = time.as_ps();
    let mut done = Bare {
        events: 0,
        packet_hops: 0,
        latency_sum_ps: 0,
    };
    let mut events = EventQueue::new(hosts + 1);
    let mut frames: Slab<Frame> = Slab::with_capacity(1 << 10);
    let mut streams: Vec<Stream> = (0..hosts)
        .map(|host| Stream::new(seed, u64::from(host), "bare"))
        .collect();
    let mut ports: Vec<Port> = (0..hosts).map(|_| Port::default()).collect();
    for (host, stream) in (0..hosts).zip(&mut streams) {
        let at = Instant::from_ps(stream.below(GAP_PS));
        events.push(at, Phase::Control, host, Event::Source { host });
    }
    while let Some((at, event)) = events.pop() {
        let now = at.as_ps();
        if now > end {
            break;
        }
        done.events += 1;
        let free = match event {
            Event::Source { host } => {
                let stream = &mut streams[host as usize];
                let other = stream.below(u64::from(hosts) - 1) as u32;
                let frame = Frame {
                    generated: now,
                    to: other + u32::from(other >= host),
                    priority: (stream.next_u64() >> 61) as u8,
                    rest: [now; 5],
                };
                let next = Instant::from_ps(now + GAP_PS);
                events.push(next, Phase::Control, host, Event::Source { host });
                if let Ok(frame) = frames.insert(frame) {
                    done.packet_hops += 1;
                    let there = Instant::from_ps(now + ARRIVE_PS);
                    events.push(there, Phase::Arrival, hosts, Event::Arrival { frame });
                }
                continue;
            }
            Event::Arrival { frame } => {
                let Some(port) = frames.get(frame).map(|f| f.to) else {
                    continue;
                };
                let state = &mut ports[port as usize];
                state.waiting.push_back(frame);
                if state.busy {
                    continue;
                }
                port
            }
            Event::Free { port } => port,
        };
        let port = &mut ports[free as usize];
        let frame = port.waiting.pop_front().and_then(|handle| frames.remove(handle));
        port.busy = frame.is_some();
        if let Some(frame) = frame {
            done.packet_hops += 1;
            let sent = frame.rest[usize::from(frame.priority) % 5];
            done.latency_sum_ps += u128::from(now + ARRIVE_PS - sent.min(frame.generated));
            let next = Instant::from_ps(now + FRAME_PS);
            events.push(next, Phase::TransmitterFree, hosts, Event::Free { port: free });
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_cross_two_lines_with_three_events_and_wait_between_them() {
        let bare = run(16, Duration::from_ms(5), 1);
        let frames = bare.packet_hops as f64 / 2.0;
        // 16 hosts at 791,667 frames a second for 5 ms; the last ones are on their way.
        assert!((frames / 63_333.0 - 1.0).abs() < 0.01, "{frames}");
        assert!((bare.events as f64 / bare.packet_hops as f64 - 1.5).abs() < 0.01);
        let mean = bare.latency_sum_ps as f64 / frames;
        assert!(mean > 2.0 * ARRIVE_PS as f64, "{mean}");
        assert_eq!(bare, run(16, Duration::from_ms(5), 1));
    }
}
