//! Of machines whose truth the fit does not see: what three depths tell of all else, what a flush and a probe add.

use std::sync::atomic::AtomicBool;

use iostack_model::answers::{Calibration, Probe, ProbePart, ProbeUnit};
use iostack_model::{
    BlockSizes, Bytes, Effort, Engine, Interval, Job, Mix, Nanos, Outcome, OutcomeFile, Sync,
};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;
use iostack_sim::targets::Simulations;
use iostack_target::{Targets, Wanted};

use super::{PointSource, answer};
use crate::probe::{self, ProbeQuestion};

type Set<'a> = &'a [(&'a str, &'a str)];

/// Reads of 4 KiB, so many in flight of each thread.
fn reads(queue_depth: u32, threads: u32) -> Job {
    let io_count = Some(u64::from((8000 / threads).max(400)));
    let ramp = Nanos::micros(500);
    Job { engine: Engine::Libaio, queue_depth, threads, io_count, ramp, ..Job::default() }
}

/// Writes of this size by so many threads, and a flush after so many.
fn durable(block: u64, threads: u32, fdatasync_every: u32) -> Job {
    let sync = Sync { fdatasync_every, ..Sync::default() };
    let block_sizes = BlockSizes::all(Bytes(block));
    Job { mix: Mix::WRITE, engine: Engine::Psync, block_sizes, sync, ..reads(1, threads) }
}

