//! A job on real files that replays a trace: what is in it, and where does it go?

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use iostack_host::awaited;
use iostack_model::{Access, Amount, BlockSizes, Bytes, Caveat, Job, Outcome};
use iostack_workload::trace::{Beyond, Opened, Recording};

use crate::Work;

/// Opens a FIFO; a signal that wants the program to end interrupts the wait for who writes to it.
fn fifo(path: &Path) -> io::Result<Box<dyn Read>> {
    awaited::open(path).map(|file| -> Box<dyn Read> { Box::new(file) })
}

/// Traces that jobs on real files replay.
pub(crate) struct Loaded {
    /// The job, with the directions, sizes and files that the trace has.
    pub(crate) job: Job,
    pub(crate) recording: Arc<Recording>,
    pub(crate) doubt: Option<Caveat>,
}

/// Reads the trace of `job`, if it has one; `named` when a target is given for all jobs.
pub(crate) fn load(job: &Job, named: bool) -> anyhow::Result<Option<Loaded>> {
    let Some(recorded) = &job.recorded else { return Ok(None) };
    let opened = Opened::open(job, recorded, fifo)?;
    let mut job = opened.told(job.clone());
    if opened.speed().is_some() {
        let depth = job.depth();
        job.replay = job.replay.map(|words| format!("{words}, {depth} in flight at most"));
    }
    let disks = if named || !job.files.is_empty() || job.directory.is_some() {
        opened.disks()
    } else {
        opened.own_files(&mut job)?
    };
    let mut trace = opened.read_as(disks, Beyond::Unknown)?;
    let recording = opened.recording(&mut trace)?;
    let largest = recording.largest();
    (job.mix, job.access, job.block_sizes) = (recording.mix(), Access::Sequential, BlockSizes::all(largest));
    (job.offset, job.offset_increment) = (Amount::Bytes(Bytes(0)), Bytes(0));
    if !recorded.wrap {
        job.size = Some(Amount::Bytes(Bytes(recording.end().0 * job.files.len().max(1) as u64)));
    }
    Ok(Some(Loaded { doubt: opened.doubt(&trace), job, recording: Arc::new(recording) }))
}

/// Gives the work its trace, once its files are there.
pub(crate) fn fit(work: &mut Work, loaded: &Loaded) -> anyhow::Result<()> {
    let (job, Some(recorded)) = (&work.job, &work.job.recorded) else { return Ok(()) };
    let mut recording = Arc::clone(&loaded.recording);
    let files = work.files.iter().flatten();
    if recorded.wrap {
        let sizes = files.clone().map(|held| iostack_host::target_size(held));
        let whole = sizes.collect::<Result<Vec<_>, _>>()?.into_iter().min().unwrap_or_default();
        let capacity = job.size.map_or(whole, |size| size.of(whole).min(whole));
        let opened = Opened::open(job, recorded, fifo)?;
        recording = Arc::new(opened.recording(&mut opened.read(capacity)?)?);
    }
    let alignment = recording.alignment();
    for held in files.filter(|_| job.direct) {
        let needed = iostack_host::logical_block(held)?;
        ensure!(
            alignment >= needed,
            "the I/Os of `{}` lie at multiples of {alignment}, and direct I/O on `{}` needs multiples of {needed}; give \
             --direct false, or replay_align={} in a fio file",
            recorded.file.display(),
            held.path().display(),
            needed.0
        );
    }
    work.recording = Some(recording);
    Ok(())
}

/// The doubt about an outcome that holds all of the work's trace, later than it was recorded.
pub(crate) fn behind(work: &Work, outcome: &Outcome) -> Option<Caveat> {
    const ENOUGH: f64 = 0.98;
    let recording = work.recording.as_ref().filter(|_| work.job.recorded == outcome.job.recorded)?;
    let span = recording.span().as_secs_f64() / work.job.recorded.as_ref()?.speed?;
    let ios = recording.ios() * u64::from(outcome.job.threads);
    let (asked, achieved) = (ios as f64 / span, outcome.rate());
    (span > 0.0 && outcome.ios() == ios * u64::from(work.job.loops) && achieved < asked * ENOUGH)
        .then_some(Caveat::RateMissed { asked, achieved })
}
