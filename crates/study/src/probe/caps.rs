//! Does something hold the rate that is not the medium? A limit on I/Os, on bytes, or a bucket of tokens.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Caveat, Direction, Interval, Mix, Nanos, Outcome};

use super::background;
use super::finding::{Plateau, ProbeSubject, SAME, around, curve, part};
use super::hinge::{Hinge, hinge};
use super::measure::{Length, Prober};

pub(crate) const IOPS: ProbeSubject = ProbeSubject {
    key: "cap.iops",
    name: "limit on I/Os",
    unit: ProbeUnit::Iops,
    direction: Direction::Read,
    how: "the highest rates of several request sizes are one rate, which a station that all pass explains",
};
pub(crate) const BYTES: ProbeSubject = ProbeSubject {
    key: "cap.bandwidth",
    name: "limit on bytes",
    unit: ProbeUnit::Bandwidth,
    direction: Direction::Read,
    how: "the highest rates of several request sizes move equally many bytes",
};
pub(crate) const BURST: ProbeSubject = ProbeSubject {
    key: "cap.burst",
    name: "I/Os above the limit",
    unit: ProbeUnit::Count,
    direction: Direction::Read,
    how: "I/Os over time of reads at one depth: the later, slower line meets the axis at what the bucket held",
};
pub(crate) const LINK: ProbeSubject = ProbeSubject {
    key: "link",
    name: "bytes that large reads reach",
    unit: ProbeUnit::Bandwidth,
    direction: Direction::Read,
    how: "reads of 256 KiB and 1 MiB, at two depths, all move equally many bytes",
};
pub(crate) const COMMAND: ProbeSubject = ProbeSubject {
    key: "command",
    name: "time of a command, whatever it carries",
    unit: ProbeUnit::Nanos,
    direction: Direction::Read,
    how: "time between small reads where a limit on I/Os holds them, less what their bytes take of the link",
};

const DEPTH: u32 = 32;
const LONG: Length = Length { seconds: 7.0, ios: 150_000 };
/// Large reads, and the depths at which they are made.
const LARGE: [u64; 2] = [256 << 10, 1 << 20];
const LARGE_DEPTHS: [u32; 2] = [16, 64];
const LARGE_POINT: Length = Length { seconds: 0.5, ios: 6_000 };
/// A plateau that is that of all sizes is known so well.
const WIDTH: f64 = 0.025;
/// A bucket is empty when the rate has fallen to this share of what it was, at most.
const SLOWER: f64 = 0.85;
/// Two lines that are further off than this, of the height of the bend, are no bucket.
const MISFIT: f64 = 0.02;
/// The bend lies in this part of the run's time.
const INSIDE: f64 = 0.85;
/// Small reads move less than this share of the bytes of large ones where a limit on I/Os holds them.
const OF_LARGE: f64 = 0.9;

