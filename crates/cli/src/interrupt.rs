//! Ctrl-C and termination: the first asks for a clean end, the second ends at once.

use crate::ending::Failure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks everything that runs to stop and keep what is done.
pub(crate) fn on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Failure::Interrupted.code()));
        }
    })
    .map_err(|e| Failure::Environment(format!("cannot listen for Ctrl-C: {e}")))?;
    Ok(stop)
}
