//! Several hops: output curves are carried from line to line until no bound changes any more.
//!
//! At each line a flow waits at most as [`Port::bounds`] says; then its first bit is on the wire, `8 + len` byte times
//! later its last one, and the line's delay later it is in the next queue. What comes there is what came here, delayed
//! by at most the wait and the spread of frame lengths more at one time than at another. Streams that come by one line
//! together bring no more than the line carries (J. Grieu, Analyse et évaluation de techniques de commutation Ethernet
//! pour l'interconnexion des systèmes avioniques, INP Toulouse 2004), and those that share a shaper no more than it
//! lets through.
//!
//! Bounds of a flow over its way are the sum of its hops', or, where it has the queue for itself at every hop, those of
//! all hops together, which pays for its burst once (Le Boudec and Thiran, section 1.4.3).
//!
//! Waits rise from zero, round by round, until a round changes nothing. Where flows depend on each other in a circle
//! such a fixed point is a bound too (L. Thomas, J.-Y. Le Boudec, A. Mifdaoui, RTSS 2019, theorem 1); where the rounds
//! do not end there is none.

use crate::deviation::{delay, in_tandem};
use crate::port::{Port, PortBounds, Stream, held_behind, line_cap};
use crate::{Arrival, PREAMBLE_BYTES, Ramp, Ramps, Service, Unbounded, Why, div_up, ps};
use clearway_core::plan::Plan;

/// One direction of a link with the egress that feeds it.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The traffic manager's plan; none: one FIFO.
    pub plan: Option<&'a Plan>,
    /// Rate that is certain, bit/s.
    pub rate_bps: u64,
    /// Rate that is not exceeded, bit/s: more than the other where a byte takes no whole number of picoseconds.
    pub rate_most_bps: u64,
    /// Bytes that a FIFO behind the traffic manager holds; 0: none.
    pub fifo_bytes: u64,
    /// From the last bit on the wire to the frame being in the next queue (or at the end): propagation, forwarding.
    pub after_ps: u64,
}

/// A flow at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index in [`Network::lines`].
    pub line: usize,
    /// Leaf of the plan there; 0 where there is none.
    pub leaf: u32,
    /// The hops of the same flow that it may come from, earlier in its list; none: this is where it begins.
    pub from: Vec<usize>,
}

/// Flows that are alike: one arrival curve each, the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// How many.
    pub flows: u64,
    /// Arrivals of each in its first queue, in picobits on the wire.
    pub arrival: Arrival,
    /// The curve holds at every hop, whatever the delay: a closed loop whose frames are at least a round trip apart.
    pub everywhere: bool,
    /// Shortest frame, bytes with FCS.
    pub frame_min: u32,
    /// Longest frame.
    pub frame_max: u32,
    /// Its hops. A flow that branches (a group, or a destination that may be any of several) counts in full on each.
    pub hops: Vec<Hop>,
    /// For each receiver, the hops that end there.
    pub ends: Vec<Vec<usize>>,
}

/// Lines and the flows on them.
#[derive(Clone, Debug, Default)]
pub struct Network<'a> {
    /// Every egress.
    pub lines: Vec<Line<'a>>,
    /// Every flow.
    pub flows: Vec<Flow>,
}

/// Bounds of one flow at one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBound {
    /// From entering the first queue to being past the last line, picoseconds.
    pub delay_ps: Result<u64, Unbounded>,
    /// The same from the first bit on the first line.
    pub from_first_bit_ps: Result<u64, Unbounded>,
    /// What the way takes at least, picoseconds.
    pub least_ps: u64,
}

/// Bounds of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkBounds {
    /// By line.
    pub lines: Vec<PortBounds>,
    /// By flow and receiver.
    pub flows: Vec<Vec<FlowBound>>,
}

/// Rounds without an end in sight after which what still changes has no bound.
const ROUNDS_MAX: usize = 64;

