//! A validated scenario: hosts, switches, links, workloads. Plain integer data, the input of the simulator.
//!
//! Names are resolved to indices, units to integers (bytes, bit/s, picoseconds), policies to plans. Whatever the
//! text may leave out has its default here already.

use crate::plan::CompiledPolicy;
use clearway_core::Duration;

/// A whole experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Short name, as in the file.
    pub name: String,
    /// What it shows, in a sentence.
    pub title: String,
    /// The document that it comes from, if any.
    pub cites: Option<String>,
    /// Simulated time.
    pub duration: Duration,
    /// Measurements start here; frames sent before are not counted.
    pub warmup: Duration,
    /// Root seed unless the command line gives one.
    pub seed: u64,
    /// Time between two samples of queues and memory; none: no time series.
    pub sample_interval: Option<Duration>,
    /// Latency histograms per flow as well (per class always).
    pub flow_histograms: bool,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Switches.
    pub switches: Vec<Switch>,
    /// Links.
    pub links: Vec<Link>,
    /// Workloads.
    pub workloads: Vec<Workload>,
    /// Names of the traffic classes that results are kept for; a workload names one by index.
    pub classes: Vec<String>,
    /// Policies that ports and hosts use, by index.
    pub policies: Vec<CompiledPolicy>,
}

/// An end station: applications, a stack, one NIC.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Name.
    pub name: String,
    /// From the application's send to the NIC.
    pub stack_delay_tx: Duration,
    /// From the NIC to the application.
    pub stack_delay_rx: Duration,
    /// Mean of an exponential time that each frame's way through the stack takes longer, in either direction.
    pub stack_jitter: Duration,
    /// The NIC.
    pub nic: Nic,
    /// Clock offset of the host in parts per million; scales its line rate and its timers.
    pub clock_ppm: i32,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Nic {
    /// Policy of the transmit side (traffic manager), by index; none: one FIFO.
    pub policy: Option<usize>,
    /// Policy of the receive side: its queues are the receive channels, its transmitter is the host interface; none:
    /// one FIFO.
    pub receive_policy: Option<usize>,
    /// Frames that the source queue before the NIC may hold is unlimited; these bytes fit between it and the wire
    /// (NIC and MAC buffer behind the traffic manager, a FIFO that pause cannot pass). 0: none.
    pub transmit_fifo_bytes: u64,
    /// Bytes that the receive side may hold before frames are lost.
    pub receive_buffer_bytes: u64,
    /// The bus between host memory and NIC, if it is modelled.
    pub host_interface: Option<HostInterface>,
    /// How the NIC answers PAUSE, PFC, pause per output and credits.
    pub pause_response: PauseResponse,
    /// Time between the last bit of a pause frame and the pause taking effect (the frame on the wire ends first).
    pub pause_reaction: Duration,
}

/// What a NIC does with flow control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseResponse {
    /// Obeys them.
    Obey,
    /// Ignores them.
    Ignore,
}

/// A half-duplex-per-direction bus stage: transfers are cut into units that cannot be preempted.
#[derive(Clone, Debug, PartialEq)]
pub struct HostInterface {
    /// Payload rate of one direction after line coding, bit/s.
    pub rate_bps: u64,
    /// Bytes of framing added to each bus packet.
    pub packet_overhead_bytes: u32,
    /// Payload bytes of a bus packet.
    pub packet_payload_bytes: u32,
    /// Largest transfer that holds the bus without interruption (a read request or a segmented send), bytes.
    pub transfer_bytes_max: u32,
    /// Fixed latency of a transfer.
    pub latency: Duration,
    /// Rate at which the receiving host takes frames from the NIC, if slower than the bus.
    pub receive_rate_bps: Option<u64>,
}

/// A shared-memory switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Name.
    pub name: String,
    /// Policy of every port unless a link says otherwise; none: one FIFO a port.
    pub policy: Option<usize>,
    /// Packet memory, bytes.
    pub memory_bytes: u64,
    /// When a frame's memory is charged.
    pub charge: Charge,
    /// Memory is given out in cells of this size; 1: by the byte.
    pub cell_bytes: u32,
    /// Limit of each queue in the shared memory.
    pub threshold: Threshold,
    /// Flow control that the switch sends to its neighbours.
    pub flow_control: FlowControl,
    /// Time between the last bit of a pause frame and the pause taking effect at this switch's own transmitters.
    pub pause_reaction: Duration,
    /// From the last bit in (first bits, when cutting through) to the frame being ready at its egress.
    pub forwarding_delay: Duration,
    /// Cut-through where the ingress is at least as fast as the egress and the egress is idle.
    pub cut_through: bool,
}

