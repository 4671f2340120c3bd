//! What held a slow I/O, or a thread that slept long? Pure: from what a watch saw at that moment.
//!
//! A cause is `sure` only where the evidence is of the I/O itself (its own stages, the stack it slept in) or covers most of
//! its time; a neighbour that was merely busy at the same time is not.

use std::collections::BTreeMap;

use iostack_model::Nanos;
use iostack_model::answers::{
    IoKind, LongSleep, OwnedHow, OwnedIo, SlowIo, WaitCause, WatchSlice, WhyFinding,
};

use crate::waits::{is_lock, rule};

/// Causes of slow I/Os and sleeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// Number and total time by cause, the largest total first.
    pub causes: Vec<(WaitCause, u64, Nanos)>,
    /// Each, the slowest first.
    pub findings: Vec<WhyFinding>,
}

/// Functions behind which a thread waits for its own I/O, whose slowness is told with the I/O.
const FOR_IO: [&str; 5] =
    ["io_schedule", "io_schedule_timeout", "blk_io_schedule", "io_cqring_wait", "read_events"];

/// Device time of others, for each of its own, from which on they are the cause of a queue.
const OTHERS_SHARE: u64 = 3;
/// I/Os in flight from which on there is a queue.
const QUEUE_LEAST: u64 = 4;

/// Explains what `slices` tell, which lie one behind the other; at most so many findings, all of the counts.
pub fn explain(slices: &[WatchSlice], most: usize) -> Explained {
    let mut findings: Vec<WhyFinding> = Vec::new();
    for slice in slices {
        findings.extend(slice.slow.iter().map(|io| of_io(io, slices)));
    }
    let ios = findings.len();
    for sleep in slices.iter().flat_map(|slice| &slice.sleeps) {
        // The wait for an I/O that is told is told with it.
        let waits_for_told = is_for_io(sleep) && sleep.runnable_ns <= sleep.slept_ns && {
            findings[..ios].iter().any(|io| {
                io.owner.process == sleep.owner.process && overlap(span_of(io), span_of_sleep(sleep)) > 0
            })
        };
        if !waits_for_told {
            findings.push(of_sleep(sleep, slices));
        }
    }
    let mut causes: BTreeMap<WaitCause, (u64, u64)> = BTreeMap::new();
    for finding in &findings {
        let sum = causes.entry(finding.cause).or_default();
        *sum = (sum.0 + 1, sum.1 + finding.took.0);
    }
    let mut causes: Vec<_> =
        causes.into_iter().map(|(cause, (number, total))| (cause, number, Nanos(total))).collect();
    causes.sort_by_key(|&(_, _, total)| std::cmp::Reverse(total));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.took));
    findings.truncate(most);
    Explained { causes, findings }
}

/// Beginning and end, ns since 1970.
type Span = (u64, u64);

fn span_of(finding: &WhyFinding) -> Span {
    (finding.ended_unix_ns.saturating_sub(finding.took.0), finding.ended_unix_ns)
}

fn span_of_sleep(sleep: &LongSleep) -> Span {
    (sleep.ended_unix_ns.saturating_sub(sleep.slept_ns + sleep.runnable_ns), sleep.ended_unix_ns)
}

/// Time that both share, ns.
fn overlap(a: Span, b: Span) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

