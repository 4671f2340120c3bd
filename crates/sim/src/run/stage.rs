//! Whose completion or alarm is it, and what follows? Jobs that run together, from the first submission to the last answer.
//!
//! ```text
//!   alarms: start, border (end of the ramp), due, end of a slice ──► Worker::next ──► submit
//!   completions ──► Board (counts), proof (verification) ──► Worker::next ──► submit
//! ```
//!
//! Start reading at [`Stage::run`].

#[path = "stage_extras.rs"]
mod extras;
#[path = "stage_together.rs"]
mod together;

use std::sync::atomic::Ordering;

use iostack_model::{Job, Nanos};
use iostack_workload::Op;
use iostack_workload::load::{Before, Next, group_numbers};

use super::group::{Group, looks_every, unserved};
use super::proof::Proof;
use super::worker::{Doing, IoFlight, Worker};
use super::{RunOptions, SimError};
use crate::engine::{CALLER_SHIFT, Caller, Happened, Kind, RequestId, Time, World};

/// Bits of a request's `user` that name the slot; the others name the worker.
const SLOT_BITS: u32 = CALLER_SHIFT;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// Nobody answers for an hour: that is no device any more.
const STALL: u64 = 3_600_000_000_000;

/// So much happens at one moment: time does not pass.
const STANDING_MOST: u64 = 1 << 16;
/// The same of a job that ends by its own count: it would have no rate.
const STANDING_COUNTED_MOST: u64 = 1 << 22;

/// Purpose of an alarm, in the upper bits of its token; below, the stage's number modulo 2^8 and an index.
const START: u32 = 0;
const BORDER: u32 = 1;
const DUE: u32 = 2;
const SLICE: u32 = 3;
const INDEX_BITS: u32 = 19;

/// State that lives on from stage to stage.
pub(super) struct Testbed<'a> {
    pub(super) world: World,
    pub(super) proof: Option<Proof>,
    pub(super) options: &'a RunOptions<'a>,
    /// Stages so far.
    pub(super) stages: u32,
    pub(super) spans_kept: bool,
}

/// Jobs that run together.
pub(super) struct Stage<'b, 'a> {
    bench: &'b mut Testbed<'a>,
    workers: Vec<Worker<'a>>,
    pub(super) groups: Vec<Group<'a>>,
    /// Jobs that are still to begin, and finished workers of each job.
    before: Before,
    finished: Vec<usize>,
    /// Workers that are not done.
    running: usize,
    begun: bool,
    /// Completions and alarms until the next look at the stop flag.
    left: u64,
    /// Alarms of slices in the calendar.
    slices_ahead: usize,
    /// Moment of the last completion or submission, of any group.
    last: Time,
    events_before: u64,
    /// Moment of the last look, and completions since the first at that moment.
    looked: Time,
    standing: u64,
    /// Time does not pass, and nothing else ends the run.
    timeless: bool,
}