/// What is known of a flow at a hop.
#[derive(Clone, Debug)]
struct At {
    arrival: Arrival,
    group: Option<(u64, Arrival)>,
    /// The one line that it came by.
    source: Option<usize>,
}

type Waits = Vec<Vec<Result<u64, Why>>>;

/// Picoseconds from first to last bit, at least and at most.
fn sending_ps(line: &Line<'_>, flow: &Flow) -> (u64, u64) {
    let bits = |len: u32| i128::from(len + PREAMBLE_BYTES) * crate::BYTE;
    let least = bits(flow.frame_min).div_euclid(i128::from(line.rate_most_bps.max(1)));
    let most = div_up(bits(flow.frame_max), i128::from(line.rate_bps.max(1)));
    (ps(least), ps(most))
}

impl Network<'_> {
    /// Bounds of every line and flow.
    #[must_use]
    pub fn bounds(&self) -> NetworkBounds {
        let mut waits: Waits = self.flows.iter().map(|f| vec![Ok(0); f.hops.len()]).collect();
        let mut given_up: Vec<bool> = vec![false; self.flows.len()];
        let mut caps: Vec<PortBounds> = self.lines.iter().map(|_| PortBounds::empty()).collect();
        loop {
            let mut moving = vec![true; self.flows.len()];
            for _ in 0..ROUNDS_MAX {
                let (next, bounds) = self.round(&waits, &caps, &given_up);
                for (flow, (before, after)) in waits.iter().zip(&next).enumerate() {
                    moving[flow] = before != after;
                }
                let same = next == waits && bounds == caps;
                waits = next;
                caps = bounds;
                if same {
                    return NetworkBounds {
                        flows: self.over_all_hops(&waits, &caps),
                        lines: caps,
                    };
                }
            }
            // Whatever still rises is given up for good, and the others are looked at again.
            let mut more = false;
            for (flow, moving) in moving.into_iter().enumerate() {
                more |= moving && !given_up[flow];
                given_up[flow] |= moving;
            }
            if !more {
                given_up.fill(true);
            }
        }
    }

    /// What a flow's way takes at least to each of its receivers, picoseconds.
    #[must_use]
    pub fn least_ps(&self, flow: &Flow) -> Vec<u64> {
        let mut early: Vec<u64> = Vec::with_capacity(flow.hops.len());
        for hop in &flow.hops {
            let line = &self.lines[hop.line];
            let before = hop.from.iter().map(|&f| early[f]).min().unwrap_or(0);
            let here = sending_ps(line, flow).0.saturating_add(line.after_ps);
            early.push(before.saturating_add(here));
        }
        let least = |ends: &Vec<usize>| ends.iter().map(|&hop| early[hop]).min().unwrap_or(0);
        flow.ends.iter().map(least).collect()
    }

    /// Waits that follow from waits.
    fn round(&self, waits: &Waits, caps: &[PortBounds], given_up: &[bool]) -> (Waits, Vec<PortBounds>) {
        let places = self.places();
        let arrivals: Vec<Vec<At>> = (0..self.flows.len())
            .map(|flow| self.arrivals(flow, &waits[flow], caps, &places[flow]))
            .collect();
        let mut next: Waits = waits.clone();
        let mut bounds = Vec::with_capacity(self.lines.len());
        let mut here: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.lines.len()];
        for (flow, of) in self.flows.iter().enumerate() {
            for (hop, at) in of.hops.iter().enumerate() {
                here[at.line].push((flow, hop));
            }
        }
        for (line, users) in self.lines.iter().zip(&here) {
            let mut sources: Vec<usize> = users.iter().filter_map(|&(f, h)| arrivals[f][h].source).collect();
            sources.sort_unstable();
            sources.dedup();
            let streams = users.iter().map(|&(f, h)| {
                let (flow, at) = (&self.flows[f], &arrivals[f][h]);
                Stream {
                    leaf: flow.hops[h].leaf,
                    flows: flow.flows,
                    arrival: at.arrival.clone(),
                    frame_min: flow.frame_min,
                    frame_max: flow.frame_max,
                    source: at.source.and_then(|s| sources.binary_search(&s).ok()),
                    group: at.group.clone(),
                }
            });
            let streams: Vec<Stream> = streams.collect();
            let longest = |source: usize| {
                let from = |s: &&Stream| s.source == Some(source);
                streams
                    .iter()
                    .filter(from)
                    .map(|s| s.frame_max)
                    .max()
                    .unwrap_or(64)
            };
            let carried = sources
                .iter()
                .enumerate()
                .map(|(place, &s)| line_cap(longest(place), self.lines[s].rate_most_bps));
            let port = Port {
                plan: line.plan,
                rate_bps: line.rate_bps,
                fifo_bytes: line.fifo_bytes,
                sources: carried.collect(),
                streams: streams.clone(),
            };
            let found = port.bounds();
            for (place, &(f, h)) in users.iter().enumerate() {
                next[f][h] = if given_up[f] {
                    Err(Why::Cycle)
                } else {
                    found.waits[place]
                };
            }
            bounds.push(found);
        }
        (next, bounds)
    }

    /// Place of every hop among the streams of its line.
    fn places(&self) -> Vec<Vec<usize>> {
        let mut count = vec![0; self.lines.len()];
        let mut place = |hop: &Hop| {
            count[hop.line] += 1;
            count[hop.line] - 1
        };
        self.flows
            .iter()
            .map(|f| f.hops.iter().map(&mut place).collect())
            .collect()
    }

    /// Arrival curves of a flow at each of its hops.
    fn arrivals(
        &self,
        flow: usize,
        waits: &[Result<u64, Why>],
        caps: &[PortBounds],
        places: &[usize],
    ) -> Vec<At> {
        let of = &self.flows[flow];
        let mut all: Vec<At> = Vec::with_capacity(of.hops.len());
        for hop in &of.hops {
            let mut at: Option<At> = None;
            for &from in &hop.from {
                let came = self.passed(of, &all[from], &of.hops[from], &waits[from], caps, places[from]);
                at = Some(match at {
                    None => came,
                    Some(other) => At {
                        arrival: other.arrival.either(&came.arrival),
                        group: other.group.filter(|g| came.group.as_ref() == Some(g)),
                        source: other.source.filter(|s| came.source == Some(*s)),
                    },
                });
            }
            all.push(at.unwrap_or_else(|| At {
                arrival: of.arrival.clone(),
                group: None,
                source: None,
            }));
        }
        all
    }

    /// What a flow is behind a hop.
    fn passed(
        &self,
        flow: &Flow,
        at: &At,
        hop: &Hop,
        wait: &Result<u64, Why>,
        caps: &[PortBounds],
        place: usize,
    ) -> At {
        let line = &self.lines[hop.line];
        let (least, most) = sending_ps(line, flow);
        let spread = most - least;
        let port = &caps[hop.line];
        // A shaper says when a frame leaves the tree; the FIFO behind it delays once more.
        let longest = line.plan.map_or(0, |plan| plan.frame_bytes_max);
        let held = held_behind(line.fifo_bytes, longest.max(flow.frame_max));
        let behind = ps(div_up(held, i128::from(line.rate_bps.max(1))));
        let after_shaper = spread.saturating_add(behind);
        let delayed = |curve: &Arrival| match wait {
            Ok(wait) => curve.delayed(wait.saturating_add(spread)),
            Err(_) => Arrival::unbounded(),
        };
        let own = port.flow_caps.get(place).map(|cap| cap.delayed(after_shaper));
        let arrival = if flow.everywhere {
            at.arrival.clone()
        } else {
            delayed(&at.arrival).min(&own.unwrap_or_default())
        };
        let shared = port.shared_caps.get(place).and_then(Option::as_ref);
        let group = match shared {
            Some((node, cap)) => {
                let key = (hop.line as u64) << 32 | u64::from(*node);
                Some((key, cap.delayed(after_shaper)))
            }
            None => at.group.as_ref().map(|(key, cap)| (*key, delayed(cap))),
        };
        At {
            arrival,
            group: group.filter(|(_, cap)| cap.is_bounded()),
            source: Some(hop.line),
        }
    }

    /// Sums over the hops of each flow.
    fn over_all_hops(&self, waits: &Waits, ports: &[PortBounds]) -> Vec<Vec<FlowBound>> {
        let places = self.places();
        let one = |(index, flow): (usize, &Flow)| {
            let mut late: Vec<[Result<u64, Unbounded>; 2]> = Vec::with_capacity(flow.hops.len());
            for (h, hop) in flow.hops.iter().enumerate() {
                let line = &self.lines[hop.line];
                let (_, most) = sending_ps(line, flow);
                let wait = waits[index][h].map_err(|why| Unbounded::at(hop.line, hop.leaf, why));
                let mut before = [Ok(0), Ok(0)];
                for &from in &hop.from {
                    for (sum, came) in before.iter_mut().zip(&late[from]) {
                        *sum = later(sum, came);
                    }
                }
                let first = hop.from.is_empty();
                let here = most.saturating_add(line.after_ps);
                let [all, wire] = before;
                let all = plus(plus(all, &wait), &Ok(here));
                let wire = plus(wire, &if first { Ok(here) } else { plus(wait, &Ok(here)) });
                late.push([all, wire]);
            }
            let once = self.burst_paid_once(flow, ports, &places[index]);
            flow.ends
                .iter()
                .zip(self.least_ps(flow))
                .map(|(ends, least_ps)| {
                    let worst = |which: usize| {
                        let mut worst = Ok(0);
                        for &hop in ends {
                            worst = later(&worst, &late[hop][which]);
                        }
                        worst
                    };
                    let sum = worst(0);
                    FlowBound {
                        delay_ps: match (sum, once) {
                            (Ok(sum), Some(once)) => Ok(sum.min(once)),
                            (Err(_), Some(once)) => Ok(once),
                            (sum, None) => sum,
                        },
                        from_first_bit_ps: worst(1),
                        least_ps,
                    }
                })
                .collect()
        };
        self.flows.iter().enumerate().map(one).collect()
    }

    /// The bound over all hops at once, where the flow has each queue for itself.
    fn burst_paid_once(&self, flow: &Flow, ports: &[PortBounds], places: &[usize]) -> Option<u64> {
        let chain = flow
            .hops
            .iter()
            .enumerate()
            .all(|(index, hop)| match hop.from.as_slice() {
                [] => index == 0,
                [from] => from + 1 == index,
                _ => false,
            });
        if !chain || flow.hops.len() < 2 || flow.ends.len() != 1 {
            return None;
        }
        let mut services: Vec<&Ramps> = Vec::new();
        let mut rest = 0_u64;
        for (hop, &place) in flow.hops.iter().zip(places) {
            let line = &self.lines[hop.line];
            services.push(ports[hop.line].alone.get(place)?.as_ref()?);
            rest = rest
                .saturating_add(sending_ps(line, flow).1)
                .saturating_add(line.after_ps);
        }
        let arrival = flow.arrival.times(flow.flows);
        let least = arrival.rate()?;
        let rates = services.iter().flat_map(|s| s.ramps().iter().map(|r| r.rate));
        let over = |rate: u64| {
            // Of each hop the shortest latency with this rate or more.
            let mut all: Option<Ramp> = None;
            for service in &services {
                let fast = service.ramps().iter().filter(|r| r.rate >= rate);
                let best = fast.min_by_key(|r| r.latency())?;
                all = Some(all.map_or(*best, |before| in_tandem(before, *best)));
            }
            let service = Service::of(Ramps::of(all?));
            Some(delay(&arrival, crate::wire(flow.frame_min), &service)?.saturating_add(rest))
        };
        rates.filter(|r| *r >= least).filter_map(over).min()
    }
}

