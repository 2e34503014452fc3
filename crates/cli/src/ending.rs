//! How the command ends: exit codes, and what is said on the way out.
//!
//! Everything a person asked for goes to standard output, everything else to standard error. A reader that closes
//! its end (`clearway run ... | head`) is no failure: the command ends quietly.

use clearway_policy::Diagnostic;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why the command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A check failed; what was found is printed already.
    Check,
    /// An argument or a file that cannot be used.
    Usage(String),
    /// A file with mistakes in it.
    Mistakes(Vec<Diagnostic>),
    /// Something that this machine lacks or does not allow.
    Environment(String),
    /// Interrupted; what was done is kept.
    Interrupted,
    /// Nobody reads the output any more.
    ReaderGone,
}

impl Failure {
    /// A file or folder that could not be written.
    pub(crate) fn unwritable(path: &Path, why: &io::Error) -> Self {
        Self::Environment(format!("cannot write {}: {why}", path.display()))
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Check => 1,
            Self::Usage(_) | Self::Mistakes(_) => 2,
            Self::Environment(_) => 3,
            Self::Interrupted => 130,
            Self::ReaderGone => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) | Self::Environment(why) => writeln!(f, "error: {why}"),
            Self::Mistakes(mistakes) => mistakes.iter().try_for_each(|d| writeln!(f, "{d}")),
            Self::Interrupted => writeln!(f, "interrupted"),
            Self::Check | Self::ReaderGone => Ok(()),
        }
    }
}

/// Says what went wrong, and gives the exit code.
pub(crate) fn end(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::from(failure.code())
        }
    }
}

/// Prints what was asked for.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
        Err(e) => Err(Failure::Environment(format!(
            "cannot write to standard output: {e}"
        ))),
    }
}

/// Says something beside it. Nobody listening is no failure.
pub(crate) fn say(text: &str) {
    let mut err = io::stderr().lock();
    // There is no place left to complain to.
    let _ = err.write_all(text.as_bytes());
}