impl<'b, 'a> Stage<'b, 'a> {
    /// The jobs of one stage, in their groups.
    pub(super) fn new(bench: &'b mut Testbed<'a>, jobs: &[&'a Job]) -> Result<Stage<'b, 'a>, SimError> {
        let now = bench.world.now();
        let shape = bench.world.shape().expect("the first part of a device says its shape");
        let watched = bench.options.progress.is_some();
        let mut stage = Stage {
            workers: Vec::new(),
            groups: Vec::new(),
            before: Before::of_jobs(jobs.iter().copied()),
            finished: vec![0; jobs.len()],
            running: 0,
            begun: false,
            left: looks_every(bench.options),
            slices_ahead: 0,
            last: now,
            events_before: bench.world.events(),
            looked: Time::MAX,
            standing: 0,
            timeless: false,
            bench,
        };
        stage.bench.stages += 1;
        let proving = stage.bench.proof.is_some();
        for (number, (&job, group)) in jobs.iter().zip(group_numbers(jobs.iter().copied())).enumerate() {
            if group == stage.groups.len() {
                stage.groups.push(Group::new(job, now, watched));
            }
            let before: u32 = stage.groups[group].jobs.iter().map(|job| job.threads).sum();
            stage.groups[group].expects(job);
            for thread in 0..job.threads {
                let worker = Worker::new(job, thread, (number, group), shape, proving);
                let refuse =
                    |source| SimError::Job { job: job.name.clone(), capacity: shape.capacity, source };
                let mut worker = worker.map_err(refuse)?;
                worker.logged_as = before + thread;
                stage.workers.push(worker);
            }
        }
        assert!(stage.workers.len() < 1 << INDEX_BITS, "more than 2^19 threads");
        let callers: Vec<Caller> =
            stage.workers.iter().zip(0..).map(|(worker, at)| worker.caller(at)).collect();
        stage.bench.world.meet(&callers);
        Ok(stage)
    }

    /// Runs it, to the last answer.
    pub(super) fn run(mut self) -> Result<Vec<Group<'a>>, SimError> {
        self.running = self.workers.len();
        self.let_go();
        self.go()?;
        let interrupted = self.groups.iter().any(|group| group.outcome.interrupted);
        if !interrupted && self.bench.proof.is_some() {
            let again: Vec<usize> =
                (0..self.workers.len()).filter(|&index| self.workers[index].reads_back()).collect();
            self.running = again.len();
            for index in again {
                self.fill(index);
            }
            self.go()?;
        }
        Ok(self.groups)
    }

    /// Goes on until no worker is left.
    fn go(&mut self) -> Result<(), SimError> {
        while self.running > 0 {
            match self.bench.world.next() {
                Happened::Completed(id) => self.completed(id),
                Happened::Alarm(token) => self.rings(token)?,
                Happened::Quiet => return Err(self.unserved()),
            }
            self.left -= 1;
            if self.left == 0 {
                self.look();
            }
        }
        if self.timeless { Err(SimError::Timeless) } else { Ok(()) }
    }

    fn alarm(&mut self, time: Time, kind: u32, index: usize) {
        let token = kind << 27 | (self.bench.stages & 0xFF) << INDEX_BITS | index as u32;
        self.bench.world.sim.alarm_at(time, token);
    }

    fn rings(&mut self, token: u32) -> Result<(), SimError> {
        let index = (token & ((1 << INDEX_BITS) - 1)) as usize;
        if token >> INDEX_BITS & 0xFF != self.bench.stages & 0xFF {
            // Of a stage that has ended.
            return Ok(());
        }
        match token >> 27 {
            START => self.starts(index),
            BORDER => {
                if self.workers[index].doing != Doing::Done {
                    self.begins(index);
                    self.fill(index);
                }
            }
            DUE => {
                let now = self.bench.world.now();
                let worker = &mut self.workers[index];
                if worker.alarm == now {
                    worker.alarm = Time::MAX;
                }
                if worker.doing == Doing::Running {
                    self.fill(index);
                }
            }
            _ => return self.slice_ends(index),
        }
        Ok(())
    }

    fn starts(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        if worker.doing != Doing::Waiting {
            return;
        }
        worker.doing = Doing::Running;
        let now = self.bench.world.now();
        worker.load.pacer.begin(now);
        if worker.span.border <= now {
            self.begins(index);
        }
        self.fill(index);
    }

    /// The ramp of this worker is over.
    fn begins(&mut self, index: usize) {
        if self.workers[index].begin(self.bench.world.now()) {
            self.counts(index);
        }
    }

    /// Measuring starts for this worker; for the device with the first of all.
    fn counts(&mut self, index: usize) {
        let now = self.bench.world.now();
        if !self.begun {
            self.begun = true;
            self.bench.world.begin();
            self.bench.keep_spans();
        }
        let worker = &mut self.workers[index];
        worker.measuring = true;
        let group = &mut self.groups[worker.group];
        let at = worker.group;
        group.origin = group.origin.min(worker.span.border);
        group.begins(now);
        if !group.open {
            group.open = true;
            group.looked = now;
            group.board.last = now;
            self.next_slice(at, now);
        }
    }

