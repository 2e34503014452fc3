//! Quantities with units, read exactly: `10Gbit/s`, `5us`, `1.5MB`, `64KiB`, `80%`, `1000frame/s`, `3m`.
//!
//! A quantity is a decimal number and a unit, parsed in integers only: either the value is a whole number of the base
//! unit (bit/s, frame/s, byte, frame, picosecond, millimetre, millionth of a percent) or it is refused. Decimal
//! prefixes are powers of 1000 (`kB`, `MB`), binary ones of 1024 (`KiB`, `MiB`), after IEC 80000-13. `Gb/s` and `Gbps`
//! are taken as `Gbit/s`; what mixes up bits and bytes is refused with the value that was probably meant. Left out:
//! exponents and negative numbers.

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dimension {
    /// bit/s.
    BitRate,
    /// frame/s.
    FrameRate,
    /// Bytes.
    Size,
    /// Frames.
    Frames,
    /// Picoseconds.
    Time,
    /// Millimetres of cable.
    Length,
    /// Millionths of a percent.
    Percent,
}

impl Dimension {
    const ALL: [Self; 7] = [
        Self::BitRate,
        Self::FrameRate,
        Self::Size,
        Self::Frames,
        Self::Time,
        Self::Length,
        Self::Percent,
    ];

    /// How findings describe a quantity of this dimension.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::BitRate => "a rate such as \"10Gbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)",
            Self::FrameRate => {
                "a frame rate such as \"1000frame/s\" (frame/s, kframe/s, Mframe/s, or message/s and so on)"
            }
            Self::Size => "a size such as \"64KiB\" (B, kB, MB, GB, KiB, MiB, GiB)",
            Self::Frames => "a number of frames such as \"100frame\"",
            Self::Time => "a time such as \"5us\" (ps, ns, us, ms, s, min)",
            Self::Length => "a length such as \"3m\" (mm, cm, m, km)",
            Self::Percent => "a percentage such as \"80%\"",
        }
    }

    /// Units with the number of base units in each, least first; the first spelling of a value is the one shown.
    const fn units(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::BitRate => &[
                ("bit/s", 1),
                ("b/s", 1),
                ("bps", 1),
                ("kbit/s", 1_000),
                ("kb/s", 1_000),
                ("kbps", 1_000),
                ("Mbit/s", 1_000_000),
                ("Mb/s", 1_000_000),
                ("Mbps", 1_000_000),
                ("Gbit/s", 1_000_000_000),
                ("Gb/s", 1_000_000_000),
                ("Gbps", 1_000_000_000),
                ("Tbit/s", 1_000_000_000_000),
                ("Tb/s", 1_000_000_000_000),
                ("Tbps", 1_000_000_000_000),
            ],
            Self::FrameRate => &[
                ("frame/s", 1),
                ("frames/s", 1),
                ("pps", 1),
                ("request/s", 1),
                ("message/s", 1),
                ("kframe/s", 1_000),
                ("kpps", 1_000),
                ("kmessage/s", 1_000),
                ("Mframe/s", 1_000_000),
                ("Mmessage/s", 1_000_000),
                ("Mpps", 1_000_000),
            ],
            Self::Size => &[
                ("B", 1),
                ("byte", 1),
                ("bytes", 1),
                ("kB", 1_000),
                ("KiB", 1 << 10),
                ("MB", 1_000_000),
                ("MiB", 1 << 20),
                ("GB", 1_000_000_000),
                ("GiB", 1 << 30),
                ("TB", 1_000_000_000_000),
            ],
            Self::Frames => &[("frame", 1), ("frames", 1)],
            Self::Time => &[
                ("ps", 1),
                ("ns", 1_000),
                ("us", 1_000_000),
                ("\u{b5}s", 1_000_000),
                ("\u{3bc}s", 1_000_000),
                ("ms", 1_000_000_000),
                ("s", 1_000_000_000_000),
                ("min", 60_000_000_000_000),
            ],
            Self::Length => &[("mm", 1), ("cm", 10), ("m", 1_000), ("km", 1_000_000)],
            Self::Percent => &[("%", 1_000_000)],
        }
    }

    /// What a number without a unit probably means; none where that would be a guess among many.
    #[must_use]
    pub const fn plain_unit(self) -> Option<&'static str> {
        match self {
            Self::Size => Some("B"),
            Self::Frames => Some("frame"),
            Self::FrameRate => Some("frame/s"),
            Self::Percent => Some("%"),
            Self::BitRate | Self::Time | Self::Length => None,
        }
    }

    /// Every unit that is read for this dimension.
    pub fn unit_names(self) -> impl Iterator<Item = &'static str> {
        self.units().iter().map(|(name, _)| *name)
    }
}

