//! What does one thread do, from its set-up to its report?

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iostack_host::Held;
use iostack_host::clock::Clock;
use iostack_model::{
    Bytes, Carrier, DepthFound, Direction, Ends, Engine, Job, LogEntry, LogSpan, Mix, NameAct, Nanos,
};
use iostack_workload::load::{Load, Part, Span, cpus_of_thread, is_read_by_pass, reads_back};
use iostack_workload::{Limits, Pacer, Plan, Region, Source};

use crate::back;
use crate::backend::calls::{Alone, Fallocate, Mmap, Psync, Pvsync2, Truncate};
use crate::backend::io_uring::{IoUring, IoUringOptions};
use crate::backend::libaio::Libaio;
use crate::backend::names::Names;
use crate::backend::null::Null;
use crate::backend::posix_aio::PosixAio;
use crate::backend::{Call, Queue, Station, queued_extras, queued_loop, serial_loop};
use crate::board::Board;
use crate::extras::Extras;
use crate::failures::Failures;
use crate::files::Files;
use crate::gate::Gate;
use crate::meter::{self, Meter, Rhythm};
use crate::payload::Payload;
use crate::sys;
use crate::sys::memory::Buffers;
use crate::tally::{BackTally, ThreadResult};
use crate::watch::Watch;
use crate::{EngineError, Result, Work};

/// One thread's part of a stage.
pub(crate) struct Assignment<'a> {
    pub(crate) work: &'a Work,
    /// Number among the threads of the job.
    pub(crate) thread: u32,
    pub(crate) group: usize,
    /// Number of the job among those of the stage.
    pub(crate) number: usize,
    pub(crate) board: Arc<Board>,
    /// Number among the threads of the group.
    pub(crate) board_thread: usize,
    /// Part of the I/Os that its job shares with others.
    pub(crate) part: Option<Part>,
    /// Time from the start of the stage to the group's first measured I/O.
    pub(crate) origin: Nanos,
    pub(crate) rhythm: Rhythm,
    pub(crate) gate: &'a Gate,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watch: &'a Watch<'a>,
}

/// Report that one thread leaves behind.
#[derive(Debug, Default)]
pub(crate) struct WorkerReport {
    pub(crate) result: ThreadResult,
    /// Moment of the first submission, ticks.
    pub(crate) first: u64,
    /// Sum of the times in flight, where it differs from the latencies.
    pub(crate) in_flight: Option<Nanos>,
    pub(crate) verified: u64,
    pub(crate) read_between: u64,
    pub(crate) read_back: Option<BackTally>,
    pub(crate) depth_found: Option<DepthFound>,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) log_spans: Vec<LogSpan>,
    /// Bytes of the thread's region, of all files.
    pub(crate) region: Bytes,
    /// Bytes of it that were never written before this job; `None` where that was not or could not be asked.
    pub(crate) unwritten: Option<Bytes>,
}

/// A thread that is set up but for its way to the kernel.
struct Prepared<'a> {
    assignment: Assignment<'a>,
    station: Station<'a>,
    /// Repeats the plan, to read back what it wrote.
    repeat: Option<Plan>,
    planned: Option<u64>,
    region: Region,
    unwritten: Option<Bytes>,
    /// Kept until the end.
    _locked: Option<Buffers>,
}

/// Runs the thread. Errors are of the set-up; what fails later is in the report.
pub(crate) fn run(assignment: Assignment<'_>) -> Result<WorkerReport> {
    let gate = assignment.gate;
    let result = prepare(assignment).and_then(run_prepared);
    if result.is_err() {
        gate.cancel();
    }
    result
}

