//! One transmitter: a line of a rate, a plan or a FIFO, the streams that use it.
//!
//! Waiting is from a frame being in its queue to its first bit on the wire. A frame takes its own length and 20 bytes of
//! the line; with data counted that way the line serves `C t` (docs/bounds.md). The frame itself is not before itself,
//! which is worth its length over what is left by others rather than over the whole line.

use crate::deviation::{backlog, delay};
use crate::shaper::{Lengths, Shaper};
use crate::tree::{Certain, Tree, Wire};
use crate::{Arrival, BYTE, Bucket, Ramp, Ramps, Service, Unbounded, WIRE_OVERHEAD_BYTES, Why, wire};
use clearway_core::plan::{NodeKind, Plan, QueueMode};
use std::collections::BTreeMap;

/// Flows that are alike and come to one leaf the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Index of the leaf in the plan; 0 where there is no plan.
    pub leaf: u32,
    /// How many flows.
    pub flows: u64,
    /// Arrivals of each flow, in picobits on the wire (with 20 bytes a frame).
    pub arrival: Arrival,
    /// Shortest frame, bytes with FCS.
    pub frame_min: u32,
    /// Longest frame.
    pub frame_max: u32,
    /// Index in [`Port::sources`] of the line that it comes from; none: from the node itself.
    pub source: Option<usize>,
    /// Streams of one number came through one shaper together, which let no more than this through.
    pub group: Option<(u64, Arrival)>,
}

/// A transmitter.
#[derive(Clone, Debug)]
pub struct Port<'a> {
    /// The traffic manager's plan; none: one FIFO.
    pub plan: Option<&'a Plan>,
    /// Line rate that is certain, bit/s.
    pub rate_bps: u64,
    /// Bytes of frames that a FIFO behind the traffic manager holds; 0: none.
    pub fifo_bytes: u64,
    /// What each line brings here at most, all its streams together.
    pub sources: Vec<Arrival>,
    /// Who uses it.
    pub streams: Vec<Stream>,
}

/// Bounds of one leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafBound {
    /// Index of the leaf in the plan; 0 where there is no plan.
    pub leaf: u32,
    /// Longest wait of any frame before its first bit, picoseconds.
    pub wait_ps: Result<u64, Why>,
    /// Bytes (with FCS) that wait at most, what is on the wire not among them.
    pub backlog_bytes: Result<u64, Why>,
}

/// Bounds of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortBounds {
    /// Of each leaf that has streams, by index.
    pub leaves: Vec<LeafBound>,
    /// Longest wait of each stream, picoseconds.
    pub waits: Vec<Result<u64, Why>>,
    /// What each flow of a stream sends at most after a shaper of its own; unbounded where it has none.
    pub flow_caps: Vec<Arrival>,
    /// The narrowest shaper that a stream shares: its node, and what it lets through.
    pub shared_caps: Vec<Option<(u32, Arrival)>>,
    /// Service of a stream that has a shared queue for itself, where it is a ramp: for bounds over several hops.
    pub alone: Vec<Option<Ramps>>,
}

impl PortBounds {
    /// Of a port that nobody was looked at yet.
    pub(crate) const fn empty() -> Self {
        Self {
            leaves: Vec::new(),
            waits: Vec::new(),
            flow_caps: Vec::new(),
            shared_caps: Vec::new(),
            alone: Vec::new(),
        }
    }
}

/// What streams bring together: each shaper that they shared and each line that they share caps them.
pub(crate) fn together<'s>(streams: impl Iterator<Item = &'s Stream>, sources: &[Arrival]) -> Arrival {
    type Groups = BTreeMap<Option<u64>, (Arrival, Arrival)>;
    let mut by_source: BTreeMap<Option<usize>, Groups> = BTreeMap::new();
    for stream in streams {
        let all = stream.arrival.times(stream.flows);
        let groups = by_source.entry(stream.source).or_default();
        let (key, cap) = match &stream.group {
            Some((key, cap)) => (Some(*key), cap.clone()),
            None => (None, Arrival::unbounded()),
        };
        let group = groups
            .entry(key)
            .or_insert_with(|| (Arrival::nothing(), cap.clone()));
        group.0 = group.0.plus(&all);
        if group.1 != cap {
            group.1 = group.1.either(&cap);
        }
    }
    let mut total = Arrival::nothing();
    for (source, groups) in by_source {
        let sum = groups
            .values()
            .fold(Arrival::nothing(), |sum, (all, cap)| sum.plus(&all.min(cap)));
        let line = source.and_then(|s| sources.get(s));
        total = total.plus(&line.map_or_else(|| sum.clone(), |line| sum.min(line)));
    }
    total
}

