//! Messages over RoCEv2: RDMA writes on a queue pair for each direction.
//!
//! The writer posts to a send queue that holds twice the window; the reader has a message when its last packet is in
//! memory. Packets cost no processor on either side. Data packets take part in ECN where DCQCN is on; answers and
//! notifications travel with the workload's own marks. Payload of frames, as classes count it, includes the address
//! header of a message's first packet and the padding of its last.

use super::super::application::{Endpoint, NEVER};
use super::super::flow::Meaning;
use super::super::frame::Frame;
use super::*;
use crate::transport::rdma::{Packet, Requester, Responder, packet};
use clearway_core::Ecn;
use clearway_policy::scenario::RoceSettings;

/// One queue pair.
#[derive(Debug)]
pub(super) struct Verbs {
    /// Its end at the sending host.
    endpoint: u32,
    /// Flow of its packets.
    pub(super) flow: u32,
    /// Messages that the reader does not have yet, by the packet after the last of each.
    pub(super) arriving: Ends,
    /// Messages that are not acknowledged, where the writer wants to know.
    pub(super) unacknowledged: Ends,
}

/// The end of a queue pair that writes.
#[derive(Debug)]
pub(crate) struct Requesting {
    machine: Requester,
    flow: u32,
    /// Bytes of a frame beside the IP payload.
    network_bytes: u32,
    ecn: Ecn,
    wake: u64,
    pipe: u32,
}

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct Responding {
    machine: Responder,
    flow: u32,
    network_bytes: u32,
    pipe: u32,
}

impl Requesting {
    /// Its pipe, packets sent again, expiries of its timer.
    pub(crate) const fn repeated(&self) -> (u32, u64, u64) {
        let stats = self.machine.stats();
        (self.pipe, stats.retransmissions, stats.timeouts)
    }
}

/// Headers of a packet that is not its message's first, UDP's to the CRC.
const HEADER_BYTES: u32 = Packet {
    psn: 0,
    payload: 0,
    kind: packet::PacketKind::Write {
        first: false,
        wants_ack: false,
    },
}
.ip_payload_bytes();

impl Verbs {
    /// Makes the two ends of a queue pair; none where a way is missing.
    pub(super) fn open(
        nodes: &mut [Node],
        ctx: &mut Context,
        spec: &PipeSpec<'_>,
        pipe: u32,
        roce: &RoceSettings,
    ) -> Option<Self> {
        let &[to] = spec.to else { return None };
        let carried = ctx.carried.get(spec.workload as usize)?;
        let (network_bytes, own_port) = (carried.network_bytes(), carried.marks.dst_port);
        let (Node::Host(a), Node::Host(b)) = (nodes.get(spec.from as usize)?, nodes.get(to as usize)?) else {
            return None;
        };
        let (from_end, to_end) = (a.endpoints.len() as u32, b.endpoints.len() as u32);
        let line_bps = ctx.lines.get(a.transmitter.line as usize)?.rate_bps;
        let mut data = flow_spec(ctx, spec, UDP_PROTOCOL, Meaning::Rdma, to_end, HEADER_BYTES)?;
        if own_port == 0 {
            data.key.dst_port = packet::PORT;
        }
        let mut back = FlowSpec {
            from: to,
            to: &[spec.from],
            key: reverse(&data.key),
            owner: from_end,
            overhead: u16::MAX,
            ..data
        };
        // Both directions go to the port of RoCE; the source port tells connections apart.
        (back.key.src_port, back.key.dst_port) = (data.key.src_port, data.key.dst_port);
        let flow = ctx.make_flow(&data)?;
        let back = ctx.make_flow(&back)?;
        if let Some(Node::Host(host)) = nodes.get_mut(spec.from as usize) {
            host.endpoints.push(Endpoint::Requester(Box::new(Requesting {
                machine: Requester::new(roce, line_bps),
                flow,
                network_bytes,
                ecn: if roce.dcqcn.is_some() {
                    Ecn::Capable
                } else {
                    Ecn::NotCapable
                },
                wake: NEVER,
                pipe,
            })));
        }
        if let Some(Node::Host(host)) = nodes.get_mut(to as usize) {
            host.endpoints.push(Endpoint::Responder(Box::new(Responding {
                machine: Responder::new(roce),
                flow: back,
                network_bytes,
                pipe,
            })));
        }
        Some(Self {
            endpoint: from_end,
            flow,
            arriving: Ends::new(),
            unacknowledged: Ends::new(),
        })
    }
}

