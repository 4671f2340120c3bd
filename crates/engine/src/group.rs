//! Which works are reported as one, and what was counted of them?

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use iostack_host::clock::Clock;
use iostack_host::counters::{self, CpuCount, WorkerWatch, Workers};
use iostack_model::{DeviceCount, Engine, Nanos};
use iostack_workload::load::{Span, group_numbers};

use crate::Work;
use crate::board::Board;
use crate::foreign::Others;
use crate::tally::ThreadResult;
use crate::worker::WorkerReport;

/// Works that are reported as one.
#[derive(Default)]
pub(crate) struct Group<'a> {
    pub(crate) works: Vec<&'a Work>,
    pub(crate) board: Arc<Board>,
    /// Time from the start of the stage to the first measured I/O.
    pub(crate) origin: Nanos,
    pub(crate) before: GroupCounts,
    pub(crate) after: GroupCounts,
    /// Kernel workers of the whole process, from before to after.
    pub(crate) workers: Workers,
    pub(crate) reports: Vec<WorkerReport>,
    pub(crate) started_unix_ms: u64,
    /// Since when its first job runs, ticks.
    pub(crate) begun: Option<u64>,
    pub(crate) counted_before: bool,
    pub(crate) counted_after: bool,
}

/// Counters of the machine at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupCounts {
    pub(crate) device: Option<DeviceCount>,
    pub(crate) cpu: CpuCount,
    /// All other programs and the kernel's threads.
    pub(crate) others: Others,
    workers: Workers,
}

impl<'a> Group<'a> {
    pub(crate) fn new(works: Vec<&'a Work>, watched: bool) -> Group<'a> {
        let threads = works.iter().map(|work| work.job.threads as usize).sum();
        let slice = works.first().map_or(Nanos::secs(1), |work| work.job.slice);
        let starts = works.iter().map(|work| Nanos(Span::in_stage(&work.job).border));
        let mut board = Board::new(threads, slice, watched);
        board.goal = works.iter().find_map(|work| work.job.until_steady);
        Group { board: Arc::new(board), origin: starts.min().unwrap_or_default(), works, ..Group::default() }
    }

    /// True when all its jobs may have to wait for others.
    pub(crate) fn waits(&self) -> bool {
        self.works.iter().all(|work| work.job.wait_for.is_some())
    }

    /// Time until measuring starts; `None` while all its jobs wait for others.
    pub(crate) fn until_origin(&self, now: u64) -> Option<Nanos> {
        let since = Clock::calibrated().nanos(now.saturating_sub(self.begun?));
        Some(self.origin - Nanos(since))
    }

    /// The group's first job.
    pub(crate) fn first(&self) -> &'a Work {
        self.works[0]
    }

    pub(crate) fn threads(&self) -> usize {
        self.works.iter().map(|work| work.job.threads as usize).sum()
    }

    pub(crate) fn count(&self, watch: &mut WorkerWatch) -> GroupCounts {
        if self.works.iter().any(|work| matches!(work.job.engine, Engine::IoUring { .. })) {
            watch.sample();
        }
        GroupCounts {
            device: self.first().storage.top().and_then(|device| counters::device(&device.name)),
            cpu: counters::cpu(),
            others: Others::now(),
            workers: watch.total(),
        }
    }

    /// The group as if it had ended now, with what its threads have published.
    pub(crate) fn so_far(&self, watch: &mut WorkerWatch) -> Group<'a> {
        let (board, standings) = self.board.so_far();
        let report =
            |result: ThreadResult| WorkerReport { first: result.border, result, ..WorkerReport::default() };
        let mut group = Group {
            works: self.works.clone(),
            board: Arc::new(board),
            before: self.before.clone(),
            after: self.after.clone(),
            reports: standings.into_iter().map(report).collect(),
            ..*self
        };
        if !group.counted_after {
            group.count_after(watch);
        }
        group
    }

    /// Counts before the first I/O; `is_last` where none comes before it.
    pub(crate) fn count_before(&mut self, watch: &mut WorkerWatch, is_last: bool) {
        self.before = self.count(watch);
        self.counted_before = is_last;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.started_unix_ms = now.as_millis() as u64;
    }

    pub(crate) fn count_after(&mut self, watch: &mut WorkerWatch) {
        self.after = self.count(watch);
        self.counted_after = true;
        self.workers = Workers {
            count: self.after.workers.count,
            cpu: self.after.workers.cpu - self.before.workers.cpu,
        };
    }
}

/// Works of a stage, those with the same report group together, in the order of their first.
pub(crate) fn groups<'a>(works: &[&'a Work], watched: bool) -> Vec<Group<'a>> {
    let mut lists: Vec<Vec<&Work>> = Vec::new();
    for (work, number) in works.iter().zip(group_numbers(works.iter().map(|work| &work.job))) {
        lists.resize_with(lists.len().max(number + 1), Vec::new);
        lists[number].push(work);
    }
    lists.into_iter().map(|works| Group::new(works, watched)).collect()
}
