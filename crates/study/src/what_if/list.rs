//! Which changes would pay most, and how sure is that?
//!
//! ```text
//!   sheet, job ──► ideas (pure) ──► chain: one run before, one after ──► draws: each again with other numbers ──► WhatIfList
//! ```
//!
//! Start reading at [`list`].

use std::sync::atomic::Ordering;

use anyhow::{Context, bail, ensure};
use iostack_model::answers::{WhatIfChange, WhatIfGain, WhatIfList};
use iostack_model::{Effort, Interval, Job, Outcome, SCHEMA};
use iostack_target::{Audience, Description, EXAMPLE, Target, Targets, Wishes, changes};

use super::answer::{Pairs, WhatIfQuestion};
use super::chain::{Link, chain};
use super::fill;
use crate::prediction::draws::{DrawnAnswers, answers, band, drawn_numbers};
use crate::prediction::{Draws, latency_p99};
use crate::sweep::command;
use crate::sweep::plan::Base;
use crate::sweep::pool::{RunWindow, Task};

/// Drives of the catalogue that are tried where none are named: one of each class of today.
const DRIVES: [&str; 3] = ["optane-class", "970pro", "tlc-1t"];

/// A change worth trying.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Idea {
    title: String,
    /// Another target in place of this one.
    device: Option<String>,
    changes: Pairs,
}

/// Wishes beside the platform and its job.
#[derive(Clone, Debug, Default)]
pub struct ListQuestion {
    /// Drives that are tried in place of this one; empty: some of the catalogue.
    pub drives: Vec<String>,
    /// Draws of the sheet's numbers.
    pub draws: u32,
    /// Seed of the draws.
    pub seed: u64,
}

/// Runs the job as it is and after each change, each again with other numbers where the sheet does not know them exactly.
pub fn list(
    asked: &WhatIfQuestion,
    more: &ListQuestion,
    targets: &dyn Targets,
    talk: &dyn Audience,
) -> anyhow::Result<WhatIfList> {
    let typed = asked.platform.as_ref().context("name a platform or a device (`iostack sim list`)")?;
    let device = targets.bare(typed);
    ensure!(
        targets.kind(&targets.word(device)).has_numbers,
        "`{device}` is not made of numbers that could be changed; name a simulated target (`iostack sim list`)"
    );
    let changes = changes(&asked.base, EXAMPLE)?;
    let target = targets.open(Some(&targets.word(device)), &changes)?;
    let sheet = target.describe();
    let has_job = !asked.jobs.is_empty() || asked.options.iter().any(|(key, _)| key != "seed");
    let plain = fill::plain(std::slice::from_ref(sheet), &asked.options);
    let options = if has_job { &asked.options } else { &plain };
    let cpus = targets.machine().cpu.cores_online;
    let (jobs, sections) = (&asked.jobs, &asked.section);
    let base = Base { device, jobs, sections, changes: &changes, options, cpus, targets };
    let gathered = base.gathered()?;
    let [job] = &gathered[..] else {
        bail!("{} jobs, and a list is of one; name it with --section", gathered.len())
    };
    let mut ideas = ideas(sheet, job, &schedulers(&*target, talk), &more.drives);
    ideas.retain(|idea| idea.device.as_deref() != Some(device));
    let (first, tried, notes) = links(&base, ideas)?;
    let tasks: Vec<Task> = std::iter::once(&first)
        .chain(tried.iter().map(|(_, link)| link))
        .map(|link| link.run.task.clone())
        .collect();
    let draws = Draws { count: more.draws, seed: more.seed };
    let mut given = answers(&tasks, draws, targets, talk).into_iter();
    let before = given.next().context("there is a first run")?;
    let before = before.map_err(|error| anyhow::anyhow!("{device}: {error}"))?;
    let after = tried.into_iter().zip(given);
    let mut gains: Vec<WhatIfGain> =
        after.map(|((title, link), after)| gain(title, link, &before, after)).collect();
    let size = |each: &WhatIfGain| each.gain.map_or(f64::NEG_INFINITY, |gain| gain.mean);
    gains.sort_by(|a, b| size(b).total_cmp(&size(a)));
    Ok(WhatIfList {
        schema: SCHEMA,
        iostack: env!("CARGO_PKG_VERSION").to_owned(),
        device: device.to_owned(),
        title: sheet.title.clone(),
        seed: more.seed,
        draws: before.iops().samples,
        drawn: drawn_numbers(sheet),
        command: command::in_window(first.run.command, &tasks[0], Some(&before.outcome)),
        iops: before.iops(),
        latency_p99: before.latency_p99(),
        outcome: Some(before.outcome),
        gains,
        notes,
        interrupted: talk.stop().load(Ordering::Relaxed),
    })
}

/// I/O schedulers that may be tried there, the present one first.
fn schedulers(target: &dyn Target, talk: &dyn Audience) -> Vec<String> {
    let wishes = Wishes { effort: Effort::Quick, size: None };
    let held = target.occupy(&wishes, talk).ok();
    held.and_then(|held| held.about().place.schedulers.clone().ok()).unwrap_or_default()
}

