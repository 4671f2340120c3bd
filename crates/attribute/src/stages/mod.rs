//! Where did the latency go?
//!
//! ```text
//!   programs at tracepoints (bpf/stages.bpf.c) ──► stamps ──► fold ──► account ──► Stages
//!     kernel: loads them, shares memory       lanes: our own threads    │
//!                                             reader: records of others ┘
//! ```
//!
//! Each I/O has one slot of stamps, which telescope: the stages add up to what the caller waited, by construction.
//! The doorbell ends when the CPU that issued the request is next seen to do something else; it holds the rest of the
//! way back from the driver too, and is an upper bound. The device's share is then a lower bound.
//!
//! Start reading at [`StageTrace::attach`], then `fold`.

mod account;
mod calls;
mod fold;
mod held;
mod kernel;
mod lanes;
mod reader;
mod subject;
mod waits;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iostack_model::{Ladder, Nanos, Observer, Rung, Stages, Storage, TracingCost, Way};

pub use subject::Subject;

use crate::bpf::BpfError;
use crate::sys::system;
use account::Account;
use kernel::{Kernel, Wanted};
use lanes::Load;
use reader::{Findings, Reader, Window};
use waits::Waits;

/// Threads of foreign processes that do I/O at a time.
const FOREIGN_LANES_MAX: u32 = 16_384;

/// Reason why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// BPF does not work here, or not for this user.
    #[error(transparent)]
    Bpf(#[from] BpfError),
    /// The ladder knew it before the kernel's verifier, and says it in a line.
    #[error("{reason}")]
    NoRung {
        /// Reason as the ladder has it.
        reason: String,
    },
    /// The memory of a map cannot be shared.
    #[error("cannot map the memory shared with BPF programs")]
    Memory {
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The process is not there.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The number of the process.
        pid: u32,
    },
    /// The block device is not there.
    #[error("there is no block device `{name}`")]
    NoDevice {
        /// The name that the kernel knows it by.
        name: String,
    },
    /// This processor is not one we know the registers of.
    #[error("system calls of other processes are only understood on x86-64")]
    Architecture,
}

impl TraceError {
    /// The command or the change that lifts it; `None` when nothing can.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            TraceError::Bpf(error) => error.remedy(),
            TraceError::NoDevice { .. } => Some("`lsblk` lists the block devices"),
            TraceError::Memory { .. }
            | TraceError::NoProcess { .. }
            | TraceError::NoRung { .. }
            | TraceError::Architecture => None,
        }
    }
}

/// Programs that stamp I/Os, attached while this lives.
pub struct StageTrace {
    reader: Reader,
    load: Arc<Load>,
    kernel: Arc<Kernel>,
    subject: String,
    ladder: Ladder,
    is_load: bool,
    process: Option<u32>,
    with_children: bool,
    /// It is a command of ours, whose end is no surprise.
    is_command: bool,
    attached: u64,
    events_before: u64,
    own_cost_ns: f64,
    waits: Waits,
}

/// The verifier's words are for a program that it should have taken.
fn known(error: TraceError, ladder: &Ladder) -> TraceError {
    let missing = ladder.rungs.iter().find(|state| state.rung == Rung::Tracing && !state.reached);
    match (&error, missing) {
        (TraceError::Bpf(BpfError::Refused { .. }), Some(rung)) => {
            TraceError::NoRung { reason: rung.reason.clone() }
        }
        _ => error,
    }
}

impl StageTrace {
    /// Attaches. `storage` is the chain whose devices are counted, top first; `ladder` goes into the outcome.
    pub fn attach(
        subject: &Subject<'_>,
        storage: &Storage,
        ladder: &Ladder,
    ) -> Result<StageTrace, TraceError> {
        let family = subject.family()?;
        let (numbers, devices) = subject::devices(subject, storage)?.into_iter().unzip();
        let is_load = matches!(subject, Subject::Load);
        let wanted = Wanted {
            family,
            foreign: subject.foreign().is_some(),
            devices: numbers,
            lanes: if subject.foreign().is_some() { FOREIGN_LANES_MAX } else { lanes::LANES_MAX },
            slots: lanes::SLOTS_MAX,
        };
        let own_cost_ns = if is_load { lanes::own_cost_ns() } else { 0.0 };
        let (kernel, ring) = Kernel::attach(&wanted).map_err(|error| known(error, ladder))?;
        let kernel = Arc::new(kernel);
        let load = Arc::new(Load::new(Arc::clone(&kernel)));
        let attached = system::now().0;
        let of_load = Arc::clone(&load);
        let window: Window = if is_load {
            Box::new(move |end_ns| of_load.counts(end_ns))
        } else {
            Box::new(move |end_ns| end_ns >= attached)
        };
        let events_before = kernel.events();
        Ok(StageTrace {
            reader: Reader::start(Arc::clone(&kernel), ring, devices, window),
            load,
            kernel,
            subject: subject.words(),
            ladder: ladder.clone(),
            is_load,
            process: subject.foreign(),
            with_children: family.children,
            is_command: false,
            attached,
            events_before,
            own_cost_ns,
            waits: Waits::default(),
        })
    }

