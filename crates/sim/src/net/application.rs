//! What runs on a host beside its sources: requesters, responders, TCP connections.
//!
//! These react to what arrives; sources do not. A request carries the number of its call, so that the latency of a
//! call counts from the instant at which it was meant to be sent: an open loop's intended instant, or the reply
//! before it in a closed loop. A lost request or reply is not repeated: a closed loop has one call fewer in flight
//! from then on, which the count of calls begun and answered shows.

use super::context::Context;
use super::event::Event;
use super::frame::{Frame, NIL};
use super::host::Host;
use super::messages::verbs::{Requesting, Responding};
use crate::engine::Phase;
use crate::transport::{Ack, Flags, Receiver, Sender};
use clearway_core::Ecn;
use clearway_metrics::histogram::Histogram;
use clearway_policy::scenario::TcpSettings;

pub(crate) const NEVER: u64 = u64::MAX;

/// One side that asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requester {
    /// Flow of its requests; none for an open loop, whose source knows.
    pub(crate) flow: Option<u32>,
    pub(crate) request_bytes: u32,
    /// No call is begun after this instant.
    pub(crate) stop: u64,
    /// Index of the workload.
    pub(crate) workload: u32,
}

/// Round trips of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Calls begun after the warm-up.
    pub begun: u64,
    /// Those of them that were answered.
    pub answered: u64,
    /// Their time from the intended instant to the reply, picoseconds.
    pub round_trips: Histogram,
    /// The first round trips of the run, in the order of their replies, as many as were asked for; picoseconds.
    pub samples: Vec<u64>,
}

/// The side that sends data of a TCP connection.
#[derive(Debug)]
pub(crate) struct TcpSender {
    pub(crate) machine: Sender,
    flow: u32,
    /// Bytes of a frame beside the TCP payload.
    header_bytes: u32,
    mss_bytes: u32,
    pub(crate) start: u64,
    stop: u64,
    wake: u64,
    /// The pipe whose messages it carries; [`NIL`]: a bulk transfer.
    pub(crate) pipe: u32,
    /// The end at this host of the connection that goes the other way; [`NIL`]: there is none.
    twin: u32,
}

/// The side that takes them.
#[derive(Debug)]
pub(crate) struct TcpReceiver {
    pub(crate) machine: Receiver,
    flow: u32,
    header_bytes: u32,
    wake: u64,
    /// Bytes in order by the end of the warm-up.
    pub(crate) before_warmup: u64,
    /// Index of the workload.
    pub(crate) workload: u32,
    /// The pipe whose messages it carries; [`NIL`]: a bulk transfer.
    pub(crate) pipe: u32,
    /// The end at this host of the connection that goes the other way; [`NIL`]: there is none.
    twin: u32,
}

/// One end of a connection: TCP's sender and receiver, RDMA's requester and responder.
#[derive(Debug)]
pub(crate) enum Endpoint {
    Sender(Box<TcpSender>),
    Receiver(Box<TcpReceiver>),
    Requester(Box<Requesting>),
    Responder(Box<Responding>),
}

impl Endpoint {
    /// A sender that opens its connection at `start`.
    pub(crate) fn sender(
        settings: &TcpSettings,
        flow: u32,
        header_bytes: u32,
        span: (u64, u64),
        bytes: Option<u64>,
    ) -> Self {
        let start = clearway_core::Instant::from_ps(span.0);
        Self::Sender(Box::new(TcpSender {
            machine: Sender::with_handshake(settings, start, bytes),
            flow,
            header_bytes,
            mss_bytes: settings.mss_bytes,
            start: span.0,
            stop: span.1,
            wake: span.0,
            pipe: NIL,
            twin: NIL,
        }))
    }

    /// A receiver.
    pub(crate) fn receiver(settings: &TcpSettings, flow: u32, header_bytes: u32, workload: u32) -> Self {
        Self::Receiver(Box::new(TcpReceiver {
            machine: Receiver::new(settings),
            flow,
            header_bytes,
            wake: NEVER,
            before_warmup: 0,
            workload,
            pipe: NIL,
            twin: NIL,
        }))
    }

    /// Acknowledgements of one direction ride on the data of the other from now on.
    pub(crate) fn join(&mut self, end_of_the_other: u32) {
        match self {
            Self::Sender(s) => s.twin = end_of_the_other,
            Self::Receiver(r) => r.twin = end_of_the_other,
            Self::Requester(_) | Self::Responder(_) => {}
        }
    }

    /// Of the sending end of a pipe: the pipe, how many segments or packets it sent again, and expiries of its timer.
    pub(crate) fn repeated(&self) -> Option<(u32, u64, u64)> {
        match self {
            Self::Sender(s) if s.pipe != NIL => {
                let stats = s.machine.stats();
                Some((s.pipe, stats.retransmissions, stats.timeouts))
            }
            Self::Requester(r) => Some(r.repeated()),
            _ => None,
        }
    }

