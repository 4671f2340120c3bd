//! What do the `io_uring` rings of a process say?
//!
//! The kernel shows the heads and tails of every ring in `/proc/PID/fdinfo/FD` (`io_uring_show_fdinfo` in
//! `io_uring/fdinfo.c`). The tail of the completion queue counts completions, whoever submitted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Times to ask for the state of a ring that is busy, and the pause between; 10 ms in all.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_micros(100);

/// State of one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingState {
    /// Completions so far, modulo 2^32.
    pub(crate) completions: u32,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    pub(crate) polled: bool,
}

/// The rings a process has open, by descriptor.
pub(crate) fn rings(pid: i32) -> BTreeMap<u64, RingState> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut found = BTreeMap::new();
    for entry in entries {
        let is_ring =
            fs::read_link(entry.path()).is_ok_and(|link| link == Path::new("anon_inode:[io_uring]"));
        let descriptor = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let (true, Some(descriptor)) = (is_ring, descriptor)
            && let Some(ring) = ring(pid, descriptor)
        {
            found.insert(descriptor, ring);
        }
    }
    found
}

/// State of the ring behind a descriptor. The kernel leaves it out while the ring is busy submitting (it only tries
/// for the lock), so this asks again.
pub(crate) fn ring(pid: i32, descriptor: u64) -> Option<RingState> {
    let path = format!("/proc/{pid}/fdinfo/{descriptor}");
    for _ in 0..ATTEMPTS {
        let text = fs::read_to_string(&path).ok()?;
        if let Some(ring) = parse(&text) {
            return Some(ring);
        }
        std::thread::sleep(PAUSE);
    }
    None
}

/// Lines are `CqTail:<tab>5`, hexadecimal with `0x` on older kernels; `SqThread:<tab>-1` without polling thread.
fn parse(text: &str) -> Option<RingState> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim())
    };
    let tail = value("CqTail")?;
    let completions = match tail.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => tail.parse().ok()?,
    };
    Some(RingState { completions, polled: value("SqThread").is_some_and(|thread| thread != "-1") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_read_in_either_notation() {
        let text = "pos:\t0\nSqMask:\t0x1f\nSqHead:\t77\nCqTail:\t77\nCachedCqTail:\t78\nSqThread:\t-1\n";
        assert_eq!(parse(text), Some(RingState { completions: 77, polled: false }));
        let text = "CqTail:\t0x4d\nSqThread:\t1234\n";
        assert_eq!(parse(text), Some(RingState { completions: 77, polled: true }));
        assert_eq!(parse("pos:\t0\n"), None);
    }
}
