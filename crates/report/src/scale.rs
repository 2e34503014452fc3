//! From values to pixels, and where the ticks go.
//!
//! Linear ticks step by 1, 2 or 5 times a power of ten and share one SI prefix, which stands in the axis title;
//! logarithmic ticks sit on powers of ten (and on 2 and 5 where there are few) and carry their own unit.

use crate::figure::Scale;
use crate::quantity::{Micro, humanised, plain, prefix_for, prefix_text, takes_prefix};

/// Values beyond this are treated as not finite, so that no sum or span overflows.
const LARGEST: f64 = 1e200;
/// Values nearer to zero than this count as zero.
const SMALLEST: f64 = 1e-200;

/// Whether a value can be shown on an axis of this scale.
pub(crate) fn showable(value: f64, scale: Scale) -> bool {
    value.is_finite() && value.abs() < LARGEST && (scale == Scale::Linear || value > SMALLEST)
}

/// A stretch of values laid over a stretch of pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) scale: Scale,
    /// Pixel of `low`.
    pub(crate) start: f64,
    /// Pixel of `high`.
    pub(crate) end: f64,
}

impl Mapping {
    /// The pixel of a value, which may lie outside the stretch; `None` where the scale has no place for it.
    pub(crate) fn at(&self, value: f64) -> Option<f64> {
        if !showable(value, self.scale) {
            return None;
        }
        let along = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let [low, high, value] = [self.low, self.high, value].map(libm::log10);
                (value - low) / (high - low)
            }
        };
        // Far outside is as good as outside: keeps coordinates printable.
        Some(self.start + along.clamp(-50.0, 50.0) * (self.end - self.start))
    }
}

/// How generously an automatic range is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// From the first to the last value: time.
    Tight,
    /// With some air around, from zero where that is near.
    Airy,
    /// Always from zero: bars.
    FromZero,
}

/// The range to show for these values; a given range wins where it is one.
pub(crate) fn range(
    values: impl Iterator<Item = f64>,
    scale: Scale,
    given: Option<[f64; 2]>,
    fit: Fit,
) -> (f64, f64) {
    if let Some([low, high]) = given
        && high - low > SMALLEST
        && showable(low, scale)
        && showable(high, scale)
    {
        return (low, high);
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|v| showable(*v, scale)) {
        let value = if value.abs() < SMALLEST { 0.0 } else { value };
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return if scale == Scale::Log {
            (0.1, 1.0)
        } else {
            (0.0, 1.0)
        };
    }
    match scale {
        Scale::Log => {
            if high / low < 1.5 {
                (low / 2.0, high * 2.0)
            } else if fit == Fit::Tight {
                (low, high)
            } else {
                // A share of the span in decades on either side.
                let air = libm::pow(high / low, 0.05).max(1.1);
                (low / air, high * air)
            }
        }
        Scale::Linear => {
            let zero = fit == Fit::FromZero || (fit == Fit::Airy && low > 0.0 && low < 0.6 * high);
            if zero {
                low = low.min(0.0);
                high = high.max(0.0);
            }
            // Nothing to spread: some room around the one value.
            if high - low <= high.abs().max(low.abs()) * 1e-9 {
                let room = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
                return if low >= 0.0 && low - room < 0.0 {
                    (0.0, high + room)
                } else {
                    (low - room, high + room)
                };
            }
            if fit == Fit::Tight {
                return (low, high);
            }
            let air = (high - low) * 0.06;
            let bottom = if low == 0.0 { 0.0 } else { low - air };
            let top = if high == 0.0 { 0.0 } else { high + air };
            (bottom, top)
        }
    }
}

/// A tick; without a label it is a minor one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: Option<String>,
}

/// Ticks of an axis and the unit for its title (empty where the ticks carry it).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ticks {
    pub(crate) ticks: Vec<Tick>,
    pub(crate) unit: String,
}

/// About `wanted` labelled ticks between `low` and `high`.
pub(crate) fn ticks(low: f64, high: f64, scale: Scale, unit: &str, wanted: usize) -> Ticks {
    let wanted = wanted.max(2);
    match scale {
        Scale::Linear => linear(low, high, unit, wanted),
        Scale::Log => logarithmic(low, high, unit, wanted),
    }
}

