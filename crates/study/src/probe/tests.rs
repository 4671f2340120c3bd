//! Are findings the truth of drives that were drawn by chance? Each is simulated behind a host whose time varies.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use iostack_model::answers::Probe;
use iostack_model::{Effort, Job, Ladder, OutcomeFile};
use iostack_sim::targets::Simulations;
use iostack_target::{
    About, Audience, Description, How, Measured, Session, Target, Targets as _, Wanted, Wishes,
};

use super::{ProbeQuestion, answer};

/// Numbers by chance: splitmix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, all alike likely.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }
}

/// A finding's truth: its key and value; `None` where the right answer is that it cannot be told.
type Truth = (&'static str, Option<f64>);

/// A drive that was drawn: changes of its sheet, and what is true of it.
struct Drawn {
    sheet: &'static str,
    set: Vec<(String, String)>,
    truth: Vec<Truth>,
}

fn drawn(seed: u64) -> Drawn {
    let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x70_726f_6265);
    let (channels, chips, planes) = (draw.one(&[2u64, 4, 8]), draw.one(&[1u64, 2, 4]), draw.one(&[1u64, 2]));
    let (page, unit) = (draw.one(&[16384u64, 32768]), draw.one(&[4096u64, 4096, 8192, 16384]));
    let dies = channels * chips;
    let group = page * planes * dies;
    let buffer = (group as f64 * draw.between(2.0, 6.0)) as u64 / 65536 * 65536;
    let (read, program) = (draw.between(40.0, 100.0), draw.between(300.0, 900.0));
    let op = draw.one(&[7.0, 10.0, 14.0, 20.0, 28.0]) + draw.between(0.0, 3.0);
    let has_slc = draw.next() % 5 < 2;
    // Small blocks, as many of a plane as large drives have, so that those kept free do not count.
    let (pages_per_block, blocks) = (8, draw.between(1000.0, 1400.0) as u64);
    let capacity = (group * pages_per_block * blocks) >> 20 << 20;
    let slc = (draw.between(0.05, 0.2) * capacity as f64) as u64 >> 20;
    let mut pairs = vec![
        ("flash.capacity", format!("{capacity}B")),
        ("flash.channels", channels.to_string()),
        ("flash.chips", chips.to_string()),
        ("flash.dies", "1".to_owned()),
        ("flash.planes", planes.to_string()),
        ("flash.page", format!("{page}B")),
        ("flash.mapping", format!("{unit}B")),
        ("flash.pages_per_block", pages_per_block.to_string()),
        ("flash.read", format!("{read:.1}us")),
        ("flash.program", format!("{program:.0}us")),
        ("flash.erase", format!("{:.0}us", program / 6.0)),
        ("flash.over_provisioning", format!("{op:.2}%")),
        ("buffer.size", format!("{buffer}B")),
        ("link.rate", "3360MB/s".to_owned()),
        ("slc.size", "none".to_owned()),
    ];
    if has_slc {
        pairs.pop();
        pairs.push(("slc.size", format!("{slc}MiB")));
        pairs.push(("slc.program", format!("{:.0}us", program / 3.5)));
        pairs.push(("slc.erase", format!("{:.0}us", program / 6.0)));
    }
    let truth = vec![
        ("parallelism.4096", Some(dies as f64)),
        ("mapping_unit", Some(unit as f64)),
        ("buffer", Some(buffer as f64)),
        ("stripe", Some(page as f64)),
        ("slc", has_slc.then(|| slc as f64 * f64::from(1 << 20))),
        ("over_provisioning", (!has_slc).then_some(op / 100.0)),
        ("cap.iops", None),
        ("read_cache", None),
    ];
    let set = pairs.into_iter().map(|(key, value)| (format!("platform.drive.{key}"), value));
    Drawn {
        sheet: "nvme-server",
        set: set.chain([("platform.drive".to_owned(), "tlc-1t".to_owned())]).collect(),
        truth,
    }
}

/// A target whose host is now quicker and now slower.
struct Jittered(Box<dyn Target>);

struct JitteredSession<'a>(Box<dyn Session + 'a>);

impl Target for Jittered {
    fn describe(&self) -> &Description {
        self.0.describe()
    }

    fn run(&self, jobs: &[Job], wanted: Wanted, audience: &dyn Audience) -> Result<OutcomeFile> {
        self.0.run(jobs, wanted, audience)
    }

    fn occupy<'a>(&'a self, wishes: &Wishes, audience: &dyn Audience) -> Result<Box<dyn Session + 'a>> {
        Ok(Box::new(JitteredSession(self.0.occupy(wishes, audience)?)))
    }
}

/// Half of the width of what the host's time differs by, relative.
const JITTER: f64 = 0.01;

