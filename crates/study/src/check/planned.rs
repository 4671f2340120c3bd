//! What is a measurement of a check, before it is made?

use iostack_answers::{Axis, Series, StepKind};
use iostack_model::{Bytes, Caveat, Engine, Job, Nanos};

/// What a point costs beside its own runtime: threads, rings, counters, page cache drop.
pub(crate) const OVERHEAD: Nanos = Nanos::millis(25);

/// What is known of the place before the first measurement.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Bytes that may be read (and written, when `writable`).
    pub(crate) region: Bytes,
    /// Writing is allowed: our own scratch file, or `--destroy-data`.
    pub(crate) writable: bool,
    /// A file on a file system, where buffered I/O and fsync mean something.
    pub(crate) is_file: bool,
    /// Direct I/O works here.
    pub(crate) direct: bool,
    /// Smallest unit of direct I/O.
    pub(crate) logical_block: Bytes,
    /// CPUs we may use.
    pub(crate) cores: u32,
    /// `io_uring` may be used.
    pub(crate) io_uring: bool,
    /// The device takes `io_uring` requests without handing them to workers.
    pub(crate) nowait: bool,
    /// libaio may be used.
    pub(crate) libaio: bool,
    /// Raw device below the file that this user may read, or why there is none.
    pub(crate) raw_device: Result<std::path::PathBuf, String>,
    /// Schedulers that may be tried, the current one first, or why none may.
    pub(crate) schedulers: Result<Vec<String>, String>,
    /// Whose they are, in words.
    pub(crate) schedulers_whose: String,
}

impl Place {
    /// The asynchronous engine that costs least here; psync where there is none.
    pub(crate) fn engine(&self) -> Engine {
        if self.io_uring && (self.nowait || !self.libaio) {
            Engine::IO_URING
        } else if self.libaio {
            Engine::Libaio
        } else {
            Engine::Psync
        }
    }
}

/// Where a point is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// The scratch file or the target itself.
    Target,
    /// The raw device below the file, reads only.
    RawDevice,
}

/// One measurement to make.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Curve.
    pub(crate) series: Series,
    /// Place on the axis.
    pub(crate) x: f64,
    /// The same in words.
    pub(crate) label: String,
    /// What to run; its `runtime` is set from `weight` by [`plan`].
    pub(crate) job: Job,
    /// Relative length, in seconds of the default effort.
    pub(crate) weight: f64,
    /// Where.
    pub(crate) on: On,
    /// Scheduler to switch to for this point.
    pub(crate) scheduler: Option<String>,
    /// Looked at from inside, so that its figures are no measure of speed.
    pub(crate) traced: bool,
    /// What it is made to show.
    pub(crate) intends: &'static [Intent],
}

/// What a measurement is made to show: seeing it is then no reason to doubt the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The page cache answers.
    PageCache,
    /// The thread is busy all the time.
    BusyThread,
}

impl Intent {
    /// This doubt says that what was intended came to pass.
    const fn explains(self, caveat: &Caveat) -> bool {
        match self {
            Intent::PageCache => matches!(caveat, Caveat::CachedReads { .. }),
            Intent::BusyThread => matches!(caveat, Caveat::GeneratorBound { .. }),
        }
    }
}

impl Planned {
    /// Takes out the doubts that only say what was intended.
    pub(crate) fn keep_to_intent(&self, caveats: &mut Vec<Caveat>) {
        caveats.retain(|caveat| !self.intends.iter().any(|intent| intent.explains(caveat)));
    }

    /// Wall time it will take.
    pub(crate) fn expected(&self) -> Nanos {
        self.job.runtime.unwrap_or_default() + self.job.ramp + OVERHEAD
    }
}

/// One question with its measurements.
#[derive(Clone, Debug)]
pub(crate) struct PlannedStep {
    /// Which it is.
    pub(crate) id: StepKind,
    /// The question.
    pub(crate) title: &'static str,
    /// How to plot it.
    pub(crate) axis: Axis,
    /// The measurements; empty when skipped.
    pub(crate) points: Vec<Planned>,
    /// Why it is skipped, or what to know.
    pub(crate) note: Option<String>,
}

impl PlannedStep {
    /// Time its points will take.
    pub(crate) fn expected(&self) -> Nanos {
        Nanos(self.points.iter().map(|point| point.expected().0).sum())
    }
}

#[cfg(test)]
pub(crate) fn place_for_tests() -> Place {
    Place {
        region: Bytes::gib(1),
        writable: true,
        is_file: true,
        direct: true,
        logical_block: Bytes(512),
        cores: 2,
        io_uring: true,
        nowait: true,
        libaio: true,
        raw_device: Err("a test".into()),
        schedulers: Ok(vec!["none".into(), "mq-deadline".into()]),
        schedulers_whose: "tried on vda".into(),
    }
}
