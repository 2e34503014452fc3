//! A shared-memory switch: memory, forwarding, flow control, one egress a port.
//!
//! Store and forward: a frame is ready at its egress a forwarding delay after its last bit came in. Cut-through:
//! where the ingress is at least as fast as the egress and the egress is idle, a frame may leave a forwarding delay
//! after its header (14 bytes) came in; it is charged from then until its last bit is out. A frame that is all in by
//! then is stored and forwarded. A frame is charged once, in cells, however many ports it leaves by, and freed when the last bit of the last copy is out.
//!
//! Sources: IEEE 802.1Q clause 8.6 (forwarding), IEEE 802.3 annex 31B and IEEE 802.1Q clause 36 (pause). Left out:
//! address learning (paths are computed before the run), ingress queues, a fabric slower than its ports.

use super::context::{Context, Shared};
use super::event::Event;
use super::flow_control::{AccountBy, CreditSender, PauseSender};
use super::frame::{CONTROL_BIT, CONTROL_LEN, Control, Frame, NIL, WIRE_OVERHEAD};
use super::line::{self, Part};
use super::memory::{Memory, Release};
use super::script::Action;
use super::transmitter::{Started, Transmitter};
use crate::engine::Phase;
use crate::results::collect::Cause;
use clearway_policy::scenario::{Charge, Threshold};
use std::collections::VecDeque;

/// Bytes of a frame that a cut-through switch has seen when it decides: two addresses and a type.
pub(crate) const HEADER_BYTES: u32 = 14;

/// One port.
#[derive(Debug)]
pub(crate) struct SwitchPort {
    pub(crate) transmitter: Transmitter,
    release: Option<Release>,
    /// Bytes of memory held by each queue, by slot, where a threshold asks for it.
    held: Vec<u64>,
}

/// A switch.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) node: u32,
    pub(crate) ports: Vec<SwitchPort>,
    pub(crate) memory: Memory,
    pub(crate) pause: Option<PauseSender>,
    pub(crate) credits: Option<CreditSender>,
    charge: Charge,
    cut_through: bool,
    forwarding_ps: u64,
    reaction_ps: u64,
    forwarding: VecDeque<(u64, u32)>,
}

/// How a switch behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchSettings {
    pub(crate) charge: Charge,
    pub(crate) cut_through: bool,
    pub(crate) forwarding_ps: u64,
    pub(crate) reaction_ps: u64,
}

impl Switch {
    pub(crate) fn new(
        node: u32,
        transmitters: Vec<Transmitter>,
        memory: Memory,
        pause: Option<PauseSender>,
        credits: Option<CreditSender>,
        settings: SwitchSettings,
    ) -> Self {
        let track = memory.threshold != Threshold::Shared;
        let ports = transmitters
            .into_iter()
            .map(|transmitter| {
                let queues = if track { transmitter.selection.queues() } else { 0 };
                SwitchPort {
                    transmitter,
                    release: None,
                    held: vec![0; queues],
                }
            })
            .collect();
        Self {
            node,
            ports,
            memory,
            pause,
            credits,
            charge: settings.charge,
            cut_through: settings.cut_through,
            forwarding_ps: settings.forwarding_ps,
            reaction_ps: settings.reaction_ps,
            forwarding: VecDeque::new(),
        }
    }

