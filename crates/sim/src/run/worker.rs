//! What does one thread of a job want next?
//!
//! The decisions of the real engine's loops, in virtual time: a thread keeps its depth full, waits for a batch of
//! completions where the job asks for one, for the schedule, for a think time, and for an empty queue before a flush. The
//! host itself costs nothing: no system call and no interrupt takes time.

use iostack_model::Job;
use iostack_workload::load::{
    Load, Next, Proving, Span, Watchdog, cpus_of_thread, is_accompanied, reads_back,
};
use iostack_workload::{Limits, Pacer, Plan, Region, Source, WorkloadError};

use super::SimError;
use super::proof::Expected;
use crate::engine::{Caller, RequestId, Shape, Time};

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It has not started.
    Waiting,
    /// It submits, or waits for what it submitted.
    Running,
    /// Its last flush is under way.
    EndFlush,
    /// It reads back what it wrote.
    ReadingBack,
    Done,
}

/// Facts about an I/O in flight, beside the request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IoFlight {
    /// Moment when it was meant to start.
    pub(super) start: Time,
    /// Stamp that a read must bring, as far as known at its start.
    pub(super) expected: Expected,
}

/// One thread of one job.
pub(super) struct Worker<'a> {
    pub(super) job: &'a Job,
    /// Index among the stage's jobs.
    pub(super) of_job: usize,
    /// Index among the stage's groups.
    pub(super) group: usize,
    /// Its number among the threads of the job.
    number: u32,
    /// Its number in the logs of the outcome.
    pub(super) logged_as: u32,
    pub(super) load: Load,
    /// I/Os it will submit, where that can be said.
    pub(super) planned_ios: Option<u64>,
    /// Repeats the plan, to read back what it wrote.
    repeat: Option<Plan>,
    /// Only reads, writes and trims, as many as the depth holds: the short way.
    pub(super) plain: bool,
    pub(super) doing: Doing,
    pub(super) in_flight: u32,
    /// Came back, and wait for their batch.
    pub(super) held: Vec<RequestId>,
    pub(super) flights: Vec<IoFlight>,
    pub(super) slots: Vec<u32>,
    /// Completions that the thread waits for before it looks at any.
    pub(super) least: u32,
    /// I/Os submitted from its border on count.
    pub(super) span: Span,
    pub(super) measuring: bool,
    pub(super) lateness: Trend,
    pub(super) proving: Proving,
    pub(super) watchdog: Option<Watchdog>,
    pub(super) failures: u64,
    /// Placement handle of its writes.
    pub(super) stream: u8,
    /// It will be woken then.
    pub(super) alarm: Time,
}

impl<'a> Worker<'a> {
    /// Thread `thread` (from 0) of the job, which begins with [`Worker::may_begin`]; `proving` when writes carry stamps.
    pub(super) fn new(
        job: &'a Job,
        thread: u32,
        (of_job, group): (usize, usize),
        shape: Shape,
        proving: bool,
    ) -> Result<Worker<'a>, WorkloadError> {
        let region: Region = iostack_workload::region(job, shape.capacity, 1, thread)?;
        let plan = Plan::new(job, region, 1, thread)?;
        let block = job.block_sizes.largest().0.max(1);
        let planned = Limits::of_job(job).bytes_of(plan.pass_bytes(), block);
        let repeat = reads_back(job).then(|| plan.clone());
        let (source, pacer) = (Source::new(plan, Limits::of_job(job)), Pacer::new(job, thread, |ns| ns));
        let load = Load::new(job, source, pacer, |ns| ns);
        let depth = load.depth;
        // Not set and `none` are the first handle, `short` the second.
        let stream = job.host.write_hint.unwrap_or(0).saturating_sub(1);
        Ok(Worker {
            job,
            of_job,
            group,
            number: thread,
            logged_as: thread,
            repeat,
            planned_ios: planned.map(|bytes| bytes / block),
            load,
            plain: !proving && depth.complete_min == 1 && !is_accompanied(job) && stream == 0,
            doing: Doing::Waiting,
            in_flight: 0,
            held: Vec::new(),
            flights: vec![IoFlight::default(); depth.slots as usize],
            slots: (0..depth.slots).rev().collect(),
            least: 1,
            span: Span::in_stage(job),
            measuring: false,
            lateness: Trend::default(),
            proving: Proving::of_job(job),
            watchdog: Watchdog::new(job, |ns| ns),
            failures: 0,
            stream,
            alarm: Time::MAX,
        })
    }

    /// The thread as the host knows it, the `number`th of the stage.
    pub(super) fn caller(&self, number: u32) -> Caller {
        Caller {
            engine: self.job.engine,
            direct: self.job.direct,
            queue_depth: self.load.depth.slots,
            batch_submit: self.load.depth.submit,
            complete_min: self.load.depth.complete_min,
            number,
            cpus: self.job.cpus.as_ref().map(|cpus| cpus_of_thread(self.job, self.number, cpus)),
        }
    }

    /// It need not wait for other jobs, any more or at all.
    pub(super) fn may_begin(&mut self, now: Time) {
        self.span = Span::of_job(self.job, now, |ns| ns);
        self.load.until = self.span.until;
    }

    /// The ramp is over; false where a depth is still to be found before anything counts.
    pub(super) fn begin(&mut self, now: Time) -> bool {
        self.load.begin(now);
        self.watchdog.iter_mut().for_each(|watchdog| watchdog.begin(now));
        let Some(search) = &mut self.load.search else { return true };
        search.begin(now);
        if search.is_uncounted() {
            self.span.border = Time::MAX;
        }
        !search.is_uncounted()
    }

    /// Next act, when it has nothing else to do.
    pub(super) fn next(&mut self, now: Time) -> Next {
        let next = self.load.next(now, self.in_flight, |_| false);
        match next {
            Next::Submit(_, start) if self.measuring && self.load.pacer.is_open() => {
                self.lateness.add(now - start);
            }
            Next::Wait(least) => self.least = least,
            _ => self.least = 1,
        }
        next
    }

    /// Turns to reading back what it wrote; false when it does not.
    pub(super) fn reads_back(&mut self) -> bool {
        let Some(plan) = self.repeat.take() else { return false };
        self.load.read_back(plan, self.job, false);
        self.doing = Doing::ReadingBack;
        self.proving.read_back();
        self.measuring = false;
        self.span.border = Time::MAX;
        true
    }
}

