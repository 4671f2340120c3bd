//! fio's I/O log, versions 2 and 3.
//!
//! ```text
//!   fio version 2 iolog              fio version 3 iolog
//!   /dev/sdx add                     0 /dev/sdx add
//!   /dev/sdx open                    5 /dev/sdx open
//!   /dev/sdx read 8192 4096          1500 /dev/sdx read 8192 4096
//!   /dev/sdx wait 250 0              (no wait: each line has its time)
//!   /dev/sdx sync 0 0                1900 /dev/sdx sync 0 0
//!   /dev/sdx close                   2000 /dev/sdx close
//! ```
//!
//! Offsets and lengths in bytes; times of version 3 in microseconds since the start (`log_io_u` of fio's `iolog.c`).
//! The wait of version 2 is documented as microseconds since the wait before, but every fio that reads it waits until so
//! many *milliseconds* have passed since its start (`read_iolog_get`, and seen in fio 3.33). Here it means what it means
//! under fio, so that both replay the same.

use iostack_model::Direction;

use super::error::{TraceError, shown};
use super::parsed::{Action, BlockEvent, NOTHING, Parsed, ParsedLine};

const EXAMPLES: [&str; 2] = ["/dev/sdx read 8192 4096", "1500 /dev/sdx read 8192 4096"];

/// State of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Fio {
    /// 2 or 3, once the first line has been read.
    version: Option<u8>,
    /// The time of the next I/O of version 2, ns.
    now: u64,
}

impl Fio {
    pub(super) fn line<'a>(&mut self, line: &'a str) -> ParsedLine<'a> {
        let Some(version) = self.version else {
            self.version = Some(version(line)?);
            return Ok(NOTHING);
        };
        let mut words = line.split_ascii_whitespace();
        let mut fields = [""; 6];
        let count = words.by_ref().zip(&mut fields).map(|(word, field)| *field = word).count();
        let first = usize::from(version == 3);
        match count.wrapping_sub(first) {
            _ if count == 0 => Ok(NOTHING),
            2 => file_action(version, &fields[first..]),
            4 => self.io_action(version, fields[0], &fields[first..]),
            _ => Err(wrong_line(line, version)),
        }
    }

    fn io_action<'a>(&mut self, version: u8, time: &str, fields: &[&'a str]) -> ParsedLine<'a> {
        let (name, action) = (fields[0], fields[1]);
        let offset = super::number::count(fields[2], "offset")?;
        let length = super::number::count(fields[3], "length")?;
        if version == 3 {
            self.now = super::number::time(time, 1_000, "microseconds")?;
        }
        let action = match action {
            "read" => Action::Of(Direction::Read),
            "write" => Action::Of(Direction::Write),
            "trim" => Action::Of(Direction::Trim),
            "sync" | "datasync" | "sync_file_range" => Action::Flush,
            "wait" if version == 2 => {
                let until = offset.checked_mul(1_000_000);
                self.now = self.now.max(until.ok_or_else(|| too_long(fields[2]))?);
                return Ok(NOTHING);
            }
            other => return Err(unknown(other, version)),
        };
        Ok(Parsed { at: self.now, disk: [name, ""], action, offset, length, event: BlockEvent::Queued }
            .alone())
    }
}

/// `filename add`, and the like: nothing that a disk sees.
fn file_action(version: u8, fields: &[&str]) -> ParsedLine<'static> {
    match fields[1] {
        "add" | "open" | "close" | "unlink" => Ok(NOTHING),
        other => Err(unknown(other, version)),
    }
}

fn version(line: &str) -> Result<u8, TraceError> {
    match line.trim_end() {
        "fio version 2 iolog" => Ok(2),
        "fio version 3 iolog" => Ok(3),
        other if other.starts_with("fio version ") => Err(TraceError::new(
            format!("`{}` is a version that is not known here", shown(other)),
            "have fio write version 2 or 3",
        )),
        other => Err(TraceError::new(
            format!("the first line of fio's log names its version, and is not `{}`", shown(other)),
            "add `fio version 2 iolog`, or `fio version 3 iolog` when each line begins with a time",
        )),
    }
}

fn unknown(action: &str, version: u8) -> TraceError {
    let remedy = match action {
        "wait" => "remove the line: in version 3 each line has its time",
        _ => {
            "there are read, write, trim, sync, datasync; wait (version 2); add, open, close without numbers"
        }
    };
    TraceError::new(format!("version {version} of fio's log has no `{}` here", shown(action)), remedy)
}

fn wrong_line(line: &str, version: u8) -> TraceError {
    let example = EXAMPLES[usize::from(version == 3)];
    TraceError::new(
        format!("`{}` is not a line of version {version} of fio's log", shown(line)),
        format!("a line looks like `{example}`; correct or remove it"),
    )
}

fn too_long(typed: &str) -> TraceError {
    TraceError::line(format!("a wait until `{}` ms never ends", shown(typed)))
}
