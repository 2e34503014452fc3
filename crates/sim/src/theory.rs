//! Closed-form results that the simulator's models are tested against.
//!
//! Times are in the unit that the caller chose for service times, rates in its inverse. Sources: Pollaczek and
//! Khinchine for M/G/1; Cobham (Operations Research 2(1), 1954) for non-preemptive priorities; Karol, Hluchyj and
//! Morgan (IEEE Trans. Comm. 35(12), 1987) for head-of-line blocking; IEEE 802.3 for what a frame takes on the
//! wire.

use crate::engine::Stream;
use clearway_core::Duration;

/// Mean wait before service of an M/D/1 queue at this load (below 1), in service times.
#[must_use]
pub fn md1_mean_wait(load: f64) -> f64 {
    mg1_mean_wait(load, 1.0, 1.0)
}

/// Mean wait before service of an M/G/1 queue (Pollaczek and Khinchine): arrivals a unit of time, mean and second
/// moment of the service time. Infinite where the load is 1 or more.
#[must_use]
pub fn mg1_mean_wait(arrival_rate: f64, service_mean: f64, service_second_moment: f64) -> f64 {
    let idle = 1.0 - arrival_rate * service_mean;
    if idle > 0.0 {
        arrival_rate * service_second_moment / (2.0 * idle)
    } else {
        f64::INFINITY
    }
}

/// One priority class of an M/G/1 queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorityClass {
    /// Arrivals a unit of time.
    pub arrival_rate: f64,
    /// Mean service time.
    pub service_mean: f64,
    /// Mean of the square of the service time.
    pub service_second_moment: f64,
}

/// Mean wait before service of each class of an M/G/1 queue with non-preemptive priorities, highest first (Cobham).
/// Infinite from the class on that fills the server.
#[must_use]
pub fn priority_mean_waits(classes: &[PriorityClass]) -> Vec<f64> {
    // What an arrival finds in service, whatever its class.
    let residual: f64 = classes
        .iter()
        .map(|class| class.arrival_rate * class.service_second_moment / 2.0)
        .sum();
    let mut load_above = 0.0;
    classes
        .iter()
        .map(|class| {
            let load = load_above + class.arrival_rate * class.service_mean;
            let wait = if load < 1.0 {
                residual / ((1.0 - load_above) * (1.0 - load))
            } else {
                f64::INFINITY
            };
            load_above = load;
            wait
        })
        .collect()
}

/// Weighted max-min shares of a capacity: what deficit round robin by these weights gives to classes that want
/// these rates. Input and output are (weight, demand) and rate, in the same order.
#[must_use]
pub fn weighted_shares(capacity: f64, classes: &[(f64, f64)]) -> Vec<f64> {
    let mut shares = vec![0.0; classes.len()];
    let mut open: Vec<usize> = (0..classes.len())
        .filter(|&class| classes[class].0 > 0.0)
        .collect();
    let mut left = capacity;
    loop {
        let weights: f64 = open.iter().map(|&class| classes[class].0).sum();
        let offer = |class: usize| left * classes[class].0 / weights;
        let (content, greedy): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&class| classes[class].1 <= offer(class));
        if content.is_empty() {
            for &class in &greedy {
                shares[class] = offer(class);
            }
            return shares;
        }
        for &class in &content {
            shares[class] = classes[class].1;
        }
        left -= content.iter().map(|&class| classes[class].1).sum::<f64>();
        open = greedy;
    }
}

/// Pause frames a second (XOFF and XON together) of a memory that fills and drains between two thresholds
/// `high_bytes` and `low_bytes` at these net rates in bit/s, with reaction and propagation neglected.
#[must_use]
pub fn pause_frame_rate(high_bytes: f64, low_bytes: f64, fill_bps: f64, drain_bps: f64) -> f64 {
    let bits = (high_bytes - low_bytes) * 8.0;
    2.0 / (bits / fill_bps + bits / drain_bps)
}

/// One link on the way of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Line rate, bit/s.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Duration,
}

