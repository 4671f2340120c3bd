//! What does one thread do next? The machine that the slow loops of the engine and the simulation turn.
//!
//! ```text
//!   next(now, in flight) ──► Submit, Flush, At, Pause, Wait, Over
//!        ▲                        │
//!        └── completed(start, end), begin(now), stop() ◄── whoever runs it
//! ```
//!
//! A flush, and a turn of what reads back between the writes, come when nothing is in flight, so that they cover all before.

use iostack_model::{Job, Nanos};

use super::Depth;
use super::backlog::{Expected, Waiting};
use super::flushes::{Flush, Flushes};
use super::search::{Search, Step};
use super::share::Part;
use crate::{Op, Pacer, Plan, Source};

const WRITE: u8 = 1;

/// Next act of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Submit this; it was meant for that moment, in a closed loop for now.
    Submit(Op, u64),
    /// Flush: nothing is in flight.
    Flush(Flush),
    /// Look again at this moment, or after a completion.
    At(u64),
    /// Others that share I/Os with it are behind, and nothing is in flight: look again after so long.
    Pause(Nanos),
    /// So many completions come first.
    Wait(u32),
    /// Everything was submitted and has come back.
    Over,
}

/// Work of one thread over time. Moments are ticks.
pub struct Load {
    /// Source of the I/Os.
    pub source: Source,
    /// Pace of the I/Os.
    pub pacer: Pacer,
    /// Number of I/Os at once.
    pub depth: Depth,
    /// Nothing is submitted from here on.
    pub until: u64,
    /// Search for the depth that keeps a latency.
    pub search: Option<Search>,
    /// Part of the I/Os that the job shares with others.
    pub part: Option<Part>,
    flushes: Flushes,
    backlog: Option<Waiting>,
    /// Waits until what is in flight of its bytes has come back.
    held: Option<Op>,
    reads_back: bool,
    /// The pace is not looked at.
    hurries: bool,
}

impl Load {
    /// The load of a job; `ticks` turns nanoseconds into ticks.
    pub fn new(job: &Job, source: Source, pacer: Pacer, ticks: impl Fn(u64) -> u64) -> Load {
        Load {
            source,
            pacer,
            depth: Depth::of_job(job),
            until: u64::MAX,
            search: Search::new(job, ticks),
            part: None,
            flushes: Flushes::of_job(job),
            backlog: job.verify.and_then(|verify| Waiting::of_verify(&verify, job.seed)),
            held: None,
            reads_back: false,
            hurries: false,
        }
    }

    /// Begins the measuring.
    pub fn begin(&mut self, now: u64) {
        self.source.begin();
        self.pacer.begin(now);
    }

    /// Nothing more is submitted.
    pub fn stop(&mut self) {
        self.until = 0;
    }

    /// The next act with so many in flight; `is_taken` is true of an I/O whose bytes must not be touched yet.
    pub fn next(&mut self, now: u64, in_flight: u32, is_taken: impl Fn(&Op) -> bool) -> Next {
        loop {
            if now >= self.until {
                return self.waits(in_flight).unwrap_or(Next::Over);
            }
            if let Some(flush) = self.flushes.due().filter(|_| !self.reads_back) {
                return self.waits(in_flight).unwrap_or_else(|| {
                    self.flushes.done(flush);
                    Next::Flush(flush)
                });
            }
            if let Some(backlog) = self.backlog.as_mut().filter(|backlog| backlog.is_due()) {
                if in_flight == 0 {
                    backlog.turn();
                    continue;
                }
                return Next::Wait(self.depth.complete_min.min(in_flight));
            }
            if let Some(wait) = self.when_full(in_flight) {
                return wait;
            }
            if !self.hurries && self.pacer.due() > now {
                return Next::At(self.pacer.due().min(self.until));
            }
            if let Some(nap) = self.part.as_ref().and_then(Part::ahead) {
                return self.waits(in_flight).unwrap_or(Next::Pause(nap));
            }
            let Some(op) = self.take() else {
                self.until = now;
                continue;
            };
            if op.length == 0 {
                self.pacer.take(now);
                self.flushes.record();
            } else if is_taken(&op) {
                self.held = Some(op);
                return Next::Wait(self.depth.complete_min.min(in_flight));
            } else {
                return Next::Submit(op, self.submitting(&op, now));
            }
        }
    }

