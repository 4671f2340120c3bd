//! From rounds to figures: one interval for each, one profile for all rounds of a test.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use iostack_doubt::Scope;
use iostack_model::answers::{IolatProfile, IolatRound, IolatTest, LayerCost};
use iostack_model::{
    Beside, Bins, Caveat, Clocks, Direction, FunctionRow, Hardware, Interval, LayerRow, Layers, Nanos,
    Outcome, Quality, StackRow,
};
use iostack_stats::rate_interval;

use super::measure::MeasuredTest;
use super::plan::SYNC_EVERY;
use crate::check::doubts::one_of_each;

/// Stacks kept of all rounds together, as many as of one ([`Layers::stacks`]).
const STACKS: usize = 2000;

/// The figures of one test; `None` when not one round was made.
pub(crate) fn test(measured: MeasuredTest) -> Option<IolatTest> {
    let MeasuredTest { test, rounds } = measured;
    if rounds.is_empty() {
        return None;
    }
    let each: Vec<IolatRound> = rounds.iter().map(|(number, outcome)| round(*number, outcome)).collect();
    let over = |figure: fn(&IolatRound) -> f64| rate_interval(&each.iter().map(figure).collect::<Vec<_>>());
    let (mut latency, mut sync) = (Bins::default(), Bins::default());
    for (_, outcome) in &rounds {
        latency.merge(&outcome.latency());
        sync.merge(&outcome.sync);
    }
    let profiles: Vec<&Layers> = rounds.iter().filter_map(|(_, outcome)| outcome.layers.as_ref()).collect();
    let written = test.direction == Direction::Write;
    Some(IolatTest {
        name: test.name.to_owned(),
        direction: test.direction,
        bytes: test.bytes,
        direct: test.direct,
        sync_every: if written && !test.direct { SYNC_EVERY } else { 0 },
        ios: rounds.iter().map(|(_, outcome)| outcome.ios()).sum(),
        elapsed: Nanos(rounds.iter().map(|(_, outcome)| outcome.elapsed.0).sum()),
        iops: over(|round| round.iops),
        request: over(|round| round.request_ns),
        clocks: over(|round| round.clocks),
        rounds: each,
        latency,
        sync,
        layer_costs: layer_costs(&profiles),
        layers: merge(&profiles),
        caveats: caveats(&rounds, test.direct),
    })
}

fn round(number: u32, outcome: &Outcome) -> IolatRound {
    IolatRound {
        number,
        iops: outcome.rate(),
        request_ns: outcome.latency().mean_ns(),
        clocks: outcome.cpu.clocks_per_io,
    }
}

/// One of each kind, without those that belong to how the test is made: a cached test is meant to be cached and to keep
/// its CPU busy, and a round is too short for shapes of its rate; the intervals are over rounds.
fn caveats(rounds: &[(u32, Outcome)], direct: bool) -> Vec<Caveat> {
    let is_kept = |caveat: &&Caveat| {
        let of_a_round = matches!(iostack_doubt::scope(caveat), Scope::Rate | Scope::Percentile);
        !of_a_round && (direct || iostack_doubt::intended(caveat).is_none())
    };
    one_of_each(rounds.iter().flat_map(|(_, outcome)| &outcome.caveats).filter(is_kept))
}

/// Each name once, in the order of the first.
pub(crate) fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Clocks per I/O and share of each layer, over the rounds; a layer that a round did not see cost nothing in it.
fn layer_costs(profiles: &[&Layers]) -> Vec<LayerCost> {
    let names = distinct(profiles.iter().flat_map(|layers| &layers.rows).map(|row| row.layer.as_str()));
    let cost = |name: &str| {
        let times = profiles.iter().map(|layers| (*layers, time_of(layers, name)));
        let clocks: Vec<f64> =
            times.clone().filter_map(|(layers, time)| layers.clocks_per_io(time)).collect();
        let shares = times.map(|(layers, time)| share(time, layers.clocks.total()));
        LayerCost {
            layer: name.to_owned(),
            clocks: rate_interval(&clocks),
            share: rate_interval(&shares.collect::<Vec<_>>()),
        }
    };
    let mut costs: Vec<LayerCost> = names.into_iter().map(cost).collect();
    costs.sort_by(|a, b| b.share.mean.total_cmp(&a.share.mean));
    costs
}

