//! Which I/Os are asked, of which engine, by how many, and when does it end?

use iostack_model::{Ends, Nanos};

use super::{Row, row};
use crate::fio::engines::{ENGINES, set_hipri, set_ioengine, set_ring, set_stat_call};
use crate::fio::set::{
    SECOND, above_zero, set_bs, set_bsrange, set_bssplit, set_distribution, set_ignored_errors,
    set_norandommap, set_percentage_random, set_reads, set_rw, set_start_delay,
};
use crate::fio::units::{amount, seconds, size, time};
use crate::options::value::{any, assign, count, one_of, positive, put, refused, switch, text, whole};

pub(super) const ROWS: &[Row] = &[
    row("name", put!(job.name, text::<String>))
        .says("What reports call the job; in a global section it says nothing", "randread"),
    row("description", |_, _| Ok(())).says("Kept with the job's options", "nightly"),
    // Taken before all other options of the section; here it is only judged.
    row("kb_base", |_, text| one_of(text, &[("1024", ()), ("1000", ())]))
        .says("What a size's `k` counts: 1024 or 1000 (`KiB` the other)", "1024, 1000"),
    row("rw", set_rw)
        .says("Direction and order; `read:8k` leaves gaps, `read:-8k` goes back, `randread:8` draws every 8th place", "randread, rw, write, read:8k")
        .or(&["readwrite"]),
    row("rwmixread", |draft, text| set_reads(draft, whole(text, 0, 100)))
        .says("Percent of reads in a mixed job", "70")
        .leaning_on("rw"),
    row("rwmixwrite", |draft, text| set_reads(draft, whole(text, 0, 100).map(|writes| 100 - writes)))
        .says("Percent of writes in a mixed job", "30")
        .leaning_on("rw"),
    row("bs", set_bs)
        .says("Bytes of each I/O; for reads, writes, trims: `4k-512k` is, as in fio, 4k and 512k and no range", "4k, 4k-512k")
        .or(&["blocksize"]),
    row("bssplit", set_bssplit)
        .says("Block sizes with shares; for reads, writes, trims", "4k/60:64k/40"),
    row("bsrange", set_bsrange)
        .says("Block sizes from a range, in steps of the smallest", "4k-16k")
        .or(&["blocksize_range"])
        .leaning_on("bs_unaligned"),
    row("bs_is_seq_rand", put!(sizes_by_order, switch))
        .says("The sizes of bs are for I/O in order and at random, not for reads and writes", "1"),
    row("bs_unaligned", put!(job.any_size, switch))
        .says("Sizes of bsrange are any number of bytes in it", "1")
        .alone()
        .or(&["blocksize_unaligned"]),
    row("size", put!(job.size, kb amount))
        .says("Bytes or share of the target each thread covers, all its files together", "1g, 50%"),
    row("io_size", put!(io_size, kb amount))
        .says("Stop after so many bytes, more or less than `size`", "10g")
        .or(&["io_limit"]),
    row("filesize", put!(file_size, kb size)).says("Bytes of each file", "1g"),
    row("offset", put!(job.offset, kb amount))
        .says("Start of the region, in bytes or as a share of the target", "1g, 50%")
        .or(&["fileoffset"]),
    row("offset_increment", |draft, text| {
        if text.ends_with('%') { refused("give it in bytes") } else { assign(&mut draft.job.offset_increment, size(text, draft.kb_base)) }
    })
    .says("Bytes that each further clone starts later", "1g"),
    row("number_ios", |draft, text| {
        assign(&mut draft.job.io_count, Ok(above_zero(size(text, draft.kb_base)?.0)))
    })
    .says("Stop after so many I/Os of each thread", "1000"),
    row("ioengine", set_ioengine)
        .says("Kernel interface; `sync` is done by psync, `pvsync` by pvsync2", ENGINES),
    row("stat_type", set_stat_call)
        .says("Which call filestat and dirstat make", "stat, lstat, statx")
        .leaning_on("ioengine"),
    row("iodepth", put!(job.queue_depth, positive)).says("I/Os in flight per thread", "32"),
    row("iodepth_batch", put!(job.batch.submit, positive))
        .says("I/Os submitted per system call", "16")
        .or(&["iodepth_batch_submit"]),
    row("iodepth_batch_complete_min", |draft, text| {
        assign(&mut draft.job.batch.complete_min, Ok(count(text)?.max(1)))
    })
    .says("Completions waited for per system call; 0 counts as 1", "1")
    .or(&["iodepth_batch_complete"]),
    row("iodepth_low", put!(low_water, count)).says("Submit no more before as few are in flight", "8"),
    row("hipri", set_hipri)
        .says("Poll for completions; with io_uring or pvsync2", "1")
        .alone()
        .leaning_on("ioengine"),
    row("fixedbufs", |draft, text| set_ring(draft, text, |[fixed_buffers, ..], on| *fixed_buffers = on))
        .says("Register the buffers with io_uring once", "1")
        .alone()
        .leaning_on("ioengine"),
    row("registerfiles", |draft, text| set_ring(draft, text, |[_, files, ..], on| *files = on))
        .says("Register the files with io_uring once", "1")
        .alone()
        .leaning_on("ioengine"),
    row("sqthread_poll_cpu", put!(job.host.submitter_cpu, count)).says("CPU of that thread", "3"),
    row("sqthread_poll", |draft, text| set_ring(draft, text, |[.., submit_poll], on| *submit_poll = on))
        .says("Let a kernel thread submit; with io_uring", "1")
        .alone()
        .leaning_on("ioengine"),
    row("direct", put!(job.direct, switch)).says("Bypass the page cache", "1"),
    row("buffered", put!(job.direct, not switch)).says("The opposite of `direct`", "0"),
    row("invalidate", put!(job.invalidate, switch)).says("Drop the target's page cache before starting", "1"),
    row("runtime", |draft, text| assign(&mut draft.job.runtime, Ok(above_zero(time(text, SECOND)?.0).map(Nanos))))
        .says("Stop after this time; a bare number is seconds", "30, 5m")
        .or(&["timeout"]),
    row("time_based", put!(job.time_based, switch))
        .says("Start over when the region is done, until `runtime`", "1")
        .alone(),
    row("serialize_overlap", put!(job.one_at_a_place, switch))
        .says("Of the same bytes one I/O is in flight at a time", "1"),
    row("ignore_error", set_ignored_errors)
        .says("Errors that count as no fault: of reads, of writes", "EAGAIN, ENOSPC:EIO"),
    row("ramp_time", put!(job.ramp, seconds)).says("Run this long before measuring", "5s"),
    row("startdelay", set_start_delay)
        .says("Wait this long before starting; of a range, as the seed has it", "1s, 5-10"),
    row("loops", put!(job.loops, positive)).says("Passes over the region", "3"),
    row("numjobs", put!(clones, positive))
        .says("Clones of the job; one report each unless group_reporting", "4"),
    row("group_reporting", put!(group_reporting, switch))
        .says("One report for all jobs up to the next stonewall or new_group", "1")
        .alone(),
    row("new_group", put!(job.new_group, switch)).says("Begin a new report group", "1").alone(),
    row("stonewall", put!(job.stonewall, switch))
        .says("Start only after all earlier jobs have ended", "1")
        .alone()
        .or(&["wait_for_previous"]),
    row("wait_for", put!(job.wait_for, text::<String>))
        .says("Start only after the jobs before it that have this name have ended", "first"),
    row("exitall", put!(exit_all, switch)).says("End all jobs that run with the first that ends", "1").alone(),
    row("exit_what", put!(exit_what, of [("group", Ends::Beside), ("stonewall", Ends::Beside), ("all", Ends::All)]))
        .says("Whom exitall ends: those that run, or those behind them too", "stonewall, all"),
    row("norandommap", set_norandommap)
        .says("Independent random draws, instead of each block once", "1")
        .alone()
        .leaning_on("rw"),
    row("random_generator", put!(draws_once, of [("tausworthe", false), ("tausworthe64", false), ("lfsr", true)]))
        .says("With lfsr each block is drawn once also with norandommap", "lfsr"),
    row("random_distribution", set_distribution)
        .says("Which blocks are likelier", "random, zipf:1.2, zoned:60/10:40/90")
        .leaning_on("rw"),
    row("percentage_random", set_percentage_random)
        .says("Percent of a random job's I/Os that are at random; the others go on behind the last", "50")
        .leaning_on("rw"),
    row("rw_sequencer", put!(job.follow.again, of [("sequential", false), ("identical", true)]))
        .says("The I/Os between those of `randread:8` go on, or repeat the place", "sequential, identical")
        .leaning_on("rw"),
    row("zonemode", |draft, text| {
        let words = [("none", (false, false)), ("strided", (true, false)), ("zbd", (false, true))];
        (draft.zone_mode, draft.zbd) = one_of(text, &words)?;
        Ok(())
    })
    .says("Work on parts of the region in turn (strided), or write zones from their start on (zbd; on a target without zones of its own)", "none, strided, zbd"),
    row("zonecapacity", put!(pointers.capacity, kb size))
        .says("Bytes of each zone that are written, with zbd; default zonesize", "200m"),
    row("max_open_zones", put!(pointers.open_most, count))
        .says("So many zones are written at a time, with zbd; 0: any number", "32"),
    row("job_max_open_zones", put!(pointers.open_most, count))
        .says("The same, of this job", "8")
        .leaning_on("max_open_zones"),
    row("read_beyond_wp", put!(pointers.reads_beyond, switch))
        .says("Read also where nothing was written, with zbd", "1"),
    row("zonesize", put!(zone[0], kb size)).says("Bytes of I/O in each part", "256m"),
    row("zonerange", put!(zone[1], kb size))
        .says("Bytes that each part reaches over; default zonesize", "1g"),
    row("zoneskip", put!(zone[2], kb size)).says("Bytes between the parts", "1g"),
    row("blockalign", |draft, text| {
        let first = text.split(',').next().unwrap_or_default();
        assign(&mut draft.job.align, size(first, draft.kb_base))
    })
    .says("Random I/Os start at multiples of this", "64k")
    .or(&["ba"]),
    row("randseed", put!(job.seed, any)).says("Reproduces offsets, mix and content", "42"),
];
