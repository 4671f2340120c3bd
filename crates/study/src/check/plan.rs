//! Which measurements make up a check, and how long each may take.
//!
//! Every step is a list of points, every point is one [`Job`] with a weight in seconds. The weights are scaled so
//! that the whole fits the promised time; nothing here touches the world.

use iostack_host::Effort;
use iostack_model::{Axis, Bytes, Caveat, Engine, Job, Nanos, StepKind};

use super::steps;

/// `quick`, `default`, `full`.
pub(crate) const fn name(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "quick",
        Effort::Default => "default",
        Effort::Full => "full",
    }
}

/// Promised wall time from start to verdict.
pub(crate) const fn promised(effort: Effort) -> Option<Nanos> {
    match effort {
        Effort::Quick => Some(Nanos::secs(20)),
        Effort::Default => Some(Nanos::secs(90)),
        Effort::Full => None,
    }
}

/// Factor on every point's weight before anything is fitted to the promise.
const fn stretch(effort: Effort) -> f64 {
    match effort {
        Effort::Quick | Effort::Default => 1.25,
        Effort::Full => 5.0,
    }
}

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
    pub(crate) series: String,
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

/// What a point costs beside its own runtime: threads, rings, counters, page cache drop.
pub(crate) const OVERHEAD: Nanos = Nanos::millis(25);
/// Shorter points say nothing.
const SHORTEST: Nanos = Nanos::millis(60);

/// All steps of a check, fitted into `available` (the promise less what is already spent), or at full length.
pub(crate) fn plan(place: &Place, effort: Effort, seed: u64, available: Option<Nanos>) -> Vec<PlannedStep> {
    let mut steps = match effort {
        Effort::Quick => steps::quick(place),
        Effort::Default | Effort::Full => steps::all(place),
    };
    let points: usize = steps.iter().map(|step| step.points.len()).sum();
    let ramps: f64 =
        steps.iter().flat_map(|step| &step.points).map(|point| point.job.ramp.as_secs_f64()).sum();
    let wanted: f64 = steps.iter().flat_map(|step| &step.points).map(|point| point.weight).sum();
    let scale = match available {
        Some(available) => {
            let net = available.as_secs_f64() - OVERHEAD.as_secs_f64() * points as f64 - ramps;
            (net / wanted.max(1e-9)).min(stretch(effort))
        }
        None => stretch(effort),
    };
    for (index, point) in steps.iter_mut().flat_map(|step| &mut step.points).enumerate() {
        let runtime = Nanos(((point.weight * scale).max(0.0) * 1e9) as u64).max(SHORTEST);
        // Twenty elements give an interval; longer runs get longer elements so that plots stay light.
        point.job.slice = Nanos((runtime.0 / 20).clamp(5_000_000, 250_000_000));
        point.job.runtime = Some(runtime);
        point.job.time_based = true;
        point.job.seed = seed.wrapping_add(index as u64);
    }
    steps
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effort_keeps_its_promise() {
        for (effort, available) in [(Effort::Quick, 17), (Effort::Default, 85), (Effort::Default, 40)] {
            let steps = plan(&place_for_tests(), effort, 1, Some(Nanos::secs(available)));
            let total: u64 = steps.iter().map(|step| step.expected().0).sum();
            assert!(total <= Nanos::secs(available).0, "{effort:?} needs {}", Nanos(total));
        }
    }

    #[test]
    fn a_read_only_place_gets_no_write() {
        let place = Place { writable: false, is_file: false, ..place_for_tests() };
        for step in plan(&place, Effort::Default, 1, None) {
            for point in &step.points {
                assert!(!point.job.mix.destroys(), "{} {}", step.id.name(), point.series);
                assert_eq!(point.job.sync, iostack_model::Sync::default());
            }
        }
    }

    #[test]
    fn every_skipped_step_says_why() {
        let place =
            Place { writable: false, is_file: false, schedulers: Err("a test".into()), ..place_for_tests() };
        for step in plan(&place, Effort::Default, 1, None) {
            assert!(!step.points.is_empty() || step.note.is_some(), "{}", step.id.name());
        }
    }

    #[test]
    fn what_a_step_intends_is_no_doubt_of_it_and_every_other_doubt_stays() {
        let (asked, device) = (Bytes(2), Bytes(1));
        let all = vec![
            Caveat::CachedReads { asked, device },
            Caveat::GeneratorBound { busy: 1.0 },
            Caveat::BufferedWrites { asked, device },
            Caveat::Steal { share: 0.5 },
        ];
        let kept = |series: &str| {
            let steps = plan(&place_for_tests(), Effort::Default, 1, None);
            let points = steps.iter().flat_map(|step| &step.points);
            let point = points.into_iter().find(|point| point.series == series).expect("it is planned");
            let mut caveats = all.clone();
            point.keep_to_intent(&mut caveats);
            caveats
        };
        assert_eq!(kept("buffered, cached"), all[2..]);
        assert_eq!(kept("buffered, cold"), all);
    }

    #[test]
    fn no_block_is_smaller_than_the_logical_block() {
        let place = Place { logical_block: Bytes(4096), ..place_for_tests() };
        for step in plan(&place, Effort::Default, 1, None) {
            for point in step.points.iter().filter(|point| point.job.direct) {
                assert!(
                    point.job.block_sizes.smallest() >= Bytes(4096),
                    "{} {}",
                    step.id.name(),
                    point.label
                );
            }
        }
    }
}
