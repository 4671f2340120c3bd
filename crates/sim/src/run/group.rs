//! What is counted of jobs that are reported as one?

use iostack_model::{AppUse, Direction, Failure, FlashUse, HostUse, Job, LogEntry, Nanos, ResourceUse};

use super::board::Board;
use super::worker::ramp_of;
use super::{RunOptions, SimError};
use crate::engine::{Request, Time, World};

/// The stop flag is looked at so often.
pub(super) const LOOK_EVERY: u64 = 1 << 16;

/// Jobs that are reported as one.
pub(super) struct Group<'a> {
    pub(super) jobs: Vec<&'a Job>,
    pub(super) board: Board,
    /// Where the series starts.
    pub(super) origin: Time,
    /// The series has started.
    pub(super) open: bool,
    pub(super) slice: u64,
    /// No slice ends after it: what is still in flight then belongs to the last one.
    pub(super) until: Time,
    pub(super) workers_left: usize,
    pub(super) requests: u64,
    /// I/Os submitted, by direction; only of a replay.
    pub(super) submitted: [u64; 3],
    pub(super) failures: Vec<Failure>,
    pub(super) verified: u64,
    pub(super) log: Vec<LogEntry>,
    pub(super) interrupted: bool,
    pub(super) late: Option<Nanos>,
    pub(super) ended: Option<Ended>,
    /// Of an application: what it did.
    pub(super) app: Option<AppUse>,
    /// When progress was told last.
    pub(super) looked: Time,
}

/// What the device shows at the end of a group.
pub(super) struct Ended {
    pub(super) elapsed: Nanos,
    pub(super) resources: Vec<ResourceUse>,
    pub(super) flash: Vec<FlashUse>,
    pub(super) gauges: Vec<(&'static str, f64)>,
    pub(super) events: u64,
    pub(super) host: Option<HostUse>,
}

impl<'a> Group<'a> {
    pub(super) fn new(job: &Job, now: Time, watched: bool) -> Group<'a> {
        Group {
            jobs: Vec::new(),
            board: Board::new(job.slice, watched),
            origin: Time::MAX,
            open: false,
            slice: job.slice.0,
            until: 0,
            workers_left: 0,
            requests: 0,
            submitted: [0; 3],
            failures: Vec::new(),
            verified: 0,
            log: Vec::new(),
            interrupted: false,
            late: None,
            ended: None,
            app: None,
            looked: now,
        }
    }

    pub(super) fn add(&mut self, job: &'a Job, now: Time) {
        let border = now + (job.start_delay + ramp_of(job)).0;
        self.origin = self.origin.min(border);
        self.until = self.until.max(job.runtime.map_or(Time::MAX, |runtime| border + runtime.0));
        self.workers_left += job.threads as usize;
        self.jobs.push(job);
    }

    /// All has been measured: what does the device show?
    pub(super) fn end(&mut self, world: &World, begun: bool, events_before: u64) {
        self.ended = Some(Ended {
            elapsed: Nanos(self.board.last.saturating_sub(self.origin)),
            resources: if begun { world.resources() } else { Vec::new() },
            flash: world.flash(),
            gauges: world.gauges(),
            events: world.events() - events_before,
            host: if begun { world.host(self.board.ios()) } else { None },
        });
    }

    pub(super) fn fails(&mut self, offset_first: u64, message: String) {
        if let Some(known) = self.failures.first_mut() {
            known.count += 1;
        } else {
            let direction = Direction::Read;
            self.failures.push(Failure { direction, errno: 0, count: 1, offset_first, message });
        }
    }
}

/// Completions between two looks at stop flag and progress.
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
