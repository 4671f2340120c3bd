//! Does something other than the hardware set the rate? Pure.
//!
//! A cap is certain where a file states it and the figures keep to it. Without the file it shows in figures that no
//! device makes: every load ends at the same rate.

use iostack_model::answers::{Point, Saturation, StepKind};
use iostack_model::{Caveat, Direction, IoLimit};

use super::facts::{BEYOND, BUSY, Facts, best_way, most_wanted, range, rate, thousands, ways};
use super::others;
use super::scatter::MANY;

/// Share of a stated cap that is reached when the cap is the limit; a load below it has another limit.
const REACHED: f64 = 0.85;
/// So much more than the cap allows shows that it does not hold what was measured. Bursts reach a little more.
const EXCEEDED: f64 = 1.3;
/// Beside others, a rate this far on the way to the cap is near it.
const HALFWAY: f64 = 0.5;
/// I/Os in flight from which on reads feel a cap.
const SEVERAL: u32 = 4;
/// Read, write and mixed maxima this close together are a cap on I/Os, not a property of flash.
const CAP_SPREAD: f64 = 0.015;
/// A run in which each place in flight is taken less often has its rate from how it began and ended.
const TURNS: u64 = 10;
/// Difference between rates that are still one, as a multiple of what the same job is off by.
const NEAR: f64 = 6.0;
/// Difference up to which rates may be one, beside a neighbour who takes now more and now less of it.
const NEAR_LEAST: f64 = 0.1;
/// Rates of other engines, after a fall, may differ by this: they are runs of a third of a second.
const LEVEL_SPREAD: f64 = 0.04;
/// Share of the rate of one read at a time below which a rate at depth 8 or more is held back.
const PLATEAU_MOST: f64 = 0.6;
/// Rates of one level at all depths differ by no more: what a cap lets through comes in portions.
const PLATEAU_SPREAD: f64 = 0.06;
/// Difference between rates of one level after a fall to a quarter: runs are as short as a cap's portions are long.
const LEVEL_SPREAD_DEEP: f64 = 0.25;
/// A fall so deep.
const DEEP: f64 = 4.0;
/// Mean I/Os in the device below which it works on one at a time.
const SERIAL: f64 = 1.2;
/// Share of the largest bandwidth from which on small requests are limited by bytes.
const BY_BYTES: f64 = 0.7;
/// Fewer runs at one rate could agree by chance.
const LEVEL_RUNS: usize = 3;

/// A file states a cap on reads, and the reads end there: also those of a check that ended early, or whose threads
/// lacked a CPU at some points.
pub(super) fn by_stated_cap(facts: &Facts<'_>) -> Option<String> {
    let (limit, cap) = stated(facts)?;
    let rates = [at_upper_depths(facts), over_all(facts), best_way(facts).map(rate)];
    let near = |rate: &f64| (REACHED..=EXCEEDED).contains(&(rate / cap));
    let Some(rate) = rates.into_iter().flatten().find(near) else { return beside_others(facts, limit, cap) };
    Some(format!("A cap: {limit}, and {} IOPS were reached.", thousands(rate)))
}

/// Others had the CPUs, and the reads came halfway to the cap at least: where neither the storage, by the latency of one
/// read, nor the time that was lost kept them from it, the cap is what would have.
fn beside_others(facts: &Facts<'_>, limit: &IoLimit, cap: f64) -> Option<String> {
    let best = best_way(facts)?;
    let alone = ways(facts).find(|way| way.outcome.job.in_flight() == 1)?;
    let quick = 1e9 / alone.outcome.latency().quantile_ns(0.5)? as f64 >= cap;
    let (rate, lost) = (rate(best), others::missed(facts.storage, &best.outcome, facts.cores));
    let halfway = (HALFWAY * cap..=cap).contains(&rate) && rate / (1.0 - lost) >= cap;
    let (rate, percent) = (thousands(rate), lost * 100.0);
    (others::is_spoiled(facts.storage, &best.outcome, facts.cores) && halfway && quick).then(|| {
        format!(
            "A cap: {limit}, and {rate} IOPS were reached though others had the CPUs for {percent:.0} % of this load's time."
        )
    })
}

