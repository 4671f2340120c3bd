//! What comes of an application on a simulated platform?
//!
//! ```text
//!   ready actors ──► Application::next ──► read, write, flush, compute: submitted ──► completed ──► ready
//!                          │ pause: an alarm        │ wait: until another actor's step wakes it ──► ready
//!                          └ end of a transaction: counted, with where its time went
//! ```
//!
//! Each actor is a thread of the platform; its processor time is a request to the platform's cores, as its I/O is one to the
//! drives. The I/O is counted as that of any job, with the same laws; the parts of each transaction add up to its latency.
//! When the time is up nothing more is submitted; what is in flight is waited for, and unfinished transactions do not count.
//!
//! Start reading at [`Run::go`].

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::apps::{Application, Manner, Part, Step};
use iostack_model::{AppKind, AppPart, AppUse, Engine, Job, Mix, Nanos, Phase};
use iostack_stats::Recorder;
use iostack_workload::load::Span;

use super::group::{Group, looks_every, unserved};
use super::stage::Bench;
use super::{SimError, progress};
use crate::engine::{CALLER_SHIFT, Caller, Happened, Kind, RequestId, Time};

/// What an alarm is for; the layout of tokens is that of `stage.rs`, so that neither takes the other's for its own.
const BORDER: u32 = 1;
const PAUSE: u32 = 2;
const SLICE: u32 = 3;
const UNTIL: u32 = 4;
const INDEX_BITS: u32 = 19;

/// Slot of a request that its actor does not wait for.
const POSTED: u32 = 1;

/// One actor.
struct Actor {
    /// Posted and not back.
    posted: u32,
    drains: bool,
    over: bool,
    /// What its time goes to, and since when.
    part: Part,
    since: Time,
    /// Where the time of its transaction went, and when that began.
    parts: [u64; Part::ALL.len()],
    began: Time,
}

/// An application under way.
pub(super) struct Run<'b, 'a> {
    bench: &'b mut Bench<'a>,
    group: Group<'a>,
    job: &'a Job,
    application: Box<dyn Application>,
    actors: Vec<Actor>,
    ready: VecDeque<u32>,
    in_flight: u64,
    pausing: u32,
    span: Span,
    measuring: bool,
    /// Nothing more is submitted.
    stopped: bool,
    left: u64,
    counts: Counts,
}

/// What was counted since measuring started.
struct Counts {
    latency: Recorder,
    kinds: Vec<u64>,
    parts: [u64; Part::ALL.len()],
    reads: u64,
    writes: u64,
    flushes: u64,
    clocks: u64,
}

/// Runs the application of `job`, alone.
pub(super) fn run<'a>(bench: &mut Bench<'a>, job: &'a Job) -> Result<Group<'a>, SimError> {
    if !bench.world.has_host() {
        return Err(SimError::NeedsPlatform { job: job.name.clone() });
    }
    let shape = bench.world.shape().expect("the first part of a device says its shape");
    let refuse = |source| SimError::Job { job: job.name.clone(), capacity: shape.capacity, source };
    let application = crate::apps::application(job, shape.capacity, shape.block).map_err(refuse)?;
    bench.stages += 1;
    let now = bench.world.now();
    let mut group = Group::new(job, now, bench.options.progress.is_some());
    group.add(job, now);
    let span = Span::of_job(job, now, |ns| ns);
    let (count, kinds) = (application.actors(), application.kinds().len());
    let callers: Vec<Caller> =
        (0..count).map(|actor| caller(job, actor, application.manner(actor))).collect();
    bench.world.meet(&callers);
    let actor = |_| Actor {
        posted: 0,
        drains: false,
        over: false,
        part: Part::Client,
        since: span.begins,
        parts: [0; Part::ALL.len()],
        began: span.begins,
    };
    let left = looks_every(bench.options);
    let run = Run {
        bench,
        group,
        job,
        application,
        actors: (0..count).map(actor).collect(),
        ready: VecDeque::new(),
        in_flight: 0,
        pausing: 0,
        span,
        measuring: false,
        stopped: false,
        left,
        counts: Counts {
            latency: Recorder::new(),
            kinds: vec![0; kinds],
            parts: [0; Part::ALL.len()],
            reads: 0,
            writes: 0,
            flushes: 0,
            clocks: 0,
        },
    };
    run.go()
}

fn caller(job: &Job, actor: u32, manner: Manner) -> Caller {
    Caller {
        engine: if manner.depth > 1 { Engine::Libaio } else { Engine::Psync },
        direct: manner.direct,
        queue_depth: manner.depth,
        batch_submit: 1,
        complete_min: 1,
        number: actor,
        cpus: job.cpus.clone(),
    }
}

