//! How far is it? What a person sees while a job runs.

use std::time::Duration;

use iostack_host::clock::Clock;
use iostack_model::{Nanos, Phase, Progress};
use iostack_workload::load::{Span, reads_back};

use crate::Control;
use crate::group::Group;

/// Asks the boards for what is new, and tells it.
pub(crate) struct Watcher<'a> {
    control: &'a Control<'a>,
    phase: Phase,
    clock: &'static Clock,
    go: u64,
    last: u64,
    planned: Option<u64>,
    moved: u64,
    every: u64,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(control: &'a Control<'a>, phase: Phase, planned: Option<u64>, go: u64) -> Watcher<'a> {
        let clock = Clock::calibrated();
        let every = clock.ticks(control.progress_every.0.clamp(10_000_000, 3_600_000_000_000));
        Watcher { control, phase, clock, go, last: go, planned, moved: 0, every }
    }

    /// True when somebody watches and it is time.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.control.progress.is_some() && now >= self.last + self.every
    }

    /// Time until the next look.
    pub(crate) fn left(&self, now: u64) -> Duration {
        if self.control.progress.is_none() {
            return Duration::MAX;
        }
        Duration::from_nanos(self.clock.nanos((self.last + self.every).saturating_sub(now)))
    }

    /// Tells what came since the last look.
    pub(crate) fn look(&mut self, groups: &[Group<'_>], now: u64) {
        let Some(tell) = self.control.progress else { return };
        let since = self.clock.nanos(now - self.last) as f64 / 1e9;
        let elapsed = Nanos(self.clock.nanos(now - self.go));
        self.last = now;
        for group in groups {
            let recent = group.board.take_recent();
            self.moved += recent.bytes;
            let (expected, done) = self.expect(group, elapsed);
            let rate = |direction: usize| recent.ios[direction] as f64 / since;
            let quantile = |f| Nanos(recent.latency.quantile_ns(f).unwrap_or(0));
            tell(&Progress {
                job: group.first().job.name.clone(),
                phase: self.phase_of(group, elapsed),
                elapsed,
                expected,
                done,
                read_iops: rate(0),
                write_iops: rate(1),
                trim_iops: rate(2),
                bandwidth: recent.bytes as f64 / since,
                p50: quantile(0.5),
                p99: quantile(0.99),
            });
        }
    }

    /// Tells that written data is being read back now.
    pub(crate) fn verifying(&mut self, groups: &[Group<'_>], now: u64) {
        if groups.iter().any(|group| reads_back(&group.first().job)) {
            self.phase = Phase::Verifying;
            self.look(groups, now);
        }
    }

    fn phase_of(&self, group: &Group<'_>, elapsed: Nanos) -> Phase {
        if self.phase == Phase::Running && elapsed < group.origin { Phase::Ramp } else { self.phase }
    }

    /// The time the group will take, and the share that is done.
    fn expect(&self, group: &Group<'_>, elapsed: Nanos) -> (Option<Nanos>, Option<f64>) {
        let ends = group.works.iter().map(|work| {
            let job = &work.job;
            job.runtime.map(|_| Nanos(Span::in_stage(job).until))
        });
        let by_time: Option<Nanos> = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
        let time_share = by_time.map(|end| (elapsed.0 as f64 / end.0.max(1) as f64).min(1.0));
        let byte_share =
            self.planned.filter(|&bytes| bytes > 0).map(|bytes| (self.moved as f64 / bytes as f64).min(1.0));
        let done = match (time_share, byte_share) {
            (Some(time), Some(bytes)) => Some(time.max(bytes)),
            (time, bytes) => time.or(bytes),
        };
        let expected = done
            .filter(|&share| share > 0.0)
            .map(|share| Nanos((elapsed.0 as f64 / share) as u64))
            .or(by_time);
        (expected, done)
    }
}
