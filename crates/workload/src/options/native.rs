//! Our own vocabulary: flags of `iostack run` and keys of TOML jobs.
//!
//! The rows stand in the order in which a TOML table's keys are applied, so that its keys may be written in any order:
//! what others refine comes first.

use std::path::PathBuf;

use iostack_model::{
    Access, Amount, Arrival, BlockSizes, Bytes, Data, Engine, Job, Mix, Nanos, Rate, Recorded, Steadiness,
    SteadyFigure, SteadyLimit, Think, Verify, VerifyMode,
};

use super::option::{self, OptionRow};
use super::value::{
    Set, ValueError, access, any, assign, bad, count, cpu_list, mix, number, one_of, parsed, pattern,
    per_second, percentiles, positive, put, ring_switches, size_shares, switch, sync_flags, up_to, whole,
    within,
};
use crate::trace::TraceFormat;

const fn native(name: &'static str, set: fn(&mut Job, &str) -> Set) -> OptionRow<Job> {
    option::row(name, set)
}

/// The row of a name.
pub(crate) fn find(name: &str) -> Option<&'static OptionRow<Job>> {
    ROWS.iter().find(|row| row.name == name)
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

pub(crate) const ROWS: &[OptionRow<Job>] = &[
    native("name", put!(name, text)).says("What reports call the job", "randread"),
    native("pattern", set_pattern)
        .says("How offsets follow each other: random, sequential or strided", "random"),
    native("distribution", put!(access, access))
        .says("Which blocks a random pattern prefers: uniform, permutation (each block once per pass), zipf:THETA, \
         pareto:H, normal:PERCENT, hot:ACCESSES/SIZE, zoned:ACCESSES/SIZE:ACCESSES/SIZE", "uniform, permutation, zipf:1.2, hot:90/10"),
    native("gap", |job, text| assign(&mut job.access, Ok(Access::Strided { gap: parsed(text)? })))
        .says("Bytes a strided pattern leaves out behind each block", "60k"),
    native("read_percent", |job, text| assign(&mut job.mix, Ok(Mix::reads(up_to::<100>(text)?))))
        .says("Percent of reads; the rest are writes", "70"),
    native("mix", put!(mix, mix)).says("read, write, trim, or percents of reads, writes and trims", "70/30"),
    native("block_size", set_block_size).says("Bytes of each I/O, or sizes with shares", "4k, 4k/60:64k/40"),
    native("read_block_size", put!(block_sizes.read, sizes)).says("The same for reads alone", "4k"),
    native("write_block_size", put!(block_sizes.write, sizes)).says("The same for writes alone", "64k"),
    native("trim_block_size", put!(block_sizes.trim, sizes)).says("The same for trims alone", "1m"),
    native("size", put!(size, amount))
        .says("Bytes of the region, or a share of the target; default up to its end", "1g, 50%"),
    native("offset", put!(offset, amount))
        .says("Start of the region, in bytes or as a share of the target", "1g, 50%"),
    native("offset_increment", put!(offset_increment, parsed::<Bytes>))
        .says("Bytes that each further thread starts later", "1g"),
    native("io_limit", put!(io_limit, parsed::<Bytes>))
        .says("Stop after so many bytes, more or less than `size`", "10g"),
    native("io_count", |job, text| assign(&mut job.io_count, whole(text, 1, u64::MAX)))
        .says("Stop after so many I/Os of each thread", "1000"),
    native("engine", set_engine)
        .says("Kernel interface: psync, pvsync2, libaio, posixaio, io_uring, mmap; null; falloc, ftruncate, filecreate, ..: see ioengine", "io_uring"),
    native("fixed_buffers", |job, text| uring(job, text, |[fixed_buffers, ..], on| *fixed_buffers = on))
        .says("Register the buffers with io_uring once", "true"),
    native("registered_files", |job, text| uring(job, text, |[_, files, ..], on| *files = on))
        .says("Register the files with io_uring once", "true"),
    native("poll", set_poll).says("Poll for completions (io_uring IOPOLL, pvsync2 RWF_HIPRI)", "true"),
    native("submit_poll", |job, text| uring(job, text, |[.., submit_poll], on| *submit_poll = on))
        .says("Let a kernel thread submit (io_uring SQPOLL)", "true"),
    native("queue_depth", put!(queue_depth, positive))
        .says("I/Os in flight per thread; above 1 the engine is libaio unless named (io_uring when not direct)", "32"),
    native("batch", put!(batch.submit, positive)).says("I/Os submitted per system call", "16"),
    native("batch_complete", put!(batch.complete_min, positive))
        .says("Completions waited for per system call", "1"),
    native("threads", put!(threads, positive)).says("Threads that each run the job", "4"),
    native("direct", put!(direct, switch)).says("Bypass the page cache (O_DIRECT)", "true"),
    native("runtime", put!(runtime, parsed::<Nanos>)).says("Stop after this time", "30s"),
    native("time_based", put!(time_based, switch))
        .says("Start over when the region is done, until `runtime`", "true"),
    native("ramp", put!(ramp, parsed::<Nanos>)).says("Run this long before measuring", "5s"),
    native("start_delay", put!(start_delay, parsed::<Nanos>)).says("Wait this long before starting", "1s"),
    native("loops", put!(loops, positive)).says("Passes over the region", "3"),
    native("rate", set_rate)
        .says("I/Os per second of each thread, by the clock (open loop); off for a closed loop", "20k"),
    native("arrival", set_arrival)
        .says("Distances between I/Os of an open loop: regular or poisson", "poisson"),
    native("think_time", |job, text| assign(&mut think(job).time, parsed::<Nanos>(text)))
        .says("Pause between I/Os of one thread", "100us"),
    native("think_every", |job, text| assign(&mut think(job).every, positive(text)))
        .says("I/Os between two pauses", "8"),
    native("think_spin", |job, text| assign(&mut think(job).spin, parsed::<Nanos>(text)))
        .says("Part of the pause that burns CPU instead of sleeping", "10us"),
    native("fsync_every", put!(sync.fsync_every, count)).says("fsync after so many writes; 0 never", "32"),
    native("fdatasync_every", put!(sync.fdatasync_every, count))
        .says("fdatasync after so many writes; 0 never", "1"),
    native("end_fsync", put!(sync.end_fsync, switch)).says("fsync once when the job ends", "true"),
    native("sync", set_sync)
        .says("Each write is on the medium before it returns: none, sync (O_SYNC) or dsync (O_DSYNC)", "dsync"),
    native("verify", set_verify)
        .says("Prove that data comes back: off, write_then_read, write_only or read_only", "write_then_read"),
    native("verify_fatal", set_verify_fatal).says("Stop at the first block that does not verify", "true"),
    native("data", set_data)
        .says("Content of writes: random, zeroes, compressible:PERCENT or pattern:BYTES", "compressible:50"),
    native("cpus", put!(cpus, cpu_list)).says("CPUs the threads may use", "0-3,6"),
    native("cpus_split", put!(cpus_split, switch))
        .says("Give each thread one of the CPUs instead of all", "true"),
    native("invalidate", put!(invalidate, switch))
        .says("Drop the target's page cache before starting", "true"),
    native("seed", put!(seed, any)).says("Reproduces offsets, mix and content", "42"),
    native("slice", put!(slice, slice)).says("Length of one element of the series", "1s"),
    native("until_steady", set_until_steady)
        .says("End when the rates of these last elements are steady as SNIA asks: the largest less the smallest, and what the \
         line through them rises or falls by, in percent of their mean", "excursion:20%,slope:10%,over:5m"),
    native("stonewall", put!(stonewall, switch)).says("Start only after all earlier jobs have ended", "true"),
    native("report_group", put!(report_group, count))
        .says("Jobs with the same number are reported as one", "0"),
    native("percentiles", put!(percentiles, percentiles)).says("Percentiles to print", "50,99,99.9"),
    native("split_latency", put!(split_latency, switch))
        .says("Keep the time after the submission apart, as fio's clat", "true"),
    native("log_bandwidth", put!(logs.bandwidth, path)).says("Write PREFIX_bw.N.log", "out/run"),
    native("log_latency", put!(logs.latency, path))
        .says("Write PREFIX_lat.N.log, _slat and _clat", "out/run"),
    native("log_iops", put!(logs.iops, path)).says("Write PREFIX_iops.N.log", "out/run"),
    native("log_trace", put!(logs.trace, path))
        .says("Write each I/O to this file, as a trace that `replay` takes", "run.trace"),
    native("log_average", put!(logs.average, parsed::<Nanos>))
        .says("Average over this span in the logs; 0 logs each I/O", "1s"),
    native("log_offsets", put!(logs.offsets, switch)).says("Put the offset in each line of the logs", "true"),
    native("files", |job, text| {
        job.files = text.split(',').map(|file| PathBuf::from(file.trim())).collect();
        Ok(())
    })
    .says("Files or devices to use, separated by commas", "/dev/nvme0n1"),
    native("directory", put!(directory, path)).says("Where files are made when none is named", "/mnt/test"),
    native("file_count", put!(file_count, within::<1, 65535>))
        .says("Files each thread makes there", "4"),
    native("unlink", put!(unlink, switch)).says("Remove the files this job made", "true"),
    native("replay", |job, value| assign(&mut recorded(job).file, Ok(PathBuf::from(text(value)?))))
        .says("Do the I/Os of a trace instead: fio iolog, MSR, blkparse, SPC or disksim", "disk.log"),
    native("replay_format", |job, value| assign(&mut recorded(job).format, trace_format(value)))
        .says("Format of the trace, where its first lines do not tell", "blkparse"),
    native("replay_disk", |job, value| assign(&mut recorded(job).disk, text(value)))
        .says("Replay only this disk of the trace; else all, one after the other", "8,16"),
    native("replay_wrap", |job, value| assign(&mut recorded(job).wrap, switch(value)))
        .says("I/Os behind the end of the target begin again at its start", "true"),
    native("replay_speed", |job, value| assign(&mut recorded(job).speed, speed(value)))
        .says("Replay so many times as fast; max: as fast as the queue depth allows", "max"),
];