fn prepare(mut assignment: Assignment<'_>) -> Result<Prepared<'_>> {
    let job = &assignment.work.job;
    let number = job.thread_first + assignment.thread;
    pin(job, assignment.thread)?;
    let locked = lock(job)?;
    sys::prefer(job.host.priority)
        .map_err(|source| EngineError::Priority { asked: job.host.priority, source })?;
    let (user, group) = (job.host.user, job.host.group);
    sys::become_user(user, group).map_err(|source| EngineError::Identity { user, group, source })?;
    let none = Vec::new();
    let held = assignment.work.files.get(assignment.thread as usize).unwrap_or(&none);
    let files = Files::open(job, held)?;
    // Both count from `thread_first` themselves.
    let region = files.region(job, assignment.thread)?;
    let plan = Plan::new(job, region, files.count, assignment.thread)?;
    let limits = Limits::of_job(job);
    let recording = assignment.work.recording.as_ref();
    let pass = recording.map_or(plan.pass_bytes(), |recording| recording.bytes());
    let planned = limits.bytes_of(pass, job.block_sizes.largest().0);
    let limits = if is_read_by_pass(job) { Limits { passes: 1, ..limits } } else { limits };
    let clock = Clock::calibrated();
    let reads_back = reads_back(job);
    let payload = Payload::new(job, job.depth().max(1) as usize, number, reads_back, pass)?;
    let repeat = reads_back.then(|| plan.clone());
    let extras = Extras::new(job, assignment.thread, assignment.board_thread as u32, clock);
    if job.is_timed() {
        sys::wake_precisely();
    }
    let board = Arc::clone(&assignment.board);
    let Assignment { board_thread, rhythm, stop, watch, .. } = assignment;
    let mut meter = Meter::new(clock, board, board_thread, rhythm, stop, watch);
    meter.splits = job.split_latency;
    meter.failures = Failures::ignoring(&job.ignored_errors);
    let source = match recording {
        Some(recording) => Source::replaying(Arc::clone(recording), limits),
        None => Source::new(plan, limits),
    };
    let ticks = |ns| clock.ticks(ns);
    let mut load = Load::new(job, source, pacer(assignment.work, assignment.thread, clock), ticks);
    load.part = assignment.part.take();
    let station = Station { load, meter, payload, files, extras, lane: None };
    let unwritten = unwritten(&assignment, region);
    Ok(Prepared { assignment, station, repeat, planned, region, unwritten, _locked: locked })
}

/// Bytes that the thread will read and nobody has written. Threads that share region and files ask once.
fn unwritten(assignment: &Assignment<'_>, region: Region) -> Option<Bytes> {
    let work = assignment.work;
    let files = work.files.get(assignment.thread as usize)?;
    let are_same = |first: &Vec<Arc<Held>>| {
        first.len() == files.len() && first.iter().zip(files).all(|(one, other)| one.is_same(other))
    };
    let asked_by_first =
        assignment.thread > 0 && work.job.offset_increment.0 == 0 && work.files.first().is_some_and(are_same);
    if work.job.mix.read == 0 || asked_by_first || !work.job.engine.moves_data() {
        return None;
    }
    let of = |file: &Arc<Held>| {
        iostack_host::unwritten(&file.handle(), region.offset, region.length).ok().flatten()
    };
    files.iter().map(of).try_fold(Bytes(0), |sum, bytes| Some(sum + bytes?))
}

/// The schedule of the trace, where there is one, or of the job.
fn pacer(work: &Work, thread: u32, clock: &Clock) -> Pacer {
    let ticks = |ns| clock.ticks(ns);
    let recorded = work.recording.as_ref().zip(work.job.recorded.as_ref());
    match recorded.and_then(|(recording, recorded)| Some((recording, recorded.speed?))) {
        Some((recording, speed)) => Pacer::of_recording(Arc::clone(recording), speed, ticks),
        None => Pacer::new(&work.job, thread, ticks),
    }
}

/// Memory that nobody else gets.
fn lock(job: &Job) -> Result<Option<Buffers>> {
    if job.host.locked.is_zero() {
        return Ok(None);
    }
    let refused = |source| EngineError::LockedMemory { asked: job.host.locked, source };
    let memory = Buffers::new(1, job.host.locked.0 as usize).map_err(refused)?;
    memory.lock().map_err(refused)?;
    Ok(Some(memory))
}

/// The CPUs of the job's nodes, where it names no CPUs.
fn cpus_of_nodes(nodes: &[u32]) -> Result<Option<Vec<u32>>> {
    let mut cpus = Vec::new();
    for node in nodes {
        let list = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/cpulist"));
        let list = list.ok().and_then(|list| iostack_workload::cpu_list(&list));
        cpus.extend(list.ok_or_else(|| EngineError::Impossible {
            what: format!("this machine has no node {node} with CPUs"),
            remedy: "name nodes that exist (`ls -d /sys/devices/system/node/node*`)",
        })?);
    }
    Ok(Some(cpus).filter(|cpus| !cpus.is_empty()))
}

fn pin(job: &Job, thread: u32) -> Result<()> {
    if let Some((policy, nodes)) = &job.host.numa.memory {
        sys::place_memory(*policy, nodes).map_err(|_| EngineError::Impossible {
            what: format!("job `{}`: its memory cannot be on nodes {nodes:?}", job.name),
            remedy: "name nodes that exist (`ls -d /sys/devices/system/node/node*`)",
        })?;
    }
    let of_nodes = cpus_of_nodes(&job.host.numa.cpu_nodes)?;
    let Some(cpus) = job.cpus.as_ref().or(of_nodes.as_ref()) else { return Ok(()) };
    let cpus = cpus_of_thread(job, thread, cpus);
    iostack_host::run_on(&cpus).map_err(|source| EngineError::Pinning { cpus, source })
}

/// Refuses an engine whose I/Os cannot be followed.
fn refuse_to_follow(job: &Job) -> Result<()> {
    let why = match job.engine {
        Engine::PosixAio => "the C library's threads make the calls of posixaio",
        Engine::Null => "null asks nobody",
        Engine::Fallocate | Engine::Truncate | Engine::Names(_) => "its calls are no reads and writes",
        _ => return Ok(()),
    };
    Err(EngineError::Impossible {
        what: format!("job `{}`: {why}, so that no I/O can be followed", job.name),
        remedy: "use libaio or io_uring, or leave the stages out",
    })
}

fn run_prepared(prepared: Prepared<'_>) -> Result<WorkerReport> {
    let job = &prepared.assignment.work.job;
    if prepared.assignment.watch.observer.is_some() {
        refuse_to_follow(job)?;
    }
    let files = &prepared.station.files;
    let descriptors = files.descriptors.clone();
    match job.engine {
        Engine::Psync => run_serial(prepared, &mut Psync(descriptors), Carrier::Call),
        Engine::Pvsync2 { hipri } => {
            let mut call = Pvsync2::new(descriptors, hipri, job.host.flags);
            run_serial(prepared, &mut call, Carrier::Call)
        }
        Engine::Mmap => {
            let end = prepared.region.offset + prepared.region.length;
            let mut call = Mmap::new(files, end, job.mix.write > 0)?;
            run_serial(prepared, &mut call, Carrier::Fault)
        }
        Engine::PosixAio => run_queued(prepared, PosixAio::new(job, descriptors)),
        Engine::Fallocate => run_serial(prepared, &mut Fallocate(descriptors), Carrier::Call),
        Engine::Truncate => run_serial(prepared, &mut Truncate(descriptors), Carrier::Call),
        Engine::Names(act) => run_names(prepared, act),
        // Also one at a time: no call is made that the serial loop could count.
        Engine::Null => run_many(prepared, Null::new(job.depth())),
        Engine::Libaio => run_queued(prepared, Libaio::new(job, descriptors)?),
        Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll } => {
            let options = IoUringOptions { registered_files, poll, submit_poll };
            let payload = &prepared.station.payload;
            if fixed_buffers {
                let queue = IoUring::<true>::new(job, options, files, payload)?;
                run_queued(prepared, queue)
            } else {
                let queue = IoUring::<false>::new(job, options, files, payload)?;
                run_queued(prepared, queue)
            }
        }
    }
}

