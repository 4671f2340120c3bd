//! What held a slow I/O? Its own stages first, then what ran on its device meanwhile.
//!
//! ```text
//!   held back ── a cgroup's limit
//!   before the issue ── where its thread slept: no request free, write-back throttling, no CPU;  else the scheduler
//!   in the device ── a flush, a discard ── the device below ── its thread had no CPU ── it stood still ── whose queue
//! ```

use std::collections::BTreeMap;

use iostack_model::answers::{
    DeviceEvent, IoKind, LongSleep, OwnedHow, OwnedIo, SlowIo, WaitCause, WatchSlice, WhyFinding,
};
use iostack_model::{Bytes, Nanos};

use crate::waits::rule;

/// Device time of others, for each of its own, from which on they are the cause of a queue.
pub(super) const OTHERS_SHARE: u64 = 3;
/// I/Os in flight from which on there is a queue.
pub(super) const QUEUE_LEAST: u64 = 4;
/// A device stands still when it does less than this part of what it does on average.
const DIP_PART: u64 = 8;

/// A cause, whether the evidence leaves no other, and the evidence.
pub(super) type Verdict = (WaitCause, bool, Vec<String>);

/// Beginning and end, ns since 1970.
pub(super) type TimeSpan = (u64, u64);

pub(super) fn span_of_sleep(sleep: &LongSleep) -> TimeSpan {
    (sleep.ended_unix_ns.saturating_sub(sleep.slept_ns + sleep.runnable_ns), sleep.ended_unix_ns)
}

/// Time that both share, ns.
pub(super) fn overlap(a: TimeSpan, b: TimeSpan) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// The idle thread has no name of its own for people.
pub(super) fn thread_name(name: &str) -> String {
    match name {
        "" => "something unseen".to_owned(),
        idle if idle.starts_with("swapper") => "an interrupt of an idle CPU".to_owned(),
        name => format!("`{name}`"),
    }
}

pub(super) fn of_io(io: &SlowIo, slices: &[WatchSlice]) -> WhyFinding {
    let (cause, sure, evidence) = cause_of(io, slices, true);
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
        took: Nanos(io.whole_ns()),
        what: format!("{article}{verb} of {}{how}", Bytes(io.bytes)),
        cause,
        sure,
        evidence,
    }
}

/// Beginning and end of an I/O, without the time that a limit held it back.
fn span_of_io(io: &SlowIo) -> TimeSpan {
    (io.ended_unix_ns.saturating_sub(io.whole_ns() - io.held_ns), io.ended_unix_ns)
}

fn cause_of(io: &SlowIo, slices: &[WatchSlice], deeper: bool) -> Verdict {
    let whole = io.whole_ns();
    if io.held_ns * 2 > whole {
        let words =
            format!("The limit of cgroup {} held it back for {}.", io.owner.cgroup, Nanos(io.held_ns));
        (WaitCause::CgroupLimit, true, vec![words])
    } else if io.queue_ns * 2 > whole {
        before_issue(io, slices)
    } else if (io.queue_ns + io.schedule_ns) * 2 > whole {
        in_scheduler(io, slices, deeper)
    } else {
        of_device(io, slices, deeper)
    }
}

/// Reason why no request was made of it: where a thread of its owner slept meanwhile.
fn before_issue(io: &SlowIo, slices: &[WatchSlice]) -> Verdict {
    let begun = span_of_io(io).0;
    let span = (begun, begun + io.queue_ns);
    let waited = format!(
        "It waited {} of {} before {} had a request of it.",
        Nanos(io.queue_ns),
        Nanos(io.whole_ns()),
        io.device
    );
    let sleeps = slices.iter().flat_map(|slice| &slice.sleeps);
    let own = sleeps.filter(|sleep| sleep.owner.process == io.owner.process && !sleep.kernel);
    let beside = |sleep: &&LongSleep| overlap(span, span_of_sleep(sleep)) * 2 > io.queue_ns;
    for sleep in own.filter(beside) {
        if sleep.runnable_ns > sleep.slept_ns {
            let words = format!(
                "Its thread had no CPU for {}: {} had it.",
                Nanos(sleep.runnable_ns),
                thread_name(&sleep.behind)
            );
            return (WaitCause::RunQueue, false, vec![words, waited]);
        }
        if let Some((function, cause, words)) = rule(&sleep.stack) {
            let words = format!("Its thread slept {} in {function}, {words}.", Nanos(sleep.slept_ns));
            let mut evidence = vec![words, waited];
            let queued = *cause == WaitCause::Tag && io.in_flight >= QUEUE_LEAST;
            if queued {
                evidence.extend(of_queue(io, slices, span_of_io(io)).2);
            }
            let scheduler = scheduler_of(&io.device, slices);
            if *cause == WaitCause::Tag && !queued && GIVES_FEW.contains(&scheduler) {
                evidence.push(format!("The I/O scheduler {scheduler} gives one owner few of them."));
                return (WaitCause::Scheduler, false, evidence);
            }
            // Requests are all in use since somebody has a queue, or since the device stands still: never sure.
            return (*cause, *cause != WaitCause::Tag, evidence);
        }
    }
    if io.in_flight >= QUEUE_LEAST {
        let (cause, _, mut evidence) = of_queue(io, slices, span_of_io(io));
        evidence.push(waited);
        return (cause, false, evidence);
    }
    in_plug(io, slices, span, waited)
}

