//! What came of jobs on a simulated device?
//!
//! ```text
//!   jobs ──► stages (stonewalls) ──► Stage: workers, groups ──► World ──► Board ──► Outcome, with what happened inside
//! ```
//!
//! The same jobs, report groups and meanings as in the real engine: what is in flight when measuring starts is not counted,
//! what is in flight when the time is up is waited for and counted, a flush waits for an empty queue. With a ramp the load is
//! full when measuring starts, and the measured time ends when the time is up: one load's worth of I/Os is left out at the
//! start and one is counted at the end, so that the rate is that of the steady state (`load.rs`). Jobs after a stonewall
//! find the device as those before it left it. The host costs nothing here: no system call, interrupt or thread takes time.
//!
//! On every run, in every build: no request is lost, the stages of each request add up to its latency, Little's law holds
//! exactly, and no resource is busy for more time than there is.
//!
//! Start reading at [`run`], then `stage.rs`.

#[cfg(test)]
mod asked;
mod board;
mod doubts;
mod error;
mod group;
mod limit;
mod load;
mod outcome;
mod progress;
mod proof;
mod replay;
mod stage;
mod worker;
mod zoned;

use std::sync::atomic::AtomicBool;

use crate::sheet::Sheet;
use iostack_model::answers::TimelineSpan;
use iostack_model::{Ends, Job, Nanos, Outcome, Progress};
use iostack_workload::load::stages;

use crate::engine::World;
use crate::host::asks_to_poll;
use proof::Proof;
use stage::{Stage, Testbed};

pub use error::SimError;
pub use outcome::{About, inside_of};
pub use replay::{Replay, replay};

/// Options of a run.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Decides whatever chance does in the device; offsets and mix follow the jobs' own seeds.
    pub seed: u64,
    /// Stretches of single requests to keep for a timeline, from the first measured one on; 0 for none.
    pub spans_max: usize,
    /// Set it to end the run early with the outcome so far.
    pub stop: &'a AtomicBool,
    /// Told how far it is.
    pub progress: Option<&'a dyn Fn(&Progress)>,
    /// Completions between two of those: the simulation itself has no clock.
    pub progress_every_requests: u64,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl RunOptions<'_> {
    /// Options with this seed; nobody watches and nobody stops it.
    pub fn seeded(seed: u64) -> RunOptions<'static> {
        RunOptions { seed, spans_max: 0, stop: &NEVER, progress: None, progress_every_requests: 1 << 16 }
    }
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// One per report group, in the order of the jobs.
    pub outcomes: Vec<Outcome>,
    /// Stretches of single requests, in the order in which they ended; empty when none were asked for.
    pub timeline: Vec<TimelineSpan>,
}

/// Runs jobs on the device of a sheet.
pub fn run(sheet: &Sheet, jobs: &[Job], options: &RunOptions<'_>) -> Result<Ran, SimError> {
    refuse_buffered(sheet, jobs)?;
    refuse_polled(sheet, jobs)?;
    let mut world = World::new();
    if jobs.iter().any(|job| job.verify.is_some()) {
        world.sim.keep_stamps();
    }
    let root = crate::build(sheet, &mut world, options.seed)?;
    world.set_root(root);
    run_world(world, &About::of(sheet), jobs, options)
}

/// Refuses a job that says `direct = false` where there is no page cache. One that says nothing, as most fio files, is
/// run, with its doubt.
fn refuse_buffered(sheet: &Sheet, jobs: &[Job]) -> Result<(), SimError> {
    let is_platform = sheet.kind.name == "platform";
    if is_platform && sheet.has("platform.memory") {
        return Ok(());
    }
    let says = |job: &&Job| {
        let mut options = job.options_global.iter().chain(&job.options);
        !job.direct && options.any(|(name, _)| matches!(name.as_str(), "direct" | "buffered"))
    };
    let remedy = if is_platform {
        "give it some with --set platform.memory=1GiB"
    } else {
        "name a platform with memory, such as sim:pentium-d"
    };
    jobs.iter().find(says).map_or(Ok(()), |job| {
        Err(SimError::NoPageCache { job: job.name.clone(), device: sheet.name.clone(), remedy })
    })
}

