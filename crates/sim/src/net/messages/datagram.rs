//! Messages as UDP datagrams, to one host or to a group.
//!
//! A datagram longer than the MTU goes out as IP fragments, each but the last with a multiple of 8 payload bytes (RFC
//! 791 3.2). Only the first has the UDP header: classifiers that match ports do not see them in the others, which carry
//! none. A fragment lost loses its datagram; a message longer than a datagram can be (65,507 B) is sent as several and
//! is lost with any of them. Nothing is sent again.
//!
//! The socket holds [`SEND_BUFFER_BYTES`] of frames that are not on the wire yet; a blocking write waits for room
//! there, an open-loop one does not. Left out: reassembly timers (a message with a hole is given up at once), receive
//! buffers of the socket.

use super::super::flow::Meaning;
use super::super::frame::{Frame, WIRE_OVERHEAD};
use super::*;
use std::collections::{BTreeMap, VecDeque};

/// Frames of one socket that may wait for the wire before a blocking write does, L2 bytes: the default of Linux.
const SEND_BUFFER_BYTES: u64 = 212_992;
/// The longest UDP payload over IPv4.
const DATAGRAM_BYTES_MAX: u64 = 65_507;
const UDP_HEADER: u32 = 8;
const IPV4_HEADER: u32 = 20;

/// A message whose frames are not all accounted for.
#[derive(Clone, Copy, Debug)]
struct Flying {
    message: Message,
    /// Frames of it, times receivers, that neither arrived nor were lost.
    open: u64,
    /// Frames that one receiver needs.
    frames: u32,
    /// Receivers that have all of it.
    complete: u32,
    /// Frames that are not on the wire yet.
    waiting: u32,
}

/// A socket.
#[derive(Debug)]
pub(super) struct Datagrams {
    /// Flow of frames with a UDP header.
    pub(super) first: u32,
    /// Flow of the other fragments, once there are any.
    rest: Option<u32>,
    /// Bytes of an IP packet.
    mtu: u32,
    receivers: u32,
    /// L2 bytes handed down and not yet on the wire.
    waiting: u64,
    /// Frames that never left, and when each gives back its place.
    refused: VecDeque<(u64, u32)>,
    /// Number of the oldest message in `flying`.
    oldest: u64,
    flying: VecDeque<Flying>,
    /// Messages on the wire that the writer has not heard of yet.
    sent: VecDeque<Message>,
    /// Messages given up that nobody was told of yet.
    gone: Vec<Message>,
    /// Fragments that came so far, by message and receiver.
    partial: BTreeMap<(u64, u32), u32>,
}

impl Datagrams {
    pub(super) fn open(ctx: &mut Context, spec: &PipeSpec<'_>, pipe: u32, mtu: u32) -> Option<Self> {
        let flow = flow_spec(ctx, spec, UDP_PROTOCOL, Meaning::Datagram, pipe, UDP_HEADER)?;
        Some(Self {
            first: ctx.make_flow(&flow)?,
            rest: None,
            mtu: mtu.max(68),
            receivers: spec.to.len() as u32,
            waiting: 0,
            refused: VecDeque::new(),
            oldest: 0,
            flying: VecDeque::new(),
            sent: VecDeque::new(),
            gone: Vec::new(),
            partial: BTreeMap::new(),
        })
    }

    pub(super) const fn receivers(&self) -> u64 {
        self.receivers as u64
    }

    pub(super) const fn has_room(&self) -> bool {
        self.waiting < SEND_BUFFER_BYTES
    }

    /// The number of the message that a frame with this tag belongs to.
    fn number(&self, tag: u32) -> u64 {
        self.oldest + u64::from(tag.wrapping_sub(self.oldest as u32))
    }

    fn of(&mut self, tag: u32) -> Option<&mut Flying> {
        let place = tag.wrapping_sub(self.oldest as u32);
        self.flying.get_mut(place as usize)
    }

    /// Forgets the oldest messages that nothing more will come of. Returns for how many receivers one was lost.
    fn settle(&mut self) -> u64 {
        let mut lost = 0;
        while let Some(f) = self.flying.front()
            && f.open == 0
        {
            let missing = self.receivers - f.complete;
            if missing > 0 {
                lost += u64::from(missing);
                self.gone.push(f.message);
                let number = self.oldest;
                let stale: Vec<_> = self
                    .partial
                    .range((number, 0)..(number + 1, 0))
                    .map(|(&key, _)| key)
                    .collect();
                for key in stale {
                    self.partial.remove(&key);
                }
            }
            self.flying.pop_front();
            self.oldest += 1;
        }
        lost
    }
}

/// IP payload bytes of the packets that carry a message, in order, and whether each begins a datagram.
fn packets(bytes: u64, mtu: u32) -> impl Iterator<Item = (u32, bool)> {
    let most = mtu - IPV4_HEADER;
    let part = most & !7;
    let mut left = bytes;
    let mut inside = 0_u32;
    let mut started = false;
    core::iter::from_fn(move || {
        let begins = inside == 0;
        if begins {
            if left == 0 && started {
                return None;
            }
            started = true;
            let datagram = left.min(DATAGRAM_BYTES_MAX);
            left -= datagram;
            inside = datagram as u32 + UDP_HEADER;
        }
        let taken = if inside <= most { inside } else { part };
        inside -= taken;
        Some((taken, begins))
    })
}

