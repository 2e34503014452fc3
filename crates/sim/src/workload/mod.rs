//! Open-loop sources: what a host sends and when, whatever the network does with it.
//!
//! A [`Source`] is a pure generator with a random stream of its own. It gives emissions in order of time and never
//! looks at a queue. Rates are exact over the long run: instants advance by whole picoseconds with the remainder
//! carried. Bytes of a frame are L2 with FCS; on the wire each takes 20 more (IEEE 802.3: preamble and start
//! delimiter 8, gap 12), and frames below 64 B are padded to 64. Left out: what waits for answers (request and
//! response, TCP), which hosts drive themselves.

mod bursty;
mod constant_rate;
mod destination;
pub mod law;
mod on_off;
mod pace;
mod spaced;

use crate::engine::Stream;
use bursty::Bursty;
use clearway_core::Instant;
use clearway_policy::scenario::{Workload, WorkloadKind};
use constant_rate::ConstantRate;
use destination::Chooser;
use on_off::OnOff;
use pace::Pace;
use spaced::{Replay, Spaced};
use std::fmt;

/// Preamble, start delimiter and gap: what a frame takes on the wire beyond its L2 bytes (IEEE 802.3).
pub const WIRE_OVERHEAD_BYTES: u32 = 20;
/// The shortest frame, L2 with FCS (IEEE 802.3).
pub const FRAME_BYTES_MIN: u32 = 64;
/// The longest frame that a source makes, L2 with FCS.
pub const FRAME_BYTES_MAX: u32 = 65_535;

/// One frame to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emission {
    /// When the application hands it over.
    pub at: Instant,
    /// L2 bytes with FCS.
    pub bytes: u32,
    /// Where it goes.
    pub destination: Destination,
    /// Which of the source's flows it belongs to, below [`Source::flows`]: the number of the flow where the
    /// workload has several, the place of the frame in a replayed capture, else one flow for each destination.
    pub flow: u32,
    /// Priority code point, where the frame has one.
    pub pcp: Option<u8>,
    /// When it was meant to be sent: latency of open-loop workloads counts from here.
    pub intended: Instant,
}

/// Where one frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Destination {
    /// The host with this index.
    Host(u32),
    /// Every host of the workload's multicast list.
    Multicast,
}

/// What a source knows of its host.
#[derive(Clone, Copy, Debug)]
pub struct SenderContext<'a> {
    /// Index of the sending host.
    pub host: usize,
    /// The hosts that take part in the workload: its senders.
    pub participants: &'a [usize],
    /// Line rate of the host's link, bit/s, nominal.
    pub line_rate_bps: u64,
    /// Offset of the host's clock in parts per million: positive runs fast.
    pub clock_ppm: i32,
    /// End of the run: nothing is emitted later.
    pub end: Instant,
}

/// Why a workload cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// Name of the workload.
    pub workload: String,
    /// The field at fault.
    pub field: &'static str,
    /// What is wrong and what helps.
    pub problem: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workload {}: {}: {}", self.workload, self.field, self.problem)
    }
}
impl std::error::Error for SourceError {}

/// A field and what is wrong with it.
type Problem = (&'static str, String);

/// A generator of emissions in order of time.
#[derive(Clone, Debug)]
pub struct Source {
    kind: Kind,
    chooser: Chooser,
    pcp: Pcp,
    start: u64,
    stop: u64,
    flows: u32,
    stream: Stream,
}

#[derive(Clone, Debug)]
enum Kind {
    Bursty(Bursty),
    Spaced(Spaced),
    ConstantRate(ConstantRate),
    OnOff(OnOff),
    Replay(Replay),
}

#[derive(Clone, Copy, Debug)]
enum Pcp {
    Fixed(Option<u8>),
    Uniform,
}

/// What a kind of source says of its next frame; the source adds the rest.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Since the workload's start, ps.
    at: u64,
    bytes: u32,
    /// Destination and flow, where the kind has chosen them.
    to: Option<(Destination, u32)>,
}

impl Source {
    /// A source of `workload` at the sender that `context` describes.
    ///
    /// # Errors
    /// Names the field that makes the workload impossible; workloads that wait for answers are no sources.
    pub fn new(
        workload: &Workload,
        context: &SenderContext<'_>,
        stream: Stream,
    ) -> Result<Self, SourceError> {
        Self::build(workload, context, stream).map_err(|(field, problem)| SourceError {
            workload: workload.name.clone(),
            field,
            problem,
        })
    }

