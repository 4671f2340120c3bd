//! fio's options that change nothing here, or that are refused; each with its reason.

use crate::options::option::{Dialect, OptionDoc, Status};

/// One option that has no code.
pub(super) struct Other {
    name: &'static str,
    /// Values under which it is harmless; empty: all of them, unless it is refused altogether.
    harmless_values: &'static [&'static str],
    status: Status,
}

impl Other {
    /// What becomes of the option with this value.
    pub(super) fn status_of(&self, value: &str) -> Status {
        match self.status {
            Status::Refused(_) if self.harmless_values.contains(&value) => Status::Harmless("as asked"),
            status => status,
        }
    }
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Other> {
    OTHERS.iter().find(|other| other.name == name)
}

/// True when fio takes it without a value: `fio --cmdhelp` calls such an option "empty or boolean".
pub(super) fn may_stand_alone(name: &str) -> bool {
    matches!(name, "thread" | "exitall_on_error" | "refill_buffers" | "userspace_reap")
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OTHERS.iter().map(|other| other.name)
}

/// For the manual.
pub(super) fn reference() -> impl Iterator<Item = OptionDoc> {
    OTHERS.iter().map(|other| {
        let (Status::Harmless(why) | Status::Refused(why)) = other.status else {
            unreachable!("no code here")
        };
        OptionDoc {
            name: other.name,
            aliases: &[],
            dialect: Dialect::Fio,
            meaning: why,
            status: other.status,
            example: other.harmless_values.first().copied().unwrap_or_default(),
        }
    })
}

const fn harmless(name: &'static str, why: &'static str) -> Other {
    Other { name, harmless_values: &[], status: Status::Harmless(why) }
}

const fn refused(name: &'static str, why: &'static str) -> Other {
    Other { name, harmless_values: &[], status: Status::Refused(why) }
}

const fn only(name: &'static str, harmless_values: &'static [&'static str], why: &'static str) -> Other {
    Other { name, harmless_values, status: Status::Refused(why) }
}

const OFF: &[&str] = &["0", "none", "false"];
const MEASURED: &str = "every I/O is timed; it costs a few ns";
const CLOCK: &str = "the clock is the time-stamp counter where it is invariant";
const MERGED: &str =
    "traces are not merged here; `blkparse -i A -i B -d both.bin -O` does it: give that as read_iolog";
const PRIORITY: &str = "start iostack under nice, ionice, numactl or in a cgroup instead";
const VERIFY: &str = "verify headers carry offset, generation and crc32c of each 512 bytes; leave it out";
const ZONES: &str = "it belongs to zonemode=zbd: no write pointer is followed and no zone is reset";
const DEDUPE: &str = "written data does not repeat; use buffer_pattern or buffer_compress_percentage";
const LOGS: &str = "logs have fio's default format; leave it out";
const COMMANDS: &str = "a job file runs no commands, whoever wrote it; run them before or after iostack";

const OTHERS: &[Other] = &[
    // How jobs run.
    harmless("thread", "jobs are always threads"),
    harmless("create_serialize", "files are written full before any job starts"),
    harmless("create_fsync", "files are synced after they are written"),
    harmless("create_on_open", "files are made before any job starts"),
    harmless("fallocate", "files are written full, so that no extent is left unwritten"),
    harmless("overwrite", "files are always written full first"),
    harmless("openfiles", "all files stay open"),
    harmless("unique_filename", "there are no clients to tell apart"),
    only("allow_mounted_write", OFF, "writing to a mounted device needs --destroy-data on the command line"),
    only("unlink_each_loop", OFF, "use unlink"),
    only("file_append", OFF, "give offset and size"),
    only("lockfile", OFF, "files are not locked"),
    refused("opendir", "files of different sizes are not shared out; name files of one size"),
    harmless("exitall_on_error", "an error ends the run"),
    harmless("continue_on_error", "errors are counted and reported; a thread ends after 1,000 of them"),
    refused("ignore_error", "errors are counted and reported"),
    harmless("error_dump", "errors are reported"),
    refused("exec_prerun", COMMANDS),
    refused("exec_postrun", COMMANDS),
    refused("profile", "write its jobs out"),
    refused("flow_watermark", "fio has none any more: flow shares by weight"),
    // Offsets and sizes.
    harmless("randrepeat", "the seed is always fixed; change randseed for other numbers"),
    harmless("allrandrepeat", "the seed is always fixed; change randseed for other numbers"),
    harmless(
        "random_generator",
        "the order has no visible pattern and no size limit, as with tausworthe64 and lfsr",
    ),
    harmless("softrandommap", "each block once needs no memory"),
    only("bs_is_seq_rand", OFF, "give bs for reads, writes and trims"),
    only("offset_align", OFF, "give the offset as it should be"),
    only("write_hint", OFF, "no write hints are given"),
    only("atomic", OFF, "atomic writes are not asked for"),
    refused("zonecapacity", ZONES),
    refused("read_beyond_wp", ZONES),
    refused("max_open_zones", ZONES),
    refused("job_max_open_zones", ZONES),
    refused("ignore_zone_limits", ZONES),
    refused("zone_reset_threshold", ZONES),
    refused("zone_reset_frequency", ZONES),
    // Engines and submission.
    harmless("io_submit_mode", "under a rate, latency counts from the intended start whoever submits"),
    harmless("iodepth_batch_complete_max", "all completions that are there are taken"),
    only("serialize_overlap", OFF, "overlapping I/Os are not held back; leave norandommap out"),
    only("force_async", OFF, "it measures io_uring's workers; a caveat tells when they are used"),
    only("nowait", OFF, "an I/O that would wait is wanted here"),
    only("uncached", OFF, "use direct=1"),
    only("hipri_percentage", &["100"], "poll for all or for none"),
    harmless("nonvectored", "io_uring gets one buffer per I/O anyway"),
    harmless("userspace_reap", "completions are taken from the ring in user space where the kernel shows it"),
    refused("cmdprio_bssplit", "shares are by direction, not by block size; give cmdprio_percentage"),
    only("mem", &["malloc", "mmap", "shm"], "buffers are anonymous memory, aligned to pages"),
    only("iomem", &["malloc", "mmap", "shm"], "buffers are anonymous memory, aligned to pages"),
    harmless("iomem_align", "buffers are aligned to pages"),
    harmless("mem_align", "buffers are aligned to pages"),
    refused("hugepage-size", "buffers are anonymous memory, aligned to pages"),
    // Content and verification.
    harmless("refill_buffers", "content never repeats"),
    harmless("scramble_buffers", "content never repeats"),
    only("buffer_compress_chunk", &["512"], "content compresses in pieces of 512 bytes"),
    refused("dedupe_mode", DEDUPE),
    refused("dedupe_working_set_percentage", DEDUPE),
    refused("dedupe_global", DEDUPE),
    harmless("verify_interval", "each 512 bytes carry their own header, so any interval is covered"),
    harmless("verify_dump", "the first mismatch is described with its offset"),
    harmless("verify_async", "the job's own threads verify"),
    harmless("verify_async_cpus", "the job's own threads verify"),
    harmless("verify_state_save", "how far a job came is not kept; headers tell what was written"),
    only(
        "verify_state_load",
        OFF,
        "how far an earlier job came is not kept: verify what it finished, with size or number_ios",
    ),
    only("verify_offset", OFF, VERIFY),
    only("experimental_verify", OFF, VERIFY),
    only("write_barrier", OFF, "use fsync or fdatasync"),
    // Pace and time.
    only("rate_ignore_thinktime", OFF, "give rate or thinktime, not both"),
    harmless("thinktime_blocks_type", "pauses count finished I/Os"),
    only("thinktime_iotime", OFF, "use thinktime_blocks"),
    harmless("clocksource", CLOCK),
    harmless("gtod_reduce", MEASURED),
    harmless("gtod_cpu", CLOCK),
    // Output.
    harmless("disk_util", "device counters are always read"),
    harmless("disable_lat", MEASURED),
    harmless("disable_clat", MEASURED),
    harmless("disable_slat", MEASURED),
    harmless("disable_bw", MEASURED),
    harmless("disable_bw_measurement", MEASURED),
    harmless("significant_figures", "numbers have the digits that their interval supports"),
    harmless("unit_base", "rates are printed in bytes"),
    harmless("minimal", "it belongs on the command line"),
    harmless("bwavgtime", "the series has one element per second; log_avg_msec sets the logs'"),
    harmless("iopsavgtime", "the series has one element per second; log_avg_msec sets the logs'"),
    harmless("log_entries", "logs grow as they must"),
    harmless("log_compression", "logs are small enough in memory"),
    harmless("log_compression_cpus", "logs are small enough in memory"),
    only("log_store_compressed", OFF, LOGS),
    only("log_max_value", OFF, LOGS),
    only(
        "log_alternate_epoch_clock_id",
        &["0"],
        "times count from 1970 (CLOCK_REALTIME, 0) or from the start",
    ),
    refused("log_issue_time", LOGS),
    only("stats", &["1"], "every job is reported"),
    only(
        "unified_rw_reporting",
        &["0", "none", "1", "mixed"],
        "reads and writes are reported apart or together, not both",
    ),
    harmless("block_error_percentiles", "failures are counted and listed"),
    // Traces.
    harmless("read_iolog_chunked", "a trace is read once, before the first I/O"),
    refused("merge_blktrace_file", MERGED),
    refused("merge_blktrace_scalars", MERGED),
    refused("merge_blktrace_iters", MERGED),
    // Priorities and limits.
    refused("cgroup", PRIORITY),
    refused("cgroup_weight", PRIORITY),
    refused("cgroup_nodelete", PRIORITY),
    refused("uid", "who starts iostack opens the files; start it as that user"),
    refused("gid", "who starts iostack opens the files; start it as that user"),
];
