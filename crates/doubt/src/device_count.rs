//! The device counted other I/O than we did.

use iostack_model::{Caveat, Engine, Outcome};

use crate::common::{counted, ours};
use crate::{Doubt, Evidence, Intent, Limit, PLAIN, Weight, foreign_io};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "device_count_differs",
    how: "bytes in `/sys/block/*/stat` differ from ours by over {}",
    limit: Some(Limit::Share(SHARE_MOST)),
    intended: Some(Intent::PageCache),
    weight: Weight::Wrong,
    changes: "One of the two counts is of other I/O.",
    remedy: "Look for merging, splitting, caching, or another user of the device.",
    says: |caveat| {
        let Caveat::DeviceCountDiffers { device, ours, theirs, what } = caveat else { return None };
        Some(format!("We count {ours} {what}, {device} counts {theirs}."))
    },
    of_run: Some(of_run),
    ..PLAIN
};

/// Share of our bytes by which the two may differ, and bytes.
const SHARE_MOST: f64 = 0.02;
const BYTES_MOST: u64 = 64 << 10;

fn of_run(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    if outcome.job.engine == Engine::Mmap || foreign_io::of_run(outcome, evidence).is_some() {
        return None;
    }
    let (ours, blur) = ours(outcome, evidence);
    // Blocks that were moved and then failed to verify, or were read back, are in the device's count only.
    let differs = |direction: usize| {
        let difference = ours[direction].abs_diff(device.bytes[direction]);
        let allowed = (ours[direction] as f64 * SHARE_MOST) as u64 + blur + BYTES_MOST;
        ours[direction] > 0 && difference > allowed
    };
    let direction = (0..2).find(|&direction| differs(direction))?;
    Some(Caveat::DeviceCountDiffers {
        device: device.name.clone(),
        ours: ours[direction],
        theirs: device.bytes[direction],
        what: ["bytes read", "bytes written"][direction].to_owned(),
    })
}
