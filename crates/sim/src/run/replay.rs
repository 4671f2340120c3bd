//! What would have come of recorded I/Os? A trace, at its own times or as fast as a depth allows.
//!
//! At its own times a trace is an open loop: each I/O is submitted when it was issued (divided by the speed), whether or not
//! earlier ones have been answered, so that a slow device shows as waits and not as a longer run. A flush is submitted like
//! everything else: whoever recorded it decided when.

use std::iter::Peekable;
use std::sync::atomic::Ordering;

use crate::sheet::Sheet;
use iostack_model::{Caveat, Direction, Engine, Job, LogEntry, Mix, Nanos, Phase};
use iostack_workload::trace::{TraceError, TraceIo};

use super::group::{Group, looks_every};
use super::stage::Testbed;
use super::{About, Ran, RunOptions, SimError, outcome, progress};
use crate::engine::{Caller, Happened, Kind, RequestId, Shape, Time, World};

/// So many in flight: the device does not keep up, and never will.
const IN_FLIGHT_MAX: u64 = 1 << 20;

/// Options of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Job of the outcome; name, slice, percentiles and logs are used, and the queue depth without a speed.
    pub job: Job,
    /// 1.0 as recorded, 2.0 in half the time; `None` as fast as the job's depth allows.
    pub speed: Option<f64>,
}

type Ios<'t> = Peekable<&'t mut dyn Iterator<Item = Result<TraceIo, TraceError>>>;

/// Replays a trace on the device of a sheet.
pub fn replay(
    sheet: &Sheet,
    trace: &mut dyn Iterator<Item = Result<TraceIo, TraceError>>,
    how: &Replay,
    options: &RunOptions<'_>,
) -> Result<Ran, SimError> {
    let mut world = World::new();
    let root = crate::build(sheet, &mut world, options.seed)?;
    world.set_root(root);
    if how.speed.is_some_and(|speed| !speed.is_finite() || speed <= 0.0) {
        return Err(SimError::Speed);
    }
    let mut bench = Testbed { world, proof: None, options, stages: 0, spans_kept: false };
    let shape = bench.world.shape().expect("the first part of a device says its shape");
    let (start_delay, ramp) = (Nanos(0), Nanos(0));
    let job = Job { rate: None, think: None, threads: 1, runtime: None, verify: None, ..how.job.clone() };
    let job = Job { start_delay, ramp, ..job };
    let mut group = Group::new(&job, 0, options.progress.is_some());
    group.add(&job, 0);
    let depth = if how.speed.is_some() { IN_FLIGHT_MAX } else { u64::from(job.queue_depth.max(1)) };
    let replayer = Replayer {
        bench: &mut bench,
        group,
        ios: trace.peekable(),
        shape,
        speed: how.speed,
        depth,
        in_flight: 0,
        alarm: Time::MAX,
        left: looks_every(options),
        stopped: false,
    };
    let group = replayer.go()?;
    let mix = Mix::of_counts(group.submitted);
    let mut outcome = outcome::assemble(group, &bench.world, &About::of(sheet), options.seed)?;
    outcome.job.mix = mix;
    if how.speed.is_some() {
        // Nobody asked for a depth.
        outcome.caveats.retain(|caveat| !matches!(caveat, Caveat::DepthBelowAsked { .. }));
    }
    Ok(Ran { outcomes: vec![outcome], timeline: bench.timeline() })
}

struct Replayer<'b, 'a, 't> {
    bench: &'b mut Testbed<'a>,
    group: Group<'a>,
    ios: Ios<'t>,
    shape: Shape,
    speed: Option<f64>,
    depth: u64,
    in_flight: u64,
    /// Woken then for the next I/O.
    alarm: Time,
    /// Completions until the next look at the stop flag.
    left: u64,
    stopped: bool,
}

const DUE: u32 = 0;
const SLICE: u32 = 1;

