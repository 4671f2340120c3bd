//! The answers are faster than the medium that the device claims to be.

use iostack_model::{Access, Caveat, Engine, Nanos, Outcome, Storage};

use crate::{Doubt, Evidence, Intent, Limit, PLAIN, Scope, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "cache_below",
    how: "a device that says it rotates answers half of random reads in less than {}",
    limit: Some(Limit::Time(NO_HEADS)),
    scope: Scope::Machine,
    intended: Some(Intent::PageCache),
    weight: Weight::Wrong,
    changes: "Figures and verdict are of that cache, not of the medium.",
    remedy: "Use a region larger than the host's memory to see the medium.",
    says: |caveat| {
        let Caveat::CacheBelow { claim, latency } = caveat else { return None };
        Some(format!("{claim} cannot answer in {latency}: a cache below (hypervisor, controller) does."))
    },
    of_run: Some(of_run),
    ..PLAIN
};

/// A seek and half a turn take milliseconds; no disk with moving heads answers half of random reads in one.
const NO_HEADS: Nanos = Nanos::millis(1);

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let random = matches!(outcome.job.access, Access::Random { .. });
    let medium = random && outcome.job.direct && outcome.job.engine != Engine::Mmap;
    let medium = medium && outcome.job.engine.moves_data();
    let latency = Nanos(outcome.read.latency.quantile_ns(0.5)?);
    of_latency(&outcome.storage, latency).filter(|_| medium)
}

/// Random reads of the medium of `storage` take so long, half of them.
pub fn of_latency(storage: &Storage, latency: Nanos) -> Option<Caveat> {
    let disk = storage.bottom().filter(|device| device.rotational)?;
    let claim = format!("A rotating disk, as {} claims to be,", disk.name);
    (latency < NO_HEADS).then_some(Caveat::CacheBelow { claim, latency })
}