/// Reads for a while, then looks at this, at large reads, and at the plateaus of before.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let small = prober.small();
    let rate = prober.plateaus.first().map_or(1e4, |plateau| plateau.1);
    let outcome = long(prober, small, LONG, rate);
    let missing = prober.missing();
    let fallen = outcome.as_ref().and_then(fall);
    if let Some(outcome) = &outcome {
        let lasting = |caveat: &&Caveat| matches!(caveat, Caveat::Slope { .. } | Caveat::Unstable { .. });
        prober.caveats.extend(outcome.caveats.iter().filter(lasting).cloned());
        // A bucket that runs empty is no drift.
        if fallen.is_none() {
            prober.long_reads = Some((outcome.rate(), outcome.job.clone()));
        }
    }
    let dips = background::of_run(outcome.as_ref(), &missing);
    let mut large = large(prober);
    if let (Some(_), Some(outcome)) = (dips.value, &outcome) {
        // Dips take from all rates alike: a limit is the rate between them.
        let between = background::between(outcome);
        for (_, rate, shared) in &mut prober.plateaus {
            (*rate, *shared) = (*rate * between, shared.map(|shared| shared * between));
        }
        for point in &mut large {
            point.2 *= between;
        }
        prober.dips = Some(between);
    }
    prober.large = large.iter().map(|point| point.2).fold(0.0, f64::max);
    let are_told = prober.small_reads.as_ref().is_some_and(|finding| finding.value.is_some());
    let mut findings = limits(&prober.plateaus, &large, are_told);
    if let Some(bend) = fallen {
        findings[0] = lasting(bend, &findings[0]);
        prober.limits.credits = Some(bend.intercept);
        findings.extend(hidden(prober, bend));
    }
    let value = |finding: &ProbeFinding| finding.value.map(|value| value.mean);
    (prober.limits.iops, prober.limits.bytes) = (value(&findings[0]), value(&findings[1]));
    let link = link(&large, &missing);
    prober.capped = findings[..2].to_vec();
    prober.link = link.value;
    let command = match fallen {
        Some(_) => COMMAND.untold("a bucket of tokens holds the rate, and a token is no time of a command"),
        None => command(&findings[0], value(&link), small),
    };
    findings.push(command);
    findings.push(link);
    findings.push(burst(outcome.as_ref(), fallen, small, &missing));
    findings.push(dips);
    findings
}

/// Reads of a size, in many slices from the first moment on.
fn long(prober: &mut Prober<'_>, size: Bytes, length: Length, rate: f64) -> Option<Outcome> {
    let mut job = prober.lasting(prober.job(Mix::READ, size, DEPTH), length, rate);
    job.ramp = Nanos(0);
    job.slice = Nanos((job.runtime.unwrap_or_default().0 / 600).max(1));
    prober.run(&job)
}

/// Rates of large reads: size, depth, bytes per second. Where a bucket runs empty, those that last.
fn large(prober: &mut Prober<'_>) -> Vec<(u64, u32, f64)> {
    let mut found = Vec::new();
    for size in LARGE {
        for depth in LARGE_DEPTHS {
            let expected =
                prober.plateaus.last().map_or(1e3, |&(known, rate, _)| rate * known.0 as f64 / size as f64);
            let mut job = prober.lasting(prober.job(Mix::READ, Bytes(size), depth), LARGE_POINT, expected);
            job.slice = Nanos((job.runtime.unwrap_or_default().0 / 50).max(1));
            let Some(outcome) = prober.run(&job) else { return found };
            let rate = fall(&outcome).map_or(outcome.rate(), |bend| bend.slow);
            found.push((size, depth, rate * size as f64));
        }
    }
    found
}

/// I/Os that are through, over time.
fn counted(outcome: &Outcome) -> Vec<(f64, f64)> {
    let mut ios = 0.0;
    let sum = |slice: &iostack_model::IntervalFlow| {
        ios += slice.ios.iter().sum::<u64>() as f64;
        ((slice.start + slice.length).as_secs_f64(), ios)
    };
    iostack_stats::whole(&outcome.series).iter().map(sum).collect()
}

/// The bend at which a bucket ran empty.
fn fall(outcome: &Outcome) -> Option<Hinge> {
    let points = counted(outcome);
    let whole = points.last()?.0;
    hinge(&points, SLOWER)
        .filter(|bend| bend.misfit < MISFIT && bend.at < INSIDE * whole && bend.intercept > 0.0)
}

/// The limit on I/Os that is left when the bucket is empty.
fn lasting(bend: Hinge, before: &ProbeFinding) -> ProbeFinding {
    let found = IOPS.finding(Ok(around(bend.slow, WIDTH, 3)), before.request, before.curve.clone());
    ProbeFinding { how: "the rate that lasts when the bucket of tokens is empty".to_owned(), ..found }
}

