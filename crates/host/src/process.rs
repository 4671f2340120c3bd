//! Is that process still the one it was? A process id is reused; with its start time it is not.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::roots::{Root, text};

/// Line of `/proc/PID/stat`, of a process or of a thread: `proc_pid_stat(5)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskStat(Vec<String>);

impl TaskStat {
    /// Reads the line of the task whose folder in `/proc` this is.
    pub fn of_task(folder: &Path) -> Option<TaskStat> {
        TaskStat::parse(&text(&folder.join("stat"))?)
    }

    /// Takes a line apart. The name in field 2 may hold blanks and parentheses, so counting starts behind the last one.
    pub fn parse(line: &str) -> Option<TaskStat> {
        let (_, fields) = line.rsplit_once(')')?;
        Some(TaskStat(fields.split_whitespace().map(str::to_owned).collect()))
    }

    /// Field of that number in `proc_pid_stat(5)`, 4 or more.
    pub fn field(&self, number: usize) -> Option<u64> {
        self.0.get(number.checked_sub(3)?)?.parse().ok()
    }

    /// User and system time, in clock ticks.
    pub fn ticks(&self) -> Option<u64> {
        Some(self.field(14)? + self.field(15)?)
    }

    /// Moment of its start, in clock ticks since boot.
    pub fn start(&self) -> Option<u64> {
        self.field(22)
    }

    /// True when it has ended, and only its number is still taken.
    pub fn is_dead(&self) -> bool {
        self.0.first().is_some_and(|state| matches!(state.as_str(), "Z" | "X"))
    }
}

/// A process, so that another one with the same id is not mistaken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
}

impl Process {
    pub(crate) fn current() -> Process {
        let pid = std::process::id();
        let start_ticks = start_ticks(&Root::live(), pid).unwrap_or(0);
        Process { pid, start_ticks }
    }

    /// True while it runs.
    pub(crate) fn is_alive(self) -> bool {
        start_ticks(&Root::live(), self.pid) == Some(self.start_ticks)
    }
}

fn start_ticks(root: &Root, pid: u32) -> Option<u64> {
    TaskStat::of_task(&root.at(format!("proc/{pid}")))?.start()
}

/// Names this process among all of this machine: id, start, and the namespace in which the id means something.
pub fn own_mark() -> String {
    let Process { pid, start_ticks } = Process::current();
    format!("{pid}-{start_ticks}-{}", namespace())
}

/// True when the process of this mark has ended, also where one of its threads cannot. False when nobody here can tell.
pub fn has_ended(mark: &str) -> bool {
    has_ended_in(&Root::live(), namespace(), mark)
}

fn has_ended_in(root: &Root, own: u64, mark: &str) -> bool {
    let numbers: Vec<u64> = mark.split('-').map_while(|number| number.parse().ok()).collect();
    let [pid, start, namespace] = numbers[..] else { return false };
    let task = TaskStat::of_task(&root.at(format!("proc/{pid}")));
    namespace == own && task.is_none_or(|task| task.is_dead() || task.start() != Some(start))
}

/// The namespace of process ids, by its number.
fn namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "42 (a) b (c)) S 1 1 1 0 -1 0 0 0 0 0 7 8 0 0 20 0 1 0 12345 0 0";
        let stat = TaskStat::parse(line).expect("a whole line");
        assert_eq!((stat.field(4), stat.ticks(), stat.start()), (Some(1), Some(15), Some(12345)));
        assert!(!stat.is_dead() && stat.field(2).is_none());
        assert_eq!(TaskStat::parse("42 (cut) S 1").and_then(|stat| stat.start()), None);
    }

    #[test]
    fn a_mark_is_of_one_process_and_a_dead_first_thread_has_ended() {
        let stat = |state: char, start: u64| format!("9 (serve) {state} {}{start} 0 0", "1 ".repeat(18));
        let ended = |state, mark: &str| {
            let tree = crate::testing::Tree::new(&[("proc/9/stat", &stat(state, 77))]);
            has_ended_in(&tree.root(), 5, mark)
        };
        assert!(!ended('S', "9-77-5") && !ended('T', "9-77-5") && !ended('D', "9-77-5"));
        assert!(ended('Z', "9-77-5"), "another thread of it cannot end");
        assert!(ended('S', "9-76-5") && ended('S', "8-77-5"), "it is another process, or none");
        assert!(!ended('S', "8-77-6") && !ended('S', "8-77") && !ended('S', "disk"), "nobody can tell");
        assert!(!has_ended(&own_mark()));
    }

    #[test]
    fn this_process_is_alive_and_one_with_another_start_is_not() {
        let this = Process::current();
        assert!(this.is_alive());
        assert!(!Process { start_ticks: this.start_ticks + 1, ..this }.is_alive());
    }
}