fn of_io(io: &SlowIo, slices: &[WatchSlice]) -> WhyFinding {
    let whole = io.whole_ns();
    let time = |ns: u64| Nanos(ns).to_string();
    let (cause, sure, evidence) = if io.held_ns * 2 > whole {
        let words = format!("The limit of cgroup {} held it back for {}.", io.owner.cgroup, time(io.held_ns));
        (WaitCause::CgroupLimit, true, vec![words])
    } else if io.schedule_ns * 2 > whole {
        let words = format!("It lay in the I/O scheduler for {} of {}.", time(io.schedule_ns), time(whole));
        (WaitCause::Scheduler, true, vec![words])
    } else if io.queue_ns * 2 > whole {
        let words = format!(
            "It waited {} of {} for a request of {}, or in a plug.",
            time(io.queue_ns),
            time(whole),
            io.device
        );
        (WaitCause::Scheduler, true, vec![words])
    } else {
        of_device(io, slices)
    };
    let verb = match io.kind {
        IoKind::Metadata => "a metadata I/O",
        IoKind::Swap => "a swap I/O",
        kind => kind.name(),
    };
    let article = if verb.starts_with("a ") { "" } else { "a " };
    let how = match io.how {
        OwnedHow::Itself => String::new(),
        how => format!(" ({})", how.words()),
    };
    WhyFinding {
        owner: io.owner.clone(),
        device: io.device.clone(),
        ended_unix_ns: io.ended_unix_ns,
        took: Nanos(whole),
        what: format!("{article}{verb} of {}{how}", iostack_model::Bytes(io.bytes)),
        cause,
        sure,
        evidence,
    }
}

/// Why the device took long: a flush or a discard beside it, others' I/Os, its own queue, or the device itself.
fn of_device(io: &SlowIo, slices: &[WatchSlice]) -> (WaitCause, bool, Vec<String>) {
    let span = (io.ended_unix_ns.saturating_sub(io.device_ns), io.ended_unix_ns);
    let in_device = format!("{} had it for {} of {}.", io.device, Nanos(io.device_ns), Nanos(io.whole_ns()));
    for (kind, cause) in [(IoKind::Flush, WaitCause::Flush), (IoKind::Discard, WaitCause::Discard)] {
        let of_kind = slices
            .iter()
            .flat_map(|slice| &slice.events)
            .filter(|event| event.kind == kind && event.device == io.device && io.kind != kind);
        let beside = |event: &iostack_model::answers::DeviceEvent| {
            overlap(span, (event.ended_unix_ns.saturating_sub(event.took_ns), event.ended_unix_ns))
        };
        let (number, shared) =
            of_kind.map(beside).filter(|ns| *ns > 0).fold((0, 0), |(number, sum), ns| (number + 1, sum + ns));
        if shared * 2 > io.device_ns {
            let words = format!(
                "{number} {}{} of {} ran beside it for {}.",
                kind.name(),
                if number == 1 { "" } else { "es" },
                io.device,
                Nanos(shared.min(io.device_ns))
            );
            return (cause, shared * 5 > io.device_ns * 4, vec![words, in_device]);
        }
    }
    if io.in_flight < QUEUE_LEAST {
        let words = match io.in_flight {
            0 => format!("Nothing else was in flight on {} when it was queued.", io.device),
            few => format!("Only {few} others were in flight on {} when it was queued.", io.device),
        };
        return (WaitCause::Device, io.in_flight == 0, vec![in_device, words]);
    }
    let (own, others) = shares(io, slices, span);
    let queue = format!("{} others were in flight on {} when it was queued.", io.in_flight, io.device);
    match others.first() {
        Some((loudest, ns)) if others.iter().map(|(_, ns)| ns).sum::<u64>() > OTHERS_SHARE * own => {
            let words = format!(
                "Meanwhile {} of {} ({}) had {} of device time in flight, its own owner {}.",
                loudest.0,
                loudest.1,
                loudest.2.words(),
                Nanos(*ns),
                Nanos(own)
            );
            (WaitCause::Neighbour, true, vec![words, queue, in_device])
        }
        _ => {
            let words = format!("Most of them are its own owner's: {} of device time.", Nanos(own));
            (WaitCause::OwnQueue, others.is_empty(), vec![queue, words, in_device])
        }
    }
}

/// Name, cgroup and way of an owner.
type Who = (String, String, OwnedHow);