    fn next_slice(&mut self, group: usize, now: Time) {
        let end = now.saturating_add(self.groups[group].board.slice.0);
        if end < self.groups[group].until() {
            self.slices_ahead += 1;
            self.alarm(end, SLICE, group);
        }
    }

    fn slice_ends(&mut self, index: usize) -> Result<(), SimError> {
        self.slices_ahead -= 1;
        if self.groups[index].ended.is_some() {
            return Ok(());
        }
        let now = self.bench.world.now();
        let in_flight = self.workers.iter().any(|worker| worker.in_flight > 0);
        let silent = self.bench.world.sim.pending() == self.slices_ahead;
        if in_flight && (silent || now - self.last > STALL) {
            return Err(self.unserved());
        }
        let gauges = self.bench.world.gauges();
        self.groups[index].board.close_slice(gauges);
        if self.groups[index].is_steady() {
            self.end(|worker| worker.group == index);
        }
        self.next_slice(index, now);
        Ok(())
    }

    /// Submits what the worker wants to submit now.
    fn fill(&mut self, index: usize) {
        let now = self.bench.world.now();
        loop {
            let next = self.workers[index].next(now);
            if now >= self.workers[index].load.until {
                self.dries(index);
            }
            match next {
                Next::Submit(op, _) if self.workers[index].plain => self.submit_plain(index, op, now),
                Next::Submit(op, start) => self.submit(index, op, start),
                Next::Flush(_) => return self.flush(index),
                Next::At(time) => {
                    if time < self.workers[index].alarm {
                        self.workers[index].alarm = time;
                        self.alarm(time, DUE, index);
                    }
                    return;
                }
                Next::Wait(least) => {
                    // All that it now waits for may have come back, and nothing else will wake it.
                    if self.workers[index].held.len() >= least as usize {
                        self.reap_held(index);
                    }
                    return;
                }
                Next::Pause(_) => unreachable!("nobody shares I/Os with others here"),
                Next::Over => return self.over(index),
            }
        }
    }

    fn submit(&mut self, index: usize, op: Op, start: Time) {
        let worker = &mut self.workers[index];
        let sim = &mut self.bench.world.sim;
        let now = sim.now();
        let kind = Kind::of_direction(op.direction());
        let id = sim.submit(kind, op.offset, op.length);
        let slot = worker.slots.pop().expect("a worker submits no more than its depth");
        let request = sim.request_mut(id);
        (request.user, request.stream) = ((index as u32) << SLOT_BITS | slot, worker.stream);
        let mut flight = IoFlight { start, ..IoFlight::default() };
        if let Some(proof) = &mut self.bench.proof {
            if kind == Kind::Read {
                flight.expected = proof.expects(op.offset, op.length);
            } else {
                request.stamp =
                    proof.writes(op.offset, op.length, worker.proving.stamps && kind == Kind::Write);
            }
        }
        worker.flights[slot as usize] = flight;
        worker.in_flight += 1;
        self.last = now;
        let group = &mut self.groups[worker.group];
        group.requests += 1;
        group.board.enter(now);
    }

    fn flush(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        let sim = &mut self.bench.world.sim;
        let id = sim.submit(Kind::Flush, 0, 0);
        sim.request_mut(id).user = (index as u32) << SLOT_BITS | SLOT_MASK;
        worker.in_flight += 1;
        self.groups[worker.group].requests += 1;
    }

    fn completed(&mut self, id: RequestId) {
        let sim = &mut self.bench.world.sim;
        let request = sim.request(id);
        let index = (request.user >> SLOT_BITS) as usize;
        let worker = &mut self.workers[index];
        if !worker.plain || request.kind == Kind::Flush {
            return self.completed_with_extras(index, id);
        }
        let (now, submitted) = (sim.now(), request.submitted);
        let board = &mut self.groups[worker.group].board;
        if submitted >= worker.span.border {
            board.count(request, submitted, now);
        } else {
            board.leave(request, now);
        }
        sim.release(id);
        worker.in_flight -= 1;
        self.last = now;
        self.next_plain(index, now);
    }

