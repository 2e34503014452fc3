//! Talkers: what one host sends of a `messages` workload, and when.
//!
//! A stream writes the next message as soon as the socket takes it; a closed loop follows each answer with the next
//! message; a rate posts at given instants whatever became of the messages before, and latency counts from those. A
//! message that waits for an answer carries the instant at which it was meant to be sent as its tag, and the answer
//! carries it back. Over UDP a lost message or answer ends its loop: it has one message fewer in flight from then on.

use super::super::sources::{draw, receivers, unreachable};
use super::*;
use crate::engine::Stream as Draws;
use crate::workload::law::Sampler;
use clearway_policy::scenario::{Destination, MessagePattern, Workload, WorkloadKind};

/// One sending host of one workload.
#[derive(Debug)]
pub(crate) struct Talker {
    workload: u32,
    /// Receivers and the pipe to each, in the order of the hosts; of a stream, one for each connection.
    pipes: Vec<(u32, u32)>,
    favoured: Option<Favoured>,
    bytes: Sampler,
    draws: Draws,
    pattern: MessagePattern,
    stop: u64,
    /// Messages that a rate has sent so far.
    sent: u64,
    /// When the next one is due.
    next: u64,
}

/// The host that some draws are redirected to.
#[derive(Clone, Copy, Debug)]
struct Favoured {
    /// Among the pipes.
    place: usize,
    probability: f64,
    /// It does not send itself: the other draws leave it out.
    outside: bool,
}

/// Picoseconds to the `n`-th of evenly spaced messages.
fn even_ps(n: u64, per_second: f64) -> u64 {
    let micro = (per_second * 1e6 + 0.5) as u128;
    let ps = u128::from(n) * 1_000_000_000_000_000_000 / micro.max(1);
    u64::try_from(ps).unwrap_or(u64::MAX)
}

impl Talker {
    fn draw_bytes(&mut self) -> u64 {
        ((self.bytes.sample(&mut self.draws) + 0.5) as u64).max(1)
    }

    /// The pipe of the next message.
    fn choose(&mut self) -> u32 {
        if let [(_, only)] = self.pipes.as_slice() {
            return *only;
        }
        let mut others = self.pipes.len() as u64;
        let mut outsider = usize::MAX;
        if let Some(Favoured {
            place,
            probability,
            outside,
        }) = self.favoured
        {
            if self.draws.chance(probability) {
                return self.pipes.get(place).map_or(NIL, |p| p.1);
            }
            if outside {
                others -= 1;
                outsider = place;
            }
        }
        let drawn = self.draws.below(others) as usize;
        let place = drawn + usize::from(drawn >= outsider);
        self.pipes.get(place).map_or(NIL, |p| p.1)
    }

    /// Moves on to the instant after the present one.
    fn advance(&mut self, per_second: f64, poisson: bool) {
        self.sent += 1;
        if poisson {
            let gap = self.draws.exponential() * 1e12 / per_second;
            self.next = self.next.saturating_add((gap + 0.5) as u64);
        } else {
            let place = even_ps(self.sent, per_second) - even_ps(self.sent - 1, per_second);
            self.next = self.next.saturating_add(place);
        }
    }
}

