//! What does one I/O cost, exactly?
//!
//! Counted in the lab: a kernel in an emulated machine, one instruction at a time. The number is the *mode* of many
//! I/Os, the commonest exact count, never a mean; [`IoCost::modes`] says how common it is. Instructions are not clocks:
//! [`IoCost::modelled_clocks`] prices them, and says the prices.
use crate::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Case that was counted: everything that a second run must repeat for the same number.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostCase {
    /// Device of the lab, such as `scsi_ram`.
    pub device: String,
    /// Driver options, `NAME=VALUE`, in the order of their names.
    pub options: Vec<(String, String)>,
    /// Read or write.
    pub direction: Direction,
    /// `psync` or `io_uring`.
    pub engine: String,
    /// Size of an I/O in bytes.
    pub block_bytes: u64,
    /// File system between, `None` for the bare device.
    pub file_system: Option<String>,
    /// True when the page cache is in the way.
    pub buffered: bool,
    /// I/O scheduler of the queue, `none` also for devices without queue.
    pub scheduler: String,
    /// Release of the kernel, such as `6.1.0-53-amd64`.
    pub kernel: String,
    /// Modules that came from a folder of the user's instead of the tool's own sources: names.
    pub patched: Vec<String>,
    /// True with the processor's mitigations switched on.
    pub mitigations: bool,
    /// Tracepoints that were enabled, such as `block:block_rq_issue`.
    pub tracepoints: Vec<String>,
}

/// One exact count and how many I/Os had it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CostMode {
    /// Instructions of the I/O.
    pub instructions: u64,
    /// I/Os with exactly these instructions, each as often.
    pub ios: u64,
}

/// Cost of a layer.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostLayer {
    /// Name in the rules, such as `block`.
    pub layer: String,
    /// The rules' words for it.
    pub meaning: String,
    /// Instructions of the modal I/O.
    pub instructions: u64,
    /// Share of the traced I/Os in which it took as many instructions, 0..=1; 1 is an exact figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<f64>,
}

/// Cost of a function in a layer. A function that serves several layers (a lock, a copy) has a row in each.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostFunction {
    /// Symbol of the function.
    pub name: String,
    /// Module, `None` for the kernel itself and for user space.
    pub module: Option<String>,
    /// Layer that these instructions are charged to.
    pub layer: String,
    /// Instructions of the modal I/O, without its callees.
    pub instructions: u64,
    /// Times it was called; `None` when the I/O was not traced.
    pub calls: Option<u64>,
    /// Share of the traced I/Os in which it took as many instructions, 0..=1; 1 is an exact figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<f64>,
}

/// Register accesses of one place in the code.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MmioUse {
    /// Function that made it.
    pub function: String,
    /// Region of the device, as the emulator calls it; `port` for in and out.
    pub region: String,
    /// Physical address of the write.
    pub address: u64,
    /// Register, where the lab knows the device's map: `PxCI`, `SQ1TDBL`.
    pub register: Option<String>,
    /// Reads of the modal I/O.
    pub reads: u64,
    /// Writes of the modal I/O.
    pub writes: u64,
}

/// A call of the modal I/O, in order of execution.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CallNode {
    /// Symbol of the function.
    pub name: String,
    /// Layer of its own instructions.
    pub layer: String,
    /// Its own instructions, without its callees.
    pub instructions: u64,
    /// Calls that it made, in order; a call repeated without pause stands once with `times`.
    pub calls: Vec<CallNode>,
    /// Times that it was called in a row, each alike.
    pub times: u64,
}

impl CallNode {
    /// Instructions with all callees.
    pub fn whole(&self) -> u64 {
        self.times * (self.instructions + self.calls.iter().map(CallNode::whole).sum::<u64>())
    }
}

/// Prices that turn counts into clocks.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ClockPrices {
    /// Clocks per instruction.
    pub cpi: f64,
    /// Clocks of an uncacheable register read.
    pub mmio_read: f64,
    /// Clocks of a posted register write.
    pub mmio_write: f64,
}

impl Default for ClockPrices {
    /// 2,100 clocks a read: the 2010 paper's AHCI registers. One clock an instruction: a round figure, to be set by
    /// whoever knows better; 250 a posted write: likewise.
    fn default() -> Self {
        ClockPrices { cpi: 1.0, mmio_read: 2100.0, mmio_write: 250.0 }
    }
}

