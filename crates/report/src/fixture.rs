//! Stored answers of every kind, to draw and test reports without a device: `tests/data`.
//!
//! No figure in them was measured, and names say "Fixture", so that a picture of one is never taken for a result. Start
//! reading at [`answer`].

use std::path::PathBuf;

use iostack_model::answers::{Against, Check, IoCost};
use iostack_model::{Layers, OutcomeFile, Stages};
use serde::de::DeserializeOwned;

/// Path of a file below `tests/data`.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/data", name].iter().collect()
}

/// The answer, or a part of one, in `NAME.json`.
pub fn answer<A: DeserializeOwned>(name: &str) -> A {
    let text = std::fs::read_to_string(path(&format!("{name}.json"))).expect("a stored answer");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}.json: {error}"))
}

/// A complete default check, without a drive's sheet to hold it against.
pub fn check() -> Check {
    answer("check")
}

/// A sheet of which one figure is kept, one missed and one was not measured.
pub fn against() -> Against {
    answer("parts/against")
}

/// Three outcomes: random reads at depth 32 that were looked into, a mix of reads and writes, sequential writes.
pub fn outcome_file() -> OutcomeFile {
    answer("run")
}

/// Two outcomes of a simulated drive: sustained writes that meet a cliff, and random reads.
pub fn simulated_file() -> OutcomeFile {
    answer("simulated")
}

/// Stages of a database on a loop device: every way, a tree of devices, merges, a few I/Os without a match.
pub fn stages_of_process() -> Stages {
    answer("stages-process")
}

/// The layers of a load of direct reads.
pub fn layers() -> Layers {
    answer("layers")
}

/// 4 KiB reads of one device after the other, the cheapest first.
pub fn iocosts() -> Vec<IoCost> {
    ["brd", "null_blk", "scsi_ram", "ata_ram", "ahci"]
        .map(|device| answer(&format!("iocost-{device}")))
        .to_vec()
}