impl Host {
    /// Sends a message as datagrams.
    pub(super) fn write_datagrams(&mut self, ctx: &mut Context, pipe: u32, message: Message) {
        let Some(Pipe {
            carrier: Carrier::Datagrams(d),
            ..
        }) = ctx.pipes.get_mut(pipe as usize)
        else {
            return;
        };
        let (mtu, first, number) = (d.mtu, d.first, d.oldest + d.flying.len() as u64);
        let frames = packets(message.bytes, mtu).count() as u32;
        d.flying.push_back(Flying {
            message,
            open: u64::from(frames) * u64::from(d.receivers),
            frames,
            complete: 0,
            waiting: frames,
        });
        if frames > 1 && d.rest.is_none() {
            let rest = ctx.make_fragment_flow(first);
            if let Some(Pipe {
                carrier: Carrier::Datagrams(d),
                ..
            }) = ctx.pipes.get_mut(pipe as usize)
            {
                d.rest = rest;
            }
        }
        let network = ctx.network_bytes_of(first);
        for (ip_payload, begins) in packets(message.bytes, mtu) {
            let Some(Pipe {
                carrier: Carrier::Datagrams(d),
                ..
            }) = ctx.pipes.get_mut(pipe as usize)
            else {
                return;
            };
            let flow = if begins { first } else { d.rest.unwrap_or(first) };
            let made = ctx.make_frame(flow, network + ip_payload, message.posted_at, None, number as u32);
            let Some(handle) = made else { return };
            let len = ctx.frames.get(handle).map_or(0, |f| f.len);
            if let Some(Pipe {
                carrier: Carrier::Datagrams(d),
                ..
            }) = ctx.pipes.get_mut(pipe as usize)
            {
                d.waiting += u64::from(len);
            }
            self.submit(ctx, handle);
        }
    }

    /// A frame of a datagram came.
    pub(crate) fn take_datagram(&mut self, ctx: &mut Context, pipe: u32, frame: &Frame) {
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Datagrams(d) = &mut p.carrier else {
            return;
        };
        let number = d.number(frame.tag);
        let Some(flying) = d.of(frame.tag) else { return };
        flying.open = flying.open.saturating_sub(1);
        let (message, needed) = (flying.message, flying.frames);
        let mut whole = true;
        if needed > 1 {
            let came = d.partial.entry((number, self.node)).or_insert(0);
            *came += 1;
            whole = *came == needed;
            if whole {
                d.partial.remove(&(number, self.node));
            }
        }
        if whole && let Some(flying) = d.of(frame.tag) {
            flying.complete += 1;
        }
        let lost = d.settle();
        let workload = p.workload;
        ctx.collector.messages.lose(workload, lost);
        if lost > 0 {
            ctx.messages_gone(pipe);
        }
        if whole {
            self.read_message(ctx, pipe, &message);
        }
    }

    /// A pipe's frame went on the wire a moment ago: a blocking write may go on, a message may be complete.
    pub(crate) fn pipe_due(&mut self, ctx: &mut Context, pipe: u32) {
        let now = ctx.now;
        let mut room = true;
        if let Some(Pipe {
            carrier: Carrier::Datagrams(d),
            ..
        }) = ctx.pipes.get_mut(pipe as usize)
        {
            while let Some(&(at, len)) = d.refused.front()
                && at <= now
            {
                d.refused.pop_front();
                d.waiting = d.waiting.saturating_sub(u64::from(len));
            }
            room = d.has_room();
        }
        if room {
            self.tell_room(ctx, pipe);
        }
        while let Some(Pipe {
            carrier: Carrier::Datagrams(d),
            ..
        }) = ctx.pipes.get_mut(pipe as usize)
        {
            let Some(message) = d.sent.pop_front() else { break };
            self.tell_complete(ctx, pipe, &message);
        }
        self.look(ctx);
    }
}

impl Context {
    /// The flow of the fragments after the first: the same path but no ports.
    fn make_fragment_flow(&mut self, first: u32) -> Option<u32> {
        let flow = *self.flows.get(first as usize)?;
        let mut key = *self.keys.get(first as usize)?;
        key.src_port = 0;
        key.dst_port = 0;
        let workload = *self.workload_of.get(first as usize)?;
        let to = self.carried.get(workload as usize)?.multicast.clone();
        let to = match to.is_empty() {
            true => vec![flow.ends[1]],
            false => to.into_iter().filter(|&host| host != flow.ends[0]).collect(),
        };
        self.make_flow(&FlowSpec {
            from: flow.ends[0],
            to: &to,
            key,
            class: flow.class,
            meaning: Meaning::Datagram,
            owner: flow.owner,
            overhead: flow.overhead.saturating_sub(UDP_HEADER as u16),
            reply_bytes: 0,
            spread: false,
            workload,
        })
    }

