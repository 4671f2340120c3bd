//! What may accompany an I/O: pace, proof, flushes, logs.
//!
//! Jobs that ask for none of it run a loop in which this file does not exist.

use std::sync::Arc;

use iostack_host::clock::Clock;
use iostack_model::{Data, Engine, Job, LogEntry, LogRequest, LogSpan, Nanos, Preferred};
use iostack_workload::load::{Proving, is_accompanied};
use iostack_workload::{Op, Pacer, Rng, verify};

use crate::Work;
use crate::backlog::{Expected, Waiting};
use crate::demand::Watchdog;
use crate::files::Files;
use crate::meter::Meter;
use crate::search::{Search, Step};
use crate::share::Part;
use crate::wake::Wake;
use crate::written::{Flush, Written};

/// Bounds of the time that a thread is awake before an I/O is due. A wake-up costs at least as much as the least; what a
/// machine needs beyond the most is not to be had by spinning.
const LEAD_LEAST: Nanos = Nanos::micros(2);
const LEAD_MOST: Nanos = Nanos::micros(100);

const READ: u8 = 0;
const WRITE: u8 = 1;

/// The moments of one I/O in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// When it was meant to start; in a closed loop when it was submitted.
    pub(crate) start: u64,
    pub(crate) submitted: u64,
    pub(crate) end: u64,
    /// Time in the submitting call.
    pub(crate) submitting: u64,
    /// That it alone had; 0: none.
    pub(crate) io_priority: u16,
}

/// What draws the I/Os that go before others, apart from all else that is drawn.
fn preferred(job: &Job, thread: u32) -> Option<(Preferred, Rng)> {
    let number = u64::from(job.thread_first + thread);
    job.host.preferred.clone().map(|preferred| (preferred, Rng::stream(job.seed ^ 0xF125, number)))
}

/// The schedule of the trace, where there is one, or of the job.
fn pacer(work: &Work, thread: u32, clock: &Clock) -> Pacer {
    let ticks = |ns| clock.ticks(ns);
    let recorded = work.recording.as_ref().zip(work.job.recorded.as_ref());
    match recorded.and_then(|(recording, recorded)| Some((recording, recorded.speed?))) {
        Some((recording, speed)) => Pacer::of_recording(Arc::clone(recording), speed, ticks),
        None => Pacer::new(&work.job, thread, ticks),
    }
}

/// The accompaniment of one thread's I/O.
pub(crate) struct Extras {
    pub(crate) pacer: Pacer,
    /// How early to wake for what the pacer says.
    pub(crate) wake: Wake,
    watchdog: Option<Watchdog>,
    pub(crate) search: Option<Search>,
    /// Of the I/Os that the job shares with others.
    pub(crate) part: Option<Part>,
    thread: u32,
    origin: u64,
    fsync_every: u32,
    fdatasync_every: u32,
    writes_since_fsync: u32,
    writes_since_fdatasync: u32,
    /// The next of a trace is a flush.
    flush_recorded: bool,
    written: Option<Written>,
    backlog: Option<Waiting>,
    /// No two I/Os of the same bytes are in flight.
    pub(crate) one_at_a_place: bool,
    /// Which I/Os go before others, and what draws them.
    preferred: Option<(Preferred, Rng)>,
    proving: Proving,
    /// What all data is, where blocks carry no headers.
    pattern: Option<Vec<u8>>,
    seed: u64,
    generation: u64,
    /// Blocks that came back as written.
    pub(crate) verified: u64,
    /// Blocks that were read back between the writes, well or not.
    pub(crate) read_between: u64,
    logs: Option<Box<LogRequest>>,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) log_spans: Vec<LogSpan>,
    /// Time spent in flight, summed over the I/Os: latency without the wait for submission.
    pub(crate) in_flight_ticks: u64,
}

impl Extras {
    /// What thread `thread` (from 0) of the job needs, which is `logged_as` in the outcome's logs.
    pub(crate) fn new(work: &Work, thread: u32, logged_as: u32, clock: &Clock) -> Extras {
        let job = &work.job;
        let pattern = match &job.data {
            Data::Pattern(bytes) if job.verify.is_some_and(|verify| verify.pattern) => Some(bytes.clone()),
            _ => None,
        };
        Extras {
            pacer: pacer(work, thread, clock),
            wake: Wake::new(clock.ticks(LEAD_LEAST.0), clock.ticks(LEAD_MOST.0)),
            watchdog: Watchdog::new(job, clock),
            search: Search::new(job, clock),
            part: None,
            thread: logged_as,
            origin: 0,
            fsync_every: job.sync.fsync_every,
            fdatasync_every: job.sync.fdatasync_every,
            writes_since_fsync: 0,
            writes_since_fdatasync: 0,
            flush_recorded: false,
            written: job.sync.range.map(Written::new),
            backlog: job.verify.and_then(|verify| Waiting::of(&verify, job.seed)),
            one_at_a_place: job.one_at_a_place,
            preferred: preferred(job, thread),
            proving: Proving::of(job),
            pattern,
            seed: job.seed,
            generation: 0,
            verified: 0,
            read_between: 0,
            logs: job.logs.are_wanted().then(|| Box::new(job.logs.clone())),
            log: Vec::new(),
            log_spans: Vec::new(),
            in_flight_ticks: 0,
        }
    }

