//! Messages: whole units of the application's data, carried by a transport from one host to another.
//!
//! A *pipe* carries messages one way between two hosts, or from one host to a group: a TCP connection, an iWARP stream
//! in one, a RoCE queue pair, or UDP datagrams. Whoever writes calls [`Host::post`]; when the last byte of a message is
//! at the far application its [`Reader`] gets it, with the tag that the writer gave. A [`Writer`] may ask to hear when
//! the pipe has room again (a blocking write returns) or when a message is complete (an acknowledged write).
//!
//! The record of each message lives in the pipe, which both hosts reach through the context: what a receiver would find
//! out by reading the application's own framing is looked up there. A pipe and its answers' pipe are two TCP
//! connections with windows of their own, but once [`join_pipes`] knows of them, an acknowledgement that is owed rides
//! on the other direction's data.
//!
//! Left out: messages that share a connection out of order, partial reads, connections that close.

mod datagram;
pub(crate) mod exchange;
mod stream;
pub(crate) mod talker;
pub(crate) mod verbs;

use super::Node;
use super::context::Context;
use super::event::Event;
use super::flow::{FlowSpec, Meaning, TCP_PROTOCOL, UDP_PROTOCOL, reverse};
use super::frame::NIL;
use super::host::Host;
use super::refusal::Refusal;
use crate::engine::Phase;
use crate::transport::TCP_HEADER_BYTES;
use crate::workload::Destination as To;
use clearway_policy::scenario::MessageTransport;
use datagram::Datagrams;
use std::collections::VecDeque;
use stream::Stream;
use verbs::Verbs;

/// Who gets a message at the host where it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It is counted.
    Sink,
    /// A partner in the exchange of this workload.
    Exchange(u32),
    /// It answers a message of this talker of the host.
    Caller(u32),
    /// It is answered with so many bytes over the pipe's way back.
    Responder(u32),
    /// A storage node or one of its clients.
    Storage,
    /// An event builder or one of its sources.
    EventBuilder,
}

/// Who hears at the sending host of what became of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Nobody.
    Nobody,
    /// This talker of the host.
    Talker(u32),
    /// An event builder or one of its sources.
    EventBuilder,
}

/// What the writer hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Nothing.
    Nothing,
    /// That the pipe has room again, after [`Host::has_room`] said that it had none.
    Room,
    /// Each message that is complete: acknowledged by the far end, or, over UDP, on the wire.
    Complete,
}

/// What a pipe is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PipeSpec<'a> {
    /// Index of the workload: its marks, class and counters.
    pub(crate) workload: u32,
    /// Sending host.
    pub(crate) from: u32,
    /// Receiving host; several for a group, which only UDP reaches.
    pub(crate) to: &'a [u32],
    pub(crate) transport: &'a MessageTransport,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    pub(crate) notice: Notice,
    /// When its connection opens, picoseconds.
    pub(crate) start: u64,
}

/// One message on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// The writer's word.
    pub(crate) tag: u64,
    /// Payload bytes.
    pub(crate) bytes: u64,
    /// When it was handed to the pipe, picoseconds.
    pub(crate) posted_at: u64,
}

/// A way for messages from one host to another.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) workload: u32,
    /// Sending host.
    pub(crate) from: u32,
    /// Receiving host; the first of a group.
    pub(crate) to: u32,
    /// The pipe that answers go back by, if any.
    pub(crate) back: u32,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    notice: Notice,
    /// The writer was told that there is no room.
    room_wanted: bool,
    /// Messages that the sender's processor is at: a blocking write has not returned.
    writing: u32,
    carrier: Carrier,
}

/// What carries a pipe's messages.
#[derive(Debug)]
enum Carrier {
    Stream(Stream),
    Verbs(Verbs),
    Datagrams(Datagrams),
}

impl Pipe {
    /// The flow of its first frames.
    const fn flow(&self) -> u32 {
        match &self.carrier {
            Carrier::Stream(stream) => stream.flow,
            Carrier::Verbs(verbs) => verbs.flow,
            Carrier::Datagrams(datagrams) => datagrams.first,
        }
    }

    /// Messages that the reader does not have, and messages that are not acknowledged, of a carrier that keeps order.
    const fn in_order(&mut self) -> Option<(&mut Ends, &mut Ends)> {
        match &mut self.carrier {
            Carrier::Stream(s) => Some((&mut s.arriving, &mut s.unacknowledged)),
            Carrier::Verbs(v) => Some((&mut v.arriving, &mut v.unacknowledged)),
            Carrier::Datagrams(_) => None,
        }
    }
}

