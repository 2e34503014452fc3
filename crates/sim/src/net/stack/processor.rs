//! One serial processor: what it does next, and for how long.
//!
//! The order: an interrupt; what the protocol sends (segments and acknowledgements of TCP, what a written message became);
//! then packets of the ring and the work of processes by turns: after `budget` packets in a row a process that waits goes first. A piece
//! of work is never cut short. Frames keep their places in the ring until the processor is done with them.

use super::interrupts::Told;
use super::usage::Usage;
use super::{Stack, frames_from};
use crate::net::context::Context;
use crate::net::flow::Meaning;
use crate::net::frame::NIL;
use crate::net::messages::Message;
use clearway_core::Duration;
use clearway_policy::scenario::{Coalescing, Costs, Cpu, Wake};
use std::collections::VecDeque;

/// What a process has to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Send a frame that is a message by itself.
    Frame(u32),
    /// Write or read a message of a pipe.
    Message {
        down: bool,
        pipe: u32,
        message: Message,
        /// What it takes, picoseconds.
        cost: u64,
    },
}

/// What a processor does.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    /// It hands on what it has done.
    HandsOn,
    ReceiveInterrupt,
    SentInterrupt,
    /// So many frames at the head of the ring.
    Receive(u32),
    Send(u32),
    Message {
        down: bool,
        pipe: u32,
        message: Message,
    },
}

/// What a processor has done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Done {
    /// Something that nobody outside the stack waits for.
    Nothing,
    /// So many frames at the head of the ring are to be delivered.
    Received(u32),
    /// A frame goes on to the NIC, with those chained to it.
    Sent(u32),
    /// A message was written or read.
    Message { down: bool, pipe: u32, message: Message },
}

/// A processor.
#[derive(Debug)]
pub(crate) struct Processor {
    /// Frames received, those in its hands first.
    pub(super) ring: VecDeque<u32>,
    /// Segments, acknowledgements and datagrams of messages to be sent.
    pub(super) protocol: VecDeque<u32>,
    pub(super) process: VecDeque<Work>,
    doing: Doing,
    /// End of what it does.
    until: u64,
    /// Packets taken since a process had its turn.
    row: u32,
    pub(super) told: Told,
    pub(super) coalescing: Coalescing,
    /// Instant of the live timer.
    pub(super) timer: u64,
    pub(crate) usage: Usage,
}

/// Time on a processor, and what for.
type Spent = (Doing, u64);

impl Processor {
    pub(super) fn new(cpu: &Cpu, wake: &Wake) -> Self {
        let at_once = Coalescing {
            frames: 1,
            time: Duration::ZERO,
        };
        let (told, coalescing) = match wake {
            Wake::Poll => (Told::Looks, at_once),
            Wake::Interrupt { receive, .. } => (Told::Waits { frames: 0 }, cpu.receive.unwrap_or(*receive)),
        };
        Self {
            ring: VecDeque::new(),
            protocol: VecDeque::new(),
            process: VecDeque::new(),
            doing: Doing::Nothing,
            until: 0,
            row: 0,
            told,
            coalescing,
            timer: u64::MAX,
            usage: Usage::default(),
        }
    }
}

/// Time that `bytes` take at `bps`; nothing where they are not touched.
pub(super) fn copy_ps(bytes: u64, bps: Option<u64>) -> u64 {
    bps.map_or(0, |bps| Duration::of_bytes(bytes, bps.max(1)).as_ps())
}

/// What a frame that is a packet and a message by itself costs.
fn datagram_ps(costs: &Costs, payload: u64) -> u64 {
    costs.per_message.as_ps() + costs.per_packet.as_ps() + copy_ps(payload, costs.copy_bps)
}

/// What a packet costs whose message is counted apart.
fn packet_ps(costs: &Costs, meaning: Meaning, payload: u64) -> u64 {
    let packet = match meaning {
        Meaning::Data => costs.per_segment,
        _ => costs.per_packet,
    };
    packet.as_ps() + copy_ps(payload, costs.copy_bps)
}

impl Stack {
    /// True where a processor has nothing to do.
    pub(super) fn is_idle(&self, index: usize) -> bool {
        let idle = |p: &Processor| matches!(p.doing, Doing::Nothing) && p.process.is_empty();
        self.processors.get(index).is_some_and(idle)
    }

    /// Lets a processor that does nothing begin what comes next.
    pub(super) fn look(&mut self, ctx: &mut Context, index: usize) {
        let idle = |p: &Processor| matches!(p.doing, Doing::Nothing);
        if !self.processors.get(index).is_some_and(idle) {
            return;
        }
        let Some((doing, cost)) = self.choose(ctx, index) else {
            return;
        };
        let Some(processor) = self.processors.get_mut(index) else {
            return;
        };
        processor.doing = doing;
        processor.until = ctx.now.saturating_add(cost);
        let usage = &mut processor.usage;
        match doing {
            Doing::ReceiveInterrupt | Doing::SentInterrupt => usage.interrupt(ctx, cost),
            Doing::Receive(frames) => usage.receive(ctx, cost, frames),
            Doing::Message { down: false, .. } => usage.receive(ctx, cost, 0),
            Doing::Send(_) | Doing::Message { .. } | Doing::Nothing | Doing::HandsOn => {
                usage.transmit(ctx, cost);
            }
        }
        ctx.push_processor(processor.until, self.node, index);
    }