/// Small reads were told as if they were the medium's: they were the bucket's.
fn hidden(prober: &mut Prober<'_>, bend: Hinge) -> Vec<ProbeFinding> {
    (prober.reads, prober.small_reads) = (None, None);
    let reason = format!(
        "a bucket of tokens holds the rate: from {:.0} to {:.0} I/Os per second after {:.0}, as a volume with credits does",
        bend.fast, bend.slow, bend.height
    );
    let told = prober.of_reads.iter().map(|finding| ProbeFinding {
        value: None,
        reason: Some(reason.clone()),
        parts: Vec::new(),
        ..finding.clone()
    });
    told.collect()
}

/// Limits that the plateaus of all sizes share.
fn limits(plateaus: &[Plateau], large: &[(u64, u32, f64)], are_told: bool) -> Vec<ProbeFinding> {
    let over = |bytes: bool| {
        let value = |size: Bytes, rate: f64| if bytes { rate * size.0 as f64 } else { rate };
        let points = plateaus
            .iter()
            .map(|&(size, rate, _)| ProbePoint { x: size.0 as f64, y: Interval::exact(value(size, rate)) });
        let unit = if bytes { ProbeUnit::Bandwidth } else { ProbeUnit::Iops };
        curve(("request size", ProbeUnit::Bytes), ("highest rate", unit), points.collect())
    };
    let most = large.iter().map(|point| point.2).fold(0.0, f64::max);
    let size = plateaus.first().map_or(0.0, |plateau| plateau.0.0 as f64);
    let few_bytes = |limit: Interval| {
        let many = large.len() > 1 && limit.mean * size > OF_LARGE * most;
        if many {
            Err("the smallest reads that reach a highest rate move as many bytes as large ones".to_owned())
        } else {
            Ok(limit)
        }
    };
    vec![
        IOPS.finding(of_ios(plateaus, are_told).and_then(few_bytes), Bytes(0), over(false)),
        BYTES.finding(of_bytes(plateaus, large), Bytes(0), over(true)),
    ]
}

/// `are_told` are the stations of small reads: where they are not, sizes that reach one rate leave only a limit.
fn of_ios(plateaus: &[Plateau], are_told: bool) -> Result<Interval, String> {
    let Some((_, first, shared)) = plateaus.first() else {
        return Err("no request size reached a highest rate".to_owned());
    };
    if let (false, Some((_, second, _))) = (are_told, plateaus.get(1))
        && (first / second - 1.0).abs() < SAME
    {
        return Ok(around(*first, WIDTH, plateaus.len() as u32));
    }
    let Some(shared) = shared.filter(|shared| (shared / first - 1.0).abs() < SAME) else {
        return Err("the highest rate is what its stations give together, or a limit near it".to_owned());
    };
    match plateaus.get(1) {
        None => return Err("no two request sizes reached a highest rate".to_owned()),
        // Larger reads may be held by what is behind.
        Some((_, second, behind))
            if (first / second - 1.0).abs() > SAME && (second > first || behind.is_some()) =>
        {
            return Err("the highest rate depends on the request size: it is no limit on I/Os".to_owned());
        }
        _ => {}
    }
    Ok(around(f64::midpoint(shared, *first), WIDTH, plateaus.len() as u32))
}

fn of_bytes(plateaus: &[Plateau], large: &[(u64, u32, f64)]) -> Result<Interval, String> {
    let bytes = level(large)?;
    let sizes =
        plateaus.iter().filter(|(size, rate, _)| (rate * size.0 as f64 / bytes.mean - 1.0).abs() < SAME);
    let Some(..) = sizes.clone().next() else {
        return Err("the bytes per second still grow with the request size".to_owned());
    };
    let is_shared =
        |(_, rate, shared): &Plateau| shared.is_some_and(|shared| (shared / rate - 1.0).abs() < SAME);
    if !sizes.clone().any(is_shared) {
        return Err("the medium itself may give no more: its stations explain the rates".to_owned());
    }
    Ok(bytes)
}

