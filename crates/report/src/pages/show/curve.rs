//! What does a drive do as the load grows, and where do its writes slow down?

use iostack_model::Limiting;
use iostack_model::answers::CurvePoint;

use super::super::simulated::named;
use crate::document::{Block, Section, Table};
use crate::html::numbers::Quantity;
use crate::inside::USED_UP;
use crate::lists::distinct;
use crate::text::format::{or_dash, rate, time};

/// Its points; the reasons below, each once.
pub(super) fn curve(points: &[CurvePoint]) -> Section {
    let mut section = Section::new("curve", "Curve", "What it does as the load grows");
    section.screen(Block::Heading("Short loads, and the part that limits each".to_owned()));
    let table = Table::over(points)
        .words("load", |point| &point.load)
        .number("IOPS", |point| rate(point.iops))
        .number("MB/s", |point| format!("{:.0}", point.bandwidth / 1e6))
        .number("mean", |point| time(point.mean_ns))
        .number("p99", |point| or_dash(point.p99_ns, |ns| time(ns as f64)))
        .words("limit", |point| or_dash(point.limit.as_ref(), named))
        .done();
    section.table(table);
    for point in points.iter().filter(|point| point.after.is_some_and(|after| after.0 > 0)) {
        let after = Quantity::Bytes.say(point.after.map_or(0.0, |bytes| bytes.0 as f64));
        section.fact("slower", format!("after {after} are written: {}", point.load));
    }
    let full: Vec<&Limiting> = points
        .iter()
        .filter_map(|point| point.limit.as_ref())
        .filter(|limit| limit.busy >= USED_UP)
        .collect();
    for name in distinct(full.iter().map(|limit| &limit.name)) {
        section.fact("limits", full.iter().find(|limit| limit.name == *name).map_or("", |limit| &limit.why));
    }
    let mut commands = Section::default();
    for point in points {
        commands.fact(&point.load, &point.command);
    }
    section.page(Block::Fold(format!("Each load alone ({})", points.len()), commands));
    section
}