    /// Something came in by `port`.
    #[inline]
    pub(crate) fn arrive(&mut self, ctx: &mut Context, port: u16, handle: u32, part: Part, in_line: u32) {
        if handle == NIL {
            return;
        }
        if handle & CONTROL_BIT != 0 {
            if part == Part::Last {
                self.hear(ctx, port, handle & !CONTROL_BIT);
            }
            return;
        }
        let Some(frame) = ctx.frames.get_mut(handle) else {
            return;
        };
        let len = frame.len;
        match part {
            Part::Last => {
                // Charged already where its first part was told of.
                if frame.charged == 0 {
                    frame.ingress = port;
                    let cells = self.memory.cells_of(len);
                    if !self.charge(ctx, handle, cells, port) {
                        return;
                    }
                }
                if self.forwarding_ps == 0 {
                    self.forward(ctx, handle);
                } else {
                    let at = ctx.now + self.forwarding_ps;
                    if self.forwarding.is_empty() {
                        ctx.push(
                            at,
                            Phase::Arrival,
                            self.node,
                            Event::Forward { switch: self.node },
                        );
                    }
                    self.forwarding.push_back((at, handle));
                }
            }
            Part::First => {
                frame.ingress = port;
                frame.charged = 0;
                let cells = match self.charge {
                    Charge::FirstBit => self.memory.cells_of(len),
                    Charge::PerCell => self.memory.cells_of(len.min(self.memory.cell_bytes())),
                    Charge::LastBit => 0,
                };
                let cut = self.cut_through && self.can_cut(ctx, handle, in_line);
                let whole = if cut { self.memory.cells_of(len) } else { cells };
                if whole > 0 && !self.charge(ctx, handle, whole, port) {
                    ctx.lines[in_line as usize].forget_head();
                } else if cut {
                    ctx.lines[in_line as usize].forget_head();
                    self.forward(ctx, handle);
                }
            }
            Part::Cell => {
                let cell = self.memory.cell_bytes();
                if !self.charge(ctx, handle, cell, port) {
                    ctx.lines[in_line as usize].forget_head();
                }
            }
        }
    }

    /// True where a frame whose header just came in can go straight out.
    fn can_cut(&self, ctx: &Context, handle: u32, in_line: u32) -> bool {
        let Some(hop) = ctx.frames.get(handle).and_then(|f| ctx.hops.get(f.hop as usize)) else {
            return false;
        };
        hop.siblings == 1
            && ctx.lines[in_line as usize].rate_bps >= ctx.lines[hop.line as usize].rate_bps
            && self.ports[usize::from(hop.port)].transmitter.is_idle(ctx.now)
    }

    /// Forwarding delay over.
    pub(crate) fn forward_due(&mut self, ctx: &mut Context) {
        while let Some(&(at, handle)) = self.forwarding.front() {
            if at > ctx.now {
                ctx.push(
                    at,
                    Phase::Arrival,
                    self.node,
                    Event::Forward { switch: self.node },
                );
                return;
            }
            self.forwarding.pop_front();
            self.forward(ctx, handle);
        }
    }

    /// Takes memory for a frame, or loses the frame and what was taken for it.
    #[inline]
    fn charge(&mut self, ctx: &mut Context, handle: u32, bytes: u32, port: u16) -> bool {
        let Some(frame) = ctx.frames.get_mut(handle) else {
            return false;
        };
        let account = match (&self.pause, &self.credits) {
            (None, None) => 0,
            (Some(pause), _) if pause.by == AccountBy::Nothing => 0,
            (Some(pause), _) if pause.by == AccountBy::Priority => frame.pcp & 7,
            _ => ctx.hops.get(frame.hop as usize).map_or(0, |h| h.port as u8),
        };
        frame.account = u16::from(account);
        if self.memory.fits(bytes) {
            frame.charged += bytes;
            frame.queued = ctx.now;
        } else {
            self.settle(ctx);
            if !self.memory.fits(bytes) {
                self.discard(ctx, handle, Cause::MemoryFull);
                return false;
            }
            if let Some(frame) = ctx.frames.get_mut(handle) {
                frame.charged += bytes;
                frame.queued = ctx.now;
            }
        }
        self.memory.charge(ctx.now, bytes);
        if self.memory.used > self.memory.peak && ctx.now >= ctx.warmup {
            self.settle(ctx);
            self.memory.peak = self.memory.peak.max(self.memory.used);
        }
        if let Some(pause) = &mut self.pause
            && pause.charge(port, account, bytes)
        {
            self.settle(ctx);
            if self.pause.as_ref().is_some_and(|p| p.above(port, account)) {
                self.tell(ctx, port, account, true);
            }
        }
        true
    }

    /// Gives back a frame's memory and counts it as lost.
    fn discard(&mut self, ctx: &mut Context, handle: u32, cause: Cause) {
        let Some(frame) = ctx.frames.get(handle) else {
            return;
        };
        let (charged, ingress, chain, len) = (frame.charged, frame.ingress, frame.chain, frame.len);
        let account = frame.account as u8;
        let release = Release {
            at: ctx.now,
            bytes: charged,
            len,
            ingress,
            account,
            shared: chain,
            queue: NIL,
        };
        ctx.lose(handle, cause, self.node);
        self.free(ctx, 0, &release);
    }

