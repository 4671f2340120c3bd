//! What lies between the program and the drive? Layers with one job each, from the top down.
//!
//! ```text
//!   delay(80us) | error(EIO, 1%, read) | log(FILE) | sim(x25e)
//! ```
//!
//! A layer is asked once, when a request arrives; it knows neither the drive nor the layers around it. A layer is a row of
//! [`LAYERS`] and a file with one function that reads its arguments.

mod cache;
mod delay;
mod error;
mod log;
mod parse;
mod rate;
mod read_only;
mod rule;
mod stall;

use iostack_sim::engine::Time;

use crate::{DiskRequest, Errno};

pub use parse::{Stack, check, each, parse};

/// Verdict of a layer on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes to the layer below, after so long, ns.
    Down(u64),
    /// It is through after so long, ns; nobody below hears of it.
    Through(u64),
    /// It fails after so long, ns.
    Fails(Errno, u64),
    /// Nobody will ever hear of it again.
    Lost,
}

/// Something that requests pass on their way down.
pub trait Layer: Send {
    /// A request has come, at this moment of the drive's clock.
    fn pass(&mut self, asked: &DiskRequest, now: Time) -> Verdict;

    /// The server ends: what is kept goes out. Gives why it could not.
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A kind of layer.
pub struct LayerKind {
    /// Name as it is typed.
    pub name: &'static str,
    /// Example of its words.
    pub example: &'static str,
    /// Description of its effect.
    pub does: &'static str,
    /// Reads its arguments.
    make: fn(&parse::Arguments<'_>) -> Result<Box<dyn Layer>, String>,
}

/// All there are.
pub const LAYERS: &[LayerKind] = &[
    LayerKind {
        name: "delay",
        example: "delay(80us) or delay(5ms, 0.1%, read)",
        does: "adds a time, to all or to a share: latency spikes",
        make: delay::make,
    },
    LayerKind {
        name: "rate",
        example: "rate(1000) or rate(100m)",
        does: "lets through so many I/Os a second, or bytes with a unit",
        make: rate::make,
    },
    LayerKind {
        name: "cache",
        example: "cache(64m) or cache(64m, 10us)",
        does: "answers reads of blocks that went by lately, of 4 KiB each",
        make: cache::make,
    },
    LayerKind {
        name: "error",
        example: "error(EIO, 1g..2g, read, 1%)",
        does: "fails I/Os: of a range, a direction, a share",
        make: error::make,
    },
    LayerKind {
        name: "lose",
        example: "lose(0.01%) or lose(1g..2g, write)",
        does: "never completes them",
        make: error::make_lost,
    },
    LayerKind {
        name: "stall",
        example: "stall(2s, 30s)",
        does: "holds everything for the first time at the end of each second time",
        make: stall::make,
    },
    LayerKind {
        name: "read_only",
        example: "read_only(10g)",
        does: "fails writes with EROFS after so much was written: end of life",
        make: read_only::make,
    },
    LayerKind {
        name: "log",
        example: "log(FILE)",
        does: "writes each I/O to a new file, which run --replay takes",
        make: log::make,
    },
];
