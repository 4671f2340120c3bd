//! What the engine's tests share: jobs, and what they run on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use iostack_engine::{Control, EngineError, Work, lay_out, run_job};
use iostack_host::Held;
use iostack_model::{Amount, Bytes, Data, Engine, Job, Outcome, TargetKind, TargetName};
use iostack_testkit::{Folder, Loop, Mounted, or_skip};

pub(crate) const MIB: u64 = 1 << 20;

/// A new file of `size` random bytes.
pub(crate) fn random(folder: &Path, name: &str, size: u64) -> PathBuf {
    let path = folder.join(name);
    let held = Held::open(&path).or_else(|_| Held::make(&path)).expect("the folder is writable");
    lay_out(&Arc::new(held), Bytes(size), &Data::Random, 1, &Control::none()).expect("there is room");
    path
}

/// A new file of `size` random bytes, alone in a test's folder.
pub(crate) fn data(folder: Folder, size: u64) -> (Folder, PathBuf) {
    let path = random(&folder, "data", size);
    (folder, path)
}

/// Runs the job on one file, by all its threads.
pub(crate) fn run(job: &Job, path: &Path) -> Result<Outcome, EngineError> {
    run_with(job, path, &Control::none())
}

pub(crate) fn run_with(job: &Job, path: &Path, control: &Control<'_>) -> Result<Outcome, EngineError> {
    let block = path.starts_with("/dev");
    let kind = if block { TargetKind::Block } else { TargetKind::File };
    let target = TargetName { kind, path: path.to_owned() };
    let storage = iostack_host::storage(path).expect("the path exists");
    run_job(job, &target, &storage, vec![vec![path.to_owned()]; job.threads as usize], control)
}

/// The job on one file that exists.
pub(crate) fn work(job: Job, path: &Path) -> Work {
    let held = Arc::new(Held::open(path).expect("it is there"));
    Work::on(job, &held, held.storage().expect("it is there"))
}

/// Every engine, in the ways that take different paths.
pub(crate) fn engines() -> Vec<Engine> {
    let ring = |fixed_buffers, registered_files, submit_poll| Engine::IoUring {
        fixed_buffers,
        registered_files,
        poll: false,
        submit_poll,
    };
    vec![
        Engine::Psync,
        Engine::Pvsync2 { hipri: false },
        Engine::Mmap,
        Engine::Libaio,
        Engine::PosixAio,
        ring(false, false, false),
        ring(true, true, false),
        ring(false, false, true),
    ]
}

/// A job of `count` I/Os over `size` bytes.
pub(crate) fn counted(engine: Engine, depth: u32, count: u64, size: u64) -> Job {
    Job {
        engine,
        queue_depth: depth,
        io_count: Some(count),
        size: Some(Amount::Bytes(Bytes(size))),
        ..Job::default()
    }
}

/// Outcome of a job that can only fail here because the kernel or container refuses its engine; `None`, said aloud,
/// then.
pub(crate) fn come(test: &str, result: Result<Outcome, EngineError>) -> Option<Outcome> {
    if let Err(error @ EngineError::EngineUnavailable { .. }) = &result {
        println!("SKIPPED {test}: {error}");
        return None;
    }
    Some(result.expect("failures are part of the outcome"))
}

/// A small file system on a loop device over a file in the folder; `None`, said aloud, where we may not.
pub(crate) fn mounted(test: &str, folder: &Folder, size: u64) -> Option<Mounted<Loop>> {
    let device = or_skip(test, Loop::over(&random(folder, "image", size)))?;
    let place = Folder::below(&folder.to_string_lossy(), "mount");
    or_skip(test, Mounted::new("ext4", device, place))
}
