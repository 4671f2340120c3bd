//! Runs the jobs of a probe on a place that is held, and keeps what later questions need to know of earlier ones.

use std::path::PathBuf;

use iostack_model::answers::ProbeFinding;
use iostack_model::{
    Access, BlockSizes, Bytes, Caveat, Effort, Engine, Interval, Job, LogRequest, Mix, Nanos, Outcome, Sync,
};
use iostack_target::{Place, RunClock};

use super::finding::{Plateau, ProbeLimits};
use super::network::SmallReads;
use crate::check::measure::Examiner;

/// Largest number of threads that share a deep queue: one alone may be the limit.
pub(crate) const THREADS_MOST: u32 = 4;
/// Shallower queues are one thread's.
pub(crate) const DEPTH_EACH: u32 = 8;
/// Threads stand in for a queue where there is no asynchronous engine, up to so many.
const SYNCHRONOUS_MOST: u32 = 64;
/// The last reads of a probe are this part of the long ones.
const AGAIN: u64 = 8;
/// I/Os of an emulated kernel cost so many times more of our time than simulated ones.
const KERNEL_SHARE: u64 = 50;

/// Length of a measurement: by the wall's clock, or in I/Os where time is the target's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) seconds: f64,
    pub(crate) ios: u64,
}

/// A place that is asked, with what is known of it so far.
pub(crate) struct Prober<'a> {
    pub(crate) examiner: &'a Examiner<'a>,
    pub(crate) effort: Effort,
    pub(crate) seed: u64,
    /// Measured time, by the place's clock.
    pub(crate) elapsed: Nanos,
    /// Doubts of single runs that concern the whole.
    pub(crate) caveats: Vec<Caveat>,
    /// Jobs that failed, in whole sentences.
    pub(crate) notes: Vec<String>,
    /// The network of small reads.
    pub(crate) reads: Option<SmallReads>,
    /// Finding on small reads, until more is known of them.
    pub(crate) small_reads: Option<ProbeFinding>,
    /// Findings on reads of each size at once.
    pub(crate) of_reads: Vec<ProbeFinding>,
    /// Plateaus of reads.
    pub(crate) plateaus: Vec<Plateau>,
    /// Small reads for a while: the rate, and the job.
    pub(crate) long_reads: Option<(f64, Job)>,
    /// Bytes per second of large reads.
    pub(crate) large: f64,
    /// The rate between dips over the mean, where they were seen.
    pub(crate) dips: Option<f64>,
    /// Bytes per second of large reads, where all move equally many.
    pub(crate) link: Option<Interval>,
    /// Findings on limits: on I/Os, on bytes.
    pub(crate) capped: Vec<ProbeFinding>,
    /// Limits before the medium.
    pub(crate) limits: ProbeLimits,
    /// Unit of the mapping, where it was told.
    pub(crate) unit: Option<Bytes>,
    /// Time of a write that is made durable, ns.
    pub(crate) program_ns: Option<f64>,
    /// Rate of writes that the medium takes for good, bytes per second.
    pub(crate) drain: Option<f64>,
    /// Bytes of the write buffer, where it was told.
    pub(crate) buffer: Option<f64>,
    /// Cells that are written quickly were found.
    pub(crate) has_slc: bool,
}

