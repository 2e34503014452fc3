//! An end station: sources, the stack, the host interface and the NIC.
//!
//! On transmit a frame goes from the application down the stack (a fixed delay), over the host interface if there
//! is one, into the NIC's traffic manager and onto the wire. On receive it goes from the wire into the receive
//! channels (a traffic manager whose transmitter is the host interface) if there are any, up the stack, and to the
//! application. The source queue is the traffic manager's; without a policy it is one FIFO without limit. Where the
//! host's processors are modelled ([`super::stack`]) a frame is their work first on its way down, and last on its way
//! up: the fixed delays then stand for what lies between processor and NIC.

use super::application::{Endpoint, Requester};
use super::bus::Bus;
use super::context::Context;
use super::event::Event;
use super::flow::Meaning;
use super::frame::{CONTROL_BIT, Frame, NIL};
use super::messages::exchange::Exchange;
use super::messages::talker::Talker;
use super::script::Action;
use super::sending::Sending;
use super::stack::Stack;
use super::transmitter::{Started, Transmitter};
use crate::engine::{Phase, Stream};
use crate::results::collect::Cause;
use clearway_core::Ecn;
use std::collections::VecDeque;

/// What the stack takes longer than its fixed delay: an exponential time drawn for each frame.
#[derive(Debug)]
pub(crate) struct Jitter {
    stream: Stream,
    mean_ps: f64,
}

impl Jitter {
    /// None where the mean is zero.
    pub(crate) fn new(stream: Stream, mean_ps: u64) -> Option<Box<Self>> {
        (mean_ps > 0).then(|| {
            Box::new(Self {
                stream,
                mean_ps: mean_ps as f64,
            })
        })
    }

    fn draw(&mut self) -> u64 {
        (self.stream.exponential() * self.mean_ps) as u64
    }
}

/// An end station. What every frame touches comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Host {
    pub(crate) node: u32,
    /// Sources that wait for the NIC.
    pub(crate) blocked: u32,
    /// Frames of sources go through the stack: it jitters, or its processors are modelled.
    pub(crate) staged: bool,
    pub(crate) stack_tx_ps: u64,
    pub(crate) jitter: Option<Box<Jitter>>,
    pub(crate) bus_tx: Option<Box<Bus>>,
    pub(crate) bus_rx: Option<Box<Bus>>,
    pub(crate) sources: Vec<Sending>,
    pub(crate) transmitter: Transmitter,
    pub(crate) stack_rx_ps: u64,
    /// Frames on their way up the stack.
    pub(crate) up: VecDeque<(u64, u32)>,
    /// Frames on their way down the stack.
    pub(crate) down: VecDeque<(u64, u32)>,
    pub(crate) requesters: Vec<Requester>,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) talkers: Vec<Talker>,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) stack: Option<Box<Stack>>,
    pub(crate) obeys_pause: bool,
    pub(crate) reaction_ps: u64,
    pub(crate) receive_buffer_bytes: u64,
}

impl Host {
    /// True where a frame for a sink is only counted, a stack delay after its last bit is in.
    pub(crate) const fn is_direct(&self) -> bool {
        self.bus_rx.is_none() && !self.staged
    }

    fn jitter(&mut self) -> u64 {
        self.jitter.as_mut().map_or(0, |jitter| jitter.draw())
    }

    /// Hands a frame to the host interface, or to the NIC where there is none.
    #[inline]
    pub(crate) fn enqueue(&mut self, ctx: &mut Context, handle: u32) {
        let Some(bus) = &mut self.bus_tx else {
            self.enter_nic(ctx, handle);
            return;
        };
        let mut bytes = 0;
        let mut next = handle;
        while let Some(frame) = ctx.frames.get(next) {
            bytes += frame.len;
            next = frame.chain;
        }
        if let Err(reason) = bus.enqueue(ctx, handle, bytes) {
            let mut next = handle;
            while let Some(frame) = ctx.frames.get_mut(next) {
                let lost = next;
                next = std::mem::replace(&mut frame.chain, NIL);
                self.lose_sent(ctx, lost, Cause::Refused(reason));
            }
        }
    }