    /// Bytes of a frame of this datagram flow beside the IP payload.
    fn network_bytes_of(&self, first: u32) -> u32 {
        let overhead = self.flows.get(first as usize).map_or(0, |f| f.overhead);
        u32::from(overhead).saturating_sub(UDP_HEADER)
    }

    /// A frame of a pipe's datagram begins to leave its host.
    #[cold]
    pub(crate) fn datagram_leaves(&mut self, flow: u32, len: u32, tag: u32) {
        let Some(flow) = self.flows.get(flow as usize) else {
            return;
        };
        let pipe = flow.owner;
        let now = self.now;
        let Some(p) = self.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Datagrams(d) = &mut p.carrier else {
            return;
        };
        d.waiting = d.waiting.saturating_sub(u64::from(len));
        let mut due = p.room_wanted && d.has_room();
        if let Some(flying) = d.of(tag) {
            flying.waiting = flying.waiting.saturating_sub(1);
            if flying.waiting == 0 && p.notice == Notice::Complete {
                let message = flying.message;
                d.sent.push_back(message);
                due = true;
            }
        }
        let from = p.from;
        if due {
            self.push(now, Phase::Control, from, Event::Pipe { pipe });
        }
    }

    /// A frame of a pipe's datagram never leaves its host. It holds its place in the socket for the time that the line
    /// would have taken: a sender that is refused at once must not try again at once.
    fn datagram_refused(&mut self, pipe: u32, frame: &Frame) {
        let line = self.hops.get(frame.hop as usize).map_or(0, |h| h.line);
        let takes = self
            .lines
            .get(line as usize)
            .map_or(1, |l| l.time_ps(frame.len + WIRE_OVERHEAD));
        let now = self.now;
        let Some(p) = self.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Datagrams(d) = &mut p.carrier else {
            return;
        };
        let at = d
            .refused
            .back()
            .map_or(now, |r| r.0.max(now))
            .saturating_add(takes);
        d.refused.push_back((at, frame.len));
        let complete = p.notice == Notice::Complete;
        if let Some(flying) = d.of(frame.tag) {
            flying.waiting = flying.waiting.saturating_sub(1);
            if flying.waiting == 0 && complete {
                let message = flying.message;
                d.sent.push_back(message);
            }
        }
        let from = p.from;
        self.push(at, Phase::Control, from, Event::Pipe { pipe });
    }

    /// A frame of a pipe's datagram is lost at `node` for `leaves` receivers.
    pub(crate) fn datagram_lost(&mut self, frame: &Frame, node: u32, leaves: u64) {
        let Some(flow) = self.flows.get(frame.flow as usize) else {
            return;
        };
        let pipe = flow.owner;
        let Some(p) = self.pipes.get_mut(pipe as usize) else {
            return;
        };
        // The path begins at the sender's NIC: a frame that is still there was refused or dropped by its queues.
        if node == p.from && frame.hop == flow.path {
            self.datagram_refused(pipe, frame);
        }
        let Some(p) = self.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Datagrams(d) = &mut p.carrier else {
            return;
        };
        if let Some(flying) = d.of(frame.tag) {
            flying.open = flying.open.saturating_sub(leaves);
        }
        let lost = d.settle();
        let workload = p.workload;
        self.collector.messages.lose(workload, lost);
        if lost > 0 {
            self.messages_gone(pipe);
        }
    }

    /// Tells those who count on a pipe's messages which of them were given up.
    fn messages_gone(&mut self, pipe: u32) {
        let Some(p) = self.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Datagrams(d) = &mut p.carrier else {
            return;
        };
        let gone = std::mem::take(&mut d.gone);
        if p.reader == Reader::EventBuilder {
            for message in gone {
                self.fragment_lost(pipe, &message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bytes: u64, mtu: u32) -> Vec<(u32, bool)> {
        packets(bytes, mtu).collect()
    }

    #[test]
    fn a_datagram_within_the_mtu_is_one_packet() {
        assert_eq!(sizes(1, 1_500), [(9, true)]);
        assert_eq!(sizes(1_472, 1_500), [(1_480, true)]);
        assert_eq!(sizes(0, 1_500), [(8, true)]);
    }

    #[test]
    fn a_longer_one_is_cut_into_multiples_of_eight() {
        assert_eq!(sizes(1_473, 1_500), [(1_480, true), (1, false)]);
        // 1,493 B fit, 1,488 are a multiple of eight.
        assert_eq!(sizes(1_500, 1_513), [(1_488, true), (20, false)]);
        let all = sizes(DATAGRAM_BYTES_MAX, 1_500);
        assert_eq!(all.len(), 45);
        assert_eq!(
            all.iter().map(|p| u64::from(p.0)).sum::<u64>(),
            DATAGRAM_BYTES_MAX + 8
        );
    }

    #[test]
    fn a_message_longer_than_a_datagram_is_several() {
        let all = sizes(DATAGRAM_BYTES_MAX + 100, 9_000);
        assert_eq!(all.iter().filter(|p| p.1).count(), 2);
        assert_eq!(all.last(), Some(&(108, true)));
    }
}
