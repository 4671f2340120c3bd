//! Which columns does a probe have?

use iostack_model::answers::{Probe, ProbeFinding};

use super::Table;
use super::columns::Columns;
use super::outcomes::{clock, yes};

/// A row for each finding.
pub fn of_probe(probe: &Probe) -> Table {
    let mut columns = Columns::of_rows(&probe.findings);
    columns.key("finding", "what was asked", |finding| Some(finding.key.clone()));
    columns.key("target", "what answered", |_| Some(probe.target.path.display().to_string()));
    columns.key("clock", "whose clock: measured here or simulated", |_| Some(clock(probe.target.kind)));
    columns.note("unit", "unit of the value", |finding| Some(finding.unit.name().to_owned()));
    columns.interval("value", "", "what was found", |finding: &ProbeFinding| finding.value);
    columns.note("reason", "why it cannot be told", |finding| finding.reason.clone());
    columns.count("points", "measurements of its curve", |finding| Some(finding.curve.points.len() as u64));
    columns.count("request_bytes", "bytes of an I/O", |finding| {
        Some(finding.request.0).filter(|bytes| *bytes > 0)
    });
    columns.note("interrupted", "whether it was cut short", |_| Some(yes(probe.interrupted)));
    Table { columns: columns.made }
}
