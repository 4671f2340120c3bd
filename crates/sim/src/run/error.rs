//! Why could a simulation not be run, or not be believed?

use iostack_model::{Bytes, Nanos};
use iostack_workload::WorkloadError;
use iostack_workload::trace::TraceError;

use crate::sheet::SheetError;

/// Reason why there is no outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The device's numbers do not make a device.
    #[error(transparent)]
    Sheet(#[from] SheetError),
    /// The job cannot be asked of this device.
    #[error("job `{job}` on a device of {capacity}")]
    Job {
        /// Name of the job.
        job: String,
        /// Capacity of the device.
        capacity: Bytes,
        /// Fault of the job.
        source: WorkloadError,
    },
    /// Nobody cuts blocks into what the device takes, since there is no page cache.
    #[error(
        "job `{job}`: {what} of {length} bytes is no multiple of the device's block of {block}; give a multiple: there is no page cache to round it"
    )]
    Unaligned {
        /// Name of the job.
        job: String,
        /// Block size, offset, ..
        what: &'static str,
        /// Length or offset as asked.
        length: u64,
        /// Unit that it must be a multiple of.
        block: u64,
    },
    /// A job that writes what zones do not take.
    #[error("job `{job}`: {what}; {remedy}")]
    Zones {
        /// Name of the job.
        job: String,
        /// Reason, of the device, against it.
        what: String,
        /// Remedy, as the end of a sentence.
        remedy: String,
    },
    /// A trace that writes anywhere.
    #[error(
        "I/O {number} of the trace writes or trims, and the device takes writes only where its zones go on; replay it on a device without zones"
    )]
    ZonesOfTrace {
        /// Number of the I/O in the trace, from 1.
        number: u64,
    },
    /// Buffered I/O was asked for by name, where it would be direct I/O under another name.
    #[error(
        "job `{job}` asks for the page cache (direct = false), and simulated {device} has no memory for one; {remedy}, or leave direct out"
    )]
    NoPageCache {
        /// Name of the job.
        job: String,
        /// Name of the sheet.
        device: String,
        /// Way to a device that has one.
        remedy: &'static str,
    },
    /// More I/Os become due than the device can serve, so that the wait grows for ever and no figure has a meaning.
    #[error(
        "job `{job}` is unstable: it asks for {asked:.0} I/Os per second and got {achieved:.0}, so that its I/Os waited longer and longer ({late} at the end); lower the rate below that, or raise the queue depth"
    )]
    Unstable {
        /// Name of the job.
        job: String,
        /// I/Os per second of all threads.
        asked: f64,
        /// I/Os per second that the device gave.
        achieved: f64,
        /// Delay of the last submission.
        late: Nanos,
    },
    /// A trace among jobs.
    #[error(
        "job `{job}`: a simulated device replays one trace, and nothing beside it; leave the other jobs out"
    )]
    TraceAlone {
        /// Name of the job.
        job: String,
    },
    /// A processor that the platform has not.
    #[error(
        "job `{job}` is bound to processor {cpu}, but the platform has {cores}, from 0 on; change `cpus`"
    )]
    NoSuchCore {
        /// Name of the job.
        job: String,
        /// Number of the processor.
        cpu: u32,
        /// Number of processors that there are.
        cores: u32,
    },
    /// A part has lost requests: a bug of the simulated device.
    #[error(
        "{count} requests were never answered (the first: {first}); nothing more happens at {at}: this is a bug in the simulated device, please report the command and its seed"
    )]
    Unserved {
        /// Number of requests in flight.
        count: u64,
        /// One of them.
        first: String,
        /// Moment when the simulation stood still.
        at: Nanos,
    },
    /// A line of a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A trace of a larger device.
    #[error(
        "I/O {number} of the trace covers {length} bytes at {offset}, but the device holds {capacity}; take a larger device, or wrap the trace"
    )]
    BeyondDevice {
        /// Number of the I/O in the trace, from 1.
        number: u64,
        /// First byte of the I/O.
        offset: u64,
        /// Bytes of the I/O.
        length: u64,
        /// Capacity of the device.
        capacity: Bytes,
    },
    /// The device falls ever further behind the trace.
    #[error(
        "the device cannot keep up with the trace: {in_flight} I/Os are in flight after {at}; replay it slower, or as fast as a queue depth allows"
    )]
    Overrun {
        /// Number of I/Os in flight.
        in_flight: u64,
        /// Moment in virtual time.
        at: Nanos,
    },
    /// Not a speed.
    #[error("the speed of a replay is a number above 0; give 1 for the recorded times")]
    Speed,
    /// A device without latency, and a job that only time ends, or whose rate is asked for.
    #[error(
        "no virtual time passes on this device: a runtime never ends, and a rate has no meaning; give the device a latency, or limit the job to fewer than a million I/Os"
    )]
    Timeless,
}
