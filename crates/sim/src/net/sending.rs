//! A host's sources: when each one's next frame is due, and what holds it back.
//!
//! A source hands its frame to the stack, or, where that only delays, to the NIC a stack delay later, so that the delay
//! needs no event of its own. A source of bursts may wait while the NIC is full.

use super::context::Context;
use super::event::Event;
use super::frame::{Frame, NIL};
use super::host::Host;
use super::selection::Selection;
use super::transmitter::Transmitter;
use crate::engine::Phase;
use crate::workload::{Emission, Source};
use clearway_core::{Ecn, Target};

/// A source of more flows than this looks ahead: what fewer need stays in a cache.
const LOOK_AHEAD: usize = 256;

/// A source and the frame that it sends next.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Sending {
    next: Option<Emission>,
    /// Simulator's flow of `next`, looked up early: among many flows the look-up waits for memory.
    next_flow: u32,
    /// Index of the workload.
    workload: u32,
    /// `next` begins a burst.
    begins: bool,
    blocked: bool,
    /// Simulator's flow of each of the source's, once seen.
    flows: Vec<u32>,
    /// The requester whose calls these are.
    requester: Option<u32>,
    /// Waits between bursts while more bytes than this are queued at the host.
    blocks_above: Option<u64>,
    source: Source,
}

impl Sending {
    pub(crate) fn new(
        source: Source,
        workload: u32,
        requester: Option<u32>,
        blocks_above: Option<u64>,
    ) -> Self {
        let flows = vec![NIL; source.flows() as usize];
        let mut sending = Self {
            source,
            next: None,
            next_flow: NIL,
            begins: true,
            workload,
            flows,
            requester,
            blocks_above,
            blocked: false,
        };
        let _ = sending.advance();
        sending
    }

    /// Draws what comes next. True where that is the same over again.
    #[inline]
    fn advance(&mut self) -> bool {
        if self.blocks_above.is_some() {
            self.begins = self.source.between_bursts();
        }
        if self.source.repeat() {
            return true;
        }
        self.source.draw(&mut self.next);
        let known = self.next.as_ref().and_then(|e| self.flows.get(e.flow as usize));
        self.next_flow = known.copied().unwrap_or(NIL);
        false
    }

    /// Simulator's flow of the source's flow that stands `after` places behind the next one.
    #[inline]
    fn flow_after(&self, after: usize) -> usize {
        let next = self.next.map_or(0, |e| e.flow as usize) + after;
        let place = if next < self.flows.len() {
            next
        } else {
            next - self.flows.len()
        };
        self.flows.get(place).map_or(NIL as usize, |&flow| flow as usize)
    }

    /// When its first frame is handed over.
    pub(crate) fn first(&self) -> Option<u64> {
        self.next.map(|e| e.at.as_ps())
    }
}

impl Sending {
    /// Reads a part each of what the next frames need, one step of three for each of them: the flow, its path, what the
    /// traffic manager keeps of it. With very many flows none is in a cache; so they are waited for together and early. Where
    /// flows take turns the next ones are known; elsewhere this is a guess that does no harm.
    fn look_ahead(&self, ctx: &Context, transmitter: &Transmitter) {
        let path = |after| {
            ctx.flows
                .get(self.flow_after(after))
                .map_or(NIL, |flow| flow.path)
        };
        let hop = |path: u32| ctx.hops.get(path as usize).map(|hop| hop.target);
        if let Some(target) = hop(path(0)).filter(|t| t.is_known()) {
            transmitter.ask_for(target);
        }
        std::hint::black_box((hop(path(1)).is_some_and(Target::is_known), path(2)));
    }
}

impl Host {
    /// How long after an emission its event comes: a stack delay without jitter needs no event of its own.
    pub(crate) const fn source_lag_ps(&self) -> u64 {
        if self.staged { 0 } else { self.stack_tx_ps }
    }