impl Port<'_> {
    /// The bounds of every leaf and stream.
    #[must_use]
    pub fn bounds(&self) -> PortBounds {
        match self.plan {
            Some(plan) => self.managed(plan),
            None => self.fifo(),
        }
    }

    /// Picobits on the wire that the FIFO behind the manager holds at most.
    fn behind(&self) -> i128 {
        let longest = self.streams.iter().map(|s| s.frame_max).max();
        held_behind(self.fifo_bytes, longest.unwrap_or(0))
    }

    fn fifo(&self) -> PortBounds {
        let arrival = together(self.streams.iter(), &self.sources);
        let line = Ramps::of(Ramp {
            rate: self.rate_bps,
            lag: 0,
        });
        let certain = [Certain {
            service: Service::of(line.clone()),
            after: 0,
        }];
        let why = || self.why(&arrival, &certain, None);
        let waits: Vec<_> = self
            .streams
            .iter()
            .map(|s| wait(&arrival, s, &certain).ok_or_else(why))
            .collect();
        let longest = self.streams.iter().map(|s| s.frame_max).max().unwrap_or(64);
        let leaf = LeafBound {
            leaf: 0,
            wait_ps: worst(waits.iter()),
            backlog_bytes: waiting(&arrival, &certain)
                .map(|b| l2(b, longest))
                .ok_or_else(why),
        };
        let count = self.streams.len();
        PortBounds {
            leaves: if count == 0 { Vec::new() } else { vec![leaf] },
            waits,
            flow_caps: vec![Arrival::unbounded(); count],
            shared_caps: vec![None; count],
            alone: vec![(count == 1).then_some(line); count],
        }
    }

    fn managed(&self, plan: &Plan) -> PortBounds {
        let mut tree = Tree::new(
            plan,
            Wire {
                rate: self.rate_bps,
                behind: self.behind(),
                streams: &self.streams,
                sources: &self.sources,
            },
        );
        tree.solve();
        let count = self.streams.len();
        let mut bounds = PortBounds {
            leaves: Vec::new(),
            waits: vec![Err(Why::Arrivals); count],
            flow_caps: vec![Arrival::unbounded(); count],
            shared_caps: vec![None; count],
            alone: vec![None; count],
        };
        for (leaf, node) in plan.nodes.iter().enumerate() {
            let NodeKind::Queue(queue) = &node.kind else {
                continue;
            };
            let here = |(_, s): &(usize, &Stream)| s.leaf as usize == leaf;
            let streams: Vec<(usize, &Stream)> = self.streams.iter().enumerate().filter(here).collect();
            if streams.is_empty() {
                continue;
            }
            let longest = streams.iter().map(|(_, s)| s.frame_max).max().unwrap_or(64);
            let before = tree.unbounded_before(leaf);
            let mut queued: Result<i128, Why> = Ok(0);
            match queue.mode {
                QueueMode::Shared => {
                    let arrival = tree.arrivals_of(leaf);
                    let certain = &tree.leaves[leaf];
                    let why = || self.why(&arrival, certain, before);
                    for &(index, stream) in &streams {
                        bounds.waits[index] = wait(&arrival, stream, certain).ok_or_else(why);
                        if streams.len() == 1 {
                            bounds.alone[index] = single(certain);
                        }
                    }
                    queued = waiting(&arrival, certain).ok_or_else(why);
                }
                QueueMode::PerFlow { shape, .. } => {
                    for &(index, stream) in &streams {
                        let certain = &tree.flows[index];
                        let why = || self.why(&stream.arrival, certain, before);
                        bounds.waits[index] = wait(&stream.arrival, stream, certain).ok_or_else(why);
                        let own = waiting(&stream.arrival, certain).ok_or_else(why);
                        queued = queued.and_then(|sum| Ok(sum + own? * i128::from(stream.flows)));
                        let lengths = Lengths {
                            min: stream.frame_min,
                            max: stream.frame_max,
                        };
                        if let Some(shape) = shape {
                            let shaper = Shaper::flow(shape, node.accounting, lengths, plan.frame_bytes_max);
                            bounds.flow_caps[index] = Arrival::of(shaper.cap);
                        }
                    }
                }
            }
            for &(index, _) in &streams {
                let shared = tree.narrowest(leaf);
                bounds.shared_caps[index] = shared.and_then(|(n, cap)| Some((u32::try_from(n).ok()?, cap)));
            }
            bounds.leaves.push(LeafBound {
                leaf: u32::try_from(leaf).unwrap_or(u32::MAX),
                wait_ps: worst(streams.iter().map(|(index, _)| &bounds.waits[*index])),
                backlog_bytes: queued.map(|b| l2(b, longest)),
            });
        }
        bounds
    }

    fn why(&self, arrival: &Arrival, certain: &[Certain], before: Option<u32>) -> Why {
        let Some(arrival_bps) = arrival.rate() else {
            return Why::Arrivals;
        };
        if let Some(node) = before {
            return Why::Before(node);
        }
        let service_bps = certain.iter().map(|c| c.service.rate()).max().unwrap_or(0);
        Why::Overload {
            arrival_bps,
            service_bps,
        }
    }
}

