//! Flows, their paths and what they counted: everything per frame is an index into these tables.
//!
//! A flow is made when its first frame is. It is one sender, one destination (or multicast group) and one set of header fields. Its path is
//! computed then: a tree of hops, each a transmitter with the target that its classifier gave, so that a frame
//! is routed and classified by one load. The target is found at the first frame and again where it went stale.

use super::context::Context;
use super::frame::{Frame, NIL};
use crate::workload::{Destination, Emission, FRAME_BYTES_MIN};
use clearway_core::{Ecn, FlowId, FlowKey, Target};
use clearway_policy::scenario::Marks;
use std::collections::HashMap;

/// What a flow's frames mean to the host that gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing: they are counted.
    Sink,
    /// To be answered by a frame of the flow `owner`.
    Request,
    /// The answer; `owner` is the index of the requester at the host.
    Response,
    /// TCP data; `owner` is the connection.
    Data,
    /// TCP acknowledgement; `owner` is the connection.
    Ack,
    /// A packet of RoCEv2; `owner` is the queue pair.
    Rdma,
    /// A datagram, or a fragment of one; `owner` is the pipe.
    Datagram,
}

impl Meaning {
    /// A segment or an acknowledgement of TCP.
    pub(crate) const fn is_segment(self) -> bool {
        matches!(self, Self::Data | Self::Ack)
    }
}

/// One flow: two cache lines. Making a frame touches the first alone, sending and delivering it the second.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// First hop of its path, or of the path of priority 0.
    pub(crate) path: u32,
    /// Hops from one priority's path to the next one's; zero where all share one.
    pub(crate) path_hops: u32,
    /// Requester or connection; see [`Meaning`].
    pub(crate) owner: u32,
    /// Sending and (first) receiving host.
    pub(crate) ends: [u32; 2],
    /// Bytes of the reply to a request.
    pub(crate) reply_bytes: u32,
    /// Results class (of priority 0 where `spread`).
    pub(crate) class: u16,
    /// Receivers.
    pub(crate) leaves: u16,
    /// `overhead` once more, for who makes frames.
    pub(crate) made_overhead: u16,
    /// Frames have priorities of their own.
    pub(crate) spread: bool,
    /// Results classes go by priority.
    pub(crate) class_by_priority: bool,
    /// Priority code point where it is fixed.
    pub(crate) pcp: u8,
    pub(crate) offered: Offered,
    pub(crate) delivered: Delivered,
    /// Bytes of a frame that are not payload.
    pub(crate) overhead: u16,
    pub(crate) meaning: Meaning,
}

const _: () = assert!(std::mem::offset_of!(Flow, delivered) == 64 && size_of::<Flow>() == 128);

/// What a flow's sender counted.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Offered {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// Frames lost: they end here.
    pub(crate) dropped_frames: u64,
}

/// What a flow's receiver counted.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Delivered {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) latency_sum_ps: u64,
    pub(crate) latency_min_ps: u64,
    pub(crate) latency_max_ps: u64,
}

impl Delivered {
    pub(crate) const NOTHING: Self = Self {
        frames: 0,
        bytes: 0,
        latency_sum_ps: 0,
        latency_min_ps: u64::MAX,
        latency_max_ps: 0,
    };
}

impl Flow {
    /// What it counted, for the results.
    pub(crate) const fn counters(&self) -> FlowCounters {
        let (offered, delivered) = (&self.offered, &self.delivered);
        FlowCounters {
            offered_frames: offered.frames,
            offered_bytes: offered.bytes,
            delivered_frames: delivered.frames,
            delivered_bytes: delivered.bytes,
            dropped_frames: offered.dropped_frames,
            latency_sum_ps: delivered.latency_sum_ps,
            latency_min_ps: delivered.latency_min_ps,
            latency_max_ps: delivered.latency_max_ps,
        }
    }
}

