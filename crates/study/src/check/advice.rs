//! What would a change give? Only gains that this check measured, most first. Pure.

use iostack_model::answers::{Advice, Point, Series, StepKind};
use iostack_model::{Amount, Bytes, Caveat, Engine, Nanos, Storage};

use super::facts::{Facts, clear_gain, gain_percent, in_words, is_read, most, rate, thousands, ways};

/// Things to do, most gain first; those without a measured gain last. None names a way of asking that another measured
/// one clearly beats.
pub(crate) fn advise(facts: &Facts<'_>) -> Vec<Advice> {
    let rules: [fn(&Facts<'_>) -> Option<Advice>; 7] =
        [deeper, more_threads, batches, scheduler, avoid_punting, cold_buffers, rotational];
    let mut advice: Vec<Advice> = rules.iter().filter_map(|rule| rule(facts)).collect();
    advice.sort_by(|a, b| b.gain_percent.unwrap_or(-1.0).total_cmp(&a.gain_percent.unwrap_or(-1.0)));
    advice
}

/// The command that asks the same again for longer, of the same target.
fn run(facts: &Facts<'_>, point: &Point) -> String {
    let job = &point.outcome.job;
    let size = match job.size {
        Some(Amount::Bytes(size)) => format!(" --size {}", size.0),
        _ => String::new(),
    };
    let command = format!(
        "iostack run --on {} --pattern random{size} --engine {} --queue-depth {}",
        facts.place.on,
        job.engine.name(),
        job.queue_depth
    );
    let block = job.block_sizes.largest();
    let [fixed, registered] = match job.engine {
        Engine::IoUring { fixed_buffers, registered_files, .. } => [fixed_buffers, registered_files],
        _ => [false; 2],
    };
    let flags = [
        (block != Bytes(4096), format!("block-size {}", block.0)),
        (job.batch.submit > 1, format!("batch {}", job.batch.submit)),
        (job.batch.complete_min > 1, format!("batch-complete {}", job.batch.complete_min)),
        (fixed, "fixed-buffers true".to_owned()),
        (registered, "registered-files true".to_owned()),
        (job.threads > 1, format!("threads {}", job.threads)),
        (!job.direct, "direct false".to_owned()),
    ];
    let flags: String = flags
        .into_iter()
        .filter(|(differs, _)| *differs)
        .flat_map(|(_, flag)| [" --".to_owned(), flag])
        .collect();
    command + &flags + " --time-based true --runtime 10s" + &facts.place.end
}

/// The ways that no other clearly beats, and of these the one with the fewest I/Os in flight.
fn leanest<'a>(facts: &Facts<'a>, wanted: impl Fn(&&Point) -> bool) -> Option<&'a Point> {
    let unbeaten = ways(facts).filter(|way| !is_beaten(facts, way)).filter(wanted);
    // Of equally many in flight the best.
    unbeaten.min_by(|a, b| {
        let in_flight = |point: &Point| point.outcome.job.in_flight();
        in_flight(a).cmp(&in_flight(b)).then(rate(b).total_cmp(&rate(a)))
    })
}

/// True if another measured way clearly does more.
fn is_beaten(facts: &Facts<'_>, way: &Point) -> bool {
    ways(facts).any(|other| clear_gain(way, other).is_some())
}

