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

/// Options of single engines, and why these do not run.
const OF_ENGINES: &[(&str, &str)] = &[
    ("cpuload cpumode cpuchunks exit_on_io_done", "it belongs to ioengine=cpuio, which does no I/O"),
    ("program arguments grace_time std_redirect", "it belongs to ioengine=exec, which does no I/O"),
    ("donorname inplace", "it belongs to ioengine=e4defrag, which reads and writes nothing"),
    (
        "cmd_type readfua writefua write_mode verify_mode md_per_io_size pi_act pi_chk apptag \
         apptag_mask deac sg_write_mode stream_id skip_bad",
        "it belongs to commands (io_uring_cmd, sg, mtd), which pass the block layer by",
    ),
    (
        "hostname port protocol proto nodelay listen pingpong interface ttl window_size mss bindname \
         verb uri nfs_url initiator namenode hdfsdirectory single_instance hdfs_use_direct \
         clustername pool clientname conf busy_poll touch_objects rbdname volume brick serverip \
         direct_write_to_pmem busy_wait_polling https http_host http_user http_pass http_s3_key \
         http_s3_keyid http_s3_region http_s3_security_token http_s3_sse_customer_key \
         http_s3_sse_customer_algorithm http_s3_storage_class http_swift_auth_token http_mode \
         http_object_mode http_verbose",
        "it belongs to an engine that asks another machine; mount or attach what it offers",
    ),
    (
        "xnvme_be xnvme_async xnvme_sync xnvme_admin xnvme_dev_nsid xnvme_dev_subnqn xnvme_iovec \
         xnvme_mem libblkio_driver libblkio_path libblkio_pre_connect_props libblkio_num_entries \
         libblkio_queue_size libblkio_pre_start_props libblkio_vectored libblkio_write_zeroes_on_trim \
         libblkio_wait_mode libblkio_force_enable_completion_eventfd gpu_dev_ids cuda_io cont \
         chunk_size object_class svcl",
        "it belongs to an engine that needs a library that is not here",
    ),
    ("no_completion_thread", "it belongs to another system's engine"),
];

/// Why an option of a single engine is refused.
pub(super) fn of_an_engine(name: &str) -> Option<&'static str> {
    OF_ENGINES.iter().find(|(names, _)| names.split(' ').any(|word| word == name)).map(|(_, why)| *why)
}

/// True when fio takes it without a value: `fio --cmdhelp` calls such an option "empty or boolean".
pub(super) fn may_stand_alone(name: &str) -> bool {
    matches!(name, "thread" | "threads" | "exitall_on_error" | "refill_buffers" | "userspace_reap")
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OTHERS.iter().map(|other| other.name)
}

