//! Recorded traces of all formats: what they say, and what is said about those that are wrong.

mod binary;
mod errors;
mod fio;
mod fuzz;
mod order;
mod samples;

use std::io::{BufReader, Cursor};

use iostack_model::{Direction, Nanos};
use iostack_workload::trace::{Trace, TraceOptions, open_with};
use iostack_workload::{TraceError, TraceFormat, TraceIo};

const READ: Direction = Direction::Read;
const WRITE: Direction = Direction::Write;
const TRIM: Direction = Direction::Trim;

/// The trace in a text, read in pieces of a few bytes as a pipe might give it.
fn trace(text: &(impl AsRef<[u8]> + ?Sized), format: TraceFormat, options: &TraceOptions) -> Trace {
    let reader = BufReader::with_capacity(7, Cursor::new(text.as_ref().to_vec()));
    open_with(Box::new(reader), format, "some.trace", options.clone())
}

/// All I/Os of a text of one disk.
fn parsed(text: &str, format: TraceFormat) -> Result<Vec<TraceIo>, TraceError> {
    trace(text, format, &TraceOptions::default()).collect()
}

/// The text of the first error.
fn refused(text: &(impl AsRef<[u8]> + ?Sized), format: TraceFormat, options: &TraceOptions) -> String {
    let mut trace = trace(text, format, options);
    let error = trace.find_map(Result::err).expect("it is refused");
    assert!(trace.next().is_none(), "something comes after an error");
    error.to_string()
}

fn io(at: u64, direction: Direction, offset: u64, length: u32) -> TraceIo {
    TraceIo { at: Nanos(at), direction, offset, length, flush: false }
}

fn flush(at: u64) -> TraceIo {
    TraceIo { at: Nanos(at), direction: WRITE, offset: 0, length: 0, flush: true }
}
