//! Which way pays on this device for this load?
//!
//! Calls are plain until a trial says otherwise (`decide.rs`). A plain call costs a look at one shared word that seldom changes, and a
//! countdown of the thread's; each 61st reads the clock twice and takes a lock if it is free. Where calls take long, so that few
//! come, more of them do.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::decide::{Decision, Mark, Reason, Step};
use super::{Advice, Carry};
use crate::Policy;
use crate::sys::{Device, Pending, Request, process_cpu_ns};

/// The way that is tried: it goes as synchronous temporal merge where the device serves one batch at a time, by the costs that it fits.
pub(crate) const MERGING: Policy = Policy::Hybrid;
/// Calls between two looks at the clock while all are counted.
const LOOK: u64 = 16;

pub(crate) struct Auto {
    /// The decision's step, for every call to see.
    step: AtomicU8,
    other: Box<dyn Carry>,
    decision: Mutex<Decision>,
    calls: AtomicU64,
    /// Callers that are in the other way, and the most since the last look.
    callers: AtomicU32,
    callers_max: AtomicU32,
    began: Instant,
}

const STEPS: [Step; 4] = [Step::Rest, Step::Plain, Step::Other, Step::Kept];

/// A thread's countdown to the next call that is timed.
#[derive(Clone, Copy)]
struct Due {
    left: u32,
    stride: u32,
    last: Option<Instant>,
}

thread_local! {
    static DUE: Cell<Due> = const { Cell::new(Due { left: 1, stride: 1, last: None }) };
}

/// True when this call is to be timed.
fn is_due() -> bool {
    let next = |due: &Cell<Due>| {
        let Due { left, .. } = due.get();
        due.set(Due { left: left.saturating_sub(1), ..due.get() });
        left <= 1
    };
    DUE.try_with(next).unwrap_or(false)
}

/// Looks cost some 100 ns: below a thousandth of what is timed.
fn stride_after(latency: Duration) -> u32 {
    match latency.as_micros() {
        0..10 => 61,
        10..100 => 17,
        _ => 5,
    }
}

impl Auto {
    /// Chooses between plain calls and another way.
    pub(crate) fn new(other: Box<dyn Carry>) -> Auto {
        Auto {
            step: AtomicU8::new(0),
            other,
            decision: Mutex::new(Decision::default()),
            calls: AtomicU64::new(0),
            callers: AtomicU32::new(0),
            callers_max: AtomicU32::new(0),
            began: Instant::now(),
        }
    }

    fn step(&self) -> Step {
        STEPS[usize::from(self.step.load(Ordering::Relaxed)) % STEPS.len()]
    }

    fn plain(&self, call: impl FnOnce() -> io::Result<usize>) -> Option<io::Result<usize>> {
        match self.step() {
            Step::Rest => {
                if !is_due() {
                    return Some(call());
                }
                let began = Instant::now();
                let result = call();
                self.sampled(began);
                Some(result)
            }
            Step::Plain => {
                let result = call();
                self.count();
                Some(result)
            }
            Step::Other | Step::Kept => None,
        }
    }

    #[cold]
    fn sampled(&self, began: Instant) {
        let now = Instant::now();
        let latency = now - began;
        let next = stride_after(latency);
        let place = |due: &Cell<Due>| {
            let thread = std::ptr::from_ref(due).addr();
            (thread, due.replace(Due { left: next, stride: next, last: Some(now) }))
        };
        let Ok((thread, Due { stride, last, .. })) = DUE.try_with(place) else { return };
        // Those that were not timed are taken to have been as long; a single one that took very long does not stand for all.
        let busy = last.map_or(latency, |last| (latency * stride).min((now - last) * 8));
        self.decide(|decision, mark| decision.sample(mark, thread, nanos(latency), nanos(busy)));
    }

    /// One more call is through.
    fn count(&self) {
        if (self.calls.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(LOOK) {
            let callers = self.callers_max.swap(self.callers.load(Ordering::Relaxed), Ordering::Relaxed);
            self.decide(|decision, mark| decision.counted(mark, callers));
        }
    }

    /// Unless another caller does so now. The clock is read under the lock, so that marks never go back.
    fn decide(&self, decide: impl FnOnce(&mut Decision, Mark) -> Step) {
        let Ok(mut decision) = self.decision.try_lock() else { return };
        let now_ns = nanos(self.began.elapsed());
        let cpu_ns = match self.step() {
            Step::Plain | Step::Other => process_cpu_ns(),
            Step::Rest | Step::Kept => 0,
        };
        let calls = self.calls.load(Ordering::Relaxed);
        let step = decide(&mut decision, Mark { now_ns, cpu_ns, calls });
        let index = STEPS.iter().position(|one| *one == step).unwrap_or(0);
        self.step.store(u8::try_from(index).unwrap_or(0), Ordering::Relaxed);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Carry for Auto {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        let callers = self.callers.fetch_add(1, Ordering::Relaxed) + 1;
        if self.callers_max.load(Ordering::Relaxed) < callers {
            self.callers_max.store(callers, Ordering::Relaxed);
        }
        self.other.carry(device, request, pending);
        self.callers.fetch_sub(1, Ordering::Relaxed);
        self.count();
    }

    fn read(&self, device: &dyn Device, buffer: &mut [u8], offset: u64) -> Option<io::Result<usize>> {
        self.plain(|| device.read(buffer, offset))
    }

    fn write(&self, device: &dyn Device, buffer: &[u8], offset: u64) -> Option<io::Result<usize>> {
        self.plain(|| device.write(buffer, offset))
    }

    fn advice(&self) -> Option<Advice> {
        let reason = self.decision.lock().unwrap_or_else(PoisonError::into_inner).reason();
        let policy = if self.step() == Step::Kept { MERGING } else { Policy::Pread };
        Some(Advice { policy, why: why(reason) })
    }
}

fn why(reason: Reason) -> String {
    match reason {
        Reason::Unknown => "too few calls so far to tell".to_owned(),
        Reason::Alone { callers } => format!("{callers:.1} callers at a time have nothing to merge"),
        Reason::Quick => "most calls take below 10 us, less than handing them over would".to_owned(),
        Reason::Tried { gain, cpu, callers } => format!(
            "merging had {gain:.2} times the rate of plain calls and {cpu:.2} times their processor time when last tried, with \
             {callers:.1} callers"
        ),
    }
}