fn owned(set: Set<'_>) -> Vec<(String, String)> {
    set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Outcomes of a platform, as if they were measured.
fn measured(platform: &str, set: Set<'_>, jobs: &[Job]) -> OutcomeFile {
    let target = Simulations.open(Some(platform), &owned(set)).expect("built in");
    let one = |job: &Job| {
        let asked = [Job { stonewall: true, ..job.clone() }];
        target.run(&asked, Wanted::default(), &AtomicBool::new(false)).expect("it runs")
    };
    let mut all: Vec<OutcomeFile> = jobs.iter().map(one).collect();
    let mut file = all.remove(0);
    file.outcomes.extend(all.into_iter().flat_map(|other| other.outcomes));
    file
}

fn fitted(sources: Vec<PointSource>) -> Calibration {
    let files: Vec<_> =
        sources.into_iter().enumerate().map(|(at, source)| (format!("{at}.json"), source)).collect();
    answer(&files, "mine", &Simulations, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error:#}"))
}

fn predicted(found: &Calibration, set: Set<'_>, job: &Job) -> Outcome {
    let sheet = Sheet::parse(&found.sheet, std::path::Path::new("mine.toml"), &owned(set));
    let sheet = sheet.unwrap_or_else(|error| panic!("{error}\n{}", found.sheet));
    let ran = run(&sheet, std::slice::from_ref(job), &RunOptions::seeded(7));
    ran.unwrap_or_else(|error| panic!("{error}")).outcomes.remove(0)
}

/// Errors of IOPS and of the 99th percentile, sorted.
fn off(platform: &str, found: &Calibration, asked: &[(Set<'_>, Job)]) -> [Vec<f64>; 2] {
    let mut errors = [Vec::new(), Vec::new()];
    for (set, job) in asked {
        let own = measured(platform, set, std::slice::from_ref(job)).outcomes.remove(0);
        let other = predicted(found, set, job);
        let p99 = |outcome: &Outcome| outcome.latency().quantile_ns(0.99).map_or(0.0, |ns| ns as f64);
        let both = [other.rate() / own.rate() - 1.0, p99(&other) / p99(&own) - 1.0];
        println!(
            "{platform} {set:?} {} x {}, {} {:?}: {:.0} IOPS, {both:+.3?}",
            job.queue_depth,
            job.threads,
            job.block_sizes.largest(),
            job.sync.fdatasync_every,
            own.rate()
        );
        errors.iter_mut().zip(both).for_each(|(list, error)| list.push(error.abs()));
    }
    for list in &mut errors {
        list.sort_by(f64::total_cmp);
    }
    errors
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Three depths of a curve, with the depth that fills it: the other depths, core counts and schedulers are kept back.
#[test]
fn three_depths_tell_other_depths_cores_and_schedulers() {
    let mut all = [Vec::new(), Vec::new()];
    for platform in ["nvme-server", "cloud-vm", "laptop"] {
        let given = measured(platform, &[], &[1, 8, 64].map(|depth| reads(depth, 1)));
        let found = fitted(vec![PointSource::Run(Box::new(given))]);
        println!("{}", found.sheet);
        let mut asked: Vec<(Set<'_>, Job)> =
            [2, 4, 16, 32, 128].map(|depth| (&[] as Set<'_>, reads(depth, 1))).into();
        asked.push((&[("platform.cores", "1")], reads(16, 1)));
        asked.push((&[("platform.cores", "2")], reads(16, 2)));
        asked.push((&[("platform.cores", "4")], reads(8, 4)));
        asked.push((&[("platform.scheduler", "mq-deadline")], reads(32, 1)));
        asked.push((&[("platform.scheduler", "kyber")], reads(32, 1)));
        asked.push((&[("platform.scheduler", "bfq")], reads(32, 1)));
        let own = off(platform, &found, &asked);
        println!(
            "{platform}: IOPS median {:.3}, 90th {:.3}, p99 median {:.3}",
            at(&own[0], 0.5),
            at(&own[0], 0.9),
            at(&own[1], 0.5)
        );
        all.iter_mut().zip(own).for_each(|(list, own)| list.extend(own));
    }
    for list in &mut all {
        list.sort_by(f64::total_cmp);
    }
    let (median, ninety, tail) = (at(&all[0], 0.5), at(&all[0], 0.9), at(&all[1], 0.5));
    println!("IOPS median {median:.3}, 90th {ninety:.3}; p99 median {tail:.3}");
    // Of a server whose core is full at depth 8 no depth tells what its drive does beyond: four of its answers are the worst.
    assert!(median <= 0.03 && ninety <= 0.13 && tail <= 0.15, "{median} {ninety} {tail}");
}

/// Writes with flushes of other sizes, by more threads, and after more writes than were measured.
fn flushing(platform: &str, found: &Calibration) {
    assert!(found.findings.iter().any(|line| line.starts_with("Loads that flush")), "{:?}", found.findings);
    let asked = [(4096, 1, 1), (4096, 1, 4), (4096, 4, 1), (16_384, 1, 1)];
    let asked = asked.map(|(block, threads, every)| (&[] as Set<'_>, durable(block, threads, every)));
    let [rates, _] = off(platform, found, &asked);
    assert!(rates.iter().all(|off| *off < 0.15), "{platform}: {rates:?}");
}

#[test]
fn loads_that_flush_are_predicted_once_one_was_measured() {
    let mut given: Vec<Job> = [1, 4, 16, 64].map(|depth| reads(depth, 1)).into();
    given.extend([1, 8, 32].map(|depth| Job { mix: Mix::WRITE, ..reads(depth, 1) }));
    given.push(durable(4096, 1, 1));
    flushing("laptop", &fitted(vec![PointSource::Run(Box::new(measured("laptop", &[], &given)))]));
}

#[test]
#[ignore = "slow: a check and a fit"]
fn a_drive_whose_flush_costs_little_more_than_a_command_is_found_by_a_check() {
    flushing("nvme-server", &fitted(vec![super::tests::checked("nvme-server")]));
}

fn probed(device: &str, set: Set<'_>) -> Probe {
    let target = Simulations.open(Some(device), &owned(set)).expect("built in");
    let asked = ProbeQuestion { effort: Effort::Quick, size: None, seed: 1 };
    probe::answer(&asked, &*target, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error:#}"))
}

/// A number of the sheet is near the truth, and from the probe.
fn near(found: &Calibration, key: &str, truth: f64) {
    let number = found.numbers.iter().find(|number| number.key == key);
    let number = number.unwrap_or_else(|| panic!("no {key} in {}", found.sheet));
    let value = number.interval.map_or(0.0, |value| value.mean);
    assert!((value / truth - 1.0).abs() < 0.1 && number.source == "measured, 0.json", "{number:?}");
}

#[test]
#[ignore = "slow: two probes"]
fn a_probe_alone_is_a_sheet_with_what_no_short_load_shows() {
    let of = |probe: Probe| fitted(vec![PointSource::Probe(Box::new(probe))]);
    let cloud = of(probed("gp-cloud", &[("cloud.credits", "100000")]));
    println!("{:?}\n{}", cloud.findings, cloud.sheet);
    assert_eq!(cloud.drive, "cloud");
    near(&cloud, "cloud.credits", 1e5);
    near(&cloud, "cloud.iops", 300.0);
    let mut probe = probed("970pro", &[]);
    let mut quick = probe.findings[0].clone();
    let after = Interval::exact(5e8);
    (quick.key, quick.value) = ("slc".to_owned(), Some(Interval::exact(f64::from(1 << 30))));
    quick.parts = vec![ProbePart {
        key: "after".to_owned(),
        name: String::new(),
        unit: ProbeUnit::Bandwidth,
        value: after,
    }];
    probe.findings.retain(|finding| finding.key != "slc");
    probe.findings.push(quick);
    let flash = of(probe);
    println!("{:?}\n{}", flash.findings, flash.sheet);
    assert_eq!(flash.drive, "flash");
    near(&flash, "slc.size", f64::from(1 << 30));
    let text =
        |key: &str| flash.numbers.iter().find(|number| number.key == key).map(|number| number.text.clone());
    let dies: f64 = text("flash.channels").and_then(|text| text.parse().ok()).expect("a count");
    let page: f64 =
        text("flash.page").and_then(|text| text.trim_end_matches('B').parse().ok()).expect("bytes");
    near(&flash, "flash.program", 1e9 * dies * page / after.mean);
}
