//! Which of those that wait is next?

use super::arm::Arm;
use crate::engine::{RequestId, Time};

/// Something that needs the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) what: What,
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) since: Time,
}

/// For whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Read(RequestId),
    Write(RequestId),
    /// From the write cache to the platter: the number of the run.
    Destage(u64),
}

/// How the next is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// First come, first served.
    Fcfs,
    /// Shortest seek.
    Sstf,
    /// On in the same direction while there is something, then back.
    Elevator,
    /// Shortest way and turn together.
    Sptf,
}

impl Order {
    pub(super) fn of(word: &str) -> Order {
        match word {
            "sstf" => Order::Sstf,
            "elevator" => Order::Elevator,
            "sptf" => Order::Sptf,
            _ => Order::Fcfs,
        }
    }

    /// Runs of the write cache that are looked at, from the head's place on in the order of sectors.
    pub(super) const fn window(self) -> usize {
        if matches!(self, Order::Fcfs) { 1 } else { 32 }
    }

    /// The job with the least of what the order goes by; the first of those alike. `up` is the elevator's direction.
    pub(super) fn next<'a>(
        self,
        jobs: impl Iterator<Item = &'a Job>,
        arm: &Arm,
        now: Time,
        up: &mut bool,
    ) -> Option<usize> {
        let cylinder = |job: &Job| arm.geometry.spot(job.first).track.cylinder;
        let here = arm.at.cylinder;
        let cost = |job: &Job| match self {
            Order::Fcfs => job.since,
            Order::Sstf => u64::from(cylinder(job).abs_diff(here)),
            Order::Elevator => {
                let there = cylinder(job);
                let back = there != here && (there > here) != *up;
                u64::from(back) << 32 | u64::from(there.abs_diff(here))
            }
            Order::Sptf => {
                let (way, turn) = arm.positioning(now, job.first, job.writes());
                way + turn
            }
        };
        let least = jobs.map(cost).enumerate().min_by_key(|&(_, cost)| cost);
        if self == Order::Elevator && least.is_some_and(|(_, cost)| cost >> 32 == 1) {
            *up = !*up;
        }
        least.map(|(index, _)| index)
    }
}

impl Job {
    pub(super) fn writes(&self) -> bool {
        !matches!(self.what, What::Read(_))
    }

    pub(super) fn last(&self) -> u64 {
        self.first + self.count
    }
}