/// What a frame of `frame_bytes` (L2 with FCS) takes through an idle network of store-and-forward switches, from
/// the first bit of its preamble at the sender to its last bit at the receiver: on each hop its bytes and the 8 of
/// preamble and start delimiter at the line rate (rounded up to a picosecond) and the propagation; between hops
/// the switch's forwarding delay. The gap after the frame delays only the next one.
#[must_use]
pub fn store_and_forward_latency(frame_bytes: u32, hops: &[Hop], forwarding_delay: Duration) -> Duration {
    let mut total = 0_u64;
    for (place, hop) in hops.iter().enumerate() {
        let serialisation = Duration::of_bytes(u64::from(frame_bytes) + 8, hop.rate_bps);
        let forwarding = if place == 0 { 0 } else { forwarding_delay.as_ps() };
        for ps in [serialisation.as_ps(), hop.delay.as_ps(), forwarding] {
            total = total.saturating_add(ps);
        }
    }
    Duration::from_ps(total)
}

/// Saturation throughput published for input FIFOs and uniform destinations (Karol, Hluchyj and Morgan, table I),
/// as (ports, throughput); with very many ports it is 2 - sqrt(2).
pub const HEAD_OF_LINE_THROUGHPUT: [(u32, f64); 7] = [
    (2, 0.7500),
    (3, 0.6825),
    (4, 0.6553),
    (5, 0.6399),
    (6, 0.6302),
    (7, 0.6234),
    (8, 0.6184),
];

