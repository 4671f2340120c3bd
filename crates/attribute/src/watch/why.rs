//! What held a slow I/O, or a thread that slept long? Pure: from what a watch saw at that moment.
//!
//! A cause is `sure` only where the evidence is of the I/O itself (its own stages, the stack it slept in) or covers most of
//! its time; a neighbour that was merely busy at the same time is not.

use std::collections::{BTreeMap, BTreeSet};

use iostack_model::Nanos;
use iostack_model::answers::{LongSleep, OwnedHow, WaitCause, WatchSlice, WhyFinding};

use super::slow::{
    OTHERS_SHARE, QUEUE_LEAST, TimeSpan, Verdict, of_io, overlap, rows_in, shares, slices_in, span_of_sleep,
    thread_name, who,
};
use crate::waits::{Rule, bare, is_lock, rule};

/// Causes of slow I/Os and sleeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// Number and total time by cause, the largest total first.
    pub causes: Vec<(WaitCause, u64, Nanos)>,
    /// Each, the slowest first.
    pub findings: Vec<WhyFinding>,
}

/// Functions in which a thread waits for I/O, whose slowness is told with the I/O.
const FOR_IO: [&str; 13] = [
    "io_schedule",
    "io_schedule_timeout",
    "blk_io_schedule",
    "io_cqring_wait",
    "read_events",
    "submit_bio_wait",
    "__iomap_dio_rw",
    "blkdev_direct_IO",
    "folio_wait_bit",
    "folio_wait_bit_common",
    "wait_on_page_bit_common",
    "folio_wait_writeback",
    "__wait_on_buffer",
];

