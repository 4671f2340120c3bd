//! Can this job run on this target at all?
//!
//! Everything that would fail after the first I/O, or worse, run and mean nothing, is refused before: with what was
//! asked and what to ask instead. Start reading at [`validate`].

use iostack_model::{Access, Amount, Bytes, Direction, Engine, Job, Mix, NameAct, Nanos, VerifyMode};

use crate::load::reads_back;
use crate::verify::SECTOR_LEN;
use crate::{Plan, Result, refuse_if, region};

/// Entries a ring may have by our choice: beyond it, latency is only time in our own queue, and memory for buffers runs
/// away.
pub const QUEUE_DEPTH_MAX: u32 = 4096;

/// Threads a job may have by our choice; more of them measure the scheduler.
pub const THREADS_MAX: u32 = 1024;

/// Linux moves at most this much in one call (`MAX_RW_COUNT` in include/linux/fs.h: `INT_MAX` cut to a page).
pub const BLOCK_SIZE_MAX: Bytes = Bytes(0x7fff_f000);

/// Checks a job against the size of its target (each file's, if there are several) and the block size that direct I/O
/// must be a multiple of.
pub fn validate(job: &Job, target_size: Bytes, logical_block: Bytes) -> Result<()> {
    counts(job)?;
    times(job)?;
    sizes(job)?;
    alignment(job, logical_block)?;
    verification(job)?;
    engine(job)?;
    zones(job, target_size)?;
    let files = job.files_each();
    // The last thread's region reaches farthest; the first one's plan tells whether the job can be planned.
    for thread in [0, job.threads - 1] {
        let region = region(job, target_size, files, thread)?;
        Plan::new(job, region, files, thread)?;
    }
    Ok(())
}

/// Refuses a job that waits for none of the jobs `before` it, or for data that is proved only after it.
pub fn refuse_wait(job: &Job, before: &[Job]) -> Result<()> {
    let Some(name) = &job.wait_for else { return Ok(()) };
    let what = format!("job `{}` waits for `{name}`", job.name);
    refuse_if(*name == job.name, format!("{what}, which is itself"), "name a job before it")?;
    let is_it = |before: &&Job| before.name == *name;
    let is_none = !before.iter().any(|before| is_it(&before));
    refuse_if(is_none, format!("{what}, and no job before it has this name"), "name one of them")?;
    let first = before.iter().rposition(|before| before.stonewall).unwrap_or(0);
    let beside = if job.stonewall { &[] } else { &before[first..] };
    refuse_if(
        beside.iter().filter(is_it).any(reads_back),
        format!("{what}, which reads back what it wrote after all that run beside it"),
        "put a stonewall before the waiting one",
    )
}

fn counts(job: &Job) -> Result<()> {
    let depth = job.queue_depth;
    let limits = [
        ("queue depth", depth, QUEUE_DEPTH_MAX),
        ("number of threads", job.threads, THREADS_MAX),
        ("number of files", job.file_count, u32::from(u16::MAX)),
        ("number of loops", job.loops, u32::MAX),
        ("batch", job.batch.submit, QUEUE_DEPTH_MAX),
        ("batch of completions", job.batch.complete_min, QUEUE_DEPTH_MAX),
    ];
    for (name, value, most) in limits {
        let remedy = format!("give 1 to {most}");
        refuse_if(value == 0 || value > most, format!("a {name} of {value} is not possible"), remedy)?;
    }
    let batch = job.batch.submit.max(job.batch.complete_min);
    refuse_if(
        batch > depth && !job.engine.is_synchronous(),
        format!("a batch of {batch} never comes together at queue depth {depth}"),
        "raise the queue depth or lower the batch",
    )?;
    refuse_if(job.io_count == Some(0), "a limit of 0 I/Os leaves nothing to do", "leave the limit out")?;
    let no_bytes = job.io_limit == Some(Bytes(0));
    refuse_if(no_bytes, "a limit of 0 bytes leaves nothing to do", "leave the limit out")?;
    let no_cpus = job.cpus.as_ref().is_some_and(Vec::is_empty);
    refuse_if(no_cpus, "an empty set of CPUs leaves nowhere to run", "name at least one CPU")
}