/// When a stored frame's memory is charged; always once, and freed after the last copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// All of it when the first bit comes in.
    FirstBit,
    /// Cell by cell as it comes in.
    PerCell,
    /// All of it when the last bit is in.
    LastBit,
}

/// How much of the shared memory one queue may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// No limit but the memory itself.
    Shared,
    /// This many bytes.
    Static(u64),
    /// `alpha` times the free memory (Choudhury and Hahne, 1998), as numerator and denominator.
    Dynamic {
        /// Numerator.
        numerator: u32,
        /// Denominator, at least 1.
        denominator: u32,
    },
}

/// Flow control towards the neighbours.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowControl {
    /// Frames are dropped when the memory is full.
    None,
    /// IEEE 802.3x PAUSE (Annex 31B).
    Pause(PauseSettings),
    /// IEEE 802.1Qbb priority-based flow control for these priorities (bit mask).
    Pfc {
        /// Thresholds; high and low are per priority (and per ingress port where accounting says so).
        settings: PauseSettings,
        /// Priorities under flow control, one bit each.
        priorities: u8,
    },
    /// A pause frame that names outputs: sources keep a queue for each destination. Gates of the source's policy are
    /// output ports of the switch.
    PausePerOutput(PauseSettings),
    /// The switch grants credits to send to each output; a source without credit for an output keeps its frames.
    Credits {
        /// Bytes each source may have on the way or in the memory for one output.
        bytes_per_output: u64,
        /// Credits are returned in control frames of at least this many bytes of credit.
        return_bytes: u64,
    },
}

/// Thresholds and timing of pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseSettings {
    /// XOFF when occupancy rises above this, bytes.
    pub high_bytes: u64,
    /// XON when it falls below this, bytes.
    pub low_bytes: u64,
    /// What occupancy is.
    pub scope: PauseScope,
    /// Pause time sent, in quanta of 512 bit times (1 to 65535).
    pub quanta: u16,
    /// XOFF is sent again this long before it would run out; none: never refreshed.
    pub refresh_before: Option<Duration>,
}

/// Which occupancy the thresholds look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseScope {
    /// The whole memory; XOFF goes to every port.
    Total,
    /// What came in by each port; XOFF goes to that port.
    PerIngress,
}

/// A cable between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Name.
    pub name: String,
    /// The two ends.
    pub ends: [LinkEnd; 2],
    /// Line rate, bit/s.
    pub rate_bps: u64,
    /// Propagation delay one way (5 ns a metre unless the file says otherwise).
    pub delay: Duration,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkEnd {
    /// The node.
    pub node: NodeRef,
    /// Policy of the egress at this end, overriding the node's.
    pub policy: Option<usize>,
    /// Writes a pcapng capture of this end.
    pub capture: bool,
}

/// A host or a switch, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeRef {
    /// Index in [`Scenario::hosts`].
    Host(usize),
    /// Index in [`Scenario::switches`].
    Switch(usize),
}

/// Traffic that one or more hosts send.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Name.
    pub name: String,
    /// Sending hosts; each is an independent source with its own random stream.
    pub from: Vec<usize>,
    /// Where frames go.
    pub to: Destination,
    /// Traffic class that results are kept under (index in [`Scenario::classes`]).
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

/// TCP parameters of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSettings {
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// Congestion window at which slow start gives way to congestion avoidance before any loss, bytes; `u64::MAX`:
    /// slow start goes on until there is one (RFC 5681 3.1).
    pub slow_start_threshold_bytes: u64,
    /// By how much congestion avoidance widens the window in a round trip, bytes: at most one segment (RFC 5681 3.1).
    pub increase_bytes: u32,
    /// Largest congestion and send window, bytes.
    pub send_buffer_bytes: u64,
    /// Window the receiver offers, bytes.
    pub receive_buffer_bytes: u64,
    /// Least retransmission timeout (RFC 6298 says 1 s; Linux 200 ms).
    pub rto_min: Duration,
    /// Delayed acknowledgement: at most this long, at least every second segment; zero: every segment.
    pub delayed_ack: Duration,
    /// Bytes handed to the NIC in one piece and cut there (TSO); 0: one segment at a time.
    pub segmentation_bytes: u32,
    /// Reacts to ECN marks.
    pub ecn: bool,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Header bytes of time stamps and other options on every segment.
    pub option_bytes: u32,
}
