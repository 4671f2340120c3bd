//! One instruction at a time, and what each was.
//!
//!   look at the code ──► step ──► trap ──► one more instruction
//!    │ `syscall`?                  │
//!    └── keep its arguments ───────┴──► its result: one more call, and so many I/Os
//!
//! How the odd cases count:
//!
//! - A string instruction with a repeat prefix traps once per iteration with the instruction pointer unchanged; all
//!   its iterations count as one instruction.
//! - A system call that the kernel restarts (a signal woke it) counts once.
//! - A signal is delivered as usual; the instructions of its handler are the program's.
//! - A `SIGTRAP` that the program sends itself is lost: it cannot be told from a step.
//!
//! Start reading at [`run`].

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::calls::{self, Carries};
use super::code::{Code, Instruction};
use super::error::StepError;
use super::pace::Pace;
use super::record::{Call, Ended, Trace};
use super::rings;
use super::summary;
use super::sys::{self, Arguments, Stop, Ticker};
use super::threads::thread_bytes;

/// I/Os to let pass before counting, unless that takes longer than counting itself: attaching holds a thread up while
/// the I/Os it has in flight complete, so it first reaps them all and then submits as many (seen with fio at depth 32).
const IOS_TO_SETTLE: u64 = 64;

/// A window that is uneven, or holds too few of its beats, is stretched up to so many times.
const STRETCH: u64 = 5;

/// Limits of stepping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Fewest instructions to let pass before counting.
    pub(crate) settle: u64,
    /// Instructions to count, from the first I/O after that on; up to [`STRETCH`] times as many where the window does not
    /// suffice.
    pub(crate) instructions: u64,
    /// Hold the thread's time-stamp counter back, see [`Pace`].
    pub(crate) hold_clock: bool,
    /// Parts into which the window is to be split.
    pub(crate) parts: u64,
}

/// A thread we are attached to. Runs on, untraced, when dropped.
pub(crate) struct Tracee<'a> {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
    stop: &'a AtomicBool,
    deadline: Instant,
    stopped: bool,
    ended: bool,
    signal: i32,
    _ticker: Ticker,
}

impl<'a> Tracee<'a> {
    /// Attaches to thread `tid` of process `pid` and stops it. With `kill`, it dies when we do.
    pub(crate) fn attach(
        (pid, tid): (i32, i32),
        kill: bool,
        deadline: Instant,
        stop: &'a AtomicBool,
    ) -> Result<Self, StepError> {
        let failed = |act, source| StepError::Trace { tid, act, source };
        let ticker = Ticker::start().map_err(|source| failed("setting a timer", source))?;
        sys::seize(tid, kill).map_err(|source| refused(pid, tid, source))?;
        let mut tracee =
            Tracee { pid, tid, stop, deadline, stopped: false, ended: false, signal: 0, _ticker: ticker };
        sys::interrupt(tid).map_err(|source| failed("stopping it", source))?;
        // Another signal may come first; it is delivered at the first step.
        match tracee.wait().map_err(|source| failed("waiting for it to stop", source))? {
            Stop::Signal(signal) => tracee.signal = signal,
            Stop::Ended | Stop::GivenUp if stop.load(Ordering::Relaxed) => {
                return Err(StepError::Interrupted);
            }
            _ => {}
        }
        Ok(tracee)
    }

    /// An error when the thread runs 32-bit code.
    pub(crate) fn must_be_64_bit(&self, name: &str) -> Result<(), StepError> {
        match sys::is_64_bit(self.tid) {
            Ok(false) => Err(StepError::Not64Bit(name.to_owned())),
            _ => Ok(()),
        }
    }

    fn wait(&mut self) -> io::Result<Stop> {
        let (stop, deadline) = (self.stop, self.deadline);
        let give_up = || stop.load(Ordering::Relaxed) || Instant::now() >= deadline;
        let answer = sys::wait(self.tid, &give_up)?;
        self.stopped = !matches!(answer, Stop::GivenUp | Stop::Ended);
        self.ended = answer == Stop::Ended;
        Ok(answer)
    }

