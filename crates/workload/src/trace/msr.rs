//! Traces of Microsoft Research Cambridge: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
//!
//! Time of issue as a Windows file time, which counts 100 ns since 1601; offset and size in bytes (README of the traces at
//! SNIA's IOTTA repository, block I/O trace 387).

use super::TraceFormat;
use super::error::{TraceError, shown};
use super::number;
use super::parsed::{BlockEvent, NOTHING, Parsed, ParsedLine, direction, wrong_fields};

/// Length of a tick of a Windows file time, ns.
const TICK: u64 = 100;

pub(super) fn line(line: &str, number: u64) -> ParsedLine<'_> {
    let is_header =
        number == 1 && line.get(..10).is_some_and(|begin| begin.eq_ignore_ascii_case("timestamp,"));
    if is_header {
        return Ok(NOTHING);
    }
    let mut fields = line.split(',').map(str::trim);
    let mut next = || fields.next().ok_or_else(|| wrong_fields(line, TraceFormat::MsrCsv));
    let (time, host, disk, kind, offset, size) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let ticks = number::count(time, "timestamp")?;
    let at = ticks
        .checked_mul(TICK)
        .ok_or_else(|| TraceError::line(format!("the timestamp `{}` is after the year 2185", shown(time))))?;
    Ok(Parsed {
        at,
        disk: [host, disk],
        action: direction(kind)?,
        offset: number::count(offset, "offset")?,
        length: number::count(size, "size")?,
        event: BlockEvent::Queued,
    }
    .alone())
}