fn run_names(prepared: Prepared<'_>, act: NameAct) -> Result<WorkerReport> {
    let Assignment { work, thread, .. } = prepared.assignment;
    let mut names = Names::new(act, &work.files[thread as usize])?;
    let report = run_serial(prepared, &mut names, Carrier::Call);
    names.finish(work.job.unlink);
    report
}

fn run_serial<C: Call>(prepared: Prepared<'_>, call: &mut C, carrier: Carrier) -> Result<WorkerReport> {
    let job = &prepared.assignment.work.job;
    let (plain, reads) = (!Extras::are_needed(job), job.mix == Mix::READ);
    measure(prepared, carrier, |station, reading_back| {
        match (plain && !reading_back && station.lane.is_none(), reads) {
            (true, true) => serial_loop::run::<C, true>(station, call),
            (true, false) => serial_loop::run::<C, false>(station, call),
            (false, _) => serial_loop::run_with_extras(station, call),
        }
        Ok(())
    })
}

fn run_queued<Q: Queue>(prepared: Prepared<'_>, mut queue: Q) -> Result<WorkerReport> {
    let job = &prepared.assignment.work.job;
    let apart = Q::SUBMITS_APART && job.split_latency;
    if !Extras::are_needed(job) && job.queue_depth <= 1 && !apart && !reads_back(job) {
        let carrier = queue.carrier();
        return run_serial(prepared, &mut Alone { queue: &mut queue }, carrier);
    }
    run_many(prepared, queue)
}

