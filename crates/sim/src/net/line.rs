//! One direction of a cable: rate, propagation, the frames in flight and what they counted.
//!
//! A frame takes `len + 20` byte times of its transmitter: 8 of preamble and start delimiter, the frame, 12 of gap
//! (IEEE 802.3 clause 4.4.2). Its last bit is on the wire after `8 + len` byte times and in after the propagation
//! delay. Byte times are kept in picoseconds with 20 fractional bits and each span is rounded to the nearest picosecond;
//! every standard Ethernet rate is a whole number of picoseconds a byte, so that nothing is rounded there.
//!
//! Frames of a line arrive in the order in which they were sent: only the head has an event.
//!
//! A line that is down takes frames like any other, and loses them: what was on it when it went down, and what its
//! transmitter sends into it afterwards.

use super::context::Context;
use super::event::Event;
use super::frame::{CONTROL_BIT, CONTROL_LEN, Frame, NIL, PREAMBLE, WIRE_OVERHEAD};
use crate::engine::Phase;
use crate::results::CaptureRecord;
use clearway_core::{Ecn, Instant};
use std::collections::VecDeque;

const FRACTION: u32 = 20;

/// What the far end wants to know of a frame before its last bit is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// Nothing.
    LastBit,
    /// When its first bit is in (of the frame, behind the preamble), plus a span.
    FirstBit {
        /// Picoseconds after the first bit.
        after_ps: u64,
    },
    /// When the first bit of each cell is in.
    Cells {
        /// Bytes of a cell.
        cell_bytes: u32,
    },
}

/// Which part of a frame came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The first bit (or the first cell's).
    First,
    /// The first bit of a later cell.
    Cell,
    /// All of it.
    Last,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Next notice.
    at: u64,
    /// First bit of the frame at the far end.
    first: u64,
    /// Last bit at the far end.
    last: u64,
    frame: u32,
    /// Cells told of, counting the one at `at`.
    cells: u32,
}

/// What went through a line since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineCounters {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) payload: u64,
    /// Byte-picoseconds that its frames waited at its transmitter, for the mean.
    pub(crate) backlog_area: u128,
    pub(crate) control_frames: u64,
}

impl LineCounters {
    /// Counts a frame that goes on the wire after waiting for this long.
    #[inline]
    pub(crate) fn count(&mut self, len: u32, overhead: u16, waited_ps: u64) {
        self.frames += 1;
        self.bytes += u64::from(len);
        self.payload += u64::from(len.saturating_sub(u32::from(overhead)));
        self.backlog_area += u128::from(len) * u128::from(waited_ps);
    }
}

/// One direction of a cable. What every frame touches is the first two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Line {
    /// Length of the frame sent last: what it takes is in the next fields.
    taken_len: u32,
    /// Captured or down: what is sent is looked at.
    pub(crate) watched: bool,
    /// The host at the far end answers nothing.
    pub(crate) only_sinks: bool,
    /// Picoseconds that it takes of its transmitter, gap included.
    taken_ps: u64,
    /// Picoseconds until its last bit is out.
    taken_out_ps: u64,
    delay_ps: u64,
    /// Where the far end is a host that hands every frame up at once: its stack delay.
    pub(crate) direct: Option<u64>,
    /// Node at this end and its port.
    pub(crate) from: (u32, u16),
    /// Node at the far end and its port.
    pub(crate) to: (u32, u16),
    in_flight: VecDeque<InFlight>,
    pub(crate) counters: LineCounters,
    pub(crate) notice: Notice,
    /// Picoseconds a byte, with [`FRACTION`] fractional bits.
    byte_ps: u64,
    pub(crate) rate_bps: u64,
    pub(crate) capture: bool,
    down: bool,
    /// Receivers that lost a frame because the line was down.
    pub(crate) lost: u64,
}

impl Line {
    /// A line of `rate_bps` scaled by `clock_ppm`.
    pub(crate) fn new(
        from: (u32, u16),
        to: (u32, u16),
        rate_bps: u64,
        clock_ppm: i32,
        delay_ps: u64,
    ) -> Self {
        let million = 1_000_000_i128;
        let scaled = (i128::from(rate_bps) * (million + i128::from(clock_ppm))).max(1) as u128;
        let byte_ps = (((8_000_000_000_000_u128 * 1_000_000) << FRACTION) + scaled / 2) / scaled;
        Self {
            byte_ps: u64::try_from(byte_ps).unwrap_or(u64::MAX),
            rate_bps,
            delay_ps,
            from,
            to,
            direct: None,
            notice: Notice::LastBit,
            watched: false,
            only_sinks: true,
            capture: false,
            down: false,
            lost: 0,
            in_flight: VecDeque::new(),
            taken_len: NIL,
            taken_ps: 0,
            taken_out_ps: 0,
            counters: LineCounters::default(),
        }
    }

    /// Picoseconds that `bytes` take, rounded to the nearest.
    #[inline]
    pub(crate) fn time_ps(&self, bytes: u32) -> u64 {
        ((u128::from(bytes) * u128::from(self.byte_ps) + (1 << (FRACTION - 1))) >> FRACTION) as u64
    }