    /// True when the plain loop will not do.
    pub(crate) fn are_needed(job: &Job) -> bool {
        is_accompanied(job)
            || job.share.is_some()
            || job.latency_goal.is_some()
            || job.mix.trim > 0
            || matches!(job.engine, Engine::Names(_))
            || job.sync.range.is_some()
            || job.host.preferred.is_some()
            || job.one_at_a_place
            || !job.host.flags.are_none() && job.engine == Engine::Libaio
            || !job.demand.is_none()
            || job.recorded.is_some()
    }

    /// Turns to reading back: checks reads, and nothing else.
    pub(crate) fn read_back(&mut self) {
        self.proving.read_back();
        self.backlog.iter_mut().for_each(Waiting::finish);
    }

    /// Turns to writing again.
    pub(crate) fn write_again(&mut self) {
        self.proving.write_again();
    }

    /// What was read back along the way is not read again.
    pub(crate) fn reads_along(&self) -> bool {
        self.backlog.is_some()
    }

    /// What was read back was wrong, and that is the end.
    pub(crate) fn is_over(&self, meter: &Meter<'_>) -> bool {
        self.proving.fatal && self.read_between > 0 && meter.failures.count() > 0
    }

    /// What is read back next, where it is time for that.
    pub(crate) fn due_back(&mut self) -> Option<Op> {
        self.backlog.as_mut().and_then(Waiting::next)
    }

