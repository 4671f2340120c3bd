//! How many requests does it work on at once, and how quick is one alone?

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Direction, Effort, Interval, Mix, Outcome};
use iostack_stats::{quantile_interval, samples_needed};

use super::finding::{ProbeSubject, curve, part};
use super::measure::{Length, Prober};
use super::network::{self, Fit, Rate, SmallReads};

/// Findings of one request size: parallelism, then the latency of one alone.
pub(crate) const SIZES: [(u64, ProbeSubject, ProbeSubject); 4] = [
    (
        4096,
        parallel("parallelism.4096", "small reads at once"),
        latency("latency.4096", "a small read alone"),
    ),
    (
        16384,
        parallel("parallelism.16384", "16 KiB reads at once"),
        latency("latency.16384", "a 16 KiB read alone"),
    ),
    (
        65536,
        parallel("parallelism.65536", "64 KiB reads at once"),
        latency("latency.65536", "a 64 KiB read alone"),
    ),
    (
        262_144,
        parallel("parallelism.262144", "256 KiB reads at once"),
        latency("latency.262144", "a 256 KiB read alone"),
    ),
];

const fn parallel(key: &'static str, name: &'static str) -> ProbeSubject {
    let how =
        "rate over queue depth, fitted to a closed network: where it bends says how many stations there are";
    ProbeSubject { key, name, unit: ProbeUnit::Count, direction: Direction::Read, how }
}

const fn latency(key: &'static str, name: &'static str) -> ProbeSubject {
    let how = "percentiles of one random read at a time";
    ProbeSubject { key, name, unit: ProbeUnit::Nanos, direction: Direction::Read, how }
}

const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// A rate that a doubled depth raises by less is a plateau.
const FLAT: f64 = 1.02;
/// The same of three in a row: the curve need go no further.
const FLAT_RUN: usize = 2;
/// Time of a point; the first also gives the percentiles.
const POINT: Length = Length { seconds: 0.4, ios: 24_000 };
const FIRST: Length = Length { seconds: 1.2, ios: 24_000 };
/// The ends of an interval may be apart by this factor; beyond, it says nothing.
const WIDEST: f64 = 1.7;
/// Residuals beyond this are no closed network.
const MISFIT: f64 = 0.05;
/// A CPU this busy is the limit, not the drive.
pub(crate) const BUSY: f64 = 0.9;
/// Standard deviations of a normal distribution from its 10th to its 90th percentile.
const MIDDLE_SIGMAS: f64 = 2.563;
const QUANTILES: [(f64, &str, &str); 6] = [
    (0.01, "p1", "1 % take no longer"),
    (0.1, "p10", "10 % take no longer"),
    (0.5, "p50", "median"),
    (0.9, "p90", "90 % take no longer"),
    (0.99, "p99", "99 % take no longer"),
    (0.999, "p99.9", "99.9 % take no longer"),
];

/// Larger reads take time by their size at any single station.
const SMALL: u64 = 16 << 10;
/// A network of fewer stations is of one, which may as well be a limit.
const ONE: f64 = 1.3;
/// The interval of two stations reaches further than this.
const TWO: f64 = 1.6;
/// A rate that grows by less over depth is a serial one.
const SERIAL: f64 = 1.15;
/// A rate that grows by more than so many times its stations waits elsewhere most of the time.
const WAITS: f64 = 1.4;
/// The highest rate is that of the limit when it is as near as this.
const NEAR: f64 = 0.12;
/// Latencies that differ by less come at a pace.
const PACED: f64 = 0.05;

/// Sum of squares by which a network may fit worse when the time at one station is given.
const WORSE: f64 = 6.0;
/// Relative error of such a network: over thirty drawn drives up to 8 %, mostly too few.
const NETWORK: f64 = 0.06;

impl SmallReads {
    /// The finding once more, now that the time at one station is known, s; `None` where the curve does not agree with it.
    pub(crate) fn known(&self, service: f64, before: &ProbeFinding) -> Option<ProbeFinding> {
        let fit = network::fit(&self.curve, self.varies, Some(service))?;
        let agrees = fit.error - self.fit.error < WORSE * (self.fit.error / self.curve.len() as f64).max(1.0);
        let told = agrees && fit.stations.high / fit.stations.low < WIDEST;
        let Interval { low, high, .. } = fit.stations;
        let stations = Interval { low: low * (1.0 - NETWORK), high: high * (1.0 + NETWORK), ..fit.stations };
        let mut finding = before.clone();
        (finding.value, finding.reason) = (Some(stations), None);
        let service = Interval::exact(service * 1e9);
        finding.parts = vec![part("service", "time at one station", ProbeUnit::Nanos, service)];
        told.then_some(finding)
    }
}