impl<'a> Run<'_, 'a> {
    fn alarm(&mut self, time: Time, kind: u32, index: u32) {
        let token = kind << 27 | (self.bench.stages & 0xFF) << INDEX_BITS | index;
        self.bench.world.sim.alarm_at(time, token);
    }

    fn go(mut self) -> Result<Group<'a>, SimError> {
        for actor in 0..self.actors.len() as u32 {
            self.pausing += 1;
            self.alarm(self.span.begins, PAUSE, actor);
        }
        self.alarm(self.span.border, BORDER, 0);
        if self.span.until < Time::MAX {
            self.alarm(self.span.until, UNTIL, 0);
        }
        loop {
            self.run_ready();
            if self.in_flight == 0 && (self.stopped || self.actors.iter().all(|actor| actor.over)) {
                break;
            }
            let idle = self.in_flight == 0 && self.pausing == 0;
            assert!(!idle, "every actor of the application waits for another");
            match self.bench.world.next() {
                Happened::Completed(id) => self.completed(id),
                Happened::Alarm(token) => self.rings(token),
                Happened::Quiet => return Err(unserved(&self.bench.world, self.in_flight)),
            }
            self.left -= 1;
            if self.left == 0 {
                self.look(self.bench.world.now());
            }
        }
        Ok(self.end())
    }

    fn rings(&mut self, token: u32) {
        if token >> INDEX_BITS & 0xFF != self.bench.stages & 0xFF {
            return;
        }
        let now = self.bench.world.now();
        match token >> 27 {
            BORDER => self.begins(now),
            PAUSE => {
                self.pausing -= 1;
                self.ready.push_back(token & ((1 << INDEX_BITS) - 1));
            }
            SLICE => {
                let gauges = self.bench.world.gauges();
                self.group.board.close_slice(gauges);
                self.next_slice(now);
            }
            _ => {
                self.stopped = true;
                self.group.dries(&self.bench.world, self.measuring);
            }
        }
    }

    fn begins(&mut self, now: Time) {
        self.measuring = true;
        self.bench.world.begin();
        self.bench.keep_spans();
        self.application.begin();
        (self.group.open, self.group.looked, self.group.board.last) = (true, now, now);
        self.group.begins_whole(now);
        self.next_slice(now);
    }

    fn next_slice(&mut self, now: Time) {
        let end = now.saturating_add(self.group.board.slice().0);
        if end < self.span.until {
            self.alarm(end, SLICE, 0);
        }
    }

    fn run_ready(&mut self) {
        while let Some(actor) = self.ready.pop_front() {
            if self.stopped {
                continue;
            }
            self.next(actor);
            while let Some(other) = self.application.woken() {
                self.ready.push_back(other);
            }
        }
    }

    /// The actor's time until now was what it said; from now on it is `part`.
    fn turn(&mut self, actor: u32, part: Part) {
        let now = self.bench.world.now();
        let of = &mut self.actors[actor as usize];
        of.parts[of.part as usize] += now - of.since;
        (of.part, of.since) = (part, now);
    }

    fn next(&mut self, actor: u32) {
        let step = self.application.next(actor);
        match step {
            Step::Read { offset, length, part } => {
                self.turn(actor, part);
                self.submit(actor, Kind::Read, (offset, length), 0);
            }
            Step::Write { offset, length, part } => {
                self.turn(actor, part);
                self.submit(actor, Kind::Write, (offset, length), 0);
            }
            Step::Post { offset, length } => {
                self.actors[actor as usize].posted += 1;
                self.submit(actor, Kind::Write, (offset, length), POSTED);
                self.ready.push_front(actor);
            }
            Step::Drain => {
                self.turn(actor, Part::Writes);
                let of = &mut self.actors[actor as usize];
                of.drains = of.posted > 0;
                if !of.drains {
                    self.ready.push_front(actor);
                }
            }
            Step::Flush(part) => {
                self.turn(actor, part);
                self.submit(actor, Kind::Flush, (0, 0), 0);
            }
            Step::Compute(clocks) => {
                self.turn(actor, Part::Processor);
                self.submit(actor, Kind::Compute, (0, clocks), 0);
            }
            Step::Pause(time, part) => {
                self.turn(actor, part);
                self.pausing += 1;
                self.alarm(self.bench.world.now() + time.0, PAUSE, actor);
            }
            Step::Wait(part) => self.turn(actor, part),
            Step::End(kind) => self.ends(actor, kind),
            Step::Over => self.actors[actor as usize].over = true,
        }
    }

    /// A transaction has ended.
    fn ends(&mut self, actor: u32, kind: usize) {
        self.turn(actor, Part::Client);
        let of = &mut self.actors[actor as usize];
        let latency = of.since - of.began;
        let sum: u64 = of.parts.iter().sum();
        assert!(sum == latency, "the parts of a transaction add up to {sum} of {latency} ns");
        if self.measuring {
            self.counts.latency.record(latency);
            self.counts.kinds[kind] += 1;
            self.counts.parts.iter_mut().zip(of.parts).for_each(|(all, part)| *all += part);
        }
        (of.parts, of.began) = ([0; Part::ALL.len()], of.since);
        self.ready.push_back(actor);
    }

    fn submit(&mut self, actor: u32, kind: Kind, (offset, length): (u64, u32), slot: u32) {
        let sim = &mut self.bench.world.sim;
        let now = sim.now();
        let id = sim.submit(kind, offset, length);
        sim.request_mut(id).user = actor << CALLER_SHIFT | slot;
        self.in_flight += 1;
        if kind != Kind::Compute {
            self.group.requests += 1;
        }
        if self.measuring {
            match kind {
                Kind::Compute => self.counts.clocks += u64::from(length),
                Kind::Flush => self.counts.flushes += 1,
                Kind::Read => self.counts.reads += 1,
                _ => self.counts.writes += 1,
            }
            if matches!(kind, Kind::Read | Kind::Write) {
                // So that its completion knows.
                sim.request_mut(id).user |= COUNTED;
            }
        }
        if matches!(kind, Kind::Read | Kind::Write) {
            self.group.board.enter(now);
        }
    }

    fn completed(&mut self, id: RequestId) {
        let sim = &mut self.bench.world.sim;
        let now = sim.now();
        let request = sim.request(id);
        let (user, kind, submitted) = (request.user, request.kind, request.submitted);
        if user & COUNTED != 0 {
            self.group.board.count(request, submitted, now);
        } else if kind == Kind::Flush && submitted >= self.span.border {
            self.group.board.synced(now - submitted, now);
        } else if matches!(kind, Kind::Read | Kind::Write) {
            self.group.board.leave(request, now);
        }
        sim.release(id);
        self.in_flight -= 1;
        let actor = user >> CALLER_SHIFT;
        let of = &mut self.actors[actor as usize];
        if user & POSTED == 0 {
            self.ready.push_back(actor);
            return;
        }
        of.posted -= 1;
        if of.posted == 0 && std::mem::take(&mut of.drains) {
            self.ready.push_back(actor);
        }
    }

    #[cold]
    fn look(&mut self, now: Time) {
        let options = self.bench.options;
        self.left = looks_every(options);
        if options.stop.load(Ordering::Relaxed) && !self.stopped {
            self.stopped = true;
            self.group.interrupted = true;
        }
        if let Some(tell) = options.progress {
            let Span { begins, until, .. } = self.span;
            let elapsed = now.saturating_sub(begins);
            let all = (until < Time::MAX).then(|| elapsed as f64 / (until - begins).max(1) as f64);
            let phase = if self.measuring { Phase::Running } else { Phase::Ramp };
            progress::tell_group(&mut self.group, (phase, elapsed, all.map(|done| done.min(1.0))), now, tell);
        }
    }

    fn end(mut self) -> Group<'a> {
        let now = self.bench.world.now();
        let board = &mut self.group.board;
        board.last = board.last.max(now.min(self.span.until));
        self.group.end(&self.bench.world, self.measuring, 0);
        let elapsed = Nanos(now.min(self.span.until).saturating_sub(self.span.border));
        self.group.app = Some(self.counts.told(self.job, &*self.application, elapsed));
        self.group
    }
}

