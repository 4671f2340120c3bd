//! What happened inside a simulated target?
//!
//! A simulation sees everything, so an outcome of a simulated target also says which resource was busy for how long,
//! where each I/O spent its time, and what flash management cost. All figures cover the measured time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bins, Bytes, Direction, Nanos, Stage};

/// Insight of a simulation into its own run.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Inside {
    /// Name of the device, as in `sim:NAME`.
    pub device: String,
    /// Its title in words.
    pub title: String,
    /// Origin of its numbers: `built in`, or the path of the file.
    pub origin: String,
    /// Numbers of it that were changed for this run: key and value, as typed.
    pub changed: Vec<(String, String)>,
    /// State when the job begins: `fresh`, `filled`, `steady`.
    pub state: String,
    /// The seed that reproduces the run bit for bit.
    pub seed: u64,
    /// Capacity that the host sees.
    pub capacity: Bytes,
    /// Requests that were simulated, ramp included.
    pub requests: u64,
    /// Events that were simulated, ramp included.
    pub events: u64,
    /// Latency by direction and stage; directions without I/O are left out.
    pub flows: Vec<InsideFlow>,
    /// Every resource, those alike together, in the order of a request's way.
    pub resources: Vec<ResourceUse>,
    /// Resource that limited the throughput; `None` when nothing was busy.
    pub limit: Option<Limiting>,
    /// Work of flash management; `None` without flash.
    pub flash: Option<FlashUse>,
    /// Work of an array's controller; `None` without mirrors or parity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidUse>,
    /// Values over time.
    pub gauges: Vec<Gauge>,
    /// Work of the host; `None` of a device alone, whose host costs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostUse>,
    /// Delay with which the driver heard of each I/O; `None` where nothing lies between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Bins>,
    /// Fullness of the load; `None` where nothing was asked to be full, as in a replay at its own times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// Evidence that rate and latency belong to the load that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// I/Os in flight while every thread submitted, mean.
    pub in_flight: f64,
    /// Rate times mean latency of what was counted: in steady state the same number, by Little's law.
    pub little: f64,
    /// Their distance as a share of `in_flight`.
    pub residual: f64,
    /// Share of the measured time in which every thread submitted, 0..=1.
    pub full: f64,
}

impl Load {
    /// Above this residual, rate and latency are those of another load than was asked for.
    pub const RESIDUAL_MOST: f64 = 0.02;
}

/// Time that a simulated host spent. All figures cover the measured time.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostUse {
    /// Clocks per second of a core.
    pub clock_hz: f64,
    /// Number of cores of the host.
    pub cores: u32,
    /// Clocks per I/O that a caller asked for, all layers together.
    pub clocks_per_io: f64,
    /// The layers that took any, in the order of the way.
    pub layers: Vec<HostLayer>,
    /// Number of interrupts taken.
    pub interrupts: u64,
    /// Completions that an interrupt brought, mean; 0 without interrupts.
    pub completions_per_interrupt: f64,
    /// Times a core went from one thread to another, or to sleep.
    pub switches: u64,
}

/// A layer of a simulated host.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct HostLayer {
    /// `system call`, `block`, `driver`, ..
    pub name: String,
    /// Clocks per I/O.
    pub clocks: f64,
}

/// I/Os of one direction and their stages.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct InsideFlow {
    /// Direction of these I/Os.
    pub direction: Direction,
    /// Submission to completion. Its sum is the sum of the stages' sums, exactly.
    pub whole: Bins,
    /// Each stage that took time in any I/O, in the order of the way. Each histogram counts every I/O, with 0 where the
    /// I/O did not pass the stage. An I/O of several parts has the stages of the part that ended last.
    pub stages: Vec<(Stage, Bins)>,
    /// The slowest of them, the first if there are several: the stages that took any of its time. Their sum is the maximum.
    #[serde(default)]
    pub slowest: Vec<(Stage, Nanos)>,
}

