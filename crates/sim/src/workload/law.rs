//! Sampling of the laws that a scenario may give for sizes, gaps and bursts.
//!
//! Everything that does not depend on the draw is computed once; a draw costs a few nanoseconds. Empirical laws
//! use the alias method (Walker 1977, tables by Vose, IEEE TSE 17(9), 1991), geometric and Pareto laws the
//! exponential that they are functions of.

use super::{FRAME_BYTES_MAX, FRAME_BYTES_MIN, Problem};
use crate::engine::Stream;
use clearway_policy::scenario::Law;

/// A law ready for drawing.
#[derive(Clone, Debug)]
pub struct Sampler {
    law: Prepared,
    mean: f64,
}

#[derive(Clone, Debug)]
enum Prepared {
    Constant(f64),
    Uniform {
        low: f64,
        span: f64,
    },
    Exponential(f64),
    /// An exponential of mean `scale`, rounded down, plus 1.
    Geometric {
        scale: f64,
    },
    Pareto {
        least: f64,
        shape: f64,
        max: f64,
    },
    Empirical(Vec<Cell>),
}

/// One cell of an alias table: `value` where the draw within the cell is below `keep`, else `alias`.
#[derive(Clone, Copy, Debug)]
struct Cell {
    keep: f64,
    value: f64,
    alias: f64,
    /// Probability of `value` in the whole law.
    probability: f64,
}

impl Sampler {
    /// Prepares a law; values are never negative.
    ///
    /// # Errors
    /// Says which number of the law is out of range.
    pub fn new(law: &Law) -> Result<Self, String> {
        let finite = |name: &str, value: f64, least: f64| {
            if value.is_finite() && value >= least {
                Ok(value)
            } else {
                Err(format!("{name} {value} must be a number of at least {least}"))
            }
        };
        let (law, mean) = match law {
            Law::Constant(value) => (Prepared::Constant(finite("value", *value, 0.0)?), *value),
            Law::Uniform(low, high) => {
                let span = finite("upper end", *high, finite("lower end", *low, 0.0)?)? - low;
                (Prepared::Uniform { low: *low, span }, low + span / 2.0)
            }
            Law::Exponential(mean) => (Prepared::Exponential(finite("mean", *mean, 0.0)?), *mean),
            Law::Geometric(mean) => {
                let failure = 1.0 - 1.0 / finite("mean", *mean, 1.0)?;
                // Where each trial succeeds there is nothing to draw.
                let scale = if failure > 0.0 {
                    -1.0 / libm::log(failure)
                } else {
                    0.0
                };
                (Prepared::Geometric { scale }, *mean)
            }
            Law::Pareto { mean, shape, max } => {
                if !(shape.is_finite() && *shape > 1.0) {
                    return Err(format!(
                        "shape {shape} must be above 1: at 1 or below there is no mean"
                    ));
                }
                let least = finite("mean", *mean, 0.0)? * (shape - 1.0) / shape;
                let max = finite("max", *max, least)?;
                let beyond = if least > 0.0 {
                    libm::pow(least / max, shape - 1.0)
                } else {
                    0.0
                };
                let truncated = least + least / (shape - 1.0) * (1.0 - beyond);
                (
                    Prepared::Pareto {
                        least,
                        shape: *shape,
                        max,
                    },
                    truncated,
                )
            }
            Law::Empirical(weighted) => {
                for &(value, weight) in weighted {
                    finite("value", value, 0.0)?;
                    finite("weight", weight, 0.0)?;
                }
                let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
                if !(total.is_finite() && total > 0.0) {
                    return Err("an empirical law needs a value with a weight above 0".to_owned());
                }
                let mean = weighted
                    .iter()
                    .map(|&(value, weight)| value * weight / total)
                    .sum();
                (Prepared::Empirical(alias_table(weighted, total)), mean)
            }
        };
        Ok(Self { law, mean })
    }

