//! A number as a document prints it: its digits say how far it may be from what was measured.
//!
//! `36.5201` lies within half a unit of its last digit, 36.52005 to 36.52015. A count, a setting and a number of a
//! standard are exact. Units are SI with prefixes; everything is computed in the unit without prefix.

use clearway_report::{Micro, quantity};

/// Units that data files may use: name, value in the unit without prefix, that unit.
const UNITS: [(&str, f64, &str); 21] = [
    ("1", 1.0, "1"),
    ("%", 1.0, "%"),
    ("s", 1.0, "s"),
    ("ms", 1e-3, "s"),
    ("us", 1e-6, "s"),
    ("ns", 1e-9, "s"),
    ("bit", 1.0, "bit"),
    ("bit/s", 1.0, "bit/s"),
    ("Mbit/s", 1e6, "bit/s"),
    ("Gbit/s", 1e9, "bit/s"),
    ("B", 1.0, "B"),
    ("KiB", 1024.0, "B"),
    ("MB", 1e6, "B"),
    ("GB", 1e9, "B"),
    ("B/s", 1.0, "B/s"),
    ("MB/s", 1e6, "B/s"),
    ("MiB/s", 1_048_576.0, "B/s"),
    ("frame/s", 1.0, "frame/s"),
    ("Mframe/s", 1e6, "frame/s"),
    ("IO/s", 1.0, "IO/s"),
    ("MHz", 1e6, "Hz"),
];

/// A number with what its digits leave open.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    text: String,
    unit: String,
    value: f64,
    half: f64,
}

/// The unit without prefix that `unit` is a multiple of.
#[must_use]
pub fn base_unit(unit: &str) -> Option<&'static str> {
    UNITS.iter().find(|u| u.0 == unit).map(|u| u.2)
}

impl Printed {
    /// Reads digits such as `36.5201` or `165e3`. `half` is how far the number may be off, in `unit`; absent: half a unit
    /// of the last digit.
    ///
    /// # Errors
    /// Says what is wrong with the digits or the unit.
    pub fn read(text: &str, unit: &str, half: Option<f64>) -> Result<Self, String> {
        let Some((_, scale, _)) = UNITS.iter().find(|u| u.0 == unit) else {
            let known: Vec<&str> = UNITS.iter().map(|u| u.0).collect();
            return Err(format!(
                "unit `{unit}` is not known; there are {}",
                known.join(", ")
            ));
        };
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
        let Some(number) = number else {
            return Err(format!(
                "`{text}` is no number; write it as the document prints it"
            ));
        };
        let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
        let power = power.parse::<i32>().unwrap_or(0) - i32::try_from(decimals).unwrap_or(i32::MAX);
        // By text, so that half a thousandth is the double nearest to it.
        let half = half.unwrap_or_else(|| format!("5e{}", power - 1).parse().unwrap_or(f64::INFINITY));
        if !(half.is_finite() && half >= 0.0) {
            return Err(format!("`{text}`: {half} is no width; give 0 or more"));
        }
        Ok(Self {
            text: text.to_owned(),
            unit: unit.to_owned(),
            value: number * scale,
            half: half * scale,
        })
    }

    /// In the unit without prefix.
    #[must_use]
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// The least and the most that it may stand for, in the unit without prefix.
    #[must_use]
    pub fn range(&self) -> [f64; 2] {
        [self.value - self.half, self.value + self.half]
    }

    /// Whether it can be nothing else.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.half == 0.0
    }

    /// The unit without prefix.
    #[must_use]
    pub fn base(&self) -> &'static str {
        base_unit(&self.unit).unwrap_or("1")
    }

    /// As it is printed, with its unit and commas: `258.428 us`, `19,348`.
    #[must_use]
    pub fn shown(&self) -> String {
        let number = if self.text.contains(['e', 'E', '.']) || self.text.len() < 4 {
            self.text.clone()
        } else {
            self.text.parse().map_or_else(
                |_| self.text.clone(),
                |n| quantity::humanised(n, "1", 17, Micro::Ascii),
            )
        };
        if self.unit == "1" {
            number
        } else {
            format!("{number} {}", self.unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, unit: &str) -> Printed {
        Printed::read(text, unit, None).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn the_last_digit_leaves_half_a_unit_open() {
        assert_eq!(read("14", "1").range(), [13.5, 14.5]);
        assert_eq!(read("165e3", "1").range(), [164_500.0, 165_500.0]);
        assert_eq!(read("1.50", "1").range(), [1.495, 1.505]);
        let exact = Printed::read("8", "1", Some(0.0)).unwrap_or_else(|e| panic!("{e}"));
        assert!(exact.is_exact() && !read("8", "1").is_exact());
    }

    #[test]
    fn everything_is_computed_without_prefixes() {
        let time = read("258.428", "us");
        assert!((time.value() - 258.428e-6).abs() < 1e-18);
        assert_eq!(time.base(), "s");
        assert_eq!(read("512", "KiB").value(), 524_288.0);
    }

    #[test]
    fn it_is_shown_as_printed() {
        assert_eq!(read("258.428", "us").shown(), "258.428 us");
        assert_eq!(read("19348", "1").shown(), "19,348");
        assert_eq!(read("9454.00", "Mbit/s").shown(), "9454.00 Mbit/s");
    }

    #[test]
    fn a_wrong_number_or_unit_is_told() {
        for (text, unit, part) in [
            ("x", "s", "no number"),
            ("1", "sec", "not known"),
            ("inf", "s", "no number"),
        ] {
            assert!(Printed::read(text, unit, None).is_err_and(|e| e.contains(part)));
        }
        assert!(Printed::read("1", "s", Some(-1.0)).is_err_and(|e| e.contains("width")));
    }
}
