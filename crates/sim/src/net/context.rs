//! What every model is handed: the clock, the event queue, frames, lines, flows, and where results are counted.
//!
//! A model changes its own state and this context, and never another node.

use super::event::Event;
use super::event_builder::EventBuilding;
use super::flow::{Carried, Flow, Hop};
use super::frame::{Control, Frame, NIL};
use super::ledger::Ledger;
use super::line::Line;
use super::messages::Pipe;
use super::routing::Routing;
use super::storage::Storing;
use crate::engine::slab::Slab;
use crate::engine::{EventQueue, Phase};
use crate::results::CaptureRecord;
use crate::results::collect::{Cause, Collector};
use crate::transport::rdma::Packet;
use crate::transport::{Ack, DataSegment};
use clearway_core::{FlowKey, Instant};
use std::collections::BTreeMap;

/// Memory of a stored multicast frame: freed when the last copy has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    pub(crate) copies: u32,
}

/// The world beside the nodes.
#[derive(Debug)]
pub(crate) struct Context {
    /// The clock, picoseconds.
    pub(crate) now: u64,
    /// Last instant of the run.
    pub(crate) end: u64,
    /// Frames generated before are not counted.
    pub(crate) warmup: u64,
    pub(crate) events: EventQueue<Event>,
    pub(crate) frames: Slab<Frame>,
    pub(crate) controls: Slab<Control>,
    pub(crate) packets: Slab<Packet>,
    pub(crate) shared: Slab<Shared>,
    /// Segments on their way, and the acknowledgement that rides on each, or [`NIL`].
    pub(crate) segments: Slab<(DataSegment, u32)>,
    pub(crate) acks: Slab<Ack>,
    /// Event builders, by workload.
    pub(crate) builders: BTreeMap<u32, Box<EventBuilding>>,
    /// Clients and nodes of each storage workload.
    pub(crate) storage: BTreeMap<u32, Box<Storing>>,
    /// Ways for messages between hosts.
    pub(crate) pipes: Vec<Pipe>,
    /// Intended instants of requests that are not answered yet.
    pub(crate) calls: Slab<u64>,
    pub(crate) lines: Vec<Line>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) keys: Vec<FlowKey>,
    /// Workload of each flow.
    pub(crate) workload_of: Vec<u32>,
    /// What the frames of each workload carry.
    pub(crate) carried: Vec<Carried>,
    pub(crate) routing: Routing,
    pub(crate) hops: Vec<Hop>,
    pub(crate) ledger: Ledger,
    pub(crate) collector: Collector,
    pub(crate) captured: Vec<CaptureRecord>,
}

impl Context {
    /// Adds an event unless it lies beyond the end of the run.
    #[inline]
    pub(crate) fn push(&mut self, at: u64, phase: Phase, node: u32, event: Event) {
        if at <= self.end {
            self.events.push(Instant::from_ps(at), phase, node, event);
        }
    }

    /// The clock as the traffic manager takes it.
    #[inline]
    pub(crate) const fn instant(&self) -> Instant {
        Instant::from_ps(self.now)
    }

    /// The header fields of a frame.
    pub(crate) fn key_of(&self, frame: &Frame) -> FlowKey {
        let mut key = self.keys.get(frame.flow as usize).copied().unwrap_or_default();
        if self.flows.get(frame.flow as usize).is_some_and(|f| f.spread) {
            key.pcp = frame.pcp;
        }
        key
    }

    /// Takes a frame out of the world and counts it, and every receiver behind its next hop, as lost.
    #[cold]
    pub(crate) fn lose(&mut self, handle: u32, cause: Cause, node: u32) {
        let Some(frame) = self.frames.remove(handle) else {
            return;
        };
        let leaves = self.leaves_of(&frame);
        self.forget_tag(&frame, node, leaves);
        self.collector
            .lose(&mut self.flows, &frame, cause, node, leaves, self.warmup);
    }

    /// Takes a frame out of the world that was on a line that is down.
    #[cold]
    pub(crate) fn lose_on_line(&mut self, handle: u32, line: u32) {
        let leaves = self.frames.get(handle).map_or(0, |frame| self.leaves_of(frame));
        let l = &mut self.lines[line as usize];
        l.lost += leaves;
        let node = l.from.0;
        self.lose(handle, Cause::LinkDown, node);
    }

    /// Receivers behind a frame: one, or more for a multicast frame that has not branched yet.
    pub(crate) fn leaves_of(&self, frame: &Frame) -> u64 {
        let Some(hop) = self.hops.get(frame.hop as usize) else {
            return 1;
        };
        if frame.chain != NIL {
            return self.leaves_behind(hop);
        }
        self.leaves_from(frame.hop)
    }

    /// Receivers behind one hop of a tree.
    fn leaves_behind(&self, hop: &Hop) -> u64 {
        if hop.next == NIL {
            1
        } else {
            self.leaves_from(hop.next)
        }
    }

    /// Receivers behind all the hops that begin at `first` at one node.
    fn leaves_from(&self, first: u32) -> u64 {
        let siblings = self.hops.get(first as usize).map_or(0, |hop| hop.siblings);
        let hops = self.hops.iter().skip(first as usize).take(usize::from(siblings));
        hops.map(|hop| self.leaves_behind(hop)).sum()
    }

    /// Gives back what a transport kept for a frame.
    fn forget_tag(&mut self, frame: &Frame, node: u32, leaves: u64) {
        use super::flow::Meaning;
        match self.flows.get(frame.flow as usize).map(|f| f.meaning) {
            Some(Meaning::Data) => {
                if let Some((_, ack)) = self.segments.remove(frame.tag) {
                    let _ = self.acks.remove(ack);
                }
            }
            Some(Meaning::Ack) => {
                let _ = self.acks.remove(frame.tag);
            }
            Some(Meaning::Rdma) => {
                let _ = self.packets.remove(frame.tag);
            }
            Some(Meaning::Datagram) => self.datagram_lost(frame, node, leaves),
            Some(Meaning::Request | Meaning::Response) => {
                let _ = self.calls.remove(frame.tag);
            }
            _ => {}
        }
    }

    /// Takes a frame out of the world that reaches its application at `at`, and counts it.
    #[inline]
    pub(crate) fn deliver(&mut self, handle: u32, at: u64) -> Option<Frame> {
        let frame = self.frames.remove(handle)?;
        let flow = &mut self.flows[frame.flow as usize];
        self.collector.deliver(flow, &frame, at, self.warmup, self.end);
        Some(frame)
    }

    /// The same for a frame that nobody asks for afterwards.
    #[inline]
    pub(crate) fn count_delivery(&mut self, handle: u32, at: u64) {
        if let Some(frame) = self.frames.get(handle) {
            let flow = &mut self.flows[frame.flow as usize];
            self.collector.deliver(flow, frame, at, self.warmup, self.end);
            let _ = self.frames.remove(handle);
        }
    }
}
