//! iWARP on the wire: RDMAP over DDP over MPA over TCP, as bytes.
//!
//! A message of tagged buffers (an RDMA write) is cut into DDP segments, each in an FPDU of MPA's that begins a TCP
//! segment and fits into it (RFC 5044 5.1): a length of 2 bytes, the tagged header of DDP with RDMAP's control byte of
//! 14 (RFC 5041 4.2, RFC 5040 4.1), payload, padding to a multiple of 4, a CRC of 4. Markers are off, as RFC 5044 7.1
//! lets the receiver choose. Left out: the exchange that starts MPA, untagged messages (18 bytes of header instead),
//! read requests, terminate messages.

/// Bytes of MPA's length field.
pub const MPA_LENGTH_BYTES: u64 = 2;
/// Bytes of a tagged header: DDP control, RDMAP control, steering tag 4, offset 8.
pub const TAGGED_HEADER_BYTES: u64 = 14;
/// Bytes of MPA's CRC32c.
pub const CRC_BYTES: u64 = 4;

/// Payload bytes of a full FPDU for segments of `mss` bytes: MULPDU of RFC 5044 4.3 without markers, less the header.
#[must_use]
pub const fn payload_max(mss: u64) -> u64 {
    let multiple = mss & !3;
    let around = MPA_LENGTH_BYTES + TAGGED_HEADER_BYTES + CRC_BYTES;
    if multiple > around { multiple - around } else { 1 }
}

/// Bytes of the FPDU that carries `payload` bytes.
#[must_use]
pub const fn fpdu_bytes(payload: u64) -> u64 {
    (MPA_LENGTH_BYTES + TAGGED_HEADER_BYTES + payload).next_multiple_of(4) + CRC_BYTES
}

/// Bytes that a message of `bytes` takes of the TCP stream: full FPDUs and a last one.
#[must_use]
pub const fn stream_bytes(bytes: u64, mss: u64) -> u64 {
    let most = payload_max(mss);
    let rest = bytes % most;
    let last = if rest > 0 || bytes == 0 {
        fpdu_bytes(rest)
    } else {
        0
    };
    bytes / most * fpdu_bytes(most) + last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_fpdu_is_a_full_segment() {
        for mss in [1_460, 1_448, 8_960, 536] {
            assert_eq!(fpdu_bytes(payload_max(mss)), mss);
        }
        // An MSS that is no multiple of 4 leaves the rest of it unused.
        assert_eq!(fpdu_bytes(payload_max(1_459)), 1_456);
        assert_eq!(payload_max(1_460), 1_440);
        assert_eq!(payload_max(8_960), 8_940);
    }

    #[test]
    fn the_overhead_of_a_message_is_exact() {
        // 1 byte: 2 + 14 + 1 = 17, padded to 20, and the CRC.
        assert_eq!(stream_bytes(1, 1_460), 24);
        assert_eq!(stream_bytes(2, 1_460), 24);
        assert_eq!(stream_bytes(4, 1_460), 24);
        assert_eq!(stream_bytes(5, 1_460), 28);
        assert_eq!(stream_bytes(1_440, 1_460), 1_460);
        assert_eq!(stream_bytes(1_441, 1_460), 1_460 + 24);
        // 1 MiB in segments of 1460: 728 full FPDUs and one of 256 bytes, 2 + 14 + 256 + 4 = 276.
        assert_eq!(stream_bytes(1 << 20, 1_460), 728 * 1_460 + 276);
        assert_eq!(stream_bytes(0, 1_460), 20);
    }

    #[test]
    fn an_absurd_segment_size_still_makes_progress() {
        for mss in 0..40 {
            assert!(stream_bytes(100, mss) >= 100);
        }
    }
}
