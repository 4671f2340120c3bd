//! How much time was it, and which samples split which part of it? Pure.
//!
//! ```text
//!   subject's threads:  their time, without the device's interrupts in it ──► all samples of them
//!   kernel threads:     time of a family x share of its samples with an I/O layer in the stack ──► these samples
//!   soft interrupts:    their time outside the subject's threads ──► samples of them
//!   hard interrupts:    no timer samples them; their time goes to the layer `interrupt` as a whole
//! ```

use std::collections::{BTreeMap, HashMap};

use iostack_model::{Clocks, Nanos};

use super::Subject;
use super::readings::Readings;
use super::sampler::{Key, Owner, Scope, Store};
use super::totals::{Snapshot, ThreadTime};

/// The time, and the parts of it that samples split.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Account {
    pub(crate) clocks: Clocks,
    /// Split by the samples of the subject's threads.
    pub(crate) subject: Nanos,
    /// Split by the samples of interrupts outside.
    pub(crate) interrupt: Nanos,
    /// The device's hard interrupts, which no sample splits.
    pub(crate) hard_interrupts: Nanos,
    /// Each kernel thread's place in `clocks.kernel_thread_names`, whose times its samples split.
    pub(crate) families: HashMap<u32, usize>,
}

/// What to know of the samples for the account.
pub(crate) struct Facts<'a> {
    pub(crate) subject: Subject,
    pub(crate) scope: Scope,
    pub(crate) rate_hz: u32,
    /// Samples see code that has interrupts disabled.
    pub(crate) sees_interrupts: bool,
    pub(crate) readings: &'a Readings,
}

/// Samples of one kernel thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkerSamples {
    pub(crate) all: u64,
    /// With an I/O layer in the stack.
    pub(crate) serving: u64,
}

/// Samples by owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) subject: u64,
    pub(crate) workers: BTreeMap<u32, WorkerSamples>,
    pub(crate) interrupt: u64,
}

impl Counts {
    /// Counts a store; `serves` tells whether a stack has an I/O layer in it.
    pub(crate) fn of(store: &Store, serves: impl Fn(&Key) -> bool) -> Counts {
        let mut counts = Counts::default();
        for (key, &count) in &store.counts {
            match key.owner {
                Owner::Subject => counts.subject += count,
                Owner::Worker(thread) => {
                    let worker = counts.workers.entry(thread).or_default();
                    worker.all += count;
                    worker.serving += if serves(key) { count } else { 0 };
                }
                Owner::Interrupt => counts.interrupt += if serves(key) { count } else { 0 },
            }
        }
        counts
    }
}

/// The account of a subject. `name` tells the name of a kernel thread that was sampled and not bracketed.
pub(crate) fn account(facts: &Facts<'_>, counts: &Counts, name: impl Fn(u32) -> String) -> Account {
    let mut account = match &facts.readings.exact {
        Some(exact) => bracketed(facts, counts, exact),
        None => sampled(facts, counts, name),
    };
    account.clocks.idle_polling = facts.readings.polling;
    account
}

fn bracketed(facts: &Facts<'_>, counts: &Counts, exact: &Snapshot) -> Account {
    let ours = || exact.threads.values().filter(|thread| !thread.worker);
    let tasks = ours().fold(Nanos(0), |sum, thread| sum + thread.time);
    let inside = ours().fold(Nanos(0), |sum, thread| sum + thread.interrupts).min(tasks);
    let (inside, mut hard) =
        if facts.sees_interrupts { (Nanos(0), Nanos(0)) } else { (inside, exact.interrupts) };
    let mut soft = exact.softirqs + exact.interrupts - hard;
    if counts.interrupt == 0 {
        (hard, soft) = (hard + soft, Nanos(0));
    }
    let times = exact.threads.iter().filter(|(_, thread)| thread.worker);
    let workers = workers(facts.subject, counts, times.map(|(&number, thread)| (number, thread.clone())));
    Account {
        subject: tasks - inside,
        interrupt: soft,
        hard_interrupts: hard + inside,
        families: workers.families,
        clocks: Clocks {
            tasks,
            interrupts: exact.interrupts + exact.softirqs,
            kernel_threads: workers.names.iter().fold(Nanos(0), |sum, (_, time)| sum + *time),
            kernel_thread_names: workers.names,
            exact: true,
            how: "switches of the scheduler and the device's interrupts, bracketed by BPF".to_owned(),
            ..Clocks::default()
        },
    }
}