/// Measures each size over depth.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let small = prober.small();
    let quick = prober.effort == Effort::Quick;
    let mut findings = Vec::new();
    for (at, &(size, parallel, latency)) in SIZES.iter().enumerate() {
        if quick && at % 2 == 1 {
            findings.extend([parallel, latency].map(|subject| subject.untold("left out by --quick")));
            continue;
        }
        let size = Bytes(size).max(small);
        let (outcomes, flat) = measure(prober, size);
        let (curve, varies) = (rates(&outcomes), varies(outcomes.first()));
        let fit = network::fit(&curve, varies, None);
        if let (Some(fit), true) = (&fit, size == small) {
            prober.reads = Some(SmallReads { fit: fit.clone(), curve, varies });
        }
        let mut is_limited = false;
        if let Some(most) = outcomes.iter().map(Outcome::rate).max_by(f64::total_cmp) {
            let limit = limit(&outcomes, fit.as_ref(), most, varies);
            is_limited = limit.is_some();
            if flat {
                let shared = limit.filter(|_| size.0 <= SMALL);
                let of_fit = fit.as_ref().filter(|fit| fit.has_shared).map(|fit| 1.0 / fit.shared);
                prober.plateaus.push((size, most, shared.or(of_fit)));
            }
        }
        let missing = prober.missing();
        findings.push(parallel.finding(
            judge(&outcomes, fit.as_ref(), is_limited, &missing),
            size,
            over_depth(&outcomes),
        ));
        let last = findings.last_mut().expect("just put");
        if let Some(fit) = fit.filter(|_| last.value.is_some()) {
            let service = Interval { samples: 0, ..Interval::exact(fit.service * 1e9) };
            last.parts.push(part("service", "time at one station", ProbeUnit::Nanos, service));
        }
        if size == small {
            prober.small_reads = Some(last.clone());
        }
        prober.of_reads.push(last.clone());
        findings.push(floor(latency, outcomes.first(), size, &missing));
    }
    findings
}

/// The highest rate, where one station that all pass makes it: it is but a part of the way, or it has no time of its own.
fn limit(outcomes: &[Outcome], fit: Option<&Fit>, most: f64, varies: f64) -> Option<f64> {
    let grows = most / outcomes.first()?.rate();
    let paced = grows < SERIAL && varies < PACED;
    let passed = fit.and_then(|fit| fit.limit).is_some_and(|limit| (limit / most - 1.0).abs() < NEAR);
    let is_one = |fit: &Fit| fit.stations.low < ONE && grows > WAITS * fit.stations.high;
    (paced || passed && grows > SERIAL || fit.is_some_and(is_one)).then_some(most)
}

/// The curve over depth, until it is flat.
fn measure(prober: &mut Prober<'_>, size: Bytes) -> (Vec<Outcome>, bool) {
    let (mut outcomes, mut flat): (Vec<Outcome>, usize) = (Vec::new(), 0);
    let mut expected = 1e4;
    for depth in DEPTHS {
        let (job, length) = (prober.job(Mix::READ, size, depth), if depth == 1 { FIRST } else { POINT });
        if depth == 1 && prober.is_virtual() {
            // So long that the time of one is known.
            let Some(outcome) =
                prober.run(&prober.lasting(job.clone(), Length { ios: 1000, ..length }, expected))
            else {
                break;
            };
            expected = outcome.rate().max(1e-3);
        }
        let length = Length { ios: (length.ios * 4096 / size.0.max(4096)).max(4_000), ..length };
        let job = prober.lasting(job, length, expected);
        let Some(outcome) = prober.run(&job) else { break };
        let rate = outcome.rate();
        let before = outcomes.last().map_or(0.0, Outcome::rate);
        flat = if rate < before * FLAT { flat + 1 } else { 0 };
        expected = rate.max(1e-3);
        outcomes.push(outcome);
        if flat >= FLAT_RUN && outcomes.len() >= 6 {
            break;
        }
    }
    (outcomes, flat > 0)
}