    fn build(workload: &Workload, context: &SenderContext<'_>, mut stream: Stream) -> Result<Self, Problem> {
        let chooser = Chooser::new(&workload.to, context)?;
        let line = Pace::bytes("rate", context.line_rate_bps as f64, context.clock_ppm)?;
        let ppm = context.clock_ppm;
        let mut flows = chooser.flows();
        let kind = match &workload.kind {
            WorkloadKind::Bursty {
                burst_bytes,
                frame_bytes,
                load,
                ..
            } => Kind::Bursty(Bursty::new(burst_bytes, frame_bytes, *load, line, &mut stream)?),
            WorkloadKind::Poisson {
                frame_bytes,
                rate_fps,
            } => Kind::Spaced(Spaced::poisson(frame_bytes, *rate_fps, ppm)?),
            WorkloadKind::OpenLoop {
                request_bytes,
                rate_fps,
                poisson,
                ..
            } => Kind::Spaced(Spaced::open_loop(
                *request_bytes,
                *rate_fps,
                *poisson,
                ppm,
                &mut stream,
            )?),
            WorkloadKind::ConstantRate {
                frame_bytes,
                rate_bps,
                flows: count,
                burst,
            } => {
                flows = *count;
                let pace = Pace::bytes("rate_bps", *rate_bps, ppm)?;
                Kind::ConstantRate(ConstantRate::new(
                    frame_bytes,
                    pace,
                    (*count, *burst),
                    &chooser,
                    &mut stream,
                )?)
            }
            WorkloadKind::OnOff {
                frame_bytes,
                rate_bps,
                on,
                off,
            } => {
                let pace = Pace::bytes("rate_bps", *rate_bps, ppm)?;
                Kind::OnOff(OnOff::new(frame_bytes, pace, on, off, &mut stream)?)
            }
            WorkloadKind::Replay { frames } => {
                flows = u32::try_from(frames.len())
                    .map_err(|_| ("frames", "more than 2^32 frames: cut the capture".to_owned()))?;
                Kind::Replay(Replay::new(frames))
            }
            WorkloadKind::RequestResponse { .. }
            | WorkloadKind::TcpBulk { .. }
            | WorkloadKind::Messages { .. }
            | WorkloadKind::Storage { .. }
            | WorkloadKind::EventBuilder { .. } => {
                return Err((
                    "kind",
                    "is driven by answers, not by time: the host runs it itself".to_owned(),
                ));
            }
        };
        let pcp = if workload.marks.pcp_uniform {
            Pcp::Uniform
        } else {
            Pcp::Fixed(workload.marks.pcp)
        };
        let end = context.end.as_ps();
        Ok(Self {
            kind,
            chooser,
            pcp,
            start: workload.start.as_ps(),
            stop: workload.stop.map_or(end, |stop| stop.as_ps().min(end)),
            flows,
            stream,
        })
    }

    /// How many flows the source's emissions belong to.
    #[must_use]
    pub const fn flows(&self) -> u32 {
        self.flows
    }

    /// True where the next emission begins a burst: a blocking source may stop here.
    #[must_use]
    pub const fn between_bursts(&self) -> bool {
        match &self.kind {
            Kind::Bursty(bursty) => bursty.between_bursts(),
            _ => true,
        }
    }

    /// A blocked bursty source goes on: its schedule continues at `at` instead of where it stood, if that is
    /// later. Other sources keep their times whatever happens.
    pub const fn resume(&mut self, at: Instant) {
        if let Kind::Bursty(bursty) = &mut self.kind {
            bursty.resume(at.as_ps().saturating_sub(self.start));
        }
    }
}

impl Source {
    /// True where the next emission is the last one over again; it then counts as drawn.
    #[inline]
    pub(crate) const fn repeat(&mut self) -> bool {
        match (&mut self.kind, self.pcp) {
            (Kind::ConstantRate(kind), Pcp::Fixed(_)) => kind.repeat(),
            _ => false,
        }
    }

    /// After `repeat` said so: how many emissions in a row are that one, counted as drawn or not.
    #[inline]
    pub(crate) const fn repeats(&self) -> u32 {
        match &self.kind {
            Kind::ConstantRate(kind) => kind.repeats(),
            _ => 0,
        }
    }

    /// Counts all of `repeats` as drawn.
    #[inline]
    pub(crate) const fn skip_repeats(&mut self) {
        if let Kind::ConstantRate(kind) = &mut self.kind {
            kind.skip_repeats();
        }
    }

    /// Puts the next emission into `into`; none where there is no more. Its parts are written one by one where they
    /// are to be: a copy of the whole right behind them would wait for each.
    #[inline]
    pub(crate) fn draw(&mut self, into: &mut Option<Emission>) {
        let next = match &mut self.kind {
            Kind::Spaced(kind) => kind.next(&mut self.stream),
            Kind::Bursty(kind) => kind.next(&self.chooser, &mut self.stream),
            Kind::ConstantRate(kind) => kind.next(&mut self.stream),
            Kind::OnOff(kind) => match kind.next(self.stop.saturating_sub(self.start), &mut self.stream) {
                Some(next) => next,
                None => {
                    *into = None;
                    return;
                }
            },
            Kind::Replay(kind) => match kind.next(&self.chooser, &mut self.stream) {
                Some(next) => next,
                None => {
                    *into = None;
                    return;
                }
            },
        };
        let at = self.start.saturating_add(next.at);
        // An instant beyond the last one stands still there: it is never reached.
        if at > self.stop || at == u64::MAX {
            *into = None;
            return;
        }
        let (destination, flow) = match next.to {
            Some(to) => to,
            None => self.chooser.choose(&mut self.stream),
        };
        let pcp = match self.pcp {
            Pcp::Fixed(pcp) => pcp,
            Pcp::Uniform => Some((self.stream.next_u64() >> 61) as u8),
        };
        let at = Instant::from_ps(at);
        *into = Some(Emission {
            at,
            bytes: next.bytes,
            destination,
            flow,
            pcp,
            intended: at,
        });
    }
}

impl Iterator for Source {
    type Item = Emission;

    fn next(&mut self) -> Option<Emission> {
        let mut next = None;
        self.draw(&mut next);
        next
    }
}

#[cfg(test)]
mod tests;
