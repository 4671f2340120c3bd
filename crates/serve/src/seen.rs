//! What happened on the drive?

use iostack_model::answers::{Served, ServedKind};
use iostack_model::{Bins, Bytes, FlashUse, ResourceUse};
use iostack_sim::engine::alike;
use iostack_stats::Recorder;

use crate::{Asked, Drive, Errno};

/// Reads, writes, trims, flushes.
const KINDS: usize = 4;

/// So far, counted by the drive's thread.
#[derive(Default)]
pub(crate) struct Tally {
    ios: [u64; KINDS],
    bytes: [u64; KINDS],
    asked: [Recorder; KINDS],
    late: Recorder,
    /// Answered with an error.
    pub(crate) failed: u64,
    /// Never answered, as a layer wanted.
    pub(crate) lost: u64,
}

/// So far.
#[derive(Clone, Debug)]
pub struct Seen {
    /// I/Os: reads, writes, trims, flushes.
    pub ios: [u64; KINDS],
    /// Bytes of them.
    pub bytes: [u64; KINDS],
    /// Latency that the model and the layers asked for, as the program was to see it.
    pub asked: [Bins; KINDS],
    /// How much later than asked answers left.
    pub late: Bins,
    /// Answered with an error.
    pub failed: u64,
    /// Never answered, as a layer wanted.
    pub lost: u64,
    /// What flash management did.
    pub flash: Vec<FlashUse>,
    /// Each kind of resource.
    pub resources: Vec<ResourceUse>,
}

impl Seen {
    /// With what happened on another drive beside it.
    #[must_use]
    pub fn with(mut self, other: Seen) -> Seen {
        for place in 0..KINDS {
            self.ios[place] += other.ios[place];
            self.bytes[place] += other.bytes[place];
            self.asked[place].merge(&other.asked[place]);
        }
        self.late.merge(&other.late);
        self.failed += other.failed;
        self.lost += other.lost;
        self.flash.extend(other.flash);
        self.resources.extend(other.resources);
        Seen { resources: alike(self.resources), ..self }
    }

    /// Into the answer.
    pub fn put_into(self, served: &mut Served) {
        let names = ["read", "write", "trim", "flush"];
        let kinds = names.iter().zip(self.ios).zip(self.bytes).zip(self.asked);
        served.served = kinds
            .map(|(((name, ios), bytes), asked)| ServedKind {
                name: (*name).to_owned(),
                ios,
                bytes: Bytes(bytes),
                asked,
            })
            .collect();
        (served.late, served.failed, served.lost) = (self.late, self.failed, self.lost);
        (served.flash, served.resources) = (self.flash, self.resources);
    }
}

impl Tally {
    /// `late`: where that is known when it is answered.
    pub(crate) fn count(&mut self, asked: &Asked, took: u64, late: Option<u64>, answer: Result<(), Errno>) {
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