/// The trace to replay; the job replays something from now on.
fn recorded(job: &mut Job) -> &mut Recorded {
    job.recorded.get_or_insert_default()
}

fn trace_format(value: &str) -> Result<String, ValueError> {
    let known = TraceFormat::ALL.map(TraceFormat::name);
    if known.contains(&value) { Ok(value.to_owned()) } else { bad(format!("give {}", known.join(", "))) }
}

/// `None` for `max`.
fn speed(value: &str) -> Result<Option<f64>, ValueError> {
    if value == "max" {
        return Ok(None);
    }
    match value.parse() {
        Ok(speed) if f64::is_finite(speed) && speed > 0.0 => Ok(Some(speed)),
        _ => bad("give a factor, such as 1, 0.5 or 20, or max"),
    }
}

fn text(value: &str) -> Result<String, ValueError> {
    if value.trim().is_empty() { bad("give a text") } else { Ok(value.to_owned()) }
}

fn path(value: &str) -> Result<Option<PathBuf>, ValueError> {
    text(value).map(|path| Some(PathBuf::from(path)))
}

fn sizes(value: &str) -> Result<Vec<(Bytes, u8)>, ValueError> {
    size_shares(value, parsed)
}

fn amount(value: &str) -> Result<Amount, ValueError> {
    match value.trim().strip_suffix('%') {
        Some(percent) => match number(percent, 0.0) {
            Ok(percent) if percent <= 100.0 => Ok(Amount::Percent(percent)),
            _ => bad("give a share from 0% to 100%"),
        },
        None => parsed(value).map(Amount::Bytes),
    }
}

