//! Deviations between arrival and service curves, deconvolution and convolution.
//!
//! Both deviations are of a concave and a convex function, so that each is the greatest at a corner of one of them (or
//! at zero); every corner is looked at, rounded to the safe side. Against the least of several service curves the
//! delay is the greatest of the delays against each.
//!
//! Source: Le Boudec and Thiran, section 1.4.1 (backlog and delay), 1.4.3 (output), theorem 1.4.6 (concatenation).

use crate::{Arrival, Ramp, Ramps, Service, div_up, ps};

/// Picoseconds until data that came finds all data before it served, where `own` picobits of it are the frame itself,
/// which is not before itself; none where there is no bound. Rounded up.
#[must_use]
pub fn delay(arrival: &Arrival, own: i128, service: &Service) -> Option<u64> {
    let mut worst = 0;
    for part in &service.parts {
        worst = worst.max(delay_of_part(arrival, own, part)?);
    }
    Some(ps(worst))
}

fn delay_of_part(arrival: &Arrival, own: i128, ramps: &Ramps) -> Option<i128> {
    let buckets = arrival.buckets();
    let rate = arrival.rate()?;
    if ramps.ramps().is_empty() || rate > ramps.rate() {
        return None;
    }
    // All data that came at time `t` has been passed: when?
    let since = |data: i128, time: i128| Some(ramps.passes((data - own).max(0))? - time);
    let mut worst = since(buckets.first()?.burst, 0)?;
    for pair in buckets.windows(2) {
        let (fast, slow) = (pair[0], pair[1]);
        let (rise, fall) = (slow.burst - fast.burst, i128::from(fast.rate - slow.rate));
        let data = fast.burst + div_up(i128::from(fast.rate) * rise, fall);
        worst = worst.max(since(data, rise.div_euclid(fall))?);
    }
    for pair in ramps.ramps().windows(2) {
        let (slow, fast) = (pair[0], pair[1]);
        let (rise, steps) = (fast.lag - slow.lag, i128::from(fast.rate - slow.rate));
        let served = (i128::from(slow.rate) * rise).div_euclid(steps) - slow.lag;
        let Some(came) = reaches(arrival, served + own) else {
            continue;
        };
        worst = worst.max(div_up(rise, steps) - came);
    }
    Some(worst.max(0))
}

/// The first instant by which `data` may have come, rounded down; none where it never does.
fn reaches(arrival: &Arrival, data: i128) -> Option<i128> {
    let mut latest = 0;
    for bucket in arrival.buckets() {
        let missing = data - bucket.burst;
        if missing <= 0 {
            continue;
        }
        if bucket.rate == 0 {
            return None;
        }
        latest = latest.max(missing.div_euclid(i128::from(bucket.rate)));
    }
    Some(latest)
}

/// Picobits that wait at most; none where there is no bound. Rounded up.
#[must_use]
pub fn backlog(arrival: &Arrival, service: &Service) -> Option<i128> {
    let mut worst = 0;
    for part in &service.parts {
        worst = worst.max(backlog_of_part(arrival, part)?);
    }
    Some(worst)
}

fn backlog_of_part(arrival: &Arrival, ramps: &Ramps) -> Option<i128> {
    let buckets = arrival.buckets();
    if ramps.ramps().is_empty() || arrival.rate()? > ramps.rate() {
        return None;
    }
    let mut worst = buckets.first()?.burst;
    let mut look = |below: i128, above: i128| {
        let waits = arrival.at(ps(above)).map(|came| came - ramps.at(ps(below)));
        worst = worst.max(waits.unwrap_or(0));
    };
    for pair in buckets.windows(2) {
        let (rise, fall) = (
            pair[1].burst - pair[0].burst,
            i128::from(pair[0].rate - pair[1].rate),
        );
        look(rise.div_euclid(fall), div_up(rise, fall));
    }
    for ramp in ramps.ramps() {
        let rate = i128::from(ramp.rate);
        look(ramp.lag.max(0).div_euclid(rate), ramp.latency());
    }
    for pair in ramps.ramps().windows(2) {
        let (rise, steps) = (pair[1].lag - pair[0].lag, i128::from(pair[1].rate - pair[0].rate));
        look(rise.div_euclid(steps).max(0), div_up(rise, steps));
    }
    Some(worst)
}

