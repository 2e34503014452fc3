//! Scripted exchanges for the tests: acknowledgements and instants in, the segments that go out back.
//!
//! Segments are 1,000 bytes and are written by number; the window starts at ten of them.

use super::testing::settings;
use super::{Ack, DataSegment, Flags, SackBlock, Sender};
use clearway_core::{Duration, Instant};
use clearway_policy::scenario::TcpSettings;

/// Bytes of a segment.
pub(crate) const MSS: u64 = 1_000;
/// The round trip that most scripts wait for.
pub(crate) const RTT: Duration = Duration::from_ms(10);

/// A sender, a clock and a receiver's window.
pub(crate) struct Script {
    pub(crate) sender: Sender,
    pub(crate) now: Instant,
    pub(crate) window: u32,
}

impl Script {
    pub(crate) fn new(tcp: &TcpSettings, bytes: Option<u64>) -> Self {
        let window = u32::try_from(tcp.receive_buffer_bytes).expect("a test's buffer is small");
        Self {
            sender: Sender::new(tcp, Instant::ZERO, bytes),
            now: Instant::ZERO,
            window,
        }
    }
    pub(crate) fn wait(&mut self, by: Duration) {
        self.now += by;
    }
    pub(crate) fn sent(&mut self) -> Vec<DataSegment> {
        core::iter::from_fn(|| self.sender.poll_transmit(self.now)).collect()
    }
    /// Numbers of the full segments sent now.
    pub(crate) fn numbers(&mut self) -> Vec<u64> {
        let sent = self.sent();
        assert!(
            sent.iter().all(|s| u64::from(s.len) == MSS && s.seq % MSS == 0),
            "{sent:?}"
        );
        sent.iter().map(|s| s.seq / MSS).collect()
    }
    pub(crate) fn make(&self, ack: u64, blocks: &[(u64, u64)], flags: Flags) -> Ack {
        let mut sack = [SackBlock::default(); 3];
        for (to, (first, end)) in sack.iter_mut().zip(blocks) {
            to.offset = u32::try_from((first - ack) * MSS).expect("near");
            to.len = u32::try_from((end - first) * MSS).expect("near");
        }
        Ack {
            ack: ack * MSS,
            window: self.window,
            flags,
            sack,
        }
    }
    /// Segments below `ack` and `blocks` have arrived; what goes out then.
    pub(crate) fn ack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let ack = self.make(ack, blocks, Flags::NONE);
        self.sender.on_ack(self.now, &ack);
        self.numbers()
    }
    pub(crate) fn echo(&mut self, ack: u64) -> Vec<DataSegment> {
        let ack = self.make(ack, &[], Flags::ECE);
        self.sender.on_ack(self.now, &ack);
        self.sent()
    }
    /// Lets the timer expire; how long that took, and what goes out then.
    pub(crate) fn expire(&mut self) -> (Duration, Vec<u64>) {
        let at = self.sender.poll_timer().expect("a timer runs");
        let waited = at.saturating_since(self.now);
        self.sender.on_timer(at.saturating_sub(Duration::from_ps(1)));
        assert_eq!(
            self.sender.poll_timer(),
            Some(at),
            "nothing is due a picosecond early"
        );
        self.now = at;
        self.sender.on_timer(at);
        (waited, self.numbers())
    }
    pub(crate) fn cwnd(&self) -> u64 {
        self.sender.stats().cwnd_bytes
    }
}

/// Without SACK.
pub(crate) fn newreno() -> TcpSettings {
    TcpSettings {
        sack: false,
        ..settings()
    }
}