/// Opens a pipe.
pub(crate) fn open_pipe(nodes: &mut [Node], ctx: &mut Context, spec: &PipeSpec<'_>) -> Result<u32, Refusal> {
    let item = || format!("workload {}", spec.workload);
    let refuse = |problem: &str| Err(Refusal::new(item(), "to", problem));
    let &[to, ..] = spec.to else {
        return refuse("is nobody: a message goes to a host");
    };
    let pipe = ctx.pipes.len() as u32;
    let carrier = match spec.transport {
        MessageTransport::Udp { mtu_bytes } => match Datagrams::open(ctx, spec, pipe, *mtu_bytes) {
            Some(datagrams) => Carrier::Datagrams(datagrams),
            None => return refuse("cannot be reached by one path"),
        },
        _ if spec.to.len() > 1 => return refuse("is a group: only UDP reaches one"),
        MessageTransport::Tcp(tcp) | MessageTransport::Iwarp(tcp) => {
            let framed = matches!(spec.transport, MessageTransport::Iwarp(_));
            match Stream::open(nodes, ctx, spec, pipe, tcp, framed) {
                Some(stream) => Carrier::Stream(stream),
                None => return refuse("cannot be reached by one path"),
            }
        }
        MessageTransport::Roce(roce) => match Verbs::open(nodes, ctx, spec, pipe, roce) {
            Some(verbs) => Carrier::Verbs(verbs),
            None => return refuse("cannot be reached by one path"),
        },
    };
    ctx.pipes.push(Pipe {
        workload: spec.workload,
        from: spec.from,
        to,
        back: NIL,
        reader: spec.reader,
        writer: spec.writer,
        notice: spec.notice,
        room_wanted: false,
        writing: 0,
        carrier,
    });
    Ok(pipe)
}

/// Makes two pipes between the same hosts the two directions of one connection: `back` carries the answers.
pub(crate) fn join_pipes(nodes: &mut [Node], ctx: &mut Context, pipe: u32, back: u32) {
    if let Some(p) = ctx.pipes.get_mut(pipe as usize) {
        p.back = back;
    }
    let ends = |pipe: u32| match ctx.pipes.get(pipe as usize).map(|p| (&p.carrier, [p.from, p.to])) {
        Some((Carrier::Stream(stream), hosts)) => Some((stream.ends, hosts)),
        _ => None,
    };
    let (Some((there, hosts)), Some((again, _))) = (ends(pipe), ends(back)) else {
        return;
    };
    // At either host: the end that sends there, and the end that receives what comes back.
    for (host, [a, b]) in [(hosts[0], [there[0], again[1]]), (hosts[1], [there[1], again[0]])] {
        if let Some(Node::Host(host)) = nodes.get_mut(host as usize) {
            for (end, other) in [(a, b), (b, a)] {
                if let Some(end) = host.endpoints.get_mut(end as usize) {
                    end.join(other);
                }
            }
        }
    }
}

impl Host {
    /// Hands a message to a pipe that begins at this host. The tag is the caller's word; both ends see it.
    ///
    /// To be called while the host handles an event: it looks at its transmitter afterwards.
    pub(crate) fn post(&mut self, ctx: &mut Context, pipe: u32, bytes: u64, tag: u64) {
        let Some(p) = ctx.pipes.get(pipe as usize) else {
            return;
        };
        debug_assert_eq!(p.from, self.node, "a pipe is written at the host where it begins");
        let message = Message {
            tag,
            bytes: bytes.max(1),
            posted_at: ctx.now,
        };
        let receivers = match &p.carrier {
            Carrier::Stream(_) | Carrier::Verbs(_) => 1,
            Carrier::Datagrams(d) => d.receivers(),
        };
        ctx.collector
            .messages
            .post(p.workload, &message, receivers, ctx.warmup);
        let flow = p.flow();
        if self.message_down(ctx, flow, pipe, &message) {
            if let Some(p) = ctx.pipes.get_mut(pipe as usize) {
                p.writing += 1;
            }
            return;
        }
        self.write(ctx, pipe, message);
    }

    /// Gives a message to what carries it.
    fn write(&mut self, ctx: &mut Context, pipe: u32, message: Message) {
        match ctx.pipes.get(pipe as usize).map(|p| &p.carrier) {
            Some(Carrier::Stream(_)) => self.write_stream(ctx, pipe, message),
            Some(Carrier::Verbs(_)) => self.write_verbs(ctx, pipe, message),
            Some(Carrier::Datagrams(_)) => self.write_datagrams(ctx, pipe, message),
            None => {}
        }
    }