/// A value in base units of its dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// What is measured.
    pub dimension: Dimension,
    /// How much, in base units.
    pub value: u64,
}

impl std::fmt::Display for Quantity {
    /// Exact, in the largest decimal unit that is not more than the value: reading it gives the value back.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let decimal = |n: u64| {
            let mut n = n;
            while n.is_multiple_of(10) {
                n /= 10;
            }
            n == 1
        };
        let units = self.dimension.units();
        let (name, size) = units
            .iter()
            .filter(|(_, size)| *size <= self.value && decimal(*size))
            .fold(units[0], |best, unit| if unit.1 > best.1 { *unit } else { best });
        let (whole, part) = (self.value / size, self.value % size);
        write!(f, "{whole}")?;
        if part > 0 {
            let digits = size.ilog10() as usize;
            write!(f, ".{}", format!("{part:0digits$}").trim_end_matches('0'))?;
        }
        f.write_str(name)
    }
}

/// Why a text is no quantity: what is wrong, and the nearest that would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// What is wrong, with the remedy.
    pub message: String,
    /// A text that would be taken.
    pub suggestion: Option<String>,
}

fn refuse<T>(message: impl Into<String>, suggestion: Option<String>) -> Result<T, QuantityError> {
    Err(QuantityError {
        message: message.into(),
        suggestion,
    })
}

/// Reads a quantity of one of the given dimensions.
///
/// # Errors
/// Says what is wrong and, where one is near, what would be right.
pub fn parse_quantity(text: &str, dimensions: &[Dimension]) -> Result<Quantity, QuantityError> {
    let text = text.trim();
    let number_end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..number_end], text[number_end..].trim_start());
    if number.is_empty() {
        if text.starts_with('-') {
            return refuse("a quantity cannot be negative", None);
        }
        return refuse(format!("`{text}` does not start with a number"), None);
    }
    let (digits, scale) = decimal(number)?;
    if unit.is_empty() {
        let plain = match dimensions {
            [one] => one.plain_unit(),
            _ => None,
        };
        return refuse(
            format!("`{text}` has no unit"),
            plain.map(|unit| format!("{number}{unit}")),
        );
    }
    for &dimension in dimensions {
        if let Some(&(_, size)) = dimension.units().iter().find(|(name, _)| *name == unit) {
            return scaled(digits, scale, size, dimension, text);
        }
    }
    refuse_unit(number, digits, scale, unit, dimensions)
}

/// Digits as an integer, and how many of them stand after the point.
fn decimal(number: &str) -> Result<(u128, u32), QuantityError> {
    let plain: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, part) = plain.split_once('.').unwrap_or((&plain, ""));
    if part.contains('.') || whole.is_empty() || (plain.ends_with('.')) {
        return refuse(format!("`{number}` is no decimal number: write 1.5 or 0.5"), None);
    }
    let part = part.trim_end_matches('0');
    if whole.trim_start_matches('0').len() + part.len() > 30 {
        return refuse(format!("`{number}` has more than 30 digits"), None);
    }
    let digits = format!("{whole}{part}").trim_start_matches('0').to_owned();
    let digits = if digits.is_empty() { "0".to_owned() } else { digits };
    match (digits.parse::<u128>(), u32::try_from(part.len())) {
        (Ok(digits), Ok(scale)) if scale <= 30 => Ok((digits, scale)),
        _ => refuse(format!("`{number}` has more than 30 digits"), None),
    }
}

fn scaled(
    digits: u128,
    scale: u32,
    size: u64,
    dimension: Dimension,
    text: &str,
) -> Result<Quantity, QuantityError> {
    let base = dimension.units()[0].0;
    let divisor = 10_u128.pow(scale);
    let Some(product) = digits.checked_mul(u128::from(size)) else {
        return refuse(format!("`{text}` is too large"), None);
    };
    if product % divisor != 0 {
        let finest = if dimension == Dimension::Percent {
            "millionth of a percent"
        } else {
            base
        };
        return refuse(format!("`{text}` is not a whole number of {finest}"), None);
    }
    match u64::try_from(product / divisor) {
        Ok(value) => Ok(Quantity { dimension, value }),
        Err(_) => refuse(
            format!("`{text}` is too large: at most {} {base}", u64::MAX),
            None,
        ),
    }
}