    /// Measuring starts at `now`; the log counts from `origin`.
    pub(crate) fn begin(&mut self, now: u64, origin: u64) {
        self.origin = origin;
        self.pacer.begin(now);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.begin(now);
        }
    }

    /// The flush that is due before the next I/O.
    pub(crate) fn flush_due(&self) -> Option<Flush> {
        if self.flush_recorded || self.fsync_every > 0 && self.writes_since_fsync >= self.fsync_every {
            Some(Flush::File)
        } else if self.fdatasync_every > 0 && self.writes_since_fdatasync >= self.fdatasync_every {
            Some(Flush::Data)
        } else if self.written.as_ref().is_some_and(Written::is_due) {
            Some(Flush::Range)
        } else {
            self.backlog.as_ref().filter(|backlog| backlog.is_due()).map(|_| Flush::Nothing)
        }
    }

    /// How long it waits for others that share I/Os with it before it looks again; `None` when it may go on.
    pub(crate) fn ahead(&self) -> Option<Nanos> {
        self.part.as_ref().and_then(Part::ahead)
    }

    /// So many may be in flight.
    pub(crate) fn deepest(&self) -> u32 {
        self.search.as_ref().map_or(u32::MAX, Search::depth)
    }

    /// Flushes and counts it.
    pub(crate) fn flush(&mut self, meter: &mut Meter<'_>, files: &Files, flush: Flush) {
        if flush == Flush::Nothing {
            return self.backlog.iter_mut().for_each(Waiting::turn);
        }
        let start = meter.clock.now();
        let result = match (flush, &self.written) {
            (Flush::Range, Some(written)) => written.sync(files),
            _ => files.sync(flush == Flush::Data),
        };
        let end = meter.clock.now();
        // As in fio: what flushes more stands for what flushes less.
        self.written.iter_mut().for_each(Written::clear);
        match flush {
            Flush::Range | Flush::Nothing => {}
            Flush::Data => self.writes_since_fdatasync = 0,
            Flush::File => {
                (self.writes_since_fsync, self.writes_since_fdatasync) = (0, 0);
                self.flush_recorded = false;
            }
        }
        meter.synced(result, start, end, true);
        // Who replays a range as a flush asks for more than was asked.
        if meter.counts(start) && flush != Flush::Range {
            let nanos = |ticks: u64| Nanos(meter.clock.nanos(ticks));
            let time = nanos(end.saturating_sub(self.origin));
            self.keep(&LogEntry::flush(time, self.thread, nanos(end - start)));
        }
    }

    /// True of what is no I/O but a flush that a trace asks for; it is due from now on.
    pub(crate) fn is_flush(&mut self, op: &Op, now: u64) -> bool {
        if op.length == 0 {
            self.pacer.take(now);
            self.flush_recorded = true;
        }
        op.length == 0
    }

    /// The I/O is about to be submitted: takes it off the schedule, and says when it was meant to start.
    pub(crate) fn submitting(&mut self, op: &Op, now: u64) -> u64 {
        if op.direction == WRITE {
            self.writes_since_fsync += 1;
            self.writes_since_fdatasync += 1;
            self.written.iter_mut().for_each(|written| written.note(op));
            self.backlog.iter_mut().for_each(Waiting::submitting);
        }
        self.part.iter_mut().for_each(Part::count);
        self.pacer.take(now)
    }

    /// The priority that it alone has; 0: none.
    pub(crate) fn io_priority(&mut self, op: &Op) -> u16 {
        let Some((preferred, rng)) = &mut self.preferred else { return 0 };
        preferred.io(usize::from(op.direction), op.length, rng.below(100) as u8)
    }

    /// Makes the data of a write provable.
    pub(crate) fn stamp(&mut self, op: &Op, buffer: &mut [u8]) {
        if self.proving.stamps && self.pattern.is_none() {
            self.generation += 1;
            verify::stamp(buffer, op.offset, self.generation, self.seed);
        }
    }

    /// An I/O has moved all its bytes; `data` is what a read brought.
    pub(crate) fn after(&mut self, meter: &mut Meter<'_>, op: &Op, data: &[u8], moments: Moments) {
        let between = self.note_written(op);
        if (self.proving.checks || between) && op.direction == READ {
            match self.check(op, data) {
                Ok(()) => self.verified += 1,
                Err(mismatch) => meter.mismatch(op, mismatch, self.proving.fatal),
            }
        }
        self.pacer.completed(moments.end);
        if let Some(search) = &mut self.search {
            match search.completed(moments.start, moments.end) {
                Step::Search => {}
                Step::Count => meter.count_from(moments.end),
                Step::End => meter.stop_soon(),
            }
        }
        if !meter.counts(moments.start) {
            return;
        }
        meter.mark(moments.end);
        let broken = self
            .watchdog
            .as_mut()
            .and_then(|watchdog| watchdog.broken(op, moments.start, moments.end, meter.clock));
        if let Some(what) = broken {
            meter.too_slow(op, what);
        }
        self.in_flight_ticks += moments.end - moments.submitted;
        if self.logs.is_some() {
            self.note(op, moments, meter.clock);
        }
    }

    /// Keeps what is to be read back; true while that is done between the writes.
    fn note_written(&mut self, op: &Op) -> bool {
        let Some(backlog) = self.backlog.as_mut().filter(|_| !self.proving.checks) else { return false };
        if op.direction == WRITE {
            backlog.push(op);
        }
        self.read_between += u64::from(backlog.is_reading());
        backlog.is_reading()
    }

    /// What came back is what was written, or what trimming left.
    fn check(&mut self, op: &Op, data: &[u8]) -> Result<(), String> {
        let expected = self.backlog.as_mut().map_or(Expected::Written, |backlog| backlog.expected(op));
        let checked = match (expected, &self.pattern) {
            (Expected::Zeroes, _) => {
                let wrong = |mismatch| format!("trimmed, and is no zero: {mismatch}");
                return verify::check_pattern(data, op.offset, &[0]).map_err(wrong);
            }
            (Expected::Written, Some(pattern)) => verify::check_pattern(data, op.offset, pattern),
            (Expected::Written, None) => verify::check(data, op.offset).map(|_| ()),
        };
        checked.map_err(|mismatch| mismatch.to_string())
    }

    fn keep(&mut self, entry: &LogEntry) {
        if let Some(logs) = &self.logs {
            logs.keep(entry, &mut self.log, &mut self.log_spans);
        }
    }

    /// One line of a log, or a part of one.
    fn note(&mut self, op: &Op, moments: Moments, clock: &Clock) {
        let nanos = |ticks: u64| Nanos(clock.nanos(ticks));
        let entry = LogEntry {
            time: nanos(moments.end.saturating_sub(self.origin)),
            thread: self.thread,
            direction: op.direction(),
            offset: op.offset,
            length: op.length,
            latency: nanos(moments.end.saturating_sub(moments.start)),
            submit: nanos(moments.submitting),
            file: op.file,
            io_priority: moments.io_priority,
        };
        self.keep(&entry);
    }
}
