//! What do all lanes of a trial do, each by a thread of its own?

use super::asked::{Findings, Trial};
use super::lane::{Lane, TrialDisk};
use crate::guest::Message;
use crate::guest::near_side::tell;

pub(super) fn lanes<'a>(trial: &Trial, device: &'a TrialDisk) -> Result<Vec<Lane<'a>>, String> {
    let count = u64::from(trial.threads);
    if device.sectors / device.chunk < count {
        return Err(format!(
            "the disk has {} parts of {} sectors, too few for {count} threads; ask for fewer with --threads",
            device.sectors / device.chunk,
            device.chunk
        ));
    }
    Ok((0..count).map(|number| Lane::new(device, number..count, trial)).collect())
}

/// Each lane by a thread of its own.
pub(super) fn each<'a>(lanes: &mut [Lane<'a>], act: impl Fn(&mut Lane<'a>) + Sync) {
    std::thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(|| act(lane));
        }
    });
}

/// Random I/O until the bytes are moved.
pub(super) fn churn(trial: &Trial, lanes: &mut [Lane<'_>]) {
    let share = trial.bytes / lanes.len() as u64;
    each(lanes, |lane| {
        let begun = lane.findings.bytes;
        // What fails moves nothing, and may not go on for ever.
        let most = 1000 + share / 512;
        let mut percent = 0;
        for _ in 0..most {
            let moved = lane.findings.bytes - begun;
            if moved >= share {
                break;
            }
            if lane.number == 0 && moved * 20 / share.max(1) > percent {
                percent = moved * 20 / share.max(1);
                tell(&Message::Step(format!("{} % of the I/O done", percent * 5)));
            }
            lane.step();
        }
    });
}

pub(super) fn gathered(lanes: Vec<Lane<'_>>) -> Findings {
    let mut all = Findings::default();
    for lane in lanes {
        all.add(lane.findings);
    }
    all
}
