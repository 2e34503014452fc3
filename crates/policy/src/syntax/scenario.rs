//! The keys of a scenario file. What they mean together is decided in `build`.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{
    At, BitRate, Definitions, Field, Fraction, Length, Many, Named, OneOrMany, Size, Time, Whole, choice,
    table, wrong_kind,
};
use crate::syntax::action::ActionText;
use crate::syntax::policy::PolicyText;
use crate::syntax::stack::StackText;
use crate::syntax::workload::WorkloadText;
use serde_json::json;

table! {
    /// A scenario: hosts, switches, links, what is sent, and for how long.
    ScenarioText {
        /// Short name; the file's name without ending unless given.
        name: String,
        /// What it shows, in a sentence.
        title: String,
        /// The document that it comes from.
        cites: String,
        /// Simulated time.
        duration: Time = required,
        /// Measurements start here; 0 unless given.
        warmup: Time,
        /// Root seed; 1 unless given.
        seed: Whole<0, { i64::MAX }>,
        /// Time between two samples of queues and memory; no time series unless given.
        sample_interval: Time,
        /// Latency histograms per flow as well.
        flow_histograms: bool,
        /// How evenly the frames of each flow arrive: jitter and delay variation.
        flow_jitter: bool,
        /// Traffic classes in the order of reports; those that workloads name unless given.
        classes: Many<String>,
        /// Policies by name.
        policy: Named<PolicyRef>,
        /// Hosts, or groups of them.
        host: Named<HostText> = required,
        /// Switches, or groups of them.
        switch: Named<SwitchText>,
        /// Links, or groups of them.
        link: Named<LinkText> = required,
        /// Workloads.
        workload: Named<WorkloadText>,
        /// What changes while it runs.
        at: Named<ActionText>,
    }
}

/// A policy: the name of one, the path of a file, or the policy itself.
#[derive(Clone, Debug)]
pub(crate) enum PolicyRef {
    Text(String),
    Inline(Box<PolicyText>),
}

impl Field for PolicyRef {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(Self::Text(text.clone())),
            Value::Table(_) => PolicyText::read(node, findings).map(|p| Self::Inline(Box::new(p))),
            _ => {
                findings.push(wrong_kind(
                    node,
                    "the name of a policy, the path of its file, or a table with it",
                ));
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [{ "type": "string" }, PolicyText::schema(definitions)] })
    }
}

table! {
    /// A host, or `count` of them, or a name pattern such as `h{1..16}`.
    HostText {
        /// Makes a group: the hosts are called by the name and a number from 1.
        count: Whole<1, 100_000>,
        /// From the application's send to the NIC, and from the NIC to the application.
        stack_delay: Time,
        /// From the application's send to the NIC.
        stack_delay_tx: Time,
        /// From the NIC to the application.
        stack_delay_rx: Time,
        /// Mean of an exponential time on top of either delay; 0 unless given.
        stack_jitter: Time,
        /// Clock offset in parts per million.
        clock_ppm: Whole<-1000, 1000>,
        /// Path of a device file, whose tables this host has where it has none of its own.
        device: String,
        /// Its processors and what work costs on them; the fixed delays alone unless given.
        stack: StackText,
        /// Its network interface.
        nic: NicText,
    }
}

choice! {
    /// What a NIC does with flow control frames.
    PauseWord {
        /// Obeys them.
        Obey = "obey",
        /// Ignores them.
        Ignore = "ignore",
    }
}

table! {
    /// A network interface.
    NicText {
        /// Policy of the transmit side; one FIFO unless given.
        policy: PolicyRef,
        /// Policy of the receive side: its classes are the receive channels.
        receive_policy: PolicyRef,
        /// Bytes behind the traffic manager that a pause does not hold; 0 unless given.
        transmit_fifo: Size,
        /// Bytes that the receive side may hold; 512KiB unless given.
        receive_buffer: Size,
        /// How it answers PAUSE, PFC, pause per output and credits; "obey" unless given.
        pause: PauseWord,
        /// From the last bit of a pause frame to the pause; 0 unless given.
        pause_reaction: Time,
        /// The bus between host memory and NIC.
        host_interface: HostInterfaceText,
    }
}

table! {
    /// A bus whose transfers cannot be preempted.
    HostInterfaceText {
        /// Payload rate of one direction after line coding.
        rate: BitRate = required,
        /// Framing of each bus packet; 24B unless given.
        packet_overhead: Size,
        /// Payload of a bus packet; 256B unless given.
        packet_payload: Size,
        /// Largest transfer that holds the bus; 4096B unless given.
        transfer_max: Size,
        /// Fixed latency of a transfer; 0 unless given.
        latency: Time,
        /// Rate at which the host takes frames from the NIC, if slower.
        receive_rate: BitRate,
    }
}

