//! What is kept of each I/O, in files beside the outcome?

use std::ops::Not;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::is_default;
use crate::{LogEntry, LogSpan, Nanos};

/// fio-style log files to write, each with the prefix given.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LogRequest {
    /// Prefix of `PREFIX_bw.N.log`, the log of bandwidth.
    pub bandwidth: Option<PathBuf>,
    /// `PREFIX_lat.N.log`, `_slat`, `_clat`
    pub latency: Option<PathBuf>,
    /// Prefix of `PREFIX_iops.N.log`, the log of rates.
    pub iops: Option<PathBuf>,
    /// A trace of each I/O as fio's `write_iolog` writes it, which can be replayed; this very file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Prefix of `PREFIX_clat_hist.N.log`, the log of histograms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<PathBuf>,
    /// Time between two lines of the histogram; 0: none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub histogram_every: Nanos,
    /// So many times the bins of the histogram are halved.
    #[serde(default, skip_serializing_if = "is_default")]
    pub histogram_coarse: u8,
    /// Put the priority in each line.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub priority: bool,
    /// Average over this span; 0 logs each I/O.
    pub average: Nanos,
    /// Put the offset in each line.
    pub offsets: bool,
    /// Times count from 1970 (fio's `log_unix_epoch`).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub unix_epoch: bool,
    /// One file of each kind for all jobs with this prefix (fio's `per_job_logs=0`).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub shared: bool,
}

impl LogRequest {
    /// True when any log is written.
    pub fn are_wanted(&self) -> bool {
        self.bandwidth.is_some() || self.latency.is_some() || self.iops.is_some() || self.keeps_each()
    }

    /// True when each I/O is needed, whatever is averaged.
    fn keeps_each(&self) -> bool {
        self.trace.is_some() || self.histogram.is_some()
    }

    /// Keeps what is needed of an entry: as it is, in an average, or both.
    pub fn keep(&self, entry: &LogEntry, log: &mut Vec<LogEntry>, spans: &mut Vec<LogSpan>) {
        if self.average.0 > 0 && !entry.is_flush() {
            LogSpan::add(spans, entry, self.average);
        }
        if self.average.0 == 0 && !entry.is_flush() || self.keeps_each() {
            log.push(*entry);
        }
    }
}
