//! Which I/Os are asked, of which engine, by how many, and when does it end?

use iostack_model::{Ends, Engine, Nanos};

use super::{Row, flag, value};
use crate::fio::engines::{ENGINES, set_hipri, set_ioengine, set_ring, set_stat_call};
use crate::fio::set::{
    SECOND, set_bs, set_bsrange, set_bssplit, set_distribution, set_ignored_errors, set_kb_base,
    set_norandommap, set_percentage_random, set_reads, set_rw, set_sequencer, set_start_delay,
};
use crate::fio::units::{amount, seconds, size, time};
use crate::options::value::{any, bad, count, positive, refused, switch, whole, whole_u32};

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
    value("bs", "Bytes of each I/O; for reads, writes, trims: `4k-512k` is, as in fio, 4k and 512k and no range", "4k, 4k-512k", set_bs).or(&["blocksize"]),
    value("bssplit", "Block sizes with shares; for reads, writes, trims", "4k/60:64k/40", set_bssplit),
    value("bsrange", "Block sizes from a range, in steps of the smallest", "4k-16k", set_bsrange)
        .or(&["blocksize_range"])
        .leaning_on("bs_unaligned"),
    value("bs_is_seq_rand", "The sizes of bs are for I/O in order and at random, not for reads and writes", "1", put!(sizes_by_order, switch)),
    flag("bs_unaligned", "Sizes of bsrange are any number of bytes in it", put!(job.any_size, switch))
        .or(&["blocksize_unaligned"]),
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
    value("filesize", "Bytes of each file", "1g", put_size!(file_size)),
    value("offset", "Start of the region, in bytes or as a share of the target", "1g, 50%", |draft, text| {
        draft.job.offset = amount(text, draft.kb_base)?;
        Ok(())
    })
    .or(&["fileoffset"]),
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
    value("iodepth_low", "Submit no more before as few are in flight", "8", put!(low_water, count)),
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
    value("sqthread_poll_cpu", "CPU of that thread", "3", put!(job.host.submitter_cpu, count)),
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
    value("serialize_overlap", "Of the same bytes one I/O is in flight at a time", "1", put!(job.one_at_a_place, switch)),
    value("ignore_error", "Errors that count as no fault: of reads, of writes", "EAGAIN, ENOSPC:EIO", set_ignored_errors),
    value("ramp_time", "Run this long before measuring", "5s", put!(job.ramp, seconds)),
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
    flag("exitall", "End all jobs that run with the first that ends", put!(exit_all, switch)),
    value("exit_what", "Whom exitall ends: those that run, or those behind them too", "stonewall, all", |draft, text| {
        draft.exit_what = match text {
            "group" | "stonewall" => Ends::Beside,
            "all" => Ends::All,
            _ => return bad("give group, stonewall or all"),
        };
        Ok(())
    }),
    flag("norandommap", "Independent random draws, instead of each block once", set_norandommap)
        .leaning_on("rw"),
    value("random_generator", "With lfsr each block is drawn once also with norandommap", "lfsr", |draft, text| {
        draft.draws_once = match text {
            "lfsr" => true,
            "tausworthe" | "tausworthe64" => false,
            _ => return bad("give tausworthe, tausworthe64 or lfsr"),
        };
        Ok(())
    }),
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
    value(
        "zonemode",
        "Work on parts of the region in turn (strided), or write zones from their start on (zbd; on a target without zones of its own)",
        "none, strided, zbd",
        |draft, text| {
            (draft.zone_mode, draft.zbd) = match text {
                "none" => (false, false),
                "strided" => (true, false),
                "zbd" => (false, true),
                _ => return bad("give none, strided or zbd"),
            };
            Ok(())
        },
    ),
    value("zonecapacity", "Bytes of each zone that are written, with zbd; default zonesize", "200m", put_size!(pointers.capacity)),
    value("max_open_zones", "So many zones are written at a time, with zbd; 0: any number", "32", put!(pointers.open_most, count)),
    value("job_max_open_zones", "The same, of this job", "8", put!(pointers.open_most, count)).leaning_on("max_open_zones"),
    value("read_beyond_wp", "Read also where nothing was written, with zbd", "1", put!(pointers.reads_beyond, switch)),
    value("zonesize", "Bytes of I/O in each part", "256m", put_size!(zone[0])),
    value("zonerange", "Bytes that each part reaches over; default zonesize", "1g", put_size!(zone[1])),
    value("zoneskip", "Bytes between the parts", "1g", put_size!(zone[2])),
    value("blockalign", "Random I/Os start at multiples of this", "64k", |draft, text| {
        draft.job.align = size(text.split(',').next().unwrap_or_default(), draft.kb_base)?;
        Ok(())
    })
    .or(&["ba"]),
    value("randseed", "Reproduces offsets, mix and content", "42", put!(job.seed, any)),
];
