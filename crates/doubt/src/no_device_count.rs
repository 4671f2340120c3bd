//! No device has counters that could confirm the count.

use iostack_model::{Caveat, Outcome};

use crate::common::counts;
use crate::{Doubt, Evidence, PLAIN};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "no_device_count",
    how: "no block device behind the path, or its accounting is off",
    remedy: "Only the application's view is known.",
    says: |caveat| {
        let Caveat::NoDeviceCount { reason } = caveat else { return None };
        Some(format!("No device counters confirm this count: {reason}."))
    },
    of_run: Some(of_run),
    ..PLAIN
};

fn of_run(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    if !outcome.job.engine.moves_data() {
        return None;
    }
    let reason = match outcome.storage.top() {
        None => "no block device is behind the target".to_owned(),
        Some(device) if !counts(outcome) => {
            format!("I/O accounting of {0} is off (/sys/block/{0}/queue/iostats)", device.name)
        }
        Some(device) if outcome.device.is_none() => format!("{} has no counters", device.name),
        Some(_) => return None,
    };
    Some(Caveat::NoDeviceCount { reason })
}
