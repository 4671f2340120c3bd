//! Whose I/Os, and which devices?

use std::path::Path;

use iostack_model::Storage;

use super::TraceError;
use super::account::DeviceAccount;
use super::kernel::DEVICES_MAX;

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
            Subject::Process { pid } => match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
                Ok(name) => format!("process {pid} ({})", name.trim()),
                Err(_) => format!("process {pid}"),
            },
            Subject::Device { name } => format!("device {name}"),
        }
    }

    /// The process whose I/Os are wanted; 0 for none.
    pub(crate) fn process(&self) -> Result<u32, TraceError> {
        match *self {
            Subject::Load => Ok(std::process::id()),
            Subject::Process { pid } if Path::new(&format!("/proc/{pid}")).exists() => Ok(pid),
            Subject::Process { pid } => Err(TraceError::NoProcess { pid }),
            Subject::Device { .. } => Ok(0),
        }
    }
}

/// Processes have other numbers in a container than in the kernel, whose numbers the programs compare.
pub(crate) fn numbers_are_the_kernels() -> bool {
    // PROC_PID_INIT_INO of include/linux/proc_ns.h.
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]")
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
