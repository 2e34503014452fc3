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
#[derive(Clone, Copy, Debug, PartialOrd, Ord)]
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
        const fn fold(a: u64, b: u64) -> u64 {
            let product = (a as u128) * (b as u128);
            (product as u64) ^ ((product >> 64) as u64)
        }
        // Three independent multiplications, then one more: the words of the identity do not wait for each other.
        let [c, s0, s1, d0, d1] = self.0;
        let a = fold(c ^ 0x9E37_79B9_7F4A_7C15, s1 ^ 0xD1B5_4A32_D192_ED03);
        let b = fold(s0 ^ 0xA076_1D64_78BD_642F, d0 ^ 0xE703_7ED1_A0B4_28DB);
        let h = fold(a ^ d1 ^ 0x8EBC_6AF0_9C88_C6E3, b ^ 0x5899_65CC_7537_4CC3);
        h ^ (h >> 32)
    }

    /// The 32 bits by which a shared queue tells a flow's frames.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.hash() as u32
    }
}

impl PartialEq for FlowId {
    // Word by word without a branch: identities of one table mostly differ in the first word or not at all.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let mut differ = 0;
        for (a, b) in self.0.iter().zip(&other.0) {
            differ |= a ^ b;
        }
        differ == 0
    }
}
impl Eq for FlowId {}
impl core::hash::Hash for FlowId {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_differ_in_one_field_differ_in_identity_and_spread_over_the_hash() {
        let mut low = [0_u32; 256];
        for port in 0..25_600_u32 {
            let key = FlowKey {
                ip_version: 4,
                protocol: 17,
                src_ip: 0x0A00_0001,
                dst_ip: 0x0A00_0002,
                src_port: (port >> 8) as u16,
                dst_port: (port & 0xFF) as u16,
                ..FlowKey::default()
            };
            low[FlowId::of(&key).hash() as usize & 255] += 1;
        }
        // 100 expected in each; a fair hash stays within six standard deviations.
        assert!(low.iter().all(|&n| (40..160).contains(&n)));
    }
}
