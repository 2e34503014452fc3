//! Classification: the rules one after the other, then the known flows (rule 26).

use super::{Model, ModelTarget, Name, Refusal, Time};
use clearway_core::plan::{IpPrefix, QueueMode, RuleMatch};
use clearway_core::{FlowId, FlowKey, RefuseReason};

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;

fn in_prefix(prefix: IpPrefix, version: u8, address: u128) -> bool {
    let bits = if prefix.version == 4 { 32 } else { 128 };
    let first_differing = (0..bits).find(|i| (prefix.address ^ address) >> (bits - 1 - i) & 1 == 1);
    prefix.version == version && first_differing.is_none_or(|i| i >= u32::from(prefix.length))
}

pub(super) fn holds(rule: &RuleMatch, key: &FlowKey) -> bool {
    let ip = key.ip_version == 4 || key.ip_version == 6;
    let ports = ip && [TCP, UDP, DCCP, SCTP].contains(&key.protocol);
    let pcp = if key.tagged { key.pcp } else { 0 };
    rule.dst_mac.is_none_or(|mac| mac == key.dst_mac)
        && rule.src_mac.is_none_or(|mac| mac == key.src_mac)
        && rule.vlan_id.is_none_or(|vlan| vlan == key.vlan_id)
        && rule.pcp.is_none_or(|set| set >> pcp & 1 == 1)
        && rule.ethertype.is_none_or(|ethertype| ethertype == key.ethertype)
        && rule
            .src_ip
            .is_none_or(|prefix| in_prefix(prefix, key.ip_version, key.src_ip))
        && rule
            .dst_ip
            .is_none_or(|prefix| in_prefix(prefix, key.ip_version, key.dst_ip))
        && rule.dscp.is_none_or(|set| ip && set >> key.dscp & 1 == 1)
        && rule
            .protocol
            .is_none_or(|protocol| ip && protocol == key.protocol)
        && rule
            .src_port
            .is_none_or(|(first, last)| ports && (first..=last).contains(&key.src_port))
        && rule
            .dst_port
            .is_none_or(|(first, last)| ports && (first..=last).contains(&key.dst_port))
}

impl Model {
    pub(crate) fn classify(&mut self, now_ps: u64, key: &FlowKey) -> Result<ModelTarget, Refusal> {
        let now = self.see(now_ps);
        let id = FlowId::of(key);
        if let Some(slot) = self.known(id) {
            let flow = self.flow(slot);
            let queue = flow.queue;
            let there = self
                .present(queue)
                .is_some_and(|q| self.leaf(q.name.slot).fifo.iter().any(|f| f.flow == id));
            let busy = there || !flow.is_empty() || flow.waits_for.is_some();
            if self.is_live(queue) {
                return Ok(self.target_of(slot));
            }
            if busy {
                return Err(RefuseReason::QueueGone);
            }
            self.forget(slot);
        }
        let matching = self.rules.iter().find(|(rule, _)| holds(rule, key));
        let queue = matching.map(|&(_, queue)| queue).ok_or(RefuseReason::NoRule)?;
        if !self.is_live(queue) {
            return Err(RefuseReason::QueueGone);
        }
        if self.leaf(queue.slot).is_shared() {
            return Ok(ModelTarget {
                queue,
                flow: id,
                slot: None,
                given: self.changes,
            });
        }
        let slot = self.make_room(now).ok_or(RefuseReason::FlowsMax)?;
        self.know(slot, id, queue, now);
        self.become_idle(slot);
        Ok(self.target_of(slot))
    }

    fn target_of(&self, slot: usize) -> ModelTarget {
        let flow = self.flow(slot);
        let generation = self.flow_generations[slot];
        ModelTarget {
            queue: flow.queue,
            flow: flow.id,
            slot: Some((slot, generation)),
            given: 0,
        }
    }

    /// A free flow slot, if need be from a flow that may be forgotten.
    pub(super) fn make_room(&mut self, now: Time) -> Option<usize> {
        if self.free_flows.is_empty() {
            let slot = self.forgettable(now)?;
            self.forget(slot);
            self.forgotten += 1;
        }
        self.free_flows.pop()
    }

    pub(super) fn has_room(&self, now: Time) -> bool {
        !self.free_flows.is_empty() || self.forgettable(now).is_some()
    }

    fn forgettable(&self, now: Time) -> Option<usize> {
        let mut idle: Vec<(u64, usize)> = Vec::new();
        for (slot, flow) in self.flows.iter().enumerate() {
            if let Some(place) = flow.as_ref().and_then(|f| f.idle) {
                idle.push((place, slot));
            }
        }
        idle.sort_unstable();
        let longest = idle.into_iter().take(16).map(|(_, slot)| slot);
        longest.into_iter().find(|&slot| {
            let flow = self.flow(slot);
            self.present(flow.queue).is_none() || flow.bucket.as_ref().is_none_or(|b| b.is_full(now))
        })
    }

    /// Enters a flow in the slot, with a full bucket where its queue shapes flows.
    pub(super) fn know(&mut self, slot: usize, id: FlowId, queue: Name, now: Time) {
        self.flows[slot] = Some(super::Flow {
            id,
            queue,
            home: queue,
            frames: Vec::new(),
            head_since: now,
            bucket: self.full_bucket(queue, now),
            held: Vec::new(),
            waits_for: None,
            idle: None,
        });
    }

    pub(super) fn full_bucket(&self, queue: Name, now: Time) -> Option<super::Bucket> {
        match &self.leaf(queue.slot).plan.mode {
            QueueMode::PerFlow {
                shape: Some(shape), ..
            } => Some(super::Bucket::flow(*shape, self.longest(queue.slot), now)),
            _ => None,
        }
    }

    pub(super) fn forget(&mut self, slot: usize) {
        self.flows[slot] = None;
        self.flow_generations[slot] += 1;
        self.free_flows.push(slot);
    }

    /// Puts the flow last in the order of idle flows if it is one.
    pub(super) fn become_idle(&mut self, slot: usize) {
        let flow = self.flow(slot);
        if flow.is_empty() && flow.waits_for.is_none() && flow.queue == flow.home && flow.idle.is_none() {
            self.idle_count += 1;
            self.flow_mut(slot).idle = Some(self.idle_count);
        }
    }
}