/// The step of 1, 2 or 5 times a power of ten that gives at most about `wanted` ticks.
fn nice_step(span: f64, wanted: usize) -> f64 {
    let raw = span / wanted as f64;
    let power = libm::pow(10.0, libm::log10(raw).floor());
    let lead = raw / power;
    let nice = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|n| lead <= n * 1.000_001)
        .unwrap_or(10.0);
    nice * power
}

fn linear(low: f64, high: f64, unit: &str, wanted: usize) -> Ticks {
    let (power, prefix) = prefix_for(low.abs().max(high.abs()), unit);
    let factor = libm::pow(10.0, f64::from(power));
    let (from, to) = (low / factor, high / factor);
    let step = nice_step(to - from, wanted);
    let decimals = (-libm::log10(step * 1.000_001).floor()).clamp(0.0, 12.0) as usize;
    let first = (from / step - 1e-9).ceil();
    // The count is bounded by the choice of the step; the limit guards against a degenerate one.
    let ticks = (0..1 + 3 * wanted)
        .map(|i| (first + i as f64) * step)
        .take_while(|v| *v <= to + step * 1e-9)
        .map(|v| {
            let v = if v.abs() < step * 1e-9 { 0.0 } else { v };
            let label = if v.abs() < 1e6 {
                group(&format!("{v:.decimals$}"))
            } else {
                plain(v, 4)
            };
            Tick {
                value: v * factor,
                label: Some(label),
            }
        })
        .collect();
    let unit = if matches!(unit, "" | "1" | "-") {
        String::new()
    } else {
        format!("{}{unit}", prefix_text(prefix, Micro::Sign))
    };
    Ticks { ticks, unit }
}

/// Thousands apart, from 10,000 on.
fn group(text: &str) -> String {
    let (whole, fraction) = text.split_once('.').map_or((text, ""), |(w, f)| (w, f));
    let digits = whole.trim_start_matches('-').len();
    if digits < 5 {
        return text.to_owned();
    }
    let cut = whole.len() - 3;
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{},{}{dot}{fraction}", &whole[..cut], &whole[cut..])
}

fn logarithmic(low: f64, high: f64, unit: &str, wanted: usize) -> Ticks {
    let (first, last) = (libm::log10(low).floor() as i32, libm::log10(high).ceil() as i32);
    let decades = libm::log10(high) - libm::log10(low);
    let labelled: &[i32] = if decades * 3.0 <= wanted as f64 + 1.0 {
        &[1, 2, 5]
    } else {
        &[1]
    };
    // Every decade, every second, ... so that the labels have room.
    let every = (decades / wanted as f64).ceil().max(1.0) as i32;
    let mut ticks = Vec::new();
    for power in first..=last {
        for lead in 1..10 {
            let value = f64::from(lead) * libm::pow(10.0, f64::from(power));
            if value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9) {
                continue;
            }
            let named = labelled.contains(&lead) && power.rem_euclid(every) == 0;
            if named {
                ticks.push(Tick {
                    value,
                    label: Some(log_label(value, lead, power, unit)),
                });
            } else if (every == 1 && decades <= 8.0) || (lead == 1 && decades <= 40.0) {
                ticks.push(Tick { value, label: None });
            }
        }
    }
    if ticks.iter().filter(|t| t.label.is_some()).count() < 2 {
        // Within one decade round numbers are better spread evenly.
        let mut even = linear(low, high, unit, wanted);
        even.ticks.retain(|t| t.value > 0.0);
        return even;
    }
    Ticks {
        ticks,
        unit: String::new(),
    }
}

fn log_label(value: f64, lead: i32, power: i32, unit: &str) -> String {
    if takes_prefix(unit) {
        return humanised(value, unit, 1, Micro::Sign);
    }
    let number = match power {
        -2..=5 => plain(value, 1),
        _ if lead == 1 => format!("10{}", superscript(power)),
        _ => format!("{lead}\u{b7}10{}", superscript(power)),
    };
    match unit {
        "" | "1" | "-" => number,
        unit => format!("{number} {unit}"),
    }
}

