//! A program in the lab's machine: what it writes comes back as it writes it.
//!
//! ```text
//!   near.rs: order ──► far.rs: furnish, check, start ──► lines, how far it is, files ──► near.rs: who hears
//!      ▲                              power is cut ──► the drives keep what was flushed ──┐
//!      └──────────────────────────────── another boot ◄──────────────────────────────────┘
//! ```
//!
//! Every disk that a power cut could have left, and not one that chance chose: `crash/`.

mod crash;
mod far;
mod near;
mod why;

use std::path::PathBuf;
use std::time::Duration;

use iostack_model::Nanos;
use iostack_model::answers::{Seen, ServedCut};
use serde::{Deserialize, Serialize};

pub use crash::{CrashPlan, Which, prove};
pub(crate) use far::{is_meant, run};
pub use near::execute;

use crate::outside::Outside;

/// Program to run in the machine.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Power cuts while it runs.
    pub cuts: Option<Cuts>,
    /// Folder, new or empty, for the files that it leaves to be brought back.
    pub results: Option<PathBuf>,
}

/// Power cuts: after each the machine boots anew, and the program starts again.
#[derive(Clone, Debug)]
pub struct Cuts {
    /// Number of power cuts.
    pub count: u32,
    /// Each comes so long after the program began: at least, and at most.
    pub between: (Nanos, Nanos),
    /// Command for a shell that checks, after each cut, that the disk holds what it must.
    pub check: Option<String>,
}

/// Outcome of a program.
pub struct ProgramRun {
    /// End of the program, or of the last check.
    pub ended: ProgramEnd,
    /// Time that the drives counted: of the run, and with power cuts from its first beginning to the end.
    pub elapsed: Nanos,
    /// The drives, where they are simulated.
    pub drive: Option<Box<dyn Outside>>,
    /// Power cuts, in their order.
    pub cuts: Vec<ServedCut>,
    /// The one after which the check failed, from 1.
    pub failed: Option<u32>,
}

/// End of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// Its exit code, or 128 and the signal that ended it.
    pub code: i32,
    /// Time that it ran, by the machine's clock.
    pub elapsed: Nanos,
    /// Reason of a failure, where the kernel knows: it ran out of memory, or a signal ended it.
    pub why: Option<String>,
}

/// Receiver of what a program does.
pub trait Listener {
    /// A line of its standard output, or of its standard error.
    fn line(&mut self, text: &str, error: bool);

    /// It runs since so long, by the machine's clock, and asked this of simulated drives.
    fn runs(&mut self, elapsed: Nanos, seen: Option<Seen>);

    /// So many crash points were checked, and the others take so long.
    fn points(&mut self, checked: u64, rest: Duration);

    /// The guest is up, with this kernel; or what it complained of.
    fn says(&mut self, text: &str);
}

/// Order to the far side.
#[derive(Default, Serialize, Deserialize)]
struct ExecOrder {
    /// The command; none when only the check is to be done.
    exec: Vec<String>,
    /// Command of a shell to run first.
    check: Option<String>,
    /// Lines that the command had written when the power was cut.
    said: Vec<String>,
    /// Power cuts so far.
    cuts: u32,
    /// Files are brought back.
    results: bool,
    /// Lines come with their moments.
    record: bool,
    /// Crash points are to be checked, and nothing else.
    crash: Option<crash::ToCheck>,
}

/// A piece of a file that comes back.
#[derive(Serialize, Deserialize)]
struct Piece {
    /// Below the folder.
    path: String,
    /// Each byte a character, U+0000 to U+00FF: most files are text.
    bytes: String,
}

impl Piece {
    fn encode(path: String, bytes: &[u8]) -> Piece {
        Piece { path, bytes: bytes.iter().map(|&byte| char::from(byte)).collect() }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        self.bytes.chars().map(|character| u8::try_from(character).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_file_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = serde_json::to_string(&Piece::encode("a/b".to_owned(), &all)).expect("plain data");
        let piece: Piece = serde_json::from_str(&text).expect("as it was written");
        assert_eq!((piece.bytes(), &piece.path[..]), (Some(all), "a/b"));
        assert_eq!(Piece { path: String::new(), bytes: "\u{100}".to_owned() }.bytes(), None);
    }
}