/// The bytes per second of all large reads, where they are the same.
fn level(large: &[(u64, u32, f64)]) -> Result<Interval, String> {
    let rates = || large.iter().map(|point| point.2);
    let (low, high) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    if large.len() < LARGE.len() * LARGE_DEPTHS.len() {
        return Err("large reads were not measured".to_owned());
    }
    if high / low - 1.0 > SAME {
        return Err("the bytes per second of large reads depend on their size or depth".to_owned());
    }
    Ok(around(rates().sum::<f64>() / large.len() as f64, WIDTH, large.len() as u32))
}

fn link(large: &[(u64, u32, f64)], missing: &str) -> ProbeFinding {
    let found = if large.is_empty() { Err(missing.to_owned()) } else { level(large) };
    let points = large.iter().map(|&(size, depth, rate)| ProbePoint {
        x: size as f64 * f64::from(depth),
        y: Interval::exact(rate),
    });
    let over = curve(("bytes in flight", ProbeUnit::Bytes), ("rate", ProbeUnit::Bandwidth), points.collect());
    let mut finding = LINK.finding(found, Bytes(LARGE[1]), over);
    if finding.value.is_some() {
        finding
            .doubts
            .push("The link, or what the medium gives to large reads: cap.bandwidth says which.".to_owned());
    }
    finding
}

fn command(iops: &ProbeFinding, link: Option<f64>, small: Bytes) -> ProbeFinding {
    let Some(limit) = iops.value else {
        return COMMAND.finding(Err(iops.reason.clone().unwrap_or_default()), small, iops.curve.clone());
    };
    // A link that works beside the commands takes nothing of their time: the most it may take widens the interval.
    let time = Interval { mean: 1e9 / limit.mean, low: 1e9 / limit.high, high: 1e9 / limit.low, ..limit };
    let low = time.low.min(time.mean - link.map_or(0.0, |link| small.0 as f64 / link * 1e9));
    let mut finding = COMMAND.finding(Ok(Interval { low: low.max(0.0), ..time }), small, iops.curve.clone());
    finding.parts = vec![part("iops", "limit on I/Os", ProbeUnit::Iops, limit)];
    finding
}

/// Limits once more, now that reads at fewer stations tell whether something before them is full: at this rate of small reads, and of
/// reads of a size.
pub(crate) fn held(
    prober: &mut Prober<'_>,
    small: Option<f64>,
    of_size: Option<(Bytes, f64)>,
) -> Vec<ProbeFinding> {
    let (request, link) = (prober.small(), prober.link);
    let between = prober.dips.unwrap_or(1.0);
    let (small, of_size) =
        (small.map(|rate| rate * between), of_size.map(|(size, rate)| (size, rate * between)));
    let [iops, bytes] = &prober.capped[..] else { return Vec::new() };
    let mut found = Vec::new();
    let told = |before: &ProbeFinding, value| ProbeFinding {
        value: Some(value),
        reason: None,
        how: "half of the stations get more than half of the rate of all: something before them is full"
            .to_owned(),
        ..before.clone()
    };
    let rate = small.filter(|rate| rate * (request.0 as f64) < OF_LARGE * prober.large);
    if let (None, Some(rate)) = (iops.value, rate) {
        let iops = told(iops, around(rate, WIDTH, 3));
        found.push(command(&iops, link.map(|link| link.mean), request));
        found.push(iops);
        prober.limits.iops = Some(rate);
    }
    let is_link = |link: &Interval| {
        of_size.is_some_and(|(size, rate)| (rate * size.0 as f64 / link.mean - 1.0).abs() < SAME)
    };
    if let (None, Some(link)) = (bytes.value, link.filter(is_link)) {
        found.push(told(bytes, link));
        prober.limits.bytes = Some(link.mean);
    }
    found
}