/// For the manual.
pub(super) fn reference() -> impl Iterator<Item = OptionDoc> {
    let of_engines = OF_ENGINES.iter().map(|&(names, why)| {
        // Made once a run, and as long there as the table.
        let names: &'static [&'static str] = names.split(' ').collect::<Vec<_>>().leak();
        let status = Status::Refused(why);
        OptionDoc {
            name: names[0],
            aliases: &names[1..],
            dialect: Dialect::Fio,
            meaning: why,
            status,
            example: "",
        }
    });
    OTHERS
        .iter()
        .map(|other| {
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
        .chain(of_engines)
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
const CGROUP: &str = "all threads are of one process, which has one cgroup; start iostack in it, like \
     `systemd-run --scope -p IOWeight=200 iostack ..`, one for each";
const VERIFY: &str = "verify headers carry offset, generation and crc32c of each 512 bytes; leave it out";
const RESETS: &str = "a zone is emptied when it is full and written again; leave it out";
const LOGS: &str = "logs have fio's default format; leave it out";
const OLD: &str = "fio ignores it, too: it had a meaning in older versions";
const PLACEMENT: &str = "where data lies is told by NVMe commands, which pass the block layer by";
const COMMANDS: &str = "a job file runs no commands, whoever wrote it; run them before or after iostack";

const OTHERS: &[Other] = &[
    // How jobs run.
    harmless("thread", "jobs are always threads"),
    harmless("threads", "it is of fio's profile tiobench, and fio ignores it without; numjobs says how many"),
    harmless("create_serialize", "files are written full before any job starts"),
    harmless("create_fsync", "files are synced after they are written"),
    harmless("create_on_open", "files are made before any job starts"),
    harmless("fallocate", "files are written full, so that no extent is left unwritten"),
    harmless("overwrite", "files are always written full first"),
    harmless("openfiles", "all files stay open"),
    harmless("unique_filename", "there are no clients to tell apart"),
    only("allow_mounted_write", OFF, "writing to a mounted device needs --destroy-data on the command line"),
    only("file_append", OFF, "give offset and size"),
    only("lockfile", OFF, "files are not locked"),
    refused("opendir", "files of different sizes are not shared out; name files of one size"),
    harmless("exitall_on_error", "an error ends the run"),
    harmless("continue_on_error", "errors are counted and reported; a thread ends after 1,000 of them"),
    harmless("error_dump", "errors are reported"),
    refused("exec_prerun", COMMANDS),
    refused("exec_postrun", COMMANDS),
    refused("profile", "write its jobs out"),
    refused("flow_watermark", "fio has none any more: flow shares by weight"),
    // Offsets and sizes.
    harmless("randrepeat", "the seed is always fixed; change randseed for other numbers"),
    harmless("allrandrepeat", "the seed is always fixed; change randseed for other numbers"),
    harmless("softrandommap", "each block once needs no memory"),
    only("offset_align", OFF, "give the offset as it should be"),
    refused("zone_reset_threshold", RESETS),
    refused("zone_reset_frequency", RESETS),
    harmless(
        "ignore_zone_limits",
        "there are no limits of a drive's zones here: those of max_open_zones hold",
    ),
    // Engines and submission.
    harmless("io_submit_mode", "under a rate, latency counts from the intended start whoever submits"),
    harmless("iodepth_batch_complete_max", "all completions that are there are taken"),
    only("force_async", OFF, "it measures io_uring's workers; a caveat tells when they are used"),
    only("hipri_percentage", &["100"], "poll for all or for none"),
    harmless("nonvectored", "io_uring gets one buffer per I/O anyway"),
    harmless("userspace_reap", "completions are taken from the ring in user space where the kernel shows it"),
    harmless("iomem_align", "buffers are aligned to pages"),
    harmless("mem_align", "buffers are aligned to pages"),
    only("hugepage-size", &["2m", "2M", "2097152"], "huge pages have 2 MiB"),
    // Content and verification.
    harmless("experimental_verify", "what was written is read back by repeating its plan"),
    only("write_barrier", OFF, "use fsync or fdatasync"),
    harmless("refill_buffers", "content never repeats"),
    harmless("scramble_buffers", "content never repeats"),
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
    // Of before.
    refused("percentage_sequential", "fio takes it no longer; leave it out"),
    harmless("verifysort", OLD),
    harmless("verifysort_nr", OLD),
    refused("rwmixcycle", "fio takes it no longer; leave it out"),
    // Of fio 3.34 to 3.41.
    harmless("filetype", "what a name stands for is looked at"),
    only("num_range", &["1"], "a trim is of one range"),
    only("sprandom", OFF, "no drive is aged by a formula here; write it full, then at random, as two jobs"),
    refused("spr_num_regions", "it belongs to sprandom"),
    refused("spr_op", "it belongs to sprandom"),
    only("verify_pattern_interval", OFF, VERIFY),
    harmless("verify_write_sequence", "each header is checked by itself, whatever the order of the writes"),
    harmless("verify_header_seed", "headers hold the job's seed, and no seed of a header is compared"),
    only("recover_zbd_write_error", OFF, "it belongs to zoned drives, whose write pointers are not followed"),
    only("fdp", OFF, PLACEMENT),
    only("dataplacement", &["none"], PLACEMENT),
    only("data_placement", &["none"], PLACEMENT),
    refused("plid_select", PLACEMENT),
    refused("fdp_pli_select", PLACEMENT),
    refused("plids", PLACEMENT),
    refused("fdp_pli", PLACEMENT),
    refused("dp_scheme", PLACEMENT),
    only("priohint", OFF, "no hints go with priorities; use prio, prioclass or cmdprio_percentage"),
    only("thinkcycles", OFF, "give the time instead, with thinktime_spin"),
    only("log_window_value", &["avg", "average"], LOGS),
    only("steadystate_check_interval", &["1", "1s"], "the rate is looked at every second"),
    only("ss_interval", &["1", "1s"], "the rate is looked at every second"),
    harmless("job_start_clock_id", "the start is told in CLOCK_REALTIME"),
    harmless("libaio_vectored", "one buffer for each I/O asks the same of the storage"),
    only("thp", OFF, "give mem=mmaphuge"),
    only("gpu_dev_id", OFF, "no memory of a graphics processor is used"),
    // Priorities and limits.
    refused("cgroup", CGROUP),
    refused("cgroup_weight", CGROUP),
    refused("cgroup_nodelete", CGROUP),
];
