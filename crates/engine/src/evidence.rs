//! What was gathered beside the outcome, for its doubts.

use iostack_doubt::Evidence;
use iostack_host::clock::Clock;
use iostack_model::{Bytes, Outcome};

use crate::group::Group;
use crate::worker::WorkerReport;

/// Gathers, after the run, what the doubts about an outcome ask. `alone`: no other group of the run used the device.
pub(crate) fn evidence_of_group(
    group: &Group<'_>,
    reports: &[WorkerReport],
    outcome: &Outcome,
    alone: bool,
) -> Evidence {
    let machine = iostack_host::machine();
    let asked: Vec<_> =
        reports.iter().filter_map(|report| Some((report.unwritten?, report.region))).collect();
    let sum = |sum: (Bytes, Bytes), part: &(Bytes, Bytes)| (sum.0 + part.0, sum.1 + part.1);
    let largest = reports.iter().map(|report| report.region).max().unwrap_or_default();
    let region = if outcome.job.offset_increment.0 > 0 { largest * reports.len() as u64 } else { largest };
    let ramped = outcome.job.ramp.0 > 0 || outcome.job.start_delay.0 > 0;
    Evidence {
        simulated: false,
        alone,
        unwritten: (!asked.is_empty()).then(|| asked.iter().fold((Bytes(0), Bytes(0)), sum)),
        workers: group.workers.count,
        io_limit: iostack_host::cgroup_io_limit(&outcome.storage),
        clock_other: (!Clock::calibrated().is_steady()).then(|| machine.kernel.clock_source.clone()),
        machine: Some(machine),
        region,
        border_ios: if ramped { u64::from(outcome.job.in_flight()) } else { 0 },
    }
}
