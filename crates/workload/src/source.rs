//! Which I/O comes next, and when is it enough?
//!
//! The plan makes operations 256 at a time; the loop takes them one by one. All limits (I/Os, bytes, passes over the
//! region) are applied when a batch is fetched, so the loop itself pays nothing for them and the count is exact.
//!
//! During a ramp there is no limit; [`Source::begin`] starts the count.

use std::sync::Arc;

use iostack_model::{Access, Job, Order};

use crate::trace::Recording;
use crate::{Filled, Op, Plan};

const BATCH: usize = 256;
const READ: u8 = 0;
const WRITE: u8 = 1;
const UNLIMITED: u64 = u64::MAX;

/// Limits of one thread's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Passes over the region.
    pub passes: u64,
}

impl Limits {
    /// None at all.
    pub const NONE: Limits = Limits { ios: UNLIMITED, bytes: UNLIMITED, passes: UNLIMITED };

    /// Those of a job, as fio means them: `io_limit` replaces the size and may go over the region several times;
    /// `time_based` ignores both, as long as there is a runtime that ends it.
    pub fn of_job(job: &Job) -> Limits {
        let loops = u64::from(job.loops.max(1));
        let endless = job.time_based && job.runtime.is_some();
        let bytes = match job.io_limit {
            Some(bytes) if !endless => bytes.0.saturating_mul(loops),
            _ => UNLIMITED,
        };
        let passes = if endless || bytes != UNLIMITED { UNLIMITED } else { loops };
        let ios = if job.beforehand.is_all { 0 } else { job.io_count.unwrap_or(UNLIMITED) };
        Limits { ios, bytes, passes }
    }

    /// Bytes until the limits, for the progress; `None` when only time ends the job.
    pub fn bytes_of(self, pass: u64, block: u64) -> Option<u64> {
        let by_passes = if self.passes == UNLIMITED { UNLIMITED } else { pass.saturating_mul(self.passes) };
        let least = by_passes.min(self.bytes).min(self.ios.saturating_mul(block));
        (least != UNLIMITED).then_some(least)
    }
}

enum Feed {
    Plan(Box<Plan>),
    /// A trace, and how many of it were taken.
    Recording(Arc<Recording>, usize),
}

impl Feed {
    fn fill(&mut self, ops: &mut Vec<Op>, at_most: usize) -> Filled {
        match self {
            Feed::Plan(plan) => plan.fill(ops, at_most),
            Feed::Recording(recording, next) => recording.fill(next, ops, at_most),
        }
    }

    fn restart(&mut self) {
        match self {
            Feed::Plan(plan) => plan.restart(),
            Feed::Recording(_, next) => *next = 0,
        }
    }
}

/// The operations of one thread, until its limits.
pub struct Source {
    ops: Vec<Op>,
    next: usize,
    feed: Feed,
    /// Limits that the count starts with.
    limits: Limits,
    left: Limits,
    pass_over: bool,
    fetched: u64,
    /// Taken before the count started.
    begun: u64,
    /// Only the writes, as reads of the same place.
    reads_back: bool,
}

impl Source {
    /// The operations of a plan, without limits until [`Source::begin`].
    pub fn new(plan: Plan, limits: Limits) -> Source {
        Source::fed(Feed::Plan(Box::new(plan)), limits)
    }

    /// The I/Os of a trace.
    pub fn replaying(recording: Arc<Recording>, limits: Limits) -> Source {
        Source::fed(Feed::Recording(recording, 0), limits)
    }

    fn fed(feed: Feed, limits: Limits) -> Source {
        let ops = Vec::with_capacity(BATCH);
        Source {
            ops,
            next: 0,
            feed,
            limits,
            left: Limits::NONE,
            pass_over: false,
            fetched: 0,
            begun: 0,
            reads_back: false,
        }
    }

