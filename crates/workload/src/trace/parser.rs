//! Which parser reads the lines of which format?

use super::TraceFormat;
use super::error::Wrong;
use super::parsed::Found;
use super::{blkparse::Blkparse, disksim, fio::Fio, msr, spc};

/// The parser of a format, with what it remembers from line to line.
pub(super) enum Parser {
    Fio(Fio),
    Msr,
    Blkparse(Blkparse),
    Spc,
    Disksim,
}

impl Parser {
    pub(super) fn of(format: TraceFormat) -> Parser {
        match format {
            TraceFormat::FioIolog => Parser::Fio(Fio::default()),
            TraceFormat::MsrCsv => Parser::Msr,
            TraceFormat::Blkparse => Parser::Blkparse(Blkparse::default()),
            TraceFormat::Spc => Parser::Spc,
            TraceFormat::Disksim => Parser::Disksim,
        }
    }

    /// The I/Os of line `number`, which has no line end.
    pub(super) fn line<'a>(&mut self, line: &'a str, number: u64) -> Result<Found<'a>, Wrong> {
        match self {
            Parser::Fio(fio) => fio.line(line),
            Parser::Msr => msr::line(line, number),
            Parser::Blkparse(blkparse) => Ok(blkparse.line(line)?),
            Parser::Spc => spc::line(line),
            Parser::Disksim => disksim::line(line),
        }
    }
}
