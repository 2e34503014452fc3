//! Workloads: what is sent, by whom, where to, and when.

use super::transport::{MessageTransport, TcpSettings};
use clearway_core::Duration;

/// Traffic that one or more hosts send.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name.
    pub name: String,
    /// Sending hosts; each is an independent source with its own random stream.
    pub from: Vec<usize>,
    /// Where frames go.
    pub to: Destination,
    /// Traffic class that results are kept under (index in [`Scenario::classes`](super::Scenario::classes)).
    pub class: usize,
    /// Fields of the frames.
    pub marks: Marks,
    /// First instant.
    pub start: Duration,
    /// Last instant; none: the end of the run.
    pub stop: Option<Duration>,
    /// What is sent.
    pub kind: WorkloadKind,
}

/// Header fields of a workload's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// VLAN identifier; none: untagged (unless a PCP is given: priority-tagged).
    pub vlan_id: Option<u16>,
    /// Priority code point; some makes the frame tagged.
    pub pcp: Option<u8>,
    /// Frames are spread uniformly over all eight priorities instead (drawn per frame). The workload's class is then
    /// that of priority 0, and those of the others follow it.
    pub pcp_uniform: bool,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Destination port; 0: one per workload.
    pub dst_port: u16,
    /// Source port; 0: one per flow.
    pub src_port: u16,
}

/// A law for the destination of a frame, burst or connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// One host.
    Host(usize),
    /// Uniform over all hosts that take part in the workload but the sender.
    UniformOthers,
    /// Uniform over these, the sender left out.
    Uniform(Vec<usize>),
    /// With probability `probability` goes to `host`, otherwise uniform over the other senders.
    Skewed {
        /// The favoured host.
        host: usize,
        /// How often a draw is redirected to it.
        probability: f64,
    },
    /// All of these get a copy (multicast).
    Multicast(Vec<usize>),
}

/// A law for sizes, gaps and bursts.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always this.
    Constant(f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Geometric on 1, 2, 3, ... with this mean.
    Geometric(f64),
    /// Pareto with this mean and shape, at most `max`.
    Pareto {
        /// Mean before truncation.
        mean: f64,
        /// Shape, above 1.
        shape: f64,
        /// Largest value.
        max: f64,
    },
    /// Values with weights.
    Empirical(Vec<(f64, f64)>),
}

