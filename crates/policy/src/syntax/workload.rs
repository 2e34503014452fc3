//! The keys of a workload: who sends, where to, and one table for each kind of traffic.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{
    Definitions, Field, Fraction, FrameRate, OneOrMany, Size, Time, Whole, choice, quantity, table,
};
use crate::syntax::law::{ByteLaw, TimeLaw};
use crate::syntax::transport::{TransportText, tcp_table};
use serde_json::json;

table! {
    /// What one or more hosts send: exactly one of the tables at the end.
    WorkloadText {
        /// Sending hosts: names, groups or patterns.
        from: OneOrMany<String> = required,
        /// Where frames go: a host, "others", { uniform = [...] }, { skewed = ... }, { multicast = [...] }.
        to: DestinationText = required,
        /// Traffic class of the results; the workload's name unless given. With `pcp = "uniform"` it stands for eight,
        /// `NAME/pcp0` to `NAME/pcp7`.
        class: String,
        /// VLAN identifier.
        vlan: Whole<1, 4094>,
        /// Priority code point from 0 to 7, or "uniform".
        pcp: PcpWord,
        /// Differentiated services code point.
        dscp: crate::syntax::matches::DscpSet,
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
        /// Messages of any size over a transport.
        messages: MessagesText,
        /// Clients that write and read blocks on storage nodes.
        storage: StorageText,
        /// Event fragments from every sender to builders in turn.
        event_builder: EventBuilderText,
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
        /// Frames that a flow hands over at once; 1 unless given. The rate stays, and the gap grows with it.
        burst: Whole<1, 10_000>,
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
tcp_table! {
    /// TCP connections.
    TcpBulkText {
        /// Connections from each sender; 1 unless given.
        connections: Whole<1, 1_000_000>,
        /// Bytes that each connection sends; without end unless given.
        bytes: Size,
    }
}
table! {
    /// Connections that write the next message as soon as the socket takes it.
    StreamText {
        /// Connections from each sender; 1 unless given.
        connections: Whole<1, 100_000>,
    }
}
table! {
    /// A message follows each answer.
    ClosedLoopText {
        /// Messages of each sender in flight; 1 unless given.
        outstanding: Whole<1, 1_000_000>,
    }
}
table! {
    /// Steps of a parallel program: each sender sends a message to each of its neighbours, waits for one from each of
    /// them, computes, and begins anew.
    ExchangeText {
        /// Neighbours to either side in the ring of the senders; everybody else unless given.
        neighbours: Whole<1, 10_000>,
        /// Time from having every message to sending the next; 0s unless given.
        compute: Time,
    }
}
table! {
    /// Messages of any size over a transport: exactly one of `stream`, `closed_loop`, `exchange` and `rate`.
    MessagesText {
        /// What carries them: "udp", "tcp", "iwarp", "roce", or a table with numbers such as { tcp = { mss = "8960B" } }.
        transport: TransportText = required,
        /// Payload bytes of a message.
        message: ByteLaw = required,
        /// Payload bytes of the answer to each; none unless given.
        reply: Size,
        /// The next message as soon as the socket takes it.
        stream: StreamText,
        /// The next message after an answer.
        closed_loop: ClosedLoopText,
        /// One message to each neighbour, the next when one from each has come; `to` is "others".
        exchange: ExchangeText,
        /// Messages a second of each sender, whatever became of those before.
        rate: FrameRate,
        /// How the instants of `rate` are spaced; "poisson" unless given.
        arrivals: ArrivalWord,
    }
}
choice! {
    /// Where the copies of a block lie.
    PlacementWord {
        /// On nodes drawn at random, the client's own among them where it is one.
        Any = "any",
        /// One on the client's own node, the rest drawn from the others.
        LocalFirst = "local-first",
    }
}
table! {
    /// Clients on every host of `from` that write and read blocks on the hosts of `to` ("others": on all of `from`), the
    /// next operation of each when one is complete.
    StorageText {
        /// What carries them: "tcp", "iwarp", "roce", or a table with numbers.
        transport: TransportText = required,
        /// Payload of a block.
        block: Size = required,
        /// Clients on each host; 1 unless given.
        clients: Whole<1, 100_000>,
        /// Operations that each client has outstanding; 1 unless given.
        outstanding: Whole<1, 10_000>,
        /// Copies of each block, the local one included; 1 unless given.
        copies: Whole<1, 1000>,
        /// Connections from each client's host to each other node; operations take turns on them; 1 unless given.
        connections: Whole<1, 1000>,
        /// Where the copies lie; "any" unless given.
        placement: PlacementWord,
        /// Fraction of the operations that write, the rest read one copy; 100% unless given.
        writes: Fraction,
        /// Time in which a node stores or fetches a block; 0s unless given.
        service: TimeLaw,
    }
}
table! {
    /// Time slots in which each source sends to one builder.
    BarrelShifterText {
        /// Length of a slot.
        slot: Time = required,
    }
}
table! {
    /// Builders that ask for fragments.
    PullText {
        /// Fragments that a builder has asked for and not yet got; 1 unless given.
        fragments_outstanding: Whole<1, 1_000_000>,
    }
}
table! {
    /// Fragments of events from every host of `from` to the one host of `to` that an event is assigned to, in turn.
    EventBuilderText {
        /// What carries them: "udp", "tcp", "iwarp", "roce", or a table with numbers.
        transport: TransportText = required,
        /// Payload bytes of a fragment.
        fragment: ByteLaw = required,
        /// Events a second; the next as soon as `events_in_flight` allows unless given.
        rate: FrameRate,
        /// Events that may be incomplete at a time; 16 unless given.
        events_in_flight: Whole<1, 1_000_000>,
        /// Sources take turns by time.
        barrel_shifter: BarrelShifterText,
        /// Builders ask for fragments.
        pull: PullText,
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