    /// The wait for what is in flight, where something is.
    fn waits(&self, in_flight: u32) -> Option<Next> {
        (in_flight > 0).then(|| Next::Wait(self.depth.complete_min.min(in_flight)))
    }

    /// The wait for a place, where so many in flight leave none.
    pub fn when_full(&self, in_flight: u32) -> Option<Next> {
        let deepest = self.search.as_ref().map_or(u32::MAX, |search| search.depth);
        self.waits(in_flight).filter(|_| in_flight >= self.depth.slots.min(deepest))
    }

    fn take(&mut self) -> Option<Op> {
        let held = self.held.take();
        held.or_else(|| self.backlog.as_mut().and_then(Waiting::next)).or_else(|| self.source.take())
    }

    /// The I/O is about to be submitted: counts it, and says when it was meant to start.
    fn submitting(&mut self, op: &Op, now: u64) -> u64 {
        if op.direction == WRITE {
            self.flushes.writes(op);
            self.backlog.iter_mut().for_each(Waiting::submitting);
        }
        self.part.iter_mut().for_each(Part::count);
        if self.hurries { now } else { self.pacer.take(now) }
    }

    /// An I/O took from `start` to `end`.
    pub fn completed(&mut self, start: u64, end: u64) -> Step {
        self.pacer.completed(end);
        self.search.as_mut().map_or(Step::Search, |search| search.completed(start, end))
    }

    /// The files that the last flush concerns, from which to which byte.
    pub fn flushed_ranges(&self) -> impl Iterator<Item = (usize, (u64, u64))> {
        self.flushes.ranges()
    }

    /// An I/O has moved all its bytes, and may have to be read back; true when it is read between the writes.
    pub fn note_written(&mut self, op: &Op) -> bool {
        let Some(backlog) = self.backlog.as_mut().filter(|_| !self.reads_back) else { return false };
        if op.direction == WRITE {
            backlog.push(op);
        }
        backlog.is_reading()
    }

    /// Expected content of a block that was read.
    pub fn expected(&mut self, op: &Op) -> Expected {
        self.backlog.as_mut().map_or(Expected::Written, |backlog| backlog.expected(op))
    }

    /// Turns to reading back what was written of `plan`, which must be fresh; `at_pace` by the job's schedule. What was read
    /// back along the way is not read again. Gives the source of the writes.
    pub fn read_back(&mut self, plan: Plan, job: &Job, at_pace: bool) -> Source {
        let taken = if self.backlog.is_some() { 0 } else { self.source.taken() };
        // What still waited for its place was not written.
        let taken = taken.saturating_sub(u64::from(self.held.take().is_some()));
        self.backlog.iter_mut().for_each(Waiting::finish);
        (self.until, self.reads_back, self.hurries) = (u64::MAX, true, !at_pace);
        std::mem::replace(&mut self.source, Source::read_back(plan, job, taken))
    }

    /// Turns to writing again.
    pub fn write_again(&mut self, source: Source) {
        (self.until, self.reads_back, self.hurries) = (u64::MAX, false, false);
        self.source = source;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Region};
    use iostack_model::{Access, Arrival, Batch, Engine, Mix, Rate, Sync, Verify, VerifyMode};

    fn load(job: &Job) -> (Load, Plan) {
        let plan = Plan::new(job, Region::new(0, 8 * 4096), 1, 0).expect("fits");
        let source = Source::new(plan.clone(), Limits::of_job(job));
        let mut load = Load::new(job, source, Pacer::new(job, 0, |ns| ns), |ns| ns);
        load.begin(0);
        (load, plan)
    }

    fn deep(queue_depth: u32) -> Job {
        Job { engine: Engine::Libaio, queue_depth, access: Access::Sequential, ..Job::default() }
    }

