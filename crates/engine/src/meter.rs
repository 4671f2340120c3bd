//! How is an I/O timed and counted without slowing the next one?
//!
//! ```text
//!   completion ──► later than `edge`? ──no──► histogram of the running interval (this is all an I/O pays for)
//!                        │yes
//!                        └──► cross(): publish the interval, next slice, stop flag, end of the ramp, end of time
//! ```
//!
//! Everything that does not happen at each I/O hangs on one comparison with one moment, the next *edge*. Start reading
//! at [`Meter::complete`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostack_host::clock::Clock;
use iostack_host::counters::{self, Usage};
use iostack_model::{Direction, Nanos};
use iostack_stats::Recorder;
use iostack_workload::Op;
use iostack_workload::load::FAILURES_MAX;

use crate::board::Board;
use crate::failures::Failures;
use crate::tally::{BackTally, SideTally, Tally, ThreadResult};
use crate::watch::Watch;

/// The stop flag is looked at, and progress published, at least this often.
const PUBLISH_EVERY: Nanos = Nanos::millis(250);

/// Shortest slice in which a thread asks how long it waited for a CPU: an answer takes some microseconds.
const ASK_LEAST: Nanos = Nanos::millis(50);

/// Time in which a thread measures, in ticks of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Begin of the series: the earliest border of the report group.
    pub(crate) origin: u64,
    /// I/Os submitted from here on count.
    pub(crate) border: u64,
    /// No I/O is submitted from here on; `u64::MAX` without runtime.
    pub(crate) deadline: u64,
}

/// Rhythm in which counts are gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    /// One element of the series.
    pub(crate) slice: Nanos,
    /// Somebody looks this often; `u64::MAX` when nobody does.
    pub(crate) progress: Nanos,
    /// Somebody also asks what each thread has come to.
    pub(crate) stands: bool,
}

/// Next act of the loop after an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeterTurn {
    /// The loop goes on as before.
    Go,
    /// The ramp is over: start the count of what is to be done.
    Begin,
    /// Submit nothing more.
    Stop,
}

/// The counts of one thread.
pub(crate) struct Meter<'a> {
    pub(crate) clock: &'static Clock,
    /// A copy of the same, where each completion finds it without a detour.
    scale: Clock,
    /// The next moment that needs more than counting.
    pub(crate) edge: u64,
    border: u64,
    tallies: [Tally; 3],
    /// Moment of the last completion.
    last: u64,
    /// The time after the submission is kept apart.
    pub(crate) splits: bool,
    /// System calls that carried I/O.
    pub(crate) syscalls: u64,
    pub(crate) side: SideTally,
    pub(crate) failures: Failures,
    board: Arc<Board>,
    thread: usize,
    pub(crate) span: Span,
    slice: u64,
    slice_ticks: u64,
    publish_ticks: u64,
    /// Somebody looks at the board between slices.
    watched: bool,
    /// Somebody asks what this thread has come to.
    stands: bool,
    measuring: bool,
    /// Nothing is published but failures: reading back.
    silent: bool,
    /// The loop ran before the border.
    ramped: bool,
    /// Something other than the last I/O ended it.
    pub(crate) stopped: bool,
    /// The stop flag ended it.
    pub(crate) interrupted: bool,
    /// Ticks that were spent reading back between passes.
    paused: u64,
    use_at_begin: Usage,
    /// Time that this thread had waited for a CPU when it was last asked. `None` where slices are too short to ask.
    waited: Option<Nanos>,
    stop: &'a AtomicBool,
    watch: &'a Watch<'a>,
}

/// Apart, so that the frames of the loops do not hold them: a thread has a small stack.
#[cold]
#[inline(never)]
fn three_recorders() -> Box<[Recorder; 3]> {
    Box::new(std::array::from_fn(|_| Recorder::new()))
}

/// State with which a meter goes on after a pause.
pub(crate) struct Paused {
    now: u64,
    /// Use by the thread until then.
    used: Usage,
    border: u64,
    span: Span,
    last: u64,
    syscalls: u64,
}