/// Threads of one family do the same work, taken by whichever is free: `kworker/u8:3` and `kworker/0:1`.
fn family_of(name: &str) -> String {
    let numbered = |rest: &str| rest.starts_with(|next: char| next.is_ascii_digit() || next == 'u');
    match name.split_once('/') {
        Some((family, rest)) if numbered(rest) => family.to_owned(),
        _ => name.trim_end_matches(|last: char| last.is_ascii_digit()).trim_end_matches('-').to_owned(),
    }
}

/// Families of kernel threads, largest first, and each thread's place among them.
#[derive(Default)]
struct Workers {
    names: Vec<(String, Nanos)>,
    families: HashMap<u32, usize>,
}

/// The time of each family times the share of its samples that serve.
fn workers(subject: Subject, counts: &Counts, times: impl Iterator<Item = (u32, ThreadTime)>) -> Workers {
    #[derive(Default)]
    struct Family {
        time: Nanos,
        all: u64,
        serving: u64,
        threads: Vec<u32>,
    }
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for (number, thread) in times {
        let family = families.entry(family_of(&thread.name)).or_default();
        let samples = counts.workers.get(&number).copied().unwrap_or_default();
        family.time += thread.time;
        family.all += samples.all;
        family.serving += if subject == Subject::Machine { samples.all } else { samples.serving };
        family.threads.push(number);
    }
    families.retain(|_, family| family.serving > 0);
    let share = |family: &Family| family.time.0 as f64 * family.serving as f64 / family.all as f64;
    let mut sorted: Vec<(String, Family)> = families.into_iter().collect();
    sorted.sort_by(|(_, one), (_, other)| share(other).total_cmp(&share(one)));
    let mut workers = Workers::default();
    for (place, (name, family)) in sorted.into_iter().enumerate() {
        workers.names.push((name, Nanos(share(&family) as u64)));
        workers.families.extend(family.threads.iter().map(|&thread| (thread, place)));
    }
    workers
}

