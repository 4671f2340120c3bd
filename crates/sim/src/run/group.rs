//! What is counted of jobs that are reported as one?

use std::path::PathBuf;

use iostack_model::{
    Direction, Failure, FlashUse, HostUse, Job, Load, LogEntry, Nanos, Outcome, RaidUse, ResourceUse,
    Storage, TargetKind, TargetName,
};
use iostack_workload::load::{NOT_STEADY, Search, Span, look_for_steadiness, ramp_of};

use super::board::Board;
use super::load::Full;
use super::{RunOptions, SimError};
use crate::engine::{Request, Time, World};

/// The stop flag is looked at so often: with a completion of a drive that collects garbage in a tenth of a millisecond, a few
/// times a second.
const LOOK_EVERY: u64 = 1 << 12;

/// ETIMEDOUT, as the engine says it.
pub(super) const TIMED_OUT: i32 = 110;

/// The wait for the last answers is at most this part of a window.
const DRAIN_SHARE: u64 = 10;

/// Jobs that are reported as one.
#[derive(Default)]
pub(super) struct Group<'a> {
    pub(super) jobs: Vec<&'a Job>,
    pub(super) board: Board,
    /// Findings of the jobs so far; the figures come when all has ended.
    pub(super) outcome: Outcome,
    /// Start of the series.
    pub(super) origin: Time,
    /// The series has started.
    pub(super) open: bool,
    /// No slice ends after it: what is still in flight then belongs to the last one.
    until: Time,
    /// Jobs that are still to begin.
    to_start: usize,
    pub(super) workers_left: usize,
    pub(super) requests: u64,
    /// I/Os submitted, by direction; only of a replay.
    pub(super) submitted: [u64; 3],
    pub(super) late: Option<Nanos>,
    pub(super) ended: Option<GroupEnd>,
    /// Moment when progress was told last.
    pub(super) looked: Time,
    full: Full,
    /// It is full when measuring starts: each job has a ramp.
    ramped: bool,
    /// Use of the resources until the time was up, where measuring ends then.
    resources: Option<Vec<ResourceUse>>,
}

/// Figures of the device at the end of a group.
pub(super) struct GroupEnd {
    pub(super) elapsed: Nanos,
    pub(super) resources: Vec<ResourceUse>,
    pub(super) flash: Vec<FlashUse>,
    pub(super) raid: Option<RaidUse>,
    pub(super) gauges: Vec<(&'static str, f64)>,
    pub(super) events: u64,
    pub(super) host: Option<HostUse>,
}

impl<'a> Group<'a> {
    pub(super) fn new(job: &Job, now: Time, watched: bool) -> Group<'a> {
        let target = TargetName { kind: TargetKind::Sim, path: PathBuf::new() };
        let steady = job.until_steady.map(|_| NOT_STEADY);
        Group {
            outcome: Outcome { steady, ..Outcome::empty(job.clone(), target, Storage::default()) },
            board: Board::new(job.slice, watched, job.until_steady.is_none()),
            origin: Time::MAX,
            looked: now,
            ramped: true,
            ..Group::default()
        }
    }

    /// A job that begins now.
    pub(super) fn add(&mut self, job: &'a Job, now: Time) {
        self.expects(job);
        self.starts(job, now);
    }

    /// A job that is still to begin: until then it has no end.
    pub(super) fn expects(&mut self, job: &'a Job) {
        self.to_start += 1;
        self.workers_left += job.threads as usize;
        self.full.to_begin += job.threads as usize;
        self.ramped &= ramp_of(job).0 > 0 && job.runtime.is_some() && !job.sync.end_fsync;
        self.ramped &= job.wait_for.is_none() && job.latency_goal.is_none();
        self.jobs.push(job);
    }

    /// A job of these begins.
    pub(super) fn starts(&mut self, job: &Job, now: Time) {
        let Span { border, until, .. } = Span::of_job(job, now, |ns| ns);
        self.to_start -= 1;
        if job.latency_goal.is_none_or(|goal| goal.goes_on) {
            self.origin = self.origin.min(border);
        }
        self.until = self.until.max(until);
    }

    /// No slice ends after it.
    pub(super) fn until(&self) -> Time {
        if self.to_start > 0 { Time::MAX } else { self.until }
    }

    /// A thread begins to measure.
    pub(super) fn begins(&mut self, now: Time) {
        self.full.begins(now, self.board.flight(now));
    }

    /// A thread submits no more.
    #[inline]
    pub(super) fn dries(&mut self, world: &World, begun: bool) {
        if !self.full.is_over() {
            self.dries_first(world, begun);
        }
    }

