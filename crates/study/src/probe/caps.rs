//! Does something hold the rate that is not the medium? A limit on I/Os, on bytes, or a bucket of tokens.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Bytes, Caveat, Direction, Interval, Mix, Outcome};

use super::background;
use super::finding::{ProbeSubject, around, curve, part};
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
    how: "reads at one depth fall to a lower rate at once: the I/Os above it until then",
};

/// Plateaus that differ by less are one.
const SAME: f64 = 0.03;
const DEPTH: u32 = 32;
const LONG: Length = Length { seconds: 8.0, ios: 150_000 };
/// A plateau that is that of all sizes is known so well.
const WIDTH: f64 = 0.02;

/// Reads for a while, then looks at this and at the plateaus of before.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let small = prober.small();
    let rate = prober.plateaus.first().map_or(1e4, |plateau| plateau.1);
    let mut job = prober.lasting(prober.job(Mix::READ, small, DEPTH), LONG, rate);
    job.ramp = iostack_model::Nanos(0);
    job.slice = iostack_model::Nanos((job.runtime.unwrap_or_default().0 / 200).max(1));
    let outcome = prober.run(&job);
    let missing = prober.missing();
    let mut findings = limits(&prober.plateaus);
    findings.push(burst(outcome.as_ref(), small, &missing));
    findings.push(background::of_run(outcome.as_ref(), &missing));
    findings
}

/// Limits that the plateaus of all sizes share: each the size, the highest rate, and the rate of a station that all pass.
pub(crate) fn limits(plateaus: &[(Bytes, f64, Option<f64>)]) -> Vec<ProbeFinding> {
    let over = |bytes: bool| {
        let value = |size: Bytes, rate: f64| if bytes { rate * size.0 as f64 } else { rate };
        let points = plateaus
            .iter()
            .map(|&(size, rate, _)| ProbePoint { x: size.0 as f64, y: Interval::exact(value(size, rate)) });
        let unit = if bytes { ProbeUnit::Bandwidth } else { ProbeUnit::Iops };
        curve(("request size", ProbeUnit::Bytes), ("highest rate", unit), points.collect())
    };
    vec![
        IOPS.finding(of_ios(plateaus), Bytes(0), over(false)),
        BYTES.finding(of_bytes(plateaus), Bytes(0), over(true)),
    ]
}

fn of_ios(plateaus: &[(Bytes, f64, Option<f64>)]) -> Result<Interval, String> {
    let [(_, first, shared), (_, second, _), ..] = plateaus else {
        return Err("no two request sizes reached a highest rate".to_owned());
    };
    if (first / second - 1.0).abs() > SAME {
        return Err("the highest rate depends on the request size: it is no limit on I/Os".to_owned());
    }
    let Some(shared) = shared.filter(|shared| (shared / first - 1.0).abs() < SAME) else {
        return Err("the highest rate is what its stations give together, or a limit near it".to_owned());
    };
    Ok(around(f64::midpoint(shared, *first), WIDTH, plateaus.len() as u32))
}

fn of_bytes(plateaus: &[(Bytes, f64, Option<f64>)]) -> Result<Interval, String> {
    let [.., (size, rate, shared), (larger, last, _)] = plateaus else {
        return Err("no two request sizes reached a highest rate".to_owned());
    };
    let (before, bytes) = (rate * size.0 as f64, last * larger.0 as f64);
    if (before / bytes - 1.0).abs() > SAME {
        return Err("the bytes per second still grow with the request size".to_owned());
    }
    if shared.is_none() {
        return Err("the medium itself may give no more: its stations explain the rates".to_owned());
    }
    Ok(around(bytes.max(before), WIDTH, plateaus.len() as u32))
}

/// The bucket that ran empty, where the rate fell.
fn burst(outcome: Option<&Outcome>, size: Bytes, missing: &str) -> ProbeFinding {
    let Some(outcome) = outcome else { return BURST.untold(missing) };
    let points = outcome.series.iter().filter(|slice| slice.length.0 > 0).map(|slice| ProbePoint {
        x: slice.start.as_secs_f64(),
        y: Interval::exact(slice.ios.iter().sum::<u64>() as f64 / slice.length.as_secs_f64()),
    });
    let series = curve(("time", ProbeUnit::Seconds), ("rate", ProbeUnit::Iops), points.collect());
    let step = outcome.caveats.iter().find_map(|caveat| match *caveat {
        Caveat::RateStep { at, before, after } | Caveat::Cliff { at, before, after } if after < before => {
            Some((at, before, after))
        }
        _ => None,
    });
    let Some((at, before, after)) = step else {
        let reason = format!("the rate did not fall within {:.1} s", outcome.elapsed.as_secs_f64());
        return BURST.finding(Err(reason), size, series);
    };
    let credits = (before - after) * at.as_secs_f64();
    let mut finding = BURST.finding(Ok(around(credits, 0.05, 3)), size, series);
    finding.parts = vec![
        part("before", "rate before", ProbeUnit::Iops, around(before, WIDTH, 3)),
        part("after", "rate that lasts", ProbeUnit::Iops, around(after, WIDTH, 3)),
    ];
    finding
}
