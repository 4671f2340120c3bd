//! Who uses the storage of this host, and what was slow? Always on.
//!
//! ```text
//!   bpf/watch.bpf.c ──► sums by owner, device, kind ──► difference of two looks ──► WatchSlice
//!                   ──► events: slow I/Os, long sleeps ──► names, functions ───────────┘   │
//!                                                       explain (pure) ◄───────────────────┘
//! ```
//!
//! No I/O makes a record, unless it is slow: what a host pays for being watched is a few sums per I/O. Start reading at
//! [`Watcher::attach`], then [`Watcher::slice`], then [`explain`].

mod kernel;
mod names;
mod slow;
mod sum;
mod why;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use iostack_model::Nanos;
use iostack_model::answers::{
    DeviceEvent, IoKind, LongSleep, OwnedHow, OwnedIo, Owner, ProcessWait, SlowIo, WatchSlice, WatchedDevice,
};

pub use sum::Summed;
pub use why::{Explained, explain};

use crate::bpf::{self, BpfError};
use crate::classify::Symbols;
use crate::sys::system;
use kernel::{Event, Kernel, Sums};
use names::Names;

/// Wishes for a watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// I/Os and sleeps from here on are slow; without it, those that take longer than all but one of a thousand before.
    pub slow_from: Option<Nanos>,
}

/// A watch at work. Dropping it takes the programs out of the kernel.
pub struct Watcher {
    kernel: Kernel,
    names: Names,
    symbols: Option<Symbols>,
    sums: Sums,
    /// CPU time of processes at the last look, ns.
    clocks: BTreeMap<u32, u64>,
    kernel_ios: BTreeMap<String, u64>,
    /// Time of each CPU in interrupts at the last look, ns.
    interrupts: Vec<u64>,
    /// Events that came since the last slice.
    events: Vec<Event>,
    /// Events beyond those that a slice keeps.
    dropped: u64,
    last: u64,
    own_ns: u64,
    /// Time of a run of the programs as far as the kernel timed any, ns.
    run_ns: f64,
    timed_last: u64,
}

/// The kernel times the programs in one slice of so many, ns.
const TIMED_EVERY_NS: u64 = 10_000_000_000;
/// It times for so long, ns.
const TIMED_FOR_NS: u64 = 20_000_000;

/// Processes whose CPU time is remembered; most of more than that have ended.
const CLOCKS_MOST: usize = 8192;

/// Functions kept of a stack that woke a thread.
const WAKERS: usize = 8;

/// Events of one slice.
const EVENTS_MOST: usize = 20_000;

/// Bits of `struct told_event`'s `ended` that count bios; sectors follow.
const ENDED_BITS: u32 = 24;

/// `enum told`.
const TOLD_IO: u64 = 1;
const TOLD_WAIT: u64 = 2;
const TOLD_FLUSH: u64 = 3;
const TOLD_DISCARD: u64 = 4;

impl Watcher {
    /// Loads the programs and attaches them.
    pub fn attach(options: &WatchOptions) -> Result<Watcher, BpfError> {
        let symbols = std::thread::scope(|scope| {
            let names = scope.spawn(|| Symbols::live().ok());
            bpf::read_types();
            names.join().ok().flatten()
        });
        let address = |name| symbols.as_ref().and_then(|symbols| symbols.address_of(name)).unwrap_or(0);
        let works = ["blk_throtl_dispatch_work_fn", "delayed_work_timer_fn"].map(address);
        let slow_from_ns = options.slow_from.map_or(0, |from| from.0);
        let mut kernel = Kernel::attach(works, slow_from_ns)?;
        let sums = kernel.sums(&Sums::default());
        let mut watcher = Watcher {
            kernel,
            names: Names::default(),
            symbols,
            sums,
            clocks: BTreeMap::new(),
            kernel_ios: BTreeMap::new(),
            interrupts: interrupts(),
            events: Vec::new(),
            dropped: 0,
            last: system::now().0,
            own_ns: system::thread_time().0,
            run_ns: 0.0,
            timed_last: 0,
        };
        watcher.kernel_ios = statistics();
        Ok(watcher)
    }

    /// Sentences on what this kernel does not let us know.
    pub fn limits(&self) -> Vec<String> {
        let mut limits: Vec<String> = Vec::new();
        if !self.kernel.missing.is_empty() {
            limits.push(format!(
                "This kernel shows no tracepoint {}: what its threads do for others is less often told whose it is.",
                self.kernel.missing.join(", ")
            ));
        }
        if self.symbols.is_none() {
            limits.push(
                "Kernel functions have no names for this user (cap_syslog), so that long sleeps are told without their cause."
                    .to_owned(),
            );
        }
        limits
    }

