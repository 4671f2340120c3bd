//! What does a line of a trace give?

use iostack_model::Direction;

use super::TraceFormat;
use super::error::{TraceError, shown};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Of(Direction),
    Flush,
}

/// Event of the block layer at which an I/O was seen. Formats other than blkparse's know only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockEvent {
    /// It came to the block layer.
    Queued,
    /// It went to the driver.
    Issued,
}

/// One I/O as it stands in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parsed<'a> {
    /// ns since whatever the trace counts from.
    pub(super) at: u64,
    /// The name of the disk, as parts that are put together with dots.
    pub(super) disk: [&'a str; 2],
    pub(super) action: Action,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) event: BlockEvent,
}

/// The I/Os of a line: most have one, remarks have none, and a write with a barrier has three.
pub(super) type LineIos<'a> = [Option<Parsed<'a>>; 3];

/// What came of a line.
pub(super) type ParsedLine<'a> = Result<LineIos<'a>, TraceError>;

/// A line without I/O.
pub(super) const NOTHING: LineIos<'static> = [None, None, None];

impl<'a> Parsed<'a> {
    /// The I/Os of a line that has only this one.
    pub(super) fn alone(self) -> LineIos<'a> {
        [Some(self), None, None]
    }
}

/// `R`, `W`, `Read`, `Write` in any case.
pub(super) fn direction(field: &str) -> Result<Action, TraceError> {
    let is_one_of = |words: [&str; 2]| words.iter().any(|word| field.eq_ignore_ascii_case(word));
    if is_one_of(["r", "read"]) {
        Ok(Action::Of(Direction::Read))
    } else if is_one_of(["w", "write"]) {
        Ok(Action::Of(Direction::Write))
    } else {
        Err(TraceError::line(format!("`{}` is neither read nor write", shown(field))))
    }
}

/// A line with the wrong number of fields.
pub(super) fn wrong_fields(line: &str, format: TraceFormat) -> TraceError {
    TraceError::new(
        format!("`{}` is not a line of the format {}", shown(line), format.name()),
        format!("a line looks like `{}`; correct or remove it, or name the right format", format.example()),
    )
}