fn run_many<Q: Queue>(prepared: Prepared<'_>, mut queue: Q) -> Result<WorkerReport> {
    let job = &prepared.assignment.work.job;
    let (plain, reads) = (!Extras::are_needed(job), job.mix == Mix::READ);
    let path = prepared.station.files.path.clone();
    let carrier = queue.carrier();
    measure(prepared, carrier, |station, reading_back| {
        let result = match (plain && !reading_back && station.lane.is_none(), reads) {
            (true, true) => queued_loop::run::<Q, true>(station, &mut queue),
            (true, false) => queued_loop::run::<Q, false>(station, &mut queue),
            (false, _) => queued_extras::run(station, &mut queue),
        };
        result.map_err(|errno| EngineError::Failed {
            act: "submit I/O to",
            path: path.clone(),
            source: std::io::Error::from_raw_os_error(errno),
        })
    })
}

/// Waits until the job may begin, and says when to measure; gives the moment of its first I/O.
fn schedule(assignment: &Assignment<'_>, station: &mut Station<'_>) -> u64 {
    let job = &assignment.work.job;
    let (begun, begun_first) = assignment.gate.begun(assignment.group, assignment.number);
    let clock = station.meter.clock;
    let Span { begins, border, until } = Span::of_job(job, begun, |ns| clock.ticks(ns));
    let border = station.load.search.as_mut().map_or(border, |search| {
        search.begin(border);
        if search.is_uncounted() { u64::MAX } else { border }
    });
    let origin = begun_first + clock.ticks(assignment.origin.0);
    station.meter.schedule(meter::Span { origin, border, deadline: until });
    begins
}

/// The depth that the job searched; where there was no time for it, a failure is noted.
fn depth_found(station: &mut Station<'_>, interrupted: bool) -> Option<DepthFound> {
    let search = station.load.search.as_ref()?;
    if search.is_uncounted() && !interrupted {
        station.meter.failures.add(Direction::Read, libc::ETIMEDOUT, 0, search.unfound());
    }
    search.result()
}

/// Flushes behind the last I/O. Its time is the job's, and as in fio it is none of those counted.
fn flush_at_end(station: &mut Station<'_>) {
    let start = station.meter.clock.now();
    let result = station.files.sync(false);
    station.meter.synced(result, start, station.meter.clock.now(), false);
}

/// Runs a thread from the gate to the report. `load` runs the loop once, to measure or to read back.
fn measure(
    prepared: Prepared<'_>,
    carrier: Carrier,
    mut load: impl FnMut(&mut Station<'_>, bool) -> Result<()>,
) -> Result<WorkerReport> {
    let Prepared { assignment, mut station, mut repeat, planned, region, unwritten, _locked } = prepared;
    let job = &assignment.work.job;
    if assignment.gate.ready(iostack_host::thread_number(), planned).is_none() {
        return Ok(WorkerReport::default());
    }
    let clock = station.meter.clock;
    let start = schedule(&assignment, &mut station);
    let whole = Bytes(region.length * u64::from(station.files.count));
    let mut report = WorkerReport { region: whole, unwritten, ..WorkerReport::default() };
    let delayed_to_the_end = job.start_delay.0 > 0 && station.wait_until(start);
    report.first = clock.now();
    let mut outcome = Ok(());
    if !delayed_to_the_end {
        station.lane = assignment.watch.lane(job, carrier);
        station.load.part.iter_mut().for_each(Part::join);
        outcome = back::load_passes(&mut station, job, &mut repeat, &mut report.read_back, &mut load);
        station.load.part = None;
        assignment.watch.close();
        station.lane = None;
        if job.ends != Ends::Itself {
            assignment.watch.end_all();
        }
        if job.sync.end_fsync {
            flush_at_end(&mut station);
        }
    }
    report.result = station.meter.finish();
    report.depth_found = depth_found(&mut station, report.result.interrupted);
    report.log = std::mem::take(&mut station.extras.log);
    report.log_spans = std::mem::take(&mut station.extras.log_spans);
    assignment.gate.finished(assignment.group, assignment.number);
    // Also without reading back: the coordinator counts kernel workers before their ring closes.
    assignment.gate.released();
    if outcome.is_ok()
        && !report.result.interrupted
        && !station.extras.is_over(&station.meter)
        && let Some(plan) = repeat
    {
        outcome = back::read_last(&mut station, plan, job, &mut report.read_back, &mut load);
    }
    report.result.failures = std::mem::take(&mut station.meter.failures);
    (report.verified, report.read_between) = (station.extras.verified, station.extras.read_between);
    if station.load.pacer.is_open() {
        report.in_flight = Some(Nanos(clock.nanos(station.extras.in_flight_ticks)));
    }
    if let Err(error) = outcome {
        // I/O may still be in flight: its buffers must outlive it, so they are never given back.
        std::mem::forget(station.payload);
        return Err(error);
    }
    Ok(report)
}
