//! Other programs used the device.

use iostack_model::{Bytes, Caveat, Outcome};

use crate::common::{counted, ours};
use crate::{Doubt, Evidence, Limit, PLAIN, Weight, percent};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "foreign_io",
    how: "over {} of what the device moved was not ours",
    limit: Some(Limit::Share(SHARE_LEAST)),
    weight: Weight::Skewed,
    changes: "The device can do more than the figures say.",
    remedy: "Stop them, or repeat when the device is quiet.",
    says: |caveat| {
        let Caveat::ForeignIo { device, bytes, share } = caveat else { return None };
        Some(format!(
            "Other programs moved {bytes} on {device} meanwhile, {} of its traffic.",
            percent(*share)
        ))
    },
    of_run: Some(of_run),
    ..PLAIN
};

/// Share of the device's traffic, and bytes, below which others do not matter.
const SHARE_LEAST: f64 = 0.05;
const BYTES_LEAST: u64 = 64 << 10;

pub(crate) fn of_run(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    let (ours, blur) = ours(outcome, evidence);
    // A flush or a growing file writes metadata, a small share of it.
    let over = |direction: usize| device.bytes[direction].saturating_sub(ours[direction] + blur);
    let bytes = over(0) + over(1);
    let share = bytes as f64 / (device.bytes[0] + device.bytes[1]).max(1) as f64;
    let device = device.name.clone();
    (share > SHARE_LEAST && bytes >= BYTES_LEAST).then_some(Caveat::ForeignIo {
        device,
        bytes: Bytes(bytes),
        share,
    })
}
