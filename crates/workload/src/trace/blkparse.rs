//! What `blkparse` prints by default, of `blktrace`'s recordings.
//!
//! ```text
//!   8,0    3       11     0.009507758   697  Q   W 223490 + 8 [kjournald]
//!   device cpu sequence   seconds       pid  |   |  sector + sectors
//!                                     action +   + kind of I/O
//! ```
//!
//! Sectors of 512 bytes (blkparse(1), "Default output"). Of the events of a request, where it is queued (Q) is what was
//! asked for; a recording without any has where it was issued to the driver (D). The kind begins with F for a flush
//! before the I/O; an F behind the direction (FUA) says that the data must be on the medium.

use iostack_model::Direction;

use super::TraceFormat;
use super::error::{TraceError, shown};
use super::number;
use super::parsed::{Action, BlockEvent, NOTHING, Parsed, ParsedLine, wrong_fields};

/// Beginnings of lines that blkparse prints besides events: the summary at the end, and what it reads.
const REMARKS: &[&str] = &["CPU", "Total (", "Events (", "Skips:", "Throughput (", "Input file "];

/// State of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Blkparse {
    /// The summary has begun; its lines are of many kinds.
    in_summary: bool,
}

impl Blkparse {
    pub(super) fn line<'a>(&mut self, line: &'a str) -> ParsedLine<'a> {
        let mut words = line.split_ascii_whitespace();
        let Some(device) = words.next() else { return Ok(NOTHING) };
        if !is_device(device) {
            self.in_summary |= REMARKS.iter().any(|begin| line.starts_with(begin));
            return if self.in_summary {
                Ok(NOTHING)
            } else {
                Err(wrong_fields(line, TraceFormat::Blkparse))
            };
        }
        let mut next = || words.next().ok_or_else(|| wrong_fields(line, TraceFormat::Blkparse));
        let (cpu, sequence, time, _process, action) = (next()?, next()?, next()?, next()?, next()?);
        number::count(cpu, "CPU")?;
        number::count(sequence, "sequence number")?;
        let at = number::time(time, 1_000_000_000, "seconds")?;
        let event = match action {
            "Q" => BlockEvent::Queued,
            "D" => BlockEvent::Issued,
            _ => return Ok(NOTHING),
        };
        let kind = RwbsKind::parse(next()?)?;
        let range = match (words.next(), words.next(), words.next()) {
            (Some(sector), Some("+"), Some(count)) if !sector.starts_with('[') => Some((sector, count)),
            // A flush without data has only the program's name; a SCSI command its bytes in brackets.
            _ => None,
        };
        let parsed =
            |action, offset, length| Parsed { at, disk: [device, ""], action, offset, length, event };
        let flush = |wanted: bool| wanted.then(|| parsed(Action::Flush, 0, 0));
        let Some((sector, count)) = range else { return Ok([flush(kind.flush_before), None, None]) };
        let offset = number::sectors(number::count(sector, "sector")?, "sector")?;
        let length = number::sectors(number::count(count, "number of sectors")?, "size")?;
        let data = kind.direction.map(|direction| parsed(Action::Of(direction), offset, length));
        // Without data it is a flush, as it would be without a range.
        let data = data.filter(|_| length > 0 || !kind.flush_before);
        Ok([flush(kind.flush_before), data, flush(kind.flush_after && data.is_some())])
    }
}

/// The field `RWBS`.
struct RwbsKind {
    direction: Option<Direction>,
    flush_before: bool,
    flush_after: bool,
}

impl RwbsKind {
    fn parse(field: &str) -> Result<RwbsKind, TraceError> {
        let rest = field.strip_prefix('F').unwrap_or(field);
        let flush_before = rest.len() < field.len();
        let mut letters = rest.chars();
        let direction = match letters.next() {
            Some('R') => Some(Direction::Read),
            Some('W') => Some(Direction::Write),
            Some('D') => Some(Direction::Trim),
            Some('N') => None,
            // `F` or `FF`: nothing but a flush.
            None | Some('F') if flush_before => None,
            _ => {
                let what = format!("`{}` says neither read, write, discard nor flush", shown(field));
                return Err(TraceError::line(what));
            }
        };
        let flush_after = direction == Some(Direction::Write) && letters.any(|letter| letter == 'F');
        Ok(RwbsKind { direction, flush_before, flush_after })
    }
}

/// True of numbers like `8,0`.
pub(super) fn is_device(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}