    /// Puts a frame into the NIC's queues.
    #[inline]
    fn enter_nic(&mut self, ctx: &mut Context, handle: u32) {
        let Some((len, hop, gate, ecn)) = self.at_nic(ctx, handle) else {
            return;
        };
        if let Err(reason) = self.transmitter.enqueue(ctx, handle, len, hop, gate, ecn) {
            self.lose_sent(ctx, handle, Cause::Refused(reason));
        }
    }

    /// The same for a frame that comes alone at this instant: it may go on the wire at once.
    #[inline]
    pub(super) fn offer_nic(&mut self, ctx: &mut Context, handle: u32) {
        let Some((len, hop, gate, ecn)) = self.at_nic(ctx, handle) else {
            return;
        };
        match self.transmitter.offer(ctx, handle, len, hop, gate, ecn) {
            Ok(None | Some(Started::Nothing)) => {}
            Ok(Some(Started::Frame)) => {
                if self.blocked > 0 {
                    self.unblock(ctx);
                }
            }
            Ok(Some(Started::Dropped { handle, .. })) => {
                ctx.lose(handle, Cause::Aged, self.node);
                self.pump(ctx);
            }
            Err(reason) => ctx.lose(handle, Cause::Refused(reason), self.node),
        }
    }

    /// Writes down that a frame is at the NIC: its length, hop, gate and ECN field.
    #[inline]
    fn at_nic(&mut self, ctx: &mut Context, handle: u32) -> Option<(u32, u32, u8, Ecn)> {
        let now = ctx.now;
        let frame = ctx.frames.get_mut(handle)?;
        frame.nic_entry = now;
        frame.queued = now;
        frame.chain = NIL;
        let Frame {
            len, hop, pcp, ecn, ..
        } = *frame;
        let gate = if self.transmitter.gate_by_output {
            let next = ctx.hops.get(hop as usize).map_or(NIL, |h| h.next);
            self.transmitter.gate_of(ctx, pcp, next)
        } else {
            pcp
        };
        Some((len, hop, gate, ecn))
    }

    /// Lets the host interface and the transmitter look at what is new.
    #[inline]
    pub(crate) fn look(&mut self, ctx: &mut Context) {
        if let Some(bus) = &mut self.bus_tx {
            bus.look(ctx, self.node, Event::BusTransmit { host: self.node });
        }
        if self.transmitter.backlog_bytes > 0 && self.transmitter.looks_now(ctx) {
            self.pump(ctx);
        }
    }

    /// The transmitter's wake-up came.
    #[inline]
    pub(crate) fn free_due(&mut self, ctx: &mut Context) {
        if self.transmitter.wakes(ctx.now) {
            self.pump(ctx);
        }
    }

    #[inline]
    pub(super) fn pump(&mut self, ctx: &mut Context) {
        let mut started = self.transmitter.start(ctx);
        while let Started::Dropped { handle, .. } = started {
            self.lose_sent(ctx, handle, Cause::Aged);
            started = self.transmitter.start(ctx);
        }
        if self.stack.is_some() && matches!(started, Started::Frame) {
            self.frame_sent(ctx);
        }
        if self.blocked > 0 {
            self.unblock(ctx);
        }
    }

