//! What did the device and the CPUs do meanwhile?
//!
//! Counters only ever rise; read them before and after, and take the difference. Start reading at [`device`].

use std::collections::BTreeMap;
use std::path::Path;

use iostack_model::{DeviceCount, Nanos};

use crate::process::TaskStat;
use crate::roots::{Root, names, text};
use crate::sys;

/// Sectors of `/sys/block/*/stat` have 512 bytes whatever the device's logical block
/// (Documentation/block/stat.rst).
const SECTOR: u64 = 512;

/// Counts of a device (`nvme0n1`) or a partition (`nvme0n1p2`) since it appeared; `None` when there is none.
///
/// A flush without data (fsync of a device) counts twice: as a flush, and as a write of no bytes (seen on Linux 6.18:
/// 97 writes with a sync each move the writes by 194 and the flushes by 97). Compare bytes where syncs are about.
pub fn device(name: &str) -> Option<DeviceCount> {
    device_in(&Root::live(), name)
}

pub(crate) fn device_in(root: &Root, name: &str) -> Option<DeviceCount> {
    parse_stat(name, &text(&root.block(name).join("stat"))?)
}

/// Fields of Documentation/block/stat.rst: 11 since 2.6, 15 with discards (4.18), 17 with flushes (5.5).
fn parse_stat(name: &str, text: &str) -> Option<DeviceCount> {
    let fields: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    if fields.len() < 11 {
        return None;
    }
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    Some(DeviceCount {
        name: name.to_owned(),
        ios: [field(0), field(4), field(11)],
        merges: [field(1), field(5), field(12)],
        bytes: [field(2) * SECTOR, field(6) * SECTOR, field(13) * SECTOR],
        flushes: field(15),
        busy: Nanos::millis(field(9)),
        in_device: Some([3, 7, 14].map(|index| Nanos::millis(field(index)))),
        queued: Some(Nanos::millis(field(10))),
    })
}

/// Counts from `before` to `after`.
pub fn difference(before: &DeviceCount, after: &DeviceCount) -> DeviceCount {
    // Counters of 32-bit kernels wrap and a replugged device starts at 0: nothing is then the safer answer.
    let minus = |after: [u64; 3], before: [u64; 3]| {
        [0, 1, 2].map(|direction| after[direction].saturating_sub(before[direction]))
    };
    DeviceCount {
        name: after.name.clone(),
        ios: minus(after.ios, before.ios),
        merges: minus(after.merges, before.merges),
        bytes: minus(after.bytes, before.bytes),
        flushes: after.flushes.saturating_sub(before.flushes),
        busy: after.busy - before.busy,
        in_device: before
            .in_device
            .zip(after.in_device)
            .map(|(before, after)| [0, 1, 2].map(|direction| after[direction] - before[direction])),
        queued: before.queued.zip(after.queued).map(|(before, after)| after - before),
    }
}

/// Time of all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCount {
    /// User, system and interrupts.
    pub busy: Nanos,
    /// Idle, waiting for I/O included.
    pub idle: Nanos,
    /// Taken away by the hypervisor.
    pub steal: Nanos,
}

impl CpuCount {
    /// Counts since `before`.
    #[must_use]
    pub fn since(self, before: CpuCount) -> CpuCount {
        CpuCount {
            busy: self.busy - before.busy,
            idle: self.idle - before.idle,
            steal: self.steal - before.steal,
        }
    }

    /// Busy share of all time, 0..=1.
    pub fn busy_share(self) -> f64 {
        self.share(self.busy)
    }

    /// Stolen share of all time, 0..=1.
    pub fn steal_share(self) -> f64 {
        self.share(self.steal)
    }

    /// This part of all time.
    pub fn share(self, part: Nanos) -> f64 {
        let all = self.busy + self.idle + self.steal;
        if all.0 == 0 { 0.0 } else { part.0 as f64 / all.0 as f64 }
    }
}

/// Time of all CPUs since boot. Its grain is 10 ms on most kernels.
pub fn cpu() -> CpuCount {
    cpu_in(&Root::live())
}

