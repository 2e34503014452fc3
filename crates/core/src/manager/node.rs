//! The tree's records: what every node has, what inner nodes have, what leaves have.
//!
//! A node's own record is one cache line and holds what a visit on the way down or up needs; rounds and queues stand
//! in records of their own, hot fields first, so that a path of three levels touches few lines.

use super::flows::Flow;
use super::heap::Waiting;
use super::wheel::Wheel;
use crate::api::{Counters, NodeId};
use crate::meter::Meter;
use crate::plan::{Accounting, MarkAt};
use crate::shaper::{Bucket, Rate};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// An instant that never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Strict,
    Weighted,
    Shared,
    PerFlow,
    /// The slot is free.
    Free,
}

/// Where a child stands in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Waiting,
    /// In the round of children below their guarantee.
    InG,
    /// In the round of the others.
    InX,
}

/// A node of the tree.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Node {
    /// Latest eligible instant of the node's own shapers.
    pub(super) own_at: u64,
    pub(super) deficit: i64,
    pub(super) quantum: i64,
    pub(super) parent: u32,
    /// Neighbours in the parent's round.
    pub(super) next: u32,
    pub(super) prev: u32,
    /// Position in the parent's waiting heap.
    pub(super) heap_at: u32,
    /// Index of the `Inner` or `Leaf` record.
    pub(super) body: u32,
    pub(super) generation: u32,
    pub(super) weight: u32,
    pub(super) accounting: Accounting,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) rank: u8,
    pub(super) flags: u8,
}

impl Node {
    pub(super) const fn free() -> Self {
        Self {
            own_at: 0,
            deficit: 0,
            quantum: 0,
            parent: NONE,
            next: NONE,
            prev: NONE,
            heap_at: NONE,
            body: NONE,
            accounting: Accounting {
                overhead_bytes: 0,
                min_bytes: 0,
            },
            kind: Kind::Free,
            state: State::Idle,
            rank: 0,
            flags: 0,
            weight: 0,
            generation: 0,
        }
    }

    /// The bytes that a frame of `len` counts for. Plan validation keeps the sum below 2^20.
    #[inline]
    pub(super) fn cost(&self, len: u32) -> u32 {
        let sum = i64::from(len) + i64::from(self.accounting.overhead_bytes);
        sum.max(i64::from(self.accounting.min_bytes)) as u32
    }

    const SHAPED: u8 = 1;
    const GUARANTEED: u8 = 2;
    const DRAINING: u8 = 4;
    const FRAME_SHAPED: u8 = 8;

    #[inline]
    pub(super) const fn shaped(&self) -> bool {
        self.flags & Self::SHAPED != 0
    }
    #[inline]
    pub(super) const fn guaranteed(&self) -> bool {
        self.flags & Self::GUARANTEED != 0
    }
    #[inline]
    pub(super) const fn draining(&self) -> bool {
        self.flags & Self::DRAINING != 0
    }
    const fn set(&mut self, flag: u8, on: bool) {
        if on {
            self.flags |= flag
        } else {
            self.flags &= !flag
        }
    }
    /// A shaper of the node counts frames.
    #[inline]
    pub(super) const fn frame_shaped(&self) -> bool {
        self.flags & Self::FRAME_SHAPED != 0
    }
    pub(super) const fn set_shaped(&mut self, shapers: &Shapers) {
        self.set(Self::SHAPED, shapers.bits.is_some() || shapers.frames.is_some());
        self.set(Self::FRAME_SHAPED, shapers.frames.is_some());
    }
    pub(super) const fn set_guaranteed(&mut self, on: bool) {
        self.set(Self::GUARANTEED, on);
    }
    pub(super) const fn set_draining(&mut self) {
        self.set(Self::DRAINING, true);
    }

    #[inline]
    pub(super) const fn is_leaf(&self) -> bool {
        matches!(self.kind, Kind::Shared | Kind::PerFlow)
    }

    /// The name of this node, which stands at `slot`.
    pub(super) const fn id(&self, slot: u32) -> NodeId {
        NodeId::new(slot, self.generation)
    }
}

/// The buckets of a node; most nodes have none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Shapers {
    pub(super) bits: Option<Bucket>,
    pub(super) frames: Option<Bucket>,
    pub(super) guarantee: Option<Bucket>,
}

impl Shapers {
    /// Takes a frame out of both shapers and returns the node's new own instant. `frames`: it has one that counts them.
    #[inline]
    pub(super) fn charge(&mut self, now: u64, cost: u32, frames: bool) -> u64 {
        if frames && let Some(bucket) = &mut self.frames {
            bucket.charge(now, cost);
            if let Some(bits) = &mut self.bits {
                bits.charge(now, cost);
            }
            return self.own_at();
        }
        let Some(bits) = &mut self.bits else { return 0 };
        bits.level.charge_units(&bits.rate, now, cost);
        bits.eligible_at()
    }

