//! How much room does it have besides what it shows? Random writes go on at one rate until it is used up.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Interval, Job, Mix, Nanos, Outcome};

use super::finding::{ProbeSubject, curve, median, part};
use super::measure::{Prober, stretch};
use super::slc::summed;

pub(crate) const SPARE: ProbeSubject = ProbeSubject {
    key: "over_provisioning",
    name: "spare room",
    unit: ProbeUnit::Share,
    direction: Direction::Write,
    how: "random writes on a full drive: the volume at which collection begins to take from the rate, as a share of the drive",
};

pub(crate) const COLLECTOR: ProbeSubject = ProbeSubject {
    key: "collector",
    name: "bytes that collection makes of one, in the steady state",
    unit: ProbeUnit::Share,
    direction: Direction::Write,
    how: "random writes on a full drive: the rate before collection over the one that it levels out at, less what reading takes",
};

const DEPTH: u32 = 32;
/// Most I/Os where time is the target's own.
const MOST: u64 = 3_000_000;
/// Time by the wall's clock, s.
pub(crate) const SECONDS: f64 = 40.0;
const SLICES: u64 = 400;
/// The volume that is written, as a share of the region.
const SHARE: f64 = 1.6;
/// The rate is steady when those of the last two parts of the run differ by no more; each is this share of it.
const STEADY: f64 = 0.04;
const PART: f64 = 0.15;
/// Reads that a program of moved bytes takes, likely and at most, with their way to the controller and back.
const READING: f64 = 4.0;
const READING_MOST: f64 = 10.0;
/// The medium was the limit before collection when the rate is this share of what it was seen to take, at least.
const OF_DRAIN: f64 = 0.9;
/// The rate has fallen when it is below this share of what it was, so many slices in a row.
const FALLEN: f64 = 0.85;
const IN_A_ROW: usize = 6;

/// Random writes of the unit.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let place = prober.place();
    let reason = if place.is_file && !prober.is_virtual() {
        Some("the target is a file: the rest of the drive has room of its own")
    } else if prober.has_slc {
        Some("the cells that are written quickly take random writes first, and hide it")
    } else {
        None
    };
    if let Some(reason) = reason {
        return vec![SPARE.untold(reason), COLLECTOR.untold(reason)];
    }
    let size = prober.unit.unwrap_or_else(|| prober.small());
    let job = prober.job(Mix::WRITE, size, DEPTH);
    let wanted = (place.region.0 as f64 * SHARE) as u64 / size.0;
    let count = if prober.is_virtual() { wanted.min(MOST) } else { wanted };
    let rate = prober.drain.unwrap_or(5e8) / size.0 as f64;
    let seconds = if prober.is_virtual() { 1e5 } else { SECONDS * stretch(prober.effort) };
    let expected = (count as f64 / rate).min(seconds);
    let job = Job {
        io_count: Some(count / u64::from(job.threads)),
        runtime: Some(Nanos((seconds * 1e9) as u64)),
        slice: Nanos(((expected / SLICES as f64) * 1e9) as u64 + 1),
        ..job
    };
    let Some(outcome) = prober.run(&job) else {
        let missing = prober.missing();
        return vec![SPARE.untold(&missing), COLLECTOR.untold(missing)];
    };
    let spare = read_off(&outcome, size, place.region);
    let before = spare.part("before").map(|before| before.mean);
    if let Some(reason) = before.and_then(|before| prober.limits.reason(before, size)) {
        return [SPARE, COLLECTOR]
            .map(|it| it.finding(Err(reason.clone()), size, spare.curve.clone()))
            .into();
    }
    let collector = collector(&spare, prober.drain, prober.reads_per_program());
    vec![spare, collector]
}

/// Bytes that collection makes of one, where the rate before it and the one afterwards are both the medium's.
fn collector(spare: &ProbeFinding, drain: Option<f64>, reads: Option<f64>) -> ProbeFinding {
    let (size, over) = (spare.request, spare.curve.clone());
    let found = || -> Result<Interval, String> {
        let before = spare.part("before").ok_or("collection was not seen to take from the rate")?.mean;
        let drain = drain.ok_or("what the medium takes is not known")?;
        if before < OF_DRAIN * drain {
            return Err("before collection something else than the medium was the limit".to_owned());
        }
        let reads = reads.ok_or("the times of a read and of a program are not known")?;
        let rates: Vec<f64> = spare.curve.points.iter().map(|point| point.y.mean).collect();
        let last = steady(&rates, before)?;
        let ratio = before / last;
        // Bytes that are moved are read before: a page of each plane, few of whose bytes may be valid.
        let less = |share: f64| (ratio + share) / (1.0 + share);
        let [most, likely] = [READING_MOST, READING].map(|times| less(times * reads));
        Ok(Interval { mean: likely, low: most * 0.97, high: ratio * 1.03, samples: 3 })
    };
    COLLECTOR.finding(found(), size, over)
}