    /// What a frame takes of its transmitter, gap included, and until its last bit is out, picoseconds. Most workloads
    /// have few lengths: the last one's answer is kept.
    #[inline]
    pub(crate) fn frame_ps(&mut self, len: u32) -> (u64, u64) {
        if self.taken_len != len {
            self.taken_len = len;
            self.taken_ps = self.time_ps(len + WIRE_OVERHEAD);
            self.taken_out_ps = self.time_ps(PREAMBLE + len);
        }
        (self.taken_ps, self.taken_out_ps)
    }

    /// Picoseconds that a bit is on its way.
    #[inline]
    pub(crate) const fn delay_ps(&self) -> u64 {
        self.delay_ps
    }

    /// Picoseconds of `quanta` pause quanta of 512 bit times at the line's rate.
    pub(crate) fn quanta_ps(&self, quanta: u16) -> u64 {
        self.time_ps(u32::from(quanta) * 64)
    }

    /// Puts a frame on the wire whose last bit is at the far end at `last`.
    #[inline]
    fn launch(&mut self, start: u64, frame: u32, last: u64) -> Option<u64> {
        let (at, first) = match self.notice {
            Notice::LastBit => (last, last),
            Notice::FirstBit { after_ps } => {
                let first = start + self.time_ps(PREAMBLE) + self.delay_ps;
                ((first + after_ps).min(last), first)
            }
            Notice::Cells { .. } => {
                let first = start + self.time_ps(PREAMBLE) + self.delay_ps;
                (first, first)
            }
        };
        let idle = self.in_flight.is_empty();
        self.in_flight.push_back(InFlight {
            at,
            first,
            last,
            frame,
            cells: 1,
        });
        idle.then_some(at)
    }

    /// Takes the notice at the head: its frame and what came in. The second answer is the instant of the next one.
    #[inline]
    fn take(&mut self) -> (u32, Part, Option<u64>) {
        let Some(head) = self.in_flight.front_mut() else {
            return (NIL, Part::Last, None);
        };
        let frame = head.frame;
        if head.at >= head.last {
            self.in_flight.pop_front();
            return (frame, Part::Last, self.in_flight.front().map(|f| f.at));
        }
        let (cell_bytes, byte_ps) = match self.notice {
            Notice::Cells { cell_bytes } => (cell_bytes, self.byte_ps),
            _ => (0, 0),
        };
        let part = if head.cells == 1 { Part::First } else { Part::Cell };
        let next = if cell_bytes == 0 {
            head.last
        } else {
            let offset = (u128::from(cell_bytes) * u128::from(head.cells) * u128::from(byte_ps)) >> FRACTION;
            head.first
                .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
                .min(head.last)
        };
        head.cells += 1;
        head.at = next;
        (frame, part, Some(next))
    }

    /// True while it loses what it is given.
    pub(crate) const fn is_down(&self) -> bool {
        self.down
    }

    /// Takes it down or brings it back. Returns what was on it and is lost, first sent first.
    pub(crate) fn set_down(&mut self, down: bool) -> Vec<u32> {
        self.down = down;
        self.watched = down || self.capture;
        if !down {
            return Vec::new();
        }
        // The places stay: the event of the head finds that nothing came in.
        let frames = self
            .in_flight
            .iter_mut()
            .map(|f| std::mem::replace(&mut f.frame, NIL));
        frames.filter(|&frame| frame != NIL).collect()
    }

    /// The frame whose first part just came in has gone on already: its last bit means nothing any more.
    pub(crate) fn forget_head(&mut self) {
        if let Some(head) = self.in_flight.front_mut() {
            head.frame = NIL;
        }
    }
}

/// Keeps what a capture says of a frame that goes on the wire of `line` now.
pub(crate) fn capture(ctx: &mut Context, line: u32, frame: &Frame, len: u32) {
    ctx.captured.push(CaptureRecord {
        line,
        at: ctx.instant(),
        bytes: len,
        key: ctx.key_of(frame),
        marked: frame.ecn == Ecn::Marked,
    });
}

/// Puts a control frame on the wire of `line` at `now`.
pub(crate) fn launch_control(ctx: &mut Context, line: u32, frame: u32) {
    let l = &mut ctx.lines[line as usize];
    if l.down {
        let _ = ctx.controls.remove(frame & !CONTROL_BIT);
        return;
    }
    let last = ctx.now + l.time_ps(PREAMBLE + CONTROL_LEN) + l.delay_ps;
    launch(ctx, line, frame, last);
}

/// Puts a frame on the wire of `line` at `now`, whose last bit is at the far end at `last`.
#[inline]
pub(crate) fn launch(ctx: &mut Context, line: u32, frame: u32, last: u64) {
    let now = ctx.now;
    let l = &mut ctx.lines[line as usize];
    if let Some(at) = l.launch(now, frame, last) {
        let to = l.to.0;
        ctx.push(at, Phase::Arrival, to, Event::Arrival { line });
    }
}

/// Takes what the line's arrival event announced.
#[inline]
pub(crate) fn take(ctx: &mut Context, line: u32) -> (u32, Part) {
    let l = &mut ctx.lines[line as usize];
    let (frame, part, next) = l.take();
    if let Some(at) = next {
        let to = l.to.0;
        ctx.events
            .push(Instant::from_ps(at), Phase::Arrival, to, Event::Arrival { line });
    }
    (frame, part)
}
