//! How far a running job is: told by whoever runs it, shown by whoever watches.

use serde::{Deserialize, Serialize};

use crate::Nanos;

words! {
    /// Phase that a job is in.
    #[derive(Default)]
    pub enum Phase {
        /// Its file is being written.
        LayingOut = "laying out",
        /// It runs, unmeasured.
        Ramp = "ramp",
        /// It is being measured.
        #[default]
        Running = "running",
        /// The job reads back what it wrote.
        Verifying = "verifying",
    }
}

/// Progress of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Name of the group's first job.
    pub job: String,
    /// Phase that it is in.
    pub phase: Phase,
    /// Since the start, ramp included.
    pub elapsed: Nanos,
    /// The whole time it will take, where that can be said.
    pub expected: Option<Nanos>,
    /// Share done, 0..=1, where it is not simply `elapsed` of `expected`.
    pub done: Option<f64>,
    /// Reads per second since the last progress.
    pub read_iops: f64,
    /// Writes per second.
    pub write_iops: f64,
    /// Trims per second.
    pub trim_iops: f64,
    /// Bytes per second of all directions.
    pub bandwidth: f64,
    /// Median latency since the last progress; 0 without I/O.
    pub p50: Nanos,
    /// 99th percentile; 0 without I/O.
    pub p99: Nanos,
}