pub(crate) fn cpu_in(root: &Root) -> CpuCount {
    // The interrupt line of /proc/stat costs far more than the first; both come in one read of the file.
    let text = crate::roots::head(&root.at("proc/stat"), 512).unwrap_or_default();
    parse_cpu(&text).unwrap_or_default()
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`, proc(5); guest time is in user already.
fn parse_cpu(text: &str) -> Option<CpuCount> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    let tick_ns = 1_000_000_000 / sys::ticks_per_second();
    let nanos = |ticks: u64| Nanos(ticks * tick_ns);
    Some(CpuCount {
        busy: nanos(field(0) + field(1) + field(2) + field(5) + field(6)),
        idle: nanos(field(3) + field(4)),
        steal: nanos(field(7)),
    })
}

/// Use of the processor that the kernel accounts to a thread or to a process, since it began or within a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user space.
    pub user: Nanos,
    /// Time in the kernel.
    pub system: Nanos,
    /// Context switches because it waited.
    pub switches_voluntary: u64,
    /// Context switches because another had the CPU.
    pub switches_involuntary: u64,
    /// Page faults that waited for storage.
    pub faults_major: u64,
    /// Page faults that did not.
    pub faults_minor: u64,
    /// Time ready to run without a CPU; of a thread only, and where the kernel tells.
    pub waiting: Nanos,
}

impl Usage {
    /// Use by the calling thread until now.
    pub fn of_thread() -> Usage {
        Usage { waiting: thread_waiting(), ..sys::usage(libc::RUSAGE_THREAD) }
    }

    /// Use by all threads of this process until now, also by those that have ended.
    pub fn of_process() -> Usage {
        sys::usage(libc::RUSAGE_SELF)
    }

    /// User and system time.
    pub fn cpu(self) -> Nanos {
        self.user + self.system
    }

    /// All context switches.
    pub fn switches(self) -> u64 {
        self.switches_voluntary + self.switches_involuntary
    }

    /// Use since `before`.
    #[must_use]
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            user: self.user - before.user,
            system: self.system - before.system,
            switches_voluntary: self.switches_voluntary.saturating_sub(before.switches_voluntary),
            switches_involuntary: self.switches_involuntary.saturating_sub(before.switches_involuntary),
            faults_major: self.faults_major.saturating_sub(before.faults_major),
            faults_minor: self.faults_minor.saturating_sub(before.faults_minor),
            waiting: self.waiting - before.waiting,
        }
    }
}

/// Time that the calling thread has been ready to run without having a CPU, since it began; nothing where the kernel
/// does not say.
pub fn thread_waiting() -> Nanos {
    waiting_in(Path::new("/proc/thread-self")).unwrap_or_default()
}

/// The same of the task whose folder in `/proc` this is.
pub fn waiting_in(task: &Path) -> Option<Nanos> {
    parse_waiting(&text(&task.join("schedstat"))?)
}

/// `RUNNING WAITING SLICES`, the first two in ns (Documentation/scheduler/sched-stats.rst).
fn parse_waiting(schedstat: &str) -> Option<Nanos> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Kernel threads that do `io_uring` work for this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workers {
    /// The number of these kernel threads.
    pub count: u32,
    /// CPU time of all of them.
    pub cpu: Nanos,
}

/// The `io_uring` workers (`iou-wrk-*`) and submission pollers (`iou-sqp-*`) alive now. A worker that has exited is
/// not counted; use a [`WorkerWatch`] where that matters.
pub fn workers() -> Workers {
    let mut watch = WorkerWatch::default();
    watch.sample();
    watch.total()
}

/// Adds up workers over several samples, so that those that exit in between are not lost: idle workers exit after
/// five seconds (`WORKER_IDLE_TIMEOUT`, io_uring/io-wq.c), and all of them when their ring is closed.
#[derive(Clone, Debug, Default)]
pub struct WorkerWatch {
    /// CPU time last seen, by thread id and start time.
    seen: BTreeMap<(String, u64), Nanos>,
}

impl WorkerWatch {
    /// Looks once. Call it before the ring is closed.
    pub fn sample(&mut self) {
        self.sample_in(&Root::live());
    }

    fn sample_in(&mut self, root: &Root) {
        let tasks = root.at("proc/self/task");
        for task in names(&tasks) {
            let directory = tasks.join(&task);
            let comm = text(&directory.join("comm")).unwrap_or_default();
            let serves_rings = comm.starts_with("iou-wrk") || comm.starts_with("iou-sqp");
            if serves_rings && let Some((start, cpu)) = task_time(&directory) {
                self.seen.insert((task, start), cpu);
            }
        }
    }

    /// All workers seen so far, with the CPU time last seen of each.
    pub fn total(&self) -> Workers {
        Workers { count: self.seen.len() as u32, cpu: Nanos(self.seen.values().map(|cpu| cpu.0).sum()) }
    }
}

/// Start, in ticks since boot, and CPU time of the task whose folder in `/proc` this is.
pub fn task_time(directory: &Path) -> Option<(u64, Nanos)> {
    let stat = TaskStat::of_task(directory)?;
    // schedstat counts ns, stat only ticks; kernels without CONFIG_SCHED_INFO have stat alone.
    let precise = text(&directory.join("schedstat"))
        .and_then(|line| line.split_whitespace().next()?.parse().ok())
        .filter(|&ns: &u64| ns > 0);
    let coarse = stat.ticks()? * (1_000_000_000 / sys::ticks_per_second());
    Some((stat.start()?, Nanos(precise.unwrap_or(coarse))))
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