    /// One instruction, or one signal.
    fn step(&mut self) -> io::Result<Stop> {
        let signal = std::mem::take(&mut self.signal);
        if let Err(error) = sys::single_step(self.tid, signal) {
            // ESRCH: it was killed while it was stopped; the wait then tells how it ended.
            if error.raw_os_error() != Some(libc::ESRCH) {
                return Err(error);
            }
        }
        self.stopped = false;
        self.wait()
    }

    fn has_ended(&self) -> Option<Ended> {
        if self.ended {
            Some(Ended::Thread)
        } else if self.stop.load(Ordering::Relaxed) {
            Some(Ended::Interrupted)
        } else {
            (Instant::now() >= self.deadline).then_some(Ended::Patience)
        }
    }
}

impl Drop for Tracee<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        if !self.stopped && sys::interrupt(self.tid).is_ok() {
            let until = Instant::now() + Duration::from_secs(2);
            // A thread that does not stop within two seconds is stuck in the kernel, which detaches it when we end.
            if let Ok(Stop::Signal(signal)) = sys::wait(self.tid, &|| Instant::now() >= until) {
                self.signal = signal;
            }
        }
        let _ = sys::detach(self.tid, self.signal);
    }
}

/// Refusal of attaching, with its reason and remedy.
fn refused(pid: i32, tid: i32, source: io::Error) -> StepError {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map_or("", str::trim);
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let reason = match (tracer, scope.trim()) {
        ("", _) => "it ended meanwhile".to_owned(),
        (tracer, _) if tracer != "0" => {
            format!(
                "process {tracer} traces it already; end that tracer (gdb, strace, another iostack) first"
            )
        }
        (_, "1") => "kernel.yama.ptrace_scope is 1, which allows tracing one's own children only; start the \
                     program through `iostack cost -- COMMAND`, or use sudo, or `sysctl \
                     kernel.yama.ptrace_scope=0`"
            .to_owned(),
        (_, "2") => "kernel.yama.ptrace_scope is 2, which allows tracing to root only; use sudo".to_owned(),
        (_, "3") => "kernel.yama.ptrace_scope is 3, which forbids tracing until the next boot".to_owned(),
        _ => {
            "it belongs to another user, or this container forbids tracing; use sudo, or start the container \
              with --cap-add SYS_PTRACE"
                .to_owned()
        }
    };
    StepError::Refused { pid, tid, reason, source }
}

/// Steps until the limits are reached or something ends it. Stops right after an I/O call where it can, so that a
/// loop is counted in whole turns.
pub(crate) fn run(tracee: &mut Tracee, limits: Limits) -> Result<Trace, StepError> {
    let begin = Instant::now();
    let tid = tracee.tid;
    let mut stepper = Stepper::new(tracee, limits);
    let done = stepper.run();
    let mut trace = stepper.trace;
    done.map_err(|source| StepError::Trace { tid, act: "single-stepping", source })?;
    trace.elapsed = begin.elapsed();
    Ok(trace)
}

/// A system call on its way.
struct Pending {
    arguments: Arguments,
    restarted: bool,
}

struct Stepper<'a, 'b> {
    tracee: &'a mut Tracee<'b>,
    limits: Limits,
    code: Code,
    trace: Trace,
    bytes_first: u64,
    address: u64,
    pending: Option<Pending>,
    injected: bool,
    reads_clock: bool,
    pace: Option<Pace>,
    polled: BTreeMap<u64, bool>,
    sole_polled_ring: Option<u64>,
    /// Instructions to count by what has been seen so far.
    wanted: u64,
}

