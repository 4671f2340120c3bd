//! Traces of the Storage Performance Council: `ASU,LBA,size,opcode,timestamp[,anything..]`.
//!
//! Size in bytes, time in seconds with a fraction, since the start of the trace (SPC Trace File Format Specification 1.0.1).
//! The specification leaves the size of a block to the description of each trace; in those that are public it is 512 bytes.

use super::TraceFormat;
use super::number;
use super::parsed::{BlockEvent, Parsed, ParsedLine, direction, wrong_fields};

pub(super) fn line(line: &str) -> ParsedLine<'_> {
    let mut fields = line.split(',').map(str::trim);
    let mut next = || fields.next().ok_or_else(|| wrong_fields(line, TraceFormat::Spc));
    let (unit, block, size, opcode, time) = (next()?, next()?, next()?, next()?, next()?);
    number::count(unit, "ASU")?;
    Ok(Parsed {
        at: number::time(time, 1_000_000_000, "seconds")?,
        disk: [unit, ""],
        action: direction(opcode)?,
        offset: number::sectors(number::count(block, "LBA")?, "LBA")?,
        length: number::count(size, "size")?,
        event: BlockEvent::Queued,
    }
    .alone())
}
