//! Why could a simulation not be run, or not be believed?

use iostack_model::Nanos;
use iostack_workload::WorkloadError;

use crate::sheet::SheetError;

/// No outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The device's numbers do not make a device.
    #[error(transparent)]
    Sheet(#[from] SheetError),
    /// The job cannot be asked of this device.
    #[error("job `{job}` on a device of {capacity}: {source}")]
    Job {
        /// Its name.
        job: String,
        /// What the device holds.
        capacity: iostack_model::Bytes,
        /// What is wrong with it.
        source: WorkloadError,
    },
    /// Without a page cache nobody cuts blocks into what the device takes.
    #[error(
        "job `{job}`: {what} of {length} bytes is no multiple of the device's block of {block}; give a multiple: there is no page cache to round it"
    )]
    Unaligned {
        /// Its name.
        job: String,
        /// Block size, offset, ..
        what: &'static str,
        /// As asked.
        length: u64,
        /// What it must be a multiple of.
        block: u64,
    },
    /// More I/Os become due than the device can serve, so that the wait grows for ever and no figure has a meaning.
    #[error(
        "job `{job}` is unstable: it asks for {asked:.0} I/Os per second and got {achieved:.0}, so that its I/Os waited longer and longer ({late} at the end); lower the rate below that, or raise the queue depth"
    )]
    Unstable {
        /// Its name.
        job: String,
        /// I/Os per second of all threads.
        asked: f64,
        /// What the device gave.
        achieved: f64,
        /// How late the last I/O was submitted.
        late: Nanos,
    },
    /// A part has lost requests: a bug of the simulated device.
    #[error(
        "{count} requests were never answered (the first: {first}); nothing more happens at {at}: this is a bug in the simulated device, please report the command and its seed"
    )]
    Unserved {
        /// How many are in flight.
        count: u64,
        /// One of them.
        first: String,
        /// When the simulation stood still.
        at: Nanos,
    },
}
