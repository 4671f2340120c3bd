//! How is it asked?
//!
//! ```text
//!   Work (job + target) ──► stage ──► workers ──► backend ──► kernel
//!                             │          │ meter (each I/O: one histogram, one comparison)
//!                             │          ▼
//!                             │        board ──► progress
//!                             ▼          ▼
//!                           counters ──► outcome ──► doubt  ──► Outcome (+ caveats)
//! ```
//!
//! The load generator. Every I/O is timed with two clock readings and counted in a histogram; everything else (series,
//! progress, limits, the stop flag) happens a few times a second. What an I/O costs in user instructions is gated in
//! `tests/instructions.rs`.
//!
//! What is in flight when measuring starts is not counted; what is in flight when the time is up is waited for and
//! counted. I/Os that fail are no latencies: they are listed as failures, and a thread stops after 1000 of them.
//!
//! Start reading at [`run`], then `backend/serial_loop.rs`.

mod back;
mod backend;
mod board;
mod error;
mod evidence;
mod extras;
mod failures;
mod files;
mod foreign;
mod gate;
mod group;
mod lay_out;
mod meter;
mod outcome;
pub mod path;
mod payload;
mod probe;
mod progress;
mod stage;
mod status;
mod sys;
mod tally;
mod wake;
mod watch;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iostack_host::Held;
use iostack_host::clock::Clock;
use iostack_model::{Ends, Job, Nanos, Observer, Outcome, Phase, Progress, Storage, TargetName};
use iostack_workload::load::stages;
use iostack_workload::trace::Recording;

pub use error::EngineError;
pub(crate) use error::Result;
pub use lay_out::lay_out;
pub use probe::{io_uring_usable, libaio_usable, supports_direct};
pub use sys::allow_many_files;

/// A job and where to run it.
#[derive(Clone, Debug)]
pub struct Work {
    /// Job that is asked.
    pub job: Job,
    /// The target that the job runs on.
    pub target: TargetName,
    /// The storage behind it, for its counters and its doubts.
    pub storage: Storage,
    /// The files of each thread; one list per thread of the job.
    pub files: Vec<Vec<Arc<Held>>>,
    /// Trace that the job replays ([`Job::recorded`]), each thread all of it.
    pub recording: Option<Arc<Recording>>,
}

impl Work {
    /// A job whose threads all work on one file.
    pub fn on(job: Job, file: &Arc<Held>, storage: Storage) -> Self {
        let files = vec![vec![Arc::clone(file)]; job.threads as usize];
        Work { job, target: file.target().clone(), storage, files, recording: None }
    }
}

/// Listener to what came of a stage so far.
#[derive(Clone, Copy)]
pub struct Status<'a> {
    /// Time between two calls.
    pub every: Nanos,
    /// Set, it is told at once, and the flag taken back.
    pub asked: Option<&'a AtomicBool>,
    /// Called from the coordinating thread, with an outcome of each report group that [`run`] would give.
    pub tell: &'a (dyn Fn(Vec<Outcome>) + Sync),
}

/// Means to watch and stop a run.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set it to end the run early with the outcome so far.
    pub stop: &'a AtomicBool,
    /// Called from the coordinating thread.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Time between two calls.
    pub progress_every: Nanos,
    /// Hears what came of it so far.
    pub status: Option<Status<'a>>,
    /// Looks at each I/O from inside; the loop that carries it costs some 100 instructions more per I/O.
    pub observer: Option<&'a dyn Observer>,
}

impl Control<'_> {
    /// Nobody watches and nobody stops it.
    pub fn none() -> Control<'static> {
        Control {
            stop: &stage::NEVER,
            progress: None,
            progress_every: Nanos::secs(1),
            status: None,
            observer: None,
        }
    }
}

/// Runs the works, those after a stonewall when all before it have ended, and gives one outcome per report group.
pub fn run(works: &[Work], control: &Control<'_>) -> Result<Vec<Outcome>, EngineError> {
    let called = Clock::calibrated().now();
    let (mut outcomes, mut done) = (Vec::new(), 0);
    for (index, stage) in stages(works, |work| &work.job).into_iter().enumerate() {
        let over = works[..done].iter().any(|work| work.job.ends == Ends::All);
        if index > 0 && (over || control.stop.load(Ordering::Relaxed)) {
            break;
        }
        done += stage.len();
        let start = if index == 0 { called } else { Clock::calibrated().now() };
        for work in &stage {
            check(work)?;
        }
        let groups = stage::run(&stage, control, Phase::Running)?;
        outcomes.extend(outcome::assemble_all(groups, start));
    }
    Ok(outcomes)
}

/// Runs one job: [`run`] with one work, on files that exist.
pub fn run_job(
    job: &Job,
    target: &TargetName,
    storage: &Storage,
    files: Vec<Vec<PathBuf>>,
    control: &Control<'_>,
) -> Result<Outcome, EngineError> {
    let hold = |path: PathBuf| Ok(Arc::new(Held::open(&path)?));
    let of_thread = |paths: Vec<PathBuf>| paths.into_iter().map(hold).collect();
    let files = files.into_iter().map(of_thread).collect::<Result<_, EngineError>>()?;
    let work =
        Work { job: job.clone(), target: target.clone(), storage: storage.clone(), files, recording: None };
    let mut outcomes = run(std::slice::from_ref(&work), control)?;
    outcomes.pop().ok_or(EngineError::Impossible {
        what: format!("job `{}` has no threads", job.name),
        remedy: "ask for at least one",
    })
}

/// Threads of the job write what others of it read back.
fn shares_places(work: &Work) -> bool {
    let shared = |one: &Arc<Held>| work.files.iter().skip(1).flatten().any(|other| one.is_same(other));
    work.job.offset_increment.0 == 0 && work.files.first().is_some_and(|files| files.iter().any(shared))
}

/// Refuses what would panic, hang or mean nothing.
fn check(work: &Work) -> Result<(), EngineError> {
    let job = &work.job;
    let refusals = [
        (job.threads == 0, "no threads", "ask for at least one"),
        (job.slice.0 == 0, "a series of slices without length", "ask for slices of 10ms or more"),
        (
            job.block_sizes.largest().0 > u64::from(u32::MAX >> 1),
            "a block of 2 GiB or more",
            "use smaller blocks",
        ),
        (
            job.rate.is_some_and(|rate| rate.iops <= 0.0 || !rate.iops.is_finite()),
            "a rate of 0",
            "ask for more",
        ),
        (
            job.verify.is_some_and(|verify| verify.backlog.is_some() || verify.trims.is_some())
                && shares_places(work),
            "verify_backlog or trim_percentage in threads that write the same places",
            "give offset_increment, or a file to each",
        ),
        (job.verify.is_some() && job.mix.trim > 0, "verification of trimmed blocks", "leave trims out"),
        (work.files.len() < job.threads as usize, "threads without files", "give a list for each thread"),
    ];
    match refusals.into_iter().find(|(refused, ..)| *refused) {
        Some((_, what, remedy)) => {
            Err(EngineError::Impossible { what: format!("job `{}` asks for {what}", job.name), remedy })
        }
        None => Ok(()),
    }
}