/// A thread gathers bios before it hands them on, and hands them on before it sleeps: it worked on, or had no CPU.
fn in_plug(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan, waited: String) -> Verdict {
    let (cause, whose) = match io.how {
        OwnedHow::WriteBack => (WaitCause::WriteBack, "the thread that writes back"),
        OwnedHow::Journal => (WaitCause::Journal, "the journal's thread"),
        OwnedHow::Work | OwnedHow::Kernel => (WaitCause::Worker, "a thread of the kernel"),
        _ => (WaitCause::Unknown, "its own thread"),
    };
    let words = format!("It lay with {whose}, which gathered more before it handed them on, or had no CPU.");
    match kernel_thread(slices, span) {
        Some((_, _, evidence)) if cause != WaitCause::Unknown => {
            (WaitCause::Worker, false, evidence.into_iter().chain([words, waited]).collect())
        }
        _ => (cause, false, vec![words, waited]),
    }
}

/// Schedulers that let an owner have only a part of the device's requests.
const GIVES_FEW: [&str; 2] = ["bfq", "kyber"];

fn scheduler_of<'a>(device: &str, slices: &'a [WatchSlice]) -> &'a str {
    let mut devices = slices.iter().flat_map(|slice| &slice.devices);
    devices.find(|each| each.name == device).map_or("", |each| &each.scheduler)
}

/// Reason why it was not issued: a scheduler is to blame when it held the I/O back while the device had little to do.
fn in_scheduler(io: &SlowIo, slices: &[WatchSlice], deeper: bool) -> Verdict {
    let name = scheduler_of(&io.device, slices);
    let before = io.queue_ns + io.schedule_ns;
    let lay = |place: &str| format!("It lay in {place} for {} of {}.", Nanos(before), Nanos(io.whole_ns()));
    if name.is_empty() {
        let (cause, sure, mut evidence) = of_device(io, slices, deeper);
        evidence.push(lay("the queue before the driver"));
        return (cause, sure, evidence);
    }
    let mut evidence = vec![lay(&format!("the I/O scheduler {name}"))];
    if io.in_flight >= QUEUE_LEAST {
        // Which of a queue goes first is the scheduler's choice; that there is one is its owners'.
        let (cause, _, mut queue) = of_queue(io, slices, span_of_io(io));
        queue.append(&mut evidence);
        return (cause, false, queue);
    }
    (WaitCause::Scheduler, true, evidence)
}

/// Reason why the device took long.
fn of_device(io: &SlowIo, slices: &[WatchSlice], deeper: bool) -> Verdict {
    // A device without a scheduler may leave an I/O in its queue: that is its time, too.
    let took = io.schedule_ns + io.device_ns;
    let span = (io.ended_unix_ns.saturating_sub(took), io.ended_unix_ns);
    let in_device = format!("{} had it for {} of {}.", io.device, Nanos(took), Nanos(io.whole_ns()));
    let found = event_beside(io, slices, span)
        .or_else(|| deeper.then(|| device_below(io, slices, span)).flatten())
        .or_else(|| worker(io, slices, span))
        .or_else(|| interrupted(io, slices, span))
        .or_else(|| dip(io, slices, span));
    if let Some((cause, sure, mut evidence)) = found {
        evidence.push(in_device);
        return (cause, sure, evidence);
    }
    let beside = io.ended_beside.unwrap_or(0);
    if io.in_flight < QUEUE_LEAST && beside < QUEUE_LEAST {
        let words = match io.in_flight {
            0 => format!("Nothing else was in flight on {} when it was queued.", io.device),
            few => format!("Only {few} others were in flight on {} when it was queued.", io.device),
        };
        // A thread of the kernel between may have had no CPU for times too short to be told.
        let sure = io.in_flight == 0 && below(&io.device, slices).is_none();
        return (WaitCause::Device, sure, vec![in_device, words]);
    }
    let (cause, sure, mut evidence) = of_queue(io, slices, span);
    evidence.push(in_device);
    (cause, sure, evidence)
}