/// Slot bit of an I/O that was submitted after measuring started.
const COUNTED: u32 = 2;

impl Counts {
    fn told(&self, job: &Job, application: &dyn Application, elapsed: Nanos) -> AppUse {
        let latency = self.latency.bins();
        let each = latency.count.max(1) as f64;
        let kinds = application.kinds().iter().zip(&self.kinds);
        let mut parts: Vec<AppPart> = (Part::ALL.iter().zip(self.parts))
            .filter(|&(_, ns)| ns > 0)
            .map(|(part, ns)| AppPart { name: part.name().to_owned(), mean_ns: ns as f64 / each })
            .collect();
        parts.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
        let hits = application.hits();
        AppUse {
            name: job.app.as_ref().map_or("", |app| app.name()).to_owned(),
            transactions: latency.count,
            per_second: latency.count as f64 / elapsed.as_secs_f64().max(1e-9),
            kinds: kinds.map(|(name, &count)| AppKind { name: (*name).to_owned(), count }).collect(),
            parts,
            hit_share: hits.map(|(looks, hits)| hits as f64 / looks.max(1) as f64),
            reads: self.reads as f64 / each,
            writes: self.writes as f64 / each,
            flushes: self.flushes as f64 / each,
            clocks: self.clocks as f64 / each,
            latency,
        }
    }
}

/// Shares of reads and writes as they came, in whole percent.
pub(super) fn mix(use_of: &AppUse) -> Mix {
    let all = (use_of.reads + use_of.writes).max(1e-9);
    Mix::reads((use_of.reads / all * 100.0).round().min(100.0) as u8)
}