    /// The blocks that the first `taken` operations of `plan`, which must be fresh, have written, as reads. Blocks
    /// that each pass writes again are read once.
    pub fn read_back(plan: Plan, job: &Job, taken: u64) -> Source {
        // A permutation of blocks of several sizes is drawn independently (see `Plan`).
        let one_size = job.block_sizes.smallest() == job.block_sizes.largest();
        let once = one_size && matches!(job.access, Access::Random { order: Order::Permutation, .. });
        let independent = matches!(job.access, Access::Random { .. }) && !once;
        let passes = if independent { UNLIMITED } else { 1 };
        let left = Limits { ios: taken, bytes: UNLIMITED, passes };
        Source { left, reads_back: true, ..Source::new(plan, left) }
    }

    /// Begins one pass more, and forgets what was taken; gives the plan as it is at its start. `None` of a trace.
    pub fn next_pass(&mut self) -> Option<Plan> {
        self.feed.restart();
        (self.pass_over, self.fetched, self.begun) = (false, 0, 0);
        self.left.passes = 1;
        match &self.feed {
            Feed::Plan(plan) => Some(Plan::clone(plan)),
            Feed::Recording(..) => None,
        }
    }

    /// Starts the count. Where passes count, the region starts anew as well.
    pub fn begin(&mut self) {
        self.left = self.limits;
        // The moments of a trace start anew too.
        let anew = self.limits.passes != UNLIMITED || matches!(self.feed, Feed::Recording(..));
        if anew && self.fetched > 0 {
            self.feed.restart();
            self.pass_over = false;
            self.fetched -= (self.ops.len() - self.next) as u64;
            self.ops.clear();
            self.next = 0;
        }
        self.ops.drain(..self.next);
        self.next = 0;
        self.fetched -= self.ops.len() as u64;
        self.begun = self.fetched;
        self.charge();
    }

    /// The next operations, at most so many; none when it is enough.
    #[inline]
    pub fn take_many(&mut self, at_most: usize) -> &[Op] {
        if self.next >= self.ops.len() && !self.refill() {
            return &[];
        }
        let first = self.next;
        self.next = self.ops.len().min(first + at_most);
        &self.ops[first..self.next]
    }

    /// The next operation; `None` when it is enough.
    #[inline]
    pub fn take(&mut self) -> Option<Op> {
        loop {
            if let Some(&op) = self.ops.get(self.next) {
                self.next += 1;
                return Some(op);
            }
            if !self.refill() {
                return None;
            }
        }
    }

    /// Operations taken since [`Source::begin`].
    pub fn taken_since_begin(&self) -> u64 {
        self.taken() - self.begun
    }

