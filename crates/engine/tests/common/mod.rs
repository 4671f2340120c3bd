//! What the engine's tests share: scratch directories, jobs on plain files, loop devices of our own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use iostack_engine::{Control, EngineError, run_job};
use iostack_host::Held;
use iostack_model::{Amount, Bytes, Engine, Job, Outcome, TargetKind, TargetName};

/// A directory that goes away with the test. Beside the build, because temporary directories are often in memory,
/// which is no storage.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the build directory is writable");
        Directory(path)
    }

    /// A file of `size` random bytes.
    pub(crate) fn file(&self, name: &str, size: u64) -> PathBuf {
        let path = self.0.join(name);
        let held = Arc::new(
            Held::open(&path).or_else(|_| Held::make(&path)).expect("the build directory is writable"),
        );
        iostack_engine::lay_out(&held, Bytes(size), &iostack_model::Data::Random, 1, &Control::none())
            .expect("the build directory has room");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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

/// True when the kernel or container refuses this engine here; says so.
pub(crate) fn is_refused(test: &str, result: &Result<Outcome, EngineError>) -> bool {
    if let Err(error @ EngineError::EngineUnavailable { .. }) = result {
        println!("SKIPPED {test}: {error}");
        return true;
    }
    false
}

/// A loop device of our own.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
}

impl Loop {
    /// Over a file; `None`, with the reason printed, where we may not.
    pub(crate) fn over(test: &str, file: &Path) -> Option<Loop> {
        let output = Command::new("losetup").args(["-f", "--show"]).arg(file).output();
        match output {
            Ok(output) if output.status.success() => {
                let device = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
                Some(Loop { device })
            }
            Ok(output) => {
                println!("SKIPPED {test}: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                println!("SKIPPED {test}: losetup: {error}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.device).status();
    }
}

/// A file system of our own on a loop device.
pub(crate) struct Mounted {
    pub(crate) path: PathBuf,
    _device: Loop,
}

impl Mounted {
    pub(crate) fn new(test: &str, directory: &Directory, size: u64) -> Option<Mounted> {
        let image = directory.file("image", size);
        let device = Loop::over(test, &image)?;
        let path = directory.0.join("mount");
        fs::create_dir_all(&path).expect("ours");
        let done = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
        let mounted = done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.device))
            && done(Command::new("mount").arg(&device.device).arg(&path));
        if !mounted {
            println!("SKIPPED {test}: cannot make and mount an ext4");
            return None;
        }
        Some(Mounted { path, _device: device })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}
