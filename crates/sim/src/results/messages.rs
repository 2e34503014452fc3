//! What is counted of messages: how many, how long they took, how many never came.
//!
//! Population: messages posted after the warm-up, once for each receiver; a reply is a message too and is counted with
//! its workload's. Beside it a window counts what arrived after the warm-up whenever it was posted: throughput is read
//! from that. One-way latency is from the instant at which the application meant to send to the last byte at the reader.

use crate::net::messages::Message;
use clearway_metrics::histogram::Histogram;

/// Messages of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Posted after the warm-up, once for each receiver, replies included.
    pub posted: u64,
    /// Payload bytes of those.
    pub posted_bytes: u64,
    /// Those of them that arrived.
    pub delivered: u64,
    /// Messages lost for good, by UDP alone, whenever posted.
    pub lost: u64,
    /// Segments or packets that TCP or RoCE sent again, warm-up included.
    pub sent_again: u64,
    /// Expiries of their retransmission timers, warm-up included.
    pub timeouts: u64,
    /// Arrived after the warm-up, whenever posted.
    pub window: u64,
    /// Payload bytes of those.
    pub window_bytes: u64,
    /// One way, from the intended instant, picoseconds.
    pub one_way: Histogram,
    /// From the intended instant of an RDMA write to its completion at the writer, picoseconds; not for streams.
    pub completions: Histogram,
    /// From the intended instant of a message to the last byte of its reply, picoseconds.
    pub round_trips: Histogram,
}

/// Messages of every workload.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageCounters {
    by_workload: Vec<Option<Box<Messages>>>,
}

impl MessageCounters {
    fn of(&mut self, workload: u32) -> &mut Messages {
        let place = workload as usize;
        if place >= self.by_workload.len() {
            self.by_workload.resize_with(place + 1, || None);
        }
        self.by_workload[place].get_or_insert_default()
    }

    pub(crate) fn post(&mut self, workload: u32, message: &Message, receivers: u64, warmup: u64) {
        if message.posted_at >= warmup {
            let m = self.of(workload);
            m.posted += receivers;
            m.posted_bytes += receivers * message.bytes;
        }
    }

    pub(crate) fn deliver(&mut self, workload: u32, message: &Message, now: u64, warmup: u64) {
        if now < warmup {
            return;
        }
        let m = self.of(workload);
        m.window += 1;
        m.window_bytes += message.bytes;
        if message.posted_at >= warmup {
            m.delivered += 1;
            m.one_way.record(now - message.posted_at);
        }
    }

    pub(crate) fn complete(&mut self, workload: u32, message: &Message, now: u64, warmup: u64) {
        if message.posted_at >= warmup {
            self.of(workload)
                .completions
                .record(now.saturating_sub(message.posted_at));
        }
    }

    pub(crate) fn lose(&mut self, workload: u32, count: u64) {
        if count > 0 {
            self.of(workload).lost += count;
        }
    }

    pub(crate) fn answer(&mut self, workload: u32, intended: u64, now: u64, warmup: u64) {
        if intended >= warmup {
            self.of(workload).round_trips.record(now.saturating_sub(intended));
        }
    }

    /// What one workload counted, if it posted anything.
    pub(crate) fn take(&mut self, workload: usize) -> Option<Messages> {
        self.by_workload.get_mut(workload)?.take().map(|m| *m)
    }
}
