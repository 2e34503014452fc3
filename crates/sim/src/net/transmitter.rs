//! One egress: what waits, the slot for control frames, and the wire.
//!
//! The order within an instant is the engine's: arrivals before transmitters, so that a free transmitter chooses
//! among everything that is there. A transmitter that is free when a frame comes may choose at once where nothing
//! else is due at this instant, which is the same choice without an event. It has at most one live wake-up.
//!
//! Control frames wait in a slot of their own ahead of the traffic manager, behind the frame on the wire, and are
//! never paused (IEEE 802.3 annex 31B). A FIFO behind the traffic manager models the buffer of NIC and MAC: what
//! is in it leaves in order, paused or not.

use super::context::Context;
use super::event::Event;
use super::fifo::Fifo;
use super::frame::{CONTROL_BIT, CONTROL_LEN, Control, NIL, WIRE_OVERHEAD};
use super::gates::Gates;
use super::ledger::Sent;
use super::line;
use super::port::{Credits, Departure, PortCounters};
use super::selection::{Next, Selection};
use crate::engine::Phase;
use crate::net::flow::Meaning;
use clearway_core::{Ecn, RefuseReason};
use std::collections::VecDeque;

/// The buffer of NIC and MAC between the traffic manager and the wire.
#[derive(Debug)]
struct Behind {
    bytes_max: u64,
    bytes: u64,
    fifo: Fifo,
    /// Bytes of the frame on the wire, which holds its place until it has left.
    leaving: u32,
}

/// Answer of [`Transmitter::start`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Started {
    /// Nothing to send now; a wake-up is set where one is needed.
    Nothing,
    /// A frame is on the wire: [`Transmitter::departure`] says which memory it leaves.
    Frame,
    /// This frame was too old: the owner takes it, and asks again.
    Dropped {
        /// The frame.
        handle: u32,
        /// Its queue, by slot.
        queue: u32,
    },
}

/// One egress. What every frame touches comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Transmitter {
    pub(crate) line: u32,
    node: u32,
    busy_until: u64,
    /// Instant of the live wake-up.
    wake: u64,
    pub(crate) backlog_bytes: u64,
    blocked_since: u64,
    /// No gate is shut after this instant.
    open_from: u64,
    /// The first transmitter of its frames' paths: sets the instants of entry and first bit.
    source: bool,
    /// The far end tells outputs apart rather than priorities.
    pub(crate) gate_by_output: bool,
    behind: Option<Box<Behind>>,
    pub(crate) selection: Selection,
    control: VecDeque<u32>,
    pub(crate) credits: Option<Box<Credits>>,
    pub(crate) counters: PortCounters,
    /// Of the frame that went on the wire last, where its node is a switch.
    pub(crate) departure: Departure,
    pub(crate) gates: Gates,
    /// Pause heard, until its reaction time is over.
    heard: VecDeque<(u64, Control)>,
}

const NEVER: u64 = u64::MAX;

impl Transmitter {
    pub(crate) fn new(line: u32, node: u32, selection: Selection, fifo_bytes: u64, source: bool) -> Self {
        let behind = (fifo_bytes > 0).then(|| {
            Box::new(Behind {
                bytes_max: fifo_bytes,
                bytes: 0,
                fifo: Fifo::default(),
                leaving: 0,
            })
        });
        Self {
            line,
            node,
            selection,
            behind,
            control: VecDeque::new(),
            busy_until: 0,
            wake: NEVER,
            blocked_since: NEVER,
            open_from: 0,
            gates: Gates::default(),
            backlog_bytes: 0,
            source,
            gate_by_output: false,
            credits: None,
            heard: VecDeque::new(),
            counters: PortCounters::default(),
            departure: Departure::nothing(0),
        }
    }

    /// True where a frame that came now would go on the wire now, shapers and gates permitting.
    pub(crate) fn is_idle(&self, now: u64) -> bool {
        now >= self.busy_until && self.backlog_bytes == 0 && self.control.is_empty()
    }

