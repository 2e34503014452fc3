//! Event building: for each trigger every source sends a fragment to the one builder that the event is assigned to.
//!
//! Events go to the builders in turn. A trigger is known to all sources and builders at once (its distribution is no
//! part of the network); at most so many events are incomplete, and triggers beyond wait. Who may send when:
//!
//! * *none*: every source posts its fragment at once, so that all of them meet at one output of the switch;
//! * *barrel shifter*: in slot t source i sends to builder (i + t) mod P alone, P being the larger of their numbers, and
//!   only what leaves its own wire within the slot; a longer fragment goes on in a later round. The slots of all
//!   sources begin together;
//! * *pull* (global traffic control): a builder asks for fragments, the next source when one is complete, and never for
//!   more than so many at a time. Its requests are messages on the wire like any other.
//!
//! Shaping by token buckets at each node is none of these: the NIC's policy does it. Sources: the talk that names the
//! three (Yasu et al., "Quality of service on Gigabit Ethernet for event builder", DAQ2000), and for the barrel shifter
//! the event builders of RD31 at CERN that it cites.
//!
//! Where a datagram is lost its event is incomplete; the builder is taken to know at once, where a real one would wait
//! for a time limit. Left out: trigger and clock distribution, builders that are busy, and hosts that are source and
//! builder at once.

use super::Node;
use super::context::Context;
use super::event::Event;
use super::host::Host;
use super::messages::{Message, Notice, PipeSpec, Reader, Writer, open_pipe};
use super::refusal::Refusal;
use super::sources::receivers;
use crate::engine::{Phase, Stream};
use crate::results::Events;
use crate::workload::law::Sampler;
use clearway_policy::scenario::{Destination, EventControl, Scenario, WorkloadKind};
use std::collections::{BTreeMap, VecDeque};

/// Payload bytes of a builder's request: which event, and which source.
const REQUEST_BYTES: u64 = 16;
/// Preamble and gap of a frame, bytes.
const L1_BYTES: u64 = 20;

/// An event that is not settled yet.
#[derive(Debug)]
struct Record {
    /// When it was meant to be triggered.
    trigger: u64,
    bytes: u64,
    /// Bytes of each source's fragment that are still to come; none once it is complete or lost.
    parts: Vec<u64>,
    /// Fragments still to come.
    left: u32,
    broken: bool,
}

/// What a source or builder has still to do.
#[derive(Debug, Default)]
struct Sourcing {
    node: u32,
    /// Fragments of events below this were posted or queued.
    cursor: u64,
    /// Fragments for each builder, event and bytes (barrel shifter).
    queues: Vec<VecDeque<(u64, u64)>>,
    queued: usize,
    /// Its wire is taken until then by what it posted.
    free_at: u64,
    /// Time of a byte on its wire, picoseconds.
    byte_ps: u64,
    /// Slot boundary for which an event is pushed.
    wake: u64,
}

/// One builder.
#[derive(Debug, Default)]
struct Building {
    node: u32,
    /// Fragments it has not asked for yet: event and source.
    wants: VecDeque<(u64, usize)>,
    /// Fragments that it asked for and did not get.
    outstanding: u32,
}

/// One workload's sources, builders and events.
#[derive(Debug)]
pub(crate) struct EventBuilding {
    workload: u32,
    control: EventControl,
    sources: Vec<Sourcing>,
    builders: Vec<Building>,
    /// Places of nodes among the sources and the builders.
    source_of: BTreeMap<u32, usize>,
    builder_of: BTreeMap<u32, usize>,
    /// From source i to builder j, at i times the number of builders plus j; and back.
    data: Vec<u32>,
    requests: Vec<u32>,
    sizes: Sampler,
    draws: Vec<Stream>,
    start: u64,
    stop: u64,
    rate_eps: Option<f64>,
    in_flight_max: u32,
    in_flight: u32,
    /// Number of the oldest record; that of the next event is it plus the records.
    oldest: u64,
    records: VecDeque<Record>,
    /// Trigger for which an event is pushed.
    armed: u64,
    /// Payload bytes and frame bytes (L2) of a full frame.
    frame: (u64, u64),
    results: Events,
}