impl Session for JitteredSession<'_> {
    fn about(&self) -> &About {
        self.0.about()
    }

    fn ladder(&self) -> Ladder {
        self.0.ladder()
    }

    /// All times of a run are longer or shorter by a little, and those of its slices each by its own.
    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String> {
        let mut measured = self.0.run(job, how, audience)?;
        let mut draw = Draw(job.seed);
        let mut factor = || 1.0 + draw.between(-JITTER, JITTER);
        let outcome = &mut measured.outcome;
        outcome.elapsed.0 = (outcome.elapsed.0 as f64 * factor()) as u64;
        for slice in &mut outcome.series {
            slice.length.0 = (slice.length.0 as f64 * factor()) as u64;
        }
        for entry in &mut outcome.log {
            entry.time.0 += (300.0 * draw.between(0.0, 1.0).powi(4)) as u64;
        }
        outcome.iops = iostack_stats::series_interval(&outcome.series);
        Ok(measured)
    }
}

fn probed(drawn: &Drawn, effort: Effort, seed: u64) -> Probe {
    let target = Simulations.open(Some(drawn.sheet), &drawn.set).unwrap_or_else(|error| panic!("{error:#}"));
    let asked = ProbeQuestion { effort, size: None, seed };
    answer(&asked, &Jittered(target), &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Tally of one kind of finding over many drives.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    /// Drives on which there is a value to find.
    asked: u32,
    /// It was told, within 10 % of the truth, with an interval that holds the truth.
    told: u32,
    within: u32,
    held: u32,
    /// A value whose interval is narrow and far from the truth, or one of what is not there.
    wrong: u32,
}

/// An interval that holds the truth may be missed by this much: its own sums are rounded.
const ROUNDED: f64 = 1e-9;
/// A value further off than this, and outside of its interval, is a confident wrong answer.
const WRONG: f64 = 0.25;

fn score(seeds: std::ops::Range<u64>, effort: Effort) -> BTreeMap<&'static str, Score> {
    let mut scores: BTreeMap<&'static str, Score> = BTreeMap::new();
    for seed in seeds {
        let drawn = drawn(seed);
        let probe = probed(&drawn, effort, seed);
        for (key, truth) in &drawn.truth {
            let finding = probe.finding(key).unwrap_or_else(|| panic!("seed {seed}: no finding `{key}`"));
            let score = scores.entry(key).or_default();
            score.asked += u32::from(truth.is_some());
            let Some(value) = finding.value else {
                let reason = finding.reason.as_deref().unwrap_or_default();
                if truth.is_some() {
                    println!("seed {seed} {key}: truth {truth:?}, not told: {reason}");
                }
                assert!(!reason.is_empty(), "seed {seed}: `{key}` has neither value nor reason");
                continue;
            };
            let off = truth.map_or(f64::INFINITY, |truth| (value.mean / truth - 1.0).abs());
            let held = truth.is_some_and(|truth| {
                (value.low * (1.0 - ROUNDED)..=value.high * (1.0 + ROUNDED)).contains(&truth)
            });
            score.told += u32::from(truth.is_some());
            score.within += u32::from(off <= 0.1);
            score.held += u32::from(held);
            score.wrong += u32::from(!held && off > WRONG);
            if off > 0.1 || !held {
                println!("seed {seed} {key}: truth {truth:?}, found {value:?}");
            }
        }
    }
    scores
}

/// A few drives of the default tier: nothing that is told is far from the truth.
#[test]
fn what_is_told_of_some_drawn_drives_is_true() {
    for (key, score) in score(0..2, Effort::Quick) {
        assert_eq!(score.wrong, 0, "{key}: {score:?}");
        let sure = ["parallelism.4096", "mapping_unit", "stripe"].contains(&key);
        assert!(!sure || score.within == score.asked, "{key}: {score:?}");
    }
}

#[test]
#[ignore = "slow: a hundred drives, each probed whole"]
fn what_is_told_of_a_hundred_drawn_drives_is_true() {
    let first = std::env::var("IOSTACK_PROBE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(10_000);
    let count =
        std::env::var("IOSTACK_PROBE_DRIVES").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let scores = score(first..first + count, Effort::Default);
    for (key, score) in &scores {
        println!("{key:<20} {score:?}");
    }
    let least = [("parallelism.4096", 0.85), ("mapping_unit", 0.9), ("stripe", 0.9), ("buffer", 0.8)];
    for (key, share) in least {
        let score = scores[key];
        assert!(f64::from(score.within) >= share * f64::from(score.asked), "{key}: {score:?}");
    }
    assert!(scores.values().all(|score| f64::from(score.wrong) <= 0.05 * count as f64), "{scores:?}");
}
