//! Seeded random streams: the only randomness of the simulator.
//!
//! A stream's seed is derived from (root seed, node, purpose) with splitmix64, so that a new node or purpose
//! leaves every other stream as it was. The generator is xoshiro256++ (Blackman and Vigna, "Scrambled linear
//! pseudorandom number generators", ACM TOMS 47(4), 2021); splitmix64 is Steele, Lea and Flood (OOPSLA 2014);
//! bounded integers are Lemire's (ACM TOMACS 29(1), 2019); exponentials use the ziggurat of Marsaglia and Tsang
//! (J. Stat. Software 5(8), 2000) with its tables computed by `libm`, so that every machine draws the same.
//! Not for secrets.

use std::sync::LazyLock;

/// A stream of random numbers of its own.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
    ziggurat: &'static Ziggurat,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The output function of splitmix64.
const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of `node` for `purpose` in a run with this root seed.
    #[must_use]
    pub fn new(root: u64, node: u64, purpose: &str) -> Self {
        let absorb = |hash: u64, word: u64| mix((hash ^ word).wrapping_add(GOLDEN));
        let mut seed = absorb(absorb(0, root), node);
        // The length keeps "a" with a zero byte apart from "a".
        seed = absorb(seed, purpose.len() as u64);
        for chunk in purpose.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            seed = absorb(seed, u64::from_le_bytes(word));
        }
        let mut state = [0; 4];
        for word in &mut state {
            seed = seed.wrapping_add(GOLDEN);
            *word = mix(seed);
        }
        // All zero is the one state that the generator never leaves; `mix` gives zero for one input alone, so
        // four different inputs cannot all give it.
        Self {
            state,
            ziggurat: &ZIGGURAT,
        }
    }

    /// 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// Uniform on 0, 1, ..., `n` - 1, without bias; 0 where `n` is 0.
    #[inline]
    pub const fn below(&mut self, n: u64) -> u64 {
        let mut product = self.next_u64() as u128 * n as u128;
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = self.next_u64() as u128 * n as u128;
            }
        }
        (product >> 64) as u64
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * UNIT
    }

    /// True with this probability.
    #[inline]
    pub const fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        let bits = self.next_u64();
        let layer = (bits & 0xFF) as usize;
        let x = (bits >> 11) as f64 * UNIT * self.ziggurat.x[layer];
        if x < self.ziggurat.x[layer + 1] {
            return x;
        }
        self.exponential_outside(layer, x)
    }

    /// One draw in a hundred: the tail, or the wedge of a layer.
    #[cold]
    fn exponential_outside(&mut self, layer: usize, x: f64) -> f64 {
        if layer == 0 {
            // The exponential law has no memory: beyond the last layer it begins again.
            return ZIGGURAT_TAIL - libm::log(1.0 - self.unit());
        }
        let (low, high) = (self.ziggurat.y[layer], self.ziggurat.y[layer + 1]);
        if low + self.unit() * (high - low) < libm::exp(-x) {
            return x;
        }
        self.exponential()
    }
}

const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
const LAYERS: usize = 256;
/// Where the tail begins and the area of each of 256 layers (Marsaglia and Tsang's constants).
const ZIGGURAT_TAIL: f64 = 7.697_117_470_131_05;
const ZIGGURAT_AREA: f64 = 0.003_949_659_822_581_557;