impl<'a> Prober<'a> {
    pub(crate) fn new(examiner: &'a Examiner<'a>, effort: Effort, seed: u64) -> Prober<'a> {
        Prober {
            examiner,
            effort,
            seed,
            elapsed: Nanos(0),
            caveats: Vec::new(),
            notes: Vec::new(),
            reads: None,
            small_reads: None,
            of_reads: Vec::new(),
            plateaus: Vec::new(),
            long_reads: None,
            large: 0.0,
            dips: None,
            link: None,
            capped: Vec::new(),
            limits: ProbeLimits::default(),
            unit: None,
            program_ns: None,
            drain: None,
            buffer: None,
            has_slc: false,
        }
    }

    pub(crate) fn place(&self) -> &'a Place {
        &self.examiner.session.about().place
    }

    pub(crate) fn is_virtual(&self) -> bool {
        self.place().clock == RunClock::Virtual
    }

    /// Smallest request of the usual size: a page, or the logical block where that is larger.
    pub(crate) fn small(&self) -> Bytes {
        Bytes(4096).max(self.place().logical_block)
    }

    /// A job at random places, with so many in flight.
    pub(crate) fn job(&self, mix: Mix, size: Bytes, depth: u32) -> Job {
        let place = self.place();
        let mut engine = place.engine();
        if depth == 1 && engine.is_synchronous() {
            engine = Engine::Psync;
        }
        let (threads, each) = if engine.is_synchronous() {
            (depth.min(SYNCHRONOUS_MOST), 1)
        } else {
            let threads = (depth / DEPTH_EACH).clamp(1, THREADS_MOST.min(place.cores.max(1)));
            (threads, depth / threads)
        };
        let region = place.region.0 / size.0.max(1) * size.0;
        Job {
            name: "probe".to_owned(),
            mix,
            access: Access::UNIFORM,
            block_sizes: BlockSizes::all(size),
            engine,
            threads,
            queue_depth: each,
            direct: place.direct,
            size: Some(iostack_model::Amount::Bytes(Bytes(region))),
            time_based: true,
            seed: self.seed,
            ..Job::default()
        }
    }

    /// The job, so long, at about `rate` I/Os per second.
    pub(crate) fn lasting(&self, mut job: Job, length: Length, rate: f64) -> Job {
        let place = self.place();
        let (seconds, shortest) = if self.is_virtual() {
            let ios = if place.tells_inside { length.ios } else { length.ios.div_ceil(KERNEL_SHARE) };
            (ios as f64 / rate.max(1e-3), 0.0)
        } else {
            (length.seconds * stretch(self.effort), place.shortest.as_secs_f64())
        };
        let runtime = Nanos((seconds.max(shortest) * 1e9) as u64).max(Nanos(1000));
        job.runtime = Some(runtime);
        job.ramp = Nanos(runtime.0 / 5);
        job.slice = Nanos((runtime.0 / 20).max(1));
        job
    }

    /// Keeps each I/O of the job.
    pub(crate) fn logged(job: Job) -> Job {
        let logs =
            LogRequest { latency: Some(PathBuf::from("probe")), offsets: true, ..LogRequest::default() };
        Job { logs, ..job }
    }

    /// Each write is made durable before the next.
    pub(crate) fn durable(job: Job) -> Job {
        Job { sync: Sync { fdatasync_every: 1, ..Sync::default() }, ..job }
    }

    /// Runs a job; `None` after Ctrl-C, when nothing came back, or when it failed, which is noted.
    pub(crate) fn run(&mut self, job: &Job) -> Option<Outcome> {
        if self.examiner.stopped() {
            return None;
        }
        self.seed = self.seed.wrapping_add(1);
        let ran = self.examiner.run(&Job { seed: self.seed, ..job.clone() });
        match ran {
            Ok(outcome) => {
                self.elapsed += outcome.elapsed;
                if let Some(failure) = outcome.failures.first() {
                    self.note(format!("Some I/Os failed: {}.", failure.message));
                    return None;
                }
                self.caveats.extend(outcome.caveats.iter().filter(|caveat| is_of_all(caveat)).cloned());
                (outcome.ios() > 0 && !outcome.interrupted).then_some(outcome)
            }
            Err(reason) => {
                self.note(format!("A measurement failed: {reason}."));
                None
            }
        }
    }

    /// Small reads once more: a drive that drifts gives another rate than in the beginning.
    pub(crate) fn read_again(&mut self) {
        let Some((before, job)) = self.long_reads.take() else { return };
        let job = Job { runtime: job.runtime.map(|time| Nanos(time.0 / AGAIN)), ..job };
        if let Some(outcome) = self.run(&job) {
            self.caveats.extend(iostack_doubt::drift::of_rates(&[before, outcome.rate()]));
        }
    }

    /// Time of a read over that of a program.
    pub(crate) fn reads_per_program(&self) -> Option<f64> {
        Some(self.reads.as_ref()?.fit.service * 1e9 / self.program_ns?)
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The reason why a question has no answer when a job of it did not come back.
    pub(crate) fn missing(&self) -> String {
        if self.examiner.stopped() {
            return "interrupted before it was measured".to_owned();
        }
        self.notes.last().cloned().unwrap_or_else(|| "nothing came back".to_owned())
    }
}

/// Factor on the time of each measurement.
pub(crate) const fn stretch(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 0.2,
        Effort::Default => 1.0,
        Effort::Full => 3.0,
    }
}

/// Doubts that concern the drive or the machine, and not what a single job intends.
fn is_of_all(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::UnwrittenExtents { .. }
            | Caveat::ForeignIo { .. }
            | Caveat::ForeignCpu { .. }
            | Caveat::Steal { .. }
            | Caveat::CachedReads { .. }
            | Caveat::CompressibleData { .. }
            | Caveat::IoLimit { .. }
            | Caveat::CacheBelow { .. }
            | Caveat::Punted { .. }
    )
}