fn trigger_ps(number: u64, rate_eps: f64) -> u64 {
    let micro = (rate_eps * 1e6 + 0.5) as u128;
    u64::try_from(u128::from(number) * 1_000_000_000_000_000_000 / micro.max(1)).unwrap_or(u64::MAX)
}

/// Starts a workload's event building at all its sources and builders.
pub(crate) fn start_events(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let workload = &scenario.workloads[index];
    let WorkloadKind::EventBuilder {
        transport,
        fragment_bytes,
        rate_eps,
        events_in_flight,
        control,
    } = &workload.kind
    else {
        return Ok(());
    };
    let refuse = |field, problem: &str| {
        Err(Refusal::new(
            format!("workload {}", workload.name),
            field,
            problem,
        ))
    };
    if matches!(workload.to, Destination::Multicast(_)) {
        return refuse(
            "to",
            "is a group: a fragment goes to one builder; list the builders",
        );
    }
    let builders = match &workload.to {
        Destination::Uniform(hosts) => hosts.clone(),
        _ => receivers(workload, usize::MAX),
    };
    if builders.iter().any(|b| workload.from.contains(b)) {
        return refuse("to", "holds a source: builders and sources are different hosts");
    }
    if *events_in_flight == 0 || rate_eps.is_some_and(|r| !(r > 0.0 && r.is_finite())) {
        return refuse(
            "events_in_flight",
            "is zero, or the rate is: no event would begin",
        );
    }
    if matches!(
        control,
        EventControl::Pull {
            fragments_outstanding: 0
        }
    ) {
        return refuse("pull", "asks for no fragments: give at least 1");
    }
    let sizes = Sampler::new(fragment_bytes)
        .map_err(|problem| Refusal::new(format!("workload {}", workload.name), "fragment", problem))?;
    let frame = (
        u64::from(transport.frame_payload_bytes().max(1)),
        u64::from(transport.frame_bytes_max()),
    );
    let mut sources = Vec::new();
    for &host in &workload.from {
        let Some(Node::Host(h)) = nodes.get(host) else {
            continue;
        };
        let byte_ps = ctx.lines[h.transmitter.line as usize].time_ps(1).max(1);
        if let EventControl::BarrelShifter { slot } = control
            && slot.as_ps() < (frame.1 + L1_BYTES) * byte_ps
        {
            return refuse(
                "barrel_shifter",
                "has a slot shorter than one full frame: lengthen it",
            );
        }
        sources.push(Sourcing {
            node: host as u32,
            queues: vec![VecDeque::new(); builders.len()],
            byte_ps,
            wake: u64::MAX,
            ..Sourcing::default()
        });
    }
    let (mut data, mut requests) = (Vec::new(), Vec::new());
    let start = workload.start.as_ps();
    for &from in &workload.from {
        for &to in &builders {
            let spec = PipeSpec {
                workload: index as u32,
                from: from as u32,
                to: &[to as u32],
                transport,
                reader: Reader::EventBuilder,
                writer: Writer::EventBuilder,
                notice: Notice::Nothing,
                start,
            };
            data.push(open_pipe(nodes, ctx, &spec)?);
            if matches!(control, EventControl::Pull { .. }) {
                let back = PipeSpec {
                    from: to as u32,
                    to: &[from as u32],
                    ..spec
                };
                requests.push(open_pipe(nodes, ctx, &back)?);
            }
        }
    }
    let building = EventBuilding {
        workload: index as u32,
        control: *control,
        source_of: sources.iter().enumerate().map(|(i, s)| (s.node, i)).collect(),
        builder_of: builders.iter().enumerate().map(|(j, &b)| (b as u32, j)).collect(),
        builders: builders
            .iter()
            .map(|&b| Building {
                node: b as u32,
                ..Building::default()
            })
            .collect(),
        draws: sources
            .iter()
            .map(|s| Stream::new(seed, u64::from(s.node), &format!("fragments {index}")))
            .collect(),
        sources,
        data,
        requests,
        sizes,
        start,
        stop: workload.stop.map_or(u64::MAX, |s| s.as_ps()),
        rate_eps: *rate_eps,
        in_flight_max: *events_in_flight,
        in_flight: 0,
        oldest: 0,
        records: VecDeque::new(),
        armed: u64::MAX,
        frame,
        results: Events::default(),
    };
    let first = building.sources.first().map_or(0, |s| s.node);
    ctx.builders.insert(index as u32, Box::new(building));
    ctx.build_at(start, first, index as u32);
    Ok(())
}