/// What a workload sends. Sizes are L2 bytes with FCS unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadKind {
    /// Bursts of back-to-back frames to one destination each.
    Bursty {
        /// Bytes of a burst (rounded up to whole frames).
        burst_bytes: Law,
        /// Bytes of a frame.
        frame_bytes: Law,
        /// Mean load as a fraction of the line, preamble and gap included; sets the mean of the exponential gap.
        load: f64,
        /// True: the source stops at the first burst that the NIC cannot take, rather than queueing it.
        blocking: bool,
    },
    /// Poisson arrivals.
    Poisson {
        /// Bytes of a frame.
        frame_bytes: Law,
        /// Frames a second.
        rate_fps: f64,
    },
    /// Constant rate.
    ConstantRate {
        /// Bytes of a frame.
        frame_bytes: Law,
        /// L1 bit/s of each flow (with preamble and gap).
        rate_bps: f64,
        /// Flows a sending host runs, each with a phase of its own.
        flows: u32,
        /// Frames that a flow hands over at once; the rate stays.
        burst: u32,
    },
    /// On-off: constant rate during on periods.
    OnOff {
        /// Bytes of a frame.
        frame_bytes: Law,
        /// L1 bit/s while on.
        rate_bps: f64,
        /// Length of on periods, seconds.
        on: Law,
        /// Length of off periods, seconds.
        off: Law,
    },
    /// A request and its reply; the next request follows the reply at once.
    RequestResponse {
        /// Bytes of a request frame.
        request_bytes: u32,
        /// Bytes of a reply frame.
        response_bytes: u32,
        /// Requests in flight.
        outstanding: u32,
    },
    /// Requests at given instants, latency from the intended instant; each is answered.
    OpenLoop {
        /// Bytes of a request frame.
        request_bytes: u32,
        /// Bytes of a reply frame; 0: one way, no reply.
        response_bytes: u32,
        /// Requests a second.
        rate_fps: f64,
        /// Poisson rather than evenly spaced.
        poisson: bool,
    },
    /// TCP connections that always have something to send.
    TcpBulk {
        /// Connections from each sender.
        connections: u32,
        /// TCP parameters.
        tcp: TcpSettings,
        /// Bytes each connection sends; none: without end.
        bytes: Option<u64>,
    },
    /// Messages of any size over a transport: streams by message size, ping-pong, open loop.
    Messages {
        /// What carries them.
        transport: MessageTransport,
        /// Payload bytes of a message.
        message_bytes: Law,
        /// Payload bytes of the answer to each; 0: one way.
        reply_bytes: u32,
        /// When they are sent.
        pattern: MessagePattern,
    },
    /// Clients that write and read blocks on storage nodes, with copies on several of them.
    Storage {
        /// What carries the blocks.
        transport: MessageTransport,
        /// Payload bytes of a block.
        block_bytes: u32,
        /// Clients (virtual machines) on each sending host.
        clients: u32,
        /// Blocks that each client has outstanding.
        outstanding: u32,
        /// Copies of each block, the local ones included.
        copies: u32,
        /// Connections from each client's host to each other storage node.
        connections: u32,
        /// Where the copies lie.
        placement: Placement,
        /// Fraction of the operations that write; the rest read.
        write_fraction: f64,
        /// Time that a node needs to store or fetch a block beside the network.
        service: Law,
    },
    /// Event fragments from every sender to the one builder that an event is assigned to, in turn.
    EventBuilder {
        /// What carries the fragments.
        transport: MessageTransport,
        /// Payload bytes of a fragment.
        fragment_bytes: Law,
        /// Events a second; none: the next as soon as `events_in_flight` allows.
        rate_eps: Option<f64>,
        /// Events that may be incomplete at a time; triggers beyond wait.
        events_in_flight: u32,
        /// Who may send to whom and when.
        control: EventControl,
    },
    /// A capture file played at its own times.
    Replay {
        /// Frames: time since the first, bytes, header fields are taken from the marks.
        frames: Vec<ReplayFrame>,
    },
}

/// One frame of a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayFrame {
    /// Since the first frame.
    pub at: Duration,
    /// L2 bytes with FCS.
    pub bytes: u32,
    /// The fields found in the capture.
    pub key: clearway_core::FlowKey,
}

/// When messages are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MessagePattern {
    /// Each connection writes the next message as soon as the socket takes it.
    Stream {
        /// Connections from each sender.
        connections: u32,
    },
    /// The next message follows the answer to one before.
    ClosedLoop {
        /// Messages in flight.
        outstanding: u32,
    },
    /// Every sender sends one message to each of its neighbours and begins anew when it has those of all of them.
    Exchange {
        /// Neighbours to either side in the ring of the senders; 0: everybody else.
        neighbours: u32,
        /// From having the last message to sending the next.
        compute: Duration,
    },
    /// At given instants; latency counts from the intended one.
    Rate {
        /// Messages a second of each sender.
        per_second: f64,
        /// Poisson rather than evenly spaced.
        poisson: bool,
    },
}

/// Where the copies of a block lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On that many nodes drawn at random, the client's own among the candidates.
    Any,
    /// One on the client's own node, the rest drawn from the others.
    LocalFirst,
}

/// How an event builder keeps its senders from meeting at one builder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventControl {
    /// Everybody sends at once.
    None,
    /// In time slot t sender i sends to builder (i + t) modulo their number, as much as fits.
    BarrelShifter {
        /// Length of a slot.
        slot: Duration,
    },
    /// A builder asks for fragments, so many events at a time, one sender after another.
    Pull {
        /// Fragments that a builder has asked for and not yet got.
        fragments_outstanding: u32,
    },
}
