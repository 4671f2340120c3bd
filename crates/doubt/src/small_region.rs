//! The region is small enough to sit in a cache below (controller, hypervisor).

use iostack_model::{Bytes, Caveat, Machine, Storage};

use crate::{Doubt, Intent, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "small_region",
    how: "a virtual machine reads a region smaller than its memory, on a device other than zram or loop",
    scope: Scope::Machine,
    intended: Some(Intent::PageCache),
    weight: Weight::Partial,
    changes: "Figures and verdict may be of that cache, not of the medium.",
    remedy: "Use a larger region (--size) to be sure of the medium.",
    says: |caveat| {
        let Caveat::SmallRegion { region, memory } = caveat else { return None };
        Some(format!("The region of {region} may fit a cache below; this machine has {memory} of memory."))
    },
    of_run: Some(|outcome, evidence| {
        let reads = outcome.read.latency.count > 0 && outcome.job.engine.moves_data();
        of_region(evidence.region, evidence.machine.as_ref()?, &outcome.storage).filter(|_| reads)
    }),
    ..PLAIN
};

/// Reads of a region this small may be answered by the host of a virtual machine, who has at least the memory of its guest. What a
/// loop device or zram reads is known to be elsewhere.
pub fn of_region(region: Bytes, machine: &Machine, storage: &Storage) -> Option<Caveat> {
    let memory = machine.memory.total;
    let is_virtual = machine.virtualisation.hypervisor.is_some();
    let disk = storage.bottom().is_some_and(|device| !matches!(device.driver.as_str(), "zram" | "loop"));
    (is_virtual && disk && region.0 > 0 && region < memory).then_some(Caveat::SmallRegion { region, memory })
}
