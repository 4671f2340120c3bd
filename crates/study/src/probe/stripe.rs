//! How many addresses that follow each other lie on one station? Random reads at multiples of a distance reach fewer stations
//! from twice that many bytes on.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Interval, Job, Mix};

use super::finding::{ProbeSubject, curve};
use super::measure::{Length, Prober};
use super::parallel::of_rate;

pub(crate) const STRIPE: ProbeSubject = ProbeSubject {
    key: "stripe",
    name: "consecutive bytes on one station",
    unit: ProbeUnit::Bytes,
    direction: Direction::Read,
    how: "random reads at multiples of a distance: from twice the chunk on they meet at half of the stations",
};

const POINT: Length = Length { seconds: 0.3, ios: 16_000 };
/// The rate at the next distance, where the stations have become half: at most this share.
const FALLS: f64 = 0.93;
/// Reads for each station, of which some still meet.
const SHALLOWEST: f64 = 0.5;
/// Share of the limit below which it is not felt.
const BELOW_LIMIT: f64 = 0.65;
/// Distances have this many places in the region at least.
const PLACES: u64 = 256;
const FARTHEST: Bytes = Bytes(32 << 20);

/// Reads at multiples of 4 KiB, 8 KiB, and so on.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let (small, place) = (prober.small(), prober.place());
    let Some(stations) = prober.reads.as_ref().map(|reads| reads.fit.stations.mean) else {
        return vec![STRIPE.untold("how many requests it works on at once is not known")];
    };
    // Deep enough that reads meet, and not so deep that all are at work anyway.
    let depth = (stations.round() as u32 * 2).next_power_of_two().clamp(4, 128);
    let depth = below_limit(prober, depth);
    if f64::from(depth) < stations * SHALLOWEST {
        return vec![STRIPE.untold("a limit before the stations lets too few reads meet at them")];
    }
    let farthest = FARTHEST.0.min(place.region.0 / PLACES);
    let mut points = Vec::new();
    let mut expected = f64::from(depth) * 1e4;
    let mut distance = small.0;
    while distance <= farthest {
        let job = Job { align: Bytes(distance), ..prober.job(Mix::READ, small, depth) };
        let Some(outcome) = prober.run(&prober.lasting(job, POINT, expected)) else {
            return vec![STRIPE.untold(prober.missing())];
        };
        expected = outcome.rate();
        points.push(ProbePoint { x: distance as f64, y: of_rate(&outcome) });
        distance *= 2;
    }
    let found = chunk(&points).map(Interval::exact);
    let over = curve(("distance", ProbeUnit::Bytes), ("rate", ProbeUnit::Iops), points);
    // Reads of one station alone tell its time, and with it how many there are.
    let again = floor(&over.points)
        .filter(|_| found.is_ok())
        .and_then(|rate| prober.reads.as_ref()?.known(1.0 / rate, prober.small_reads.as_ref()?));
    if again.is_some() {
        prober.small_reads.clone_from(&again);
    }
    [STRIPE.finding(found, small, over)].into_iter().chain(again).collect()
}

/// So deep, or less where something that all pass would be full: behind it no meeting is seen.
fn below_limit(prober: &Prober<'_>, depth: u32) -> u32 {
    let limit = prober.plateaus.first().and_then(|plateau| plateau.2);
    let (Some(limit), Some(reads)) = (limit, &prober.reads) else { return depth };
    let below = |rate: f64| rate < BELOW_LIMIT * limit;
    let depths = reads.curve.iter().filter(|&&(at, rate, _)| at <= depth && below(rate)).map(|&(at, ..)| at);
    depths.max().unwrap_or(2).max(2)
}

/// The rate from which on distance changes nothing any more: that of one station, it seems.
fn floor(points: &[ProbePoint]) -> Option<f64> {
    let [.., before, last] = points else { return None };
    let (lowest, first) = (before.y.mean.min(last.y.mean), points[0].y.mean);
    let level = (before.y.mean / last.y.mean - 1.0).abs() < 1.0 - FALLS;
    (level && lowest < FALLS * first).then(|| f64::midpoint(before.y.mean, last.y.mean))
}

/// The last distance before the rate begins to fall, and goes on falling.
fn chunk(points: &[ProbePoint]) -> Result<f64, String> {
    let rate = |at: usize| points[at].y.mean;
    let falls = |at: usize| points[at].y.high < points[at - 1].y.low && rate(at) < FALLS * rate(at - 1);
    let Some(first) = (1..points.len()).find(|&at| falls(at)) else {
        return Err(
            "no distance makes reads wait for each other: addresses are spread without order".to_owned()
        );
    };
    let goes_on = first + 1 < points.len() && (falls(first + 1) || rate(first) < 0.7 * rate(first - 1));
    let level = (1..first).all(|at| (rate(at) / rate(0) - 1.0).abs() < 1.0 - FALLS);
    if !goes_on || !level {
        return Err("the rate over distance has no clear step".to_owned());
    }
    Ok(points[first - 1].x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripe_of(rates: &[f64]) -> Result<f64, String> {
        let points = (0..).zip(rates).map(|(at, &rate)| ProbePoint {
            x: f64::from(4096 << at),
            y: Interval { mean: rate, low: rate * 0.99, high: rate * 1.01, samples: 20 },
        });
        chunk(&points.collect::<Vec<_>>())
    }

    #[test]
    fn the_chunk_is_the_last_distance_before_rates_halve_and_what_does_not_fall_has_none() {
        assert_eq!(stripe_of(&[100.0, 100.0, 99.0, 70.0, 40.0, 20.0]), Ok(16384.0));
        assert!(stripe_of(&[100.0, 99.0, 101.0, 100.0]).expect_err("level").contains("without order"));
        assert!(
            stripe_of(&[100.0, 99.0, 85.0, 85.0, 86.0]).expect_err("a step alone").contains("no clear step")
        );
    }
}