/// The unit is not one that the field takes: say why, and what was probably meant.
fn refuse_unit(
    number: &str,
    digits: u128,
    scale: u32,
    unit: &str,
    dimensions: &[Dimension],
) -> Result<Quantity, QuantityError> {
    let text = format!("{number}{unit}");
    let wants = |d| dimensions.contains(&d);
    if wants(Dimension::BitRate)
        && let Some(size) = unit.strip_suffix("/s").or(unit.strip_suffix("ps"))
        && let Some(&(_, bytes)) = Dimension::Size.units().iter().find(|(name, _)| *name == size)
    {
        let bits = scaled(digits, scale, bytes.saturating_mul(8), Dimension::BitRate, &text).ok();
        return refuse(
            format!("`{text}` is in bytes (B) a second; rates are in bits a second"),
            bits.map(|q| q.to_string()),
        );
    }
    if wants(Dimension::Size) {
        let bits = ["b", "bit", "bits", "kb", "kbit", "Mb", "Mbit", "Gb", "Gbit"];
        if bits.contains(&unit) {
            let prefix = unit
                .trim_end_matches("bits")
                .trim_end_matches("bit")
                .trim_end_matches('b');
            return refuse(
                format!("`{text}` is in bits (b); sizes are in bytes (B)"),
                Some(format!("{number}{prefix}B")),
            );
        }
        if unit == "KB" || unit == "K" || unit == "k" {
            return refuse(
                format!(
                    "`{text}` is ambiguous: write {number}kB for 1000 bytes each or {number}KiB for 1024"
                ),
                Some(format!("{number}kB")),
            );
        }
    }
    for other in Dimension::ALL.into_iter().filter(|d| !wants(*d)) {
        if other.units().iter().any(|(name, _)| *name == unit) {
            return refuse(
                format!(
                    "`{text}` is {}",
                    other.describe().split(" such").next().unwrap_or("")
                ),
                None,
            );
        }
    }
    let units: Vec<&str> = dimensions.iter().flat_map(|d| d.unit_names()).collect();
    // A unit in the wrong case is nearer than any other; `m` for `M` would be a factor of 10^9.
    let near = units
        .iter()
        .copied()
        .find(|name| name.eq_ignore_ascii_case(unit))
        .or_else(|| crate::diagnostic::nearest(unit, units.iter().copied()))
        .map(|name| format!("{number}{name}"));
    refuse(format!("`{unit}` is no unit that is read here"), near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, dimension: Dimension) -> Option<u64> {
        parse_quantity(text, &[dimension]).ok().map(|q| q.value)
    }

    #[test]
    fn decimal_quantities_are_exact() {
        assert_eq!(value("10Gbit/s", Dimension::BitRate), Some(10_000_000_000));
        assert_eq!(value("9.4785Gbps", Dimension::BitRate), Some(9_478_500_000));
        assert_eq!(value("1.5MB", Dimension::Size), Some(1_500_000));
        assert_eq!(value("64 KiB", Dimension::Size), Some(65_536));
        assert_eq!(value("0.5KiB", Dimension::Size), Some(512));
        assert_eq!(value("0.001ns", Dimension::Time), Some(1));
        assert_eq!(value("33.333333%", Dimension::Percent), Some(33_333_333));
        assert_eq!(value("1_000frame/s", Dimension::FrameRate), Some(1_000));
    }

    #[test]
    fn what_is_not_whole_or_does_not_fit_is_refused() {
        for text in [
            "1.5B",
            "0.0001ns",
            "1.",
            ".5B",
            "1..2B",
            "99999999999999999999B",
            "-1B",
            "",
            "B",
        ] {
            assert_eq!(value(text, Dimension::Size), None, "{text}");
        }
    }

    #[test]
    fn bits_and_bytes_mixed_up_are_refused_with_the_remedy() {
        let rate = parse_quantity("1.25GB/s", &[Dimension::BitRate]).err();
        assert_eq!(rate.and_then(|e| e.suggestion), Some("10Gbit/s".to_owned()));
        let size = parse_quantity("64Mb", &[Dimension::Size]).err();
        assert_eq!(size.and_then(|e| e.suggestion), Some("64MB".to_owned()));
        let milli = parse_quantity("5mbit/s", &[Dimension::BitRate]).err();
        assert_eq!(milli.and_then(|e| e.suggestion), Some("5Mbit/s".to_owned()));
        assert!(parse_quantity("64KB", &[Dimension::Size]).is_err());
    }

    #[test]
    fn a_shown_quantity_reads_back_as_itself() {
        // A plain congruential sequence: the values matter, not their randomness.
        let mut x = 1_u64;
        for _ in 0..20_000 {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = x >> (x & 63);
            for dimension in Dimension::ALL {
                let quantity = Quantity { dimension, value };
                assert_eq!(parse_quantity(&quantity.to_string(), &[dimension]), Ok(quantity));
            }
        }
    }
}
