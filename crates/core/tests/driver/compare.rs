//! One run: every call goes to the manager and to the model, and every answer, backlog and counter must agree.

use super::plans::{KEYS, key};
use super::seen::Seen;
use super::steps::{Alter, Call, Enqueue, Step, Tick};
use super::words::{fault_of, tell};
use crate::model::{Changed, Model, ModelChange, ModelTarget, Name};
use clearway_core::plan::Plan;
use clearway_core::{
    Change, Classify, Colour, Dequeue, Duration, Ecn, Egress, FrameHandle, GateSet, Instant, NodeId,
    Reconfigured, RefuseReason, Target, TrafficManager, WaitReason,
};
use std::collections::BTreeMap;

/// Beyond this the caller's clock stands still until a rebase: instants stay below `Instant::LIMIT`.
const CLOCK_MAX_PS: u64 = 1 << 61;

pub(crate) struct Run {
    pub(super) manager: TrafficManager,
    pub(super) model: Model,
    /// Latest time given, on the caller's scale.
    clock: u64,
    until: Option<u64>,
    pub(super) targets: Vec<Vec<(Target, ModelTarget)>>,
    pub(super) nodes: Vec<NodeId>,
    nodes_max: usize,
    pub(super) frame_bytes_max: u32,
    handles: u32,
    /// The frames that the manager holds, as they came in.
    inside: BTreeMap<u32, Ecn>,
    pub(crate) seen: Seen,
    /// What was called and answered, kept where someone will read it.
    pub(crate) trace: Option<Vec<String>>,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, manager: &T, model: &T) -> Result<(), String> {
    if manager == model {
        Ok(())
    } else {
        Err(format!("{what}: manager {manager:?}, model {model:?}"))
    }
}

impl Run {
    pub(crate) fn new(plan: &Plan, keep_trace: bool) -> Result<Self, String> {
        let manager = TrafficManager::new(plan).map_err(|e| format!("a valid plan was refused: {e}"))?;
        let mut run = Self {
            manager,
            model: Model::new(plan),
            clock: 0,
            until: None,
            targets: vec![Vec::new(); KEYS],
            nodes: (0..plan.nodes.len() as u32).map(NodeId::first).collect(),
            nodes_max: plan.nodes_max as usize,
            frame_bytes_max: plan.frame_bytes_max,
            handles: 0,
            inside: BTreeMap::new(),
            seen: Seen::default(),
            trace: keep_trace.then(Vec::new),
        };
        run.seen.plan(plan);
        Ok(run)
    }

