//! What does one I/O cost a program in user space?
//!
//!   start or find it ──► busiest thread ──► let it run, watched ──► step it ──► add up
//!       program            threads             free                trace     summary
//!
//! Counts user instructions, system calls and context switches per I/O of any program, without performance counters
//! and without its cooperation: the busiest thread is executed one instruction at a time by ptrace. A few hundred
//! thousand instructions suffice, because a load generator is a loop.
//!
//! Stepping slows the thread about a thousandfold, so its I/Os are complete when it looks for them, and polling for
//! completions costs less than at full speed. What it does by time (series, progress lines) would come around too often;
//! `pace` holds its clock back against that. Switches and CPU time come from a window without stepping.
//!
//! Stepping begins when the program does what it was started for: a thread that works, in calls that fit its job.
//!
//! Start reading at [`cost`].

mod beat;
mod calls;
mod code;
mod error;
mod free;
mod intent;
mod objects;
mod pace;
mod program;
mod record;
mod result;
mod rings;
mod summary;
mod sys;
mod threads;
mod trace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostack_model::Nanos;

pub use error::StepError;
pub use free::{CountedBy, FreeRun};
pub use intent::reads;
pub use result::{AddressCost, CallCost, Doubt, FileCost, PlaceCost, UserCost};

use program::Program;
use record::{Ended, Trace};
use threads::Thread;
use trace::{Limits, Tracee};

/// Time over which the busiest thread is looked for.
const SEARCH: Duration = Duration::from_millis(200);
/// Time over which a thread is watched without stepping.
const WATCH: Duration = Duration::from_millis(500);
/// Parts of the window, whose spread is reported.
const PARTS: u64 = 5;
/// Threads tried, busiest first, until one does I/O.
const CANDIDATES: usize = 3;
/// A job that reads does so at least once in so many calls.
const READS_RARE: u64 = 200;
/// Times to look for a thread that does I/O: a program that has just started may still be doing something else.
const SEARCHES: u32 = 3;

/// Place of code, and how often it was executed.
type CodeCount = (objects::CodePlace, u64);

/// The program whose cost is counted.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A command to start, and to end afterwards with all its children.
    Command {
        /// Program and arguments.
        words: Vec<OsString>,
        /// New file for what it prints; `None` keeps it in memory and shows its end when something fails.
        output: Option<PathBuf>,
    },
    /// A running process, which is left running.
    Process(u32),
}

/// Program to count, and how long.
pub struct Question<'a> {
    /// The program whose cost is counted.
    pub subject: Subject,
    /// Time a command gets to reach its steady state.
    pub warm_up: Nanos,
    /// Instructions to count.
    pub instructions: u64,
    /// The program was told to read: as long as it only writes, it has not begun.
    pub reads: bool,
    /// Longest time to wait for its I/O, and to step.
    pub patience: Nanos,
    /// Hold back the time-stamp counter of a command's thread while it is stepped, so that it does per I/O as little
    /// of its work by time as at full speed. A process that was running is never disturbed like that.
    pub hold_clock: bool,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Told what happens, one short line each.
    pub talk: &'a dyn Fn(&str),
}

/// Counts what one I/O of the subject costs.
pub fn cost(question: &Question) -> Result<UserCost, StepError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(StepError::Architecture(std::env::consts::ARCH));
    }
    match &question.subject {
        Subject::Command { words, output } => {
            let mut program = Program::start(words, output.as_deref())?;
            (question.talk)(&format!("started `{}`; {} of warm-up", program.words(), question.warm_up));
            program.warm_up(Duration::from_nanos(question.warm_up.0), question.stop)?;
            let name = program.words().to_owned();
            let answer = cost_of_family(question, &name, program.pid(), true);
            answer.map_err(|error| with_output(error, &mut program))
        }
        Subject::Process(pid) => {
            let known = i32::try_from(*pid).ok().filter(|pid| PathBuf::from(format!("/proc/{pid}")).exists());
            let root = known.ok_or(StepError::NoProcess(*pid))?;
            cost_of_family(question, &format!("process {pid}"), root, false)
        }
    }
}

/// Adds the end of the command's output to an error; a command that has ended meanwhile is the error itself.
fn with_output(error: StepError, program: &mut Program) -> StepError {
    match error {
        StepError::Interrupted => StepError::Interrupted,
        StepError::NoIo { subject, instructions, calls, .. } => {
            StepError::NoIo { subject, instructions, calls, output: program.output_end() }
        }
        other => program.must_live().err().unwrap_or(other),
    }
}