    /// Takes events out of the ring, which holds some 2,900: to be called between slices that are long.
    pub fn look(&mut self) {
        let room = EVENTS_MOST.saturating_sub(self.events.len());
        let events = self.kernel.events();
        self.dropped += events.len().saturating_sub(room) as u64;
        self.events.extend(events.into_iter().take(room));
    }

    /// Everything that was seen since the last call.
    pub fn slice(&mut self) -> WatchSlice {
        self.time_programs();
        let now = system::now().0;
        let sums = self.kernel.sums(&self.sums);
        let before = std::mem::replace(&mut self.sums, sums);
        self.names.begin();
        let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        let mut slice = WatchSlice {
            ended_unix_ns: unix_ns,
            elapsed: Nanos(now - self.last),
            lost: self.sums.lost.saturating_sub(before.lost),
            missed: self.sums.missed.saturating_sub(before.missed),
            runs: self.sums.runs.saturating_sub(before.runs),
            ..WatchSlice::default()
        };
        slice.kernel_cost_ns = (slice.runs as f64 * self.run_ns) as u64;
        slice.ios = self.ios(&before);
        slice.waits = self.waits(&before);
        slice.devices = self.devices(&before);
        let interrupted = interrupts();
        let last = self.interrupts.iter().chain(std::iter::repeat(&u64::MAX));
        slice.interrupts_ns =
            interrupted.iter().zip(last).map(|(now, last)| now.saturating_sub(*last)).collect();
        self.interrupts = interrupted;
        self.look();
        slice.lost += std::mem::take(&mut self.dropped);
        for event in std::mem::take(&mut self.events) {
            self.tell(&event, unix_ns.wrapping_sub(now), &mut slice);
        }
        self.last = now;
        let own = system::thread_time().0;
        slice.own_cost_ns = own - self.own_ns;
        self.own_ns = own;
        slice
    }

    /// Lets the kernel time the programs for a moment, now and then.
    fn time_programs(&mut self) {
        let now = system::now().0;
        if self.timed_last != 0 && now < self.timed_last + TIMED_EVERY_NS {
            return;
        }
        self.timed_last = now;
        let Some(counting) = bpf::count_time() else { return };
        let before = self.kernel.uses();
        std::thread::sleep(std::time::Duration::from_nanos(TIMED_FOR_NS));
        let after = self.kernel.uses();
        drop(counting);
        if after.0 > before.0 {
            self.run_ns = (after.1 - before.1) as f64 / (after.0 - before.0) as f64;
        }
    }

    fn owner(&mut self, cgroup: u64, process: u32) -> Owner {
        let kernel = &self.kernel;
        let name = match process {
            0 => String::new(),
            process => self.names.process(process, |process| kernel.ended_name(process)),
        };
        Owner { process, name, cgroup: self.names.cgroup(cgroup) }
    }

    fn ios(&mut self, before: &Sums) -> Vec<OwnedIo> {
        let news = self.sums.folds.iter().filter_map(|(key, sum)| {
            let old = before.folds.get(key).copied().unwrap_or_default();
            // A row that was removed and made anew begins at 0.
            let old = if old[0] > sum[0] || old[1] > sum[1] { [0; 5] } else { old };
            let new = [0, 1, 2, 3].map(|at| sum[at].saturating_sub(old[at]));
            (new[0] > 0 || new[1] > 0).then_some((*key, new, sum[4]))
        });
        let news: Vec<_> = news.collect();
        let told = |([low, high, process, how, device, kind], new, slowest_ns): ([u32; 6], [u64; 4], u64)| {
            let how = *OwnedHow::ALL.get(how as usize)?;
            Some(OwnedIo {
                owner: self.owner(u64::from(low) | u64::from(high) << 32, process),
                how,
                device: self.names.device(device),
                kind: *IoKind::ALL.get(kind as usize)?,
                ios: new[0],
                bytes: new[1],
                queue_ns: new[2],
                device_ns: new[3],
                slowest_ns,
            })
        };
        news.into_iter().filter_map(told).collect()
    }