fn times(job: &Job) -> Result<()> {
    let endless = job.time_based && job.runtime.is_none() && job.io_count.is_none() && job.io_limit.is_none();
    refuse_if(endless, "a time-based job without runtime never ends", "give a runtime")?;
    let no_time = job.runtime == Some(Nanos(0));
    refuse_if(no_time, "a runtime of 0 leaves nothing to do", "give a longer one")?;
    refuse_if(job.slice.0 == 0, "a slice of 0 cannot be filled", "give a time above 0")?;
    refuse_if(
        job.latency_goal.is_some() && (job.rate.is_some() || job.verify.is_some()),
        "a search for a queue depth changes what is in flight, and when counting begins",
        "leave the rate and the verification out, or latency_target",
    )?;
    let no_rate = job.rate.is_some_and(|rate| !(rate.iops.is_finite() && rate.iops > 0.0));
    refuse_if(no_rate, "the rate is not a number of I/Os per second", "give a number above 0")?;
    let outside = job.percentiles.iter().any(|p| !(0.0..=100.0).contains(p));
    refuse_if(outside, "a percentile lies outside 0 to 100", "give percentiles like 50, 99, 99.9")
}

fn used(job: &Job) -> impl Iterator<Item = Direction> {
    let mix: Mix = job.mix;
    Direction::ALL.into_iter().filter(move |&direction| mix.of(direction) > 0)
}

fn sizes(job: &Job) -> Result<()> {
    for direction in used(job) {
        for &(size, _) in job.block_sizes.of(direction) {
            refuse_if(
                size.0 == 0 || size > BLOCK_SIZE_MAX,
                format!("a {} of {} bytes is not one I/O", direction.name(), size.0),
                "give 1 byte to 2 GiB less one page",
            )?;
        }
    }
    let share = |amount: Amount| matches!(amount, Amount::Percent(p) if !(0.0..=100.0).contains(&p));
    let outside = job.size.is_some_and(share) || share(job.offset);
    refuse_if(outside, "a share of the target lies outside 0 % to 100 %", "give a share within")
}

fn alignment(job: &Job, logical_block: Bytes) -> Result<()> {
    let block = logical_block.0;
    if !job.direct || block <= 1 {
        return Ok(());
    }
    let mut lengths: Vec<(&str, u64)> = Vec::new();
    for direction in used(job) {
        lengths.extend(job.block_sizes.of(direction).iter().map(|&(size, _)| ("block size", size.0)));
    }
    refuse_if(
        job.any_size && job.block_sizes.smallest() != job.block_sizes.largest(),
        format!(
            "blocks of any number of bytes are no multiples of the target's logical block of {block} bytes"
        ),
        "give direct=false, or leave bs_unaligned out",
    )?;
    if let Amount::Bytes(offset) = job.offset {
        lengths.push(("offset", offset.0));
    }
    lengths.push(("offset_increment", job.offset_increment.0));
    match job.access {
        Access::Strided { gap } => lengths.push(("gap", gap.0)),
        Access::Backward { step } => lengths.push(("step back", step.0)),
        _ => lengths.push(("alignment", job.align.0)),
    }
    let Some((name, length)) = lengths.into_iter().find(|(_, length)| length % block != 0) else {
        return Ok(());
    };
    let what = format!("{name} {length} is no multiple of the target's logical block of {block} bytes");
    refuse_if(true, what, format!("give a multiple of {block}, or direct=false"))
}

fn verification(job: &Job) -> Result<()> {
    let Some(verify) = job.verify else { return Ok(()) };
    refuse_if(
        verify.mode == VerifyMode::ReadOnly && job.mix != Mix::READ,
        "a job that checks what an earlier one wrote only reads",
        "make it a read job",
    )?;
    refuse_if(
        verify.mode != VerifyMode::ReadOnly && job.mix.write == 0,
        "a job that does not write has nothing to verify",
        "make it a write job, or check an earlier one's data with read_only",
    )?;
    let what = format!("{} moves no data that could be verified", job.engine.name());
    refuse_if(!job.engine.moves_data(), what, "leave the verification out")?;
    refuse_if(
        verify.trims.is_some() && !job.writes_each_place_once(),
        "what is trimmed, and written there again, cannot be told apart",
        "make it sequential or random once over (no norandommap, loops, io_size or time_based), or leave trim_percentage out",
    )?;
    let mapped = verify.trims.is_some() && job.engine == Engine::Mmap;
    refuse_if(mapped, "a mapping cannot trim", "use psync, libaio or io_uring")?;
    refuse_if(job.mix.trim > 0, "trimmed blocks do not verify", "leave the trims or the verification out")?;
    let mut all = used(job).flat_map(|direction| job.block_sizes.of(direction)).map(|&(size, _)| size.0);
    let odd = all.find(|size| size % SECTOR_LEN as u64 != 0);
    let whole_headers = "do not carry whole verify headers";
    let what = format!("blocks of any number of bytes {whole_headers}");
    refuse_if(job.any_size, what, "leave bs_unaligned out")?;
    let what = format!("blocks of {} bytes {whole_headers}", odd.unwrap_or_default());
    refuse_if(odd.is_some(), what, "give a multiple of 512")
}