/// Resources that are alike, such as all dies.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ResourceUse {
    /// One of them: `die`, `channel`, `link`.
    pub name: String,
    /// Number of resources; those of several parts of the same name are one list.
    pub count: u32,
    /// Busy share of the measured time, mean over all, 0..=1.
    pub busy: f64,
    /// Busy share of the busiest.
    pub busiest: f64,
    /// Times one of them was used.
    pub visits: u64,
    /// Mean time it was used, ns.
    pub service_ns: f64,
    /// Mean wait before it, ns.
    pub wait_ns: f64,
    /// Mean number waiting, all of them together.
    pub waiting: f64,
}

/// The resource that limits.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Limiting {
    /// Name of the resource, [`ResourceUse::name`].
    pub name: String,
    /// Its busy share, 0..=1.
    pub busy: f64,
    /// Explanation for a reader who does not know the device, in one sentence.
    pub why: String,
}

/// Work of flash management. A page is the unit of mapping.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlashUse {
    /// Bytes of a page.
    pub page: Bytes,
    /// Bytes the host wrote. 0 in outcomes of before this field, whose `write_amplification` is the collector's.
    #[serde(default)]
    pub bytes_host: Bytes,
    /// Pages written to flash for the host: writes of a page that met in the write buffer are one.
    pub pages_host: u64,
    /// Pages written to flash for whatever reason.
    #[serde(default)]
    pub pages_programmed: u64,
    /// Pages that garbage collection moved.
    pub pages_moved: u64,
    /// Pages read only because a write was smaller than a page.
    pub pages_merged: u64,
    /// Number of blocks erased.
    pub erases: u64,
    /// Bytes written to flash per byte the host wrote; 0 without writes. Below 1 where the write buffer spares writes.
    pub write_amplification: f64,
    /// Pages written to flash per page that was written for the host: what garbage collection and folding cost by themselves.
    #[serde(default)]
    pub collector_amplification: f64,
    /// Physical over usable capacity, less 1.
    pub over_provisioning: f64,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks free at the end.
    pub blocks_free: u64,
    /// Pages mapped at the end.
    pub pages_mapped: u64,
    /// Fewest erases of a block since the device was new.
    pub wear_min: u32,
    /// Mean number of erases of a block.
    pub wear_mean: f64,
    /// Largest number of erases of a block.
    pub wear_max: u32,
    /// Work by placement handle, and last of blocks in which moved data of all handles came together; empty with one handle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamUse>,
    /// Work for a mapping table that is not all in the drive's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapUse>,
}

/// Work for a mapping table of which the drive keeps only a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct MapUse {
    /// Bytes of a page of the table.
    pub page: Bytes,
    /// Reads of the host that needed an entry.
    pub lookups: u64,
    /// Those of them that found it in the host's memory.
    pub host_hits: u64,
    /// Those of them that found it on flash only.
    pub misses: u64,
    /// Pages of the table read from flash, also for writes.
    pub pages_read: u64,
    /// Pages of the table written to flash.
    pub pages_programmed: u64,
}

/// Work of flash management for what was written by one placement handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StreamUse {
    /// Pages written to flash for the host.
    pub pages_host: u64,
    /// Pages that garbage collection moved out of its blocks.
    pub pages_moved: u64,
}

impl StreamUse {
    /// Pages written to flash per page that was written for the host; `None` without any.
    pub fn amplification(self) -> Option<f64> {
        let StreamUse { pages_host, pages_moved } = self;
        (pages_host > 0).then(|| (pages_host + pages_moved) as f64 / pages_host as f64)
    }
}

impl FlashUse {
    /// Computes the two factors from what was counted.
    #[must_use]
    pub fn with_factors(mut self) -> FlashUse {
        let per = |whole: u64, part: u64| if part == 0 { 0.0 } else { whole as f64 / part as f64 };
        self.write_amplification = per(self.pages_programmed * self.page.0, self.bytes_host.0);
        self.collector_amplification = per(self.pages_programmed, self.pages_host);
        self
    }

