//! How many addresses that follow each other lie on one station? Random reads at multiples of a distance reach fewer stations
//! from twice that many bytes on.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Interval, Job, Mix};

use super::caps;
use super::finding::{ProbeSubject, curve};
use super::measure::{Length, Prober};
use super::parallel::{BUSY, of_rate};

pub(crate) const STRIPE: ProbeSubject = ProbeSubject {
    key: "stripe",
    name: "consecutive bytes on one station",
    unit: ProbeUnit::Bytes,
    direction: Direction::Read,
    how: "random reads at multiples of a distance: from twice the chunk on they meet at half of the stations",
};

const HIDDEN: &str = "a limit before the stations lets too few reads meet at them";
/// So deep that all stations are at work.
const DEEP: u32 = 256;
/// Reads for each station that it takes.
const EACH: f64 = 4.0;
/// Half of the stations get more than this share of the rate of all only where something before them held that.
const HALF: f64 = 0.57;
/// A read of this size lies on one station.
const OF_ONE: u64 = 16 << 10;
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

/// Reads at multiples of 4 KiB, 8 KiB, and so on; then deep ones, which a limit holds.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let mut findings = distances(prober);
    if prober.limits.credits.is_none() {
        let chunk = findings[0].value.map(|chunk| chunk.mean as u64);
        let (small, size) = (prober.small(), Bytes(OF_ONE.max(chunk.unwrap_or(0))));
        let (of_small, of_size) = (held(prober, small, chunk), held(prober, size, chunk));
        findings.extend(caps::held(prober, of_small, of_size.map(|rate| (size, rate))));
        let rate = findings[0].curve.points.first().map_or(0.0, |point| point.y.mean);
        if chunk.is_some() && prober.limits.iops.is_some_and(|limit| rate > BELOW_LIMIT * limit) {
            // A fall to half of the stations may have been hidden.
            findings[0] = STRIPE.finding(Err(HIDDEN.to_owned()), small, findings[0].curve.clone());
        }
    }
    findings
}

/// The rate of deep reads of a size, where something holds it that is full before the stations are: at the distance that leaves half of
/// them, which is known from the chunk, or the first at which the rate falls.
fn held(prober: &mut Prober<'_>, size: Bytes, chunk: Option<u64>) -> Option<f64> {
    let stations = prober.reads.as_ref()?.fit.stations;
    let mut before: Option<f64> = None;
    let mut distance = size.0.max(chunk.unwrap_or(0));
    let last = chunk.map_or(farthest(prober), |_| 2 * distance);
    while f64::from(DEEP) > EACH * stations.low && distance <= last {
        let job = Job { align: Bytes(distance), ..prober.job(Mix::READ, size, DEEP) };
        let outcome = prober.run(&prober.lasting(job, POINT, before.unwrap_or(1e5)))?;
        let rate = outcome.rate();
        match before {
            Some(before) if rate < FALLS * before => return (rate > HALF * before).then_some(before),
            _ if outcome.cpu.busiest_thread > BUSY => return None,
            _ => before = Some(before.unwrap_or(0.0).max(rate)),
        }
        distance *= 2;
    }
    before.filter(|_| chunk.is_some())
}

fn farthest(prober: &Prober<'_>) -> u64 {
    FARTHEST.0.min(prober.place().region.0 / PLACES)
}

/// Reads at multiples of 4 KiB, 8 KiB, and so on.
fn distances(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let small = prober.small();
    let Some(stations) = prober.reads.as_ref().map(|reads| reads.fit.stations.mean) else {
        return vec![STRIPE.untold("how many requests it works on at once is not known")];
    };
    // Deep enough that reads meet, and not so deep that all are at work anyway.
    let depth = (stations.round() as u32 * 2).next_power_of_two().clamp(4, 128);
    let depth = below_limit(prober, depth);
    if f64::from(depth) < stations * SHALLOWEST {
        return vec![STRIPE.untold(HIDDEN)];
    }
    let mut points = Vec::new();
    // The first lasts as long as the next: dips take as much from it.
    let known = prober.reads.as_ref().and_then(|reads| reads.curve.iter().rfind(|rate| rate.0 <= depth));
    let mut expected = known.map_or(f64::from(depth) * 1e4, |rate| rate.1);
    let mut distance = small.0;
    while distance <= farthest(prober) {
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
    let mut again = floor(&over.points)
        .filter(|_| found.is_ok())
        .and_then(|rate| prober.reads.as_ref()?.known(1.0 / rate, prober.small_reads.as_ref()?));
    if let (Some(stations), Ok(chunk)) = (again.as_mut().and_then(|again| again.value.as_mut()), &found) {
        let halves = halves(&over.points, chunk.mean);
        stations.mean = if (stations.low..=stations.high).contains(&halves) { halves } else { stations.mean };
    }
    if again.is_some() {
        prober.small_reads.clone_from(&again);
    }
    [STRIPE.finding(found, small, over)].into_iter().chain(again).collect()
}

/// So deep, or less where something that all pass would be full: behind it no meeting is seen.
fn below_limit(prober: &Prober<'_>, depth: u32) -> u32 {
    let small = prober.plateaus.first().filter(|plateau| plateau.0 == prober.small());
    let limit = small.and_then(|plateau| plateau.2);
    let (Some(limit), Some(reads)) = (limit, &prober.reads) else { return depth };
    let below = |rate: f64| rate < BELOW_LIMIT * limit;
    let depths = reads.curve.iter().filter(|&&(at, rate, _)| at <= depth && below(rate)).map(|&(at, ..)| at);
    depths.max().unwrap_or(2).max(2)
}

/// The rate where distance changes nothing any more: that of one station, it seems. Farther on there are few places, which are read
/// again.
fn floor(points: &[ProbePoint]) -> Option<f64> {
    let falls = |two: &[ProbePoint]| two[1].y.mean < FALLS * two[0].y.mean;
    let last = points.windows(2).rposition(falls)?;
    let [at, next] = points.get(last + 1..last + 3)? else { return None };
    let level = (at.y.mean / next.y.mean - 1.0).abs() < 1.0 - FALLS;
    level.then(|| f64::midpoint(at.y.mean, next.y.mean))
}

/// Stations as powers of two have them: one is left at so many chunks.
fn halves(points: &[ProbePoint], chunk: f64) -> f64 {
    let falls = points.windows(2).filter(|two| two[0].x >= chunk && two[1].y.mean < FALLS * two[0].y.mean);
    f64::from(1u32 << falls.count().min(31))
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

    fn points_of(rates: &[f64]) -> Vec<ProbePoint> {
        let points = (0..).zip(rates).map(|(at, &rate)| ProbePoint {
            x: f64::from(4096 << at),
            y: Interval { mean: rate, low: rate * 0.99, high: rate * 1.01, samples: 20 },
        });
        points.collect()
    }

    fn stripe_of(rates: &[f64]) -> Result<f64, String> {
        chunk(&points_of(rates))
    }

    #[test]
    fn each_distance_that_halves_the_rate_halves_the_stations() {
        let points = points_of(&[100.0, 99.0, 100.0, 60.0, 32.0, 16.0, 16.0, 16.1]);
        assert_eq!(halves(&points, 16384.0).to_bits(), 8f64.to_bits());
        assert_eq!(halves(&points[..3], 4096.0).to_bits(), 1f64.to_bits());
        assert_eq!(floor(&points), Some(16.0));
        assert_eq!(floor(&points[..6]), None, "it may fall on");
        assert_eq!(floor(&points[..3]), None, "it never fell");
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