fn plus(a: Result<u64, Unbounded>, b: &Result<u64, Unbounded>) -> Result<u64, Unbounded> {
    Ok(a?.saturating_add(b.clone()?))
}

/// The later of two, an unbounded one before all.
fn later(a: &Result<u64, Unbounded>, b: &Result<u64, Unbounded>) -> Result<u64, Unbounded> {
    match (a, b) {
        (Err(_), _) => a.clone(),
        (_, Err(_)) => b.clone(),
        (Ok(x), Ok(y)) => Ok(*x.max(y)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bucket, wire};

    const GBIT: u64 = 1_000_000_000;

    fn fifo(rate_bps: u64) -> Line<'static> {
        Line {
            plan: None,
            rate_bps,
            rate_most_bps: rate_bps,
            fifo_bytes: 0,
            after_ps: 1_000,
        }
    }

    fn along(lines: &[usize], frames: i128, rate: u64) -> Flow {
        let hop = |(place, &line): (usize, &usize)| Hop {
            line,
            leaf: 0,
            from: if place == 0 { Vec::new() } else { vec![place - 1] },
        };
        Flow {
            flows: 1,
            arrival: Arrival::of(Bucket {
                burst: frames * wire(1_000),
                rate,
            }),
            everywhere: false,
            frame_min: 1_000,
            frame_max: 1_000,
            hops: lines.iter().enumerate().map(hop).collect(),
            ends: vec![vec![lines.len() - 1]],
        }
    }

    #[test]
    fn a_flow_that_has_every_queue_for_itself_waits_once() {
        let network = Network {
            lines: vec![fifo(GBIT); 3],
            flows: vec![along(&[0, 1, 2], 10, GBIT / 2)],
        };
        let found = network.bounds();
        // Nine frames before the last at the first hop; then a frame's length and the line at each.
        let frame = 1_020 * 8_000;
        let sending = 1_008 * 8_000 + 1_000;
        assert_eq!(found.flows[0][0].delay_ps, Ok(9 * frame + 3 * sending));
        assert_eq!(found.flows[0][0].least_ps, 3 * sending);
        assert_eq!(found.flows[0][0].from_first_bit_ps, Ok(3 * sending));
    }

    #[test]
    fn flows_in_a_circle_have_a_bound_while_they_are_few() {
        let ring = |rate: u64| Network {
            lines: vec![fifo(GBIT); 3],
            flows: vec![
                along(&[0, 1, 2], 1, rate),
                along(&[1, 2, 0], 1, rate),
                along(&[2, 0, 1], 1, rate),
            ],
        };
        let few = ring(GBIT / 10).bounds();
        let delay = few.flows[0][0].delay_ps.clone().unwrap();
        assert!(few.flows.iter().all(|f| f[0].delay_ps == Ok(delay)));
        let many = ring(GBIT / 2).bounds();
        assert!(many.flows.iter().all(|f| matches!(
            f[0].delay_ps,
            Err(Unbounded {
                why: Why::Overload { .. },
                ..
            })
        )));
    }

    #[test]
    fn an_unbounded_flow_is_bounded_for_others_by_the_line_that_it_came_by() {
        let mut free = along(&[0, 2], 1, 1);
        free.arrival = Arrival::unbounded();
        let network = Network {
            lines: vec![fifo(GBIT), fifo(GBIT), fifo(10 * GBIT)],
            flows: vec![free, along(&[1, 2], 1, GBIT / 2)],
        };
        let found = network.bounds();
        assert_eq!(
            found.flows[0][0].delay_ps.as_ref().unwrap_err().why,
            Why::Arrivals
        );
        // Both send a frame at once to the shared line: one waits for the other.
        let frame = 1_020 * 800;
        let sending = 1_008 * 8_000 + 1_000 + 1_008 * 800 + 1_000;
        assert_eq!(found.flows[1][0].delay_ps, Ok(sending + frame));
        assert_eq!(found.flows[0][0].from_first_bit_ps, Ok(sending + frame));
    }
}
