//! Which thread of a program does the work?
//!
//! A load generator may fork (fio makes one process per job, each in its own session), so the family of a process is
//! found by parent links, and its busiest thread by CPU time over a short window.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostack_host::TaskStat;
use iostack_host::counters::task_time;

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

fn process(pid: i32) -> Option<Process> {
    let stat = TaskStat::of_task(&folder(pid))?;
    Some(Process { pid, parent: i32::try_from(stat.field(4)?).ok()?, started: stat.start()? })
}

fn folder(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn folder_of_thread(pid: i32, tid: i32) -> PathBuf {
    folder(pid).join(format!("task/{tid}"))
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
    TaskStat::of_task(&folder(seen.pid))
        .is_some_and(|now| now.start() == Some(seen.started) && !now.is_dead())
}

/// CPU time of one thread in ns.
pub(crate) fn cpu_ns(pid: i32, tid: i32) -> Option<u64> {
    task_time(&folder_of_thread(pid, tid)).map(|(_, cpu)| cpu.0)
}

/// The CPU a thread ran on last.
pub(crate) fn last_cpu(pid: i32, tid: i32) -> Option<u32> {
    u32::try_from(TaskStat::of_task(&folder_of_thread(pid, tid))?.field(39)?).ok()
}

fn threads(processes: &[Process]) -> Vec<Thread> {
    let mut found = Vec::new();
    for &Process { pid, .. } in processes {
        for tid in numbers(&folder(pid).join("task")) {
            let name = fs::read_to_string(folder_of_thread(pid, tid).join("comm")).unwrap_or_default();
            // Workers and pollers that io_uring makes inside the process are the kernel's; they have no user code.
            if name.starts_with("iou-") {
                continue;
            }
            if let Some(cpu_ns) = cpu_ns(pid, tid) {
                let io = counters(pid, tid, "io");
                let reads = sum(&io, &["syscr"]) + sum(&io, &["read_bytes"]) / PAGE;
                let writes = sum(&io, &["syscw"]);
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

/// Sum of the values of `key: value` lines.
pub(crate) fn sum(text: &str, keys: &[&str]) -> u64 {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(key, _)| keys.contains(key))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

pub(crate) fn file(pid: i32, tid: i32, name: &str) -> Option<String> {
    fs::read_to_string(folder_of_thread(pid, tid).join(name)).ok()
}

/// The lines of a file of counters; none where the kernel does not tell.
pub(crate) fn counters(pid: i32, tid: i32, name: &str) -> String {
    file(pid, tid, name).unwrap_or_default()
}

/// Bytes that a thread has moved at the block layer; `None` where the kernel does not count or tell them.
pub(crate) fn thread_bytes(pid: i32, tid: i32) -> Option<u64> {
    Some(sum(&file(pid, tid, "io")?, &["read_bytes", "write_bytes"]))
}

#[cfg(test)]
mod tests {
    use super::*;

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