/// The exact cost of one I/O.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct IoCost {
    /// Version of these fields: [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of the tool.
    pub iostack: String,
    /// Case that was counted.
    pub case: CostCase,
    /// I/Os counted, over all boots.
    pub ios: u64,
    /// Instructions of the modal I/O.
    pub instructions: u64,
    /// Exact counts by how common they are, the modal first; at most 16.
    pub modes: Vec<CostMode>,
    /// Modal instructions of each boot.
    pub boots: Vec<u64>,
    /// Costs of layers, largest first. They add up to `instructions`.
    pub layers: Vec<CostLayer>,
    /// Costs of functions by layer, largest first. They add up to `instructions`.
    pub functions: Vec<CostFunction>,
    /// Register accesses of the modal I/O; `None` when they were not counted.
    pub mmio: Option<Vec<MmioUse>>,
    /// Calls of the modal I/O; `None` when it was not traced. The outermost is user space.
    pub tree: Option<CallNode>,
    /// Instructions of the modal I/O by the guest's own time-stamp counter, minus `instructions`; `None` where the
    /// processor idled, so that the two do not compare.
    pub tsc_excess: Option<i64>,
    /// Prices for the modelled clocks.
    pub prices: ClockPrices,
    /// Functions that no rule and no address gave a layer.
    pub unclassified: Vec<String>,
    /// Emulator and how it counted: `QEMU 7.2.22, TCG, one instruction a nanosecond`.
    pub how: String,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
}

impl IoCost {
    /// Share of I/Os that were the modal one, 0..=1.
    pub fn modal_share(&self) -> f64 {
        self.modes.first().map_or(0.0, |mode| mode.ios as f64 / self.ios.max(1) as f64)
    }

    /// Register reads and writes of the modal I/O.
    pub fn registers(&self) -> Option<(u64, u64)> {
        let uses = self.mmio.as_ref()?;
        Some((uses.iter().map(|one| one.reads).sum(), uses.iter().map(|one| one.writes).sum()))
    }

    /// Modelled clocks: instructions x CPI + register accesses x their price. `None` without counted registers.
    pub fn modelled_clocks(&self) -> Option<f64> {
        let (reads, writes) = self.registers()?;
        let ClockPrices { cpi, mmio_read, mmio_write } = self.prices;
        Some(self.instructions as f64 * cpi + reads as f64 * mmio_read + writes as f64 * mmio_write)
    }
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostChange {
    /// Layer, or function.
    pub name: String,
    /// Layer of a function; empty for a layer.
    pub layer: String,
    /// Instructions before and after.
    pub before: u64,
    /// Instructions after the change, mean per I/O.
    pub after: u64,
}

/// Sign between the names of a path of calls.
pub const CALLS: &str = " > ";

/// Two costs laid side by side.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostDiff {
    /// Version of these fields: [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// The two, whole.
    pub before: IoCost,
    /// Cost of the second case.
    pub after: IoCost,
    /// Differences between the cases, in words: `kernel 6.1.0-53-amd64 -> 6.12.117+deb12-amd64`.
    pub varied: Vec<String>,
    /// Layers by the size of their change, largest first; those without change left out.
    pub layers: Vec<CostChange>,
    /// Changes of functions, largest first.
    pub functions: Vec<CostChange>,
    /// Changes by the path of calls to a function, largest first: names from the outermost on. Empty when one side was
    /// not traced.
    #[serde(default)]
    pub paths: Vec<CostChange>,
}

/// Verdict of a budget on one case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BudgetVerdict {
    /// Name of the entry in the file.
    pub name: String,
    /// Instructions that the budget allows.
    pub allowed: u64,
    /// Instructions that were counted.
    pub counted: u64,
    /// Layers that grew beyond the file's own figures, then functions, largest growth first. Empty when it holds.
    pub grown: Vec<CostChange>,
    /// True when it holds.
    pub holds: bool,
    /// True where the figure is the same in every traced I/O, so that not one instruction more passes.
    #[serde(default)]
    pub exact: bool,
    /// Path of calls to the function that grew most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