    /// Gives back the memory of a frame of which only a part will ever come in.
    pub(crate) fn give_back_part(&mut self, ctx: &mut Context, handle: u32) {
        let Some(frame) = ctx.frames.get_mut(handle).filter(|f| f.charged > 0) else {
            return;
        };
        let release = Release {
            at: ctx.now,
            bytes: std::mem::take(&mut frame.charged),
            len: frame.len,
            ingress: frame.ingress,
            account: frame.account as u8,
            shared: NIL,
            queue: NIL,
        };
        self.free(ctx, 0, &release);
    }

    /// Puts a frame into the queues of its outputs.
    #[inline]
    fn forward(&mut self, ctx: &mut Context, handle: u32) {
        let Some(frame) = ctx.frames.get_mut(handle) else {
            return;
        };
        let hop = frame.hop;
        let siblings = ctx.hops.get(hop as usize).map_or(0, |h| h.siblings);
        if siblings == 1 {
            frame.chain = NIL;
            self.enqueue(ctx, handle);
            return;
        }
        let original = *frame;
        self.branch(ctx, handle, original, siblings);
    }

    /// Puts a copy of a multicast frame into the queue of each of its outputs.
    #[cold]
    fn branch(&mut self, ctx: &mut Context, handle: u32, original: Frame, siblings: u16) {
        let hop = original.hop;
        let Ok(shared) = ctx.shared.insert(Shared {
            copies: u32::from(siblings),
        }) else {
            return;
        };
        for sibling in 0..u32::from(siblings) {
            let copy = Frame {
                hop: hop + sibling,
                chain: shared,
                ..original
            };
            let copy_handle = if sibling == 0 {
                if let Some(frame) = ctx.frames.get_mut(handle) {
                    *frame = copy;
                }
                handle
            } else {
                match ctx.frames.insert(copy) {
                    Ok(handle) => handle,
                    Err(_) => return,
                }
            };
            self.enqueue(ctx, copy_handle);
        }
    }

    /// Puts one copy into the queue of its output.
    #[inline]
    fn enqueue(&mut self, ctx: &mut Context, handle: u32) {
        let Some(frame) = ctx.frames.get(handle) else {
            return;
        };
        let (hop, len, charged, pcp, ecn) = (frame.hop, frame.len, frame.charged, frame.pcp, frame.ecn);
        let Some(&out) = ctx.hops.get(hop as usize) else {
            return;
        };
        if self.memory.threshold != Threshold::Shared {
            self.settle(ctx);
            let port = &mut self.ports[usize::from(out.port)];
            let slot = port.transmitter.selection.queue_of(ctx, handle, hop);
            let held = port.held.get(slot).copied().unwrap_or(0);
            if !self.memory.within_threshold(held, charged) {
                self.discard(ctx, handle, Cause::Threshold);
                return;
            }
            if let Some(held) = self.ports[usize::from(out.port)].held.get_mut(slot) {
                *held += u64::from(charged);
            }
        }
        let transmitter = &mut self.ports[usize::from(out.port)].transmitter;
        let gate = transmitter.gate_of(ctx, pcp, out.next);
        match transmitter.offer(ctx, handle, len, hop, gate, ecn) {
            Ok(None | Some(Started::Nothing)) => {}
            Ok(Some(started)) => self.go_on(ctx, out.port, started),
            Err(reason) => {
                if self.memory.threshold != Threshold::Shared {
                    let port = &mut self.ports[usize::from(out.port)];
                    let slot = port.transmitter.selection.queue_of(ctx, handle, hop);
                    if let Some(held) = port.held.get_mut(slot) {
                        *held = held.saturating_sub(u64::from(charged));
                    }
                }
                self.discard(ctx, handle, Cause::Refused(reason));
            }
        }
    }

    /// A transmitter's wake-up came.
    #[inline]
    pub(crate) fn free_due(&mut self, ctx: &mut Context, port: u16) {
        if self.ports[usize::from(port)].transmitter.wakes(ctx.now) {
            self.pump(ctx, port);
        }
    }