/// The rate at the end, where it changes no more; `before` is the one before collection.
fn steady(rates: &[f64], before: f64) -> Result<f64, String> {
    let each = (rates.len() as f64 * PART) as usize;
    if each == 0 {
        return Err(format!("{} slices are too few to see a steady state", rates.len()));
    }
    let [last, earlier] = [1, 2].map(|turn| {
        let part = &rates[rates.len() - turn * each..rates.len() - (turn - 1) * each];
        each as f64 / part.iter().map(|rate| 1.0 / rate).sum::<f64>()
    });
    if (last / earlier - 1.0).abs() > STEADY {
        return Err(format!(
            "no steady state yet: the rate is {:.0} % of what it was, and still changes",
            last / before * 100.0
        ));
    }
    Ok(last)
}

fn read_off(outcome: &Outcome, size: Bytes, region: Bytes) -> ProbeFinding {
    let sums = summed(outcome);
    let rates: Vec<(f64, f64)> = sums
        .windows(2)
        .map(|two| (two[1].1, (two[1].1 - two[0].1) / (two[1].0 - two[0].0).max(1e-12)))
        .collect();
    let points = rates.iter().map(|&(x, y)| ProbePoint { x: x / region.0 as f64, y: Interval::exact(y) });
    let over =
        curve(("written, of the region", ProbeUnit::Share), ("rate", ProbeUnit::Bandwidth), points.collect());
    let fallen = fall(&rates);
    let written = rates.last().map_or(0.0, |last| last.0) / region.0 as f64;
    let Some((low, high, before)) = fallen else {
        let reason =
            format!("the rate did not fall while {:.1} % of the region were written", written * 100.0);
        return SPARE.finding(Err(reason), size, over);
    };
    let (low, high) = (low / region.0 as f64, high / region.0 as f64);
    // Blocks that are kept free are spare too, and never seen.
    let found = Interval { mean: f64::midpoint(low, high), low: low * 0.97, high: high * 1.1, samples: 3 };
    let mut finding = SPARE.finding(Ok(found), size, over);
    let after = median(rates[rates.len() * 4 / 5..].iter().map(|rate| rate.1));
    finding.parts = vec![
        part("before", "rate before", ProbeUnit::Bandwidth, Interval::exact(before)),
        part("after", "rate at the end", ProbeUnit::Bandwidth, Interval::exact(after)),
    ];
    finding
}

/// Volumes between which the rate falls for good, and the rate before.
fn fall(rates: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let least = rates.len() / 100 + 2;
    for at in least..rates.len().saturating_sub(IN_A_ROW) {
        let level = median(rates[least / 2..at].iter().map(|rate| rate.1));
        if rates[at..at + IN_A_ROW].iter().all(|rate| rate.1 < FALLEN * level) {
            return Some((rates[at - 1].0, rates[at].0, level));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_where_it_stays_low_and_not_where_one_slice_is() {
        let rates = |low: &dyn Fn(usize) -> bool| -> Vec<(f64, f64)> {
            (0..100).map(|at| (at as f64, if low(at) { 30.0 } else { 100.0 })).collect()
        };
        let (low, high, before) = fall(&rates(&|at| at >= 40)).expect("it falls");
        assert_eq!((low as u32, high as u32, before as u32), (39, 40, 100));
        assert_eq!(fall(&rates(&|at| at == 20 || at == 50)), None);
    }

    #[test]
    fn a_rate_is_steady_from_seven_slices_on_and_not_while_it_falls() {
        assert!(steady(&[50.0; 6], 100.0).expect_err("six").contains("6 slices are too few"));
        assert_eq!(steady(&[50.0; 7], 100.0).map(f64::to_bits), Ok(50.0f64.to_bits()));
        let falls: Vec<f64> = (0..20).map(|at| 100.0 - 3.0 * f64::from(at)).collect();
        assert!(steady(&falls, 100.0).expect_err("it falls").contains("still changes"));
    }
}