    fn waits(&mut self, before: &Sums) -> Vec<ProcessWait> {
        let news: Vec<_> = self
            .sums
            .waits
            .iter()
            .filter_map(|(key, sum)| {
                let old = before.waits.get(key).copied().unwrap_or_default();
                let new = [0, 1, 2, 3].map(|at| sum[at].saturating_sub(old[at]));
                (new[0] > 0 || new[3] > 0).then_some((*key, new))
            })
            .collect();
        let mut clocks = BTreeMap::new();
        let told =
            |([low, high, process, _], [sleeps, slept_ns, runnable_ns, kernel_ns]): ([u32; 4], [u64; 4])| {
                let now = cpu_time(process);
                let last = self.clocks.get(&process).copied();
                now.map(|now| clocks.insert(process, now));
                ProcessWait {
                    owner: self.owner(u64::from(low) | u64::from(high) << 32, process),
                    sleeps,
                    slept_ns,
                    runnable_ns,
                    kernel_ns,
                    // Of one that is met for the first time, nobody knows since when.
                    cpu_ns: now.zip(last).map_or(0, |(now, last)| now.saturating_sub(last)),
                }
            };
        let waits = news.into_iter().map(told).collect();
        if self.clocks.len() > CLOCKS_MOST {
            self.clocks.clear();
        }
        self.clocks.extend(clocks);
        waits
    }

    fn devices(&mut self, before: &Sums) -> Vec<WatchedDevice> {
        let mut cells = BTreeMap::<u32, [BTreeMap<u32, u64>; 2]>::new();
        for (key, counts) in &self.sums.heats {
            let old = before.heats.get(key);
            for (cell, count) in (0..).zip(counts) {
                let new = count - old.and_then(|old| old.get(cell as usize)).unwrap_or(&0);
                if new > 0 {
                    let [all, reads] = cells.entry(key[0]).or_default();
                    *all.entry(cell).or_default() += new;
                    if key[1] == 0 {
                        reads.insert(cell, new);
                    }
                }
            }
        }
        let statistics = statistics();
        let told = |(number, [cells, reads]): (u32, [BTreeMap<u32, u64>; 2])| {
            let name = self.names.device(number);
            let (below, scheduler) = (names::below(&name), names::scheduler(&name));
            let kernel_ios = statistics.get(&name).copied().unwrap_or(0);
            let last = self.kernel_ios.get(&name).copied().unwrap_or(kernel_ios);
            WatchedDevice {
                name,
                cells: cells.into_iter().collect(),
                reads: reads.into_iter().collect(),
                kernel_ios: kernel_ios.saturating_sub(last),
                below,
                scheduler,
            }
        };
        let devices = cells.into_iter().map(told).collect();
        self.kernel_ios = statistics;
        devices
    }

    /// Puts an event into the slice; `offset` is what must be added to the kernel's clock.
    fn tell(&mut self, event: &Event, offset: u64, slice: &mut WatchSlice) {
        let ended_unix_ns = event.complete.wrapping_add(offset);
        let between = |from: u64, to: u64| if from == 0 { 0 } else { to.saturating_sub(from) };
        let kind = IoKind::ALL.get(event.kind as usize).copied().unwrap_or(IoKind::Other);
        match event.what {
            TOLD_FLUSH | TOLD_DISCARD => {
                let from = if event.issue == 0 { event.queue } else { event.issue };
                let took_ns = between(from, event.complete);
                let device = self.names.device(event.device);
                let owner = (event.process != 0).then(|| self.owner(event.cgroup, event.process));
                let bytes = event.bytes;
                slice.events.push(DeviceEvent { device, kind, ended_unix_ns, took_ns, bytes, owner });
            }
            TOLD_IO => {
                let issue = if event.issue == 0 { event.queue } else { event.issue };
                let insert = if event.insert == 0 { issue } else { event.insert.min(issue) };
                slice.slow.push(SlowIo {
                    owner: self.owner(event.cgroup, event.process),
                    how: OwnedHow::ALL.get(event.how as usize).copied().unwrap_or(OwnedHow::Unseen),
                    device: self.names.device(event.device),
                    kind,
                    bytes: event.bytes,
                    ended_unix_ns,
                    held_ns: between(event.held, event.queue),
                    queue_ns: insert.saturating_sub(event.queue),
                    schedule_ns: issue - insert,
                    device_ns: event.complete.saturating_sub(issue),
                    in_flight: event.in_flight,
                    ended_beside: Some(event.ended & ((1 << ENDED_BITS) - 1)),
                    bytes_beside: event.ended >> ENDED_BITS << 9,
                    cpu: Some(event.cpu),
                });
            }
            TOLD_WAIT => {
                let mut owner = self.owner(event.cgroup, event.process);
                if owner.name.is_empty() {
                    owner.name.clone_from(&event.name);
                }
                // Threads are charged in one hierarchy of cgroups, I/Os perhaps in another.
                if owner.cgroup == "/" {
                    owner.cgroup = names::io_cgroup(event.thread);
                }
                slice.sleeps.push(LongSleep {
                    owner,
                    thread: event.thread,
                    kernel: event.kind == 1,
                    ended_unix_ns,
                    slept_ns: between(event.queue, event.issue),
                    runnable_ns: event.complete.saturating_sub(event.issue),
                    waker: event.waker.clone(),
                    behind: event.behind.clone(),
                    stack: self.functions(&event.frames),
                    waker_stack: self.wakers(event.wake_stack),
                });
            }
            _ => {}
        }
    }

