//! Which number of a platform matters most, and how sure is its rate?
//!
//! Each number is raised and lowered by a fifth, all else as it was, in the same window and with the same seed: what the rate
//! makes of it, per cent for per cent, is its elasticity, 0 where nothing asks for it. Then all that no document gives is drawn,
//! each number by itself: the rates of these runs are a band.

use std::sync::atomic::Ordering;

use anyhow::ensure;
use iostack_model::answers::{RankedNumber, Ranking, RateBand, UnrankedNumber};
use iostack_model::{Nanos, Outcome};
use iostack_target::{Audience, Number, Targets};
use iostack_workload::Rng;

use super::one_run::OneRan;
use crate::sweep::plan::put;
use crate::sweep::pool::{Given, RunWindow, Task};
use crate::sweep::watch::{parallel, watched};

/// Share by which a number is raised and lowered, and that a drawn one differs by at most.
const STEP: f64 = 0.2;
/// Draws of the band.
const DRAWS: u64 = 40;
/// Requests of a run, about: a hundred runs or two are not to take minutes.
const REQUESTS: f64 = 200_000.0;

/// A number, and its run with that factor.
struct Turn<'a> {
    number: &'a Number,
    factor: f64,
}

/// Ranks the numbers of a platform that was run.
pub fn rank(ran: &OneRan, targets: &dyn Targets, audience: &dyn Audience) -> anyhow::Result<Ranking> {
    let base = shortened(ran);
    let target = targets.open(Some(&targets.word(&base.device)), &base.changes)?;
    let numbers = &target.describe().numbers;
    let (scaled, mut left_out) = sorted_out(numbers);
    let (mut tasks, mut turns) = (vec![base.clone()], Vec::new());
    for &number in &scaled {
        for wanted in [1.0 + STEP, 1.0 - STEP] {
            let Some((text, factor)) = scale(number, wanted) else { continue };
            tasks.push(changed(&base, &[(number.key.as_str(), text)]));
            turns.push(Turn { number, factor });
        }
    }
    let seed = base.jobs.as_ref().ok().and_then(|jobs| Some(jobs.first()?.seed)).unwrap_or(1);
    let unsure: Vec<&Number> = scaled.iter().copied().filter(|number| number.range.is_some()).collect();
    let draws = if unsure.is_empty() { 0 } else { DRAWS };
    tasks.extend((0..draws).map(|at| draw(&base, &unsure, (seed, at))));
    let names: Vec<String> = tasks.iter().map(name).collect();
    let given = watched(&tasks, &names, (parallel(None), targets), audience);
    ensure!(!audience.stop().load(Ordering::Relaxed), "interrupted");
    let rates: Vec<Result<f64, String>> = given.iter().map(|one| rate(one.as_ref())).collect();
    let iops = rates[0].clone().map_err(anyhow::Error::msg)?;
    let (of_turns, of_draws) = rates[1..].split_at(turns.len());
    let mut ranked = Vec::new();
    for &number in &scaled {
        match elasticity(iops, turns.iter().zip(of_turns).filter(|(turn, _)| turn.number.key == number.key)) {
            Ok(elasticity) => ranked.push(RankedNumber {
                key: number.key.clone(),
                value: number.text.clone(),
                meaning: number.meaning.to_owned(),
                assumed: number.assumed,
                elasticity,
            }),
            Err(why) => left_out.push(UnrankedNumber { key: number.key.clone(), why }),
        }
    }
    ranked.sort_by(|a, b| b.elasticity.abs().total_cmp(&a.elasticity.abs()));
    let band = (draws > 0).then(|| band(of_draws, (seed, unsure.len())));
    Ok(Ranking { iops, step: STEP, numbers: ranked, left_out, band })
}

/// The run in a window of about so many requests.
fn shortened(ran: &OneRan) -> Task {
    let mut task = ran.task.clone();
    let requests = ran.outcome.inside.as_ref().map_or(0, |inside| inside.requests);
    let share = (REQUESTS / requests.max(1) as f64).min(1.0);
    if let (true, Ok(jobs)) = (task.window == RunWindow::Steady, &mut task.jobs) {
        let window = &ran.outcome.job;
        let cut = |time: Nanos| Nanos((time.0 as f64 * share).ceil() as u64);
        for job in jobs {
            (job.runtime, job.ramp) = (window.runtime.map(cut), cut(window.ramp));
            (job.slice, job.time_based) = (cut(window.slice), window.time_based);
        }
    }
    task.window = RunWindow::Own;
    task
}

