//! Capture files: pcap and pcapng to frames with times and header fields.
//!
//! Formats after draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng: both byte orders, micro- and nanosecond pcap,
//! any resolution of pcapng, Ethernet frames (link type 1). A damaged file is an error, a file that ends in the middle
//! of a packet gives the packets before it. Left out: other link types, encryption, simple packets without a time.

use crate::scenario::ReplayFrame;
use clearway_core::{Duration, FlowKey};

/// One captured frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFrame<'a> {
    /// Picoseconds since 1970; 128 bits because 64 would end in July 1970.
    pub time_ps: u128,
    /// Bytes on the wire as the capture says, with or without FCS.
    pub length: u32,
    /// What was kept of them.
    pub bytes: &'a [u8],
}

/// No more frames than this are taken from one file.
pub const FRAMES_MAX: usize = 50_000_000;

struct Words<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Words<'a> {
    fn u16(&self, at: usize) -> Option<u16> {
        let b: [u8; 2] = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.big {
            u16::from_be_bytes(b)
        } else {
            u16::from_le_bytes(b)
        })
    }
    fn u32(&self, at: usize) -> Option<u32> {
        let b: [u8; 4] = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big {
            u32::from_be_bytes(b)
        } else {
            u32::from_le_bytes(b)
        })
    }
    fn slice(&self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes.get(at..at.checked_add(len)?)
    }
}

/// Reads a pcap or pcapng file.
///
/// # Errors
/// Says what is wrong with the file.
pub fn read_capture(bytes: &[u8]) -> Result<Vec<CapturedFrame<'_>>, String> {
    let magic: [u8; 4] = match bytes.get(..4).and_then(|b| b.try_into().ok()) {
        Some(magic) => magic,
        None => return Err("the file is too short for a capture".to_owned()),
    };
    match u32::from_be_bytes(magic) {
        0xA1B2_C3D4 => read_pcap(bytes, true, 1_000_000),
        0xA1B2_3C4D => read_pcap(bytes, true, 1_000),
        0xD4C3_B2A1 => read_pcap(bytes, false, 1_000_000),
        0x4D3C_B2A1 => read_pcap(bytes, false, 1_000),
        0x0A0D_0D0A => read_pcapng(bytes),
        other => Err(format!("{other:#010x} begins no capture file")),
    }
}

fn read_pcap(bytes: &[u8], big: bool, ps_per_tick: u128) -> Result<Vec<CapturedFrame<'_>>, String> {
    let words = Words { bytes, big };
    let Some(link) = words.u32(20) else {
        return Err("the file header is cut off".to_owned());
    };
    // The upper bits say whether and how much FCS there is; the link type has 16.
    if link & 0xFFFF != 1 {
        return Err(format!("the link type is {}, not Ethernet (1)", link & 0xFFFF));
    }
    let mut frames = Vec::new();
    let mut at = 24_usize;
    while let (Some(seconds), Some(ticks), Some(kept), Some(length)) = (
        words.u32(at),
        words.u32(at + 4),
        words.u32(at + 8),
        words.u32(at + 12),
    ) {
        let Some(data) = words.slice(at + 16, kept as usize) else {
            break;
        };
        let time_ps = u128::from(seconds) * 1_000_000_000_000 + u128::from(ticks) * ps_per_tick;
        push(
            &mut frames,
            CapturedFrame {
                time_ps,
                length,
                bytes: data,
            },
        )?;
        at += 16 + kept as usize;
    }
    Ok(frames)
}

fn push<'a>(frames: &mut Vec<CapturedFrame<'a>>, frame: CapturedFrame<'a>) -> Result<(), String> {
    if frames.len() >= FRAMES_MAX {
        return Err(format!("the file holds more than {FRAMES_MAX} frames"));
    }
    frames.push(frame);
    Ok(())
}

/// Link type and ticks a second of an interface of a pcapng section.
struct Interface {
    ethernet: bool,
    ticks_per_second: u128,
    offset_seconds: i64,
}

fn read_pcapng(bytes: &[u8]) -> Result<Vec<CapturedFrame<'_>>, String> {
    let mut words = Words { bytes, big: false };
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut frames = Vec::new();
    let mut skipped = 0_usize;
    let mut at = 0_usize;
    while let Some(kind) = words.u32(at) {
        if kind == 0x0A0D_0D0A {
            // A new section: its byte order is told by a magic number of its own.
            match bytes.get(at + 8..at + 12) {
                Some([0x1A, 0x2B, 0x3C, 0x4D]) => words.big = true,
                Some([0x4D, 0x3C, 0x2B, 0x1A]) => words.big = false,
                Some(_) => return Err(format!("the section at byte {at} has no byte order")),
                None => break,
            }
            interfaces.clear();
        }
        let Some(total) = words.u32(at + 4).map(|n| n as usize) else {
            break;
        };
        if total < 12 || total % 4 != 0 {
            return Err(format!("the block at byte {at} has a length of {total}"));
        }
        let Some(block) = words.slice(at, total) else {
            break;
        };
        let body = Words {
            bytes: &block[8..total - 4],
            big: words.big,
        };
        match kind {
            1 => interfaces.push(interface(&body)),
            6 => match enhanced_packet(&body, &interfaces)? {
                Some(frame) => push(&mut frames, frame)?,
                None => skipped += 1,
            },
            _ => {}
        }
        at += total;
    }
    if frames.is_empty() && skipped > 0 {
        return Err(format!(
            "none of the {skipped} packets is of an Ethernet interface"
        ));
    }
    Ok(frames)
}