    /// Acts of a job whose I/Os are answered `latency` later, at most `most` of them; moments in brackets.
    fn told(job: &Job, latency: u64, most: usize) -> String {
        let (mut load, _) = load(job);
        let (mut now, mut flying, mut told) = (0, Vec::new(), String::new());
        for _ in 0..most {
            match load.next(now, flying.len() as u32, |_| false) {
                Next::Submit(op, start) => {
                    told += &op.offset.checked_div(4096).unwrap_or_default().to_string();
                    flying.push((start, now + latency));
                }
                Next::Flush(_) => told.push('F'),
                Next::At(due) => {
                    now = flying.first().map_or(due, |&(_, end)| due.min(end));
                    told = told + "[" + &now.to_string() + "]";
                    let (back, still) = flying.iter().partition(|&&(_, end)| end <= now);
                    flying = still;
                    let back: Vec<(u64, u64)> = back;
                    for (start, end) in back {
                        load.completed(start, end);
                    }
                }
                Next::Wait(least) => {
                    told += &".".repeat(least as usize);
                    for (start, end) in flying.drain(..least as usize) {
                        now = now.max(end);
                        load.completed(start, end);
                    }
                }
                Next::Pause(_) => unreachable!("nobody shares"),
                Next::Over => return told + "|",
            }
        }
        told
    }

    #[test]
    fn a_queue_is_kept_full_and_emptied_at_the_end() {
        assert_eq!(told(&deep(1), 10, 99), "0.1.2.3.4.5.6.7.|");
        assert_eq!(told(&deep(3), 10, 99), "012.3.4.5.6.7...|");
        let batch = Batch { submit: 1, complete_min: 2 };
        assert_eq!(told(&Job { batch, ..deep(3) }, 10, 99), "012..34..56..7..|");
    }

    #[test]
    fn a_flush_comes_when_nothing_is_in_flight() {
        let sync = Sync { fsync_every: 3, ..Sync::default() };
        let job = Job { sync, mix: Mix::WRITE, ..deep(2) };
        assert_eq!(told(&job, 10, 99), "01.2..F34.5..F67..|");
    }

    #[test]
    fn what_is_not_due_is_waited_for_until_the_time_is_up() {
        let rate = Some(Rate { iops: 1e9 / 100.0, arrival: Arrival::Regular });
        assert_eq!(told(&Job { rate, ..deep(2) }, 10, 7), "0[10][100]1[110][200]2");
        let (mut load, _) = load(&Job { rate, ..deep(2) });
        load.until = 150;
        assert_eq!(
            load.next(0, 0, |_| false),
            Next::Submit(Op { offset: 0, length: 4096, direction: 0, file: 0 }, 0)
        );
        assert_eq!(load.next(1, 1, |_| false), Next::At(100));
        assert!(
            matches!(load.next(120, 1, |_| false), Next::Submit(_, 100)),
            "late, and meant for its moment"
        );
        assert_eq!(load.next(121, 0, |_| false), Next::At(150), "the next one's moment is behind the end");
        assert_eq!(load.next(150, 1, |_| false), Next::Wait(1));
        assert_eq!(load.next(150, 0, |_| false), Next::Over);
    }

    #[test]
    fn what_may_not_be_touched_yet_is_held_and_read_back_only_if_it_was_written() {
        let job =
            Job { mix: Mix::WRITE, verify: Some(Verify::of_mode(VerifyMode::WriteThenRead)), ..deep(4) };
        let (mut load, plan) = load(&job);
        assert!(matches!(load.next(0, 0, |_| false), Next::Submit(..)));
        assert_eq!(load.next(0, 1, |_| true), Next::Wait(1));
        load.stop();
        assert_eq!(load.next(0, 0, |_| false), Next::Over);
        load.read_back(plan, &job, false);
        let read = Op { offset: 0, length: 4096, direction: 0, file: 0 };
        assert_eq!(load.next(5, 0, |_| false), Next::Submit(read, 5));
        assert_eq!(load.next(5, 0, |_| false), Next::Over);
    }
}