    /// Carries out a scripted action on a port.
    pub(crate) fn act(&mut self, ctx: &mut Context, port: u16, action: &Action) -> Result<(), String> {
        let transmitter = &mut self.ports[usize::from(port)].transmitter;
        transmitter.act(ctx, action)?;
        if transmitter.looks_now(ctx) {
            self.pump(ctx, port);
        }
        Ok(())
    }

    /// Lets a transmitter look.
    fn pump(&mut self, ctx: &mut Context, port: u16) {
        let started = self.ports[usize::from(port)].transmitter.start(ctx);
        self.go_on(ctx, port, started);
    }

    /// Settles what a transmitter started, and lets it look again after a drop.
    #[inline]
    fn go_on(&mut self, ctx: &mut Context, port: u16, started: Started) {
        let mut started = started;
        loop {
            match started {
                Started::Nothing => return,
                Started::Frame => {
                    self.departed(ctx, port);
                    return;
                }
                Started::Dropped { handle, queue } => {
                    let charged = ctx.frames.get(handle).map_or(0, |f| u64::from(f.charged));
                    if let Some(held) = self.ports[usize::from(port)].held.get_mut(queue as usize) {
                        *held = held.saturating_sub(charged);
                    }
                    self.discard(ctx, handle, Cause::Aged);
                }
            }
            started = self.ports[usize::from(port)].transmitter.start(ctx);
        }
    }

    /// Writes down when the memory of a frame that went on the wire is freed.
    #[inline]
    fn departed(&mut self, ctx: &mut Context, port: u16) {
        let place = usize::from(port);
        if let Some(earlier) = self.ports[place].release.take() {
            self.free(ctx, port, &earlier);
        }
        let out = &mut self.ports[place];
        let departure = &out.transmitter.departure;
        out.release = Some(Release {
            at: departure.last_bit_out,
            bytes: departure.charged,
            len: departure.len,
            ingress: departure.ingress,
            account: departure.account as u8,
            shared: departure.chain,
            queue: departure.queue,
        });
        if self.credits.is_some() || self.pause.as_ref().is_some_and(|p| p.off_count > 0) {
            self.schedule_release(ctx, port);
        }
    }

    fn schedule_release(&self, ctx: &mut Context, port: u16) {
        let port = &self.ports[usize::from(port)];
        if let Some(release) = &port.release {
            let line = port.transmitter.line;
            ctx.push(release.at, Phase::Control, self.node, Event::Release { line });
        }
    }

    /// A last bit is out.
    pub(crate) fn release_due(&mut self, ctx: &mut Context, port: u16) {
        let release = &mut self.ports[usize::from(port)].release;
        if let Some(due) = release.take_if(|r| r.at <= ctx.now) {
            self.free(ctx, port, &due);
        }
    }

    /// Carries out every freeing that is due.
    pub(crate) fn settle(&mut self, ctx: &mut Context) {
        for port in 0..self.ports.len() {
            self.release_due(ctx, port as u16);
        }
    }

    /// Frees memory, and says so to whom it concerns.
    #[inline]
    fn free(&mut self, ctx: &mut Context, port: u16, release: &Release) {
        if let Some(held) = self.ports[usize::from(port)].held.get_mut(release.queue as usize) {
            *held = held.saturating_sub(u64::from(release.bytes));
        }
        if release.shared != NIL {
            if let Some(shared) = ctx.shared.get_mut(release.shared) {
                shared.copies -= 1;
                if shared.copies > 0 {
                    return;
                }
            }
            let _ = ctx.shared.remove(release.shared);
        }
        self.memory.free(release.at, release.bytes);
        if let Some(pause) = &mut self.pause
            && release.bytes > 0
            && pause.free(release.ingress, release.account, release.bytes)
        {
            self.tell(ctx, release.ingress, release.account, false);
        }
        if let Some(credits) = &mut self.credits
            && credits.free(release.ingress, release.account, release.len)
        {
            self.return_credit(ctx, release.ingress);
        }
    }

