//! The keys of what carries messages, and of TCP wherever it appears.

use crate::diagnostic::Diagnostic;
use crate::document::{Node, Value};
use crate::reader::{At, BitRate, Definitions, Field, Fraction, Size, Time, Whole, choice, table};
use serde_json::json;

choice! {
    /// How the congestion window of TCP grows and shrinks.
    CongestionWord {
        /// RFC 5681 and RFC 6582.
        NewReno = "newreno",
        /// RFC 9438.
        Cubic = "cubic",
        /// RFC 8257.
        Dctcp = "dctcp",
    }
}

/// The keys of TCP as they stand in some table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpKeys<'a> {
    pub(crate) mss: Option<&'a At<Size>>,
    pub(crate) initial_window: Option<&'a At<Whole<1, 1000>>>,
    pub(crate) slow_start_threshold: Option<&'a At<Size>>,
    pub(crate) increase: Option<&'a At<Size>>,
    pub(crate) send_buffer: Option<&'a At<Size>>,
    pub(crate) receive_buffer: Option<&'a At<Size>>,
    pub(crate) rto_min: Option<&'a At<Time>>,
    pub(crate) delayed_ack: Option<&'a At<Time>>,
    pub(crate) segmentation: Option<&'a At<Size>>,
    pub(crate) ecn: Option<&'a At<bool>>,
    pub(crate) sack: Option<&'a At<bool>>,
    pub(crate) options: Option<&'a At<Size>>,
    pub(crate) congestion: Option<&'a At<CongestionWord>>,
    pub(crate) pacing: Option<&'a At<bool>>,
    pub(crate) nagle: Option<&'a At<bool>>,
    pub(crate) window_scaling: Option<&'a At<bool>>,
}

