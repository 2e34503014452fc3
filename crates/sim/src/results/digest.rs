//! One number for all results of a run: equal for equal seeds, whatever the machine.
//!
//! FNV-1a over 64-bit words (Fowler, Noll and Vo; here a word at a time). Not for secrets.

use super::{CAUSES, Outcome};
use clearway_metrics::histogram::Histogram;

/// Causes of loss that every number includes.
const CAUSES_ALWAYS: usize = 13;

struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01B3);
        self.0 ^= self.0 >> 32;
    }
    fn words(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|w| self.word(w));
    }
    fn wide(&mut self, value: u128) {
        self.words([value as u64, (value >> 64) as u64]);
    }
    /// Causes that came later count where there are any, so that a run without them keeps its number.
    fn causes(&mut self, causes: &[u64; CAUSES]) {
        let (first, later) = causes.split_at(CAUSES_ALWAYS);
        self.words(first.iter().copied());
        for (place, &count) in later.iter().enumerate().filter(|c| *c.1 > 0) {
            self.words([place as u64, count]);
        }
    }
    fn histogram(&mut self, histogram: &Histogram) {
        let parts = histogram.parts();
        self.wide(parts.sum);
        self.words([parts.min, parts.max]);
        for (low, count) in parts.buckets {
            self.words([low, count]);
        }
    }
}

/// The digest of every integer in the results.
pub(super) fn of(outcome: &Outcome) -> u64 {
    let mut d = Digest(0xCBF2_9CE4_8422_2325);
    d.words([
        outcome.simulated.as_ps(),
        outcome.engine.events,
        outcome.engine.packet_hops,
    ]);
    for class in &outcome.classes {
        let c = &class.counters;
        for t in [c.offered, c.delivered, c.dropped, c.window] {
            d.words([t.frames, t.bytes, t.payload]);
        }
        d.causes(&c.causes);
        d.words(c.bins.iter().copied());
        d.histogram(&c.from_generation);
        d.histogram(&c.from_nic);
        d.histogram(&c.from_first_bit);
    }
    for flow in &outcome.flows {
        let c = &flow.counters;
        d.words([
            c.offered_frames,
            c.offered_bytes,
            c.delivered_frames,
            c.delivered_bytes,
            c.dropped_frames,
        ]);
        d.words([c.latency_sum_ps, c.latency_min_ps, c.latency_max_ps]);
        if let Some(j) = &flow.jitter {
            d.words([
                j.frames,
                j.jitter_ps,
                j.jitter_max_ps,
                j.variation_ps,
                j.reordered,
            ]);
        }
    }
    for port in &outcome.ports {
        d.words([
            port.totals.frames,
            port.totals.bytes,
            port.totals.payload,
            port.control_frames,
        ]);
        d.words([
            port.pause_frames_received,
            port.lost_to_pause_ps,
            port.backlog_bytes_max,
        ]);
        d.wide(port.backlog_area);
        d.words(port.paused_ps.iter().map(|p| p.1));
        d.words(port.queues.iter().map(|q| q.bytes_max));
    }
    for switch in &outcome.switches {
        d.word(switch.memory_bytes_peak);
        d.wide(switch.memory_area);
        d.causes(&switch.causes);
    }
    for host in &outcome.hosts {
        d.word(host.receive_bytes_peak);
        d.causes(&host.causes);
        for cpu in &host.cpus {
            let u = &cpu.usage;
            d.words([u.receive_ps, u.transmit_ps, u.interrupt_ps, u.interrupts]);
            d.words([u.packets, u.frames, u.ring_frames_max]);
        }
    }
    for call in &outcome.calls {
        d.words([call.calls.begun, call.calls.answered]);
        d.histogram(&call.calls.round_trips);
        d.words(call.calls.samples.iter().copied());
    }
    d.words(outcome.tcp.iter().map(|t| t.delivered_bytes));
    for result in &outcome.messages {
        let m = &result.messages;
        d.words([
            m.posted,
            m.posted_bytes,
            m.delivered,
            m.lost,
            m.sent_again,
            m.timeouts,
            m.window,
            m.window_bytes,
        ]);
        d.histogram(&m.one_way);
        d.histogram(&m.round_trips);
        if m.completions.count() > 0 {
            d.histogram(&m.completions);
        }
    }
    for result in &outcome.events {
        let e = &result.events;
        d.words([
            e.triggered,
            e.built,
            e.built_bytes,
            e.fragments,
            e.incomplete,
            e.open,
        ]);
        d.histogram(&e.latency);
    }
    for result in &outcome.storage {
        for (host, own) in &result.hosts {
            d.words([u64::from(*host), own.issued, own.bytes, own.remote_copies]);
            d.wide(own.area);
            d.histogram(&own.writes);
            d.histogram(&own.reads);
        }
    }
    d.words(outcome.actions.iter().flat_map(|a| a.words()));
    d.words(outcome.series.times_ps.iter().copied());
    for line in &outcome.series.lines {
        d.words(line.values.iter().copied());
    }
    d.0
}
