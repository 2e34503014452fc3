//! Where frames go: the destination law of a workload, seen from one sender.

use super::{Destination, Problem, SenderContext};
use crate::engine::Stream;
use clearway_policy::scenario::Destination as Law;

/// Draws destinations.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    law: Choice,
    flows: u32,
}

#[derive(Clone, Debug)]
enum Choice {
    Always(Destination),
    Uniform(Vec<u32>),
    Skewed {
        others: Vec<u32>,
        host: u32,
        /// The flow of frames to `host`.
        flow: u32,
        probability: f64,
    },
}

impl Chooser {
    pub(super) fn new(law: &Law, context: &SenderContext<'_>) -> Result<Self, Problem> {
        let without_sender = |hosts: &[usize]| -> Result<Vec<u32>, Problem> {
            let others: Vec<u32> = hosts
                .iter()
                .filter(|&&host| host != context.host)
                .map(|&host| host as u32)
                .collect();
            if others.is_empty() {
                return Err((
                    "to",
                    format!("leaves host {} nobody to send to: add a host", context.host),
                ));
            }
            Ok(others)
        };
        let law = match law {
            Law::Host(host) => {
                without_sender(&[*host]).map_err(|(field, _)| {
                    (
                        field,
                        format!("host {host} would send to itself: leave it out of `from`"),
                    )
                })?;
                Choice::Always(Destination::Host(*host as u32))
            }
            Law::UniformOthers => Choice::Uniform(without_sender(context.participants)?),
            Law::Uniform(hosts) => Choice::Uniform(without_sender(hosts)?),
            Law::Skewed { host, probability } => {
                if !(0.0..=1.0).contains(probability) {
                    return Err(("to", format!("probability {probability} is not between 0 and 1")));
                }
                let others = without_sender(context.participants)?;
                if *host == context.host {
                    Choice::Uniform(others)
                } else {
                    let host = *host as u32;
                    let flow = others
                        .iter()
                        .position(|&other| other == host)
                        .unwrap_or(others.len());
                    Choice::Skewed {
                        flow: flow as u32,
                        others,
                        host,
                        probability: *probability,
                    }
                }
            }
            Law::Multicast(hosts) => {
                without_sender(hosts)?;
                Choice::Always(Destination::Multicast)
            }
        };
        let flows = match &law {
            Choice::Always(_) => 1,
            Choice::Uniform(others) => others.len() as u32,
            Choice::Skewed { others, flow, .. } => (others.len() as u32).max(flow + 1),
        };
        Ok(Self { law, flows })
    }

    /// Flows at one for each destination.
    pub(super) const fn flows(&self) -> u32 {
        self.flows
    }

    /// A destination and its flow.
    #[inline]
    pub(super) fn choose(&self, stream: &mut Stream) -> (Destination, u32) {
        match &self.law {
            Choice::Always(destination) => (*destination, 0),
            Choice::Uniform(others) => uniform(others, stream),
            Choice::Skewed {
                others,
                host,
                flow,
                probability,
            } => {
                if stream.chance(*probability) {
                    (Destination::Host(*host), *flow)
                } else {
                    uniform(others, stream)
                }
            }
        }
    }
}

#[inline]
fn uniform(others: &[u32], stream: &mut Stream) -> (Destination, u32) {
    let flow = stream.below(others.len() as u64) as u32;
    (Destination::Host(others[flow as usize]), flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clearway_core::Instant;

    const PARTICIPANTS: [usize; 4] = [0, 1, 2, 3];

    fn context(host: usize) -> SenderContext<'static> {
        SenderContext {
            host,
            participants: &PARTICIPANTS,
            line_rate_bps: 10_000_000_000,
            clock_ppm: 0,
            end: Instant::from_ps(u64::MAX),
        }
    }

    /// How often each host was drawn out of 120,000.
    fn counts(law: &Law, host: usize) -> [u32; 6] {
        let chooser = Chooser::new(law, &context(host)).unwrap();
        let mut stream = Stream::new(1, host as u64, "destination");
        let mut counts = [0; 6];
        for _ in 0..120_000 {
            let (destination, flow) = chooser.choose(&mut stream);
            assert!(flow < chooser.flows());
            if let Destination::Host(host) = destination {
                counts[host as usize] += 1;
            }
        }
        counts
    }

    fn near(count: u32, probability: f64) -> bool {
        let expected = 120_000.0 * probability;
        (f64::from(count) - expected).abs() <= 3.89 * (expected * (1.0 - probability)).sqrt()
    }

    #[test]
    fn uniform_leaves_the_sender_out() {
        let drawn = counts(&Law::UniformOthers, 2);
        assert_eq!(drawn[2], 0);
        assert!(
            [0, 1, 3].iter().all(|&host| near(drawn[host], 1.0 / 3.0)),
            "{drawn:?}"
        );
        let drawn = counts(&Law::Uniform(vec![2, 4, 5]), 2);
        assert!([4, 5].iter().all(|&host| near(drawn[host], 0.5)), "{drawn:?}");
    }

    #[test]
    fn skewed_redirects_a_share_to_the_favoured_host_and_leaves_its_own_alone() {
        let law = Law::Skewed {
            host: 0,
            probability: 0.023,
        };
        let drawn = counts(&law, 1);
        assert!(
            near(drawn[0], 0.023 + 0.977 / 3.0) && near(drawn[3], 0.977 / 3.0),
            "{drawn:?}"
        );
        let drawn = counts(&law, 0);
        assert!(drawn[0] == 0 && near(drawn[1], 1.0 / 3.0), "{drawn:?}");
    }

    #[test]
    fn a_favoured_host_outside_the_workload_has_a_flow_of_its_own() {
        let law = Law::Skewed {
            host: 5,
            probability: 0.5,
        };
        assert_eq!(Chooser::new(&law, &context(1)).unwrap().flows(), 4);
        assert!(near(counts(&law, 1)[5], 0.5));
    }

    #[test]
    fn nobody_to_send_to_is_refused() {
        for law in [
            Law::Host(1),
            Law::Uniform(vec![1]),
            Law::Multicast(vec![1]),
            Law::Uniform(vec![]),
        ] {
            assert_eq!(Chooser::new(&law, &context(1)).unwrap_err().0, "to");
        }
        let law = Law::Skewed {
            host: 0,
            probability: 1.5,
        };
        assert_eq!(Chooser::new(&law, &context(1)).unwrap_err().0, "to");
    }
}
