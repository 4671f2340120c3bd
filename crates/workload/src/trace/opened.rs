//! The trace of a job: which it is, what is in it, and how it is replayed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use iostack_model::{Bytes, Caveat, Engine, Job, Nanos, Recorded};

use super::{
    Beyond, Disks, FILE_SPAN, Recording, Survey, Trace, TraceFormat, TraceOptions, as_text, kept, open_with,
    survey,
};

/// Opens a FIFO for reading, so that waiting for who writes to it can be interrupted.
pub type OpenFifo = fn(&Path) -> io::Result<Box<dyn Read>>;

/// A trace that can be read, again and again.
pub struct Opened<'a> {
    recorded: &'a Recorded,
    fifo: OpenFifo,
    name: String,
    format: TraceFormat,
    survey: Survey,
}

impl<'a> Opened<'a> {
    /// Looks for it, and at its first lines.
    pub fn open(job: &'a Job, recorded: &'a Recorded, fifo: OpenFifo) -> anyhow::Result<Opened<'a>> {
        ensure!(
            !recorded.file.as_os_str().is_empty(),
            "job `{}` says how to replay a trace, but not which; add replay=TRACE",
            job.name
        );
        ensure!(
            job.verify.is_none() && job.rate.is_none(),
            "job `{}` replays a trace, which says itself what is asked and when; leave verify and rate out",
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
            None => TraceFormat::detect_in(&mut *reader(recorded, fifo)?, &name)?,
        };
        let survey = survey(reader(recorded, fifo)?, format, &name)?;
        ensure!(
            survey.size().0 < FILE_SPAN,
            "the trace `{name}` reaches to {}, and {} is the most; correct it, or replay one disk of it",
            survey.size(),
            Bytes(FILE_SPAN)
        );
        Ok(Opened { recorded, fifo, name, format, survey })
    }

    /// The disks of it that are asked for: one, or all on a line.
    pub fn disks(&self) -> Disks {
        self.recorded.disk.clone().map_or_else(|| self.survey.laid(), Disks::Only)
    }

    /// Speed of the replay; as fast as the depth allows (`None`) where nothing says when an I/O was issued, as in
    /// most logs of fio's version 2.
    pub fn speed(&self) -> Option<f64> {
        self.recorded.speed.filter(|_| self.survey.span > Nanos(0) || self.survey.ios() < 2)
    }

    /// Reads it for a target of so many bytes.
    pub fn read(&self, capacity: Bytes) -> anyhow::Result<Trace> {
        let beyond = if self.recorded.wrap { Beyond::Wrap(capacity) } else { Beyond::Refuse(capacity) };
        self.read_as(self.disks(), beyond)
    }

    /// These disks of it; `beyond`: what becomes of I/Os behind the target's end.
    pub fn read_as(&self, disks: Disks, beyond: Beyond) -> anyhow::Result<Trace> {
        let reader = reader(self.recorded, self.fifo)?;
        Ok(open_with(reader, self.format, &self.name, TraceOptions { disks, beyond }))
    }

    /// All of the trace in memory; an error where nothing of it is left.
    pub fn recording(&self, trace: &mut Trace) -> anyhow::Result<Recording> {
        let recording = Recording::read(kept(trace, self.recorded))?;
        ensure!(
            recording.ios() > 0,
            "of the trace `{}` nothing is left to replay; leave replay_skip out",
            self.name
        );
        Ok(recording)
    }

    /// The job as its outcome shows it.
    pub fn told(&self, job: Job) -> Job {
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
    pub fn doubt(&self, trace: &Trace) -> Option<Caveat> {
        let (line, after) = trace.leap().filter(|_| self.speed().is_some())?;
        Some(Caveat::TraceLeap { line, after })
    }
}

/// Bytes that came through FIFOs, by path: a trace is read more than once, and a FIFO gives it once.
static ONCE: Mutex<BTreeMap<PathBuf, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

fn reader(recorded: &Recorded, fifo: OpenFifo) -> anyhow::Result<Box<dyn BufRead>> {
    let path = &recorded.file;
    let open = || -> io::Result<Box<dyn BufRead>> {
        if path.metadata()?.file_type().is_fifo() {
            return as_text(Box::new(Cursor::new(once(path, fifo)?)));
        }
        as_text(Box::new(BufReader::new(File::open(path)?)))
    };
    open().with_context(|| format!("cannot read the trace `{}`", path.display()))
}

/// All that comes through a FIFO, until its last writer is gone.
fn once(path: &Path, fifo: OpenFifo) -> io::Result<Arc<[u8]>> {
    let mut known = ONCE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = known.get(path) {
        return Ok(Arc::clone(bytes));
    }
    let mut bytes = Vec::new();
    fifo(path)?.read_to_end(&mut bytes)?;
    let bytes: Arc<[u8]> = bytes.into();
    known.insert(path.to_owned(), Arc::clone(&bytes));
    Ok(bytes)
}

impl Opened<'_> {
    /// The files that fio's log names, each from its own byte 0, as fio opens them.
    pub fn own_files(&self, job: &mut Job) -> anyhow::Result<Disks> {
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