impl Context {
    fn build_at(&mut self, at: u64, host: u32, workload: u32) {
        let workload = workload as u16;
        self.push(at, Phase::Control, host, Event::Build { host, workload });
    }

    /// A message of an event builder is lost: its fragment, or the fragment that it asked for.
    pub(crate) fn fragment_lost(&mut self, pipe: u32, message: &Message) {
        let Some((workload, from, to)) = self.pipes.get(pipe as usize).map(|p| (p.workload, p.from, p.to))
        else {
            return;
        };
        let Some(mut building) = self.builders.remove(&workload) else {
            return;
        };
        let source = building
            .source_of
            .get(&from)
            .or_else(|| building.source_of.get(&to))
            .copied();
        if let Some(source) = source {
            building.settle(self, message.tag, source, None);
        }
        self.builders.insert(workload, building);
    }
}

impl EventBuilding {
    /// What it counted; events that are still incomplete at the end are `open`.
    pub(crate) fn results(&self) -> Events {
        Events {
            open: self.records.iter().filter(|r| r.left > 0).count() as u64,
            ..self.results.clone()
        }
    }

    pub(crate) const fn workload(&self) -> u32 {
        self.workload
    }

    fn pipe(&self, all: &[u32], source: usize, builder: usize) -> Option<u32> {
        all.get(source * self.builders.len() + builder).copied()
    }

    fn builder_of_event(&self, event: u64) -> usize {
        (event % self.builders.len().max(1) as u64) as usize
    }

    /// Begins what events may begin, and sees to it that this is looked at again when the next is due.
    fn trigger(&mut self, ctx: &mut Context) {
        let before = self.oldest + self.records.len() as u64;
        while self.in_flight < self.in_flight_max {
            let number = self.oldest + self.records.len() as u64;
            let at = match self.rate_eps {
                None => ctx.now,
                Some(rate) => self.start.saturating_add(trigger_ps(number, rate)),
            };
            if at > self.stop {
                break;
            }
            if at > ctx.now {
                if at < self.armed {
                    self.armed = at;
                    let first = self.sources.first().map_or(0, |s| s.node);
                    ctx.build_at(at, first, self.workload);
                }
                break;
            }
            self.begin(ctx, number, at);
        }
        if self.oldest + self.records.len() as u64 == before {
            return;
        }
        if matches!(self.control, EventControl::Pull { .. }) {
            for builder in &self.builders {
                ctx.build_at(ctx.now, builder.node, self.workload);
            }
        } else {
            for source in &self.sources {
                ctx.build_at(ctx.now, source.node, self.workload);
            }
        }
    }

    fn begin(&mut self, ctx: &Context, number: u64, at: u64) {
        let sizes = &self.sizes;
        let draw = |stream: &mut Stream| ((sizes.sample(stream) + 0.5) as u64).max(1);
        let parts: Vec<u64> = self.draws.iter_mut().map(draw).collect();
        self.in_flight += 1;
        if at >= ctx.warmup {
            self.results.triggered += 1;
        }
        self.records.push_back(Record {
            trigger: at,
            bytes: parts.iter().sum(),
            left: parts.len() as u32,
            parts,
            broken: false,
        });
        let sources = self.sources.len();
        let builder = self.builder_of_event(number);
        if matches!(self.control, EventControl::Pull { .. })
            && let Some(builder) = self.builders.get_mut(builder)
        {
            // Builders begin at different sources, so that they do not all ask the first.
            let first = number as usize % sources.max(1);
            let order = (0..sources).map(|k| (number, (first + k) % sources));
            builder.wants.extend(order);
        }
    }