    /// The same end, of a pipe: the application writes message by message.
    pub(crate) fn of_pipe(mut self, pipe: u32) -> Self {
        match &mut self {
            Self::Sender(s) => {
                s.machine = s.machine.clone().fed_by_application();
                s.pipe = pipe;
            }
            Self::Receiver(r) => r.pipe = pipe,
            Self::Requester(_) | Self::Responder(_) => {}
        }
        self
    }
}

impl Host {
    /// A requester begins.
    pub(crate) fn begin(&mut self, ctx: &mut Context, requester: u32) {
        let Some(r) = self.requesters.get(requester as usize).copied() else {
            return;
        };
        let Some(flow) = r.flow else { return };
        if ctx.now > r.stop {
            return;
        }
        let tag = ctx.begin_call(ctx.now);
        ctx.collector.call_begun(r.workload, ctx.now, ctx.warmup);
        if let Some(handle) = ctx.make_frame(flow, r.request_bytes, ctx.now, None, tag) {
            self.submit(ctx, handle);
        }
    }

    /// A requester's start is due.
    pub(crate) fn begin_due(&mut self, ctx: &mut Context, requester: u32) {
        self.begin(ctx, requester);
        self.look(ctx);
    }

    /// Replies to a request.
    pub(crate) fn answer(&mut self, ctx: &mut Context, request: &Frame) {
        let Some(flow) = ctx.flows.get(request.flow as usize) else {
            return;
        };
        let (reply, bytes) = (flow.owner, flow.reply_bytes);
        let pcp = flow.spread.then_some(request.pcp);
        if let Some(handle) = ctx.make_frame(reply, bytes, ctx.now, pcp, request.tag) {
            self.submit(ctx, handle);
        }
    }

    /// A reply came.
    pub(crate) fn answered(&mut self, ctx: &mut Context, requester: u32, call: u32) {
        let Some(intended) = ctx.calls.remove(call) else {
            return;
        };
        let Some(r) = self.requesters.get(requester as usize) else {
            return;
        };
        let workload = r.workload;
        ctx.collector
            .call_answered(workload, intended, ctx.now, ctx.warmup);
        self.begin(ctx, requester);
    }

    /// TCP data came.
    pub(crate) fn take_segment(&mut self, ctx: &mut Context, endpoint: u32, frame: &Frame) {
        let now = ctx.instant();
        let Some((segment, riding)) = ctx.segments.remove(frame.tag) else {
            return;
        };
        // An acknowledgement is heard before the data, and what it lets go leaves after: it can answer for the data.
        let twin = match self.endpoints.get(endpoint as usize) {
            Some(Endpoint::Receiver(r)) if riding != NIL => r.twin,
            _ => NIL,
        };
        self.hear_ack(ctx, twin, riding);
        let Some(Endpoint::Receiver(r)) = self.endpoints.get_mut(endpoint as usize) else {
            return;
        };
        let ack = r.machine.on_segment(now, &segment, frame.ecn == Ecn::Marked);
        if ctx.now <= ctx.warmup {
            r.before_warmup = r.machine.delivered_bytes();
        }
        let earlier = r.machine.take_earlier();
        let (pipe, in_order) = (r.pipe, r.machine.delivered_bytes());
        for ack in [earlier, ack].into_iter().flatten() {
            self.acknowledge(ctx, endpoint, ack);
        }
        self.go_on(ctx, twin);
        self.arm(ctx, endpoint);
        if pipe != NIL {
            self.read_in_order(ctx, pipe, in_order);
        }
    }

    fn acknowledge(&mut self, ctx: &mut Context, endpoint: u32, ack: Ack) {
        let Some(Endpoint::Receiver(r)) = self.endpoints.get(endpoint as usize) else {
            return;
        };
        let (flow, header) = (r.flow, r.header_bytes);
        let blocks = ack.sack.iter().filter(|b| b.len > 0).count() as u32;
        // RFC 2018: two bytes of option and eight a block, padded to a multiple of four.
        let options = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let Ok(tag) = ctx.acks.insert(ack) else { return };
        let Some(handle) = ctx.make_frame(flow, header + options, ctx.now, None, tag) else {
            return;
        };
        self.submit(ctx, handle);
    }

    /// A TCP acknowledgement came.
    pub(crate) fn take_ack(&mut self, ctx: &mut Context, endpoint: u32, tag: u32) {
        self.hear_ack(ctx, endpoint, tag);
        self.go_on(ctx, endpoint);
    }

    fn hear_ack(&mut self, ctx: &mut Context, endpoint: u32, tag: u32) {
        let now = ctx.instant();
        let Some(ack) = ctx.acks.remove(tag) else { return };
        if let Some(Endpoint::Sender(s)) = self.endpoints.get_mut(endpoint as usize) {
            s.machine.on_ack(now, &ack);
        }
    }