/// Numbers to scale, and those that are not, with the reason. What the platform does not have is neither.
fn sorted_out(numbers: &[Number]) -> (Vec<&Number>, Vec<UnrankedNumber>) {
    let (mut scaled, mut left_out) = (Vec::new(), Vec::new());
    for number in numbers.iter().filter(|number| number.scales || number.value.is_some()) {
        let why = match (number.scales, scale(number, 1.0 + STEP)) {
            (false, _) => "a size or a count",
            (true, None) => "it is 0",
            (true, Some(_)) => {
                scaled.push(number);
                continue;
            }
        };
        left_out.push(UnrankedNumber { key: number.key.clone(), why: why.to_owned() });
    }
    (scaled, left_out)
}

/// The number times `factor` as a sheet writes it, and the factor that it then has: times are whole ns.
fn scale(number: &Number, factor: f64) -> Option<(String, f64)> {
    let text = number.text.as_str();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let is_time = !unit.is_empty() && !unit.trim().starts_with('%');
    match number.value {
        Some(ns) if is_time => {
            let scaled = (ns * factor).round();
            (ns > 0.0).then(|| (format!("{scaled}ns"), scaled / ns))
        }
        _ => {
            let value: f64 = digits.parse().ok()?;
            let scaled = format!("{:.9}", value * factor);
            let scaled = scaled.trim_end_matches('0').trim_end_matches('.');
            (value > 0.0).then(|| (format!("{scaled}{unit}"), factor))
        }
    }
}

fn changed(base: &Task, changes: &[(&str, String)]) -> Task {
    let mut task = base.clone();
    for (key, value) in changes {
        put(&mut task.changes, key, value);
    }
    task
}

/// The run with every number that has a range drawn evenly from it.
fn draw(base: &Task, drawn: &[&Number], (seed, at): (u64, u64)) -> Task {
    let mut rng = Rng::stream(seed, at);
    let mut one = |number: &&Number| {
        let [low, high] = number.range?;
        let factor = low + (high - low) * rng.unit();
        scale(number, factor).map(|(text, _)| (number.key.clone(), text))
    };
    let drawn: Vec<(String, String)> = drawn.iter().filter_map(&mut one).collect();
    changed(base, &drawn.iter().map(|(key, text)| (key.as_str(), text.clone())).collect::<Vec<_>>())
}

/// Words that are told of a run while it goes.
fn name(task: &Task) -> String {
    let last = task.changes.last().map(|(key, value)| format!("{key}={value}"));
    last.unwrap_or_else(|| task.device.clone())
}

fn rate(given: Option<&Given>) -> Result<f64, String> {
    match given {
        None => Err("interrupted".to_owned()),
        Some(Err(error)) => Err(error.clone()),
        Some(Ok(outcomes)) => outcomes.last().map(Outcome::rate).ok_or_else(|| "nothing was run".to_owned()),
    }
}

/// Change of the rate in per cent for each per cent of the number, from its two runs; from one and the base where one failed.
fn elasticity<'a>(
    base: f64,
    runs: impl Iterator<Item = (&'a Turn<'a>, &'a Result<f64, String>)>,
) -> Result<f64, String> {
    let (mut points, mut error) = (Vec::new(), String::new());
    for (turn, rate) in runs {
        match rate {
            Ok(rate) => points.push((turn.factor, *rate)),
            Err(why) => error.clone_from(why),
        }
    }
    if points.len() == 1 {
        points.push((1.0, base));
    }
    let [(up, most), (down, least)] = points[..] else { return Err(error) };
    let (of_rate, of_number) = ((most / least).ln(), (up / down).ln());
    // A number that is too small for another value, or runs without I/O.
    let told = of_rate / of_number;
    if told.is_finite() { Ok(told) } else { Err("too small to be scaled".to_owned()) }
}

