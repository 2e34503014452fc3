//! What a handful of independent seeds say about one number: mean, spread and confidence intervals by Student's t.
//!
//! The samples are whole-run results of independent seeds, one each, so that the t interval applies to their mean.
//! Samples inside one run are correlated and do not belong here; a [`crate::Histogram`] is for those.

use crate::student::t_two_sided;

/// Count, mean and spread of samples, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many samples.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Sample standard deviation (divided by count - 1); zero for one sample.
    pub stddev: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// The summary of `samples`; `None` when there are none or one of them is not finite.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|s| !s.is_finite()) {
            return None;
        }
        // Welford's recurrence: no cancellation where the spread is small beside the mean.
        let (mut mean, mut squares) = (0.0, 0.0);
        for (i, &sample) in samples.iter().enumerate() {
            let off = sample - mean;
            mean += off / (i + 1) as f64;
            squares += off * (sample - mean);
        }
        let stddev = if samples.len() > 1 {
            libm::sqrt(squares / (samples.len() - 1) as f64)
        } else {
            0.0
        };
        let min = samples.iter().copied().fold(f64::INFINITY, f64::min);
        let max = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Rounding in the recurrence must not put the mean outside the samples.
        Some(Self {
            count: samples.len() as u64,
            mean: mean.clamp(min, max),
            stddev,
            min,
            max,
        })
    }

    /// Half the width of the confidence interval of the mean; `None` for a single sample, which says nothing about
    /// the spread.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let t = t_two_sided(confidence, self.count.checked_sub(1)?)?;
        Some(t * self.stddev / libm::sqrt(self.count as f64))
    }

    /// The confidence interval of the mean, as (low, high).
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        self.half_width(confidence)
            .map(|h| [self.mean - h, self.mean + h])
    }

    /// The 95 % confidence interval of the mean.
    #[must_use]
    pub fn ci95(&self) -> Option<[f64; 2]> {
        self.interval(0.95)
    }

    /// The 99.9 % confidence interval of the mean, for tests against theory.
    #[must_use]
    pub fn ci999(&self) -> Option<[f64; 2]> {
        self.interval(0.999)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Random;

    #[test]
    fn a_worked_example_gives_its_interval() {
        // Mean 5, sum of squares 10 over 4: s = sqrt(2.5); t(95 %, 4) = 2.776445; half = t * s / sqrt(5).
        let s = Summary::of(&[3.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!((s.count, s.mean, s.min, s.max), (5, 5.0, 3.0, 7.0));
        assert!((s.half_width(0.95).unwrap() - 1.963_243).abs() < 1e-5);
        let [low, high] = s.ci999().unwrap();
        assert!((high - low) / 2.0 > 6.0 && (low + high - 10.0).abs() < 1e-12);
    }

    #[test]
    fn one_sample_has_a_mean_and_no_interval() {
        let s = Summary::of(&[2.5]).unwrap();
        assert_eq!((s.mean, s.stddev, s.ci95()), (2.5, 0.0, None));
    }

    #[test]
    fn equal_samples_have_an_interval_without_width() {
        let s = Summary::of(&[0.1; 7]).unwrap();
        assert_eq!(s.ci95(), Some([0.1, 0.1]));
    }

    #[test]
    fn a_sample_that_is_no_number_makes_no_summary() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn a_95_percent_interval_holds_the_true_mean_about_95_times_in_100() {
        let mut random = Random::new(3);
        let held = (0..4000)
            .filter(|_| {
                // Sums of twelve uniform numbers are near enough to normal; their mean is six.
                let samples: Vec<f64> = (0..5)
                    .map(|_| {
                        (0..12)
                            .map(|_| (random.next() >> 11) as f64 / (1_u64 << 53) as f64)
                            .sum()
                    })
                    .collect();
                let [low, high] = Summary::of(&samples).unwrap().ci95().unwrap();
                low <= 6.0 && 6.0 <= high
            })
            .count();
        // Four standard deviations of a binomial count of 4,000 at 0.95.
        assert!((3745..=3855).contains(&held), "{held}");
    }
}
