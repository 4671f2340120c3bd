//! Whose I/Os, and which devices?

use std::path::Path;

use iostack_model::Storage;

use super::TraceError;
use super::account::DeviceAccount;
use super::kernel::DEVICES_MAX;
use crate::bpf::members::Family;

/// Choice of whose I/Os are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// This process's own load, which stamps its I/Os itself: see [`super::StageTrace::observer`].
    Load,
    /// A running process, with all its threads.
    Process {
        /// The number of the process.
        pid: u32,
    },
    /// A process with all that it started and will start.
    Tree {
        /// The number of the first process.
        pid: u32,
    },
    /// Whatever reaches a block device.
    Device {
        /// Kernel name, such as `nvme0n1`.
        name: &'a str,
    },
}

impl Subject<'_> {
    /// Words for a report.
    pub(crate) fn words(&self) -> String {
        match self {
            Subject::Load => "this load".to_owned(),
            Subject::Process { pid } => named(*pid),
            Subject::Tree { pid } => format!("{} and its children", named(*pid)),
            Subject::Device { name } => format!("device {name}"),
        }
    }

    /// The processes whose I/Os are wanted.
    pub(crate) fn family(&self) -> Result<Family, TraceError> {
        let (process, children) = match *self {
            Subject::Load => (std::process::id(), false),
            Subject::Process { pid } => (pid, false),
            Subject::Tree { pid } => (pid, true),
            Subject::Device { .. } => (0, false),
        };
        if process != 0 && !Path::new(&format!("/proc/{process}")).exists() {
            return Err(TraceError::NoProcess { pid: process });
        }
        Ok(Family { process, children })
    }

    /// The number of the process that is followed, unless it is our own.
    pub(crate) fn foreign(&self) -> Option<u32> {
        match *self {
            Subject::Process { pid } | Subject::Tree { pid } => Some(pid),
            Subject::Load | Subject::Device { .. } => None,
        }
    }
}

fn named(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}

/// The devices to count, with their numbers as the kernel packs them.
pub(crate) fn devices(
    subject: &Subject<'_>,
    storage: &Storage,
) -> Result<Vec<(u64, DeviceAccount)>, TraceError> {
    if let Subject::Device { name } = subject {
        let number = number(name).ok_or_else(|| TraceError::NoDevice { name: (*name).to_owned() })?;
        return Ok(vec![(number, DeviceAccount::new((*name).to_owned(), None))]);
    }
    // A partition's bios are counted at its disk, which is next in the chain.
    let chain: Vec<&str> = storage
        .devices
        .iter()
        .filter(|device| !device.is_partition())
        .map(|device| device.name.as_str())
        .take(DEVICES_MAX)
        .collect();
    // A single device's stages are those of the I/Os.
    if chain.len() < 2 {
        return Ok(Vec::new());
    }
    let above = std::iter::once(None).chain(chain.iter().map(|name| Some((*name).to_owned())));
    let numbered = chain
        .iter()
        .zip(above)
        .filter_map(|(name, above)| Some((number(name)?, DeviceAccount::new((*name).to_owned(), above))));
    Ok(numbered.collect())
}

/// `dev_t` as the kernel keeps it: twenty bits of minor number (`include/linux/kdev_t.h`).
fn number(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{name}/dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(major.parse::<u64>().ok()? << 20 | minor.parse::<u64>().ok()?)
}
