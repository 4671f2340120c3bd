//! How do our BPF programs get into the kernel, and what do they cost there?
//!
//! ```text
//!   NAME.bpf.o ──► Object::load (constants, sizes of maps) ──► attach(program, tracepoint, its arguments)
//!   /sys/kernel/btf/vmlinux ──► KernelTypes: does the tracepoint exist, and with how many arguments?
//! ```
//!
//! Programs are attached to tracepoints by file descriptors: when these are closed, also by a signal or a crash, the
//! kernel takes the programs out. Start reading at [`Object::load`].

pub(crate) mod members;
mod types;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aya::maps::{Map, MapData};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Ebpf, EbpfError, EbpfLoader};

pub use types::{KernelTypes, TypesError};

use crate::sys::system;

/// Reason why a BPF object is not at work.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// The kernel does not describe its own types, or not so that we understand.
    #[error("the kernel's type description is missing, so BPF programs cannot be fitted to it")]
    Types(#[from] TypesError),
    /// This user may not.
    #[error("this user may not load BPF programs ({act})")]
    NotPermitted {
        /// Act that failed, in words.
        act: String,
        /// The kernel's refusal.
        source: io::Error,
    },
    /// The running kernel lacks a tracepoint that a program needs.
    #[error("the kernel has no tracepoint `{name}`")]
    NoTracepoint {
        /// The name that the kernel knows it by.
        name: String,
    },
    /// The tracepoint hands over something else than we know.
    #[error("the kernel's tracepoint `{name}` has {found} arguments; known are {known}")]
    OtherArguments {
        /// The name that the kernel knows it by.
        name: String,
        /// Arguments that the running kernel hands over.
        found: usize,
        /// Counts of arguments that we know what to do with.
        known: String,
    },
    /// The kernel's verifier refused a program, which is our fault or a change of the kernel.
    #[error("the kernel refuses the BPF program `{program}`: {verdict}")]
    Refused {
        /// The name of the BPF program.
        program: String,
        /// The verifier's last words.
        verdict: String,
        /// The error number.
        source: io::Error,
    },
    /// Loading failed otherwise.
    #[error("cannot {act}")]
    Failed {
        /// Act that failed, in words.
        act: String,
        /// The error that was met.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BpfError {
    /// The command or the change that lifts it; `None` when nothing can.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            BpfError::NotPermitted { .. } => Some(
                "run as root, or `sudo setcap cap_perfmon,cap_bpf,cap_syslog+ep $(command -v iostack)`; \
                 in a container, grant the capabilities BPF and PERFMON",
            ),
            BpfError::Types(_) => Some("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y"),
            _ => None,
        }
    }
}

/// An object of BPF programs and maps in the kernel. Dropping it takes its programs out.
pub struct Object {
    ebpf: Ebpf,
    btf: &'static aya::Btf,
    types: &'static KernelTypes,
}

/// Runs of one program since statistics are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramUse {
    /// The name that the kernel knows it by.
    pub name: String,
    /// Number of runs while [`count_time`] was on.
    pub runs: u64,
    /// Time that it ran in all, while [`count_time`] was on.
    pub time: Duration,
}