/// Refuses threads that poll where an interrupt must tell that the drive has room again: nobody would.
fn refuse_polled(sheet: &Sheet, jobs: &[Job]) -> Result<(), SimError> {
    let key = "platform.outstanding";
    if sheet.kind.name != "platform" || !sheet.has(key) || sheet.word("platform.subsystem")? != "async" {
        return Ok(());
    }
    if sheet.word("platform.completion")? == "interrupt" && !jobs.iter().any(|job| asks_to_poll(job.engine)) {
        return Ok(());
    }
    let what = "it is interrupts that tell of room, and here threads poll";
    Err(sheet.refuse(key, what, "set platform.subsystem=sync, or let nobody poll").into())
}

/// Runs jobs on a world that is built: its root takes the requests, and says its shape. Jobs that verify need a world whose
/// [`crate::engine::Sim::keep_stamps`] was called before its parts were made.
pub fn run_world(
    world: World,
    about: &About,
    jobs: &[Job],
    options: &RunOptions<'_>,
) -> Result<Ran, SimError> {
    // As on a real block device: one file, whatever files the job names.
    let several: Vec<&str> = jobs
        .iter()
        .filter(|job| job.files.len() > 1 || job.file_count > 1)
        .map(|job| job.name.as_str())
        .collect();
    let jobs: Vec<Job> =
        jobs.iter().map(|job| Job { files: Vec::new(), file_count: 1, ..job.clone() }).collect();
    let proof = world.sim.keeps_stamps().then(Proof::default);
    let mut bench = Testbed { world, proof, options, stages: 0, spans_kept: false };
    let shape = bench.world.shape().expect("the first part of a device says its shape");
    let cores = bench.world.host(0).map_or(u32::MAX, |host| host.cores);
    for job in &jobs {
        if let Some(&cpu) = job.cpus.iter().flatten().find(|&&cpu| cpu >= cores) {
            return Err(SimError::NoSuchCore { job: job.name.clone(), cpu, cores });
        }
        worker::check_alignment(job, shape)?;
        let refuse = |source| SimError::Job { job: job.name.clone(), capacity: shape.capacity, source };
        iostack_workload::validate(job, shape.capacity, shape.block).map_err(refuse)?;
    }
    if let Some(job) = jobs.iter().find(|job| job.recorded.is_some()) {
        return Err(SimError::TraceAlone { job: job.name.clone() });
    }
    if let Some(zones) = bench.world.zones() {
        for jobs in stages(&jobs, |job| job) {
            zoned::check(&jobs, zones, shape)?;
        }
    }
    let (mut outcomes, mut over) = (Vec::new(), false);
    for (index, jobs) in stages(&jobs, |job| job).into_iter().enumerate() {
        if over || index > 0 && options.stop.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        over = jobs.iter().any(|job| job.ends == Ends::All);
        for group in Stage::new(&mut bench, &jobs)?.run()? {
            let mut outcome = outcome::assemble(group, &bench.world, about, options.seed)?;
            outcome.caveats.extend(doubts::of_files(&outcome, &several));
            outcomes.push(outcome);
        }
    }
    Ok(Ran { outcomes, timeline: bench.timeline() })
}

impl Testbed<'_> {
    /// Measuring starts: from here on, single requests are followed.
    fn keep_spans(&mut self) {
        if self.options.spans_max > 0 && !self.spans_kept {
            self.spans_kept = true;
            self.world.sim.keep_spans(self.options.spans_max);
        }
    }

    fn timeline(&mut self) -> Vec<TimelineSpan> {
        let spans = self.world.sim.take_spans();
        let world = &self.world;
        let told = |span: &crate::engine::Span| TimelineSpan {
            request: span.serial,
            direction: format!("{:?}", span.kind).to_lowercase(),
            offset: span.offset,
            length: span.length,
            part: world.name(span.part).to_owned(),
            stage: span.stage,
            begin: Nanos(span.begin),
            end: Nanos(span.end),
        };
        spans.iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outcome of the smallest device, for tests of what reads outcomes.
    pub(super) fn outcome() -> Outcome {
        let sheet = Sheet::from_values("zero", &[("zero.latency", "10us")]).expect("a kind");
        let job = Job { io_count: Some(100), ..Job::default() };
        let ran = run(&sheet, &[job], &RunOptions::seeded(1)).expect("runs");
        ran.outcomes.into_iter().next().expect("one job")
    }

    #[test]
    fn a_job_on_the_smallest_device_takes_its_latency_times_its_count() {
        let outcome = outcome();
        assert_eq!((outcome.ios(), outcome.elapsed), (100, Nanos::millis(1)));
        assert_eq!(outcome.read.latency.sum_ns, 1_000_000);
        assert!((outcome.depth_achieved - 1.0).abs() < 1e-12);
    }
}
