//! How does an I/O reach the kernel?
//!
//! ```text
//!   serial_loop ──► Call   one at a time:   psync, pvsync2, mmap, falloc, ftruncate, names
//!   queued_loop ──► Queue  many in flight:  libaio, io_uring, posixaio, null
//! ```
//!
//! A backend is a file here that implements [`Call`] or [`Queue`]; the loops are generic over them, so that each
//! backend gets a loop of its own without a call through a table. A loop exists twice: plain, which only reads, writes,
//! times and counts; and with [`Extras`], which also paces, verifies, syncs, trims and logs.

pub(crate) mod calls;
pub(crate) mod io_uring;
pub(crate) mod libaio;
pub(crate) mod names;
pub(crate) mod null;
pub(crate) mod posix_aio;
pub(crate) mod queued_extras;
pub(crate) mod queued_loop;
pub(crate) mod serial_loop;

use iostack_model::{Carrier, Lane, Nanos};
use iostack_workload::load::{Load, Next};
use iostack_workload::{Op, Source};

use crate::extras::Extras;
use crate::files::Files;
use crate::meter::{Meter, MeterTurn};
use crate::payload::Payload;
use crate::sys;

/// The stop flag is looked at between naps.
const NAP_MAX: Nanos = Nanos::millis(50);

/// One I/O at a time. Results are bytes, or `-errno`.
pub(crate) trait Call {
    /// Reads from the file with this number, or writes to it.
    fn carry(&mut self, write: bool, file: usize, buffer: &mut [u8], offset: u64) -> isize;
    /// Does what the I/O leaves to be done, outside of its time; only in the loop with extras.
    fn settle(&mut self) {}
}

/// Longest wait for completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// The wait takes as long as it takes.
    Forever,
    /// The wait takes at most so many ns; 0 takes what is there.
    Nanos(u64),
}

/// Outcome of handing over and waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entered {
    /// System calls it took.
    pub(crate) syscalls: u64,
    /// 0, or why the kernel did not take all or wait: those left are tried again with the next call.
    pub(crate) errno: i32,
}

/// Many I/Os in flight.
pub(crate) trait Queue {
    /// The submitting call never waits for completions, so that its time is worth recording.
    const SUBMITS_APART: bool;

    /// Way by which the kernel's events lead back to a slot.
    fn carrier(&self) -> Carrier;
    /// Prepares reads or writes: slot, operation, and the buffer, which must stay in place until the completion.
    fn push_all(&mut self, batch: impl Iterator<Item = (u32, Op, *mut u8)>);
    /// Prepares one, with a priority of its own where that is not 0.
    fn push_preferred(&mut self, _priority: u16, one: (u32, Op, *mut u8)) {
        self.push_all(std::iter::once(one));
    }
    /// Hands over all that was pushed.
    fn submit(&mut self) -> Entered;
    /// Hands over all that was pushed and waits for `least` completions.
    fn submit_and_wait(&mut self, least: u32, patience: Patience) -> Entered;
    /// True when a completion can be reaped without a call.
    fn is_ready(&self) -> bool;
    /// Gives the completions that have arrived, at most so many, to `each`: slot, and bytes or `-errno`.
    fn reap(&mut self, most: u32, each: impl FnMut(u32, i32));
    /// Takes one completion, if one has arrived.
    #[inline]
    fn take(&mut self) -> Option<(u32, i32)> {
        let mut taken = None;
        self.reap(1, |slot, result| taken = Some((slot, result)));
        taken
    }
}

/// Errors of handing over that pass by themselves.
pub(crate) fn is_passing(errno: i32) -> bool {
    matches!(errno, 0 | libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME | libc::ENOMEM)
}

/// Everything that a loop works with.
pub(crate) struct Station<'a> {
    pub(crate) load: Load,
    pub(crate) meter: Box<Meter<'a>>,
    pub(crate) payload: Payload,
    pub(crate) files: Files,
    pub(crate) extras: Extras,
    /// Somebody looks at each I/O.
    pub(crate) lane: Option<Box<dyn Lane + 'a>>,
}

/// Passes an edge; true when nothing more is to be submitted.
#[cold]
#[inline(never)]
pub(crate) fn turn(meter: &mut Meter<'_>, source: &mut Source, now: u64) -> bool {
    let turn = meter.cross(now);
    if turn == MeterTurn::Begin {
        source.begin();
    }
    turn == MeterTurn::Stop
}

impl Station<'_> {
    /// Passes an edge; true when nothing more is to be submitted.
    pub(crate) fn turn(&mut self, now: u64) -> bool {
        let turn = self.meter.cross(now);
        match turn {
            MeterTurn::Go => {}
            MeterTurn::Begin => {
                self.load.begin(now);
                self.extras.begin(now, self.meter.span.origin);
                self.lane.iter_mut().for_each(|lane| lane.restart());
            }
            MeterTurn::Stop => self.load.stop(),
        }
        turn == MeterTurn::Stop
    }

    /// Does what comes next while nothing is in flight, and is no I/O; true when it is enough.
    pub(crate) fn follow(&mut self, next: Next) -> bool {
        match next {
            Next::Over => return true,
            Next::Flush(flush) => self.extras.flush(&mut self.meter, &self.load, &self.files, flush),
            Next::At(due) => {
                self.wait_until(due);
            }
            Next::Pause(nap) if nap.0 == 0 => std::thread::yield_now(),
            Next::Pause(nap) => sys::sleep(nap.min(NAP_MAX).0),
            Next::Submit(..) | Next::Wait(_) => {
                unreachable!("an I/O is submitted, and waits have what to wait for")
            }
        }
        let now = self.meter.clock.now();
        if now >= self.meter.edge {
            self.turn(now);
        }
        false
    }

    /// Tells the observer that an I/O starts, `late` ticks after it was meant to.
    pub(crate) fn begin(&mut self, slot: u32, late: u64) {
        if let Some(lane) = &mut self.lane {
            lane.begin(slot, self.meter.clock.nanos(late));
        }
    }

    /// Tells the observer that the call which waited has returned.
    pub(crate) fn returned(&mut self) {
        if let Some(lane) = &mut self.lane {
            lane.returned();
        }
    }

    /// Tells the observer that an I/O has come back.
    pub(crate) fn completed(&mut self, slot: u32, whole: bool) {
        if let Some(lane) = &mut self.lane {
            lane.complete(slot, whole);
        }
    }

    /// Waits until `moment`, awake for the last stretch; true when the job is to end instead.
    pub(crate) fn wait_until(&mut self, moment: u64) -> bool {
        let clock = self.meter.clock;
        loop {
            let now = clock.now();
            if now >= self.meter.edge && self.turn(now) {
                return true;
            }
            if now >= moment {
                return false;
            }
            let spins = now < self.load.pacer.spins_until;
            let Some(asked) = self.extras.wake.asked(now, moment).filter(|_| !spins) else {
                std::hint::spin_loop();
                continue;
            };
            let nap = clock.nanos(asked - now);
            sys::sleep(nap.min(NAP_MAX.0));
            if nap <= NAP_MAX.0 {
                self.extras.wake.woke(asked, clock.now());
            }
        }
    }
}
