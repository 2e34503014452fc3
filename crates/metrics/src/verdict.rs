//! A published figure beside a predicted one, and the rule that says whether the prediction holds.
//!
//! The rule, in this order:
//! 1. A figure that was used to fit or to derive a parameter is never counted as predicted: [`Verdict::Fitted`].
//! 2. No tolerance, no verdict: the figure is shown with its interval and nothing is claimed.
//! 3. A published zero (frames lost) has no percentage: a prediction of zero over the whole interval is
//!    [`Verdict::Ok`], an interval that holds zero and more is [`Verdict::Weak`], anything else [`Verdict::Miss`].
//! 4. The whole interval outside the band of published +- tolerance: [`Verdict::Miss`], however wide it is.
//! 5. No interval, or one whose half-width exceeds the tolerance: it could hardly miss, so [`Verdict::Weak`].
//! 6. |difference| at most the tolerance: [`Verdict::Ok`], else [`Verdict::Miss`].

use std::fmt;

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The prediction lies within the tolerance.
    Ok,
    /// It does not.
    Miss,
    /// The published figure went into the model: agreement proves nothing.
    Fitted,
    /// The interval is so wide that it could not miss.
    Weak,
}

impl Verdict {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Miss => "miss",
            Self::Fitted => "fitted",
            Self::Weak => "weak",
        }
    }
}
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What part the published figure played in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// None: the model did not see it.
    Predicted,
    /// A parameter was derived from it by arithmetic.
    Derived,
    /// A parameter was fitted to it.
    Fitted,
}

impl Role {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Derived => "derived",
            Self::Fitted => "fitted",
        }
    }
}
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One published figure beside its prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Which experiment: `backplane`, `t4-qos`.
    pub experiment: String,
    /// Which case of it, in the document's words.
    pub case: String,
    /// What is compared: `latency`, `throughput`, ...
    pub metric: String,
    /// Which summary: `mean`, `min`, `max`, ...
    pub stat: String,
    /// Unit of `published`, `predicted` and `ci95`: `s`, `bit/s`, `B`, `1`.
    pub unit: String,
    /// Accounting layer: `L1`, `L2`, `payload`, or `-`.
    pub layer: String,
    /// The figure in the document.
    pub published: f64,
    /// The mean over the seeds.
    pub predicted: f64,
    /// Its 95 % confidence interval, low and high; not-a-number where a single seed gives none.
    pub ci95: [f64; 2],
    /// What part the published figure played in the model.
    pub role: Role,
    /// (predicted - published) / published in per cent; `None` where the published figure is zero and the predicted
    /// one is not, or where one of them is no number.
    pub difference: Option<f64>,
    /// What that says; `None` where no tolerance was set.
    pub verdict: Option<Verdict>,
}

impl Comparison {
    /// Sets the difference and the verdict from the other fields and a tolerance in per cent of the published figure
    /// (`None`: shown without a target). See the module for the rule.
    #[must_use]
    pub fn judged(mut self, tolerance: Option<f64>) -> Self {
        self.difference = difference(self.published, self.predicted);
        self.verdict = verdict(self.role, self.published, self.predicted, self.ci95, tolerance);
        self
    }
}

/// (predicted - published) / published in per cent; zero against zero is zero.
#[must_use]
pub fn difference(published: f64, predicted: f64) -> Option<f64> {
    if published == 0.0 && predicted == 0.0 {
        return Some(0.0);
    }
    let percent = (predicted - published) / published.abs() * 100.0;
    percent.is_finite().then_some(percent)
}

