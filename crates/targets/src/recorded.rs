//! A job that replays a trace: what is in it, and where does it go?

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use iostack_engine::Work;
use iostack_host::awaited;
use iostack_model::{Access, Amount, BlockSizes, Bytes, Caveat, Engine, Job, Nanos, Outcome, Recorded};
use iostack_workload::trace::{
    self, Beyond, Disks, FILE_SPAN, Recording, Survey, Trace, TraceFormat, TraceOptions, kept,
};

/// A trace that can be read, again and again.
pub(crate) struct Opened<'a> {
    recorded: &'a Recorded,
    name: String,
    format: TraceFormat,
    survey: Survey,
}

impl<'a> Opened<'a> {
    /// Looks for it, and at its first lines.
    pub(crate) fn of(job: &'a Job, recorded: &'a Recorded) -> anyhow::Result<Opened<'a>> {
        ensure!(
            !recorded.file.as_os_str().is_empty(),
            "job `{}` says how to replay a trace, but not which; add replay=TRACE",
            job.name
        );
        ensure!(
            job.verify.is_none() && job.app.is_none() && job.rate.is_none(),
            "job `{}` replays a trace, which says itself what is asked and when; leave verify, app and rate out",
            job.name
        );
        ensure!(
            job.engine.moves_data() || job.engine == Engine::Null,
            "job `{}`: {} does nothing that a trace says; leave the engine out",
            job.name,
            job.engine.name()
        );
        let name = recorded.file.display().to_string();
        let format = match recorded.format.as_deref() {
            Some(typed) => {
                TraceFormat::named(typed).with_context(|| format!("`{typed}` is no format of traces"))?
            }
            None => TraceFormat::detect_in(&mut *reader(recorded)?, &name)?,
        };
        let survey = trace::survey(reader(recorded)?, format, &name)?;
        ensure!(
            survey.size().0 < FILE_SPAN,
            "the trace `{name}` reaches to {}, and {} is the most; correct it, or replay one disk of it",
            survey.size(),
            Bytes(FILE_SPAN)
        );
        Ok(Opened { recorded, name, format, survey })
    }

    /// The disks of it that are asked for: one, or all on a line.
    fn disks(&self) -> Disks {
        self.recorded.disk.clone().map_or_else(|| self.survey.laid(), Disks::Only)
    }

    /// As fast as the depth allows where nothing says when an I/O was issued, as in most logs of fio's version 2.
    pub(crate) fn speed(&self) -> Option<f64> {
        self.recorded.speed.filter(|_| self.survey.span > Nanos(0) || self.survey.ios() < 2)
    }

    /// On a target of so many bytes.
    pub(crate) fn read(&self, capacity: Bytes) -> anyhow::Result<Trace> {
        let beyond = if self.recorded.wrap { Beyond::Wrap(capacity) } else { Beyond::Refuse(capacity) };
        self.read_as(self.disks(), beyond)
    }

    fn read_as(&self, disks: Disks, beyond: Beyond) -> anyhow::Result<Trace> {
        Ok(trace::open_with(reader(self.recorded)?, self.format, &self.name, TraceOptions { disks, beyond }))
    }

    fn recording(&self, trace: &mut Trace) -> anyhow::Result<Recording> {
        let recording = Recording::read(kept(trace, self.recorded))?;
        ensure!(
            recording.ios() > 0,
            "of the trace `{}` nothing is left to replay; leave replay_skip out",
            self.name
        );
        Ok(recording)
    }

    /// The job as its outcome shows it.
    pub(crate) fn told(&self, job: Job) -> Job {
        let pace = match self.speed() {
            Some(1.0) => "at its own times".to_owned(),
            Some(factor) => format!("{factor} times as fast as recorded"),
            None => format!("as fast as depth {} allows", job.depth()),
        };
        let replay = Some(format!("`{}` ({}), {pace}", self.name, self.format.name()));
        let stem = self.recorded.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = if job.name == Job::default().name { stem.unwrap_or(job.name) } else { job.name };
        let recorded = Some(Recorded { speed: self.speed(), ..self.recorded.clone() });
        Job { name, replay, recorded, ..job }
    }

    /// The doubt about its times, where they matter.
    pub(crate) fn doubt(&self, trace: &Trace) -> Option<Caveat> {
        let (line, after) = trace.leap().filter(|_| self.speed().is_some())?;
        Some(Caveat::TraceLeap { line, after })
    }
}

/// What came through FIFOs, by path: a trace is read more than once, and a FIFO gives it once.
static ONCE: Mutex<BTreeMap<PathBuf, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

fn reader(recorded: &Recorded) -> anyhow::Result<Box<dyn BufRead>> {
    let bytes: io::Result<Box<dyn BufRead>> = match recorded.file.metadata() {
        Ok(data) if data.file_type().is_fifo() => {
            once(&recorded.file).map(|bytes| -> Box<dyn BufRead> { Box::new(Cursor::new(bytes)) })
        }
        _ => File::open(&recorded.file).map(|file| -> Box<dyn BufRead> { Box::new(BufReader::new(file)) }),
    };
    let opened = bytes.and_then(trace::as_text);
    opened.with_context(|| format!("cannot read the trace `{}`", recorded.file.display()))
}

/// All that comes through a FIFO, until its last writer is gone.
fn once(fifo: &Path) -> io::Result<Arc<[u8]>> {
    let mut known = ONCE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = known.get(fifo) {
        return Ok(Arc::clone(bytes));
    }
    let mut bytes = Vec::new();
    awaited::open(fifo)?.read_to_end(&mut bytes)?;
    let bytes: Arc<[u8]> = bytes.into();
    known.insert(fifo.to_owned(), Arc::clone(&bytes));
    Ok(bytes)
}

/// What a job on real files replays.
pub(crate) struct Loaded {
    /// The job, with the directions, sizes and files that the trace has.
    pub(crate) job: Job,
    pub(crate) recording: Arc<Recording>,
    pub(crate) doubt: Option<Caveat>,
}

/// Reads the trace of `job`, if it has one; `named` when a target is given for all jobs.
pub(crate) fn load(job: &Job, named: bool) -> anyhow::Result<Option<Loaded>> {
    let Some(recorded) = &job.recorded else { return Ok(None) };
    let opened = Opened::of(job, recorded)?;
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

impl Opened<'_> {
    /// The files that fio's log names, each from its own byte 0, as fio opens them.
    fn own_files(&self, job: &mut Job) -> anyhow::Result<Disks> {
        if self.format != TraceFormat::FioIolog {
            bail!("job `{}` replays a trace and names no file; add `--on TARGET`", job.name);
        }
        let asked = |name: &&String| self.recorded.disk.as_ref().is_none_or(|disk| disk == *name);
        let names = self.survey.disks.iter().map(|disk| &disk.name).filter(asked);
        let names: Vec<String> = names.cloned().collect();
        ensure!(
            names.len() < usize::from(u16::MAX),
            "the trace `{}` names {} files; that is too many",
            self.name,
            names.len()
        );
        job.files = names.iter().map(PathBuf::from).collect();
        job.file_count = names.len() as u32;
        Ok(match &self.recorded.disk {
            Some(disk) => Disks::Only(disk.clone()),
            None => Disks::Laid(names.into_iter().zip((0..).map(|file| file * FILE_SPAN)).collect()),
        })
    }
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
        let opened = Opened::of(job, recorded)?;
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
