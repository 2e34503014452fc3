//! The keys of a scenario file. What they mean together is decided in `build`.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::quantity::Dimension;
use crate::reader::{
    At, BitRate, Definitions, Field, Fraction, Length, Many, Named, OneOrMany, Size, Time, Whole, choice,
    quantity, read_quantity, table, wrong_kind,
};
use crate::scenario::Law;
use crate::syntax::policy::PolicyText;
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
        /// Clock offset in parts per million.
        clock_ppm: Whole<-1000, 1000>,
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
        priorities: crate::syntax::policy::PcpSet = required,
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
        /// Least credit that a control frame returns; one longest frame unless given.
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

table! {
    /// What one or more hosts send: exactly one of the tables at the end.
    WorkloadText {
        /// Sending hosts: names, groups or patterns.
        from: OneOrMany<String> = required,
        /// Where frames go: a host, "others", { uniform = [...] }, { skewed = ... }, { multicast = [...] }.
        to: DestinationText = required,
        /// Traffic class of the results; the workload's name unless given.
        class: String,
        /// VLAN identifier.
        vlan: Whole<1, 4094>,
        /// Priority code point from 0 to 7, or "uniform".
        pcp: PcpWord,
        /// Differentiated services code point.
        dscp: crate::syntax::policy::DscpSet,
        /// Destination port.
        dst_port: Whole<1, 65535>,
        /// Source port.
        src_port: Whole<1, 65535>,
        /// First instant; 0 unless given.
        start: Time,
        /// Last instant; the end of the run unless given.
        stop: Time,
        /// Bursts of back-to-back frames to one destination each.
        bursty: BurstyText,
        /// Poisson arrivals.
        poisson: PoissonText,
        /// Constant rate.
        constant_rate: ConstantRateText,
        /// Constant rate in on periods.
        on_off: OnOffText,
        /// A request, its reply, the next request.
        request_response: RequestResponseText,
        /// Requests at given instants.
        open_loop: OpenLoopText,
        /// TCP connections that always have something to send.
        tcp_bulk: TcpBulkText,
        /// A capture file.
        replay: ReplayText,
    }
}

/// A priority, or all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PcpWord {
    One(u8),
    Uniform,
}

impl Field for PcpWord {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "uniform" => Some(Self::Uniform),
            _ => {
                let n = Whole::<0, 7>::read(node, findings)?;
                u8::try_from(n.0).ok().map(Self::One)
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [Whole::<0, 7>::schema(definitions), { "const": "uniform" }] })
    }
}

/// Where frames go.
#[derive(Clone, Debug)]
pub(crate) enum DestinationText {
    /// A name, or a list of names: uniform over them.
    Names(OneOrMany<String>),
    Table(Box<DestinationTable>),
}

table! {
    /// Where frames go: exactly one of `uniform`, `skewed` and `multicast`.
    DestinationTable {
        /// Uniform over these, the sender left out.
        uniform: OneOrMany<String>,
        /// A favoured host; the others get the rest.
        skewed: String,
        /// How often a draw is redirected to the favoured host.
        probability: Fraction,
        /// All of these get a copy.
        multicast: OneOrMany<String>,
    }
}

impl Field for DestinationText {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => DestinationTable::read(node, findings).map(|t| Self::Table(Box::new(t))),
            _ => OneOrMany::read(node, findings).map(Self::Names),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [OneOrMany::<String>::schema(definitions), DestinationTable::schema(definitions)] })
    }
}

