//! How much time was it, and which samples split which part of it? Pure.
//!
//! ```text
//!   subject's threads:  their time, without the devices' interrupts in it ──► all samples of them
//!   its own workers:    their time, by family ──► all samples of them
//!   hard interrupts:    no timer samples them; their time goes to the layer `interrupt` as a whole
//!
//!   kernel threads:     time of a family x share of its samples with an I/O layer in the stack ─┐
//!   interrupts:         their time outside the subject's threads ──────────────────────────────┴► beside, in no sum
//! ```
//!
//! Who the last two work for is not known: a neighbour's I/O looks like the subject's there. Where the subject is the
//! machine, they are its own.

use std::collections::{BTreeMap, HashMap};

use iostack_model::{Beside, Clocks, Nanos};

use super::Subject;
use super::readings::Readings;
use super::sampler::{Key, Owner, Scope, Store};
use super::totals::{Role, Snapshot, ThreadTime};

/// A total of which a larger share may be another's is not called exact.
const UNSURE_MOST: f64 = 0.02;

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
    /// Each own worker's place in `clocks.kernel_thread_names`, whose times its samples split.
    pub(crate) families: HashMap<u32, usize>,
}

/// Facts that the account needs of the samples.
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
    /// It is the subject's own.
    pub(crate) own: bool,
    pub(crate) all: u64,
    /// Samples with an I/O layer in the stack.
    pub(crate) serving: u64,
}

/// Samples by owner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleCounts {
    pub(crate) subject: u64,
    pub(crate) workers: BTreeMap<u32, WorkerSamples>,
    pub(crate) interrupt: u64,
}

