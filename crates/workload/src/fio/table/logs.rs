//! What is replayed, and what is kept of each I/O?

use std::path::PathBuf;

use iostack_model::{Nanos, Recorded};

use super::{MILLISECOND, Row, row};
use crate::fio::draft::Draft;
use crate::fio::set::set_replay_skip;
use crate::fio::units::size;
use crate::options::value::{ValueError, assign, percentiles, positive, put, switch, text, up_to, whole};

pub(super) const ROWS: &[Row] = &[
    row("read_iolog", |draft, file| assign(&mut recorded(draft).file, Ok(file)))
        .says("Replay this trace (fio's, or any other that `replay` knows) instead", "disk.log"),
    row("replay_no_stall", |draft, text| {
        if switch(text)? {
            recorded(draft).speed = None;
        }
        Ok(())
    })
    .says("As fast as the depth allows, not at the times of the trace", "1")
    .leaning_on("replay_time_scale"),
    row("replay_time_scale", |draft, text| {
        assign(&mut recorded(draft).speed, Ok(f64::from(positive(text)?) / 100.0))
    })
    .says("Speed in percent of the recorded one", "200"),
    row("replay_redirect", |draft, text| assign(&mut draft.filenames, Ok([text.to_owned()])))
        .says("The file or device it is replayed on", "/dev/nvme0n1"),
    row("replay_scale", |draft, text| assign(&mut recorded(draft).scale, positive(text)))
        .says("Offsets of the trace are divided by it", "16"),
    row("replay_align", |draft, text| {
        let kb_base = draft.kb_base;
        assign(&mut recorded(draft).align, size(text, kb_base))
    })
    .says("Offsets of the trace are rounded down to multiples of it", "4k"),
    row("replay_skip", set_replay_skip)
        .says("What of the trace is left out: read, write, trim, sync", "write,trim"),
    row("write_iolog", put!(job.logs.trace, text::<PathBuf>))
        .says("Write each I/O to this file, as a trace that read_iolog takes", "disk.log"),
    row("write_bw_log", put!(job.logs.bandwidth, text::<PathBuf>))
        .says("Write PREFIX_bw.N.log", "run1")
        .alone(),
    row("write_lat_log", put!(job.logs.latency, text::<PathBuf>))
        .says("Write PREFIX_lat.N.log, _slat and _clat", "run1")
        .alone(),
    row("write_iops_log", put!(job.logs.iops, text::<PathBuf>))
        .says("Write PREFIX_iops.N.log", "run1")
        .alone(),
    row("write_hist_log", put!(job.logs.histogram, text::<PathBuf>))
        .says("Write PREFIX_clat_hist.N.log, with log_hist_msec", "run1")
        .alone(),
    row("log_hist_msec", put!(job.logs.histogram_every, milliseconds))
        .says("So often, in milliseconds, a line of the histogram since the last", "1000"),
    row("log_hist_coarseness", put!(job.logs.histogram_coarse, up_to::<6>))
        .says("So many times the bins of the histogram are halved", "0, 6"),
    row("log_prio", put!(job.logs.priority, switch)).says("Put the priority in each line of the logs", "1"),
    row("log_alternate_epoch", put!(job.logs.unix_epoch, switch)).says("The same as log_unix_epoch", "1"),
    row("log_avg_msec", put!(job.logs.average, milliseconds))
        .says("Average over so many milliseconds in the logs", "1000"),
    row("log_unix_epoch", put!(job.logs.unix_epoch, switch)).says("Times in the logs count from 1970", "1"),
    row("per_job_logs", put!(job.logs.shared, not switch))
        .says("A file for each job; 0: one for all of a prefix", "1"),
    row("log_offset", put!(job.logs.offsets, switch)).says("Put the offset in each line of the logs", "1"),
    row("percentile_list", put!(job.percentiles, percentiles)).says("Percentiles to print", "50:99:99.9"),
    row("slat_percentiles", put!(job.percentiles_of.submission, switch))
        .says("Percentiles of submission latency in fio's reports", "1"),
    row("clat_percentiles", put!(job.percentiles_of.completion, switch))
        .says("Percentiles of completion latency in fio's reports", "1"),
    row("lat_percentiles", put!(job.percentiles_of.whole, switch))
        .says("Percentiles of the whole latency in fio's reports", "1"),
];

fn milliseconds(text: &str) -> Result<Nanos, ValueError> {
    whole(text, 0, u64::MAX / MILLISECOND).map(Nanos::millis)
}

/// The trace to replay; the job replays something from now on.
fn recorded(draft: &mut Draft) -> &mut Recorded {
    draft.job.recorded.get_or_insert_default()
}