/// The run as it is, one after each change with its title, and why others cannot be.
type PlannedLinks = (Link, Vec<(String, Link)>, Vec<String>);

/// Plans them all.
fn links(base: &Base<'_>, ideas: Vec<Idea>) -> anyhow::Result<PlannedLinks> {
    let (mut tried, mut notes) = (Vec::new(), Vec::new());
    let briefly = |mut link: Link| {
        link.run.task.window = RunWindow::Brief;
        link
    };
    let first = briefly(chain(base, &[])?.remove(0));
    for idea in ideas {
        match link(base, &idea) {
            Ok(link) => tried.push((idea.title, briefly(link))),
            Err(error) => notes.push(format!("{}: {error:#}", idea.title)),
        }
    }
    Ok((first, tried, notes))
}

/// The run after a change, on this target or on the one in its place.
fn link(base: &Base<'_>, idea: &Idea) -> anyhow::Result<Link> {
    match &idea.device {
        Some(device) => {
            let mut links = chain(&Base { device, changes: &[], ..*base }, &[])?;
            let mut link = links.remove(0);
            link.changes = vec![WhatIfChange {
                key: "device".to_owned(),
                old: base.device.to_owned(),
                new: device.clone(),
                meaning: "the target".to_owned(),
            }];
            Ok(link)
        }
        None => chain(base, std::slice::from_ref(&idea.changes))?.pop().context("a step has a run"),
    }
}

fn gain(title: String, link: Link, before: &DrawnAnswers, after: Result<DrawnAnswers, String>) -> WhatIfGain {
    let Link { changes, run, .. } = link;
    let mut told = WhatIfGain { title, changes, command: run.command.clone(), ..WhatIfGain::default() };
    match after {
        Err(error) => told.error = Some(error),
        Ok(after) => {
            told.command = command::in_window(run.command, &run.task, Some(&after.outcome));
            (told.iops, told.latency_p99) = (after.iops(), after.latency_p99());
            told.gain = ratio((before, &after), |outcome| Some(outcome.rate()), |drawn| Some(drawn.0));
            let p99 = |outcome: &Outcome| latency_p99(outcome).map(|p99| p99.mean);
            told.latency_ratio = ratio((before, &after), p99, |drawn| drawn.1);
            let limit = after.outcome.inside.as_ref().and_then(|inside| inside.limit.as_ref());
            told.limit = limit.map(|limit| limit.name.clone());
        }
    }
    told
}

/// A figure after over before: of the sheets as they are, with the band of this ratio draw by draw.
fn ratio(
    (before, after): (&DrawnAnswers, &DrawnAnswers),
    own: impl Fn(&Outcome) -> Option<f64>,
    each: impl Fn((f64, Option<f64>)) -> Option<f64>,
) -> Option<Interval> {
    let over = |old: f64, new: f64| (old > 0.0).then_some(new / old);
    let mean = over(own(&before.outcome)?, own(&after.outcome)?)?;
    let still = |drawn: &DrawnAnswers, own: f64| vec![Some(own); drawn.drawn.len()];
    // A side whose sheet knows all its numbers is the same in every draw.
    let column = |answers: &DrawnAnswers, other: &DrawnAnswers| -> Option<Vec<Option<f64>>> {
        if answers.drawn.is_empty() {
            return Some(still(other, own(&answers.outcome)?));
        }
        Some(answers.drawn.iter().map(|drawn| drawn.and_then(&each)).collect())
    };
    let (old, new) = (column(before, after)?, column(after, before)?);
    let pairs = old.into_iter().zip(new).filter_map(|(old, new)| over(old?, new?));
    Some(band(mean, pairs))
}