    /// Returns everything that is owed to the neighbour at a port.
    fn return_credit(&mut self, ctx: &mut Context, port: u16) {
        let Some(credits) = &mut self.credits else { return };
        let transmitter = &mut self.ports[usize::from(port)].transmitter;
        let mut from = 0;
        while let Some((output, bytes)) = credits.take_owed(port, from) {
            from = usize::from(output) + 1;
            let credit = Control::Credit {
                output,
                bytes,
                joined: false,
            };
            ctx.collector.mark(ctx.now, transmitter.line, credit);
            if let Ok(handle) = ctx.controls.insert(credit) {
                transmitter.send_control(handle);
            }
        }
        self.pump(ctx, port);
    }

    /// Sends XOFF or XON to every port that it concerns.
    fn tell(&mut self, ctx: &mut Context, port: u16, account: u8, off: bool) {
        let Some(pause) = &mut self.pause else { return };
        let mut ports = Vec::new();
        let before = pause.off_count;
        pause.switch(port, account, off, |message| ports.push(message.port));
        let gates = pause.gates(account);
        let quanta = if off { pause.quanta() } else { 0 };
        for port in ports {
            self.send_control(ctx, port, Control::Pause { gates, quanta });
            if off {
                self.plan_refresh(ctx, port, account);
            }
        }
        if off && before == 0 {
            // From now on somebody waits for the memory to empty: every freeing counts at its own instant.
            for port in 0..self.ports.len() {
                self.schedule_release(ctx, port as u16);
            }
        }
    }

    fn plan_refresh(&mut self, ctx: &mut Context, port: u16, account: u8) {
        let Some(pause) = &mut self.pause else { return };
        let line = self.ports[usize::from(port)].transmitter.line;
        // The neighbour counts quanta at the rate of the line on which it is to be silent.
        let pause_ps = ctx.lines[(line ^ 1) as usize].quanta_ps(pause.quanta());
        let frame_ps = ctx.lines[line as usize].time_ps(CONTROL_LEN + WIRE_OVERHEAD);
        if let Some(at) = pause.refresh_at(port, account, ctx.now, pause_ps, 2 * frame_ps) {
            ctx.push(at, Phase::Control, self.node, Event::Refresh { line });
        }
    }

    /// Sends XOFF again where it would run out.
    pub(crate) fn refresh_due(&mut self, ctx: &mut Context, port: u16) {
        let Some(pause) = &self.pause else { return };
        let quanta = pause.quanta();
        let accounts: Vec<u8> = pause.refresh_due(port, ctx.now).collect();
        for account in accounts {
            let gates = self.pause.as_ref().map_or(0, |p| p.gates(account));
            self.send_control(ctx, port, Control::Pause { gates, quanta });
            self.plan_refresh(ctx, port, account);
        }
    }

    fn send_control(&mut self, ctx: &mut Context, port: u16, control: Control) {
        let transmitter = &mut self.ports[usize::from(port)].transmitter;
        ctx.collector.mark(ctx.now, transmitter.line, control);
        let Ok(handle) = ctx.controls.insert(control) else {
            return;
        };
        transmitter.send_control(handle);
        self.pump(ctx, port);
    }

    /// A control frame came in: it concerns this port's own transmitter.
    fn hear(&mut self, ctx: &mut Context, port: u16, control: u32) {
        let Some(control) = ctx.controls.remove(control) else {
            return;
        };
        let transmitter = &mut self.ports[usize::from(port)].transmitter;
        if transmitter.hear(ctx, control, self.reaction_ps) && transmitter.looks_now(ctx) {
            self.pump(ctx, port);
        }
    }

    /// A reaction time is over.
    pub(crate) fn pause_due(&mut self, ctx: &mut Context, port: u16) {
        let transmitter = &mut self.ports[usize::from(port)].transmitter;
        transmitter.pause_due(ctx);
        if transmitter.looks_now(ctx) {
            self.pump(ctx, port);
        }
    }

    /// How early the switch wants to hear of a frame.
    pub(crate) const fn notice(&self, header_ps: u64) -> line::Notice {
        match self.charge {
            Charge::PerCell => line::Notice::Cells {
                cell_bytes: self.memory.cell_bytes(),
            },
            Charge::FirstBit if !self.cut_through => line::Notice::FirstBit { after_ps: 0 },
            _ if self.cut_through => line::Notice::FirstBit {
                after_ps: header_ps + self.forwarding_ps,
            },
            _ => line::Notice::LastBit,
        }
    }
}
