//! Who got how much: shares, Jain's fairness index, rate error, and the length of a burst on the wire.
//!
//! The index is from R. Jain, D. Chiu and W. Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC
//! TR-301, 1984. It leaves out max-min fairness over several links, which needs a topology.

fn usable(amounts: &[f64]) -> bool {
    !amounts.is_empty() && amounts.iter().all(|a| a.is_finite() && *a >= 0.0)
}

/// Each amount as a fraction of their sum; `None` when the sum is zero or an amount is negative or not finite.
#[must_use]
pub fn shares(amounts: &[f64]) -> Option<Vec<f64>> {
    let sum: f64 = amounts.iter().sum();
    (usable(amounts) && sum > 0.0).then(|| amounts.iter().map(|a| a / sum).collect())
}

/// Jain's index of `amounts`: 1 when all are equal, 1/n when one has everything.
///
/// `None` when all are zero or one is negative or not finite.
#[must_use]
pub fn jain(amounts: &[f64]) -> Option<f64> {
    let sum: f64 = amounts.iter().sum();
    if !usable(amounts) || sum <= 0.0 {
        return None;
    }
    // Shares first: their squares neither overflow nor vanish.
    let squares: f64 = amounts.iter().map(|a| (a / sum) * (a / sum)).sum();
    Some(1.0 / (amounts.len() as f64 * squares))
}

/// Jain's index of amounts divided by their weights: 1 when everyone has what the weights promise.
///
/// `None` also when the lengths differ or a weight is not above zero.
#[must_use]
pub fn weighted_jain(amounts: &[f64], weights: &[f64]) -> Option<f64> {
    if amounts.len() != weights.len() || !weights.iter().all(|w| w.is_finite() && *w > 0.0) {
        return None;
    }
    let scaled: Vec<f64> = amounts.iter().zip(weights).map(|(a, w)| a / w).collect();
    jain(&scaled)
}

/// How far a measured rate is from the intended one, as a fraction: 0.01 is one per cent too fast.
///
/// `None` when nothing was intended.
#[must_use]
pub fn rate_error(measured: f64, intended: f64) -> Option<f64> {
    let error = (measured - intended) / intended;
    error.is_finite().then_some(error)
}

/// The largest |achieved share - promised share| over all parties, promised in proportion to `weights`.
#[must_use]
pub fn worst_share_error(amounts: &[f64], weights: &[f64]) -> Option<f64> {
    if amounts.len() != weights.len() {
        return None;
    }
    let (got, promised) = (shares(amounts)?, shares(weights)?);
    Some(
        got.iter()
            .zip(&promised)
            .map(|(g, p)| (g - p).abs())
            .fold(0.0, f64::max),
    )
}

/// How long a burst of `frames` frames of `bytes` bytes each (all layers that take time on the wire included) lasts
/// at `rate_bps`, in seconds. A receiver's burst tolerance is this time for the longest burst without a drop.
#[must_use]
pub fn burst_seconds(frames: u64, bytes: u64, rate_bps: u64) -> Option<f64> {
    (rate_bps > 0).then(|| frames as f64 * bytes as f64 * 8.0 / rate_bps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert_eq!(jain(&[5.0; 4]), Some(1.0));
        assert_eq!(jain(&[0.0, 9.0, 0.0, 0.0]), Some(0.25));
        assert!((jain(&[1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!(jain(&[1e300, 1e300]), Some(1.0));
    }

    #[test]
    fn weights_are_what_fairness_is_measured_by() {
        assert_eq!(weighted_jain(&[10.0, 30.0], &[1.0, 3.0]), Some(1.0));
        assert!(weighted_jain(&[20.0, 20.0], &[1.0, 3.0]).unwrap() < 0.81);
        assert_eq!(worst_share_error(&[20.0, 20.0], &[1.0, 3.0]), Some(0.25));
    }

    #[test]
    fn nothing_shared_has_neither_share_nor_index() {
        assert_eq!(shares(&[]), None);
        assert_eq!(shares(&[0.0, 0.0]), None);
        assert_eq!(jain(&[1.0, f64::NAN]), None);
        assert_eq!(jain(&[1.0, -1.0, 5.0]), None);
        assert_eq!(weighted_jain(&[1.0], &[0.0]), None);
        assert_eq!(weighted_jain(&[1.0], &[]), None);
        assert_eq!(rate_error(1.0, 0.0), None);
    }

    #[test]
    fn shares_and_rate_errors_are_fractions() {
        assert_eq!(shares(&[1.0, 3.0]), Some(vec![0.25, 0.75]));
        assert_eq!(rate_error(99.0, 100.0), Some(-0.01));
    }

    #[test]
    fn a_published_burst_has_its_published_length() {
        // 23,000 packets of 46 B of headers and 64 B of message at 10 Gbit/s: 2.0240 ms.
        let t = burst_seconds(23_000, 110, 10_000_000_000).unwrap();
        assert!((t - 2.024e-3).abs() < 1e-12);
        assert_eq!(burst_seconds(1, 1, 0), None);
    }
}
