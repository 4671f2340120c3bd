//! What would a change give? Only gains that this check measured, most first. Pure.

use iostack_answers::{Advice, Point, Series, StepKind};
use iostack_model::{Amount, Caveat, Nanos, Storage, TargetKind};
use iostack_report::text::quoted;

use super::facts::{Facts, thousands};
use super::summary::by_series;

/// Smaller gains than this are noise on a shared machine.
const WORTH_PERCENT: f64 = 8.0;

/// Things to do, most gain first; those without a measured gain last.
pub(crate) fn advise(facts: &Facts<'_>) -> Vec<Advice> {
    let rules: [fn(&Facts<'_>) -> Option<Advice>; 7] =
        [deeper, more_threads, batches, scheduler, avoid_punting, cold_buffers, rotational];
    let mut advice: Vec<Advice> = rules.iter().filter_map(|rule| rule(facts)).collect();
    advice.sort_by(|a, b| b.gain_percent.unwrap_or(-1.0).total_cmp(&a.gain_percent.unwrap_or(-1.0)));
    advice
}

fn gain_percent(before: &Point, after: &Point) -> f64 {
    (after.outcome.iops.mean / before.outcome.iops.mean.max(1e-9) - 1.0) * 100.0
}

/// The command that asks the same again for longer. In a directory `run` lays out a file for it, and removes it.
fn run(facts: &Facts<'_>, point: &Point) -> String {
    let job = &point.outcome.job;
    let path = &facts.target.path;
    let (path, unlink) = match facts.target.kind {
        TargetKind::Directory => (path.join("iostack-file"), " --unlink true"),
        _ => (path.clone(), ""),
    };
    let size = match job.size {
        Some(Amount::Bytes(size)) => format!(" --size {}", size.0),
        _ => String::new(),
    };
    let threads = if job.threads > 1 { format!(" --threads {}", job.threads) } else { String::new() };
    let direct = if job.direct { "" } else { " --direct false" };
    format!(
        "iostack run --on {}{size} --engine {} --queue-depth {}{threads}{direct} --time-based true --runtime 10s{unlink}",
        quoted(&path.display().to_string()),
        job.engine.name(),
        job.queue_depth
    )
}

/// Only a gain that the intervals support.
fn worth(before: &Point, after: &Point) -> Option<f64> {
    let gain = gain_percent(before, after);
    (gain >= WORTH_PERCENT && after.outcome.iops.low > before.outcome.iops.high).then_some(gain)
}

fn basis(before: &Point, after: &Point) -> String {
    format!(
        "measured here: {} to {} IOPS",
        thousands(before.outcome.iops.mean),
        thousands(after.outcome.iops.mean)
    )
}

fn deeper(facts: &Facts<'_>) -> Option<Advice> {
    let curves = by_series(facts.points(StepKind::Depth));
    let (_, reads) = curves.into_iter().find(|(series, _)| **series == Series::RandomRead)?;
    let saturation = facts.summary.saturation.iter().find(|curve| curve.series == Series::RandomRead)?;
    let first = reads.first()?;
    let knee = match saturation.depth {
        Some(depth) => reads.iter().find(|point| point.x as u32 == depth)?,
        None => reads.last()?,
    };
    let gain = worth(first, knee)?;
    Some(Advice {
        act: format!("Keep {} reads in flight instead of one.", knee.label),
        gain_percent: Some(gain),
        basis: format!(
            "{}; latency {} to {}",
            basis(first, knee),
            Nanos(first.outcome.latency().mean_ns() as u64),
            Nanos(knee.outcome.latency().mean_ns() as u64)
        ),
        command: Some(run(facts, knee)),
    })
}

fn more_threads(facts: &Facts<'_>) -> Option<Advice> {
    let single = facts.best(StepKind::Threads, |p| p.outcome.job.threads == 1)?;
    let many = facts.best(StepKind::Threads, |p| p.outcome.job.threads > 1 && p.series == single.series)?;
    let gain = worth(single, many)?;
    Some(Advice {
        act: format!("Spread the load over {} threads ({}).", many.outcome.job.threads, many.series),
        gain_percent: Some(gain),
        basis: basis(single, many),
        command: None,
    })
}

fn batches(facts: &Facts<'_>) -> Option<Advice> {
    let single = facts.best(StepKind::Engines, |p| {
        p.outcome.job.queue_depth == 32 && p.outcome.job.batch.submit == 1 && p.outcome.job.threads == 1
    })?;
    let batched = facts.best(StepKind::Engines, |p| p.outcome.job.batch.submit == 16)?;
    let gain = worth(single, batched)?;
    let cost = |point: &Point| point.outcome.cpu_ns_per_io().unwrap_or_default() / 1e3;
    Some(Advice {
        act: "Submit 16 I/Os per system call instead of one.".to_owned(),
        gain_percent: Some(gain),
        basis: format!(
            "{}; CPU per I/O {:.1} to {:.1} us",
            basis(single, batched),
            cost(single),
            cost(batched)
        ),
        command: Some("iostack run --queue-depth 32 --batch 16".to_owned()),
    })
}

fn scheduler(facts: &Facts<'_>) -> Option<Advice> {
    // The current one was measured first and last. What another gains must be more than what the two differ by.
    let name = facts.points(StepKind::Schedulers).first()?.label.clone();
    let reads = || facts.points(StepKind::Schedulers).iter().filter(|p| p.series == Series::RandomRead);
    let (worst, current) =
        reads().filter(|p| p.label.starts_with(&name)).fold(None, |seen, point| match seen {
            None => Some((point, point)),
            Some((worst, best)) if gain_percent(best, point) > 0.0 => Some((worst, point)),
            Some((_, best)) => Some((point, best)),
        })?;
    let best = facts.best(StepKind::Schedulers, |p| p.series == Series::RandomRead)?;
    let gain = worth(current, best).filter(|gain| *gain > gain_percent(worst, current))?;
    let device = &facts.storage.scheduled()?.name;
    let whose = whose(facts.storage, device);
    Some(Advice {
        act: format!("Use the {} scheduler instead of {name}{whose}.", best.label),
        gain_percent: Some(gain),
        basis: basis(current, best),
        command: Some(format!("echo {} > /sys/block/{device}/queue/scheduler", best.label)),
    })
}

/// ` on vda, below loop0`: a setting of a lower device concerns all who use it.
pub(super) fn whose(storage: &Storage, device: &str) -> String {
    match storage.top().filter(|top| top.name != device && !top.is_partition()) {
        Some(top) => format!(" on {device}, which lies below {} and serves others too", top.name),
        None => format!(" on {device}"),
    }
}

/// With as many I/Os in flight, another engine does more: of the deepest where that is so.
fn avoid_punting(facts: &Facts<'_>) -> Option<Advice> {
    let is_punted = |p: &&Point| p.outcome.caveats.iter().any(|c| matches!(c, Caveat::Punted { .. }));
    let pairs = facts.points(StepKind::Engines).iter().filter(is_punted).filter_map(|punted| {
        let job = &punted.outcome.job;
        let other = facts.best(StepKind::Engines, |p| {
            p.outcome.job.in_flight() == job.in_flight() && p.outcome.job.engine != job.engine
        })?;
        Some((punted, other, worth(punted, other)?))
    });
    let (punted, other, gain) = pairs.max_by_key(|(punted, ..)| punted.outcome.job.in_flight())?;
    Some(Advice {
        act: format!("Use {} on this device; io_uring goes through worker threads.", other.series),
        gain_percent: Some(gain),
        basis: basis(punted, other),
        command: None,
    })
}

/// Buffered reads that miss the cache, against direct ones.
fn cold_buffers(facts: &Facts<'_>) -> Option<Advice> {
    let small = |p: &&Point| p.outcome.job.block_sizes.smallest().0 <= 4096;
    let find =
        |series: Series| facts.points(StepKind::Paths).iter().filter(small).find(|p| p.series == series);
    let (cold, direct) = (find(Series::BufferedCold)?, find(Series::Direct)?);
    let gain = worth(cold, direct)?;
    Some(Advice {
        act: "Read with O_DIRECT what will not be read again.".to_owned(),
        gain_percent: Some(gain),
        basis: basis(cold, direct),
        command: None,
    })
}

/// The kernel treats the device as a disk with heads although it answers like an SSD.
fn rotational(facts: &Facts<'_>) -> Option<Advice> {
    let device = facts.storage.bottom().filter(|device| device.rotational)?;
    let read = facts.points(StepKind::Latency).iter().find(|p| p.series == Series::RandomRead)?;
    let median = read.outcome.latency().quantile_ns(0.5)?;
    (median < 1_000_000).then(|| Advice {
        act: format!(
            "Tell the kernel that the disk{} has no heads: it claims to rotate but answers in {}.",
            whose(facts.storage, &device.name),
            Nanos(median)
        ),
        gain_percent: None,
        basis: "not measured: schedulers, read-ahead and swap placement look at this flag".to_owned(),
        command: Some(format!("echo 0 > /sys/block/{}/queue/rotational", device.name)),
    })
}
