//! How far may a simulation be off, because its sheet's numbers are not known exactly?
//!
//! Each number that has a range is drawn from it, uniformly, again and again; the band is what the answers span. A draw goes
//! by seed, its own place and the number's key alone, so that two sheets with the same number get the same draw of it: what is
//! before and after a change differs by the change.

use std::sync::atomic::AtomicBool;

use iostack_model::answers::DrawnNumber;
use iostack_model::{Band, Interval, Nanos, Outcome};
use iostack_stats::{Random, quantile_interval, samples_needed};
use iostack_target::{Audience, Description, Number, Targets};

use super::score::latency_p99;
use crate::sweep::plan::put;
use crate::sweep::pool::{self, Given, Task};
use crate::sweep::watch::{line, parallel};

/// Draws where nobody says how many: enough for the ends of a band.
pub const DRAWS: u32 = 20;

/// Number of draws, and their seed.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Number of draws; 0: no bands.
    pub count: u32,
    /// Seed that reproduces them.
    pub seed: u64,
}

/// Answers of one task: as its numbers are, then one a draw.
pub(crate) struct DrawnAnswers {
    pub(crate) outcome: Outcome,
    /// I/Os per second and 99th percentile of each draw, the same draw at the same place; `None` where it failed.
    pub(crate) drawn: Vec<Option<(f64, Option<f64>)>>,
}

/// Numbers of a target that have a range.
pub(crate) fn drawn_numbers(sheet: &Description) -> Vec<DrawnNumber> {
    let of = |number: &Number| {
        let range = number.range?;
        Some(DrawnNumber { key: number.key.clone(), text: number.text.clone(), range })
    };
    sheet.numbers.iter().filter_map(of).collect()
}

/// Changes that make draw `place` of these numbers.
fn changes_of(numbers: &[DrawnNumber], place: u32, seed: u64) -> Vec<(String, String)> {
    let one = |number: &DrawnNumber| {
        let [low, high] = number.range;
        // FNV-1a, so that each key has a stream of its own.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let stream = number.key.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
        let share = Random::new(seed ^ stream, u64::from(place)).unit();
        (number.key.clone(), scaled(&number.text, low + (high - low) * share))
    };
    numbers.iter().map(one).collect()
}

/// A number with its unit, times a factor: `40us` by 1.1 is `44.0000us`.
fn scaled(text: &str, factor: f64) -> String {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    number.parse::<f64>().map_or_else(|_| text.to_owned(), |value| format!("{:.4}{unit}", value * factor))
}

/// Number of the task's numbers that have a range, and the task with all of them drawn, once a draw. What is typed is known.
pub fn drawn_tasks(task: &Task, draws: Draws, targets: &dyn Targets) -> (u32, Vec<Task>) {
    let opened = targets.open(Some(&targets.word(&task.device)), &task.changes);
    // What cannot be opened fails when it is run, and says why.
    let mut numbers = opened.map(|target| drawn_numbers(target.describe())).unwrap_or_default();
    numbers.retain(|number| task.changes.iter().all(|(key, _)| *key != number.key));
    let count = if numbers.is_empty() { 0 } else { draws.count };
    let several = (0..count).map(|place| {
        let mut own = task.clone();
        for (key, value) in changes_of(&numbers, place, draws.seed) {
            put(&mut own.changes, &key, &value);
        }
        own
    });
    (numbers.len() as u32, several.collect())
}

/// Gives each outcome of a task its band: the same jobs again on the drawn numbers, in windows of the same length.
pub fn band_outcomes(
    task: &Task,
    outcomes: &mut [Outcome],
    draws: Draws,
    targets: &dyn Targets,
    audience: &dyn Audience,
) {
    let (numbers, tasks) = drawn_tasks(task, draws, targets);
    let given = run(&tasks, targets, audience);
    let whole: Vec<&Vec<Outcome>> = given
        .iter()
        .filter_map(|one| one.as_ref()?.as_ref().ok())
        .filter(|all| all.len() == outcomes.len() && all.iter().all(|one| !one.interrupted))
        .collect();
    let failed = given.iter().filter(|one| matches!(one, Some(Err(_)))).count() as u32;
    for (place, outcome) in outcomes.iter_mut().enumerate() {
        let over = |figure: &dyn Fn(&Outcome) -> Option<f64>| -> Option<Interval> {
            Some(band(figure(outcome)?, whole.iter().filter_map(|all| figure(&all[place]))))
        };
        let rank = |share: f64| over(&|one| percentile(one, share));
        let plain = |figure: fn(&Outcome) -> f64| over(&|one| Some(figure(one))).unwrap_or_default();
        let told = Band {
            draws: whole.len() as u32,
            failed,
            seed: draws.seed,
            drawn: numbers,
            iops: plain(Outcome::rate),
            bandwidth: plain(Outcome::bandwidth),
            latency_mean: plain(|one| one.latency().mean_ns()),
            latency_p50: rank(0.5),
            latency_p99: rank(0.99),
        };
        outcome.band = Some(told);
    }
}

