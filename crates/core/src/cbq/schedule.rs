//! Who goes next: rounds by priority, the estimator's verdict, borrowing by top-level link sharing, and the timer.
//!
//! Floyd and Jacobson (1995), section on approximations to the formal guidelines: a class over its limit borrows from
//! its nearest ancestor that is under its own, and never from one above `toplevel`, which follows the lowest class that
//! has frames and is under its limit. Where nobody may send by these rules the link itself is forgiven and the search
//! made once more without a top level: the discipline gives the link no reason to stand idle but a bounded class.

use super::{Cbq, FrameDesc, LEVELS_MAX, NEVER, NONE, PRIORITIES, Sent};
use crate::api::{Dequeue, NodeId, WaitReason};
use crate::time::Instant;

/// What a visit to a class of a round found.
enum Visit {
    /// A frame, and whose rate it is sent on.
    Frame(FrameDesc, u32),
    /// Its turn is over for this round.
    Spent,
    /// It may not send now.
    Held,
    /// Its queue is empty.
    Idle,
}

impl Cbq {
    /// The answer while nothing can leave.
    pub(super) const fn waiting(&self) -> Dequeue {
        Dequeue::Wait {
            until: Instant::from_ps(self.asleep_until.saturating_sub(super::BIAS)),
            reason: self.reason,
        }
    }

    /// A frame entered a leaf: its class joins the round, and what is under its limit lowers the top level.
    pub(super) fn entered(&mut self, now: u64, slot: u32) {
        let class = &self.classes[slot as usize];
        if class.next == NONE {
            let last = self.active.get_mut(usize::from(class.priority));
            if let Some(last) = last {
                let before = core::mem::replace(last, slot);
                let next = if before == NONE {
                    slot
                } else {
                    core::mem::replace(&mut self.classes[before as usize].next, slot)
                };
                self.classes[slot as usize].next = next;
            }
        }
        // A class that waits for its bucket wants nothing now.
        let leaf = self.classes[slot as usize].leaf;
        if leaf.and_then(|l| l.bucket).is_some_and(|b| b.is_short()) {
            return;
        }
        // The clock stays ahead of the real one by the work that is under way.
        let ahead = self.time + now.saturating_sub(self.real);
        let mut at = slot;
        while let Some(class) = self.classes.get(at as usize).filter(|c| c.level < self.toplevel) {
            if class.estimator.undertime < ahead {
                self.toplevel = class.level;
                return;
            }
            at = class.borrow;
        }
    }

    /// The next frame at `now`; none: `asleep_until` and `reason` say for how long.
    pub(super) fn serve(&mut self, now: u64) -> Option<FrameDesc> {
        self.advance(now - (now - self.phase) % self.resolution);
        loop {
            (self.timer, self.gate_opens) = (NEVER, NEVER);
            for priority in 0..PRIORITIES {
                if let Some(desc) = self.serve_priority(priority) {
                    return Some(desc);
                }
            }
            let link = &mut self.classes[0].estimator;
            if self.toplevel == LEVELS_MAX && link.undertime == 0 {
                break;
            }
            self.toplevel = LEVELS_MAX;
            link.undertime = 0;
        }
        self.sleep(now);
        None
    }

    /// Brings the clocks to `now`: the work of the frame that left comes first, and counts where it is more.
    fn advance(&mut self, now: u64) {
        let mut passed = now.saturating_sub(self.real);
        self.real = self.real.max(now);
        if let Some(sent) = self.sent.take() {
            let work = self.classes[0].estimator.table.time(sent.cost);
            self.time += work;
            self.account(&sent);
            passed = passed.saturating_sub(work);
        }
        self.time += passed;
    }

    /// Tells the estimators of a class and of those above it what left, and lets the top level follow.
    fn account(&mut self, sent: &Sent) {
        let link = self.classes[0].estimator.table.time(sent.cost);
        let mut at = sent.class;
        while let Some(class) = self.classes.get_mut(at as usize) {
            let own = class.estimator.table.time(sent.cost);
            class.estimator.sent(self.time, own, link);
            at = class.share;
        }
        let waiting = self.classes[sent.class as usize]
            .leaf
            .is_some_and(|l| l.frames > 1);
        let mut at = sent.lender;
        if !waiting
            || self
                .classes
                .get(at as usize)
                .is_none_or(|c| c.level > self.toplevel)
        {
            return;
        }
        while let Some(class) = self.classes.get(at as usize) {
            if class.estimator.undertime == 0 {
                self.toplevel = class.level;
                return;
            }
            at = class.borrow;
        }
    }

