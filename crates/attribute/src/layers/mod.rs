//! Where did the clocks go?
//!
//! ```text
//!   switches, interrupts (BPF, exact) ──► totals ──► Clocks: how much, in all  ─┐
//!   samples of every CPU (perf)      ──► sampler ──► Store: what, in which part ┴► build ──► model::Layers
//! ```
//!
//! Totals are exact where BPF may be used, samples only split them: a thread that sleeps often is sampled too often or
//! too rarely, since its work and the timer's ticks keep step. Kernel threads and interrupts may work for another program's
//! I/O, which cannot be told apart: they stand beside the total, unless the subject is the machine.
//!
//! [`LayerTrace`] measures while it lives; dropped, in whatever way, it leaves nothing behind, since events and
//! programs are file descriptors.

mod account;
mod build;
mod cost;
mod interrupts;
mod readings;
mod record;
mod sampler;
mod totals;
mod window;

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostack_model::{Ladder, Lane, LaneRequest, Layers, Nanos, Observer, Rung, Storage};

use crate::bpf::BpfError;
use crate::classify::{Classifier, FunctionTable, Rules, Symbols, SymbolsError};
use crate::ladder::parse_cpus;
use crate::processes;
use crate::sys::perf::{Source, Watched};
use readings::{Counters, Readings};
use sampler::{Sampler, Scope};
use totals::Totals;

/// Samples per second and CPU, unless asked otherwise: not a multiple of the timer's usual rates.
pub const DEFAULT_RATE_HZ: u32 = 997;
/// Faster, sampling would measure itself: 20,000 a second took half of the CPU.
pub const RATE_MAX_HZ: u32 = 20_000;

/// The processes whose clocks are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Our own load: the threads that call [`Observer::lane`].
    Load,
    /// All threads of a process, also those made later.
    Process {
        /// The number of the process.
        pid: u32,
    },
    /// The same with all processes that it started and will start.
    Tree {
        /// The number of the first process.
        pid: u32,
    },
    /// All that runs.
    Machine,
}

impl Subject {
    /// The number of the process that is followed, unless it is our own.
    pub(crate) fn foreign(self) -> Option<u32> {
        match self {
            Subject::Process { pid } | Subject::Tree { pid } => Some(pid),
            Subject::Load | Subject::Machine => None,
        }
    }

    /// The processes that there are now of those that are followed.
    pub(crate) fn processes(self) -> Vec<u32> {
        match self {
            Subject::Tree { pid } => processes::descendants(pid),
            _ => self.foreign().into_iter().collect(),
        }
    }
}

