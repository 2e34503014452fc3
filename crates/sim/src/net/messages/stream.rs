//! Messages over TCP, plain or framed as iWARP: a message is a range of the connection's byte stream.
//!
//! The writer's bytes go into the socket as soon as they are posted; the send buffer limits what is outstanding, and a
//! write counts as returned when its last byte has room there. The reader has a message when the stream is in order up
//! to its end. iWARP adds the bytes of its framing, by [`iwarp::stream_bytes`].

use super::super::application::Endpoint;
use super::super::flow::Meaning;
use super::*;
use crate::transport::rdma::iwarp;
use clearway_policy::scenario::TcpSettings;

/// One connection.
#[derive(Debug)]
pub(super) struct Stream {
    /// The connection's ends at the sending and the receiving host.
    pub(super) ends: [u32; 2],
    /// Flow of its segments.
    pub(super) flow: u32,
    /// Bytes written, framing included.
    written: u64,
    /// Segment size where messages are framed as iWARP.
    framed: Option<u64>,
    /// Messages that the reader does not have yet, by the end of each in the stream.
    pub(super) arriving: Ends,
    /// Messages that are not acknowledged, where the writer wants to know.
    pub(super) unacknowledged: Ends,
}

impl Stream {
    /// Makes the two ends of a connection; none where a way is missing.
    pub(super) fn open(
        nodes: &mut [Node],
        ctx: &mut Context,
        spec: &PipeSpec<'_>,
        pipe: u32,
        tcp: &TcpSettings,
        framed: bool,
    ) -> Option<Self> {
        let &[to] = spec.to else { return None };
        let mut tcp = *tcp;
        if framed {
            // FPDUs begin segments: what a segment cannot hold of a multiple of four stays empty.
            tcp.mss_bytes = (tcp.mss_bytes & !3).max(4);
        }
        let transport = TCP_HEADER_BYTES + tcp.option_bytes;
        let header = ctx.carried.get(spec.workload as usize)?.network_bytes() + transport;
        let (Node::Host(a), Node::Host(b)) = (nodes.get(spec.from as usize)?, nodes.get(to as usize)?) else {
            return None;
        };
        let (send_end, receive_end) = (a.endpoints.len() as u32, b.endpoints.len() as u32);
        let data = flow_spec(ctx, spec, TCP_PROTOCOL, Meaning::Data, receive_end, transport)?;
        let ack = FlowSpec {
            from: to,
            to: &[spec.from],
            key: reverse(&data.key),
            meaning: Meaning::Ack,
            owner: send_end,
            overhead: u16::MAX,
            ..data
        };
        let data_flow = ctx.make_flow(&data)?;
        let ack_flow = ctx.make_flow(&ack)?;
        if let Some(Node::Host(host)) = nodes.get_mut(spec.from as usize) {
            let sender =
                Endpoint::sender(&tcp, data_flow, header, (spec.start, u64::MAX), None).of_pipe(pipe);
            host.endpoints.push(sender);
        }
        if let Some(Node::Host(host)) = nodes.get_mut(to as usize) {
            let receiver = Endpoint::receiver(&tcp, ack_flow, header, spec.workload).of_pipe(pipe);
            host.endpoints.push(receiver);
        }
        let event = Event::Timer {
            host: spec.from,
            endpoint: send_end as u16,
        };
        ctx.push(spec.start, Phase::Control, spec.from, event);
        Some(Self {
            ends: [send_end, receive_end],
            flow: data_flow,
            written: 0,
            framed: framed.then_some(u64::from(tcp.mss_bytes)),
            arriving: Ends::new(),
            unacknowledged: Ends::new(),
        })
    }
}

impl Host {
    /// Writes a message into its connection's socket.
    pub(super) fn write_stream(&mut self, ctx: &mut Context, pipe: u32, message: Message) {
        let Some(p) = ctx.pipes.get_mut(pipe as usize) else {
            return;
        };
        let Carrier::Stream(stream) = &mut p.carrier else {
            return;
        };
        let bytes = match stream.framed {
            Some(mss) => iwarp::stream_bytes(message.bytes, mss),
            None => message.bytes,
        };
        stream.written += bytes;
        stream.arriving.push_back((stream.written, message));
        if p.notice == Notice::Complete {
            stream.unacknowledged.push_back((stream.written, message));
        }
        let endpoint = stream.ends[0];
        if let Some(Endpoint::Sender(s)) = self.endpoints.get_mut(endpoint as usize) {
            s.machine.supply(bytes);
            if ctx.now >= s.start {
                self.send_segments(ctx, endpoint);
            }
        }
    }

    pub(super) fn stream_has_room(&self, stream: &Stream) -> bool {
        match self.endpoints.get(stream.ends[0] as usize) {
            Some(Endpoint::Sender(s)) => s.machine.has_room(),
            _ => false,
        }
    }
}