/// The rule of the module. `tolerance` is in per cent of the published figure.
#[must_use]
pub fn verdict(
    role: Role,
    published: f64,
    predicted: f64,
    ci95: [f64; 2],
    tolerance: Option<f64>,
) -> Option<Verdict> {
    if role != Role::Predicted {
        return Some(Verdict::Fitted);
    }
    let tolerance = tolerance?;
    let [low, high] = ci95;
    // Comparisons with a number that is none are false: such an interval neither misses nor binds.
    let bound = low.is_finite() && high.is_finite();
    if published == 0.0 {
        return Some(match (predicted == 0.0, low <= 0.0 && 0.0 <= high) {
            (true, true) if low == 0.0 && high == 0.0 => Verdict::Ok,
            (_, true) => Verdict::Weak,
            (true, false) if !bound => Verdict::Weak,
            _ => Verdict::Miss,
        });
    }
    let Some(off) = difference(published, predicted) else {
        return Some(Verdict::Miss);
    };
    let allowed = published.abs() * tolerance / 100.0;
    if bound && (low > published + allowed || high < published - allowed) {
        return Some(Verdict::Miss);
    }
    if !bound || (high - low) / 2.0 > allowed {
        return Some(Verdict::Weak);
    }
    Some(if off.abs() <= tolerance {
        Verdict::Ok
    } else {
        Verdict::Miss
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(published: f64, predicted: f64, half: f64) -> Option<Verdict> {
        verdict(
            Role::Predicted,
            published,
            predicted,
            [predicted - half, predicted + half],
            Some(10.0),
        )
    }

    #[test]
    fn a_figure_that_went_into_the_model_is_never_counted_as_predicted() {
        for role in [Role::Fitted, Role::Derived] {
            for predicted in [1.0, 2.0, f64::NAN] {
                assert_eq!(
                    verdict(role, 1.0, predicted, [predicted; 2], Some(10.0)),
                    Some(Verdict::Fitted)
                );
            }
        }
    }

    #[test]
    fn within_the_tolerance_is_ok_and_beyond_it_is_a_miss() {
        assert_eq!(rule(100.0, 110.0, 1.0), Some(Verdict::Ok));
        assert_eq!(rule(100.0, 110.1, 1.0), Some(Verdict::Miss));
        assert_eq!(rule(100.0, 90.0, 0.0), Some(Verdict::Ok));
        assert_eq!(rule(-100.0, -95.0, 1.0), Some(Verdict::Ok));
    }

    #[test]
    fn an_interval_too_wide_to_miss_is_weak() {
        assert_eq!(rule(100.0, 100.0, 10.1), Some(Verdict::Weak));
        assert_eq!(rule(100.0, 115.0, 20.0), Some(Verdict::Weak));
        let one_seed = verdict(Role::Predicted, 100.0, 100.0, [f64::NAN; 2], Some(10.0));
        assert_eq!(one_seed, Some(Verdict::Weak));
    }

    #[test]
    fn a_wide_interval_does_not_excuse_a_prediction_wholly_outside_the_band() {
        assert_eq!(rule(100.0, 300.0, 50.0), Some(Verdict::Miss));
        assert_eq!(rule(100.0, 20.0, 15.0), Some(Verdict::Miss));
    }

    #[test]
    fn no_tolerance_gives_no_verdict() {
        assert_eq!(verdict(Role::Predicted, 1.0, 5.0, [4.0, 6.0], None), None);
    }

    #[test]
    fn a_published_zero_is_met_by_zero_alone() {
        assert_eq!(rule(0.0, 0.0, 0.0), Some(Verdict::Ok));
        assert_eq!(rule(0.0, 3.0, 1.0), Some(Verdict::Miss));
        assert_eq!(rule(0.0, 1.0, 2.0), Some(Verdict::Weak));
        assert_eq!(
            verdict(Role::Predicted, 0.0, 0.0, [f64::NAN; 2], Some(10.0)),
            Some(Verdict::Weak)
        );
    }

    #[test]
    fn a_prediction_that_is_no_number_misses() {
        assert_eq!(
            verdict(Role::Predicted, 1.0, f64::NAN, [0.0, 1.0], Some(10.0)),
            Some(Verdict::Miss)
        );
    }

    #[test]
    fn judging_fills_in_the_difference_in_per_cent() {
        let c = Comparison {
            experiment: "t4-qos".into(),
            case: "two channels".into(),
            metric: "latency".into(),
            stat: "mean".into(),
            unit: "s".into(),
            layer: "payload".into(),
            published: 4e-6,
            predicted: 5e-6,
            ci95: [4.9e-6, 5.1e-6],
            role: Role::Predicted,
            difference: None,
            verdict: None,
        }
        .judged(Some(10.0));
        assert!((c.difference.unwrap() - 25.0).abs() < 1e-9);
        assert_eq!(c.verdict, Some(Verdict::Miss));
        assert_eq!(difference(0.0, 1.0), None);
        assert_eq!(difference(0.0, 0.0), Some(0.0));
    }
}