impl Host {
    /// Posts a message to its queue pair.
    pub(super) fn write_verbs(&mut self, ctx: &mut Context, pipe: u32, message: Message) {
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Verbs(verbs) = &mut p.carrier else {
            return;
        };
        let endpoint = verbs.endpoint;
        let Some(Endpoint::Requester(r)) = self.endpoints.get_mut(endpoint as usize) else {
            return;
        };
        let end = r.machine.post(message.bytes);
        verbs.arriving.push_back((end, message));
        if p.notice == Notice::Complete {
            verbs.unacknowledged.push_back((end, message));
        }
        self.send_packets(ctx, endpoint);
    }

    pub(super) fn verbs_have_room(&self, verbs: &Verbs) -> bool {
        match self.endpoints.get(verbs.endpoint as usize) {
            Some(Endpoint::Requester(r)) => r.machine.has_room(),
            _ => false,
        }
    }

    /// Hands down whatever a queue pair may send, and sets its timer.
    fn send_packets(&mut self, ctx: &mut Context, endpoint: u32) {
        let now = ctx.instant();
        loop {
            let Some(Endpoint::Requester(r)) = self.endpoints.get_mut(endpoint as usize) else {
                return;
            };
            let Some(packet) = r.machine.poll_transmit(now) else {
                break;
            };
            let (flow, network_bytes, ecn) = (r.flow, r.network_bytes, r.ecn);
            self.send_packet(ctx, flow, network_bytes, ecn, packet);
        }
        let Some(Endpoint::Requester(r)) = self.endpoints.get_mut(endpoint as usize) else {
            return;
        };
        let due = r.machine.poll_timer().map(|at| at.as_ps().max(ctx.now));
        // An event at an earlier instant is kept: it finds nothing due and looks again.
        if let Some(at) = due.filter(|&at| at < r.wake) {
            r.wake = at;
            let event = Event::Timer {
                host: self.node,
                endpoint: endpoint as u16,
            };
            ctx.push(at, Phase::Control, self.node, event);
        }
    }

    fn send_packet(&mut self, ctx: &mut Context, flow: u32, network_bytes: u32, ecn: Ecn, packet: Packet) {
        let Ok(tag) = ctx.packets.insert(packet) else {
            return;
        };
        let len = network_bytes + packet.ip_payload_bytes();
        let Some(handle) = ctx.make_frame(flow, len, ctx.now, None, tag) else {
            return;
        };
        if let Some(frame) = ctx.frames.get_mut(handle) {
            frame.ecn = ecn;
        }
        self.submit(ctx, handle);
    }

    /// A packet of a queue pair came.
    pub(crate) fn take_packet(&mut self, ctx: &mut Context, endpoint: u32, frame: &Frame) {
        let now = ctx.instant();
        let Some(packet) = ctx.packets.remove(frame.tag) else {
            return;
        };
        match self.endpoints.get_mut(endpoint as usize) {
            Some(Endpoint::Responder(r)) => {
                let said = r.machine.on_packet(now, &packet, frame.ecn == Ecn::Marked);
                let (flow, network_bytes, pipe) = (r.flow, r.network_bytes, r.pipe);
                let expected = r.machine.expected();
                for answer in said.into_iter().flatten() {
                    self.send_packet(ctx, flow, network_bytes, Ecn::NotCapable, answer);
                }
                self.read_in_order(ctx, pipe, expected);
            }
            Some(Endpoint::Requester(r)) => {
                r.machine.on_packet(now, &packet);
                let (pipe, reached) = (r.pipe, r.machine.acknowledged());
                self.send_packets(ctx, endpoint);
                let room = match self.endpoints.get(endpoint as usize) {
                    Some(Endpoint::Requester(r)) => r.machine.has_room(),
                    _ => false,
                };
                self.acknowledged(ctx, pipe, reached, room);
            }
            _ => {}
        }
    }

    /// A timer of a queue pair may be due, or its pace lets a packet go.
    pub(crate) fn requester_due(&mut self, ctx: &mut Context, endpoint: u32) {
        let now = ctx.instant();
        let Some(Endpoint::Requester(r)) = self.endpoints.get_mut(endpoint as usize) else {
            return;
        };
        if r.wake == ctx.now {
            r.wake = NEVER;
            r.machine.on_timer(now);
            self.send_packets(ctx, endpoint);
        }
    }
}