fn time_of(layers: &Layers, name: &str) -> Nanos {
    layers.rows.iter().find(|row| row.layer == name).map_or(Nanos(0), |row| row.time)
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    if whole.0 == 0 { 0.0 } else { part.0 as f64 / whole.0 as f64 }
}

/// The profiles of several rounds as one; `None` of none.
pub(crate) fn merge(profiles: &[&Layers]) -> Option<Layers> {
    let first = *profiles.first()?;
    let samples: u64 = profiles.iter().map(|layers| layers.samples).sum();
    let counted: Option<Vec<u64>> = profiles.iter().map(|layers| layers.ios).collect();
    let ios = counted.map(|counts| counts.iter().sum::<u64>());
    let elapsed = Nanos(profiles.iter().map(|layers| layers.elapsed.0).sum());
    let weighted = |figure: fn(&Layers) -> f64, weight: fn(&Layers) -> f64| {
        let whole: f64 = profiles.iter().map(|layers| weight(layers)).sum();
        let sum: f64 = profiles.iter().map(|layers| figure(layers) * weight(layers)).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    };
    let by_samples = |figure: fn(&Layers) -> f64| weighted(figure, |layers| layers.samples as f64);
    let hardware = profiles.iter().all(|layers| layers.hardware.is_some()).then(|| Hardware {
        instructions: weighted(|l| l.hardware.map_or(0.0, |h| h.instructions), |l| l.ios.unwrap_or(0) as f64),
        cycles: weighted(|l| l.hardware.map_or(0.0, |h| h.cycles), |l| l.ios.unwrap_or(0) as f64),
    });
    let notes = distinct(profiles.iter().flat_map(|layers| &layers.notes).map(String::as_str));
    Some(Layers {
        subject: first.subject.clone(),
        elapsed,
        ios,
        clocks: clocks(profiles),
        samples,
        lost: profiles.iter().map(|layers| layers.lost).sum(),
        sampling_cost: weighted(|layers| layers.sampling_cost, |layers| layers.clocks.total().0 as f64),
        rows: rows(profiles),
        functions: functions(profiles),
        stacks: stacks(profiles),
        quality: Quality {
            unclassified: by_samples(|layers| layers.quality.unclassified),
            inferred: by_samples(|layers| layers.quality.inferred),
            disagreement: first
                .quality
                .disagreement
                .map(|_| by_samples(|layers| layers.quality.disagreement.unwrap_or(0.0))),
            ..first.quality.clone()
        },
        hardware,
        notes: notes.into_iter().map(str::to_owned).collect(),
        ..first.clone()
    })
}

fn clocks(profiles: &[&Layers]) -> Clocks {
    let sum = |part: fn(&Clocks) -> Nanos| Nanos(profiles.iter().map(|layers| part(&layers.clocks).0).sum());
    let named = |names: fn(&Clocks) -> &[(String, Nanos)]| {
        let all = profiles.iter().flat_map(|layers| names(&layers.clocks));
        summed(all, |(name, _)| name, |whole, (_, time)| whole.1 += *time, |(_, time)| time.0)
    };
    Clocks {
        tasks: sum(|clocks| clocks.tasks),
        interrupts: sum(|clocks| clocks.interrupts),
        kernel_threads: sum(|clocks| clocks.kernel_threads),
        kernel_thread_names: named(|clocks| &clocks.kernel_thread_names),
        beside: Beside {
            interrupts: sum(|clocks| clocks.beside.interrupts),
            kernel_threads: sum(|clocks| clocks.beside.kernel_threads),
            kernel_thread_names: named(|clocks| &clocks.beside.kernel_thread_names),
        },
        idle_polling: sum(|clocks| clocks.idle_polling),
        exact: profiles.iter().all(|layers| layers.clocks.exact),
        how: profiles.first().map(|layers| layers.clocks.how.clone()).unwrap_or_default(),
    }
}

