//! What does an outcome say, and how sure is each of its figures?
//!
//! Each figure gets the interval that its run supports. Where a figure has none of its own, the table says which one it
//! gets: nothing is called certain that was measured once.
//!
//! | figure | interval from |
//! | --- | --- |
//! | IOPS, bandwidth, mean latency, depth | the series of slices |
//! | p50, p99, p99.9 | order statistics, widened as far as the slices' own p50 and p99 vary more than those allow |
//! | CPU per I/O | the rate's: a thread that is always busy costs per I/O what the rate leaves it |

use iostack_model::{Bins, Direction, Flow, Interval, IntervalFlow, Nanos, Outcome};

use crate::interval::{rate_interval, whole};
use crate::judgement::Aim;
use crate::quantile::{quantile_interval, samples_needed};
use crate::unit::Unit;

/// One figure of one outcome.
pub(crate) struct OutcomeFigure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) aim: Aim,
    pub(crate) value: Interval,
}

/// Directions with I/O.
pub(crate) fn directions(outcome: &Outcome) -> Vec<Direction> {
    Direction::ALL.into_iter().filter(|&direction| outcome.flow(direction).latency.count > 0).collect()
}

/// All figures of an outcome; those of single directions bear its name when there is more than one.
pub(crate) fn figures(outcome: &Outcome, by_direction: bool) -> Vec<OutcomeFigure> {
    let all = FlowPart::all(outcome);
    let mut figures = Vec::from(rates("", &all));
    if by_direction {
        for direction in directions(outcome) {
            let (name, part) = (direction.name(), FlowPart::of_direction(outcome, direction));
            figures.extend(rates(name, &part));
            figures.extend(latencies(name, &part));
        }
    } else {
        figures.extend(latencies("", &all));
    }
    if let Some(cost) = outcome.cpu_ns_per_io() {
        figures.push(figure("", "CPU per I/O", Unit::Nanos, Aim::Lower, around(cost, all.iops())));
    }
    // In a closed loop depth is what was asked for; in an open loop it is what piled up.
    let aim = if outcome.job.rate.is_some() { Aim::Lower } else { Aim::Higher };
    figures.push(figure("", "depth", Unit::Count, aim, all.depth(outcome.depth_achieved)));
    figures.retain(|figure| figure.value.mean > 0.0);
    figures
}

/// IOPS, median and 99th percentile of an outcome: what is followed from run to run. `None` where it has none.
pub fn followed(outcome: &Outcome) -> [Option<Interval>; 3] {
    let all = figures(outcome, false);
    ["IOPS", "p50 latency", "p99 latency"]
        .map(|name| all.iter().find(|figure| figure.name == name).map(|figure| figure.value))
}

fn figure(direction: &str, name: &str, unit: Unit, aim: Aim, value: Interval) -> OutcomeFigure {
    let name = if direction.is_empty() { name.to_owned() } else { format!("{direction} {name}") };
    OutcomeFigure { name, unit, aim, value }
}

fn rates(direction: &str, part: &FlowPart) -> [OutcomeFigure; 2] {
    [
        figure(direction, "IOPS", Unit::PerSecond, Aim::Higher, part.iops()),
        figure(direction, "bandwidth", Unit::BytesPerSecond, Aim::Higher, part.bandwidth()),
    ]
}

/// Mean latency, and those percentiles that the samples support.
fn latencies(direction: &str, part: &FlowPart) -> Vec<OutcomeFigure> {
    let lower = |name: &str, value| figure(direction, name, Unit::Nanos, Aim::Lower, value);
    let percentiles = [("p50 latency", 0.5), ("p99 latency", 0.99), ("p99.9 latency", 0.999)];
    let mut figures = vec![lower("mean latency", part.latency_mean())];
    for (name, fraction) in percentiles {
        if part.latency.count >= samples_needed(fraction) {
            figures.extend(part.latency_quantile(fraction).map(|value| lower(name, value)));
        }
    }
    figures
}

/// One direction of an outcome, or all.
struct FlowPart<'a> {
    outcome: &'a Outcome,
    /// Directions it covers, as indices of the series' arrays.
    lanes: Vec<usize>,
    latency: Bins,
    bytes: u64,
}