fn set_pattern(job: &mut Job, value: &str) -> Set {
    job.access = match value.trim() {
        "random" if matches!(job.access, Access::Random { .. }) => return Ok(()),
        "random" => Access::UNIFORM,
        "sequential" => Access::Sequential,
        "strided" => Access::Strided { gap: job.block_sizes.largest() },
        _ => return bad("give random, sequential or strided"),
    };
    Ok(())
}

fn set_block_size(job: &mut Job, value: &str) -> Set {
    let sizes = sizes(value)?;
    job.block_sizes = BlockSizes { read: sizes.clone(), write: sizes.clone(), trim: sizes };
    Ok(())
}

fn set_engine(job: &mut Job, value: &str) -> Set {
    match (Engine::named(value.trim()), job.engine) {
        (Some(Engine::IoUring { .. }), Engine::IoUring { .. }) => {}
        (Some(engine), _) => job.engine = engine,
        (None, _) => {
            return bad("give psync, pvsync2, libaio, posixaio, io_uring, mmap, null, falloc, ftruncate, \
                 filecreate, fileopen, filestat, filedelete, dircreate, dirstat or dirdelete");
        }
    }
    Ok(())
}

/// Changes one switch of `io_uring`, which must be the engine.
fn uring(job: &mut Job, value: &str, change: fn([&mut bool; 4], bool)) -> Set {
    let on = switch(value)?;
    match ring_switches(&mut job.engine) {
        Some(switches) => change(switches, on),
        None if on => return bad("only io_uring has this; say engine=io_uring first"),
        None => {}
    }
    Ok(())
}

