//! Does the device count what we count, and nobody else's I/O?

use iostack_model::{Bytes, Caveat, DeviceCount, Engine, Outcome};

use crate::Evidence;

/// The device's count, where it counts and where all it counts is ours to explain.
pub(crate) fn counted(outcome: &Outcome) -> Option<&DeviceCount> {
    outcome.device.as_ref().filter(|_| counts(outcome) && outcome.job.engine.moves_data())
}

/// Accounting is on, or the driver counts anyway, as zram's does.
fn counts(outcome: &Outcome) -> bool {
    let moved = outcome.device.as_ref().is_some_and(|count| count.ios.iter().any(|&ios| ios > 0));
    moved || outcome.storage.top().is_some_and(|device| device.queue.counts_io)
}

/// Bytes of ours that the device should have counted, by direction, and how far the borders may blur them.
fn our_bytes(outcome: &Outcome, evidence: &Evidence) -> ([u64; 2], u64) {
    let blur = evidence.border_ios * outcome.job.block_sizes.largest().0;
    ([outcome.read.bytes.0, outcome.write.bytes.0], blur)
}

/// Share of the device's traffic, and bytes, below which others do not matter.
pub(crate) const FOREIGN_LEAST: f64 = 0.05;
const FOREIGN_BYTES_LEAST: u64 = 64 << 10;

pub(crate) fn foreign_io(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    let (ours, blur) = our_bytes(outcome, evidence);
    // A flush or a growing file writes metadata, a small share of it.
    let over = |direction: usize| device.bytes[direction].saturating_sub(ours[direction] + blur);
    let bytes = over(0) + over(1);
    let share = bytes as f64 / (device.bytes[0] + device.bytes[1]).max(1) as f64;
    (share > FOREIGN_LEAST && bytes >= FOREIGN_BYTES_LEAST).then(|| Caveat::ForeignIo {
        device: device.name.clone(),
        bytes: Bytes(bytes),
        share,
    })
}

/// Share of our bytes by which the two counts may differ, and bytes.
pub(crate) const DIFFERENCE_MOST: f64 = 0.02;
const DIFFERENCE_BYTES_MOST: u64 = 64 << 10;

pub(crate) fn count_differs(outcome: &Outcome, evidence: &Evidence) -> Option<Caveat> {
    let device = counted(outcome).filter(|_| evidence.alone && outcome.job.direct)?;
    if outcome.job.engine == Engine::Mmap || foreign_io(outcome, evidence).is_some() {
        return None;
    }
    let (ours, blur) = our_bytes(outcome, evidence);
    // Blocks that were moved and then failed to verify, or were read back, are in the device's count only.
    let differs = |direction: usize| {
        let difference = ours[direction].abs_diff(device.bytes[direction]);
        let allowed = (ours[direction] as f64 * DIFFERENCE_MOST) as u64 + blur + DIFFERENCE_BYTES_MOST;
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

pub(crate) fn no_count(outcome: &Outcome, _: &Evidence) -> Option<Caveat> {
    let reason = match outcome.storage.top() {
        _ if !outcome.job.engine.moves_data() => return None,
        None => "no block device is behind the target".to_owned(),
        Some(device) if !counts(outcome) => {
            format!("I/O accounting of {0} is off (/sys/block/{0}/queue/iostats)", device.name)
        }
        Some(device) if outcome.device.is_none() => format!("{} has no counters", device.name),
        Some(_) => return None,
    };
    Some(Caveat::NoDeviceCount { reason })
}