/// Without BPF: threads by perf's clocks where they are counted, the rest by the number of samples.
fn sampled(facts: &Facts<'_>, counts: &Counts, name: impl Fn(u32) -> String) -> Account {
    let period = 1e9 / f64::from(facts.rate_hz);
    let time_of = |samples: u64| Nanos((samples as f64 * period) as u64);
    let counted = facts.readings.task_clock > Nanos(0);
    let tasks = if counted { facts.readings.task_clock } else { time_of(counts.subject) };
    let times = counts.workers.iter().map(|(&thread, samples)| {
        (
            thread,
            ThreadTime {
                time: time_of(samples.all),
                worker: true,
                name: name(thread),
                ..ThreadTime::default()
            },
        )
    });
    let workers = workers(facts.subject, counts, times);
    let clock = if counted { "perf's clock of each thread" } else { "samples times their period" };
    let beyond = match facts.scope {
        Scope::Machine => "kernel threads by samples times their period, hard interrupts not counted",
        Scope::Threads => "kernel threads and interrupts not counted",
    };
    let interrupt = time_of(counts.interrupt);
    Account {
        subject: tasks,
        interrupt,
        hard_interrupts: Nanos(0),
        families: workers.families,
        clocks: Clocks {
            tasks,
            interrupts: interrupt,
            kernel_threads: workers.names.iter().fold(Nanos(0), |sum, (_, time)| sum + *time),
            kernel_thread_names: workers.names,
            exact: false,
            how: format!("{clock}; {beyond}"),
            ..Clocks::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str, time: u64, interrupts: u64, worker: bool) -> ThreadTime {
        let (time, interrupts) = (Nanos(time), Nanos(interrupts));
        ThreadTime { time, interrupts, worker, cut: false, name: name.to_owned() }
    }

    fn facts(readings: &Readings) -> Facts<'_> {
        Facts {
            subject: Subject::Load,
            scope: Scope::Machine,
            rate_hz: 1000,
            sees_interrupts: false,
            readings,
        }
    }

    fn exact(threads: Vec<(u32, ThreadTime)>, interrupts: u64, softirqs: u64) -> Readings {
        let snapshot = Snapshot {
            threads: threads.into_iter().collect(),
            interrupts: Nanos(interrupts),
            softirqs: Nanos(softirqs),
            ..Snapshot::default()
        };
        Readings { exact: Some(snapshot), ..Readings::default() }
    }

    #[test]
    fn the_subjects_time_is_split_without_the_interrupts_within() {
        let readings = exact(vec![(1, thread("load", 1000, 100, false))], 50, 30);
        let counts = Counts { subject: 9, interrupt: 3, ..Counts::default() };
        let account = account(&facts(&readings), &counts, |_| String::new());
        assert_eq!(account.clocks.total(), Nanos(1080));
        assert_eq!((account.subject, account.interrupt), (Nanos(900), Nanos(30)));
        assert_eq!(account.hard_interrupts, Nanos(150));
    }

    #[test]
    fn kernel_threads_count_by_the_share_of_their_samples_that_serve() {
        let readings = exact(
            vec![
                (5, thread("kworker/u8:3", 600, 0, true)),
                (6, thread("kworker/0:1", 400, 0, true)),
                (7, thread("khugepaged", 900, 0, true)),
            ],
            0,
            0,
        );
        let worker = |all, serving| WorkerSamples { all, serving };
        let counts = Counts {
            workers: BTreeMap::from([(5, worker(8, 2)), (6, worker(2, 1)), (7, worker(9, 0))]),
            ..Counts::default()
        };
        let made = account(&facts(&readings), &counts, |_| String::new());
        assert_eq!(made.clocks.kernel_thread_names, [("kworker".to_owned(), Nanos(300))]);
        assert_eq!(made.families, HashMap::from([(5, 0), (6, 0)]));
        let all = Facts { subject: Subject::Machine, ..facts(&readings) };
        assert_eq!(account(&all, &counts, |_| String::new()).clocks.kernel_threads, Nanos(1900));
    }

    #[test]
    fn soft_interrupts_never_sampled_go_with_the_hard_ones() {
        let readings = exact(vec![(1, thread("load", 1000, 0, false))], 0, 20);
        let account = account(&facts(&readings), &Counts::default(), |_| String::new());
        assert_eq!((account.subject, account.hard_interrupts), (Nanos(1000), Nanos(20)));
    }

    #[test]
    fn without_bpf_samples_count_as_their_period() {
        let readings = Readings::default();
        let counts = Counts {
            subject: 5,
            workers: BTreeMap::from([(5, WorkerSamples { all: 8, serving: 2 })]),
            interrupt: 1,
        };
        let counted = account(&facts(&readings), &counts, |_| "jbd2/vda-8".to_owned());
        assert!(!counted.clocks.exact);
        assert_eq!(counted.clocks.tasks, Nanos(5_000_000));
        assert_eq!(counted.clocks.kernel_thread_names, [("jbd2/vda".to_owned(), Nanos(2_000_000))]);
        let clocked = Readings { task_clock: Nanos(7_000_000), ..readings };
        let counted = account(&facts(&clocked), &counts, |_| String::new());
        assert_eq!(counted.clocks.tasks, Nanos(7_000_000));
        assert!(counted.clocks.how.contains("perf's clock"), "{}", counted.clocks.how);
    }

    #[test]
    fn families_are_told_by_their_names() {
        let names = ["kworker/u8:3", "ksoftirqd/0", "jbd2/vda-8", "iou-wrk-1234", "xfsaild/loop1", "loop3"];
        let families = ["kworker", "ksoftirqd", "jbd2/vda", "iou-wrk", "xfsaild/loop", "loop"];
        assert_eq!(names.map(family_of), families);
    }
}
