//! What is compared? Figures are named before the first run, the one that gives the answer first.

use iostack_model::{Bins, Job, Outcome};
use iostack_stats::{AbFigure, Unit, samples_needed};

use super::sides::Side;

/// The figure that gives the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Primary {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Latency,
    /// 99th percentile of latency.
    P99,
    /// CPU time per I/O.
    Cpu,
}

/// A figure by its choice, its name and its unit, and how it is had from the outcomes of a run.
type Known = (Option<Primary>, &'static str, Unit, fn(&[Outcome]) -> Option<f64>);

const KNOWN: [Known; 6] = [
    (Some(Primary::Iops), "IOPS", Unit::PerSecond, |outcomes| Some(sum(outcomes, Outcome::rate))),
    (Some(Primary::Bandwidth), "bandwidth", Unit::BytesPerSecond, |outcomes| {
        Some(sum(outcomes, Outcome::bandwidth))
    }),
    (Some(Primary::Latency), "mean latency", Unit::Nanos, |outcomes| {
        Some(latency(outcomes)).filter(|bins| bins.count > 0).map(|bins| bins.mean_ns())
    }),
    (None, "p50 latency", Unit::Nanos, |outcomes| quantile(outcomes, 0.5)),
    (Some(Primary::P99), "p99 latency", Unit::Nanos, |outcomes| quantile(outcomes, 0.99)),
    (Some(Primary::Cpu), "CPU per I/O", Unit::Nanos, cpu),
];

fn sum(outcomes: &[Outcome], rate: fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(rate).sum()
}

fn latency(outcomes: &[Outcome]) -> Bins {
    outcomes.iter().fold(Bins::default(), |mut all, outcome| {
        all.merge(&outcome.latency());
        all
    })
}

fn quantile(outcomes: &[Outcome], fraction: f64) -> Option<f64> {
    let bins = latency(outcomes);
    bins.quantile_ns(fraction).filter(|_| bins.count >= samples_needed(fraction)).map(|ns| ns as f64)
}

fn cpu(outcomes: &[Outcome]) -> Option<f64> {
    let ios: u64 = outcomes.iter().map(Outcome::ios).sum();
    let spent: u64 = outcomes.iter().map(|outcome| outcome.cpu.total().0).sum();
    (ios > 0).then(|| spent as f64 / ios as f64)
}

/// Figure that the jobs leave free: latency where their rates are given, bytes where their blocks differ.
pub(crate) fn primary(sides: &[Side; 2]) -> Primary {
    let paced = |side: &Side| !side.jobs.is_empty() && side.jobs.iter().all(|job| job.rate.is_some());
    let blocks =
        |side: &Side| -> Vec<_> { side.jobs.iter().map(|job: &Job| job.block_sizes.clone()).collect() };
    if sides.iter().all(paced) {
        Primary::Latency
    } else if blocks(&sides[0]) == blocks(&sides[1]) {
        Primary::Iops
    } else {
        Primary::Bandwidth
    }
}

/// The figures to be tested together: a rate in one unit only, since equal blocks make the other one the same.
pub(crate) fn figures(primary: Primary) -> Vec<AbFigure> {
    let other = if primary == Primary::Bandwidth { Primary::Iops } else { Primary::Bandwidth };
    let mut known: Vec<&Known> = KNOWN.iter().filter(|known| known.0 != Some(other)).collect();
    known.sort_by_key(|known| known.0 != Some(primary));
    // Of rates more is better, of times less.
    let figure = |&(_, name, unit, _): &Known| AbFigure {
        name: name.to_owned(),
        unit,
        higher_is_better: unit != Unit::Nanos,
    };
    known.into_iter().map(figure).collect()
}

/// These figures of a run; `None` where it was too short for one.
pub(crate) fn of_run(outcomes: &[Outcome], figures: &[AbFigure]) -> Vec<Option<f64>> {
    let of = |figure: &AbFigure| {
        let (.., of) = KNOWN.iter().find(|(_, name, ..)| *name == figure.name)?;
        of(outcomes)
    };
    figures.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Arrival, BlockSizes, Bytes, Rate};

    fn side(change: impl Fn(&mut Job)) -> Side {
        let mut job = Job::default();
        change(&mut job);
        Side { name: String::new(), jobs: vec![job], on: None, changes: Vec::new() }
    }

    #[test]
    fn the_primary_figure_is_what_the_jobs_leave_free() {
        let plain = || side(|_| ());
        let large = || side(|job| job.block_sizes = BlockSizes::all(Bytes::kib(64)));
        let paced = || side(|job| job.rate = Some(Rate { iops: 100.0, arrival: Arrival::Regular }));
        assert_eq!(primary(&[plain(), plain()]), Primary::Iops);
        assert_eq!(primary(&[plain(), large()]), Primary::Bandwidth);
        assert_eq!(primary(&[paced(), paced()]), Primary::Latency);
        assert_eq!(primary(&[plain(), paced()]), Primary::Iops, "one of them is free");
    }

    #[test]
    fn the_primary_figure_stands_first_and_each_once() {
        let names = |primary| figures(primary).into_iter().map(|figure| figure.name).collect::<Vec<_>>();
        let [mean, p50, p99, cpu] = ["mean latency", "p50 latency", "p99 latency", "CPU per I/O"];
        assert_eq!(names(Primary::Iops), ["IOPS", mean, p50, p99, cpu]);
        assert_eq!(names(Primary::P99), [p99, "IOPS", mean, p50, cpu]);
        assert_eq!(names(Primary::Bandwidth)[0], "bandwidth");
        assert!(!names(Primary::Bandwidth).contains(&"IOPS".to_owned()));
    }
}
