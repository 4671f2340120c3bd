//! Each I/O, as a line of fio's version 3 of a trace: times in microseconds.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

use iostack_sim::engine::{Kind, Time};

use super::parse::Arguments;
use super::{Layer, Verdict};
use crate::DiskRequest;

/// The served disk, in the trace.
const NAME: &str = "disk";

struct Log {
    path: String,
    file: BufWriter<File>,
    first: Option<Time>,
    /// Nothing is written after it: half a trace with a hole is worse than half.
    failed: Option<io::Error>,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    arguments.at_most(1)?;
    let path: String = arguments.read(0, "file")?;
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    let file = made.map_err(|error| format!("cannot make `{path}`: {error}"))?;
    let mut log = Log { path, file: BufWriter::new(file), first: None, failed: None };
    log.line(format_args!("fio version 3 iolog\n0 {NAME} add\n0 {NAME} open"));
    Ok(Box::new(log))
}

impl Log {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.failed.is_none() {
            self.failed = writeln!(self.file, "{line}").err();
        }
    }
}

impl Layer for Log {
    fn pass(&mut self, asked: &DiskRequest, now: Time) -> Verdict {
        let first = *self.first.get_or_insert(now);
        let at = (now - first) / 1000;
        match asked.kind {
            Kind::Flush | Kind::Compute => self.line(format_args!("{at} {NAME} sync 0 0")),
            Kind::Read => self.line(format_args!("{at} {NAME} read {} {}", asked.offset, asked.length)),
            Kind::Write => self.line(format_args!("{at} {NAME} write {} {}", asked.offset, asked.length)),
            Kind::Trim => self.line(format_args!("{at} {NAME} trim {} {}", asked.offset, asked.length)),
        }
        Verdict::Down(0)
    }

    fn end(&mut self) -> Result<(), String> {
        let flushed = self.failed.take().map_or_else(|| self.file.flush(), Err);
        flushed.map_err(|error| format!("cannot write `{}` to its end: {error}", self.path))
    }
}
