//! The fields of a frame that a classifier may look at, and the identity of a flow.
//!
//! The caller parses the frame; this crate sees only the values.

/// The header fields of one frame. Fields that a frame does not have are zero; `ip_version` says whether the IP
/// fields are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Source IP address; IPv4 in the low 32 bits.
    pub src_ip: u128,
    /// Destination IP address; IPv4 in the low 32 bits.
    pub dst_ip: u128,
    /// Destination MAC address in the low 48 bits.
    pub dst_mac: u64,
    /// Source MAC address in the low 48 bits.
    pub src_mac: u64,
    /// EtherType after any VLAN tag.
    pub ethertype: u16,
    /// VLAN identifier, 1 to 4094; 0 where the frame is untagged or priority-tagged.
    pub vlan_id: u16,
    /// Priority code point, 0 to 7; 0 where the frame is untagged.
    pub pcp: u8,
    /// True where the frame carries a VLAN tag.
    pub tagged: bool,
    /// 4, 6, or 0 where the frame carries no IP packet.
    pub ip_version: u8,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// IP protocol number.
    pub protocol: u8,
    /// Source port of TCP or UDP.
    pub src_port: u16,
    /// Destination port of TCP or UDP.
    pub dst_port: u16,
}

/// The identity of a flow: the five-tuple of an IP packet, or addresses, VLAN and EtherType of any other frame.
///
/// Forty bytes, because a manager keeps one for each of tens of thousands of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowId([u64; 5]);

impl FlowId {
    /// The identity of the flow that a frame with these fields belongs to.
    #[must_use]
    pub const fn of(key: &FlowKey) -> Self {
        if key.ip_version == 0 {
            let low = ((key.vlan_id as u64) << 16) | key.ethertype as u64;
            Self([low | (1 << 63), key.src_mac, 0, key.dst_mac, 0])
        } else {
            let ports = ((key.src_port as u64) << 16) | key.dst_port as u64;
            let head = ((key.ip_version as u64) << 40) | ((key.protocol as u64) << 32);
            let (src, dst) = (key.src_ip, key.dst_ip);
            Self([
                head | ports,
                src as u64,
                (src >> 64) as u64,
                dst as u64,
                (dst >> 64) as u64,
            ])
        }
    }

    /// A 64-bit mix of the identity: the same on every machine and in every run.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        const fn mix(h: u64, v: u64) -> u64 {
            let x = (h ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            x ^ (x >> 29)
        }
        let mut h = 0x517C_C1B7_2722_0A95;
        let mut i = 0;
        while i < self.0.len() {
            h = mix(h, self.0[i]);
            i += 1;
        }
        h ^ (h >> 32)
    }

    /// The 32 bits by which a shared queue tells a flow's frames.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.hash() as u32
    }
}