    /// Rounds over the classes of one priority until one sends or none may.
    fn serve_priority(&mut self, priority: u8) -> Option<FrameDesc> {
        loop {
            let last = self.active[usize::from(priority)];
            if last == NONE {
                return None;
            }
            let (mut again, mut before) = (false, last);
            loop {
                let at = self.classes[before as usize].next;
                match self.visit(at) {
                    Visit::Frame(desc, lender) => {
                        self.sending(at, lender, &desc);
                        return Some(desc);
                    }
                    Visit::Spent => again = true,
                    Visit::Held => {}
                    Visit::Idle => {
                        let next = core::mem::replace(&mut self.classes[at as usize].next, NONE);
                        if at == before {
                            self.active[usize::from(priority)] = NONE;
                            return None;
                        }
                        self.classes[before as usize].next = next;
                        if at == last {
                            self.active[usize::from(priority)] = before;
                            break;
                        }
                        continue;
                    }
                }
                before = at;
                if at == last {
                    break;
                }
            }
            if !again {
                return None;
            }
        }
    }

    fn visit(&mut self, at: u32) -> Visit {
        let class = &self.classes[at as usize];
        let Some(leaf) = class.leaf.filter(|l| l.frames > 0) else {
            return Visit::Idle;
        };
        let opens = self.opens.get(usize::from(leaf.gate)).copied().unwrap_or(0);
        if opens > self.seen {
            if opens < self.gate_opens {
                self.gate_opens = opens;
                self.reason = WaitReason::Gate(NodeId::first(at));
            }
            return Visit::Held;
        }
        let Some(lender) = self.lender(at) else {
            return Visit::Held;
        };
        let class = &mut self.classes[at as usize];
        if class.deficit <= 0 {
            class.deficit += class.quantum;
            return Visit::Spent;
        }
        let head = self.frames.get(leaf.head as usize).map_or(0, |f| f.len);
        let cost = class.accounting.cost(head);
        let bucket = class.leaf.as_mut().and_then(|l| l.bucket.as_mut());
        if let Some(Err(wait)) = bucket.map(|b| b.take(self.real, cost)) {
            self.timer_in(wait, at);
            return Visit::Held;
        }
        self.pull(at)
            .map_or(Visit::Idle, |desc| Visit::Frame(desc, lender))
    }

    /// What follows from a frame being chosen.
    fn sending(&mut self, at: u32, lender: u32, desc: &FrameDesc) {
        let class = &mut self.classes[at as usize];
        class.borrowed += u64::from(lender != at);
        class.deficit -= i64::from(desc.len);
        let (cost, priority) = (class.accounting.cost(desc.len), usize::from(class.priority));
        if class.deficit <= 0 {
            // The turn passes on, and the next class begins with a new share.
            let next = class.next;
            self.active[priority] = at;
            if let Some(next) = self.classes.get_mut(next as usize) {
                next.deficit += next.quantum;
            }
        }
        self.sent = Some(Sent {
            class: at,
            lender,
            cost,
        });
        let mut above = at;
        while let Some(class) = self.classes.get_mut(above as usize) {
            class.counters.frames_out += 1;
            class.counters.bytes_out += u64::from(desc.len);
            above = class.parent;
        }
    }

    /// On whose rate a class may send: its own, or that of an ancestor it may borrow from. None: it was delayed.
    fn lender(&mut self, slot: u32) -> Option<u32> {
        let mut at = slot;
        loop {
            let class = self.classes.get(at as usize)?;
            if at == 0 || class.estimator.is_under(self.time) {
                self.classes[at as usize].estimator.delayed = false;
                return Some(at);
            }
            if class.borrow == NONE {
                self.delay(slot);
                return None;
            }
            at = class.borrow;
            if self
                .classes
                .get(at as usize)
                .is_none_or(|c| c.level > self.toplevel)
            {
                return None;
            }
            // The link is over its limit like any other lender.
            if at == 0 && !self.classes[0].estimator.is_under(self.time) {
                self.delay(slot);
                return None;
            }
        }
    }

    /// The delay action, and its timer: an ancestor that could lend sooner makes it sooner.
    fn delay(&mut self, slot: u32) {
        let class = &mut self.classes[slot as usize];
        class.delays += u64::from(!class.estimator.delayed);
        let mut wait = class.estimator.delay(self.time);
        let mut at = class.borrow;
        while let Some(class) = self.classes.get(at as usize) {
            wait = wait.min(class.estimator.undertime.saturating_sub(self.time).max(1));
            at = class.borrow;
        }
        self.timer_in(wait, slot);
    }

    fn timer_in(&mut self, wait: u64, slot: u32) {
        if wait < self.timer {
            self.timer = wait;
            if self.gate_opens == NEVER {
                self.reason = WaitReason::Shaper(NodeId::first(slot));
            }
        }
    }

    /// Sets the instant of the next look: a timer runs out at the tick that is its whole number of ticks, at least
    /// one, after the last; a gate opens when it opens.
    fn sleep(&mut self, now: u64) {
        let tick = self.tick;
        let last = now - (now - self.phase) % tick;
        let ticks = self.timer.div_ceil(tick).max(1);
        let timer = if self.timer == NEVER && self.gate_opens != NEVER {
            NEVER
        } else {
            last.saturating_add(ticks.saturating_mul(tick))
        };
        self.asleep_until = timer.min(self.gate_opens);
        if timer <= self.gate_opens && matches!(self.reason, WaitReason::Gate(_)) {
            self.reason = WaitReason::Shaper(NodeId::first(0));
        }
    }
}