/// Rows of one key become one, to which `add` adds the later ones; the largest first.
fn summed<'a, T: Clone + 'a, K: Eq + Hash + ?Sized + 'a>(
    all: impl Iterator<Item = &'a T>,
    key: fn(&T) -> &K,
    add: fn(&mut T, &T),
    size: fn(&T) -> u64,
) -> Vec<T> {
    let mut rows: Vec<T> = Vec::new();
    let mut places: HashMap<&K, usize> = HashMap::new();
    for row in all {
        if let Some(&place) = places.get(key(row)) {
            add(&mut rows[place], row);
        } else {
            places.insert(key(row), rows.len());
            rows.push(row.clone());
        }
    }
    rows.sort_by_key(|row| Reverse(size(row)));
    rows
}

fn rows(profiles: &[&Layers]) -> Vec<LayerRow> {
    let add = |whole: &mut LayerRow, row: &LayerRow| {
        whole.samples += row.samples;
        whole.time += row.time;
        let kinds = std::mem::take(&mut whole.kinds);
        let both = kinds.iter().chain(&row.kinds);
        whole.kinds =
            summed(both, |(kind, _)| kind, |whole, (_, samples)| whole.1 += samples, |(_, samples)| *samples);
    };
    summed(profiles.iter().flat_map(|layers| &layers.rows), |row| &row.layer, add, |row| row.time.0)
}

fn functions(profiles: &[&Layers]) -> Vec<FunctionRow> {
    let all = profiles.iter().flat_map(|layers| &layers.functions);
    summed(all, |row| &row.name, |whole, row| whole.samples += row.samples, |row| row.samples)
}

fn stacks(profiles: &[&Layers]) -> Vec<StackRow> {
    let all = profiles.iter().flat_map(|layers| &layers.stacks);
    let mut rows =
        summed(all, |row| &row.frames, |whole, row| whole.samples += row.samples, |row| row.samples);
    rows.truncate(STACKS);
    rows
}

/// The profiles of the direct and of the cached tests, each together, where there are any.
pub(crate) fn profiles(tests: &[IolatTest]) -> Vec<IolatProfile> {
    let kinds = [("direct", true), ("cached", false)];
    let of = |(name, direct): (&str, bool)| {
        let mine: Vec<&IolatTest> = tests.iter().filter(|test| test.direct == direct).collect();
        let layers: Vec<&Layers> = mine.iter().filter_map(|test| test.layers.as_ref()).collect();
        (!layers.is_empty()).then(|| IolatProfile {
            name: name.to_owned(),
            samples: layers.iter().map(|layers| layers.samples).sum(),
            shares: together(&mine),
            functions: functions(&layers),
        })
    };
    kinds.into_iter().filter_map(of).collect()
}

/// The layers of several tests together, by share of their clocks, largest first.
pub(crate) fn together(tests: &[&IolatTest]) -> Vec<(String, Interval)> {
    let totals: Vec<(&IolatTest, f64)> = tests
        .iter()
        .filter_map(|test| test.layers.as_ref().map(|layers| (*test, layers.clocks.total().0 as f64)))
        .collect();
    let whole: f64 = totals.iter().map(|(_, total)| total).sum();
    let costs = totals.iter().flat_map(|(test, _)| &test.layer_costs);
    let names = distinct(costs.map(|cost| cost.layer.as_str()));
    let weighted = |name: &str| {
        let costs = totals
            .iter()
            .filter_map(|(test, total)| test.layer_cost(name).map(|cost| (cost.share, total / whole)));
        sum(costs)
    };
    let mut shares: Vec<(String, Interval)> =
        names.into_iter().map(|name| (name.to_owned(), weighted(name))).collect();
    shares.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    shares
}

/// The sum of independent figures, each times its weight: their variances add up.
pub(crate) fn sum(parts: impl Iterator<Item = (Interval, f64)>) -> Interval {
    let (mut mean, mut square, mut samples) = (0.0, 0.0, u32::MAX);
    for (part, weight) in parts {
        mean += part.mean * weight;
        square += (weight * (part.high - part.mean).max(part.mean - part.low)).powi(2);
        samples = samples.min(part.samples);
    }
    let reach = square.sqrt();
    let samples = if samples == u32::MAX { 0 } else { samples };
    Interval { mean, low: (mean - reach).max(0.0), high: mean + reach, samples }
}