fn interface(body: &Words<'_>) -> Interface {
    let mut found = Interface {
        ethernet: body.u16(0) == Some(1),
        ticks_per_second: 1_000_000,
        offset_seconds: 0,
    };
    let mut at = 8;
    while let (Some(code), Some(len)) = (body.u16(at), body.u16(at + 2)) {
        match (code, len) {
            (0, _) => break,
            (9, 1) => {
                let r = body.bytes.get(at + 4).copied().unwrap_or(6);
                let power = u32::from(r & 0x7F);
                found.ticks_per_second = if r & 0x80 == 0 {
                    10_u128.checked_pow(power.min(18)).unwrap_or(1)
                } else {
                    1_u128 << power.min(60)
                };
            }
            (14, 8) => {
                let halves = (body.u32(at + 4), body.u32(at + 8));
                if let (Some(a), Some(b)) = halves {
                    let (high, low) = if body.big { (a, b) } else { (b, a) };
                    found.offset_seconds = ((u64::from(high) << 32) | u64::from(low)) as i64;
                }
            }
            _ => {}
        }
        at += 4 + usize::from(len).next_multiple_of(4);
    }
    found
}

fn enhanced_packet<'a>(
    body: &Words<'a>,
    interfaces: &[Interface],
) -> Result<Option<CapturedFrame<'a>>, String> {
    let cut = || "a packet block is cut off".to_owned();
    let id = body.u32(0).ok_or_else(cut)? as usize;
    let Some(interface) = interfaces.get(id) else {
        return Err(format!("a packet names interface {id}, which is not described"));
    };
    let (high, low) = (body.u32(4).ok_or_else(cut)?, body.u32(8).ok_or_else(cut)?);
    let kept = body.u32(12).ok_or_else(cut)? as usize;
    let length = body.u32(16).ok_or_else(cut)?;
    let bytes = body.slice(20, kept).ok_or_else(cut)?;
    if !interface.ethernet {
        return Ok(None);
    }
    let ticks = (u128::from(high) << 32) | u128::from(low);
    let since = ticks * 1_000_000_000_000 / interface.ticks_per_second;
    let offset = i128::from(interface.offset_seconds) * 1_000_000_000_000;
    let time_ps = i128::try_from(since).unwrap_or(i128::MAX).saturating_add(offset);
    Ok(Some(CapturedFrame {
        time_ps: u128::try_from(time_ps).unwrap_or(0),
        length,
        bytes,
    }))
}

/// The fields of an Ethernet frame that a classifier looks at; what is cut off stays zero.
#[must_use]
pub fn flow_key(frame: &[u8]) -> FlowKey {
    let words = Words {
        bytes: frame,
        big: true,
    };
    let mac = |at: usize| {
        frame
            .get(at..at + 6)
            .map_or(0, |b| b.iter().fold(0, |mac, b| mac << 8 | u64::from(*b)))
    };
    let mut key = FlowKey {
        dst_mac: mac(0),
        src_mac: mac(6),
        ..FlowKey::default()
    };
    let mut at = 12;
    let mut ethertype = words.u16(at).unwrap_or(0);
    // The outer tag is the one that a port classifies by.
    while matches!(ethertype, 0x8100 | 0x88A8) {
        if !key.tagged {
            let tci = words.u16(at + 2).unwrap_or(0);
            key.tagged = true;
            key.pcp = (tci >> 13) as u8;
            key.vlan_id = tci & 0xFFF;
        }
        at += 4;
        ethertype = words.u16(at).unwrap_or(0);
    }
    key.ethertype = ethertype;
    let ip = at + 2;
    let transport = match ethertype {
        0x0800 => {
            let Some(header) = words.slice(ip, 20).filter(|h| h[0] >> 4 == 4) else {
                return key;
            };
            key.ip_version = 4;
            key.dscp = header[1] >> 2;
            key.protocol = header[9];
            key.src_ip = u128::from(words.u32(ip + 12).unwrap_or(0));
            key.dst_ip = u128::from(words.u32(ip + 16).unwrap_or(0));
            // Only a first fragment carries ports.
            let first = words.u16(ip + 6).unwrap_or(0) & 0x1FFF == 0;
            first.then(|| ip + usize::from(header[0] & 15) * 4)
        }
        0x86DD => {
            let Some(header) = words.slice(ip, 40).filter(|h| h[0] >> 4 == 6) else {
                return key;
            };
            let address = |at: usize| header[at..at + 16].iter().fold(0, |a, b| a << 8 | u128::from(*b));
            key.ip_version = 6;
            key.dscp = (header[0] & 15) << 2 | header[1] >> 6;
            key.protocol = header[6];
            key.src_ip = address(8);
            key.dst_ip = address(24);
            Some(ip + 40)
        }
        _ => None,
    };
    if let Some(at) = transport.filter(|_| matches!(key.protocol, 6 | 17 | 33 | 132)) {
        key.src_port = words.u16(at).unwrap_or(0);
        key.dst_port = words.u16(at + 2).unwrap_or(0);
    }
    key
}

