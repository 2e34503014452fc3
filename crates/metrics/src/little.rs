//! Little's law as a check: the mean number in a system is the arrival rate times the mean time in it.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research 9(3), 1961. It holds for any
//! system that starts and ends empty, whatever its order of service: a closed-loop result that breaks it has counted
//! something twice, or not at all.

/// The three figures of one system over one span of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LittlesLaw {
    /// L: time-weighted mean number in the system.
    pub mean_number: f64,
    /// Lambda: completions per second.
    pub rate: f64,
    /// W: mean time in the system, seconds.
    pub mean_time: f64,
}

impl LittlesLaw {
    /// |L - lambda W| as a fraction of the larger of the two; zero when both are zero, `None` when a figure is
    /// negative or not finite.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let predicted = self.rate * self.mean_time;
        let sound = [self.mean_number, self.rate, self.mean_time, predicted]
            .iter()
            .all(|f| f.is_finite() && *f >= 0.0);
        let scale = predicted.max(self.mean_number);
        sound.then(|| {
            if scale == 0.0 {
                0.0
            } else {
                (self.mean_number - predicted).abs() / scale
            }
        })
    }

    /// Whether the law holds within `tolerance`, a fraction.
    #[must_use]
    pub fn holds(&self, tolerance: f64) -> bool {
        self.error().is_some_and(|e| e <= tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Occupancy;

    #[test]
    fn a_single_server_that_starts_and_ends_empty_obeys_the_law() {
        // Arrivals at 0, 1, 5; service 3 each: departures at 3, 6, 9 (seconds as ps here; the unit cancels).
        let mut o = Occupancy::new(0);
        for (at, up) in [
            (0, true),
            (1, true),
            (3, false),
            (5, true),
            (6, false),
            (9, false),
        ] {
            if up { o.add(at, 1) } else { o.sub(at, 1) }
        }
        let law = LittlesLaw {
            mean_number: o.mean(9),
            rate: 3.0 / 9.0,
            mean_time: (3.0 + 5.0 + 4.0) / 3.0,
        };
        assert!(law.holds(1e-12), "{law:?}");
    }

    #[test]
    fn the_published_call_counts_obey_it_and_the_subset_mean_does_not() {
        // 19,348 calls in 5 s, one outstanding: 258.4 us a call, not twice 36.5 us.
        let law = |mean_time| LittlesLaw {
            mean_number: 1.0,
            rate: 19_348.0 / 5.0,
            mean_time,
        };
        assert!(law(258.428e-6).holds(0.001));
        assert!(!law(73.04e-6).holds(0.5));
    }

    #[test]
    fn nothing_in_nothing_out_obeys_and_nonsense_does_not() {
        assert!(
            LittlesLaw {
                mean_number: 0.0,
                rate: 0.0,
                mean_time: 0.0
            }
            .holds(0.0)
        );
        assert!(
            !LittlesLaw {
                mean_number: f64::NAN,
                rate: 1.0,
                mean_time: 1.0
            }
            .holds(1.0)
        );
    }
}
