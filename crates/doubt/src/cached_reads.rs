//! The page cache answered reads.

use iostack_model::{Bytes, Caveat, Engine, Outcome};

use crate::common::counted;
use crate::{Doubt, Evidence, Intent, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "cached_reads",
    how: "the device delivered less than {} of what a buffered job read",
    limit: Some(Limit::Share(MOVED_LEAST)),
    intended: Some(Intent::PageCache),
    weight: Weight::Wrong,
    changes: "The reads' figures are memory's.",
    remedy: "Use direct I/O, or a region larger than memory.",
    says: |caveat| {
        let Caveat::CachedReads { asked, device } = caveat else { return None };
        Some(format!("The page cache answered: {asked} were read, the device delivered {device}."))
    },
    of_run: Some(|outcome, evidence| {
        let (asked, device) = kept_in_memory(outcome, evidence, 0)?;
        Some(Caveat::CachedReads { asked, device })
    }),
    ..PLAIN
};

/// Share of a buffered job's bytes that the device moves at least, where the page cache is out of it.
pub(crate) const MOVED_LEAST: f64 = 0.9;

/// Bytes of a buffered job, and those that the device moved, where these are fewer. Directions are 0 (reads) and 1 (writes).
pub(crate) fn kept_in_memory(
    outcome: &Outcome,
    evidence: &Evidence,
    direction: usize,
) -> Option<(Bytes, Bytes)> {
    let device = Bytes(counted(outcome).filter(|_| evidence.alone)?.bytes[direction]);
    let asked = [outcome.read.bytes, outcome.write.bytes][direction];
    let buffered = !outcome.job.direct || outcome.job.engine == Engine::Mmap;
    (buffered && (device.0 as f64) < asked.0 as f64 * MOVED_LEAST).then_some((asked, device))
}