impl Object {
    /// Loads the maps of an object and prepares its programs. `constants` are the object's `const volatile __u64` by
    /// name, `entries` the sizes of maps that are not as in the source.
    pub fn load(
        bytes: &[u8],
        constants: &[(&str, u64)],
        entries: &[(&str, u32)],
    ) -> Result<Object, BpfError> {
        let types = KernelTypes::running()?;
        let btf = kernel_btf()?;
        system::lift_locked_memory();
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf));
        for (name, value) in constants {
            loader.override_global(name, value, true);
        }
        for (name, size) in entries {
            loader.map_max_entries(name, *size);
        }
        let ebpf = loader.load(bytes).map_err(|error| from_loading("create BPF maps", error))?;
        Ok(Object { ebpf, btf, types })
    }

    /// The kernel's types, for constants that depend on them.
    pub fn types(&self) -> &KernelTypes {
        self.types
    }

    /// Verifies `program` and attaches it to `tracepoint`, provided that has as many arguments as one of `arguments`.
    pub fn attach(&mut self, program: &str, tracepoint: &str, arguments: &[usize]) -> Result<(), BpfError> {
        check_arguments(tracepoint, self.types.tracepoint_arguments(tracepoint), arguments)?;
        let found = self.ebpf.program_mut(program);
        let found: &mut BtfTracePoint = found
            .unwrap_or_else(|| panic!("the object holds the program `{program}`"))
            .try_into()
            .expect("our programs are in sections tp_btf/NAME");
        found.load(tracepoint, self.btf).map_err(|error| from_program("load", program, error))?;
        found.attach().map_err(|error| from_program("attach", program, error))?;
        Ok(())
    }

    /// Takes a map out of the object, to read it through one of aya's types; after all programs that use it are
    /// attached, since they no longer find it here.
    pub fn take_map(&mut self, name: &str) -> Map {
        self.ebpf.take_map(name).unwrap_or_else(|| panic!("the object holds the map `{name}`, not taken yet"))
    }

    /// Runs of the loaded programs while [`count_time`] was on. Programs that the kernel does not tell of are left out.
    pub fn uses(&self) -> Vec<ProgramUse> {
        let told = self.ebpf.programs().filter_map(|(name, program)| {
            let info = program.info().ok()?;
            Some(ProgramUse { name: name.to_owned(), runs: info.run_count(), time: info.run_time() })
        });
        told.collect()
    }

    /// Events that a program did not see, since an interrupt brought them while it was at work on the same CPU (Linux 5.12).
    pub fn missed(&self) -> u64 {
        let of_program = |program: &aya::programs::Program| {
            let descriptor = program.fd().ok()?.as_fd().as_raw_fd();
            missed_of(&std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?)
        };
        self.ebpf.programs().filter_map(|(_, program)| of_program(program)).sum()
    }
}

/// The line `recursion_misses` of a program's `fdinfo` (`bpf_prog_show_fdinfo` in `kernel/bpf/syscall.c`).
fn missed_of(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:")?.trim().parse().ok())
}

/// Reads the kernel's types, which the next [`Object::load`] then finds; what is wrong with them is told there.
pub(crate) fn read_types() {
    let _told_by_load = (KernelTypes::running().is_ok(), kernel_btf().is_ok());
}

/// The kernel's types as the loader wants them, read once.
fn kernel_btf() -> Result<&'static aya::Btf, BpfError> {
    static BTF: OnceLock<aya::Btf> = OnceLock::new();
    if let Some(known) = BTF.get() {
        return Ok(known);
    }
    let failed = |source| BpfError::Failed { act: "read the kernel's types".into(), source };
    let bytes = types::bytes().map_err(|error| failed(error.into()))?;
    let read = aya::Btf::parse(&bytes, aya::Endianness::default()).map_err(|error| failed(error.into()))?;
    Ok(BTF.get_or_init(|| read))
}

/// The link of the ladder's trial. Were it taken out before ours are attached, the kernel would wait, at the next attaching, until
/// every CPU has left what it does (`tp_rcu_cond_sync` in `kernel/tracepoint.c`): tens of milliseconds, on a busy machine
/// more.
static TRIAL: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Keeps the trial's link until [`end_trial`].
pub(crate) fn keep_trial(link: OwnedFd) {
    *TRIAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(link);
}