table! {
    /// Bursts of back-to-back frames to one destination each, with exponential gaps.
    BurstyText {
        /// Bytes of a burst.
        burst: ByteLaw = required,
        /// Bytes of a frame with FCS.
        frame: ByteLaw = required,
        /// Mean load as a fraction of the line, preamble and gap included.
        load: Fraction = required,
        /// The source stops at a burst that the NIC cannot take.
        blocking: bool,
    }
}
quantity! {
    /// Frames or bits a second.
    SendRate { FrameRate, BitRate }
}
table! {
    /// Poisson arrivals.
    PoissonText {
        /// Bytes of a frame with FCS.
        frame: ByteLaw = required,
        /// Mean rate: frames a second, or bits a second on the wire (L1).
        rate: SendRate = required,
    }
}
table! {
    /// Evenly spaced frames.
    ConstantRateText {
        /// Bytes of a frame with FCS.
        frame: ByteLaw = required,
        /// Rate of each flow: bits a second on the wire (L1), or frames a second.
        rate: SendRate = required,
        /// Flows of each sender; 1 unless given.
        flows: Whole<1, 10_000_000>,
    }
}
table! {
    /// Evenly spaced frames in on periods.
    OnOffText {
        /// Bytes of a frame with FCS.
        frame: ByteLaw = required,
        /// Rate while on: bits a second on the wire (L1), or frames a second.
        rate: SendRate = required,
        /// Length of on periods.
        on: TimeLaw = required,
        /// Length of off periods.
        off: TimeLaw = required,
    }
}
table! {
    /// A closed loop of requests.
    RequestResponseText {
        /// Bytes of a request frame with FCS.
        request: Size = required,
        /// Bytes of a reply frame with FCS.
        response: Size = required,
        /// Requests in flight; 1 unless given.
        outstanding: Whole<1, 1_000_000>,
    }
}
choice! {
    /// How instants are spaced.
    ArrivalWord {
        /// Exponential gaps.
        Poisson = "poisson",
        /// Equal gaps.
        Even = "even",
    }
}
table! {
    /// Requests at given instants.
    OpenLoopText {
        /// Bytes of a request frame with FCS.
        request: Size = required,
        /// Bytes of a reply frame with FCS; no reply unless given.
        response: Size,
        /// Requests a second.
        rate: SendRate = required,
        /// How instants are spaced; "poisson" unless given.
        arrivals: ArrivalWord,
    }
}
table! {
    /// TCP connections.
    TcpBulkText {
        /// Connections from each sender; 1 unless given.
        connections: Whole<1, 1_000_000>,
        /// Bytes that each connection sends; without end unless given.
        bytes: Size,
        /// Payload of a full segment; 1460B less `options` unless given.
        mss: Size,
        /// Initial window in segments; 10 unless given (RFC 6928).
        initial_window: Whole<1, 1000>,
        /// Largest send window; 4MiB unless given.
        send_buffer: Size,
        /// Window that the receiver offers; 6MiB unless given.
        receive_buffer: Size,
        /// Least retransmission timeout; 200ms unless given.
        rto_min: Time,
        /// Longest delay of an acknowledgement; 40ms unless given, 0s for none.
        delayed_ack: Time,
        /// Bytes handed to the NIC in one piece; 64KiB unless given, 0B for one segment at a time.
        segmentation: Size,
        /// Reacts to ECN marks.
        ecn: bool,
        /// Selective acknowledgements; true unless given.
        sack: bool,
        /// Options on every segment; 0B unless given, 12B with time stamps.
        options: Size,
    }
}
table! {
    /// A capture file played at its own times.
    ReplayText {
        /// Path of a pcap or pcapng file.
        file: String = required,
        /// The file's frames end with their FCS; false unless given.
        with_fcs: bool,
    }
}

/// A law over sizes.
#[derive(Clone, Debug)]
pub(crate) struct ByteLaw(pub(crate) Law);
/// A law over times, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct TimeLaw(pub(crate) Law);

fn law(node: &Node, dimension: Dimension, findings: &mut Vec<Diagnostic>) -> Option<Law> {
    let scale = if dimension == Dimension::Time { 1e-12 } else { 1.0 };
    let one = |node: &Node, findings: &mut Vec<Diagnostic>| {
        read_quantity(node, &[dimension], findings).map(|q| q.value as f64 * scale)
    };
    let table = match &node.value {
        Value::Text(_) | Value::Integer(_) => return one(node, findings).map(Law::Constant),
        Value::Table(entries) => entries,
        _ => {
            findings.push(wrong_kind(node, LAW_EXPECTED));
            return None;
        }
    };
    let words = [
        "constant",
        "uniform",
        "exponential",
        "geometric",
        "pareto",
        "empirical",
    ];
    let [entry] = table.as_slice() else {
        findings.push(
            node.place
                .error("law", "a law has exactly one key")
                .expecting(LAW_EXPECTED),
        );
        return None;
    };
    let list = |least: usize, findings: &mut Vec<Diagnostic>| match &entry.node.value {
        Value::Array(items) if items.len() >= least && items.len() <= 100_000 => Some(items.clone()),
        _ => {
            findings.push(wrong_kind(&entry.node, LAW_EXPECTED));
            None
        }
    };
    let law = match entry.key.as_str() {
        "constant" => Law::Constant(one(&entry.node, findings)?),
        "exponential" => Law::Exponential(one(&entry.node, findings)?),
        "geometric" if dimension == Dimension::Size => Law::Geometric(one(&entry.node, findings)?),
        "geometric" => {
            findings.push(entry.key_place.error(
                "law",
                "a geometric law is over whole numbers: times take exponential",
            ));
            return None;
        }
        "uniform" => {
            let items = list(2, findings)?;
            let [low, high] = items.as_slice() else {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "uniform takes two values")
                        .expecting(LAW_EXPECTED),
                );
                return None;
            };
            let (low, high) = (one(low, findings)?, one(high, findings)?);
            if low > high {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "the first value is above the second"),
                );
                return None;
            }
            Law::Uniform(low, high)
        }
        "pareto" => pareto(&entry.node, dimension, scale, findings)?,
        "empirical" => {
            let mut pairs = Vec::new();
            for item in list(1, findings)? {
                let pair = match &item.value {
                    Value::Array(pair) if pair.len() == 2 => pair.clone(),
                    _ => {
                        findings.push(wrong_kind(&item, "a value and its weight, such as [\"64B\", 7]"));
                        return None;
                    }
                };
                pairs.push((one(&pair[0], findings)?, Fraction::read(&pair[1], findings)?.0));
            }
            if pairs.iter().map(|(_, weight)| *weight).sum::<f64>() <= 0.0 {
                findings.push(
                    entry
                        .node
                        .place
                        .error("law", "all weights are zero")
                        .expecting("a weight above 0"),
                );
                return None;
            }
            Law::Empirical(pairs)
        }
        word => {
            findings.push(
                entry
                    .key_place
                    .error("unknown-key", format!("the law `{word}` is not known"))
                    .among(word, words),
            );
            return None;
        }
    };
    Some(law)
}