    /// A processor has written a message (`down`) or read one.
    pub(crate) fn message_done(&mut self, ctx: &mut Context, down: bool, pipe: u32, message: &Message) {
        if !down {
            self.message_read(ctx, pipe, message);
            return;
        }
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return;
        };
        p.writing = p.writing.saturating_sub(1);
        let waits = p.room_wanted;
        self.write(ctx, pipe, *message);
        if waits && self.has_room(ctx, pipe) {
            if let Some(p) = ctx.pipes.get_mut(pipe as usize) {
                p.room_wanted = true;
            }
            self.tell_room(ctx, pipe);
        }
    }

    /// True where a blocking write to the pipe would begin now. Where it says no, the writer hears of room later, if it
    /// asked to.
    pub(crate) fn has_room(&mut self, ctx: &mut Context, pipe: u32) -> bool {
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return false;
        };
        let room = match &p.carrier {
            Carrier::Stream(s) => self.stream_has_room(s),
            Carrier::Verbs(v) => self.verbs_have_room(v),
            Carrier::Datagrams(d) => d.has_room(),
        };
        let room = room && p.writing == 0;
        p.room_wanted = !room;
        room
    }

    /// The pipe has room again, if somebody waits for it.
    fn tell_room(&mut self, ctx: &mut Context, pipe: u32) {
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return;
        };
        if !p.room_wanted || p.notice != Notice::Room {
            return;
        }
        p.room_wanted = false;
        match p.writer {
            Writer::Talker(talker) => self.talk_on(ctx, talker, pipe),
            Writer::Nobody | Writer::EventBuilder => {}
        }
    }

    /// A message of this host's is complete, if somebody wants to know.
    fn tell_complete(&mut self, ctx: &mut Context, pipe: u32, message: &Message) {
        let Some(p) = ctx.pipes.get(pipe as usize) else {
            return;
        };
        if matches!(p.writer, Writer::Talker(_)) {
            let workload = p.workload;
            ctx.collector
                .messages
                .complete(workload, message, ctx.now, ctx.warmup);
        }
    }

    /// More of a carrier that keeps order has arrived: messages that end there are read.
    pub(crate) fn read_in_order(&mut self, ctx: &mut Context, pipe: u32, reached: u64) {
        while let Some((arriving, _)) = ctx.pipes.get_mut(pipe as usize).and_then(Pipe::in_order) {
            let Some(message) = next_below(arriving, reached) else {
                break;
            };
            self.read_message(ctx, pipe, &message);
        }
    }

    /// More of it is acknowledged, and there may be room again.
    pub(crate) fn acknowledged(&mut self, ctx: &mut Context, pipe: u32, reached: u64, room: bool) {
        if room {
            self.tell_room(ctx, pipe);
        }
        while let Some((_, unacknowledged)) = ctx.pipes.get_mut(pipe as usize).and_then(Pipe::in_order) {
            let Some(message) = next_below(unacknowledged, reached) else {
                break;
            };
            self.tell_complete(ctx, pipe, &message);
        }
    }

    /// A whole message is at this host.
    fn read_message(&mut self, ctx: &mut Context, pipe: u32, message: &Message) {
        let Some(p) = ctx.pipes.get(pipe as usize) else {
            return;
        };
        let flow = p.flow();
        if !self.message_up(ctx, flow, pipe, message) {
            self.message_read(ctx, pipe, message);
        }
    }

    /// A whole message is at this host's application.
    fn message_read(&mut self, ctx: &mut Context, pipe: u32, message: &Message) {
        let Some(p) = ctx.pipes.get(pipe as usize) else {
            return;
        };
        let (workload, reader, back) = (p.workload, p.reader, p.back);
        ctx.collector
            .messages
            .deliver(workload, message, ctx.now, ctx.warmup);
        match reader {
            Reader::Sink => {}
            Reader::Exchange(workload) => self.exchange_read(ctx, workload, message),
            Reader::Caller(talker) => self.take_reply(ctx, talker, message),
            Reader::Responder(bytes) => self.post(ctx, back, u64::from(bytes), message.tag),
            Reader::EventBuilder => self.builder_read(ctx, pipe, message),
            Reader::Storage => self.storage_read(ctx, pipe, message),
        }
    }
}

/// A flow of a pipe's frames, from its sender to its receivers.
fn flow_spec<'a>(
    ctx: &Context,
    spec: &PipeSpec<'a>,
    protocol: u8,
    meaning: Meaning,
    owner: u32,
    transport_bytes: u32,
) -> Option<FlowSpec<'a>> {
    let carried = ctx.carried.get(spec.workload as usize)?;
    let &[to, ..] = spec.to else { return None };
    let to = if spec.to.len() > 1 {
        To::Multicast
    } else {
        To::Host(to)
    };
    Some(FlowSpec {
        from: spec.from,
        to: spec.to,
        key: carried.key(spec.workload, spec.from, to, protocol),
        class: carried.class,
        meaning,
        owner,
        overhead: u16::try_from(carried.network_bytes() + transport_bytes).unwrap_or(u16::MAX),
        reply_bytes: 0,
        spread: false,
        workload: spec.workload,
    })
}

/// The records of messages whose last byte is below `end`, in order.
type Ends = VecDeque<(u64, Message)>;

/// Takes the first of them that ends at `reached` or before.
fn next_below(ends: &mut Ends, reached: u64) -> Option<Message> {
    if ends.front()?.0 <= reached {
        ends.pop_front().map(|(_, message)| message)
    } else {
        None
    }
}