/// The bucket that ran empty, where the rate fell.
fn burst(outcome: Option<&Outcome>, fallen: Option<Hinge>, size: Bytes, missing: &str) -> ProbeFinding {
    let Some(outcome) = outcome else { return BURST.untold(missing) };
    let points = counted(outcome).into_iter().map(|(x, y)| ProbePoint { x, y: Interval::exact(y) });
    let over = curve(("time", ProbeUnit::Seconds), ("I/Os", ProbeUnit::Count), points.collect());
    let Some(bend) = fallen else {
        let reason = format!("the rate did not fall within {:.1} s", outcome.elapsed.as_secs_f64());
        return BURST.finding(Err(reason), size, over);
    };
    let error = 0.03 + 2.0 * bend.misfit * bend.height / bend.intercept;
    let mut finding = BURST.finding(Ok(around(bend.intercept, error, 3)), size, over);
    finding.parts = vec![
        part("before", "rate before", ProbeUnit::Iops, around(bend.fast, WIDTH, 3)),
        part("after", "rate that lasts", ProbeUnit::Iops, around(bend.slow, WIDTH, 3)),
    ];
    finding
}

#[cfg(test)]
mod tests {
    use super::super::finding::ProbeLimits;
    use super::*;

    #[test]
    fn a_rate_is_a_limit_only_where_a_station_that_all_pass_explains_it() {
        let at = |kib: u64, rate: f64, shared: Option<f64>| (Bytes(kib << 10), rate, shared);
        let told = |plateaus: &[Plateau]| of_ios(plateaus, true).map(|limit| limit.mean as u64);
        assert_eq!(told(&[at(4, 1e5, Some(1e5)), at(16, 1e5, None)]), Ok(100_000));
        assert_eq!(
            told(&[at(4, 1e5, Some(1e5)), at(16, 5e4, None)]),
            Ok(100_000),
            "16 KiB wait for the medium"
        );
        assert!(
            told(&[at(4, 1e5, Some(1e5)), at(16, 5e4, Some(5e4))]).is_err(),
            "a station takes time by size"
        );
        let alike = [at(4, 1e5, None), at(16, 1e5, None)];
        assert!(
            told(&alike).is_err() && of_ios(&alike, false).is_ok(),
            "stations explain it, or nothing does"
        );
        let large = [(1 << 18, 16, 4e8), (1 << 18, 64, 4e8), (1 << 20, 16, 4.1e8), (1 << 20, 64, 4e8)];
        assert!(of_bytes(&[at(64, 6110.0, Some(6110.0))], &large).is_ok());
        let iops = |rate| {
            let plateaus = [at(16, rate, Some(rate)), at(64, 6000.0, None)];
            limits(&plateaus, &large, true).remove(0)
        };
        assert!(iops(24_000.0).reason.expect("393 of 410 MB/s").contains("as many bytes"));
        assert!(iops(22_000.0).value.is_some(), "360 of 410 MB/s");
        assert!(of_bytes(&[at(64, 6110.0, None)], &large).expect_err("the medium").contains("medium"));
        assert!(level(&large[1..]).is_err(), "one is missing");
        assert!(level(&[large[0], large[1], (1 << 20, 16, 4.2e8), large[3]]).is_err(), "5 % apart");
    }

    #[test]
    fn a_rate_that_falls_from_the_limit_of_reads_is_taken_for_a_bucket() {
        let limits = ProbeLimits { iops: Some(3_000.0), bytes: Some(1.28e8), credits: None };
        assert!(limits.reason(3_000.0 * 4096.0, Bytes(4096)).is_some());
        assert!(limits.reason(1.28e8, Bytes::kib(128)).is_some());
        assert!(limits.reason(6e7, Bytes::kib(128)).is_none());
        let link = ProbeLimits { iops: None, ..limits };
        assert!(link.reason(1.28e8, Bytes::kib(128)).is_none(), "a link is no bucket");
        assert!(ProbeLimits { credits: Some(9.0), ..link }.reason(1.0, Bytes(512)).is_some());
    }
}
