//! The host interface (PCI Express) in one direction: transfers that cannot be interrupted, chosen by priority.
//!
//! Frames wait in host memory (on transmit) or in the NIC's buffer (on receive). The bus takes one transfer after
//! another: a frame, a part of a frame where it is longer than the largest transfer, or several frames that one
//! segmented send handed down together. Between two transfers the next is chosen by the policy's tree without its
//! shapers: those act at the NIC. A transfer of `n` bytes holds the bus for the time of `n` bytes and of the framing
//! of its bus packets; the latency comes after and holds nothing.
//!
//! Source: PCI Express Base Specification 2.0, clauses 2.2 (packet framing) and 4.2 (line coding, which the rate has
//! left behind already). Left out: completion credits, descriptor fetches and interrupts beyond the latency.

use super::context::Context;
use super::event::Event;
use super::frame::NIL;
use super::selection::{Next, Selection};
use crate::engine::Phase;
use clearway_core::plan::{NodeKind, QueueMode};
use clearway_core::{Change, Plan, PlanError, RefuseReason};
use clearway_policy::scenario::HostInterface;
use std::collections::VecDeque;

/// One direction of the bus.
#[derive(Debug)]
pub(crate) struct Bus {
    selection: Selection,
    interface: HostInterface,
    /// Rate of the far end, where it is slower than the bus.
    slower_bps: Option<u64>,
    /// The transfer under way: first frame and bytes.
    current: Option<(u32, u32)>,
    free_at: u64,
    /// Instant of the live event.
    wake: u64,
    waiting: u64,
    /// Bytes that wait or are under way.
    pub(crate) bytes: u64,
    /// Most of them since the warm-up.
    pub(crate) bytes_peak: u64,
    /// Frames that have crossed and arrive after the latency.
    pub(crate) landing: VecDeque<(u64, u32)>,
}

/// What the bus finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossed {
    /// First frame of the transfer; [`NIL`] where the frame is not complete yet.
    pub(crate) first: u32,
    /// When it is there, the latency included.
    pub(crate) at: u64,
}

/// The policy's tree without anything that delays or drops: what is left is the order.
fn order_of(plan: &Plan, transfer_bytes_max: u32) -> Plan {
    let mut plan = plan.clone();
    plan.frame_bytes_max = plan.frame_bytes_max.max(transfer_bytes_max);
    plan.frames_max = plan.frames_max.max(1 << 14).saturating_mul(4).min(1 << 20);
    for node in &mut plan.nodes {
        node.rate = None;
        node.frame_rate = None;
        node.guarantee = None;
        if let NodeKind::Queue(queue) = &mut node.kind {
            queue.mode = QueueMode::Shared;
            queue.bytes_max = 1 << 60;
            queue.frames_max = u32::MAX;
            queue.mark = None;
            queue.meter = None;
            queue.age_max = None;
        }
    }
    plan
}

impl Bus {
    /// A direction that orders its transfers by `plan`.
    pub(crate) fn new(
        interface: &HostInterface,
        plan: Option<&Plan>,
        slower_bps: Option<u64>,
    ) -> Result<Self, PlanError> {
        let plan = plan.map(|p| order_of(p, interface.transfer_bytes_max));
        Ok(Self {
            selection: Selection::off_path(plan.as_ref())?,
            interface: interface.clone(),
            slower_bps,
            current: None,
            free_at: 0,
            wake: u64::MAX,
            waiting: 0,
            bytes: 0,
            bytes_peak: 0,
            landing: VecDeque::new(),
        })
    }

    /// Changes the order of transfers.
    pub(crate) fn reorder(&mut self, ctx: &Context, change: &Change) -> Result<(), String> {
        match &mut self.selection {
            Selection::Fifo(_) => Ok(()),
            selection => selection.change(ctx.instant(), change),
        }
    }

    /// The longest transfer, bytes.
    pub(crate) fn transfer_bytes_max(&self) -> u32 {
        self.interface.transfer_bytes_max.max(1)
    }

