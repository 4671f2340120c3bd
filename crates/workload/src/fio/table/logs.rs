//! What is replayed, and what is kept of each I/O?

use std::path::PathBuf;

use iostack_model::{Nanos, Recorded};

use super::{Row, value};
use crate::fio::draft::Draft;
use crate::fio::set::{prefix, set_replay_skip};
use crate::fio::units::size;
use crate::options::value::{Set, percentiles, switch, up_to, whole, whole_u32};

pub(super) const ROWS: &[Row] = &[
    value(
        "read_iolog",
        "Replay this trace (fio's, or any other that `replay` knows) instead",
        "disk.log",
        |draft, text| {
            recorded(draft).file = PathBuf::from(text);
            Ok(())
        },
    ),
    value(
        "replay_no_stall",
        "As fast as the depth allows, not at the times of the trace",
        "1",
        |draft, text| {
            if switch(text)? {
                recorded(draft).speed = None;
            }
            Ok(())
        },
    )
    .leaning_on("replay_time_scale"),
    value("replay_time_scale", "Speed in percent of the recorded one", "200", |draft, text| {
        recorded(draft).speed = Some(f64::from(whole_u32(text, 1, u32::MAX)?) / 100.0);
        Ok(())
    }),
    value("replay_redirect", "The file or device it is replayed on", "/dev/nvme0n1", |draft, text| {
        draft.filenames = vec![text.to_owned()];
        Ok(())
    }),
    value("replay_scale", "Offsets of the trace are divided by it", "16", |draft, text| {
        recorded(draft).scale = whole_u32(text, 1, u32::MAX)?;
        Ok(())
    }),
    value("replay_align", "Offsets of the trace are rounded down to multiples of it", "4k", |draft, text| {
        recorded(draft).align = size(text, draft.kb_base)?;
        Ok(())
    }),
    value(
        "replay_skip",
        "What of the trace is left out: read, write, trim, sync",
        "write,trim",
        set_replay_skip,
    ),
    value(
        "write_iolog",
        "Write each I/O to this file, as a trace that read_iolog takes",
        "disk.log",
        |draft, text| {
            draft.job.logs.trace = prefix(text);
            Ok(())
        },
    ),
    log("write_bw_log", "Write PREFIX_bw.N.log", |draft, text| {
        (draft.logs_by_name[0], draft.job.logs.bandwidth) = (text.is_empty(), prefix(text));
        Ok(())
    }),
    log("write_lat_log", "Write PREFIX_lat.N.log, _slat and _clat", |draft, text| {
        (draft.logs_by_name[1], draft.job.logs.latency) = (text.is_empty(), prefix(text));
        Ok(())
    }),
    log("write_iops_log", "Write PREFIX_iops.N.log", |draft, text| {
        (draft.logs_by_name[2], draft.job.logs.iops) = (text.is_empty(), prefix(text));
        Ok(())
    }),
    log("write_hist_log", "Write PREFIX_clat_hist.N.log, with log_hist_msec", |draft, text| {
        (draft.logs_by_name[3], draft.job.logs.histogram) = (text.is_empty(), prefix(text));
        Ok(())
    }),
    value(
        "log_hist_msec",
        "So often, in milliseconds, a line of the histogram since the last",
        "1000",
        |draft, text| {
            draft.job.logs.histogram_every = Nanos::millis(whole(text, 0, u64::MAX / 1_000_000)?);
            Ok(())
        },
    ),
    value(
        "log_hist_coarseness",
        "So many times the bins of the histogram are halved",
        "0, 6",
        put!(job.logs.histogram_coarse, up_to::<6>),
    ),
    value("log_prio", "Put the priority in each line of the logs", "1", put!(job.logs.priority, switch)),
    value("log_alternate_epoch", "The same as log_unix_epoch", "1", put!(job.logs.unix_epoch, switch)),
    value("log_avg_msec", "Average over so many milliseconds in the logs", "1000", |draft, text| {
        draft.job.logs.average = Nanos::millis(whole(text, 0, u64::MAX / 1_000_000)?);
        Ok(())
    }),
    value("log_unix_epoch", "Times in the logs count from 1970", "1", put!(job.logs.unix_epoch, switch)),
    value("per_job_logs", "A file for each job; 0: one for all of a prefix", "1", |draft, text| {
        draft.job.logs.shared = !switch(text)?;
        Ok(())
    }),
    value("log_offset", "Put the offset in each line of the logs", "1", put!(job.logs.offsets, switch)),
    value("percentile_list", "Percentiles to print", "50:99:99.9", put!(job.percentiles, percentiles)),
    value(
        "slat_percentiles",
        "Percentiles of submission latency in fio's reports",
        "1",
        put!(job.percentiles_of.submission, switch),
    ),
    value(
        "clat_percentiles",
        "Percentiles of completion latency in fio's reports",
        "1",
        put!(job.percentiles_of.completion, switch),
    ),
    value(
        "lat_percentiles",
        "Percentiles of the whole latency in fio's reports",
        "1",
        put!(job.percentiles_of.whole, switch),
    ),
];

/// What the job replays; it replays something from now on.
fn recorded(draft: &mut Draft) -> &mut Recorded {
    draft.job.recorded.get_or_insert_default()
}

const fn log(name: &'static str, meaning: &'static str, set: fn(&mut Draft, &str) -> Set) -> Row {
    Row { name, aliases: &[], meaning, example: "run1", may_stand_alone: true, leans_on: "", set }
}
