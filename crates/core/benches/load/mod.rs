//! The loads that both benches measure: one step is a frame in and a frame out (with the look-up of its flow where
//! the load says so), in a steady state in which every queue stays busy. Counters are always on.

use clearway_core::plan::{
    Accounting, BitShape, FlowShape, NodeKind, NodePlan, Plan, QueueMode, QueuePlan, Rule, RuleMatch,
};
use clearway_core::{
    Classify, Dequeue, Ecn, Egress, FlowKey, FrameHandle, Instant, RefuseReason, Target, TrafficManager,
};

/// Bytes of the longest frame.
const LONGEST: u32 = 1_522;
/// Lengths that frames take in turn; a prime number of them, so that no queue always gets the same.
const LENGTHS: [u32; 7] = [64, 1_522, 576, 128, 1_024, 300, 1_400];

/// Names of the loads and what a step of each may take, in nanoseconds.
pub(crate) const LOADS: [(&str, u32); 4] = [
    ("baseline", 0),
    ("64 queues, 3 levels", 40),
    ("4096 queues, 3 levels", 50),
    ("50000 shaped flows, look-up", 100),
];

/// One load in its steady state.
pub(crate) struct Load {
    manager: Option<TrafficManager>,
    targets: Vec<Target>,
    /// Keys by frame handle where each frame is looked up.
    keys: Vec<FlowKey>,
    now_ps: u64,
    step_ps: u64,
    steps: u64,
    /// What came out, so that nothing of the work can be left out.
    pub(crate) sum: u64,
}

fn node(parent: Option<u32>, kind: NodeKind, rate_bps: u64) -> NodePlan {
    NodePlan {
        parent,
        kind,
        rank: 0,
        weight: 1 + parent.unwrap_or(0) % 3,
        rate: (rate_bps > 0).then_some(BitShape {
            rate_bps,
            burst_bytes: 64 * 1_024,
        }),
        frame_rate: None,
        guarantee: None,
        accounting: Accounting {
            overhead_bytes: 20,
            min_bytes: 84,
        },
    }
}

fn queue(mode: QueueMode) -> NodeKind {
    NodeKind::Queue(QueuePlan {
        mode,
        bytes_max: 1 << 30,
        frames_max: 1 << 20,
        mark: None,
        gate: 0,
        meter: None,
        age_max: None,
    })
}

/// `groups` weighted nodes below a shaped weighted root, each with as many queues; the rule of a queue is an EtherType.
fn tree(groups: u32, queues: u32) -> Plan {
    let mut nodes = vec![node(None, NodeKind::Weighted, 400_000_000_000)];
    let mut rules = Vec::new();
    for _ in 0..groups {
        let group = nodes.len() as u32;
        nodes.push(node(Some(0), NodeKind::Weighted, 0));
        for _ in 0..queues {
            let ethertype = Some(rules.len() as u16);
            rules.push(Rule {
                matches: RuleMatch {
                    ethertype,
                    ..RuleMatch::default()
                },
                queue: nodes.len() as u32,
            });
            nodes.push(node(Some(group), queue(QueueMode::Shared), 0));
        }
    }
    let nodes_max = nodes.len() as u32;
    Plan {
        nodes,
        rules,
        frames_max: 1 << 14,
        flows_max: 0,
        nodes_max,
        frame_bytes_max: LONGEST,
    }
}

impl Load {
    pub(crate) fn new(index: usize) -> Self {
        match index {
            0 => Self {
                manager: None,
                targets: Vec::new(),
                keys: Vec::new(),
                now_ps: 0,
                step_ps: 30_000,
                steps: 0,
                sum: 0,
            },
            1 => Self::of_queues(8, 8),
            2 => Self::of_queues(64, 64),
            _ => Self::of_flows(50_000),
        }
    }