/// The best of some ways.
fn best<'a>(facts: &Facts<'a>, wanted: impl Fn(&&'a Point) -> bool) -> Option<&'a Point> {
    most(ways(facts).filter(wanted))
}

/// Advice to ask in another way, where it clearly gains; `more` goes with the rates.
fn instead(facts: &Facts<'_>, before: &Point, after: &Point, act: String, more: &str) -> Option<Advice> {
    let (gain, rates) = (clear_gain(before, after)?, [before, after].map(|point| thousands(rate(point))));
    Some(Advice {
        act,
        gain_percent: Some(gain),
        basis: format!("measured here: {} to {} IOPS{more}", rates[0], rates[1]),
        command: Some(run(facts, after)),
    })
}

/// Advice to go from the best with one read in flight to the best depth.
fn deeper(facts: &Facts<'_>) -> Option<Advice> {
    let first = best(facts, |way| way.outcome.job.in_flight() == 1)?;
    let many = leanest(facts, |_| true)?;
    let (depth, words) = (many.outcome.job.in_flight(), in_words(many));
    let act = format!("Keep {depth} reads in flight instead of one ({words}).");
    let [short, long] = [first, many].map(|point| Nanos(point.outcome.latency().mean_ns() as u64));
    instead(facts, first, many, act, &format!("; latency {short} to {long}"))
}

/// Advice to go from the best of one thread to the best number of threads.
fn more_threads(facts: &Facts<'_>) -> Option<Advice> {
    let single = best(facts, |way| way.outcome.job.threads == 1)?;
    let many = leanest(facts, |way| way.outcome.job.threads > 1)?;
    let act = format!("Spread the load over {} threads ({}).", many.outcome.job.threads, in_words(many));
    instead(facts, single, many, act, "")
}

/// Advice to batch, if one thread that batches beats the best that submits each I/O by itself and all others.
fn batches(facts: &Facts<'_>) -> Option<Advice> {
    let alone = |way: &&Point| way.outcome.job.threads == 1;
    let single = best(facts, |way| alone(way) && way.outcome.job.batch.submit == 1)?;
    let batched = leanest(facts, |way| alone(way) && way.outcome.job.batch.submit > 1)?;
    let [dear, cheap] =
        [single, batched].map(|point| point.outcome.cpu_ns_per_io().unwrap_or_default() / 1e3);
    let act = format!("Submit {} I/Os per system call instead of one.", batched.outcome.job.batch.submit);
    instead(facts, single, batched, act, &format!("; CPU per I/O {dear:.1} to {cheap:.1} us"))
}

fn scheduler(facts: &Facts<'_>) -> Option<Advice> {
    // The current one was measured first and last. What another gains must be more than what the two differ by.
    let name = facts.points(StepKind::Schedulers).first()?.label.clone();
    let own = || facts.reads_of(StepKind::Schedulers).filter(|point| point.label.starts_with(&name));
    let worst = own().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let current = most(own())?;
    let best = facts.best(StepKind::Schedulers, is_read)?;
    clear_gain(current, best).filter(|gain| *gain > gain_percent(worst, current))?;
    let whose = whose(facts.storage, &facts.storage.scheduled()?.name);
    let act = format!("Use the {} scheduler instead of {name}{whose}.", best.label);
    let command = Some(facts.place.scheduler_command.replace("{}", &best.label));
    Some(Advice { command, ..instead(facts, current, best, act, "")? })
}

/// ` on vda, below loop0`: a setting of a lower device concerns all who use it.
pub(super) fn whose(storage: &Storage, device: &str) -> String {
    match storage.top().filter(|top| top.name != device && !top.is_partition()) {
        Some(top) => format!(" on {device}, which lies below {} and serves others too", top.name),
        None => format!(" on {device}"),
    }
}

/// Advice to use another engine that does more with as many I/Os in flight, at the largest such depth.
fn avoid_punting(facts: &Facts<'_>) -> Option<Advice> {
    let is_punted = |p: &&Point| p.outcome.caveats.iter().any(|c| matches!(c, Caveat::Punted { .. }));
    let pairs = facts.points(StepKind::Engines).iter().filter(is_punted).filter_map(|punted| {
        let job = &punted.outcome.job;
        let other = facts.best(StepKind::Engines, |p| {
            p.outcome.job.in_flight() == job.in_flight() && p.outcome.job.engine != job.engine
        })?;
        clear_gain(punted, other).map(|_| (punted, other))
    });
    let (punted, other) = pairs.max_by_key(|(punted, _)| punted.outcome.job.in_flight())?;
    let act = format!("Use {} on this device; io_uring goes through worker threads.", other.series);
    instead(facts, punted, other, act, "")
}

/// Buffered reads that miss the cache, against direct ones.
fn cold_buffers(facts: &Facts<'_>) -> Option<Advice> {
    let small = |p: &&Point| p.outcome.job.block_sizes.smallest().0 <= 4096;
    let find =
        |series: Series| facts.points(StepKind::Paths).iter().filter(small).find(|p| p.series == series);
    let act = "Read with O_DIRECT what will not be read again.".to_owned();
    instead(facts, find(Series::BufferedCold)?, find(Series::Direct)?, act, "")
}

/// The kernel treats the device as a disk with heads although it answers like an SSD.
fn rotational(facts: &Facts<'_>) -> Option<Advice> {
    let device = facts.storage.bottom().filter(|device| device.rotational)?;
    let read = facts.reads_of(StepKind::Latency).next()?;
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