/// Right ends of the layers, widest first, and the density there.
#[derive(Debug)]
struct Ziggurat {
    x: [f64; LAYERS + 1],
    y: [f64; LAYERS + 1],
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let mut x = [0.0; LAYERS + 1];
    x[0] = ZIGGURAT_AREA / libm::exp(-ZIGGURAT_TAIL);
    x[1] = ZIGGURAT_TAIL;
    for layer in 2..LAYERS {
        let below = x[layer - 1];
        x[layer] = -libm::log(ZIGGURAT_AREA / below + libm::exp(-below));
    }
    let y = x.map(|x| libm::exp(-x));
    Ziggurat { x, y }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // The first outputs of the authors' C code from state {1, 2, 3, 4}.
        let mut stream = Stream::new(0, 0, "");
        stream.state = [1, 2, 3, 4];
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
        ];
        assert_eq!([(); 4].map(|()| stream.next_u64()), expected);
    }

    #[test]
    fn root_node_and_purpose_each_make_another_stream() {
        let first = |root, node, purpose| Stream::new(root, node, purpose).next_u64();
        let mut seen = Vec::new();
        for root in 0..20 {
            for node in 0..20 {
                for purpose in ["", "a", "b", "ab", "a\0", "destination", "destination of"] {
                    seen.push(first(root, node, purpose));
                }
            }
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
        assert_eq!(first(3, 4, "gap"), first(3, 4, "gap"));
    }

    #[test]
    fn bounded_integers_are_uniform_and_in_range() {
        let mut stream = Stream::new(1, 0, "below");
        assert_eq!((stream.below(0), stream.below(1)), (0, 0));
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        // Chi-square with 6 degrees of freedom: below 22.46 in 99.9 % of cases.
        let chi: f64 = counts
            .iter()
            .map(|&n| f64::from(n) - 10_000.0)
            .map(|deviation| deviation * deviation / 10_000.0)
            .sum();
        assert!(chi < 22.46, "chi-square {chi}");
        // A bound just above half of the range rejects almost every second draw; modulo would favour low values.
        let bound = (1 << 63) + 1;
        let low = (0..20_000).filter(|_| stream.below(bound) < bound / 2).count();
        assert!(
            (low as f64 - 10_000.0).abs() < 3.29 * 5_000_f64.sqrt(),
            "{low} of 20,000 in the lower half"
        );
    }

    #[test]
    fn the_layers_of_the_ziggurat_have_the_same_area_and_end_at_the_mode() {
        let z = &*ZIGGURAT;
        for layer in 1..LAYERS {
            let area = z.x[layer] * (z.y[layer + 1] - z.y[layer]);
            assert!((area / ZIGGURAT_AREA - 1.0).abs() < 1e-9, "layer {layer}: {area}");
        }
        let base = ZIGGURAT_TAIL * z.y[1] + z.y[1];
        assert!((base / ZIGGURAT_AREA - 1.0).abs() < 1e-12);
    }

    #[test]
    fn exponentials_have_the_right_moments_and_tail() {
        let n = 2_000_000;
        let mut stream = Stream::new(1, 0, "exponential");
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut beyond = [0_u32; 12];
        for _ in 0..n {
            let x = stream.exponential();
            sum += x;
            squares += x * x;
            for (limit, count) in beyond.iter_mut().enumerate() {
                *count += u32::from(x > limit as f64);
            }
        }
        let n = f64::from(n);
        // Variances: 1 for x, 20 for x squared.
        assert!((sum / n - 1.0).abs() < 3.29 / n.sqrt(), "mean {}", sum / n);
        assert!(
            (squares / n - 2.0).abs() < 3.29 * (20.0 / n).sqrt(),
            "second moment {}",
            squares / n
        );
        for (limit, &count) in beyond.iter().enumerate().skip(1) {
            let expected = n * libm::exp(-(limit as f64));
            assert!(
                (f64::from(count) - expected).abs() < 3.89 * expected.sqrt(),
                "beyond {limit}: {count}"
            );
        }
    }

    #[test]
    fn a_seed_gives_these_numbers_on_every_machine() {
        let mut stream = Stream::new(42, 7, "golden");
        let integers = [(); 3].map(|()| stream.next_u64());
        let exponentials = [(); 3].map(|()| stream.exponential().to_bits());
        assert_eq!(
            integers,
            [
                2_414_525_457_017_268_887,
                515_286_205_108_091_402,
                2_685_426_814_145_021_042
            ]
        );
        let expected = [
            4_598_228_284_440_855_539,
            4_609_306_629_730_552_788,
            4_604_165_552_386_297_833,
        ];
        assert_eq!(exponentials, expected);
    }
}
