//! What did programs ask of a served drive, and when were they answered?

use crate::{Bins, Bytes, FlashUse, Machine, Nanos, ResourceUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A simulated drive that was a disk for programs, in real time.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Served {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// Start of serving, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// Time that the drive was served.
    pub elapsed: Nanos,
    /// Machine that served it.
    pub machine: Machine,
    /// The drive and the layers over it, as typed.
    pub drive: String,
    /// `fuse`, `fuse and loop`, `nbd`.
    pub route: String,
    /// Place at which programs found it.
    pub place: String,
    /// Bytes of the drive.
    pub capacity: Bytes,
    /// Decides whatever chance does in the drive.
    pub seed: u64,
    /// The time that the route takes by itself: answers left so much earlier. 0 where it was not measured.
    pub lead: Nanos,
    /// Reads, writes, trims and flushes.
    pub served: Vec<ServedKind>,
    /// Delay of all answers beyond the time asked for. Beyond it a program waits for the route.
    pub late: Bins,
    /// Answered with an error.
    pub failed: u64,
    /// Never answered, as a layer wanted.
    pub lost: u64,
    /// Power cuts, in their order.
    pub cuts: Vec<ServedCut>,
    /// Disks that a power cut could have left, and the check of each; `None` where none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashPoints>,
    /// Work of flash management; one for each drive that has some.
    pub flash: Vec<FlashUse>,
    /// Each kind of resource.
    pub resources: Vec<ResourceUse>,
    /// Notes for the reader, in whole sentences.
    pub notes: Vec<String>,
}

/// I/Os of one kind.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ServedKind {
    /// `read`, `write`, `trim`, `flush`.
    pub name: String,
    /// Number of requests answered.
    pub ios: u64,
    /// Bytes of them.
    pub bytes: Bytes,
    /// Latency that the model and the layers ask for, as a program is to see it.
    pub asked: Bins,
}

/// A power cut.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ServedCut {
    /// Since the start.
    pub at: Nanos,
    /// Atoms of the drive, which are never torn, that were not flushed and are there all the same.
    pub kept: u64,
    /// Atoms that were not flushed, and are what they were.
    pub lost: u64,
}

/// Disks that a power cut could have left behind a program, each checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CrashPoints {
    /// Writes and trims that were recorded.
    pub writes: u64,
    /// Flushes that were recorded.
    pub flushes: u64,
    /// Stretches of the run, each up to where something became safe.
    pub epochs: u64,
    /// Points that were chosen: a moment, and what is lost of the writes that were not safe at it.
    pub chosen: u64,
    /// Every legal point was chosen.
    pub exhaustive: bool,
    /// Points that were checked.
    pub checked: u64,
    /// Points like one before, on disk and in what the program had said: checked once.
    pub equal: u64,
    /// Time from the first check to the last, by the clock on the wall.
    pub took: Nanos,
    /// The point at which the check failed, with the smallest set of lost writes.
    pub failed: Option<CrashFailure>,
}

/// A disk that a power cut could have left, and that the check refuses.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CrashFailure {
    /// Name of the point for `--crash-point`.
    pub point: String,
    /// Epoch of the moment, from 1.
    pub epoch: u64,
    /// Exit code of the check.
    pub code: i32,
    /// Last words of the check.
    pub said: Vec<String>,
    /// Writes that were lost where it failed first.
    pub lost_first: u64,
    /// Checks that it took to find out which of them matter.
    pub tried: u64,
    /// Lost writes that matter: with any one of them there, the check passes.
    pub lost: Vec<LostWrite>,
}

/// A write, or what was torn off it, that is lost.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LostWrite {
    /// Number among the writes, from 1, in the order in which they were asked.
    pub number: u64,
    /// Epoch in which it was asked.
    pub epoch: u64,
    /// Number of the drive, from 0.
    pub disk: u32,
    /// First sector of 512 bytes that is lost.
    pub sector_first: u64,
    /// Sectors from the first to the last that is lost.
    pub sectors: u64,
    /// Sectors of the whole write.
    pub sectors_written: u64,
    /// File and block that they belong to, or what else is known.
    pub what: String,
}

/// Kinds of I/Os of a served drive: reads, writes, trims, flushes.
pub const SERVED_KINDS: usize = 4;

/// State of a served drive so far, before it stands in [`Served`].
#[derive(Clone, Debug)]
pub struct Seen {
    /// I/Os: reads, writes, trims, flushes.
    pub ios: [u64; SERVED_KINDS],
    /// Bytes of them.
    pub bytes: [u64; SERVED_KINDS],
    /// Latency that the model and the layers asked for, as the program was to see it.
    pub asked: [Bins; SERVED_KINDS],
    /// Delay of answers beyond the time asked for.
    pub late: Bins,
    /// Answered with an error.
    pub failed: u64,
    /// Never answered, as a layer wanted.
    pub lost: u64,
    /// Work of flash management.
    pub flash: Vec<FlashUse>,
    /// Each kind of resource.
    pub resources: Vec<ResourceUse>,
}

impl Seen {
    /// Fills in the answer.
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