    /// Sends what an acknowledgement lets go, and tells the pipe what it says.
    #[inline(always)]
    fn go_on(&mut self, ctx: &mut Context, endpoint: u32) {
        let Some(Endpoint::Sender(s)) = self.endpoints.get(endpoint as usize) else {
            return;
        };
        let (pipe, acknowledged, room) = (s.pipe, s.machine.acknowledged(), s.machine.has_room());
        self.send_segments(ctx, endpoint);
        if pipe != NIL {
            self.acknowledged(ctx, pipe, acknowledged, room);
        }
    }

    /// A TCP timer may be due.
    pub(crate) fn timer_due(&mut self, ctx: &mut Context, endpoint: u16) {
        let now = ctx.instant();
        let endpoint = u32::from(endpoint);
        match self.endpoints.get_mut(endpoint as usize) {
            Some(Endpoint::Sender(s)) if s.wake == ctx.now => {
                s.wake = NEVER;
                if ctx.now > s.start {
                    s.machine.on_timer(now);
                }
                self.send_segments(ctx, endpoint);
            }
            Some(Endpoint::Receiver(r)) if r.wake == ctx.now => {
                r.wake = NEVER;
                if let Some(ack) = r.machine.on_timer(now) {
                    self.acknowledge(ctx, endpoint, ack);
                }
                self.arm(ctx, endpoint);
            }
            Some(Endpoint::Requester(_)) => self.requester_due(ctx, endpoint),
            _ => {}
        }
        self.look(ctx);
    }

    /// Hands down whatever the connection may send.
    pub(crate) fn send_segments(&mut self, ctx: &mut Context, endpoint: u32) {
        let now = ctx.instant();
        let unit = self.bus_tx.as_ref().map_or(0, |bus| bus.transfer_bytes_max());
        loop {
            let Some(Endpoint::Sender(s)) = self.endpoints.get_mut(endpoint as usize) else {
                return;
            };
            if ctx.now > s.stop {
                return;
            }
            let Some(piece) = s.machine.poll_transmit(now) else {
                break;
            };
            let (flow, header, mss, twin) = (s.flow, s.header_bytes, s.mss_bytes, s.twin);
            let capable = piece.flags.has(Flags::ECT);
            let mut riding = if twin == NIL || piece.len == 0 {
                NIL
            } else {
                self.owed_ack(ctx, twin)
            };
            // Frames of one piece cross the bus together, as many as one transfer takes.
            let (mut first, mut last, mut bytes) = (NIL, NIL, 0);
            for packet in piece.packets(mss) {
                let Ok(tag) = ctx.segments.insert((packet, std::mem::replace(&mut riding, NIL))) else {
                    return;
                };
                let Some(handle) = ctx.make_frame(flow, header + packet.len, ctx.now, None, tag) else {
                    return;
                };
                let Some(frame) = ctx.frames.get_mut(handle) else {
                    return;
                };
                if capable {
                    frame.ecn = Ecn::Capable;
                }
                let len = frame.len;
                if first != NIL && bytes + len > unit {
                    self.submit(ctx, first);
                    first = NIL;
                }
                if first == NIL {
                    (first, bytes) = (handle, 0);
                } else if let Some(before) = ctx.frames.get_mut(last) {
                    before.chain = handle;
                }
                last = handle;
                bytes += len;
            }
            if first != NIL {
                self.submit(ctx, first);
            }
        }
        self.arm(ctx, endpoint);
    }

    /// The acknowledgement that the receiver of the other direction owes, taken along.
    fn owed_ack(&mut self, ctx: &mut Context, receiver: u32) -> u32 {
        match self.endpoints.get_mut(receiver as usize) {
            Some(Endpoint::Receiver(r)) => r
                .machine
                .ride_along()
                .and_then(|ack| ctx.acks.insert(ack).ok())
                .unwrap_or(NIL),
            _ => NIL,
        }
    }

    /// Sets the timer event of a connection where none is early enough.
    #[inline(always)]
    fn arm(&mut self, ctx: &mut Context, endpoint: u32) {
        let (deadline, wake) = match self.endpoints.get_mut(endpoint as usize) {
            Some(Endpoint::Sender(s)) => {
                let deadline = match (s.machine.poll_timer(), s.machine.poll_send()) {
                    (timer, None) => timer,
                    (None, send) => send,
                    (Some(timer), Some(send)) => Some(timer.min(send)),
                };
                (deadline, &mut s.wake)
            }
            Some(Endpoint::Receiver(r)) => (r.machine.poll_timer(), &mut r.wake),
            Some(Endpoint::Requester(_) | Endpoint::Responder(_)) | None => return,
        };
        // An event at an earlier instant is kept: it finds nothing due and arms again.
        if let Some(at) = deadline.map(|d| d.as_ps().max(ctx.now)).filter(|at| at < wake) {
            *wake = at;
            let event = Event::Timer {
                host: self.node,
                endpoint: endpoint as u16,
            };
            ctx.push(at, Phase::Control, self.node, event);
        }
    }
}