/// Depths with their rates and errors.
fn rates(outcomes: &[Outcome]) -> Vec<Rate> {
    let rate = |outcome: &Outcome| {
        let interval = outcome.iops;
        let error = if interval.samples >= 3 { interval.relative() / 1.96 } else { 0.03 };
        (outcome.job.in_flight(), outcome.rate(), error.min(0.3))
    };
    outcomes.iter().map(rate).collect()
}

/// Spread of the latency of one alone: its middle part, since single slow ones are the host's.
fn varies(alone: Option<&Outcome>) -> f64 {
    let bins = alone.map(Outcome::latency).unwrap_or_default();
    let quantile = |fraction| bins.quantile_ns(fraction).unwrap_or(0) as f64;
    ((quantile(0.9) - quantile(0.1)) / MIDDLE_SIGMAS / quantile(0.5).max(1.0)).min(1.0)
}

/// The number of stations, where the curve tells it.
fn judge(
    outcomes: &[Outcome],
    fit: Option<&Fit>,
    is_limited: bool,
    missing: &str,
) -> Result<Interval, String> {
    let Some(fit) = fit else { return Err(missing.to_owned()) };
    let (first, last) = (outcomes[0].rate(), outcomes.iter().map(Outcome::rate).fold(0.0, f64::max));
    let busy = outcomes.iter().map(|outcome| outcome.cpu.busiest_thread).fold(0.0, f64::max);
    let Interval { mean, low, high, .. } = fit.stations;
    if fit.misfit > MISFIT {
        return Err(format!("the rates are {:.0} % off any closed network", fit.misfit * 100.0));
    }
    if is_limited && low < ONE || high < TWO {
        return Err(format!(
            "one station explains the rates, which grow {:.1} times over depth, and a limit on I/Os looks the same",
            last / first
        ));
    }
    if high / low <= WIDEST {
        return Ok(fit.stations);
    }
    let held = match (busy > BUSY, fit.has_shared) {
        (true, _) => "the CPU is busy before the drive is",
        (_, true) => "something that all requests pass is full before the drive is",
        _ => "the curve fits too many numbers",
    };
    Err(format!(
        "{held}: the rate grows {:.1} times over depth, which {low:.0} to {high:.0} stations explain (best {mean:.0})",
        last / first
    ))
}

fn over_depth(outcomes: &[Outcome]) -> iostack_model::answers::ProbeCurve {
    let points = outcomes
        .iter()
        .map(|outcome| ProbePoint { x: f64::from(outcome.job.in_flight()), y: of_rate(outcome) });
    curve(("queue depth", ProbeUnit::Count), ("rate", ProbeUnit::Iops), points.collect())
}

/// The rate with the interval of its slices.
pub(crate) fn of_rate(outcome: &Outcome) -> Interval {
    let (rate, relative) = (outcome.rate(), outcome.iops.relative());
    Interval {
        mean: rate,
        low: rate * (1.0 - relative).max(0.0),
        high: rate * (1.0 + relative),
        ..outcome.iops
    }
}

/// Latency of one alone: the median, and the other percentiles that there are enough reads for.
fn floor(subject: ProbeSubject, outcome: Option<&Outcome>, size: Bytes, missing: &str) -> ProbeFinding {
    let Some(outcome) = outcome else { return subject.untold(missing) };
    let bins = outcome.latency();
    let told = QUANTILES.iter().filter(|(fraction, ..)| bins.count >= samples_needed(*fraction));
    let told: Vec<_> = told
        .filter_map(|&(fraction, key, name)| Some((fraction, key, name, quantile_interval(&bins, fraction)?)))
        .collect();
    let Some(median) = quantile_interval(&bins, 0.5) else {
        return subject.untold("too few reads came back");
    };
    let points = told.iter().map(|&(x, _, _, y)| ProbePoint { x, y }).collect();
    let over = curve(("share of the reads", ProbeUnit::Share), ("latency", ProbeUnit::Nanos), points);
    let mut finding = subject.finding(Ok(median), size, over);
    let parts = told.iter().map(|&(_, key, name, value)| part(key, name, ProbeUnit::Nanos, value));
    finding.parts = parts.collect();
    finding
}
