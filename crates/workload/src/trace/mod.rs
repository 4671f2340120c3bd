//! What did somebody record?
//!
//! ```text
//!   lines ──► parser of the format ──► disks placed, times from 0, in order ──► TraceIo, one after the other
//!             fio, msr, blkparse,      reader.rs
//!             spc, disksim
//! ```
//!
//! Traces are larger than memory: they are read as they are replayed, and only as many I/Os are held as are needed to put
//! neighbours that stand in the wrong order right. A line that cannot be understood ends the trace with an error that
//! names file and line. `docs/traces.md` describes the formats with their units, and where they are described.
//!
//! Start reading at [`open`]; a format is one file with one function.

mod binary;
mod blkparse;
mod detect;
mod disksim;
mod error;
mod fio;
mod msr;
mod number;
mod opened;
mod parsed;
mod parser;
mod reader;
mod recording;
mod spc;
mod survey;

use iostack_model::{Bytes, Direction, Nanos};

pub use binary::as_text;
pub use error::TraceError;
pub use opened::{OpenFifo, Opened};
pub use reader::{Trace, open, open_with};
pub use recording::{FILE_SPAN, Recording, kept};
pub use survey::{DiskSeen, Survey, survey};

/// One I/O of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIo {
    /// Time of issue, since the first I/O of the trace; never less than the one before.
    pub at: Nanos,
    /// Read, write or trim. Of a flush, `Write`.
    pub direction: Direction,
    /// First byte; 0 of a flush.
    pub offset: u64,
    /// Bytes; 0 of a flush, and of nothing else.
    pub length: u32,
    /// All that was written must be on the medium: fsync, or a cache flush. It has no range.
    pub flush: bool,
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceFormat {
    /// fio's `write_iolog`, version 2 and 3: the first line tells which.
    FioIolog,
    /// The traces of Microsoft Research Cambridge: comma-separated, times in units of 100 ns.
    MsrCsv,
    /// Output of `blkparse` when nobody chose another format, or the binary it prints: see [`as_text`].
    Blkparse,
    /// Storage Performance Council: comma-separated, times in seconds.
    Spc,
    /// `DiskSim`'s ASCII format: five numbers, times in milliseconds.
    Disksim,
}

/// Each format with the name that is typed, and an I/O as it writes it.
const FORMATS: [(TraceFormat, &str, &str); 5] = [
    (TraceFormat::FioIolog, "fio", "1500 /dev/sdx read 8192 4096"),
    (TraceFormat::MsrCsv, "msr", "128166372003061629,usr,0,Read,7014609920,24576,41286"),
    (TraceFormat::Blkparse, "blkparse", "8,0 3 11 0.009507758 697 Q W 223490 + 8 [kjournald]"),
    (TraceFormat::Spc, "spc", "0,20941264,8192,W,0.551706"),
    (TraceFormat::Disksim, "disksim", "9.034 0 1048576 16 1"),
];

impl TraceFormat {
    /// All formats, in the order in which they are told.
    pub const ALL: [TraceFormat; 5] = [FORMATS[0].0, FORMATS[1].0, FORMATS[2].0, FORMATS[3].0, FORMATS[4].0];

    /// Name as it is typed: `fio`, `msr`, `blkparse`, `spc`, `disksim`.
    pub fn name(self) -> &'static str {
        FORMATS[self as usize].1
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<TraceFormat> {
        TraceFormat::ALL.into_iter().find(|format| format.name() == name)
    }

    /// An I/O as this format writes it, which errors show.
    pub fn example(self) -> &'static str {
        FORMATS[self as usize].2
    }
}

/// Disks of a trace that are replayed, and their places on the device.
///
/// Disks are named as the trace names them: a path (fio), `host.number` (MSR), `major,minor` (blkparse), a number (SPC,
/// `DiskSim`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Disks {
    /// The only one; a second is an error that names both.
    #[default]
    One,
    /// This one; I/Os of others are passed over.
    Only(String),
    /// All, each from byte 0.
    Each,
    /// Each begins at its byte of the device; one that is not in the list is an error. [`Survey::laid`] makes the list.
    Laid(Vec<(String, u64)>),
}

/// Treatment of I/Os behind the end of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// It is not looked at.
    #[default]
    Unknown,
    /// The device has so many bytes; an I/O that ends behind them is an error with its line.
    Refuse(Bytes),
    /// The device has so many bytes; what lies behind begins again at its start, in multiples of 4096 bytes.
    Wrap(Bytes),
}

/// Options of reading a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Disks that are replayed, and their places.
    pub disks: Disks,
    /// Treatment of I/Os that the device is too small for.
    pub beyond: Beyond,
}
