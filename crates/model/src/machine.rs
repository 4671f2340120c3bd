//! The machine a figure came from, and the storage behind a path. Filled by the `host` crate.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Direction, Nanos};

/// The conditions of every figure of a run.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Machine {
    /// Model and features of the processor.
    pub cpu: Cpu,
    /// Memory at the start.
    pub memory: Memory,
    /// Operating system kernel.
    pub kernel: Kernel,
    /// Hypervisor or container around us.
    pub virtualisation: Virtualisation,
}

/// Processor and its clock.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cpu {
    /// Model name as the processor states it.
    pub model: String,
    /// CPUs this process may run on.
    pub cores_usable: u32,
    /// Number of CPUs online.
    pub cores_online: u32,
    /// Number of NUMA nodes.
    pub nodes: u32,
    /// Rate of the time-stamp counter in Hz, measured against `CLOCK_MONOTONIC`; 0 where there is none.
    pub tsc_hz: u64,
    /// The counter runs at a constant rate in all states (`constant_tsc` and `nonstop_tsc`), as Arm's always does.
    pub tsc_invariant: bool,
    /// Frequency governor of CPU 0, where there is one.
    pub governor: Option<String>,
    /// SMT siblings share cores.
    pub smt: bool,
}

/// Memory at the start of a run.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of memory (`MemTotal`).
    pub total: Bytes,
    /// Bytes of memory to be had (`MemAvailable`).
    pub available: Bytes,
}

/// Operating system kernel.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Kernel {
    /// Release of the kernel (`uname -r`).
    pub release: String,
    /// Preemption model and build line of `uname -v`.
    pub version: String,
    /// Name of the distribution.
    pub distribution: String,
    /// Clock source in use (`/sys/devices/system/clocksource/clocksource0/current_clocksource`).
    pub clock_source: String,
    /// `(vulnerability, state)` from sysfs.
    pub mitigations: Vec<(String, String)>,
    /// `io_uring_disabled`: 0 open to all, 1 privileged only, 2 off; `None` when the kernel has no such switch.
    pub io_uring_disabled: Option<u32>,
}

/// Layers between this system and the hardware.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Virtualisation {
    /// Hypervisor (`kvm`, `vmware`, ...) or `None` on bare metal.
    pub hypervisor: Option<String>,
    /// Container runtime, where one can be seen.
    pub container: Option<String>,
    /// Cgroups limit I/O of this process: which, in words.
    pub io_limit: Option<String>,
    /// The same, each by itself, of the devices that a check looks at.
    #[serde(default)]
    pub io_limits: Vec<IoLimit>,
}

/// Limit of a cgroup on this process's use of a device.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct IoLimit {
    /// The device's name, or its number where it has none.
    pub device: String,
    /// Direction that is limited.
    pub direction: Direction,
    /// I/Os or bytes.
    pub per_second: u64,
    /// It counts bytes.
    pub bytes: bool,
    /// The file that sets it.
    pub file: PathBuf,
}

impl IoLimit {
    /// I/Os of this size that it allows in a second.
    pub fn iops(&self, size: Bytes) -> f64 {
        let each = if self.bytes { size.0.max(1) } else { 1 };
        self.per_second as f64 / each as f64
    }
}

/// `reads of vda are limited to 500 IOPS by FILE`
impl fmt::Display for IoLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = if self.bytes {
            format!("{}/s", Bytes(self.per_second))
        } else {
            format!("{} IOPS", self.per_second)
        };
        let (direction, device, file) = (self.direction.name(), &self.device, self.file.display());
        write!(f, "{direction}s of {device} are limited to {rate} by {file}")
    }
}

/// The storage behind a path: the file system, then the devices from top to bottom.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Storage {
    /// The file system, `None` for a raw device.
    pub file_system: Option<FileSystem>,
    /// Devices from the one the file system sits on down to the last that has no lower one. Empty when there is
    /// none behind the path (tmpfs, overlay, network).
    pub devices: Vec<BlockDevice>,
}

impl Storage {
    /// The device whose counters count our I/O: the top of the chain.
    pub fn top(&self) -> Option<&BlockDevice> {
        self.devices.first()
    }

    /// The device whose scheduler orders our I/O: the first from the top that has a choice of schedulers. A partition
    /// has none of its own.
    pub fn scheduled(&self) -> Option<&BlockDevice> {
        self.devices.iter().find(|device| !device.is_partition() && device.queue.schedulers.len() > 1)
    }

    /// The device at the bottom of the chain, the nearest thing to hardware.
    pub fn bottom(&self) -> Option<&BlockDevice> {
        self.devices.last()
    }
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FileSystem {
    /// Kind of file system: `ext4`, `xfs`, ...
    pub kind: String,
    /// Path at which it is mounted.
    #[serde(serialize_with = "crate::target_name::as_shown")]
    pub mount_point: PathBuf,
    /// The mount's source (`/dev/vda1`).
    pub source: String,
    /// Options as `/proc/self/mountinfo` shows them, file system's own included.
    pub options: String,
    /// Bytes of the file system.
    pub total: Bytes,
    /// Free to this user.
    pub free: Bytes,
    /// The file system compresses data, so compressible data would lie.
    pub compresses: bool,
}

/// One block device of the chain.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name (`nvme0n1p2`).
    pub name: String,
    /// Vendor and model, where sysfs states them.
    pub model: Option<String>,
    /// Name of the driver (`nvme`, `virtio_blk`, `sd`, `loop`, `zram`, `device-mapper`, `md`).
    pub driver: String,
    /// Role in the chain: `disk`, `partition`, `loop`, `dm`, `md`, `zram`.
    pub role: String,
    /// Bytes of the device.
    pub size: Bytes,
    /// Smallest unit of direct I/O.
    pub logical_block: Bytes,
    /// Smallest unit the device writes without reading.
    pub physical_block: Bytes,
    /// The device calls itself rotational.
    pub rotational: bool,
    /// Write cache (`write back` needs flushes).
    pub write_cache: String,
    /// Largest discard; 0 when the device takes none.
    pub discard_max: Bytes,
    /// The device stores data compressed.
    pub compresses: bool,
    /// Its request queue; a bio-based device has none of its own to speak of.
    pub queue: Queue,
}

impl BlockDevice {
    /// A part of the device below it, which has the queue.
    pub fn is_partition(&self) -> bool {
        self.role == "partition"
    }
}

/// Settings of a request queue.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Queue {
    /// Scheduler in use; empty when the device has none.
    pub scheduler: String,
    /// Schedulers to choose from.
    pub schedulers: Vec<String>,
    /// Requests that the queue holds (`nr_requests`).
    pub requests: u32,
    /// Number of hardware queues.
    pub hardware_queues: u32,
    /// Tags of one hardware queue, where the device states it.
    pub tags: Option<u32>,
    /// Queues that can be polled.
    pub poll_queues: u32,
    /// Largest request, in bytes.
    pub request_max: Bytes,
    /// CPU that completes a request (`rq_affinity`).
    pub affinity: u32,
    /// Merging of requests that is off (`nomerges`).
    pub merges_off: u32,
    /// Write-back throttling target; `None` when off or absent.
    pub throttle_latency: Option<Nanos>,
    /// Entropy is gathered from its timing.
    pub adds_randomness: bool,
    /// I/O accounting is on: without it /sys counts nothing.
    pub counts_io: bool,
}