impl<'a> Replayer<'_, 'a, '_> {
    fn go(mut self) -> Result<Group<'a>, SimError> {
        let depth = u32::try_from(self.depth).unwrap_or(u32::MAX);
        self.bench.world.meet(&[Caller {
            engine: Engine::Libaio,
            direct: true,
            queue_depth: depth,
            batch_submit: 1,
            complete_min: 1,
            number: 0,
            cpus: None,
        }]);
        self.bench.world.begin();
        self.bench.keep_spans();
        self.group.begins(0);
        self.bench.world.sim.alarm_at(self.group.board.slice.0, SLICE);
        self.fill()?;
        while self.in_flight > 0 || self.alarm != Time::MAX {
            match self.bench.world.next() {
                Happened::Completed(id) => self.completed(id)?,
                Happened::Alarm(DUE) => {
                    self.alarm = Time::MAX;
                    self.fill()?;
                }
                Happened::Alarm(_) => {
                    if self.bench.world.sim.pending() == 0 && self.in_flight > 0 {
                        return Err(self.unserved());
                    }
                    let gauges = self.bench.world.gauges();
                    self.group.board.close_slice(gauges);
                    let end = self.bench.world.now().saturating_add(self.group.board.slice.0);
                    self.bench.world.sim.alarm_at(end, SLICE);
                }
                Happened::Quiet => return Err(self.unserved()),
            }
            self.left -= 1;
            if self.left == 0 {
                self.look(self.bench.world.now());
            }
        }
        self.group.end(&self.bench.world, true, 0);
        Ok(self.group)
    }

    /// Submits what is due.
    fn fill(&mut self) -> Result<(), SimError> {
        let now = self.bench.world.now();
        while self.in_flight < self.depth && !self.stopped {
            let Some(io) = self.ios.peek().cloned() else {
                if self.speed.is_none() {
                    self.group.dries(&self.bench.world, true);
                }
                return Ok(());
            };
            let io = io.map_err(SimError::Trace)?;
            if let Some(speed) = self.speed {
                let due = (io.at.0 as f64 / speed).round() as Time;
                if due > now {
                    self.alarm = due;
                    self.bench.world.sim.alarm_at(due, DUE);
                    return Ok(());
                }
            }
            self.ios.next();
            self.submit(&io)?;
        }
        if self.speed.is_some() && self.in_flight >= self.depth {
            return Err(SimError::Overrun { in_flight: self.in_flight, at: Nanos(now) });
        }
        Ok(())
    }

    fn submit(&mut self, io: &TraceIo) -> Result<(), SimError> {
        let (offset, length) = (io.offset, u64::from(io.length));
        let (block, number) = (self.shape.block.0.max(1), self.group.requests + 1);
        if offset + length > self.shape.capacity.0 {
            let capacity = self.shape.capacity;
            return Err(SimError::BeyondDevice { number, offset, length, capacity });
        }
        if let Some(odd) = [offset, length].into_iter().find(|bytes| bytes % block != 0) {
            let job = self.group.jobs[0].name.clone();
            return Err(SimError::Unaligned { job, what: "an offset or length", length: odd, block });
        }
        if (io.direction != Direction::Read && !io.flush) && self.bench.world.zones().is_some() {
            return Err(SimError::ZonesOfTrace { number });
        }
        let sim = &mut self.bench.world.sim;
        let kind = if io.flush { Kind::Flush } else { Kind::of_direction(io.direction) };
        sim.submit(kind, offset, io.length);
        self.in_flight += 1;
        self.group.requests += 1;
        if kind != Kind::Flush {
            self.group.submitted[io.direction as usize] += 1;
            self.group.board.enter(sim.now());
        }
        Ok(())
    }

    fn completed(&mut self, id: RequestId) -> Result<(), SimError> {
        let sim = &mut self.bench.world.sim;
        let (now, request) = (sim.now(), sim.request(id));
        let (submitted, job) = (request.submitted, self.group.jobs[0]);
        if request.kind == Kind::Flush {
            self.group.board.synced(now - submitted, now);
            self.group.note(job, &LogEntry::flush(Nanos(now), 0, Nanos(now - submitted)));
        } else {
            self.group.board.count(request, submitted, now);
            self.group.note_io((job, 0), request, submitted, now);
        }
        sim.release(id);
        self.in_flight -= 1;
        if self.speed.is_none() { self.fill() } else { Ok(()) }
    }

    #[cold]
    fn look(&mut self, now: Time) {
        let options = self.bench.options;
        self.left = looks_every(options);
        if options.stop.load(Ordering::Relaxed) {
            self.stopped = true;
            self.group.outcome.interrupted = true;
        }
        if let Some(tell) = options.progress {
            progress::tell_group(&mut self.group, (Phase::Running, now, None), now, tell);
        }
    }

    fn unserved(&self) -> SimError {
        super::group::unserved(&self.bench.world, self.in_flight)
    }
}
