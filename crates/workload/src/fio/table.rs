//! fio's options that do here what they do there.

use std::path::PathBuf;

use iostack_model::{Advice, Arrival, Data, Ends, Engine, LatencyGoal, Nanos, Recorded, Share};

use super::draft::Draft;
use super::set::{
    ENGINES, SECOND, any, by_direction, colon_list, count, positive, prefix, set_bs, set_bsrange,
    set_bssplit, set_distribution, set_file_service, set_hipri, set_ioengine, set_kb_base, set_norandommap,
    set_numa_memory, set_percentage_random, set_reads, set_replay_skip, set_ring, set_rw, set_sequencer,
    set_start_delay, set_stat_call, set_steady, set_sync, set_sync_range, set_think_time, set_verify,
};
use super::units::{amount, size, time};
use crate::options::value::{Set, bad, cpu_list, pattern, percentiles, refused, switch, whole, whole_u32};

/// One supported option of fio.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    pub(super) meaning: &'static str,
    pub(super) example: &'static str,
    /// `time_based` for `time_based=1`.
    pub(super) may_stand_alone: bool,
    /// The option that this one refines, and so is applied before it, whichever was typed first.
    pub(super) leans_on: &'static str,
    pub(super) set: fn(&mut Draft, &str) -> Set,
}

impl Row {
    const fn leaning_on(mut self, leader: &'static str) -> Row {
        self.leans_on = leader;
        self
    }

    const fn or(mut self, aliases: &'static [&'static str]) -> Row {
        self.aliases = aliases;
        self
    }
}

const fn value(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
    set: fn(&mut Draft, &str) -> Set,
) -> Row {
    Row { name, aliases: &[], meaning, example, may_stand_alone: false, leans_on: "", set }
}

const fn flag(name: &'static str, meaning: &'static str, set: fn(&mut Draft, &str) -> Set) -> Row {
    Row { name, aliases: &[], meaning, example: "1", may_stand_alone: true, leans_on: "", set }
}

/// The row of a name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name || row.aliases.contains(&name))
}

const MILLISECOND: u64 = 1_000_000;
const MICROSECOND: u64 = 1_000;

/// What the job replays; it replays something from now on.
fn recorded(draft: &mut Draft) -> &mut Recorded {
    draft.job.recorded.get_or_insert_default()
}

/// Assigns a field of the draft, or of its job.
macro_rules! put {
    ($($field:ident).+, $read:expr) => {
        |draft: &mut Draft, text: &str| {
            draft.$($field).+ = $read(text)?.into();
            Ok(())
        }
    };
}