/// Refuses blocks that only a page cache could cut.
pub(super) fn check_alignment(job: &Job, shape: Shape) -> Result<(), SimError> {
    let mut lengths = vec![("an offset_increment", job.offset_increment.0)];
    if let iostack_model::Amount::Bytes(offset) = job.offset {
        lengths.push(("an offset", offset.0));
    }
    match job.access {
        iostack_model::Access::Strided { gap } => lengths.push(("a gap", gap.0)),
        iostack_model::Access::Backward { step } => lengths.push(("a step back", step.0)),
        _ => lengths.push(("an alignment", job.align.0)),
    }
    for direction in iostack_model::Direction::ALL {
        if job.mix.of(direction) > 0 {
            lengths.extend(job.block_sizes.of(direction).iter().map(|&(size, _)| ("a block", size.0)));
        }
    }
    let block = shape.block.0.max(1);
    match lengths.into_iter().find(|(_, length)| length % block != 0) {
        Some((what, length)) => Err(SimError::Unaligned { job: job.name.clone(), what, length, block }),
        None => Ok(()),
    }
}

/// Course of a value over a run of unknown length: some tens of samples, evenly spread.
#[derive(Clone, Debug, Default)]
pub(super) struct Trend {
    samples: Vec<u64>,
    /// Every 2^n-th value is kept.
    thinned: u32,
    seen: u64,
}

impl Trend {
    const MOST: usize = 64;

    /// The next value.
    pub(super) fn add(&mut self, value: u64) {
        if self.seen.trailing_zeros() >= self.thinned {
            self.samples.push(value);
            if self.samples.len() > Trend::MOST {
                let mut index = 0;
                self.samples.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.thinned += 1;
            }
        }
        self.seen += 1;
    }

    /// The last sample, when each quarter of the run brought larger values than the one before.
    pub(super) fn growing(&self) -> Option<u64> {
        let quarter = self.samples.len() / 4;
        if quarter < 2 {
            return None;
        }
        let means: Vec<u64> = self
            .samples
            .chunks(quarter)
            .take(4)
            .map(|part| part.iter().sum::<u64>() / quarter as u64)
            .collect();
        let grows = means.windows(2).all(|pair| pair[1] > pair[0]);
        grows.then(|| self.samples.last().copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_keeps_few_samples_and_sees_growth() {
        let mut trend = Trend::default();
        (0..100_000).for_each(|value| trend.add(value));
        assert!(trend.samples.len() <= Trend::MOST, "{}", trend.samples.len());
        assert!(trend.growing().is_some_and(|last| last > 90_000), "{:?}", trend.growing());
        let mut level = Trend::default();
        (0..100_000).for_each(|value| level.add(value * 7919 % 100));
        assert_eq!(level.growing(), None);
    }
}
