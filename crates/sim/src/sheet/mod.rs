//! What is known about a device? Its numbers, by name, each with its unit and its source.
//!
//! ```text
//!   platforms/devices/x25e.toml ──► parse ──► Sheet ──► devices::build ──► parts in the world
//!   --set flash.read=30us ──────────┘           │
//!                                               └──► entries, claims: what `iostack sim show` prints
//! ```
//!
//! Start reading at [`Sheet::load`]; `parse.rs` is what a file may say, `value.rs` how a number is written.

mod claim;
mod document;
mod error;
mod get;
mod parse;
mod source;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::devices::DeviceKind;

pub use claim::{Claim, Expected, Figure};
pub use error::{SheetError, SheetErrors};
pub use source::{Entry, Source, Tally};

/// What a number is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `25us`
    Time,
    /// `16KiB`
    Bytes,
    /// `800MB/s`: bytes per second.
    Rate,
    /// `7%`
    Share,
    /// `8`
    Count,
    /// `3000/s`
    PerSecond,
    /// `1.5`
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of another sheet, or the path of its file: of this kind, or, without one, any drive.
    Device(Option<&'static str>),
}

/// A number that a kind of device has.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// `flash.read`: table and key in the file.
    pub key: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// What holds when the file does not say; `None` when it must. `none`: the device does not have it.
    pub default: Option<&'static str>,
    /// What it means, in one line.
    pub meaning: &'static str,
}

/// A device's numbers.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Its name, as in `sim:NAME`.
    pub name: String,
    /// Its kind.
    pub kind: &'static DeviceKind,
    /// What it is, in a few words.
    pub title: String,
    /// What to know about it, in sentences.
    pub about: String,
    /// When it was sold, or what it is typical of.
    pub year: Option<u32>,
    /// Where its numbers come from: `built in`, or the path of the file.
    pub origin: String,
    /// Numbers that were changed: key and value, as typed.
    pub changed: Vec<(String, String)>,
    /// Documents that its numbers cite: short name and the whole title.
    pub sources: Vec<(String, String)>,
    /// What it must reach, with whoever said so.
    pub claims: Vec<Claim>,
    values: BTreeMap<String, Value>,
    members: BTreeMap<String, Sheet>,
    folder: Folder,
}

/// A number as the file gives it.
#[derive(Clone, Debug)]
struct Value {
    text: String,
    source: Source,
    /// File and line.
    place: String,
}

/// Where relative names of files begin.
type Folder = Option<PathBuf>;