    /// The same, of a subject that has words of its own: a command that we run.
    #[must_use]
    pub fn called(mut self, subject: String) -> StageTrace {
        self.subject = subject;
        self.is_command = true;
        self
    }

    /// Observer for [`Subject::Load`], to which the engine tells each I/O.
    pub fn observer(&self) -> &dyn Observer {
        self.load.as_ref()
    }

    /// Stages seen so far.
    pub fn so_far(&mut self) -> Stages {
        self.stages(&self.reader.findings())
    }

    /// Detaches, and tells what was seen.
    pub fn finish(mut self) -> Stages {
        self.reader.stop();
        self.stages(&self.reader.findings())
    }

    fn stages(&self, findings: &Findings) -> Stages {
        let account: Account = if self.is_load { self.load.account() } else { findings.account() };
        let ways = account.ways();
        let count = |is_wanted: fn(Way) -> bool| -> u64 {
            ways.iter().filter(|way| is_wanted(way.way)).map(|way| way.whole.count).sum()
        };
        let (ios, matched) = if self.is_load || self.process.is_some() {
            (count(|_| true), count(|way| way != Way::Unmatched))
        } else {
            let bios = findings.devices.iter().map(account::DeviceAccount::count).sum();
            (bios, bios)
        };
        let elapsed = if self.is_load { self.load.elapsed() } else { system::now().0 - self.attached };
        Stages {
            subject: self.subject.clone(),
            elapsed: Nanos(elapsed),
            ios,
            matched,
            lost: self.kernel.lost(),
            devices: findings.devices.iter().map(account::DeviceAccount::stages).collect(),
            processes: account.processes(),
            kinds: account.kinds(),
            waits: self.waits.told(&self.kernel.waits()),
            application_mean_ns: None,
            tracing: self.cost(findings, ios),
            ladder: self.ladder.clone(),
            notes: self.notes(&ways),
            ways,
        }
    }

    fn cost(&self, findings: &Findings, ios: u64) -> TracingCost {
        let events = self.kernel.events().saturating_sub(self.events_before);
        let ns_per_event = match findings.runs_timed {
            0 => 0.0,
            runs => findings.runs_ns as f64 / runs as f64,
        };
        let in_kernel = ns_per_event * events as f64;
        let ns_per_io = match ios {
            0 => 0.0,
            ios => (in_kernel + findings.reader_ns as f64) / ios as f64 + self.own_cost_ns,
        };
        let how = if findings.runs_timed == 0 {
            "the kernel timed no run of the BPF programs".to_owned()
        } else {
            format!(
                "the kernel timed {} runs of the BPF programs, 30 ms in each second; events of the whole machine; \
                 {:.0} ns per I/O are our own stamps",
                findings.runs_timed, self.own_cost_ns
            )
        };
        TracingCost { events, ns_per_event, ns_per_io, how }
    }

    fn notes(&self, ways: &[iostack_model::WayStages]) -> Vec<String> {
        let mut notes = Vec::new();
        if ways.iter().any(|way| way.stages.iter().any(|(stage, _)| *stage == iostack_model::Stage::Doorbell))
        {
            notes.push(
                "The doorbell ends when the CPU that issued the request is next seen to do something else: it is an \
                 upper bound, and the device a lower one."
                    .to_owned(),
            );
        }
        if self.process.is_some() {
            if !self.with_children {
                notes.push(crate::CHILDREN.to_owned());
            }
            notes.push(
                "An I/O of io_uring ends when its completion is posted, not when the program picks it up."
                    .to_owned(),
            );
            if !self.kernel.faults {
                notes.push(
                    "This kernel does not tell of page faults: those of mapped files are not seen."
                        .to_owned(),
                );
            }
            notes.extend(self.waits.note());
        }
        let unmatched = ways.iter().find(|way| way.way == Way::Unmatched).map_or(0, |way| way.whole.count);
        if unmatched > 0 {
            notes.push(format!(
                "The way of {unmatched} I/Os was not seen to its end: handed to a worker thread, or events of a busy \
                 CPU did not reach us. Their time is counted as return."
            ));
        }
        let refused = self.load.refused.load(Relaxed);
        if refused > 0 {
            notes.push(format!("{refused} threads of the load found no place and were not traced."));
        }
        if self.load.blind.load(Relaxed) > 0 || (self.process.is_some() && !self.kernel.io_uring) {
            notes.push(
                "This kernel's io_uring has no tracepoint that we know: its I/Os are unmatched.".to_owned(),
            );
        }
        if let Some(pid) = self.process.filter(|_| !self.is_command)
            && !std::path::Path::new(&format!("/proc/{pid}")).exists()
        {
            notes.push(format!("Process {pid} has ended."));
        }
        notes
    }
}