    /// [`Self::collector_amplification`], also of an outcome from before there was this field.
    pub fn collector_factor(&self) -> f64 {
        if self.bytes_host.0 == 0 { self.write_amplification } else { self.collector_amplification }.max(1.0)
    }

    /// The share of what the host wrote that the write buffer kept from the flash; `None` where it is nothing.
    pub fn spared(&self) -> Option<f64> {
        let written = (self.pages_host * self.page.0) as f64;
        let spared = 1.0 - written / self.bytes_host.0 as f64;
        (self.bytes_host.0 > 0 && spared > 0.0).then_some(spared)
    }
}

/// I/Os of an array's members. What a rebuild does is counted apart.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RaidUse {
    /// Level: `1`, `5`, `6`, `10`.
    pub level: String,
    /// Members, failed ones included.
    pub members: u32,
    /// Members that have failed.
    pub failed: u32,
    /// Reads the host asked for.
    pub reads_host: u64,
    /// Writes the host asked for.
    pub writes_host: u64,
    /// Reads of data from members, also to make parity or to make up for a member that failed.
    pub reads_data: u64,
    /// Writes of data to members; each copy of a mirror is one.
    pub writes_data: u64,
    /// Reads of parity.
    pub reads_parity: u64,
    /// Writes of parity.
    pub writes_parity: u64,
    /// Those of these four that the host's writes caused; its reads caused the rest.
    pub for_writes: u64,
    /// Writes of stripes or parts of one to members, of which each may be several I/Os of the host.
    pub stripes_written: u64,
    /// Those of them that read nothing first, since all of the stripe was there.
    pub stripes_full: u64,
    /// Reads of the rebuild.
    pub reads_rebuild: u64,
    /// Writes of the rebuild.
    pub writes_rebuild: u64,
    /// Bytes of each failed member that the rebuild has written since the start.
    pub rebuilt: Bytes,
}

impl RaidUse {
    /// I/Os of members per read and per write of the host; `None` where it asked for none.
    pub fn per_host_io(&self) -> [Option<f64>; 2] {
        let all = self.reads_data + self.writes_data + self.reads_parity + self.writes_parity;
        let per = |part: u64, host: u64| (host > 0).then(|| part as f64 / host as f64);
        [per(all - self.for_writes, self.reads_host), per(self.for_writes, self.writes_host)]
    }

    /// Several arrays as one.
    #[must_use]
    pub fn with(mut self, other: &RaidUse) -> RaidUse {
        self.members += other.members;
        self.failed += other.failed;
        self.reads_host += other.reads_host;
        self.writes_host += other.writes_host;
        self.reads_data += other.reads_data;
        self.writes_data += other.writes_data;
        self.reads_parity += other.reads_parity;
        self.writes_parity += other.writes_parity;
        self.for_writes += other.for_writes;
        self.stripes_written += other.stripes_written;
        self.stripes_full += other.stripes_full;
        self.reads_rebuild += other.reads_rebuild;
        self.writes_rebuild += other.writes_rebuild;
        self.rebuilt.0 += other.rebuilt.0;
        self
    }
}

/// A value over time. Parts name theirs; those of flash explain falls of the rate.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Gauge {
    /// [`Gauge::FREE_BLOCKS`], `dirty pages`.
    pub name: String,
    /// Values at the end of each element of the outcome's series.
    pub values: Vec<f64>,
}

impl Gauge {
    /// Blocks of flash that hold nothing.
    pub const FREE_BLOCKS: &str = "free blocks";
    /// Pages of flash that are written as single-level cells.
    pub const SLC_PAGES: &str = "slc pages";
    /// Pages in the write buffer.
    pub const BUFFERED_PAGES: &str = "buffered pages";
}