    /// Functions in which a thread was woken, behind those that wake.
    fn wakers(&self, stack: u32) -> Vec<String> {
        let mut functions = self.functions(&self.kernel.wake_frames(stack));
        // Before them are frames of the programs, which bear any name.
        let wakes = |name: &String| name.contains("wake") && !name.starts_with("rwsem");
        let first = functions.iter().take(WAKERS).rposition(wakes).map_or(0, |last| last + 1);
        functions.drain(..first);
        functions.truncate(WAKERS);
        functions
    }

    fn functions(&self, frames: &[u64]) -> Vec<String> {
        let Some(symbols) = &self.symbols else { return Vec::new() };
        frames.iter().filter_map(|&frame| symbols.name(frame)).map(|symbol| symbol.name.to_owned()).collect()
    }
}

/// I/Os that the kernel has counted, by device: reads, writes, discards and flushes that are done.
fn statistics() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap_or_default();
    text.lines().filter_map(counted).collect()
}

/// Name and I/Os of a line of `/proc/diskstats` (Documentation/admin-guide/iostats.rst). Flushes are not among them: one
/// of the device's stands for many that were asked.
fn counted(line: &str) -> Option<(String, u64)> {
    let mut fields = line.split_whitespace().skip(2);
    let name = fields.next()?.to_owned();
    let numbers: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let field = |at: usize| numbers.get(at).copied().unwrap_or(0);
    Some((name, field(0) + field(4) + field(11)))
}

/// Time of each CPU in interrupts and what they leave for later, by its number, ns.
fn interrupts() -> Vec<u64> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let each = text.lines().filter_map(interrupts_of).collect::<BTreeMap<usize, u64>>();
    let cpus = each.keys().last().map_or(0, |last| last + 1);
    (0..cpus).map(|cpu| each.get(&cpu).copied().unwrap_or(0)).collect()
}

/// Number of a CPU, and its time in interrupts, of a line of `/proc/stat`: fields `irq` and `softirq` (`proc_stat(5)`).
fn interrupts_of(line: &str) -> Option<(usize, u64)> {
    let mut fields = line.strip_prefix("cpu")?.split(' ');
    let cpu = fields.next()?.parse().ok()?;
    let ticks: Vec<u64> = fields.skip(5).take(2).map_while(|field| field.parse().ok()).collect();
    Some((cpu, ticks.iter().sum::<u64>() * TICK_NS))
}

/// CPU time of a process with all its threads so far, ns; `None` where it has ended.
fn cpu_time(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    cpu_time_of(&text).map(|ticks| ticks * TICK_NS)
}

/// Ticks in user and kernel mode: fields 14 and 15 of `/proc/PID/stat`, behind a name that may hold anything.
fn cpu_time_of(text: &str) -> Option<u64> {
    let mut fields = text[text.rfind(')')? + 1..].split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// `USER_HZ` is 100 on every processor of ours.
const TICK_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel_are_read_by_their_fields() {
        let line = " 254       0 vda 100 1 2000 30 50 6 700 80 0 90 100 7 0 0 0 11 12";
        assert_eq!(counted(line), Some(("vda".to_owned(), 157)));
        assert_eq!(counted("254 0"), None);
        assert_eq!(interrupts_of("cpu12 1 2 3 4 5 60 7 8 9 10"), Some((12, 670_000_000)));
        assert_eq!(interrupts_of("cpu  1 2 3 4 5 60 7 8 9 10"), None, "the sum of all");
        let stat = "12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20";
        assert_eq!(cpu_time_of(stat), Some(42));
        assert_eq!(cpu_time_of("12 (cut) S 1"), None);
    }
}