impl<'a> FlowPart<'a> {
    fn all(outcome: &'a Outcome) -> Self {
        let lanes = (0..Direction::ALL.len()).collect();
        FlowPart { outcome, lanes, latency: outcome.latency(), bytes: outcome.bytes().0 }
    }

    fn of_direction(outcome: &'a Outcome, direction: Direction) -> Self {
        let Flow { latency, bytes, .. } = outcome.flow(direction);
        FlowPart { outcome, lanes: vec![direction as usize], latency: latency.clone(), bytes: bytes.0 }
    }

    fn iops(&self) -> Interval {
        self.rate(self.latency.count, |element| element.ios)
    }

    fn bandwidth(&self) -> Interval {
        self.rate(self.bytes, |element| element.bytes)
    }

    /// A total of the run as a rate, with the relative interval that the slices give.
    fn rate(&self, total: u64, counts: impl Fn(&IntervalFlow) -> [u64; 3]) -> Interval {
        let seconds = self.outcome.elapsed.as_secs_f64();
        let mean = if seconds > 0.0 { total as f64 / seconds } else { 0.0 };
        around(mean, self.slices(|element| per_second(self.sum(counts(element)), element.length)))
    }

    fn latency_mean(&self) -> Interval {
        let of_slice = |element: &IntervalFlow| {
            let ios = self.sum(element.ios);
            (ios > 0).then(|| self.sum(element.latency_sum_ns) as f64 / ios as f64)
        };
        around(self.latency.mean_ns(), self.slices(of_slice))
    }

    /// I/Os in flight: time spent in I/Os over time, by Little's law.
    fn depth(&self, achieved: f64) -> Interval {
        let slices = self.slices(|element| per_second(self.sum(element.latency_sum_ns), element.length));
        around(achieved, slices)
    }

    fn latency_quantile(&self, fraction: f64) -> Option<Interval> {
        let alone = quantile_interval(&self.latency, fraction)?;
        let of_slice = |element: &IntervalFlow| if fraction <= 0.5 { element.p50 } else { element.p99 };
        let slices = self.slices(|element| Some(of_slice(element).0 as f64).filter(|&ns| ns > 0.0));
        let sampled = quantile_interval(&self.outcome.latency(), if fraction <= 0.5 { 0.5 } else { 0.99 })?;
        let factor = slices.relative() / sampled.relative();
        if slices.samples < 3 || factor.is_nan() || factor <= 1.0 {
            return Some(alone);
        }
        Some(Interval {
            low: (alone.mean - (alone.mean - alone.low) * factor).max(0.0),
            high: alone.mean + (alone.high - alone.mean) * factor,
            samples: alone.samples.min(slices.samples),
            ..alone
        })
    }

    /// The interval of a figure that each whole slice has one of.
    fn slices(&self, value: impl Fn(&IntervalFlow) -> Option<f64>) -> Interval {
        let values: Vec<f64> = whole(&self.outcome.series).iter().filter_map(value).collect();
        rate_interval(&values)
    }

    fn sum(&self, lanes: [u64; 3]) -> u64 {
        self.lanes.iter().map(|&lane| lanes[lane]).sum()
    }
}

fn per_second(amount: u64, length: Nanos) -> Option<f64> {
    (length.0 > 0).then(|| amount as f64 / length.as_secs_f64())
}

/// `value` with the relative uncertainty of `like`.
fn around(value: f64, like: Interval) -> Interval {
    if like.mean <= 0.0 {
        return Interval { samples: 0, ..Interval::exact(value) };
    }
    let factor = value / like.mean;
    Interval { mean: value, low: like.low * factor, high: like.high * factor, samples: like.samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::outcome;

    #[test]
    fn correlated_latencies_widen_the_interval_of_percentiles() {
        let one = outcome(1, 3_000.0);
        let alone = quantile_interval(&one.latency(), 0.5).unwrap();
        let told = FlowPart::all(&one).latency_quantile(0.5).unwrap();
        assert!(told.relative() > alone.relative() && told.samples <= 30, "{told:?} for {alone:?}");
    }
}