    /// One draw.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match &self.law {
            Prepared::Constant(value) => *value,
            Prepared::Uniform { low, span } => low + span * stream.unit(),
            Prepared::Exponential(mean) => mean * stream.exponential(),
            Prepared::Geometric { scale } => 1.0 + (scale * stream.exponential()) as u64 as f64,
            Prepared::Pareto { least, shape, max } => {
                (least * libm::exp(stream.exponential() / shape)).min(*max)
            }
            Prepared::Empirical(cells) => {
                let place = stream.unit() * cells.len() as f64;
                let cell = &cells[(place as usize).min(cells.len() - 1)];
                if place - (place as usize as f64) < cell.keep {
                    cell.value
                } else {
                    cell.alias
                }
            }
        }
    }

    /// The mean; that of a Pareto law after truncation.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The probability of a draw above `x`, for `x` of at least 0.
    #[must_use]
    pub fn exceeds(&self, x: f64) -> f64 {
        match &self.law {
            Prepared::Constant(value) => f64::from(u8::from(*value > x)),
            Prepared::Uniform { low, span } => {
                if x < *low {
                    1.0
                } else {
                    (1.0 - (x - low) / span).max(0.0)
                }
            }
            Prepared::Exponential(mean) => libm::exp(-x / mean),
            Prepared::Geometric { scale } => {
                if x < 1.0 {
                    1.0
                } else if *scale > 0.0 {
                    libm::exp(-(x as u64 as f64) / scale)
                } else {
                    0.0
                }
            }
            Prepared::Pareto { least, shape, max } => {
                if x >= *max {
                    0.0
                } else if x <= *least {
                    1.0
                } else {
                    libm::pow(least / x, *shape)
                }
            }
            Prepared::Empirical(cells) => cells
                .iter()
                .filter(|cell| cell.value > x)
                .map(|cell| cell.probability)
                .sum(),
        }
    }
}

fn alias_table(weighted: &[(f64, f64)], total: f64) -> Vec<Cell> {
    let n = weighted.len() as f64;
    let mut cells: Vec<Cell> = weighted
        .iter()
        .map(|&(value, weight)| Cell {
            keep: weight / total * n,
            value,
            alias: value,
            probability: weight / total,
        })
        .collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..cells.len()).partition(|&cell| cells[cell].keep < 1.0);
    while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
        small.pop();
        cells[poor].alias = cells[rich].value;
        cells[rich].keep -= 1.0 - cells[poor].keep;
        if cells[rich].keep < 1.0 {
            large.pop();
            small.push(rich);
        }
    }
    // What is left is 1 but for rounding, and its alias is itself.
    cells
}

/// Frame sizes: whole bytes between the shortest and the longest frame.
#[derive(Clone, Debug)]
pub(super) enum FrameBytes {
    Constant(u32),
    Drawn(Sampler),
}

impl FrameBytes {
    pub(super) fn new(field: &'static str, law: &Law) -> Result<Self, Problem> {
        let sampler = Sampler::new(law).map_err(|problem| (field, problem))?;
        // Rounded before it is compared: 65,535.4 B is still the longest frame.
        if let Prepared::Constant(value) = sampler.law {
            if value > f64::from(FRAME_BYTES_MAX) {
                return Err((
                    field,
                    format!("{value} B: no frame is longer than {FRAME_BYTES_MAX} B"),
                ));
            }
            return Ok(Self::Constant(whole(value)));
        }
        Ok(Self::Drawn(sampler))
    }

    #[inline]
    pub(super) fn sample(&self, stream: &mut Stream) -> u32 {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Drawn(sampler) => whole(sampler.sample(stream)),
        }
    }

    /// The mean, roughly: before rounding and padding.
    pub(super) fn mean(&self) -> u32 {
        match self {
            Self::Constant(bytes) => *bytes,
            Self::Drawn(sampler) => whole(sampler.mean()),
        }
    }
}

