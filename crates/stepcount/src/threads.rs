//! Which thread of a program does the work?
//!
//! A load generator may fork (fio makes one process per job, each in its own session), so the family of a process is
//! found by parent links, and its busiest thread by CPU time over a short window.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::{counters, sys};

const PAGE: u64 = 4096;

/// A process as `/proc/PID/stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    /// Start time in clock ticks since boot; together with the id it names a process for ever.
    pub(crate) started: u64,
}

/// A thread, and what it did in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thread {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
    pub(crate) name: String,
    /// CPU time it used.
    pub(crate) cpu_ns: u64,
    /// Calls that read, and pages read at the block layer, where the kernel tells.
    pub(crate) reads: u64,
    /// Calls that write.
    pub(crate) writes: u64,
}

/// Name and the numbered fields of a stat line, the first being the state (field 3 of proc(5)). The name may hold
/// blanks and parentheses, so it ends at the last closing one.
pub(crate) fn split_stat(line: &str) -> Option<(String, Vec<&str>)> {
    let open = line.find('(')?;
    let close = line.rfind(')')?;
    let name = line.get(open + 1..close)?.to_owned();
    Some((name, line.get(close + 1..)?.split_whitespace().collect()))
}

/// Field `number` of proc(5), counted from 1 there.
pub(crate) fn stat_field(fields: &[&str], number: usize) -> Option<u64> {
    fields.get(number.checked_sub(3)?)?.parse().ok()
}

fn process(pid: i32) -> Option<Process> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = split_stat(&line)?;
    let parent = i32::try_from(stat_field(&fields, 4)?).ok()?;
    Some(Process { pid, parent, started: stat_field(&fields, 22)? })
}

/// Numeric names in a directory of /proc.
fn numbers(directory: &Path) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// `root` and all its descendants that live.
pub(crate) fn family(root: i32) -> Vec<Process> {
    let all: Vec<Process> = numbers(Path::new("/proc")).into_iter().filter_map(process).collect();
    descendants(root, &all)
}

fn descendants(root: i32, all: &[Process]) -> Vec<Process> {
    let mut ids = BTreeSet::from([root]);
    loop {
        let before = ids.len();
        ids.extend(
            all.iter().filter(|process| ids.contains(&process.parent)).map(|p| p.pid).collect::<Vec<_>>(),
        );
        if ids.len() == before {
            return all.iter().filter(|process| ids.contains(&process.pid)).copied().collect();
        }
    }
}

/// True while the process that was seen is still there, and not another one with its number.
pub(crate) fn lives(seen: Process) -> bool {
    process(seen.pid).is_some_and(|now| now.started == seen.started) && !is_zombie(seen.pid)
}

fn is_zombie(pid: i32) -> bool {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    split_stat(&line).is_none_or(|(_, fields)| matches!(fields.first(), Some(&"Z" | &"X")))
}

/// CPU time of one thread in ns: from schedstat, exact, else from stat, in clock ticks.
pub(crate) fn cpu_ns(pid: i32, tid: i32) -> Option<u64> {
    let exact = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok();
    if let Some(ns) = exact.as_deref().and_then(|line| line.split(' ').next()?.parse().ok()) {
        return Some(ns);
    }
    let line = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let (_, fields) = split_stat(&line)?;
    let ticks = stat_field(&fields, 14)? + stat_field(&fields, 15)?;
    Some(ticks * (1_000_000_000 / sys::clock_ticks_per_second()))
}

/// The CPU a thread ran on last.
pub(crate) fn last_cpu(pid: i32, tid: i32) -> Option<usize> {
    let line = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let (_, fields) = split_stat(&line)?;
    usize::try_from(stat_field(&fields, 39)?).ok()
}

fn threads(processes: &[Process]) -> Vec<Thread> {
    let mut found = Vec::new();
    for &Process { pid, .. } in processes {
        for tid in numbers(Path::new(&format!("/proc/{pid}/task"))) {
            let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
            // Workers and pollers that io_uring makes inside the process are the kernel's; they have no user code.
            if name.starts_with("iou-") {
                continue;
            }
            if let Some(cpu_ns) = cpu_ns(pid, tid) {
                let io = counters::counters(pid, tid, "io");
                let reads = counters::sum(&io, &["syscr"]) + counters::sum(&io, &["read_bytes"]) / PAGE;
                let writes = counters::sum(&io, &["syscw"]);
                found.push(Thread { pid, tid, name: name.trim_end().to_owned(), cpu_ns, reads, writes });
            }
        }
    }
    found
}

/// The threads of a family that used CPU time within `window`, busiest first.
pub(crate) fn busiest(root: i32, window: Duration) -> Vec<Thread> {
    let before = threads(&family(root));
    std::thread::sleep(window);
    let mut after = threads(&family(root));
    for thread in &mut after {
        let earlier = before.iter().find(|seen| seen.tid == thread.tid && seen.pid == thread.pid);
        let Some(earlier) = earlier else { continue };
        thread.cpu_ns = thread.cpu_ns.saturating_sub(earlier.cpu_ns);
        thread.reads = thread.reads.saturating_sub(earlier.reads);
        thread.writes = thread.writes.saturating_sub(earlier.writes);
    }
    after.retain(|thread| thread.cpu_ns > 0);
    after.sort_by_key(|thread| std::cmp::Reverse(thread.cpu_ns));
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_blanks_and_parentheses_is_one_field() {
        let (name, fields) = split_stat("7 (a (b) c) S 1 7 7 0").unwrap();
        assert_eq!((name.as_str(), fields[0]), ("a (b) c", "S"));
        assert_eq!(stat_field(&fields, 4), Some(1));
    }

    #[test]
    fn grandchildren_belong_to_the_family_and_strangers_do_not() {
        let link = |pid, parent| Process { pid, parent, started: 0 };
        let all = [link(9, 5), link(5, 2), link(2, 1), link(3, 1), link(1, 0)];
        let ids: Vec<i32> = descendants(2, &all).iter().map(|process| process.pid).collect();
        assert_eq!(ids, [9, 5, 2]);
    }

    #[test]
    fn this_process_lives_and_is_its_own_family() {
        let own = i32::try_from(std::process::id()).unwrap();
        let family = family(own);
        let me = family.iter().find(|process| process.pid == own).unwrap();
        assert!(lives(*me));
        assert!(!lives(Process { started: me.started + 1, ..*me }));
    }
}
