//! The gates of one transmitter: until when each is shut, and for how long each was.
//!
//! The traffic manager keeps gates of its own; these serve the transmitters without one, the FIFO behind it, and
//! the count of paused time per port and priority.

/// Sixty-four gates. Nothing is allocated before the first pause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gates {
    shut: Option<Box<[Gate; 64]>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Gate {
    since: u64,
    until: u64,
    total: u64,
}

impl Gate {
    /// Adds what is over of the present pause, from `warmup` on, to the total.
    fn settle(&mut self, now: u64, warmup: u64) {
        let end = self.until.min(now);
        let start = self.since.max(warmup);
        if end > start {
            self.total += end - start;
        }
        self.since = self.since.max(end);
    }
}

impl Gates {
    /// Shuts the gates in `set` until `until`; `until <= now` opens them.
    pub(crate) fn pause(&mut self, now: u64, set: u64, until: u64, warmup: u64) {
        let gates = self.shut.get_or_insert_with(|| Box::new([Gate::default(); 64]));
        for (index, gate) in gates.iter_mut().enumerate() {
            if set >> index & 1 == 1 {
                gate.settle(now, warmup);
                if gate.until <= now {
                    gate.since = now;
                }
                gate.until = until.max(now);
            }
        }
    }

    /// The instant at which a gate opens; not after now where it is open.
    #[inline]
    pub(crate) fn until(&self, gate: u8) -> u64 {
        self.shut
            .as_ref()
            .map_or(0, |gates| gates[usize::from(gate & 63)].until)
    }

    /// Picoseconds that each gate was shut up to `now`.
    pub(crate) fn totals(&self, now: u64, warmup: u64) -> Option<[u64; 64]> {
        let gates = self.shut.as_ref()?;
        let mut totals = [0; 64];
        for (total, gate) in totals.iter_mut().zip(gates.iter()) {
            let mut gate = *gate;
            gate.settle(now, warmup);
            *total = gate.total;
        }
        Some(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_time_counts_overlaps_once_and_stops_where_the_pause_does() {
        let mut gates = Gates::default();
        gates.pause(100, 1, 200, 0);
        gates.pause(150, 1, 300, 0);
        gates.pause(400, 1, 900, 0);
        gates.pause(500, 1, 0, 0);
        assert_eq!(gates.totals(1_000, 0).map(|t| (t[0], t[1])), Some((300, 0)));
        assert_eq!(gates.until(0), 500);
    }

    #[test]
    fn paused_time_before_the_warm_up_is_not_counted() {
        let mut gates = Gates::default();
        gates.pause(100, 2, 200, 150);
        assert_eq!(gates.totals(1_000, 150).map(|t| t[1]), Some(50));
        assert_eq!(gates.totals(120, 150).map(|t| t[1]), Some(0));
    }
}