impl<'a, 'b> Stepper<'a, 'b> {
    fn new(tracee: &'a mut Tracee<'b>, limits: Limits) -> Self {
        let rings = rings::rings(tracee.pid);
        let sole = rings.iter().next().filter(|(_, ring)| rings.len() == 1 && ring.polled);
        Stepper {
            limits,
            wanted: limits.instructions,
            code: Code::new(tracee.pid),
            trace: Trace::default(),
            bytes_first: 0,
            address: 0,
            pending: None,
            injected: tracee.signal != 0,
            reads_clock: false,
            pace: limits.hold_clock.then(Pace::start),
            polled: rings.iter().map(|(&descriptor, ring)| (descriptor, ring.polled)).collect(),
            sole_polled_ring: sole.map(|(&descriptor, _)| descriptor),
            tracee,
        }
    }

    fn run(&mut self) -> io::Result<()> {
        if self.tracee.has_ended().is_none() {
            self.address = sys::instruction_pointer(self.tracee.tid)?;
        }
        while self.trace.ended.is_none() {
            self.sample_ring();
            self.advance()?;
            if self.trace.ended.is_none() && self.is_enough() {
                self.trace.ended = Some(Ended::Enough);
            }
        }
        self.sample_ring();
        if self.trace.first.is_none() {
            // It ended while settling: better an unsettled figure, which says so, than none.
            self.trace.first = self.trace.calls.iter().find(|call| call.ios > 0).map(|call| call.at);
        }
        Ok(())
    }

    /// Enough is when the count is reached and the window suffices, right after an I/O; without an I/O in sight, some
    /// time later.
    fn is_enough(&mut self) -> bool {
        let Some(first) = self.trace.first else {
            return self.trace.instructions >= 2 * self.limits.instructions;
        };
        let counted = self.trace.instructions - first;
        if counted < self.wanted {
            return false;
        }
        let last = self.trace.calls.last();
        let at_io = last.is_some_and(|call| call.ios > 0 && call.at == self.trace.instructions);
        if !at_io {
            return counted >= (STRETCH - 1) * self.limits.instructions + self.wanted;
        }
        let most = STRETCH * self.limits.instructions;
        if self.wanted < most && !summary::suffices(&self.trace, self.limits.parts) {
            self.wanted = (counted + self.limits.instructions / 4).min(most);
            return false;
        }
        let bytes = thread_bytes(self.tracee.pid, self.tracee.tid).unwrap_or(0);
        self.trace.bytes = bytes.saturating_sub(self.bytes_first);
        true
    }

    /// Keeps what has to be known of the next instruction before it is executed.
    fn look_ahead(&mut self) -> io::Result<()> {
        self.reads_clock = false;
        if self.pending.is_none() {
            match self.code.instruction(self.address) {
                Instruction::SystemCall => {
                    self.pending =
                        Some(Pending { arguments: sys::arguments(self.tracee.tid)?, restarted: false });
                }
                Instruction::ReadsClock => self.reads_clock = true,
                Instruction::Other => {}
            }
        }
        if let (Some(_), Some(pace)) = (&self.pending, &mut self.pace) {
            pace.before_step();
        }
        Ok(())
    }

    fn advance(&mut self) -> io::Result<()> {
        let tid = self.tracee.tid;
        self.look_ahead()?;
        match self.tracee.step()? {
            Stop::Trap => return self.trapped(),
            Stop::Signal(signal) => {
                self.tracee.signal = signal;
                self.trace.signals += 1;
                self.injected = true;
                // Nothing was executed; a call that was not begun is looked at again.
                self.pending.take_if(|pending| !pending.restarted);
            }
            Stop::Group => {
                sys::listen(tid)?;
                self.tracee.wait()?;
            }
            Stop::Interrupted | Stop::Ended | Stop::GivenUp => {}
        }
        if !self.tracee.stopped {
            self.trace.ended = self.tracee.has_ended();
        }
        Ok(())
    }