/// What may be served in any span: `alpha deconvolved by beta`, for each bucket with the ramp that gives the least;
/// unbounded where there is none.
#[must_use]
pub fn served(arrival: &Arrival, service: &Service) -> Arrival {
    let mut all: Option<Arrival> = None;
    for part in &service.parts {
        // A bucket alone bounds the arrivals, and a ramp alone the service: burst and rate times latency.
        let output = Arrival::least(arrival.buckets().iter().flat_map(|bucket| {
            part.ramps()
                .iter()
                .filter(|ramp| ramp.rate >= bucket.rate)
                .map(|ramp| crate::Bucket {
                    burst: bucket.burst
                        + div_up(i128::from(bucket.rate) * ramp.lag.max(0), i128::from(ramp.rate))
                        + (-ramp.lag).max(0),
                    rate: bucket.rate,
                })
        }));
        all = Some(all.map_or_else(|| output.clone(), |before| before.either(&output)));
    }
    all.unwrap_or_else(Arrival::unbounded)
}

/// Two servers one after the other: the slower rate and the sum of the latencies.
#[must_use]
pub fn in_tandem(a: Ramp, b: Ramp) -> Ramp {
    Ramp::after(a.rate.min(b.rate), ps(a.latency() + b.latency()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BYTE, Bucket, wire};

    const GIG: u64 = 1_000_000_000;

    fn bytes(n: i128) -> i128 {
        n * BYTE
    }

    #[test]
    fn a_burst_waits_for_its_own_length_at_the_rate_and_the_latency() {
        let arrival = Arrival::of(Bucket {
            burst: bytes(10_000),
            rate: GIG,
        });
        let service = Service::of(Ramps::of(Ramp::after(10 * GIG, 1_000_000)));
        assert_eq!(delay(&arrival, 0, &service), Some(1_000_000 + 8_000_000));
        assert_eq!(
            delay(&arrival, wire(1_518), &service),
            Some(1_000_000 + 8_000_000 - 1_230_400)
        );
        // Backlog: the burst and what comes in the latency.
        assert_eq!(backlog(&arrival, &service), Some(bytes(10_000 + 125)));
        assert_eq!(served(&arrival, &service).at(0), Some(bytes(10_000 + 125)));
    }

    #[test]
    fn more_than_the_rate_has_no_bound() {
        let arrival = Arrival::of(Bucket {
            burst: 0,
            rate: GIG + 1,
        });
        let service = Service::of(Ramps::of(Ramp::after(GIG, 0)));
        assert_eq!(delay(&arrival, 0, &service), None);
        assert_eq!(backlog(&arrival, &service), None);
        assert_eq!(delay(&Arrival::unbounded(), 0, &service), None);
        assert!(!served(&arrival, &service).is_bounded());
    }

    /// Over a grid of curves, no point in time shows more than the corners did.
    #[test]
    fn corners_show_the_greatest_deviation() {
        let mut seed = 7_u64;
        let mut draw = |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let arrival = Arrival::least((0..1 + draw(3)).map(|_| Bucket {
                burst: i128::from(draw(5_000)),
                rate: draw(60),
            }));
            let ramps = Ramps::greatest((0..1 + draw(3)).map(|_| Ramp {
                rate: 1 + draw(70),
                lag: i128::from(draw(4_000)) - 400,
            }));
            let service = Service::of(ramps.clone());
            let (delay, backlog) = (delay(&arrival, 0, &service), backlog(&arrival, &service));
            if arrival.rate().unwrap() > ramps.rate() {
                assert_eq!((delay, backlog), (None, None));
                continue;
            }
            let (delay, backlog) = (delay.unwrap(), backlog.unwrap());
            // What comes at one instant is there before any of it is served.
            let (mut seen_delay, mut seen_backlog) = (0, arrival.at(0).unwrap());
            for t in 0..6_000 {
                let came = arrival.at(t).unwrap();
                seen_backlog = seen_backlog.max(came - ramps.at(t));
                let passed = ramps.passes(came).unwrap();
                seen_delay = seen_delay.max(passed - i128::from(t));
            }
            assert!(seen_delay <= i128::from(delay), "{arrival:?} {ramps:?}");
            assert!(seen_backlog <= backlog, "{arrival:?} {ramps:?}");
            // And hardly less: rounding costs two picoseconds and what comes in them.
            assert!(i128::from(delay) <= seen_delay + 3, "{arrival:?} {ramps:?}");
            assert!(backlog <= seen_backlog + 200, "{arrival:?} {ramps:?}");
            // What is served in a span is not more than what may have waited and what comes.
            let output = served(&arrival, &service);
            for t in (0..2_000).step_by(37) {
                for s in (0..2_000).step_by(41) {
                    assert!(output.at(t).unwrap() >= arrival.at(t + s).unwrap() - ramps.at(s));
                }
            }
        }
    }

    #[test]
    fn a_burst_is_paid_once_in_tandem() {
        let (a, b) = (Ramp::after(10 * GIG, 500), Ramp::after(2 * GIG, 700));
        let both = in_tandem(a, b);
        assert_eq!((both.rate, both.latency()), (2 * GIG, 1_200));
    }
}
