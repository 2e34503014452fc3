//! Storage: clients that write and read blocks on storage nodes, with copies on several of them.
//!
//! A client has so many operations outstanding and issues the next when one is complete (a closed loop). A write sends
//! the block to every node that holds a copy and is complete when the last of them has answered; a copy on the client's
//! own node costs no wire. A read asks one node that may hold a copy. A node stores or fetches a block in its service
//! time, however many it is at; then it answers. Commands and answers are messages of [`COMMAND_BYTES`].
//!
//! Between a client's node and each other node there are so many connections, each with one for the answers; operations
//! take turns on them, so that one connection carries whole blocks one after another.
//!
//! Source: SMB Direct and Storage Spaces Direct as their vendor describes them (\[MS-SMB2\], \[MS-SMBD\]). Left out: the
//! negotiation of who pulls a block (a server's RDMA read of the client's memory moves the same bytes the same way),
//! credits, caches, disks that queue, nodes that fail.

use super::Node;
use super::context::Context;
use super::event::Event;
use super::host::Host;
use super::messages::{Message, Notice, PipeSpec, Reader, Writer, open_pipe};
use super::refusal::Refusal;
use crate::engine::{Phase, Stream};
use crate::results::Operations;
use crate::workload::law::Sampler;
use clearway_policy::scenario::{Destination, MessageTransport, Placement, Scenario, WorkloadKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Bytes of a command or answer without its block: an SMB2 header of 64 and a structure of up to 64 (\[MS-SMB2\] 2.2.1,
/// 2.2.19 to 2.2.22).
const COMMAND_BYTES: u64 = 128;
/// Clients begin within this time, so that they are not in step.
const START_WITHIN_PS: u64 = 1_000_000_000;

/// One operation that is not complete.
#[derive(Clone, Copy, Debug)]
struct Operation {
    host: u32,
    issued: u64,
    write: bool,
    /// Copies that have not answered.
    left: u32,
}

/// What a node does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    /// A client issues an operation.
    Issue,
    /// A copy on the client's own node is done.
    Local(u32),
    /// A block for this operation is stored or fetched: the answer goes out on a pipe.
    Answer(u32, u32),
}

/// One host's clients and its storage.
#[derive(Debug, Default)]
struct Station {
    /// What is due, earliest first, in the order in which it was set.
    due: BinaryHeap<Reverse<(u64, u64, Work)>>,
    set: u64,
    /// Instant of the live event.
    wake: u64,
    /// For each other storage node the pipes to it.
    others: Vec<Vec<u32>>,
    /// Next connection of each.
    turn: Vec<usize>,
    /// It may hold copies of its own clients' blocks.
    local: bool,
    draws: Option<Stream>,
    results: Operations,
}

/// One workload's clients, nodes and operations.
#[derive(Debug)]
pub(crate) struct Storing {
    workload: u32,
    block_bytes: u64,
    copies: u32,
    placement: Placement,
    write_fraction: f64,
    service: Sampler,
    services: Stream,
    stop: u64,
    hosts: BTreeMap<u32, Station>,
    /// The pipe of the answers for each pipe of commands.
    back_of: BTreeMap<u32, u32>,
    operations: Vec<Operation>,
    free: Vec<u32>,
}

/// Starts a workload's storage at all its hosts.
pub(crate) fn start_storage(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    nodes: &mut [Node],
    ctx: &mut Context,
) -> Result<(), Refusal> {
    let workload = &scenario.workloads[index];
    let WorkloadKind::Storage {
        transport,
        block_bytes,
        clients,
        outstanding,
        copies,
        connections,
        placement,
        write_fraction,
        service,
    } = &workload.kind
    else {
        return Ok(());
    };
    let item = format!("workload {}", workload.name);
    let refuse = |field, problem: String| Err(Refusal::new(item.clone(), field, problem));
    if matches!(transport, MessageTransport::Udp { .. }) {
        let problem = "is UDP: a lost datagram would lose its operation; use tcp, iwarp or roce";
        return refuse("transport", problem.to_owned());
    }
    let holders: Vec<usize> = match &workload.to {
        Destination::Host(host) => vec![*host],
        Destination::UniformOthers => workload.from.clone(),
        Destination::Uniform(hosts) => hosts.clone(),
        Destination::Skewed { .. } | Destination::Multicast(_) => {
            return refuse(
                "to",
                "is no list of storage nodes: name them, or \"others\"".to_owned(),
            );
        }
    };
    let service = match Sampler::new(service) {
        Ok(sampler) => sampler,
        Err(problem) => return refuse("service", problem),
    };
    let index = index as u32;
    let mut storing = Storing {
        workload: index,
        block_bytes: u64::from(*block_bytes),
        copies: *copies,
        placement: *placement,
        write_fraction: *write_fraction,
        services: Stream::new(seed, u64::from(index), "storage service"),
        service,
        stop: workload.stop.map_or(u64::MAX, |s| s.as_ps()),
        hosts: BTreeMap::new(),
        back_of: BTreeMap::new(),
        operations: Vec::new(),
        free: Vec::new(),
    };
    for &host in workload.from.iter().chain(&holders) {
        storing.hosts.entry(host as u32).or_default().wake = u64::MAX;
    }
    for &client in &workload.from {
        let local = holders.contains(&client);
        let others: Vec<usize> = holders.iter().copied().filter(|&h| h != client).collect();
        let first = *placement == Placement::LocalFirst;
        if first && !local {
            let problem = format!("puts a copy on host {client}, which is no storage node: name it in `to`");
            return refuse("placement", problem);
        }
        if others.len() + usize::from(local) < *copies as usize || *copies == 0 {
            let problem = format!("is {copies}, and there are {} storage nodes", holders.len());
            return refuse("copies", problem);
        }
        if local && *copies == 1 && storing.service.mean() <= 0.0 {
            let problem =
                "is zero, and so would be the time of an operation that stays on its node: give a time";
            return refuse("service", problem.to_owned());
        }
        for other in others {
            let mut lanes = Vec::new();
            for _ in 0..*connections {
                let pipe = |from: usize, to: usize, nodes: &mut [Node], ctx: &mut Context| {
                    let spec = PipeSpec {
                        workload: index,
                        from: from as u32,
                        to: &[to as u32],
                        transport,
                        reader: Reader::Storage,
                        writer: Writer::Nobody,
                        notice: Notice::Nothing,
                        start: workload.start.as_ps(),
                    };
                    open_pipe(nodes, ctx, &spec).map_err(|refusal| Refusal {
                        item: item.clone(),
                        ..refusal
                    })
                };
                let there = pipe(client, other, nodes, ctx)?;
                let back = pipe(other, client, nodes, ctx)?;
                storing.back_of.insert(there, back);
                lanes.push(there);
            }
            if let Some(host) = storing.hosts.get_mut(&(client as u32)) {
                host.others.push(lanes);
                host.turn.push(0);
            }
        }
        let mut draws = Stream::new(seed, client as u64, &format!("storage {index}"));
        let begins = u64::from(*clients) * u64::from(*outstanding);
        let starts: Vec<u64> = (0..begins)
            .map(|_| {
                workload
                    .start
                    .as_ps()
                    .saturating_add(draws.below(START_WITHIN_PS))
            })
            .collect();
        if let Some(host) = storing.hosts.get_mut(&(client as u32)) {
            host.local = local;
            host.draws = Some(draws);
            starts.into_iter().for_each(|at| host.set(at, Work::Issue));
        }
        storing.arm(ctx, client as u32);
    }
    ctx.storage.insert(index, Box::new(storing));
    Ok(())
}

impl Station {
    fn set(&mut self, at: u64, work: Work) {
        self.set += 1;
        self.due.push(Reverse((at, self.set, work)));
    }
}

/// A block, command or answer to be sent: pipe, bytes, operation.
type Send = (u32, u64, u32);

impl Storing {
    /// Sets the host's event where none is early enough.
    fn arm(&mut self, ctx: &mut Context, host: u32) {
        let workload = self.workload as u16;
        let Some(node) = self.hosts.get_mut(&host) else {
            return;
        };
        let Some(&Reverse((at, ..))) = node.due.peek() else {
            return;
        };
        let at = at.max(ctx.now);
        if at < node.wake {
            node.wake = at;
            ctx.push(at, Phase::Control, host, Event::Store { host, workload });
        }
    }

    fn service_ps(&mut self) -> u64 {
        (self.service.sample(&mut self.services) * 1e12) as u64
    }

    /// Does what is due at a host.
    fn work(&mut self, ctx: &Context, host: u32, sends: &mut Vec<Send>) {
        while let Some(node) = self.hosts.get_mut(&host) {
            let Some(&Reverse((at, _, work))) = node.due.peek().filter(|d| d.0.0 <= ctx.now) else {
                return;
            };
            debug_assert!(at <= ctx.now, "nothing is done before it is due");
            let _ = node.due.pop();
            match work {
                Work::Issue => self.issue(ctx, host, sends),
                Work::Local(operation) => self.answered(ctx, operation),
                Work::Answer(pipe, operation) => {
                    let write = self.operations.get(operation as usize).is_none_or(|o| o.write);
                    let bytes = COMMAND_BYTES + if write { 0 } else { self.block_bytes };
                    sends.push((pipe, bytes, operation));
                }
            }
        }
    }

    /// A client of the host issues its next operation.
    fn issue(&mut self, ctx: &Context, host: u32, sends: &mut Vec<Send>) {
        if ctx.now > self.stop {
            return;
        }
        let (copies, placement, write_fraction) = (self.copies, self.placement, self.write_fraction);
        let Some(node) = self.hosts.get_mut(&host) else {
            return;
        };
        let Some(draws) = &mut node.draws else { return };
        let write = draws.chance(write_fraction);
        // Places among the other nodes; one more stands for the client's own.
        let others = node.others.len();
        let mut chosen = Vec::with_capacity(copies as usize);
        let mut local = false;
        let drawn = if write { copies } else { 1 };
        if placement == Placement::LocalFirst {
            local = true;
            draw(draws, others, drawn as usize - 1, &mut chosen);
        } else {
            draw(
                draws,
                others + usize::from(node.local),
                drawn as usize,
                &mut chosen,
            );
            local |= chosen.contains(&others);
            chosen.retain(|&place| place != others);
        }
        let operation = Operation {
            host,
            issued: ctx.now,
            write,
            left: drawn,
        };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.operations.push(operation);
                self.operations.len() as u32 - 1
            }
        };
        self.operations[number as usize] = operation;
        let bytes = COMMAND_BYTES + if write { self.block_bytes } else { 0 };
        for &place in &chosen {
            let lanes = &node.others[place];
            let lane = lanes[node.turn[place] % lanes.len().max(1)];
            node.turn[place] += 1;
            sends.push((lane, bytes, number));
        }
        if ctx.now >= ctx.warmup {
            node.results.issued += 1;
            node.results.remote_copies += if write { chosen.len() as u64 } else { 0 };
        }
        if local {
            let at = ctx.now.saturating_add(self.service_ps());
            if let Some(node) = self.hosts.get_mut(&host) {
                node.set(at, Work::Local(number));
            }
        }
    }

    /// A copy of an operation has answered.
    fn answered(&mut self, ctx: &Context, number: u32) {
        let Some(operation) = self.operations.get_mut(number as usize) else {
            return;
        };
        operation.left = operation.left.saturating_sub(1);
        if operation.left > 0 {
            return;
        }
        let Operation {
            host, issued, write, ..
        } = *operation;
        self.free.push(number);
        let Some(node) = self.hosts.get_mut(&host) else {
            return;
        };
        if ctx.now >= ctx.warmup {
            let results = &mut node.results;
            results.bytes += self.block_bytes;
            results.area += u128::from(ctx.now - issued.max(ctx.warmup));
            let latencies = if write {
                &mut results.writes
            } else {
                &mut results.reads
            };
            latencies.record(ctx.now - issued);
        }
        node.set(ctx.now, Work::Issue);
    }

    /// A message came to a host.
    fn take(&mut self, ctx: &Context, host: u32, pipe: u32, operation: u32) {
        match self.back_of.get(&pipe).copied() {
            Some(back) => {
                let at = ctx.now.saturating_add(self.service_ps());
                if let Some(node) = self.hosts.get_mut(&host) {
                    node.set(at, Work::Answer(back, operation));
                }
            }
            None => self.answered(ctx, operation),
        }
    }

    /// Index of the workload.
    pub(crate) const fn workload(&self) -> u32 {
        self.workload
    }

    /// What was counted by the end of the run, by client's host.
    pub(crate) fn results(&self, now: u64, warmup: u64) -> Vec<(u32, Operations)> {
        let clients = self.hosts.iter().filter(|(_, node)| node.draws.is_some());
        let mut all: Vec<(u32, Operations)> = clients.map(|(&h, node)| (h, node.results.clone())).collect();
        let free: std::collections::BTreeSet<u32> = self.free.iter().copied().collect();
        for (number, open) in (0_u32..).zip(&self.operations) {
            if !free.contains(&number)
                && let Some((_, results)) = all.iter_mut().find(|(host, _)| *host == open.host)
            {
                results.area += u128::from(now.saturating_sub(open.issued.max(warmup)));
            }
        }
        all
    }
}