/// A table with the keys of TCP after those of its own.
macro_rules! tcp_table {
    ($(#[doc = $doc:literal])* $name:ident { $($own:tt)* }) => {
        $crate::reader::table! {
            $(#[doc = $doc])*
            $name {
                $($own)*
                /// Payload of a full segment; 1460B less `options` unless given.
                mss: $crate::reader::Size,
                /// Initial window in segments; 10 unless given (RFC 6928).
                initial_window: $crate::reader::Whole<1, 1000>,
                /// Slow start ends at this window; only at a loss unless given.
                slow_start_threshold: $crate::reader::Size,
                /// What congestion avoidance adds in a round trip; one segment unless given, which is the most (RFC 5681).
                increase: $crate::reader::Size,
                /// Largest send window; 4MiB unless given.
                send_buffer: $crate::reader::Size,
                /// Window that the receiver offers; 6MiB unless given.
                receive_buffer: $crate::reader::Size,
                /// Least retransmission timeout; 200ms unless given.
                rto_min: $crate::reader::Time,
                /// Longest delay of an acknowledgement; 40ms unless given, 0s for none.
                delayed_ack: $crate::reader::Time,
                /// Bytes handed to the NIC in one piece; 64KiB unless given, 0B for one segment at a time.
                segmentation: $crate::reader::Size,
                /// Reacts to ECN marks; DCTCP always does.
                ecn: bool,
                /// Selective acknowledgements; true unless given.
                sack: bool,
                /// Options on every segment; 0B unless given, 12B with time stamps.
                options: $crate::reader::Size,
                /// Law of the congestion window; "newreno" unless given.
                congestion: $crate::syntax::transport::CongestionWord,
                /// Segments are spread over the round trip; false unless given.
                pacing: bool,
                /// A short segment waits while anything is unacknowledged (RFC 9293 3.7.4); false unless given.
                nagle: bool,
                /// Windows above 65,535 B (RFC 7323); true unless given.
                window_scaling: bool,
            }
        }
        impl $name {
            pub(crate) fn tcp(&self) -> $crate::syntax::transport::TcpKeys<'_> {
                $crate::syntax::transport::TcpKeys {
                    mss: self.mss.as_ref(),
                    initial_window: self.initial_window.as_ref(),
                    slow_start_threshold: self.slow_start_threshold.as_ref(),
                    increase: self.increase.as_ref(),
                    send_buffer: self.send_buffer.as_ref(),
                    receive_buffer: self.receive_buffer.as_ref(),
                    rto_min: self.rto_min.as_ref(),
                    delayed_ack: self.delayed_ack.as_ref(),
                    segmentation: self.segmentation.as_ref(),
                    ecn: self.ecn.as_ref(),
                    sack: self.sack.as_ref(),
                    options: self.options.as_ref(),
                    congestion: self.congestion.as_ref(),
                    pacing: self.pacing.as_ref(),
                    nagle: self.nagle.as_ref(),
                    window_scaling: self.window_scaling.as_ref(),
                }
            }
        }
    };
}
pub(crate) use tcp_table;

tcp_table! {
    /// A TCP connection between each pair of hosts.
    TcpText {}
}
table! {
    /// UDP datagrams; what is longer than the MTU goes out as IP fragments.
    UdpText {
        /// Bytes of an IP packet; 1500B unless given.
        mtu: Size,
    }
}
table! {
    /// DCQCN; what is not given is as in Zhu et al. (SIGCOMM 2015), the last three excepted, which they leave open.
    DcqcnText {
        /// Gain of the estimate alpha; 1/256 unless given.
        gain: Fraction,
        /// Least time between two congestion notification packets of a flow; 50us unless given.
        notification_interval: Time,
        /// Alpha decays after this long without a notification; 55us unless given.
        alpha_timer: Time,
        /// The rate timer; 55us unless given.
        rate_timer: Time,
        /// The byte counter; 10MB unless given.
        byte_counter: Size,
        /// Stages of fast recovery; 5 unless given.
        fast_recovery: Whole<1, 1000>,
        /// Step of additive increase; 40Mbit/s unless given.
        additive: BitRate,
        /// Step of hyper increase; 400Mbit/s unless given.
        hyper: BitRate,
        /// Least rate; 10Mbit/s unless given.
        rate_min: BitRate,
    }
}
table! {
    /// RoCEv2, reliable connection.
    RoceText {
        /// Payload of a packet: 256B, 512B, 1024B, 2048B or 4096B; 1024B unless given.
        mtu: Size,
        /// Bytes that may be unacknowledged; 1MiB unless given.
        window: Size,
        /// Time after which unacknowledged packets are sent again; 67.108864ms (4.096 us times 2^14) unless given.
        timeout: Time,
        /// Rate control by congestion notifications; without this table the queue pair sends at line rate.
        dcqcn: DcqcnText,
    }
}
table! {
    /// What carries messages: exactly one of these tables.
    TransportTable {
        /// UDP.
        udp: UdpText,
        /// TCP.
        tcp: TcpText,
        /// RDMA over TCP; the keys are those of its TCP connection.
        iwarp: TcpText,
        /// RDMA over UDP.
        roce: RoceText,
    }
}
choice! {
    /// What carries messages, with the numbers that it has unless they are given.
    TransportWord {
        /// Datagrams.
        Udp = "udp",
        /// A TCP connection between each pair of hosts.
        Tcp = "tcp",
        /// RDMA over TCP.
        Iwarp = "iwarp",
        /// RDMA over UDP, without rate control.
        Roce = "roce",
    }
}

/// What carries messages: a word, or a table with numbers.
#[derive(Clone, Debug)]
pub(crate) enum TransportText {
    Word(TransportWord),
    Table(Box<TransportTable>),
}

impl Field for TransportText {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => TransportTable::read(node, findings).map(|t| Self::Table(Box::new(t))),
            _ => TransportWord::read(node, findings).map(Self::Word),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [TransportWord::schema(definitions), TransportTable::schema(definitions)] })
    }
}