/// A flush or a discard that ran beside it for most of the time.
fn event_beside(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    for (kind, cause) in [(IoKind::Flush, WaitCause::Flush), (IoKind::Discard, WaitCause::Discard)] {
        let events = slices.iter().flat_map(|slice| &slice.events);
        let of_kind =
            events.filter(|event| event.kind == kind && event.device == io.device && io.kind != kind);
        let beside = |event: &DeviceEvent| {
            overlap(span, (event.ended_unix_ns.saturating_sub(event.took_ns), event.ended_unix_ns))
        };
        let mut owner = None;
        let (mut number, mut shared) = (0, 0);
        for (event, ns) in of_kind.map(|event| (event, beside(event))).filter(|(_, ns)| *ns > 0) {
            (number, shared) = (number + 1, shared + ns);
            owner = event.owner.as_ref().or(owner);
        }
        let took = span.1 - span.0;
        if shared * 2 > took {
            let whose = owner.map_or_else(String::new, |owner| {
                format!(", asked for by {} [{}]", owner.name, owner.process)
            });
            let plural = if number == 1 { "" } else { "es" };
            let plural = if kind == IoKind::Discard { plural.trim_start_matches('e') } else { plural };
            let words = format!(
                "{number} {}{plural} of {} ran beside it for {}{whose}.",
                kind.name(),
                io.device,
                Nanos(shared.min(took))
            );
            return Some((cause, shared * 5 > took * 4, vec![words]));
        }
    }
    None
}

/// The device on which its device lies had the same work for most of the time.
fn device_below(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    let lower = below(&io.device, slices)?;
    let slow = slices.iter().flat_map(|slice| &slice.slow);
    let of_it = slow.filter(|other| {
        lower.contains(&other.device)
            && (other.owner.process == io.owner.process || other.how == OwnedHow::Throttled)
    });
    let longest = of_it.max_by_key(|other| overlap(span, span_of_whole(other)));
    let shared = longest.map_or(0, |other| overlap(span, span_of_whole(other)));
    let Some(longest) = longest.filter(|_| shared * 2 > span.1 - span.0) else {
        // Nobody knows since when a limit held those that no thread waits for.
        let held = |row: &&OwnedIo| row.how == OwnedHow::Throttled && lower.contains(&row.device);
        let held: u64 = rows_in(slices, span).filter(held).map(|row| row.ios).sum();
        let words = format!(
            "Meanwhile {held} I/Os of {} below came from behind the limit of a cgroup.",
            lower.join(", ")
        );
        return (held > 0).then(|| (WaitCause::CgroupLimit, false, vec![words]));
    };
    let (cause, sure, mut evidence) = cause_of(longest, slices, false);
    evidence.insert(0, format!("{} below had it for {}.", longest.device, Nanos(shared)));
    Some((cause, sure && shared * 5 > (span.1 - span.0) * 4, evidence))
}

fn span_of_whole(io: &SlowIo) -> TimeSpan {
    (io.ended_unix_ns.saturating_sub(io.whole_ns()), io.ended_unix_ns)
}

fn below<'a>(device: &str, slices: &'a [WatchSlice]) -> Option<&'a Vec<String>> {
    let mut devices = slices.iter().flat_map(|slice| &slice.devices);
    devices.find(|each| each.name == device && !each.below.is_empty()).map(|each| &each.below)
}

/// Threads of the kernel work for a device that lies on another; which of them for this one is not seen.
fn worker(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    below(&io.device, slices)?;
    kernel_thread(slices, span)
}

/// The CPU that ended it was at interrupts for most of the intervals that the time lies in.
fn interrupted(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    let cpu = io.cpu?;
    let (mut busy, mut elapsed) = (0, 0);
    for slice in slices_in(slices, span) {
        busy += slice.interrupts_ns.get(cpu as usize).unwrap_or(&0);
        elapsed += slice.elapsed.0;
    }
    let words = format!(
        "CPU {cpu}, which was told of its end, spent {} of {} on interrupts.",
        Nanos(busy),
        Nanos(elapsed)
    );
    (busy * 2 > elapsed).then(|| (WaitCause::Interrupts, false, vec![words]))
}

/// A thread of the kernel waited for a CPU for most of a time.
fn kernel_thread(slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    let sleeps = slices.iter().flat_map(|slice| &slice.sleeps);
    let waits = sleeps.filter(|sleep| sleep.kernel && overlap(span, span_of_sleep(sleep)) > 0);
    let longest = waits.max_by_key(|sleep| overlap(span, span_of_sleep(sleep)))?;
    let shared = overlap(span, span_of_sleep(longest));
    let words = format!(
        "The kernel's thread {} waited {} for a CPU, which {} had before it.",
        longest.owner.name,
        Nanos(longest.runnable_ns),
        thread_name(&longest.behind)
    );
    (shared * 2 > span.1 - span.0).then(|| (WaitCause::Worker, false, vec![words]))
}

