//! What does the thread do when nobody steps it?
//!
//! Context switches and CPU time mean nothing while a thread is stepped, so they come from a short window in which
//! it runs freely. The I/Os of that window are counted by whichever counter of the kernel sees them; which one it
//! was is part of the answer, and without one there is no answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use iostack_model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

use super::rings;
use super::summary::Counted;
use super::threads::{self, counters, file, sum};

/// Counter of the kernel that told the I/Os of the window in which the thread ran freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The completion queue's tail of the thread's ring (`/proc/PID/fdinfo`); exact.
    Ring,
    /// The thread's read and write calls (`syscr` and `syscw`), times the share of them that carried I/O while it
    /// was stepped.
    Calls,
    /// The thread's bytes at the block layer (`read_bytes` and `write_bytes`), over the bytes per I/O while it was
    /// stepped.
    Bytes,
}

/// A window in which the thread ran freely.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FreeRun {
    /// Length of the window.
    pub window: Nanos,
    /// I/Os of the thread within it.
    pub ios: f64,
    /// How they were counted.
    pub counted_by: CountedBy,
    /// I/Os per second of the thread.
    pub ios_per_second: f64,
    /// Context switches per I/O because the thread waited.
    pub switches_voluntary_per_io: f64,
    /// Context switches per I/O because its time was up.
    pub switches_involuntary_per_io: f64,
    /// CPU time of the thread per I/O, user and kernel, ns.
    pub cpu_ns_per_io: f64,
    /// Busy share of the thread, 0..=1.
    pub busy: f64,
}

/// Counters of a thread, at one moment or of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadCounts {
    window: Duration,
    cpu_ns: u64,
    voluntary: u64,
    involuntary: u64,
    calls: u64,
    bytes: u64,
    /// Completions of each ring, by descriptor; they wrap.
    completions: BTreeMap<u64, u32>,
}

fn counts_now(pid: i32, tid: i32) -> Option<ThreadCounts> {
    let status = file(pid, tid, "status")?;
    let io = counters(pid, tid, "io");
    Some(ThreadCounts {
        window: Duration::ZERO,
        cpu_ns: threads::cpu_ns(pid, tid)?,
        voluntary: sum(&status, &["voluntary_ctxt_switches"]),
        involuntary: sum(&status, &["nonvoluntary_ctxt_switches"]),
        calls: sum(&io, &["syscr", "syscw"]),
        bytes: sum(&io, &["read_bytes", "write_bytes"]),
        completions: rings::rings(pid).into_iter().map(|(number, ring)| (number, ring.completions)).collect(),
    })
}

/// Watches a thread for `window` without touching it; `None` when it ends meanwhile.
pub(crate) fn watch(pid: i32, tid: i32, window: Duration) -> Option<ThreadCounts> {
    let (before, began) = (counts_now(pid, tid)?, Instant::now());
    std::thread::sleep(window);
    let (mut after, window) = (counts_now(pid, tid)?, began.elapsed());
    after.completions.retain(|descriptor, _| before.completions.contains_key(descriptor));
    for (descriptor, tail) in &mut after.completions {
        *tail = tail.wrapping_sub(before.completions[descriptor]);
    }
    Some(ThreadCounts {
        window,
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        voluntary: after.voluntary - before.voluntary,
        involuntary: after.involuntary - before.involuntary,
        calls: after.calls.saturating_sub(before.calls),
        bytes: after.bytes.saturating_sub(before.bytes),
        ..after
    })
}

/// Turns counters into figures per I/O, with the best count of I/Os there is.
pub(crate) fn per_io(delta: &ThreadCounts, counted: &Counted) -> Option<FreeRun> {
    let (counted_by, ios) = ios(delta, counted)?;
    let seconds = delta.window.as_secs_f64();
    Some(FreeRun {
        window: Nanos(u64::try_from(delta.window.as_nanos()).ok()?),
        ios,
        counted_by,
        ios_per_second: ios / seconds,
        switches_voluntary_per_io: delta.voluntary as f64 / ios,
        switches_involuntary_per_io: delta.involuntary as f64 / ios,
        cpu_ns_per_io: delta.cpu_ns as f64 / ios,
        busy: (delta.cpu_ns as f64 / 1e9 / seconds).min(1.0),
    })
}

fn ios(delta: &ThreadCounts, counted: &Counted) -> Option<(CountedBy, f64)> {
    let found = if counted.rings {
        let sole = delta.completions.values().next().filter(|_| delta.completions.len() == 1);
        let entered = counted.ring.and_then(|descriptor| delta.completions.get(&descriptor));
        entered.or(sole).map(|&count| (CountedBy::Ring, f64::from(count)))
    } else if counted.transfers > 0 && counted.transfers_with_io == counted.ios {
        let share = counted.transfers_with_io as f64 / counted.transfers as f64;
        Some((CountedBy::Calls, delta.calls as f64 * share))
    } else {
        None
    };
    let by_bytes = || {
        let bytes_per_io = counted.bytes as f64 / counted.ios as f64;
        (bytes_per_io > 0.0).then(|| (CountedBy::Bytes, delta.bytes as f64 / bytes_per_io))
    };
    found.filter(|&(_, ios)| ios >= 1.0).or_else(by_bytes).filter(|&(_, ios)| ios >= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta() -> ThreadCounts {
        ThreadCounts {
            window: Duration::from_millis(500),
            cpu_ns: 250_000_000,
            voluntary: 1000,
            involuntary: 10,
            calls: 2000,
            bytes: 4_096_000,
            completions: BTreeMap::from([(5, 1000)]),
        }
    }

    #[test]
    fn a_ring_counts_its_own_completions_and_calls_those_that_carried_io_or_else_bytes_tell() {
        let two_rings = BTreeMap::from([(5, 1000), (6, 7)]);
        let two_rings = ThreadCounts { completions: two_rings, ..delta() };
        let bytes = Counted { ios: 10, bytes: 40_960, ..Counted::default() };
        for (delta, counted, by) in [
            // Half of the stepped reads went to an event counter.
            (delta(), Counted { transfers: 20, transfers_with_io: 10, ..bytes.clone() }, CountedBy::Calls),
            (two_rings.clone(), Counted { rings: true, ring: Some(5), ..bytes.clone() }, CountedBy::Ring),
            (two_rings, Counted { rings: true, ..bytes.clone() }, CountedBy::Bytes),
            (delta(), bytes, CountedBy::Bytes),
        ] {
            let free = per_io(&delta, &counted).unwrap();
            assert_eq!((free.counted_by, free.ios, free.ios_per_second), (by, 1000.0, 2000.0));
            assert_eq!((free.switches_voluntary_per_io, free.switches_involuntary_per_io), (1.0, 0.01));
            assert_eq!((free.cpu_ns_per_io, free.busy), (250_000.0, 0.5));
        }
        assert_eq!(per_io(&delta(), &Counted { ios: 10, ..Counted::default() }), None, "nobody tells");
    }

    #[test]
    fn counters_are_read_by_their_whole_name() {
        let text = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(sum(text, &["voluntary_ctxt_switches"]), 7);
        assert_eq!(sum(text, &["nonvoluntary_ctxt_switches", "voluntary_ctxt_switches"]), 9);
    }
}