    /// A source's next frame is due at the NIC, or at the stack where that jitters.
    pub(crate) fn source_due(&mut self, ctx: &mut Context, index: u16) {
        let place = usize::from(index);
        let lag = self.source_lag_ps();
        loop {
            let Some(sending) = self.sources.get_mut(place) else {
                return;
            };
            if sending.blocked {
                break;
            }
            let Some(emission) = sending.next else { break };
            let due = emission.at.as_ps().saturating_add(lag);
            if due > ctx.now {
                let event = Event::Source {
                    host: self.node,
                    source: index,
                };
                ctx.push(due, Phase::Control, self.node, event);
                break;
            }
            if sending.begins
                && sending
                    .blocks_above
                    .is_some_and(|above| self.transmitter.backlog_bytes > above)
            {
                sending.blocked = true;
                self.blocked += 1;
                break;
            }
            let handle = self.emit(ctx, place, &emission);
            let Some(sending) = self.sources.get_mut(place) else {
                return;
            };
            let repeats = sending.advance();
            let alone = sending
                .next
                .is_none_or(|e| e.at.as_ps().saturating_add(lag) > ctx.now);
            let Some(handle) = handle else { continue };
            if self.staged {
                self.submit(ctx, handle);
            } else if alone && self.bus_tx.is_none() {
                if sending.flows.len() > LOOK_AHEAD {
                    sending.look_ahead(ctx, &self.transmitter);
                }
                self.offer_nic(ctx, handle);
            } else {
                self.enqueue(ctx, handle);
                if repeats {
                    self.send_more(ctx, place, handle);
                }
            }
        }
        self.look(ctx);
    }

    /// Queues all that repeats the frame that was queued last, up to the last of its burst: the same as one by one, where
    /// the NIC's queue takes them so.
    fn send_more(&mut self, ctx: &mut Context, place: usize, handle: u32) {
        let Some(sending) = self.sources.get_mut(place) else {
            return;
        };
        let plain = sending.requester.is_none() && sending.blocks_above.is_none() && self.bus_tx.is_none();
        let Some(frame) = ctx.frames.get(handle).copied().filter(|_| plain) else {
            return;
        };
        let times = sending.source.repeats();
        if times > 1 && self.transmitter.enqueue_more(ctx, &frame, times) {
            if frame.generated >= ctx.warmup {
                let flow = &mut ctx.flows[frame.flow as usize];
                ctx.collector.offer(flow, frame.class, frame.len, times);
            }
            sending.source.skip_repeats();
            let _ = sending.advance();
        }
    }

    /// Makes the frame of an emission.
    #[inline]
    fn emit(&mut self, ctx: &mut Context, place: usize, emission: &Emission) -> Option<u32> {
        let sending = self.sources.get_mut(place)?;
        let known = sending.next_flow;
        let flow = if known == NIL {
            let owner = sending.requester.unwrap_or(NIL);
            let made = ctx.flow_of_emission(self.node, sending.workload, emission, owner)?;
            if let Some(entry) = sending.flows.get_mut(emission.flow as usize) {
                *entry = made;
            }
            sending.next_flow = made;
            made
        } else {
            known
        };
        let tag = match sending.requester {
            Some(_) => {
                ctx.collector
                    .call_begun(sending.workload, emission.intended.as_ps(), ctx.warmup);
                ctx.begin_call(emission.intended.as_ps())
            }
            None => NIL,
        };
        ctx.make_frame(flow, emission.bytes, emission.intended.as_ps(), emission.pcp, tag)
    }

    /// Lets sources go on whose wait for the NIC is over. What they send then was generated then.
    pub(super) fn unblock(&mut self, ctx: &mut Context) {
        let now = ctx.instant();
        let lag = self.source_lag_ps();
        for (index, sending) in self.sources.iter_mut().enumerate() {
            let above = sending.blocks_above.unwrap_or(u64::MAX);
            if sending.blocked && self.transmitter.backlog_bytes <= above {
                sending.blocked = false;
                self.blocked -= 1;
                sending.source.resume(now);
                if let Some(next) = &mut sending.next {
                    next.at = next.at.max(now);
                    next.intended = next.at;
                }
                let event = Event::Source {
                    host: self.node,
                    source: index as u16,
                };
                ctx.push(ctx.now.saturating_add(lag), Phase::Control, self.node, event);
            }
        }
    }
}

impl Transmitter {
    /// Queues copies of a frame that was queued at this instant and has not been looked at since. False where that needs
    /// one look after another: then nothing was done.
    fn enqueue_more(&mut self, ctx: &mut Context, frame: &Frame, times: u32) -> bool {
        let Selection::Manager(managed) = &mut self.selection else {
            return false;
        };
        if frame.ecn != Ecn::NotCapable || !managed.enqueue_more(ctx, frame, times) {
            return false;
        }
        self.note_backlog(ctx, frame.len * times);
        true
    }

    /// Asks early for what a frame to this target will need.
    #[inline]
    fn ask_for(&self, target: Target) {
        if let Selection::Manager(managed) = &self.selection {
            managed.manager.ask_for(target);
        }
    }
}