/// The table.
pub(super) const ROWS: &[Row] = &[
    value(
        "name",
        "What reports call the job; in a global section it says nothing",
        "randread",
        |draft, text| {
            text.clone_into(&mut draft.job.name);
            Ok(())
        },
    ),
    value("description", "Kept with the job's options", "nightly", |_, _| Ok(())),
    value("kb_base", "What a size's `k` counts: 1024 or 1000 (`KiB` the other)", "1024, 1000", set_kb_base),
    value("rw", "Direction and order; `read:8k` leaves gaps, `read:-8k` goes back, `randread:8` draws every 8th place", "randread, rw, write, read:8k", set_rw)
        .or(&["readwrite"]),
    value("rwmixread", "Percent of reads in a mixed job", "70", |draft, text| {
        set_reads(draft, whole(text, 0, 100)?);
        Ok(())
    })
    .leaning_on("rw"),
    value("rwmixwrite", "Percent of writes in a mixed job", "30", |draft, text| {
        set_reads(draft, 100 - whole(text, 0, 100)?);
        Ok(())
    })
    .leaning_on("rw"),
    value("bs", "Bytes of each I/O; for reads, writes, trims", "4k", set_bs).or(&["blocksize"]),
    value("bssplit", "Block sizes with shares; for reads, writes, trims", "4k/60:64k/40", set_bssplit),
    value("bsrange", "Block sizes from a range, in steps of the smallest", "4k-16k", set_bsrange)
        .or(&["blocksize_range"]),
    value(
        "size",
        "Bytes or share of the target each thread covers, all its files together",
        "1g, 50%",
        |draft, text| {
            draft.job.size = Some(amount(text, draft.kb_base)?);
            Ok(())
        },
    ),
    value("io_size", "Stop after so many bytes, more or less than `size`", "10g", |draft, text| {
        draft.io_size = Some(amount(text, draft.kb_base)?);
        Ok(())
    })
    .or(&["io_limit"]),
    value("filesize", "Bytes of each file", "1g", |draft, text| {
        draft.file_size = Some(size(text, draft.kb_base)?);
        Ok(())
    }),
    value("offset", "Start of the region, in bytes or as a share of the target", "1g, 50%", |draft, text| {
        draft.job.offset = amount(text, draft.kb_base)?;
        Ok(())
    }),
    value("offset_increment", "Bytes that each further clone starts later", "1g", |draft, text| {
        if text.ends_with('%') {
            return refused("give it in bytes");
        }
        draft.job.offset_increment = size(text, draft.kb_base)?;
        Ok(())
    }),
    value("number_ios", "Stop after so many I/Os of each thread", "1000", |draft, text| {
        draft.job.io_count = Some(size(text, draft.kb_base)?.0).filter(|&count| count > 0);
        Ok(())
    }),
    value(
        "ioengine",
        "Kernel interface; `sync` is done by psync, `pvsync` by pvsync2",
        ENGINES,
        set_ioengine,
    ),
    value("stat_type", "Which call filestat and dirstat make", "stat, lstat, statx", set_stat_call)
        .leaning_on("ioengine"),
    value("iodepth", "I/Os in flight per thread", "32", put!(job.queue_depth, positive)),
    value("iodepth_batch", "I/Os submitted per system call", "16", put!(job.batch.submit, positive))
        .or(&["iodepth_batch_submit"]),
    value(
        "iodepth_batch_complete_min",
        "Completions waited for per system call; 0 counts as 1",
        "1",
        |draft, text| {
            draft.job.batch.complete_min = whole_u32(text, 0, u32::MAX)?.max(1);
            Ok(())
        },
    )
    .or(&["iodepth_batch_complete"]),
    value("iodepth_low", "Submit no more before as few are in flight", "8", |draft, text| {
        draft.low_water = Some(whole_u32(text, 0, u32::MAX)?);
        Ok(())
    }),
    flag("hipri", "Poll for completions; with io_uring or pvsync2", set_hipri).leaning_on("ioengine"),
    flag("fixedbufs", "Register the buffers with io_uring once", |draft, text| {
        set_ring(draft, text, |engine| match engine {
            Engine::IoUring { fixed_buffers, .. } => Some(fixed_buffers),
            _ => None,
        })
    })
    .leaning_on("ioengine"),
    flag("registerfiles", "Register the files with io_uring once", |draft, text| {
        set_ring(draft, text, |engine| match engine {
            Engine::IoUring { registered_files, .. } => Some(registered_files),
            _ => None,
        })
    })
    .leaning_on("ioengine"),
    value("sqthread_poll_cpu", "CPU of that thread", "3", |draft, text| {
        draft.job.host.submitter_cpu = Some(whole_u32(text, 0, u32::MAX)?);
        Ok(())
    }),
    flag("sqthread_poll", "Let a kernel thread submit; with io_uring", |draft, text| {
        set_ring(draft, text, |engine| match engine {
            Engine::IoUring { submit_poll, .. } => Some(submit_poll),
            _ => None,
        })
    })
    .leaning_on("ioengine"),
    value("direct", "Bypass the page cache", "1", put!(job.direct, switch)),
    value("buffered", "The opposite of `direct`", "0", |draft, text| {
        draft.job.direct = !switch(text)?;
        Ok(())
    }),
    value("invalidate", "Drop the target's page cache before starting", "1", put!(job.invalidate, switch)),
    value("runtime", "Stop after this time; a bare number is seconds", "30, 5m", |draft, text| {
        draft.job.runtime = Some(time(text, SECOND)?).filter(|&span| span > Nanos(0));
        Ok(())
    })
    .or(&["timeout"]),
    flag("time_based", "Start over when the region is done, until `runtime`", put!(job.time_based, switch)),
    value("ramp_time", "Run this long before measuring", "5s", |draft, text| {
        draft.job.ramp = time(text, SECOND)?;
        Ok(())
    }),
    value("startdelay", "Wait this long before starting; of a range, as the seed has it", "1s, 5-10", set_start_delay),
    value("loops", "Passes over the region", "3", put!(job.loops, positive)),
    value(
        "numjobs",
        "Clones of the job; one report each unless group_reporting",
        "4",
        put!(clones, positive),
    ),
    flag(
        "group_reporting",
        "One report for all jobs up to the next stonewall or new_group",
        put!(group_reporting, switch),
    ),
    flag("new_group", "Begin a new report group", put!(new_group, switch)),
    flag("stonewall", "Start only after all earlier jobs have ended", put!(job.stonewall, switch))
        .or(&["wait_for_previous"]),
    value("wait_for", "Start only after the jobs before it that have this name have ended", "first", |draft, text| {
        draft.job.wait_for = Some(text.to_owned());
        Ok(())
    }),
    flag("exitall", "End all jobs that run with the first that ends", |draft, text| {
        draft.exit_all = switch(text)?;
        Ok(())
    }),
    value("exit_what", "Whom exitall ends: those that run, or those behind them too", "stonewall, all", |draft, text| {
        draft.exit_what = match text {
            "group" | "stonewall" => Ends::Beside,
            "all" => Ends::All,
            _ => return bad("give group, stonewall or all"),
        };
        Ok(())
    }),
    value("rate", "Bytes per second of each direction, paced by the clock", "1m", |draft, text| {
        let kb_base = draft.kb_base;
        let limits = by_direction(text, |part| Ok(size(part, kb_base)?.0 as f64))?;
        draft.rate_bytes = limits.map(|limit| limit.filter(|&limit| limit > 0.0));
        Ok(())
    }),
    value("rate_iops", "I/Os per second of each direction, paced by the clock", "1000", |draft, text| {
        let limits = by_direction(text, |part| Ok(size(part, 1000)?.0 as f64))?;
        draft.rate_iops = limits.map(|limit| limit.filter(|&limit| limit > 0.0));
        Ok(())
    }),
    value("rate_process", "Distances between I/Os: linear or poisson", "linear, poisson", |draft, text| {
        draft.arrival = Some(match text {
            "linear" => Arrival::Regular,
            "poisson" => Arrival::Poisson,
            _ => return bad("give linear or poisson"),
        });
        Ok(())
    }),
    value("flow", "This job's weight among those that share I/Os in proportion; 0: none", "3", |draft, text| {
        let weight = whole_u32(text, 0, 1000)?;
        draft.job.share = (weight > 0).then_some(Share { group: 0, weight, nap: Nanos(0) });
        Ok(())
    }),
    value("flow_id", "Jobs with this number share", "1", |draft, text| {
        let group = count(text)?;
        draft.job.share.iter_mut().for_each(|share| share.group = group);
        Ok(())
    })
    .leaning_on("flow"),
    value("flow_sleep", "How long one that is ahead sleeps; a bare number is microseconds", "100", |draft, text| {
        let nap = time(text, MICROSECOND)?;
        draft.job.share.iter_mut().for_each(|share| share.nap = nap);
        Ok(())
    })
    .leaning_on("flow"),
    value("rate_min", "Fail when a direction moves fewer bytes per second", "1m", |draft, text| {
        let kb_base = draft.kb_base;
        let least = by_direction(text, |part| Ok(size(part, kb_base)?.0))?;
        draft.job.demand.bytes = least.map(Option::unwrap_or_default);
        Ok(())
    }),
    value("rate_iops_min", "Fail when a direction makes fewer I/Os per second", "1000", |draft, text| {
        let least = by_direction(text, |part| Ok(size(part, 1000)?.0))?;
        draft.job.demand.iops = least.map(Option::unwrap_or_default);
        Ok(())
    }),
    value("rate_cycle", "How often rate_min is looked at; a bare number is milliseconds", "1000", |draft, text| {
        draft.job.demand.cycle = time(text, MILLISECOND)?;
        Ok(())
    }),
    value("steadystate", "End when iops, bw, or their slope, changes by less", "iops:0.3%, bw_slope:0.1%", set_steady)
        .or(&["ss"]),
    value("steadystate_duration", "Steady over this time; a bare number is seconds", "30s", |draft, text| {
        draft.steady_window = time(text, SECOND)?;
        Ok(())
    })
    .or(&["ss_dur"]),
    value("steadystate_ramp_time", "What came earlier does not count", "10s", |draft, text| {
        draft.steady_after = time(text, SECOND)?;
        Ok(())
    })
    .or(&["ss_ramp"]),
    value("latency_target", "Search the deepest queue, up to iodepth, that keeps this latency; a bare number is microseconds", "500us", |draft, text| {
        let latency = time(text, MICROSECOND)?;
        let goal = LatencyGoal { latency, percent: 100.0, window: Nanos(0), goes_on: false };
        draft.job.latency_goal = (latency.0 > 0).then_some(goal);
        Ok(())
    }),
    value("latency_window", "How long a depth is tried before it is judged; a bare number is microseconds", "100ms", |draft, text| {
        let window = time(text, MICROSECOND)?;
        draft.job.latency_goal.iter_mut().for_each(|goal| goal.window = window);
        Ok(())
    })
    .leaning_on("latency_target"),
    value("latency_percentile", "Percent of the I/Os that must keep it", "99.9", |draft, text| {
        let percent: f64 = match text.parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => percent,
            _ => return bad("give 0 to 100"),
        };
        draft.job.latency_goal.iter_mut().for_each(|goal| goal.percent = percent);
        Ok(())
    })
    .leaning_on("latency_target"),
    value("latency_run", "Search until the job ends, instead of measuring the depth found", "1", |draft, text| {
        let goes_on = switch(text)?;
        draft.job.latency_goal.iter_mut().for_each(|goal| goal.goes_on = goes_on);
        Ok(())
    })
    .leaning_on("latency_target"),
    value("max_latency", "Fail when an I/O takes longer; a bare number is microseconds", "50ms", |draft, text| {
        draft.job.demand.latency = time(text, MICROSECOND)?;
        Ok(())
    }),
    value("thinktime", "Pause between I/Os; a bare number is microseconds", "100, 10ms", |draft, text| {
        set_think_time(draft, time(text, MICROSECOND)?);
        Ok(())
    }),
    value("thinktime_spin", "Part of the pause that burns CPU", "10", |draft, text| {
        let spin = time(text, MICROSECOND)?;
        draft.job.think.iter_mut().for_each(|think| think.spin = spin.min(think.time));
        Ok(())
    })
    .leaning_on("thinktime"),
    value("thinktime_blocks", "I/Os between two pauses", "8", |draft, text| {
        let every = positive(text)?;
        draft.job.think.iter_mut().for_each(|think| think.every = every);
        Ok(())
    })
    .leaning_on("thinktime"),
    flag("norandommap", "Independent random draws, instead of each block once", set_norandommap)
        .leaning_on("rw"),
    value(
        "random_distribution",
        "Which blocks are likelier",
        "random, zipf:1.2, zoned:60/10:40/90",
        set_distribution,
    )
    .leaning_on("rw"),
    value(
        "percentage_random",
        "Percent of a random job's I/Os that are at random; the others go on behind the last",
        "50",
        set_percentage_random,
    )
    .leaning_on("rw"),
    value("rw_sequencer", "The I/Os between those of `randread:8` go on, or repeat the place", "sequential, identical", set_sequencer)
        .leaning_on("rw"),
    value("zonemode", "Work on parts of the region in turn: strided", "none", |draft, text| {
        draft.zone_mode = match text {
            "none" => false,
            "strided" => true,
            "zbd" => return refused("zoned devices are not driven zone by zone"),
            _ => return bad("give none or strided"),
        };
        Ok(())
    }),
    value("zonesize", "Bytes of I/O in each part", "256m", |draft, text| {
        draft.zone[0] = size(text, draft.kb_base)?;
        Ok(())
    }),
    value("zonerange", "Bytes that each part reaches over; default zonesize", "1g", |draft, text| {
        draft.zone[1] = size(text, draft.kb_base)?;
        Ok(())
    }),
    value("zoneskip", "Bytes between the parts", "1g", |draft, text| {
        draft.zone[2] = size(text, draft.kb_base)?;
        Ok(())
    }),
    value("blockalign", "Random I/Os start at multiples of this", "64k", |draft, text| {
        draft.job.align = size(text.split(',').next().unwrap_or_default(), draft.kb_base)?;
        Ok(())
    })
    .or(&["ba"]),
    value("randseed", "Reproduces offsets, mix and content", "42", put!(job.seed, any)),
    value("fsync", "fsync after so many writes", "32", put!(job.sync.fsync_every, count)),
    value("fdatasync", "fdatasync after so many writes", "32", put!(job.sync.fdatasync_every, count)),
    value("sync_file_range", "sync_file_range after so many writes: wait_before, write, wait_after", "write:8", set_sync_range),
    value("end_fsync", "fsync once when the job ends", "1", put!(job.sync.end_fsync, switch)),
    value("fsync_on_close", "fsync once when the job ends", "1", put!(job.sync.end_fsync, switch)),
    value("sync", "Each write is on the medium before it returns", "0, 1, dsync", set_sync),
    value(
        "verify",
        "Prove that data comes back; crc32c does it, whatever checksum is named",
        "crc32c, md5",
        set_verify,
    ),
    value("do_verify", "Read back what was written", "1", put!(do_verify, switch)),
    flag("verify_only", "Check what an earlier job wrote", put!(verify_only, switch)),
    value("verify_fatal", "Stop at the first block that does not verify", "1", put!(verify_fatal, switch)),
    flag("zero_buffers", "Write zeroes", |draft, text| {
        draft.job.data = if switch(text)? { Data::Zeroes } else { Data::Random };
        Ok(())
    }),
    value("buffer_compress_percentage", "Percent of each write that compresses away", "50", |draft, text| {
        draft.job.data = Data::Compressible(whole(text, 0, 100)? as u8);
        Ok(())
    }),
    value("dedupe_percentage", "Percent of the blocks of 4 KiB that were written before", "50", |draft, text| {
        draft.job.data = Data::Duplicate(whole(text, 0, 100)? as u8);
        Ok(())
    }),
    value("verify_pattern", "What verify=pattern writes, or what stands between the headers", "0xdeadbeef", |draft, text| {
        if text.contains('%') {
            return refused("the headers of the other checksums hold the offset; use crc32c");
        }
        draft.job.data = Data::Pattern(pattern(text)?);
        Ok(())
    }),
    value("buffer_pattern", "Bytes that writes repeat", "0xdeadface", |draft, text| {
        draft.job.data = Data::Pattern(pattern(text)?);
        Ok(())
    }),
    value("filename", "Files or devices to use, separated by `:`", "/dev/nvme0n1", |draft, text| {
        draft.filenames = colon_list(text);
        if text.contains("$job") || text.contains("$filenum") {
            return bad("$jobname, $jobnum and $filenum stand for something in filename_format only");
        }
        Ok(())
    }),
    value("directory", "Where files are made", "/mnt/test", |draft, text| {
        draft.directories = colon_list(text).into_iter().map(PathBuf::from).collect();
        Ok(())
    }),
    value("filename_format", "Names of the files made", "$jobname.$jobnum.$filenum", |draft, text| {
        draft.filename_format = Some(text.to_owned());
        Ok(())
    }),
    value("nrfiles", "Files each thread makes", "4", |draft, text| {
        draft.job.file_count = whole_u32(text, 1, u32::from(u16::MAX))?;
        Ok(())
    }),
    value(
        "file_service_type",
        "Which file comes next: roundrobin, random or sequential; after N I/Os",
        "random, roundrobin:8",
        set_file_service,
    ),
    value("create_only", "Make the files, and do nothing else", "1", put!(job.beforehand.is_all, switch)),
    value("pre_read", "Read the files into the page cache first", "1", put!(job.beforehand.reads, switch)),
    value("allow_file_create", "Make files that are missing", "1", |draft, text| {
        draft.job.beforehand.makes_none = !switch(text)?;
        Ok(())
    }),
    value("fill_device", "Go on to the end of the device, or of the file that is there, whatever size says", "1", put!(fills, switch)).or(&["fill_fs"]),
    value("fadvise_hint", "Tell the kernel the order of buffered I/O", "0, 1, random, sequential", |draft, text| {
        draft.job.beforehand.advice = match text {
            "0" | "none" => None,
            "1" => Some(Advice::ByAccess),
            "random" => Some(Advice::Random),
            "sequential" => Some(Advice::Sequential),
            _ => return bad("give 0, 1, random or sequential"),
        };
        Ok(())
    }),
    value("unlink", "Remove the files this job made", "1", put!(job.unlink, switch)),
    value("ioscheduler", "Scheduler of the disk below while the job runs; put back afterwards", "none", |draft, text| {
        // The names of before multiple queues.
        let name = match text {
            "noop" => "none",
            "deadline" => "mq-deadline",
            name => name,
        };
        draft.job.host.scheduler = Some(name.to_owned());
        Ok(())
    }),
    value("lockmem", "Memory that each thread locks, so that less is left", "1g", |draft, text| {
        draft.job.host.locked = size(text, draft.kb_base)?;
        Ok(())
    }),
    value("numa_cpu_nodes", "Nodes whose CPUs the threads may use", "0,1", |draft, text| {
        draft.job.host.numa.cpu_nodes = cpu_list(text)?;
        Ok(())
    }),
    value("numa_mem_policy", "Where the threads' memory lies: local, prefer:0, bind:0-1, interleave:0-1", "local, prefer:0", set_numa_memory),
    value("nice", "Of the threads: -20, preferred, to 19", "10", |draft, text| {
        draft.job.host.priority.nice = match text.parse() {
            Ok(nice @ -20..=19) => nice,
            _ => return bad("give -20 to 19"),
        };
        Ok(())
    }),
    value("prio", "Among disk requests: 0, preferred, to 7", "3", |draft, text| {
        draft.job.host.priority.io_level = whole(text, 0, 7)? as u8;
        Ok(())
    }),
    value("prioclass", "Class of disk requests: 1 real time, 2 best effort, 3 idle", "2", |draft, text| {
        draft.job.host.priority.io_class = whole(text, 0, 3)? as u8;
        Ok(())
    }),
    value("cpus_allowed", "CPUs the threads may use", "0-3,6", |draft, text| {
        draft.job.cpus = Some(cpu_list(text)?);
        Ok(())
    }),
    value("cpumask", "The same as a bit mask", "0xf", |draft, text| {
        let mask = size(text, 1024)?.0;
        let cpus: Vec<u32> = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
        draft.job.cpus = if cpus.is_empty() { return bad("the mask names no CPU") } else { Some(cpus) };
        Ok(())
    }),
    value("cpus_allowed_policy", "All CPUs for each thread, or one each", "shared, split", |draft, text| {
        draft.job.cpus_split = match text {
            "shared" => false,
            "split" => true,
            _ => return bad("give shared or split"),
        };
        Ok(())
    }),
    value("read_iolog", "Replay this trace (fio's, or any other that `replay` knows) instead", "disk.log", |draft, text| {
        recorded(draft).file = PathBuf::from(text);
        Ok(())
    }),
    value("replay_no_stall", "As fast as the depth allows, not at the times of the trace", "1", |draft, text| {
        if switch(text)? {
            recorded(draft).speed = None;
        }
        Ok(())
    })
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
    value("replay_skip", "What of the trace is left out: read, write, trim, sync", "write,trim", set_replay_skip),
    value("write_iolog", "Write each I/O to this file, as a trace that read_iolog takes", "disk.log", |draft, text| {
        draft.job.logs.trace = prefix(text);
        Ok(())
    }),
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
];

const fn log(name: &'static str, meaning: &'static str, set: fn(&mut Draft, &str) -> Set) -> Row {
    Row { name, aliases: &[], meaning, example: "run1", may_stand_alone: true, leans_on: "", set }
}
