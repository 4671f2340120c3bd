//! Writes ended in the page cache, not on the device.

use iostack_model::Caveat;

use crate::cached_reads::{MOVED_LEAST, kept_in_memory};
use crate::{Doubt, Intent, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "buffered_writes",
    how: "less than {} of what a buffered job wrote reached the device",
    limit: Some(Limit::Share(MOVED_LEAST)),
    intended: Some(Intent::PageCache),
    weight: Weight::Wrong,
    changes: "The writes' figures are memory's.",
    remedy: "Use direct I/O, or count fsync into the time.",
    says: |caveat| {
        let Caveat::BufferedWrites { asked, device } = caveat else { return None };
        Some(format!("The page cache took the writes: {asked} were written, {device} reached the device."))
    },
    of_run: Some(|outcome, evidence| {
        let (asked, device) = kept_in_memory(outcome, evidence, 1)?;
        Some(Caveat::BufferedWrites { asked, device })
    }),
    ..PLAIN
};