    /// Picoseconds that a transfer holds the bus.
    fn holding_ps(&self, bytes: u32) -> u64 {
        let packets = u64::from(bytes.div_ceil(self.interface.packet_payload_bytes.max(1)).max(1));
        let framed = u64::from(bytes) + packets * u64::from(self.interface.packet_overhead_bytes);
        let bus = clearway_core::Duration::of_bytes(framed, self.interface.rate_bps);
        let far = self.slower_bps.map_or(0, |bps| {
            clearway_core::Duration::of_bytes(u64::from(bytes), bps).as_ps()
        });
        bus.as_ps().max(far)
    }

    /// Queues a frame, or the first of several chained ones that cross together. `bytes` is the sum.
    pub(crate) fn enqueue(&mut self, ctx: &mut Context, first: u32, bytes: u32) -> Result<(), RefuseReason> {
        let max = self.transfer_bytes_max();
        let pieces = bytes.div_ceil(max).max(1);
        let Some(frame) = ctx.frames.get_mut(first) else {
            return Ok(());
        };
        frame.account = u16::try_from(pieces).unwrap_or(u16::MAX);
        let (hop, gate, ecn) = (frame.hop, frame.pcp, frame.ecn);
        for piece in 0..pieces {
            let len = if piece + 1 == pieces {
                bytes - piece * max
            } else {
                max
            };
            if let Err(reason) = self.selection.enqueue(ctx, first, len, hop, gate, ecn) {
                if piece == 0 {
                    return Err(reason);
                }
                // What is queued already carries the frame.
                if let Some(frame) = ctx.frames.get_mut(first) {
                    frame.account = piece as u16;
                }
                break;
            }
            self.waiting += 1;
        }
        self.bytes += u64::from(bytes);
        if ctx.now >= ctx.warmup {
            self.bytes_peak = self.bytes_peak.max(self.bytes);
        }
        Ok(())
    }

    /// Starts the next transfer where the bus is free; asks for `event` when it is over. An idle bus chooses after
    /// everything of this instant has come.
    pub(crate) fn look(&mut self, ctx: &mut Context, node: u32, event: Event) {
        if self.current.is_some() || self.waiting == 0 || self.wake <= ctx.now {
            return;
        }
        if ctx.events.peek().is_some_and(|at| at.as_ps() <= ctx.now) {
            self.wake = ctx.now;
            ctx.push(ctx.now, Phase::TransmitterFree, node, event);
            return;
        }
        self.begin(ctx, node, event);
    }

    fn begin(&mut self, ctx: &mut Context, node: u32, event: Event) {
        loop {
            match self.selection.next(ctx.now) {
                Next::Frame { handle, len, .. } => {
                    self.waiting -= 1;
                    self.current = Some((handle, len));
                    self.free_at = ctx.now.saturating_add(self.holding_ps(len));
                    self.wake = self.free_at;
                    ctx.push(self.free_at, Phase::TransmitterFree, node, event);
                    return;
                }
                // The order has no ages and no shapers: neither happens.
                Next::Dropped { .. } => self.waiting -= 1,
                Next::Wait { .. } | Next::Empty => return,
            }
        }
    }

    /// The event came: what crossed, if a transfer is over; and the next transfer starts.
    pub(crate) fn due(&mut self, ctx: &mut Context, node: u32, event: Event) -> Option<Crossed> {
        if self.wake != ctx.now {
            return None;
        }
        self.wake = u64::MAX;
        let mut crossed = None;
        if let Some((first, len)) = self.current.take() {
            self.bytes -= u64::from(len);
            if let Some(frame) = ctx.frames.get_mut(first) {
                frame.account = frame.account.saturating_sub(1);
                let first = if frame.account == 0 { first } else { NIL };
                crossed = Some(Crossed {
                    first,
                    at: ctx.now.saturating_add(self.interface.latency.as_ps()),
                });
            }
        }
        self.begin(ctx, node, event);
        crossed
    }
}