fn pareto(node: &Node, dimension: Dimension, scale: f64, findings: &mut Vec<Diagnostic>) -> Option<Law> {
    let Value::Table(entries) = &node.value else {
        findings.push(wrong_kind(node, LAW_EXPECTED));
        return None;
    };
    let (mut mean, mut shape, mut max) = (None, None, None);
    for entry in entries {
        let quantity = |findings: &mut Vec<Diagnostic>| {
            read_quantity(&entry.node, &[dimension], findings).map(|q| q.value as f64 * scale)
        };
        match entry.key.as_str() {
            "mean" => mean = quantity(findings),
            "max" => max = quantity(findings),
            "shape" => shape = Fraction::read(&entry.node, findings).map(|x| x.0),
            key => findings.push(crate::reader::unknown_key(
                &entry.key_place,
                key,
                &["mean", "shape", "max"],
            )),
        }
    }
    match (mean, shape, max) {
        (Some(mean), Some(shape), Some(max)) if shape > 1.0 && max >= mean => {
            Some(Law::Pareto { mean, shape, max })
        }
        _ => {
            findings.push(node.place.error(
                "law",
                "a pareto law needs mean, shape above 1, and max not below mean",
            ));
            None
        }
    }
}

const LAW_EXPECTED: &str = "a value such as \"1518B\", or one of { constant = \"1518B\" }, { uniform = [\"64B\", \"1518B\"] }, \
{ exponential = \"9000B\" }, { geometric = \"9000B\" }, { pareto = { mean = \"9kB\", shape = 1.3, max = \"1MB\" } }, \
{ empirical = [[\"64B\", 7], [\"1518B\", 4]] }";

fn law_schema(dimension: Dimension) -> serde_json::Value {
    let value = crate::reader::quantity_schema(&[dimension]);
    let only = |key: &str, schema: serde_json::Value| json!({ "type": "object", "properties": { key: schema }, "required": [key], "additionalProperties": false });
    let mut any = vec![
        value.clone(),
        only("constant", value.clone()),
        only("exponential", value.clone()),
        only(
            "uniform",
            json!({ "type": "array", "items": value, "minItems": 2, "maxItems": 2 }),
        ),
        only(
            "pareto",
            json!({
                "type": "object",
                "properties": { "mean": value, "shape": { "type": "number", "exclusiveMinimum": 1 }, "max": value },
                "required": ["mean", "shape", "max"],
                "additionalProperties": false,
            }),
        ),
        only(
            "empirical",
            json!({ "type": "array", "minItems": 1, "items": {
                "type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [value, { "type": "number", "minimum": 0 }],
            } }),
        ),
    ];
    if dimension == Dimension::Size {
        any.push(only("geometric", crate::reader::quantity_schema(&[dimension])));
    }
    json!({ "anyOf": any })
}

impl Field for ByteLaw {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        law(node, Dimension::Size, findings).map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        law_schema(Dimension::Size)
    }
}

impl Field for TimeLaw {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        law(node, Dimension::Time, findings).map(Self)
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        law_schema(Dimension::Time)
    }
}
