//! What is counted while the simulation runs: per class, per node, in fixed memory.
//!
//! Population: frames generated after the warm-up. A frame is offered once for each of its receivers, and each of
//! those offers ends as delivered, as dropped, or is in flight when the run ends. Beside the population, a window
//! counts what was delivered after the warm-up whenever it was generated: throughput is read from it.

use super::messages::MessageCounters;
use crate::net::application::Calls;
use crate::net::flow::Flow;
use crate::net::frame::{Control, Frame};
use crate::results::jitter::Jitters;
use clearway_core::RefuseReason;
use clearway_metrics::histogram::Histogram;
use clearway_policy::scenario::Scenario;

/// Why a frame was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A traffic manager refused it.
    Refused(RefuseReason),
    /// It grew too old at the head of its queue.
    Aged,
    /// The switch's memory was full.
    MemoryFull,
    /// Its queue was at its threshold of the shared memory.
    Threshold,
    /// The receive side of a NIC was full.
    ReceiveBuffer,
    /// The receive ring of its processor was full.
    ReceiveRing,
    /// The link that it was on, or was sent to, was down.
    LinkDown,
}

/// Number of causes.
pub const CAUSES: usize = RefuseReason::ALL.len() + 6;

impl Cause {
    /// All causes, in the order of [`Cause::index`].
    pub fn all() -> impl Iterator<Item = Self> {
        RefuseReason::ALL.into_iter().map(Self::Refused).chain([
            Self::Aged,
            Self::MemoryFull,
            Self::Threshold,
            Self::ReceiveBuffer,
            Self::LinkDown,
            Self::ReceiveRing,
        ])
    }
    /// Place among the counters.
    #[must_use]
    pub fn index(self) -> usize {
        let refusals = RefuseReason::ALL.len();
        match self {
            Self::Refused(reason) => RefuseReason::ALL.iter().position(|r| *r == reason).unwrap_or(0),
            Self::Aged => refusals,
            Self::MemoryFull => refusals + 1,
            Self::Threshold => refusals + 2,
            Self::ReceiveBuffer => refusals + 3,
            Self::LinkDown => refusals + 4,
            Self::ReceiveRing => refusals + 5,
        }
    }
    /// A name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused(reason) => reason.name(),
            Self::Aged => "aged",
            Self::MemoryFull => "memory-full",
            Self::Threshold => "threshold",
            Self::ReceiveBuffer => "receive-buffer",
            Self::LinkDown => "link-down",
            Self::ReceiveRing => "receive-ring",
        }
    }
}

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Frames.
    pub frames: u64,
    /// L2 bytes, FCS included.
    pub bytes: u64,
    /// Payload bytes.
    pub payload: u64,
}

impl Totals {
    #[inline]
    fn add(&mut self, times: u64, bytes: u64, payload: u64) {
        self.frames += times;
        self.bytes += times * bytes;
        self.payload += times * payload;
    }
    /// L1 bytes: with 8 of preamble and 12 of gap a frame.
    #[must_use]
    pub const fn l1_bytes(&self) -> u64 {
        self.bytes + 20 * self.frames
    }
}

/// What one class counted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ClassCounters {
    /// Generated.
    pub offered: Totals,
    /// Reached the application before the end of the run.
    pub delivered: Totals,
    /// Lost.
    pub dropped: Totals,
    /// Frames lost, by [`Cause::index`].
    pub causes: [u64; CAUSES],
    /// Delivered after the warm-up, whenever generated.
    pub window: Totals,
    /// From generation to the last byte at the sink application, picoseconds.
    pub from_generation: Histogram,
    /// From entering the NIC, picoseconds.
    pub from_nic: Histogram,
    /// From the first bit on the first wire, picoseconds.
    pub from_first_bit: Histogram,
    /// L2 bytes delivered by sample interval.
    pub bins: Vec<u64>,
}