/// The strictest cap that a file states on the reads of this check, and how many a second it allows.
pub(super) fn stated<'a>(facts: &Facts<'a>) -> Option<(&'a IoLimit, f64)> {
    let size = ways(facts).next()?.outcome.job.block_sizes.largest();
    let reads = facts.io_limits.iter().filter(|limit| limit.direction == Direction::Read);
    let caps = reads.map(|limit| (limit, limit.iops(size))).filter(|(_, cap)| *cap > 0.0);
    caps.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Part of a possible rate that a stated cap leaves; a cap that the measured rate exceeds does not hold.
pub(super) fn allowed(facts: &Facts<'_>, measured: f64, could_be: f64) -> f64 {
    let cap = stated(facts).map(|(_, cap)| cap).filter(|cap| measured <= cap * EXCEEDED);
    cap.map_or(could_be, |cap| could_be.min(cap.max(measured)))
}

/// Rate of the read curve where it is flat: its highest points are bursts.
fn at_upper_depths(facts: &Facts<'_>) -> Option<f64> {
    let mut rates: Vec<f64> = facts.reads_of(StepKind::Depth).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    // The upper half of the depths is where a cap is felt; its middle is no burst.
    rates.get(rates.len() - rates.len().div_ceil(4)).copied()
}

/// The rate of all reads that kept several in flight, as one run: what single short runs got of a cap's portions, or
/// of the CPUs, differs.
fn over_all(facts: &Facts<'_>) -> Option<f64> {
    let deep = ways(facts).filter(|point| point.outcome.job.in_flight() >= SEVERAL);
    let (ios, time) = deep.fold((0, 0.0), |(ios, time), point| {
        (ios + point.outcome.ios(), time + point.outcome.elapsed.as_secs_f64())
    });
    (time > 0.0).then(|| ios as f64 / time)
}

/// Reads, writes and the mix all end at one rate, which no flash does.
pub(super) fn by_common_rate(facts: &Facts<'_>) -> Option<String> {
    let (rate, spread) = common_rate(facts)?;
    let rate = thousands(rate);
    (spread < CAP_SPREAD + facts.scatter.many).then(|| {
        format!(
            "A cap of about {rate} I/Os per second, or one station that each of them passes, such as an adapter's processor: \
             reads, writes and the mix all end there."
        )
    })
}

/// They end so near to each other that one rate for all may lie behind it.
pub(super) fn by_near_rates(facts: &Facts<'_>) -> Option<String> {
    let (rate, spread) = common_rate(facts)?;
    let scatter = facts.scatter.writes;
    (spread < CAP_SPREAD + (NEAR * scatter).max(NEAR_LEAST)).then(|| {
        format!(
            "Unknown: reads, writes and the mix end within {:.1} % of {} IOPS, where the same job differs by {:.1} %: a cap, or the device.",
            spread * 100.0,
            thousands(rate),
            scatter * 100.0
        )
    })
}

/// The highest rate of reads, writes and the mix, and how far the lowest is below it, where nothing but a cap explains that they agree.
fn common_rate(facts: &Facts<'_>) -> Option<(f64, f64)> {
    let curves = &facts.summary.saturation;
    // Of whole runs: what is in flight at the borders of a short one is missing from its slices.
    let most = |curve: &Saturation| {
        let points = facts.points(StepKind::Depth).iter().filter(|point| point.series == curve.series);
        points.filter(|point| has_turns(point)).map(|point| point.outcome.rate()).fold(0.0, f64::max)
    };
    let (low, high) = range(curves.iter().map(most));
    let saturated = curves.len() == 3 && curves.iter().all(|curve| curve.depth.is_some());
    // What another way of asking passes holds nothing. What works on one I/O at a time, keeps a CPU busy, or moves as many
    // bytes as go at all, has its rate from that.
    let passed = best_way(facts).is_some_and(|way| rate(way) > high * EXCEEDED);
    let serial = facts.reads().is_some_and(|reads| reads.parallelism < SERIAL);
    let held = saturated && !passed && !serial && most_wanted(facts) < BUSY && !moves_all_bytes(facts, high);
    held.then_some((high, (high - low) / high))
}

fn has_turns(point: &Point) -> bool {
    let in_flight = point.outcome.job.in_flight();
    in_flight >= MANY && point.outcome.ios() >= TURNS * u64::from(in_flight)
}

/// True if so many small reads a second move nearly as many bytes as the largest requests do; a cap on I/Os does not depend on
/// their size.
fn moves_all_bytes(facts: &Facts<'_>, rate: f64) -> bool {
    let sized = [StepKind::Cells, StepKind::Size].into_iter().flat_map(|id| facts.points(id));
    let reads = sized.filter(|point| !point.outcome.job.mix.destroys());
    let most = reads.map(|point| point.outcome.bandwidth()).fold(0.0, f64::max);
    let size = ways(facts).next().map_or(0, |point| point.outcome.job.block_sizes.largest().0);
    rate * size as f64 > most * (BY_BYTES - BEYOND * facts.scatter.many)
}

/// More reads in flight than one leave the rate where it is, below what one at a time would give by its own latency: no device does
/// that. At first a cap lets a burst through, so that the highest rate says nothing.
pub(super) fn by_plateau(facts: &Facts<'_>) -> Option<String> {
    let mut reads = facts.reads_of(StepKind::Depth);
    let one = reads.find(|point| point.outcome.job.in_flight() == 1)?.outcome.latency().quantile_ns(0.9)?;
    let deep = facts.reads_of(StepKind::Depth).filter(|point| point.outcome.job.in_flight() >= MANY);
    let rates: Vec<f64> = deep.map(rate).collect();
    let (low, high) = range(rates.iter().copied());
    let flat = rates.len() >= LEVEL_RUNS && high <= low * (1.0 + PLATEAU_SPREAD);
    (flat && low > 0.0 && high * one as f64 / 1e9 <= PLATEAU_MOST).then(|| {
        format!(
            "A cap of about {} I/Os per second, whatever the depth: one read at a time takes so little that it would give {}.",
            thousands(high),
            thousands(1e9 / one as f64)
        )
    })
}

/// The same reads became slower during the check: to one rate for every engine where a bucket ran empty.
pub(super) fn by_change(facts: &Facts<'_>) -> Option<String> {
    let (low, high) = facts.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Drift { low, high, .. } => Some((*low, *high)),
        _ => None,
    })?;
    let spread = if high >= low * DEEP { LEVEL_SPREAD_DEEP } else { LEVEL_SPREAD };
    // Who is seen to come explains it as well.
    let seen = others::traffic(facts.points(StepKind::Engines).iter().map(|point| &point.outcome));
    let level = level_of_engines(facts, spread).filter(|_| seen.is_none())?;
    ((level / low - 1.0).abs() < spread && alone_is_spared(facts)).then(|| {
        format!(
            "A cap of about {} I/Os per second, where each engine ends; at first there were {}: a token bucket.",
            thousands(level),
            thousands(high)
        )
    })
}

/// One read at a time that gives this share of what it gave is as quick as it was.
const SPARED: f64 = 0.9;

/// True if one read at a time is as quick as before, though many are not: traffic of others would hold it up, too.
fn alone_is_spared(facts: &Facts<'_>) -> bool {
    let is_alone = |point: &&Point| point.outcome.job.in_flight() == 1;
    let (_, before) = range(facts.reads_of(StepKind::Latency).filter(is_alone).map(rate));
    facts.points(StepKind::Engines).iter().filter(is_alone).all(|point| rate(point) >= before * SPARED)
}

/// The one rate at which all engines end that keep the queue full, where there is one.
fn level_of_engines(facts: &Facts<'_>, spread: f64) -> Option<f64> {
    let deep = |point: &&Point| point.outcome.job.in_flight() >= 32;
    let rates: Vec<f64> = facts.points(StepKind::Engines).iter().filter(deep).map(rate).collect();
    let (low, high) = range(rates.iter().copied());
    (rates.len() >= LEVEL_RUNS && high <= low * (1.0 + spread)).then(|| f64::midpoint(low, high))
}
