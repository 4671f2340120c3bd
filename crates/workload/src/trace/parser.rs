//! Which parser reads the lines of which format?

use super::TraceFormat;
use super::parsed::{NOTHING, ParsedLine};
use super::{blkparse::Blkparse, disksim, fio::Fio, msr, spc};

/// The parser of a format, with what it remembers from line to line.
pub(super) struct FormatParser {
    format: TraceFormat,
    fio: Fio,
    blkparse: Blkparse,
}

impl FormatParser {
    pub(super) fn of_format(format: TraceFormat) -> FormatParser {
        FormatParser { format, fio: Fio::default(), blkparse: Blkparse::default() }
    }

    /// The I/Os of line `number`, which has no line end.
    pub(super) fn line<'a>(&mut self, line: &'a str, number: u64) -> ParsedLine<'a> {
        match self.format {
            TraceFormat::FioIolog => self.fio.line(line),
            TraceFormat::Blkparse => self.blkparse.line(line),
            _ if line.trim().is_empty() => Ok(NOTHING),
            TraceFormat::MsrCsv => msr::line(line, number),
            TraceFormat::Spc => spc::line(line),
            TraceFormat::Disksim => disksim::line(line),
        }
    }
}
