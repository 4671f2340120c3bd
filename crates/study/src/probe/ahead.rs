//! Does it read ahead, and does it keep what was read?

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Access, Amount, Bytes, Direction, Interval, Job, Mix, Outcome};
use iostack_stats::quantile_interval;

use super::finding::{ProbeSubject, curve, part};
use super::measure::{Length, Prober};

pub(crate) const AHEAD: ProbeSubject = ProbeSubject {
    key: "read_ahead",
    name: "sequential reads are quicker, times",
    unit: ProbeUnit::Share,
    direction: Direction::Read,
    how: "median of random reads over that of reads in order, one at a time",
};
pub(crate) const CACHE: ProbeSubject = ProbeSubject {
    key: "read_cache",
    name: "read cache",
    unit: ProbeUnit::Bytes,
    direction: Direction::Read,
    how: "random reads, again and again, of a region that grows: the largest that is read more quickly",
};

const POINT: Length = Length { seconds: 0.4, ios: 4_000 };
/// Medians whose ratio is below this are those of a cache.
const QUICKER: f64 = 0.6;
/// Ratio from which on reading ahead is told.
const AHEAD_LEAST: f64 = 1.25;
/// Reads of each page of a region that make it hot.
const TURNS: u64 = 4;
/// Most reads of a region where time is the target's own.
const MOST: u64 = 300_000;
const SMALLEST: u64 = 1 << 20;

/// Random reads against reads in order, then smaller regions.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let small = prober.small();
    let alone = prober.job(Mix::READ, small, 1);
    let random = prober.run(&prober.lasting(alone.clone(), POINT, 1e4));
    let Some((random, rate)) = random.as_ref().and_then(|outcome| Some((median(outcome)?, outcome.rate())))
    else {
        let missing = prober.missing();
        return vec![AHEAD.untold(&missing), CACHE.untold(missing)];
    };
    let in_order = Job { access: Access::Sequential, ..alone.clone() };
    let sequential = prober.run(&prober.lasting(in_order, POINT, rate));
    let ahead = match sequential.as_ref().and_then(median) {
        Some(sequential) => ahead(random, sequential, small),
        None => AHEAD.untold(prober.missing()),
    };
    let mut points = Vec::new();
    let mut region = SMALLEST;
    // By the wall's clock so many reads fit into a point as one alone gives.
    let reads = if prober.is_virtual() { MOST } else { (rate * POINT.seconds) as u64 };
    while region / small.0 * TURNS <= reads.max(SMALLEST / small.0 * TURNS)
        && region < prober.place().region.0 / 2
    {
        let job = Job { size: Some(Amount::Bytes(Bytes(region))), ..alone.clone() };
        let length = Length { ios: POINT.ios.max(region / small.0 * TURNS), ..POINT };
        let Some(found) = prober.run(&prober.lasting(job, length, rate)).as_ref().and_then(median) else {
            break;
        };
        points.push(ProbePoint { x: region as f64, y: found });
        if found.high >= QUICKER * random.low {
            break;
        }
        region *= 4;
    }
    points.push(ProbePoint { x: prober.place().region.0 as f64, y: random });
    let over = curve(("region", ProbeUnit::Bytes), ("median latency", ProbeUnit::Nanos), points.clone());
    vec![ahead, CACHE.finding(cache(&points, random), small, over)]
}

fn median(outcome: &Outcome) -> Option<Interval> {
    quantile_interval(&outcome.latency(), 0.5)
}

fn ahead(random: Interval, sequential: Interval, size: Bytes) -> ProbeFinding {
    let ratio = Interval {
        mean: random.mean / sequential.mean,
        low: random.low / sequential.high,
        high: random.high / sequential.low,
        samples: sequential.samples,
    };
    let points = [(0.0, random), (1.0, sequential)].map(|(x, y)| ProbePoint { x, y });
    let over =
        curve(("random, in order", ProbeUnit::Share), ("median latency", ProbeUnit::Nanos), points.to_vec());
    let found = if ratio.low > AHEAD_LEAST {
        Ok(ratio)
    } else {
        Err("reads in order, one at a time, take as long as random ones: no read-ahead is seen".to_owned())
    };
    let mut finding = AHEAD.finding(found, size, over);
    finding.parts = vec![
        part("random", "random", ProbeUnit::Nanos, random),
        part("sequential", "in order", ProbeUnit::Nanos, sequential),
    ];
    finding
}

/// The largest region that is read more quickly than all of it; a cache may be up to the next one.
fn cache(points: &[ProbePoint], whole: Interval) -> Result<Interval, String> {
    let hot = points.iter().take_while(|point| point.y.high < QUICKER * whole.low).count();
    match (hot.checked_sub(1).map(|at| points[at].x), points.get(hot)) {
        (Some(low), Some(next)) => {
            Ok(Interval { mean: (low * next.x).sqrt(), low, high: next.x, samples: 3 })
        }
        (Some(_), None) => Err("every region that was read is in a cache".to_owned()),
        _ => Err("reads of the same places again take as long: no read cache is seen".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_lies_between_the_last_quick_region_and_the_next_and_level_latencies_show_none() {
        let at = |x: f64, ns: f64| ProbePoint {
            x,
            y: Interval { mean: ns, low: ns * 0.98, high: ns * 1.02, samples: 9 },
        };
        let points = [at(1.0, 10.0), at(4.0, 11.0), at(16.0, 70.0), at(64.0, 90.0)];
        let found = cache(&points, points[3].y).expect("two are quick");
        assert!((found.low - 4.0).abs() < 1e-9 && (found.high - 16.0).abs() < 1e-9, "{found:?}");
        assert!(cache(&points[2..], points[3].y).is_err());
    }
}
