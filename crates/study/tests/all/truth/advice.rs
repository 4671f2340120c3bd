//! Does advice keep what it promises? Each advice of a check of a simulated platform is followed: its command, word by word, with
//! draws of its own. What comes of it must be the rate that the advice named, within 5 %, in 95 of 100 (seen: 4.1 % off at most).
//!
//! A command asks for ten seconds; here it asks for as many I/Os as tell a rate. Advice to use another scheduler names a check,
//! which is done.

use std::sync::atomic::AtomicBool;

use iostack_model::Effort;
use iostack_model::answers::{Advice, Series, StepKind};
use iostack_target::Wanted;
use iostack_workload::gather::gather;

use super::platforms::{TRUTHS, Truth, checked, drawn, each, opened};

/// `21.5 k` as a number.
fn number(text: &str) -> f64 {
    let (digits, times) = match text.split_once(' ') {
        Some((digits, "k")) => (digits, 1e3),
        Some((digits, "M")) => (digits, 1e6),
        _ => (text, 1.0),
    };
    digits.parse::<f64>().unwrap_or_else(|_| panic!("`{text}` is a number")) * times
}

/// The rates before and after that the advice names.
fn promised(advice: &Advice) -> [f64; 2] {
    let rates = advice.basis.strip_prefix("measured here: ").and_then(|rest| rest.split_once(" IOPS"));
    let (before, after) = rates.and_then(|(rates, _)| rates.split_once(" to ")).expect("it names two rates");
    [number(before), number(after)]
}

/// I/Os that tell a rate.
const IOS: f64 = 50_000.0;

/// Rate that the command gives.
fn followed(command: &str, effort: Effort, rate: f64, seed: u64) -> f64 {
    let words: Vec<&str> = command.split(' ').map(|word| word.trim_matches('\'')).collect();
    let mut set: Vec<String> = Vec::new();
    let (mut on, mut options) = ("", Vec::new());
    let mut flags = &words[2..];
    if words[1] == "check" {
        (on, flags) = (words[2], &words[3..]);
    }
    for pair in flags.chunks(2) {
        let [flag, value] = pair else { panic!("a flag without a value: {command}") };
        match *flag {
            "--on" => on = value,
            "--set" => set.push((*value).to_owned()),
            option => options.push((option.trim_start_matches("--").to_owned(), (*value).to_owned())),
        }
    }
    if words[1] == "check" {
        let check = checked(on, &set, effort, seed);
        let step = check.step(StepKind::Schedulers).expect("it has a scheduler");
        let first = step.points.iter().find(|point| point.series == Series::RandomRead).expect("it reads");
        return first.outcome.iops.mean;
    }
    let runtime = options.iter_mut().find(|(name, _)| name == "runtime").expect("it says how long");
    runtime.1 = format!("{:.0}us", (IOS / rate * 1e6).min(10e6));
    options.push(("seed".to_owned(), seed.to_string()));
    let jobs = gather(&[], &[], &options, false, 1).expect("a sound command").jobs;
    let ran = opened(on, &set).run(&jobs, Wanted::default(), &AtomicBool::new(false)).expect("it runs");
    ran.outcomes[0].rate()
}

/// One advice and its outcome in words, and whether it was kept.
fn kept(advice: &Advice, effort: Effort, seed: u64) -> (String, bool) {
    let command = advice.command.as_ref().expect("measured advice has a command");
    let [before, after] = promised(advice);
    let gain = advice.gain_percent.expect("measured advice has a gain");
    let of_rates = (after / before - 1.0) * 100.0;
    // Rates are printed with three digits, so that each is off by half a percent at most.
    assert!((gain - of_rates).abs() <= 0.01 * (100.0 + gain), "{gain} % is not {}", advice.basis);
    let found = followed(command, effort, after, seed);
    let off = (found / after - 1.0) * 100.0;
    (format!("{off:+5.1} %: {found:.0} of {after:.0}: {command}"), off.abs() <= OFF_PERCENT)
}

/// Difference allowed between a rate and the promise.
const OFF_PERCENT: f64 = 5.0;

#[test]
fn advice_that_is_followed_gives_the_rate_that_it_promised() {
    let few = |truth: &'static Truth| (1..=truth.draws / 4).map(move |draw| (truth, draw));
    let cases: Vec<_> = TRUTHS.iter().flat_map(few).collect();
    let found = each(&cases, |truth, draw| {
        let check = checked(truth.on, &drawn(truth, draw), truth.effort, draw);
        let all = check.verdict.advice.iter().map(|advice| kept(advice, truth.effort, 1000 + draw));
        let all: Vec<(String, bool)> = all.collect();
        assert!(!all.is_empty(), "{}, draw {draw}: no advice", truth.name);
        all
    });
    let mut found = found.concat();
    found.sort();
    // Two pieces of advice may have one command.
    found.dedup();
    let kept = found.iter().filter(|(_, kept)| *kept).count();
    let said: Vec<&str> = found.iter().map(|(said, _)| said.as_str()).collect();
    println!("{}\n{kept} of {} kept, of {} platforms", said.join("\n"), found.len(), cases.len());
    assert!(said.iter().any(|said| said.contains(": iostack check ")), "none is of schedulers");
    assert!(kept * 100 >= found.len() * 95, "{kept} of {}:\n{}", found.len(), said.join("\n"));
}