/// Picobits on the wire of what a FIFO of so many bytes holds at most: frames of 64 bytes have most beside their own
/// length, and a frame longer than the FIFO is let in where that is empty.
pub(crate) fn held_behind(fifo_bytes: u64, longest: u32) -> i128 {
    if fifo_bytes == 0 {
        return 0;
    }
    let frames = fifo_bytes / 64;
    let held = i128::from(fifo_bytes) + i128::from(frames) * i128::from(WIRE_OVERHEAD_BYTES);
    (held * BYTE).max(wire(longest))
}

/// The longest wait of a stream's frames behind these arrivals: the least that any service is certain of.
fn wait(arrival: &Arrival, stream: &Stream, certain: &[Certain]) -> Option<u64> {
    let own = wire(stream.frame_min);
    let each = certain
        .iter()
        .filter_map(|c| Some(delay(arrival, own, &c.service)?.saturating_add(c.after)));
    each.min()
}

fn waiting(arrival: &Arrival, certain: &[Certain]) -> Option<i128> {
    certain.iter().filter_map(|c| backlog(arrival, &c.service)).min()
}

/// The service with the shortest latency that is convex and has nothing behind it.
fn single(certain: &[Certain]) -> Option<Ramps> {
    let plain = certain
        .iter()
        .filter(|c| c.after == 0 && c.service.parts.len() == 1);
    let all = plain.flat_map(|c| c.service.parts[0].ramps().iter().copied());
    let ramps = Ramps::greatest(all);
    (!ramps.ramps().is_empty()).then_some(ramps)
}

fn worst<'w>(waits: impl Iterator<Item = &'w Result<u64, Why>>) -> Result<u64, Why> {
    let mut longest = 0;
    for wait in waits {
        longest = longest.max((*wait)?);
    }
    Ok(longest)
}

/// Bytes with FCS of this much on the wire, at most: frames of the longest length have the least beside it.
fn l2(wire_data: i128, longest: u32) -> u64 {
    let (own, with) = (
        i128::from(longest),
        i128::from(longest) + i128::from(WIRE_OVERHEAD_BYTES),
    );
    let bytes = crate::div_up(wire_data * own, with * BYTE);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// What a line of this rate brings in any span: one longest frame, and its rate.
#[must_use]
pub fn line_cap(frame_max: u32, rate_bps: u64) -> Arrival {
    Arrival::of(Bucket {
        burst: wire(frame_max),
        rate: rate_bps,
    })
}

impl Unbounded {
    pub(crate) const fn at(line: usize, leaf: u32, why: Why) -> Self {
        Self { line, leaf, why }
    }
}
