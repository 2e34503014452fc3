//! Captures in pcapng: section header, interface descriptions, enhanced packet blocks.
//!
//! Source: IETF draft-ietf-opsawg-pcapng. Little-endian; timestamps in picoseconds or nanoseconds by if_tsresol. The
//! sections' length is given as unknown, so that packets can be written as they come. It leaves out name resolution,
//! statistics, comments and custom blocks.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// LINKTYPE_ETHERNET: frames from the destination address on.
const ETHERNET: u16 = 1;
const OPT_END: u16 = 0;
const OPT_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;

/// Unit of the timestamps in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// 10^-9 s, rounded down: every reader shows it.
    #[default]
    Nanosecond,
    /// 10^-12 s: exact; some readers cut it to nanoseconds.
    Picosecond,
}

/// Which interface a packet was seen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Writes a capture to any sink; blocks are complete after each call.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    sink: W,
    resolution: Resolution,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a section.
    ///
    /// # Errors
    /// When the sink refuses the bytes.
    pub fn new(sink: W, resolution: Resolution) -> io::Result<Self> {
        let mut writer = Self {
            sink,
            resolution,
            interfaces: 0,
            block: Vec::new(),
        };
        writer.u32(BYTE_ORDER_MAGIC);
        writer.u16(1);
        writer.u16(0);
        writer.u64(u64::MAX);
        writer.option(
            OPT_USER_APPLICATION,
            concat!("clearway ", env!("CARGO_PKG_VERSION")).as_bytes(),
        );
        writer.option(OPT_END, &[]);
        writer.finish_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Describes an interface. `snap` is the most bytes kept of a frame, zero for all; `rate_bps` zero for unknown.
    /// Names are cut at 65,535 bytes.
    ///
    /// # Errors
    /// When the sink refuses the bytes.
    pub fn interface(&mut self, name: &str, rate_bps: u64, snap: u32) -> io::Result<InterfaceId> {
        self.u16(ETHERNET);
        self.u16(0);
        self.u32(snap);
        self.option(IF_NAME, name.as_bytes());
        if rate_bps > 0 {
            self.option(IF_SPEED, &rate_bps.to_le_bytes());
        }
        let power = match self.resolution {
            Resolution::Nanosecond => 9,
            Resolution::Picosecond => 12,
        };
        self.option(IF_TSRESOL, &[power]);
        self.option(OPT_END, &[]);
        self.finish_block(INTERFACE_DESCRIPTION)?;
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        Ok(id)
    }

    /// A frame seen `at_ps` picoseconds after the origin, `length` bytes long on the wire, of which `bytes` are kept.
    /// A kept part longer than the frame is cut.
    ///
    /// # Errors
    /// When the sink refuses the bytes.
    pub fn packet(&mut self, on: InterfaceId, at_ps: u64, length: u32, bytes: &[u8]) -> io::Result<()> {
        let time = match self.resolution {
            Resolution::Nanosecond => at_ps / 1000,
            Resolution::Picosecond => at_ps,
        };
        let kept = bytes.get(..length as usize).unwrap_or(bytes);
        self.u32(on.0);
        self.u32((time >> 32) as u32);
        self.u32(time as u32);
        self.u32(kept.len() as u32);
        self.u32(length);
        self.block.extend_from_slice(kept);
        self.pad();
        self.finish_block(ENHANCED_PACKET)
    }

    /// Flushes the sink and returns it.
    ///
    /// # Errors
    /// When the sink refuses.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn u16(&mut self, value: u16) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.block.extend_from_slice(&value.to_le_bytes());
    }
    fn pad(&mut self) {
        while !self.block.len().is_multiple_of(4) {
            self.block.push(0);
        }
    }
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
        self.u16(code);
        self.u16(value.len() as u16);
        self.block.extend_from_slice(value);
        self.pad();
    }
    /// Type and length in front, length again behind: a reader can walk both ways.
    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let total = self.block.len() as u32 + 12;
        self.sink.write_all(&kind.to_le_bytes())?;
        self.sink.write_all(&total.to_le_bytes())?;
        self.sink.write_all(&self.block)?;
        self.sink.write_all(&total.to_le_bytes())?;
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(b: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(b[at..at + 4].try_into().unwrap())
    }

    /// (type, body) of every block; both lengths must agree and be whole words.
    fn blocks(mut b: &[u8]) -> Vec<(u32, &[u8])> {
        let mut found = vec![];
        while !b.is_empty() {
            let total = u32_at(b, 4) as usize;
            assert_eq!(total % 4, 0);
            assert_eq!(u32_at(b, total - 4) as usize, total);
            found.push((u32_at(b, 0), &b[8..total - 4]));
            b = &b[total..];
        }
        found
    }

    fn options(mut b: &[u8]) -> Vec<(u16, &[u8])> {
        let mut found = vec![];
        loop {
            let head = u32_at(b, 0);
            let (code, length) = (head as u16, (head >> 16) as usize);
            if code == 0 {
                assert_eq!(b.len(), 4);
                return found;
            }
            found.push((code, &b[4..4 + length]));
            b = &b[4 + length.next_multiple_of(4)..];
        }
    }

    fn capture(resolution: Resolution) -> Vec<u8> {
        let mut w = PcapngWriter::new(Vec::new(), resolution).unwrap();
        let a = w.interface("switch.p1", 10_000_000_000, 0).unwrap();
        let b = w.interface("h", 0, 64).unwrap();
        w.packet(a, 7_000_000_123_456, 1514, &[0xab; 61]).unwrap();
        w.packet(b, u64::MAX, 4, &[1, 2, 3, 4, 5, 6]).unwrap();
        w.finish().unwrap()
    }

    #[test]
    fn a_capture_parses_back_as_it_was_written() {
        let bytes = capture(Resolution::Picosecond);
        let blocks = blocks(&bytes);
        assert_eq!(
            blocks.iter().map(|b| b.0).collect::<Vec<_>>(),
            [0x0a0d_0d0a, 1, 1, 6, 6]
        );
        assert_eq!(u32_at(blocks[0].1, 0), 0x1a2b_3c4d);
        assert_eq!(
            blocks[0].1[4..16],
            [1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
        );
        let o = options(&blocks[1].1[8..]);
        let speed = 10_000_000_000_u64.to_le_bytes();
        assert_eq!(o, [(2, &b"switch.p1"[..]), (8, &speed[..]), (9, &[12][..])]);
        assert_eq!(u32_at(blocks[2].1, 4), 64);
        assert_eq!(options(&blocks[2].1[8..]), [(2, &b"h"[..]), (9, &[12][..])]);
        let p = blocks[3].1;
        let time = u64::from(u32_at(p, 4)) << 32 | u64::from(u32_at(p, 8));
        assert_eq!((u32_at(p, 0), time), (0, 7_000_000_123_456));
        assert_eq!((u32_at(p, 12), u32_at(p, 16)), (61, 1514));
        assert_eq!(p[20..81], [0xab; 61]);
        assert_eq!(p.len(), 84);
    }

    #[test]
    fn nanoseconds_are_rounded_down() {
        let bytes = capture(Resolution::Nanosecond);
        let blocks = blocks(&bytes);
        assert_eq!(options(&blocks[1].1[8..])[2], (9, &[9][..]));
        let p = blocks[3].1;
        assert_eq!(
            u64::from(u32_at(p, 4)) << 32 | u64::from(u32_at(p, 8)),
            7_000_000_123
        );
    }

    #[test]
    fn more_bytes_than_the_frame_has_are_cut() {
        let bytes = capture(Resolution::Picosecond);
        let p = blocks(&bytes)[4].1.to_vec();
        assert_eq!((u32_at(&p, 12), u32_at(&p, 16)), (4, 4));
        assert_eq!(p[20..], [1, 2, 3, 4]);
    }
}