fn zones(job: &Job, target_size: Bytes) -> Result<()> {
    let Some(zones) = job.write_pointers else { return Ok(()) };
    refuse_if(
        job.mix.trim > 0,
        "a trim in zonemode=zbd resets a zone of the drive, and the zones are the job's own here",
        "leave the trims or zonemode=zbd out",
    )?;
    let many = target_size.0 / zones.zone.0.max(1) > 1 << 24;
    refuse_if(many, format!("zones of {} are more than 16 million", zones.zone), "give a larger zonesize")?;
    let least = job.block_sizes.smallest();
    let what = format!("a zone of which {} are written does not hold a block of {least}", zones.capacity);
    refuse_if(zones.capacity < least, what, "give larger zones, or smaller blocks")
}

fn engine(job: &Job) -> Result<()> {
    let (mapped, name, flags) = (job.engine == Engine::Mmap, job.engine.name(), job.host.flags);
    refuse_if(mapped && job.mix.trim > 0, "a mapping cannot trim", "use psync, libaio or io_uring")?;
    let remedy = "give direct=false, or another engine";
    refuse_if(mapped && job.direct, "a mapping goes through the page cache", remedy)?;
    let alike =
        job.host.preferred.is_some() && !matches!(job.engine, Engine::Libaio | Engine::IoUring { .. });
    let what = format!("{name} gives no I/O a priority of its own");
    refuse_if(alike, what, "use libaio or io_uring, or prio for all")?;
    let flagless = !flags.are_none() && !matches!(job.engine, Engine::Libaio | Engine::Pvsync2 { .. });
    let what = format!("{name} gives its requests no flags (atomic, uncached, nowait)");
    refuse_if(flagless, what, "use libaio or pvsync2")?;
    refuse_if(flags.atomic && !job.direct, "atomic writes go past the page cache", "give direct=1")?;
    let direct = flags.uncached && job.direct;
    refuse_if(direct, "direct I/O leaves nothing in the page cache", "leave uncached or direct out")?;
    let no_writes = job.engine == Engine::Truncate && job.mix != Mix::WRITE;
    refuse_if(no_writes, "ftruncate does nothing for reads and trims", "make it a write job")?;
    let Engine::Names(act) = job.engine else { return Ok(()) };
    let several = job.mix.trim > 0 || job.block_sizes.smallest() != job.block_sizes.largest();
    let what = format!("{name} counts each file as one block, read or written");
    refuse_if(several, what, "give one block size, and no trims")?;
    refuse_if(
        !act.looks_only() && (job.loops > 1 || job.time_based || job.ramp.0 > 0),
        format!("{name} is done once to each file"),
        "leave loops, time_based and ramp_time out, and raise nrfiles",
    )?;
    refuse_if(
        job.unlink && act == NameAct::MakeDirectory,
        "unlink removes files, and dircreate makes directories",
        "remove them with dirdelete",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkloadError;
    use iostack_model::{Batch, BlockSizes, Preferred, Rate, Trims, Verify};

    fn refusal(change: impl Fn(&mut Job)) -> String {
        let mut job = Job::default();
        change(&mut job);
        validate(&job, Bytes::mib(1), Bytes(512)).expect_err("must be refused").to_string()
    }

    #[test]
    fn sound_jobs_pass() {
        let deep = Job {
            engine: Engine::IO_URING,
            queue_depth: QUEUE_DEPTH_MAX,
            batch: Batch { submit: 16, complete_min: 1 },
            ..Job::default()
        };
        let buffered = Job { direct: false, block_sizes: BlockSizes::all(Bytes(1000)), ..Job::default() };
        let whole = Job { size: Some(Amount::Percent(100.0)), ..Job::default() };
        for job in [Job::default(), deep, buffered, whole] {
            assert_eq!(validate(&job, Bytes::mib(1), Bytes(512)), Ok(()));
        }
    }

    #[test]
    fn each_impossible_job_is_refused_by_name() {
        type Change = fn(&mut Job);
        let cases: &[(Change, &str)] = &[
            (|job| job.queue_depth = 0, "a queue depth of 0"),
            (|job| job.queue_depth = 4097, "queue depth of 4097"),
            (|job| job.threads = 0, "number of threads of 0"),
            (|job| job.loops = 0, "number of loops of 0"),
            (
                |job| {
                    job.engine = Engine::Libaio;
                    job.batch.submit = 2;
                },
                "a batch of 2 never comes together",
            ),
            (|job| job.io_count = Some(0), "limit of 0 I/Os"),
            (|job| job.cpus = Some(vec![]), "set of CPUs"),
            (|job| job.host.preferred = Some(Preferred::default()), "psync gives no I/O a priority"),
            (|job| job.time_based = true, "never ends"),
            (|job| job.runtime = Some(Nanos(0)), "runtime of 0"),
            (|job| job.block_sizes = BlockSizes::all(Bytes(1000)), "block size 1000 is no multiple"),
            (|job| job.block_sizes = BlockSizes::all(Bytes(0)), "is not one I/O"),
            (|job| job.block_sizes = BlockSizes::all(Bytes(1 << 31)), "is not one I/O"),
            (|job| job.block_sizes = BlockSizes::all(Bytes::mib(2)), "smaller than one block"),
            (|job| job.offset = Amount::Bytes(Bytes(100)), "offset 100 is no multiple"),
            (|job| job.offset = Amount::Bytes(Bytes::mib(2)), "the target has 1048576"),
            (|job| job.size = Some(Amount::Bytes(Bytes::mib(2))), "the target has 1048576"),
            (|job| job.size = Some(Amount::Percent(101.0)), "outside 0 % to 100 %"),
            (|job| job.percentiles = vec![101.0], "percentile"),
            (
                |job| {
                    job.any_size = true;
                    job.block_sizes.read = vec![(Bytes(512), 50), (Bytes(4096), 50)];
                },
                "blocks of any number of bytes",
            ),
            (|job| job.mix = Mix { read: 50, write: 0, trim: 0 }, "add up to 50"),
            (|job| job.engine = Engine::Mmap, "page cache"),
        ];
        for (change, expected) in cases {
            let text = refusal(change);
            assert!(text.contains(expected), "{text} should say {expected}");
        }
        let rate = Rate { iops: f64::NAN, arrival: iostack_model::Arrival::Regular };
        assert!(refusal(|job| job.rate = Some(rate)).contains("rate"));
    }

    #[test]
    fn verification_needs_something_to_verify() {
        let verify = |mode| Some(Verify::of_mode(mode));
        assert!(refusal(|job| job.verify = verify(VerifyMode::WriteThenRead)).contains("does not write"));
        let mixed = |job: &mut Job| (job.mix, job.verify) = (Mix::reads(50), verify(VerifyMode::ReadOnly));
        assert!(refusal(mixed).contains("only reads"));
        let odd = |job: &mut Job| {
            (job.mix, job.verify, job.direct) = (Mix::WRITE, verify(VerifyMode::WriteOnly), false);
            job.block_sizes = BlockSizes::all(Bytes(1000));
        };
        assert!(refusal(odd).contains("whole verify headers"));
        let twice = |job: &mut Job| {
            let trims = Some(Trims { percent: 1, writes: 1, blocks: 1, read_zeroes: true });
            (job.mix, job.access, job.loops) = (Mix::WRITE, Access::Sequential, 1);
            job.verify = Some(Verify { trims, ..Verify::of_mode(VerifyMode::WriteThenRead) });
            assert!(job.writes_each_place_once());
            job.loops = 2;
        };
        assert!(refusal(twice).contains("written there again"));
    }

    #[test]
    fn the_last_thread_must_fit_too() {
        let size = Some(Amount::Bytes(Bytes::kib(512)));
        let job = Job { threads: 3, offset_increment: Bytes::kib(512), size, ..Job::default() };
        let error = validate(&job, Bytes::mib(1), Bytes(512)).unwrap_err();
        assert!(matches!(error, WorkloadError::BeyondTarget { thread: 2, .. }), "{error}");
    }
}
