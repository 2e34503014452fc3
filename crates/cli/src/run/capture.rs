//! The frames of captured ports as `capture.pcapng`: one interface a port, headers of each frame. First seed alone.

use crate::ending::Failure;
use crate::folder::{Folder, Part};
use clearway_experiment::headers;
use clearway_policy::scenario::{NodeRef, Scenario};
use clearway_report::pcapng::{InterfaceId, PcapngWriter, Resolution};
use clearway_sim::results::CaptureRecord;
use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::sync::{Mutex, PoisonError};

const FILE: &str = "capture.pcapng";

/// A capture that is being written.
#[derive(Debug)]
pub(crate) struct Capture {
    seed: u64,
    part: Part,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    writer: PcapngWriter<BufWriter<std::fs::File>>,
    /// By index of the line.
    interfaces: BTreeMap<u32, InterfaceId>,
    /// The first thing that went wrong; nothing is written after it.
    problem: Option<io::Error>,
}

impl Capture {
    /// Begins the file, if the scenario captures anything.
    pub(super) fn open(folder: &Folder, scenario: &Scenario, seed: u64) -> Result<Option<Self>, Failure> {
        let ends = scenario
            .links
            .iter()
            .flat_map(|link| link.ends.iter().map(move |end| (link, end)));
        let captured: Vec<_> = (0u32..).zip(ends).filter(|(_, (_, end))| end.capture).collect();
        if captured.is_empty() {
            return Ok(None);
        }
        let (part, file) = folder.begin(FILE)?;
        let written = || -> io::Result<State> {
            let mut writer = PcapngWriter::new(BufWriter::new(file), Resolution::Picosecond)?;
            let mut interfaces = BTreeMap::new();
            for (line, (link, end)) in captured {
                let node = match end.node {
                    NodeRef::Host(h) => scenario.hosts.get(h).map(|h| h.name.as_str()),
                    NodeRef::Switch(s) => scenario.switches.get(s).map(|s| s.name.as_str()),
                };
                let name = format!("{}@{}", node.unwrap_or(""), link.name);
                let snap = u32::try_from(headers::HEADERS_MAX).unwrap_or(0);
                interfaces.insert(line, writer.interface(&name, link.rate_bps, snap)?);
            }
            Ok(State {
                writer,
                interfaces,
                problem: None,
            })
        };
        let state = written().map_err(|e| Failure::unwritable(part.place(), &e))?;
        Ok(Some(Self {
            seed,
            part,
            state: Mutex::new(state),
        }))
    }

    /// Writes frames of one seed's run.
    pub(super) fn take(&self, seed: u64, records: &[CaptureRecord]) {
        if seed != self.seed {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            if state.problem.is_some() {
                return;
            }
            let Some(interface) = state.interfaces.get(&record.line).copied() else {
                continue;
            };
            let bytes = headers::of(&record.key, record.bytes, record.marked);
            // Captures leave the frame check sequence out.
            let length = record.bytes.saturating_sub(4);
            state.problem = state
                .writer
                .packet(interface, record.at.as_ps(), length, &bytes)
                .err();
        }
    }

    /// Ends the file and puts it in its place.
    pub(super) fn close(self) -> Result<(), Failure> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = state.problem {
            return Err(Failure::unwritable(self.part.place(), &problem));
        }
        state
            .writer
            .finish()
            .map_err(|e| Failure::unwritable(self.part.place(), &e))?;
        self.part.finish()
    }
}