    #[cold]
    fn dries_first(&mut self, world: &World, begun: bool) {
        let now = world.now();
        self.full.ends(now, self.board.flight(now));
        if self.ramped && begun && now >= self.until() {
            self.resources = Some(world.resources());
        }
    }

    /// End of measuring: the last answer, unless the load was full from the start, and the wait for the last answers
    /// is short beside the window. So the depth achieved is never more than so much above the asked one.
    fn end_of_measuring(&self) -> Time {
        let last = self.board.last;
        let waits = last.saturating_sub(self.until);
        let is_window = self.ramped && waits <= self.until.saturating_sub(self.origin) / DRAIN_SHARE;
        if is_window { last.min(self.until) } else { last }
    }

    /// Fullness of the load that was counted.
    pub(super) fn load(&self, elapsed: Nanos, flown: u128) -> Option<Load> {
        self.full.told(elapsed, flown)
    }

    /// Keeps an I/O for the logs of `job`.
    pub(super) fn note(&mut self, job: &Job, entry: &LogEntry) {
        job.logs.keep(entry, &mut self.outcome.log, &mut self.outcome.log_spans);
    }

    /// Keeps the I/O of a thread, which was meant to start at `start`, for the logs of its job.
    pub(super) fn note_io(&mut self, (job, thread): (&Job, u32), request: &Request, start: Time, now: Time) {
        if !job.logs.are_wanted() {
            return;
        }
        let entry = LogEntry {
            time: Nanos(now - self.origin),
            thread,
            direction: Direction::ALL[request.kind as usize],
            offset: request.offset,
            length: request.length,
            latency: Nanos(now - start),
            submit: Nanos(0),
            file: 0,
            io_priority: 0,
        };
        self.note(job, &entry);
    }

    /// All has been measured: what does the device show?
    pub(super) fn end(&mut self, world: &World, begun: bool, events_before: u64) {
        self.ended = Some(GroupEnd {
            elapsed: Nanos(self.end_of_measuring().saturating_sub(self.origin)),
            resources: match self.resources.take() {
                Some(resources) => resources,
                None if begun => world.resources(),
                None => Vec::new(),
            },
            flash: world.flash(),
            raid: world.raid(),
            gauges: world.gauges(),
            events: world.events() - events_before,
            host: if begun { world.host(self.board.ios()) } else { None },
        });
    }

    /// A read brought what was not written, or the device did not do what the job demands ([`TIMED_OUT`]).
    pub(super) fn fails(&mut self, errno: i32, direction: Direction, offset_first: u64, message: String) {
        let failures = &mut self.outcome.failures;
        match failures.iter_mut().find(|known| known.errno == errno) {
            Some(known) => known.count += 1,
            None => {
                failures.push(Failure { direction, errno, count: 1, offset_first, message, ignored: false });
            }
        }
    }

    /// A thread that searched a depth has ended.
    pub(super) fn finds(&mut self, search: &Search) {
        match search.result() {
            Some(found) if self.outcome.depth_found.is_none_or(|least| found.depth < least.depth) => {
                self.outcome.depth_found = Some(found);
            }
            None if !self.outcome.interrupted => self.fails(TIMED_OUT, Direction::Read, 0, search.unfound()),
            _ => {}
        }
    }

    /// True when its rate has been steady for as long as its jobs ask.
    pub(super) fn is_steady(&mut self) -> bool {
        let goal = self.jobs.iter().find_map(|job| job.until_steady);
        let seen = goal.and_then(|goal| look_for_steadiness(&goal, &self.board.closed, self.board.slice));
        self.outcome.steady = seen.or(self.outcome.steady);
        seen.is_some_and(|seen| seen.attained)
    }
}

/// Completions and alarms between two looks at stop flag and progress.
pub(super) fn looks_every(options: &RunOptions<'_>) -> u64 {
    let every = options.progress.map_or(LOOK_EVERY, |_| options.progress_every_requests.max(1));
    every.min(LOOK_EVERY)
}

/// Nothing more happens, and `count` requests are in flight.
pub(super) fn unserved(world: &World, count: u64) -> SimError {
    let first = world.sim.oldest().map_or_else(String::new, |request| {
        let Request { kind, offset, length, submitted, .. } = request;
        format!("{kind:?} of {length} bytes at {offset}, submitted at {}", Nanos(*submitted))
    });
    SimError::Unserved { count, first, at: Nanos(world.now()) }
}