    /// So many bytes of a fragment came, or it is lost. True where the event is settled with it.
    fn settle(&mut self, ctx: &mut Context, event: u64, source: usize, bytes: Option<u64>) {
        let place = event
            .checked_sub(self.oldest)
            .and_then(|p| usize::try_from(p).ok());
        let Some(record) = place.and_then(|p| self.records.get_mut(p)) else {
            return;
        };
        let Some(part) = record.parts.get_mut(source).filter(|part| **part > 0) else {
            return;
        };
        *part -= bytes.unwrap_or(*part).min(*part);
        if *part > 0 {
            return;
        }
        record.left -= 1;
        record.broken |= bytes.is_none();
        let (left, broken, trigger, size) = (record.left, record.broken, record.trigger, record.bytes);
        let builder = self.builder_of_event(event);
        if bytes.is_some() && ctx.now >= ctx.warmup {
            self.results.fragments += 1;
        }
        if let Some(builder) = self.builders.get_mut(builder)
            && matches!(self.control, EventControl::Pull { .. })
        {
            builder.outstanding = builder.outstanding.saturating_sub(1);
            let node = builder.node;
            ctx.build_at(ctx.now, node, self.workload);
        }
        if left > 0 {
            return;
        }
        self.in_flight -= 1;
        if !broken && ctx.now >= ctx.warmup {
            self.results.built += 1;
            self.results.built_bytes += size;
        }
        if trigger >= ctx.warmup {
            if broken {
                self.results.incomplete += 1;
            } else {
                self.results.latency.record(ctx.now - trigger);
            }
        }
        while self.records.front().is_some_and(|r| r.left == 0) {
            self.records.pop_front();
            self.oldest += 1;
        }
        self.trigger(ctx);
    }

    /// Picoseconds that a fragment's frames take on a source's wire.
    fn wire_ps(&self, bytes: u64, byte_ps: u64) -> u64 {
        let (payload, frame) = self.frame;
        let frames = bytes.div_ceil(payload).max(1);
        (bytes + frames * (frame - payload + L1_BYTES)).max(frames * (64 + L1_BYTES)) * byte_ps
    }

    /// What a source may post now: pipe, bytes and event.
    fn due(&mut self, ctx: &mut Context, place: usize) -> Vec<(u32, u64, u64)> {
        let end = self.oldest + self.records.len() as u64;
        let builders = self.builders.len();
        let mut posts = Vec::new();
        let Some(source) = self.sources.get(place) else {
            return posts;
        };
        for event in source.cursor.max(self.oldest)..end {
            let bytes = self.records[(event - self.oldest) as usize].parts[place];
            let builder = self.builder_of_event(event);
            match self.control {
                EventControl::None => {
                    posts.extend(self.pipe(&self.data, place, builder).map(|p| (p, bytes, event)))
                }
                EventControl::BarrelShifter { .. } => {
                    let source = &mut self.sources[place];
                    source.queues[builder].push_back((event, bytes));
                    source.queued += 1;
                }
                EventControl::Pull { .. } => {}
            }
        }
        self.sources[place].cursor = end;
        let EventControl::BarrelShifter { slot } = self.control else {
            return posts;
        };
        let slot = slot.as_ps();
        let turn = ctx.now.saturating_sub(self.start) / slot;
        let slot_ends = self.start + (turn + 1) * slot;
        let round = self.sources.len().max(builders) as u64;
        let builder = ((place as u64 + turn) % round) as usize;
        let full_ps = self.wire_ps(self.frame.0, self.sources[place].byte_ps);
        while let Some(&(event, left)) = self.sources[place].queues.get(builder).and_then(VecDeque::front) {
            let source = &self.sources[place];
            let begins = source.free_at.max(ctx.now);
            let room = slot_ends.saturating_sub(begins);
            let whole = self.wire_ps(left, source.byte_ps) <= room;
            let bytes = if whole {
                left
            } else {
                (room / full_ps * self.frame.0).min(left - 1)
            };
            if bytes == 0 {
                break;
            }
            let takes = self.wire_ps(bytes, source.byte_ps);
            let source = &mut self.sources[place];
            source.free_at = begins + takes;
            if let Some(front) = source.queues[builder].front_mut() {
                front.1 -= bytes;
            }
            if whole {
                source.queues[builder].pop_front();
                source.queued -= 1;
            }
            posts.extend(self.pipe(&self.data, place, builder).map(|p| (p, bytes, event)));
        }
        let source = &mut self.sources[place];
        if source.queued > 0 && source.wake != slot_ends {
            source.wake = slot_ends;
            let node = source.node;
            ctx.build_at(slot_ends, node, self.workload);
        }
        posts
    }