/// Simulates a slotted switch with one FIFO at each input: every input always has a frame, its destination is
/// uniform over the outputs, and an output takes one of those that want it at random. Returns the throughput a port
/// over `slots` slots after a tenth as many to forget the start.
#[must_use]
pub fn head_of_line_throughput(ports: u32, slots: u32, stream: &mut Stream) -> f64 {
    let n = u64::from(ports.max(1));
    let mut heads: Vec<u64> = (0..n).map(|_| stream.below(n)).collect();
    let mut winners = vec![0_usize; heads.len()];
    let mut contenders = vec![0_u64; heads.len()];
    let warmup = slots / 10;
    let mut sent = 0_u64;
    for slot in 0..warmup + slots {
        contenders.fill(0);
        for (input, &output) in heads.iter().enumerate() {
            let output = output as usize;
            contenders[output] += 1;
            // The k-th contender wins with probability 1/k: each of them alike in the end.
            if stream.below(contenders[output]) == 0 {
                winners[output] = input;
            }
        }
        for output in 0..heads.len() {
            if contenders[output] > 0 {
                heads[winners[output]] = stream.below(n);
                sent += u64::from(slot >= warmup);
            }
        }
    }
    sent as f64 / (n as f64 * f64::from(slots.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and half width of the 99.9 % interval over seeds 1 to 20 (Student, 19 degrees of freedom).
    fn over_seeds(run: impl Fn(u64) -> f64) -> (f64, f64) {
        let values: Vec<f64> = (1..=20).map(run).collect();
        let mean = values.iter().sum::<f64>() / 20.0;
        let variance = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>()
            / 19.0;
        (mean, 3.883 * (variance / 20.0).sqrt())
    }

    #[test]
    fn head_of_line_blocking_costs_what_was_published() {
        for (ports, published) in HEAD_OF_LINE_THROUGHPUT {
            let (mean, half) =
                over_seeds(|seed| head_of_line_throughput(ports, 20_000, &mut Stream::new(seed, 0, "hol")));
            assert!(
                (mean - published).abs() <= half,
                "{ports} ports: {mean} +- {half}, published {published}"
            );
            assert!(half < 2e-3, "{ports} ports: an interval of {half} says nothing");
        }
    }

    #[test]
    fn a_simulated_queue_waits_as_the_formulas_say() {
        // Lindley's recursion, deterministic service of 1 and load 0.7, and a second with two sizes.
        for (sizes, rate) in [([1.0, 1.0], 0.7), ([0.2, 1.8], 0.6)] {
            let (mean, half) = over_seeds(|seed| {
                let mut stream = Stream::new(seed, 0, "lindley");
                let (mut wait, mut sum) = (0.0_f64, 0.0);
                for _ in 0..100_000 {
                    sum += wait;
                    let service = sizes[stream.below(2) as usize];
                    wait = (wait + service - stream.exponential() / rate).max(0.0);
                }
                sum / 100_000.0
            });
            let second = (sizes[0] * sizes[0] + sizes[1] * sizes[1]) / 2.0;
            let expected = mg1_mean_wait(rate, 1.0, second);
            assert!(
                (mean - expected).abs() <= half && half < 0.1 * expected,
                "{mean} +- {half}: {expected}"
            );
        }
        assert!((md1_mean_wait(0.7) - 0.7 / 0.6).abs() < 1e-12);
        assert!(md1_mean_wait(1.0).is_infinite());
    }

    #[test]
    fn priorities_keep_the_weighted_sum_of_waits() {
        // Kleinrock's conservation law: the sum of load times wait does not depend on who goes first.
        let class = |arrival_rate, service_mean, service_second_moment| PriorityClass {
            arrival_rate,
            service_mean,
            service_second_moment,
        };
        let classes = [class(0.2, 1.0, 1.0), class(0.1, 2.0, 5.0), class(0.3, 1.0, 2.0)];
        let load = |class: &PriorityClass| class.arrival_rate * class.service_mean;
        let waits = priority_mean_waits(&classes);
        let weighted: f64 = classes
            .iter()
            .zip(&waits)
            .map(|(class, wait)| load(class) * wait)
            .sum();
        let rate: f64 = classes.iter().map(|class| class.arrival_rate).sum();
        let total: f64 = classes.iter().map(load).sum();
        let second = classes
            .iter()
            .map(|c| c.arrival_rate * c.service_second_moment)
            .sum::<f64>()
            / rate;
        assert!((weighted - total * mg1_mean_wait(rate, total / rate, second)).abs() < 1e-12);
        assert!(waits[0] < waits[1] && waits[1] < waits[2]);
        let full = priority_mean_waits(&[class(0.5, 1.0, 1.0), class(0.6, 1.0, 1.0)]);
        assert!(full[0].is_finite() && full[1].is_infinite());
    }

    #[test]
    fn shares_follow_weights_and_what_a_class_leaves_goes_to_the_others() {
        let all = f64::INFINITY;
        assert_eq!(weighted_shares(10.0, &[(1.0, all), (3.0, all)]), [2.5, 7.5]);
        assert_eq!(
            weighted_shares(10.0, &[(1.0, all), (3.0, 1.0), (2.0, all)]),
            [3.0, 1.0, 6.0]
        );
        assert_eq!(weighted_shares(10.0, &[(1.0, 2.0), (1.0, 3.0)]), [2.0, 3.0]);
        assert_eq!(weighted_shares(10.0, &[]), Vec::<f64>::new());
    }

    #[test]
    fn the_pause_cycle_of_a_two_to_one_conflict_is_derived() {
        // 165,000 control frames a second at 10 Gb/s in and out make about 7.6 kB between the thresholds.
        let rate = pause_frame_rate(16_384.0, 16_384.0 - 7_576.0, 10e9, 10e9);
        assert!((rate - 165_000.0).abs() < 10.0, "{rate}");
    }

    #[test]
    fn idle_latency_counts_every_bit_once_a_hop() {
        let hop = Hop {
            rate_bps: 10_000_000_000,
            delay: Duration::from_ns(50),
        };
        let one = store_and_forward_latency(64, &[hop], Duration::from_us(9));
        assert_eq!(one.as_ps(), 72 * 800 + 50_000);
        let slow = Hop {
            rate_bps: 1_000_000_000,
            ..hop
        };
        let two = store_and_forward_latency(1_518, &[hop, slow], Duration::from_ns(400));
        assert_eq!(two.as_ps(), 1_526 * 800 + 1_526 * 8_000 + 2 * 50_000 + 400_000);
    }
}
