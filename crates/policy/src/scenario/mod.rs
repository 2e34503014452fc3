//! A validated scenario: hosts, switches, links, workloads. Plain integer data, the input of the simulator.
//!
//! Names are resolved to indices, units to integers (bytes, bit/s, picoseconds), policies to plans. Whatever the
//! text may leave out has its default here already.

mod action;
mod stack;
mod transport;
mod workload;

pub use action::{Action, Scheduled};
pub use stack::{Coalescing, Costs, Cpu, Stack, StackKind, Wake};
pub use transport::{CongestionLaw, DcqcnSettings, MessageTransport, RoceSettings, TcpSettings};
pub use workload::{
    Destination, EventControl, Law, Marks, MessagePattern, Placement, ReplayFrame, Workload, WorkloadKind,
};

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
    /// Jitter and delay variation of each flow.
    pub flow_jitter: bool,
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
    /// What is changed while it runs, in the order of the file.
    pub actions: Vec<Scheduled>,
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
    /// Processors, interrupts and receive rings; none: the fixed delays alone.
    pub stack: Option<Box<Stack>>,
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
