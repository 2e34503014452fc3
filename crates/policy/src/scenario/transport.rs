//! Transports: TCP and its laws, RDMA.

use clearway_core::Duration;

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
    /// How the congestion window grows and shrinks.
    pub congestion: CongestionLaw,
    /// Segments are spread over the round trip rather than sent in bursts.
    pub pacing: bool,
    /// A short segment waits while anything is unacknowledged (RFC 9293 3.7.4).
    pub nagle: bool,
    /// Windows above 65,535 B can be offered (RFC 7323 2).
    pub window_scaling: bool,
}

impl Default for TcpSettings {
    /// What a scenario file means where it says nothing.
    fn default() -> Self {
        Self {
            mss_bytes: 1460,
            initial_window_segments: 10,
            slow_start_threshold_bytes: u64::MAX,
            increase_bytes: 1460,
            send_buffer_bytes: 4 << 20,
            receive_buffer_bytes: 6 << 20,
            rto_min: Duration::from_ms(200),
            delayed_ack: Duration::from_ms(40),
            segmentation_bytes: 64 << 10,
            ecn: false,
            sack: true,
            option_bytes: 0,
            congestion: CongestionLaw::NewReno,
            pacing: false,
            nagle: false,
            window_scaling: true,
        }
    }
}

/// A law of congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionLaw {
    /// RFC 5681 and RFC 6582.
    #[default]
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp,
}

/// What carries messages from one host to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MessageTransport {
    /// UDP datagrams; IP cuts what is longer than the MTU into fragments, and a lost fragment loses the datagram.
    Udp {
        /// Bytes of an IP packet.
        mtu_bytes: u32,
    },
    /// A TCP connection for each pair of hosts (and client).
    Tcp(TcpSettings),
    /// RDMAP over DDP over MPA over TCP (RFC 5040, 5041, 5044): writes that cost the receiver's CPU nothing.
    Iwarp(TcpSettings),
    /// InfiniBand transport over UDP port 4791, reliable connection.
    Roce(RoceSettings),
}

impl MessageTransport {
    /// The longest frame that it sends, untagged: L2 bytes with FCS.
    #[must_use]
    pub const fn frame_bytes_max(&self) -> u32 {
        // Ethernet header and FCS 18, IPv4 20; TCP 20; UDP 8, BTH 12, RETH 16, ICRC 4.
        match self {
            Self::Udp { mtu_bytes } => 18 + *mtu_bytes,
            Self::Tcp(tcp) | Self::Iwarp(tcp) => tcp.mss_bytes + tcp.option_bytes + 58,
            Self::Roce(roce) => roce.mtu_bytes + 78,
        }
    }

    /// Payload bytes of a full frame.
    #[must_use]
    pub const fn frame_payload_bytes(&self) -> u32 {
        match self {
            Self::Udp { mtu_bytes } => mtu_bytes.saturating_sub(20),
            Self::Tcp(tcp) | Self::Iwarp(tcp) => tcp.mss_bytes,
            Self::Roce(roce) => roce.mtu_bytes,
        }
    }
}

/// Parameters of a RoCEv2 queue pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoceSettings {
    /// Path MTU: payload bytes of a packet.
    pub mtu_bytes: u32,
    /// Bytes that may be unacknowledged.
    pub window_bytes: u64,
    /// Time after which unacknowledged packets are sent again.
    pub timeout: Duration,
    /// Rate control; none: always at line rate.
    pub dcqcn: Option<DcqcnSettings>,
}

/// Parameters of DCQCN (Zhu et al., SIGCOMM 2015, section 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnSettings {
    /// Gain of the estimate alpha.
    pub gain: f64,
    /// Least time between two congestion notification packets of a flow.
    pub notification_interval: Duration,
    /// Alpha decays after this long without a notification.
    pub alpha_timer: Duration,
    /// The rate timer.
    pub rate_timer: Duration,
    /// The byte counter.
    pub byte_counter: u64,
    /// Stages of fast recovery.
    pub fast_recovery: u32,
    /// Step of additive increase, bit/s.
    pub additive_bps: u64,
    /// Step of hyper increase, bit/s.
    pub hyper_bps: u64,
    /// Least rate, bit/s.
    pub rate_min_bps: u64,
}
