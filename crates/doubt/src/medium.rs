//! Did the data come from the medium and reach it?

use iostack_model::{Access, Bytes, Caveat, Data, Engine, Machine, Nanos, Outcome, Storage};

use crate::Evidence;
use crate::device::counted;

fn reads(outcome: &Outcome) -> bool {
    outcome.read.latency.count > 0
}

pub(crate) fn no_data(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let engine = outcome.job.engine;
    (!engine.moves_data()).then(|| Caveat::NoData { engine: engine.name().to_owned() })
}

pub(crate) fn unwritten(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let (unwritten, region) = evidence.unwritten?;
    (reads(outcome) && unwritten.0 > 0).then_some(Caveat::UnwrittenExtents { unwritten, region })
}

/// Share of a buffered job's bytes that the device moves at least, where the page cache is out of it.
pub(crate) const MOVED_LEAST: f64 = 0.9;

pub(crate) fn cached_reads(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let (asked, device) = kept_in_memory(outcome, evidence, 0)?;
    Some(Caveat::CachedReads { asked, device })
}

pub(crate) fn buffered_writes(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let (asked, device) = kept_in_memory(outcome, evidence, 1)?;
    Some(Caveat::BufferedWrites { asked, device })
}

/// Bytes of a buffered job, and those that the device moved, where these are fewer. Directions are 0 (reads) and 1 (writes).
fn kept_in_memory(outcome: &Outcome, evidence: &Evidence, direction: usize) -> Option<(Bytes, Bytes)> {
    let device = Bytes(counted(outcome).filter(|_| evidence.alone)?.bytes[direction]);
    let asked = [outcome.read.bytes, outcome.write.bytes][direction];
    let buffered = !outcome.job.direct || outcome.job.engine == Engine::Mmap;
    (buffered && (device.0 as f64) < asked.0 as f64 * MOVED_LEAST).then_some((asked, device))
}

pub(crate) fn compressible(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let storage = &outcome.storage;
    let file_system = storage.file_system.as_ref().filter(|fs| fs.compresses).map(|fs| &fs.kind);
    let device = || storage.devices.iter().find(|device| device.compresses).map(|device| &device.name);
    let storage = file_system.or_else(device)?.clone();
    let writes = outcome.write.latency.count > 0;
    (writes && outcome.job.data != Data::Random).then_some(Caveat::CompressibleData { storage })
}

/// A seek and half a turn take milliseconds; no disk with moving heads answers half of random reads in one.
pub(crate) const NO_HEADS: Nanos = Nanos::millis(1);

pub(crate) fn cache_below_reads(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let random = matches!(outcome.job.access, Access::Random { .. });
    let medium = random && outcome.job.direct && outcome.job.engine != Engine::Mmap;
    let medium = medium && outcome.job.engine.moves_data();
    let latency = Nanos(outcome.read.latency.quantile_ns(0.5)?);
    cache_below(&outcome.storage, latency).filter(|_| medium)
}

/// A cache answers below a rotating disk, where `latency`, the median of random reads, is too good for it.
pub fn cache_below(storage: &Storage, latency: Nanos) -> Option<Caveat> {
    let disk = storage.bottom().filter(|device| device.rotational)?;
    let claim = format!("A rotating disk, as {} claims to be,", disk.name);
    (latency < NO_HEADS).then_some(Caveat::CacheBelow { claim, latency })
}

pub(crate) fn small_region_read(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let moves = reads(outcome) && outcome.job.engine.moves_data();
    small_region(evidence.region, evidence.machine.as_ref()?, &outcome.storage).filter(|_| moves)
}

/// The host of a virtual machine, which has at least the memory of its guest, may answer reads of a region this small. What a
/// loop device or zram reads is known to be elsewhere.
pub fn small_region(region: Bytes, machine: &Machine, storage: &Storage) -> Option<Caveat> {
    let memory = machine.memory.total;
    let is_virtual = machine.virtualisation.hypervisor.is_some();
    let disk = storage.bottom().is_some_and(|device| !matches!(device.driver.as_str(), "zram" | "loop"));
    (is_virtual && disk && region.0 > 0 && region < memory).then_some(Caveat::SmallRegion { region, memory })
}