    /// The short way: one came back, so one is submitted.
    #[inline]
    fn next_plain(&mut self, index: usize, now: Time) {
        let worker = &mut self.workers[index];
        if now < worker.load.until {
            if let Some(op) = worker.load.source.take() {
                return self.submit_plain(index, op, now);
            }
            worker.load.until = now;
        }
        let is_over = worker.in_flight == 0;
        self.dries(index);
        if is_over {
            self.over(index);
        }
    }

    /// The worker submits no more.
    fn dries(&mut self, index: usize) {
        let group = &mut self.groups[self.workers[index].group];
        group.dries(&self.bench.world, self.begun);
    }

    #[inline]
    fn submit_plain(&mut self, index: usize, op: Op, now: Time) {
        let worker = &mut self.workers[index];
        let sim = &mut self.bench.world.sim;
        let id = sim.submit(Kind::of_direction(op.direction()), op.offset, op.length);
        sim.request_mut(id).user = (index as u32) << SLOT_BITS;
        worker.in_flight += 1;
        let group = &mut self.groups[worker.group];
        group.requests += 1;
        group.board.enter(now);
    }

    /// Everything the worker submitted has come back, and nothing more comes.
    fn over(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        match worker.doing {
            Doing::Running if worker.job.sync.end_fsync => {
                worker.doing = Doing::EndFlush;
                self.flush(index);
            }
            Doing::Running => self.done(index),
            Doing::ReadingBack => {
                worker.doing = Doing::Done;
                self.running -= 1;
            }
            Doing::Waiting | Doing::EndFlush | Doing::Done => {}
        }
    }

    /// The worker has measured; the group's end when it was the last.
    fn measured(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        worker.doing = Doing::Done;
        self.running -= 1;
        let group = &mut self.groups[worker.group];
        if worker.load.pacer.is_open()
            && let Some(late) = worker.lateness.growing()
        {
            group.late = group.late.max(Some(Nanos(late)));
        }
        worker.load.search.iter().for_each(|search| group.finds(search));
        group.workers_left -= 1;
        if group.workers_left > 0 {
            return;
        }
        group.end(&self.bench.world, self.begun, self.events_before);
    }

    /// Looks at the stop flag, and tells the progress.
    #[cold]
    fn look(&mut self) {
        let options = self.bench.options;
        self.left = looks_every(options);
        let now = self.bench.world.now();
        let endless = |worker: &Worker<'_>| worker.doing == Doing::Running && worker.planned_ios.is_none();
        self.standing = if now == self.looked { self.standing + self.left } else { 0 };
        let most = if self.workers.iter().any(endless) { STANDING_MOST } else { STANDING_COUNTED_MOST };
        self.timeless |= self.standing >= most;
        self.looked = now;
        if self.timeless || options.stop.load(Ordering::Relaxed) {
            self.stop(now);
        }
        if let Some(tell) = options.progress {
            super::progress::tell(&mut self.groups, &self.workers, now, tell);
        }
    }

    /// Submits nothing more.
    fn stop(&mut self, now: Time) {
        for index in 0..self.workers.len() {
            let worker = &mut self.workers[index];
            if worker.doing == Doing::Done {
                continue;
            }
            worker.load.until = worker.load.until.min(now);
            self.groups[worker.group].outcome.interrupted = true;
            if worker.in_flight == 0 && matches!(worker.doing, Doing::Waiting | Doing::Running) {
                self.done(index);
            }
        }
    }

    fn unserved(&self) -> SimError {
        let count = self.workers.iter().map(|worker| u64::from(worker.in_flight)).sum();
        unserved(&self.bench.world, count)
    }
}
