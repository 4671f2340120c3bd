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

const DEPTH: u32 = 32;
/// Most I/Os where time is the target's own.
const MOST: u64 = 3_000_000;
/// Time by the wall's clock, s.
pub(crate) const SECONDS: f64 = 40.0;
const SLICES: u64 = 400;
/// The volume that is written, as a share of the region.
const SHARE: f64 = 0.45;
/// The rate has fallen when it is below this share of what it was, so many slices in a row.
const FALLEN: f64 = 0.85;
const IN_A_ROW: usize = 6;

/// Random writes of the unit.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let place = prober.place();
    if place.is_file && !prober.is_virtual() {
        return vec![SPARE.untold("the target is a file: the rest of the drive has room of its own")];
    }
    if prober.has_slc {
        return vec![
            SPARE.untold("the cells that are written quickly take random writes first, and hide it"),
        ];
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
    let Some(outcome) = prober.run(&job) else { return vec![SPARE.untold(prober.missing())] };
    vec![read_off(&outcome, size, place.region)]
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
}
