//! `DiskSim`'s ASCII format: arrival time, device, first block, blocks, flags.
//!
//! Time in milliseconds since the start, with a fraction; blocks of 512 bytes; flags in hexadecimal, of which bit 0 says
//! that it is a read (`DiskSim` 4.0 reference manual, section on traces; `disksim_iotrace.c` reads `%lf %d %d %d %x`).

use super::TraceFormat;
use super::error::{TraceError, shown};
use super::number;
use super::parsed::{Action, BlockEvent, Parsed, ParsedLine, wrong_fields};
use iostack_model::Direction;

pub(super) fn line(line: &str) -> ParsedLine<'_> {
    let mut fields = line.split_ascii_whitespace();
    let mut next = || fields.next().ok_or_else(|| wrong_fields(line, TraceFormat::Disksim));
    let (time, device, block, blocks, flags) = (next()?, next()?, next()?, next()?, next()?);
    if fields.next().is_some() {
        return Err(wrong_fields(line, TraceFormat::Disksim));
    }
    number::count(device, "device")?;
    let hexadecimal = flags.strip_prefix("0x").unwrap_or(flags);
    let digits = hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
    let flags = u32::from_str_radix(hexadecimal, 16).ok().filter(|_| digits).ok_or_else(|| {
        let what = format!("the flags `{}` are not a hexadecimal number of 32 bits", shown(flags));
        TraceError::line(what)
    })?;
    let direction = if flags & 1 == 1 { Direction::Read } else { Direction::Write };
    Ok(Parsed {
        at: number::time(time, 1_000_000, "milliseconds")?,
        disk: [device, ""],
        action: Action::Of(direction),
        offset: number::sectors(number::count(block, "first block")?, "first block")?,
        length: number::sectors(number::count(blocks, "number of blocks")?, "size")?,
        event: BlockEvent::Queued,
    }
    .alone())
}