/// The counters that models write to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    pub(crate) classes: Vec<ClassCounters>,
    /// By class, latencies of frames that went on the wire the instant they were generated: counted once here and
    /// added to each class' three histograms by [`Collector::close`].
    straight: Vec<Histogram>,
    /// The same of frames that reached their NIC the instant they were generated, for two of the three.
    without_stack: Vec<Histogram>,
    /// Frames lost at each node, by cause.
    pub(crate) node_causes: Vec<[u64; CAUSES]>,
    /// From generation, by flow, where asked for.
    pub(crate) flow_histograms: Vec<Histogram>,
    /// Picoseconds of a bin; 0: no bins.
    pub(crate) interval: u64,
    /// Frames counted out of the world at their last transmitter whose delivery lies beyond the end.
    pub(crate) folded_in_flight: u64,
    /// Frames that crossed a line.
    pub(crate) packet_hops: u64,
    /// Calls of each workload.
    pub(crate) calls: Vec<Calls>,
    /// Messages of each workload.
    pub(crate) messages: MessageCounters,
    /// Round trips that are kept one by one, at most.
    pub(crate) samples_max: usize,
    /// XOFF, XON and credits, in order of time; the first [`MARKS_MAX`].
    pub(crate) marks: Vec<FlowControlMark>,
    flow_histograms_on: bool,
    /// How evenly each flow's frames arrive, where asked for.
    pub(crate) jitters: Option<Box<Jitters>>,
    /// Either of the two is kept.
    by_flow: bool,
}

/// Marks kept at most.
const MARKS_MAX: usize = 65_536;

/// A flow-control frame that a switch queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowControlMark {
    /// When, picoseconds.
    pub at_ps: u64,
    /// Index of the line that it goes out on: twice the link, plus one for its second end.
    pub line: u32,
    /// Gates or outputs concerned, one bit each.
    pub gates: u64,
    /// XOFF; false: XON or credit.
    pub off: bool,
}

impl Collector {
    pub(crate) fn new(classes: usize, nodes: usize, workloads: usize, interval: u64, bins: usize) -> Self {
        let class = ClassCounters {
            bins: vec![0; bins],
            ..ClassCounters::default()
        };
        Self {
            classes: vec![class; classes.max(1)],
            straight: vec![Histogram::new(); classes.max(1)],
            without_stack: vec![Histogram::new(); classes.max(1)],
            node_causes: vec![[0; CAUSES]; nodes],
            interval,
            calls: vec![Calls::default(); workloads],
            ..Self::default()
        }
    }

    /// Keeps a histogram for each flow from now on.
    pub(crate) const fn keep_flow_histograms(&mut self) {
        self.flow_histograms_on = true;
        self.by_flow = true;
    }

    /// Keeps the delay variation of each flow from now on.
    pub(crate) fn keep_flow_jitter(&mut self, scenario: &Scenario) {
        self.jitters = Some(Box::new(Jitters::of(scenario)));
        self.by_flow = true;
    }

    /// A flow was made.
    pub(crate) fn add_flow(&mut self, workload: u32) {
        if self.flow_histograms_on {
            self.flow_histograms.push(Histogram::new());
        }
        if let Some(jitters) = &mut self.jitters {
            jitters.add(workload);
        }
    }

    /// A flow-control frame was queued.
    pub(crate) fn mark(&mut self, now: u64, line: u32, control: Control) {
        if self.interval == 0 || self.marks.len() >= MARKS_MAX {
            return;
        }
        let (gates, off) = match control {
            Control::Pause { gates, quanta } => (gates, quanta > 0),
            Control::Credit { output, .. } => (1 << (output & 63), false),
        };
        self.marks.push(FlowControlMark {
            at_ps: now,
            line,
            gates,
            off,
        });
    }

    /// A call of a workload was begun.
    pub(crate) fn call_begun(&mut self, workload: u32, intended: u64, warmup: u64) {
        if let Some(calls) = self.calls.get_mut(workload as usize) {
            calls.begun += u64::from(intended >= warmup);
        }
    }

    /// A call of a workload was answered.
    pub(crate) fn call_answered(&mut self, workload: u32, intended: u64, now: u64, warmup: u64) {
        let samples_max = self.samples_max;
        let Some(calls) = self.calls.get_mut(workload as usize) else {
            return;
        };
        let round_trip = now.saturating_sub(intended);
        if calls.samples.len() < samples_max {
            calls.samples.push(round_trip);
        }
        if intended >= warmup {
            calls.answered += 1;
            calls.round_trips.record(round_trip);
        }
    }