    fn say(&mut self, now: u64, what: &dyn Fn() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{now:>20} ps  {}", what()));
        }
    }

    /// Carries out one step.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), String> {
        let now = self.tick(step.tick);
        match &step.call {
            Call::Classify { key } => self.classify(now, *key).map(|_| ())?,
            Call::Enqueue(frame) => self.enqueue(now, *frame)?,
            Call::Dequeue => {
                let _ = self.dequeue(now)?;
            }
            Call::Serve { frames, gap_ps } => self.serve(*frames, *gap_ps)?,
            Call::Pause { gates, for_ps } => self.pause(now, *gates, *for_ps),
            Call::Flood { for_ps } => {
                self.pause(now, u64::MAX, *for_ps);
                for key in 0..KEYS {
                    self.enqueue(
                        now,
                        Enqueue {
                            key,
                            old: false,
                            len: 64,
                            ecn: Ecn::Capable,
                            forward: false,
                        },
                    )?;
                    self.check()?;
                }
            }
            Call::Rebase { part } => {
                let by = (u128::from(self.clock) * u128::from(*part) / 4) as u64;
                self.seen.note("rebase");
                self.manager.rebase(Duration::from_ps(by));
                self.model.rebase(by);
                self.clock -= by;
                self.until = self.until.and_then(|until| until.checked_sub(by));
                self.say(now, &|| format!("rebase by {by}"));
            }
            Call::Change(alter) => self.alter(now, *alter)?,
        }
        self.check()
    }

    fn pause(&mut self, now: u64, gates: u64, for_ps: u64) {
        let until = now.saturating_add(for_ps);
        self.seen.note(if until > self.clock {
            "pause shuts"
        } else {
            "pause opens"
        });
        self.manager
            .pause(Instant::from_ps(now), GateSet(gates), Instant::from_ps(until));
        self.model.pause(now, GateSet(gates), until);
        self.say(now, &|| format!("pause gates {gates:#x} until {until}"));
    }

    fn tick(&mut self, tick: Tick) -> u64 {
        let stopped = self.clock > CLOCK_MAX_PS;
        match tick {
            Tick::Stay => self.seen.note("no time"),
            Tick::Until(after) => {
                let at = self.until.and_then(|until| until.checked_add_signed(after));
                if let Some(at) = at.filter(|&at| at >= self.clock && !stopped) {
                    self.seen.note(match after {
                        0 => "at until",
                        1 => "1 ps after until",
                        _ => "1 ps before until",
                    });
                    self.clock = at;
                }
            }
            Tick::Plus(ps) if !stopped => {
                self.seen.note_if(ps < 3, "tiny step");
                self.seen.note_if(ps > 1 << 50, "huge step");
                self.clock += ps;
            }
            Tick::Plus(_) => {}
            Tick::Back(ps) => {
                self.seen.note("back in time");
                return self.clock.saturating_sub(ps);
            }
        }
        self.clock
    }

    fn classify(&mut self, now: u64, index: usize) -> Result<Option<(Target, ModelTarget)>, String> {
        self.seen.note("classify");
        let forgotten = self.model.forgotten;
        let manager = self.manager.classify(Instant::from_ps(now), &key(index));
        let model = self.model.classify(now, &key(index));
        let told = manager.map(|t| Name::from(t.queue));
        self.say(now, &|| format!("classify key {index}: {told:?}"));
        self.seen
            .note_if(self.model.forgotten > forgotten, "flow forgotten for room");
        same("classify", &told, &model.map(|t| t.queue))?;
        match (manager, model) {
            (Ok(target), Ok(expected)) => {
                self.targets[index].push((target, expected));
                Ok(Some((target, expected)))
            }
            (Err(reason), _) => {
                self.seen.refused(reason);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn enqueue(&mut self, now: u64, frame: Enqueue) -> Result<(), String> {
        let Enqueue {
            key,
            old,
            len,
            ecn,
            forward,
        } = frame;
        let kept = if old {
            self.targets[key].first()
        } else {
            self.targets[key].last()
        };
        let target = match kept {
            Some(&both) => Some(both),
            None => self.classify(now, key)?,
        };
        let Some((target, expected)) = target else {
            return Ok(());
        };
        self.seen.note("enqueue");
        let len = match len {
            0 => 0,
            u32::MAX => self.frame_bytes_max + 1,
            _ => 1 + (len - 1) % self.frame_bytes_max,
        };
        self.handles += 1;
        let handle = FrameHandle(self.handles);
        let held = self.model.backlog(expected.queue).held_frames;
        let at = Instant::from_ps(now);
        let passed = forward.then(|| self.manager.forward(at, target, handle, len, ecn));
        let manager = match passed {
            Some(passed) => passed.map(|_| target.queue),
            None => self.manager.enqueue(at, target, handle, len, ecn),
        };
        let was_empty = self.inside.is_empty();
        let model = self.model.enqueue(now, expected, handle, len, ecn);
        let told = manager.map(Name::from).map_err(|refused| refused.reason);
        let n = self.handles;
        self.say(now, &|| {
            format!("enqueue frame {n} of key {key}, {len} bytes, {ecn:?}: {told:?}")
        });
        same("enqueue", &told, &model)?;
        match manager {
            Ok(_) => {
                self.inside.insert(self.handles, ecn);
                let now_held = self.model.backlog(expected.queue).held_frames;
                self.seen.note_if(now_held > held, "frames held");
            }
            Err(refused) => {
                same("refused handle", &refused.handle, &handle)?;
                self.seen.refused(refused.reason);
                self.seen.note_if(forward, "forward refused");
                use RefuseReason::{QueueGone, StaleTarget};
                if matches!(refused.reason, StaleTarget | QueueGone) && !old {
                    self.classify(now, key)?;
                }
            }
        }
        if let Some(Ok(answer)) = passed {
            let straight = matches!(answer, Dequeue::Frame(_)) && was_empty;
            self.seen.note(if straight {
                "forward through an empty port"
            } else {
                "forward in a busy port"
            });
            self.answered(now, answer)?;
        }
        Ok(())
    }

    fn dequeue(&mut self, now: u64) -> Result<Dequeue, String> {
        self.seen.note("dequeue");
        let answer = self.manager.dequeue(Instant::from_ps(now));
        self.answered(now, answer)?;
        Ok(answer)
    }

    /// Compares an answer of the manager's `dequeue` with the model's.
    fn answered(&mut self, now: u64, answer: Dequeue) -> Result<(), String> {
        let held = self.model.held();
        let draining = self.model.draining();
        self.model.most_joins = 0;
        let model = self.model.dequeue(now);
        let told = tell(answer);
        self.say(now, &|| format!("dequeue: {told:?}"));
        same("dequeue", &told, &model)?;
        self.seen
            .note_if(self.model.most_joins == 16, "16 children joined at one visit");
        self.seen.note(match answer {
            Dequeue::Frame(_) => "answer frame",
            Dequeue::Drop(..) => "answer drop",
            Dequeue::Wait {
                reason: WaitReason::Shaper(_),
                ..
            } => "answer wait for shaper",
            Dequeue::Wait {
                reason: WaitReason::FlowShaper(_),
                ..
            } => "answer wait for flow shaper",
            Dequeue::Wait {
                reason: WaitReason::Gate(_),
                ..
            } => "answer wait for gate",
            Dequeue::Empty => "answer empty",
        });
        match answer {
            Dequeue::Frame(frame) | Dequeue::Drop(frame, _) => {
                let Some(ecn) = self.inside.remove(&frame.handle.0) else {
                    return Err(format!("{:?} left twice or never entered", frame.handle));
                };
                self.seen.note_if(frame.colour == Colour::Yellow, "colour yellow");
                self.seen.note_if(frame.colour == Colour::Red, "colour red");
                self.seen.note_if(self.model.held() < held, "held frames entered");
                self.seen
                    .note_if(frame.ce && ecn == Ecn::Capable, "marked by the queue");
                self.seen
                    .note_if(frame.ce && ecn == Ecn::Marked, "marked by the sender");
                self.seen.note_if(
                    draining.contains(&frame.queue.into()),
                    "frame left a draining queue",
                );
            }
            Dequeue::Wait { until, .. } => self.until = Some(until.as_ps()),
            Dequeue::Empty => {}
        }
        Ok(())
    }

    fn serve(&mut self, frames: u32, gap_ps: u64) -> Result<(), String> {
        let mut may_wait = true;
        for _ in 0..frames {
            match self.dequeue(self.clock)? {
                Dequeue::Frame(_) | Dequeue::Drop(..) => self.clock += gap_ps,
                Dequeue::Wait { until, .. } if may_wait && until.as_ps() < self.clock + (1 << 50) => {
                    may_wait = false;
                    self.clock = until.as_ps();
                }
                _ => return Ok(()),
            }
            self.check()?;
        }
        Ok(())
    }

    fn alter(&mut self, now: u64, alter: Alter) -> Result<(), String> {
        let (change, model_change) = self.change(alter);
        let moved = match &change {
            Change::MoveFlow { flow, .. } => Some(self.model.flow_state(*flow)),
            _ => None,
        };
        let to_shared = match &model_change {
            ModelChange::MoveFlow { to, .. } => self.model.is_shared(*to),
            _ => false,
        };
        let manager = self.manager.reconfigure(Instant::from_ps(now), change.clone());
        let model = self.model.reconfigure(now, &model_change);
        self.say(now, &|| format!("{change:?}: {manager:?}"));
        match (&manager, model) {
            (Ok(done), Ok(expected)) => {
                let told = match *done {
                    Reconfigured::Done => Changed::Done,
                    Reconfigured::Added(id) => Changed::Added(id.into()),
                    Reconfigured::Draining { frames } => Changed::Draining { frames },
                };
                same("reconfigure", &told, &expected)?;
                if let Reconfigured::Added(id) = *done {
                    self.nodes.push(id);
                }
            }
            (Err(error), Err(faults)) => {
                let fault = fault_of(error);
                if !faults.contains(&fault) {
                    return Err(format!("reconfigure: manager {error:?}, model {faults:?}"));
                }
                self.seen.fault(fault);
                return Ok(());
            }
            (manager, model) => return Err(format!("reconfigure: manager {manager:?}, model {model:?}")),
        }
        if let (Some((frames, held, waits)), Change::MoveFlow { from, to, .. }) = (moved, &change)
            && from != to
        {
            self.seen.note_if(frames > 0, "moved with frames");
            self.seen
                .note_if(frames > 0 && to_shared, "moved to a shared queue with frames");
            self.seen.note_if(waits, "moved while older frames wait");
            self.seen.note_if(held > 0, "held frames moved on");
        }
        if let Ok(Reconfigured::Draining { frames }) = manager {
            self.seen.note(if frames > 0 {
                "node drains"
            } else {
                "node gone at once"
            });
        }
        self.seen.note(match alter {
            Alter::Rate { .. } => "change rate",
            Alter::FrameRate { .. } => "change frame rate",
            Alter::Guarantee { .. } => "change guarantee",
            Alter::Weight { .. } => "change weight",
            Alter::FlowShape { .. } => "change flow shape",
            Alter::Add { .. } => "change add",
            Alter::Remove { .. } => "change remove",
            Alter::Move { .. } => "change move",
            Alter::Rules { .. } => "change rules",
        });
        Ok(())
    }

    /// Everything that can be asked without changing anything.
    fn check(&mut self) -> Result<(), String> {
        for &id in &self.nodes {
            let name = Name::from(id);
            let backlog = self.model.backlog(name);
            same("backlog", &self.manager.backlog(id), &backlog).map_err(|e| format!("{name:?} {e}"))?;
            let counters = self.model.counters(name);
            same("counters", &self.manager.counters(id), &counters).map_err(|e| format!("{name:?} {e}"))?;
            if let Some(c) = counters.filter(|_| self.model.is_open(name)) {
                let entered = c.frames_in + c.frames_moved_in;
                let left = c.frames_out + c.frames_dropped + c.frames_moved_out;
                same("frames in and out", &entered, &(left + u64::from(backlog.frames)))?;
            }
        }
        same(
            "frames in the port",
            &(self.manager.frames_queued() as usize),
            &self.inside.len(),
        )?;
        same(
            "flows known",
            &self.manager.flows_known(),
            &self.model.flows_known(),
        )?;
        // Names of nodes long gone need not be asked about for ever.
        if self.nodes.len() > 2 * self.nodes_max + 4 {
            let model = &self.model;
            self.nodes.retain(|&id| model.counters(id.into()).is_some());
        }
        Ok(())
    }
}
