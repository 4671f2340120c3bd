//! How much CPU time have other programs used, and how long did the kernel's threads wait for some?
//!
//! The machine's busy time minus ours would also hold interrupts and kernel threads that work for us (a loop device, a
//! compressor), so user programs are summed instead: everything in `/proc` but ourselves and kernel threads.

use std::fs;
use std::path::Path;

use iostack_host::TaskStat;
use iostack_host::counters::waiting_in;
use iostack_model::Nanos;

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`, in the flags of `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// `USER_HZ`, in which `/proc/PID/stat` counts: 100 on every architecture Linux runs on today.
const TICK: Nanos = Nanos::millis(10);

/// Time that all programs but ourselves, and the kernel's threads, have had and lacked, each since its start. Those
/// that end between two looks, and that nobody waits for, make the difference too small, never too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// CPU time of programs.
    pub(crate) programs: Nanos,
    /// Time that kernel threads were ready to run and had no CPU.
    pub(crate) kernel_waiting: Nanos,
}

impl Others {
    pub(crate) fn now() -> Others {
        let ourselves = std::process::id().to_string();
        let Ok(entries) = fs::read_dir("/proc") else { return Others::default() };
        let mut others = Others::default();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            if number && name != *ourselves {
                others.add(&entry.path());
            }
        }
        others
    }

    fn add(&mut self, task: &Path) {
        match TaskStat::of_task(task).and_then(|stat| task_of_stat(&stat)) {
            Some(Task::Program { ticks }) => self.programs += Nanos(ticks * TICK.0),
            Some(Task::Kernel) => self.kernel_waiting += waiting_in(task).unwrap_or_default(),
            None => {}
        }
    }

    /// Difference to `before`.
    pub(crate) fn since(self, before: Others) -> Others {
        Others {
            programs: self.programs - before.programs,
            kernel_waiting: self.kernel_waiting - before.kernel_waiting,
        }
    }
}

/// Owner of a line of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
enum Task {
    /// User and system time in ticks, with that of its children that have ended: what a short-lived compiler used is
    /// found with the program that waited for it.
    Program { ticks: u64 },
    /// A thread of the kernel's own.
    Kernel,
}

fn task_of_stat(stat: &TaskStat) -> Option<Task> {
    if stat.field(9)? & KERNEL_THREAD != 0 {
        return Some(Task::Kernel);
    }
    Some(Task::Program { ticks: (14..=17).map(|number| stat.field(number)).sum::<Option<u64>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_count_and_kernel_threads_do_not() {
        let parse = |line| TaskStat::parse(line).as_ref().and_then(task_of_stat);
        let program = "42 (a) b) c) S 1 42 42 0 -1 4194560 100 0 0 0 17 4 0 0 20 0 1 0 1 2 3";
        assert_eq!(parse(program), Some(Task::Program { ticks: 21 }));
        let parent = "42 (make) S 1 42 42 0 -1 4194560 100 0 0 0 17 4 5 6 20 0 1 0 1 2 3";
        assert_eq!(parse(parent), Some(Task::Program { ticks: 32 }));
        let thread = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 5 6 0 0 20 0 1 0 1 0 0";
        assert_eq!(parse(thread), Some(Task::Kernel));
        assert_eq!(parse("nonsense"), None);
    }
}