/// What one flow counted of frames generated after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCounters {
    /// Frames generated.
    pub offered_frames: u64,
    /// L2 bytes generated.
    pub offered_bytes: u64,
    /// Frames that reached the application.
    pub delivered_frames: u64,
    /// L2 bytes that reached the application.
    pub delivered_bytes: u64,
    /// Frames lost.
    pub dropped_frames: u64,
    /// Sum of latencies from generation, picoseconds.
    pub latency_sum_ps: u64,
    /// Least latency from generation, picoseconds; `u64::MAX` where none was delivered.
    pub latency_min_ps: u64,
    /// Largest latency from generation, picoseconds.
    pub latency_max_ps: u64,
}

/// One transmitter on a path: half a cache line, so that a path of two is one.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Hop {
    /// The classifier's answer there, once asked.
    pub(crate) target: Target,
    /// The line it transmits on.
    pub(crate) line: u32,
    /// First of the hops at the far end of that line.
    pub(crate) next: u32,
    /// Hops from this one on at the same node: 1, or more where a multicast tree branches here.
    pub(crate) siblings: u16,
    /// Port of its node.
    pub(crate) port: u16,
}

const _: () = assert!(size_of::<Hop>() == 32);

/// What a new flow is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowSpec<'a> {
    pub(crate) from: u32,
    pub(crate) to: &'a [u32],
    pub(crate) key: FlowKey,
    pub(crate) class: u16,
    pub(crate) meaning: Meaning,
    pub(crate) owner: u32,
    pub(crate) overhead: u16,
    pub(crate) reply_bytes: u32,
    pub(crate) spread: bool,
    pub(crate) workload: u32,
}

/// What a workload's frames carry.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    pub(crate) marks: Marks,
    pub(crate) class: u16,
    /// Receivers of a multicast workload.
    pub(crate) multicast: Vec<u32>,
    /// Bytes of a reply; 0: none.
    pub(crate) reply_bytes: u32,
    /// Messages are written into the far host's memory (iWARP, RoCE).
    pub(crate) remote: bool,
    /// Header fields of replayed frames.
    pub(crate) replayed: Vec<FlowKey>,
    /// Flows made so far.
    pub(crate) flows: u32,
    /// Flows of replayed frames by fields and destination.
    pub(crate) known: HashMap<(FlowKey, Destination), u32>,
}

// Bytes of an Ethernet header and FCS, of a VLAN tag, of an IPv4 header without options, of a UDP header.
const ETHERNET: u32 = 18;
const TAG: u32 = 4;
const IPV4: u32 = 20;
const UDP: u32 = 8;

/// Ports that flows of one workload take.
const PORTS: u32 = 50_000;

impl Carried {
    /// Bytes of a frame before the transport header and after the payload.
    pub(crate) const fn network_bytes(&self) -> u32 {
        let tagged = self.marks.pcp.is_some() || self.marks.vlan_id.is_some() || self.marks.pcp_uniform;
        ETHERNET + if tagged { TAG } else { 0 } + IPV4
    }

    /// The fields of a frame from one host to another (or to a group).
    pub(crate) fn key(&self, workload: u32, from: u32, to: Destination, protocol: u8) -> FlowKey {
        let marks = &self.marks;
        // Ports from 10,000 on tell the flows of a workload apart: the source's, and the destination's where those of
        // the source are used up.
        let (number, turn) = (self.flows % PORTS, self.flows / PORTS);
        let (dst_ip, dst_mac) = match to {
            Destination::Host(host) => (host_ip(host), host_mac(host)),
            Destination::Multicast => (group_ip(workload), group_mac(workload)),
        };
        FlowKey {
            src_ip: host_ip(from),
            dst_ip,
            dst_mac,
            src_mac: host_mac(from),
            ethertype: 0x0800,
            vlan_id: marks.vlan_id.unwrap_or(0),
            pcp: marks.pcp.unwrap_or(0),
            tagged: marks.pcp.is_some() || marks.vlan_id.is_some() || marks.pcp_uniform,
            ip_version: 4,
            dscp: marks.dscp,
            protocol,
            src_port: if marks.src_port == 0 {
                10_000 + number as u16
            } else {
                marks.src_port
            },
            dst_port: if marks.dst_port == 0 && turn == 0 {
                5_000 + (workload % 5_000) as u16
            } else if marks.dst_port == 0 {
                10_000 + ((workload.wrapping_mul(211) % PORTS + turn - 1) % PORTS) as u16
            } else {
                marks.dst_port
            },
        }
    }
}