/// Draws `count` different numbers below `from` (Floyd's method, each set with the same probability).
fn draw(stream: &mut Stream, from: usize, count: usize, chosen: &mut Vec<usize>) {
    for last in from.saturating_sub(count)..from {
        let one = stream.below(last as u64 + 1) as usize;
        chosen.push(if chosen.contains(&one) { last } else { one });
    }
}

impl Host {
    /// What this host's clients or storage have to do is due.
    pub(crate) fn store_due(&mut self, ctx: &mut Context, workload: u16) {
        let Some(mut storing) = ctx.storage.remove(&u32::from(workload)) else {
            return;
        };
        if let Some(node) = storing.hosts.get_mut(&self.node)
            && node.wake <= ctx.now
        {
            node.wake = u64::MAX;
        }
        self.store(ctx, storing);
        self.look(ctx);
    }

    /// A command, block or answer came.
    pub(crate) fn storage_read(&mut self, ctx: &mut Context, pipe: u32, message: &Message) {
        let Some(workload) = ctx.pipes.get(pipe as usize).map(|p| p.workload) else {
            return;
        };
        let Some(mut storing) = ctx.storage.remove(&workload) else {
            return;
        };
        storing.take(ctx, self.node, pipe, message.tag as u32);
        self.store(ctx, storing);
    }

    /// Does what is due and sends what comes of it.
    fn store(&mut self, ctx: &mut Context, mut storing: Box<Storing>) {
        let mut sends = Vec::new();
        storing.work(ctx, self.node, &mut sends);
        storing.arm(ctx, self.node);
        ctx.storage.insert(storing.workload, storing);
        for (pipe, bytes, operation) in sends {
            self.post(ctx, pipe, bytes, u64::from(operation));
        }
    }
}