fn superscript(power: i32) -> String {
    const DIGITS: [char; 10] = [
        '\u{2070}', '\u{b9}', '\u{b2}', '\u{b3}', '\u{2074}', '\u{2075}', '\u{2076}', '\u{2077}', '\u{2078}',
        '\u{2079}',
    ];
    power
        .to_string()
        .chars()
        .filter_map(|c| {
            if c == '-' {
                Some('\u{207b}')
            } else {
                DIGITS.get(c.to_digit(10)? as usize).copied()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64, scale: Scale, unit: &str, wanted: usize) -> (Vec<String>, String) {
        let t = ticks(low, high, scale, unit, wanted);
        (t.ticks.into_iter().filter_map(|t| t.label).collect(), t.unit)
    }

    #[test]
    fn linear_ticks_share_one_prefix_that_stands_in_the_title() {
        let (l, unit) = labels(0.0, 83e-6, Scale::Linear, "s", 5);
        assert_eq!(l, ["0", "20", "40", "60", "80"]);
        assert_eq!(unit, "\u{b5}s");
        let (l, unit) = labels(9.4e9, 9.5e9, Scale::Linear, "bit/s", 5);
        assert_eq!(l, ["9.40", "9.42", "9.44", "9.46", "9.48", "9.50"]);
        assert_eq!(unit, "Gbit/s");
        let (l, _) = labels(0.0, 150_000.0, Scale::Linear, "1", 3);
        assert_eq!(l, ["0", "50,000", "100,000", "150,000"]);
        let (l, _) = labels(-40.0, 40.0, Scale::Linear, "%", 5);
        assert_eq!(l, ["-40", "-20", "0", "20", "40"]);
    }

    #[test]
    fn logarithmic_ticks_carry_their_unit() {
        assert_eq!(
            labels(1e-6, 2e-3, Scale::Log, "s", 5).0,
            ["1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms"]
        );
        assert_eq!(
            labels(1e-4, 1.0, Scale::Log, "1", 5).0,
            ["10\u{207b}\u{2074}", "10\u{207b}\u{b3}", "0.01", "0.1", "1"]
        );
        assert_eq!(labels(1e-6, 20e-6, Scale::Log, "s", 6).0.len(), 5);
        let (l, unit) = labels(31e-6, 44e-6, Scale::Log, "s", 5);
        assert!(l.len() >= 2 && unit == "\u{b5}s", "{l:?}");
    }

    #[test]
    fn many_decades_leave_room_between_labels() {
        let (l, _) = labels(1e-12, 1e12, Scale::Log, "1", 6);
        assert!((4..=7).contains(&l.len()), "{l:?}");
    }

    #[test]
    fn a_mapping_puts_the_ends_at_the_ends() {
        let m = Mapping {
            low: 1.0,
            high: 100.0,
            scale: Scale::Log,
            start: 300.0,
            end: 100.0,
        };
        assert_eq!(
            [m.at(1.0), m.at(10.0), m.at(100.0)],
            [Some(300.0), Some(200.0), Some(100.0)]
        );
        assert_eq!(
            [m.at(0.0), m.at(-1.0), m.at(f64::NAN), m.at(f64::INFINITY)],
            [None; 4]
        );
    }

    #[test]
    fn ranges_are_sound_for_any_values() {
        let odd = [
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            -f64::MAX,
            0.0,
            5e-324,
            1.0,
            -1.0,
            1e299,
        ];
        for scale in [Scale::Linear, Scale::Log] {
            for fit in [Fit::Tight, Fit::Airy, Fit::FromZero] {
                for a in odd {
                    for b in odd {
                        let (low, high) = range([a, b].into_iter(), scale, Some([b, a]), fit);
                        assert!(
                            low < high && (high - low).is_finite(),
                            "{a} {b} {scale:?} {fit:?}"
                        );
                        let t = ticks(low, high, scale, "s", 6);
                        assert!(t.ticks.len() < 200 && t.ticks.iter().all(|t| t.value.is_finite()));
                    }
                }
            }
        }
    }

    #[test]
    fn bars_start_at_zero_and_tight_figures_need_not() {
        assert_eq!(
            range([9.0, 10.0].into_iter(), Scale::Linear, None, Fit::FromZero).0,
            0.0
        );
        assert!(range([9.0, 10.0].into_iter(), Scale::Linear, None, Fit::Airy).0 > 8.0);
        assert_eq!(
            range([3.0, 10.0].into_iter(), Scale::Linear, None, Fit::Airy).0,
            0.0
        );
    }
}