/// Address of a host: 10.0.0.1 is host 0.
#[must_use]
pub fn host_ip(host: u32) -> u128 {
    u128::from(0x0A00_0001_u32.wrapping_add(host & 0x00FF_FFFF))
}

/// Locally administered address of a host: 02-00-00-00-00-01 is host 0.
#[must_use]
pub fn host_mac(host: u32) -> u64 {
    0x0200_0000_0001 + u64::from(host)
}

/// Group address of a multicast workload: 239.0.0.1 is workload 0.
#[must_use]
pub fn group_ip(workload: u32) -> u128 {
    u128::from(0xEF00_0001_u32 + (workload & 0x00FF_FFFF))
}

/// Group MAC address of a multicast workload (RFC 1112 section 6.4: the low 23 bits of the group address).
#[must_use]
pub fn group_mac(workload: u32) -> u64 {
    0x0100_5E00_0000 | ((u64::from(workload) + 1) & 0x7F_FFFF)
}

impl Context {
    /// Makes a flow; none where a receiver cannot be reached.
    pub(crate) fn make_flow(&mut self, spec: &FlowSpec<'_>) -> Option<u32> {
        let hash = FlowId::of(&spec.key).hash();
        let (path, path_hops) = self.lay_path(spec.from, spec.to, hash, spec.spread)?;
        if spec.meaning != Meaning::Sink {
            for line in self.lines.iter_mut().filter(|line| spec.to.contains(&line.to.0)) {
                line.only_sinks = false;
            }
        }
        let flow = self.flows.len() as u32;
        let classes = self.collector.classes.len();
        self.flows.push(Flow {
            offered: Offered::default(),
            delivered: Delivered::NOTHING,
            path,
            path_hops,
            leaves: u16::try_from(spec.to.len()).unwrap_or(u16::MAX),
            owner: spec.owner,
            ends: [spec.from, spec.to.first().copied().unwrap_or(0)],
            class: spec.class,
            overhead: spec.overhead,
            made_overhead: spec.overhead,
            meaning: spec.meaning,
            reply_bytes: spec.reply_bytes,
            spread: spec.spread,
            class_by_priority: spec.spread && usize::from(spec.class) + 8 <= classes,
            pcp: spec.key.pcp,
        });
        self.keys.push(spec.key);
        self.workload_of.push(spec.workload);
        self.collector.add_flow(spec.workload);
        if let Some(carried) = self.carried.get_mut(spec.workload as usize) {
            carried.flows += 1;
        }
        Some(flow)
    }

    /// The flow of a source's frame: made now, with the flow of its replies where it is to be answered.
    pub(crate) fn flow_of_emission(
        &mut self,
        from: u32,
        workload: u32,
        emission: &Emission,
        requester: u32,
    ) -> Option<u32> {
        let carried = self.carried.get(workload as usize)?;
        let to = match emission.destination {
            Destination::Host(host) => vec![host],
            Destination::Multicast => carried
                .multicast
                .iter()
                .copied()
                .filter(|&host| host != from)
                .collect(),
        };
        let replayed = carried.replayed.get(emission.flow as usize).copied();
        let key = match replayed {
            Some(key) => key,
            None => carried.key(workload, from, emission.destination, UDP_PROTOCOL),
        };
        if let Some(&flow) = carried.known.get(&(key, emission.destination)) {
            return Some(flow);
        }
        let overhead = (carried.network_bytes() + UDP) as u16;
        let reply_bytes = carried.reply_bytes;
        let spread = carried.marks.pcp_uniform && replayed.is_none();
        let class = carried.class;
        let spec = FlowSpec {
            from,
            to: &to,
            key,
            class,
            meaning: Meaning::Sink,
            owner: NIL,
            overhead,
            reply_bytes,
            spread,
            workload,
        };
        let flow = if requester == NIL || reply_bytes == 0 {
            self.make_flow(&spec)?
        } else {
            self.make_call(&spec, requester)?
        };
        if replayed.is_some()
            && let Some(carried) = self.carried.get_mut(workload as usize)
        {
            carried.known.insert((key, emission.destination), flow);
        }
        Some(flow)
    }

