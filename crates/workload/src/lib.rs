//! What is asked?
//!
//! ```text
//!   text of a job file ──► Job ──► Plan ──► batches of Op ──► (the engine)
//!   fio/, toml_jobs.rs    options/  plan/   offset, length, direction, file
//!                          └► load/   what of it is next, and when
//! ```
//!
//! A job is typed by people (fio job files, TOML, flags; one option table serves all three), checked by [`validate`],
//! and turned into single I/Os by [`Plan`]. Everything here decides and nothing touches the world: includes and
//! environment variables come in as closures; only [`gather`] and [`trace::Opened`] read files. The same job and seed give the same I/Os on every machine.
//!
//! Start reading at [`Plan`], then [`set_option`].

/// Examples of the README, which must run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod buffer;
mod fio;
pub mod gather;
pub mod load;
#[cfg(test)]
mod meanings;
mod op;
mod options;
mod pacer;
mod plan;
mod rng;
mod source;
mod sys;
mod toml_jobs;
pub mod trace;
mod validate;
pub mod verify;

pub use buffer::fill_buffer;
pub use fio::{
    FioAsked, FioCommand, FioFormat, FioInstead, JobFile, JobFileError, ParseContext, Problem, Skipped,
    fio_command_options, fio_refused_switches, fio_text, parse_fio, parse_fio_command,
};
pub use op::{Filled, Op, Region, region};
pub use options::{
    Dialect, OptionDoc, OptionError, Status, choose_engine, cpu_list, native_options, options_reference,
    set_option, suggest,
};
pub use pacer::{Pacer, natural_log};
pub use plan::Plan;
pub use rng::Rng;
pub use source::{Limits, Source};
pub use toml_jobs::parse_toml;
pub use trace::{TraceError, TraceFormat, TraceIo};
pub use validate::{BLOCK_SIZE_MAX, QUEUE_DEPTH_MAX, THREADS_MAX, refuse_wait, validate};

/// What comes of a job that may not be planned.
type Result<T, E = WorkloadError> = std::result::Result<T, E>;

/// The job cannot be turned into I/Os on this target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// Not even one block fits.
    #[error(
        "the region of {length} bytes is smaller than one block of {block}; give a larger size or a smaller block size"
    )]
    RegionTooSmall {
        /// Bytes of the region.
        length: u64,
        /// Bytes of the largest block.
        block: u64,
    },
    /// The region starts or ends behind the target's end.
    #[error(
        "thread {thread} would use bytes {first}..{end}, but the target has {target}; lower offset, offset_increment or size"
    )]
    BeyondTarget {
        /// Number of the thread, from 0.
        thread: u32,
        /// First byte asked for.
        first: u64,
        /// First byte behind those asked for.
        end: u64,
        /// Bytes of the target.
        target: u64,
    },
    /// A value that no plan can follow.
    #[error("{what}; {remedy}")]
    Impossible {
        /// Value that was asked, and why it cannot be.
        what: String,
        /// Remedy, as the end of a sentence.
        remedy: String,
    },
}

/// Refuses what no plan can follow, where that is asked; the remedy is the end of a sentence.
fn refuse_if(refused: bool, what: impl Into<String>, remedy: impl Into<String>) -> Result<()> {
    if refused {
        return Err(WorkloadError::Impossible { what: what.into(), remedy: remedy.into() });
    }
    Ok(())
}