/// Device time of the I/O's own process, and of others by owner, the largest first, in the slices that it lies in.
fn shares(io: &SlowIo, slices: &[WatchSlice], span: Span) -> (u64, Vec<(Who, u64)>) {
    let mut own = 0;
    let mut others: BTreeMap<Who, u64> = BTreeMap::new();
    let lies_in = |slice: &&WatchSlice| {
        overlap(span, (slice.ended_unix_ns.saturating_sub(slice.elapsed.0), slice.ended_unix_ns)) > 0
    };
    for row in
        slices.iter().filter(lies_in).flat_map(|slice| &slice.ios).filter(|row| row.device == io.device)
    {
        if row.owner.process == io.owner.process && row.owner.cgroup == io.owner.cgroup {
            own += row.device_ns;
        } else {
            *others.entry(who(row)).or_default() += row.device_ns;
        }
    }
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    (own, others)
}

fn who(row: &OwnedIo) -> Who {
    let name = if row.owner.process == 0 {
        "nobody".to_owned()
    } else {
        format!("{} [{}]", row.owner.name, row.owner.process)
    };
    (name, row.owner.cgroup.clone(), row.how)
}

fn is_for_io(sleep: &LongSleep) -> bool {
    rule(&sleep.stack).is_none_or(|rule| rule.1 == WaitCause::Unknown)
        && sleep.stack.iter().any(|function| FOR_IO.contains(&function.as_str()))
}

fn of_sleep(sleep: &LongSleep, slices: &[WatchSlice]) -> WhyFinding {
    let whole = sleep.slept_ns + sleep.runnable_ns;
    let (cause, sure, evidence) = if sleep.runnable_ns > sleep.slept_ns {
        let words = format!(
            "Woken by {}, it waited {} for a CPU, which {} had before it.",
            thread_name(&sleep.waker),
            Nanos(sleep.runnable_ns),
            thread_name(&sleep.behind)
        );
        (WaitCause::RunQueue, true, vec![words])
    } else if let Some((function, cause, words)) = rule(&sleep.stack) {
        let mut evidence = vec![format!(
            "It slept {} in {function}, {words}; {} woke it.",
            Nanos(sleep.slept_ns),
            thread_name(&sleep.waker)
        )];
        if *cause == WaitCause::Journal {
            evidence.extend(commits(slices, span_of_sleep(sleep)));
        }
        if *cause == WaitCause::Lock {
            evidence.extend(
                sleep
                    .stack
                    .iter()
                    .find(|name| !is_lock(name))
                    .map(|name| format!("The lock is taken in {name}.")),
            );
        }
        (*cause, true, evidence)
    } else {
        let place = sleep.stack.iter().find(|name| !FOR_IO.contains(&name.as_str()) && !is_lock(name));
        let words = match place {
            Some(function) => format!(
                "It slept {} in {function}; {} woke it.",
                Nanos(sleep.slept_ns),
                thread_name(&sleep.waker)
            ),
            None => format!("It slept {}; {} woke it.", Nanos(sleep.slept_ns), thread_name(&sleep.waker)),
        };
        (WaitCause::Unknown, false, vec![words])
    };
    WhyFinding {
        owner: sleep.owner.clone(),
        device: String::new(),
        ended_unix_ns: sleep.ended_unix_ns,
        took: Nanos(whole),
        what: format!("a sleep of thread {}", sleep.thread),
        cause,
        sure,
        evidence,
    }
}

/// The idle thread has no name of its own for people.
fn thread_name(name: &str) -> String {
    match name {
        "" => "something unseen".to_owned(),
        idle if idle.starts_with("swapper") => "an interrupt of an idle CPU".to_owned(),
        name => format!("`{name}`"),
    }
}

