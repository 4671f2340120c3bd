//! What may accompany an I/O: pace, proof, flushes, logs.
//!
//! Jobs that ask for none of it run a loop in which this file does not exist.

use iostack_host::clock::Clock;
use iostack_model::{Data, Engine, Job, LogEntry, LogRequest, LogSpan, Nanos, Preferred, RangeSync};
use iostack_workload::load::{Expected, Flush, Load, Proving, Step, Watchdog, is_accompanied};
use iostack_workload::{Op, Rng, verify};

use crate::files::Files;
use crate::meter::Meter;
use crate::wake::Wake;

/// Bounds of the time that a thread is awake before an I/O is due. A wake-up costs at least as much as the least; what a
/// machine needs beyond the most is not to be had by spinning.
const LEAD_LEAST: Nanos = Nanos::micros(2);
const LEAD_MOST: Nanos = Nanos::micros(100);

const READ: u8 = 0;

/// The moments of one I/O in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// Moment at which it was meant to start; in a closed loop that of its submission.
    pub(crate) start: u64,
    pub(crate) submitted: u64,
    pub(crate) end: u64,
    /// Time in the submitting call.
    pub(crate) submitting: u64,
    /// I/O priority that it alone had; 0: none.
    pub(crate) io_priority: u16,
}

/// Source that draws the I/Os that go before others, apart from all else that is drawn.
fn preferred(job: &Job, thread: u32) -> Option<(Preferred, Rng)> {
    let number = u64::from(job.thread_first + thread);
    job.host.preferred.clone().map(|preferred| (preferred, Rng::stream(job.seed ^ 0xF125, number)))
}

/// The accompaniment of one thread's I/O.
pub(crate) struct Extras {
    /// Knowledge of how early to wake for what the pacer says.
    pub(crate) wake: Wake,
    watchdog: Option<Watchdog>,
    thread: u32,
    origin: u64,
    range: Option<RangeSync>,
    /// No two I/Os of the same bytes are in flight.
    pub(crate) one_at_a_place: bool,
    /// I/Os that go before others, and what draws them.
    preferred: Option<(Preferred, Rng)>,
    pub(crate) proving: Proving,
    /// Pattern of all data, where blocks carry no headers.
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
    /// Extras of thread `thread` (from 0) of the job, which is `logged_as` in the outcome's logs.
    pub(crate) fn new(job: &Job, thread: u32, logged_as: u32, clock: &Clock) -> Extras {
        let pattern = match &job.data {
            Data::Pattern(bytes) if job.verify.is_some_and(|verify| verify.pattern) => Some(bytes.clone()),
            _ => None,
        };
        Extras {
            wake: Wake::new(clock.ticks(LEAD_LEAST.0), clock.ticks(LEAD_MOST.0)),
            watchdog: Watchdog::new(job, |ns| clock.ticks(ns)),
            thread: logged_as,
            origin: 0,
            range: job.sync.range,
            one_at_a_place: job.one_at_a_place,
            preferred: preferred(job, thread),
            proving: Proving::of_job(job),
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
            || job.mix.trim > 0
            || matches!(job.engine, Engine::Names(_))
            || job.sync.range.is_some()
            || job.host.preferred.is_some()
            || job.one_at_a_place
            || !job.host.flags.are_none() && job.engine == Engine::Libaio
            || job.recorded.is_some()
    }

    /// True when something wrong was read back, and that is the end.
    pub(crate) fn is_over(&self, meter: &Meter<'_>) -> bool {
        self.proving.fatal && self.read_between > 0 && meter.failures.count > 0
    }

    /// Measuring starts at `now`; the log counts from `origin`.
    pub(crate) fn begin(&mut self, now: u64, origin: u64) {
        self.origin = origin;
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.begin(now);
        }
    }

    /// Flushes and counts it.
    pub(crate) fn flush(&mut self, meter: &mut Meter<'_>, load: &Load, files: &Files, flush: Flush) {
        let start = meter.clock.now();
        let result = match (flush, self.range) {
            (Flush::Range, Some(asked)) => load
                .flushed_ranges()
                .map(|(file, range)| files.sync_range(file, range, asked))
                .find(|&result| result < 0)
                .unwrap_or(0),
            _ => files.sync(flush == Flush::Data),
        };
        let end = meter.clock.now();
        meter.synced(result, start, end, true);
        // Who replays a range as a flush asks for more than was asked.
        if meter.counts(start) && flush != Flush::Range {
            let nanos = |ticks: u64| Nanos(meter.clock.nanos(ticks));
            let time = nanos(end.saturating_sub(self.origin));
            self.keep(&LogEntry::flush(time, self.thread, nanos(end - start)));
        }
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
    pub(crate) fn after(
        &mut self,
        meter: &mut Meter<'_>,
        load: &mut Load,
        op: &Op,
        data: &[u8],
        moments: Moments,
    ) {
        let between = load.note_written(op);
        self.read_between += u64::from(between);
        if (self.proving.checks || between) && op.direction == READ {
            match self.check(load.expected(op), op, data) {
                Ok(()) => self.verified += 1,
                Err(mismatch) => meter.mismatch(op, mismatch, self.proving.fatal),
            }
        }
        match load.completed(moments.start, moments.end) {
            Step::Search => {}
            Step::Count => meter.count_from(moments.end),
            Step::End => meter.stop_soon(),
        }
        if !meter.counts(moments.start) {
            return;
        }
        meter.mark(moments.end);
        let (times, nanos) = ((moments.start, moments.end), |ticks| meter.clock.nanos(ticks));
        let broken = self.watchdog.as_mut().and_then(|watchdog| watchdog.broken(op, times, nanos));
        if let Some(what) = broken {
            meter.too_slow(op, what);
        }
        self.in_flight_ticks += moments.end - moments.submitted;
        if self.logs.is_some() {
            self.note(op, moments, meter.clock);
        }
    }

    /// Checks that what came back is what was written, or what trimming left.
    fn check(&self, expected: Expected, op: &Op, data: &[u8]) -> Result<(), String> {
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