    /// Something came in from the wire.
    pub(crate) fn arrive(&mut self, ctx: &mut Context, handle: u32) {
        if handle == NIL {
            return;
        }
        if handle & CONTROL_BIT != 0 {
            self.hear(ctx, handle & !CONTROL_BIT);
            return;
        }
        let Some(bus) = &mut self.bus_rx else {
            self.rise(ctx, handle, ctx.now.saturating_add(self.stack_rx_ps));
            return;
        };
        let Some(frame) = ctx.frames.get(handle) else {
            return;
        };
        let len = frame.len;
        if bus.bytes + u64::from(len) > self.receive_buffer_bytes {
            ctx.lose(handle, Cause::ReceiveBuffer, self.node);
            return;
        }
        match bus.enqueue(ctx, handle, len) {
            Ok(()) => bus.look(ctx, self.node, Event::BusReceive { host: self.node }),
            Err(reason) => ctx.lose(handle, Cause::Refused(reason), self.node),
        }
    }

    fn hear(&mut self, ctx: &mut Context, control: u32) {
        let Some(control) = ctx.controls.remove(control) else {
            return;
        };
        if !self.obeys_pause {
            self.transmitter.ignore(control);
            return;
        }
        if self.transmitter.hear(ctx, control, self.reaction_ps) && self.transmitter.looks_now(ctx) {
            self.pump(ctx);
        }
    }

    /// Carries out a scripted action on the NIC.
    pub(crate) fn act(&mut self, ctx: &mut Context, action: &Action) -> Result<(), String> {
        self.transmitter.act(ctx, action)?;
        if self.transmitter.looks_now(ctx) {
            self.pump(ctx);
        }
        Ok(())
    }

    /// A reaction time is over.
    pub(crate) fn pause_due(&mut self, ctx: &mut Context) {
        self.transmitter.pause_due(ctx);
        if self.transmitter.looks_now(ctx) {
            self.pump(ctx);
        }
    }

    /// A transfer to the NIC is over.
    pub(crate) fn bus_transmit_due(&mut self, ctx: &mut Context) {
        let node = self.node;
        let Some(bus) = &mut self.bus_tx else { return };
        let crossed = bus.due(ctx, node, Event::BusTransmit { host: node });
        if let Some(crossed) = crossed.filter(|c| c.first != NIL) {
            let waiting = !bus.landing.is_empty();
            bus.landing.push_back((crossed.at, crossed.first));
            if crossed.at <= ctx.now {
                self.bus_arrival_due(ctx);
            } else if !waiting {
                ctx.push(crossed.at, Phase::Arrival, node, Event::BusArrival { host: node });
            }
        }
    }

    /// Frames that crossed the bus reach the NIC.
    pub(crate) fn bus_arrival_due(&mut self, ctx: &mut Context) {
        let node = self.node;
        while let Some(bus) = &mut self.bus_tx {
            let Some(&(at, first)) = bus.landing.front() else {
                break;
            };
            if at > ctx.now {
                ctx.push(at, Phase::Arrival, node, Event::BusArrival { host: node });
                break;
            }
            bus.landing.pop_front();
            let mut next = first;
            while let Some(frame) = ctx.frames.get(next) {
                let handle = next;
                next = frame.chain;
                self.enter_nic(ctx, handle);
            }
        }
        self.look(ctx);
    }

    /// A transfer from the NIC is over.
    pub(crate) fn bus_receive_due(&mut self, ctx: &mut Context) {
        let node = self.node;
        let Some(bus) = &mut self.bus_rx else { return };
        let crossed = bus.due(ctx, node, Event::BusReceive { host: node });
        if let Some(crossed) = crossed.filter(|c| c.first != NIL) {
            self.rise(ctx, crossed.first, crossed.at.saturating_add(self.stack_rx_ps));
        }
    }

    /// Sends a frame up the stack; it is at its application at `at`, or later by the stack's jitter. Frames do not
    /// overtake each other.
    fn rise(&mut self, ctx: &mut Context, handle: u32, at: u64) {
        let before = self.up.back().map_or(0, |b| b.0);
        let at = at.saturating_add(self.jitter()).max(before);
        if at <= ctx.now {
            self.land(ctx, handle);
            self.look(ctx);
            return;
        }
        if self.up.is_empty() {
            ctx.push(at, Phase::Arrival, self.node, Event::Deliver { host: self.node });
        }
        self.up.push_back((at, handle));
    }

