//! Which of those that wait is next?

use serde::Deserialize;

use super::arm::Arm;
use crate::engine::{RequestId, Time};

/// Something that needs the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArmJob {
    pub(super) what: ArmPurpose,
    pub(super) first: u64,
    pub(super) count: u64,
    /// The sector to which the head goes for it.
    pub(super) at: u64,
    pub(super) since: Time,
    /// Moment at which a write's data are there.
    pub(super) data: Time,
}

/// Purpose of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArmPurpose {
    Read(RequestId),
    Write(RequestId),
    /// A run, by its number, goes from the write cache to the platter.
    Destage(u64),
    /// Bands are cleaned.
    Clean,
}

/// Rule by which the next job is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ArmOrder {
    /// First come, first served.
    Fcfs,
    /// The shortest seek first.
    Sstf,
    /// The arm goes on in the same direction while there is something, then back.
    Elevator,
    /// The shortest way and turn together first.
    Sptf,
}

impl ArmOrder {
    /// Runs of the write cache that are looked at, from the head's place on in the order of sectors.
    pub(super) const fn window(self) -> usize {
        if matches!(self, ArmOrder::Fcfs) { 1 } else { 32 }
    }

    /// The job with the least of what the order goes by; the first of those alike. `up` is the elevator's direction.
    pub(super) fn next<'a>(
        self,
        jobs: impl Iterator<Item = &'a ArmJob>,
        arm: &Arm,
        now: Time,
        up: &mut bool,
    ) -> Option<usize> {
        let cylinder = |job: &ArmJob| arm.geometry.spot(job.at).track.cylinder;
        let here = arm.at.cylinder;
        let cost = |job: &ArmJob| match self {
            ArmOrder::Fcfs => job.since,
            ArmOrder::Sstf => u64::from(cylinder(job).abs_diff(here)),
            ArmOrder::Elevator => {
                let there = cylinder(job);
                let back = there != here && (there > here) != *up;
                u64::from(back) << 32 | u64::from(there.abs_diff(here))
            }
            ArmOrder::Sptf => arm.positioning(now, job.at, job.data()).iter().sum(),
        };
        let least = jobs.map(cost).enumerate().min_by_key(|&(_, cost)| cost);
        if self == ArmOrder::Elevator && least.is_some_and(|(_, cost)| cost >> 32 == 1) {
            *up = !*up;
        }
        least.map(|(index, _)| index)
    }
}

impl ArmJob {
    /// Moment at which its data are there, of a write.
    pub(super) fn data(&self) -> Option<Time> {
        (!matches!(self.what, ArmPurpose::Read(_))).then_some(self.data)
    }

    pub(super) fn last(&self) -> u64 {
        self.first + self.count
    }
}
