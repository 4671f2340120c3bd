//! How far is it? What a person sees while a simulation runs, all in virtual time.

use iostack_model::{Nanos, Phase, Progress};

use super::group::Group;
use super::worker::{Doing, Worker};
use crate::engine::Time;

/// Tells what came of each group since the last look.
pub(super) fn tell(groups: &mut [Group<'_>], workers: &[Worker<'_>], now: Time, tell: &dyn Fn(&Progress)) {
    for (index, group) in groups.iter_mut().enumerate() {
        let mine: Vec<&Worker<'_>> = workers.iter().filter(|worker| worker.group == index).collect();
        let done: f64 = mine.iter().map(|worker| share(worker, now)).sum::<f64>() / mine.len().max(1) as f64;
        let begins = mine.iter().map(|worker| worker.span.begins).min().unwrap_or(now);
        let elapsed = now.saturating_sub(begins);
        tell_group(group, (phase(&mine), elapsed, (done > 0.0).then_some(done)), now, tell);
    }
}

/// The same of one group, of which phase, virtual time and share of the work are known.
pub(super) fn tell_group(
    group: &mut Group<'_>,
    (phase, elapsed, done): (Phase, Time, Option<f64>),
    now: Time,
    tell: &dyn Fn(&Progress),
) {
    let since = now.saturating_sub(group.looked).max(1) as f64 / 1e9;
    if phase == Phase::Running {
        group.looked = now;
    }
    let recent = group.board.take_recent();
    let rate = |direction: usize| recent.ios[direction] as f64 / since;
    let quantile = |f| Nanos(recent.latency.quantile_ns(f).unwrap_or(0));
    tell(&Progress {
        job: group.jobs[0].name.clone(),
        phase,
        elapsed: Nanos(elapsed),
        expected: done.map(|done| Nanos((elapsed as f64 / done) as u64)),
        done,
        read_iops: rate(0),
        write_iops: rate(1),
        trim_iops: rate(2),
        bandwidth: recent.bytes as f64 / since,
        p50: quantile(0.5),
        p99: quantile(0.99),
    });
}

fn phase(workers: &[&Worker<'_>]) -> Phase {
    if workers.iter().any(|worker| worker.doing == Doing::ReadingBack) {
        Phase::Verifying
    } else if workers.iter().any(|worker| worker.measuring) {
        Phase::Running
    } else {
        Phase::Ramp
    }
}

/// Share of its work that the worker has done: by time or by bytes, whichever is further.
fn share(worker: &Worker<'_>, now: Time) -> f64 {
    if worker.doing == Doing::Done {
        return 1.0;
    }
    let by_time = worker.job.runtime.map_or(0.0, |runtime| {
        let whole = worker.span.border - worker.span.begins + runtime.0;
        now.saturating_sub(worker.span.begins) as f64 / whole.max(1) as f64
    });
    let by_ios = worker
        .planned_ios
        .map_or(0.0, |planned| worker.load.source.taken_since_begin() as f64 / planned.max(1) as f64);
    by_time.max(by_ios).min(1.0)
}
