//! How many drives, adapters and cores does a rate need?
//!
//! It begins with one of each and gives more of what is used up, as many as the rate needs if each brings what one brings
//! now; no size between can do, as long as more of one never bring more for each. At the end what stands idle is given back
//! one by one.

use anyhow::ensure;
use iostack_model::Outcome;
use iostack_model::answers::{Sizing, SizingStep};
use iostack_target::Audience;

use super::fill;
use super::one_run::{OneRan, OneRun};
use crate::sweep::plan::put;

/// More of one kind are not tried.
const MOST: u64 = 512;
/// A step that gives less than this share more is the last.
const GAIN: f64 = 0.01;

/// Keys of what is counted, in the order of [`SizedCounts`].
const KEYS: [&str; 3] = ["platform.drives", "platform.adapters", "platform.cores"];
const NAMES: [&str; 3] = ["drives", "adapters", "cores"];
type SizedCounts = [u64; 3];

/// Kind of which more would help: an index of [`KEYS`]. `None`: more of none does.
fn kind_of(resource: &str) -> Option<usize> {
    match resource {
        "core" => Some(2),
        "adapter" | "adapter link" | "uplink" | "port" => Some(1),
        // One lock for all cores of a drive; more drives have more locks.
        "driver lock" => None,
        _ => Some(0),
    }
}

/// Fewest of each for `wanted` I/Os per second, and the run that shows it.
pub fn size(asked: &OneRun<'_>, wanted: f64, audience: &dyn Audience) -> anyhow::Result<(OneRan, Sizing)> {
    let mut search = Search { asked, audience, wanted, steps: Vec::new() };
    let (mut counts, mut ran) = ([1; 3], search.run([1; 3])?);
    let why = loop {
        let step = search.steps.last().expect("it was run");
        if step.iops >= wanted {
            break None;
        }
        if step.full.is_empty() {
            break Some("nothing is used up: the job has too few I/Os in flight".to_owned());
        }
        let (Some(kind), before) = (kind_of(&step.full), step.iops) else {
            break Some(format!(
                "the {} is used up, and more drives, adapters or cores have no more of it",
                step.full
            ));
        };
        let needed = (counts[kind] as f64 * wanted / before).ceil().max(counts[kind] as f64 + 1.0);
        if needed > MOST as f64 {
            break Some(format!(
                "it would take {needed:.0} {} or more; {MOST} are tried at most",
                NAMES[kind]
            ));
        }
        let full = step.full.clone();
        let mut more = counts;
        more[kind] = needed as u64;
        let next = search.run(more)?;
        let gained = search.steps.last().expect("it was run").iops;
        if gained < before * (1.0 + GAIN) && search.full() == full {
            break Some(format!(
                "the {full} is used up, and {} {} do no more than {}",
                more[kind], NAMES[kind], counts[kind]
            ));
        }
        (counts, ran) = (more, next);
    };
    if why.is_none() {
        ran = search.give_back(counts, ran)?;
    }
    let reached = why.is_none();
    let why = why.unwrap_or_else(|| search.limit());
    Ok((ran, Sizing { wanted, steps: search.steps, reached, why }))
}

struct Search<'a> {
    asked: &'a OneRun<'a>,
    audience: &'a dyn Audience,
    wanted: f64,
    steps: Vec<SizingStep>,
}

impl Search<'_> {
    /// Runs the platform with so many of each.
    fn run(&mut self, counts: SizedCounts) -> anyhow::Result<OneRan> {
        let mut changes = self.asked.changes.clone();
        for (key, count) in KEYS.into_iter().zip(counts) {
            put(&mut changes, key, &count.to_string());
        }
        let ran = OneRun { changes, ..*self.asked }.run(self.audience)?;
        ensure!(!ran.outcome.interrupted, "interrupted");
        let [drives, adapters, cores] = counts;
        let step = SizingStep { drives, adapters, cores, iops: ran.outcome.rate(), full: full(&ran.outcome) };
        self.audience.say(&format!(
            "{drives} drives, {adapters} adapters, {cores} cores: {:.0} IOPS{}{}",
            step.iops,
            if step.full.is_empty() { "" } else { ", full: " },
            step.full
        ));
        self.steps.push(step);
        Ok(ran)
    }

    fn full(&self) -> &str {
        self.steps.last().map_or("", |step| &step.full)
    }

    fn limit(&self) -> String {
        match self.full() {
            "" => "nothing is used up".to_owned(),
            full => format!("the {full} is used up"),
        }
    }

    /// One less of a kind, as long as the rate is reached; the last step is the least that reaches it.
    fn give_back(&mut self, mut counts: SizedCounts, mut ran: OneRan) -> anyhow::Result<OneRan> {
        for kind in 0..counts.len() {
            while counts[kind] > 1 {
                let mut less = counts;
                less[kind] -= 1;
                let tried = self.run(less)?;
                if self.steps.last().is_some_and(|step| step.iops < self.wanted) {
                    // The answer stands last.
                    let step = self.steps.pop().expect("it was run");
                    let at = self.steps.len() - 1;
                    self.steps.insert(at, step);
                    break;
                }
                (counts, ran) = (less, tried);
            }
        }
        Ok(ran)
    }
}

/// Name of the resource that is used up; empty when none is.
fn full(outcome: &Outcome) -> String {
    let limit = outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
    limit.filter(|_| fill::is_full(outcome)).map_or(String::new(), |limit| limit.name.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_sim::targets::Simulations;

    use super::*;

    fn sized(wanted: f64, changes: &[(&str, &str)], options: &[(&str, &str)]) -> Sizing {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        let options = pairs(options);
        let (device, changes, targets) = ("x5570", pairs(changes), &Simulations);
        let asked = OneRun { files: &[], options: &options, device, changes, targets };
        size(&asked, wanted, &AtomicBool::new(false)).expect("runs").1
    }

    const FULL: [(&str, &str); 5] = [
        ("pattern", "random"),
        ("engine", "libaio"),
        ("queue_depth", "32"),
        ("io_count", "200"),
        ("threads", "24"),
    ];

    #[test]
    fn the_last_step_reaches_the_rate_and_one_less_of_anything_does_not() {
        let wanted = 150_000.0;
        let Sizing { steps, reached, why, .. } = sized(wanted, &[], &FULL);
        let [tried @ .., last] = &steps[..] else { panic!("nothing was run") };
        assert!(reached && last.iops >= wanted, "{steps:#?} {why}");
        let counts = |step: &SizingStep| [step.drives, step.adapters, step.cores];
        for kind in (0..3).filter(|&kind| counts(last)[kind] > 1) {
            let mut less = counts(last);
            less[kind] -= 1;
            // With at least as many of each, it was tried and too slow.
            let above = |step: &SizingStep| counts(step).iter().zip(less).all(|(own, less)| *own >= less);
            assert!(tried.iter().any(|step| above(step) && step.iops < wanted), "{less:?} of {steps:#?}");
        }
    }

    #[test]
    fn what_cannot_be_reached_says_why() {
        let few = sized(3e6, &[], &[("io_count", "200")]);
        assert!(!few.reached && few.why.contains("too few I/Os in flight"), "{few:#?}");
        let slow = [("platform.adapter.adapter.command", "5ms")];
        let slow = sized(1e6, &slow, &FULL);
        assert!(!slow.reached && slow.why.contains("adapters or more; 512 are tried"), "{slow:#?}");
    }
}