    /// What a processor does next, taken from where it waited.
    fn choose(&mut self, ctx: &Context, index: usize) -> Option<Spent> {
        let interrupt_ps = match self.wake {
            Wake::Interrupt { cost, .. } => cost.as_ps(),
            Wake::Poll => 0,
        };
        if index == 0 && self.sent.raised {
            return Some((Doing::SentInterrupt, interrupt_ps));
        }
        let processor = self.processors.get(index)?;
        if processor.told == Told::Raised {
            return Some((Doing::ReceiveInterrupt, interrupt_ps));
        }
        if let Some(&handle) = processor.protocol.front()
            && self.has_room(ctx, handle)
        {
            let _ = self.processors.get_mut(index)?.protocol.pop_front();
            return Some(self.send_piece(ctx, handle));
        }
        let packets = processor.told == Told::Looks && !processor.ring.is_empty();
        let ready = match processor.process.front() {
            Some(&Work::Frame(handle)) => self.has_room(ctx, handle),
            Some(Work::Message { .. }) => true,
            None => false,
        };
        if packets && !(ready && processor.row >= self.budget) {
            let spent = self.receive_piece(ctx, processor);
            let processor = self.processors.get_mut(index)?;
            processor.row = processor.row.saturating_add(1);
            return Some(spent);
        }
        if !ready {
            return None;
        }
        let processor = self.processors.get_mut(index)?;
        processor.row = 0;
        match processor.process.pop_front()? {
            Work::Frame(handle) => Some(self.send_piece(ctx, handle)),
            Work::Message {
                down,
                pipe,
                message,
                cost,
            } => Some((Doing::Message { down, pipe, message }, cost)),
        }
    }

    /// The packet at the head of a ring: one frame, or several of one flow where they are merged.
    fn receive_piece(&self, ctx: &Context, processor: &Processor) -> Spent {
        let (mut frames, mut payload) = (0, 0);
        let mut piece = None;
        for &handle in &processor.ring {
            let Some(frame) = ctx.frames.get(handle) else {
                break;
            };
            let Some(flow) = ctx.flows.get(frame.flow as usize) else {
                break;
            };
            let bytes = u64::from(frame.len.saturating_sub(u32::from(flow.overhead)));
            let merged = flow.meaning == Meaning::Data && payload + bytes <= u64::from(self.merge_bytes);
            match piece {
                None => piece = Some((frame.flow, flow.meaning)),
                Some((first, _)) if merged && first == frame.flow => {}
                Some(_) => break,
            }
            frames += 1;
            payload += bytes;
            if !merged {
                break;
            }
        }
        let cost = match piece {
            None => 0,
            Some((_, Meaning::Ack)) => self.receive.per_ack.as_ps(),
            Some((_, Meaning::Sink | Meaning::Request | Meaning::Response)) => {
                datagram_ps(&self.receive, payload)
            }
            Some((_, meaning)) => packet_ps(&self.receive, meaning, payload),
        };
        (Doing::Receive(frames.max(1)), cost)
    }

    /// A frame to be sent, with those chained to it: they take their places in the transmit ring.
    fn send_piece(&mut self, ctx: &Context, handle: u32) -> Spent {
        self.sent.outstanding += frames_from(ctx, handle);
        let mut payload = 0;
        let mut meaning = None;
        let mut next = handle;
        while let Some(frame) = ctx.frames.get(next).filter(|_| next != NIL) {
            if let Some(flow) = ctx.flows.get(frame.flow as usize) {
                meaning = Some(flow.meaning);
                payload += u64::from(frame.len.saturating_sub(u32::from(flow.overhead)));
            }
            next = frame.chain;
        }
        let cost = match meaning {
            None => 0,
            Some(Meaning::Ack) => self.transmit.per_ack.as_ps(),
            Some(Meaning::Sink | Meaning::Request | Meaning::Response) => {
                datagram_ps(&self.transmit, payload)
            }
            Some(meaning) => packet_ps(&self.transmit, meaning, payload),
        };
        (Doing::Send(handle), cost)
    }

    /// True where the frames of a chain find places in the transmit ring; an empty ring takes any chain.
    fn has_room(&self, ctx: &Context, handle: u32) -> bool {
        let held = self.sent.outstanding;
        self.transmit_ring_frames == 0
            || held == 0
            || held + frames_from(ctx, handle) <= self.transmit_ring_frames
    }

    /// What a processor has done, where its time is over.
    pub(super) fn finished(&mut self, ctx: &mut Context, index: usize) -> Option<Done> {
        let processor = self.processors.get_mut(index)?;
        if processor.until != ctx.now {
            return None;
        }
        match std::mem::replace(&mut processor.doing, Doing::HandsOn) {
            Doing::Nothing => {
                processor.doing = Doing::Nothing;
                None
            }
            Doing::HandsOn => None,
            Doing::ReceiveInterrupt => {
                processor.told = Told::Looks;
                Some(Done::Nothing)
            }
            Doing::SentInterrupt => {
                self.learn_of_sent(ctx);
                Some(Done::Nothing)
            }
            Doing::Receive(frames) => Some(Done::Received(frames)),
            Doing::Send(handle) => Some(Done::Sent(handle)),
            Doing::Message { down, pipe, message } => Some(Done::Message { down, pipe, message }),
        }
    }

    /// Takes a frame that the processor is done with out of its ring.
    pub(super) fn take_received(&mut self, index: usize) -> Option<u32> {
        self.processors.get_mut(index)?.ring.pop_front()
    }

    /// A processor has handed on what it did, and goes on.
    pub(super) fn goes_on(&mut self, ctx: &mut Context, index: usize) {
        let Some(processor) = self.processors.get_mut(index) else {
            return;
        };
        processor.doing = Doing::Nothing;
        let told = matches!(self.wake, Wake::Interrupt { .. });
        if told && processor.told == Told::Looks && processor.ring.is_empty() {
            processor.told = Told::Waits { frames: 0 };
        }
        self.look(ctx, index);
    }
}