/// Changes that fit this sheet and this job. What the sheet has already is none.
fn ideas(sheet: &Description, job: &Job, schedulers: &[String], drives: &[String]) -> Vec<Idea> {
    let text = |key: &str| sheet.number(key).map(|number| number.text.clone());
    let count = |key: &str| text(key).and_then(|text| text.parse::<u64>().ok());
    let mut ideas = Vec::new();
    let mut add = |title: String, changes: &[(&str, String)]| {
        // Options of the job are no numbers of the sheet.
        if changes.iter().any(|(key, value)| text(key).as_ref() != Some(value)) {
            let changes = changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
            ideas.push(Idea { title, device: None, changes });
        }
    };
    if text("platform.completion").is_some() {
        add("polling for completions".to_owned(), &[("platform.completion", "poll".to_owned())]);
    }
    let coalesce = "platform.adapter.adapter.coalesce";
    if text(coalesce).is_some() {
        add("8 completions share an interrupt".to_owned(), &[(coalesce, "8".to_owned())]);
    }
    for name in schedulers.iter().skip(1) {
        add(format!("I/O scheduler {name}"), &[("platform.scheduler", name.clone())]);
    }
    if let Some(cores) = count("platform.cores") {
        add(format!("{} cores", cores * 2), &[("platform.cores", (cores * 2).to_string())]);
    }
    if let Some(have) = count("platform.drives") {
        let spread = ("platform.spread", "offsets".to_owned());
        let title = format!("{} drives, offsets spread over them", have * 2);
        add(title, &[("platform.drives", (have * 2).to_string()), spread]);
    }
    if !job.engine.is_synchronous() {
        let depth = |depth: u32| [("queue_depth", depth.to_string())];
        if job.queue_depth > 1 {
            add(format!("half the depth, {}", job.queue_depth / 2), &depth(job.queue_depth / 2));
        }
        add(format!("double the depth, {}", job.queue_depth * 2), &depth(job.queue_depth * 2));
    }
    let is_platform = text("platform.drive").is_some();
    let named = drives.iter().map(String::as_str);
    let drives: Vec<&str> = if drives.is_empty() { DRIVES.to_vec() } else { named.collect() };
    for name in &drives {
        if is_platform {
            add(format!("another drive, {name}"), &[("platform.drive", (*name).to_owned())]);
        }
    }
    // A drive alone is exchanged whole.
    let alone = drives.iter().filter(|_| !is_platform).map(|name| Idea {
        title: format!("another drive, {name}"),
        device: Some((*name).to_owned()),
        changes: Vec::new(),
    });
    ideas.extend(alone);
    ideas
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_sim::targets::Simulations;

    use super::*;

    fn asked(platform: &str, options: &[(&str, &str)]) -> WhatIfQuestion {
        let options = options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        WhatIfQuestion {
            platform: Some(platform.to_owned()),
            options: options.collect(),
            ..WhatIfQuestion::default()
        }
    }

    fn told(platform: &str, options: &[(&str, &str)], draws: u32) -> anyhow::Result<WhatIfList> {
        let more = ListQuestion { drives: vec!["optane-class".to_owned()], draws, seed: 1 };
        list(&asked(platform, options), &more, &Simulations, &AtomicBool::new(false))
    }

    const SINGLE: [(&str, &str); 3] = [("pattern", "random"), ("engine", "libaio"), ("queue_depth", "4")];

    #[test]
    fn each_change_has_its_gain_and_the_largest_is_first() {
        let told = told("laptop", &SINGLE, 4).expect("built in");
        let titles: Vec<&str> = told.gains.iter().map(|gain| gain.title.as_str()).collect();
        for wanted in [
            "polling for completions",
            "16 cores",
            "2 drives, offsets spread over them",
            "double the depth, 8",
        ] {
            assert!(titles.contains(&wanted), "{wanted}: {titles:?}, {:?}", told.notes);
        }
        assert!(told.gains.iter().all(|gain| gain.error.is_none()), "{:?}", told.gains);
        let gains: Vec<Interval> = told.gains.iter().filter_map(|gain| gain.gain).collect();
        assert!(gains.windows(2).all(|two| two[0].mean >= two[1].mean), "{gains:?}");
        assert!(
            gains.iter().all(|gain| gain.samples == 4 && gain.low <= gain.mean && gain.mean <= gain.high)
        );
        // Half of what is in flight does not make it faster, and an Optane drive is faster than TLC flash.
        let of = |title: &str| told.gains.iter().find(|gain| gain.title == title).and_then(|gain| gain.gain);
        assert!(of("half the depth, 2").expect("it ran").high < 1.0);
        assert!(of("another drive, optane-class").expect("it ran").low > 2.0);
        // Before and after have the same draws: what costs nothing to change has hardly a band.
        let cores = of("16 cores").expect("it ran");
        assert!(cores.relative() < told.iops.relative() / 4.0, "{cores:?} {:?}", told.iops);
        assert!(told.iops.relative() > 0.03, "{:?}", told.iops);
    }

    #[test]
    fn a_drive_alone_has_depths_and_other_drives_and_its_band() {
        let told = told("tlc-1t", &SINGLE, 3).expect("built in");
        assert_eq!(told.gains.len(), 3, "{:?}", told.gains);
        assert_eq!(told.gains[0].title, "another drive, optane-class");
        assert_eq!(told.gains[0].changes[0].old, "tlc-1t");
        assert!(told.drawn.iter().any(|number| number.key == "flash.read"), "{:?}", told.drawn);
    }

    #[test]
    fn a_sheet_without_ranges_and_no_draws_have_no_band() {
        for told in [told("zero", &SINGLE, 5), told("tlc-1t", &SINGLE, 0)] {
            // An I/O of `zero` takes no time: there is no rate.
            let Ok(told) = told else { continue };
            assert_eq!((told.draws, told.iops.samples), (0, 0));
        }
    }

    #[test]
    fn what_is_no_job_or_no_drive_is_said() {
        let error = told("laptopp", &SINGLE, 0).expect_err("no such platform").to_string();
        assert!(error.contains("did you mean `laptop`?"), "{error}");
        let more = ListQuestion { drives: vec!["x25f".to_owned()], draws: 0, seed: 1 };
        let told = list(&asked("laptop", &SINGLE), &more, &Simulations, &AtomicBool::new(false));
        let told = told.expect("the other changes are tried");
        assert!(
            told.notes.iter().any(|note| note.contains("x25f") && note.contains("x25e")),
            "{:?}",
            told.notes
        );
    }
}