fn set_poll(job: &mut Job, value: &str) -> Set {
    match &mut job.engine {
        Engine::Pvsync2 { hipri } => assign(hipri, switch(value)),
        _ => uring(job, value, |[_, _, poll, _], on| *poll = on),
    }
}

fn set_rate(job: &mut Job, value: &str) -> Set {
    let arrival = job.rate.map_or(Arrival::Regular, |rate| rate.arrival);
    job.rate = match value.trim() {
        "off" => None,
        value => Some(Rate { iops: per_second(value)?, arrival }),
    };
    Ok(())
}

fn set_arrival(job: &mut Job, value: &str) -> Set {
    let arrival = one_of(value, &[("regular", Arrival::Regular), ("poisson", Arrival::Poisson)])?;
    match &mut job.rate {
        Some(rate) => rate.arrival = arrival,
        None => return bad("only an open loop has arrivals; say rate=IOPS first"),
    }
    Ok(())
}

fn think(job: &mut Job) -> &mut Think {
    job.think.get_or_insert(Think { time: Nanos(0), every: 1, spin: Nanos(0) })
}

fn set_sync(job: &mut Job, value: &str) -> Set {
    (job.sync.o_sync, job.sync.o_dsync) = sync_flags(value)?;
    Ok(())
}

fn set_verify(job: &mut Job, value: &str) -> Set {
    let words = [
        ("off", None),
        ("write_then_read", Some(VerifyMode::WriteThenRead)),
        ("write_only", Some(VerifyMode::WriteOnly)),
        ("read_only", Some(VerifyMode::ReadOnly)),
    ];
    let kept = job.verify;
    job.verify = one_of(value, &words)?.map(|mode| Verify {
        mode,
        pattern: false,
        ..kept.unwrap_or(Verify::of_mode(mode))
    });
    Ok(())
}

fn set_verify_fatal(job: &mut Job, value: &str) -> Set {
    let on = switch(value)?;
    match &mut job.verify {
        Some(verify) => verify.fatal = on,
        None if !on => {}
        None => return bad("nothing is verified; say verify=write_then_read first"),
    }
    Ok(())
}

fn set_data(job: &mut Job, value: &str) -> Set {
    let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
    job.data = match (kind.trim(), rest) {
        ("random", "") => Data::Random,
        ("zeroes", "") => Data::Zeroes,
        ("compressible", percent) => Data::Compressible(whole(percent, 0, 100)? as u8),
        ("pattern", bytes) => Data::Pattern(pattern(bytes)?),
        _ => return bad("give random, zeroes, compressible:PERCENT or pattern:0xBYTES"),
    };
    Ok(())
}

fn set_until_steady(job: &mut Job, value: &str) -> Set {
    let parts: Vec<_> = value.split(',').filter_map(|part| part.trim().split_once(':')).collect();
    let goal = match parts[..] {
        [("excursion", excursion), ("slope", slope), ("over", time)] => {
            let percent = |text: &str| number(text.strip_suffix('%')?, 0.0).ok();
            let window = time.parse().ok().filter(|time: &Nanos| time.0 > 0);
            percent(excursion).zip(percent(slope)).zip(window)
        }
        _ => None,
    };
    let Some(((excursion, slope), window)) = goal else {
        return bad("give both limits and a time, like excursion:20%,slope:10%,over:5m");
    };
    let limit = SteadyLimit::Snia { excursion, slope };
    job.until_steady = Some(Steadiness { figure: SteadyFigure::Iops, limit, window, after: Nanos(0) });
    Ok(())
}

fn slice(value: &str) -> Result<Nanos, ValueError> {
    match parsed(value)? {
        Nanos(0) => bad("give a time above 0"),
        slice => Ok(slice),
    }
}