    /// Makes a flow of requests and the flow of their replies. Returns the first.
    pub(crate) fn make_call(&mut self, request: &FlowSpec<'_>, requester: u32) -> Option<u32> {
        let &[to] = request.to else { return None };
        let reply = FlowSpec {
            from: to,
            to: &[request.from],
            key: reverse(&request.key),
            meaning: Meaning::Response,
            owner: requester,
            ..*request
        };
        let owner = self.make_flow(&reply)?;
        self.make_flow(&FlowSpec {
            meaning: Meaning::Request,
            owner,
            ..*request
        })
    }

    /// Makes a frame of a flow and counts it as offered.
    #[inline]
    pub(crate) fn make_frame(
        &mut self,
        flow: u32,
        len: u32,
        generated: u64,
        pcp: Option<u8>,
        tag: u32,
    ) -> Option<u32> {
        let f = self.flows.get_mut(flow as usize)?;
        let pcp = pcp.unwrap_or(f.pcp) & 7;
        let hop = f.path + u32::from(pcp) * f.path_hops;
        let class = f.class + if f.class_by_priority { u16::from(pcp) } else { 0 };
        let len = len.max(FRAME_BYTES_MIN);
        if generated >= self.warmup {
            self.collector.offer(f, class, len, 1);
        }
        let (handle, place) = self.frames.place()?;
        *place = Some(Frame {
            generated,
            nic_entry: generated,
            first_bit: generated,
            queued: generated,
            flow,
            hop,
            len,
            charged: 0,
            tag,
            chain: NIL,
            class,
            ingress: 0,
            account: 0,
            pcp,
            ecn: Ecn::NotCapable,
        });
        Some(handle)
    }

    /// Notes a call that was meant to begin at `intended`.
    pub(crate) fn begin_call(&mut self, intended: u64) -> u32 {
        self.calls.insert(intended).unwrap_or(NIL)
    }
}

/// IP protocol numbers.
pub(crate) const UDP_PROTOCOL: u8 = 17;
/// IP protocol number of TCP.
pub(crate) const TCP_PROTOCOL: u8 = 6;

/// The fields of frames that go the other way.
pub(crate) const fn reverse(key: &FlowKey) -> FlowKey {
    FlowKey {
        src_ip: key.dst_ip,
        dst_ip: key.src_ip,
        src_mac: key.dst_mac,
        dst_mac: key.src_mac,
        src_port: key.dst_port,
        dst_port: key.src_port,
        ..*key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_flow_of_a_workload_has_a_key_of_its_own() {
        let mut keys = BTreeSet::new();
        for workload in 0..3 {
            let mut carried = Carried {
                marks: Marks::default(),
                class: 0,
                multicast: Vec::new(),
                reply_bytes: 0,
                replayed: Vec::new(),
                flows: 0,
                remote: false,
                known: HashMap::new(),
            };
            for flow in 0..120_000 {
                carried.flows = flow;
                let key = carried.key(workload, 0, Destination::Host(1), UDP_PROTOCOL);
                assert!(
                    keys.insert((key.src_port, key.dst_port)),
                    "flow {flow} of {workload}"
                );
            }
        }
    }
}
