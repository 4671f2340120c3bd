//! What did the plugin count?
//!
//! The plugin is in `plugin/`; its README describes what it writes. Start reading at [`parse()`].

mod parse;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

pub use parse::{CountsError, parse};

use crate::LabError;

/// Reads the plugin's file.
pub(crate) fn read(path: &Path) -> Result<Vec<Round>, LabError> {
    let text = fs::read_to_string(path).map_err(LabError::file("read", path))?;
    Ok(parse(&text)?)
}

/// One DUMP's worth: the pairs of marks since the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Pairs of the counting phase, in order.
    pub ios: Vec<Io>,
    /// The commonest vectors, commonest first; at most 32.
    pub vectors: Vec<Vector>,
    /// Traced pairs, one for each distinct vector; at most 32.
    pub traces: Vec<Trace>,
}

/// One pair of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Instructions strictly between the marks.
    pub instructions: u64,
    /// Hash of the vector of counts by address.
    pub hash: u64,
}

/// Number of times that each instruction ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Hash of the vector.
    pub hash: u64,
    /// Pairs that had it.
    pub ios: u64,
    /// Address of the instruction, times that it ran; ascending.
    pub counts: Vec<(u64, u64)>,
}

/// A pair of marks, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Hash of its vector.
    pub hash: u64,
    /// Instructions strictly between the marks.
    pub instructions: u64,
    /// Steps, in order.
    pub events: Vec<Event>,
}

/// A step of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run of instructions without branch.
    Block {
        /// Address of the first.
        pc: u64,
        /// Instructions that ran.
        instructions: u64,
    },
    /// A register access.
    Mmio {
        /// True for a write.
        write: bool,
        /// Address of the instruction.
        pc: u64,
        /// Physical address of the register.
        address: u64,
        /// Length of the access, bytes.
        size: u32,
        /// The emulator's name of the region; `-` unknown.
        region: String,
    },
}