/// I/Os and bytes that its device does on average in so much time.
fn mean_of(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> (u64, u64) {
    let rows = slices.iter().flat_map(|slice| &slice.ios).filter(|row| row.device == io.device);
    let (ios, bytes) = rows.fold((0, 0), |sum, row| (sum.0 + row.ios, sum.1 + row.bytes));
    let elapsed = slices.iter().map(|slice| slice.elapsed.0).sum::<u64>().max(1);
    let share = |of_all: u64| (u128::from(of_all) * u128::from(span.1 - span.0) / u128::from(elapsed)) as u64;
    (share(ios), share(bytes))
}

/// The device did next to nothing, compared with its mean, while I/Os waited.
fn dip(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Option<Verdict> {
    let ended = io.ended_beside?;
    let (ios, bytes) = mean_of(io, slices, span);
    let stood = ended <= io.in_flight && ended * DIP_PART < ios && io.bytes_beside * DIP_PART < bytes;
    if io.in_flight == 0 || ios < DIP_PART || !stood {
        return None;
    }
    let words = format!(
        "With {} others in flight, {} ended {ended} of them in that time; {} would be its mean.",
        io.in_flight, io.device, ios
    );
    let sure = io.in_flight >= QUEUE_LEAST && below(&io.device, slices).is_none();
    Some((WaitCause::Dip, sure, vec![words]))
}

/// Owner whose I/Os fill the queue. Sure only where the device did the others' in that time.
fn of_queue(io: &SlowIo, slices: &[WatchSlice], span: TimeSpan) -> Verdict {
    let (own, others) = shares(io.owner.process, &io.device, slices, span);
    let ended = io.ended_beside.map_or_else(String::new, |ended| {
        format!("; until its end {ended} others of {} ended", Bytes(io.bytes_beside))
    });
    let queue = format!("{} others were in flight on {} when it was queued{ended}.", io.in_flight, io.device);
    // A queue that the device worked through, at no less than an eighth of its mean.
    let (ios, bytes) = mean_of(io, slices, span);
    let moved = io.ended_beside.is_some_and(|ended| {
        ended * 2 >= io.in_flight && (ios <= ended * DIP_PART || bytes <= io.bytes_beside * DIP_PART)
    });
    match others.first() {
        Some((loudest, ns)) if others.iter().map(|(_, ns)| ns).sum::<u64>() > OTHERS_SHARE * own => {
            let words = format!(
                "Meanwhile {loudest} had {} of device time in flight, its own owner {}.",
                Nanos(*ns),
                Nanos(own)
            );
            (WaitCause::Neighbour, moved && io.in_flight >= QUEUE_LEAST, vec![words, queue])
        }
        _ => {
            let words = format!("Most of them are its own owner's: {} of device time.", Nanos(own));
            (WaitCause::OwnQueue, moved && others.is_empty(), vec![queue, words])
        }
    }
}

/// Device time of a process, and of others by owner, the largest first, in the slices that a time lies in.
pub(super) fn shares(
    process: u32,
    device: &str,
    slices: &[WatchSlice],
    span: TimeSpan,
) -> (u64, Vec<(String, u64)>) {
    let mut own = 0;
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows_in(slices, span).filter(|row| row.device == device) {
        if row.owner.process == process {
            own += row.queue_ns + row.device_ns;
        } else {
            let (name, how) = (who(row), row.how.words());
            let words = format!("{name} of {} ({}, {how})", row.owner.cgroup, row.kind.name());
            *others.entry(words).or_default() += row.queue_ns + row.device_ns;
        }
    }
    let mut others: Vec<_> = others.into_iter().collect();
    others.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    (own, others)
}

/// Slices that a time lies in.
pub(super) fn slices_in(slices: &[WatchSlice], span: TimeSpan) -> impl Iterator<Item = &WatchSlice> {
    let lies_in = move |slice: &&WatchSlice| {
        overlap(span, (slice.ended_unix_ns.saturating_sub(slice.elapsed.0), slice.ended_unix_ns)) > 0
    };
    slices.iter().filter(lies_in)
}

/// Rows of these.
pub(super) fn rows_in(slices: &[WatchSlice], span: TimeSpan) -> impl Iterator<Item = &OwnedIo> {
    slices_in(slices, span).flat_map(|slice| &slice.ios)
}

pub(super) fn who(row: &OwnedIo) -> String {
    match row.owner.process {
        0 => "nobody".to_owned(),
        process => format!("{} [{process}]", row.owner.name),
    }
}