impl<'a> Meter<'a> {
    /// A meter of thread `thread` of the board's group. Nothing counts before [`MeterTurn::Begin`].
    #[inline(never)]
    pub(crate) fn new(
        clock: &'static Clock,
        board: Arc<Board>,
        thread: usize,
        rhythm: Rhythm,
        stop: &'a AtomicBool,
        watch: &'a Watch<'a>,
    ) -> Box<Meter<'a>> {
        Box::new(Meter {
            clock,
            scale: clock.clone(),
            edge: 0,
            border: u64::MAX,
            tallies: std::array::from_fn(|_| Tally::default()),
            last: 0,
            splits: false,
            syscalls: 0,
            side: SideTally::default(),
            failures: Failures::default(),
            board,
            thread,
            span: Span { origin: 0, border: 0, deadline: u64::MAX },
            slice: 0,
            slice_ticks: clock.ticks(rhythm.slice.0).max(1),
            publish_ticks: clock
                .ticks(PUBLISH_EVERY.0.min(rhythm.slice.0).min(rhythm.progress.0).max(1_000_000)),
            watched: rhythm.progress != Nanos(u64::MAX),
            stands: rhythm.stands,
            measuring: false,
            silent: false,
            ramped: false,
            stopped: false,
            interrupted: false,
            paused: 0,
            use_at_begin: Usage::default(),
            waited: (rhythm.slice >= ASK_LEAST).then_some(Nanos(0)),
            stop,
            watch,
        })
    }

    /// Sets when to measure. The first completion, or the call of [`Meter::cross`], finds the edge passed.
    pub(crate) fn schedule(&mut self, span: Span) {
        self.span = span;
        self.border = span.border;
        self.last = span.border;
        self.edge = 0;
    }

    /// Counts an I/O that moved all its bytes. The caller has compared `end` with the edge.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each I/O pays for it")]
    pub(crate) fn complete(&mut self, direction: u8, length: u32, start: u64, end: u64) {
        // Submitted during the ramp, completed after it: not ours.
        if start < self.border {
            return;
        }
        // A clock that this thread reads twice does not run backwards; wrapping spares two instructions.
        let ns = self.scale.nanos(end.wrapping_sub(start));
        let tally = &mut self.tallies[usize::from(direction)];
        tally.latency.record(ns);
        tally.bytes += u64::from(length);
    }

    /// Notes when something was counted last. Apart from [`Meter::complete`], because those that completed together
    /// need it once.
    #[inline]
    pub(crate) fn mark(&mut self, end: u64) {
        self.last = end;
    }

    /// Counts an I/O that did not move all its bytes.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(&mut self, op: Op, result: isize, start: u64, end: u64) {
        if start < self.border && !self.silent {
            return;
        }
        self.last = end;
        if result > 0 {
            self.side.short[usize::from(op.direction)] += 1;
        }
        self.failures.note(&op, result);
        self.check_failures();
    }

    /// Counts a block that does not hold what was written.
    #[cold]
    pub(crate) fn mismatch(&mut self, op: &Op, message: String, fatal: bool) {
        self.failures.add(Direction::Read, 0, op.offset, message);
        self.check_failures();
        if fatal {
            self.stop_soon();
        }
    }

    /// Ends the job: its storage did not keep to what was demanded.
    #[cold]
    pub(crate) fn too_slow(&mut self, op: &Op, message: String) {
        // As in fio.
        self.failures.add(op.direction(), libc::ETIMEDOUT, op.offset, message);
        self.stop_soon();
    }

    fn check_failures(&mut self) {
        if self.failures.count >= FAILURES_MAX {
            self.stop_soon();
        }
    }

    /// Counts what is submitted from this moment on; nothing did before.
    pub(crate) fn count_from(&mut self, now: u64) {
        self.border = now;
        self.edge = 0;
    }

    /// Lets the next completion find the edge passed, and the job ended.
    pub(crate) fn stop_soon(&mut self) {
        self.span.deadline = 0;
        self.edge = 0;
    }

    /// Counts what was left of an I/O after `submitting` ticks in the call that handed it over.
    #[inline(never)]
    pub(crate) fn split(&mut self, direction: u8, start: u64, submitting: u64, end: u64) {
        if self.counts(start) {
            let ns = self.clock.nanos((end - start).saturating_sub(submitting));
            let after = self.side.after_submit.get_or_insert_with(three_recorders);
            after[usize::from(direction)].record(ns);
        }
    }

    /// Counts the time that submitting one I/O took.
    pub(crate) fn submitted(&mut self, direction: u8, ticks: u64) {
        let ns = self.clock.nanos(ticks);
        let submit = self.side.submit.get_or_insert_with(three_recorders);
        submit[usize::from(direction)].record(ns);
    }

    /// True when an I/O that started at `start` counts.
    pub(crate) fn counts(&self, start: u64) -> bool {
        start >= self.border && !self.silent
    }

    /// Counts an fsync or fdatasync that gave `result`, and records its latency when `timed`.
    #[inline(never)]
    pub(crate) fn synced(&mut self, result: isize, start: u64, end: u64, timed: bool) {
        if result < 0 {
            let errno = -result as i32;
            let message = format!("flush: {}", std::io::Error::from_raw_os_error(errno));
            self.failures.add(Direction::Write, errno, 0, message);
            self.check_failures();
        } else if self.counts(start) {
            self.last = end;
            if !timed {
                return;
            }
            let ns = self.clock.nanos(end.saturating_sub(start));
            self.side.sync.get_or_insert_default().record(ns);
        }
    }

    /// Passes an edge at the moment `now`: decides what it was and where the next one is.
    #[cold]
    #[inline(never)]
    pub(crate) fn cross(&mut self, now: u64) -> MeterTurn {
        if self.stopped {
            self.edge = u64::MAX;
            return MeterTurn::Stop;
        }
        if self.stop.load(Ordering::Relaxed) {
            self.interrupted = true;
            return self.end();
        }
        if self.watch.is_over() || self.board.is_steady() {
            return self.end();
        }
        if now >= self.span.deadline {
            if self.measuring && self.span.deadline > 0 {
                let last_slice = self.slice_of(self.span.deadline - 1);
                self.publish(last_slice);
            }
            return self.end();
        }
        if self.silent {
            self.edge = now + self.publish_ticks;
            return MeterTurn::Go;
        }
        if !self.measuring {
            if now < self.border {
                self.ramped = true;
                self.edge = self.border.min(now + self.publish_ticks);
                return MeterTurn::Go;
            }
            self.watch.open();
            self.measuring = true;
            if self.ramped {
                // The loop has been running: what it submitted until now is the ramp's, so that what is submitted
                // from now on is all that counts and all that the limits are taken from.
                self.border = now;
            }
            self.last = self.border;
            self.syscalls = 0;
            self.use_at_begin = Usage::of_thread();
            self.waited = self.waited.map(|_| self.use_at_begin.waiting);
            self.slice = self.slice_of(now);
            self.set_edge(now);
            return MeterTurn::Begin;
        }
        let slice = self.slice_of(now);
        if self.watched || slice > self.slice {
            self.publish(slice);
        }
        self.set_edge(now);
        MeterTurn::Go
    }

    fn end(&mut self) -> MeterTurn {
        self.stopped = true;
        self.edge = u64::MAX;
        MeterTurn::Stop
    }

    fn slice_of(&self, moment: u64) -> u64 {
        moment.saturating_sub(self.span.origin) / self.slice_ticks
    }

    fn set_edge(&mut self, now: u64) {
        let slice_end = self.span.origin + (self.slice + 1) * self.slice_ticks;
        self.edge = slice_end.min(now + self.publish_ticks).min(self.span.deadline);
    }

    fn publish(&mut self, next: u64) {
        if let Some(waited) = self.waited.filter(|_| self.measuring && next > self.slice) {
            let now = counters::thread_waiting();
            self.side.waiting += now - waited;
            self.waited = Some(now);
        }
        self.board.publish(self.thread, self.slice, &mut self.tallies, &mut self.side, next);
        self.slice = next;
        if self.stands && self.measuring {
            let failures = self.failures.clone();
            self.board.stand(self.thread, ThreadResult { failures, ..self.standing() });
        }
    }

    /// Publishes only failures from here on; what is read is counted for [`Meter::read_back`].
    pub(crate) fn silence(&mut self) {
        self.silent = true;
        self.stopped = false;
        self.border = 0;
        self.edge = 0;
        self.span.deadline = u64::MAX;
    }

    /// Measures nothing until [`Meter::resume`]: a pass is read back.
    pub(crate) fn pause(&mut self) -> Paused {
        self.publish(self.slice);
        let (now, used) = (self.clock.now(), Usage::of_thread().since(self.use_at_begin));
        let (border, span, last, syscalls) = (self.border, self.span, self.last, self.syscalls);
        self.silence();
        Paused { now, used, border, span, last, syscalls }
    }

    /// Goes on as if no time had gone by; gives what was read.
    pub(crate) fn resume(&mut self, paused: &Paused) -> BackTally {
        let back = self.read_back(paused.now);
        let spent = back.last - back.first;
        (self.silent, self.stopped, self.edge) = (false, false, 0);
        (self.border, self.last, self.syscalls) = (paused.border, paused.last + spent, paused.syscalls);
        self.span = Span { origin: paused.span.origin + spent, ..paused.span };
        self.paused += spent;
        self.use_at_begin = Usage::of_thread().since(paused.used);
        self.waited = self.waited.map(|_| counters::thread_waiting());
        back
    }

    /// Reads since it was silenced at `first`.
    pub(crate) fn read_back(&mut self, first: u64) -> BackTally {
        let Tally { latency, bytes } = std::mem::take(&mut self.tallies[0]);
        BackTally { latency: Box::new(latency), bytes, first, last: self.clock.now() }
    }

    /// Publishes the rest and says what the thread used.
    pub(crate) fn finish(&mut self) -> ThreadResult {
        let result = self.standing();
        self.publish(u64::MAX);
        result
    }

    /// Result of the thread so far; failures are still kept here.
    fn standing(&self) -> ThreadResult {
        let usage =
            if self.measuring { Usage::of_thread().since(self.use_at_begin) } else { Usage::default() };
        ThreadResult {
            border: self.border,
            last: self.last - self.paused,
            usage,
            syscalls: self.syscalls,
            failures: Failures::default(),
            interrupted: self.interrupted,
        }
    }
}
