//! A host's processors and what the network stack costs on them.
//!
//! Flows are spread over serial processors by a hash of their addresses and ports that both directions share, with
//! programmable shares (receive side scaling; an application answers on the processor that took the request). A frame
//! that is in host memory waits in the receive ring of its flow's processor; the ring is finite, and a frame that finds
//! it full is lost with a cause of its own. The processor looks all the time, or an interrupt tells it, after so many
//! frames or so long after the first; then it takes frames until the ring is empty (NAPI). What the stack sends costs
//! its message, its packet (or segmented piece), its bytes; a full transmit ring makes it wait.
//!
//! * `processor`: what a processor does next, and what it costs;
//! * `interrupts`: coalescing of frames received and of frames sent;
//! * `usage`: how busy each processor was.
//!
//! Kinds: a kernel is interrupted; a stack in user space looks all the time, which takes the whole processor; with TCP
//! offload segments and acknowledgements never reach a processor, messages do; with RDMA the receiver of a message
//! spends nothing. Frames of iWARP and RoCE workloads cost nothing on any kind.
//!
//! Sources: Mogul and Ramakrishnan, "Eliminating receive livelock" (1997), for polling after the interrupt and for the
//! budget; the Linux documentation `networking/scaling.rst` and `networking/napi.rst` for the spreading and the order.
//! Left out: caches, memory bandwidth, preemption within a piece of work, processes that move between processors.

mod interrupts;
mod processor;
pub(crate) mod usage;

use super::context::Context;
use super::event::Event;
use super::flow::{Meaning, reverse};
use super::frame::NIL;
use super::host::Host;
use super::messages::Message;
use crate::results::CpuResult;
use crate::results::collect::Cause;
use clearway_core::FlowId;
use clearway_policy::scenario::{Costs, StackKind, Wake};
use interrupts::Sent;
use processor::{Processor, Work};

/// No processor yet.
const UNKNOWN: u16 = u16::MAX;

/// The processors of one host.
#[derive(Debug)]
pub(crate) struct Stack {
    node: u32,
    kind: StackKind,
    receive: Costs,
    transmit: Costs,
    wake: Wake,
    receive_ring_frames: usize,
    transmit_ring_frames: u32,
    merge_bytes: u32,
    budget: u32,
    processors: Vec<Processor>,
    /// Sums of the shares of the processors up to each.
    shares: Vec<u64>,
    /// Processor of each flow, once seen.
    of_flow: Vec<u16>,
    sent: Sent,
}

impl Stack {
    /// The stack of the host at `node`.
    pub(crate) fn new(stack: &clearway_policy::scenario::Stack, node: u32) -> Self {
        let mut sum = 0;
        let share = |cpu: &clearway_policy::scenario::Cpu| {
            sum += u64::from(cpu.weight.max(1));
            sum
        };
        Self {
            node,
            kind: stack.kind,
            receive: stack.receive,
            transmit: stack.transmit,
            wake: stack.wake,
            receive_ring_frames: stack.receive_ring_frames.max(1) as usize,
            transmit_ring_frames: stack.transmit_ring_frames,
            merge_bytes: stack.merge_bytes,
            budget: stack.budget.max(1),
            processors: stack
                .cpus
                .iter()
                .map(|cpu| Processor::new(cpu, &stack.wake))
                .collect(),
            shares: stack.cpus.iter().map(share).collect(),
            of_flow: Vec::new(),
            sent: Sent::default(),
        }
    }

    /// What each processor did.
    pub(crate) fn results(&self) -> Vec<CpuResult> {
        let polls = matches!(self.wake, Wake::Poll);
        let result = |p: &Processor| CpuResult {
            usage: p.usage,
            polls,
        };
        self.processors.iter().map(result).collect()
    }

