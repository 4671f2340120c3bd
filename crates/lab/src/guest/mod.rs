//! The far side: what this program does when it is the first process of the lab's machine.
//!
//! ```text
//!   near side                        far side
//!   Plan ──── /lab/plan.json ──────► boot: mount, load modules, find the device, settings, file system
//!   Message ◄── debug console ────── work: I/Os between marks, a job, a shell
//! ```

mod boot;
mod device;
mod furnish;
mod hand_over;
mod log;
mod md;
mod measure;
mod near_side;
mod region;
mod sections;
mod trial;
mod watch;
mod way;

use std::path::PathBuf;

use iostack_model::Direction;
use serde::{Deserialize, Serialize};

use crate::Raid;

pub use boot::{RunJob, is_here, run};
pub(crate) use furnish::furnish;
pub use log::KernelLog;
pub use near_side::{next_order, tell};
pub use trial::{Findings, Trial, TrialKind};
pub use way::{BATCH_MOST, Door, Way};

/// Folder of the lab's own files in the guest.
pub const LAB: &str = "/lab";
/// Path of the plan in the guest.
pub const PLAN: &str = "/lab/plan.json";
/// Folder of the modules, one file each.
pub const MODULES: &str = "/lab/modules";
/// File with the content of a fresh file system; see [`MountPlan::image`].
pub const FILE_SYSTEM: &str = "/lab/filesystem";

/// Everything that the guest is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Modules in the order of loading, with their parameters.
    pub modules: Vec<(String, String)>,
    /// Rule by which the device is found.
    pub find: Find,
    /// All disks that are set up, where there is more than the one to find.
    pub disks: Vec<String>,
    /// They are one, and that is the device.
    pub raid: Option<Raid>,
    /// Files to write a value to; `{disk}` stands for the name of each disk.
    pub settings: Vec<(String, String)>,
    /// A file system between.
    pub place: Option<MountPlan>,
    /// The kernel's own functions are asked for.
    pub symbols: bool,
    /// Seconds of the guest's clock after which a request that is still open is given up; `None`: the emulated devices take
    /// time of the host, and that clock says nothing of them.
    pub gives_up_s: Option<u64>,
    /// Work to do with the device.
    pub work: Work,
}

/// Rule by which the device is told from others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Find {
    /// Disk of this name, such as `nullb0`.
    Name(String),
    /// A SCSI disk whose model contains this.
    Model(String),
    /// The one that was not there before the driver. These were; the guest itself looks.
    New(Vec<String>),
}

/// A file system on the device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MountPlan {
    /// Its name for `mount`.
    pub kind: String,
    /// True when [`FILE_SYSTEM`] has to be written to the device first: pairs of offset and length (both 8 bytes, little
    /// endian), each followed by the bytes.
    pub image: bool,
}

/// Work of the guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// I/Os are counted.
    Cost(Vec<Measure>),
    /// Run a job: whatever the caller of [`run`] makes of it.
    Job(serde_json::Value),
    /// A shell on the console.
    Shell,
    /// Try whether the device keeps what it is given.
    Trial(Vec<Trial>),
    /// Nothing: that it boots is the answer.
    Nothing,
}

/// A stretch of I/Os between marks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// Reads or writes.
    pub direction: Direction,
    /// Way of the I/Os.
    pub way: Way,
    /// Through the page cache.
    pub buffered: bool,
    /// Size of each.
    pub block_bytes: u64,
    /// I/Os to count.
    pub ios: u32,
    /// I/Os to trace after that.
    pub traced: u32,
}

/// A line of the guest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "content", rename_all = "snake_case")]
pub enum Message {
    /// The guest is up, with this release of the kernel.
    Hello(String),
    /// Step that begins now, in words.
    Step(String),
    /// It stops itself for a snapshot, and looks for the files of its run here: physical address and bytes.
    Stops(Vec<(u64, u64)>),
    /// Something has not moved for long: what comes of it, and when.
    Waits(String),
    /// Time-stamp differences of the counted I/Os of a measure, in order.
    Ticks(Vec<u64>),
    /// Name and sections of each loaded module, with their addresses.
    Sections(Vec<(String, Vec<(String, u64)>)>),
    /// The kernel's own functions, as lines of `/proc/kallsyms`, ascending by address.
    Symbols(String),
    /// Text of `/proc/iomem`, as the guest's first process sees it.
    Iomem(String),
    /// Progress of a job, or its outcome: the caller's own words.
    Value {
        /// Name of the value.
        name: String,
        /// Value by that name.
        value: serde_json::Value,
    },
    /// Warnings and worse of the kernel's log that are no chatter.
    Complaints(Vec<String>),
    /// All that was asked for is done.
    Done,
    /// It could not be done, for this reason.
    Failed(String),
}

/// Device or file that takes the guest's I/O.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The device's name, such as `sda`; empty without one.
    pub disk: String,
    /// Path to open: the device, or a file on the file system.
    pub path: PathBuf,
    /// The folder where the file system is mounted.
    pub folder: Option<PathBuf>,
}
