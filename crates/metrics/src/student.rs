//! Quantiles of Student's t distribution, for confidence intervals of a handful of seeds.
//!
//! The distribution function is the regularised incomplete beta function, by its continued fraction (NIST Digital
//! Library of Mathematical Functions, 8.17.22) evaluated with Lentz's method; the quantile is found by bisection,
//! which costs microseconds and cannot diverge. All of it by `libm`, so that an interval is the same bit for bit on
//! every machine. It leaves out fractional degrees of freedom.

/// Terms after which the continued fraction has long settled for every argument used here.
const TERMS: u32 = 10_000;

/// The continued fraction of the incomplete beta function; settles fast for x below (a + 1) / (a + b + 2).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    // Lentz's method breaks on an exact zero; this stands in for one.
    const TINY: f64 = 1e-300;
    let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for term in 1..TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The regularised incomplete beta function I_x(a, b), for x between 0 and 1.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::exp(
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x),
    );
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// The probability that |T| exceeds `t` (at least 0), with `freedom` degrees of freedom.
fn outside(t: f64, freedom: u64) -> f64 {
    let nu = freedom as f64;
    incomplete_beta(nu / (nu + t * t), nu / 2.0, 0.5)
}

/// The t that |T| stays below with probability `confidence`, with `freedom` degrees of freedom: 2.262 for 95 % and 9.
///
/// `None` without a degree of freedom, or when `confidence` is not above 0 and below 1.
#[must_use]
pub fn t_two_sided(confidence: f64, freedom: u64) -> Option<f64> {
    if freedom == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let alpha = 1.0 - confidence;
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high, freedom) > alpha {
        high *= 2.0;
        if high > 1e300 {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if outside(middle, freedom) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        // Two-sided, to the digits that statistical tables print.
        for (confidence, freedom, table) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 4, 2.776),
            (0.95, 9, 2.262),
            (0.95, 19, 2.093),
            (0.95, 30, 2.042),
            (0.95, 120, 1.980),
            (0.99, 5, 4.032),
            (0.999, 1, 636.619),
            (0.999, 2, 31.599),
            (0.999, 4, 8.610),
            (0.999, 9, 4.781),
            (0.999, 19, 3.883),
            (0.999, 30, 3.646),
            (0.999, 120, 3.373),
        ] {
            let t = t_two_sided(confidence, freedom).unwrap();
            assert!(
                (t - table).abs() < 6e-4,
                "{confidence} {freedom}: {t} for {table}"
            );
        }
    }

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        // |T| < 1 half of the time; the quantile is tan(confidence * pi / 2).
        assert!((t_two_sided(0.5, 1).unwrap() - 1.0).abs() < 1e-12);
        let exact = libm::tan(0.999 * std::f64::consts::FRAC_PI_2);
        assert!((t_two_sided(0.999, 1).unwrap() / exact - 1.0).abs() < 1e-9);
    }

    #[test]
    fn many_degrees_of_freedom_approach_the_normal_distribution() {
        assert!((t_two_sided(0.95, 1_000_000).unwrap() - 1.959_966).abs() < 1e-5);
    }

    #[test]
    fn nonsense_has_no_quantile() {
        for (confidence, freedom) in [(0.95, 0), (0.0, 3), (1.0, 3), (f64::NAN, 3), (-1.0, 3)] {
            assert_eq!(t_two_sided(confidence, freedom), None);
        }
    }
}