impl SampleCounts {
    /// Counts a store; `serves` tells whether a stack has an I/O layer in it.
    pub(crate) fn of_store(store: &Store, serves: impl Fn(&Key) -> bool) -> SampleCounts {
        let mut counts = SampleCounts::default();
        for (key, &count) in &store.counts {
            match key.owner {
                Owner::Subject => counts.subject += count,
                Owner::OwnWorker(thread) | Owner::Worker(thread) => {
                    let worker = counts.workers.entry(thread).or_default();
                    worker.own |= matches!(key.owner, Owner::OwnWorker(_));
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
pub(crate) fn account(facts: &Facts<'_>, counts: &SampleCounts, name: impl Fn(u32) -> String) -> Account {
    let mut account = match &facts.readings.exact {
        Some(exact) => bracketed(facts, counts, exact),
        None => sampled(facts, counts, name),
    };
    account.clocks.idle_polling = facts.readings.polling;
    account
}

fn bracketed(facts: &Facts<'_>, counts: &SampleCounts, exact: &Snapshot) -> Account {
    let ours = || exact.threads.values().filter(|thread| thread.role == Role::Subject);
    let tasks = ours().fold(Nanos(0), |sum, thread| sum + thread.time);
    let inside = ours().fold(Nanos(0), |sum, thread| sum + thread.interrupts).min(tasks);
    let (inside, mut hard) =
        if facts.sees_interrupts { (Nanos(0), Nanos(0)) } else { (inside, exact.interrupts) };
    let mut soft = exact.softirqs + exact.interrupts - hard;
    if counts.interrupt == 0 {
        (hard, soft) = (hard + soft, Nanos(0));
    }
    let outside = exact.interrupts + exact.softirqs;
    let machine = facts.subject == Subject::Machine;
    let (interrupts, beside) = if machine { (outside, Nanos(0)) } else { (Nanos(0), outside) };
    if !machine {
        (hard, soft) = (Nanos(0), Nanos(0));
    }
    let times = exact.threads.iter().filter(|(_, thread)| thread.role != Role::Subject);
    let workers = workers(counts, times.map(|(&number, thread)| (number, thread.clone())));
    let how = if machine {
        "all switches of the scheduler and the devices' interrupts, bracketed by BPF"
    } else {
        "its threads' switches, bracketed by BPF"
    };
    Account {
        subject: tasks - inside,
        interrupt: soft,
        hard_interrupts: hard + inside,
        families: workers.families,
        clocks: Clocks {
            tasks,
            interrupts,
            kernel_threads: sum(&workers.own),
            kernel_thread_names: workers.own,
            beside: Beside { interrupts: beside, ..workers.beside },
            exact: exact.unsure.0 as f64 <= UNSURE_MOST * tasks.0 as f64,
            how: how.to_owned(),
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

/// Families of kernel threads.
#[derive(Default)]
struct Workers {
    /// The subject's, largest first, and each thread's place among them.
    own: Vec<(String, Nanos)>,
    families: HashMap<u32, usize>,
    beside: Beside,
}

/// Use by threads of one name.
#[derive(Default)]
struct Family {
    time: Nanos,
    all: u64,
    serving: u64,
    threads: Vec<u32>,
}

/// An own family counts with all its time, another by the share of its samples that do I/O.
fn workers(counts: &SampleCounts, times: impl Iterator<Item = (u32, ThreadTime)>) -> Workers {
    let mut families: BTreeMap<(bool, String), Family> = BTreeMap::new();
    for (number, thread) in times {
        let family = families.entry((thread.role == Role::OwnWorker, family_of(&thread.name))).or_default();
        let samples = counts.workers.get(&number).copied().unwrap_or_default();
        family.time += thread.time;
        family.all += samples.all;
        family.serving += samples.serving;
        family.threads.push(number);
    }
    let share = |family: &Family| match family.all {
        0 => Nanos(0),
        all => Nanos((family.time.0 as f64 * family.serving as f64 / all as f64) as u64),
    };
    let mut own: Vec<(String, Family)> = Vec::new();
    let mut workers = Workers::default();
    for ((is_own, name), family) in families {
        if is_own {
            own.push((name, family));
        } else if share(&family) > Nanos(0) {
            workers.beside.kernel_thread_names.push((name, share(&family)));
        }
    }
    workers.beside.kernel_thread_names.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    workers.beside.kernel_threads = sum(&workers.beside.kernel_thread_names);
    own.sort_by_key(|(_, family)| std::cmp::Reverse(family.time));
    for (place, (name, family)) in own.into_iter().enumerate() {
        workers.own.push((name, family.time));
        workers.families.extend(family.threads.iter().map(|&thread| (thread, place)));
    }
    workers
}

fn sum(times: &[(String, Nanos)]) -> Nanos {
    times.iter().fold(Nanos(0), |sum, (_, time)| sum + *time)
}

/// Account without BPF: threads by perf's clocks where they are counted, the rest by the number of samples.
fn sampled(facts: &Facts<'_>, counts: &SampleCounts, name: impl Fn(u32) -> String) -> Account {
    let period = 1e9 / f64::from(facts.rate_hz);
    let time_of = |samples: u64| Nanos((samples as f64 * period) as u64);
    let counted = facts.readings.task_clock > Nanos(0);
    let tasks = if counted { facts.readings.task_clock } else { time_of(counts.subject) };
    let times = counts.workers.iter().map(|(&thread, samples)| {
        (
            thread,
            ThreadTime {
                time: time_of(samples.all),
                role: if samples.own { Role::OwnWorker } else { Role::Worker },
                name: name(thread),
                ..ThreadTime::default()
            },
        )
    });
    let workers = workers(counts, times);
    let clock = if counted { "perf's clock of each thread" } else { "samples times their period" };
    let beyond = match facts.scope {
        Scope::Machine => "kernel threads by samples times their period, hard interrupts not counted",
        Scope::Threads => "kernel threads and interrupts not counted",
    };
    let outside = time_of(counts.interrupt);
    let machine = facts.subject == Subject::Machine;
    let (interrupt, beside) = if machine { (outside, Nanos(0)) } else { (Nanos(0), outside) };
    Account {
        subject: tasks,
        interrupt,
        hard_interrupts: Nanos(0),
        families: workers.families,
        clocks: Clocks {
            tasks,
            interrupts: interrupt,
            kernel_threads: sum(&workers.own),
            kernel_thread_names: workers.own,
            beside: Beside { interrupts: beside, ..workers.beside },
            exact: false,
            how: format!("{clock}; {beyond}"),
            ..Clocks::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str, time: u64, interrupts: u64, role: Role) -> ThreadTime {
        let (time, interrupts) = (Nanos(time), Nanos(interrupts));
        ThreadTime { time, interrupts, role, name: name.to_owned(), ..ThreadTime::default() }
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
        let readings = exact(vec![(1, thread("load", 1000, 100, Role::Subject))], 50, 30);
        let counts = SampleCounts { subject: 9, interrupt: 3, ..SampleCounts::default() };
        let account = account(&facts(&readings), &counts, |_| String::new());
        assert_eq!(account.clocks.total(), Nanos(1000));
        assert_eq!((account.subject, account.interrupt), (Nanos(900), Nanos(0)));
        assert_eq!(account.hard_interrupts, Nanos(100));
    }

    #[test]
    fn a_total_is_exact_up_to_a_fiftieth_that_missed_switches_leave_unsure() {
        let is_exact = |unsure: u64| {
            let mut readings = exact(vec![(1, thread("load", 1000, 0, Role::Subject))], 0, 0);
            readings.exact.as_mut().expect("just made").unsure = Nanos(unsure);
            account(&facts(&readings), &SampleCounts::default(), |_| String::new()).clocks.exact
        };
        assert!(is_exact(0) && is_exact(20));
        assert!(!is_exact(21));
    }

    #[test]
    fn interrupts_outside_the_threads_are_the_machines_and_nobody_elses() {
        let readings = exact(vec![(1, thread("load", 1000, 100, Role::Subject))], 50, 30);
        let counts = SampleCounts { subject: 9, interrupt: 3, ..SampleCounts::default() };
        for (subject, total, beside) in
            [(Subject::Load, 1000, 80), (Subject::Process { pid: 1 }, 1000, 80), (Subject::Machine, 1080, 0)]
        {
            let facts = Facts { subject, ..facts(&readings) };
            let made = account(&facts, &counts, |_| String::new());
            assert_eq!(made.clocks.total(), Nanos(total), "{subject:?}");
            assert_eq!(made.clocks.beside.total(), Nanos(beside), "{subject:?}");
            let split = made.subject + made.interrupt + made.hard_interrupts + made.clocks.kernel_threads;
            assert_eq!(split, Nanos(total), "{subject:?}");
        }
    }

    fn samples(own: bool, all: u64, serving: u64) -> WorkerSamples {
        WorkerSamples { own, all, serving }
    }

    #[test]
    fn kernel_threads_that_do_io_stand_beside_by_the_share_of_their_samples() {
        let readings = exact(
            vec![
                (5, thread("kworker/u8:3", 600, 0, Role::Worker)),
                (6, thread("kworker/0:1", 400, 0, Role::Worker)),
                (7, thread("khugepaged", 900, 0, Role::Worker)),
            ],
            0,
            0,
        );
        let counts = SampleCounts {
            workers: BTreeMap::from([
                (5, samples(false, 8, 2)),
                (6, samples(false, 2, 1)),
                (7, samples(false, 9, 0)),
            ]),
            ..SampleCounts::default()
        };
        let made = account(&facts(&readings), &counts, |_| String::new());
        assert_eq!(made.clocks.beside.kernel_thread_names, [("kworker".to_owned(), Nanos(300))]);
        assert_eq!((made.clocks.total(), made.clocks.beside.total()), (Nanos(0), Nanos(300)));
        assert!(made.families.is_empty());
    }

    #[test]
    fn own_workers_count_with_all_their_time_sampled_or_not() {
        let own = |name, time| thread(name, time, 0, Role::OwnWorker);
        let readings = exact(
            vec![(5, own("iou-wrk-1", 600)), (6, own("iou-wrk-1", 30)), (7, own("iou-sqp-1", 1000))],
            0,
            0,
        );
        let counts =
            SampleCounts { workers: BTreeMap::from([(5, samples(true, 8, 2))]), ..SampleCounts::default() };
        let made = account(&facts(&readings), &counts, |_| String::new());
        let named = [("iou-sqp".to_owned(), Nanos(1000)), ("iou-wrk".to_owned(), Nanos(630))];
        assert_eq!(made.clocks.kernel_thread_names, named);
        assert_eq!((made.clocks.total(), made.clocks.beside.total()), (Nanos(1630), Nanos(0)));
        assert_eq!(made.families, HashMap::from([(7, 0), (5, 1), (6, 1)]));
    }

    #[test]
    fn soft_interrupts_never_sampled_go_with_the_hard_ones() {
        let readings = exact(vec![(1, thread("load", 1000, 0, Role::Subject))], 0, 20);
        let facts = Facts { subject: Subject::Machine, ..facts(&readings) };
        let account = account(&facts, &SampleCounts::default(), |_| String::new());
        assert_eq!((account.subject, account.hard_interrupts), (Nanos(1000), Nanos(20)));
    }

    #[test]
    fn without_bpf_samples_count_as_their_period() {
        let readings = Readings::default();
        let counts = SampleCounts {
            subject: 5,
            workers: BTreeMap::from([(5, samples(false, 8, 2)), (6, samples(true, 3, 0))]),
            interrupt: 1,
        };
        let name = |thread| if thread == 5 { "jbd2/vda-8" } else { "iou-wrk-9" }.to_owned();
        let counted = account(&facts(&readings), &counts, name);
        assert!(!counted.clocks.exact);
        assert_eq!(counted.clocks.tasks, Nanos(5_000_000));
        assert_eq!(counted.clocks.total(), Nanos(8_000_000));
        let beside = &counted.clocks.beside;
        assert_eq!(beside.kernel_thread_names, [("jbd2/vda".to_owned(), Nanos(2_000_000))]);
        assert_eq!(beside.interrupts, Nanos(1_000_000));
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
