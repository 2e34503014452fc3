//! The calls of one run as plain data: what they name is looked up when they are carried out, so that any of them
//! can be left out and the rest still makes sense.

use super::choice::Choice;
use super::plans::KEYS;
use clearway_core::Ecn;

/// Where the caller's clock goes before the call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tick {
    Stay,
    /// The last `Wait`'s instant, plus this.
    Until(i64),
    Plus(u64),
    /// The call alone is given an earlier time.
    Back(u64),
}

/// A frame to the newest target of that key, or to its first one, which may have become stale. A length is taken modulo
/// the longest frame; `u32::MAX` is one byte too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enqueue {
    pub(crate) key: usize,
    pub(crate) old: bool,
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
    /// By `forward`: the frame that is next comes out at once.
    pub(crate) forward: bool,
}

/// What a case is mostly made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// How many of a hundred steps that would take frames out put frames in instead.
    pub(crate) crowded: u64,
    /// How many of a hundred frames go in by `forward`.
    pub(crate) forward: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Classify {
        key: usize,
    },
    Enqueue(Enqueue),
    Dequeue,
    /// Dequeues as a transmitter does: at most `frames`, waiting `gap_ps` after each and at most once for `Wait`.
    Serve {
        frames: u32,
        gap_ps: u64,
    },
    Pause {
        gates: u64,
        for_ps: u64,
    },
    Rebase {
        part: u64,
    },
    /// Shuts all gates for a while and enqueues a short frame of every flow: many queues become ready at once.
    Flood {
        for_ps: u64,
    },
    Change(Alter),
}

/// A change; `node` and the like are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alter {
    Rate { node: usize, seed: u64 },
    FrameRate { node: usize, seed: u64 },
    Guarantee { node: usize, seed: u64 },
    Weight { node: usize, weight: u32 },
    FlowShape { node: usize, seed: u64 },
    Add { parent: usize, seed: u64 },
    Remove { node: usize },
    Move { key: usize, to: usize, wrong: bool },
    Rules { seed: u64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) tick: Tick,
    pub(crate) call: Call,
}

fn tick(c: &mut impl Choice) -> Tick {
    match c.below(100) {
        0..=44 => Tick::Stay,
        45..=54 => Tick::Until(0),
        55..=58 => Tick::Until(-1),
        59..=62 => Tick::Until(1),
        63..=67 => Tick::Plus(c.below(3)),
        68..=86 => Tick::Plus(c.below(2_000_000)),
        87..=93 => Tick::Plus(c.below(300_000_000)),
        94..=95 => Tick::Plus(c.below(5_000_000_000_000)),
        96 => Tick::Plus(c.below(1 << 55)),
        _ => Tick::Back(c.below(10_000_000)),
    }
}

fn alter(c: &mut impl Choice) -> Alter {
    let node = c.below(1 << 20) as usize;
    let seed = c.draw();
    match c.below(40) {
        0..=3 => Alter::Rate { node, seed },
        4..=5 => Alter::FrameRate { node, seed },
        6..=9 => Alter::Guarantee { node, seed },
        10..=12 => Alter::Weight {
            node,
            weight: if c.percent(5) { 0 } else { c.between(1, 20) as u32 },
        },
        13..=15 => Alter::FlowShape { node, seed },
        16..=18 => Alter::Add { parent: node, seed },
        19 => Alter::Remove { node },
        20..=36 => Alter::Move {
            key: c.below(KEYS as u64) as usize,
            to: node,
            wrong: c.percent(5),
        },
        _ => Alter::Rules { seed },
    }
}

pub(crate) fn step(c: &mut impl Choice, mix: Mix) -> Step {
    let mut kind = c.below(100);
    if (55..88).contains(&kind) && c.percent(mix.crowded) {
        kind = 5;
    }
    let call = match kind {
        0..=4 => Call::Classify {
            key: c.below(KEYS as u64) as usize,
        },
        5..=54 => Call::Enqueue(Enqueue {
            key: c.below(KEYS as u64) as usize,
            old: c.percent(4),
            len: match c.below(100) {
                0 => 0,
                1 => u32::MAX,
                2..=39 => 64,
                40..=49 => 1 + c.below(10_000) as u32,
                _ => 1 + c.below(300) as u32,
            },
            ecn: c.of(&[Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked]),
            forward: c.percent(mix.forward),
        }),
        55..=79 => Call::Dequeue,
        80..=87 => Call::Serve {
            frames: c.between(1, 12) as u32,
            gap_ps: c.of(&[0, 0, 51_200, 1_230_400]),
        },
        88..=90 => Call::Pause {
            gates: c.of(&[1, 2, 4, 7, u64::MAX]),
            for_ps: if c.percent(40) { 0 } else { c.below(20_000_000) },
        },
        91 => Call::Rebase { part: c.below(5) },
        92 => Call::Flood {
            for_ps: c.below(3_000_000),
        },
        _ => Call::Change(alter(c)),
    };
    Step { tick: tick(c), call }
}