/// A percentile of the latency, where there are I/Os enough for one.
fn percentile(outcome: &Outcome, share: f64) -> Option<f64> {
    let latency = outcome.latency();
    let enough = latency.count >= samples_needed(share);
    enough.then(|| quantile_interval(&latency, share)).flatten().map(|interval| interval.mean)
}

/// Runs each task as it is and drawn, several at once. Of a task the outcome, or why there is none.
pub(crate) fn answers(
    tasks: &[Task],
    draws: Draws,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> Vec<Result<DrawnAnswers, String>> {
    let mut all: Vec<Task> = Vec::new();
    let mut counts = Vec::new();
    for task in tasks {
        let (_, several) = drawn_tasks(task, draws, targets);
        counts.push(several.len());
        all.push(task.clone());
        all.extend(several);
    }
    let mut given = run(&all, targets, talk).into_iter();
    let each = counts.into_iter().map(|count| {
        let first = given.next().flatten();
        let others = given.by_ref().take(count).map(|one| last(one).ok().map(|outcome| figures(&outcome)));
        Ok(DrawnAnswers { drawn: others.collect(), outcome: last(first)? })
    });
    each.collect()
}

fn run(tasks: &[Task], targets: &dyn Targets, talk: &dyn Audience) -> Vec<Option<Given>> {
    let started = std::time::Instant::now();
    let stop: &AtomicBool = talk.stop();
    let given = pool::run(tasks, (parallel(None), targets), stop, &mut |watched, _| {
        talk.live(&line(watched, tasks.len(), Nanos(started.elapsed().as_nanos() as u64)));
    });
    talk.clear();
    given
}

/// The last outcome, which is that of the job.
fn last(given: Option<Given>) -> Result<Outcome, String> {
    let mut outcomes = given.unwrap_or_else(|| Err("it was not run".to_owned()))?;
    let outcome = outcomes.pop().ok_or("it has no outcome")?;
    if outcome.interrupted { Err("it was cut short".to_owned()) } else { Ok(outcome) }
}

fn figures(outcome: &Outcome) -> (f64, Option<f64>) {
    (outcome.rate(), latency_p99(outcome).map(|p99| p99.mean))
}

/// A value with the band of its draws: from the 2.5th percentile to the 97.5th, and never beside the value.
pub(crate) fn band(value: f64, drawn: impl Iterator<Item = f64>) -> Interval {
    let mut sorted: Vec<f64> = drawn.filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at =
        |share: f64| sorted.get((share * sorted.len().saturating_sub(1) as f64).round() as usize).copied();
    match (at(0.025), at(0.975)) {
        (Some(low), Some(high)) => {
            Interval { mean: value, low: low.min(value), high: high.max(value), samples: sorted.len() as u32 }
        }
        _ => Interval::exact(value),
    }
}

impl DrawnAnswers {
    /// I/Os per second with their band.
    pub(crate) fn iops(&self) -> Interval {
        band(self.outcome.rate(), self.drawn.iter().flatten().map(|(rate, _)| *rate))
    }

    /// 99th percentile with its band.
    pub(crate) fn latency_p99(&self) -> Option<Interval> {
        let own = latency_p99(&self.outcome)?;
        Some(band(own.mean, self.drawn.iter().flatten().filter_map(|(_, p99)| *p99)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(key: &str, text: &str) -> DrawnNumber {
        DrawnNumber { key: key.to_owned(), text: text.to_owned(), range: [0.5, 1.5] }
    }

    #[test]
    fn a_number_keeps_its_unit_and_words_stay() {
        let told = [("40us", 1.1), ("800MB/s", 0.5), ("2100", 2.0), ("7%", 1.5), ("none", 2.0)];
        let scaled = told.map(|(text, factor)| scaled(text, factor));
        assert_eq!(scaled, ["44.0000us", "400.0000MB/s", "4200.0000", "10.5000%", "none"]);
    }

    #[test]
    fn the_same_number_has_the_same_draw_in_every_sheet() {
        let alone = changes_of(&[number("a.read", "100us")], 3, 7);
        let among = changes_of(&[number("a.program", "100us"), number("a.read", "100us")], 3, 7);
        assert_eq!(alone[0], among[1]);
        assert_ne!(among[0].1, among[1].1, "two numbers are drawn apart");
        let value = |place, seed| changes_of(&[number("a.read", "100us")], place, seed).remove(0).1;
        assert_ne!(value(3, 7), value(4, 7));
        assert_ne!(value(3, 7), value(3, 8));
        let values = (0..200).map(|place| value(place, 1)[..3].parse::<f64>().unwrap_or(99.0));
        let all: Vec<f64> = values.collect();
        assert!(all.iter().all(|value| (50.0..=150.0).contains(value)), "{all:?}");
    }

    #[test]
    fn a_band_holds_its_value_and_leaves_out_the_rarest() {
        let hundred = || (0..=100).map(f64::from);
        let told = band(50.0, hundred());
        assert_eq!((told.low, told.high, told.samples), (3.0, 98.0, 101));
        assert_eq!((band(0.0, hundred()).low, band(200.0, hundred()).high), (0.0, 200.0));
        assert_eq!(band(5.0, std::iter::empty()).samples, 0);
    }
}