/// Takes the trial's program out: those it was for are attached.
pub(crate) fn end_trial() {
    drop(TRIAL.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// The file descriptor of an array map, to map it into our memory.
pub fn array_descriptor(map: &Map) -> BorrowedFd<'_> {
    let (Map::Array(data) | Map::HashMap(data) | Map::RingBuf(data)) = map else {
        panic!("one of our maps, which are arrays, hashes and ring buffers");
    };
    MapData::fd(data).as_fd()
}

/// Lets the kernel count runs and time of every BPF program of the machine until the descriptor is dropped. That costs
/// some ten nanoseconds per run itself, so it is on for slices only. `None` where it is not permitted, or before 5.8.
pub fn count_time() -> Option<OwnedFd> {
    aya::sys::enable_stats(aya::sys::Stats::RunTime).ok()
}

/// Refuses a tracepoint that is missing or has changed.
fn check_arguments(name: &str, found: Option<usize>, known: &[usize]) -> Result<(), BpfError> {
    let name = || name.to_owned();
    match found {
        None => Err(BpfError::NoTracepoint { name: name() }),
        Some(found) if known.contains(&found) => Ok(()),
        Some(found) => {
            let known: Vec<String> = known.iter().map(usize::to_string).collect();
            Err(BpfError::OtherArguments { name: name(), found, known: known.join(" or ") })
        }
    }
}

fn from_loading(act: &str, error: EbpfError) -> BpfError {
    match refusal(&error) {
        Some(source) => BpfError::NotPermitted { act: act.to_owned(), source },
        None => BpfError::Failed { act: act.to_owned(), source: error.into() },
    }
}

fn from_program(act: &str, program: &str, error: ProgramError) -> BpfError {
    let act = format!("{act} the BPF program `{program}`");
    match error {
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            // Without the right to load, the verifier does not even begin.
            if log.trim().is_empty() && is_refusal(&io_error) {
                return BpfError::NotPermitted { act, source: io_error };
            }
            let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
            let verdict = lines[lines.len().saturating_sub(VERDICT_LINES)..].join("\n");
            BpfError::Refused { program: program.to_owned(), verdict, source: io_error }
        }
        other => match refusal(&other) {
            Some(source) => BpfError::NotPermitted { act, source },
            None => BpfError::Failed { act, source: other.into() },
        },
    }
}

/// The verifier's reason stands in its last lines.
const VERDICT_LINES: usize = 12;

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// The kernel's "not permitted" somewhere down the chain of causes.
fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<io::Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(number) = error.downcast_ref::<io::Error>().filter(|error| is_refusal(error)) {
            return number.raw_os_error().map(io::Error::from_raw_os_error);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::{STAGES, unpacked};

    #[test]
    fn events_that_a_program_did_not_see_are_read() {
        assert_eq!(missed_of("prog_type:\t26\nrun_cnt:\t9\nrecursion_misses:\t7\n"), Some(7));
        assert_eq!(missed_of("prog_type:\t26\n"), None);
    }

    #[test]
    fn a_tracepoint_that_is_missing_or_has_changed_is_refused() {
        assert!(check_arguments("block_rq_issue", Some(1), &[1, 2]).is_ok());
        assert!(matches!(check_arguments("gone", None, &[1]), Err(BpfError::NoTracepoint { .. })));
        let error = check_arguments("block_rq_issue", Some(3), &[1, 2]).expect_err("three is not known");
        assert!(error.to_string().contains("has 3 arguments; known are 1 or 2"), "{error}");
    }

    #[test]
    fn a_program_is_loaded_attached_and_counted() {
        let name = "a_program_is_loaded_attached_and_counted";
        let mut object = match Object::load(&unpacked(STAGES), &[("issue_argument", 0)], &[]) {
            Ok(object) => object,
            Err(error @ (BpfError::NotPermitted { .. } | BpfError::Types(_))) => {
                println!("SKIPPED {name}: {error}");
                return;
            }
            Err(error) => panic!("{error}: {error:?}"),
        };
        object.attach("block_rq_issue", "block_rq_issue", &[1, 2]).unwrap();
        let uses = object.uses();
        assert!(uses.iter().any(|program| program.name == "block_rq_issue"), "{uses:?}");
    }
}