    /// The oldest frames on their way up are there.
    pub(crate) fn deliver_due(&mut self, ctx: &mut Context) {
        while let Some(&(at, handle)) = self.up.front() {
            if at > ctx.now {
                ctx.push(at, Phase::Arrival, self.node, Event::Deliver { host: self.node });
                break;
            }
            self.up.pop_front();
            self.land(ctx, handle);
        }
        self.look(ctx);
    }

    /// A frame that the NIC refused or dropped is lost, and its place in the transmit ring is free.
    #[cold]
    fn lose_sent(&mut self, ctx: &mut Context, handle: u32, cause: Cause) {
        ctx.lose(handle, cause, self.node);
        if self.stack.is_some() {
            self.frame_sent(ctx);
        }
    }

    /// A frame is in host memory.
    #[inline(always)]
    fn land(&mut self, ctx: &mut Context, handle: u32) {
        if self.stack.is_some() {
            self.receive(ctx, handle);
        } else {
            self.deliver(ctx, handle);
        }
    }

    /// A frame is at its application.
    pub(super) fn deliver(&mut self, ctx: &mut Context, handle: u32) {
        let Some(frame) = ctx.deliver(handle, ctx.now) else {
            return;
        };
        let Some(flow) = ctx.flows.get(frame.flow as usize) else {
            return;
        };
        let (meaning, owner) = (flow.meaning, flow.owner);
        match meaning {
            Meaning::Sink => {}
            Meaning::Request => self.answer(ctx, &frame),
            Meaning::Response => self.answered(ctx, owner, frame.tag),
            Meaning::Data => self.take_segment(ctx, owner, &frame),
            Meaning::Ack => self.take_ack(ctx, owner, frame.tag),
            Meaning::Rdma => self.take_packet(ctx, owner, &frame),
            Meaning::Datagram => self.take_datagram(ctx, owner, &frame),
        }
    }

    /// Sends frames of the application down the stack, those chained to it with it.
    #[inline]
    pub(crate) fn submit(&mut self, ctx: &mut Context, handle: u32) {
        if self.stack.is_some() {
            self.send(ctx, handle);
        } else {
            self.descend(ctx, handle);
        }
    }

    /// Sends frames on to the NIC that have cost what they cost.
    #[inline(always)]
    pub(super) fn descend(&mut self, ctx: &mut Context, handle: u32) {
        if self.stack_tx_ps == 0 && self.jitter.is_none() {
            self.enqueue_chain(ctx, handle);
            return;
        }
        let before = self.down.back().map_or(0, |b| b.0);
        let at = ctx
            .now
            .saturating_add(self.stack_tx_ps)
            .saturating_add(self.jitter())
            .max(before);
        if self.down.is_empty() {
            ctx.push(at, Phase::Arrival, self.node, Event::Submit { host: self.node });
        }
        self.down.push_back((at, handle));
    }

    /// The oldest frames on their way down are at the NIC.
    pub(crate) fn submit_due(&mut self, ctx: &mut Context) {
        while let Some(&(at, handle)) = self.down.front() {
            if at > ctx.now {
                ctx.push(at, Phase::Arrival, self.node, Event::Submit { host: self.node });
                break;
            }
            self.down.pop_front();
            self.enqueue_chain(ctx, handle);
        }
        self.look(ctx);
    }

    /// A chain crosses the bus as one; without a bus its frames enter the NIC one by one.
    #[inline(always)]
    fn enqueue_chain(&mut self, ctx: &mut Context, first: u32) {
        if self.bus_tx.is_some() {
            self.enqueue(ctx, first);
            return;
        }
        let mut next = first;
        while let Some(frame) = ctx.frames.get(next) {
            let handle = next;
            next = frame.chain;
            self.enter_nic(ctx, handle);
        }
    }
}