    /// The processor of a flow and of the flow that goes the other way.
    fn processor_of(&mut self, ctx: &Context, flow: u32) -> usize {
        let Some(&total) = self.shares.last().filter(|_| self.shares.len() > 1) else {
            return 0;
        };
        let place = flow as usize;
        if self.of_flow.len() <= place {
            self.of_flow.resize(place + 1, UNKNOWN);
        }
        if let Some(&known) = self.of_flow.get(place).filter(|p| **p != UNKNOWN) {
            return usize::from(known);
        }
        let mut key = ctx.keys.get(place).copied().unwrap_or_default();
        if (key.src_ip, key.src_port) > (key.dst_ip, key.dst_port) {
            key = reverse(&key);
        }
        let drawn = FlowId::of(&key).hash() % total.max(1);
        let processor = self.shares.partition_point(|&up_to| up_to <= drawn);
        self.of_flow[place] = processor as u16;
        processor
    }

    /// True where a frame costs the host nothing: the NIC handles it.
    fn spares(&self, ctx: &Context, flow: u32, meaning: Meaning) -> bool {
        let offloads = matches!(self.kind, StackKind::Offload | StackKind::Rdma);
        (offloads && meaning.is_segment()) || ctx.is_remote(flow)
    }
}

impl Host {
    /// A frame is in host memory: it waits for its processor, or is lost where the ring is full.
    pub(super) fn receive(&mut self, ctx: &mut Context, handle: u32) {
        let Some(stack) = &mut self.stack else { return };
        let Some((flow, meaning)) = ctx.meaning_of(handle) else {
            return;
        };
        if stack.spares(ctx, flow, meaning) {
            self.deliver(ctx, handle);
            return;
        }
        let index = stack.processor_of(ctx, flow);
        let limit = stack.receive_ring_frames;
        let Some(processor) = stack.processors.get_mut(index) else {
            return;
        };
        if processor.ring.len() >= limit {
            ctx.lose(handle, Cause::ReceiveRing, self.node);
            return;
        }
        processor.ring.push_back(handle);
        processor.usage.note_ring(ctx, processor.ring.len());
        stack.frame_waits(ctx, index);
        stack.look(ctx, index);
    }

    /// A frame of this host, with those chained to it, is handed to the stack.
    pub(super) fn send(&mut self, ctx: &mut Context, handle: u32) {
        let Some(stack) = &mut self.stack else { return };
        let Some((flow, meaning)) = ctx.meaning_of(handle) else {
            return;
        };
        if stack.spares(ctx, flow, meaning) {
            stack.sent.outstanding += frames_from(ctx, handle);
            self.descend(ctx, handle);
            return;
        }
        let index = stack.processor_of(ctx, flow);
        let Some(processor) = stack.processors.get_mut(index) else {
            return;
        };
        // What a message that was written becomes goes out before the next one is written.
        if meaning.is_segment() || meaning == Meaning::Datagram {
            processor.protocol.push_back(handle);
        } else {
            processor.process.push_back(Work::Frame(handle));
        }
        stack.look(ctx, index);
    }

    /// A process writes a message to a pipe. True: it costs time, and [`Host::message_done`] comes when that is over.
    pub(super) fn message_down(
        &mut self,
        ctx: &mut Context,
        flow: u32,
        pipe: u32,
        message: &Message,
    ) -> bool {
        self.message_costs(ctx, flow, pipe, message, true)
    }

    /// The last byte of a message is with the receiver's transport. True: reading it costs time, as above.
    pub(super) fn message_up(&mut self, ctx: &mut Context, flow: u32, pipe: u32, message: &Message) -> bool {
        self.message_costs(ctx, flow, pipe, message, false)
    }