    /// Counts frames of a flow, all of one length, as generated.
    #[inline]
    pub(crate) fn offer(&mut self, flow: &mut Flow, class: u16, len: u32, frames: u32) {
        let (leaves, bytes) = (u64::from(flow.leaves) * u64::from(frames), u64::from(len));
        let payload = u64::from(len.saturating_sub(u32::from(flow.made_overhead)));
        flow.offered.frames += leaves;
        flow.offered.bytes += leaves * bytes;
        self.classes[usize::from(class)]
            .offered
            .add(leaves, bytes, payload);
    }

    /// Counts a frame as delivered at `at`.
    #[inline]
    pub(crate) fn deliver(&mut self, flow: &mut Flow, frame: &Frame, at: u64, warmup: u64, end: u64) {
        if at > end {
            self.folded_in_flight += 1;
            return;
        }
        if at < warmup {
            return;
        }
        let bytes = u64::from(frame.len);
        let payload = u64::from(frame.len.saturating_sub(u32::from(flow.overhead)));
        let class = &mut self.classes[usize::from(frame.class)];
        class.window.add(1, bytes, payload);
        if let Some(bin) = at.checked_div(self.interval)
            && let Some(bin) = class.bins.get_mut(bin as usize)
        {
            *bin += bytes;
        }
        if frame.generated < warmup {
            return;
        }
        class.delivered.add(1, bytes, payload);
        let latency = at - frame.generated;
        if frame.nic_entry == frame.generated && frame.first_bit == frame.generated {
            self.straight[usize::from(frame.class)].record(latency);
        } else {
            class.from_first_bit.record(at.saturating_sub(frame.first_bit));
            if frame.nic_entry == frame.generated {
                self.without_stack[usize::from(frame.class)].record(latency);
            } else {
                class.from_generation.record(latency);
                class.from_nic.record(at.saturating_sub(frame.nic_entry));
            }
        }
        let counters = &mut flow.delivered;
        counters.frames += 1;
        counters.bytes += bytes;
        counters.latency_sum_ps = counters.latency_sum_ps.saturating_add(latency);
        counters.latency_min_ps = counters.latency_min_ps.min(latency);
        counters.latency_max_ps = counters.latency_max_ps.max(latency);
        if self.by_flow {
            self.deliver_by_flow(frame, latency, at);
        }
    }

    /// What a scenario may ask for beside the counters of a flow.
    #[cold]
    fn deliver_by_flow(&mut self, frame: &Frame, latency: u64, at: u64) {
        if let Some(histogram) = self.flow_histograms.get_mut(frame.flow as usize) {
            histogram.record(latency);
        }
        if let Some(jitters) = &mut self.jitters {
            jitters.deliver(frame, at);
        }
    }

    /// Completes the histograms when the run is over.
    pub(crate) fn close(&mut self) {
        for (class, straight) in self.classes.iter_mut().zip(&mut self.straight) {
            class.from_generation.merge(straight);
            class.from_nic.merge(straight);
            class.from_first_bit.merge(straight);
            straight.clear();
        }
        for (class, both) in self.classes.iter_mut().zip(&mut self.without_stack) {
            class.from_generation.merge(both);
            class.from_nic.merge(both);
            both.clear();
        }
    }

    /// Counts a frame as lost for `leaves` receivers.
    pub(crate) fn lose(
        &mut self,
        flows: &mut [Flow],
        frame: &Frame,
        cause: Cause,
        node: u32,
        leaves: u64,
        warmup: u64,
    ) {
        if frame.generated < warmup {
            return;
        }
        if let Some(causes) = self.node_causes.get_mut(node as usize) {
            causes[cause.index()] += leaves;
        }
        let Some(flow) = flows.get_mut(frame.flow as usize) else {
            return;
        };
        flow.offered.dropped_frames += leaves;
        let payload = u64::from(frame.len.saturating_sub(u32::from(flow.overhead)));
        if let Some(class) = self.classes.get_mut(usize::from(frame.class)) {
            class.dropped.add(leaves, u64::from(frame.len), payload);
            class.causes[cause.index()] += leaves;
        }
    }
}