    /// Two frames in every queue; each frame that leaves is replaced by one in the same queue.
    fn of_queues(groups: u32, queues: u32) -> Self {
        let mut manager = TrafficManager::new(&tree(groups, queues)).expect("valid");
        let mut targets = Vec::new();
        for queue in 0..groups * queues {
            let key = FlowKey {
                ethertype: queue as u16,
                ..FlowKey::default()
            };
            let target = manager.classify(Instant::ZERO, &key).expect("a rule a queue");
            targets.push(target);
            for _ in 0..2 {
                manager
                    .enqueue(Instant::ZERO, target, FrameHandle(queue), 576, Ecn::NotCapable)
                    .expect("room");
            }
        }
        // A step is longer than the mean frame takes at the root's rate: the root is always eligible.
        Self {
            manager: Some(manager),
            targets,
            keys: Vec::new(),
            now_ps: 0,
            step_ps: 40_000,
            steps: 0,
            sum: 0,
        }
    }

    /// One frame of every flow; each flow's next enters when the one before has left, at its shaper's pace.
    fn of_flows(flows: u32) -> Self {
        let burst_bytes = u64::from(LONGEST) + 20;
        let shape = Some(FlowShape::Bits(BitShape {
            rate_bps: 200_000,
            burst_bytes,
        }));
        let kind = queue(QueueMode::PerFlow {
            shape,
            flow_frames_max: 16,
        });
        let plan = Plan {
            nodes: vec![node(None, kind, 0)],
            rules: vec![Rule {
                matches: RuleMatch::default(),
                queue: 0,
            }],
            frames_max: 1 << 17,
            flows_max: flows,
            nodes_max: 1,
            frame_bytes_max: LONGEST,
        };
        let mut manager = TrafficManager::new(&plan).expect("valid");
        // A mean frame of 736 bytes at 200 kb/s takes 29.4 ms; flows are spread over that time.
        let step_ps = 29_440_000_000 / u64::from(flows);
        let key = |flow: u32| FlowKey {
            src_ip: 0x0A00_0000 + u128::from(flow.wrapping_mul(2_654_435_761) >> 8),
            dst_ip: 0x0A01_0000 + u128::from(flow),
            ip_version: 4,
            protocol: 6,
            src_port: flow as u16,
            dst_port: 443,
            ..FlowKey::default()
        };
        let keys: Vec<FlowKey> = (0..flows).map(key).collect();
        let mut now_ps = 0;
        for (handle, key) in (0..).zip(&keys) {
            let at = Instant::from_ps(now_ps);
            let target = manager.classify(at, key).expect("room");
            for _ in 0..2 {
                manager
                    .enqueue(at, target, FrameHandle(handle), 736, Ecn::NotCapable)
                    .expect("room");
            }
            let _ = manager.dequeue(at);
            now_ps += step_ps;
        }
        Self {
            manager: Some(manager),
            targets: Vec::new(),
            keys,
            now_ps,
            step_ps,
            steps: 0,
            sum: 0,
        }
    }

    /// One frame out, and one of the same queue or flow in.
    #[inline]
    pub(crate) fn step(&mut self) {
        self.now_ps += self.step_ps;
        self.steps += 1;
        let len = LENGTHS[(self.steps % 7) as usize];
        let now = Instant::from_ps(self.now_ps);
        let Some(manager) = &mut self.manager else {
            self.sum = self
                .sum
                .wrapping_add(std::hint::black_box(u64::from(len) ^ now.as_ps()));
            return;
        };
        match manager.dequeue(now) {
            Dequeue::Frame(frame) => {
                self.sum += u64::from(frame.len);
                let handle = frame.handle;
                let target: Result<Target, RefuseReason> = match self.keys.get(handle.0 as usize) {
                    Some(key) => manager.classify(now, key),
                    None => Ok(self.targets[handle.0 as usize]),
                };
                let entered = target.map(|to| manager.enqueue(now, to, handle, len, Ecn::NotCapable).is_ok());
                self.sum += u64::from(entered == Ok(true));
            }
            // Flows of unequal frames are not evenly spread: now and then none is due, and time goes on to the first.
            Dequeue::Wait { until, .. } => self.now_ps = until.as_ps(),
            Dequeue::Drop(..) | Dequeue::Empty => panic!("a busy port"),
        }
    }

    /// How many of the steps so far had a frame to send.
    pub(crate) fn passed(&self) -> u64 {
        self.steps
    }
}
