//! The data compresses and the storage compresses.

use iostack_model::{Caveat, Data, Outcome};

use crate::{Doubt, Evidence, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "compressible_data",
    how: "the job's data compresses, and so does the storage (zram, btrfs, zfs, f2fs)",
    weight: Weight::Wrong,
    changes: "Writes look faster than with real data.",
    remedy: "Use random data (the default).",
    says: |caveat| {
        let Caveat::CompressibleData { storage } = caveat else { return None };
        Some(format!("The data compresses and so does {storage}."))
    },
    of_run: Some(of_run),
    ..PLAIN
};

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let file_system =
        outcome.storage.file_system.as_ref().filter(|fs| fs.compresses).map(|fs| fs.kind.clone());
    let device =
        || outcome.storage.devices.iter().find(|device| device.compresses).map(|device| device.name.clone());
    let storage = file_system.or_else(device)?;
    let writes = outcome.write.latency.count > 0;
    (writes && outcome.job.data != Data::Random).then_some(Caveat::CompressibleData { storage })
}
