//! What happened on the drive?

use iostack_model::answers::{SERVED_KINDS, Seen};
use iostack_sim::engine::alike;
use iostack_stats::Recorder;

use crate::{DiskRequest, Drive, Errno};

/// So far, counted by the drive's thread.
#[derive(Default)]
pub(crate) struct DriveTally {
    ios: [u64; SERVED_KINDS],
    bytes: [u64; SERVED_KINDS],
    asked: [Recorder; SERVED_KINDS],
    late: Recorder,
    /// Answered with an error.
    pub(crate) failed: u64,
    /// Never answered, as a layer wanted.
    pub(crate) lost: u64,
}

/// Sum of what happened on two drives beside each other.
pub(crate) fn both(mut one: Seen, other: Seen) -> Seen {
    for place in 0..SERVED_KINDS {
        one.ios[place] += other.ios[place];
        one.bytes[place] += other.bytes[place];
        one.asked[place].merge(&other.asked[place]);
    }
    one.late.merge(&other.late);
    one.failed += other.failed;
    one.lost += other.lost;
    one.flash.extend(other.flash);
    one.resources.extend(other.resources);
    Seen { resources: alike(one.resources), ..one }
}

impl DriveTally {
    /// `late`: where that is known when it is answered.
    pub(crate) fn count(
        &mut self,
        asked: &DiskRequest,
        took: u64,
        late: Option<u64>,
        answer: Result<(), Errno>,
    ) {
        if answer.is_err() {
            self.failed += 1;
            return;
        }
        let place = asked.place();
        self.ios[place] += 1;
        self.bytes[place] += asked.length;
        self.asked[place].record(took);
        if let Some(late) = late {
            self.heard(late);
        }
    }

    /// Its program heard of it so much later than asked.
    pub(crate) fn heard(&mut self, late: u64) {
        self.late.record(late);
    }

    pub(crate) fn seen(&self, drive: &Drive) -> Seen {
        let world = drive.world();
        Seen {
            ios: self.ios,
            bytes: self.bytes,
            asked: std::array::from_fn(|place| self.asked[place].bins()),
            late: self.late.bins(),
            failed: self.failed,
            lost: self.lost,
            flash: world.flash(),
            resources: world.resources(),
        }
    }
}