fn band(rates: &[Result<f64, String>], (seed, drawn): (u64, usize)) -> RateBand {
    let mut iops: Vec<f64> = rates.iter().filter_map(|rate| rate.as_ref().ok().copied()).collect();
    iops.sort_by(f64::total_cmp);
    let failed = (rates.len() - iops.len()) as u32;
    RateBand { seed, drawn: drawn as u32, spread: STEP, iops, failed }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_sim::targets::Simulations;

    use super::super::OneRun;
    use super::*;

    fn ranked(device: &str, changes: &[(&str, &str)], options: &[(&str, &str)]) -> Ranking {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let options = pairs(options);
        let targets = &Simulations;
        let asked = OneRun { files: &[], options: &options, device, changes: pairs(changes), targets };
        let stop = AtomicBool::new(false);
        rank(&asked.run(&stop).expect("runs"), targets, &stop).expect("ranks")
    }

    const FULL: [(&str, &str); 5] = [
        ("pattern", "random"),
        ("engine", "libaio"),
        ("queue_depth", "32"),
        ("io_count", "300"),
        ("threads", "12"),
    ];

    #[test]
    fn what_alone_limits_has_an_elasticity_of_one_and_all_else_of_none() {
        let command = "platform.adapter.adapter.command";
        let changes = [("platform.drives", "12"), (command, "50us")];
        let Ranking { numbers, band, .. } = ranked("x5570", &changes, &FULL);
        assert_eq!(numbers[0].key, command);
        assert!((numbers[0].elasticity + 1.0).abs() < 0.02, "{:?}", numbers[0]);
        let next = &numbers[1];
        assert!(numbers.len() > 20 && next.elasticity.abs() < 0.02, "{next:?}");
        // What was typed is known; nothing else matters.
        let band = band.expect("some numbers are assumed");
        assert_eq!((band.iops.len(), band.failed), (40, 0));
        assert!(band.iops[39] < 1.05 * band.iops[0], "{band:?}");
    }

    #[test]
    fn where_nothing_is_assumed_nothing_is_drawn() {
        let changes = [("zero.latency", "10us"), ("zero.capacity", "1GiB")];
        let Ranking { numbers, band, left_out, .. } = ranked("zero", &changes, &[("io_count", "100")]);
        assert_eq!(band, None);
        assert!((numbers[0].elasticity + 1.0).abs() < 1e-9, "{numbers:?}");
        let left = UnrankedNumber { key: "zero.capacity".to_owned(), why: "a size or a count".to_owned() };
        assert!(left_out.contains(&left), "{left_out:?}");
    }

    #[test]
    fn a_number_is_scaled_in_its_own_unit() {
        let number = |text: &str, value| Number {
            key: String::new(),
            text: text.to_owned(),
            value,
            scales: true,
            assumed: true,
            words: &[],
            range: None,
            meaning: "",
        };
        for (text, value, scaled) in [
            ("25us", Some(25_000.0), Some(("30000ns", 1.2))),
            ("2ns", Some(2.0), Some(("2ns", 1.0))),
            ("800MB/s", None, Some(("960MB/s", 1.2))),
            ("7.5%", Some(7.5), Some(("9%", 1.2))),
            ("2.93", Some(2.93), Some(("3.516", 1.2))),
            ("0ns", Some(0.0), None),
            ("0", Some(0.0), None),
        ] {
            let scaled = scaled.map(|(text, factor): (&str, f64)| (text.to_owned(), factor));
            assert_eq!(scale(&number(text, value), 1.2), scaled, "{text}");
        }
    }

    #[test]
    fn one_run_that_fails_leaves_the_other_and_two_a_reason() {
        let number = Number {
            key: String::new(),
            text: String::new(),
            value: None,
            scales: true,
            assumed: false,
            words: &[],
            range: None,
            meaning: "",
        };
        let [up, down] = [1.25, 0.8].map(|factor| Turn { number: &number, factor });
        let failed = Err("over 100%".to_owned());
        let of = |a: &Result<f64, String>, b: &Result<f64, String>| {
            elasticity(100.0, [(&up, a), (&down, b)].into_iter())
        };
        assert!((of(&Ok(125.0), &Ok(80.0)).expect("both") - 1.0).abs() < 1e-9);
        assert!((of(&failed, &Ok(125.0)).expect("one") + 1.0).abs() < 1e-9);
        assert_eq!(of(&failed, &failed), failed);
    }
}
