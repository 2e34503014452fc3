//! Exchanges: the steps of a parallel program, in which everybody waits for its neighbours.
//!
//! In each iteration a host sends one message to each of its neighbours and waits for the message of the same iteration
//! from each of them; then it computes for a given time and begins the next. That is the halo exchange of a stencil code
//! (neighbours in a ring) or an all-to-all (everybody), synchronised by its data as bulk-synchronous programs are
//! (Valiant, 1990), without a barrier of its own: a host can be one iteration ahead of a neighbour, never two. One late
//! message holds up its receiver, and through it, within a few iterations, everybody.
//!
//! The time of an iteration is counted from a host's own sending to its last message; without the computing. Left out: UDP,
//! where a lost message would end the program; messages that depend on each other within an iteration.

use super::super::sources::receivers;
use super::*;
use crate::engine::{Phase, Stream as Draws};
use crate::net::event::Event;
use crate::workload::law::Sampler;
use clearway_policy::scenario::{MessagePattern, Scenario, WorkloadKind};

/// One host's part in an exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    workload: u32,
    /// To each neighbour.
    pipes: Vec<u32>,
    /// Messages that have come of the present iteration and of the next one.
    come: [u32; 2],
    /// The present iteration, and whether its messages were sent.
    iteration: u64,
    sent: bool,
    /// When they were, picoseconds.
    began: u64,
    compute: u64,
    stop: u64,
    bytes: Sampler,
    draws: Draws,
}

/// The places of the neighbours of `place` among `count` in a ring; everybody else where `reach` is 0.
fn neighbours(place: usize, count: usize, reach: usize) -> Vec<usize> {
    let reach = if reach == 0 { count } else { reach };
    let near = |other: &usize| {
        let apart = place.abs_diff(*other);
        apart > 0 && apart.min(count - apart) <= reach
    };
    (0..count).filter(near).collect()
}

/// Starts an exchange among all senders of a workload.
pub(crate) fn start_exchange(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let workload = &scenario.workloads[index];
    let WorkloadKind::Messages {
        transport,
        message_bytes,
        pattern: MessagePattern::Exchange {
            neighbours: reach,
            compute,
        },
        ..
    } = &workload.kind
    else {
        return Ok(());
    };
    let item = || format!("workload {}", workload.name);
    if matches!(transport, MessageTransport::Udp { .. }) {
        let problem = "loses messages, and the first one would end the exchange: take tcp or iwarp";
        return Err(Refusal::new(item(), "transport", problem));
    }
    let hosts = &workload.from;
    if hosts
        .iter()
        .any(|&h| receivers(workload, h).len() + 1 != hosts.len())
    {
        return Err(Refusal::new(
            item(),
            "to",
            "is not everybody else: an exchange is among its senders",
        ));
    }
    for (place, &from) in hosts.iter().enumerate() {
        let bytes =
            Sampler::new(message_bytes).map_err(|problem| Refusal::new(item(), "message", problem))?;
        let mut draws = Draws::new(seed, from as u64, &format!("workload {index}"));
        let start = workload.start.as_ps();
        let mut pipes = Vec::new();
        for to in neighbours(place, hosts.len(), *reach as usize) {
            let spec = PipeSpec {
                workload: index as u32,
                from: from as u32,
                to: &[hosts[to] as u32],
                transport,
                reader: Reader::Exchange(index as u32),
                writer: Writer::Nobody,
                notice: Notice::Nothing,
                start,
            };
            let pipe = open_pipe(nodes, ctx, &spec).map_err(|r| Refusal::new(item(), r.field, r.problem))?;
            pipes.push(pipe);
        }
        let Some(Node::Host(host)) = nodes.get_mut(from) else {
            continue;
        };
        let line_ps = ctx.lines[host.transmitter.line as usize].time_ps(transport.frame_bytes_max() + 20);
        // Nobody's programs begin at one picosecond.
        let first = start.saturating_add(draws.below(line_ps.max(1)));
        let event = Event::Exchange {
            host: from as u32,
            exchange: host.exchanges.len() as u16,
        };
        host.exchanges.push(Exchange {
            workload: index as u32,
            pipes,
            come: [0; 2],
            iteration: 0,
            sent: false,
            began: 0,
            compute: compute.as_ps(),
            stop: workload.stop.map_or(u64::MAX, |s| s.as_ps()),
            bytes,
            draws,
        });
        ctx.push(first, Phase::Control, from as u32, event);
    }
    Ok(())
}

impl Host {
    /// A host has computed and sends the messages of its next iteration.
    pub(crate) fn exchange_due(&mut self, ctx: &mut Context, exchange: u16) {
        let place = usize::from(exchange);
        let Some(e) = self.exchanges.get_mut(place) else {
            return;
        };
        if ctx.now <= e.stop {
            (e.sent, e.began) = (true, ctx.now);
            let iteration = e.iteration;
            for i in 0.. {
                let Some(e) = self.exchanges.get_mut(place) else {
                    break;
                };
                let Some(&pipe) = e.pipes.get(i) else { break };
                let bytes = ((e.bytes.sample(&mut e.draws) + 0.5) as u64).max(1);
                self.post(ctx, pipe, bytes, iteration);
            }
            self.exchange_over(ctx, place);
        }
        self.look(ctx);
    }

    /// A neighbour's message is here.
    pub(super) fn exchange_read(&mut self, ctx: &mut Context, workload: u32, message: &Message) {
        let Some(place) = self.exchanges.iter().position(|e| e.workload == workload) else {
            return;
        };
        let e = &mut self.exchanges[place];
        let ahead = message.tag.saturating_sub(e.iteration).min(1) as usize;
        e.come[ahead] += 1;
        self.exchange_over(ctx, place);
    }

    /// Ends the present iteration if every message is here and every one was sent.
    fn exchange_over(&mut self, ctx: &mut Context, place: usize) {
        let Some(e) = self.exchanges.get_mut(place) else {
            return;
        };
        if !e.sent || (e.come[0] as usize) < e.pipes.len() {
            return;
        }
        ctx.collector
            .messages
            .answer(e.workload, e.began, ctx.now, ctx.warmup);
        e.come = [e.come[1], 0];
        e.iteration += 1;
        e.sent = false;
        let event = Event::Exchange {
            host: self.node,
            exchange: place as u16,
        };
        ctx.push(
            ctx.now.saturating_add(e.compute),
            Phase::Control,
            self.node,
            event,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_near_in_the_ring_or_everybody() {
        assert_eq!(neighbours(0, 8, 1), [1, 7]);
        assert_eq!(neighbours(6, 8, 2), [0, 4, 5, 7]);
        assert_eq!(neighbours(2, 4, 0), [0, 1, 3]);
        for place in 0..9 {
            let mine = neighbours(place, 9, 3);
            let all_mutual = mine.iter().all(|&other| neighbours(other, 9, 3).contains(&place));
            assert!(mine.len() == 6 && all_mutual, "{place}: {mine:?}");
        }
    }
}
