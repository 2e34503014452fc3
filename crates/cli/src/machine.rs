//! What the machine says: processor time, memory, the width of the terminal. Each may be unknown.

use std::time::Duration;

/// Processor time of this process so far, all threads together.
pub(crate) fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Some(Duration::new(
            u64::try_from(spent.tv_sec).ok()?,
            u32::try_from(spent.tv_nsec).ok()?,
        ))
    }
    #[cfg(not(unix))]
    None
}

/// The most memory that this process ever held, bytes.
pub(crate) fn peak_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Lets the peak start anew from what the process holds now, where the system can do that.
pub(crate) fn forget_peak() {
    // Where it cannot, the peak is that of the whole process: too much, never too little.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Memory that can still be had without swapping, bytes.
pub(crate) fn available_bytes() -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// The value of a line such as `VmHWM:     5120 kB`, in bytes.
fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(field))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Columns of the terminal that `on` is, if it is one.
pub(crate) fn columns(on: &impl std::io::IsTerminal) -> Option<usize> {
    if !on.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    {
        let size = rustix::termios::tcgetwinsize(std::io::stdout())
            .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()));
        if let Ok(size) = size
            && size.ws_col > 0
        {
            return Some(usize::from(size.ws_col));
        }
    }
    Some(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kilobytes() {
        assert_eq!(
            kilobytes("VmPeak:\t 9 kB\nVmHWM:\t    5120 kB\n", "VmHWM:"),
            Some(5120 * 1024)
        );
        assert_eq!(kilobytes("VmHWM:\tmuch\n", "VmHWM:"), None);
        assert_eq!(kilobytes("", "VmHWM:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_time_and_memory() {
        assert!(peak_bytes().is_some_and(|bytes| bytes > 100_000));
        assert!(available_bytes().is_some());
        assert!(processor_time().is_some());
    }
}
