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

/// A figure, and how it is had from the outcomes of a run.
struct Known {
    primary: Option<Primary>,
    name: &'static str,
    unit: Unit,
    higher_is_better: bool,
    of: fn(&[Outcome]) -> Option<f64>,
}

const KNOWN: [Known; 6] = [
    Known {
        primary: Some(Primary::Iops),
        name: "IOPS",
        unit: Unit::PerSecond,
        higher_is_better: true,
        of: |outcomes| Some(outcomes.iter().map(Outcome::rate).sum()),
    },
    Known {
        primary: Some(Primary::Bandwidth),
        name: "bandwidth",
        unit: Unit::BytesPerSecond,
        higher_is_better: true,
        of: |outcomes| Some(outcomes.iter().map(Outcome::bandwidth).sum()),
    },
    Known {
        primary: Some(Primary::Latency),
        name: "mean latency",
        unit: Unit::Nanos,
        higher_is_better: false,
        of: |outcomes| Some(latency(outcomes)).filter(|bins| bins.count > 0).map(|bins| bins.mean_ns()),
    },
    Known {
        primary: None,
        name: "p50 latency",
        unit: Unit::Nanos,
        higher_is_better: false,
        of: |outcomes| quantile(outcomes, 0.5),
    },
    Known {
        primary: Some(Primary::P99),
        name: "p99 latency",
        unit: Unit::Nanos,
        higher_is_better: false,
        of: |outcomes| quantile(outcomes, 0.99),
    },
    Known {
        primary: Some(Primary::Cpu),
        name: "CPU per I/O",
        unit: Unit::Nanos,
        higher_is_better: false,
        of: cpu,
    },
];

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
    let rate = if primary == Primary::Bandwidth { Primary::Bandwidth } else { Primary::Iops };
    let wanted = |known: &&Known| match known.primary {
        Some(Primary::Iops | Primary::Bandwidth) => known.primary == Some(rate),
        _ => true,
    };
    let mut known: Vec<&Known> = KNOWN.iter().filter(wanted).collect();
    known.sort_by_key(|known| known.primary != Some(primary));
    let figure = |known: &Known| AbFigure {
        name: known.name.to_owned(),
        unit: known.unit,
        higher_is_better: known.higher_is_better,
    };
    known.into_iter().map(figure).collect()
}

/// These figures of a run; `None` where it was too short for one.
pub(crate) fn of_run(outcomes: &[Outcome], figures: &[AbFigure]) -> Vec<Option<f64>> {
    let of = |figure: &AbFigure| {
        let known = KNOWN.iter().find(|known| known.name == figure.name)?;
        (known.of)(outcomes)
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
        assert_eq!(
            names(Primary::Iops),
            ["IOPS", "mean latency", "p50 latency", "p99 latency", "CPU per I/O"]
        );
        assert_eq!(
            names(Primary::P99),
            ["p99 latency", "IOPS", "mean latency", "p50 latency", "CPU per I/O"]
        );
        assert_eq!(names(Primary::Bandwidth)[0], "bandwidth");
        assert!(!names(Primary::Bandwidth).contains(&"IOPS".to_owned()));
    }
}