    /// Queues a frame. The caller then lets the transmitter look.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        hop: u32,
        gate: u8,
        ecn: Ecn,
    ) -> Result<(), RefuseReason> {
        self.selection.enqueue(ctx, handle, len, hop, gate, ecn)?;
        self.note_backlog(ctx, len);
        Ok(())
    }

    /// Queues a control frame in its slot.
    pub(crate) fn send_control(&mut self, handle: u32) {
        self.control.push_back(handle);
    }

    /// True where the transmitter should look now rather than at an event of this or a later instant.
    #[inline]
    pub(crate) fn looks_now(&mut self, ctx: &mut Context) -> bool {
        let now = ctx.now;
        if now < self.busy_until {
            if self.behind.is_some() {
                return true;
            }
            self.wake_when_free(ctx);
            return false;
        }
        if self.wake <= now {
            return false;
        }
        if ctx.events.peek().is_some_and(|at| at.as_ps() <= now) {
            self.wake_at(ctx, now);
            return false;
        }
        true
    }

    /// True where a wake-up event that came is the live one.
    #[inline]
    pub(crate) const fn wakes(&mut self, now: u64) -> bool {
        if self.wake != now {
            return false;
        }
        self.wake = NEVER;
        true
    }

    #[inline]
    fn wake_at(&mut self, ctx: &mut Context, at: u64) {
        if at < self.wake {
            self.wake = at;
            ctx.push(
                at,
                Phase::TransmitterFree,
                self.node,
                Event::Free { line: self.line },
            );
        }
    }

    /// Sets the wake-up for when the wire is free and something can leave. Where a gate is shut then, the transmitter
    /// looks as soon as the wire is free, so that the span is counted as lost to pause.
    #[inline]
    fn wake_when_free(&mut self, ctx: &mut Context) {
        if self.wake <= self.busy_until {
            return;
        }
        let plain = !self.control.is_empty() || self.behind.is_some() || self.open_from > self.busy_until;
        let at = if plain {
            self.busy_until
        } else {
            self.selection.next_at().max(self.busy_until)
        };
        self.wake_at(ctx, at);
    }

    /// Queues a frame, and puts one on the wire at once where nothing that is due at this instant could come first: the
    /// same as `enqueue`, `looks_now` and `start`, in a shorter way. `Ok(None)`: queued, and nobody needs to look.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        hop: u32,
        gate: u8,
        ecn: Ecn,
    ) -> Result<Option<Started>, RefuseReason> {
        let now = ctx.now;
        let free = now >= self.busy_until && self.backlog_bytes == 0 && self.behind.is_none();
        if free
            && self.wake > now
            && self.control.is_empty()
            && ctx.events.peek().is_none_or(|at| at.as_ps() > now)
        {
            match &mut self.selection {
                Selection::Manager(managed) => {
                    let next = managed.forward(ctx, handle, len, hop, ecn)?;
                    self.note_backlog(ctx, len);
                    return Ok(Some(self.started(ctx, next, handle)));
                }
                Selection::Fifo(fifo) if fifo.gates.until(gate) <= now => {
                    self.note_backlog(ctx, len);
                    self.send(ctx, handle, len, 0, false, true);
                    return Ok(Some(Started::Frame));
                }
                Selection::Fifo(_) | Selection::Cbq(_) => {}
            }
        }
        self.enqueue(ctx, handle, len, hop, gate, ecn)?;
        Ok(if self.looks_now(ctx) {
            Some(self.start(ctx))
        } else {
            None
        })
    }

    #[inline]
    pub(super) fn note_backlog(&mut self, ctx: &Context, len: u32) {
        self.backlog_bytes += u64::from(len);
        if self.backlog_bytes > self.counters.backlog_bytes_max && ctx.now >= ctx.warmup {
            self.counters.backlog_bytes_max = self.backlog_bytes;
        }
    }

    /// Shuts or opens gates at `now`.
    pub(crate) fn pause(&mut self, ctx: &Context, set: u64, until: u64) {
        self.open_from = self.open_from.max(until);
        self.gates.pause(ctx.now, set, until, ctx.warmup);
        self.selection.pause(ctx.now, set, until);
        if let Some(behind) = &mut self.behind {
            behind.fifo.gates.pause(ctx.now, set, until, ctx.warmup);
        }
    }

    /// The gate of a frame where no traffic manager says.
    #[inline]
    pub(crate) fn gate_of(&self, ctx: &Context, pcp: u8, next_hop: u32) -> u8 {
        if self.gate_by_output {
            ctx.hops.get(next_hop as usize).map_or(0, |h| h.port as u8)
        } else {
            pcp
        }
    }

    /// A control frame for this transmitter came in. True where it took effect at once.
    pub(crate) fn hear(&mut self, ctx: &mut Context, control: Control, reaction_ps: u64) -> bool {
        if ctx.now >= ctx.warmup && !control.is_joined() {
            self.counters.pause_frames_received += 1;
        }
        // The time runs from here on; the reaction delays only the effect.
        self.heard.push_back((ctx.now, control));
        if reaction_ps == 0 {
            self.pause_due(ctx);
            return true;
        }
        ctx.push(
            ctx.now + reaction_ps,
            Phase::Control,
            self.node,
            Event::PauseDue { line: self.line },
        );
        false
    }

    /// A control frame came in that this station does not obey.
    pub(crate) const fn ignore(&mut self, control: Control) {
        self.counters.pause_frames_received += !control.is_joined() as u64;
    }

    /// The reaction time of the oldest control frame is over.
    pub(crate) fn pause_due(&mut self, ctx: &Context) {
        match self.heard.pop_front() {
            Some((at, Control::Pause { gates, quanta })) => {
                let until = at + ctx.lines[self.line as usize].quanta_ps(quanta);
                self.pause(ctx, gates, until);
            }
            Some((_, Control::Credit { output, bytes, .. })) => {
                let Some(credits) = &mut self.credits else { return };
                let Some(left) = credits.bytes.get_mut(usize::from(output)) else {
                    return;
                };
                *left = left.saturating_add_unsigned(bytes);
                if *left >= i64::from(credits.frame_bytes_max) {
                    self.pause(ctx, 1 << (output & 63), 0);
                }
            }
            None => {}
        }
    }

    /// Puts the next frame on the wire where that is free.
    #[inline]
    pub(crate) fn start(&mut self, ctx: &mut Context) -> Started {
        if self.behind.is_some()
            && let Some((handle, queue)) = self.refill(ctx)
        {
            return Started::Dropped { handle, queue };
        }
        let now = ctx.now;
        if now < self.busy_until {
            self.wake_at(ctx, self.busy_until);
            return Started::Nothing;
        }
        if let Some(handle) = self.control.pop_front() {
            self.transmit_control(ctx, handle);
            return Started::Nothing;
        }
        let next = match &mut self.behind {
            Some(behind) => behind.fifo.next(now),
            None => self.selection.next(now),
        };
        self.started(ctx, next, NIL)
    }

    /// Does what the answer of the queues asks for. `fresh`: the frame that came just now, if one did.
    #[inline]
    fn started(&mut self, ctx: &mut Context, next: Next, fresh: u32) -> Started {
        if let Next::Frame {
            handle,
            len,
            queue,
            ecn_marked,
            ..
        } = next
        {
            self.send(ctx, handle, len, queue, ecn_marked, handle == fresh);
            return Started::Frame;
        }
        self.not_started(ctx, &next)
    }

    /// Puts the frame that was chosen on the wire.
    fn send(&mut self, ctx: &mut Context, handle: u32, len: u32, queue: u32, ecn_marked: bool, fresh: bool) {
        self.backlog_bytes -= u64::from(len);
        self.transmit(ctx, handle, len, queue, ecn_marked, fresh);
        if let Some(behind) = &mut self.behind {
            behind.leaving = len;
        }
        if self.backlog_bytes > 0 || !self.control.is_empty() {
            self.wake_when_free(ctx);
        }
    }

    fn not_started(&mut self, ctx: &mut Context, next: &Next) -> Started {
        let now = ctx.now;
        match *next {
            Next::Dropped { handle, len, queue } => {
                self.backlog_bytes -= u64::from(len);
                Started::Dropped { handle, queue }
            }
            Next::Wait { until, gate } => {
                if gate && self.blocked_since == NEVER {
                    self.blocked_since = now.max(ctx.warmup);
                } else if !gate {
                    self.unblock(now);
                }
                self.wake_at(ctx, until);
                Started::Nothing
            }
            Next::Frame { .. } | Next::Empty => Started::Nothing,
        }
    }

    /// Moves frames from the traffic manager into the FIFO behind it while they fit. Returns a frame dropped there.
    fn refill(&mut self, ctx: &mut Context) -> Option<(u32, u32)> {
        let now = ctx.now;
        let Some(behind) = &mut self.behind else {
            return None;
        };
        if now >= self.busy_until {
            behind.bytes -= u64::from(std::mem::take(&mut behind.leaving));
        }
        while behind.bytes == 0
            || self
                .selection
                .head_fits(behind.bytes_max.saturating_sub(behind.bytes))
        {
            match self.selection.next(now) {
                Next::Frame {
                    handle,
                    len,
                    gate,
                    ecn_marked,
                    ..
                } => {
                    behind.bytes += u64::from(len);
                    behind.fifo.push(handle, len, gate);
                    if let Some(frame) = ctx.frames.get_mut(handle) {
                        frame.nic_entry = now;
                        if ecn_marked {
                            frame.ecn = Ecn::Marked;
                        }
                    }
                }
                Next::Dropped { handle, len, queue } => {
                    self.backlog_bytes -= u64::from(len);
                    return Some((handle, queue));
                }
                Next::Wait { until, .. } => {
                    // A wait that ends while the wire is taken is looked at when the wire is free.
                    let until = if now < self.busy_until {
                        until.max(self.busy_until)
                    } else {
                        until
                    };
                    let empty = behind.fifo.is_empty();
                    if empty && now >= self.busy_until && self.gates_shut(now) && self.blocked_since == NEVER
                    {
                        self.blocked_since = now.max(ctx.warmup);
                    }
                    self.wake_at(ctx, until);
                    return None;
                }
                Next::Empty => return None,
            }
        }
        None
    }

    fn gates_shut(&self, now: u64) -> bool {
        (0..64).any(|gate| self.gates.until(gate) > now)
    }

    /// Ends a span in which pause alone kept the wire free.
    #[inline]
    fn unblock(&mut self, now: u64) {
        if self.blocked_since != NEVER {
            self.counters.lost_to_pause_ps += now.saturating_sub(self.blocked_since);
            self.blocked_since = NEVER;
        }
    }

    /// Ends what is open when the run ends.
    pub(crate) fn finish(&mut self, now: u64) {
        self.unblock(now);
    }

    #[inline]
    fn transmit(
        &mut self,
        ctx: &mut Context,
        handle: u32,
        len: u32,
        queue: u32,
        ecn_marked: bool,
        fresh: bool,
    ) {
        let now = ctx.now;
        self.unblock(now);
        let line = &mut ctx.lines[self.line as usize];
        let (whole_ps, out_ps) = line.frame_ps(len);
        self.busy_until = now + whole_ps;
        let last_bit_out = now + out_ps;
        let last_bit_in = last_bit_out + line.delay_ps();
        let (direct, watched) = (line.direct, line.watched);
        ctx.collector.packet_hops += 1;
        // A frame that came just now is in a cache: it is counted at once.
        if !fresh
            && let Some(stack_ps) = direct
            && line.only_sinks
            && self.source
            && !watched
            && self.credits.is_none()
        {
            ctx.count_later(Sent {
                handle,
                line: self.line,
                at: now,
                arrival: last_bit_in + stack_ps,
            });
            return;
        }
        let Some(frame) = ctx.frames.get_mut(handle) else {
            self.departure = Departure::nothing(last_bit_out);
            return;
        };
        if self.source {
            frame.first_bit = now;
        } else {
            self.departure = Departure {
                last_bit_out,
                charged: frame.charged,
                ingress: frame.ingress,
                account: frame.account,
                chain: frame.chain,
                queue,
                len,
            };
        }
        if ecn_marked {
            frame.ecn = Ecn::Marked;
        }
        let (queued, tag, flow_index) = (frame.queued, frame.tag, frame.flow);
        let flow = &ctx.flows[frame.flow as usize];
        let meaning = flow.meaning;
        // A frame that ends here needs no next hop: the look would wait for memory.
        if direct.is_none() || meaning != Meaning::Sink || watched || self.credits.is_some() {
            frame.hop = ctx.hops[frame.hop as usize].next;
        }
        frame.chain = NIL;
        frame.charged = 0;
        let mut spent = None;
        if let Some(credits) = &mut self.credits {
            let output = ctx.hops.get(frame.hop as usize).map_or(0, |h| h.port as u8);
            spent = credits.spend(output, len).then_some(output);
        }
        if now >= ctx.warmup {
            let waited = now.saturating_sub(queued.max(ctx.warmup));
            line.counters.count(len, flow.overhead, waited);
        }
        if watched && self.watched(ctx, handle, len) {
            return;
        }
        match direct {
            // Nobody can tell when this delivery is counted: the sink only counts.
            Some(stack_ps) if meaning == Meaning::Sink => ctx.count_delivery(handle, last_bit_in + stack_ps),
            _ => {
                if meaning == Meaning::Datagram && self.source {
                    ctx.datagram_leaves(flow_index, len, tag);
                }
                line::launch(ctx, self.line, handle, last_bit_in);
            }
        }
        if let Some(output) = spent {
            self.pause(ctx, 1 << (output & 63), NEVER);
        }
    }

    /// Looks at a frame on a line that is captured or down. True where the line is down: the frame is lost.
    #[cold]
    fn watched(&self, ctx: &mut Context, handle: u32, len: u32) -> bool {
        let (line, frame) = (&ctx.lines[self.line as usize], ctx.frames.get(handle).copied());
        let down = line.is_down();
        if let Some(frame) = frame.filter(|_| line.capture) {
            line::capture(ctx, self.line, &frame, len);
        }
        if down {
            if self.source
                && let Some(frame) = frame
                && ctx.flows[frame.flow as usize].meaning == Meaning::Datagram
            {
                ctx.datagram_leaves(frame.flow, len, frame.tag);
            }
            ctx.lose_on_line(handle, self.line);
        }
        down
    }

    fn transmit_control(&mut self, ctx: &mut Context, handle: u32) {
        let now = ctx.now;
        self.unblock(now);
        let line = &mut ctx.lines[self.line as usize];
        self.busy_until = now + line.time_ps(CONTROL_LEN + WIRE_OVERHEAD);
        if now >= ctx.warmup {
            line.counters.control_frames += 1;
            self.counters.pause_frames_sent += 1;
        }
        line::launch_control(ctx, self.line, handle | CONTROL_BIT);
        // Credits that wait go out in one frame: it has room for every output.
        if matches!(ctx.controls.get(handle), Some(Control::Credit { .. })) {
            while let Some(&next) = self.control.front() {
                let Some(Control::Credit { joined, .. }) = ctx.controls.get_mut(next) else {
                    break;
                };
                *joined = true;
                let _ = self.control.pop_front();
                line::launch_control(ctx, self.line, next | CONTROL_BIT);
            }
        }
        if self.backlog_bytes > 0 || !self.control.is_empty() {
            self.wake_at(ctx, self.busy_until);
        }
    }
}
