//! What of an answer goes into the history?

use anyhow::bail;
use iostack_model::answers::{Answer, HistoryCondition, HistoryRun, SeriesName};
use iostack_model::{Interval, Outcome, TargetKind};
use iostack_stats::{AbReport, AbSide, compare, followed, rate_interval};
use serde::{Deserialize, Serialize};

use crate::cmd::compare::{self, Named};
use crate::stored::Stored;

/// An outcome as the index has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Noted {
    /// The series it belongs to.
    pub(super) name: SeriesName,
    pub(super) run: HistoryRun,
}

/// The outcomes of an answer, and the figures of each that are followed.
pub(super) struct FoundOutcomes {
    named: Named,
    figures: Vec<[Option<Interval>; 3]>,
}

/// The outcomes of a run, a check or a comparison in turns, which has one a side.
pub(super) fn found(stored: &Stored) -> anyhow::Result<FoundOutcomes> {
    if stored.kind == AbReport::KIND {
        return Ok(sides(&stored.parse()?));
    }
    let named = compare::named(stored)?;
    if named.outcomes.is_empty() {
        bail!("`{}` has no outcome: it was cut short; add one that ran", stored.path);
    }
    let figures = named.outcomes.iter().map(|(_, outcome)| followed(outcome)).collect();
    Ok(FoundOutcomes { named, figures })
}

/// Both sides, with the mean of each figure over a side's runs.
fn sides(report: &AbReport) -> FoundOutcomes {
    let side = |side: AbSide, name: &str| {
        let at = report.design.figures.iter().position(|figure| figure.name == name)?;
        let turns = report.blocks.iter().flat_map(|block| block.order.iter().zip(&block.runs));
        let values: Vec<f64> =
            turns.filter(|(of, _)| **of == side).filter_map(|(_, run)| *run.figures.get(at)?).collect();
        (!values.is_empty()).then(|| rate_interval(&values))
    };
    let figures =
        [AbSide::A, AbSide::B].map(|of| ["IOPS", "p50 latency", "p99 latency"].map(|name| side(of, name)));
    let outcomes = report.arms.iter().map(|arm| {
        let job = arm.jobs.first().cloned().unwrap_or_default();
        let empty = Outcome::empty(job, arm.target.clone(), arm.storage.clone());
        (arm.name.clone(), Outcome { started_unix_ms: report.started_unix_ms, ..empty })
    });
    let (machine, outcomes) = (report.machine.clone(), outcomes.collect());
    FoundOutcomes {
        named: Named { iostack: report.iostack.clone(), machine, outcomes },
        figures: figures.to_vec(),
    }
}

impl FoundOutcomes {
    /// A line of the index for each outcome; `machine` is what the user calls the machine, `added` the time where an
    /// outcome has none of its own.
    pub(super) fn noted(&self, answer: &str, machine: Option<&str>, added: u64) -> Vec<Noted> {
        let mut all: Vec<Noted> = Vec::new();
        for (((job, outcome), figures), place) in self.named.outcomes.iter().zip(&self.figures).zip(0..) {
            let target = outcome.target.to_string();
            let mut name = SeriesName { machine: self.machine(outcome, machine), target, job: job.clone() };
            // Outcomes of one answer are never runs of one series.
            let alike = all
                .iter()
                .filter(|other| other.name.target == name.target)
                .filter(|other| other.name.job == *job || other.name.job.starts_with(&format!("{job} #")));
            if let more @ 1.. = alike.count() {
                name.job = format!("{job} #{}", more + 1);
            }
            let [iops, p50_ns, p99_ns] = *figures;
            let unix_ms = if outcome.started_unix_ms > 0 { outcome.started_unix_ms } else { added };
            let (iostack, answer) = (self.named.iostack.clone(), answer.to_owned());
            let doubts = outcome.caveats.len() as u32;
            let run = HistoryRun { unix_ms, iostack, iops, p50_ns, p99_ns, doubts, answer, outcome: place };
            all.push(Noted { name, run });
        }
        all
    }

    fn machine(&self, outcome: &Outcome, called: Option<&str>) -> String {
        let cpu = &self.named.machine.cpu;
        match (outcome.target.kind, called) {
            (TargetKind::Sim, _) => "SIMULATED".to_owned(),
            (TargetKind::Lab, _) => "LAB".to_owned(),
            (_, Some(name)) => name.to_owned(),
            (_, None) => format!("{}, {} CPUs", cpu.model, cpu.cores_online),
        }
    }
}

/// Conditions that differ between two runs; each run is an answer and the index of an outcome in it.
pub(super) fn changed(before: (&FoundOutcomes, u32), after: (&FoundOutcomes, u32)) -> Vec<HistoryCondition> {
    let outcome = |(found, place): (&FoundOutcomes, u32)| {
        found.named.outcomes.get(place as usize).map(|(_, one)| one.clone())
    };
    let (Some(a), Some(b)) = (outcome(before), outcome(after)) else { return Vec::new() };
    let (of_a, of_b) = (&before.0.named, &after.0.named);
    let told = compare(&a, &b, (&of_a.machine, &of_b.machine), iostack_doubt::says);
    let version = ("iostack".to_owned(), of_a.iostack.clone(), of_b.iostack.clone());
    let all = told.conditions.into_iter().map(|one| (one.name, one.a, one.b));
    let all = all.chain(Some(version).filter(|(_, a, b)| a != b));
    all.map(|(name, before, after)| HistoryCondition { name, before, after }).collect()
}