choice! {
    /// When memory is charged.
    ChargeWord {
        /// At the first bit.
        FirstBit = "first-bit",
        /// Cell by cell.
        PerCell = "per-cell",
        /// At the last bit.
        LastBit = "last-bit",
    }
}

table! {
    /// A shared-memory switch.
    SwitchText {
        /// Makes a group: the switches are called by the name and a number from 1.
        count: Whole<1, 10_000>,
        /// Policy of every port; one FIFO unless given.
        policy: PolicyRef,
        /// Packet memory.
        memory: Size = required,
        /// When a frame's memory is charged; "last-bit" unless given.
        charge: ChargeWord,
        /// Memory is given out in pieces of this size; 1B unless given.
        cell: Size,
        /// Limit of each queue: "shared", a size, or { alpha = 0.5 }; "shared" unless given.
        threshold: ThresholdText,
        /// Flow control towards the neighbours; none unless given.
        flow_control: FlowControlText,
        /// From the last bit of a pause frame to the pause of this switch's transmitters; 0 unless given.
        pause_reaction: Time,
        /// From the last bit in to the frame being ready at its egress; 0 unless given.
        forwarding_delay: Time,
        /// Cuts through where the ingress is at least as fast as the egress.
        cut_through: bool,
    }
}

/// Limit of each queue in the shared memory.
#[derive(Clone, Debug)]
pub(crate) enum ThresholdText {
    Shared,
    Static(u64),
    Alpha(At<Fraction>),
}

table! {
    /// A dynamic threshold.
    AlphaTable {
        /// Factor on the free memory (Choudhury and Hahne, 1998).
        alpha: Fraction = required,
    }
}

impl Field for ThresholdText {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => AlphaTable::read(node, findings)?.alpha.map(Self::Alpha),
            Value::Text(text) if text == "shared" => Some(Self::Shared),
            _ => Size::read(node, findings).map(|size| Self::Static(size.0)),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [
            { "const": "shared" }, Size::schema(definitions), AlphaTable::schema(definitions),
        ] })
    }
}

table! {
    /// Flow control: exactly one of these.
    FlowControlText {
        /// IEEE 802.3x PAUSE.
        pause: PauseTable,
        /// Priority-based flow control.
        pfc: PfcTable,
        /// A pause frame that names outputs.
        pause_per_output: PauseTable,
        /// Credits to send to each output.
        credits: CreditTable,
    }
}

choice! {
    /// Which occupancy the thresholds look at.
    ScopeWord {
        /// The whole memory.
        Total = "total",
        /// What came in by each port.
        PerIngress = "per-ingress",
    }
}

table! {
    /// Thresholds and timing of pause.
    PauseTable {
        /// XOFF above this.
        high: Size = required,
        /// XON below this; 9/16 of `high` unless given.
        low: Size,
        /// Which occupancy; "total" unless given.
        scope: ScopeWord,
        /// Pause time sent, in quanta of 512 bit times; 65535 unless given.
        quanta: Whole<1, 65535>,
        /// XOFF is sent again this long before it would run out.
        refresh_before: Time,
    }
}

table! {
    /// Priority-based flow control.
    PfcTable {
        /// Priorities under flow control.
        priorities: crate::syntax::matches::PcpSet = required,
        /// XOFF above this, for each priority.
        high: Size = required,
        /// XON below this; 9/16 of `high` unless given.
        low: Size,
        /// Which occupancy; "per-ingress" unless given.
        scope: ScopeWord,
        /// Pause time sent, in quanta of 512 bit times; 65535 unless given.
        quanta: Whole<1, 65535>,
        /// XOFF is sent again this long before it would run out.
        refresh_before: Time,
    }
}

table! {
    /// Credits.
    CreditTable {
        /// Bytes that each source may have under way for one output.
        per_output: Size = required,
        /// Credit owed for one output from which on a control frame returns all that is owed; one longest frame unless given.
        return_min: Size,
    }
}

table! {
    /// A link, or one for each member of a group.
    LinkText {
        /// The two ends: names, groups or patterns. A group faces one node, or a group of the same size in order.
        ends: Many<String> = required,
        /// Line rate.
        rate: BitRate = required,
        /// Propagation delay one way.
        delay: Time,
        /// Length of the cable at 5 ns a metre; 0 unless given.
        length: Length,
        /// Policy of the egress at the first end.
        policy_a: PolicyRef,
        /// Policy of the egress at the second end.
        policy_b: PolicyRef,
        /// Writes a capture of these ends: "a", "b" or both in a list.
        capture: OneOrMany<EndWord>,
    }
}

choice! {
    /// An end of a link.
    EndWord {
        /// The first.
        A = "a",
        /// The second.
        B = "b",
    }
}