    #[inline]
    pub(super) fn own_at(&self) -> u64 {
        let bits = self.bits.as_ref().map_or(0, Bucket::eligible_at);
        let frames = self.frames.as_ref().map_or(0, Bucket::eligible_at);
        bits.max(frames)
    }

    /// When the guarantee is eligible; an absent one never is.
    #[inline]
    pub(super) fn guaranteed_at(&self) -> u64 {
        self.guarantee.as_ref().map_or(NEVER, Bucket::eligible_at)
    }

    pub(super) fn rebase(&mut self, by: u64) {
        for bucket in [&mut self.bits, &mut self.frames, &mut self.guarantee]
            .into_iter()
            .flatten()
        {
            bucket.level.rebase(by);
        }
    }
}

/// Instants at which the gates open.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Gates {
    /// A gate was shut at some time: without one, a look costs no load.
    used: bool,
    opens: [u64; 64],
}

impl Gates {
    pub(super) const OPEN: Self = Self {
        used: false,
        opens: [0; 64],
    };

    /// When a gate opens; 0 is open.
    #[inline]
    pub(super) const fn opens(&self, gate: u8) -> u64 {
        if self.used {
            self.opens[gate as usize & 63]
        } else {
            0
        }
    }

    pub(super) fn all(&mut self) -> &mut [u64; 64] {
        self.used = true;
        &mut self.opens
    }
}

/// Children of one inner node that may be served now: a bit by rank, or a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Strict parents: ranks present.
    pub(super) ranks: u64,
    /// Weighted parents: the child whose turn it is.
    pub(super) head: u32,
    /// Children in the round.
    pub(super) children: u32,
}

impl Round {
    pub(super) const EMPTY: Self = Self {
        ranks: 0,
        head: NONE,
        children: 0,
    };
}

/// What an inner node has besides its `Node`: one cache line that every frame touches, then the rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Inner {
    pub(super) g: Round,
    pub(super) x: Round,
    pub(super) frames_out: u64,
    pub(super) bytes_out: u64,
    /// Strict parents: slot of the child at each rank.
    pub(super) by_rank: Option<Box<[u32; 64]>>,
    pub(super) waiting: Waiting,
    /// Children in no particular order.
    pub(super) children: Vec<u32>,
    pub(super) in_use: bool,
}

impl Inner {
    /// When the earliest child is ready: zero where one is in a round.
    #[inline]
    pub(super) const fn ready_below(&self) -> u64 {
        if self.g.children | self.x.children == 0 {
            self.waiting.earliest()
        } else {
            0
        }
    }
}

/// What a leaf has besides its `Node`: two cache lines that every frame touches, then the rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    /// The shared FIFO.
    pub(super) head: u32,
    pub(super) tail: u32,
    /// Frames that may be served: in the FIFO or in the flows' FIFOs.
    pub(super) frames: u32,
    pub(super) held_frames: u32,
    pub(super) bytes: u64,
    pub(super) held_bytes: u64,
    pub(super) bytes_max: u64,
    pub(super) frames_max: u32,
    pub(super) gate: u8,
    pub(super) drop_red: bool,
    pub(super) mark_at: MarkAt,
    /// `u64::MAX`: never marks.
    pub(super) mark_bytes: u64,
    /// `u64::MAX`: frames do not age.
    pub(super) age_max_ps: u64,
    /// Targets of unknown flows with an older stamp are stale.
    pub(super) stamp: u64,
    pub(super) meter: Option<Box<Meter>>,
    /// Flows with frames, by instant.
    pub(super) wheel: Option<Box<Wheel>>,
    pub(super) flow_frames_max: u32,
    pub(super) counters: Counters,
    pub(super) flow_rate: Option<Rate>,
}

impl Leaf {
    /// When something in the queue is ready, its own shapers apart (rule 8).
    #[inline]
    pub(super) fn ready_below(&self, gates: &Gates, flows: &[Flow]) -> u64 {
        if self.frames == 0 {
            return NEVER;
        }
        let gate = gates.opens(self.gate);
        self.wheel.as_ref().map_or(gate, |w| w.earliest(flows).max(gate))
    }

    /// Bytes queued and held.
    #[inline]
    pub(super) const fn backlog_bytes(&self) -> u64 {
        self.bytes + self.held_bytes
    }
    /// Frames queued and held.
    #[inline]
    pub(super) const fn backlog_frames(&self) -> u32 {
        self.frames + self.held_frames
    }
}
