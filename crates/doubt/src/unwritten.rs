//! Part of the region has never been written.

use iostack_model::Caveat;

use crate::{Doubt, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "unwritten_extents",
    how: "FIEMAP shows holes or unwritten extents in the region",
    weight: Weight::Wrong,
    changes: "Reads look faster than the medium is.",
    remedy: "Write the region once before reading it.",
    says: |caveat| {
        let Caveat::UnwrittenExtents { unwritten, region } = caveat else { return None };
        Some(format!("{unwritten} of {region} were never written: the medium is not read there."))
    },
    of_run: Some(|outcome, evidence| {
        let (unwritten, region) = evidence.unwritten?;
        let reads = outcome.read.latency.count > 0;
        (reads && unwritten.0 > 0).then_some(Caveat::UnwrittenExtents { unwritten, region })
    }),
    ..PLAIN
};