/// Rounded to whole bytes and to what a frame may be.
#[inline]
fn whole(bytes: f64) -> u32 {
    ((bytes + 0.5) as u32).clamp(FRAME_BYTES_MIN, FRAME_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laws() -> Vec<Law> {
        vec![
            Law::Constant(9_000.0),
            Law::Uniform(64.0, 1_518.0),
            Law::Exponential(1e-3),
            Law::Geometric(9_000.0),
            Law::Geometric(1.0),
            Law::Geometric(1.5),
            Law::Pareto {
                mean: 10_000.0,
                shape: 2.5,
                max: 1e6,
            },
            Law::Pareto {
                mean: 100.0,
                shape: 1.3,
                max: 300.0,
            },
            Law::Empirical(vec![(64.0, 7.0), (594.0, 4.0), (1_518.0, 1.0), (9_000.0, 0.0)]),
        ]
    }

    #[test]
    fn draws_have_the_mean_of_their_law() {
        for law in laws() {
            let sampler = Sampler::new(&law).unwrap();
            let mut stream = Stream::new(1, 0, "law");
            let n = 400_000_u32;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let x = sampler.sample(&mut stream);
                sum += x;
                squares += x * x;
            }
            let n = f64::from(n);
            let mean = sum / n;
            let deviation = (squares / n - mean * mean).max(0.0).sqrt();
            let error = (mean - sampler.mean()).abs();
            // 3.89 standard deviations: one in ten thousand.
            assert!(
                error <= 3.89 * deviation / n.sqrt() + 1e-9 * mean,
                "{law:?}: {mean}"
            );
        }
    }

    #[test]
    fn draws_exceed_a_value_as_often_as_their_law_says() {
        for law in laws() {
            let sampler = Sampler::new(&law).unwrap();
            let mut stream = Stream::new(2, 0, "law");
            let n = 100_000_u32;
            let draws: Vec<f64> = (0..n).map(|_| sampler.sample(&mut stream)).collect();
            for factor in [0.0, 0.2, 0.5, 0.9, 1.0, 1.7, 3.0, 8.0] {
                let x = factor * sampler.mean();
                let p = sampler.exceeds(x);
                let above = draws.iter().filter(|&&draw| draw > x).count() as f64;
                let n = f64::from(n);
                let error = (above - n * p).abs();
                assert!(
                    error <= 3.89 * (n * p * (1.0 - p)).sqrt() + 1e-6,
                    "{law:?} above {x}: {above}, p {p}"
                );
            }
        }
    }

    #[test]
    fn a_value_without_weight_never_comes() {
        let sampler = Sampler::new(&Law::Empirical(vec![(1.0, 0.0), (2.0, 1.0), (3.0, 0.0)])).unwrap();
        let mut stream = Stream::new(3, 0, "law");
        assert!((0..10_000).all(|_| sampler.sample(&mut stream) == 2.0));
    }

    #[test]
    fn laws_out_of_range_are_refused() {
        let pareto = |mean, shape, max| Law::Pareto { mean, shape, max };
        for law in [
            Law::Constant(-1.0),
            Law::Constant(f64::NAN),
            Law::Uniform(5.0, 4.0),
            Law::Exponential(f64::INFINITY),
            Law::Geometric(0.5),
            pareto(1.0, 1.0, 9.0),
            pareto(10.0, 2.0, 1.0),
            Law::Empirical(vec![]),
            Law::Empirical(vec![(1.0, 0.0)]),
            Law::Empirical(vec![(1.0, -1.0), (2.0, 3.0)]),
        ] {
            assert!(Sampler::new(&law).is_err(), "{law:?}");
        }
    }

    #[test]
    fn frames_are_padded_and_never_too_long() {
        let mut stream = Stream::new(4, 0, "law");
        let short = FrameBytes::new("frame_bytes", &Law::Constant(46.0)).unwrap();
        assert_eq!(short.sample(&mut stream), 64);
        let wide = FrameBytes::new("frame_bytes", &Law::Exponential(40_000.0)).unwrap();
        assert!((0..10_000).all(|_| (64..=65_535).contains(&wide.sample(&mut stream))));
        assert_eq!(
            FrameBytes::new("frame_bytes", &Law::Constant(1e6)).unwrap_err().0,
            "frame_bytes"
        );
    }
}