/// Reason why layers cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// The ladder does not reach so far.
    #[error("clocks by layer need the rung `{}`: {reason}", .rung.name())]
    Rung {
        /// The rung that is missing.
        rung: Rung,
        /// The reason, in a sentence for people.
        reason: String,
        /// The command that lifts it.
        remedy: Option<String>,
    },
    /// There is no such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// More samples than can be taken.
    #[error("{asked} samples a second and CPU are too many; at most {RATE_MAX_HZ}")]
    Rate {
        /// The rate that was asked for.
        asked: u32,
    },
    /// Names of the kernel's functions are hidden.
    #[error(transparent)]
    Symbols(#[from] SymbolsError),
    /// The exact totals did not come to work although BPF does.
    #[error("cannot bracket the scheduler's switches and the interrupts")]
    Totals(#[from] BpfError),
    /// A system call failed.
    #[error("cannot {act}")]
    Failed {
        /// Act that failed, in words.
        act: &'static str,
        /// The error the operating system gave.
        source: io::Error,
    },
}

impl LayerError {
    /// The command that lifts it.
    pub fn remedy(&self) -> Option<&str> {
        match self {
            LayerError::Rung { remedy, .. } => remedy.as_deref(),
            LayerError::Totals(error) => error.remedy(),
            _ => None,
        }
    }
}

/// Measures while it lives.
pub struct LayerTrace {
    watch: Watch,
    conditions: Conditions,
}

/// Conditions known before the measuring begins.
struct Conditions {
    subject: Subject,
    name: String,
    /// It is a command of ours, whose end is no surprise.
    is_command: bool,
    ladder: Ladder,
    tsc_hz: u64,
    rate_hz: u32,
    cpus: Vec<u32>,
    interrupts: Vec<u32>,
    device: Option<String>,
    rules: Rules,
    symbols: Symbols,
    knowledge: Mutex<Option<Knowledge>>,
    notes: Vec<String>,
}

/// Everything that is only needed to tell what was seen. It is made when that is first asked for, so that attaching is quick.
struct Knowledge {
    classifier: Classifier,
    cost_per_sample: Option<Nanos>,
}

impl Knowledge {
    fn gather(conditions: &Conditions, source: Source) -> Knowledge {
        let table = FunctionTable::built_in();
        Knowledge {
            classifier: Classifier::new(&conditions.rules, &conditions.symbols, table),
            cost_per_sample: cost::of_one_sample(source),
        }
    }
}

/// State that the observer of a load reaches.
struct Watch {
    sampler: Sampler,
    account: Mutex<Account>,
}

/// Everything that is summed over windows.
struct Account {
    totals: Option<Totals>,
    task_clock: Counters,
    cycles: Counters,
    instructions: Counters,
    cpus: Vec<u32>,
    opened: Option<Readings>,
    sum: Readings,
    /// The load's threads.
    lanes: usize,
    /// Those that could not be sampled.
    unsampled: usize,
}

impl Account {
    fn read(&self) -> Readings {
        Readings {
            exact: self.totals.as_ref().map(Totals::snapshot),
            task_clock: Nanos(self.task_clock.sum()),
            cycles: self.cycles.sum(),
            instructions: self.instructions.sum(),
            ticks: readings::ticks(),
            polling: readings::polling(&self.cpus),
        }
    }

    /// Use up to now, in windows only.
    fn so_far(&self) -> Readings {
        let mut sum = self.sum.clone();
        if let Some(opened) = &self.opened {
            sum.add(&self.read().since(opened));
        }
        sum
    }

    fn add_lane(&mut self, thread: u32, hardware: bool) {
        self.lanes += 1;
        if let Some(totals) = &mut self.totals {
            totals.add_lane(thread);
        } else if self.task_clock.add(Watched::Thread(0)).is_err() {
            self.unsampled += 1;
        }
        if hardware {
            // A unit with too few counters leaves a thread out; the counts of all are then doubtful and not shown.
            let both =
                self.cycles.add(Watched::Thread(0)).and_then(|()| self.instructions.add(Watched::Thread(0)));
            self.unsampled += usize::from(both.is_err());
        }
    }
}

impl LayerTrace {
    /// Begins to measure by these rules. `storage` is the chain whose interrupts count, `tsc_hz` the rate of the clocks to
    /// tell, `rate_hz` the samples a second and CPU; 0 is [`DEFAULT_RATE_HZ`].
    ///
    /// A load is measured from its observer's `opened` to its `closed`; a process and the machine from now on.
    pub fn start(
        rules: &Rules,
        subject: Subject,
        storage: &Storage,
        ladder: &Ladder,
        tsc_hz: u64,
        rate_hz: u32,
    ) -> Result<LayerTrace, LayerError> {
        let rate_hz = if rate_hz == 0 { DEFAULT_RATE_HZ } else { rate_hz };
        if rate_hz > RATE_MAX_HZ {
            return Err(LayerError::Rate { asked: rate_hz });
        }
        let name = name_of(subject)?;
        let scope = scope(subject, ladder)?;
        let symbols = Symbols::live()?;
        let mut notes = Vec::new();
        let source = if ladder.has(Rung::Hardware) { Source::Cycles } else { Source::CpuClock };
        let cpus = online()?;
        let devices: Vec<&str> = storage.devices.iter().map(|device| device.name.as_str()).collect();
        let interrupts = interrupts::of_devices(&devices);
        let sampler = Sampler::start(subject, scope, source, rate_hz, &cpus, marks(&symbols))?;
        let totals = attach_totals(subject, ladder, &interrupts, &cpus, &sampler, &mut notes)?;
        let account = Account {
            totals,
            task_clock: Counters::new(Source::TaskClock),
            cycles: Counters::new(Source::Cycles),
            instructions: Counters::new(Source::Instructions),
            cpus: cpus.clone(),
            opened: None,
            sum: Readings::default(),
            lanes: 0,
            unsampled: 0,
        };
        open_counters(&account, subject, ladder)?;
        let device = devices.first().map(|&name| name.to_owned());
        let conditions = Conditions {
            subject,
            name,
            is_command: false,
            ladder: ladder.clone(),
            tsc_hz,
            rate_hz,
            cpus,
            interrupts,
            device,
            rules: rules.clone(),
            symbols,
            knowledge: Mutex::new(None),
            notes,
        };
        let watch = Watch { sampler, account: Mutex::new(account) };
        if subject != Subject::Load {
            watch.opened();
        }
        Ok(LayerTrace { watch, conditions })
    }

    /// The same, of a subject that has words of its own: a command that we run.
    #[must_use]
    pub fn called(mut self, subject: String) -> LayerTrace {
        self.conditions.name = subject;
        self.conditions.is_command = true;
        self
    }

    /// Observer to hand to the load, for [`Subject::Load`].
    pub fn observer(&self) -> &dyn Observer {
        &self.watch
    }

    /// Layers seen up to now; to be asked a few times a second at most.
    pub fn so_far(&mut self) -> Layers {
        self.layers(None, "")
    }

    /// Ends the measuring. `ios` is how many I/Os the subject did meanwhile, `ios_meaning` what these are.
    pub fn finish(self, ios: Option<u64>, ios_meaning: &str) -> Layers {
        self.watch.closed();
        self.layers(ios, ios_meaning)
    }

    fn layers(&self, ios: Option<u64>, ios_meaning: &str) -> Layers {
        let (readings, lanes, unsampled) = {
            let account = lock(&self.watch.account);
            (account.so_far(), account.lanes, account.unsampled)
        };
        let (store, reader_time, elapsed) = self.watch.sampler.so_far();
        let seen = build::Seen {
            readings,
            store,
            reader_time,
            elapsed,
            lanes,
            unsampled,
            scope: self.watch.sampler.scope(),
            source: self.watch.sampler.source(),
        };
        build::layers(&self.conditions, &seen, ios, ios_meaning)
    }
}

impl Observer for Watch {
    fn opened(&self) {
        let mut account = lock(&self.account);
        if account.opened.is_none() {
            account.opened = Some(account.read());
            self.sampler.open();
        }
    }

    fn closed(&self) {
        let mut account = lock(&self.account);
        if let Some(opened) = account.opened.take() {
            self.sampler.close();
            let used = account.read().since(&opened);
            account.sum.add(&used);
        }
    }

    fn lane(&self, request: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
        let sampled = self.sampler.add_lane(request.thread_id);
        let mut account = lock(&self.account);
        account.unsampled += usize::from(!sampled);
        account.add_lane(request.thread_id, self.sampler.source() == Source::Cycles);
        None
    }
}

fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name_of(subject: Subject) -> Result<String, LayerError> {
    match subject {
        Subject::Load => Ok("this load".to_owned()),
        Subject::Machine => Ok("the whole machine".to_owned()),
        Subject::Process { pid } | Subject::Tree { pid } => {
            // A thread's number opens the same files as its process's.
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let status = status.map_err(|_| LayerError::NoProcess(pid))?;
            let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if field("Tgid:") != Some(pid.to_string().as_str())
                || field("State:").is_some_and(|it| it.starts_with('Z'))
            {
                return Err(LayerError::NoProcess(pid));
            }
            let children = if matches!(subject, Subject::Tree { .. }) { " and its children" } else { "" };
            Ok(format!("process {pid} ({}){children}", field("Name:").unwrap_or("?")))
        }
    }
}

/// Scope that the ladder lets us watch.
fn scope(subject: Subject, ladder: &Ladder) -> Result<Scope, LayerError> {
    if ladder.has(Rung::AllSamples) {
        return Ok(Scope::Machine);
    }
    if ladder.has(Rung::OwnSamples) && subject != Subject::Machine {
        return Ok(Scope::Threads);
    }
    let rung = if subject == Subject::Machine { Rung::AllSamples } else { Rung::OwnSamples };
    let state = ladder.rungs.iter().find(|state| state.rung == rung);
    Err(LayerError::Rung {
        rung,
        reason: state.map_or_else(|| "it was not tried".to_owned(), |state| state.reason.clone()),
        remedy: state.and_then(|state| state.remedy.clone()),
    })
}

fn online() -> Result<Vec<u32>, LayerError> {
    let act = "read which CPUs are online";
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")
        .map_err(|source| LayerError::Failed { act, source })?;
    parse_cpus(&text).ok_or_else(|| LayerError::Failed { act, source: io::ErrorKind::InvalidData.into() })
}

/// Functions from which the work of a device's interrupt is called.
fn marks(symbols: &Symbols) -> Box<dyn Fn(u64) -> bool + Send> {
    const MARKS: [&str; 4] =
        ["__handle_irq_event_percpu", "handle_irq_event_percpu", "blk_done_softirq", "blk_complete_reqs"];
    let symbols = symbols.clone();
    Box::new(move |address| symbols.name(address).is_some_and(|symbol| MARKS.contains(&symbol.name)))
}

/// Exact totals, where BPF may be used.
fn attach_totals(
    subject: Subject,
    ladder: &Ladder,
    interrupts: &[u32],
    cpus: &[u32],
    sampler: &Sampler,
    notes: &mut Vec<String>,
) -> Result<Option<Totals>, LayerError> {
    if !ladder.has(Rung::Tracing) {
        return Ok(None);
    }
    match Totals::attach(subject, interrupts, cpus, sampler.reader_thread()) {
        Ok(totals) => Ok(Some(totals)),
        // A tracepoint that is missing or has changed takes the exact totals, not the samples.
        Err(error @ (BpfError::NoTracepoint { .. } | BpfError::OtherArguments { .. })) => {
            notes.push(format!("Totals are not bracketed: {error}."));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Counts of a process and of the machine; those of a load come with its threads.
fn open_counters(account: &Account, subject: Subject, ladder: &Ladder) -> Result<(), LayerError> {
    match subject {
        Subject::Load => {}
        Subject::Process { .. } | Subject::Tree { .. } => {
            for pid in subject.processes() {
                if account.totals.is_none() {
                    account.task_clock.add_process(pid)?;
                }
                if ladder.has(Rung::Hardware) {
                    account.cycles.add_process(pid)?;
                    account.instructions.add_process(pid)?;
                }
            }
        }
        Subject::Machine => {
            if ladder.has(Rung::Hardware) {
                for &cpu in &account.cpus {
                    account.cycles.add(Watched::Cpu(cpu))?;
                    account.instructions.add(Watched::Cpu(cpu))?;
                }
            }
        }
    }
    Ok(())
}
