//! What is a measurement of a check, before it is made?

use iostack_doubt::Intent;
use iostack_model::answers::{Axis, Series, StepKind};
use iostack_model::{Caveat, Job, Nanos};
use iostack_target::On;
#[cfg(test)]
use {
    iostack_model::Bytes,
    iostack_target::{Place, RunClock},
};

/// Time of a point beside its own runtime: threads, rings, counters, page cache drop.
pub(crate) const OVERHEAD: Nanos = Nanos::millis(25);

/// One measurement to make.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) series: Series,
    /// Place on the axis.
    pub(crate) x: f64,
    /// The same in words.
    pub(crate) label: String,
    /// Job to run; its `runtime` is set from `weight` by [`plan`].
    pub(crate) job: Job,
    /// Relative length, in seconds of the default effort.
    pub(crate) weight: f64,
    pub(crate) on: On,
    /// Looked at from inside, so that its figures are no measure of speed.
    pub(crate) traced: bool,
    /// Doubts that it is made to raise.
    pub(crate) intends: &'static [Intent],
}

impl Planned {
    /// Takes out the doubts that only say what was intended.
    pub(crate) fn keep_to_intent(&self, caveats: &mut Vec<Caveat>) {
        caveats.retain(|caveat| {
            !iostack_doubt::intended(caveat).is_some_and(|intent| self.intends.contains(&intent))
        });
    }

    /// Time it will take.
    pub(crate) fn expected(&self) -> Nanos {
        self.job.runtime.unwrap_or_default() + self.job.ramp + OVERHEAD
    }
}

/// One question with its measurements.
#[derive(Clone, Debug)]
pub(crate) struct PlannedStep {
    pub(crate) id: StepKind,
    pub(crate) title: &'static str,
    pub(crate) axis: Axis,
    /// The measurements; empty when skipped.
    pub(crate) points: Vec<Planned>,
    /// Reason that it is skipped, or a remark.
    pub(crate) note: Option<String>,
}

impl PlannedStep {
    /// Time its points will take.
    pub(crate) fn expected(&self) -> Nanos {
        Nanos(self.points.iter().map(|point| point.expected().0).sum())
    }
}

/// Time that the plan will take.
pub(crate) fn expected(plan: &[PlannedStep]) -> Nanos {
    Nanos(plan.iter().map(|step| step.expected().0).sum())
}

#[cfg(test)]
pub(crate) fn place_for_tests() -> Place {
    Place {
        clock: RunClock::Wall,
        tells_inside: false,
        shortest: Nanos::millis(60),
        region: Bytes::gib(1),
        to_fill: None,
        writable: true,
        is_file: true,
        buffered: true,
        direct: true,
        logical_block: Bytes(512),
        cores: 2,
        io_uring: true,
        nowait: true,
        libaio: true,
        raw_device: Err("a test".into()),
        schedulers: Ok(vec!["none".into(), "mq-deadline".into()]),
        on: "/data/iostack-file".into(),
        end: " --unlink true".into(),
        scheduler_command: "echo {} > /sys/block/vda/queue/scheduler".into(),
    }
}