/// Starts a workload of messages at one of its senders.
pub(crate) fn start_talker(
    workload: &Workload,
    index: usize,
    sender: usize,
    mut draws: Draws,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let WorkloadKind::Messages {
        transport,
        message_bytes,
        reply_bytes,
        pattern,
    } = &workload.kind
    else {
        return Ok(());
    };
    let item = || format!("workload {}", workload.name);
    let bytes = Sampler::new(message_bytes).map_err(|problem| Refusal::new(item(), "message", problem))?;
    let Some(Node::Host(host)) = nodes.get(sender) else {
        return Ok(());
    };
    let talker = host.talkers.len() as u32;
    let group = match &workload.to {
        Destination::Multicast(_) => Some(receivers(workload, sender)),
        _ => None,
    };
    let targets: Vec<Vec<u32>> = match (pattern, group) {
        (_, Some(group)) => vec![group.iter().map(|&h| h as u32).collect()],
        (MessagePattern::Stream { connections }, None) => (0..*connections)
            .map(|_| vec![draw(workload, sender, &mut draws)])
            .collect(),
        (_, None) => receivers(workload, sender)
            .iter()
            .map(|&h| vec![h as u32])
            .collect(),
    };
    let is_stream = matches!(pattern, MessagePattern::Stream { .. });
    let line_ps = ctx.lines[host.transmitter.line as usize].time_ps(transport.frame_bytes_max() + 20);
    let mut pipes = Vec::with_capacity(targets.len());
    for to in &targets {
        // Connections must not begin in step: a random part of a full frame at the line rate.
        let start = workload.start.as_ps().saturating_add(draws.below(line_ps.max(1)));
        let spec = PipeSpec {
            workload: index as u32,
            from: sender as u32,
            to,
            transport,
            reader: if *reply_bytes > 0 {
                Reader::Responder(*reply_bytes)
            } else {
                Reader::Sink
            },
            writer: Writer::Talker(talker),
            notice: match transport {
                _ if is_stream => Notice::Room,
                // A write over RDMA is over for its writer when its completion comes.
                MessageTransport::Iwarp(_) | MessageTransport::Roce(_) => Notice::Complete,
                MessageTransport::Udp { .. } | MessageTransport::Tcp(_) => Notice::Nothing,
            },
            start,
        };
        let pipe = open_pipe(nodes, ctx, &spec).map_err(|r| Refusal::new(item(), r.field, r.problem))?;
        let &[to, ref more @ ..] = to.as_slice() else {
            return Err(unreachable(workload));
        };
        if *reply_bytes > 0 {
            if !more.is_empty() {
                return Err(Refusal::new(item(), "reply", "answers a group: leave it out"));
            }
            let back = PipeSpec {
                from: to,
                to: &[sender as u32],
                reader: Reader::Caller(talker),
                writer: Writer::Nobody,
                notice: Notice::Nothing,
                ..spec
            };
            let back = open_pipe(nodes, ctx, &back).map_err(|r| Refusal::new(item(), r.field, r.problem))?;
            join_pipes(nodes, ctx, pipe, back);
        }
        pipes.push((to, pipe));
    }
    let start = workload.start.as_ps();
    let phase = match pattern {
        MessagePattern::Rate { per_second, poisson } => {
            if !(*per_second > 0.0 && per_second.is_finite()) {
                return Err(Refusal::new(item(), "rate", "is no rate: give one above zero"));
            }
            let mean = 1e12 / per_second;
            let gap = if *poisson {
                draws.exponential()
            } else {
                draws.unit()
            };
            (gap * mean) as u64
        }
        _ => draws.below(line_ps.max(1)),
    };
    let next = start.saturating_add(phase);
    let favoured = match workload.to {
        Destination::Skewed { host, probability } if !is_stream => pipes
            .binary_search_by_key(&(host as u32), |p| p.0)
            .ok()
            .map(|place| Favoured {
                place,
                probability,
                outside: !workload.from.contains(&host),
            }),
        _ => None,
    };
    let Some(Node::Host(host)) = nodes.get_mut(sender) else {
        return Ok(());
    };
    host.talkers.push(Talker {
        workload: index as u32,
        pipes,
        favoured,
        bytes,
        draws,
        pattern: *pattern,
        stop: workload.stop.map_or(u64::MAX, |s| s.as_ps()),
        sent: 0,
        next,
    });
    let event = Event::Talk {
        host: sender as u32,
        talker: talker as u16,
    };
    ctx.push(next, Phase::Control, sender as u32, event);
    Ok(())
}

impl Host {
    /// A talker's next message is due, or its first.
    pub(crate) fn talk_due(&mut self, ctx: &mut Context, talker: u16) {
        let place = usize::from(talker);
        let Some(t) = self.talkers.get_mut(place) else {
            return;
        };
        match t.pattern {
            MessagePattern::Stream { .. } => {
                let pipes: Vec<u32> = t.pipes.iter().map(|p| p.1).collect();
                for pipe in pipes {
                    self.talk_on(ctx, u32::from(talker), pipe);
                }
            }
            MessagePattern::ClosedLoop { outstanding } => {
                for _ in 0..outstanding {
                    self.ask(ctx, u32::from(talker));
                }
            }
            // Exchanges have a table of their own.
            MessagePattern::Exchange { .. } => {}
            MessagePattern::Rate { per_second, poisson } => {
                if t.next <= t.stop {
                    t.advance(per_second, poisson);
                    let event = Event::Talk {
                        host: self.node,
                        talker,
                    };
                    ctx.push(t.next, Phase::Control, self.node, event);
                    self.ask(ctx, u32::from(talker));
                }
            }
        }
        self.look(ctx);
    }

    /// Posts one message, to a pipe that the talker chooses.
    fn ask(&mut self, ctx: &mut Context, talker: u32) {
        let Some(t) = self.talkers.get_mut(talker as usize) else {
            return;
        };
        if ctx.now > t.stop {
            return;
        }
        let (pipe, bytes) = (t.choose(), t.draw_bytes());
        self.post(ctx, pipe, bytes, ctx.now);
    }

    /// A stream goes on writing to a pipe while the socket takes it.
    pub(super) fn talk_on(&mut self, ctx: &mut Context, talker: u32, pipe: u32) {
        while self.has_room(ctx, pipe) {
            let Some(t) = self.talkers.get_mut(talker as usize) else {
                return;
            };
            if ctx.now > t.stop {
                return;
            }
            let bytes = t.draw_bytes();
            self.post(ctx, pipe, bytes, ctx.now);
        }
    }

    /// An answer came back: the round trip is over, and a closed loop asks again.
    pub(super) fn take_reply(&mut self, ctx: &mut Context, talker: u32, message: &Message) {
        let Some(t) = self.talkers.get(talker as usize) else {
            return;
        };
        let (workload, closed) = (t.workload, matches!(t.pattern, MessagePattern::ClosedLoop { .. }));
        ctx.collector
            .messages
            .answer(workload, message.tag, ctx.now, ctx.warmup);
        if closed {
            self.ask(ctx, talker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_instants_keep_the_rate_over_any_time() {
        assert_eq!(even_ps(1, 1e6), 1_000_000);
        assert_eq!(even_ps(3, 3.0), 1_000_000_000_000);
        assert_eq!(even_ps(1_000_000_007, 1e9), 1_000_000_007_000);
    }
}