    /// An instruction is done, or a handler was entered.
    fn trapped(&mut self) -> io::Result<()> {
        let tid = self.tracee.tid;
        let next = sys::instruction_pointer(tid)?;
        if std::mem::take(&mut self.injected) && sys::trap_code(tid)? == sys::TRAP_HANDLER_ENTRY {
            self.pending = None;
        } else if let Some(pending) = self.pending.take() {
            let returned = sys::time_stamp();
            let calls = self.trace.calls.len();
            if !pending.restarted {
                self.count();
            }
            let value = sys::result(tid)?;
            if calls::is_restart(value) {
                self.pending = Some(Pending { restarted: true, ..pending });
            } else {
                self.called(&pending.arguments, value);
            }
            if let Some(pace) = &mut self.pace {
                pace.called(returned, self.trace.calls[calls..].iter().any(|call| call.ios > 0));
            }
        } else if next == self.address {
            self.trace.repeats += 1;
        } else {
            self.count();
            if let (true, Some(pace)) = (self.reads_clock, self.pace) {
                sys::show_clock(tid, pace.shows(self.trace.instructions))?;
            }
        }
        self.address = next;
        Ok(())
    }

    fn count(&mut self) {
        self.trace.instructions += 1;
        *self.trace.addresses.entry(self.address).or_default() += 1;
    }

    /// A system call returned `value`.
    fn called(&mut self, arguments: &Arguments, value: i64) {
        let number = arguments.number;
        let positive = u64::try_from(value).unwrap_or(0);
        let mut call = Call { at: self.trace.instructions, number, ios: 0, completions: 0, file: None };
        match calls::carries(number) {
            Carries::One if positive > 0 => {
                if let Some(path) = calls::storage_file(self.tracee.pid, arguments.first) {
                    call.ios = 1;
                    call.file = Some(self.file_index(path));
                }
            }
            Carries::Submitted => call.ios = positive,
            Carries::Entered if !self.is_polled(arguments) => call.ios = positive,
            Carries::Reaped => call.completions = positive,
            Carries::Maps => self.code.forget(),
            _ => {}
        }
        self.trace.calls.push(call);
        if call.ios > 0 {
            self.at_io(call.at);
        }
    }

    fn at_io(&mut self, at: u64) {
        if self.trace.first.is_some() {
            return;
        }
        let passed: u64 = self.trace.calls.iter().map(|call| call.ios).sum();
        let settled = at >= self.limits.settle && passed >= IOS_TO_SETTLE;
        if settled || at >= self.limits.instructions {
            self.trace.first = Some(at);
            self.trace.addresses.clear();
            self.bytes_first = thread_bytes(self.tracee.pid, self.tracee.tid).unwrap_or(0);
        }
    }

    fn file_index(&mut self, path: PathBuf) -> usize {
        let files = &mut self.trace.files;
        files.iter().position(|known| *known == path).unwrap_or_else(|| {
            files.push(path);
            files.len() - 1
        })
    }

    /// Notes which ring was entered, and says whether a kernel thread submits for it.
    fn is_polled(&mut self, arguments: &Arguments) -> bool {
        let pid = self.tracee.pid;
        if arguments.fourth & calls::ENTER_REGISTERED_RING != 0 {
            return self.sole_polled_ring.is_some();
        }
        let descriptor = arguments.first;
        self.trace.ring = Some(descriptor);
        let look = || rings::ring(pid, descriptor).is_some_and(|ring| ring.polled);
        *self.polled.entry(descriptor).or_insert_with(look)
    }

    fn sample_ring(&mut self) {
        let Some(descriptor) = self.sole_polled_ring else { return };
        let every = (self.limits.instructions / self.limits.parts).max(1);
        let next = self.trace.tails.last().map_or(self.limits.settle, |&(at, _)| at + every);
        let due = self.trace.instructions >= next;
        if (due || self.trace.ended.is_some())
            && let Some(ring) = rings::ring(self.tracee.pid, descriptor)
        {
            self.trace.tails.push((self.trace.instructions, ring.completions));
        }
    }
}