/// A sentence on each owner whose journal I/Os ran meanwhile.
fn commits(slices: &[WatchSlice], span: Span) -> Vec<String> {
    let mut ios: BTreeMap<(String, String), u64> = BTreeMap::new();
    for slice in slices {
        let lies_in =
            overlap(span, (slice.ended_unix_ns.saturating_sub(slice.elapsed.0), slice.ended_unix_ns)) > 0;
        for row in slice.ios.iter().filter(|row| lies_in && row.how == OwnedHow::Journal) {
            *ios.entry((who(row).0, row.device.clone())).or_default() += row.ios;
        }
    }
    ios.into_iter()
        .map(|((name, device), ios)| {
            format!("Meanwhile the journal wrote {ios} I/Os to {device} in transactions mostly of {name}.")
        })
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use iostack_model::answers::{DeviceEvent, Owner};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn owner(name: &str, process: u32) -> Owner {
        Owner { process, name: name.to_owned(), cgroup: "/a".to_owned() }
    }

    /// A read that the device had for 20 ms, alone.
    pub(in crate::watch) fn slow(name: &str, process: u32) -> SlowIo {
        SlowIo {
            owner: owner(name, process),
            how: OwnedHow::Itself,
            device: "vda".to_owned(),
            kind: IoKind::Read,
            bytes: 4096,
            ended_unix_ns: SECOND / 2,
            held_ns: 0,
            queue_ns: 1000,
            schedule_ns: 1000,
            device_ns: 20_000_000,
            in_flight: 0,
        }
    }

    /// A row of so many I/Os, each 1 ms in the device.
    pub(in crate::watch) fn neighbour(name: &str, process: u32, ios: u64) -> OwnedIo {
        OwnedIo {
            owner: owner(name, process),
            how: OwnedHow::Itself,
            device: "vda".to_owned(),
            kind: IoKind::Write,
            ios,
            bytes: ios * 4096,
            queue_ns: 0,
            device_ns: ios * 1_000_000,
            slowest_ns: 1_000_000,
        }
    }

    fn sleep(stack: &[&str]) -> LongSleep {
        LongSleep {
            owner: owner("db", 7),
            thread: 8,
            ended_unix_ns: SECOND / 2,
            slept_ns: 30_000_000,
            runnable_ns: 1000,
            waker: "jbd2/vda-8".to_owned(),
            behind: "swapper/0".to_owned(),
            stack: stack.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn cause(slice: WatchSlice) -> (WaitCause, bool, String) {
        let slice = WatchSlice { ended_unix_ns: SECOND, elapsed: Nanos::secs(1), ..slice };
        let explained = explain(&[slice], 10);
        let finding = &explained.findings[0];
        (finding.cause, finding.sure, finding.evidence.join(" "))
    }

    fn of_slow(io: SlowIo, ios: Vec<OwnedIo>) -> (WaitCause, bool) {
        let (cause, sure, _) = cause(WatchSlice { slow: vec![io], ios, ..WatchSlice::default() });
        (cause, sure)
    }

    #[test]
    fn the_stage_that_took_more_than_half_is_the_cause() {
        let alone = slow("db", 7);
        assert_eq!(of_slow(alone.clone(), vec![]), (WaitCause::Device, true));
        let stage =
            |held_ns, queue_ns, schedule_ns| SlowIo { held_ns, queue_ns, schedule_ns, ..alone.clone() };
        assert_eq!(of_slow(stage(21_000_000, 0, 0), vec![]), (WaitCause::CgroupLimit, true));
        assert_eq!(of_slow(stage(0, 21_000_000, 0), vec![]), (WaitCause::Scheduler, true));
        assert_eq!(of_slow(stage(0, 0, 21_000_000), vec![]), (WaitCause::Scheduler, true));
        assert_eq!(
            of_slow(stage(20_000_000, 0, 0), vec![]).0,
            WaitCause::Device,
            "half is not more than half"
        );
    }

    #[test]
    fn a_queue_is_a_neighbours_only_when_the_neighbours_have_three_times_the_own_device_time() {
        let queued = SlowIo { in_flight: QUEUE_LEAST, ..slow("db", 7) };
        let rows = |own, other| vec![neighbour("db", 7, own), neighbour("dd", 9, other)];
        assert_eq!(of_slow(queued.clone(), rows(10, 31)), (WaitCause::Neighbour, true));
        assert_eq!(of_slow(queued.clone(), rows(10, 30)), (WaitCause::OwnQueue, false));
        assert_eq!(of_slow(queued.clone(), vec![neighbour("db", 7, 10)]), (WaitCause::OwnQueue, true));
        let shallow = SlowIo { in_flight: QUEUE_LEAST - 1, ..queued };
        assert_eq!(of_slow(shallow, rows(10, 31)), (WaitCause::Device, false), "there was no queue");
    }

    #[test]
    fn a_flush_beside_it_counts_by_the_time_both_share() {
        let beside = |took_ns, device: &str| {
            let event = DeviceEvent {
                device: device.to_owned(),
                kind: IoKind::Flush,
                ended_unix_ns: SECOND / 2,
                took_ns,
                bytes: 0,
            };
            let slice =
                WatchSlice { slow: vec![slow("db", 7)], events: vec![event], ..WatchSlice::default() };
            let (cause, sure, _) = cause(slice);
            (cause, sure)
        };
        assert_eq!(beside(20_000_000, "vda"), (WaitCause::Flush, true));
        assert_eq!(beside(12_000_000, "vda"), (WaitCause::Flush, false));
        assert_eq!(beside(10_000_000, "vda").0, WaitCause::Device, "half is not more than half");
        assert_eq!(beside(20_000_000, "vdb").0, WaitCause::Device);
    }

    #[test]
    fn a_stack_says_what_a_thread_waited_for() {
        let of_stack =
            |stack: &[&str]| cause(WatchSlice { sleeps: vec![sleep(stack)], ..WatchSlice::default() });
        let (found, sure, words) = of_stack(&["schedule", "jbd2_log_wait_commit", "ext4_sync_file"]);
        assert_eq!((found, sure), (WaitCause::Journal, true));
        assert!(words.contains("30 ms") && words.contains("`jbd2/vda-8` woke it"), "{words}");
        let (found, _, words) =
            of_stack(&["schedule", "rwsem_down_write_slowpath.isra.0", "down_write", "ext4_file_write_iter"]);
        assert_eq!(found, WaitCause::Lock);
        assert!(words.contains("taken in ext4_file_write_iter"), "{words}");
        assert_eq!(of_stack(&["schedule", "pipe_read"]).0, WaitCause::Unknown);
        assert_eq!(of_stack(&[]).0, WaitCause::Unknown);
    }

    #[test]
    fn a_thread_that_was_awake_for_most_of_it_waited_for_a_cpu() {
        let awake =
            LongSleep { slept_ns: 1, runnable_ns: 2, behind: "cc1".to_owned(), ..sleep(&["io_schedule"]) };
        let (found, sure, words) = cause(WatchSlice { sleeps: vec![awake], ..WatchSlice::default() });
        assert_eq!((found, sure), (WaitCause::RunQueue, true));
        assert!(words.contains("`cc1` had before it"), "{words}");
    }

    #[test]
    fn the_wait_for_a_told_io_is_told_once_and_sums_are_of_all() {
        let wait = LongSleep { slept_ns: 20_000_000, ..sleep(&["io_schedule", "__iomap_dio_rw"]) };
        let other = LongSleep { owner: owner("x", 99), ..wait.clone() };
        let slice = WatchSlice {
            ended_unix_ns: SECOND,
            elapsed: Nanos::secs(1),
            slow: vec![slow("db", 7)],
            sleeps: vec![wait, other],
            ..WatchSlice::default()
        };
        let explained = explain(&[slice], 1);
        assert_eq!(explained.findings.len(), 1);
        let total: u64 = explained.causes.iter().map(|(_, number, _)| number).sum();
        assert_eq!(total, 2, "{explained:?}");
    }

    #[test]
    fn the_commit_that_a_sync_waited_for_is_told_with_its_owner() {
        let journal = OwnedIo { how: OwnedHow::Journal, ..neighbour("postgres", 12, 3) };
        let slice = WatchSlice {
            sleeps: vec![sleep(&["jbd2_log_wait_commit"])],
            ios: vec![journal],
            ..WatchSlice::default()
        };
        let (_, _, words) = cause(slice);
        assert!(words.contains("3 I/Os to vda in transactions mostly of postgres [12]"), "{words}");
    }
}