    /// Operations taken so far.
    pub fn taken(&self) -> u64 {
        self.fetched - (self.ops.len() - self.next) as u64
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> bool {
        self.ops.clear();
        self.next = 0;
        while self.ops.is_empty() {
            let anew = self.pass_over;
            if anew {
                if self.left.passes <= 1 {
                    return false;
                }
                self.left.passes -= u64::from(self.left.passes != UNLIMITED);
                self.feed.restart();
            }
            let at_most = (BATCH as u64).min(self.left.ios) as usize;
            if at_most == 0 || self.left.bytes == 0 {
                return false;
            }
            self.pass_over = self.feed.fill(&mut self.ops, at_most) == Filled::RegionDone;
            if anew && self.pass_over && self.ops.is_empty() {
                // Nothing comes of a whole pass, such as where all zones are full and kept: nothing ever will.
                return false;
            }
            self.charge();
            if self.reads_back {
                self.ops.retain(|op| op.direction == WRITE);
                self.ops.iter_mut().for_each(|op| op.direction = READ);
            }
        }
        true
    }

    /// Takes the batch off the limits, and cuts it where they end.
    fn charge(&mut self) {
        let mut allowed = self.ops.len();
        if self.left.ios < allowed as u64 {
            let behind = self.ios().nth(self.left.ios as usize);
            allowed = behind.map_or(allowed, |(at, _)| at);
        }
        if self.left.bytes != UNLIMITED {
            let mut count = 0;
            while count < allowed && self.left.bytes > 0 {
                self.left.bytes = self.left.bytes.saturating_sub(u64::from(self.ops[count].length));
                count += 1;
            }
            allowed = count;
        }
        self.ops.truncate(allowed);
        if self.left.ios != UNLIMITED {
            self.left.ios -= self.ios().count() as u64;
        }
        self.fetched += allowed as u64;
    }

    /// I/Os of the batch with their places; flushes of a trace are none.
    fn ios(&self) -> impl Iterator<Item = (usize, &Op)> {
        self.ops.iter().enumerate().filter(|(_, op)| op.length > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;
    use iostack_model::{Bytes, Mix, Nanos, Verify, VerifyMode, WritePointers};

    fn source(job: &Job, blocks: u64) -> Source {
        let plan = Plan::new(job, Region::new(0, blocks * 4096), 1, 0).expect("fits");
        Source::new(plan, Limits::of_job(job))
    }

    fn drain(source: &mut Source) -> u64 {
        let mut count = 0;
        while source.take().is_some() {
            count += 1;
        }
        count
    }

    #[test]
    fn each_limit_is_met_exactly() {
        let sequential = Job { access: Access::Sequential, ..Job::default() };
        let cases = [
            (sequential.clone(), 1000),
            (Job { loops: 3, ..sequential.clone() }, 3000),
            (Job { io_count: Some(97), ..sequential.clone() }, 97),
            (Job { io_count: Some(5000), ..sequential.clone() }, 1000),
            (Job { io_limit: Some(Bytes(4096 * 1700)), ..sequential.clone() }, 1700),
            (Job { io_limit: Some(Bytes(4097)), ..sequential.clone() }, 2),
            (Job { io_limit: Some(Bytes(8192)), loops: 2, ..Job::default() }, 4),
        ];
        for (job, count) in cases {
            let mut source = source(&job, 1000);
            source.begin();
            assert_eq!(drain(&mut source), count, "{job:?}");
            assert_eq!(source.taken(), count);
        }
    }

    #[test]
    fn a_time_based_job_never_runs_out() {
        let job = Job { time_based: true, runtime: Some(Nanos::secs(1)), ..Job::default() };
        let mut source = source(&job, 10);
        source.begin();
        for _ in 0..10_000 {
            assert!(source.take().is_some());
        }
    }

    #[test]
    fn a_time_based_job_ends_when_no_zone_takes_anything() {
        let zone = Bytes(4 * 4096);
        let pointers = WritePointers { zone, capacity: zone, ..WritePointers::default() };
        let reads = Job { write_pointers: Some(pointers), time_based: true, ..Job::default() };
        // Zones are kept where they are to be read back; a job that only reads finds nothing that it wrote.
        let kept = Some(Verify::of_mode(VerifyMode::WriteThenRead));
        for (job, count) in [(Job { mix: Mix::WRITE, verify: kept, ..reads.clone() }, 12), (reads, 0)] {
            let mut source = source(&job, 12);
            source.begin();
            assert_eq!(drain(&mut source), count, "{job:?}");
        }
    }

    #[test]
    fn what_was_written_is_read_back_and_no_more() {
        for taken in [1, 300, 999] {
            let job = Job { mix: Mix::reads(50), ..Job::default() };
            let plan = Plan::new(&job, Region::new(0, 1000 * 4096), 1, 0).expect("fits");
            let mut source = Source::new(plan.clone(), Limits::of_job(&job));
            source.begin();
            let writes = (0..taken).filter_map(|_| source.take()).filter(|op| op.direction == WRITE);
            let offsets: Vec<u64> = writes.map(|op| op.offset).collect();
            let mut back = Source::read_back(plan, &job, source.taken());
            let read: Vec<u64> = std::iter::from_fn(|| back.take()).map(|op| op.offset).collect();
            assert_eq!(read, offsets);
        }
    }

    #[test]
    fn what_the_ramp_took_does_not_count() {
        for ramped in [1, 255, 256, 300, 5000] {
            let job = Job { io_count: Some(97), ..Job::default() };
            let mut source = source(&job, 1000);
            for _ in 0..ramped {
                assert!(source.take().is_some(), "a ramp has no limit");
            }
            source.begin();
            assert_eq!(drain(&mut source), 97, "{ramped}");
        }
    }
}