    /// What a builder may ask for now.
    fn asks(&mut self, place: usize) -> Vec<(u32, u64, u64)> {
        let EventControl::Pull {
            fragments_outstanding,
        } = self.control
        else {
            return Vec::new();
        };
        let mut posts = Vec::new();
        while let Some(builder) = self.builders.get_mut(place)
            && builder.outstanding < fragments_outstanding
            && let Some((event, source)) = builder.wants.pop_front()
        {
            builder.outstanding += 1;
            posts.extend(
                self.pipe(&self.requests, source, place)
                    .map(|p| (p, REQUEST_BYTES, event)),
            );
        }
        posts
    }
}

impl Host {
    /// Something is due at a source or a builder.
    pub(crate) fn build_due(&mut self, ctx: &mut Context, workload: u16) {
        let workload = u32::from(workload);
        let Some(mut building) = ctx.builders.remove(&workload) else {
            return;
        };
        if building.source_of.get(&self.node) == Some(&0) {
            if building.armed <= ctx.now {
                building.armed = u64::MAX;
            }
            building.trigger(ctx);
        }
        let posts = match (
            building.source_of.get(&self.node),
            building.builder_of.get(&self.node),
        ) {
            (Some(&place), _) => building.due(ctx, place),
            (None, Some(&place)) => building.asks(place),
            (None, None) => Vec::new(),
        };
        ctx.builders.insert(workload, building);
        for (pipe, bytes, event) in posts {
            self.post(ctx, pipe, bytes, event);
        }
        self.look(ctx);
    }

    /// A message of an event builder came: a fragment or a part of one, or a request for one.
    pub(crate) fn builder_read(&mut self, ctx: &mut Context, pipe: u32, message: &Message) {
        let Some((workload, from)) = ctx.pipes.get(pipe as usize).map(|p| (p.workload, p.from)) else {
            return;
        };
        let Some(mut building) = ctx.builders.remove(&workload) else {
            return;
        };
        let mut answer = None;
        if let Some(&source) = building.source_of.get(&from) {
            building.settle(ctx, message.tag, source, Some(message.bytes));
        } else if let (Some(&source), Some(&builder)) =
            (building.source_of.get(&self.node), building.builder_of.get(&from))
        {
            let place = message
                .tag
                .checked_sub(building.oldest)
                .and_then(|p| usize::try_from(p).ok());
            let bytes = place
                .and_then(|p| building.records.get(p))
                .and_then(|r| r.parts.get(source));
            answer = building.pipe(&building.data, source, builder).zip(bytes.copied());
        }
        ctx.builders.insert(workload, building);
        if let Some((pipe, bytes)) = answer {
            self.post(ctx, pipe, bytes, message.tag);
        }
    }
}