    fn message_costs(
        &mut self,
        ctx: &mut Context,
        flow: u32,
        pipe: u32,
        message: &Message,
        down: bool,
    ) -> bool {
        let Some(stack) = &mut self.stack else {
            return false;
        };
        let remote = stack.kind == StackKind::Rdma || ctx.is_remote(flow);
        if remote && !down {
            return false;
        }
        let costs = if down { stack.transmit } else { stack.receive };
        let meaning = ctx.flows.get(flow as usize).map(|f| f.meaning);
        // Where the NIC handles the segments, what is copied is copied with the message; RDMA copies nothing.
        let copies = !remote && meaning.is_some_and(|m| stack.spares(ctx, flow, m));
        let copy_bps = costs.copy_bps.filter(|_| copies);
        let index = stack.processor_of(ctx, flow);
        // No frame of the message reached the processor: where it does not look by itself, the NIC tells it of the whole,
        // unless it is at work and finds the message when it is done.
        let told = match stack.wake {
            Wake::Interrupt { cost, .. } if copies && !down && stack.is_idle(index) => cost.as_ps(),
            _ => 0,
        };
        if costs.per_message.as_ps() + told == 0 && copy_bps.is_none() && stack.is_idle(index) {
            return false;
        }
        let cost = costs.per_message.as_ps() + told + processor::copy_ps(message.bytes, copy_bps);
        if let Some(processor) = stack.processors.get_mut(index) {
            processor.process.push_back(Work::Message {
                down,
                pipe,
                message: *message,
                cost,
            });
        }
        stack.look(ctx, index);
        true
    }

    /// What a processor did is over.
    pub(crate) fn processor_due(&mut self, ctx: &mut Context, index: u16) {
        let index = usize::from(index);
        let Some(done) = self.stack.as_mut().and_then(|s| s.finished(ctx, index)) else {
            return;
        };
        match done {
            processor::Done::Nothing => {}
            processor::Done::Received(frames) => {
                for _ in 0..frames {
                    let Some(handle) = self.stack.as_mut().and_then(|s| s.take_received(index)) else {
                        break;
                    };
                    self.deliver(ctx, handle);
                }
            }
            processor::Done::Sent(handle) => self.descend(ctx, handle),
            processor::Done::Message { down, pipe, message } => self.message_done(ctx, down, pipe, &message),
        }
        if let Some(stack) = &mut self.stack {
            stack.goes_on(ctx, index);
        }
        self.look(ctx);
    }

    /// So long ago the first frame came that a processor was not told of.
    pub(crate) fn interrupt_due(&mut self, ctx: &mut Context, index: u16) {
        if let Some(stack) = &mut self.stack {
            stack.receive_time_is_over(ctx, usize::from(index));
        }
    }

    /// So long ago the first frame was sent that the stack was not told of.
    pub(crate) fn sent_interrupt_due(&mut self, ctx: &mut Context) {
        if let Some(stack) = &mut self.stack {
            stack.sent_time_is_over(ctx);
        }
    }

    /// A frame has left the NIC, or never will.
    #[cold]
    pub(super) fn frame_sent(&mut self, ctx: &mut Context) {
        if let Some(stack) = &mut self.stack {
            stack.frame_sent(ctx);
        }
    }
}

/// Frames of a chain.
fn frames_from(ctx: &Context, first: u32) -> u32 {
    let mut frames = 0;
    let mut next = first;
    while let Some(frame) = ctx.frames.get(next).filter(|_| next != NIL) {
        frames += 1;
        next = frame.chain;
    }
    frames
}

impl Context {
    /// A frame's flow and what it means to its receiver.
    fn meaning_of(&self, handle: u32) -> Option<(u32, Meaning)> {
        let flow = self.frames.get(handle)?.flow;
        Some((flow, self.flows.get(flow as usize)?.meaning))
    }

    /// True where a flow is of a workload whose transport writes into the far host's memory.
    fn is_remote(&self, flow: u32) -> bool {
        let workload = self.workload_of.get(flow as usize);
        workload
            .and_then(|&w| self.carried.get(w as usize))
            .is_some_and(|c| c.remote)
    }

    /// Asks for the end of what a processor does.
    fn push_processor(&mut self, at: u64, node: u32, index: usize) {
        let cpu = index as u16;
        self.push(
            at,
            crate::engine::Phase::Control,
            node,
            Event::Processor { host: node, cpu },
        );
    }
}
