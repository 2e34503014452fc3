//! The headers that a simulated frame would have on the wire: Ethernet, VLAN tag, IPv4 or IPv6, ports.
//!
//! Simulated frames carry no bytes; a capture needs some. Addresses and fields are those of the [`FlowKey`], lengths
//! those of the frame, the IPv4 header checksum is right (RFC 791). Left out: payload, the checksums of UDP and TCP
//! (zero), TCP sequence numbers, options, and the frame check sequence.

use clearway_core::FlowKey;

/// Most bytes of headers: Ethernet with tag, IPv6, TCP.
pub const HEADERS_MAX: usize = 18 + 40 + 20;

/// The first bytes of a frame of `len` bytes (L2 with FCS); `ce` marks congestion experienced.
#[must_use]
pub fn of(key: &FlowKey, len: u32, ce: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADERS_MAX);
    bytes.extend_from_slice(&key.dst_mac.to_be_bytes()[2..]);
    bytes.extend_from_slice(&key.src_mac.to_be_bytes()[2..]);
    if key.tagged {
        let tag = u16::from(key.pcp & 7) << 13 | (key.vlan_id & 0x0FFF);
        bytes.extend_from_slice(&0x8100_u16.to_be_bytes());
        bytes.extend_from_slice(&tag.to_be_bytes());
    }
    bytes.extend_from_slice(&key.ethertype.to_be_bytes());
    // Without the frame check sequence; a packet below the least frame is padded behind its end, unseen here.
    let packet = u16::try_from(len.saturating_sub(bytes.len() as u32 + 4)).unwrap_or(u16::MAX);
    let class = (key.dscp & 63) << 2 | if ce { 3 } else { 0 };
    match key.ip_version {
        4 => ipv4(&mut bytes, key, packet, class),
        6 => ipv6(&mut bytes, key, packet, class),
        _ => return bytes,
    }
    ports(&mut bytes, key, packet);
    bytes.truncate(usize::try_from(len.saturating_sub(4)).unwrap_or(usize::MAX));
    bytes
}

fn ipv4(bytes: &mut Vec<u8>, key: &FlowKey, packet: u16, class: u8) {
    let at = bytes.len();
    bytes.extend_from_slice(&[0x45, class]);
    bytes.extend_from_slice(&packet.to_be_bytes());
    // Identification zero, do not fragment, time to live 64, checksum to come.
    bytes.extend_from_slice(&[0, 0, 0x40, 0, 64, key.protocol, 0, 0]);
    bytes.extend_from_slice(&key.src_ip.to_be_bytes()[12..]);
    bytes.extend_from_slice(&key.dst_ip.to_be_bytes()[12..]);
    let words = bytes[at..]
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    let checksum = !(folded as u16);
    bytes[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn ipv6(bytes: &mut Vec<u8>, key: &FlowKey, packet: u16, class: u8) {
    bytes.extend_from_slice(&(6 << 28 | u32::from(class) << 20).to_be_bytes());
    bytes.extend_from_slice(&packet.saturating_sub(40).to_be_bytes());
    bytes.extend_from_slice(&[key.protocol, 64]);
    bytes.extend_from_slice(&key.src_ip.to_be_bytes());
    bytes.extend_from_slice(&key.dst_ip.to_be_bytes());
}

fn ports(bytes: &mut Vec<u8>, key: &FlowKey, packet: u16) {
    let header = if key.ip_version == 4 { 20 } else { 40 };
    let (tcp, udp) = (key.protocol == 6, key.protocol == 17);
    if tcp || udp {
        bytes.extend_from_slice(&key.src_port.to_be_bytes());
        bytes.extend_from_slice(&key.dst_port.to_be_bytes());
    }
    if udp {
        bytes.extend_from_slice(&packet.saturating_sub(header).to_be_bytes());
        bytes.extend_from_slice(&[0, 0]);
    }
    if tcp {
        // Sequence and acknowledgement zero, header of five words, ACK, full window, no checksum, nothing urgent.
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0xFF, 0xFF, 0, 0, 0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FlowKey {
        FlowKey {
            src_ip: 0xC0A8_0001,
            dst_ip: 0xC0A8_00C7,
            dst_mac: 0x0200_0000_0002,
            src_mac: 0x0200_0000_0001,
            ethertype: 0x0800,
            vlan_id: 5,
            pcp: 6,
            tagged: true,
            ip_version: 4,
            dscp: 46,
            protocol: 17,
            src_port: 1000,
            dst_port: 2000,
        }
    }

    #[test]
    fn fields_stand_where_the_standards_put_them() {
        let bytes = of(&key(), 1518 + 4, true);
        assert_eq!(bytes.len(), 18 + 20 + 8);
        assert_eq!(bytes[..6], [2, 0, 0, 0, 0, 2]);
        assert_eq!(bytes[12..18], [0x81, 0, 0xC0, 5, 8, 0]);
        assert_eq!(bytes[18..20], [0x45, 46 << 2 | 3]);
        assert_eq!(u16::from_be_bytes([bytes[20], bytes[21]]), 1500);
        assert_eq!(bytes[38..44], [3, 232, 7, 208, 5, 200]);
    }

    #[test]
    fn the_header_sums_to_all_ones() {
        for len in [64, 128, 1522, 9022] {
            let bytes = of(&key(), len, false);
            let words = bytes[18..38]
                .chunks(2)
                .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
            let sum: u32 = words.sum();
            assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF, "{len}");
        }
    }

    #[test]
    fn every_kind_of_frame_fits_its_length() {
        for ip_version in [0, 4, 6] {
            for protocol in [0, 6, 17] {
                for tagged in [false, true] {
                    for len in [0, 4, 20, 64, 70_000] {
                        let bytes = of(
                            &FlowKey {
                                ip_version,
                                protocol,
                                tagged,
                                ..key()
                            },
                            len,
                            true,
                        );
                        assert!(bytes.len() <= HEADERS_MAX, "{ip_version} {protocol} {len}");
                        assert!(ip_version == 0 || bytes.len() as u32 <= len.saturating_sub(4));
                    }
                }
            }
        }
    }
}