/// Explains what `slices` tell, which lie one behind the other; at most so many findings, all of the counts.
pub fn explain(slices: &[WatchSlice], most: usize) -> Explained {
    let mut findings: Vec<WhyFinding> = Vec::new();
    for slice in slices {
        findings.extend(slice.slow.iter().map(|io| of_io(io, slices)));
    }
    let ios = findings.len();
    for sleep in slices.iter().flat_map(|slice| &slice.sleeps).filter(|sleep| !sleep.kernel) {
        // The wait for an I/O that is told is told with it.
        let span = span_of_sleep(sleep);
        let told = || {
            let own = findings[..ios].iter().filter(|io| io.owner.process == sleep.owner.process);
            own.map(|io| overlap(span_of(io), span)).sum::<u64>() * 2 > span.1 - span.0
        };
        if !(is_for_io(sleep) && sleep.runnable_ns <= sleep.slept_ns && told()) {
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

fn span_of(finding: &WhyFinding) -> TimeSpan {
    (finding.ended_unix_ns.saturating_sub(finding.took.0), finding.ended_unix_ns)
}

fn is_for_io(sleep: &LongSleep) -> bool {
    rule(&sleep.stack).is_none_or(|rule| rule.1 == WaitCause::Unknown)
        && sleep.stack.iter().any(|function| FOR_IO.contains(&bare(function)))
}

/// Functions that let a lock go. The kernel leaves those that take one out of stacks.
const LETS_GO: [&str; 8] = [
    "up_write",
    "up_read",
    "__up_write",
    "__up_read",
    "rwsem_wake",
    "__mutex_unlock_slowpath",
    "mutex_unlock",
    "up",
];

/// The function in which the waker let go of a lock, for which it must have waited; an interrupt's are not the waker's own.
fn let_go(sleep: &LongSleep) -> Option<&str> {
    let own =
        sleep.waker_stack.iter().take_while(|name| !name.contains("irq") && !name.contains("interrupt"));
    let mut own = own.map(String::as_str);
    own.by_ref().take(3).find(|name| LETS_GO.contains(&bare(name)))?;
    own.find(|name| !LETS_GO.contains(&bare(name)))
}

fn of_sleep(sleep: &LongSleep, slices: &[WatchSlice]) -> WhyFinding {
    let whole = sleep.slept_ns + sleep.runnable_ns;
    let (cause, sure, evidence) = if let Some(found) = rule(&sleep.stack) {
        of_rule(sleep, found, slices)
    } else if sleep.runnable_ns > sleep.slept_ns {
        without_cpu(sleep)
    } else if let Some(function) = let_go(sleep) {
        let taken = sleep.stack.first().map_or("", String::as_str);
        let words = format!("{} held the lock, and let it go in {function}.", thread_name(&sleep.waker));
        (WaitCause::Lock, true, vec![slept(sleep, taken), words])
    } else if is_for_io(sleep) {
        for_io(sleep, slices)
    } else {
        let place = sleep.stack.iter().find(|name| !is_lock(name));
        (WaitCause::Unknown, false, vec![slept(sleep, place.map_or("", String::as_str))])
    };
    let (cause, sure, evidence) = match cause {
        WaitCause::Unknown => by_waker(sleep, evidence),
        _ => (cause, sure, evidence),
    };
    WhyFinding {
        owner: sleep.owner.clone(),
        device: String::new(),
        ended_unix_ns: sleep.ended_unix_ns,
        took: Nanos(whole),
        what: if sleep.slept_ns == 0 {
            format!("a wait of thread {}", sleep.thread)
        } else {
            format!("a sleep of thread {}", sleep.thread)
        },
        cause,
        sure,
        evidence,
    }
}

/// A cause that its own stack does not tell, by what its waker did: pages that were written.
fn by_waker(sleep: &LongSleep, mut evidence: Vec<String>) -> Verdict {
    let written = ["folio_end_writeback", "end_page_writeback", "do_writepages"];
    let Some(function) = sleep.waker_stack.iter().find(|name| written.contains(&bare(name))) else {
        return (WaitCause::Unknown, false, evidence);
    };
    evidence.push(format!("It was woken in {function}, where pages are written back."));
    (WaitCause::WriteBack, false, evidence)
}

/// A sentence on where it slept, if that is known, and who woke it.
fn slept(sleep: &LongSleep, place: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!(" in {place}") };
    format!("It slept {}{place}; {} woke it.", Nanos(sleep.slept_ns), thread_name(&sleep.waker))
}

/// It was awake for most of it.
fn without_cpu(sleep: &LongSleep) -> Verdict {
    let (time, behind) = (Nanos(sleep.runnable_ns), thread_name(&sleep.behind));
    if sleep.slept_ns == 0 && sleep.stack.first().is_some_and(|name| bare(name) == "task_work_run") {
        // The scheduler's own functions are left out of stacks; of what runs there, only the limit of CPU time waits.
        let words = format!(
            "It was held for {time} on its way back to user space, as by a limit of its cgroup's CPU time."
        );
        return (WaitCause::CgroupLimit, false, vec![words]);
    }
    let idle = sleep.behind.starts_with("swapper");
    let (cause, words) = match sleep.slept_ns {
        0 => (
            WaitCause::Preempted,
            format!("It lost its CPU for {time}; {behind} had it before it came back."),
        ),
        _ => (
            WaitCause::RunQueue,
            format!(
                "Woken by {}, it waited {time} for a CPU, which {behind} had before it.",
                thread_name(&sleep.waker)
            ),
        ),
    };
    // No thread had an idle CPU: it may be a limit of CPU time, or the hypervisor.
    (cause, !idle, vec![words])
}

/// The stack says what it waited for.
fn of_rule(sleep: &LongSleep, (function, cause, words): &Rule, slices: &[WatchSlice]) -> Verdict {
    let (took, verb) = match sleep.slept_ns {
        0 => (sleep.runnable_ns, "was held"),
        slept => (slept, "slept"),
    };
    let mut evidence = vec![format!(
        "It {verb} {} in {function}, {words}; {} woke it.",
        Nanos(took),
        thread_name(&sleep.waker)
    )];
    if *cause == WaitCause::Journal {
        evidence.extend(commits(slices, span_of_sleep(sleep)));
    }
    if *cause == WaitCause::Lock {
        let taken = sleep.stack.iter().find(|name| !is_lock(name));
        evidence.extend(taken.map(|name| format!("The lock is taken in {name}.")));
    }
    // Requests are all in use since somebody has a queue.
    let sure = *cause != WaitCause::Tag && (sleep.slept_ns >= sleep.runnable_ns || sleep.slept_ns == 0);
    (*cause, sure, evidence)
}

/// It waited for I/Os of which none was slow, or that are not its own.
fn for_io(sleep: &LongSleep, slices: &[WatchSlice]) -> Verdict {
    let span = span_of_sleep(sleep);
    let place = sleep.stack.iter().find(|name| FOR_IO.contains(&bare(name)));
    let mut evidence = vec![slept(sleep, place.map_or("", |name| bare(name)))];
    let process = sleep.owner.process;
    let held = rows_in(slices, span)
        .filter(|row| row.how == OwnedHow::Throttled && row.owner.cgroup == sleep.owner.cgroup);
    let held: u64 = held.map(|row| row.ios).sum();
    if held > 0 {
        evidence.push(format!(
            "Meanwhile {held} I/Os of its cgroup {} came from behind its limit.",
            sleep.owner.cgroup
        ));
        return (WaitCause::CgroupLimit, false, evidence);
    }
    let devices: BTreeSet<&str> = rows_in(slices, span).map(|row| row.device.as_str()).collect();
    let elapsed: u64 = slices_in(slices, span).map(|slice| slice.elapsed.0).sum();
    let shares = devices.iter().map(|device| (device, shares(process, device, slices, span)));
    let Some((device, (own, others))) =
        shares.filter(|(_, shares)| shares.0 > 0).max_by_key(|(_, shares)| shares.0)
    else {
        return (WaitCause::Unknown, false, evidence);
    };
    let total: u64 = others.iter().map(|(_, ns)| ns).sum();
    let (cause, words) = match others.first() {
        Some((loudest, ns)) if total > own * OTHERS_SHARE && total > elapsed * QUEUE_LEAST => {
            (WaitCause::Neighbour, format!("{loudest} had {} of device time on {device}", Nanos(*ns)))
        }
        _ if own > elapsed * QUEUE_LEAST => (WaitCause::OwnQueue, format!("it had many I/Os on {device}")),
        _ => return (WaitCause::Unknown, false, evidence),
    };
    evidence.push(format!("Meanwhile {words}, its own took {}.", Nanos(own)));
    (cause, false, evidence)
}

/// A sentence on each owner whose journal I/Os ran meanwhile, and one on a slow one of those.
fn commits(slices: &[WatchSlice], span: TimeSpan) -> Vec<String> {
    let mut ios: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in rows_in(slices, span).filter(|row| row.how == OwnedHow::Journal) {
        *ios.entry((who(row), row.device.clone())).or_default() += row.ios;
    }
    let of_owners = ios.into_iter().map(|((name, device), ios)| {
        format!("Meanwhile the journal wrote {ios} I/Os to {device} in transactions mostly of {name}.")
    });
    let mut evidence: Vec<String> = of_owners.collect();
    let slow = slices.iter().flat_map(|slice| &slice.slow).filter(|io| io.how == OwnedHow::Journal);
    let slowest = slow.map(|io| of_io(io, slices)).max_by_key(|io| overlap(span_of(io), span));
    let slowest = slowest.filter(|io| overlap(span_of(io), span) * 2 > span.1 - span.0);
    evidence.extend(slowest.map(|io| format!("Of these {} took {}. {}", io.what, io.took, io.evidence[0])));
    evidence
}

#[cfg(test)]
pub(super) mod tests;
