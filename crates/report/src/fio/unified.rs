//! `unified_rw_reporting`: reads, writes and trims as one, which fio calls `mixed`.

use std::borrow::Cow;

use iostack_model::{Direction, Job, Outcome, OutcomeFile};

/// True when the job's report does not tell directions apart.
fn is_unified(job: &Job) -> bool {
    let mut typed = job.options_global.iter().chain(&job.options);
    let last = typed.rfind(|(name, _)| name == "unified_rw_reporting");
    last.is_some_and(|(_, value)| matches!(value.as_str(), "1" | "mixed"))
}

/// Name of a direction in the report.
pub(super) fn name(job: &Job, direction: Direction) -> &'static str {
    if is_unified(job) { "mixed" } else { direction.name() }
}

/// The directions that a report tells of.
pub(super) fn directions(job: &Job) -> &'static [Direction] {
    if is_unified(job) { &[Direction::Read] } else { &Direction::ALL }
}

/// The file, in which outcomes that are reported as one have only reads.
pub(super) fn unified(file: &OutcomeFile) -> Cow<'_, OutcomeFile> {
    let mut file = Cow::Borrowed(file);
    let wanted = |outcome: &Outcome| is_unified(&outcome.job);
    if file.outcomes.iter().any(wanted) {
        file.to_mut().outcomes.iter_mut().filter(|outcome| wanted(outcome)).for_each(put_together);
    }
    file
}

fn put_together(outcome: &mut Outcome) {
    outcome.read.latency = outcome.latency();
    outcome.read.bytes = outcome.bytes();
    for other in [std::mem::take(&mut outcome.write), std::mem::take(&mut outcome.trim)] {
        outcome.read.submit.merge(&other.submit);
        outcome.read.after_submit.merge(&other.after_submit);
        outcome.read.short += other.short;
    }
    for slice in &mut outcome.series {
        for counts in [&mut slice.ios, &mut slice.bytes, &mut slice.latency_sum_ns] {
            *counts = [counts.iter().sum(), 0, 0];
        }
    }
}