/// The frames of a capture for a replay: times since the first frame (never going back), lengths with FCS (added
/// unless the capture has it) of at least 64 bytes.
///
/// # Errors
/// Says what is wrong with the file.
pub fn replay_frames(bytes: &[u8], with_fcs: bool) -> Result<Vec<ReplayFrame>, String> {
    let captured = read_capture(bytes)?;
    let first = captured.first().map_or(0, |f| f.time_ps);
    let mut latest = Duration::ZERO;
    let mut frames = Vec::with_capacity(captured.len());
    for frame in captured {
        let since = u64::try_from(frame.time_ps.saturating_sub(first)).unwrap_or(u64::MAX);
        latest = latest.max(Duration::from_ps(since));
        let length = if with_fcs {
            frame.length
        } else {
            frame.length.saturating_add(4)
        };
        if length > 65_536 {
            return Err(format!(
                "a frame of {length} bytes is no Ethernet frame: capture with segmentation offload off"
            ));
        }
        frames.push(ReplayFrame {
            at: latest,
            bytes: length.max(64),
            key: flow_key(frame.bytes),
        });
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tagged UDP frame without FCS: PCP 5, VLAN 7, DSCP 46, ports 5000 to 445.
    fn frame() -> Vec<u8> {
        let mut f = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0xA0, 7, 8, 0];
        f.extend([
            0x45,
            46 << 2,
            0,
            28,
            0,
            0,
            0,
            0,
            64,
            17,
            0,
            0,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            2,
        ]);
        f.extend([0x13, 0x88, 0x01, 0xBD, 0, 8, 0, 0]);
        f
    }

    fn pcap(big: bool, magic: u32) -> Vec<u8> {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = word(magic).to_vec();
        file.extend([0; 16]);
        file.extend(word(1));
        for (seconds, ticks) in [(1, 5), (1, 9), (1, 7)] {
            for n in [seconds, ticks, 46, 1514] {
                file.extend(word(n));
            }
            file.extend(frame());
        }
        file
    }

    #[test]
    fn both_byte_orders_and_both_resolutions_of_pcap_are_read() {
        for (big, magic, tick_ps) in [
            (true, 0xA1B2_C3D4_u32, 1_000_000_u64),
            (false, 0xA1B2_C3D4, 1_000_000),
            (false, 0xA1B2_3C4D, 1_000),
        ] {
            let frames = replay_frames(&pcap(big, magic), false).unwrap_or_default();
            let times: Vec<u64> = frames.iter().map(|f| f.at.as_ps() / tick_ps).collect();
            // The third goes back in time: it counts as the latest seen.
            assert_eq!(times, [0, 4, 4]);
            assert_eq!(frames[0].bytes, 1518);
            let key = frames[0].key;
            assert_eq!((key.tagged, key.pcp, key.vlan_id, key.dscp), (true, 5, 7, 46));
            assert_eq!(
                (key.protocol, key.src_port, key.dst_port, key.src_ip),
                (17, 5000, 445, 0x0A00_0001)
            );
        }
    }

    #[test]
    fn a_file_cut_off_at_any_byte_gives_the_frames_before_or_an_error() {
        let file = pcap(false, 0xA1B2_C3D4);
        for end in 0..file.len() {
            match read_capture(&file[..end]) {
                Ok(frames) => assert_eq!(frames.len(), (end - 24) / (16 + 46)),
                Err(message) => assert!(end < 24, "{end}: {message}"),
            }
        }
    }

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let total = (body.len().next_multiple_of(4) + 12) as u32;
        let mut block = kind.to_le_bytes().to_vec();
        block.extend(total.to_le_bytes());
        block.extend(body);
        block.resize(total as usize - 4, 0);
        block.extend(total.to_le_bytes());
        block
    }

    #[test]
    fn pcapng_with_a_resolution_of_its_own_is_read() {
        let mut file = block(
            0x0A0D_0D0A,
            &[
                0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
            ],
        );
        // if_tsresol 9: nanoseconds.
        file.extend(block(
            1,
            &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
        ));
        for ticks in [100_u32, 350] {
            let mut body = Vec::new();
            for n in [0, 0, ticks, 46, 46] {
                body.extend(n.to_le_bytes());
            }
            body.extend(frame());
            file.extend(block(6, &body));
        }
        let frames = replay_frames(&file, false).unwrap_or_default();
        assert_eq!(
            frames.iter().map(|f| f.at.as_ps()).collect::<Vec<_>>(),
            [0, 250_000]
        );
        // Short frames were padded on the wire.
        assert_eq!(frames[0].bytes, 64);
    }
}
