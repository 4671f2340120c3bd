//! Where did the CPU clocks go?
//!
//! Totals are exact (the scheduler's switches and the interrupts' entries and exits, bracketed); samples only split
//! them. A sample has a *layer* (whose work it was) and a *kind* (what sort of work), independent of each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Ladder, Nanos};

/// The clocks of one kernel layer.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LayerRow {
    /// Name in the rule file, such as `block`; `unclassified` for what no rule knows.
    pub layer: String,
    /// The rule file's words for it.
    pub meaning: String,
    /// Samples that fell into it.
    pub samples: u64,
    /// Its share of `Clocks::total`, in time on a CPU.
    pub time: Nanos,
    /// Samples by kind (`code`, `lock`, `copy`, `alloc`, `irqoff`, `switch`, `doorbell`, ...), largest first.
    pub kinds: Vec<(String, u64)>,
}

/// One function of the profile.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FunctionRow {
    /// Symbol of the function.
    pub name: String,
    /// The layer its samples went to, most often.
    pub layer: String,
    /// Kind of the function.
    pub kind: String,
    /// Samples with it on top.
    pub samples: u64,
}

/// A stack that samples shared, for the flame picture.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StackRow {
    /// Symbols, outermost first.
    pub frames: Vec<String>,
    /// The layer of each frame: same length.
    pub layers: Vec<String>,
    /// Number of samples.
    pub samples: u64,
}

/// CPU time of the subject, and what ran beside it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Clocks {
    /// Time on a CPU in the subject's threads, in the kernel or not.
    pub tasks: Nanos,
    /// Time in interrupts of the devices that came while other threads or none ran: only where the subject is the
    /// machine.
    pub interrupts: Nanos,
    /// Time in kernel threads that are the subject's: its own workers of `io_uring`; of the machine, all.
    pub kernel_threads: Nanos,
    /// Those kernel threads, largest first.
    pub kernel_thread_names: Vec<(String, Nanos)>,
    /// Time that may have served the subject or anybody else.
    #[serde(default)]
    pub beside: Beside,
    /// Time with nothing to do that was spent polling, kept out of the rest.
    pub idle_polling: Nanos,
    /// True when bracketed; false when it is the number of samples times their period, or the kernel's tick accounts.
    pub exact: bool,
    /// Means by which it was counted, in words.
    pub how: String,
}

impl Clocks {
    /// All that is the subject's.
    pub fn total(&self) -> Nanos {
        self.tasks + self.interrupts + self.kernel_threads
    }
}

/// CPU time of I/O whose owner is not known: it is in no sum.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Beside {
    /// Time in interrupts of the devices, outside the subject's threads.
    pub interrupts: Nanos,
    /// Time in kernel threads that did I/O (loop workers, write-back, journals), by the share of their samples that
    /// did.
    pub kernel_threads: Nanos,
    /// Those kernel threads, largest first.
    pub kernel_thread_names: Vec<(String, Nanos)>,
}

impl Beside {
    /// All of it.
    pub fn total(&self) -> Nanos {
        self.interrupts + self.kernel_threads
    }
}

/// CPU time of one process of several.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProcessClocks {
    /// The number of the process; 0 for all those together that found no row of their own.
    pub pid: u32,
    /// Name of the program that it ran last.
    pub name: String,
    /// Time on CPUs of all its threads, also of those that ended.
    pub time: Nanos,
}

/// Quality of the classification, by its own checks.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Quality {
    /// Share of kernel samples that no rule knew, 0..=1.
    pub unclassified: f64,
    /// Share that took the layer of a caller because the leaf itself was unknown, 0..=1.
    pub inferred: f64,
    /// Share of samples on which a name rule and a path rule both spoke and disagreed, 0..=1; `None` without any.
    pub disagreement: Option<f64>,
    /// Share of known functions that their neighbours place in the right layer, 0..=1; `None` when neighbours were
    /// not used.
    pub neighbours_right: Option<f64>,
    /// Source of the function names, and why it is not better.
    pub symbols: String,
}

/// Instructions and cycles of the performance-monitoring unit, per I/O.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Hardware {
    /// Instructions retired, user and kernel.
    pub instructions: f64,
    /// Number of core cycles.
    pub cycles: f64,
}

/// Clocks by layer.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Layers {
    /// Subject of the work: `this load`, `process 1234 (git)`, `the whole machine`.
    pub subject: String,
    /// Time that was sampled.
    pub elapsed: Nanos,
    /// I/Os of the subject in that time; `None` where nobody counted them.
    pub ios: Option<u64>,
    /// Meaning of `ios`, in words: `I/Os of the load`, `block requests of vda`.
    pub ios_meaning: String,
    /// Rate of the time-stamp counter, whose clocks are meant.
    pub tsc_hz: u64,
    /// The exact part.
    pub clocks: Clocks,
    /// Samples per second and CPU asked for.
    pub rate_hz: u32,
    /// `cpu-clock` or `cycles`.
    pub event: String,
    /// Samples taken of the subject: what is in `clocks.total()`.
    pub samples: u64,
    /// Number of samples lost.
    pub lost: u64,
    /// CPU time that sampling cost, as a share of the CPU time sampled, 0..=1; 0 when it could not be measured.
    pub sampling_cost: f64,
    /// Times by layer, largest first. They add up to `clocks.total()`.
    pub rows: Vec<LayerRow>,
    /// Times by function, largest first, at most 64.
    pub functions: Vec<FunctionRow>,
    /// Times by stack, largest first, at most 2000; the rest is summed in the first frame that they share.
    pub stacks: Vec<StackRow>,
    /// CPU time by process, most first, where a process is followed with its children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessClocks>,
    /// Checks of the classification.
    pub quality: Quality,
    /// `None` without a unit that counts.
    pub hardware: Option<Hardware>,
    /// Rungs that this user may measure, and why not more.
    pub ladder: Ladder,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
}

impl Layers {
    /// Clocks of the time-stamp counter in a span.
    pub fn clocks_of(&self, time: Nanos) -> f64 {
        time.0 as f64 * self.tsc_hz as f64 / 1e9
    }

    /// Clocks per I/O in a span of CPU time; `None` without a count of I/Os.
    pub fn clocks_per_io(&self, time: Nanos) -> Option<f64> {
        self.ios.filter(|&ios| ios > 0).map(|ios| self.clocks_of(time) / ios as f64)
    }
}