/// Steps the busiest thread that does I/O.
fn cost_of_family(question: &Question, name: &str, root: i32, ours: bool) -> Result<UserCost, StepError> {
    let deadline = Instant::now() + Duration::from_nanos(question.patience.0);
    let mut watched = Trace::default();
    for search in 1..=SEARCHES {
        let threads = begun(question, (name, root), deadline)?;
        if let Some(answer) = cost_of_threads(question, (name, &threads), ours, &mut watched)? {
            return Ok(answer);
        }
        if Instant::now() >= deadline || threads::family(root).is_empty() {
            break;
        }
        if search < SEARCHES {
            (question.talk)("no I/O there; looking again");
        }
    }
    let (subject, calls) = (name.to_owned(), result::commonest_calls(&watched));
    Err(if question.reads && result::only_writes(&watched) {
        StepError::LaysOut { subject, calls }
    } else {
        StepError::NoIo { subject, instructions: watched.instructions, calls, output: String::new() }
    })
}

/// Waits until a thread works, and reads if it is to; the threads that work, busiest first.
fn begun(
    question: &Question,
    (name, root): (&str, i32),
    deadline: Instant,
) -> Result<Vec<Thread>, StepError> {
    let mut said = false;
    loop {
        let threads = threads::busiest(root, SEARCH);
        let late = Instant::now() >= deadline;
        if question.stop.load(Ordering::Relaxed) {
            return Err(StepError::Interrupted);
        }
        let (reads, writes) =
            threads.iter().fold((0, 0), |(reads, writes), it| (reads + it.reads, writes + it.writes));
        let lays_out = question.reads && reads * READS_RARE < writes;
        if !threads.is_empty() && !lays_out {
            return Ok(threads);
        }
        if late && lays_out {
            let calls = format!("{writes} write calls in {} ms", SEARCH.as_millis());
            return Err(StepError::LaysOut { subject: name.to_owned(), calls });
        }
        if late || threads::family(root).is_empty() {
            return Err(StepError::Idle(name.to_owned()));
        }
        if lays_out && !std::mem::replace(&mut said, true) {
            (question.talk)(
                "it only writes so far, although its job reads; waiting until it has laid out its file",
            );
        }
    }
}

/// Steps these threads until one does I/O; `None` when none does. What was seen instead goes to `watched`.
fn cost_of_threads(
    question: &Question,
    (name, threads): (&str, &[Thread]),
    ours: bool,
    watched: &mut Trace,
) -> Result<Option<UserCost>, StepError> {
    let total: u64 = threads.iter().map(|thread| thread.cpu_ns).sum();
    for thread in threads.iter().take(CANDIDATES) {
        let share = thread.cpu_ns as f64 / total as f64;
        let window = free::watch(thread.pid, thread.tid, WATCH);
        (question.talk)(&format!(
            "stepping thread {} ({}), {:.0} % of its CPU time",
            thread.tid,
            thread.name,
            share * 100.0
        ));
        let (mut trace, places) = match step(question, thread, ours) {
            // A short-lived thread ended before it could be stepped; the next may live longer.
            Err(StepError::Refused { source, .. }) if source.raw_os_error() == Some(libc::ESRCH) => continue,
            other => other?,
        };
        let counted = summary::add_up(&trace, PARTS);
        if counted.ios > 0 && !(question.reads && result::only_writes(&trace)) {
            let free = window.and_then(|window| free::per_io(&window, &counted));
            return Ok(Some(result::assemble(name, (thread, share), &trace, counted, free, places)));
        }
        if trace.ended == Some(Ended::Interrupted) {
            return Err(StepError::Interrupted);
        }
        trace.instructions += watched.instructions;
        *watched = trace;
    }
    Ok(None)
}

/// Attaches, steps, finds out where the code was, and lets go: in a thread of its own, on the CPU of the one it steps. On
/// one CPU the two hand over to each other without waking another one.
fn step(question: &Question, thread: &Thread, ours: bool) -> Result<(Trace, Vec<CodeCount>), StepError> {
    let deadline = Instant::now() + Duration::from_nanos(question.patience.0);
    let limits = Limits {
        settle: question.instructions / 4,
        instructions: question.instructions,
        hold_clock: ours && question.hold_clock,
        parts: PARTS,
    };
    let stop = question.stop;
    let stepped = || {
        // Where that is not allowed it only takes longer.
        let _pinned = threads::last_cpu(thread.pid, thread.tid).map(|cpu| iostack_host::run_on(&[cpu]));
        let mut tracee = Tracee::attach((thread.pid, thread.tid), ours, deadline, stop)?;
        tracee.must_be_64_bit(&thread.name)?;
        let trace = trace::run(&mut tracee, limits)?;
        let mut finder = objects::Finder::new(thread.pid);
        drop(tracee);
        let places = trace.addresses.iter().map(|(&address, &count)| (finder.place(address), count));
        let places = places.collect();
        if stop.load(Ordering::Relaxed) && trace.instructions == 0 {
            return Err(StepError::Interrupted);
        }
        Ok((trace, places))
    };
    let ended = std::thread::scope(|scope| scope.spawn(stepped).join());
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
