//! Numbers with units as people read them: 9.48 Gbit/s, 3.30 us, 135,000.
//!
//! SI prefixes, powers of 1000 for every unit, bytes included (1 kB is 1,000 B). Counts and per cent take no prefix:
//! counts are grouped by thousands. It leaves out binary prefixes: the scenario files read them, nothing prints them.

/// How a millionth is written: `us` in plain ASCII or with the micro sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Micro {
    /// `us`
    #[default]
    Ascii,
    /// `µs`
    Sign,
}

const PREFIXES: [(i32, &str); 11] = [
    (15, "P"),
    (12, "T"),
    (9, "G"),
    (6, "M"),
    (3, "k"),
    (0, ""),
    (-3, "m"),
    (-6, "u"),
    (-9, "n"),
    (-12, "p"),
    (-15, "f"),
];

/// Whether `unit` takes SI prefixes; counts, fractions and per cent do not.
#[must_use]
pub fn takes_prefix(unit: &str) -> bool {
    !matches!(
        unit,
        "" | "1" | "-" | "%" | "ppm" | "dB" | "frame" | "frames" | "call" | "calls" | "sample" | "samples"
    )
}

/// The power of ten (a multiple of three) and its prefix for a number of this size. Times below the femto range and
/// rates above the peta range keep the outermost prefix. Only seconds take
/// a prefix below one: bits, bytes and frames are whole.
#[must_use]
pub fn prefix_for(magnitude: f64, unit: &str) -> (i32, &'static str) {
    if !takes_prefix(unit) || !magnitude.is_finite() || magnitude <= 0.0 {
        return (0, "");
    }
    let lowest = if unit == "s" { -15 } else { 0 };
    let mut chosen = (lowest, "");
    for (power, prefix) in PREFIXES {
        if power < lowest {
            break;
        }
        chosen = (power, prefix);
        // 999.95 and more would be printed as 1000: the next prefix takes it.
        if magnitude >= libm::pow(10.0, f64::from(power)) * 0.9995 {
            break;
        }
    }
    chosen
}

/// The prefix as it is written in this medium.
#[must_use]
pub fn prefix_text(prefix: &'static str, micro: Micro) -> &'static str {
    if prefix == "u" && micro == Micro::Sign {
        "\u{b5}"
    } else {
        prefix
    }
}

/// `value` to `digits` significant digits without a unit: `0.00123`, `9.48`, `135,000`, `1.2e20`.
#[must_use]
pub fn plain(value: f64, digits: usize) -> String {
    let digits = digits.clamp(1, 17);
    if value.is_nan() {
        return "n/a".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.*e}", digits - 1);
    }
    // The power of ten after rounding: 9.996 to three digits is 10.0, not 10.00.
    let rounded = format!("{size:.*e}", digits - 1);
    let power: i32 = rounded
        .split('e')
        .nth(1)
        .and_then(|p| p.parse().ok())
        .unwrap_or(0);
    let decimals = (digits as i32 - 1 - power).max(0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// Commas between thousands of the whole part.
fn grouped(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |n| ("-", n));
    let (whole, fraction) = number
        .split_once('.')
        .map_or((number, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `value` with its unit to `digits` significant digits: `9.48 Gbit/s`. Whole counts are printed whole.
#[must_use]
pub fn humanised(value: f64, unit: &str, digits: usize, micro: Micro) -> String {
    if !value.is_finite() {
        return plain(value, digits);
    }
    if !takes_prefix(unit) {
        let whole = value.abs() < 1e15 && value == value.trunc();
        let number = if whole {
            grouped(&format!("{}", value + 0.0))
        } else {
            plain(value, digits)
        };
        return match unit {
            "" | "1" | "-" => number,
            unit => format!("{number} {unit}"),
        };
    }
    if value == 0.0 {
        return format!("0 {unit}");
    }
    let (power, prefix) = prefix_for(value.abs(), unit);
    let scaled = value / libm::pow(10.0, f64::from(power));
    let number = plain(scaled, digits);
    format!("{number} {}{unit}", prefix_text(prefix, micro))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h(value: f64, unit: &str) -> String {
        humanised(value, unit, 3, Micro::Ascii)
    }

    #[test]
    fn rates_times_and_bytes_take_the_prefix_that_fits() {
        assert_eq!(h(9.47853e9, "bit/s"), "9.48 Gbit/s");
        assert_eq!(h(3.30113e-6, "s"), "3.30 us");
        assert_eq!(humanised(3.30113e-6, "s", 3, Micro::Sign), "3.30 \u{b5}s");
        assert_eq!(h(36.52e-6, "s"), "36.5 us");
        assert_eq!(h(1.5e6, "B"), "1.50 MB");
        assert_eq!(h(165_000.0, "frame/s"), "165 kframe/s");
        assert_eq!(h(-0.001_25, "s"), "-1.25 ms");
        assert_eq!(h(800e-12, "s"), "800 ps");
    }

    #[test]
    fn rounding_up_to_a_thousand_takes_the_next_prefix() {
        assert_eq!(h(999.96e-6, "s"), "1.00 ms");
        assert_eq!(h(999.4e-6, "s"), "999 us");
        assert_eq!(h(9.996, "s"), "10.0 s");
    }

    #[test]
    fn counts_are_whole_and_grouped() {
        assert_eq!(h(135_000.0, "1"), "135,000");
        assert_eq!(h(1_234_567.0, "frame"), "1,234,567 frame");
        assert_eq!(h(-1000.0, "1"), "-1,000");
        assert_eq!(h(0.971, "1"), "0.971");
        assert_eq!(h(1.113, "%"), "1.11 %");
        assert_eq!(h(-0.0, "1"), "0");
    }

    #[test]
    fn the_extremes_are_readable_and_never_panic() {
        assert_eq!(h(0.0, "s"), "0 s");
        assert_eq!(h(f64::NAN, "s"), "n/a");
        assert_eq!(h(f64::INFINITY, "s"), "inf");
        for value in [f64::MAX, f64::MIN_POSITIVE, -f64::MAX, 5e-324] {
            for unit in ["s", "bit/s", "1", "B", "%", "x"] {
                assert!(!h(value, unit).is_empty());
            }
        }
        assert_eq!(h(0.5, "B"), "0.500 B");
        assert_eq!(plain(1.0, 0), "1");
    }
}
