//! What does the kernel count of a thread?

use std::fs;

/// Sum of the values of `key: value` lines.
pub(crate) fn sum(text: &str, keys: &[&str]) -> u64 {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(key, _)| keys.contains(key))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

pub(crate) fn file(pid: i32, tid: i32, name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).ok()
}

/// The lines of a file of counters; none where the kernel does not tell.
pub(crate) fn counters(pid: i32, tid: i32, name: &str) -> String {
    file(pid, tid, name).unwrap_or_default()
}

/// Bytes that a thread has moved at the block layer; `None` where the kernel does not count or tell them.
pub(crate) fn thread_bytes(pid: i32, tid: i32) -> Option<u64> {
    Some(sum(&file(pid, tid, "io")?, &["read_bytes", "write_bytes"]))
}
