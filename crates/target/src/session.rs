//! A place on a target, held while a study asks there again and again.

use anyhow::{Result, bail};
use iostack_model::{Bytes, Effort, Engine, Job, Ladder, Machine, Nanos, Outcome, Storage, TargetName};
use serde::{Deserialize, Serialize};

use crate::{Audience, MergeAsked, MergeFound, RunClock, Wanted};

/// Wishes of a study: what it may touch, and how much of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Wishes {
    /// Time the user gives: a scratch file is as large as can be filled in it.
    pub effort: Effort,
    /// Size of the scratch file or of the region to use, instead of the chosen one.
    pub size: Option<Bytes>,
}

/// A place that is held: what is asked of it is asked of the same file, device or drive, whatever has its name meanwhile.
/// Dropped, it is left as it was found.
pub trait Session {
    /// Description of the place.
    fn about(&self) -> &About;

    /// Rungs to which this user may look inside.
    fn ladder(&self) -> Ladder;

    /// Runs one job there. An error is one line.
    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String>;

    /// Measures how the merge library's policies do there.
    fn merge(&self, _: &MergeAsked, _: &dyn Audience) -> Result<MergeFound> {
        bail!("`{}` takes no calls of the merge library", self.about().name)
    }

    /// One turn of a loop of the machine's own, in clocks of its time-stamp counter: with a part of the path, and without it; `None`:
    /// another program had the CPU meanwhile.
    fn turn(&self, _: HostPart) -> Result<Option<[f64; 2]>, String> {
        Err("it is measured on real machines".to_owned())
    }

    /// Gives up all but the first `region`: only so much of a scratch file could be written.
    fn keep(&mut self, _region: Bytes) {}
}

/// A part of the path that is measured without the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPart {
    /// A system call that does nothing, and its return.
    SystemCall,
    /// A wake-up and a switch to the other thread.
    Switch,
}

impl HostPart {
    /// Calls, or round trips, of one turn.
    pub const fn count(self) -> u32 {
        match self {
            HostPart::SystemCall => 2_000,
            HostPart::Switch => 500,
        }
    }
}

/// Description of a place that is held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct About {
    /// Abilities of the place.
    pub place: Place,
    /// Name of the target that answers.
    pub name: TargetName,
    /// The storage behind it.
    pub storage: Storage,
    /// The machine before it.
    pub machine: Machine,
}

/// Abilities of a place, known before the first measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Clock of its figures.
    pub clock: RunClock,
    /// Each figure says by itself what happened inside, so that nobody need look.
    pub tells_inside: bool,
    /// Shorter runs show the place's own ticks more than its I/O.
    pub shortest: Nanos,
    /// Bytes that may be read (and written, when `writable`).
    pub region: Bytes,
    /// An empty file of ours that is to be filled before it is read, and why it has its size.
    pub to_fill: Option<String>,
    /// Writing is allowed: our own scratch file, a simulated drive, or `--destroy-data`.
    pub writable: bool,
    /// There is a file system, or a simulated one.
    pub is_file: bool,
    /// There is a page cache, so that buffered I/O means something.
    pub buffered: bool,
    /// Direct I/O works here.
    pub direct: bool,
    /// Smallest unit of direct I/O.
    pub logical_block: Bytes,
    /// CPUs that may be used.
    pub cores: u32,
    /// `io_uring` may be used.
    pub io_uring: bool,
    /// The device takes `io_uring` requests without handing them to workers.
    pub nowait: bool,
    /// libaio may be used.
    pub libaio: bool,
    /// Name of the raw device below the file, when this user may read it, or why there is none.
    pub raw_device: Result<String, String>,
    /// Schedulers that may be tried ([`iostack_model::HostAsked::scheduler`]), the current one first, or why none may.
    pub schedulers: Result<Vec<String>, String>,
    /// Word behind `--on` by which a command names it, for a run that outlives the session.
    pub on: String,
    /// Last words of such a command.
    pub end: String,
    /// The command that chooses another scheduler, with `{}` for its name.
    pub scheduler_command: String,
}

impl Place {
    /// The asynchronous engine that costs least here; psync where there is none.
    pub fn engine(&self) -> Engine {
        if self.io_uring && (self.nowait || !self.libaio) {
            Engine::IO_URING
        } else if self.libaio {
            Engine::Libaio
        } else {
            Engine::Psync
        }
    }
}

/// File or device of a job of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    /// The scratch file, the simulated drive, or the target itself.
    #[default]
    Target,
    /// The raw device below the file, reads only.
    RawDevice,
}

/// Form of a run of a session.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct How {
    /// File or device that the job goes to.
    pub on: On,
    /// Looked at from inside. What is not permitted is a note; where nothing is, the job is not run.
    pub look: Wanted,
}

/// Result of a job of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Figures of the run.
    pub outcome: Outcome,
    /// Notes on what could not be looked at, and why.
    pub notes: Vec<String>,
}
